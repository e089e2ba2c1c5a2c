"""All verdicts in a run: those parsed from replies and those computed from others."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from harness.judging.strategies.answer_schemas import plain_replies_note
from harness.judging.strategies.strategy import Combining

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.strategies.strategy import Fitted
    from harness.tasks import Task


def is_computed(spec: JudgeSpec) -> bool:
    """Return whether a judge's verdicts are computed from verdicts on single replies."""
    return bool(spec.members) or spec.asking.is_computed


def computed_verdicts(
    specs: Sequence[JudgeSpec],
    replies: Mapping[str, Sequence[Verdict]],
    task: Task,
    *,
    look: int = 0,
    fitted: Mapping[str, Fitted] | None = None,
) -> dict[str, Sequence[Verdict]]:
    """Return the verdicts of all judges in a run, or in a later round of it.

    Parameters
    ----------
    specs : iterable of JudgeSpec
        The judges, ensembles after their members.
    replies : mapping of str to sequence of Verdict
        Verdicts on the replies of each judge that receives requests.
    task : Task
        Its options, admissible sets, criteria and ratings.
    look : int
        Number of the round; 0 for the run itself.
    fitted : mapping, optional
        Results of `fitted_in_run` for the run, by judge; by default computed from these replies.

    Returns
    -------
    dict
        Verdicts by judge. Each sample of a judge combines the number of replies its strategy needs.
        Sample s of an ensemble combines sample s of each member.
    """
    by_judge: dict[str, Sequence[Verdict]] = {}
    for spec in specs:
        of_run = None if fitted is None else fitted.get(spec.name, {})
        of = Combining(spec.name, task, spec.members, look, of_run)
        by_judge[spec.name] = (
            spec.asking.combine(_own(spec, by_judge, replies), of)
            if is_computed(spec)
            else replies[spec.name]
        )
    return by_judge


def fitted_in_run(
    specs: Sequence[JudgeSpec], replies: Mapping[str, Sequence[Verdict]], task: Task
) -> dict[str, Fitted]:
    """Return each judge's fitted values, which later rounds reuse. See `Strategy.fit`.

    Refitting in a round would shift the verdicts on all items together, but the tests of a round
    need independent items.
    """
    by_judge = computed_verdicts(specs, replies, task)
    return {
        spec.name: spec.asking.fit(
            _own(spec, by_judge, replies), Combining(spec.name, task, spec.members)
        )
        for spec in specs
        if spec.asking.is_fitted
    }


def notes_on(
    specs: Sequence[JudgeSpec], replies: Mapping[str, Sequence[Verdict]], task: Task
) -> list[str]:
    """Return notes about each judge's replies for the reader. See `Strategy.notes`."""
    by_judge: Mapping[str, Sequence[Verdict]] = {}
    if any(spec.members for spec in specs):
        by_judge = computed_verdicts([s for s in specs if not s.members], replies, task)
    notes: list[str] = []
    for spec in specs:
        own = _own(spec, by_judge, replies)
        notes += spec.asking.notes(own, Combining(spec.name, task, spec.members))
        if spec.answer == "schema":
            notes += filter(None, [plain_replies_note(spec.name, own)])
    return notes


def _own(
    spec: JudgeSpec,
    by_judge: Mapping[str, Sequence[Verdict]],
    replies: Mapping[str, Sequence[Verdict]],
) -> Sequence[Verdict]:
    """Return the inputs of a judge's verdicts: its own replies, or its members' verdicts."""
    if not spec.members:
        return replies[spec.name]
    return list(chain.from_iterable(by_judge[name] for name in spec.members))
