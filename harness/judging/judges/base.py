"""Interface of judges, and base classes for judges that read prompts."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from harness.errors import CallFailed, JudgeUnavailable
from harness.judging.prompts.question import Message
from harness.judging.prompts.requests import Request, answer_kind
from harness.tasks.item import ANSWER_KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.parsing.verdict import Reply
    from harness.judging.prompts.question import Unit
    from harness.judging.prompts.requests import Prompts
    from harness.tasks import Task
    from harness.tasks.item import AnswerKind


MASK = "[key]"
MIN_KEY_CHARS = 8  # shortest key to mask; shorter ones are placeholders such as "none" or "EMPTY"
REPORTED = ("text", "model", "fingerprint", "finish_reason", "reasoning")  # texts from a server


class Judge(ABC):
    """System that rates items in place of humans.

    Each kind of judge is a subclass. A subclass of `PromptedJudge` only needs to implement `ask`.

    Parameters
    ----------
    spec : JudgeSpec
        Configuration: model, parameters, samples, limits.
    task : Task
        The task to rate.
    prompts : Prompts
        Templates bound to the task.
    seed : int
        Seed for judges that use random numbers.

    Attributes
    ----------
    reads_prompts : bool
        Whether requests are built from the templates, so that strategies apply.
    gives_logprobs : bool
        Whether replies can contain log-probabilities.
    completes_text : bool
        Whether it can complete a text as well as answer in a conversation.
    reads_images : bool
        Whether it can rate items with images.
    follows_schemas : bool
        Whether it accepts a JSON schema for its replies (``answer: schema``).
    caps_replies : bool
        Whether it sends the token limit in its parameters, so that the maximum cost of a reply is
        known in advance.
    tried_first : bool
        Whether, under a cost limit, its first calls are sent one at a time to check that the server
        respects the token limit.
    """

    reads_prompts: ClassVar[bool] = False
    gives_logprobs: ClassVar[bool] = False
    completes_text: ClassVar[bool] = False
    reads_images: ClassVar[bool] = False
    follows_schemas: ClassVar[bool] = False
    caps_replies: ClassVar[bool] = False
    tried_first: ClassVar[bool] = True

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        del task, prompts, seed
        self.spec = spec

    @classmethod
    def check(cls, spec: JudgeSpec, task: Task | None = None) -> None:
        """Raise `JudgeUnavailable` if the judge cannot run here or does not apply to the task.

        By default a judge only needs the key that its specification names.
        """
        del task
        key_of(spec.name, spec.key_env)

    @abstractmethod
    def request(self, unit: Unit) -> Request:
        """Return a unit's request, or the first of the two requests for a set-then-choice pair."""

    @abstractmethod
    def follow_up(self, request: Request, reply: Reply) -> Request:
        """Return a set-then-choice pair's second request, which follows the first reply."""

    def ask_again(self, request: Request, reply: Reply, unit: Unit, kind: AnswerKind) -> Request:
        """Return the request for a second question after an unreadable reply.

        Only judges that read prompts can be asked again.

        Parameters
        ----------
        request : Request
            The request that got the reply.
        unit : Unit
            The unit that the conversation is about.
        kind : str
            The expected kind of reply.
        """
        raise NotImplementedError

    @classmethod
    def announcement(cls, spec: JudgeSpec) -> str:
        """Describe in one line how the first call changes this machine, or return ""."""
        del spec
        return ""

    async def prepare(self) -> None:  # noqa: B027 -- most kinds need nothing
        """Load what `ask` needs. This is awaited before every call, outside the call's deadline."""

    @abstractmethod
    async def ask(self, request: Request) -> Reply:
        """Send a request once, without retrying.

        Raises
        ------
        CallFailed
            If there is no usable reply.
        """

    async def ask_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Send requests that differ only in the sample. Returns replies in order, possibly fewer.

        By default, this sends only the first request. The caller then sends the others one by one.
        """
        return [await self.ask(requests[0])]

    @property
    def n_connections(self) -> int:
        """Maximum number of simultaneous connections, or 0 if the judge runs in this process."""
        return self.spec.concurrency if self.spec.remote else 0

    def recorded(self, replies: Sequence[Reply]) -> None:  # noqa: B027 -- most kinds need nothing
        """Release replies that have now been written to the log and stored."""

    def leave(self) -> None:  # noqa: B027 -- most calls end soon
        """End long calls with `NotAsked`, because the run is not sending more requests."""

    async def aclose(self) -> None:  # noqa: B027 -- most kinds have none
        """Release connections and loaded models."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.name!r}, {self.spec.model!r})"


