"""Judges that need no network and no model: the baselines, a word list, and a script that replays.

Each answers in text, which goes through the same parser as everybody else's. All that decides an
answer is in the request, so that its hash is an honest cache key.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from harness.errors import CallFailed, JudgeUnavailable
from harness.judging.judges.config import JudgeSpec
from harness.judging.parsing.verdict import CANNOT_ASSESS, Reply, parse, render
from harness.judging.prompts.requests import Message, Request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.judging.judges.config import Script
    from harness.judging.judges.registry import Judge
    from harness.judging.prompts.requests import Prompts, Unit
    from harness.tasks import Rating, Task


def check_task(spec: JudgeSpec, task: Task) -> None:
    """Say why an embedded judge means nothing for a task.

    Raises
    ------
    JudgeUnavailable
        If there are no options to choose from, no `lexicon:` for the word list, or no human
        ratings for the majority.
    """
    if not task.options:
        raise JudgeUnavailable(f"{spec.name}: task {task.name!r} has no options to choose from")
    if spec.kind == "lexicon" and task.lexicon is None:
        raise JudgeUnavailable(
            f"{spec.name}: task {task.name!r} does not say what sentiment means; "
            "add `lexicon:` to its task.yaml"
        )
    if spec.kind == "majority" and not _choices(task.ratings):
        raise JudgeUnavailable(f"{spec.name}: task {task.name!r} has no human forced choices")


def build_embedded(spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> Judge:
    """Make one of the judges of this module; ``seed`` moves only the random one."""
    check_task(spec, task)
    if spec.kind == "random":
        return Random(spec, task, seed=seed)
    if spec.kind == "majority":
        return Majority(spec, task)
    if spec.kind == "lexicon":
        return Lexicon(spec, task)
    return Scripted(spec, task, prompts)


def scripted(replies: Script, *, name: str = "scripted", samples: int = 1) -> JudgeSpec:
    """Specify a judge that replays given replies, for tests and documentation.

    Parameters
    ----------
    replies : mapping
        From item id (``"*"`` for all others) to what is said: a text for every sample, a tuple of
        texts by sample, or a mapping from elicitation to either. A pair's turns are a tuple of two
        texts, so a paired unit's replies are a tuple of such tuples.
    name : str
        Name of the judge.
    samples : int
        Calls per item.

    Examples
    --------
    >>> scripted({"comment-1": "A", "*": ("A", "B")}, samples=2)
    JudgeSpec('scripted', scripted 'script', 2 samples)
    """
    return JudgeSpec(name=name, kind="scripted", model="script", samples=samples, replies=replies)


class _Local:
    """What all judges of this module share: nothing leaves, and each sample is asked alone."""

    async def ask_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer the first; the others are then asked for alone."""
        return [await self.ask(requests[0])]

    async def ask(self, request: Request) -> Reply:
        """Answer one request."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Nothing is held."""


class _Embedded(_Local):
    """What most of them share: a request that holds all that decides the answer."""

    def __init__(self, spec: JudgeSpec, task: Task) -> None:
        self.spec = spec
        self._task = task
        self._options = [option.key for option in task.options]
        self._sets: list[tuple[str, ...]] = [tuple(members) for members in task.space.sets]
        shape = json.dumps([[o.model_dump() for o in task.options], self._sets])
        self._given: dict[str, Any] = {"options": _digest(shape)}

    def request(self, unit: Unit) -> Request:
        """Say what will be asked; of a pair, the first turn."""
        elicitation = "forced_choice" if unit.elicitation == "forced_choice" else "response_set"
        return Request(
            provider=self.spec.kind,
            model=self.spec.model,
            params={**self._given, "elicitation": elicitation},
            messages=(Message(role="user", content=self._shown(unit.item)),),
            sample=unit.sample,
        )

    def follow_up(self, request: Request, reply: Reply) -> Request:
        """Ask for the single choice; the endorsed set is part of the request."""
        return replace(
            request,
            params={**request.params, "elicitation": "forced_choice"},
            messages=(*request.messages, Message(role="assistant", content=reply.text)),
        )

    def __repr__(self) -> str:
        """One line that tells the judge."""
        return f"{type(self).__name__}({self.spec.name!r})"

    def _shown(self, item: str) -> str:
        return item

    def _endorsed(self, request: Request) -> list[str]:
        """Options to choose among: in a pair's second turn, those of the first reply."""
        said = [m.content for m in request.messages if m.role == "assistant"]
        if not said:
            return self._options
        read = parse(
            said[-1],
            "response_set",
            self._task.options,
            abstain=self._task.abstain,
            sets=self._task.space.sets,
        )
        return list(read.value) if isinstance(read.value, tuple) else self._options

    def _say(
        self, request: Request, value: str | tuple[str, ...], *, derived: bool = False
    ) -> Reply:
        return Reply(
            request=request.hash,
            text=render(value, self._task.options),
            model=self.spec.model,
            finish_reason="stop",
            cost_usd=0.0,
            latency_s=0.0,
            derived=derived,
        )


class Random(_Embedded):
    """Chooses uniformly, as a function of the seed and the request alone."""

    def __init__(self, spec: JudgeSpec, task: Task, *, seed: int) -> None:
        super().__init__(spec, task)
        self._given["seed"] = seed

    async def ask(self, request: Request) -> Reply:
        """Draw one option, or one response set."""
        draw = int(request.hash, 16)  # 256 bits: the remainder is uniform to within 2**-240
        if request.params["elicitation"] == "response_set":
            return self._say(request, self._sets[draw % len(self._sets)])
        among = self._endorsed(request)
        return self._say(request, among[draw % len(among)])


