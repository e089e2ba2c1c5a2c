"""Estimation of a mean over unlabelled items with one of a run's judges."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.completeness import completeness_of, exit_code_of
from harness.analysis.inputs import sampling_weights
from harness.analysis.model_families import of_same_family
from harness.analysis.ratings import human_table
from harness.analysis.reply_dates import NO_DATES, ReplyDates, reply_dates
from harness.app.plan_of_run import plan_other_items
from harness.app.run import ask_part
from harness.errors import ExitCode, OptionError, RunError, TaskError, use_one_of
from harness.estimation.accepted_items import AcceptedItems, AcceptedShare, check_trusting
from harness.estimation.anytime import AnytimeLook, Stopping, check_order, look_at
from harness.estimation.by_slice import (
    EstimateBySlice,
    SliceEstimate,
    field_to_slice,
    has_value,
    rows_by_value,
)
from harness.estimation.compared_systems import SystemFields, SystemVerdicts
from harness.estimation.item_strata import Rated, Strata, strata_of
from harness.estimation.judged_items import JudgedItems
from harness.estimation.planned_labels import (
    labels_for_differences,
    labels_for_mean,
    labels_for_pairs,
)
from harness.estimation.quantity import Quantity
from harness.estimation.unlabelled import ItemTables, come_in_groups, count_blank, read_parts
from harness.estimation.value_differences import ValueData, level_of_each, value_differences
from harness.runs.estimated_differences import EstimatedDifference, write_differences
from harness.runs.ledger import tried_in_run
from harness.runs.sources import compared_source, fitted_of, verdicts_of
from harness.stats.estimation.effective_counts import Labelled
from harness.stats.estimation.identified_set import share_above
from harness.stats.estimation.population import (
    PopulationMean,
    paired_beta,
    population_score,
    population_share,
)
from harness.stats.estimation.stratified import PopulationStratum
from harness.stats.estimation.transfer import Grouped, Transfer, jointly, transfer
from harness.stats.indeterminacy.translation import beta_contributions
from harness.tasks.item import unit_numbers
from harness.tasks.model import INCLUSION_PROBABILITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from harness.analysis import Source
    from harness.analysis.completeness import Completeness
    from harness.analysis.sliced_fields import SlicedField
    from harness.estimation.estimate_options import EstimateOptions
    from harness.judging.running.recorder import Observer
    from harness.judging.strategies.strategy import Fitted
    from harness.options.concerns import Limit, Place, Server
    from harness.options.result_options import Trusting
    from harness.runs.run_folder import RunFolder
    from harness.stats.estimation.identified_set import PairedBeta
    from harness.stats.estimation.label_plan import LabelPlan
    from harness.tasks import Item, Task
    from harness.tasks.item import AnswerKind, Elicitation

FOLDER = "estimates"
DEFAULT_LEVEL = 0.95
MIN_PAIRS = 10  # pairs with a negative choice, needed to estimate beta
MIN_LABELLED = 10  # rated items needed for an estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimation:
    """An estimate from a judge's answers for unlabelled items.

    Attributes
    ----------
    path : Path
        Folder of the verdicts, with a run folder per chunk. Repeat the command to continue there.
    task, judge : str
        Names of the task and the judge.
    quantity : Quantity
        The quantity to average.
    mean : PopulationMean or None
        The estimated mean; None until the judge was run on all items and enough replies are usable.
    above_tau : (low, high) or None
        Bounds for the share of items on which at least tau of the raters are positive (see
        `share_above`), because a point estimate would be biased with few raters per item. None for
        mean scores.
    likeness : Transfer or None
        Comparison of the labelled items with the unlabelled items, within strata if there are any.
        None if the labelled items were drawn with known probabilities and can therefore differ.
    n_unlabelled : int
        Number of items on which the judge was run.
    n_groups : int
        Number of groups of unlabelled items, or 0 if they have no groups.
    is_drawn : bool
        Whether the rated items were drawn from the unlabelled ones, with known probabilities.
    n_unanswered : int
        Number of unlabelled items without a usable answer. They count as not positive, or get the
        judge's mean score.
    n_left_out : int
        Number of the task's items without a rating or a verdict from the judge, or in a stratum
        without unlabelled items.
    n_blank : int
        Number of blank unlabelled items, which are left out.
    n_rated_too : int
        Number of rated outputs of two systems, which are left out of the unlabelled ones.
    strata : Strata or None
        Strata for weighting the rated items; None without strata.
    by_slice : EstimateBySlice or None
        Means by the values of a field; None if not requested.
    needed : LabelPlan or None
        Labels that are likely to produce an interval of the wanted width; None if not requested.
    accepted : AcceptedShare or None
        Number of verdicts that can be accepted without a person; None without an error bound.
    wanted_width : float or None
        Interval width for which labels are planned.
    look : AnytimeLook or None
        Interval that stays valid at every number of ratings; None if not requested.
    beta_range : (low, high) or None
        Assumed range of beta. The share is then of raters whose set contains a positive option,
        estimated from their forced choices.
    paired_beta : PairedBeta or None
        Beta from the raters' pairs, if the share is estimated with it.
    replies : Completeness
        Counts of the replies for unlabelled items. Failed calls don't affect any estimate.
    cost_usd : float
        Cost of the replies for unlabelled items.
    reply_dates : ReplyDates
        Days on which the replies for unlabelled items were received. Replies from earlier estimates
        aren't new.
    exit_code : ExitCode
        `DONE` once the judge was run on all items and enough of the replies are usable.
    stopped : str
        Reason, as a slug, for stopping early, or "" if the judge was run on all items.
    """

    path: Path
    task: str
    judge: str
    quantity: Quantity
    mean: PopulationMean | None
    above_tau: tuple[float, float] | None
    likeness: Transfer | None
    n_unlabelled: int
    n_groups: int
    is_drawn: bool
    n_unanswered: int
    n_left_out: int
    n_blank: int
    n_rated_too: int
    strata: Strata | None
    by_slice: EstimateBySlice | None
    needed: LabelPlan | None
    accepted: AcceptedShare | None
    wanted_width: float | None
    look: AnytimeLook | None
    beta_range: tuple[float, float] | None
    paired_beta: PairedBeta | None
    replies: Completeness
    cost_usd: float
    reply_dates: ReplyDates = NO_DATES
    exit_code: ExitCode
    stopped: str = ""

    def __repr__(self) -> str:
        return f"Estimation({self.task!r}, {self.judge!r}, n={self.n_unlabelled}, {self.mean})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Settings for an estimate.

    Attributes
    ----------
    options : EstimateOptions
        Options such as the range of beta and the wanted interval width.
    level : float
        Confidence level of the interval.
    n_items : int or None
        Maximum number of items to read.
    trusting : Trusting
        Error bound for accepting verdicts without human review.
    limit, server, place
        Options as for a run.
    """

    options: EstimateOptions
    level: float
    n_items: int | None
    trusting: Trusting
    limit: Limit
    server: Server
    place: Place


