"""Judges without a network: a base class, a word list, random choices and scripted replies.

Their replies are texts and are parsed like those of other judges. The request contains everything a
reply depends on, so its hash is a valid cache key.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from harness.errors import CallFailed, JudgeUnavailable
from harness.judging.judges.base import Judge, PromptedJudge
from harness.judging.parsing.grammar import parse, render
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.question import Message
from harness.judging.prompts.requests import Request, answer_kind
from harness.tasks.schema import number_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.prompts.question import Unit
    from harness.judging.prompts.requests import Prompts
    from harness.tasks import Task


STEPS = 1000  # steps between the bounds of a scale for random numbers


class EmbeddedJudge(Judge):
    """Judge that selects among the task's options by a rule."""

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        super().__init__(spec, task, prompts, seed=seed)
        self.check(spec, task)
        self._task = task
        self._options = [option.key for option in task.options]
        sets = () if task.is_open else task.space.sets
        self._sets: list[tuple[str, ...]] = [tuple(members) for members in sets]
        schema = json.dumps([[option.model_dump() for option in task.options], self._sets])
        self._params: dict[str, JsonValue] = {"options": digest(schema)}

    @classmethod
    def check(cls, spec: JudgeSpec, task: Task | None = None) -> None:
        """Raise `JudgeUnavailable` if the task has no options."""
        if task is not None and not task.options:
            raise JudgeUnavailable(f"{spec.name}: task {task.name!r} has no options to choose from")

    def request(self, unit: Unit) -> Request:
        """Return a unit's request, or the first of the two requests for a set-then-choice pair."""
        return Request(
            provider=self.spec.kind,
            model=self.spec.model,
            params={**self._params, "elicitation": answer_kind(unit.elicitation)},
            messages=(Message(role="user", content=self._content(unit.item)),),
            sample=unit.sample,
        )

    def follow_up(self, request: Request, reply: Reply) -> Request:
        """Return a set-then-choice pair's second request, which includes the accepted set."""
        return replace(
            request,
            params={**request.params, "elicitation": "forced_choice"},
            messages=(*request.messages, Message(role="assistant", content=reply.text)),
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.name!r})"

    def _content(self, item_id: str) -> str:
        """Return the content of the request's message, by default the item's id."""
        return item_id

    def _candidates(self, request: Request) -> list[str]:
        """Return the options to choose from. After a response set, only its options are allowed."""
        replies = [m.content for m in request.messages if m.role == "assistant"]
        if not replies:
            return self._options
        parsed, _ = parse(
            replies[-1],
            "response_set",
            self._task.options,
            abstain=self._task.abstain,
            sets=self._task.space.sets,
        )
        return list(parsed.value) if isinstance(parsed.value, tuple) else self._options

    def _reply(
        self, request: Request, value: str | tuple[str, ...], *, derived: bool = False
    ) -> Reply:
        return local_reply(request, render(value, self._task.options), derived=derived)


class LexiconJudge(EmbeddedJudge):
    """VADER sentiment judge, for tasks that assign an option to each sentiment.

    The sign of the compound score (-1 to 1) selects the option. A score of exactly 0, which means
    that no word is in the list, selects the option that is not positive. A response set is derived:
    both options if the score is within the cut-off of 0, else only the selected one.

    References
    ----------
    Hutto and Gilbert, VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media
    Text, ICWSM 2014.
    """

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        super().__init__(spec, task, prompts, seed=seed)
        assert task.lexicon is not None, "checked by check"
        self._lexicon = task.lexicon
        is_positive = task.lexicon.positive in task.positive
        self._neutral = task.lexicon.negative if is_positive else task.lexicon.positive
        self._params["unmoved"] = self._neutral
        self._params |= self._lexicon.model_dump() | {"vader": version("vaderSentiment")}
        self._polarity_scores: Any = None

    @classmethod
    def check(cls, spec: JudgeSpec, task: Task | None = None) -> None:
        """Raise `JudgeUnavailable` if the task has no `lexicon:`."""
        super().check(spec, task)
        if task is not None and task.lexicon is None:
            add = (
                "Add `lexicon: {positive: OPTION, negative: OPTION}` to its task.yaml"
                if task.is_in_folder
                else "Pass mapping['lexicon'] = {'positive': OPTION, 'negative': OPTION}"
            )
            raise JudgeUnavailable(
                f"{spec.name}: task {task.name!r} does not assign options to sentiments",
                f"{add}, with the options that stand for positive and negative texts",
            )

    async def ask(self, request: Request) -> Reply:
        """Score the sentiment of the item's text, which is the request's only message."""
        compound = self._compound(request.messages[0].content)
        lexicon = self._lexicon
        by_sign = lexicon.positive if compound > 0 else lexicon.negative
        choice = by_sign if compound else self._neutral
        if request.params["elicitation"] == "forced_choice":
            return self._reply(request, choice)
        both = tuple(key for key in self._options if key in {lexicon.positive, lexicon.negative})
        is_unsure = abs(compound) < lexicon.cutoff and both in self._sets
        return self._reply(request, both if is_unsure else (choice,), derived=True)

    def _content(self, item_id: str) -> str:
        return self._task.text_of(self._task.by_id[item_id])

    def _compound(self, text: str) -> float:
        if self._polarity_scores is None:
            from vaderSentiment.vaderSentiment import (  # noqa: PLC0415 -- reads its word list
                SentimentIntensityAnalyzer,
            )

            self._polarity_scores = SentimentIntensityAnalyzer().polarity_scores
        return float(self._polarity_scores(text)["compound"])


