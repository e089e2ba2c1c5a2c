"""Write a paragraph for a paper, as Markdown and LaTeX, and the one-page judge card."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.analysis.bound_notes import assumption
from harness.files.plain_text import counted, visible
from harness.report.checklist import checklist
from harness.report.formatting import (
    basis,
    capitalized,
    compared_on,
    cut,
    estimate,
    headline,
    level_text,
    raters_covered,
    share,
)
from harness.report.judge_charts import metric_label
from harness.report.pseudonyms import named_as_in_reports
from harness.report.ranking_columns import ranking_table
from harness.report.ranking_rows import missing_intervals
from harness.report.recommendation import decision
from harness.report.text import READING as READING_F
from harness.report.text import translation_text
from harness.report.words import LEVELS, MODES, READING

if TYPE_CHECKING:
    from harness.analysis import JudgeResult, Validation
    from harness.report.html.details import Details

MAX_TEXT = 300  # characters of a practice on the judge card
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$&])")
_BREAKS = re.compile(r"[\t\r\n\u2028\u2029]+")


def latex(text: str) -> str:
    """Escape a text so that LaTeX prints it and does not run any commands in it."""
    return "".join(_LATEX.get(c, c) for c in _on_one_line(text))


def markdown(text: str) -> str:
    """Escape a text so that Markdown prints it as one line without markup, links or HTML."""
    return _MARKDOWN.sub(r"\\\1", _on_one_line(text))


def _on_one_line(text: str) -> str:
    return visible(_BREAKS.sub(" ", text))


def paragraph(v: Validation) -> str:
    """Return a paragraph for a paper that describes methods and results."""
    s, h = v.settings, v.humans
    raters = counted([h.n_raters], "human rater")
    about = f"{counted([v.task.n_items])} of the task {v.task.name} ({v.task.property}; "
    about += f"{v.task.scale}, "
    about += f"{len(v.task.options)} options)." if v.task.options else "no options)."
    gave = f"{counted([h.n_forced_choice], 'forced choice')} and "
    gave += counted([h.n_response_sets], "response set")
    if not v.task.options:
        gave = counted([h.n_forced_choice], "rating")
    compared = (
        f"We compared {counted([len(v.judges)], 'judge')} with {raters} on {about}"
        if v.judges
        else f"We had {about[:-1]} rated by {raters}."
    )
    parts = [compared, f"The raters gave {gave}.", *_sets_of_raters(v)]
    if v.task.notice:
        parts.append(f"Note: {v.task.notice}.")
    if v.sampling.weighted:
        parts.append("Items were weighted by the inverse of their inclusion probability.")
    if v.ranking is not None:
        unit = f" in {v.ranking.unit}" if v.ranking.unit else ""
        parts.append(
            f"Judges were ranked by {metric_label(v, v.ranking.metric)}{unit} "
            f"({READING[v.ranking.better]}), "
            f"{compared_on(v) or 'but no judge answered enough items'}."
        )
        parts.append(f"Results: {'; '.join(_result(v, judge) for judge in v.ranked_judges)}.")
    parts.append(
        f"Brackets contain {level_text(s.confidence)} intervals from resampling {v.sampling.unit}s "
        f"({s.n_resamples} resamples, seed {s.seed}), for the expected value with this many raters "
        f"and samples. {raters_covered(v)} Abstentions were {MODES[s.mode]}; "
        f"aggregation: {LEVELS[s.level]}."
    )
    return " ".join(parts)


def _sets_of_raters(v: Validation) -> list[str]:
    """Describe where the raters' response sets come from, if raters did not give them."""
    sets, beta = v.humans.sets, v.humans.beta
    if sets.origin == "assumed":
        return [f"Their response sets follow from an assumed beta of {v.settings.beta:g}."]
    if sets.origin == "rated":
        return []
    pairs = f"{counted([sets.n_pairs], 'pair')} on {counted([sets.n_paired_items])}"
    of_beta = f", beta {estimate(beta, 2)}" if beta.value is not None else ""
    lines = [f"Their response sets were reconstructed using F' from {pairs}{of_beta}."]
    if v.sensitivity and v.sensitivity.modelled:
        lines.append(f"{capitalized(assumption(v.sensitivity.modelled))}.")
    return lines


def _result(v: Validation, judge: JudgeResult) -> str:
    assert v.evidence is not None
    row = v.evidence_of(judge.name)
    answered = share(row.answered_fraction, v.evidence.n_rated)
    usable = share(row.usable_replies, row.n_planned)
    return f"{judge.name} {_value(v, judge)}, {answered} items answered, {usable} replies answered"


def _value(v: Validation, judge: JudgeResult) -> str:
    """Format a judge's ranking metric with the number of items and replies behind it."""
    result = judge.metrics[v.ranking_metric]
    if result.value is None:
        return f"{estimate(result)} (not ranked)"
    return f"{estimate(result)} on {basis(result)}"


def judge_card(v: Validation, d: Details | None = None) -> str:
    """Return a Markdown page to publish together with an evaluation that used the judge."""
    v = named_as_in_reports(v, d.raters if d else None)
    lines = [
        f"# Judge card: {markdown(v.task.name)}",
        "",
        markdown(decision(v)),
        "",
        f"*Task*: {markdown(v.task.property)}. {markdown(headline(v))}.",
    ]
    if v.task.notice:
        lines += ["", f"**{markdown(v.task.notice)}**"]
    if v.ranking is not None:
        lines += ["", *_card_table(v)]
        lines += ["", markdown(missing)] if (missing := missing_intervals(v)) else []
    if v.ranking is not None and v.task.options:
        lines += ["", markdown(READING_F), ""]
        lines += [
            f"- {markdown(judge.name)}, {markdown(translation_text(v, judge))}"
            for judge in v.ranked_judges
        ]
    lines += ["", "## How these numbers were computed", "", markdown(paragraph(v))]
    lines += ["", "## Reporting checklist", ""]
    lines += [
        f"{i}. {markdown(p.instruction)}: {markdown(cut(p.text, MAX_TEXT))}"
        for i, p in enumerate(checklist(v), 1)
    ]
    lines += ["", "## To reproduce", "", f"- task {v.task.content_hash}"]
    if d is not None:
        lines += [f"- {markdown(name)} {markdown(text)}" for name, text in d.versions.items()]
        lines += [f"- run {markdown(d.run)}, {markdown(d.created)}"] if d.run else []
    return "\n".join(lines) + "\n"


def _card_table(v: Validation) -> list[str]:
    table = ranking_table(v, "card")
    rules = ["--:" if column.kind == "number" else "---" for column in table.columns]
    lines = [f"| {' | '.join(map(markdown, table.heads))} |", f"| {' | '.join(rules)} |"]
    rows = ([markdown(cut(cell, MAX_TEXT)) for cell in cells] for cells in table.cells)
    return lines + [f"| {' | '.join(cells)} |" for cells in rows]
