"""Render a validation as one HTML file that needs no network and runs only its own script."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from harness.files.plain_text import counted, visible
from harness.report import (
    abstention_table,
    annotator_charts,
    certainty_charts,
    check_card,
    confusion_charts,
    formatting,
    judge_charts,
    sensitivity_charts,
    slice_charts,
)
from harness.report.beta_selections import SELECTION_NOTE, selection_table
from harness.report.charts import draw_interval, items_link
from harness.report.checklist import checklist
from harness.report.glossary import GLOSSARY
from harness.report.html.item_table import item_block, item_filters
from harness.report.html.rendering import render
from harness.report.html.summaries import (
    changes,
    chart_note,
    figures,
    no_sweep_reason,
    section_results,
)
from harness.report.judge_card import latex, markdown, paragraph
from harness.report.next_steps import READ_ERRORS, next_steps
from harness.report.pseudonyms import named_as_in_reports
from harness.report.race_text import race_lines, race_table
from harness.report.ranking_columns import ranking_table
from harness.report.ranking_rows import missing_intervals
from harness.report.recommendation import (
    further_evidence,
    property_words,
    reasons,
    summary,
    tested_raters,
)
from harness.report.score_table import score_charts, score_table, score_terms, strata_table
from harness.report.svg import Mark, label, line
from harness.report.text import missed_line, prevalence_lines, rubric_table, second_questions_table
from harness.report.trust_text import trust_lines
from harness.report.unreadable_text import attempts, sentence
from harness.report.verdict_words import check_rows, human_pair
from harness.report.words import BOUND_WORDS, GOAL_WORDS, SETTLED_WORDS
from harness.stats.selection.ranking import GOALS

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.report.charts import RowKind
    from harness.report.html.details import Details
    from harness.report.score_table import TitledRows


SECTIONS = {
    "decision": "Can I use it?",
    "search": "What was tried?",
    "race": "Who left the race?",
    "ranking": "Which judge is best?",
    "sensitivity": "What if beta were different?",
    "certainty": "How does it do where raters disagree?",
    "replacement": "Does it pass the annotator test?",
    "trust": "Which verdicts can you accept?",
    "checks": "Does its answer flip for no reason?",
    "errors": "Where is it wrong?",
    "selftest": "Does the analysis work on this design?",
    "provenance": "How were these numbers computed?",
}
OUTCOMES = ("planned", "answered", "abstained", "refused", "invalid", "failed", "not_asked")
PAGE_SIZE = 10
STATIC_ROWS = PAGE_SIZE  # items shown if no script runs


def page(v: Validation, details: Details | None = None) -> str:
    """Render the page. All texts from the task or a judge are escaped.

    Parameters
    ----------
    v : Validation
        The numbers to show.
    details : Details, optional
        Items, prompts and provenance; the page notes missing parts.
    """
    v = named_as_in_reports(v, details.raters if details else None)
    has_grid = v.sensitivity and v.sensitivity.grid
    grid = sensitivity_charts.slider_grid(v) if has_grid else None
    items = details and item_block(details.items)
    practices = checklist(v)
    return render(
        "report.html.jinja",
        {
            "v": v,
            "details": details,
            "grid": grid,
            "judges": v.ranked_judges,
            "annotator_charts": annotator_charts,
            "certainty_charts": certainty_charts,
            "confusion_charts": confusion_charts,
            "judge_charts": judge_charts,
            "abstention_table": abstention_table,
            "slice_charts": slice_charts,
            "sensitivity_charts": sensitivity_charts,
            "headline": formatting.brief_headline(v),
            "options": formatting.options(v),
            **_first_screen(v, details),
            "results": section_results(v, practices, details),
            "changes": changes(v),
            "glossary": GLOSSARY,
            "no_sweep_reason": no_sweep_reason(v),
            "outcomes": OUTCOMES,
            "item_filters": item_filters(v, details.items) if details else (),
            "selections": _selections(v),
            "selection_note": SELECTION_NOTE,
            "items_link": items_link,
            "property_words": property_words,
            "label": partial(judge_charts.metric_label, v),
            "static_rows": STATIC_ROWS,
            "checklist": practices,
            "paragraphs": {
                "Markdown": markdown(paragraph(v)),
                "LaTeX": latex(paragraph(v)),
            },
            "calls": {calls.name: calls for calls in details.calls} if details else {},
            "provenance": _provenance(v, details),
            "bounds": _bounds(v),
            "missing_intervals": missing_intervals(v),
            "common": ranking_table(v, "page"),
            "tables": _tables(v),
            "score_charts": score_charts(v, v.scores) if v.scores else [],
            "race_lines": race_lines,
            "race_table": race_table,
            "prevalence": list(prevalence_lines(v)),
            "missed_line": missed_line(v),
            "trust_lines": trust_lines,
            "check_card": check_card,
            "tested_raters": tested_raters,
            "human_pair": human_pair(v),
            **_ranking(v),
        },
        block={
            "grid": grid,
            "items": items,
            "strata": [row.stratum.name for row in v.certainty.strata] if v.certainty else [],
            "slices": details.items.slices if details else (),
            "pageSize": PAGE_SIZE,
        },
        title=f"{v.task.name}: which judge to use",
        sections=[(name, SECTIONS[name]) for name in _sections(v, details)],
    )


def _sections(v: Validation, details: Details | None) -> list[str]:
    """Return the names of the sections that have content."""
    has_data = {
        "search": details and details.search,
        "race": v.race,
        "sensitivity": bool(v.task.options)
        and (sensitivity_charts.swept_grid(v) or sensitivity_charts.regret_charts(v)),
        "certainty": v.certainty and certainty_charts.strata_charts(v),
        "replacement": v.replacement and v.replacement.judges,
        "trust": details and details.trust,
        "checks": v.checks,
        "errors": v.judges or details,
        "selftest": details and details.selftest,
    }
    return [name for name in SECTIONS if has_data.get(name, True)]


def _first_screen(v: Validation, details: Details | None) -> dict[str, object]:
    """Return the contents of the first screen, such as verdict, reasons, checks and next steps."""
    band = judge_charts.human_band(v.evidence) if v.evidence else None
    return {
        "verdict": summary(v)[0],
        "reasons": reasons(v),
        "actions": actions(v, details),
        "checks": check_rows(v),
        "figures": figures(v),
        "unreadable": [
            (sentence(replies), attempts(replies), map(visible, replies.examples))
            for replies in v.unreadable
        ],
        "chart_note": chart_note(v, band),
        "rest": further_evidence(v),
    }


def _tables(v: Validation) -> dict[str, TitledRows]:
    """Return the tables of a validation other than the ranking."""
    tables = {"Criteria": rubric_table(v, v.rubric)} if v.rubric else {}
    if v.scores:
        title, heads, rows = score_table(v.scores)
        tables["Scores"] = (" ".join((title, *score_terms(v.scores))), heads, rows)
        tables["Scores by certainty"] = strata_table(v.scores)
    if v.second_questions:
        tables["Second questions"] = second_questions_table(v.second_questions)
    return tables


def _ranking(v: Validation) -> dict[str, object]:
    """Return each judge's value on the items that it answered, and an axis for all judges."""
    if v.ranking is None:
        return {}
    kinds = judge_charts.judge_kinds(v)
    return {
        "own": [_on_own_items(v, row.judge, kinds[row.judge]) for row in v.ranking.rows],
        "axis": _table_axis(v),
    }


