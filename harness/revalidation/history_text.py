"""Format rounds and a run's history as text for a terminal."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from harness.analysis.reply_dates import dates_text
from harness.files.plain_text import counted, visible
from harness.report.formatting import (
    COMPLETENESS_HEADS,
    basis,
    cut,
    estimate,
    number,
    p_value,
    rank_set,
    replies_each,
    share,
    with_bounds,
)
from harness.report.text_table import draw_table, paragraph
from harness.revalidation.records import (
    ANSWERED,
    FLIPS,
    NO_ANSWER,
    UNITS,
    ProviderReport,
    model_changes,
    reported,
)
from harness.revalidation.reply_categories import replies_per_item
from harness.revalidation.sentences import decision_sentences, notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.revalidation.changed_rows import ChangedRow
    from harness.revalidation.history import HistoryReading
    from harness.revalidation.records import Baseline, DecisionFacts, Figure, JudgeLook, Look

MAX_CHANGED = 10  # changed items of a judge that are listed
MAX_SHORT = 3  # changed items of a judge in the short output
MAX_TEXT = 160  # characters of an item or a reply
FIGURE_HEADS = ("baseline", "round", "difference", "on")  # table heads after the judge's name
STANDING_HEADS = ("judge", "value", "on", *COMPLETENESS_HEADS, "ranks")
TEST_HEADS = ("verdict", "flips", "p", "value", "change")  # table heads for a judge in a round
HISTORY_HEADS = ("round", "date", *TEST_HEADS, "model")


def look_text(look: Look, baseline: Baseline, *, details: bool = False) -> str:
    """Format a round as text: its basis, notes, a row for each judge, and the recommendation.

    Parameters
    ----------
    details : bool
        Whether each judge has a table of every metric, rank set, cost, latency and what providers
        report.
    """
    n_items = counted([len(baseline.items)])
    if len(baseline.items) < baseline.n_items_in_run:
        n_items += f" of {baseline.n_items_in_run}"
    occasions = counted([baseline.n_occasions], "occasion")
    replies = counted([replies_per_item(look.streams)], "reply")
    head = (
        f"Round {look.number}: {n_items}, {replies} each. "
        f"Baseline {baseline.number}: {counted([baseline.n_replies], 'reply')} each, on {occasions}"
        f"{_received(baseline)}."
    )
    parts = [paragraph(line) for line in (head, *notes(look, baseline))]
    if details:
        parts += [
            draw_table((judge.judge, *FIGURE_HEADS), rows)
            for judge in look.judges
            if (rows := list(figure_rows(judge, look, baseline)))
        ]
    elif tested := [(j.judge, *_tested(look, j)) for j in look.judges if j.figures]:
        parts.append(draw_table(("judge", *TEST_HEADS), tested))
    parts += map(paragraph, decision_sentences(look, baseline))
    if details and look.decision is not None:
        parts.append(draw_table(STANDING_HEADS, standing_rows(look.decision)))
    return "\n\n".join(parts)


def _received(baseline: Baseline) -> str:
    """Return when a baseline's replies were received, or "" if it was on the baseline's date."""
    oldest, newest = (time[:10] for time in baseline.received)
    return "" if oldest in {"", baseline.at[:10]} else f", collected {dates_text(oldest, newest)}"


def figure_rows(judge: JudgeLook, look: Look, baseline: Baseline) -> Iterator[list[str]]:
    """Yield a row for each of a judge's figures, with its baseline value. See FIGURE_HEADS."""
    if not judge.figures:
        return
    names_elicitation = len({f.elicitation for f in judge.figures if f.elicitation}) > 1
    yield ["p, all rounds", "", p_value(judge.p), "", ""]
    for figure in judge.figures:
        is_known = figure.look is not None or figure.baseline is not None
        is_none = figure.name in NO_ANSWER and not (figure.look or figure.baseline)
        if is_known and not is_none and figure.name != ANSWERED:
            yield figure_cells(figure, names_elicitation=names_elicitation)
    yield from map(figure_cells, reported(judge, baseline))
    yield from ([*row, "", ""] for row in _texts(judge, look, baseline))


def figure_cells(figure: Figure, *, names_elicitation: bool = False) -> list[str]:
    """Format a figure as table cells: its name, its values, and the items or replies behind it."""
    is_named = names_elicitation and figure.elicitation
    name = f"{figure.name}, {figure.elicitation}" if is_named else figure.name
    if (unit := UNITS.get(figure.name)) is None:
        replies = "" if figure.n_replies is None else f", {replies_each(figure.n_replies)}"
        on = f"{counted([figure.n])}{replies}"
        difference = with_bounds(figure.difference, figure.low, figure.high)
        return [name, number(figure.baseline), number(figure.look), difference, on]
    values = (figure.baseline, figure.look, figure.low, figure.high)
    before, now, low, high = ("NA" if v is None else unit.form.format(v) for v in values)
    now += "" if figure.low is None else f" [{low}, {high}]"
    rests_on = counted([figure.n]) if figure.name == FLIPS else counted([figure.n], "reply")
    return [name, before, now, "", rests_on if figure.elicitation else unit.text]


