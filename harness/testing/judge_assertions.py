"""Assertions about a judge's numbers, with messages that show interval and n."""

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
    """Return assertions about one judge of a run.

    Parameters
    ----------
    run : Run or Validation
        Of `harness.run`, `harness.load_run` or `harness.validate`.
    name : str
        The judge.

    Raises
    ------
    AssertionError
        If the run has no such judge.
    """
    __tracebackhide__ = True
    from harness.api.asked_runs import Run  # noqa: PLC0415 -- heavy, and there where a run is

    validation = run.validation if isinstance(run, Run) else run
    names = [judge.name for judge in validation.judges]
    if name not in names:
        raise AssertionError(f"no judge {name!r}. The run has {', '.join(names) or 'none'}")
    return JudgeAssertion(validation, name)


def assert_unchanged(
    run: Run | str | Path | None = None,
    **options: Any,  # noqa: ANN401 -- of `harness.revalidate`
) -> LookEnding:
    """Ask the judges of a run again, and assert that none of them changed.

    Parameters
    ----------
    run : Run, str or Path, optional
        As of `harness.revalidate`.
    **options
        As of `harness.revalidate`; ``fail_on`` names other conditions than a changed judge, and
        with ``if_due="week"`` a round that is younger is not repeated but counts.

    Returns
    -------
    LookEnding
        How the round ended.

    Raises
    ------
    AssertionError
        If a condition failed, or a judge was not asked to the end.
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
    """Assertions about one judge; made by `assert_judge`."""

    validation: Validation
    judge: str

    def metric(self, name: str) -> MetricAssertion:
        """Return assertions about a metric of the judge.

        ``usable_replies``, ``answered_fraction``, ``beta`` and ``annotator_test`` (its p-value) are
        named like metrics.
        """
        return MetricAssertion(self.validation, self.judge, name)

    def is_recommended(self, *, least: DecisionVerdict = "use") -> None:
        """Assert that the recommendation is to use this judge.

        Parameters
        ----------
        least : {"use", "use_if_independent", "best_not_proven"}, optional
            The weakest verdict that passes.

        Raises
        ------
        AssertionError
            If the verdict is another, or names another judge.
        """
        __tracebackhide__ = True
        from harness.analysis.conditions import Condition  # noqa: PLC0415 -- heavy, as above

        decision = self.validation.decision
        passed = Condition.at_least(least).accepts(decision.verdict)
        if not passed or decision.judge != self.judge:
            named = f" ({decision.judge})" if decision.judge else ""
            raise AssertionError(
                f"{self.judge}: the verdict is {decision.verdict}{named}, not {least}"
            )


@dataclass(frozen=True, slots=True)
class MetricAssertion:
    """Assertions about one number of a judge; NA fails each of them."""

    validation: Validation
    judge: str
    metric: str

    def at_least(self, limit: float, *, end: End = "value") -> None:
        """Assert that the number, or an end of its interval, is not below a limit.

        Parameters
        ----------
        limit : float
            The least value that passes.
        end : {"value", "lower", "upper"}, optional
            What is compared: the number itself by default.

        Raises
        ------
        AssertionError
            If it is below, or NA.
        HarnessError
            If there is no such metric.
        """
        __tracebackhide__ = True
        self._check(">=", limit, end)

    def at_most(self, limit: float, *, end: End = "value") -> None:
        """Assert that the number, or an end of its interval, is not above a limit.

        As `at_least`, in the other direction.
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