class RandomJudge(EmbeddedJudge):
    """Judge that draws options uniformly, based only on the seed and the request.

    On a continuous scale with bounds, it draws one of `STEPS` + 1 equally spaced numbers.
    """

    reads_images = True  # as it looks at nothing

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        super().__init__(spec, task, prompts, seed=seed)
        self._params["seed"] = seed
        if task.bounds:
            self._params["bounds"] = list(task.bounds)

    @classmethod
    def check(cls, spec: JudgeSpec, task: Task | None = None) -> None:
        """Raise `JudgeUnavailable` if the task has neither options nor bounds."""
        if task is None or task.bounds is None:
            super().check(spec, task)

    async def ask(self, request: Request) -> Reply:
        """Return a random option, response set or number."""
        draw = int(request.hash, 16)  # 256 bits: the remainder is uniform to within 2**-240
        if self._task.bounds:
            low, high = self._task.bounds
            number = low + (high - low) * (draw % (STEPS + 1)) / STEPS
            return local_reply(request, number_text(number))
        if request.params["elicitation"] == "response_set":
            return self._reply(request, self._sets[draw % len(self._sets)])
        candidates = self._candidates(request)
        return self._reply(request, candidates[draw % len(candidates)])


class ScriptedJudge(PromptedJudge):
    """Judge that replays scripted replies.

    The script maps item ids (``"*"`` for all others) to replies: one text for every sample, a tuple
    with a text per sample, or a mapping from elicitation to either. The turns of a pair are a tuple
    of two texts, so the replies to a paired unit are a tuple of such tuples.
    """

    reads_images = True  # as it looks at nothing

    @classmethod
    def check(cls, spec: JudgeSpec, task: Task | None = None) -> None:
        """Accept any task."""

    def _request_params(self, task: Task) -> dict[str, JsonValue]:
        del task
        return {"script": digest(json.dumps(self.spec.replies, sort_keys=True))}

    def request(self, unit: Unit) -> Request:
        """Return the request for a unit, which includes the digest of the script."""
        request = super().request(unit)
        place = {"item": unit.item, "elicitation": unit.elicitation}
        return replace(request, params={**request.params, **place})

    def follow_up(self, request: Request, reply: Reply) -> Request:
        """Return a set-then-choice pair's second request, which includes the first reply."""
        return replace(super().follow_up(request, reply), params={**request.params, "turn": 2})

    async def ask(self, request: Request) -> Reply:
        """Return the script's reply for this item, elicitation and sample."""
        return local_reply(request, _scripted_text(self.spec.replies, request))

    def __repr__(self) -> str:
        return f"ScriptedJudge({self.spec.name!r}, {len(self.spec.replies)} items)"


def _scripted_text(script: Mapping[str, Any], request: Request) -> str:
    replies = script.get(str(request.params["item"]), script.get("*"))
    if isinstance(replies, dict):
        replies = replies.get(str(request.params["elicitation"]))
    if isinstance(replies, tuple):
        replies = replies[request.sample] if request.sample < len(replies) else None
    if isinstance(replies, tuple):
        replies = replies[int(request.params.get("turn") == 2)]  # noqa: PLR2004 -- a pair has two turns
    if not isinstance(replies, str):
        raise CallFailed("not_in_script")
    return replies


def local_reply(request: Request, text: str, *, derived: bool = False) -> Reply:
    """Return a reply that has no cost."""
    return Reply(
        request=request.hash,
        text=text,
        model=request.model,
        finish_reason="stop",
        cost_usd=0.0,
        latency_s=0.0,
        derived=derived,
    )


def digest(text: str) -> str:
    """Return the first 32 hex digits of a text's SHA-256 hash."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