def estimate(
    folder: RunFolder,
    judge: str,
    items: Path,
    wanted: Wanted,
    *,
    observer: Observer,
    progress: Callable[[int], None],
) -> Estimation:
    """Run one of a run's judges on unlabelled items, and estimate their mean.

    The judge runs on chunks of items. Each chunk has a run folder inside the run's folder, so its
    replies are stored, cached and resumed as in any run.

    Parameters
    ----------
    folder : RunFolder
        A run of the judge on rated items.
    judge : str
        Name of a judge in the run.
    items : Path
        Tables of unlabelled items; see `ItemTables`.
    wanted : Wanted
        Settings of the estimate, and where judges run.
    observer : Observer
        Receives the reason if the run ends.
    progress : callable
        Receives the number of finished items after each part.

    Raises
    ------
    HarnessError
        If the items, the judge or the run can't be used.
    """
    source = compared_source(folder)
    if judge not in source.verdicts:
        problem = f"{folder.path}: this run has no judge {judge!r}"
        raise RunError(problem, use_one_of(judge, source.verdicts, none="It has no verdicts"))
    quantity = _quantity(source, judge, wanted.options)
    all_rated = rated_items(source, judge, quantity)
    tables = _tables(items, all_rated.items, wanted.options)
    strata, rated = None, {"": all_rated}
    if wanted.options.strata is not None:
        strata = Strata.read(tables, source.task, wanted.options.strata, wanted.n_items)
        strata, rated = strata.split(all_rated, source.task)
    if wanted.options.until_width is not None:
        grouped = come_in_groups(tables, source.task, wanted.n_items)
        check_order(all_rated.labelled, grouped=grouped)
    beta = pairs_of(source, all_rated.labelled) if wanted.options.paired_beta else None
    path, n_judges = folder.path / FOLDER, _n_judges(folder)
    accepted = None
    votes, weighted = judge in source.replies_voted_on, strata is not None
    if check_trusting(wanted.trusting, quantity.answers, votes=votes, weighted=weighted):
        accepted = AcceptedItems(
            source, judge, wanted.trusting, path, level=wanted.level, n=n_judges
        )
    n_blank = count_blank(tables, source.task, wanted.n_items)
    judged = _Judged(source.task, quantity, strata, folder.manifest.config.choices.min_answered)
    judged.fitted = fitted_of(folder)
    judged.model = next(spec.model for spec in folder.manifest.judges if spec.name == judge)
    _set_field(judged, all_rated.items, tables, wanted)
    judged.accepted = accepted
    exit_code, started, stopped = ExitCode.DONE, time.time(), ""
    for part in read_parts(tables, source.task, wanted.n_items):
        plan = plan_other_items(
            folder,
            judge,
            part,
            quantity.answers,
            limit=wanted.limit.after(judged.cost_usd),
            server=wanted.server,
        )
        part_folder, asked = ask_part(
            plan,
            path,
            observer=observer,
            place=wanted.place,
            shows_text=folder.manifest.config.item_text,
        )
        judged.add(part, part_folder)
        replies = part_folder.count_verdicts(()).by_judge.values()
        judged.dates = judged.dates.plus(reply_dates(replies, since=started))
        judged.cost_usd += asked.budget.spent_usd
        progress(judged.n)
        exit_code = asked.exit_code
        stopped = part_folder.manifest.ended.get(judge, "")
        if part_folder.manifest.state == "stopped" or judged.replies.standing == "not assessed":
            break
    else:
        exit_code = exit_code_of([judged.replies])
    done = exit_code == ExitCode.DONE
    populations = judged.strata_of(rated) if done else []
    by_slice = _by_slice(judged, all_rated, n_judges, wanted, beta) if done else None
    if by_slice is not None:
        write_differences(folder, _kept(by_slice, judge))
    mean = _mean(populations, quantity, n_judges, wanted, beta) if done else None
    return Estimation(
        path=path,
        task=source.task.name,
        judge=judge,
        quantity=quantity,
        mean=mean,
        above_tau=_above(source.cutoff, mean, quantity),
        likeness=_likeness(rated, judged) if done else None,
        n_unlabelled=judged.n,
        n_groups=judged.n_groups,
        is_drawn=all_rated.is_drawn,
        n_unanswered=judged.n_unanswered,
        n_left_out=len(source.items) - sum(len(own.items) for own in rated.values()),
        n_blank=n_blank,
        n_rated_too=tables.n_rated(wanted.n_items),
        strata=strata,
        by_slice=by_slice,
        beta_range=wanted.options.beta_range,
        paired_beta=beta,
        needed=_needed(judged, all_rated, populations, n_judges, wanted) if done else None,
        accepted=accepted.share if accepted else None,
        wanted_width=wanted.options.n_labels,
        look=_look(source, judge, judged, n_judges, wanted) if done else None,
        replies=judged.replies,
        cost_usd=judged.cost_usd,
        reply_dates=judged.dates.by_day(),
        exit_code=exit_code,
        stopped=stopped,
    )


