"""The table of abstention and unreadable rates, and their tests in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.formatting import estimate, listed, p_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis import Validation
    from harness.analysis.abstention_rates import JudgeRates, RateTest

HEADS = ("judge", "by", "value", "items", "abstained", "unreadable")


def rate_rows(v: Validation) -> list[tuple[str, ...]]:
    """Return a row per judge, factor and value, in the order of `HEADS`."""
    return [
        (
            rates.judge,
            row.factor,
            row.value,
            str(row.n_items),
            estimate(row.abstained),
            estimate(row.unreadable),
        )
        for rates in (v.abstention.judges if v.abstention else ())
        for row in rates.rows
    ]


def dependence(v: Validation) -> list[str]:
    """Say of each judge whether its rates depend on the factors."""
    return [_sentence(rates) for rates in (v.abstention.judges if v.abstention else ())]


def _sentence(rates: JudgeRates) -> str:
    parts = [part for test in rates.tests for part in _parts(test)]
    if not parts:
        return f"{rates.judge}: no factor to test"
    return f"{rates.judge}: {listed(parts)}"


def _parts(test: RateTest) -> Iterator[str]:
    for name, p in (("abstention", test.abstained), ("unreadable replies", test.unreadable)):
        if p is not None:
            sign = "" if p_value(p).startswith("<") else "= "
            yield f"{name} by {test.factor} (p {sign}{p_value(p)})"
