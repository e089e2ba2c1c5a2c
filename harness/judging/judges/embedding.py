"""Embedding models, which are called like judges."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from harness.errors import CallFailed
from harness.judging.judges.endpoint import (
    EndpointJudge,
    HttpJudge,
    clean,
    document_of,
    token_counts,
)
from harness.judging.judges.hosted import QUIET, HostedJudge, load_litellm
from harness.judging.parsing.text_vectors import encode_vector
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.question import Message
from harness.judging.prompts.requests import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.files.json_values import JsonObject
    from harness.judging.judges.hosted import Exchange
    from harness.judging.judges.http_exchange import Response
    from harness.judging.prompts.question import Unit


class EmbeddingJudge(HttpJudge):
    """Model whose replies are embedding vectors of texts."""

    reads_images = False

    def request(self, unit: Unit) -> Request:
        """Return the request for the embedding of an item's text."""
        return Request(
            provider=self.spec.kind,
            base_url=self.spec.base_url,
            model=self.spec.model,
            params=self.spec.sent_params,
            messages=(Message("user", self._items[unit.item].fields["text"]),),
        )

    def _replies_in(
        self, document: JsonObject, requests: Sequence[Request], latency_s: float
    ) -> list[Reply]:
        """Return one reply, which contains the response's vector."""
        try:
            text = encode_vector(document["data"][0]["embedding"])
        except (LookupError, TypeError, ValueError, OverflowError):
            raise CallFailed("no_embedding", retry=True, paid=True) from None
        usage, model = document.get("usage"), document.get("model")
        counts = token_counts({"completion_tokens": 0, **usage} if isinstance(usage, dict) else {})
        reply = Reply(
            request=requests[0].hash,
            text=text,
            model=clean(model) if isinstance(model, str) else None,
            prompt_tokens=counts.prompt,
            cost_usd=self._cost_usd(counts),
            latency_s=latency_s,
        )
        return [reply]


class EmbeddingEndpoint(EmbeddingJudge, EndpointJudge):
    """Embedding model behind ``/embeddings`` of an OpenAI-compatible server."""

    path = "embeddings"

    def _content(self, request: Request) -> str:
        return f'"input":{json.dumps(request.messages[0].content)}'

    def _read(self, answer: Response, requests: Sequence[Request], latency_s: float) -> list[Reply]:
        return self._replies_in(document_of(answer), requests, latency_s)


class HostedEmbedding(EmbeddingJudge, HostedJudge):
    """Embedding model called through litellm."""

    async def _complete(self, request: Request, n: int, exchange: Exchange) -> Any:  # noqa: ANN401 -- litellm's
        del n
        litellm = load_litellm()
        with QUIET.entered():
            return await litellm.aembedding(
                **request.params,
                **self._connection(exchange),
                model=request.model,
                input=[request.messages[0].content],
                max_retries=0,
                num_retries=0,
                caching=False,
            )
