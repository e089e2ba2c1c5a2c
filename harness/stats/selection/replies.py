"""Ranked judges, the items that all of them answered, and metrics at equal replies."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, inf, isinf
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from harness.stats.data.arrays import BoolArray, FloatArray, frozen, reduced
from harness.stats.data.forms import ELICITATION_OF, aggregate
from harness.stats.data.rating_table import Distributions, answers_to, omega_of
from harness.stats.inference.special_functions import binom, gammaln, xlogy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from harness.stats.data.arrays import BoolArray, Counts, FloatArray, IntArray
    from harness.stats.data.forms import Cut
    from harness.stats.data.rating_table import Form, RatingTable
    from harness.stats.inference.metric import SquaredDistance


MIN_ANSWERED = 0.9


@dataclass(frozen=True, slots=True, repr=False)
class SharedItems:
    """Judges that answered enough items, and the items that all of them answered.

    Attributes
    ----------
    answered_fraction : (J,) array
        Share of all items that each judge answered; nan without items.
    ranked : (J,) bool array
        Whether a judge's answered fraction reaches the minimum.
    shared : (n,) bool array
        Whether every ranked judge answered an item; false if no judge is ranked.
    """

    answered_fraction: FloatArray
    ranked: BoolArray
    shared: BoolArray

    def __repr__(self) -> str:
        return f"SharedItems({self.ranked.sum()} judges on {self.shared.sum()} items)"


def shared_items(answered: BoolArray, *, min_answered: float = MIN_ANSWERED) -> SharedItems:
    """Select the judges to rank and the items to compare them on.

    A judge that only answers easy items would win on its own items. So judges are compared on the
    items that all of them answered. A judge that answered too few is not ranked, so that it does
    not reduce the items for the rest.

    Parameters
    ----------
    answered : (J, n) bool array
        Whether each judge answered each item, if every judge ran on every item.
    min_answered : float in [0, 1], optional
        Minimum share of the items that a ranked judge has answered.
    """
    J, n = answered.shape
    fraction = answered.mean(axis=1) if n else np.full(J, np.nan)
    ranked = np.asarray(fraction >= min_answered - 1e-12, dtype=np.bool_)
    shared = np.asarray(answered[ranked].all(axis=0) & ranked.any(), dtype=np.bool_)
    return SharedItems(np.asarray(fraction, dtype=np.float64), ranked, shared)


Contributions: TypeAlias = "Callable[[FloatArray, FloatArray], FloatArray]"
Vectors: TypeAlias = "Callable[..., FloatArray]"
MAX_DRAWS = 2_000  # distinct draws of replies that are enumerated
N_SAMPLED = 200  # draws of replies per item if there are more
MIN_SAMPLES = 2  # one sample shows no reply noise


@dataclass(frozen=True, slots=True, repr=False)
class Replies:
    """A judge's answers per item, as shares of the possible answers.

    Attributes
    ----------
    shares : (n, W) array
        Shares of the W options or response sets; nan rows if the item was not answered.
    n_samples : (n,) array
        Number s of answered samples in each row; infinite for a judge that returns a distribution,
        0 if the item was not answered.
    """

    shares: FloatArray
    n_samples: FloatArray

    def __post_init__(self) -> None:
        for field in ("shares", "n_samples"):
            array = np.asarray(getattr(self, field), dtype=np.float64)
            object.__setattr__(self, field, frozen(array))
        if self.shares.shape[:1] != self.n_samples.shape:
            raise ValueError(
                f"shares has {len(self.shares)} rows but n_samples {len(self.n_samples)}"
            )

    def __repr__(self) -> str:
        return f"Replies({len(self.shares)} items, {self.shares.shape[1]} possible answers)"

    @classmethod
    def of_counts(cls, counts: IntArray) -> Replies:
        """Create replies from (n, W) counts of answered samples."""
        n_samples = reduced(np.add, np.asarray(counts, dtype=np.float64))
        shares = np.full(np.shape(counts), np.nan)
        np.divide(counts, n_samples[:, None], out=shares, where=n_samples[:, None] > 0)
        return cls(shares, n_samples)

    @classmethod
    def of_distribution(cls, distribution: FloatArray) -> Replies:
        """Create replies from (n, W) distributions. Unanswered items have nan rows."""
        unanswered = np.isnan(distribution).any(axis=1)
        return cls(distribution, np.where(unanswered, 0.0, inf))

    def answered(self, n_replies: float) -> BoolArray:
        """Return an (n,) mask of the items that have enough samples for a number of replies.

        To remove reply noise (``n_replies`` infinite), an item needs two samples, which show the
        noise.
        """
        needed = MIN_SAMPLES if isinf(n_replies) else n_replies
        return np.asarray(self.n_samples >= needed, dtype=np.bool_)


@dataclass(frozen=True, slots=True, repr=False)
class CommonItems:
    """Items and number of replies used to compare judges in one elicitation.

    Attributes
    ----------
    n_replies : float
        Replies per item; infinite if reply noise was removed.
    judges : frozenset of str
        The compared judges.
    shared : (n,) bool array
        Whether all of them answered an item with this many replies.
    """

    n_replies: float
    judges: frozenset[str]
    shared: BoolArray

    def __repr__(self) -> str:
        return f"CommonItems({len(self.judges)} judges on {self.shared.sum()} items)"

    def items_of(self, judge: str) -> BoolArray:
        """Return an (n,) mask of the items on which a judge is compared."""
        return self.shared if judge in self.judges else np.zeros_like(self.shared)


def common_items(
    replies: Sequence[Replies],
    rated: BoolArray,
    *,
    n_replies: float | None = None,
    min_answered: float = MIN_ANSWERED,
) -> tuple[float, SharedItems]:
    """Return the replies per item for comparing judges, and the rated items to use.

    Parameters
    ----------
    replies : sequence of Replies
        Replies of each judge, over the same n items.
    rated : (n,) bool array
        Items that the raters rated.
    n_replies : float, optional
        Replies per item. Default: `replies_in_common`.
    min_answered : float, optional
        As in `shared_items`.
    """
    if n_replies is None:
        n_replies = replies_in_common(replies, rated, min_answered)
    answered = np.array([z.answered(n_replies) for z in replies]).reshape(len(replies), len(rated))
    sharing = shared_items(answered[:, rated], min_answered=min_answered)
    shared = np.zeros(len(rated), dtype=np.bool_)
    shared[rated] = sharing.shared
    return n_replies, SharedItems(sharing.answered_fraction, sharing.ranked, shared)


def replies_in_common(replies: Sequence[Replies], rated: BoolArray, min_answered: float) -> float:
    """Return the smallest `samples_per_item` on rated items over all judges."""
    samples = [samples_per_item(z.n_samples[rated], min_answered) for z in replies]
    return min(samples, default=1)


def samples_per_item(n_samples: FloatArray, min_answered: float = MIN_ANSWERED) -> float:
    """Return the most replies that a share ``min_answered`` of (n,) items has, at least 1.

    A judge that returns distributions has infinitely many.
    """
    n = len(n_samples)
    if not n:
        return 1
    place = max(int(np.ceil(min_answered * n - 1e-9)) - 1, 0)
    enough = np.sort(n_samples)[::-1][place]
    return inf if isinf(enough) else max(int(enough), 1)


def counts_of(table: RatingTable, form: Form) -> Counts:
    """Return the (n, W) counts of answers that a form uses."""
    return answers_to(table, ELICITATION_OF[form])[0]


def replies_of(table: RatingTable, form: Form) -> Replies:
    """Return a judge's (n, W) answers in the form that a metric uses."""
    counts, is_exact = answers_to(table, ELICITATION_OF[form])
    if not is_exact:
        return Replies.of_counts(np.asarray(counts, dtype=np.int64))
    return Replies.of_distribution(np.where(counts.sum(axis=1, keepdims=True) > 0, counts, np.nan))


