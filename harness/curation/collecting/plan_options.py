"""Options of `harness plan`: from what a collection is planned, its sizes and prices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from harness.options.concerns import Items, Json, TaskOption, VerdictFile
from harness.options.declaration import (
    PLAN_ANNOTATORS,
    PLAN_ANNOTATORS_VERDICTS,
    PLAN_DIFFERENCE,
    PLAN_DIFFERENCE_VERDICTS,
    PLANS,
    Names,
    Options,
    option,
)

DIFFERENCE = (PLAN_DIFFERENCE, PLAN_DIFFERENCE_VERDICTS)
ANNOTATORS = (PLAN_ANNOTATORS, PLAN_ANNOTATORS_VERDICTS)
ASSUMED = (PLAN_DIFFERENCE, PLAN_ANNOTATORS)


def _counts(texts: object) -> object:
    """Read whole numbers, in ascending order."""
    if not isinstance(texts, list | tuple):
        return texts
    try:
        numbers = sorted({int(text) for text in texts})
    except ValueError:
        numbers = [0]
    if numbers[0] < 1:
        raise ValueError("expected whole numbers from 1, such as 1,3")
    return tuple(numbers)


PlannedNumbers = Annotated[tuple[int, ...], BeforeValidator(_counts)]


class Basis(Items, VerdictFile, TaskOption):
    """Verdicts and ratings at hand, or how judges and raters are assumed to answer."""

    assumed_agreement: float | None = option(
        None,
        "Without verdicts: how often the judge agrees with a rater.",
        ASSUMED,
        flag="--agreement",
        ge=0,
        le=1,
    )
    assumed_rater_agreement: float | None = option(
        None,
        "Without a task: how often two raters agree (2 options).",
        ASSUMED,
        flag="--rater-agreement",
        ge=0.5,
        le=1,
    )
    assumed_self_consistency: float = option(
        1.0,
        "Without verdicts: how often two replies of a judge to an item agree.",
        (PLAN_DIFFERENCE,),
        flag="--self-consistency",
        ge=0.5,
        le=1,
    )


class SizeOptions(Options):
    """The numbers of raters that are tried, and the power that they are to reach."""

    numbers_of_raters: PlannedNumbers = option(
        (1, 2, 3, 5), "Numbers of raters per item, comma-separated.", PLANS, flag="--raters"
    )
    power: float = option(0.8, "Wanted power.", PLANS, ge=0.5, le=0.999)


class DifferenceDesign(SizeOptions):
    """Which judges are compared, by how many raters and replies."""

    compared_judges: Names = option(
        None,
        "Two judges; not needed if the verdicts hold just two.",
        (PLAN_DIFFERENCE_VERDICTS,),
        flag="--judges -j",
    )
    numbers_of_replies: PlannedNumbers = option(
        (1,),
        "Numbers of replies per item and judge, comma-separated.",
        DIFFERENCE,
        flag="--samples",
    )


class AnnotatorDesign(SizeOptions):
    """Which judge is tested against how many raters and items, and how that is simulated."""

    planned_judge: str | None = option(
        None,
        "Judge in the verdicts; not needed if there is only one.",
        (PLAN_ANNOTATORS_VERDICTS,),
        flag="--judge",
    )
    eps: float | None = option(
        None, "Without verdicts: margin of the test.", (PLAN_ANNOTATORS,), ge=0, le=0.99
    )
    numbers_of_items: PlannedNumbers = option(
        (30, 50, 100, 150, 200),
        "Numbers of items, comma-separated.",
        ANNOTATORS,
        flag="--items",
    )
    contenders: int = option(1, "Judges that can be the best: they divide alpha.", ANNOTATORS, ge=1)
    draws: int = option(100, "Draws of raters and items.", ANNOTATORS, ge=10)


class PriceOptions(Options):
    """What is paid for a collection."""

    cost_of_rating: float | None = option(
        None, "Cost of a human rating in USD.", PLANS, flag="--rating-cost", ge=0
    )
    cost_of_reply: float | None = option(
        None, "Cost of a judge's reply in USD.", PLANS, flag="--reply-cost", ge=0
    )


class ChartOption(Options):
    """A chart that a plan draws."""

    chart: Path | None = option(None, "Write a chart as SVG.", PLANS)


class PlanOutput(Json, ChartOption):
    """What a plan prints and draws."""
