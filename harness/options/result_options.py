"""Options for using existing verdicts in reports, in plans and to accept verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from harness.errors import OptionError
from harness.options.concerns import Out, TaskOption
from harness.options.declaration import Options, option
from harness.stats.modes import ErrorKind


class VerdictFile(Options):
    """Option for a file with another tool's verdicts."""

    verdicts: Path | None = option(
        None,
        "File of another tool's verdicts (jsonl, csv or parquet) with the columns item, judge "
        "and value.",
    )


class RunOrVerdicts(Out, VerdictFile, TaskOption):
    """Options for a run, or for a task with verdicts."""

    verdicts: Path | None = option(None, "With {task}: file of verdicts (jsonl, csv or parquet).")

    def task_instead_of(self, run: object) -> str | None:
        """Return the task to use with verdicts, or None to use a run.

        Raises
        ------
        OptionError
            If both a run and a task are passed, or verdicts without a task.
        """
        if self.task is None:
            if self.verdicts is not None:
                raise OptionError(
                    "", "{verdicts} works only with {task}", "Leave out {verdicts}, or add {task}"
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
    """Option to write a command's result as a page."""

    panel: ClassVar[str] = "Output"
    page: Path | None = option(None, "Write the result to this file as an HTML page.")


class JudgeName(Options):
    """Option for one judge."""

    judge: str = option(..., "The judge to run, by its name in that run.", flag="--judge -j")


class Trusting(Options):
    """Options for when a judge's verdict can be accepted without a person's check."""

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
    """Option for raters' names in files to share."""

    panel: ClassVar[str] = "Output"
    show_raters: bool = option(
        False, "Show the raters' names. By default, raters are called r1, r2, ..."
    )