def drawn_replies(
    replies: Replies, n_replies: float, rng_of: Callable[[int], np.random.Generator]
) -> FloatArray:
    """Draw the same number of replies for every item, so that judges are tested equally.

    Parameters
    ----------
    replies : Replies
        Replies of a judge.
    n_replies : int or inf
        Number of replies; infinite for the distributions themselves.
    rng_of : callable
        Returns the random generator for an item.

    Returns
    -------
    (n, W) array
        Counts of r replies per item, drawn without replacement, or of r independent draws from a
        distribution; zeros if an item has fewer replies.
    """
    counts = np.zeros(replies.shares.shape)
    answered = np.flatnonzero(replies.answered(n_replies))
    if isinf(n_replies):
        counts[answered] = replies.shares[answered]
        return counts
    r = int(n_replies)
    every = answered[replies.n_samples[answered] == r]
    counts[every] = np.rint(replies.shares[every] * r)
    for i in answered[replies.n_samples[answered] > r].tolist():
        shares, s = replies.shares[i], replies.n_samples[i]
        if isinf(s):
            counts[i] = rng_of(i).multinomial(r, shares / shares.sum())
        else:
            given = np.rint(shares * s).astype(np.int64)
            counts[i] = rng_of(i).multivariate_hypergeometric(given, r)
    return counts