def _tables(items: Path, rated: Sequence[Item], options: EstimateOptions) -> ItemTables:
    """Return the tables of unlabelled items. For two systems, rated outputs are left out."""
    if options.against is None:
        return ItemTables(items)
    field = options.field or ""
    if not any(item.fields.get(field) for item in rated):
        problem = f"rated items have no field {field!r}, which names their system"
        raise OptionError("against", problem, "Add this field, or pass a different one with {by}")
    prompts = ((item.fields.get(field, "").strip(), item.group or item.id) for item in rated)
    return ItemTables(items, options.against, field, frozenset(prompts))


def _set_field(judged: _Judged, rated: Sequence[Item], items: ItemTables, wanted: Wanted) -> None:
    """Set the field for slices or systems, and check its values."""
    task, by = judged.task, wanted.options.field
    if compared := SystemFields.of(task, by):
        if items.against is not None:
            problem = "each item already compares two systems"
            raise OptionError("against", problem, "Leave out {against}")
        compared.pairs_of(rated, f"task {task.name}")
        for part in read_parts(items, task, wanted.n_items):
            compared.pairs_of(part, str(items))
        judged.systems = SystemVerdicts(compared)
    elif by is not None:
        judged.field = field_to_slice(by, task, rated)
        if items.against is not None:
            _check_systems(judged.field, items, task, wanted.n_items)


