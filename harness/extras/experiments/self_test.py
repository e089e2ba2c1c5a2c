"""Self-test: the analysis of data sets that are drawn from a design with a planted truth."""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from harness.analysis import validate
from harness.analysis.annotator_panel import eps_of
from harness.analysis.decision import RECOMMENDING
from harness.extras.experiments.planted_design import Design, design_of, given_design
from harness.extras.experiments.selftest_options import SelftestOptions
from harness.options.concerns import Seed
from harness.options.declaration import read_options
from harness.options.keyword_arguments import keywords
from harness.stats.inference.estimate import Interval, share_interval
from harness.stats.inference.metric import losses_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from harness.analysis import Source, Validation
    from harness.analysis.evidence_rows import JudgeEvidence
    from harness.stats import Estimate
    from harness.stats.data.arrays import IntArray
    from harness.stats.planning.planted import PlantedJudge
    from harness.tasks import Task

    Analysis: TypeAlias = Callable[[Source], Validation]

ClaimKind: TypeAlias = Literal["choice", "power", "size", "coverage"]
Held: TypeAlias = dict[
    tuple[ClaimKind, str], bool
]  # what was right in a data set, without undefined entries
N_DATA_SETS, N_QUICK = 500, 25
LARGE = 10_000  # minimum items of the data set that defines the truth
LARGER = 20  # minimum multiple of the design's items
LARGE_RESAMPLES = 20  # its intervals are not used
N_BISECTIONS = 25
TRUTH, PLANTED, GUESSING, TIED, MARGIN = range(5)  # first word of a seed
DIFFERENCES = "simultaneous differences from the first judge"
USE, BASELINE, REPLACE, NEXT = (
    "use",
    "better than every baseline",
    "may replace a rater",
    "significantly better than the next judge",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Share of data sets in which a choice, claim or interval was right.

    Attributes
    ----------
    kind : str
        "choice" of the right judge, "power" for a true claim, "size" for a false claim, or
        "coverage" of an interval.
    name : str
        The choice, claim or estimate.
    world : str
        Planted truth of the data sets.
    n_held, n : int
        Data sets in which it was right, and in which it was defined.
    share : float or None
        None if it was never defined.
    interval : Interval or None
        Exact interval for the number of data sets.
    reason : str
        Reason for a missing share.
    """

    kind: ClaimKind
    name: str
    world: str
    n_held: int
    n: int
    share: float | None
    interval: Interval | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedTruth:
    """True metric of a judge, in the limit of many items."""

    judge: str
    value: float | None
    agreement: float
    abstention: float
    n_replies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Selftest:
    """Result of a self-test.

    Attributes
    ----------
    task : str
        Task with the design.
    n_items, n_raters, n_ratings : int
        Numbers per data set.
    shares_of_answers : dict of str to float
        Planted shares of all ratings.
    rater_agreement, abstention : float
        Planted values for the raters.
    metric : str
        Metric that ranks.
    truths : tuple of PlantedTruth
        True values of the judges, best first.
    shares : tuple of Share
        How often each claim or interval was right.
    regret, regret_error : float or None
        Mean difference between the first judge's metric and the best one, with standard error.
    n_regret : int
        Data sets with a regret.
    n_data_sets : int
        Data sets of each kind.
    n_large : int
        Items of the large data set that defines the truth.
    n_calls : int
        Replies needed per data set.
    cost_usd : float or None
        Cost of these replies, or None if a price is unknown.
    notes : tuple of str
        Parts of the task that the design leaves out.
    """

    task: str
    n_items: int
    n_raters: int
    n_ratings: int
    shares_of_answers: dict[str, float]
    rater_agreement: float
    abstention: float
    metric: str
    truths: tuple[PlantedTruth, ...]
    shares: tuple[Share, ...]
    regret: float | None
    regret_error: float | None
    n_regret: int
    n_data_sets: int
    n_large: int
    n_calls: int
    cost_usd: float | None
    seed: int
    notes: tuple[str, ...]

    def share(self, kind: ClaimKind, name: str, world: str = "") -> Share:
        """Return the share for a planted truth, or the first share of this kind and name.

        Raises
        ------
        KeyError
            If there is no share of this kind and name.
        """
        for row in self.shares:
            if (row.kind, row.name) == (kind, name) and world in {"", row.world}:
                return row
        raise KeyError((kind, name, world))


@dataclass(frozen=True)
class _Truth:
    values: dict[str, float]  # of every statistic, by name
    losses: dict[str, float]  # of the judges by the metric that ranks
    claims: dict[str, dict[str, bool]]  # by check, whether each judge passes it

    @property
    def best(self) -> float:
        return min(self.losses.values())


@keywords(SelftestOptions, Seed)
def selftest(
    task: str | Task | Source | None = None,
    *,
    analyse: Analysis = validate,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> Selftest:
    """Test the whole analysis on simulated data with a planted truth and a design like yours.

    Data sets have the design of a task (items, who rates what, shares of options, agreement,
    abstention, and judges as in their verdicts) or a design from options. Each data set is analysed
    as in `validate`. Separate data sets make claims false: judges guess, judges are all equally
    good, or judges are worse than a rater by the margin.

    Parameters
    ----------
    task : str, Task or Source, optional
        Task with the design to test. A source also has verdicts. By default, the options
    describe a design.
    analyse : callable, optional
        Analysis to test, ``Source -> Validation``. It must be picklable unless ``processes``
        is 1.
    **options

    Returns
    -------
    Selftest
        Results that depend on the seed, but not on the number of processes.

    Raises
    ------
    HarnessError
        If the task is not enough for a design, or raters and judges cannot agree this often.
    """
    source = None if task is None else _source(task)
    wanted, seed = read_options(SelftestOptions, options), read_options(Seed, options).seed
    design = given_design(wanted) if source is None else design_of(source, wanted)
    return run_selftest(design, wanted, seed, analyse)


def _source(task: str | Task | Source) -> Source:
    from harness.analysis import Source as Inputs  # noqa: PLC0415 -- for types alone above
    from harness.runs.sources import source_of_verdicts  # noqa: PLC0415 -- only where a task is named

    return task if isinstance(task, Inputs) else source_of_verdicts(task, None)


def run_selftest(
    design: Design, options: SelftestOptions, seed: int, analyse: Analysis = validate
) -> Selftest:
    """Draw and analyse data sets from a design. See `selftest`."""
    n_data_sets = options.data_sets or (N_QUICK if options.quick else N_DATA_SETS)
    large = design.repeated(ceil(max(LARGE, LARGER * design.n_items) / design.n_items))
    reference = validate(large.draw((TRUTH, seed), n_resamples=LARGE_RESAMPLES))
    truth = _Truth(dict(_values(reference)), _losses(reference), _claims(reference, design, seed))
    of_world = partial(_World, truth=truth, analyse=analyse)
    worlds = [
        of_world(PLANTED, design, _planted),
        of_world(GUESSING, _guessing(design), _of_guesses),
    ]
    if len(design.judges) > 1:
        worlds.append(of_world(TIED, _tied(design), _of_ties))
    if (at_margin := _at_margin(design, seed)) is not None:
        worlds.append(of_world(MARGIN, at_margin, _of_margin))
    jobs = [
        partial(world.data_set, seed, replicate)
        for world in worlds
        for replicate in range(n_data_sets)
    ]
    measured = _spread(jobs, options.processes)
    rows = [
        row
        for world in worlds
        for row in _shares(world.number, [held for of, held, _ in measured if of == world.number])
    ]
    if not any((row.kind, row.name) == ("size", REPLACE) for row in rows):
        is_tested = design.elicitation == "forced_choice"
        no_judge = at_margin is None and is_tested
        reason = "no judge is at the margin" if no_judge else "no annotator test"
        rows.append(_undefined("size", REPLACE, MARGIN, reason))
    regrets = np.array([r for of, _, r in measured if of == PLANTED and r is not None])
    n = regrets.size
    order = sorted(truth.losses, key=truth.losses.__getitem__)
    planted_judges = {judge.name: judge for judge in design.judges}
    assert reference.evidence is not None
    return Selftest(
        task=design.task.name,
        n_items=design.n_items,
        n_raters=len(np.unique(design.of_rater)),
        n_ratings=len(design.of_item),
        shares_of_answers={
            answer if isinstance(answer, str) else f"{{{', '.join(answer)}}}": share
            for answer, share in zip(design.answers, design.raters.shares, strict=True)
        },
        rater_agreement=design.raters.agreement,
        abstention=design.abstention,
        metric=reference.evidence.metric,
        truths=tuple(
            _truth_of(design, planted_judges[name].planted, name, truth) for name in order
        ),
        shares=tuple(rows),
        regret=float(regrets.mean()) if n else None,
        regret_error=float(regrets.std(ddof=1) / sqrt(n)) if n > 1 else None,
        n_regret=int(n),
        n_data_sets=n_data_sets,
        n_large=large.n_items,
        n_calls=design.n_calls,
        cost_usd=design.cost_usd,
        seed=seed,
        notes=design.notes,
    )


def _truth_of(design: Design, planted: PlantedJudge, name: str, truth: _Truth) -> PlantedTruth:
    raters = design.raters
    gain = planted.fidelity * planted.insight * (raters.certainty - raters.by_chance)
    return PlantedTruth(
        judge=name,
        value=truth.values.get(metric_of(name)),
        agreement=raters.by_chance + gain,
        abstention=planted.abstention,
        n_replies=next(judge.n_replies for judge in design.judges if judge.name == name),
    )


# Worlds in which claims are false


def _guessing(design: Design) -> Design:
    """Replace the judges with judges whose answers do not depend on the item."""
    return design.with_judges([replace(judge.planted, insight=0.0) for judge in design.judges])


def _tied(design: Design) -> Design:
    """Replace the judges with copies of the first judge that make independent errors."""
    first = design.judges[0]
    return replace(design, judges=tuple(replace(first, name=j.name) for j in design.judges))


def _losing(design: Design, seed: int) -> Callable[[PlantedJudge], float]:
    """Return a function that computes a judge's loss rate, minus its win rate and eps."""
    large = design.repeated(ceil(LARGE / design.n_items))
    eps = eps_of(design.task)

    def lost(planted: PlantedJudge) -> float:
        rng = np.random.default_rng([MARGIN, seed])
        chances, chosen = large.choices(rng)
        answers = replace(planted, abstention=0.0)
        reply = answers.replies(chances, np.array(design.raters.shares), 1, rng)[:, 0]
        return _share_lost(large, chosen, reply) - eps

    return lost


def _at_margin(design: Design, seed: int) -> Design | None:
    """Replace the judges with judges that lose to raters by exactly the margin.

    Such judges lose on a share eps of the items more than they win. Returns None if even guessing
    judges lose by less, the best judges lose by more, or no two raters rate the same item. Also
    returns None for response sets, which the annotator test does not compare.
    """
    if design.elicitation == "response_set":
        return None
    lost, first = _losing(design, seed), design.judges[0].planted
    low, high = 0.0, 1.0
    if not lost(replace(first, insight=high)) < 0.0 < lost(replace(first, insight=low)):
        return None  # nan if nothing is compared
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2.0
        is_worse = lost(replace(first, insight=middle)) > 0.0
        low, high = (middle, high) if is_worse else (low, middle)
    # The nearest insight at which the claim is false
    return design.with_judges([replace(judge.planted, insight=low) for judge in design.judges])


def _share_lost(design: Design, chosen: IntArray, reply: IntArray) -> float:
    """Return how often raters agree with other raters more than the judge does, minus less."""
    K = len(design.answers)
    made = chosen >= 0
    item, choice = design.of_item[made], chosen[made]
    counts = np.zeros((design.n_items, K), dtype=np.int64)
    np.add.at(counts, (item, choice), 1)
    others = counts[item].sum(axis=1) - 1
    own = counts[item, choice] - 1
    judged = counts[item, reply[item]] - (reply[item] == choice)
    compared = others > 0
    return float(np.sign(own - judged)[compared].mean()) if compared.any() else float("nan")


# One data set


@dataclass(frozen=True)
class _World:
    """Planted truth of data sets, with the analysis and what to measure."""

    number: int
    design: Design
    measure: Callable[[Validation, _Truth], Iterator[tuple[tuple[ClaimKind, str], bool]]]
    truth: _Truth
    analyse: Analysis

    def data_set(self, seed: int, replicate: int) -> tuple[int, Held, float | None]:
        """Analyse a drawn data set. Return its number, what was right, and the leader's regret."""
        truth = self.truth
        validation = self.analyse(self.design.draw((self.number, seed, replicate)))
        leader = validation.decision.leader
        regret = truth.losses[leader] - truth.best if leader in truth.losses else None
        return self.number, dict(self.measure(validation, truth)), regret


def _planted(validation: Validation, truth: _Truth) -> Iterator[tuple[tuple[ClaimKind, str], bool]]:
    decision, evidence = validation.decision, validation.evidence
    best = {name for name, loss in truth.losses.items() if loss <= truth.best}
    yield ("choice", "the best judge is first"), decision.leader in best
    yield ("choice", "the best judge is recommended"), decision.judge in best
    yield from _claimed(validation, truth)
    if len(truth.losses) > 1:
        clear = bool(decision.leader) and not decision.not_distinguishable
        yield ("power", NEXT), clear and decision.leader in best
    assert evidence is not None
    for name, interval in _intervals(validation):
        target = truth.values.get(name)
        if target is not None and interval is not None:
            yield ("coverage", name), interval[0] <= target <= interval[1]
    if (held := _differences_hold(validation, truth)) is not None:
        yield ("coverage", DIFFERENCES), held


def _differences_hold(validation: Validation, truth: _Truth) -> bool | None:
    """Return whether all intervals contain the true differences, or None if undefined."""
    rows, held = validation.evidence.judges if validation.evidence else (), []
    for difference in (row.difference for row in rows if row.difference):
        pair = {difference.judge, difference.reference}
        if difference.interval is None or not pair <= set(truth.losses):
            return None
        gap = truth.losses[difference.judge] - truth.losses[difference.reference]
        held.append(difference.interval.low <= gap <= difference.interval.high)
    return all(held) if held else None


def _of_guesses(
    validation: Validation, truth: _Truth
) -> Iterator[tuple[tuple[ClaimKind, str], bool]]:
    del truth
    yield ("size", USE), validation.decision.verdict in RECOMMENDING
    yield ("size", BASELINE), validation.decision.verdict != "none"


def _of_ties(validation: Validation, truth: _Truth) -> Iterator[tuple[tuple[ClaimKind, str], bool]]:
    del truth
    yield ("size", NEXT), bool(validation.decision.significantly_worse)


def _of_margin(
    validation: Validation, truth: _Truth
) -> Iterator[tuple[tuple[ClaimKind, str], bool]]:
    del truth
    check = validation.decision.checks.get("annotator_test")
    if check is not None and check.passed is not None:
        yield ("size", REPLACE), check.passed


def _claimed(validation: Validation, truth: _Truth) -> Iterator[tuple[tuple[ClaimKind, str], bool]]:
    """Yield claims about the first judge. True claims count for power, false ones for size."""
    decision = validation.decision
    leader = decision.leader
    if leader is None or leader not in truth.losses:
        return
    beats = truth.claims["beats_baselines"][leader]
    yield ("power" if beats else "size", BASELINE), decision.verdict != "none"
    check = next(
        (
            each
            for kind in ("annotator_test", "one_human")
            if (each := decision.checks[kind]).passed is not None and kind in truth.claims
        ),
        None,
    )
    if check is None or leader not in truth.claims[check.kind]:
        return
    may = truth.claims[check.kind][leader]
    yield ("power" if may else "size", REPLACE), bool(check.passed)
    yield ("power" if may and beats else "size", USE), decision.verdict in RECOMMENDING


def _claims(reference: Validation, design: Design, seed: int) -> dict[str, dict[str, bool]]:
    """Return, for each claim and judge, whether the claim is true with many items."""
    evidence, losses = reference.evidence, _losses(reference)
    assert evidence is not None
    least = min(
        float(losses_of(row.value, evidence.better))
        for row in evidence.baselines
        if row.value is not None
    )
    lost = _losing(design, seed)
    return {
        "beats_baselines": {name: loss < least for name, loss in losses.items()},
        "annotator_test": {judge.name: lost(judge.planted) < 0.0 for judge in design.judges},
        "one_human": {
            row.judge: row.human.difference < evidence.margin
            for row in evidence.judges
            if evidence.margin is not None
            and row.human is not None
            and row.human.difference is not None
        },
    }


# Statistics of a validation by name


def _losses(validation: Validation) -> dict[str, float]:
    evidence = validation.evidence
    assert evidence is not None
    return {
        row.judge: float(losses_of(row.value, evidence.better))
        for row in evidence.judges
        if row.value is not None
    }


def _values(validation: Validation) -> Iterator[tuple[str, float]]:
    """Yield the name and value of each statistic."""
    for name, estimate in _estimates(validation):
        if estimate.value is not None:
            yield name, estimate.value
    for row in _rows(validation):
        if row.human is not None and row.human.difference is not None:
            yield difference_of(row.judge), row.human.difference


def _intervals(validation: Validation) -> Iterator[tuple[str, tuple[float, float] | None]]:
    for name, estimate in _estimates(validation):
        interval = estimate.interval
        yield name, (interval.low, interval.high) if interval else None
    for row in _rows(validation):
        human = row.human
        if human is not None and human.low is not None and human.high is not None:
            yield difference_of(row.judge), (human.low, human.high)


def metric_of(judge: str) -> str:
    """Return the name of a judge's ranking metric among the estimates."""
    return f"metric of {judge}"


def difference_of(judge: str) -> str:
    """Return the name of the difference between a judge and a human rater."""
    return f"difference of {judge} from a human rater"


def of_raters(coefficient: str) -> str:
    """Return the name of a coefficient for the agreement among raters."""
    return f"{coefficient} of the raters"


def _rows(validation: Validation) -> Iterable[JudgeEvidence]:
    return validation.evidence.judges if validation.evidence else ()


def _estimates(validation: Validation) -> Iterator[tuple[str, Estimate]]:
    for judge in validation.judges:
        metric = validation.ranking_metric
        for name, estimate in judge.metrics.items():
            is_ranking = name == metric
            yield metric_of(judge.name) if is_ranking else f"{name} of {judge.name}", estimate
    for name, estimate in validation.humans.agreement.items():
        yield of_raters(name), estimate


def _shares(world: int, held: Iterable[Held]) -> Iterator[Share]:
    counts: dict[tuple[ClaimKind, str], list[bool]] = defaultdict(list)
    for of_data_set in held:
        for key, value in of_data_set.items():
            counts[key].append(bool(value))
    for (kind, name), values in counts.items():
        share = sum(values) / len(values)
        yield Share(
            kind=kind,
            name=name,
            world=WORLDS[world],
            n_held=sum(values),
            n=len(values),
            share=share,
            interval=share_interval(share, len(values)),
        )


def _undefined(kind: ClaimKind, name: str, world: int, reason: str) -> Share:
    return Share(
        kind=kind, name=name, world=WORLDS[world], n_held=0, n=0, share=None, interval=None,
        reason=reason,
    )  # fmt: skip


WORLDS: Mapping[int, str] = {
    PLANTED: "your design",
    GUESSING: "judges that guess",
    TIED: "judges that are equally good",
    MARGIN: "judges at the margin",
}


def _call(job: Callable[[], tuple[int, Held, float | None]]) -> tuple[int, Held, float | None]:
    return job()


def _spread(
    jobs: Sequence[Callable[[], tuple[int, Held, float | None]]], n_processes: int
) -> list[tuple[int, Held, float | None]]:
    if n_processes == 1:
        return [job() for job in jobs]
    with ProcessPoolExecutor(n_processes) as pool:
        return list(pool.map(_call, jobs, chunksize=4))
