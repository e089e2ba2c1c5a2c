"""Maximum likelihood estimates of F and beta from independent calls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np

from harness.stats.data.arrays import TOLERANCE, BoolArray, FloatArray, IntArray, frozen, ratio
from harness.stats.indeterminacy.profile_likelihood import ShareProfile
from harness.stats.indeterminacy.translation_intervals import effective_units, share_intervals
from harness.stats.inference.cluster_robust import jackknife_steps
from harness.stats.inference.estimate import TOO_FEW, Estimate, Interval, exclusions, share_interval
from harness.stats.inference.special_functions import stdtrit
from harness.stats.modes import MadeBy
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.stats.data.option_space import OptionSpace
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.bootstrap import Resampling, Units

N_DRAWS = (16, 64)  # minimum and maximum draws of theta per item
ALL_DRAWS = 30_000  # draws for all items, within these bounds
MAX_STEPS = 300  # each has two EM steps and one extrapolation
STEP, ROUGH_STEP = 1e-6, 1e-4  # the search ends when every entry of F moves by less
LOG_PSEUDO_COUNTS = (-4.0, 7.0)  # search bounds for the spread of theta over items
SHIFT = 0.65  # of the way to the forced choices' theta: draws then cover both sides
TINY = 1e-300  # keeps a theta possible if its draw underflowed
KEPT = 0.1  # least share of an entry of F that remains after extrapolation
MIN_CALLS = 2  # set calls that an item needs to show its spread
STANDARD_ERRORS = 2.0  # difference between items needed for a direction of F to be known
BLUR = 0.1  # share of a column's directions that may be unknown
MIN_UNITS = 20  # intervals from fewer have low coverage; see docs/coverage.md
NEVER = 1e-9  # probabilities below this contain no information about their split
RANK = 1e-10  # directions count as flat below this share of the steepest


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class CommonF:  # noqa: PLW1641 -- the decorator makes a hash
    """An F common to all items, and the number of calls it is estimated from.

    Attributes
    ----------
    F : (K, V) array
        P(option k is chosen, given set v is accepted). Columns sum to 1 and are zero off the
        support; nan if ``reasons`` has a reason.
    reasons : V strings
        "" if column v is known; "never_endorsed"; "not_identified" if the items differ too little;
        "no_calls" if no item has both kinds of call; "not_computed".
    low, high : (K, V) array
        Ends of each entry's interval; nan off the support, for sets of one option, and for fewer
        than 20 items or groups.
    n_items : int
        Number of items with forced-choice and response-set calls.
    n_forced, n_sets : int
        Number of calls of each kind on these items.
    converged : bool
        Whether the search ended before its last step.
    """

    F: FloatArray
    reasons: tuple[Reason, ...]
    low: Annotated[FloatArray, MadeBy("profile likelihood", "exact")]
    high: Annotated[FloatArray, MadeBy("profile likelihood", "exact")]
    n_items: int
    n_forced: int
    n_sets: int
    converged: bool

    def __eq__(self, other: object) -> bool:
        """Return whether all fields are equal. Undefined entries of F equal each other."""
        if not isinstance(other, CommonF):
            return NotImplemented
        names = ("reasons", "n_items", "n_forced", "n_sets", "converged")
        alike = all(getattr(self, name) == getattr(other, name) for name in names)
        pairs = ((self.F, other.F), (self.low, other.low), (self.high, other.high))
        return alike and all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)

    def __repr__(self) -> str:
        calls = f"{self.n_forced} forced and {self.n_sets} set calls"
        return f"CommonF({self.n_items} items, {calls})"

    @classmethod
    def not_computed(cls, space: OptionSpace) -> Self:
        """Return a placeholder for a fit that would take too long."""
        F = np.full(space.membership.shape, np.nan)
        reasons: list[Reason] = ["not_computed"] * len(space.sets)
        return cls(
            F=F,
            reasons=tuple(reasons),
            low=F,
            high=F,
            n_items=0,
            n_forced=0,
            n_sets=0,
            converged=True,
        )


def F_by_likelihood(table: RatingTable, *, resampling: Resampling) -> CommonF:
    """Fit one F to forced choices and response sets from independent calls.

    Parameters
    ----------
    table : RatingTable
        Counts of both elicitations. Calls that were part of a pair are subtracted if the table
        includes them, because they are not independent calls.
    resampling : Resampling
        Supplies the generator for the values of theta over which the likelihood is averaged, and
        the groups and level of the intervals. There are no resamples, because each would need a
        fit.

    Returns
    -------
    CommonF
        The estimate. F per item is not identified from such calls, so it is not offered.

    Notes
    -----
    O_i = F theta_i (Guerdan et al. 2025, theorem 3.3, without rater error), F zero off the support.
    Theta varies between items with a Dirichlet distribution fitted to the response sets. The
    likelihood of the choices is averaged over 16 to 64 draws of theta per item, and maximised by
    EM. Fitting every theta_i as a separate parameter would push small entries of F to 0 if there
    are few calls per item.

    A column is known only if the items differ enough: the second moments of theta, free of sampling
    noise, must determine every direction of F in which the column could move.

    Intervals use Student's t distribution, with one degree of freedom less than the number of items
    or groups, and the variance of the jackknife that leaves out each of them (MacKinnon and White
    1985, as HC3; Bell and McCaffrey 2002 for groups), each by one Newton step. They are never
    narrower than the exact interval for the effective number of items with the set. For their
    coverage, see docs/coverage.md.
    """
    calls = _Calls.of(table)
    fitted = _fit(calls, table.space, resampling.rng) if calls.used.any() else None
    return _common(calls, table.space, fitted, resampling)


def _common(
    calls: _Calls,
    space: OptionSpace,
    fitted: tuple[_Fit, _Draws] | None,
    resampling: Resampling,
) -> CommonF:
    reasons = _reasons(calls, space)
    F = np.full(space.membership.shape, np.nan)
    low, high = np.full((2, *F.shape), np.nan)
    converged = True
    if fitted is not None:
        fit, draws = fitted
        identified = np.array([not reason for reason in reasons])
        F[:, identified] = fit.F[:, identified]
        converged = fit.converged
        of_item = resampling.units(len(calls.used)).of_item[calls.used]
        ends = _ends(fit, draws, space.membership, of_item, resampling.level)
        chosen = space.membership & (space.membership.sum(axis=0) > 1) & identified
        low, high = (np.where(chosen, end, np.nan) for end in ends)
    return CommonF(
        F=frozen(F),
        reasons=reasons,
        low=frozen(low),
        high=frozen(high),
        n_items=int(calls.used.sum()),
        n_forced=int(calls.forced.sum()),
        n_sets=int(calls.sets.sum()),
        converged=converged,
    )


def F_and_beta_by_likelihood(
    table: RatingTable,
    positive: Iterable[str],
    *,
    resampling: Resampling,
) -> tuple[CommonF, Estimate]:
    """Estimate F and beta, with beta's interval, from a single fit to independent calls.

    Parameters
    ----------
    table : RatingTable
        As in `F_by_likelihood`.
    positive : iterable of str
        The positive options; all others are negative.
    resampling : Resampling
        Generator, groups and level of the interval; there are no resamples, because each would need
        a separate fit.

    Returns
    -------
    F : CommonF
        As from `F_by_likelihood`.
    beta : Estimate
        P(a positive option in S, given a negative option was chosen). NA "no_calls",
        "no_negative_choice", or "not_identified" if it needs an unknown column. There is no
        interval ("too_few_items" or "too_few_groups") with fewer than 20 of them.

    Notes
    -----
    This is beta of Guerdan et al. 2025, section 7, computed from F and theta. Matching the calls
    instead gives ``cross_call_beta``, which is not an estimate of beta.

    The interval contains every beta at which the likelihood, maximised over F, is not significantly
    less than at the estimate. Twice the difference between the log-likelihoods is divided by the
    ratio of two variances of beta. The first is from the infinitesimal jackknife (Jaeckel 1972):
    the summed squares of `_influence`, which includes the items' thetas and counts groups as one.
    The second is from only the curvature. The interval is never narrower than the exact one for the
    effective number of items with negative choices, so its width is never zero. For its coverage,
    see docs/coverage.md.
    """
    calls, space = _Calls.of(table), table.space
    options = tuple(positive)
    meets, negative = space.meets(options), ~space.option_mask(options)
    units = resampling.units(len(calls.used))
    hidden = space.membership[negative].any(axis=0) & meets
    unknown = np.array([why == "not_identified" for why in _reasons(calls, space)])
    reason: Reason = "not_identified" if (unknown & hidden).any() else ""
    reason = reason if calls.used.any() else "no_calls"
    value, interval = np.nan, None
    interval_reason: Reason = ""
    fitted = _fit(calls, space, resampling.rng) if calls.used.any() else None
    if fitted is not None and not reason:
        value = _beta(fitted[0], meets, negative)
        reason = "no_negative_choice" if np.isnan(value) else ""
    if not reason and fitted is not None:
        shares = _Shares(*fitted, meets, negative, space.membership)
        interval = shares.interval(value, units, calls.used, resampling.level)
        interval_reason = "" if interval else TOO_FEW[units.kind]
    n_used, n = len(calls.forced), len(calls.used)
    beta = Estimate(
        value=None if reason else value,
        reason=reason,
        interval=interval,
        interval_reason=interval_reason,
        n_used=n_used,
        n_excluded=n - n_used,
        excluded=exclusions([("no_calls", n - n_used)]),
        counts={"forced_calls": float(calls.forced.sum()), "set_calls": float(calls.sets.sum())},
    )
    return _common(calls, space, fitted, resampling), beta


@dataclass(frozen=True, slots=True, repr=False)
class _Calls:
    """Counts of independent calls, for items that have both kinds of call."""

    used: BoolArray
    forced: FloatArray
    sets: FloatArray

    @classmethod
    def of(cls, table: RatingTable) -> _Calls:
        forced, sets = table.forced_choice, table.response_set
        answered = table.outcomes[:, :, 0]
        if table.joint is not None and np.array_equal(
            forced.sum(axis=1), answered[:, 0] + answered[:, 2]
        ):
            forced = np.maximum(forced - table.joint.sum(axis=2), 0)
            sets = np.maximum(sets - table.joint.sum(axis=1), 0)
        used = np.asarray(forced.any(axis=1) & sets.any(axis=1), dtype=np.bool_)
        return cls(used, forced[used].astype(np.float64), sets[used].astype(np.float64))


@dataclass(frozen=True, slots=True, repr=False)
class _Draws:
    """Forced choices (n, K), and (n, S, U) draws of theta over the U possible sets.

    ``sets`` (n, U) are their counts, and ``pseudo`` (U,) the Dirichlet distribution of theta over
    items; ``kept`` says whether each of the V sets is among them; ``offset`` (n, S) is the
    logarithm of a draw's weight before using the forced choices.
    """

    forced: FloatArray
    sets: FloatArray
    pseudo: FloatArray
    theta: FloatArray
    offset: FloatArray
    kept: BoolArray

    @classmethod
    def near(
        cls,
        calls: _Calls,
        kept: BoolArray,
        pseudo: FloatArray,
        guess: FloatArray,
        rng: np.random.Generator,
    ) -> _Draws:
        """Draw theta from its Dirichlet posterior, after adding (n, U) guessed extra sets."""
        sets = calls.sets[:, kept]
        n, U = sets.shape
        shape = (sets + pseudo + guess)[:, None, :]
        S = int(np.clip(ALL_DRAWS // n, *N_DRAWS))
        drawn = rng.standard_gamma(np.broadcast_to(shape, (n, S, U))) + TINY
        theta = drawn / drawn.sum(axis=2, keepdims=True)
        offset = -np.einsum("nsu,nu->ns", np.log(theta), guess)
        return cls(calls.forced, sets, pseudo, theta, offset, kept)

    def fewer(self) -> _Draws:
        """Keep only the minimum number of draws."""
        n_draws = N_DRAWS[0]
        return replace(self, theta=self.theta[:, :n_draws], offset=self.offset[:, :n_draws])


def _fit(calls: _Calls, space: OptionSpace, rng: np.random.Generator) -> tuple[_Fit, _Draws]:
    """Fit roughly, redraw theta given the forced choices, and then fit precisely."""
    endorsed = calls.sets.any(axis=0)
    unexplained = calls.forced.any(axis=0) & ~space.membership[:, endorsed].any(axis=1)
    singleton = space.membership.sum(axis=0) == 1
    kept = endorsed | singleton | space.membership[unexplained].any(axis=0)
    pseudo, none = _pseudo_counts(calls.sets[:, kept]), np.zeros_like(calls.sets[:, kept])
    chance = np.asarray(space.membership / space.membership.sum(axis=0), dtype=np.float64)
    rough = _climb(_Draws.near(calls, kept, pseudo, none, rng).fewer(), chance, ROUGH_STEP)
    part, theta = rough.F[:, kept], rough.theta[:, kept]
    behind = theta * (ratio(calls.forced, np.maximum(theta @ part.T, TINY)) @ part)
    draws = _Draws.near(calls, kept, pseudo, SHIFT * behind, rng)
    return _climb(draws, rough.F, STEP), draws


def _pseudo_counts(sets: FloatArray) -> FloatArray:
    """Fit theta's Dirichlet distribution to (n, U) counts of sets. Returns a (U,) array."""
    from scipy.optimize import minimize  # noqa: PLC0415 -- takes a while to load
    from scipy.special import digamma, gammaln  # noqa: PLC0415 -- also slow to load

    m, n = sets.sum(axis=1), len(sets)
    ones = np.ones(n)  # a product with ones sums over items faster than `sum`

    def cost(logs: FloatArray) -> tuple[float, FloatArray]:
        a = np.exp(logs)
        total = a.sum()
        fit = n * gammaln(total) - ones @ gammaln(total + m)
        fit += (ones @ (gammaln(a + sets) - gammaln(a))).sum()
        common = n * digamma(total) - ones @ digamma(total + m)
        return -float(fit), -a * (common + ones @ (digamma(a + sets) - digamma(a)))

    start = np.zeros(sets.shape[1])
    optimum = minimize(
        cost, start, jac=True, method="L-BFGS-B", bounds=[LOG_PSEUDO_COUNTS] * len(start)
    )
    return np.asarray(np.exp(optimum.x), dtype=np.float64)


