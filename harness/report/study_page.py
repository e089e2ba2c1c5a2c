"""Format a study over several tasks as text for a terminal and as a page."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from harness.files.plain_text import SCREEN_WIDTH, counted
from harness.report.beta_selections import SELECTION_NOTE, selection_table
from harness.report.charts import Series, Titles, interval_chart, line_chart
from harness.report.fitted_text import ShortTable, TextPart, fitted, joined
from harness.report.formatting import (
    COMPLETENESS_HEADS,
    basis,
    estimate,
    number,
    share,
    unique_names,
)
from harness.report.html.rendering import render
from harness.report.judge_charts import SMALL_CHART_WIDTH, interval_row, is_drawn, unique_slug
from harness.report.study_charts import figure_groups
from harness.report.text_table import draw_table, paragraph
from harness.report.words import METRIC_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis import Validation
    from harness.analysis.evidence_rows import JudgeEvidence
    from harness.analysis.study import Prevalence, RegretCurve, Study
    from harness.analysis.study_figures import TaskFigures
    from harness.report.charts import Chart

SECTIONS = (
    ("decisions", "Decisions"),
    ("betas", "beta-hat"),
    ("regret", "Cost of the metric"),
    ("by-beta", "Selections by beta"),
    ("figures", "Figures of the papers"),
)
VERDICTS = {
    "use": "use",
    "use_if_independent": "use, if independent of the raters",
    "best_not_proven": "best, not proven",
    "none": "use none",
}
GOALS = {
    "decision_consistency": "share of items with the same decision",
    "prevalence_bias": "estimated share of positive items",
}
STYLES = 8  # line styles
TAUS = (0.1, 0.3, 0.5, 0.7, 0.9)  # maximum number of lines for the prevalence
DECISION_HEADS = (
    "task",
    "items",
    "raters",
    "verdict",
    "judge",
    "ranked by",
    "value",
    "on",
    *COMPLETENESS_HEADS,
    "raters' beta",
    "on",
)
BETA_HEADS = ("judge", "task", "beta-hat", "on")


def study_text(study: Study, names: Mapping[str, str], *, most_lines: int | None = None) -> str:
    """Return decisions, beta and regret as tables. ``names`` are the metrics' display names.

    With ``most_lines``, the last columns are left out, and so are the tables and tasks that don't
    fit, which are counted.
    """
    names = names_in(study, names)
    n_columns = len(DECISION_HEADS) if most_lines is None else DECISION_HEADS.index("on")
    decisions = [row[:n_columns] for row in decision_rows(study, names)]
    optional = range(LEAST_TASKS, len(decisions))
    heads = DECISION_HEADS[:n_columns]
    parts = [ShortTable(heads, decisions, SCREEN_WIDTH, "task", optional).part()]
    if any(row.beta.value is not None for row in study.betas):
        betas = draw_table(BETA_HEADS, beta_rows(study))
        parts.append(TextPart(f"\n{paragraph(BETA_NOTE)}\n\n{betas}", "table"))
    goals = defined_goals(study)
    notes = [REGRET_NOTE, *[""] * (len(goals) - 1)] if goals else []
    for note, (goal, title) in zip(notes, goals.items(), strict=True):
        above = f"\n{paragraph(note)}\n" if note else ""
        drawn = draw_table(*regret_table(study, goal, names))
        parts.append(TextPart(f"{above}\nRegret, {title}\n\n{drawn}", "table"))
    if not goals:
        parts.append(TextPart(f"\n{paragraph(NO_REGRET)}", "note"))
    text = joined(parts) if most_lines is None else fitted(parts, most_lines)
    return text.removeprefix("\n")


LEAST_TASKS = 3  # of a table that is cut
BETA_NOTE = (
    "beta-hat: share of negative choices after which the positive option would be accepted too. "
    "`~` marks maximum likelihood estimates from independent replies."
)
REGRET_NOTE = (
    "Regret is the loss from selecting the judge by a metric instead of by the goal. It's 0 if "
    "the metric picks the best judge, and NA if decisions are undefined (for example, without "
    "response sets). These are point estimates. Each run's report has intervals."
)
NO_REGRET = (
    "Regret isn't defined in any of these tasks. It needs ranked judges, positive options and "
    "the raters' response sets."
)


def defined_goals(study: Study) -> dict[str, str]:
    """Return the goals with a defined regret in at least one task, with their titles."""
    defined = {row.goal for row in study.regrets if row.mean is not None}
    return {goal: title for goal, title in GOALS.items() if goal in defined}


def _standing(leader: JudgeEvidence | None, n_rated: int) -> tuple[str, ...]:
    """Return the top judge's value, the items behind it, and the judge's completeness."""
    if leader is None:
        return ("NA", "", share(None, 0), share(None, 0))
    return (
        estimate(leader.estimate),
        basis(leader.estimate),
        share(leader.usable_replies, leader.n_planned),
        share(leader.answered_fraction, n_rated),
    )


def decision_rows(study: Study, names: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return a row per task, with columns as in `DECISION_HEADS`."""
    return [
        (
            row.task,
            str(row.n_items),
            str(row.n_raters),
            "NA (judges raced)" if row.raced else VERDICTS[row.verdict],
            row.judge or "-",
            metric_name(row.metric, names),
            *_standing(row.leader, row.n_rated),
            estimate(row.beta, 2),
            basis(row.beta),
        )
        for row in study.tasks
    ]


def beta_rows(study: Study) -> list[tuple[str, ...]]:
    """Return a row per task and judge with beta-hat, with columns as in `BETA_HEADS`."""
    tasks = {row.task: place for place, row in enumerate(study.tasks)}
    judges = {row.judge: place for place, row in reversed(list(enumerate(study.betas)))}
    ordered = sorted(study.betas, key=lambda row: (judges[row.judge], tasks[row.task]))
    return [
        (
            row.judge,
            row.task,
            f"{'~' if row.by_likelihood else ''}{estimate(row.beta, 2)}",
            basis(row.beta),
        )
        for row in ordered
    ]


