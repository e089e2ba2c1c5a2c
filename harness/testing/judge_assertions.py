"""Assertions about a judge's numbers, with messages that show the interval and n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from harness.analysis import Validation
    from harness.analysis.conditions import End
    from harness.analysis.decision import DecisionVerdict
    from harness.api.asked_runs import Run
    from harness.revalidation.ending import LookEnding


def assert_judge(run: Run | Validation, name: str) -> JudgeAssertion:
    """Create assertions about one judge in a run.

    Parameters
    ----------
    run : Run or Validation
        The result of `harness.run`, `harness.load_run` or `harness.validate`.
    name : str
        Name of the judge.

    Raises
    ------
    AssertionError
        If the run has no such judge.
    """
    __tracebackhide__ = True
    from harness.api.asked_runs import Run  # noqa: PLC0415 -- heavy; loaded if there is a run

    validation = run.validation if isinstance(run, Run) else run
    names = [judge.name for judge in validation.judges]
    if name not in names:
        raise AssertionError(f"no judge {name!r}. The run has {', '.join(names) or 'none'}")
    return JudgeAssertion(validation, name)


def assert_unchanged(
    run: Run | str | Path | None = None,
    **options: Any,  # noqa: ANN401 -- see `harness.revalidate`
) -> LookEnding:
    """Re-run a run's judges, and assert that none of the judges changed.

    Parameters
    ----------
    run : Run, str or Path, optional
        As for `harness.revalidate`.
    **options
        As for `harness.revalidate`. ``fail_on`` sets conditions other than a changed judge. With
        ``if_due="week"``, a round from the past week is used instead of a new one.

    Returns
    -------
    LookEnding
        The end of the round.

    Raises
    ------
    AssertionError
        If a condition failed, or a judge did not complete the round.
    HarnessError
        If the run, a judge or an option is wrong.
    """
    __tracebackhide__ = True
    from harness.api.revalidations import revalidate  # noqa: PLC0415 -- heavy

    ending = revalidate(run, **options)
    if ending.exit_code:
        failed = "".join(f"\n{line}" for line in ending.failed)
        raise AssertionError(f"{ending.sentence}{failed}\nexit code {ending.exit_code}")
    return ending


@dataclass(frozen=True, slots=True)
class JudgeAssertion:
    """Assertions about one judge, created by `assert_judge`."""

    validation: Validation
    judge: str

    def metric(self, name: str) -> MetricAssertion:
        """Create assertions about one of the judge's metrics.

        ``usable_replies``, ``answered_fraction``, ``beta`` and ``annotator_test`` (its p-value) are
        named like metrics.
        """
        return MetricAssertion(self.validation, self.judge, name)

    def is_recommended(self, *, least: DecisionVerdict = "use") -> None:
        """Assert that the recommendation is to use this judge.

        Parameters
        ----------
        least : {"use", "use_if_independent", "best_not_proven"}, optional
            The weakest recommendation that passes.

        Raises
        ------
        AssertionError
            If the recommendation is weaker, or is for a different judge.
        """
        __tracebackhide__ = True
        from harness.analysis.conditions import Condition  # noqa: PLC0415 -- heavy, as above

        decision = self.validation.decision
        passed = Condition.at_least(least).accepts(decision.verdict)
        if not passed or decision.judge != self.judge:
            named = f" ({decision.judge})" if decision.judge else ""
            raise AssertionError(
                f"{self.judge}: the recommendation is {decision.verdict}{named}, not {least}"
            )


@dataclass(frozen=True, slots=True)
class MetricAssertion:
    """Assertions about one number of a judge. All assertions fail if the number is NA."""

    validation: Validation
    judge: str
    metric: str

    def at_least(self, limit: float, *, end: End = "value") -> None:
        """Assert that the number, or an end of its interval, is not below a limit.

        Parameters
        ----------
        limit : float
            The lowest value that passes.
        end : {"value", "lower", "upper"}, optional
            The number to compare: by default the value itself, not an end of its interval.

        Raises
        ------
        AssertionError
            If the compared number is below the limit, or NA.
        HarnessError
            If there is no such metric.
        """
        __tracebackhide__ = True
        self._check(">=", limit, end)

    def at_most(self, limit: float, *, end: End = "value") -> None:
        """Assert that the number, or an end of its interval, is not above a limit.

        Parameters and errors are as for `at_least`.
        """
        __tracebackhide__ = True
        self._check("<=", limit, end)

    def _check(self, sign: str, limit: float, end: End) -> None:
        __tracebackhide__ = True
        from harness.app.gates import check_requirements, failure  # noqa: PLC0415 -- as above

        suffix = "" if end == "value" else f":{end}"
        text = f"{self.judge}: {self.metric}{sign}{float(limit)!r}{suffix}"
        (result,) = check_requirements(self.validation, [text])
        if not result.passed:
            raise AssertionError(failure(result))