@dataclass(frozen=True, slots=True, repr=False)
class _Fit:
    F: FloatArray
    theta: FloatArray
    converged: bool


def _climb(draws: _Draws, F: FloatArray, step: float) -> _Fit:
    """Maximise the likelihood by EM. Extrapolate every two steps as long as that helps."""
    part, moved, steps = F[:, draws.kept], np.inf, 0
    height, posterior = -np.inf, np.empty(0)
    fallback = part
    while moved >= step and steps < MAX_STEPS:
        first, reached, posterior = _step(draws, part)
        if reached < height:  # extrapolation lowered the likelihood: use the plain step
            part, height = fallback, -np.inf
            continue
        fallback, height, _ = _step(draws, first)
        moved, steps = float(np.abs(fallback - first).max()), steps + 1
        part = _lengthen(part, first, fallback)
    whole, theta = F.copy(), np.zeros((len(draws.forced), F.shape[1]))
    whole[:, draws.kept] = fallback
    theta[:, draws.kept] = np.einsum("ns,nsu->nu", posterior, draws.theta)
    return _Fit(whole, theta, converged=moved < step)


def _step(draws: _Draws, part: FloatArray) -> tuple[FloatArray, float, FloatArray]:
    """Do one EM step. Return the new F, the previous log-likelihood, and (n, S) weights of theta.

    The missing data are theta and the set behind each forced choice.
    """
    n, S, U = draws.theta.shape
    O, posterior, heights = _weigh(draws, part)
    height = float(np.ones(n) @ heights)
    pull = posterior[:, :, None] * draws.forced[:, None, :] / O
    chosen = part * (pull.reshape(n * S, -1).T @ draws.theta.reshape(n * S, U))
    drawn = chosen.sum(axis=0)
    return np.where(drawn > 0, chosen / np.where(drawn > 0, drawn, 1.0), part), height, posterior


