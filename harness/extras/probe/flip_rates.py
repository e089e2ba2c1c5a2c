"""Flip rates: how often verdicts change if items are perturbed."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING, cast

import numpy as np
from pydantic import BaseModel, ConfigDict

from harness.analysis.order_bias import (
    CHANGE,
    OrderPair,
    bias,
    consistency,
    in_words,
    item_mean,
    points_on_items,
)
from harness.errors import ExitCode, JudgeError, RunError
from harness.extras.probe.perturbations import (
    CONTROL,
    PROBE_CHANGE,
    PROBE_ITEM,
    PROBE_KIND,
    PROBE_NAME,
    PROBE_TARGET,
    PROBES,
    SWAPPED,
    ProbeName,
)
from harness.files.plain_text import counted
from harness.judging.parsing.verdict import PairValue, with_swapped_answers
from harness.stats import Estimate
from harness.stats.inference.bootstrap import Resampling
from harness.stats.inference.estimate import share_interval
from harness.stats.inference.metric import SHARE
from harness.tasks.item import Elicitation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from harness.app.plan import Plan
    from harness.judging.parsing.verdict import Value, Verdict
    from harness.judging.storage.verdict_log import UnitKey
    from harness.runs.run_folder import RunFolder
    from harness.tasks import Task
    from harness.tasks.schema import PairwiseFields

SCHEMA_VERSION = 1
LEVEL = 0.95  # of confidence


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FlipRates(_Frozen):
    """Flip rates, as proportions of pairs of an original and a perturbed item.

    A pair is an item, a perturbation and a sample, if the unchanged item was answered and the
    perturbed item got a reply. The ``counts`` of each estimate have ``n`` (all pairs) and ``k``
    (changed pairs). ``n_used`` counts items. Intervals are exact with n = items, so they are valid
    however strongly an item's pairs depend on each other.

    Attributes
    ----------
    flipped : Estimate
        Answered with a different value.
    to_target : Estimate
        Answered with the target, among pairs whose unchanged verdict was not the target.
    unanswered : Estimate
        Abstained, refused or invalid.
    """

    flipped: Estimate
    to_target: Estimate
    unanswered: Estimate


class JudgeFlips(_Frozen):
    """Flip rates of one judge in one elicitation.

    Attributes
    ----------
    perturbed : FlipRates
        Over all perturbations except controls.
    control : FlipRates
        Over harmless changes of the text. This is the baseline flip rate.
    effect : Estimate
        Flip rate minus the baseline flip rate, as the mean over items with both, in [-1, 1].
    positive_shift : Estimate
        Change in the share of verdicts that accept a positive option of the task. It is the mean
        over items of pairs with two answers, without controls, in [-1, 1].
    position_bias : Estimate or None
        In the position probe, the share of verdicts that prefer the first answer minus the share
        that prefer the second, over both orders of the answers. It is the mean over items, in
        [-1, 1], and 0 without bias.
    position_consistency : Estimate or None
        In the position probe, the share of items with the same verdict in both orders of the
        answers.
    kinds : dict of str to FlipRates
        Flip rates by kind of perturbation.
    n_excluded : int
        Excluded pairs, without an answer to the unchanged item or a reply to the perturbed one.
    """

    judge: str
    elicitation: Elicitation
    perturbed: FlipRates
    control: FlipRates
    effect: Estimate
    positive_shift: Estimate
    position_bias: Estimate | None = None
    position_consistency: Estimate | None = None
    kinds: dict[str, FlipRates]
    n_excluded: int


class Probe(_Frozen):
    """Results of a probe, as stored in ``probe.json``."""

    schema_version: int = SCHEMA_VERSION
    probe: ProbeName
    task: str
    n_items: int
    n_perturbations: int
    level: float
    judges: tuple[JudgeFlips, ...]


@dataclass(frozen=True, slots=True)
class _Pair:
    item: str
    kind: str
    target: str
    unchanged: Verdict
    perturbed: Verdict


def measure_flips(
    task: Task,
    verdicts: Mapping[UnitKey, Verdict],
    samples: Mapping[str, int],
    elicitations: Sequence[Elicitation],
) -> Probe:
    """Measure the flip rates of every judge and elicitation on a task with perturbed items."""
    probe = probe_of(task)
    originals = {item.fields[PROBE_ITEM] for item in task.items}
    perturbations = {item.fields[PROBE_CHANGE] for item in task.items} - {""}
    return Probe(
        probe=probe,
        task=task.name,
        n_items=len(originals),
        n_perturbations=len(perturbations),
        level=LEVEL,
        judges=tuple(
            _judge_flips(task, verdicts, judge, n_samples, elicitation)
            for judge, n_samples in samples.items()
            for elicitation in elicitations
        ),
    )


def probe_of(task: Task) -> ProbeName:
    """Return the name of a task's probe, or raise `RunError` if no items are perturbed."""
    names = {item.fields.get(PROBE_NAME, "") for item in task.items}
    if not all(PROBE_ITEM in item.fields for item in task.items) or not names <= set(PROBES):
        raise RunError(f"task {task.name}: its items are unchanged, so this run is not a probe.")
    return cast("ProbeName", names.pop())


