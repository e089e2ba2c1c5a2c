"""Options of `harness lab selftest`."""

from __future__ import annotations

from harness.options.concerns import Quick, Samples
from harness.options.declaration import (
    SELFTEST,
    SELFTEST_RUN,
    SELFTEST_TASK,
    SELFTESTS,
    Options,
    option,
)

OF_DESIGN = (SELFTEST,)
OF_JUDGES = (SELFTEST, SELFTEST_TASK)


class SelftestOptions(Quick, Samples):
    """The design that is tested, where no task says it, and how often."""

    n_items: int = option(
        100, "Without a task: number of items.", OF_DESIGN, flag="--items", ge=10, le=100_000
    )
    n_raters: int = option(
        5,
        "Without a task: number of raters, each of whom rates every item.",
        OF_DESIGN,
        flag="--raters",
        ge=1,
        le=1000,
    )
    n_judges: int = option(
        3, "Without verdicts: number of judges.", OF_JUDGES, flag="--n-judges", ge=1, le=50
    )
    prevalence: float = option(
        0.5,
        "Without a task: share of the ratings that are positive (2 options).",
        OF_DESIGN,
        ge=0.001,
        le=0.999,
    )
    rater_agreement: float = option(
        0.8, "Without a task: how often two raters agree.", OF_DESIGN, gt=0, le=1
    )
    agreement: float | None = option(
        None,
        "Without verdicts: how often the best judge agrees with a rater; by default 0.75, or with "
        "a task as often as two of its raters agree.",
        OF_JUDGES,
        gt=0,
        le=1,
    )
    gap: float = option(
        0.05,
        "Without verdicts: how much less often each further judge agrees.",
        OF_JUDGES,
        ge=0,
        lt=1,
    )
    self_consistency: float = option(
        1.0,
        "Without verdicts: how often two replies of a judge to an item agree.",
        OF_JUDGES,
        gt=0,
        le=1,
    )
    abstention: float = option(
        0.0,
        "Share of answers that abstain, of raters without a task and of judges without verdicts.",
        OF_JUDGES,
        ge=0,
        le=0.5,
    )
    reply_cost: float | None = option(
        None, "Cost of a judge's reply in USD, if the verdicts have no costs.", SELFTESTS, ge=0
    )
    data_sets: int | None = option(
        None, "Data sets of each kind; 500 by default, 25 if quick.", SELFTESTS, ge=1, le=100_000
    )
    processes: int = option(2, "Processes that analyse data sets.", SELFTESTS, ge=1, le=256)


class TestedRun(Options):
    """The run whose design is tested."""

    run: str | None = option(
        None,
        "A finished run, by name or path: its ratings and verdicts; the result becomes a section "
        "of its report.",
        (SELFTEST_RUN,),
    )
