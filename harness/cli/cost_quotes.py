"""Format the output of `--dry-run`: expected costs, maximum costs, and affordable calls."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from harness.cli.output import dollars
from harness.judging.judges.config import why_samples
from harness.judging.running.cost_estimate import REASONING_TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.app.plan import Plan
    from harness.judging.running.cost_estimate import JudgeQuote

DIGITS = 3  # in an amount that is rounded up


def quote_rows(quotes: Sequence[JudgeQuote]) -> list[Mapping[str, object]]:
    """Return a row for each judge, and a row for the total."""
    rows = [
        _row(
            quote.judge,
            quote.samples or "",
            quote.calls,
            ("none" if quote.reply_cap is None else quote.reply_cap),
            (quote.expected_usd, quote.reasoning_usd, quote.cost_usd),
            is_unlimited=quote.cost_usd is None and quote.expected_usd is not None,
        )
        for quote in quotes
    ]
    return [*rows, _row("total", "", sum(q.calls for q in quotes), "", *_total(quotes))]


def part_rows(
    named: Sequence[tuple[str, Sequence[JudgeQuote]]], head: str
) -> list[Mapping[str, object]]:
    """Return a row per judge in each part, with the part's name and items, and one total row."""
    every = [quote for _, quotes in named for quote in quotes]
    names = [name for name, quotes in named for _ in quotes]
    n_items = [max(quote.n_items.values(), default=0) for quote in every]
    firsts = [
        *zip(names, (quote.judge for quote in every), n_items, strict=True),
        ("total", "", ""),
    ]
    return [
        {head: name, "judge": judge, "items": n} | {k: v for k, v in row.items() if k != "judge"}
        for (name, judge, n), row in zip(firsts, quote_rows(every), strict=True)
    ]


def _row(
    judge: str,
    samples: object,
    calls: int,
    cap: object,
    costs: tuple[float | None, float | None, float | None],
    is_unlimited: bool = False,
) -> Mapping[str, object]:
    expected, reasoning, most = costs
    return {
        "judge": judge,
        "replies": samples,
        "calls": calls,
        "reply cap": cap,
        "expected": _amount(expected),
        "with reasoning": _amount(reasoning),
        "at most": "no limit" if is_unlimited else _amount(most),
    }


def _amount(usd: float | None) -> str:
    return "unknown" if usd is None else dollars(usd)


def _total(
    quotes: Sequence[JudgeQuote],
) -> tuple[tuple[float | None, float | None, float | None], bool]:
    """Return the total costs of judges with a known price, and whether the total has no maximum."""
    priced = [quote for quote in quotes if quote.expected_usd is not None]
    is_unlimited = any(quote.cost_usd is None for quote in priced)
    if quotes and not priced:
        return (None, None, None), False
    expected = math.fsum(quote.expected_usd or 0.0 for quote in priced)
    reasoning = math.fsum(quote.reasoning_usd or 0.0 for quote in priced)
    most = None if is_unlimited else math.fsum(quote.cost_usd or 0.0 for quote in priced)
    return (expected, reasoning, most), is_unlimited