def _weigh(draws: _Draws, part: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return O of each draw (n, S, K), each draw's weight (n, S) and log-likelihoods (n,)."""
    n, S, U = draws.theta.shape
    O = np.maximum((draws.theta.reshape(n * S, U) @ part.T).reshape(n, S, -1), TINY)
    logs = np.einsum("nsk,nk->ns", np.log(O), draws.forced) + draws.offset
    greatest = logs.max(axis=1, keepdims=True)
    posterior = np.exp(logs - greatest)
    total = posterior.sum(axis=1, keepdims=True)
    return O, posterior / total, (greatest + np.log(total))[:, 0]


def _lengthen(start: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Extrapolate two EM steps by the squared iterative method, but stay inside the simplex."""
    change = first - start
    bend = (second - first) - change
    size = float(np.linalg.norm(bend))
    length = max(1.0, float(np.linalg.norm(change)) / size) if size > TOLERANCE else 1.0
    longer = start + 2.0 * length * change + length**2 * bend
    inside = np.maximum(longer, KEPT * second)
    return np.asarray(inside / inside.sum(axis=0), dtype=np.float64)


def _ends(
    fit: _Fit, draws: _Draws, support: BoolArray, of_item: IntArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the (K, V) ends of the intervals for F, or nan if there are too few units."""
    units, unit_of = np.unique(of_item, return_inverse=True)
    low, high = np.full((2, *support.shape), np.nan)
    if len(units) < MIN_UNITS:
        return low, high
    kept, part = draws.kept, fit.F[:, draws.kept]
    endorsed = np.zeros((len(units), len(kept)))
    np.add.at(endorsed, unit_of, fit.theta)
    floor = share_intervals(
        np.where(support, fit.F, np.nan), effective_units(endorsed) * np.ones((len(support), 1)),
        level=level,
    )  # fmt: skip
    _, scores = _scores(draws, part)
    moves = _directions(support[:, kept]).reshape(-1, part.size)
    along = scores.reshape(len(scores), -1) @ moves.T
    moved = jackknife_steps(along, unit_of, rank=RANK) @ moves
    G = len(units)
    reach = stdtrit(G - 1.0, (1.0 + level) / 2.0) * np.sqrt((G - 1) / G * (moved**2).sum(axis=0))
    reach = reach.reshape(part.shape)
    low[:, kept], high[:, kept] = np.maximum(part - reach, 0.0), np.minimum(part + reach, 1.0)
    return np.minimum(low, floor[0]), np.maximum(high, floor[1])


def _beta(fit: _Fit, meets: BoolArray, negative: BoolArray) -> float:
    chosen = fit.F[negative].sum(axis=0) * (np.ones(len(fit.theta)) @ fit.theta)
    return float(ratio(chosen[meets].sum(), chosen.sum()))


@dataclass(frozen=True, slots=True, repr=False)
class _Shares:
    """A fit, and the uncertainty about beta that results from it.

    ``meets`` (V,) says whether each set meets the positive options, ``negative`` (K,) whether each
    option is negative, and ``support`` (K, V) whether each entry of F can be positive.
    """

    fit: _Fit
    draws: _Draws
    meets: BoolArray
    negative: BoolArray
    support: BoolArray

    def interval(
        self, value: float, units: Units, used: BoolArray, level: float
    ) -> Interval | None:
        """Return beta's interval, or None if there are too few units."""
        of_item = units.of_item[used]
        influence, negative_choices = np.zeros((2, units.n_units))
        np.add.at(influence, of_item, self.influence())
        np.add.at(negative_choices, of_item, self.fit.theta @ self.fit.F[self.negative].sum(axis=0))
        if len(np.unique(of_item)) < MIN_UNITS:
            return None
        n_effective = negative_choices.sum() ** 2 / (negative_choices**2).sum()
        floor = share_interval(min(value, 1.0), float(n_effective), level=level)
        profile = self.profile(float((influence**2).sum()))
        low, high = profile.ends(level) if profile else (value, value)
        return Interval(
            min(low, floor.low), max(high, floor.high), level, "profile likelihood", units.kind
        )

    def profile(self, variance: float) -> ShareProfile | None:
        """Return the likelihood along P(negative chosen) of each set that can hide a positive.

        The split of that probability among the negative options, and of the rest among the positive
        ones, is as in the fit. The result is None if no such set occurs or there are no other
        negative choices.
        """
        draws, kept = self.draws, self.draws.kept
        F, support, meets = self.fit.F[:, kept], self.support[:, kept], self.meets[kept]
        endorsed, chosen = self.fit.theta[:, kept].sum(axis=0), F[self.negative].sum(axis=0)
        hidden = np.flatnonzero(meets & support[self.negative].any(axis=0) & (endorsed > NEVER))
        others = float((chosen * endorsed)[~meets].sum())
        if not hidden.size or others <= NEVER:
            return None
        negative = self.negative[:, None]
        positive_split = _split(F, support & ~negative)
        slopes = (_split(F, support & negative) - positive_split)[:, hidden]  # of F in each P

        def part_at(chances: FloatArray) -> FloatArray:
            part = F.copy()
            part[:, hidden] = positive_split[:, hidden] + slopes * chances
            return part

        def height(chances: FloatArray) -> tuple[float, FloatArray]:
            total, scores = _scores(draws, part_at(chances))
            return total, (scores.sum(axis=0)[:, hidden] * slopes).sum(axis=0)

        chances, exposure = chosen[hidden], endorsed[hidden]
        _, scores = _scores(draws, part_at(chances))
        along = (scores[:, :, hidden] * slopes).sum(axis=1)
        gradient = exposure * others / (exposure @ chances + others) ** 2
        curvature = float(gradient @ _newton(along, gradient))
        return ShareProfile(
            height=height,
            chances=chances,
            exposure=exposure,
            others=others,
            inflation=max(variance / curvature, 1.0) if curvature > 0 else 1.0,
        )

    def influence(self) -> FloatArray:
        """Return the derivative of beta with respect to each item's weight, as an (n,) array.

        Beta depends on the item's own theta, on F, and on the distribution of theta over items. The
        last two solve the equation that the weighted scores of all items add up to 0. The slope of
        that sum is estimated from the products of the scores.
        """
        fit, draws, negative = self.fit, self.draws, self.negative
        part, x = fit.F[:, draws.kept], draws.forced
        O, posterior, _ = _weigh(draws, part)
        theta = np.einsum("ns,nsu->nu", posterior, draws.theta)
        chosen, endorsed = part[negative].sum(axis=0), theta.sum(axis=0)
        meets = self.meets[draws.kept]
        beta = ratio((chosen * endorsed)[meets].sum(), chosen @ endorsed)
        slope = (meets - beta) / (chosen @ endorsed)  # slope of beta in each set's chosen share
        pull = posterior[:, :, None] * x[:, None, :] / O
        scores = np.einsum("nsk,nsu->nku", pull, draws.theta).reshape(len(x), -1)
        off = (draws.theta - theta[:, None, :]) @ (slope * chosen)  # (n, S)
        by_F = np.einsum("nsk,nsu->ku", pull * off[:, :, None], draws.theta)
        by_F += negative[:, None] * (slope * endorsed)
        moves = _directions(self.support[:, draws.kept]).reshape(-1, part.size)
        climb = _newton(scores @ moves.T, moves @ by_F.ravel()) @ moves
        along = np.einsum("nsk,nsk->ns", pull, draws.theta @ climb.reshape(part.shape).T)
        logs = np.log(draws.theta)
        logs -= np.einsum("ns,nsu->nu", posterior, logs)[:, None, :]
        by_pseudo = np.einsum("ns,nsu->u", along + posterior * off, logs)
        of_pseudo = _pseudo_scores(draws.sets, draws.pseudo)
        own = theta @ (slope * chosen)
        return np.asarray(own + scores @ climb + of_pseudo @ _newton(of_pseudo, by_pseudo))


def _scores(draws: _Draws, part: FloatArray) -> tuple[float, FloatArray]:
    """Return the log-likelihood, and its (n, K, U) derivatives by F for each item."""
    O, posterior, heights = _weigh(draws, part)
    pull = posterior[:, :, None] * draws.forced[:, None, :] / O
    return float(heights.sum()), np.einsum("nsk,nsu->nku", pull, draws.theta)


def _split(part: FloatArray, members: BoolArray) -> FloatArray:
    """Normalise each column of F over some options. If all are 0, split evenly."""
    inside, n_members = np.where(members, part, 0.0), members.sum(axis=0)
    total = inside.sum(axis=0)
    even = members / np.maximum(n_members, 1)
    return np.where(total > NEVER, inside / np.where(total > NEVER, total, 1.0), even)


def _newton(scores: FloatArray, gradient: FloatArray) -> FloatArray:
    """Solve for the Newton step from (n, P) scores and a (P,) gradient. Skip flat directions."""
    return np.asarray(np.linalg.lstsq(scores.T @ scores, gradient, rcond=RANK)[0])


def _pseudo_scores(sets: FloatArray, pseudo: FloatArray) -> FloatArray:
    """Return (n, U) derivatives of each item's Dirichlet-multinomial log-likelihood."""
    from scipy.special import digamma  # noqa: PLC0415 -- takes a while to load

    total = pseudo.sum()
    common = digamma(total) - digamma(total + sets.sum(axis=1))
    return np.asarray(common[:, None] + digamma(pseudo + sets) - digamma(pseudo))


def _reasons(calls: _Calls, space: OptionSpace) -> tuple[Reason, ...]:
    if not calls.used.any():
        return tuple("no_calls" for _ in space.sets)
    endorsed = np.asarray(calls.sets.any(axis=0), dtype=np.bool_)
    unknown = _unknown(calls, space, endorsed)
    return tuple(
        "never_endorsed" if not is_endorsed else "not_identified" if is_unknown else ""
        for is_endorsed, is_unknown in zip(endorsed, unknown, strict=True)
    )


def _unknown(calls: _Calls, space: OptionSpace, endorsed: BoolArray) -> BoolArray:
    """Return a (V,) mask of the columns of F that can change without clearly changing any O_i."""
    directions = _directions(space.membership & endorsed)  # (P, K, V)
    m = calls.sets.sum(axis=1)
    telling = m >= MIN_CALLS
    y, weight = calls.sets[telling], (m * (m - 1.0))[telling, None]
    n, P = len(y), len(directions)
    unknown = np.zeros(len(space.sets), dtype=np.bool_)
    if n < MIN_CALLS or not P:
        return np.asarray(endorsed & (space.membership.sum(axis=0) > 1), dtype=np.bool_)
    gram = ((y / weight).T @ y - np.diag((y / weight).sum(axis=0))) / n  # E theta theta', unbiased
    information = np.einsum("pkv,vu,qku->pq", directions, gram, directions, optimize=True)
    _, vectors = np.linalg.eigh(information)
    turned = np.einsum("pkv,pr->rkv", directions, vectors)
    blurred = np.zeros(len(space.sets))
    for direction in turned:
        moved = ((y @ direction.T) ** 2).sum(axis=1) - y @ (direction**2).sum(axis=0)
        shown = moved / weight[:, 0]
        if shown.mean() <= STANDARD_ERRORS * shown.std(ddof=1) / n**0.5:
            blurred += (direction**2).sum(axis=0)
    unknown |= blurred > BLUR
    return unknown


def _directions(support: BoolArray) -> FloatArray:
    """Return orthonormal (P, K, V) directions that keep the column sums and support of F."""
    moves = []
    for v in range(support.shape[1]):
        inside = np.flatnonzero(support[:, v])
        for last in range(1, len(inside)):  # Helmert contrasts
            move = np.zeros(support.shape)
            move[inside[:last], v], move[inside[last], v] = 1.0, -float(last)
            moves.append(move / np.linalg.norm(move))
    return np.array(moves).reshape(-1, *support.shape)