def vectors_of(table: RatingTable, form: Form, cut: Cut) -> Vectors:
    """Return a function that converts answers to rating vectors of a form.

    Its arguments are (n, W) shares of answers and, if it matters, their (n,) numbers; its result is
    (n, D).
    """
    space, choices = table.space, ELICITATION_OF[form] == "forced_choice"

    def vectors(shares: FloatArray, n_ratings: FloatArray | None = None) -> FloatArray:
        n = len(shares)
        options = shares if choices else np.full((n, len(space.options)), np.nan)
        theta = np.full((n, len(space.sets)), np.nan) if choices else shares
        omega = omega_of(theta, space)
        m = np.ones(n) if n_ratings is None else n_ratings
        rows = Distributions(space, options, theta, omega, m, m)
        return aggregate(rows, form, tau=cut.tau, positive=cut.positive)

    return vectors


def decisions_at_replies(table: RatingTable, cut: Cut, n_replies: float | None) -> FloatArray:
    """Return (n, 1) probabilities of a positive decision from r replies per item.

    The r replies are drawn as in `contributions_at_replies`; with None or infinity, all replies are
    used and the result is 0.0 or 1.0. Consistency and bias are linear in the decision, so computing
    them from its probability gives their expectation. Rows are nan if the judge has no replies.
    """
    vectors, replies = vectors_of(table, "decision", cut), replies_of(table, "decision")
    decisions = vectors(replies.shares)
    if n_replies is None or isinf(n_replies):
        return decisions
    more = replies.n_samples > n_replies
    if more.any():
        drawn = Replies(replies.shares[more], replies.n_samples[more])
        decisions[more] = _expected(vectors, drawn, int(n_replies))
    return decisions


def contributions_at_replies(
    contributions: Contributions,
    human: FloatArray,
    replies: Replies,
    n_replies: float,
    *,
    vectors: Vectors,
    squared: SquaredDistance | None = None,
) -> FloatArray:
    """Return a metric's expected (n, d) contributions from r replies per item.

    The r replies are drawn from an item's s answered samples without replacement, each subset
    equally likely; from a judge's distribution they are drawn independently. If there are too many
    distinct draws to enumerate, some are sampled with a fixed seed. Rows are nan if the judge has
    fewer than r samples.

    Parameters
    ----------
    contributions, squared
        Fields of a `Metric`; the expectation of a squared distance has a closed form.
    human : (n, D) array
        Rating vectors of the raters.
    replies : Replies
        The judge's answers on the same items.
    n_replies : int or inf
        r, 1 or more. Infinite means without reply noise, which only quadratic metrics and
        distributions support.
    vectors : callable
        ``(n, W) shares -> (n, D')``: rating vectors in the judge's form.

    Notes
    -----
    The closed form of ``sum_k (H_k - J_k)^2`` adds ``(1/r - 1/s) s/(s - 1) J_k (1 - J_k)`` per
    entry, where J are the shares of all s samples, and ``J_k (1 - J_k) / r`` if s is infinite.
    """
    if not n_replies > 0:
        raise ValueError(f"n_replies is {n_replies}; wanted 1 or more")
    answered = replies.answered(n_replies)
    if not answered.all():
        kept = contributions_at_replies(
            contributions,
            human[answered],
            Replies(replies.shares[answered], replies.n_samples[answered]),
            n_replies,
            vectors=vectors,
            squared=squared,
        )
        expanded = np.full((len(human), kept.shape[1]), np.nan)
        expanded[answered] = kept
        return expanded
    if squared is not None:
        judge = vectors(replies.shares)
        sums = contributions(human, judge)
        shares = squared.linear(judge)
        noise = (shares * (1.0 - shares)).sum(axis=1) * squared.per_entry(shares.shape[1])
        added = noise * _noise_factor(replies.n_samples, n_replies)
        sums[:, 0] += sums[:, 1] * added
        return sums
    if (replies.n_samples == n_replies).all():
        return contributions(human, vectors(replies.shares))
    if isinf(n_replies):
        raise ValueError("reply noise can be removed only from quadratic metrics")

    def score(shares: FloatArray) -> FloatArray:
        judge = vectors(shares)
        return contributions(human, np.broadcast_to(judge, (len(human), judge.shape[1])))

    return _expected(score, replies, int(n_replies))


