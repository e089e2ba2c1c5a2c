"""A model of items' response sets: a prior fitted to choices and pairs, and its posterior.

Sets are divided into three classes: only positive options, some of both kinds, no positive option.
A rater in the second class chooses a positive option with a probability that is the same for all
items. The shares of the classes vary between items with a Dirichlet distribution. With two pairs on
the same items, it is tilted by the exponential of a quadratic function of the shares, which fits
all of their second moments. A judge's probability of a positive decision is logistic in the shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.indeterminacy.translation import pairs_by_item
from harness.stats.inference.special_functions import betainc, betaincinv

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.data.rating_table import RatingTable

N_SHARES, N_PARTS = 20, 10  # cells of Omega on each side of the cut-off, and of its parts
N_STEPS, N_HALVINGS, LONGEST, ENOUGH = 50, 8, 3.0, 1e-3  # settings of the fit
STEP, SMALL = 1e-4, 1e-7  # step of a derivative, and a mass that counts as 0
LEAST_DOUBLE = 30  # items with two pairs needed to estimate the spread
TINY = 1e-300
N_OF_DIRICHLET, N_OF_TILT, N_OF_JUDGE = 4, 5, 3
SCALES = {"dirichlet": 2.0, "tilt": 20.0, "judge": 10.0}  # of the parameters' weak normal priors


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ClassCounts:
    """Choices and pairs of n items, by class.

    Attributes
    ----------
    choices : (n, 2) array
        Positive and negative choices without an accompanying set.
    pairs : (n, 4) array
        Pairs of the first class, of the second class with a positive choice, of the second class
        with a negative choice, and of the third class.
    """

    choices: FloatArray
    pairs: FloatArray

    def __repr__(self) -> str:
        return f"ClassCounts({len(self.choices)} items, {int(self.pairs.sum())} pairs)"

    @classmethod
    def of(cls, human: RatingTable, positive: Sequence[str]) -> Self:
        """Count choices and pairs. A pair whose choice is outside its set counts as a choice."""
        space = human.space
        is_positive, meets = space.option_mask(positive), space.meets(positive)
        has_negative = (space.membership & ~is_positive[:, None]).any(axis=0)
        joint = pairs_by_item(human)
        kinds = [
            joint[:, is_positive][:, :, meets & ~has_negative],
            joint[:, is_positive][:, :, meets & has_negative],
            joint[:, ~is_positive][:, :, meets],
            joint[:, ~is_positive][:, :, ~meets],
        ]
        pairs = np.stack([kind.sum(axis=(1, 2)) for kind in kinds], axis=1)
        counts = human.choice_counts
        chosen = np.stack([counts[:, is_positive], counts[:, ~is_positive]]).sum(axis=2).T
        beside = np.stack([pairs[:, :2].sum(axis=1), pairs[:, 2:].sum(axis=1)], axis=1)
        return cls(
            choices=np.maximum(chosen - beside, 0).astype(np.float64),
            pairs=pairs.astype(np.float64),
        )

    @property
    def n_double(self) -> int:
        """Number of items with at least two pairs, which show how shares vary between items."""
        return int((self.pairs.sum(axis=1) >= 2).sum())  # noqa: PLR2004 -- as documented


@dataclass(frozen=True, slots=True, repr=False)
class _Nodes:
    """Grid points that represent all items: (G, 3) class shares, and whether each is positive."""

    shares: FloatArray
    logs: FloatArray
    log_weights: FloatArray
    positive: FloatArray


def _cells(a: float, b: float, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and mass of a beta distribution between consecutive quantile levels."""
    edges = betaincinv(a, b, levels)
    mass = np.diff(levels)
    upper = np.diff(betainc(a + 1.0, b, edges)) * a / (a + b)
    middle = (edges[1:] + edges[:-1]) / 2.0
    mean = np.where(mass > SMALL**2, upper / np.maximum(mass, SMALL**2), middle)
    return np.clip(mean, edges[:-1], edges[1:]), mass


