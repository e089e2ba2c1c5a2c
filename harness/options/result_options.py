"""Options of what is made of verdicts that are there: reports, trusted verdicts, plans."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from harness.errors import OptionError
from harness.options.concerns import Out, TaskOption
from harness.options.declaration import Options, option
from harness.stats.modes import ErrorKind


class VerdictFile(Options):
    """Verdicts that were made elsewhere."""

    verdicts: Path | None = option(
        None, "Another tool's verdicts: jsonl, csv or parquet with item, judge, value."
    )


class RunOrVerdicts(Out, VerdictFile, TaskOption):
    """Verdicts on a task, in place of a run."""

    verdicts: Path | None = option(None, "With {task}: the verdicts, jsonl, csv or parquet.")

    def task_instead_of(self, run: object) -> str | None:
        """Return the task whose verdicts take the place of a run; None if a run is meant.

        Raises
        ------
        OptionError
            If both are given, or verdicts without their task.
        """
        if self.task is None:
            if self.verdicts is not None:
                raise OptionError(
                    "", "{verdicts} goes with {task}", "Leave {verdicts} out or add {task}"
                )
            return None
        if run is not None:
            raise OptionError(
                "", "a run already has a task and verdicts", "Leave RUN or {task} out"
            )
        if self.out is not None:
            raise OptionError("", "{out} is where runs are", "Leave {out} out, or {task}")
        return self.task


class Page(Options):
    """A page that a command writes."""

    panel: ClassVar[str] = "Output"
    page: Path | None = option(None, "Write the result into this file, as a page.")


class JudgeName(Options):
    """One judge."""

    judge: str = option(..., "The judge of that run to ask.", flag="--judge -j")


class Trusting(Options):
    """When the verdict of a judge can stand without a person."""

    max_error: float | None = option(
        None, "Share of errors among accepted verdicts, at most, such as 0.1.", gt=0, lt=1
    )
    error_kind: ErrorKind = option(
        "majority",
        "An error differs from the raters' majority, from a random rater, or lies outside a "
        "random rater's response set.",
        flag="--error",
    )


class RaterNames(Options):
    """What raters are called in what is passed on."""

    panel: ClassVar[str] = "Output"
    show_raters: bool = option(
        False, "Show the raters' names. Without it, raters are called r1, r2, ..."
    )
