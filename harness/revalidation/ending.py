"""How a re-validation ended: its first sentence, exit code, failed conditions and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.errors import ExitCode
from harness.revalidation.fail_on import failures
from harness.revalidation.schedule import time_until_due
from harness.revalidation.verdict_sentences import lead

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from harness.revalidation import Period
    from harness.revalidation.fail_on import Condition
    from harness.revalidation.history import Baseline, HistoryReading, JudgeVerdict, Look
    from harness.revalidation.revalidate import Revalidation
    from harness.runs import RunFolder


@dataclass(frozen=True, slots=True, repr=False)
class LookEnding:
    """How a re-validation ended.

    Attributes
    ----------
    run : Path
        The run, or the exported baseline.
    exit_code : int
        0, 1 if a condition failed, 3 if a judge is incomplete, or as of a look that was stopped;
        see `harness.errors.ExitCode`.
    sentences : tuple of str
        About each judge, the most serious verdict first.
    failed : tuple of str
        The conditions that failed, a line for each of them and judge.
    verdicts : dict of str to str
        Verdict of each judge that is watched.
    look : Look or None
        The look; the last one where none was due, and None where it was stopped.
    due_in_s : float or None
        Seconds until the next look is due, where none was; None after a look.
    """

    run: Path
    exit_code: int
    sentences: tuple[str, ...]
    failed: tuple[str, ...]
    verdicts: dict[str, JudgeVerdict]
    look: Look | None
    due_in_s: float | None = None

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{judge} {verdict}" for judge, verdict in self.verdicts.items())
        return f"LookEnding({self.run.name!r}, {verdicts or self.sentence})"

    @property
    def sentence(self) -> str:
        """The first sentence."""
        return self.sentences[0]

    def facts(self) -> dict[str, object]:
        """Return how it ended as JSON has it, without the look."""
        facts: dict[str, object] = {
            "run": str(self.run),
            "exit_code": self.exit_code,
            "failed": list(self.failed),
            "verdicts": self.verdicts,
            "sentences": list(self.sentences),
        }
        return facts if self.due_in_s is None else facts | {"due_in_s": round(self.due_in_s)}


def ending_of(
    run: RunFolder, result: Revalidation, conditions: tuple[Condition, ...]
) -> LookEnding:
    """Return how a re-validation ended, with what its conditions demand."""
    return _ending(run, result.look, result.history.baseline, conditions, result.exit_code)


def ending_unless_due(
    run: RunFolder,
    history: HistoryReading,
    every: Period,
    judges: Sequence[str],
    conditions: tuple[Condition, ...],
) -> LookEnding | None:
    """End as the last look at some judges did, if the next one is not due: an alarm stays open."""
    last = history.last_look_at(judges)
    due_in_s = time_until_due(last, every).total_seconds()
    if last is None or due_in_s <= 0:
        return None
    baseline = history.baseline
    compared = last if baseline and last.baseline == baseline.number else None
    return _ending(run, compared, baseline, conditions, ExitCode.DONE, due_in_s)


def _ending(  # noqa: PLR0917 -- what both endings are made of
    run: RunFolder,
    look: Look | None,
    baseline: Baseline | None,
    conditions: tuple[Condition, ...],
    code: ExitCode,
    due_in_s: float | None = None,
) -> LookEnding:
    failed = failures(conditions, look, baseline) if look is not None else []
    codes = [code, *([ExitCode.CHECK_FAILED] if failed else [])]
    sentences = lead(look, baseline) if look is not None and baseline is not None else []
    stopped = "The look was stopped." if due_in_s is None else "No look is due."
    return LookEnding(
        run=run.path,
        exit_code=int(ExitCode.most_important(codes)),
        sentences=tuple(sentence for _, sentence in sentences) or (stopped,),
        failed=tuple(failed),
        verdicts={judge.judge: judge.verdict for judge in look.judges} if look else {},
        look=look,
        due_in_s=due_in_s,
    )
