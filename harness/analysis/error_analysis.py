"""Error analysis of confusions, leniency and abstention (Rao and Callison-Burch 2026)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.analysis.option_scale import drawn_modes
from harness.analysis.rater_agreement import agreement_sums
from harness.stats import BINARY, Estimate, Exclusion, ensemble_agreement
from harness.stats.data.arrays import how_many, remembered, row_shares, sum_in_order
from harness.stats.data.kinds import Kinds
from harness.stats.data.labels import modes
from harness.stats.data.rating_table import NO_POSITIVE
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate_sums import estimate_all
from harness.stats.metrics.confusion import DIAGNOSTICS
from harness.stats.metrics.judge_agreement import Ensemble
from harness.stats.reasons import ExclusionReason, Reason
from harness.stats.subsets.abstention import (
    NO_VERDICT,
    against_rest,
    excluding,
    mode_sums,
    outcome_cells,
    reading,
    with_abstention,
    with_outcomes,
)
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from harness.analysis.prepared import Prepared
    from harness.stats import ItemSums, RatingTable
    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.tasks import Item, Task

ConfusionRows = tuple[tuple[float, ...], ...]
JUDGE_MISSING: dict[str, ExclusionReason] = {
    "refused": "judge_refused",
    "invalid": "judge_invalid",
    "failed": "judge_failed",
}
LENIENCY = ("precision", "recall", "marginal_drift")
NO_CELL: tuple[ExclusionReason, ...] = ("human_no_ratings", "judge_not_asked")
ENSEMBLE_SAME_AS = {
    "alpha_from_fleiss": "krippendorff_alpha_nominal",
    "krippendorff_alpha_nominal": "fleiss_kappa",
}
SEVERAL = 2
MAX_TEXT = 80  # most characters of an example


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """Items by the raters' most common answer and the judge's. Ties are split evenly.

    Attributes
    ----------
    human, judge : tuple of str
        Labels of rows and columns: options, CANNOT_ASSESS, and for the judge ``refused``,
        ``invalid`` and ``failed``.
    cells : rows of numbers
        Items, by raters' mode (rows) and judge's mode (columns).
    excluded : tuple of Exclusion
        Reasons that items are in no cell.
    """

    human: tuple[str, ...]
    judge: tuple[str, ...]
    cells: ConfusionRows
    n_items: int
    n_excluded: int
    excluded: tuple[Exclusion, ...]

    def pairs(self) -> Iterator[tuple[str, str, float]]:
        """Yield the raters' answer, the judge's answer and the item count of each nonempty cell."""
        for human, cells in zip(self.human, self.cells, strict=True):
            for judge, n in zip(self.judge, cells, strict=True):
                if n:
                    yield human, judge, n


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonestError:
    """The most frequent confusion: the raters' answer, and the judge's different answer.

    Attributes
    ----------
    human, judge : str
        The raters' most common answer, and the judge's.
    n : float
        Items, with tied modes counted in parts.
    item : str
        The id of an example: the first item among those with the most agreement between raters.
    text : str
        The beginning of its text, on one line, if the run keeps texts. Not in ``metrics.json``.
    """

    human: str
    judge: str
    n: float
    item: str
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """Results under three ways to handle CANNOT_ASSESS, which estimate different quantities.

    Attributes
    ----------
    recode_to : str or None
        The option that replaces abstention in mode recode: the only one that is not positive.
    recode_reason : str
        Why there is no such option, and so no mode recode.
    rates : dict of str to Estimate
        The judge's ``answered_fraction``, ``answered_by_both``, ``human_abstention_rate`` and
        ``judge_abstention_rate``.
    exclude, recode, third_class : dict of str to Estimate
        ``exclude["accuracy"]`` is the selective accuracy. With the task's weights, weighted kappa
        and alpha are in the mode that their matrix is made for.
    """

    recode_to: str | None
    recode_reason: Reason
    rates: dict[str, Estimate]
    exclude: dict[str, Estimate]
    recode: dict[str, Estimate]
    third_class: dict[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeErrors:
    """Errors of one judge.

    Attributes
    ----------
    leniency : dict of str to Estimate
        For positive options against all others, on items that both sides answered: the judge's
        precision and recall, and the drift in prevalence.
    leniency_reason : str
        Reason that leniency is missing.
    commonest : CommonestError or None
        Its most frequent error; None if it makes none.
    """

    judge: str
    confusion: Confusion
    leniency: dict[str, Estimate]
    leniency_reason: Reason
    modes: Modes
    commonest: CommonestError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Errors of every judge.

    Attributes
    ----------
    ensemble : Ensemble or None
        Agreement among the judges; None with fewer than two.
    ensemble_same_as : dict of str to str
        Coefficients of the ensemble that equal a different one up to a finite-sample correction,
        mapped to that one. Report one of the two.
    """

    judges: tuple[JudgeErrors, ...]
    ensemble: Ensemble | None
    ensemble_same_as: dict[str, str]

    def without_texts(self) -> Errors:
        """Return a copy without item texts."""
        return replace(self, judges=tuple(map(_with_text, self.judges)))

    def with_texts(self, task: Task, items: Iterable[Item]) -> Errors:
        """Return a copy with the beginnings of the items' texts."""
        texts = {item.id: _text_of(task, item) for item in items}
        return replace(self, judges=tuple(_with_text(row, texts) for row in self.judges))