def _texts(judge: JudgeLook, look: Look, baseline: Baseline) -> Iterator[list[str]]:
    """Yield rows for ranks, model version and fingerprint, at the baseline and now."""
    before, now = baseline.providers.get(judge.judge) or ProviderReport(), judge.provider
    rows = [d.standing(judge.judge) if d else None for d in (baseline.decision, look.decision)]
    yield ["ranks", *(rank_set(row.ranks) if row else "NA" for row in rows)]
    yield ["model version", *(", ".join(p.models) or "NA" for p in (before, now))]
    yield ["fingerprint", *(", ".join(p.fingerprints) or "NA" for p in (before, now))]


def standing_rows(decision: DecisionFacts) -> list[tuple[str, ...]]:
    """Return a row for each judge on an occasion, with its value. See STANDING_HEADS."""
    return [
        (
            row.judge,
            estimate(row.estimate),
            basis(row.estimate),
            share(row.usable_replies, row.n_planned),
            share(row.answered_fraction, decision.n_rated),
            rank_set(row.ranks),
        )
        for row in decision.judges
    ]


def changed_text(rows: Sequence[ChangedRow], look: Look, *, details: bool = False) -> str:
    """List each judge's changed items with both answers. ``details`` adds texts and replies."""
    lines = []
    for name, own in groupby(rows, key=lambda row: row.judge):
        listed = list(own)[: MAX_CHANGED if details else MAX_SHORT]
        judge = look.judge(name)
        n_changed = judge.n_changed if judge else len(listed)
        lines.append(f"{name}, {len(listed)} of {n_changed} changed answers:")
        for row in listed:
            raters = f"; raters: {row.raters}" if row.raters else ""
            lines.append(f"  {visible(row.item)}: {row.before} before, {row.now} now{raters}")
            for what, text in (("item", row.text), ("reply", row.reply)):
                lines += [f"    {what}: {cut(visible(text), MAX_TEXT)}"] * bool(details and text)
    return "\n".join(lines)


def with_command(sentence: str) -> str:
    """Wrap a sentence. A command at its end gets a line of its own, so that you can copy it."""
    words, is_advice, command = sentence.partition(": harness ")
    if not is_advice:
        return paragraph(sentence)
    return f"{paragraph(f'{words}:')}\nharness {command.rstrip('.').removesuffix(')')}"


def baseline_lines(history: HistoryReading) -> Iterator[str]:
    """Yield a line about each baseline."""
    for baseline in history.baselines:
        origin = f"from round {baseline.accepted} on" if baseline.accepted else "the run"
        yield (
            f"baseline {baseline.number} of {baseline.at[:10]}: {origin}{_received(baseline)}, "
            f"{counted([len(baseline.items)])}, {counted([baseline.n_replies], 'reply')} per item, "
            f"false alarms at most {baseline.alpha:.0%}"
        )


def history_text(history: HistoryReading) -> str:
    """Format a run's rounds as a table per judge, with the newest round first.

    ``*`` marks a round whose model version or fingerprint differs from the previous round's. The
    interval for the change of the ranking metric is simultaneously valid for all rounds.
    """
    parts = ["\n".join(baseline_lines(history))]
    for judge in dict.fromkeys(judge for b in history.baselines for judge in b.judges):
        changes = model_changes(history.looks, judge)
        rows = [
            _history_row(look, result, marked=look.number in changes)
            for look in reversed(history.looks)
            if (result := look.judge(judge)) is not None
        ]
        parts.append("\n".join([judge, *_aligned([HISTORY_HEADS, *rows])]))
    if history.n_damaged:
        parts.append(f"damaged lines, which are left out: {history.n_damaged}")
    return "\n\n".join(parts)


def _history_row(look: Look, judge: JudgeLook, *, marked: bool) -> Sequence[str]:
    models = ", ".join(judge.provider.models) + " *" * marked
    return (str(look.number), look.at[:10], *_tested(look, judge), models)


def _tested(look: Look, judge: JudgeLook) -> tuple[str, ...]:
    """Return the table cells for a judge in a round. See TEST_HEADS."""
    flips = [f.look for f in judge.figures if f.name == FLIPS]
    standing = look.decision.standing(judge.judge) if look.decision else None
    change = judge.sequence
    return (
        judge.verdict,
        "/".join("NA" if rate is None else f"{rate:.0%}" for rate in flips) or "NA",
        p_value(judge.p),
        estimate(standing.estimate) if standing else "NA",
        with_bounds(change.difference, change.low, change.high) if change else "",
    )


def _aligned(rows: list[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