def _on_own_items(v: Validation, name: str, kind: RowKind) -> dict[str, object]:
    assert v.ranking is not None
    judge = v.judge(name)
    interval = judge_charts.interval_row(name, judge.own, kind)
    marks = draw_interval(interval, judge_charts.ranking_scale(v), 13.0)
    return {"judge": judge, "row": v.evidence_of(name), "kind": kind, "marks": marks}


def _table_axis(v: Validation) -> list[Mark]:
    scale = judge_charts.ranking_scale(v)
    marks = [line(scale.start, 19, scale.end, 19, "axis")]
    for value in scale.ticks()[::2]:
        marks.append(label(scale(value), 12, f"{value:.6g}", "tick x", "middle"))
        marks.append(line(scale(value), 15, scale(value), 19, "axis"))
    return marks


def _bounds(v: Validation) -> dict[str, object]:
    """Return the bounds for each judge and goal, or why all of them are NA."""
    kinds = (v.sensitivity.bounds, v.sensitivity.common_bounds) if v.sensitivity else ()
    rows = [
        (judge, GOAL_WORDS.get(goal, goal), bound)
        for bounds in kinds
        for judge, by_goal in bounds.items()
        for goal, bound in by_goal.items()
    ]
    if v.sensitivity:
        rows += [
            (f"{row.first} minus {row.second}", SETTLED_WORDS[row.settled], row.bound)
            for row in v.sensitivity.differences
        ]
    ends = [end for _, _, bound in rows for end in (bound.low, bound.high)]
    reasons = dict.fromkeys(formatting.reason(end) for end in ends if end.value is None)
    is_undefined = all(end.value is None for end in ends)
    reason = ", ".join(reasons) if is_undefined else ""
    return {"rows": rows, "reason": reason, "kinds": BOUND_WORDS}