def _nodes(alpha: FloatArray, tau: float) -> _Nodes:
    """Discretise a Dirichlet distribution into cells, each entirely on one side of the cut-off."""
    a, b = float(alpha[0] + alpha[1]), float(alpha[2])
    below = float(betainc(a, b, tau))
    levels = [np.linspace(0.0, below, N_SHARES + 1), np.linspace(below, 1.0, N_SHARES + 1)[1:]]
    omega, mass = _cells(a, b, np.concatenate(levels))
    part, within = _cells(float(alpha[1]), float(alpha[0]), np.linspace(0.0, 1.0, N_PARTS + 1))
    both = np.outer(omega, part).ravel()
    whole = np.repeat(omega, N_PARTS)
    shares = np.stack([whole - both, both, 1.0 - whole], axis=1)
    positive = np.repeat(np.arange(2 * N_SHARES) >= N_SHARES, N_PARTS).astype(np.float64)
    return _Nodes(
        shares,
        np.log(np.maximum(shares, TINY)),
        np.log(np.maximum(np.outer(mass, within).ravel(), TINY)),
        positive,
    )


@dataclass(frozen=True, slots=True, repr=False)
class ItemKinds:
    """Groups of items with identical counts and decisions, and the size of each group."""

    choices: FloatArray
    pairs: FloatArray
    decision: FloatArray
    n: FloatArray
    of_item: IntArray

    def __repr__(self) -> str:
        return f"ItemKinds({len(self.n)} kinds of {int(self.n.sum())} items)"

    @classmethod
    def of(cls, counts: ClassCounts, decision: FloatArray, used: BoolArray) -> Self:
        """Count the kinds among the items in an (n,) mask. Decisions are probabilities."""
        rows = np.column_stack([counts.choices, counts.pairs, np.round(decision, 3)])
        kinds, of_item = np.unique(rows, axis=0, return_inverse=True)
        of_item = of_item.ravel()
        times = np.bincount(of_item, weights=used.astype(np.float64), minlength=len(kinds))
        n = np.asarray(times, dtype=np.float64)
        return cls(kinds[:, :2], kinds[:, 2:6], kinds[:, 6], n, of_item)


