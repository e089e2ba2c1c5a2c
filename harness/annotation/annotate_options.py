"""Options of `harness annotate`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from harness.options.concerns import Elicitation, Seed
from harness.options.declaration import Names, Options, Repeated, option


class PageOptions(Options):
    """Rater, form, questions and port of the page."""

    rater: str = option(..., "Name of the rater.")
    asked_form: Elicitation = option(
        "forced_choice",
        (
            "What raters are asked: one option, all reasonable options, or first the set and "
            "then the option."
        ),
        flag="--elicitation",
    )
    queue: Path | None = option(
        None, "Table of what to rate: item and, optionally, elicitation and raters."
    )
    checks: Path | None = option(
        None, "Table of attention checks: id, the fields shown, and answer."
    )
    port: int = option(0, "Port on 127.0.0.1; 0 for any free port.", ge=0, le=65535)


class CollectedRaters(Options):
    """Raters whose ratings to take."""

    only_rater: str | None = option(None, "Only include ratings from this rater.", flag="--rater")
    without: Repeated = option((), "A rater to leave out. Repeatable.")


class Outdated(Options):
    """Whether ratings of earlier versions count."""

    outdated: bool = option(
        False, "Also add ratings of earlier versions of the item's text or options."
    )


class MergeOptions(Outdated, CollectedRaters):
    """Ratings to add to a task."""


class ProjectOptions(Seed):
    """Project to write for a rating tool."""

    tool: Literal["label-studio", "argilla"] = option(
        ..., "Tool in which a team rates the items.", flag="--to"
    )
    form: Elicitation = option(
        "forced_choice", "One option, all reasonable options, or both.", flag="--elicitation"
    )
    team_queue: Path | None = option(
        None, "Table of what to rate, from harness curate next.", flag="--queue"
    )
    team: Names = option(None, "Raters among whom the items are divided.", flag="--raters")
    per_item: int | None = option(
        None, "With {team}: raters of each item. Default: all of them.", ge=1
    )


class TeamAnswers(Outdated):
    """How to add a team's answers to a task."""

    rater_names: Repeated = option(
        (),
        "The rater's name for an account in the tool. Repeatable.",
        flag="--rater-name",
        metavar="ACCOUNT=NAME",
    )
