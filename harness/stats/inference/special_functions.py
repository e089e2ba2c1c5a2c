"""The scipy special functions needed for statistics, imported on first use.

Importing ``scipy.special`` takes longer than all other imports for statistics together, and running
judges doesn't need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import FloatArray


def rel_entr(x: ArrayLike, y: ArrayLike) -> FloatArray:
    """X log(x / y), 0 if x is 0, infinite if only y is 0; nats, broadcast."""
    return _call("rel_entr", x, y)


def xlogy(x: ArrayLike, y: ArrayLike) -> FloatArray:
    """X log(y), 0 if x is 0; nats, broadcast."""
    return _call("xlogy", x, y)


def bdtr(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> FloatArray:
    """Probability of at most k successes in n trials with success probability p."""
    return _call("bdtr", k, n, p)


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> FloatArray:
    """Probability that a beta distributed value is at most x: ``scipy.special.betainc``."""
    return _call("betainc", a, b, x)


def betaincinv(a: ArrayLike, b: ArrayLike, y: ArrayLike) -> FloatArray:
    """Quantile y of the beta distribution: ``scipy.special.betaincinv``."""
    return _call("betaincinv", a, b, y)


def gammaln(x: ArrayLike) -> FloatArray:
    """Logarithm of the absolute value of the gamma function."""
    return _call("gammaln", x)


def gammaincinv(a: ArrayLike, y: ArrayLike) -> FloatArray:
    """Rate of a Poisson process that has reached a count of a by time 1 with probability y."""
    return _call("gammaincinv", a, y)


def ndtr(x: ArrayLike) -> FloatArray:
    """Probability that a standard normal value is at most x."""
    return _call("ndtr", x)


def ndtri(p: ArrayLike) -> FloatArray:
    """Quantile p of the standard normal distribution."""
    return _call("ndtri", p)


def stdtr(df: ArrayLike, t: ArrayLike) -> FloatArray:
    """Probability that a value of Student's t with df degrees of freedom is at most t."""
    return _call("stdtr", df, t)


def stdtrit(df: ArrayLike, p: ArrayLike) -> FloatArray:
    """Quantile p of Student's t with df degrees of freedom."""
    return _call("stdtrit", df, p)


def owens_t(h: ArrayLike, a: ArrayLike) -> FloatArray:
    """Probability that two standard normal values X and Y have X > h and 0 < Y < a X."""
    return _call("owens_t", h, a)


def binom(n: ArrayLike, k: ArrayLike) -> FloatArray:
    """Binomial coefficient n over k."""
    return _call("binom", n, k)


def _call(name: str, *arguments: ArrayLike) -> FloatArray:
    from scipy import special  # noqa: PLC0415 -- heavy

    result: FloatArray = getattr(special, name)(*arguments)
    return result
