"""Reporting checklist for a run, with the eleven practices of Rao et al. 2026, section 8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from harness.files.plain_text import counted
from harness.report.abstention_table import dependence
from harness.report.confusion_charts import ranked_errors
from harness.report.formatting import about, estimate, number, options, percent, share
from harness.report.judge_charts import metric_label
from harness.report.words import LEVELS, MODES
from harness.stats.inference.metric import find_metric
from harness.stats.metrics import confusion
from harness.stats.metrics.ordinal import WEIGHTED_KAPPAS

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.analysis import JudgeResult, Validation
    from harness.analysis.error_analysis import Confusion

PracticeState = Literal["given", "missing", "not needed"]
PracticeAnswer: TypeAlias = tuple[PracticeState, str]
SAME_ON_BINARY = {"phi", *find_metric("phi", confusion.BINARY).also}  # kinds
BINARY = 2  # options or classes
KAPPA = "cohen_kappa(h/h)"

MAX_CELLS = 12  # cells of a confusion matrix that are all written
MOST = 4  # confusions named for a larger matrix
MAX_NA = 6  # undefined coefficients that are named


@dataclass(frozen=True, slots=True)
class Practice:
    """One practice in the checklist, with what the run does about it.

    Attributes
    ----------
    instruction : str
        The instruction of the practice.
    state : str
        Whether this run satisfies it; "not needed" if it doesn't apply.
    text : str
        This run's value, or the missing part.
    """

    instruction: str
    state: PracticeState
    text: str


def checklist(v: Validation) -> tuple[Practice, ...]:
    """Return each of the eleven practices with the run's values, or with what is missing."""
    practices = []
    for instruction, answer in PRACTICES:
        if not v.task.options and answer in OF_OPTIONS:
            nothing = "answers are not chosen among options"
            practices.append(Practice(OF_OPTIONS[answer], "not needed", nothing))
        else:
            practices.append(Practice(instruction, *answer(v)))
    return tuple(practices)


def _scale(v: Validation) -> PracticeAnswer:
    n = len(v.task.options)
    return "given", f"{v.task.scale}, {n} options: {options(v)}" if n else v.task.scale


def _single_association(v: Validation) -> PracticeAnswer:
    if len(v.task.options) != BINARY:
        return "not needed", f"{len(v.task.options)} options, so not binary"
    printed = [metric_label(v, name) for name in _metrics(v) if _kind(v, name) in SAME_ON_BINARY]
    if len(printed) > 1:
        return (
            "given",
            f"{', '.join(printed)} are the same number on binary labels, and are marked as such",
        )
    return "given", f"{printed[0] if printed else 'none of them'} is reported"


def _accuracy(v: Validation) -> PracticeAnswer:
    parts = [
        f"{j.name}: hit rate {number(_value(j, 'hit_rate(h/h)'))}, "
        f"kappa {number(_value(j, KAPPA))} on {counted([j.metrics[KAPPA].n_used])}"
        for j in v.ranked_judges
        if KAPPA in j.metrics
    ]
    return _joined(parts, "no judge has a hit rate and Cohen's kappa")


def _confusion(v: Validation) -> PracticeAnswer:
    parts = [f"{e.judge}: {_cells(e.confusion)}" for e in ranked_errors(v) if e.confusion.n_items]
    answer, text = _joined(parts, "no judge has answers on rated items")
    how = "based on each judge's most common reply, on the items that it answered: "
    return answer, how + text if parts else text


def _cells(confusion: Confusion) -> str:
    """Describe every nonzero cell. If there are many, describe the most frequent confusions."""
    cells = list(confusion.pairs())
    if len(cells) <= MAX_CELLS:
        return ", ".join(f"{human} as {judge} {about(n)}" for human, judge, n in cells)
    alike = sum(n for human, judge, n in cells if human == judge)
    apart = sorted((cell for cell in cells if cell[0] != cell[1]), key=lambda cell: -cell[2])
    most = ", ".join(f"{human} as {judge} {about(n)}" for human, judge, n in apart[:MOST])
    items = counted([confusion.n_items])
    return (
        f"{about(alike)} of {items} match the raters. The most frequent confusions are {most}. The "
        'full matrix is under "Where is it wrong?"'
    )


def _degenerate(v: Validation) -> PracticeAnswer:
    na = [
        f"{judge.name}: {metric_label(v, name)} is {estimate(result)}"
        for judge in v.judges
        for name, result in judge.metrics.items()
        if result.value is None
    ]
    rule = (
        "an undefined number is shown as NA with a reason and counts. It is never 0, and never "
        "left out"
    )
    if not na:
        return "given", f"{rule}. This run has no undefined numbers"
    more = f"; and {len(na) - MAX_NA} more" if len(na) > MAX_NA else ""
    return "given", f"{rule}; {'; '.join(na[:MAX_NA])}{more}"