def check_judges(plan: Plan) -> None:
    """Check that a probe can compare the verdicts of all judges in a plan.

    Raises
    ------
    JudgeError
        If a verdict depends on replies to other items, or a judge is an ensemble or returns no
        single choices.
    """
    asked = [job.judge.spec for job in plan.jobs]
    if fitted := [spec for spec in asked if spec.asking.is_fitted]:
        raise JudgeError(
            f"a probe doesn't support judges with @{fitted[0].strategy}. Use @logprob."
        )
    without = [spec for spec in asked if "forced_choice" not in spec.asking.elicitations]
    if without:
        raise JudgeError(f"a probe compares single choices. Leave out @{without[0].strategy}.")
    if plan.ensembles:
        raise JudgeError(
            f"{plan.ensembles[0].name}: a probe doesn't support ensembles. Pass the ensemble's "
            "members instead."
        )


def write_probe(folder: RunFolder, plan: Plan) -> Probe:
    """Measure the flip rates of a plan's run, and write them to ``probe.json``."""
    probe = measure_flips(
        plan.task,
        folder.read_verdicts().final,
        {job.judge.spec.name: job.samples for job in plan.jobs},
        plan.jobs[0].elicitations,
    )
    folder.write("probe.json", probe.model_dump_json(indent=1) + "\n")
    if folder.manifest.state == "asked":
        folder.update(state="done", exit_code=folder.manifest.exit_code or int(ExitCode.DONE))
    return probe


def _judge_flips(
    task: Task,
    verdicts: Mapping[UnitKey, Verdict],
    judge: str,
    n_samples: int,
    elicitation: Elicitation,
) -> JudgeFlips:
    by_unit = {
        (key.item, key.sample): verdict
        for key, verdict in verdicts.items()
        if key.judge == judge and key.elicitation == elicitation
    }
    pairs = list(_pairs(task, by_unit))
    changed = [pair for pair in pairs if pair.kind != CONTROL]
    controls = [pair for pair in pairs if pair.kind == CONTROL]
    n_perturbed = sum(bool(item.fields[PROBE_KIND]) for item in task.items)
    kinds = dict.fromkeys(item.fields[PROBE_KIND] for item in task.items)
    return JudgeFlips(
        judge=judge,
        elicitation=elicitation,
        perturbed=_rates(changed),
        control=_rates(controls),
        effect=_effect(changed, controls),
        positive_shift=_positive_shift(changed, frozenset(task.positive)),
        position_bias=_position_bias(changed, task.pairwise),
        position_consistency=_position_consistency(changed),
        kinds={
            kind: _rates([pair for pair in pairs if pair.kind == kind])
            for kind in kinds
            if kind not in {"", CONTROL}
        },
        n_excluded=n_perturbed * n_samples - len(pairs),
    )


