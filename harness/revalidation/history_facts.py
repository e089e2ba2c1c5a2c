"""Convert a history to JSON with each round's results, without replies and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from harness.revalidation.records import UNITS, Figure, Look

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.revalidation.history import HistoryReading
    from harness.revalidation.records import JudgeLook

DIGITS = 4  # significant digits
OF_BASELINE = ("number", "at", "accepted", "n_replies", "n_occasions", "alpha")


def history_facts(history: HistoryReading) -> dict[str, object]:
    """Return baselines and rounds, from oldest to newest, without empty fields."""
    return {
        "baselines": [
            {name: getattr(b, name) for name in OF_BASELINE} | {"n_items": len(b.items)}
            for b in history.baselines
        ],
        "looks": [
            _plain(msgspec.to_builtins(_short(look)) | {"in_use": _in_use(look)})
            for look in history.looks
        ],
    }


def _in_use(look: Look) -> dict[str, object] | None:
    """Return the evidence on the judge in use."""
    test = look.in_use
    if test is None:
        return None
    p_constant, p_human = test.p_values
    facts = {"judge": test.judge, "reason": test.reason, "fails": test.fails}
    return facts | {"p_constant": p_constant, "p_human": p_human}


def _short(look: Look) -> Look:
    """Remove fields of a round that the history's page and text do not show."""
    metric = look.decision.metric if look.decision else ""

    def shown(judge: JudgeLook) -> Iterator[Figure]:
        for figure in judge.figures:
            if figure.name == metric or (figure.name in UNITS and figure.look):
                yield figure

    return replace(
        look,
        streams=(),
        evidence=(),
        decision=look.decision and replace(look.decision, judges=()),
        judges=tuple(
            replace(
                judge,
                changed_items=(),
                figures=tuple(shown(judge)),
                outcomes=judge.outcomes if judge.shortfall else (),
            )
            for judge in look.judges
        ),
    )


def _plain(value: object) -> object:
    """Round the numbers. Remove empty values other than zero."""
    match value:
        case float():
            return float(f"{value:.{DIGITS}g}")
        case dict():
            plain = {name: _plain(v) for name, v in value.items()}
            return {
                n: v
                for n, v in plain.items()
                if v is not None and v is not False and v not in ("", [], {})
            }
        case list() | tuple():
            return [_plain(v) for v in value]
    return value