def _mode(v: Validation) -> PracticeAnswer:
    text = (
        f"abstentions: {MODES[v.settings.mode]}; ties for the most common answer are split evenly; "
        "refused, invalid and failed replies are counted, but don't affect any metric"
    )
    return "given", text


def _rates(v: Validation) -> PracticeAnswer:
    lines = []
    for judge in v.ranked_judges:
        if planned := judge.n_replies("planned"):
            rates = ", ".join(
                f"{outcome} {percent(judge.n_replies(outcome) / planned)}"
                for outcome in ("abstained", "refused", "invalid", "failed")
            )
            hit = judge.metrics.get("hit_rate(h/h)")
            ties = ""
            if hit and hit.n_used:
                ties = f", tied {share(hit.n_tied / hit.n_used, hit.n_used)} items"
            lines.append(f"{judge.name}: {rates} of {planned} replies{ties}")
    depends = "; ".join(dependence(v.abstention)) if v.abstention else ""
    tested = [f"permutation tests: {depends}"] if depends else []
    return _joined([*lines, *tested] if lines else [], "no judge was run")


def _coverage(v: Validation) -> PracticeAnswer:
    if v.settings.mode != "exclude":
        return "not needed", f"abstentions are {MODES[v.settings.mode]}"
    if (evidence := v.evidence) is None:
        return _joined([], "no judge was run")
    lines = [
        f"{row.judge}: {share(row.answered_fraction, evidence.n_rated)} items answered, "
        f"{share(row.usable_replies, row.n_planned)} replies answered"
        for row in evidence.judges
    ]
    return _joined(lines, "no judge was run")


def _weights(v: Validation) -> PracticeAnswer:
    if len(v.task.options) + (v.settings.mode == "third_class") <= BINARY:
        return "not needed", "two classes"
    weighted = [name for name in _metrics(v) if _kind(v, name) in WEIGHTED_KAPPAS]
    text = "all confusions have the same weight (nominal)"
    if weighted:
        text += (
            f", except in {', '.join(weighted)}, whose weights depend on the order of the options"
        )
    return "given", text


def _level(v: Validation) -> PracticeAnswer:
    return "given", f"{LEVELS[v.settings.level]}; the bootstrap resamples {v.sampling.unit}s"


def _ensemble(v: Validation) -> PracticeAnswer:
    ensemble = v.errors.ensemble if v.errors else None
    if ensemble is None:
        return "not needed", "fewer than two judges"
    name, agreement = next(iter(ensemble.agreement.items()))
    judges = f"{name} of the {len(ensemble.confusions)} judges"
    return "given", f"{judges} is {estimate(agreement)}. The matrices are the same as in practice 4"


PRACTICES: tuple[tuple[str, Callable[[Validation], PracticeAnswer]], ...] = (
    ("State the scale of the judgements", _scale),
    (
        "On binary data, report one association coefficient, not several names of it",
        _single_association,
    ),
    ("Report accuracy with an agreement measure that is sensitive to the marginals", _accuracy),
    ("Report the confusion matrix, or at least precision and recall", _confusion),
    ("State how undefined coefficients are handled", _degenerate),
    ("State how abstentions, ties and unreadable replies enter each number", _mode),
    ("Report abstention, tie and invalid rates as metrics in their own right", _rates),
    ("With exclusion, report the answered share with the performance", _coverage),
    ("With three or more classes, state the weights of the confusions", _weights),
    ("Specify the level of aggregation", _level),
    ("For an ensemble, report an agreement statistic and each confusion matrix", _ensemble),
)
OF_OPTIONS = {
    _single_association: "On binary data, report one association coefficient",
    _accuracy: "Report accuracy with an agreement measure that is sensitive to the marginals",
    _confusion: "Report the confusion matrix, or at least precision and recall",
    _weights: "With three or more classes, state the weights of the confusions",
}


def _joined(parts: list[str], missing: str) -> PracticeAnswer:
    return ("given", "; ".join(parts)) if parts else ("missing", missing)


def _metrics(v: Validation) -> list[str]:
    return list(v.judges[0].metrics) if v.judges else []


def _kind(v: Validation, name: str) -> str:
    metric = v.metric(name)
    return metric.kind if metric else ""


def _value(judge: JudgeResult, metric: str) -> float | None:
    return judge.metrics[metric].value if metric in judge.metrics else None
