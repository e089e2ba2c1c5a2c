"""Columns of the ranking, defined once for terminal, notebook, page, card and CSV."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from harness.analysis.recommendation_checks import BEATS_BASELINES
from harness.files.plain_text import counted
from harness.report.formatting import (
    SEE_BELOW,
    basis,
    estimate,
    number,
    percent,
    percent_with_interval,
    rank_set,
    reason,
    short_name,
    span,
)
from harness.report.ranking_rows import ranking_rows, same_words
from harness.report.words import BASELINE_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.analysis import Validation
    from harness.report.ranking_rows import RankedJudge, RankingRow
    from harness.stats import Estimate
    from harness.stats.selection.ranking import Difference

RankingView: TypeAlias = Literal["terminal", "notebook", "page", "card", "csv"]
Raw: TypeAlias = "str | float | None"
Head: TypeAlias = "str | Callable[[Validation], str]"
RawOf: TypeAlias = "Callable[[Validation, RankedJudge], Raw]"
EstimateOf: TypeAlias = "Callable[[Validation, RankedJudge], Estimate | Difference | None]"

EVERYWHERE: tuple[RankingView, ...] = get_args(RankingView)
NARROW: tuple[RankingView, ...] = ("terminal", "notebook")


@dataclass(frozen=True, slots=True)
class RankingCell:
    """Cell of a column for one row.

    Attributes
    ----------
    short : str
        Text for terminal and notebook, which are narrow.
    full : str
        Text with its interval or the reason for NA; if "", ``short`` is used.
    rests_on : str
        Items and replies behind it, for the card. In other views, the caption has them.
    """

    short: str
    full: str = ""
    rests_on: str = ""

    def text(self, view: RankingView) -> str:
        """Return the cell's text for a view."""
        text = self.short if view in NARROW else self.full or self.short
        return f"{text} {self.rests_on}".strip() if view == "card" else text


NOTHING = RankingCell("")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingColumn:
    """Column of the ranking.

    Attributes
    ----------
    head : str or function of the validation
        Head on page and card.
    short_head : str or function of the validation
        Head in terminal and notebook; if "", ``head`` is used.
    cell : function of the validation and a judge
        Cell for a judge.
    other : function of a row
        Cell for a human rater or a baseline.
    raw : dict of str to function of the validation and a judge
        CSV columns, with their values.
    views : tuple of str
        Views that draw it.
    kind : str
        "name" names the row; "number" is right-aligned if there is room.
    empty : frozenset of str
        Short cells without information. A column that only has such cells isn't drawn.
    """

    head: Head
    short_head: Head = ""
    cell: Callable[[Validation, RankedJudge], RankingCell]
    other: Callable[[RankingRow], RankingCell] = lambda _: NOTHING
    raw: Mapping[str, RawOf] = field(default_factory=dict)
    views: tuple[RankingView, ...] = EVERYWHERE
    kind: Literal["name", "text", "number"] = "number"
    empty: frozenset[str] = frozenset({"", "NA"})

    def head_in(self, v: Validation, view: RankingView) -> str:
        """Return the column's head for a view."""
        head = (view in NARROW and self.short_head) or self.head
        return head if isinstance(head, str) else head(v)

    def cell_of(self, v: Validation, row: RankingRow) -> RankingCell:
        """Return the column's cell for a row."""
        return self.other(row) if row.judge is None else self.cell(v, row.judge)


def raw_estimate(of: EstimateOf, value: str, ends: str) -> dict[str, RawOf]:
    """Return an estimate's cells in CSV: its value and the ends of its interval."""

    def raw_end(name: Literal["low", "high"]) -> RawOf:
        def raw(v: Validation, judge: RankedJudge) -> Raw:
            result = of(v, judge)
            return getattr(result.interval, name) if result and result.interval else None

        return raw

    def raw_value(v: Validation, judge: RankedJudge) -> Raw:
        result = of(v, judge)
        return result.value if result else None

    return {value: raw_value, f"{ends}low": raw_end("low"), f"{ends}high": raw_end("high")}


def percent_or_reason(result: Estimate) -> RankingCell:
    """Format a share in whole percents with its interval and items, or NA with the reason."""
    if result.value is None:
        return RankingCell("NA", f"NA ({reason(result)})")
    return RankingCell(f"{result.value:.0%}", percent_with_interval(result), f"of {_items(result)}")


def _items(result: Estimate) -> str:
    return counted([result.n_used])