def _check_systems(field: SlicedField, items: ItemTables, task: Task, limit: int | None) -> None:
    """Reject systems without rated outputs."""
    for part in read_parts(items, task, limit):
        for item in part:
            if (system := item.fields[field.name]) not in field.frequent:
                rated = ", ".join(field.frequent)
                raise OptionError(
                    "against",
                    f"{items}: system {system!r} has no rated items (rated: {rated})",
                    f"Name each file after its system, or add the system in a field {field.name}",
                )


class _Judged:
    """Sums of a judge's verdicts on unlabelled items, updated one chunk at a time."""

    def __init__(
        self, task: Task, quantity: Quantity, strata: Strata | None, min_answered: float | None
    ) -> None:
        self.task = task
        self.quantity = quantity
        self.min_answered = min_answered
        self.replies = completeness_of((), {quantity.answers: 0}, (), min_answered)
        self.strata = strata
        self.by_stratum: dict[str, JudgedItems] = {}  # without strata, all items are in one stratum
        self.field: SlicedField | None = None
        self.by_value: dict[int, JudgedItems] = {}
        self.systems: SystemVerdicts | None = None
        self.fitted: Mapping[str, Fitted] | None = None
        self.model = ""
        self.accepted: AcceptedItems | None = None
        self.cost_usd = 0.0
        self.dates = NO_DATES

    def add(self, items: Sequence[Item], folder: RunFolder) -> None:
        """Add a chunk's verdicts. Items that failed or weren't run are left out."""
        verdicts = list(verdicts_of(folder, self.fitted, with_items(self.task, items)))
        planned: dict[Elicitation, int] = {self.quantity.answers: len(items)}
        ids = {item.id for item in items}
        replies = completeness_of(verdicts, planned, ids, self.min_answered)
        self.replies = self.replies.plus(replies)
        verdicts = [verdict for verdict in verdicts if verdict.outcome != "failed"]
        if self.accepted is not None:
            self.accepted.add(with_items(self.task, items), items, verdicts)
        values = self.quantity.first_verdicts(items, verdicts)
        asked = {verdict.item for verdict in verdicts}
        for name, rows in _by_stratum(items, self.strata).items():
            judged = self.by_stratum.setdefault(name, JudgedItems())
            judged.add([(items[row], values[row]) for row in rows if items[row].id in asked])
        if self.systems is not None:
            rows = [row for row, item in enumerate(items) if item.id in asked]
            self.systems.add(items, values, rows)
        of_values = rows_by_value(self.field, self.task, items) if self.field else {}
        for place, rows in of_values.items():
            judged = self.by_value.setdefault(place, JudgedItems())
            judged.add([(items[row], values[row]) for row in rows if items[row].id in asked])

    def values(self, rated: Rated) -> dict[str, ValueData]:
        """Return the data for each field value with at least ten rated and any unlabelled items."""
        values: dict[str, ValueData] = {}
        for place, value in enumerate(self.field.frequent if self.field else ()):
            assert self.field is not None, "it has values"
            own = rated.rows(has_value(self.field, self.task, rated.items, place))
            unlabelled = self.by_value.get(place, JudgedItems())
            if len(own.items) >= MIN_LABELLED and unlabelled.n:
                labelled, unanswered = filled(own.labelled, self.quantity)
                judged = unlabelled.filled(unanswered, self.quantity.bounds)
                stratum = PopulationStratum(labelled, judged)
                values[value] = ValueData(stratum, own.items, unlabelled, unanswered)
        return values

    @property
    def n_unanswered(self) -> int:
        """Number of items on which the judge was run without giving a usable answer."""
        return sum(judged.n_unanswered for judged in self.by_stratum.values())

    @property
    def n(self) -> int:
        """Number of items on which the judge was run."""
        return sum(judged.n for judged in self.by_stratum.values())

    @property
    def n_groups(self) -> int:
        """Number of groups, or 0 if no item has a group.

        An item without a group counts as a group.
        """
        strata = self.by_stratum.values()
        names = {name for judged in strata for name in judged.by_group}
        return len(names) + sum(judged.n_alone for judged in strata) if names else 0

    def strata_of(self, rated: Mapping[str, Rated]) -> list[PopulationStratum]:
        """Return each stratum's rated and unlabelled items, with a value for every item."""
        strata = []
        for name, own in rated.items():
            labelled, unanswered = filled(own.labelled, self.quantity)
            judged = self.by_stratum.get(name, JudgedItems())
            strata.append(
                PopulationStratum(labelled, judged.filled(unanswered, self.quantity.bounds))
            )
        return strata


