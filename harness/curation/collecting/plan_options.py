"""Options of `harness plan`: basis, sizes and prices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BeforeValidator, model_validator

from harness.options.concerns import Criterion, Json, TaskOption
from harness.options.declaration import Names, Options, leave_out, option
from harness.options.result_options import VerdictFile


def _counts(texts: object) -> object:
    """Read distinct whole numbers and sort them."""
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


class Basis(Criterion, VerdictFile, TaskOption):
    """Basis of a plan: verdicts and ratings, or assumptions about judges' and raters' answers."""

    verdicts: Path | None = option(
        None, "Verdicts on the task's items: jsonl, csv or parquet, or a run."
    )
    assumed_agreement: float | None = option(
        None,
        "Without verdicts: the judge's rate of agreement with a rater.",
        flag="--agreement",
        ge=0,
        le=1,
    )
    assumed_rater_agreement: float | None = option(
        None,
        "Without a task: two raters' rate of agreement (2 options).",
        flag="--rater-agreement",
        ge=0.5,
        le=1,
    )

    @model_validator(mode="after")
    def _are_at_hand_or_assumed(self) -> Self:
        if self.verdicts is not None:
            assumed = {name for name in self.model_fields_set if name.startswith("assumed_")}
            leave_out(assumed, "verdicts show how judges answer")
        return self


class DifferenceBasis(Basis):
    """Basis of a plan that compares two judges: verdicts and ratings, or assumptions."""

    assumed_self_consistency: float = option(
        1.0,
        "Without verdicts: rate of agreement between a judge's replies to an item.",
        flag="--self-consistency",
        ge=0.5,
        le=1,
    )


class SizeOptions(Options):
    """Options for the numbers of raters to try and the target power."""

    numbers_of_raters: PlannedNumbers = option(
        (1, 2, 3, 5), "Numbers of raters per item, comma-separated.", flag="--raters"
    )
    power: float = option(0.8, "Target power.", ge=0.5, le=0.999)


class DifferenceDesign(SizeOptions):
    """Options for the judges to compare and the numbers of raters and replies."""

    compared_judges: Names = option(
        None,
        "Two judges. Not needed if the verdicts come from just two judges.",
        flag="--judges -j",
    )
    numbers_of_replies: PlannedNumbers = option(
        (1,), "Numbers of replies per item and judge, comma-separated.", flag="--samples"
    )


class AnnotatorDesign(SizeOptions):
    """Options for the judge to test, the numbers of raters and items, and the simulation."""

    numbers_of_raters: PlannedNumbers = option(
        (3,), "Numbers of raters per item, comma-separated.", flag="--raters"
    )
    planned_judge: str | None = option(
        None, "Judge in the verdicts. Not needed if there is only one judge.", flag="--judge"
    )
    eps: float | None = option(None, "Without verdicts: margin of the test.", ge=0, le=0.99)
    numbers_of_items: PlannedNumbers = option(
        (30, 50, 100, 150, 200), "Numbers of items, comma-separated.", flag="--items"
    )
    contenders: int = option(1, "Number of judges that could be the best. They share alpha.", ge=1)
    draws: int = option(100, "Number of random draws of raters and items.", ge=10)


class PriceOptions(Options):
    """Options for the prices of ratings and replies."""

    cost_of_rating: float | None = option(
        None, "Cost of a human rating in USD.", flag="--rating-cost", ge=0
    )
    cost_of_reply: float | None = option(
        None, "Cost of a judge's reply in USD.", flag="--reply-cost", ge=0
    )


class ChartOption(Options):
    """Option for a chart of a plan."""

    chart: Path | None = option(None, "Write a chart as SVG.")


class PlanOutput(Json, ChartOption):
    """Options for a plan's output and chart."""
