"""Table of abstention and unreadable rates, with a sentence on each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.formatting import estimate, listed, p_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis.abstention_rates import AbstentionRates, JudgeRates, RateTest

HEADS = ("judge", "by", "value", "items", "abstained", "unreadable")


def rate_rows(rates: AbstentionRates) -> list[tuple[str, ...]]:
    """Return a row per judge, factor and value. Columns are as in `HEADS`."""
    return [
        (
            of_judge.judge,
            row.factor,
            row.value,
            str(row.n_items),
            estimate(row.abstained),
            estimate(row.unreadable),
        )
        for of_judge in rates.judges
        for row in of_judge.rows
    ]


def dependence(rates: AbstentionRates) -> list[str]:
    """Describe whether each judge's rates differ between the values of a factor."""
    return [_sentence(of_judge) for of_judge in rates.judges]


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