def _noise_factor(s: FloatArray, n_replies: float) -> FloatArray:
    """Return the (n,) factors of J (1 - J) for r replies in place of all s samples."""
    factor = np.zeros(len(s))
    finite = ~np.isinf(s)
    if isinf(n_replies):
        factor[finite] = -1.0 / (s[finite] - 1.0)
    else:
        factor[~finite] = 1.0 / n_replies
        more = finite & (s > n_replies)
        factor[more] = (1.0 / n_replies - 1.0 / s[more]) * s[more] / (s[more] - 1.0)
    return factor


def _expected(
    score: Callable[[FloatArray], FloatArray],
    replies: Replies,
    n_replies: int,
) -> FloatArray:
    """Average (n, d) scores over the draws of replies. Draws are (n, W) or (1, W) shares."""
    possible = np.flatnonzero((replies.shares > 0).any(axis=0))
    expected = np.zeros(0)
    if comb(len(possible) + n_replies - 1, n_replies) <= MAX_DRAWS:
        draws = _enumerated(replies, n_replies, possible)
    else:
        draws = _sampled(replies, n_replies, np.random.default_rng(0))
    for shares, probability in draws:
        expected = probability[:, None] * score(shares) + (expected if expected.size else 0.0)
    return expected


def _enumerated(
    replies: Replies, n_replies: int, possible: IntArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield each draw as (1, W) shares, with its (n,) probabilities for the items."""
    for answers in combinations_with_replacement(possible.tolist(), n_replies):
        drawn = np.bincount(answers, minlength=replies.shares.shape[1]).astype(np.float64)
        yield drawn[None] / n_replies, draw_probability(replies, drawn)


def draw_probability(replies: Replies, drawn: FloatArray) -> FloatArray:
    """Return (n,) probabilities that an item's replies have the (W,) counts ``drawn``.

    The distribution is multivariate hypergeometric for counted samples, and multinomial for
    distributions.
    """
    n_replies = drawn.sum()
    finite = ~np.isinf(replies.n_samples)
    probability = np.empty(len(finite))
    counts = np.rint(replies.shares[finite] * replies.n_samples[finite, None])
    ways = binom(counts, drawn).prod(axis=1)
    probability[finite] = ways / binom(replies.n_samples[finite], n_replies)
    orders = gammaln(n_replies + 1.0) - gammaln(drawn + 1.0).sum()
    probability[~finite] = np.exp(orders + xlogy(drawn, replies.shares[~finite]).sum(axis=1))
    return probability


def _sampled(
    replies: Replies, n_replies: int, rng: np.random.Generator
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield sampled draws as (n, W) shares, with equal probabilities."""
    equal = np.full(len(replies.shares), 1.0 / N_SAMPLED)
    finite = ~np.isinf(replies.n_samples)
    counts = np.rint(replies.shares[finite] * replies.n_samples[finite, None]).astype(np.int64)
    drawn = np.empty(replies.shares.shape)
    for _ in range(N_SAMPLED):
        drawn[finite] = _without_replacement(counts, n_replies, rng)
        drawn[~finite] = rng.multinomial(n_replies, replies.shares[~finite])
        yield drawn / n_replies, equal


def _without_replacement(counts: IntArray, n_drawn: int, rng: np.random.Generator) -> IntArray:
    """Draw from each row of (n, W) counts without replacement, one answer at a time."""
    drawn = np.zeros_like(counts)
    left, remaining = counts.sum(axis=1), np.full(len(counts), n_drawn)
    for k in range(counts.shape[1]):
        left = left - counts[:, k]
        drawn[:, k] = rng.hypergeometric(counts[:, k], left, remaining)
        remaining = remaining - drawn[:, k]
    return drawn