class PromptedJudge(Judge):
    """Judge that builds its requests from prompt templates."""

    reads_prompts = True

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        super().__init__(spec, task, prompts, seed=seed)
        self._prompts = prompts
        self._asking = spec.asking
        extra = {item.id: item for item in self._asking.extra_items(task, task.items)}
        self._items = task.by_id | extra if extra else task.by_id
        self._params = self._request_params(task)
        self._formats: dict[AnswerKind, dict[str, JsonValue]] = {}
        is_left_out = "response_format" in spec.params and spec.params["response_format"] is None
        if spec.answer == "schema" and not is_left_out:
            formats = {kind: self._asking.response_format(task, kind) for kind in ANSWER_KINDS}
            self._formats = {kind: fields for kind, fields in formats.items() if fields}
        self._empty_requests = {
            kind: Request(
                provider=spec.kind,
                base_url=spec.base_url,
                model=spec.model,
                params={**self._params, **self._formats.get(kind, {})},
                messages=(),
            )
            for kind in ANSWER_KINDS
        }

    def _request_params(self, task: Task) -> Mapping[str, JsonValue]:
        """Return the parameters that are sent with each request."""
        del task
        return self.spec.sent_params

    def request(self, unit: Unit) -> Request:
        """Return a unit's request, or the first of the two requests for a set-then-choice pair."""
        messages = self._prompts.messages(
            self._items[unit.item],
            unit.elicitation,
            self._asking,
            unit.sample,
            own=self.spec.prompts,
            both_orders=bool(self.spec.both_orders),
        )
        empty = self._empty_requests[answer_kind(unit.elicitation)]
        return empty.with_messages(messages).for_sample(unit.sample)

    def follow_up(self, request: Request, reply: Reply) -> Request:
        """Return a set-then-choice pair's second request, which follows the first reply."""
        messages = self._prompts.follow_up(
            request.messages, reply.text, self._asking, own=self.spec.prompts
        )
        if not self._formats:
            return request.with_messages(messages)
        empty = self._empty_requests["forced_choice"].for_look(request.look)
        return empty.with_messages(messages).for_sample(request.sample)

    def ask_again(self, request: Request, reply: Reply, unit: Unit, kind: AnswerKind) -> Request:
        """Return the second question after an unreadable reply."""
        question = self._prompts.reask(unit, kind, self._asking, own=self.spec.prompts)
        turns = (Message("assistant", reply.text), Message("user", question))
        return request.with_messages((*request.messages, *turns))


def key_of(judge: str, variable: str | None) -> str | None:
    """Return the key in a judge's environment variable, or None if no variable is set for it.

    Raises
    ------
    JudgeUnavailable
        If the variable is unset, empty or not printable ASCII; only its name is shown.
    """
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise JudgeUnavailable(
            f"{judge}: {variable} is not set", "Set this environment variable to your API key."
        )
    if not (key.isascii() and key.isprintable()):
        raise JudgeUnavailable(f"{judge}: {variable} contains characters that a key can't contain")
    return key


def current_key(judge: str, variable: str | None) -> str | None:
    """Return the key for a call, or stop the judge if the key is missing."""
    try:
        return key_of(judge, variable)
    except JudgeUnavailable:
        raise CallFailed("no_key", stops_judge=True, hint=f"set {variable}") from None


def without_key(reply: Reply, variable: str | None) -> Reply:
    """Mask the key in a reply, in case the server repeated it."""
    key = os.environ.get(variable or "", "").strip()
    if len(key) < MIN_KEY_CHARS:
        return reply
    if (
        key in reply.text
        or key in (reply.model or "")
        or key in (reply.fingerprint or "")
        or key in (reply.finish_reason or "")
        or key in reply.reasoning
    ):
        fields = {name: getattr(reply, name) for name in REPORTED}
        masked = {name: text.replace(key, MASK) for name, text in fields.items() if text}
        return replace(reply, logprobs=None, **masked)  # tokens are parts of the key
    if reply.logprobs is not None and key in json.dumps(reply.logprobs):
        return replace(reply, logprobs=None)
    return reply