def with_items(task: Task, items: Sequence[Item]) -> Task:
    """Return the task with different, unrated items."""
    return task.model_copy(update={"items": tuple(items), "ratings": (), "ignored": ()})


def _by_stratum(items: Sequence[Item], strata: Strata | None) -> Mapping[str, list[int]]:
    """Return the item positions in each stratum. Without strata, all items are in one stratum."""
    if strata is None:
        return {"": list(range(len(items)))}
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(strata_of(items, strata.field, "items")):
        rows.setdefault(name, []).append(row)
    return rows


def rated_items(source: Source, judge: str, quantity: Quantity) -> Rated:
    """Return labels and first verdicts for the rated items on which the judge was run.

    Items that were drawn with known probabilities have weights.

    Raises
    ------
    TaskError
        If there are fewer than ten such items.
    RunError
        If no verdict is usable, so the verdicts carry no information about other items.
    """
    verdicts = [v for v in source.verdicts[judge] if v.outcome != "failed"]
    labels = quantity.labels(source.task, source.items)
    asked = {verdict.item for verdict in verdicts}
    used = [
        i for i, item in enumerate(source.items) if item.id in asked and not np.isnan(labels[i])
    ]
    if len(used) < MIN_LABELLED:
        raise TaskError(
            f"task {source.task.name}: {len(used)} items have ratings ({quantity.answers}) and "
            f"verdicts from {judge}",
            f"Rate at least {MIN_LABELLED} items",
        )
    items = tuple(source.items[i] for i in used)
    groups = np.array(unit_numbers(items))
    try:
        weights = sampling_weights(items)
    except ValueError as error:
        raise TaskError(f"task {source.task.name}: {error}") from None
    if weights is None and any(INCLUSION_PROBABILITY in item.field_names for item in items):
        weights = np.ones(len(items))  # still drawn from the others
    first = quantity.first_verdicts(items, verdicts)
    if np.isnan(first).all():
        raise RunError(
            f"None of {judge}'s answers for {len(items)} rated items is usable, so its answers for "
            f"other items can't be corrected",
            "Estimate with a different judge",
        )
    labelled = Labelled(
        labels[used],
        first,
        groups=None if len(set(groups.tolist())) == len(items) else groups,
        weights=weights,
    )
    return Rated(items, labelled)


