"""Options of `harness lab selftest`."""

from __future__ import annotations

from pathlib import Path

from harness.errors import OptionError
from harness.options.concerns import MAX_SAMPLES, Quick, Samples
from harness.options.declaration import leave_out, option
from harness.options.result_options import VerdictFile

OF_DESIGN = {"n_items", "n_raters", "prevalence", "rater_agreement"}
OF_JUDGES = {"n_judges", "agreement", "gap", "self_consistency", "abstention", "samples"}


class SelftestOptions(Quick, Samples):
    """Options for the design and for the number of data sets."""

    samples: int | None = option(
        None,
        "Without verdicts: replies per judge and item. Default: 1.",
        ge=1,
        le=MAX_SAMPLES,
    )
    n_items: int = option(
        100, "Without a task: number of items.", flag="--items", ge=10, le=100_000
    )
    n_raters: int = option(
        5,
        "Without a task: number of raters, each of whom rates every item.",
        flag="--raters",
        ge=1,
        le=1000,
    )
    n_judges: int = option(3, "Without verdicts: number of judges.", flag="--n-judges", ge=1, le=50)
    prevalence: float = option(
        0.5,
        "Without a task: share of the ratings that are positive (2 options).",
        ge=0.001,
        le=0.999,
    )
    rater_agreement: float = option(
        0.8, "Without a task: rate of agreement between two raters.", gt=0, le=1
    )
    agreement: float | None = option(
        None,
        "Without verdicts: rate of agreement between the best judge and a rater. Default: 0.75 or, "
        "with a task, the rate for two of its raters.",
        gt=0,
        le=1,
    )
    gap: float = option(
        0.05, "Without verdicts: drop in this rate from each judge to the next.", ge=0, lt=1
    )
    self_consistency: float = option(
        1.0, "Without verdicts: rate of agreement between a judge's replies to an item.", gt=0, le=1
    )
    abstention: float = option(
        0.0,
        (
            "Share of abstentions. Without a task, this applies to raters, and without "
            "verdicts, to judges."
        ),
        ge=0,
        le=0.5,
    )
    reply_cost: float | None = option(
        None, "Cost of a judge's reply in USD, if the verdicts have no costs.", ge=0
    )
    data_sets: int | None = option(
        None,
        "Number of data sets of each kind. Default: 500, or 25 with --quick.",
        ge=1,
        le=100_000,
    )
    processes: int = option(2, "Number of processes that analyse data sets.", ge=1, le=256)

    def check(self, *, has_verdicts: bool) -> None:
        """Reject design options if there is a task, and judge options if there are verdicts."""
        leave_out(self.model_fields_set & OF_DESIGN, "the task already has a design")
        if has_verdicts:
            leave_out(
                self.model_fields_set & OF_JUDGES, "the verdicts already show how the judges answer"
            )


class TestedVerdicts(VerdictFile):
    """Options for the verdicts or the run whose design is tested."""

    verdicts: Path | None = option(None, "File of verdicts that show how the task's judges answer.")
    run: str | None = option(
        None,
        "A finished run, by name or path. Uses its ratings and verdicts, and adds the result to "
        "its report.",
    )

    def check(self, task: str | None) -> None:
        """Reject a run with a task or verdicts, and reject verdicts without a task."""
        if self.run is not None:
            leave_out(self.model_fields_set - {"run"}, "a run already has verdicts")
            if task is not None:
                raise OptionError(
                    "run", "a run already includes its task and verdicts", "Leave out TASK"
                )
        elif self.verdicts is not None and task is None:
            raise OptionError("verdicts", "the verdicts must be about a task", "Pass the TASK")
