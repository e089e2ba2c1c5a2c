"""Reporting checklist: the eleven practices of Rao et al. 2026, section 8, for a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.report.confusion_charts import ranked_errors
from harness.report.formatting import counted, estimate, number, options, percent, share, tenths
from harness.report.judge_charts import metric_label

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.analysis import JudgeResult, Validation
    from harness.analysis.error_analysis import Confusion
    from harness.report.html.details import Details

State = Literal["given", "missing", "not needed"]
SAME_ON_BINARY = ("pearson", "spearman", "kendall", "phi", "mcc")
KAPPA = "cohen_kappa(h/h)"

MODES = {
    "exclude": "left out of the metrics (exclude)",
    "recode": "taken for the opposite of the positive options (recode)",
    "third_class": "an option of its own (third class)",
}
LEVELS = {
    "micro": "micro: every item counts once, whatever its criterion",
    "macro": "macro: the mean over criteria",
    "item": "item: the mean over items of what was rated on each",
}
MAX_CELLS = 12  # of a confusion matrix that are written out
MOST = 4  # confusions named of a larger one


@dataclass(frozen=True, slots=True)
class Practice:
    """One practice of the checklist.

    Attributes
    ----------
    instruction : str
        What it asks for.
    state : str
        Whether this run gives it; "not needed" where it does not apply.
    text : str
        The value of this run, or what is missing.
    """

    instruction: str
    state: State
    text: str


def checklist(v: Validation, d: Details | None = None) -> tuple[Practice, ...]:
    """Return each of the eleven practices with the values of a run, or what is missing."""
    if v.task.options:
        return tuple(answer(v, d) for answer in PRACTICES)
    return tuple(
        Practice(OF_OPTIONS[answer], "not needed", "answers are not chosen among options")
        if answer in OF_OPTIONS
        else answer(v, d)
        for answer in PRACTICES
    )


def _scale(v: Validation, d: Details | None) -> Practice:
    instruction = "Name the scale of the judgements"
    n = len(v.task.options)
    scale = d.scale if d and d.scale else "binary" if n == 2 else ""  # noqa: PLR2004 -- two options are binary
    text = options(v)
    if not n:
        return Practice(instruction, "given", v.task.scale)
    if not scale:
        return Practice(instruction, "missing", f"the scale was not recorded; {n} options: {text}")
    return Practice(instruction, "given", f"{scale}, {n} options: {text}")


def _single_association(v: Validation, _: Details | None) -> Practice:
    instruction = "On binary data, report one association coefficient, not several names of it"
    if len(v.task.options) != 2:  # noqa: PLR2004 -- two options are binary
        return Practice(instruction, "not needed", f"{len(v.task.options)} options, so not binary")
    printed = [metric_label(v, n) for n in _metrics(v) if n.startswith(SAME_ON_BINARY)]
    if len(printed) > 1:
        text = f"{', '.join(printed)} are one number on binary labels and marked so"
    else:
        text = f"{printed[0] if printed else 'none of them'} is reported"
    return Practice(instruction, "given", text)


def _accuracy(v: Validation, _: Details | None) -> Practice:
    instruction = "Report accuracy with an agreement measure that is sensitive to the marginals"
    parts = [
        f"{j.name}: hit rate {number(_value(j, 'hit_rate(h/h)'))}, "
        f"kappa {number(_value(j, KAPPA))} on {counted([j.metrics[KAPPA].n_used])}"
        for j in v.ranked_judges
        if KAPPA in j.metrics
    ]
    return _answer(instruction, parts, "no judge has a hit rate and Cohen's kappa")


def _confusion(v: Validation, _: Details | None) -> Practice:
    instruction = "Report the confusion matrix, or at least precision and recall"
    parts = [f"{e.judge}: {_cells(e.confusion)}" for e in ranked_errors(v) if e.confusion.n_items]
    return _answer(instruction, parts, "no judge has items that the raters rated too")


def _cells(confusion: Confusion) -> str:
    """Write every cell that is not 0, or of many those most often confused."""
    rows = zip(confusion.human, confusion.cells, strict=True)
    cells = [
        (human, judge, n)
        for human, row in rows
        for judge, n in zip(confusion.judge, row, strict=True)
        if n
    ]
    if len(cells) <= MAX_CELLS:
        return ", ".join(f"{human} as {judge} {tenths(n)}" for human, judge, n in cells)
    alike = sum(n for human, judge, n in cells if human == judge)
    apart = sorted((cell for cell in cells if cell[0] != cell[1]), key=lambda cell: -cell[2])
    most = ", ".join(f"{human} as {judge} {tenths(n)}" for human, judge, n in apart[:MOST])
    items = counted([confusion.n_items])
    return (
        f"{tenths(alike)} of {items} as the raters, most often confused {most}, "
        "and the whole matrix under Error analysis"
    )


def _degenerate(v: Validation, _: Details | None) -> Practice:
    instruction = "State how undefined coefficients are handled"
    na = [
        f"{judge.name}: {metric_label(v, name)} is {estimate(result)}"
        for judge in v.judges
        for name, result in judge.metrics.items()
        if result.value is None
    ]
    rule = "an undefined number is NA with its reason and counts, never 0 or dropped"
    if not na:
        return Practice(instruction, "given", f"{rule}; none in this run")
    more = f"; and {len(na) - 6} more" if len(na) > 6 else ""  # noqa: PLR2004 -- enough to see what kind
    return Practice(instruction, "given", f"{rule}; {'; '.join(na[:6])}{more}")


def _mode(v: Validation, _: Details | None) -> Practice:
    instruction = "Name how abstentions, ties and unreadable replies enter each number"
    text = f"abstentions: {MODES[v.settings.mode]}; ties for the most frequent answer are split "
    text += "evenly; refused, invalid and failed replies are counted and enter no metric"
    return Practice(instruction, "given", text)


def _rates(v: Validation, _: Details | None) -> Practice:
    instruction = "Report abstention, tie and invalid rates as metrics in their own right"
    lines = []
    for judge in v.ranked_judges:
        planned = judge.n_replies("planned")
        if planned:
            rates = ", ".join(
                f"{outcome} {percent(judge.n_replies(outcome) / planned)}"
                for outcome in ("abstained", "refused", "invalid", "failed")
            )
            hit = judge.metrics.get("hit_rate(h/h)")
            ties = ""
            if hit and hit.n_used:
                ties = f", tied {share(hit.n_tied / hit.n_used, hit.n_used)} items"
            lines.append(f"{judge.name}: {rates} of {planned} replies{ties}")
    return _answer(instruction, lines, "no judge was asked")


def _coverage(v: Validation, _: Details | None) -> Practice:
    instruction = "With exclusion, report the answered share beside the performance"
    if v.settings.mode != "exclude":
        return Practice(instruction, "not needed", f"abstentions are {MODES[v.settings.mode]}")
    lines = [f"{j.name}: {share(j.answered_fraction, j.n_planned)}" for j in v.ranked_judges]
    return _answer(instruction, lines, "no judge was asked")


def _weights(v: Validation, _: Details | None) -> Practice:
    instruction = "With three or more classes, state the weights of the confusions"
    n = len(v.task.options) + (v.settings.mode == "third_class")
    if n <= 2:  # noqa: PLR2004 -- two classes are binary
        return Practice(instruction, "not needed", "two classes")
    weighted = [name for name in _metrics(v) if "weighted" in name]
    text = "every confusion weighs the same (nominal)"
    if weighted:
        text += f", but for {', '.join(weighted)}, whose weights are those of the options' order"
    return Practice(instruction, "given", text)


def _level(v: Validation, _: Details | None) -> Practice:
    text = f"{LEVELS[v.settings.level]}; the bootstrap resamples {v.settings.unit}s"
    return Practice("Specify the level of aggregation", "given", text)


def _ensemble(v: Validation, _: Details | None) -> Practice:
    instruction = "For an ensemble, report an agreement statistic and each confusion matrix"
    ensemble = v.errors.ensemble if v.errors else None
    if ensemble is None:
        return Practice(instruction, "not needed", "fewer than two judges")
    name, agreement = next(iter(ensemble.agreement.items()))
    judges = f"{name} of the {len(ensemble.confusions)} judges"
    text = f"{judges} is {estimate(agreement)}; matrices as in practice 4"
    return Practice(instruction, "given", text)


PRACTICES: tuple[Callable[[Validation, Details | None], Practice], ...] = (
    _scale,
    _single_association,
    _accuracy,
    _confusion,
    _degenerate,
    _mode,
    _rates,
    _coverage,
    _weights,
    _level,
    _ensemble,
)


OF_OPTIONS = {
    _single_association: "On binary data, report one association coefficient",
    _accuracy: "Report accuracy with an agreement measure that is sensitive to the marginals",
    _confusion: "Report the confusion matrix, or at least precision and recall",
    _weights: "With three or more classes, state the weights of the confusions",
}


def _answer(instruction: str, parts: list[str], missing: str) -> Practice:
    if not parts:
        return Practice(instruction, "missing", missing)
    return Practice(instruction, "given", "; ".join(parts))


def _metrics(v: Validation) -> list[str]:
    return list(v.judges[0].metrics) if v.judges else []


def _value(judge: JudgeResult, metric: str) -> float | None:
    return judge.metrics[metric].value if metric in judge.metrics else None
