"""Charts of judges by how certain the humans were (Elangovan et al. 2025, tables 1 to 3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from harness.report.charts import SMALL, DotRow, Series, Titles, dot_ends, dots, lines
from harness.report.formatting import counted, percent, tenths
from harness.report.judge_charts import dot_row, in_order, kinds, own_slug, slug, styles
from harness.report.svg import CHARACTER, Chart, Mark, Scale, clip, dot, label, line, px

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis import Validation
    from harness.analysis.human_certainty import Certainty, JudgeBin, JudgeCertainty, PerceptionBin
    from harness.stats.inference.estimate import Estimate

MEASURE = "krippendorff_alpha"
BINNED = "js_divergence_bits"
BANDS = {
    "majority_share": "By the share of raters who chose the most frequent answer (PA)",
    "median_share": "By the share of raters who chose the median (PA)",
    "median_share_floor": "By the share of raters who chose the median rounded down (PA)",
    "n_labels": "By how many different answers the raters gave",
}
PANEL_WIDTH, PANEL_HEIGHT = 224.0, 190.0
STEMS_START, STEMS_END = 58.0, PANEL_WIDTH - 30.0
LYING_WIDTH, NAMES_WIDTH = 308.0, 158.0
RADIUS = {"rater": 5.5, "best": 3.5}  # so that neither hides the other
MANY = 7  # options that no longer fit side by side
FULL = 0.999


def strata_charts(v: Validation) -> list[tuple[str, list[Chart]]]:
    """Draw alpha in each stratum: the raters, each judge's mode, and a rater at random."""
    c = v.certainty
    if c is None:
        return []
    drawn: dict[str, list[int]] = {}
    for i, one in enumerate(c.strata):
        if one.n_items:
            drawn.setdefault(one.by, []).append(i)
    rows = {i: _stratum_rows(v, c, i) for some in drawn.values() for i in some}
    reach = [end for one in rows.values() for end in dot_ends(one)]
    return [
        (
            BANDS.get(by, f"By {by.replace('_', ' ')}"),
            [_stratum(c, i, rows[i], reach) for i in some],
        )
        for by, some in drawn.items()
    ]


def _stratum_rows(v: Validation, c: Certainty, i: int) -> list[DotRow]:
    row, kind = c.strata[i], kinds(v)
    rows = [dot_row("raters (HH)", _alpha(row.hh), "rater")]
    by_name = {one.judge: one for one in c.judges}
    rows += [
        dot_row(judge.name, _alpha(by_name[judge.name].strata[i].hw_mw), kind[judge.name])
        for judge in in_order(v)
        if judge.name in by_name
    ]
    return [*rows, dot_row("random rater", _alpha(row.random), "baseline")]


def _stratum(c: Certainty, i: int, rows: list[DotRow], reach: Sequence[float | None]) -> Chart:
    """Draw one stratum on the axis that all share."""
    row = c.strata[i]
    share = f", {percent(row.share_of_items)}" if row.share_of_items is not None else ""
    told = "; ".join(one.told for one in rows)
    titles = Titles(
        f"stratum-{own_slug(row.name)}",
        f"{row.name} · {counted([row.n_items])}{share}",
        f"Krippendorff's alpha in the stratum {row.name}. {told}.",
        x="Krippendorff's alpha",
    )
    return dots(titles, rows, within=(-1.0, 1.0), reference=0.0, reach=reach, width=340.0)


def _alpha(measures: dict[str, Estimate]) -> Estimate:
    return next(one for name, one in measures.items() if name.startswith(MEASURE))


def perception_charts(v: Validation) -> list[tuple[str, list[Chart]]]:
    """Draw, per judge, the answers of humans and judge in each bin of the human answers."""
    c = v.certainty
    if c is None:
        return []
    found = {one.judge: one for one in c.judges}
    return [
        (judge.name, _perception(c, found[judge.name]))
        for judge in in_order(v)
        if judge.name in found and found[judge.name].bins
    ]