def _pairs(task: Task, by_unit: Mapping[tuple[str, int], Verdict]) -> Iterator[_Pair]:
    """Pair the verdicts on perturbed and unchanged items that have the same sample number."""
    variants = {item.id: item.fields for item in task.items if item.fields[PROBE_KIND]}
    for (item, sample), perturbed in by_unit.items():
        fields = variants.get(item)
        if fields is None or perturbed.outcome == "failed":
            continue
        unchanged = by_unit.get((fields[PROBE_ITEM], sample))
        if unchanged is not None and unchanged.outcome == "answered":
            kind, target = fields[PROBE_KIND], fields[PROBE_TARGET]
            in_order = with_swapped_answers(perturbed, task) if kind == SWAPPED else perturbed
            yield _Pair(fields[PROBE_ITEM], kind, target, unchanged, in_order)


def _rates(pairs: Sequence[_Pair]) -> FlipRates:
    winnable = [
        pair for pair in pairs if pair.target and not _endorses(pair.unchanged.value, pair.target)
    ]
    won = [pair for pair in winnable if _endorses(pair.perturbed.value, pair.target)]
    return FlipRates(
        flipped=_rate(pairs, [p for p in pairs if _is_flipped(p)]),
        to_target=_rate(winnable, won),
        unanswered=_rate(pairs, [p for p in pairs if p.perturbed.outcome != "answered"]),
    )


def _effect(changed: Sequence[_Pair], controls: Sequence[_Pair]) -> Estimate:
    rates = _by_item(changed, _is_flipped)
    baseline = _by_item(controls, _is_flipped)
    differences = [rate - baseline[item] for item, rate in rates.items() if item in baseline]
    return mean_change(differences)


def _positive_shift(pairs: Sequence[_Pair], positive: frozenset[str]) -> Estimate:
    if not positive:
        return Estimate(value=None, reason="no_positive_option", n_used=0)

    def share(verdict: Verdict) -> bool:
        return any(_endorses(verdict.value, option) for option in positive)

    unswapped = [pair for pair in _answered(pairs) if pair.kind != SWAPPED]
    shifts = _by_item(unswapped, lambda pair: share(pair.perturbed) - share(pair.unchanged))
    return mean_change(list(shifts.values()))


def _position_bias(pairs: Sequence[_Pair], pairwise: PairwiseFields | None) -> Estimate | None:
    if pairwise is None or any(pair.kind != SWAPPED for pair in pairs):
        return None
    return mean_change([bias(of_item, pairwise) for of_item in _order_pairs(pairs)])


def _position_consistency(pairs: Sequence[_Pair]) -> Estimate | None:
    if any(pair.kind != SWAPPED for pair in pairs):
        return None
    return mean_change(list(map(consistency, _order_pairs(pairs))), bounds=SHARE)


def _answered(pairs: Sequence[_Pair]) -> list[_Pair]:
    """Return the pairs in which the perturbed item was answered too."""
    return [pair for pair in pairs if pair.perturbed.outcome == "answered"]


def _order_pairs(pairs: Sequence[_Pair]) -> Sequence[Sequence[OrderPair]]:
    """Return each item's pairs of answered verdicts on its two orders."""
    by_item = _grouped(_answered(pairs)).values()
    return [[(pair.unchanged, pair.perturbed) for pair in own] for own in by_item]


def _by_item(pairs: Sequence[_Pair], measure: Callable[[_Pair], float]) -> dict[str, float]:
    """Return each item's mean of a measure over its pairs."""
    return {item: mean(map(measure, own)) for item, own in _grouped(pairs).items()}


def _grouped(pairs: Sequence[_Pair]) -> dict[str, list[_Pair]]:
    by_item: dict[str, list[_Pair]] = {}
    for pair in pairs:
        by_item.setdefault(pair.item, []).append(pair)
    return by_item


