"""Outcome of a re-validation, with its sentences, exit code, failed conditions and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.errors import ExitCode
from harness.revalidation.fail_on import failures, model_change
from harness.revalidation.records import ProviderReport
from harness.revalidation.sentences import lead

if TYPE_CHECKING:
    from pathlib import Path

    from harness.analysis.conditions import Condition
    from harness.revalidation.records import Baseline, JudgeLook, JudgeVerdict, Look


@dataclass(frozen=True, slots=True, repr=False)
class LookEnding:
    """Outcome of a re-validation.

    Attributes
    ----------
    run : Path
        The run, or the exported baseline.
    exit_code : int
        0, 1 if a condition failed, 3 if a judge is incomplete or earlier rounds are lost, or the
        code of a stopped round; see `harness.errors.ExitCode`.
    said : tuple of (str, str)
        State and sentence for each judge, the most serious first; or, with an empty state, what was
        done or why nothing was.
    failed : tuple of str
        The failed conditions, one line per condition and judge.
    look : Look or None
        The round; the last one if none was due or one was excluded, else None.
    baseline : Baseline or None
        The round's baseline; None if a round was excluded.
    due_in_s : float or None
        Seconds until the next round is due, if none was; None after a round.
    warnings : tuple of str
        Problems with the history, or with the replies of earlier rounds.
    """

    run: Path
    exit_code: int
    said: tuple[tuple[str, str], ...]
    failed: tuple[str, ...] = ()
    look: Look | None = None
    baseline: Baseline | None = None
    due_in_s: float | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def after(
        cls,
        run: Path,
        look: Look,
        baseline: Baseline,
        conditions: tuple[Condition, ...],
        *,
        due_in_s: float | None = None,
    ) -> LookEnding:
        """Return a round's outcome. If no round is due, this is an earlier round's outcome."""
        failed = tuple(failures(conditions, look, baseline))
        codes = [ExitCode.CHECK_FAILED] if failed else []
        if look.lost or look.ended or any(judge.shortfall for judge in look.judges):
            codes.append(ExitCode.INCOMPLETE)
        code = int(ExitCode.most_important([ExitCode.DONE, *codes]))
        said = tuple(lead(look, baseline))
        return cls(run, code, said, failed, look, baseline, due_in_s)

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{judge} {verdict}" for judge, verdict in self.verdicts.items())
        return f"LookEnding({self.run.name!r}, {verdicts or self.sentence})"

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences, with the most serious one first."""
        return tuple(sentence for _, sentence in self.said)

    @property
    def sentence(self) -> str:
        """The first and most serious sentence."""
        return self.sentences[0]

    @property
    def verdicts(self) -> dict[str, JudgeVerdict]:
        """The verdict on each watched judge."""
        return {judge.judge: judge.verdict for judge in self.look.judges} if self.look else {}

    @property
    def models(self) -> dict[str, dict[str, object]]:
        """Each judge's reported model versions, now and at the baseline, and whether any is new."""
        if self.look is None or self.baseline is None:
            return {}
        return {judge.judge: _models(judge, self.baseline) for judge in self.look.judges}

    def facts(self) -> dict[str, object]:
        """Return the outcome as a dict for JSON, without the round."""
        facts: dict[str, object] = {
            "run": str(self.run),
            "exit_code": self.exit_code,
            "failed": list(self.failed),
            "verdicts": self.verdicts,
            "sentences": list(self.sentences),
            "warnings": list(self.warnings),
            "models": self.models,
        }
        return facts if self.due_in_s is None else facts | {"due_in_s": round(self.due_in_s)}


def _models(judge: JudgeLook, baseline: Baseline) -> dict[str, object]:
    now, before = judge.provider, baseline.providers.get(judge.judge) or ProviderReport()
    return {
        "models": list(now.models),
        "fingerprints": list(now.fingerprints),
        "models_at_baseline": list(before.models),
        "fingerprints_at_baseline": list(before.fingerprints),
        "is_new": bool(model_change(judge, baseline)),
    }