def _selections(v: Validation) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return a table per goal with the judge that each metric selects, at every second beta."""
    selections = v.sensitivity.selections if v.sensitivity else {}
    goals = {goal: GOAL_WORDS.get(goal, goal) for goal in GOALS if goal in selections}
    name_of = partial(judge_charts.metric_label, v)
    tables = {title: selection_table(selections, goal, name_of) for goal, title in goals.items()}
    return [
        (title, heads[:1] + heads[1::2], [row[:1] + row[1::2] for row in rows])
        for title, (heads, rows) in tables.items()
    ]


def _provenance(v: Validation, details: Details | None) -> list[tuple[str, str]]:
    settings, unit = v.settings, v.sampling.unit
    rows = [
        ("task, SHA-256", v.task.content_hash),
        ("cut-off tau", f"{v.tau:g}"),
        ("ranking metric", judge_charts.metric_label(v, v.ranking_metric)),
        ("abstentions", settings.mode),
        ("aggregation", settings.level),
        ("seed", str(settings.seed)),
        ("resamples", f"{settings.n_resamples} of {unit}s"),
        ("schema of metrics.json", str(v.schema_version)),
    ]
    if details is not None:
        seconds = details.asking_s
        rows += [
            ("run", details.run),
            ("started", details.created),
            ("state", details.state),
            ("time spent on calls", "" if seconds is None else formatting.duration(seconds)),
            ("data source", details.source),
            ("data licence", details.licence),
            *((f"{name}, SHA-256", sha) for name, sha in details.hashes.items() if name != "task"),
            *details.versions.items(),
        ]
    return [(name, value) for name, value in rows if value]


@dataclass(frozen=True, slots=True)
class Action:
    """A next step on the page.

    Attributes
    ----------
    parts : tuple of (str, bool)
        Pieces of its text, with True for a command to copy.
    link, link_text : str
        Link to a filtered list of items on the page, and its text; "" for none.
    """

    parts: tuple[tuple[str, bool], ...] = ()
    link: str = ""
    link_text: str = ""


def actions(v: Validation, details: Details | None) -> list[Action]:
    """Return each next step with its commands. A step about items also has a link."""
    return [_action(v, details, sentence) for sentence in next_steps(v)]


def _action(v: Validation, details: Details | None, sentence: str) -> Action:
    leader = v.decision.leader
    n_wrong = _n_wrong(details, leader) if leader and sentence in READ_ERRORS.values() else 0
    if n_wrong:
        link = items_link(judge=leader or "", agreement="differs")
        wrong = f"the {counted([n_wrong])} that {leader} gets wrong"
        return Action(link=link, link_text=f"Read {wrong}")
    pieces = enumerate(sentence.removesuffix("`.").split("`"))
    return Action(tuple((text, bool(i % 2)) for i, text in pieces if text))


def _n_wrong(details: Details | None, judge: str) -> int:
    """Count the listed items on which most of a judge's replies differ from most of the raters."""
    if details is None or judge not in details.items.judges:
        return 0
    j = details.items.judges.index(judge)
    return sum(row.judges[j].agreement == "differs" for row in details.items.rows)
