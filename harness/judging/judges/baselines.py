"""Baseline judges: a uniform choice and the most frequent human answer."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from harness.errors import JudgeUnavailable
from harness.judging.judges.embedded import EmbeddedJudge, digest
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Reply
    from harness.judging.prompts.requests import Prompts, Request
    from harness.tasks import Rating, Task


class RandomJudge(EmbeddedJudge):
    """Chooses uniformly, as a function of the seed and the request alone."""

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        super().__init__(spec, task, prompts, seed=seed)
        self._params["seed"] = seed

    async def ask(self, request: Request) -> Reply:
        """Draw an option, or a response set."""
        draw = int(request.hash, 16)  # 256 bits: the remainder is uniform to within 2**-240
        if request.params["elicitation"] == "response_set":
            return self._reply(request, self._sets[draw % len(self._sets)])
        candidates = self._candidates(request)
        return self._reply(request, candidates[draw % len(candidates)])


class MajorityJudge(EmbeddedJudge):
    """Gives every item the mode of all human ratings: in-sample, it has seen the answers.

    Ties go to the option, or response set, that comes first in the task. Where humans gave no
    response sets, the set is the mode alone, and marked as derived.
    """

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        super().__init__(spec, task, prompts, seed=seed)
        self._choice_counts = _count_choices(task.ratings)
        counts = Counter(r.value for r in task.ratings if isinstance(r.value, tuple))
        self._set_counts = {members: counts[members] for members in self._sets}
        ratings = sorted((r.item, r.rater, r.elicitation, r.value) for r in task.ratings)
        self._params["ratings"] = digest(json.dumps(ratings))

    @classmethod
    def check(cls, spec: JudgeSpec, task: Task | None = None) -> None:
        """Raise `JudgeUnavailable` if no human made a forced choice."""
        super().check(spec, task)
        if task is not None and not _count_choices(task.ratings):
            raise JudgeUnavailable(f"{spec.name}: task {task.name!r} has no human forced choices")

    async def ask(self, request: Request) -> Reply:
        """Return the mode; in the second turn of a pair, the mode within the set."""
        candidates = self._candidates(request)
        mode = max(candidates, key=lambda key: self._choice_counts[key])  # the first of equals
        if request.params["elicitation"] == "forced_choice":
            return self._reply(request, mode)
        if not any(self._set_counts.values()):
            return self._reply(request, (mode,), derived=True)
        return self._reply(request, max(self._sets, key=lambda members: self._set_counts[members]))


def _count_choices(ratings: Sequence[Rating]) -> Counter[str]:
    return Counter(
        r.value for r in ratings if isinstance(r.value, str) and r.value != CANNOT_ASSESS
    )