class Majority(_Embedded):
    """Gives every item the mode of all human ratings: in-sample, it has seen the answers.

    Ties go to the option, or response set, that comes first in the task. Where humans gave no
    response sets, the set is the mode alone, and marked as derived.
    """

    def __init__(self, spec: JudgeSpec, task: Task) -> None:
        super().__init__(spec, task)
        self._choice_counts = _choices(task.ratings)
        counts = Counter(r.value for r in task.ratings if isinstance(r.value, tuple))
        self._set_counts = {members: counts[members] for members in self._sets}
        ratings = sorted((r.item, r.rater, r.elicitation, r.value) for r in task.ratings)
        self._given["ratings"] = _digest(json.dumps(ratings))

    async def ask(self, request: Request) -> Reply:
        """Give the mode; in a pair's second turn, the mode within the set."""
        among = self._endorsed(request)
        mode = max(among, key=lambda option: self._choice_counts[option])  # the first of equals
        if request.params["elicitation"] == "forced_choice":
            return self._say(request, mode)
        if not any(self._set_counts.values()):
            return self._say(request, (mode,), derived=True)
        return self._say(request, max(self._sets, key=lambda members: self._set_counts[members]))


class Lexicon(_Embedded):
    """VADER's sentiment, where the task says which option it stands for.

    The sign of the compound score (-1 to 1) chooses; at exactly 0, where no word was known, the
    option that the task does not look for. A response set is derived: both options when the score
    is within the cut-off of 0, else the chosen one.

    Source: Hutto and Gilbert, VADER: A Parsimonious Rule-based Model for Sentiment Analysis of
    Social Media Text, ICWSM 2014.
    """

    def __init__(self, spec: JudgeSpec, task: Task) -> None:
        super().__init__(spec, task)
        assert task.lexicon is not None, "checked by check_task"
        self._lexicon = task.lexicon
        word = task.lexicon
        self._unmoved = word.negative if word.positive in task.positive else word.positive
        self._given["unmoved"] = self._unmoved
        self._given |= self._lexicon.model_dump() | {"vader": version("vaderSentiment")}
        self._items = {item.id: item for item in task.items}
        self._score: Any = None

    def _shown(self, item: str) -> str:
        return self._task.text_of(self._items[item])

    async def ask(self, request: Request) -> Reply:
        """Score the item's text, the one message of the request."""
        compound = self._compound(request.messages[0].content)
        word = self._lexicon
        moved = word.positive if compound > 0 else word.negative
        choice = moved if compound else self._unmoved
        if request.params["elicitation"] == "forced_choice":
            return self._say(request, choice)
        both = tuple(key for key in self._options if key in {word.positive, word.negative})
        unsure = abs(compound) < word.cutoff and both in self._sets
        return self._say(request, both if unsure else (choice,), derived=True)

    def _compound(self, text: str) -> float:
        if self._score is None:
            from vaderSentiment.vaderSentiment import (  # noqa: PLC0415 -- reads its word list
                SentimentIntensityAnalyzer,
            )

            self._score = SentimentIntensityAnalyzer().polarity_scores
        return float(self._score(text)["compound"])


class Scripted(_Local):
    """Replays what it was given; see `scripted`."""

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts) -> None:
        self.spec = spec
        self._prompts = prompts
        self._items = {item.id: item for item in task.items}
        self._script = _digest(json.dumps(spec.replies, sort_keys=True))

    def request(self, unit: Unit) -> Request:
        """Say what will be asked; the script's hash is part of it."""
        return Request(
            provider="scripted",
            model=self.spec.model,
            params={"script": self._script, "item": unit.item, "elicitation": unit.elicitation},
            messages=self._prompts.messages(self._items[unit.item], unit.elicitation),
            sample=unit.sample,
        )

    def follow_up(self, request: Request, reply: Reply) -> Request:
        """Say what the second turn asks; the first reply is part of it."""
        return replace(
            request,
            params={**request.params, "turn": 2},
            messages=self._prompts.follow_up(request.messages, reply.text),
        )

    async def ask(self, request: Request) -> Reply:
        """Say the line the script has for this item, elicitation and sample."""
        return Reply(
            request=request.hash,
            text=_line(self.spec.replies, request),
            model=self.spec.model,
            finish_reason="stop",
            cost_usd=0.0,
            latency_s=0.0,
        )

    def __repr__(self) -> str:
        """One line that tells the judge."""
        return f"Scripted({self.spec.name!r}, {len(self.spec.replies)} items)"


def _line(script: Mapping[str, Any], request: Request) -> str:
    lines = script.get(str(request.params["item"]), script.get("*"))
    if isinstance(lines, dict):
        lines = lines.get(str(request.params["elicitation"]))
    if isinstance(lines, tuple):
        lines = lines[request.sample] if request.sample < len(lines) else None
    if isinstance(lines, tuple):
        lines = lines[int(request.params.get("turn") == 2)]  # noqa: PLR2004 -- a pair has two turns
    if not isinstance(lines, str):
        raise CallFailed("not_in_script")
    return lines


def _choices(ratings: Sequence[Rating]) -> Counter[str]:
    return Counter(
        r.value for r in ratings if isinstance(r.value, str) and r.value != CANNOT_ASSESS
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