def filled(labelled: Labelled, quantity: Quantity) -> tuple[Labelled, float]:
    """Replace unusable answers with a number, and return the result and that number."""
    is_missing = np.isnan(labelled.verdicts)
    answered = labelled.verdicts[~is_missing]
    number = 0.0 if quantity.kind == "share" or not answered.size else float(answered.mean())
    return replace(labelled, verdicts=np.where(is_missing, number, labelled.verdicts)), number


def pairs_of(source: Source, labelled: Labelled) -> PairedBeta:
    """Estimate beta from raters who gave both a choice and a response set for an item.

    Raises
    ------
    TaskError
        If fewer than ten such pairs have a negative choice.
    OptionError
        If items were drawn with known probabilities, which this estimate of beta doesn't support.
    """
    if labelled.weights is not None:
        problem = (
            "the rated items were drawn with unequal probabilities, which this option doesn't "
            "support"
        )
        raise OptionError("paired_beta", problem, "Leave out {paired_beta}")
    task = source.task
    pairs = beta_contributions(human_table(task, source.items), task.positive)
    n_pairs = int(pairs[:, 1].sum())
    if n_pairs < MIN_PAIRS:
        raise TaskError(
            f"task {task.name}: found only {n_pairs} pairs of a negative choice and a response set",
            f"Collect at least {MIN_PAIRS} pairs, or pass a range for beta with --beta-range",
        )
    return paired_beta(pairs[:, 0], pairs[:, 1], np.array(unit_numbers(source.items)))


def _mean(
    strata: Sequence[PopulationStratum],
    quantity: Quantity,
    n_judges: int,
    wanted: Wanted,
    beta: PairedBeta | None,
) -> PopulationMean:
    if quantity.kind == "share":
        betas = beta or wanted.options.beta_range
        return population_share(strata, level=wanted.level, n_judges=n_judges, betas=betas)
    return population_score(strata, bounds=quantity.bounds, level=wanted.level, n_judges=n_judges)


def _by_slice(
    judged: _Judged, rated: Rated, n_judges: int, wanted: Wanted, beta: PairedBeta | None
) -> EstimateBySlice | None:
    """Estimate each slice's mean with simultaneous intervals."""
    if judged.systems is not None:
        comparisons = judged.systems.comparisons(rated, judged.task)
        return comparisons.estimates(wanted.level, n_judges, judged.model)
    if (field := judged.field) is None:
        return None

    def mean_at(stratum: PopulationStratum, level: float) -> PopulationMean:
        return _mean([stratum], judged.quantity, n_judges, replace(wanted, level=level), beta)

    each = level_of_each(wanted.level, len(field.frequent))
    values = judged.values(rated)
    slices = []
    for place, value in enumerate(field.frequent):
        stratum = values[value].stratum if value in values else None
        slices.append(
            SliceEstimate(
                value=value,
                n_rated=int(has_value(field, judged.task, rated.items, place).sum()),
                n_unlabelled=judged.by_value.get(place, JudgedItems()).n,
                mean=None if stratum is None else mean_at(stratum, each),
            )
        )
    with_beta = beta is not None or wanted.options.beta_range is not None
    bounds = judged.quantity.bounds
    return EstimateBySlice(
        field=field.name,
        level=wanted.level,
        slices=tuple(slices),
        differences=() if with_beta else value_differences(values, mean_at, bounds, wanted.level),
        same_family=of_same_family(judged.model, field.frequent),
    )


def _quantity(source: Source, judge: str, options: EstimateOptions) -> Quantity:
    """Return the quantity to estimate, and reject options that don't apply to it."""
    given = "paired_beta" if options.paired_beta else "beta_range"
    of_sets = options.paired_beta or options.beta_range is not None
    if SystemFields.of(source.task, options.field):
        quantity = Quantity.preference(source.task)
    else:
        answers = "forced_choice" if of_sets else _answers_of(source, judge)
        quantity = Quantity.of(source.task, answers)
    if of_sets and quantity.kind != "share":
        raise OptionError(given, "a mean score doesn't depend on beta", f"Leave out {{{given}}}")
    if (options.n_labels or 0.0) >= quantity.bounds[1] - quantity.bounds[0]:
        raise OptionError(
            "n_labels",
            f"the whole scale is only {quantity.bounds[1] - quantity.bounds[0]:g} wide",
            "Pass a smaller width",
            found=options.n_labels,
        )
    return quantity


