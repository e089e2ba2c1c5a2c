"""The scipy special functions that the statistics need, imported on first use.

Importing ``scipy.special`` takes longer than all other imports for statistics together, and running
judges does not need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import FloatArray


def rel_entr(x: ArrayLike, y: ArrayLike) -> FloatArray:
    """Return x log(x / y) in nats. It is 0 if x is 0, and infinite if only y is 0."""
    return _call("rel_entr", x, y)


def xlogy(x: ArrayLike, y: ArrayLike) -> FloatArray:
    """Return x log(y) in nats. It is 0 if x is 0."""
    return _call("xlogy", x, y)


def bdtr(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> FloatArray:
    """Return the probability of at most k successes in n trials with success probability p."""
    return _call("bdtr", k, n, p)


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> FloatArray:
    """Return the probability that a beta distributed value is at most x."""
    return _call("betainc", a, b, x)


def betaincinv(a: ArrayLike, b: ArrayLike, y: ArrayLike) -> FloatArray:
    """Return quantile y of the beta distribution with parameters a and b."""
    return _call("betaincinv", a, b, y)


def gammaln(x: ArrayLike) -> FloatArray:
    """Return the logarithm of the absolute value of the gamma function."""
    return _call("gammaln", x)


def gammaincinv(a: ArrayLike, y: ArrayLike) -> FloatArray:
    """Return the Poisson mean at which a count of at least a has probability y."""
    return _call("gammaincinv", a, y)


def ndtr(x: ArrayLike) -> FloatArray:
    """Return the probability that a standard normal value is at most x."""
    return _call("ndtr", x)


def ndtri(p: ArrayLike) -> FloatArray:
    """Return quantile p of the standard normal distribution."""
    return _call("ndtri", p)


def stdtr(df: ArrayLike, t: ArrayLike) -> FloatArray:
    """Return the probability that Student's t with df degrees of freedom is at most t."""
    return _call("stdtr", df, t)


def stdtrit(df: ArrayLike, p: ArrayLike) -> FloatArray:
    """Return quantile p of Student's t with df degrees of freedom."""
    return _call("stdtrit", df, p)


def owens_t(h: ArrayLike, a: ArrayLike) -> FloatArray:
    """Return the probability that two standard normal values X and Y have X > h and 0 < Y < a X."""
    return _call("owens_t", h, a)


def binom(n: ArrayLike, k: ArrayLike) -> FloatArray:
    """Return the binomial coefficient n over k."""
    return _call("binom", n, k)


def _call(name: str, *arguments: ArrayLike) -> FloatArray:
    from scipy import special  # noqa: PLC0415 -- heavy

    result: FloatArray = getattr(special, name)(*arguments)
    return result
