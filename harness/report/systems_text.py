"""Rankings of systems for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.formatting import counted, estimate, number
from harness.report.text_table import draw_table, paragraph

if TYPE_CHECKING:
    from harness.analysis.systems import SideResult, SystemRanking

HEADS = ("rank", "system", "win rate", "strength")
LEGEND = (
    "Strength: of the Bradley-Terry model, in logits, mean 0; a tie is half a win. 95% intervals. "
    "NA: a system won or lost every comparison with the others, or met none of them. tau-b: rank "
    "correlation of the strengths."
)


def systems_text(ranking: SystemRanking) -> str:
    """Return a table for the raters and one for each judge."""
    parts = [part for side in ranking.sides for part in (_headline(side), _table(side))]
    return "\n\n".join([f"{ranking.task}: compared systems", *parts, paragraph(LEGEND)])


def _headline(side: SideResult) -> str:
    text = f"{side.side}: {counted([side.n_items])}"
    if side.kendall_tau is not None:
        text += f", tau-b with the raters {number(side.kendall_tau, 2)}"
    return text


def _table(side: SideResult) -> str:
    rows = [
        (
            "-" if row.rank is None else str(row.rank),
            row.system,
            "NA" if row.win_rate.value is None else estimate(row.win_rate, 2),
            "NA" if row.strength.value is None else estimate(row.strength, 2),
        )
        for row in side.systems
    ]
    return draw_table(HEADS, rows)
