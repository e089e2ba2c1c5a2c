"""Candidates with a bias for each option, fitted to a round's development items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.ratings import human_table
from harness.judging.computed_verdicts import computed_verdicts
from harness.judging.parsing.option_probabilities import distribution
from harness.judging.strategies.answer_bias import (
    LEAST,
    MOST,
    MOST_OPTIONS,
    N_HALVES,
    NONE,
    STEPS,
    half_of,
    with_biases,
)
from harness.stats.racing.losses import loss_table
from harness.stats.selection.answer_biases import fitted_steps, mean_loss

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.runs.run_folder import RunFolder
    from harness.tasks import Task

LEAST_ITEMS = 10  # of each half
LEAST_SHARE = 1e-6  # minimum chance of an option, so that its logarithm exists
MOST_CANDIDATES = 2  # of a round


def biased_names(folder: RunFolder, task: Task) -> list[str]:
    """Return names of a round's judges with biases that lower their loss, best first.

    Each half of the items gets the biases with the lowest loss on the other half, so a candidate's
    loss on the round's items is not the loss that selected the biases.

    Parameters
    ----------
    folder : RunFolder
        A round that has ended.
    task : Task
        Task of the round.
    """
    if len(task.options) > MOST_OPTIONS:
        return []
    replies: dict[str, list[Verdict]] = {spec.name: [] for spec in folder.manifest.judges}
    for verdict in folder.read_verdicts().final.values():
        if verdict.judge in replies:
            replies[verdict.judge].append(verdict)
    none = [[0] * len(task.options)] * N_HALVES
    specs = [s for s in folder.manifest.judges if with_biases(s.asking, none) is not None]
    verdicts = computed_verdicts(specs, replies, task)
    rows = sorted(row for spec in specs for row in _biased(spec, verdicts[spec.name], task))
    return [name for _, name in rows[:MOST_CANDIDATES]]


def _biased(
    spec: JudgeSpec, verdicts: Sequence[Verdict], task: Task
) -> Iterator[tuple[float, str]]:
    """Yield the loss and the name of a judge with biases, if the biases lower its loss."""
    keys = [option.key for option in task.options]
    shares = {v.item: distribution(v.probabilities or {}) for v in verdicts if v.probabilities}
    items = [task.by_id[name] for name, of_item in shares.items() if of_item and name in task.by_id]
    counts = human_table(task, items).forced_choice
    rated = np.flatnonzero(counts.sum(axis=1) > 0)
    losses = loss_table("random_rater", counts[rated], None).values
    logs = np.log(
        [[max(shares[items[i].id].get(key, 0.0), LEAST_SHARE) for key in keys] for i in rated]
    ).reshape(len(rated), len(keys))
    halves = np.array([half_of(items[i], items[i].id) for i in rated], dtype=np.int64)
    if np.bincount(halves, minlength=N_HALVES).min() < LEAST_ITEMS:
        return
    steps = (np.arange(LEAST, MOST + 1) - NONE) / STEPS
    fitted = [fitted_steps(logs[halves != h], losses[halves != h], steps) for h in range(N_HALVES)]
    biased = mean_loss(logs, losses, steps[np.array(fitted)][halves])
    if biased < mean_loss(logs, losses, np.zeros(len(keys))):
        whole = with_biases(
            spec.asking, [[int(place) + LEAST - NONE for place in row] for row in fitted]
        )
        if whole is not None:
            yield biased, f"{spec.name.removesuffix('@' + spec.strategy)}@{whole.name}"