def _perception(c: Certainty, judge: JudgeCertainty) -> list[Chart]:
    bins = {one.label: one for one in c.bins}
    return [_bin(c, judge.judge, bins[one.label], one) for one in judge.bins if one.label in bins]


def _bin(c: Certainty, judge: str, human: PerceptionBin, own: JudgeBin) -> Chart:
    rows = [(o, human.labels.get(o, 0.0), own.labels.get(o, 0.0)) for o in c.options]
    parts = [f"{o} raters {percent(h)}, {judge} {percent(j)}" for o, h, j in rows if h or j]
    many = len(rows) > MANY or max(map(len, c.options)) * CHARACTER > _room(len(rows))
    height = 64.0 + 15.0 * len(rows) if many else PANEL_HEIGHT
    said = bin_words(human.label, c.options)
    return Chart(
        f"perception-{own_slug(judge)}-{own_slug(human.label)}",
        f"{judge} where raters say {said}",
        f"Items whose human {c.bins_by} is {said}, {percent(human.share_of_items)} of all. "
        f"{'; '.join(parts)}. Divergence {own.divergence_bits:.3f} bits.",
        LYING_WIDTH if many else PANEL_WIDTH,
        height,
        (*_dial(human), *(_lying if many else _standing)(rows, judge)),
        ("option", "share of human labels", f"share of labels of {judge}"),
        tuple(rows),
    )


def _standing(rows: Sequence[tuple[str, float, float]], judge: str) -> list[Mark]:
    """Draw two stems for each option, side by side."""
    across = Scale(0, max(len(rows) - 1, 1), STEMS_START, STEMS_END)
    up = Scale(0.0, 1.0, PANEL_HEIGHT - 26, 46)
    marks = _shares(up, across)
    for k, (option, human, own) in enumerate(rows):
        x = across(k)
        for offset, value, kind in ((-5, human, "rater"), (5, own, "best")):
            told = f"{option}, {judge if kind == 'best' else 'raters'}: {percent(value)}"
            marks.append(line(x + offset, up(0), x + offset, up(value), f"stem {kind}"))
            drawn = dot(x + offset, up(value), f"dot {kind}", title=told, of=f"{kind} {option}")
            marks.append(drawn)
        marks.append(label(x, PANEL_HEIGHT - 8, option, "tick x", anchor="middle"))
    return marks


def _room(n_options: int) -> float:
    """Return the pixels that the name of an option may take where stems stand side by side."""
    step = (STEMS_END - STEMS_START) / max(n_options - 1, 1)
    return min(step, 2 * (PANEL_WIDTH - STEMS_END))


def _lying(rows: Sequence[tuple[str, float, float]], judge: str) -> list[Mark]:
    """Draw a line for each of many options, with a dot for the raters and one for the judge."""
    across = Scale(0.0, 1.0, NAMES_WIDTH + 8, LYING_WIDTH - 16)
    bottom = 48 + 15.0 * len(rows)
    marks: list[Mark] = [
        label(across(share), bottom + 10, f"{share:.0%}", "tick x", anchor="middle")
        for share in (0.0, 0.5, 1.0)
    ]
    heights = [48 + 15.0 * k for k in range(len(rows))]
    start, end = px(across(0)), px(across(1))
    along = "".join(f"M{start} {px(y)} H{end}" for y in heights)
    marks.append(Mark("path", {"d": along, "class": "grid"}))  # one, as there may be many charts
    for y, (option, human, own) in zip(heights, rows, strict=True):
        name = clip(option, NAMES_WIDTH / SMALL)
        marks.append(label(NAMES_WIDTH, y + 4, name, "small", anchor="end"))
        for value, kind in ((human, "rater"), (own, "best")):
            told = f"{judge if kind == 'best' else 'raters'}: {percent(value)}"
            place, r = across(value), RADIUS[kind]
            marks.append(dot(place, y, f"dot {kind}", r=r, title=told, of=f"{kind} {option}"))
    return marks


