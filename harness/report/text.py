"""A validation as text for a terminal, 80 columns wide."""

from __future__ import annotations

import re
from io import StringIO
from textwrap import fill
from typing import TYPE_CHECKING

from harness.report.costs import costs
from harness.report.words import estimate, headline, number, percent, reason, sentences, span
from harness.stats.rows import DESIGN_VALUE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from harness.validate import JudgeResult, Ranking, Validation
    from harness.validate.result import RankedJudge, Settings

WIDTH = 80
GAP = 2  # columns of space between columns
UNIT = re.compile(r"[^ ]+ \[[^]]*\]|[^ ]+ \(\d+-\d+\)|[^ ]+")  # a word, or a number's interval
BESIDE = ("decision_consistency", "prevalence_bias")  # the first that does not rank
HEADS = {"decision_consistency": "consistency tau={tau:g}", "prevalence_bias": "bias tau={tau:g}"}


def render(validation: Validation, *, brief: bool = False) -> str:
    """Write the ranking and the decision; ``brief`` leaves out how the replies came in."""
    parts = [headline(validation)]
    if validation.task.notice:
        parts.append(f"({validation.task.notice})")
    if validation.ranking is None:
        parts += ["", _humans(validation)]
    else:
        parts += ["", _ranking(validation)]
        if not brief:
            parts += ["", _outcomes(validation)]
            parts += [fill(line, WIDTH) for line in costs(validation)]
    parts += [fill(f"note: {note}", WIDTH) for note in validation.notes]
    parts += ["", *(fill(told, WIDTH) for told in sentences(validation))]
    return "\n".join(parts)


def _ranking(validation: Validation) -> str:
    ranking = validation.ranking
    assert ranking is not None
    beside = [name for name in BESIDE if name != ranking.metric][:1]
    beside = [name for name in beside if _somewhere(validation, name)]
    heads = [HEADS[name].format(tau=validation.settings.tau) for name in beside]
    rows = []
    for ranked in ranking.rows:
        judge = validation.judge(ranked.judge)
        rows.append(
            (
                _rank(validation, ranking, ranked),
                judge.name + (" *" if judge.baseline else ""),
                *(_cell(judge, metric) for metric in (ranking.metric, *beside)),
                percent(judge.answered_fraction),
            )
        )
    names = ("rank", "judge", ranking.metric, *heads, "answered")
    table = _table(names, rows, whole=set(names) - {"judge"})
    starred = any(judge.baseline for judge in validation.judges)
    reasons = _reasons(validation, (ranking.metric, *beside))
    if not beside:
        reasons += _absent(validation, BESIDE[0])
    legend = (fill(one, WIDTH) for one in _legend(validation, ranking))
    return "\n".join([table, *(["* baseline"] if starred else []), *reasons, *legend])


def _somewhere(validation: Validation, metric: str) -> bool:
    return any(judge.metrics[metric].value is not None for judge in validation.judges)


def _absent(validation: Validation, metric: str) -> list[str]:
    """Say in one line why a metric is NA for every judge."""
    reasons = dict.fromkeys(reason(judge.metrics[metric]) for judge in validation.judges)
    return [f"{metric.replace('_', ' ')} is NA for every judge ({', '.join(reasons)})"]


def _legend(validation: Validation, ranking: Ranking) -> list[str]:
    """Say how the intervals are made, what they cover, and where the other estimand stands."""
    settings = validation.settings
    facts = next(one for one in validation.metrics if one.name == ranking.metric)
    how = f"{settings.confidence:.0%} intervals: {_method(settings)}, {facts.estimand}."
    counts = [judge.metrics[ranking.metric].ratings_per_item for judge in validation.judges]
    m = next((one for one in counts if one is not None), None)
    if facts.estimand != DESIGN_VALUE or m is None:
        return [how]
    many = (
        f"for infinitely many see {facts.population}"
        if facts.population
        else "others would give other values"
    )
    return [how, f"The design has {m:g} ratings per item; {many}."]


def _method(settings: Settings) -> str:
    many = {"item": "items", "group": "groups", "criterion": "criteria"}[settings.unit]
    if settings.interval == "jackknife":
        return f"jackknife of {many}"
    corrected = " (BCa)" if settings.interval == "bca" else ""
    return f"bootstrap of {many}{corrected}, {settings.n_resamples} resamples"


def _rank(validation: Validation, ranking: Ranking, ranked: RankedJudge) -> str:
    """Write a rank with its interval, as in 2 (1-3)."""
    if ranked.rank is None or validation.choosing is None:
        return "-"
    places = validation.choosing.orders[ranking.metric].places
    mine = next(place for place in places if place.judge == ranked.judge)
    return (
        f"{ranked.rank} ({mine.rank_low}-{mine.rank_high})" if mine.rank_low else f"{ranked.rank}"
    )


def _cell(judge: JudgeResult, metric: str) -> str:
    one = judge.metrics[metric]
    return f"{number(one.value)} {span(one.interval)}".strip()


def _reasons(validation: Validation, metrics: Sequence[str]) -> list[str]:
    return [
        f"{judge.name}: {metric} is {estimate(judge.metrics[metric])}"
        for judge in validation.judges
        for metric in metrics
        if judge.metrics[metric].value is None
    ]


def _outcomes(validation: Validation) -> str:
    names = ("planned", "answered", "abstained", "refused", "invalid", "failed", "not_asked")
    rows = []
    for judge in validation.judges:
        for counts in judge.outcomes:
            derived = " (derived)" if counts.elicitation in judge.derived else ""
            numbers = [str(getattr(counts, name)) for name in names]
            rows.append((judge.name, counts.elicitation + derived, *numbers))
    heads = ("planned", "answ.", "abst.", "refus.", "inval.", "fail.", "not asked")
    return _table(("judge", "elicitation", *heads), rows, whole={"elicitation"})


def _humans(validation: Validation) -> str:
    agreement = validation.humans.agreement
    rows = [(name, estimate(one), str(one.n_used)) for name, one in agreement.items()]
    return _table(("human agreement", "value", "items"), rows)


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, whole: Collection[str] = ()
) -> str:
    """Draw a table whose columns in ``whole`` keep words and intervals whole; names give way."""
    from rich.console import Console  # noqa: PLC0415 -- only when a table is drawn
    from rich.table import Table  # noqa: PLC0415 -- only when a table is drawn

    columns = list(zip(heads, *rows, strict=True))
    least = {
        head: max(len(unit) for cell in cells for unit in (UNIT.findall(cell) or [""]))
        if head in whole
        else max(map(len, (head, *cells)))
        for head, *cells in columns
    }
    others = sum(width + GAP for head, width in least.items() if head != "judge")
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="")
    for head in heads:
        room = max(WIDTH - others, 1) if head == "judge" and whole else None
        table.add_column(
            head,
            overflow="fold",
            min_width=least[head] if head in whole else None,
            max_width=room,
        )
    for row in rows:
        table.add_row(*row)
    out = StringIO()
    Console(file=out, width=WIDTH, color_system=None, highlight=False, markup=False).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