def quote_notes(plans: Sequence[Plan], quotes: Sequence[JudgeQuote]) -> Iterator[str]:
    """Yield notes on the costs: assumptions, replies per item, and cost limit."""
    names = list(dict.fromkeys(quote.judge for quote in quotes))
    by_reason: dict[tuple[int, str], list[str]] = {}
    are_equal = len({tuple(job.samples for job in plan.jobs) for plan in plans}) == 1
    for plan in plans[:are_equal]:
        for job in plan.jobs:
            spec, n = job.judge.spec, job.samples
            key = (n, why_samples(spec, plan.config.samples))
            by_reason.setdefault(key, []).append(spec.name)
    for (n, reason), judges in by_reason.items():
        yield f"{_count(n, 'reply', 'replies')} per item from {', '.join(judges)}, {reason}."
    several = [
        job.judge.spec.name
        for job in plans[0].jobs
        if min(job.judge.spec.n_per_request, job.samples) > 1
    ]
    if several:
        yield f"Each call to {', '.join(several)} requests several replies (n_per_request)."
    reasoning = [name for name in names if any(q.reasons for q in quotes if q.judge == name)]
    if reasoning:
        yield (
            f'"with reasoning" assumes {REASONING_TOKENS} tokens of reasoning in each reply from '
            f"{', '.join(reasoning)}."
        )
    reasked = [name for name in names if any(q.reasks for q in quotes if q.judge == name)]
    if reasked:
        yield f'"at most" includes a second question after every reply from {", ".join(reasked)}.'
    unpriced = [name for name in names if any(_is_unpriced(q) for q in quotes if q.judge == name)]
    if unpriced:
        yield (
            f"The total doesn't include {', '.join(unpriced)}, whose price is unknown. Add "
            "`price: {input: .., output: ..}` to your judges.yaml."
        )
    elif not plans[0].config.max_cost_soft:
        yield from limit_notes(quotes, plans[0].config.max_cost)


def limit_notes(quotes: Sequence[JudgeQuote], max_cost: float | None) -> Iterator[str]:
    """Yield notes on how many calls the cost limit allows, and on the lowest usable limit."""
    needs = {quote.judge: quote.first_call_usd or 0.0 for quote in quotes if quote.calls}
    paid = {judge: usd for judge, usd in needs.items() if usd > 0}
    if not paid:
        return
    least, most = _enough(min(paid.values())), _enough(max(paid.values()))
    dearest = max(paid, key=paid.__getitem__)
    if max_cost is None:
        yield f"--max-cost needs at least {least} to send one call{_of_each(least, most)}."
    elif max_cost < min(paid.values()):
        yield (
            f"--max-cost {_plain(max_cost)} sends nothing. Pass at least {least} to send one call"
            f"{_of_each(least, most)}."
        )
    else:
        yield f"--max-cost {_plain(max_cost)} buys {_bought(quotes, max_cost, max(paid.values()))}."
        if max_cost < paid[dearest]:
            yield (
                f"The run ends before a call that could exceed the limit. A call to {dearest} "
                f"needs {most}."
            )


def _of_each(least: str, most: str) -> str:
    return "" if least == most else f", and {most} to send one to each judge"


def _bought(quotes: Sequence[JudgeQuote], max_cost: float, call_usd: float) -> str:
    """Describe how many calls a limit allows, reserving ``call_usd`` for the last call."""
    (expected, reasoning, most), _ = _total(quotes)
    n_calls = sum(quote.calls for quote in quotes)
    if most is not None and most <= max_cost:
        return f"all {n_calls:,} calls, whatever their replies cost"
    counts = [_n_bought(n_calls, usd or 0.0, max_cost - call_usd) for usd in (expected, reasoning)]
    text = f"about {counts[0]:,} of {n_calls:,} calls at the expected cost"
    if counts[0] == n_calls:
        text = f"all {n_calls:,} calls at the expected cost"
    return text if counts[0] == counts[1] else f"{text}, and about {counts[1]:,} with reasoning"


def _n_bought(n_calls: int, usd: float, left_usd: float) -> int:
    if usd <= left_usd:
        return n_calls
    return max(1, math.floor(n_calls * max(0.0, left_usd) / usd))


def _plain(usd: float) -> str:
    """Format an amount in full, without an exponent."""
    return f"{usd:.10f}".rstrip("0").rstrip(".")


def _enough(usd: float) -> str:
    """Format an amount, rounded up so that it covers the cost."""
    unit = 10.0 ** (math.floor(math.log10(usd)) - DIGITS + 1)
    rounded = math.ceil(usd / unit) * unit
    return f"{rounded:.{max(0, DIGITS - 1 - math.floor(math.log10(usd)))}f}"


def _count(n: int, one: str, several: str) -> str:
    return f"{n} {one if n == 1 else several}"


def _is_unpriced(quote: JudgeQuote) -> bool:
    return quote.expected_usd is None