def _rank(_: Validation, judge: RankedJudge) -> RankingCell:
    return RankingCell(rank_set(judge.evidence.ranks))


def _raw_rank(end: Literal[0, 1]) -> RawOf:
    return lambda _, judge: judge.evidence.ranks[end] if judge.evidence.ranks else None


def _model(_: Validation, judge: RankedJudge) -> str:
    return ", ".join(judge.result.reported_models) or judge.result.model


def _value(_: Validation, judge: RankedJudge) -> RankingCell:
    result = judge.evidence.estimate
    rests_on = "" if result.value is None else f"on {basis(result)}"
    return RankingCell(estimate(result), rests_on=rests_on)


def _metric(v: Validation) -> str:
    return v.evidence.display_name if v.evidence else ""


def _flips(v: Validation, judge: RankedJudge) -> RankingCell:
    """Return a cell with the share of verdicts that hidden instructions flip.

    The cell is empty if the judge was not checked.
    """
    flipped = _flipped(v, judge)
    if flipped is None:
        return NOTHING
    cell = percent_or_reason(flipped)
    if flipped.value is None:
        return cell
    n = f"of {flipped.counts['n']:.0f} on {_items(flipped)}"
    return RankingCell(cell.short, f"{cell.full} {n}")


def _flipped(v: Validation, judge: RankedJudge) -> Estimate | None:
    check = v.checks.get(judge.result.name)
    return check.flipped_by("injection") if check else None


def _n_flip_pairs(v: Validation, judge: RankedJudge) -> Raw:
    flipped = _flipped(v, judge)
    return f"{flipped.counts.get('n', 0):.0f}" if flipped else None


def _n_flip_items(v: Validation, judge: RankedJudge) -> Raw:
    flipped = _flipped(v, judge)
    return flipped.n_used if flipped else None


def _difference(_: Validation, judge: RankedJudge) -> RankingCell:
    worse = judge.evidence.difference
    return (
        RankingCell(f"{number(worse.value)} {span(worse.interval)}".strip()) if worse else NOTHING
    )


def _beta_hat(v: Validation, judge: RankedJudge) -> RankingCell:
    """Return beta-hat from pairs, or a maximum likelihood estimate marked with a tilde."""
    beta, by_likelihood = v.beta_hat(judge.result.name)
    short = f"{'~' if by_likelihood else ''}{number(beta.value, 2)}"
    how = "by maximum likelihood" if by_likelihood else "from pairs"
    return RankingCell(short, f"{estimate(beta)} {how}" if beta.value is not None else "")


def _answered(v: Validation, judge: RankedJudge) -> RankingCell:
    return _share(judge.evidence.answered_fraction, v.evidence.n_rated if v.evidence else 0)


def _usable(_: Validation, judge: RankedJudge) -> RankingCell:
    return _share(judge.evidence.usable_replies, judge.evidence.n_planned)


def _share(fraction: float | None, n: int) -> RankingCell:
    return RankingCell(percent(fraction), rests_on="" if fraction is None else f"of {n}")


def _usd_per_thousand(_: Validation, judge: RankedJudge) -> float | None:
    usd = judge.result.cost.usd_per_answered
    return None if usd is None else 1000 * usd


def _cost(v: Validation, judge: RankedJudge) -> RankingCell:
    usd = _usd_per_thousand(v, judge)
    return RankingCell("", "unknown") if usd is None else RankingCell(f"{usd:.2f}")