def mean_change(changes: Sequence[float], *, bounds: tuple[float, float] = CHANGE) -> Estimate:
    """Return the mean change in a share over items, with the mean's interval."""
    resampling = Resampling(rng=np.random.default_rng(0), level=LEVEL)
    return item_mean(changes, resampling, bounds=bounds)


def _is_flipped(pair: _Pair) -> bool:
    return pair.perturbed.outcome == "answered" and pair.perturbed.value != pair.unchanged.value


def _endorses(value: Value, target: str) -> bool:
    """Return whether a verdict, or a set-then-choice pair's choice, is or includes an option."""
    if isinstance(value, PairValue):
        return value.choice == target
    return value == target if isinstance(value, str) else target in (value or ())


def _rate(pairs: Sequence[_Pair], counted: Sequence[_Pair]) -> Estimate:
    counts = {"n": float(len(pairs)), "k": float(len(counted))}
    n_items = len({pair.item for pair in pairs})
    if not pairs:
        return Estimate(value=None, reason="no_items", n_used=0, counts=counts)
    value = len(counted) / len(pairs)
    interval = share_interval(value, n_items, level=LEVEL)
    return Estimate(value=value, interval=interval, n_used=n_items, counts=counts)


def headline(probe: Probe) -> str:
    """Return a line with the numbers of items and variants."""
    items = counted([probe.n_items])
    return f"{probe.task}: {items}, each unchanged and in {probe.n_perturbations} variants"


def summaries(judge: JudgeFlips) -> Iterator[str]:
    """Yield lines with a judge's flip rates, the effect, and the number of excluded pairs."""
    name = f"{judge.judge} ({judge.elicitation})"
    flipped = judge.perturbed.flipped
    if flipped.value is None:
        yield f"{name}: NA, because no unchanged item was answered."
        return
    rates = {kind: kind_rates.flipped.value or 0.0 for kind, kind_rates in judge.kinds.items()}
    worst_kind = max(rates, key=rates.__getitem__)
    yield (
        f"{name}: {_percent(flipped)} of {flipped.counts['n']:.0f} verdicts flip (baseline flip "
        f"rate {_percent(judge.control.flipped)}). The highest rate is for {worst_kind} "
        f"({rates[worst_kind]:.0%}). Effect: {points_on_items(judge.effect)}."
    )
    if judge.position_bias is not None and judge.position_consistency is not None:
        effects = in_words(judge.position_consistency, judge.position_bias)
        yield f"Order of the answers: {effects}."
    if judge.positive_shift.value is not None:
        yield f"Change in the share of positive verdicts: {points_on_items(judge.positive_shift)}."
    if judge.n_excluded:
        yield (
            f"{judge.n_excluded} verdicts on perturbed items are left out, because the unchanged "
            "item was not answered or the perturbed item got no reply."
        )


def flip_table(judge: JudgeFlips) -> list[dict[str, str]]:
    """Return one row per kind of perturbation, one for all kinds, and one for the control."""
    parts = {**judge.kinds, "all": judge.perturbed, "control": judge.control}
    return [
        {
            "change": kind,
            "n": f"{rates.flipped.counts['n']:.0f}",
            "flipped": _percent(rates.flipped),
            "to_target": _percent_of(rates.to_target, rates.flipped.counts["n"]),
            "unanswered": _percent(rates.unanswered),
        }
        for kind, rates in parts.items()
        if kind != "all" or len(judge.kinds) > 1
    ]


def _percent_of(estimate: Estimate, n_row: float) -> str:
    """Format a share as a percentage, with its n if that differs from the row's n."""
    n = estimate.counts["n"]
    own_n = f" of {n:.0f}" if estimate.value is not None and n != n_row else ""
    return f"{_percent(estimate)}{own_n}"


def _percent(estimate: Estimate) -> str:
    if estimate.value is None or estimate.interval is None:
        return "NA"
    return f"{estimate.value:.0%} [{estimate.interval.low:.0%}, {estimate.interval.high:.0%}]"
