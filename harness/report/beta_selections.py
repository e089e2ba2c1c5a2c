"""Table of the judge that each metric selects at each of the raters' betas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.analysis.beta_sensitivity import CURVE_BETAS
from harness.report.formatting import number
from harness.stats.selection.ranking import GOALS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.analysis.beta_sensitivity import SelectionOverBeta

SELECTION_NOTE = (
    "Rows are metrics, and columns are the raters' beta. Each cell shows the judge that the metric "
    "selects, its value, and in brackets how much worse it is than the best judge. Bias is shown "
    "without its sign. All numbers are point estimates. Metrics that are NA at every beta aren't "
    "listed."
)
SELECTED_BY_GOAL = "the goal itself"


def selection_table(
    selections: Mapping[str, SelectionOverBeta], goal: str, name_of: Callable[[str], str]
) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows: the judge that each metric selects, by beta.

    The goal itself is in the last row. A metric that selects no judge at any beta has no row.
    """
    selecting = [name for name in selections if name not in GOALS and any(selections[name].judges)]
    metrics = [*selecting, goal]
    rows = []
    for metric in metrics:
        row = selections[metric]
        cells = zip(row.judges, row.values[goal], row.losses[goal], strict=True)
        rows.append(
            [
                SELECTED_BY_GOAL if metric == goal else name_of(metric),
                *(
                    f"{', '.join(judges)} {number(value)}{_lost(loss)}" if judges else "NA"
                    for judges, value, loss in cells
                ),
            ]
        )
    return ["selected by", *(f"beta {beta:g}" for beta in CURVE_BETAS)], rows


def _lost(loss: float | None) -> str:
    """Return the loss relative to the best judge in brackets, or "" if the loss is 0."""
    return "" if loss == 0 else f" ({number(loss)})"