def _with_text(errors: JudgeErrors, texts: Mapping[str, str] | None = None) -> JudgeErrors:
    commonest = errors.commonest
    if commonest is None:
        return errors
    text = (texts or {}).get(commonest.item, "")
    return replace(errors, commonest=replace(commonest, text=text))


def section(p: Prepared) -> tuple[Errors, dict[str, Estimate]]:
    """Compare the most common answers of judges and raters, with abstention as an answer.

    The second value is the agreement among the raters, by coefficient, on the same resamples.
    """
    ensemble = _ensemble(p, p.judges)
    human = with_abstention(p.human)
    counted = {table.name: _count(p, human, table) for table in p.judges}
    estimates, human_agreement = _estimates(p, {name: c.sums for name, c in counted.items()})
    errors = Errors(
        judges=tuple(
            JudgeErrors(
                judge=name,
                confusion=c.confusion,
                leniency=estimates[name].get("leniency", {}),
                leniency_reason="" if p.task.positive else NO_POSITIVE,
                modes=_modes(p, estimates[name]),
                commonest=c.commonest,
            )
            for name, c in counted.items()
        ),
        ensemble=ensemble,
        ensemble_same_as=ENSEMBLE_SAME_AS if ensemble else {},
    )
    return errors, human_agreement


class _Cells(NamedTuple):
    """Confusion counts per kind of item. A kind is a set of items with the same answers.

    ``cells`` has the shape (R, A, B) for R kinds, A answers of the raters and B of the judge.
    """

    kinds: Kinds
    cells: FloatArray

    def total(self) -> FloatArray:
        """Return the (A, B) sum over all items."""
        rows = self.kinds.rows(self.cells.reshape(len(self.cells), -1))
        return sum_in_order(rows).reshape(self.cells.shape[1:])


class _Counted(NamedTuple):
    """Error counts for one judge."""

    sums: dict[str, ItemSums]
    confusion: Confusion
    commonest: CommonestError | None


def _count(p: Prepared, human: FloatArray, table: RatingTable) -> _Counted:
    outcomes = with_outcomes(table)
    kinds = Kinds.of(human, outcomes)
    answers, judge = human[kinds.first], outcomes[kinds.first]
    cells = _Cells(kinds, outcome_cells(answers, judge))
    excluded = _excluded(answers, judge, cells)
    return _Counted(
        _sums(p, cells, excluded),
        _confusion(p, cells, excluded),
        _commonest_error(p, cells, answers),
    )


def _excluded(human: FloatArray, judge: FloatArray, of: _Cells) -> tuple[Exclusion, ...]:
    """Count the items that the confusion counts leave out, each under one reason."""
    n_answers = human.shape[1]
    left, times = ~of.cells[:, :, :n_answers].any(axis=(1, 2)), of.kinds.times
    reasons: list[tuple[ExclusionReason, BoolArray]] = [
        ("human_no_ratings", np.asarray(~human.any(axis=1), dtype=np.bool_)),
        ("judge_not_asked", np.asarray(~judge.any(axis=1), dtype=np.bool_)),
    ]
    no_verdict = modes(judge)[:, n_answers:] > 0
    reasons += [(JUDGE_MISSING[name], no_verdict[:, i]) for i, name in enumerate(NO_VERDICT)]
    exclusions = []
    for reason, items in reasons:
        n = how_many(left & items, times)
        left &= ~items
        exclusions += [Exclusion(reason, n)] if n else []
    return tuple(exclusions)


def _confusion(p: Prepared, of: _Cells, excluded: tuple[Exclusion, ...]) -> Confusion:
    options = (*p.task.space.options, CANNOT_ASSESS)
    n = int(of.kinds.times @ of.cells.any(axis=(1, 2)))
    return Confusion(
        human=options,
        judge=(*options, *NO_VERDICT),
        cells=tuple(map(tuple, of.total().tolist())),
        n_items=n,
        n_excluded=len(of.kinds.of_item) - n,
        excluded=tuple(row for row in excluded if row.reason in NO_CELL),
    )