class SetModel:
    """Likelihood of the item kinds, given parameters for Dirichlet, choice, tilt and judge."""

    def __init__(self, cells: ItemKinds, tau: float, *, tilted: bool, judged: bool) -> None:
        self.cells, self.tau, self.tilted, self.judged = cells, tau, tilted, judged
        sizes = [N_OF_DIRICHLET, N_OF_TILT * tilted, N_OF_JUDGE * judged]
        self.splits = np.cumsum(sizes)[:-1]
        self.scales = np.repeat(list(SCALES.values()), sizes)

    def joint(self, parameters: FloatArray) -> tuple[FloatArray, _Nodes, FloatArray]:
        """Return (C, G) log probabilities of node and data, the nodes, and their (G,) weights."""
        dirichlet, tilt, judge = np.split(parameters, self.splits)
        nodes = _nodes(np.exp(np.clip(dirichlet[:3], -4.0, 6.0)), self.tau)
        choice = _logistic(dirichlet[3])
        chance = nodes.shares[:, 0] + choice * nodes.shares[:, 1]
        log_choices = np.log(np.maximum(np.stack([chance, 1.0 - chance]), TINY))
        of_pairs = self.cells.pairs @ np.stack(
            [
                nodes.logs[:, 0],
                nodes.logs[:, 1] + np.log(choice),
                nodes.logs[:, 1] + np.log1p(-choice),
                nodes.logs[:, 2],
            ]
        )
        weights = nodes.log_weights
        if self.tilted:
            weights = weights + _quadratic(nodes.shares) @ tilt
        weights = weights - _log_sum(weights[None])[0]
        log_chances = self.cells.choices @ log_choices + of_pairs + weights
        if self.judged:
            log_chances = log_chances + np.log(self.decided(nodes, judge)[0])
        return log_chances, nodes, weights

    def decided(self, nodes: _Nodes, judge: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (C, G) probabilities of a judge's decisions, and their logit derivatives."""
        yes = _logistic(judge[0] + nodes.shares[:, :2] @ judge[1:])
        d = self.cells.decision[:, None]
        chances = np.maximum(d * yes + (1.0 - d) * (1.0 - yes), TINY)
        return chances, (2.0 * d - 1.0) * yes * (1.0 - yes)

    def log_likelihood(self, parameters: FloatArray) -> FloatArray:
        """Return the log-likelihood of one item of each kind, as a (C,) array."""
        return _log_sum(self.joint(parameters)[0])

    def scores(self, parameters: FloatArray) -> FloatArray:
        """Return (C, P) derivatives of the log-likelihood of one item of each kind."""
        dirichlet, _, judge = np.split(parameters, self.splits)
        log_chances, nodes, weights = self.joint(parameters)
        total = _log_sum(log_chances)
        posterior = np.exp(log_chances - total[:, None])
        by_alpha = [
            (self.log_likelihood(parameters + STEP * unit) - total) / STEP
            for unit in np.eye(len(parameters))[:3]
        ]
        choice = _logistic(dirichlet[3])
        chance = nodes.shares[:, 0] + choice * nodes.shares[:, 1]
        of_second = nodes.shares[:, 1]
        chosen = np.stack(
            [
                of_second / np.maximum(chance, SMALL),
                -of_second / np.maximum(1.0 - chance, SMALL),
            ]
        )
        by_choice = (self.cells.choices * (posterior @ chosen.T)).sum(axis=1)
        by_choice = by_choice * choice * (1.0 - choice)
        by_choice += self.cells.pairs[:, 1] * (1.0 - choice) - self.cells.pairs[:, 2] * choice
        columns = [*by_alpha, by_choice]
        if self.tilted:
            features = _quadratic(nodes.shares)
            columns += list((posterior @ features - np.exp(weights) @ features).T)
        if self.judged:
            chances, slopes = self.decided(nodes, judge)
            by_logit = posterior * slopes / chances
            columns.append(by_logit.sum(axis=1))
            columns += list((by_logit @ nodes.shares[:, :2]).T)
        return np.stack(columns, axis=1)

    def positive(self, parameters: FloatArray) -> FloatArray:
        """Return (C,) probabilities that an item is positive, given its data."""
        log_chances, nodes, _ = self.joint(parameters)
        posterior = np.exp(log_chances - _log_sum(log_chances)[:, None])
        return np.asarray(posterior @ nodes.positive)

    def positive_slopes(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the (C,) result of `positive`, and its (C, P) derivatives."""
        at = self.positive(parameters)
        steps = [self.positive(parameters + STEP * unit) for unit in np.eye(len(parameters))]
        return at, (np.stack(steps, axis=1) - at[:, None]) / STEP


def _logistic(logits: FloatArray | float) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -30.0, 30.0))))


def _log_sum(logs: FloatArray) -> FloatArray:
    """Return the log of the sum of exponentials of each row, as a (C,) array."""
    most = logs.max(axis=1)
    return np.asarray(most + np.log(np.exp(logs - most[:, None]).sum(axis=1)))


def _quadratic(shares: FloatArray) -> FloatArray:
    """Return (G, 5) centred terms: the first two shares, their squares and their product."""
    first, second = shares[:, 0] - 0.4, shares[:, 1] - 0.3
    return np.stack([first, second, first**2, first * second, second**2], axis=1)


def fit(model: SetModel, start: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Maximise the penalised likelihood. Return parameters, (C, P) scores and (P, P) information.

    Steps follow Berndt, Hall, Hall and Hausman (1974), halved until they improve the fit.
    """
    n, penalty, at = model.cells.n, np.diag(1.0 / model.scales**2), start

    def objective(parameters: FloatArray) -> float:
        away = parameters - start
        return float(n @ model.log_likelihood(parameters) - away @ penalty @ away / 2.0)

    best, scores = objective(at), model.scores(at)
    for _ in range(N_STEPS):
        information = scores.T @ (scores * n[:, None]) + penalty
        step = np.linalg.solve(information, n @ scores - penalty @ (at - start))
        step *= min(1.0, LONGEST / max(float(np.abs(step).max()), SMALL))
        reached = [at + step / 2**halving for halving in range(N_HALVINGS)]
        tried = next(((z, v) for z in reached if (v := objective(z)) > best), None)
        if tried is None:
            break
        gain, at, best = tried[1] - best, *tried
        scores = model.scores(at)
        if gain < ENOUGH:
            break
    return at, scores, scores.T @ (scores * n[:, None]) + penalty