def _answers_of(source: Source, judge: str) -> AnswerKind:
    """Return the kind of answers that ranks judges, or the judge's only kind."""
    ranked_by = source.ranking_elicitation
    other: AnswerKind = "response_set" if ranked_by == "forced_choice" else "forced_choice"
    asked_for = {verdict.elicitation for verdict in source.verdicts[judge]}
    return other if asked_for == {other} else ranked_by


def _n_judges(folder: RunFolder) -> int:
    """Return the number of judges tried on the run's items."""
    tried = tried_in_run(folder)
    return tried.n if tried else len(folder.manifest.judges)


def _kept(by_slice: EstimateBySlice, judge: str) -> Iterator[EstimatedDifference]:
    """Yield the differences for gates."""
    for row in by_slice.differences:
        assert row.estimate.value is not None, "a difference has a value"
        yield EstimatedDifference(
            judge=judge,
            field=by_slice.field,
            first=row.first,
            second=row.second,
            value=row.estimate.value,
            low=row.estimate.low,
            high=row.estimate.high,
            level=by_slice.level,
            n_rated=row.n_rated,
        )


def _above(
    tau: float, mean: PopulationMean | None, quantity: Quantity
) -> tuple[float, float] | None:
    if mean is None or mean.estimate is None or quantity.kind != "share":
        return None
    return share_above(tau, mean.estimate.low, mean.estimate.high)


def _needed(
    judged: _Judged,
    rated: Rated,
    strata: Sequence[PopulationStratum],
    n_judges: int,
    wanted: Wanted,
) -> LabelPlan | None:
    """Plan the number of labels for the mean or, with a field, for differences between values."""
    width, level, quantity = wanted.options.n_labels, wanted.level, judged.quantity
    if width is None:
        return None
    if judged.systems is not None:
        pairs = judged.systems.comparisons(rated, judged.task).strata()
        return labels_for_pairs(list(pairs.values()), width, level, n_judges)
    how = (width, quantity.bounds, level, n_judges)
    is_share = quantity.kind == "share"
    if judged.field is not None:
        values = list(judged.values(rated).values())
        return labels_for_differences(values, *how, is_share=is_share)
    return labels_for_mean(strata, *how, is_share=is_share)


def _look(
    source: Source, judge: str, judged: _Judged, n_judges: int, wanted: Wanted
) -> AnytimeLook | None:
    """Return the interval that stays valid for all judges tried and at every number of ratings."""
    options, quantity = wanted.options, judged.quantity
    if options.until_width is None:
        return None
    items = judged.by_stratum[""]
    unanswered = 0.0 if quantity.kind == "share" else items.sums.mean
    stopping = Stopping(
        width=options.until_width,
        ratings_per_item=options.ratings_per_item or 1,
        level=1.0 - (1.0 - wanted.level) / n_judges,
    )
    return look_at(source, judge, quantity, items.filled(unanswered, quantity.bounds), stopping)


def _likeness(rated: Mapping[str, Rated], judged: _Judged) -> Transfer | None:
    """Compare labelled and unlabelled items, or return None if they were drawn to differ."""
    if any(own.is_drawn for own in rated.values()):
        return None
    tests = []
    for name, own in rated.items():
        others = judged.by_stratum.get(name)
        if others is None:  # the judge was run on none of its items
            continue
        labelled, judged_rated = own.labelled, JudgedItems()
        judged_rated.add(zip(own.items, labelled.verdicts.tolist(), strict=True))
        kinds = sorted({*judged_rated.counts, *others.counts})
        answers = judged_rated.answers(kinds), others.answers(kinds)
        grouped = None
        if labelled.groups is not None:
            if len(np.unique(labelled.groups)) == 1:
                continue
            lengths = np.array(judged_rated.lengths, dtype=float)
            grouped = Grouped.of(labelled.verdicts, lengths, labelled.groups)
        tests.append(transfer(*answers, judged_rated.lengths, others.lengths, grouped=grouped))
    return jointly(tests)