def _commonest_error(p: Prepared, of: _Cells, answers: FloatArray) -> CommonestError | None:
    """Return the judge's most frequent error, with an example item. Return None without errors."""
    options = (*p.task.space.options, CANNOT_ASSESS)
    n_answers = len(options)
    totals = of.total()[:, :n_answers] * (1.0 - np.eye(n_answers))
    if not totals.any():
        return None
    human, judge = np.unravel_index(int(totals.argmax()), totals.shape)
    agreed = row_shares(answers)[:, human]
    agreement = of.cells[:, human, judge] * (1.0 + np.nan_to_num(agreed))
    item = p.source.items[of.kinds.first[agreement == agreement.max()].min()]
    return CommonestError(
        human=options[human],
        judge=options[judge],
        n=float(totals[human, judge]),
        item=item.id,
        text=_text_of(p.task, item),
    )


def _text_of(task: Task, item: Item) -> str:
    """Return the beginning of an item's text as one line."""
    line = " ".join(" ".join(item.fields.get(name, "") for name in task.text).split())
    return line if len(line) <= MAX_TEXT else f"{line[: MAX_TEXT - 1]}…"


def _estimates(
    p: Prepared, by_judge: dict[str, dict[str, ItemSums]]
) -> tuple[dict[str, dict[str, dict[str, Estimate]]], dict[str, Estimate]]:
    """Estimate every judge's abstention modes and leniency, and the agreement among raters."""
    rater_sums = agreement_sums(p)
    if p.compared.weights is not None:
        rater_sums = [of_metric.weighted(p.compared.weights) for of_metric in rater_sums]
    sums: list[list[ItemSums]] = [rater_sums]
    parts: list[tuple[str, str]] = []
    for name, of_judge in by_judge.items():
        for part, item_sums in of_judge.items():
            sums.append([item_sums])
            parts.append((name, part))
    resampling = p.resampling(groups=p.groups)
    engine = Engine.draw(resampling.units(len(p.human.items)), resampling)
    raters, *judges = (
        {metric: result.estimate for metric, result in results.items()}
        for results in estimate_all(sums, engine)
    )
    estimates: dict[str, dict[str, dict[str, Estimate]]] = {name: {} for name in by_judge}
    for (name, part), by_metric in zip(parts, judges, strict=True):
        estimates[name][part] = by_metric
    return estimates, raters


def _sums(p: Prepared, of: _Cells, excluded: tuple[Exclusion, ...]) -> dict[str, ItemSums]:
    options, positive = p.task.space.options, p.task.positive
    answered = of.cells[:, :, : len(options) + 1]
    sums = mode_sums(
        answered.reshape(len(answered), -1),
        options,
        positive=positive,
        recode_to=_recode_to(p),
        weights=p.task.weights,
        excluded=excluded,
        kinds=of.kinds,
    )
    if positive:
        mask = np.array([option in positive for option in options], dtype=np.bool_)
        of_positive = remembered(lambda totals: against_rest(excluding(totals), mask))
        metrics = tuple(
            reading(metric, of_positive)
            for metric in (*BINARY, *DIAGNOSTICS)
            if metric.name in LENIENCY
        )
        sums["leniency"] = replace(sums["exclude"], metrics=metrics)
    return sums


def _recode_to(p: Prepared) -> str | None:
    negative = [option for option in p.task.space.options if option not in p.task.positive]
    return negative[0] if p.task.positive and len(negative) == 1 else None


def _modes(p: Prepared, estimates: dict[str, dict[str, Estimate]]) -> Modes:
    option = _recode_to(p)
    reason: Reason = "several_negative_options" if p.task.positive else NO_POSITIVE
    return Modes(
        recode_to=option,
        recode_reason=reason if option is None else "",
        rates=estimates["rates"],
        exclude=estimates["exclude"],
        recode=estimates.get("recode", {}),
        third_class=estimates["third_class"],
    )


def _ensemble(p: Prepared, judges: Sequence[RatingTable]) -> Ensemble | None:
    """Return the agreement among judges. If a judge's modes are tied, one of them is drawn."""
    if len(judges) < SEVERAL:
        return None
    options, seed = p.task.space.options, p.settings.seed
    votes = [
        drawn_modes(
            table.forced_choice.astype(np.float64), table.items, judge=table.name, seed=seed
        )
        for table in judges
    ]
    either = options[:1] if len(options) == SEVERAL else ()  # phi is the same for both
    return ensemble_agreement(
        np.stack([labels for labels, _ in votes], axis=1),
        options,
        judges=tuple(table.name for table in judges),
        positive=p.task.positive or either,
        resampling=p.resampling(groups=p.groups),
        human=modes(p.human.forced_choice.astype(np.float64)),
    )
