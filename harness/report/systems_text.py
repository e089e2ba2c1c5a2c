"""Rankings of systems for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.analysis.answer_positions import in_words
from harness.report.formatting import counted, estimate, number, percent
from harness.report.text_table import draw_table, paragraph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis.systems import SideResult, SystemRanking

PAIR_HEADS = ("first", "second", "items", "first won", "tied", "second won")
TIES = {
    "class": "with a tie as an answer of its own",
    "left_out": "with ties left out",
    "half": "with a tie as half of each side",
}
HEADS = ("rank", "system", "win rate", "strength")
LEGEND = (
    "Strength: of the Bradley-Terry model, in logits, mean 0; a tie is half a win. 95% intervals. "
    "NA: a system won or lost every comparison with the others, or met none of them. tau-b: rank "
    "correlation of the strengths."
)


def systems_text(ranking: SystemRanking, *, pairs: bool = False) -> str:
    """Return a table for the raters and one for each judge, and one of each pair of systems."""
    parts = [part for side in ranking.sides for part in _parts(side, pairs=pairs)]
    return "\n\n".join([f"{ranking.task}: compared systems", *parts, paragraph(LEGEND)])


def _parts(side: SideResult, *, pairs: bool) -> Iterator[str]:
    yield _headline(side)
    yield _table(side)
    if pairs:
        yield _pair_table(side)
    if side.agreement:
        named = [f"{estimate(side.agreement[key], 2)} {words}" for key, words in TIES.items()]
        yield paragraph(f"Agreement with a rater: {'; '.join(named)}.")
    if side.position:
        effects = in_words(side.position.consistency, side.position.bias)
        yield paragraph(f"Order of the answers: {effects}.")


def _pair_table(side: SideResult) -> str:
    rows = [
        (
            pair.first,
            pair.second,
            str(pair.n_items),
            percent(pair.first_won),
            percent(pair.tied),
            percent(pair.second_won),
        )
        for pair in side.pairs
    ]
    return draw_table(PAIR_HEADS, rows)


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