COLUMNS = (
    RankingColumn(
        head="rank",
        cell=_rank,
        raw={"rank_low": _raw_rank(0), "rank_high": _raw_rank(1)},
        empty=frozenset(),
    ),
    RankingColumn(
        head="judge",
        cell=lambda _, judge: RankingCell(judge.result.name),
        other=lambda row: RankingCell(row.name),
        raw={"judge": lambda _, judge: judge.result.name},
        kind="name",
    ),
    RankingColumn(
        head="model",
        cell=lambda v, judge: RankingCell(_model(v, judge)),
        raw={"model": _model},
        views=("card", "csv"),
        kind="text",
    ),
    RankingColumn(
        head=_metric,
        short_head=lambda v: short_name(_metric(v)),
        cell=_value,
        other=lambda row: RankingCell(row.value),
        raw={
            "metric": lambda v, _: v.evidence.metric if v.evidence else None,
            **raw_estimate(lambda _, judge: judge.evidence.estimate, "value", ""),
            "level": lambda _, judge: getattr(judge.evidence.estimate.interval, "level", None),
            "n_used": lambda _, judge: judge.evidence.estimate.n_used,
            "n_replies": lambda _, judge: judge.evidence.estimate.n_replies,
            "reason": lambda _, judge: judge.evidence.estimate.reason,
            "humans": lambda v, _: v.humans.sets.origin,
        },
        kind="text",
        empty=frozenset(),
    ),
    RankingColumn(
        head="flip rate",
        short_head="flips",
        cell=_flips,
        raw={
            **raw_estimate(_flipped, "flip_rate", "flip_"),
            "n_flip_pairs": _n_flip_pairs,
            "n_flip_items": _n_flip_items,
        },
        kind="text",
    ),
    RankingColumn(
        head="difference from the first",
        cell=_difference,
        raw=raw_estimate(lambda _, judge: judge.evidence.difference, "worse_by", "worse_"),
        views=("page", "card", "csv"),
        kind="text",
    ),
    RankingColumn(
        head=same_words,
        cell=lambda _, judge: percent_or_reason(judge.alike),
        raw=raw_estimate(lambda _, judge: judge.alike, "same_as_raters", "same_as_raters_"),
    ),
    RankingColumn(
        head="beta-hat",
        cell=_beta_hat,
        views=("notebook", "page", "card", "csv"),
        raw=raw_estimate(
            lambda v, judge: v.beta_hat(judge.result.name)[0], "beta_hat", "beta_hat_"
        ),
    ),
    RankingColumn(
        head="items answered",
        cell=_answered,
        raw={
            "answered_fraction": lambda _, judge: judge.evidence.answered_fraction,
            "n_rated": lambda v, _: v.evidence.n_rated if v.evidence else None,
        },
    ),
    RankingColumn(
        head="answer rate",
        cell=_usable,
        raw={
            "usable_replies": lambda _, judge: judge.evidence.usable_replies,
            "n_planned": lambda _, judge: judge.evidence.n_planned,
        },
    ),
    RankingColumn(
        head="$ per 1,000",
        short_head="$/1,000",
        cell=_cost,
        raw={"usd_per_thousand": _usd_per_thousand},
        empty=frozenset({"", "0.00"}),
    ),
)


@dataclass(frozen=True, slots=True)
class RankingTable:
    """The ranking's table in one view.

    Attributes
    ----------
    columns : list of RankingColumn
        Columns from left to right.
    heads : list of str
        Head of each column.
    rows : list of RankingRow
        Rows from top to bottom.
    cells : list of list of str
        Cells by row, then column.
    """

    columns: list[RankingColumn]
    heads: list[str]
    rows: list[RankingRow]
    cells: list[list[str]]


def ranking_table(
    v: Validation, view: RankingView, *, with_all_baselines: bool = True
) -> RankingTable:
    """Return the ranking's table for a view, without uninformative columns.

    Unless all baselines are requested, it only has the one that the first judge must beat, and no
    human rater whose value is in a sentence that only the full text has.
    """
    rows = [row for row in ranking_rows(v) if _is_drawn(row, view)]
    if not with_all_baselines:
        rows = [row for row in rows if row.value != SEE_BELOW]
    if not with_all_baselines and (strongest := _strongest_baseline(v)):
        weaker = {*BASELINE_NAMES.values()} - {strongest}
        rows = [row for row in rows if row.judge is not None or row.name not in weaker]
    drawn = [
        (column, cells)
        for column in COLUMNS
        if view in column.views
        for cells in [[column.cell_of(v, row) for row in rows]]
        if not {cell.short for cell in cells} <= column.empty
    ]
    return RankingTable(
        columns=[column for column, _ in drawn],
        heads=[column.head_in(v, view) for column, _ in drawn],
        rows=rows,
        cells=[[cells[i].text(view) for _, cells in drawn] for i in range(len(rows))],
    )


def _strongest_baseline(v: Validation) -> str:
    check = v.decision.checks.get(BEATS_BASELINES.kind)
    return BASELINE_NAMES.get(check.rival, "") if check else ""


def _is_drawn(row: RankingRow, view: RankingView) -> bool:
    """Return whether a view shows a row.

    Every view shows judges. The card shows no baselines, and only the page shows undefined ones.
    """
    return row.judge is not None or (view != "card" and (row.is_defined or view == "page"))