def _shares(up: Scale, across: Scale) -> list[Mark]:
    marks = []
    for share in (0.0, 0.5, 1.0):
        marks.append(line(across.start - 14, up(share), across.end + 14, up(share), "grid"))
        text = f"{share:.0%}"
        marks.append(label(across.start - 20, up(share) + 4, text, "tick y", anchor="end"))
    return marks


def bin_words(said: str, options: Sequence[str]) -> str:
    """Name a bin: on a scale of words, the number of a median stands for its place among them."""
    if said in options or all(_is_number(option) for option in options):
        return said
    place = float(said) - 1.0
    below, above = options[math.floor(place)], options[math.ceil(place)]
    return below if below == above else f"between {below} and {above}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _dial(human: PerceptionBin) -> list[Mark]:
    """Draw the share of all items that are in this bin as a part of a ring."""
    x, y, r = 16.0, 18.0, 11.0
    share = human.share_of_items
    angle = 2 * math.pi * min(share, FULL)
    end = f"{px(x + r * math.sin(angle))} {px(y - r * math.cos(angle))}"
    arc = f"M{px(x)} {px(y - r)} A{px(r)} {px(r)} 0 {int(angle > math.pi)} 1 {end}"
    ring = {"cx": px(x), "cy": px(y), "r": px(r), "class": "dial"}
    return [
        Mark("circle", ring),
        Mark("path", {"d": arc, "class": "dial part"}),
        label(x + 20, y + 4, f"{percent(share)} of items ({tenths(human.n_items)})", "small"),
    ]


def risk_charts(v: Validation) -> list[Chart]:
    """Draw the risk of each judge that answers only where its score is high enough."""
    c = v.certainty
    if c is None:
        return []
    style = styles(v)
    found = {one.judge: one for one in c.judges}
    judges = [found[judge.name] for judge in in_order(v) if judge.name in found]
    scores = dict.fromkeys(curve.score for one in judges for curve in one.risk_coverage)
    return [_risk(judges, score, style) for score in scores]


def _risk(judges: Sequence[JudgeCertainty], score: str, style: dict[str, str]) -> Chart:
    series = [
        Series(
            one.judge,
            tuple(zip(curve.answered_fraction, curve.risk, strict=True)),
            style[one.judge],
        )
        for one in judges
        for curve in one.risk_coverage
        if curve.score == score and curve.risk
    ]
    n_items = (k.n_used for one in judges for k in one.risk_coverage if k.score == score)
    named = score.replace("_", " ")
    titles = Titles(
        f"risk-{slug(score)}",
        f"Risk when only the surest answers are kept, by {named}",
        f"Share of wrong answers against share of items answered, one line per judge; {named} "
        "decides which answers are kept. A useful score falls towards the left.",
        x=f"share of {counted(n_items)} answered",
        y="share of answers that are wrong",
    )
    return lines(titles, series, y_within=(0.0, 1.0))


def binned_charts(v: Validation) -> list[Chart]:
    """Draw the binned Jensen-Shannon divergence for perception of each judge, best first."""
    kind = kinds(v)
    found = {one.judge: one.binned.get(BINNED) for one in v.certainty.judges} if v.certainty else {}
    known = {judge: one for judge, one in found.items() if one is not None}
    rows = sorted(
        (dot_row(judge, one, kind[judge]) for judge, one in known.items()),
        key=lambda row: (row.value is None, row.value or 0.0),
    )
    n_items = counted(one.n_used for one in known.values() if one.value is not None)
    titles = Titles(
        "binned-divergence",
        "Binned Jensen-Shannon divergence",
        f"How far each judge's answers are from the raters', bin by bin, in bits; lower is better. "
        f"{'; '.join(row.told for row in rows)}.",
        x=f"bits (lower is better), {n_items}",
    )
    return [dots(titles, rows, within=(0.0, 1.0))] if rows else []


def flat(charts: Sequence[tuple[str, list[Chart]]]) -> list[Chart]:
    """Return the charts of all judges in one list."""
    return [chart for _, some in charts for chart in some]