def regret_table(
    study: Study, goal: str, names: Mapping[str, str]
) -> tuple[list[str], list[list[str]]]:
    """Return a table of regret by metric and task, with a column for the mean."""
    tasks = [row.task for row in study.tasks]
    rows = [
        [
            metric_name(row.metric, names),
            *(number(row.by_task.get(task)) for task in tasks),
            number(row.mean),
            f"{row.n_not_best} of {len(row.by_task)}",
        ]
        for row in study.regrets
        if row.goal == goal
    ]
    return ["chosen by", *tasks, "mean", "not the best judge"], rows


def _prevalence_chart(task: str, prevalence: Prevalence) -> Chart:
    """Draw the share of positive items by beta, with a line for each cut-off."""
    rows = dict(zip(prevalence.taus, prevalence.shares, strict=True))
    series = [
        Series(f"tau {tau:g}", tuple(zip(prevalence.betas, rows[tau], strict=True)), f"j{place}")
        for place, tau in enumerate(tau for tau in TAUS if tau in rows)
    ]
    ends = "; ".join(
        f"{line.name} {number(line.points[0][1])} to {number(line.points[-1][1])}"
        for line in series
    )
    titles = Titles(
        f"prevalence-{task}",
        f"{task}: share of positive items, by beta of the raters",
        f"Share of items that are positive for the raters, from beta 0 to 1: {ends}.",
        x="raters' beta",
        y="positive items",
    )
    return line_chart(titles, series, reach=(0.0, 1.0))


def names_in(study: Study, names: Mapping[str, str]) -> dict[str, str]:
    """Return a unique display name for each metric in a study."""
    shown = [row.metric for row in study.tasks]
    shown += [row.metric for row in study.regrets]
    shown += [curve.metric for curve in study.curves]
    shown += [metric for by_metric in study.selections.values() for metric in by_metric]
    return unique_names(
        {metric: METRIC_WORDS.get(metric) or names.get(metric, metric) for metric in shown}
    )


def metric_name(metric: str, names: Mapping[str, str]) -> str:
    """Return a metric's display name in a study. See `names_in`."""
    return names.get(metric, metric)


def beta_charts(study: Study) -> list[Chart]:
    """Draw the raters' and each judge's beta-hat with its interval, in a chart per task."""
    charts = []
    for task in study.tasks:
        rows = [interval_row("raters", task.beta, "rater")]
        rows += [interval_row(row.judge, row.beta) for row in study.betas if row.task == task.task]
        if is_drawn(rows):
            titles = Titles(
                f"beta-{unique_slug(task.task)}",
                task.task,
                f"beta-hat in {task.task}: {'; '.join(row.description for row in rows)}.",
                x="beta-hat",
            )
            charts.append(interval_chart(titles, rows, within=(0.0, 1.0), width=SMALL_CHART_WIDTH))
    return charts


def study_page(
    study: Study,
    names: Mapping[str, str],
    figures: Mapping[str, TaskFigures],
    validations: Mapping[str, Validation],
) -> str:
    """Render a study as a page. Figures and validations are given by task. See `study_text`."""
    goals, names = defined_goals(study), names_in(study, names)
    name_of = partial(metric_name, names=names)
    regrets = [(title, *regret_table(study, goal, names)) for goal, title in goals.items()]
    return render(
        "study.html.jinja",
        {
            "tasks": [row.task for row in study.tasks],
            "decisions": (DECISION_HEADS, decision_rows(study, names)),
            "betas": (BETA_HEADS, beta_rows(study)),
            "beta_charts": beta_charts(study),
            "beta_note": BETA_NOTE.replace("`", ""),
            "regrets": regrets,
            "regret_note": REGRET_NOTE if goals else NO_REGRET,
            "selections": [
                (f"{task}: {title}", *selection_table(selections, goal, name_of))
                for task, selections in study.selections.items()
                for goal, title in GOALS.items()
            ],
            "selection_note": SELECTION_NOTE,
            "figure_groups": figure_groups(figures, validations),
            "prevalence": [_prevalence_chart(*row) for row in study.prevalence.items()],
            "charts": [
                chart
                for goal, title in GOALS.items()
                if (chart := _chart(goal, title, study.curves, names))
            ],
        },
        block={"grid": None, "items": None},
        title=f"Study of {counted([len(study.tasks)], 'task')}",
        sections=SECTIONS,
    )


def _chart(
    goal: str, title: str, curves: Sequence[RegretCurve], names: Mapping[str, str]
) -> Chart | None:
    """Draw each metric's mean regret by the raters' beta. Return None if no task has a regret."""
    drawn = [curve for curve in curves if curve.goal == goal]
    if not drawn:
        return None
    series = [
        Series(
            metric_name(curve.metric, names),
            tuple(zip(curve.betas, curve.regret, strict=True)),
            f"j{place % STYLES}",
        )
        for place, curve in enumerate(drawn)
    ]
    ends = "; ".join(
        f"{line.name} {number(curve.regret[0])} to {number(curve.regret[-1])}"
        for line, curve in zip(series, drawn, strict=True)
    )
    tasks = dict.fromkeys(task for curve in drawn for task in curve.tasks)
    titles = Titles(
        f"regret-{goal.replace('_', '-')}",
        f"Regret, {title}, by beta of the raters: mean of {len(tasks)} tasks",
        f"Mean regret of choosing by each metric, from beta 0 to 1: {ends}.",
        x="raters' beta",
        y="regret",
    )
    return line_chart(titles, series, reach=(0.0,))
