"""Options for using existing verdicts: reports, accepted verdicts, plans."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from harness.errors import OptionError
from harness.options.concerns import Out, TaskOption
from harness.options.declaration import Options, option
from harness.stats.modes import ErrorKind


class VerdictFile(Options):
    """Verdicts from another tool."""

    verdicts: Path | None = option(
        None, "Another tool's verdicts: jsonl, csv or parquet with item, judge, value."
    )


class RunOrVerdicts(Out, VerdictFile, TaskOption):
    """Verdicts on a task, instead of a run."""

    verdicts: Path | None = option(None, "With {task}: the verdicts, jsonl, csv or parquet.")

    def task_instead_of(self, run: object) -> str | None:
        """Return the task whose verdicts replace a run, or None if there is a run.

        Raises
        ------
        OptionError
            If both a run and a task are passed, or verdicts without a task.
        """
        if self.task is None:
            if self.verdicts is not None:
                raise OptionError(
                    "", "{verdicts} goes with {task}", "Leave out {verdicts}, or add {task}"
                )
            return None
        if run is not None:
            raise OptionError(
                "", "a run already has a task and verdicts", "Leave out RUN or {task}"
            )
        if self.out is not None:
            raise OptionError("", "{out} is only for runs", "Leave out {out}, or drop {task}")
        return self.task


class Page(Options):
    """Page for a command's result."""

    panel: ClassVar[str] = "Output"
    page: Path | None = option(None, "Write the result into this file, as a page.")


class JudgeName(Options):
    """One judge."""

    judge: str = option(..., "The judge to run, from that run.", flag="--judge -j")


class Trusting(Options):
    """Conditions for accepting a judge's verdict without a person."""

    max_error: float | None = option(
        None, "Maximum share of errors among accepted verdicts, such as 0.1.", gt=0, lt=1
    )
    error_kind: ErrorKind = option(
        "majority",
        "A verdict is an error if it differs from the raters' majority, from a random rater, or "
        "lies outside a random rater's response set.",
        flag="--error",
    )


class RaterNames(Options):
    """Raters' names in files to pass on."""

    panel: ClassVar[str] = "Output"
    show_raters: bool = option(
        False, "Show the raters' names. By default, raters are called r1, r2, ..."
    )
