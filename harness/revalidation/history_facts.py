"""A history as JSON: what each look showed, without the replies and the evidence behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.revalidation.history import (
        Baseline,
        HistoryReading,
        InUse,
        JudgeResult,
        Look,
        StreamResult,
    )

DIGITS = 4  # significant ones


def history_facts(history: HistoryReading) -> dict[str, object]:
    """Return baselines and looks, the oldest first; what is empty is left out."""
    return {
        "baselines": [_baseline(baseline) for baseline in history.baselines],
        "looks": [_look(look) for look in history.looks],
    }


def _baseline(baseline: Baseline) -> dict[str, object]:
    return {
        "number": baseline.number,
        "at": baseline.at,
        "accepted": baseline.accepted,
        "n_items": len(baseline.items),
        "n_replies": baseline.n_replies,
        "n_occasions": baseline.n_occasions,
        "alpha": baseline.alpha,
    }


def _look(look: Look) -> dict[str, object]:
    decision = look.decision
    return _kept(
        {
            "number": look.number,
            "at": look.at,
            "baseline": look.baseline,
            "causes": list(look.causes),
            "n_left_out": len(look.left_out),
            "other_ratings": look.other_ratings,
            "all_alike": look.all_alike,
            "decision": decision and _kept({"verdict": decision.verdict, "judge": decision.judge}),
            "in_use": look.in_use and _in_use(look.in_use),
            "judges": [_judge(judge, look) for judge in look.judges],
        }
    )


def _in_use(test: InUse) -> dict[str, object]:
    return _kept(
        {
            "judge": test.judge,
            "reason": test.reason,
            "p_constant": _rounded(test.p_constant),
            "p_human": _rounded(test.p_human),
            "fails": test.fails,
        }
    )


def _judge(judge: JudgeResult, look: Look) -> dict[str, object]:
    provider = judge.provider
    metric = look.decision.metric if look.decision else ""
    change, sequence = judge.metrics.get(metric), judge.sequence
    return _kept(
        {
            "judge": judge.judge,
            "verdict": judge.verdict,
            "reason": judge.reason,
            "p": _rounded(judge.p),
            "since": judge.since,
            "what": judge.what,
            "margin": _rounded(judge.margin),
            "better": judge.better,
            "recovered_at": judge.recovered_at,
            "models": list(provider.models),
            "cost_usd": _rounded(provider.cost_usd),
            "usd_per_answered": _rounded(provider.usd_per_answered),
            "reply_tokens": _rounded(provider.reply_tokens),
            "latency_s": _rounded(provider.latency_s),
            "n_failed": provider.n_failed,
            "metric": metric if change else "",
            "value": _rounded(change.look) if change else None,
            "baseline_value": _rounded(change.baseline) if change else None,
            "change": _rounded(sequence.difference) if sequence else None,
            "change_low": _rounded(sequence.low) if sequence else None,
            "change_high": _rounded(sequence.high) if sequence else None,
            "streams": [_stream(row) for row in look.results if row.judge == judge.judge],
        }
    )


def _stream(stream: StreamResult) -> dict[str, object]:
    return _kept(
        {
            "elicitation": stream.elicitation,
            "n_items": stream.flip_rate.n_items,
            "flip_rate": _rounded(stream.flip_rate.value),
            "retest_rate": _rounded(stream.retest_rate.value),
            "p": _rounded(stream.evidence.p_value),
            "outcomes": {name: n for name, n in stream.outcomes.items() if n},
        }
    )


def _kept(facts: Mapping[str, object]) -> dict[str, object]:
    """Leave out what is empty, but not zero."""
    return {
        name: value
        for name, value in facts.items()
        if value is not None and value is not False and value not in ("", [], {})
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")
