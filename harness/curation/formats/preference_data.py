"""Published forms of preferences and scores: HelpSteer, UltraFeedback, arena battles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.files.tables.checks import as_text
from harness.tasks.columns.formats import Format, Reading, first_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.files.tables import Row

HELPSTEER_SCORES = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")
WINNERS = {"model_a": "model_b", "model_b": "model_a"}
SIDES = ("conversation", "response", "answer", "completion", "output")
KAGGLE = {"winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": "tie"}
VOTERS = ("judge", "judge_hash", "annotator", "user", "user_id", "voter")


def _is_helpsteer(content: object) -> bool:
    return {"prompt", "response", *HELPSTEER_SCORES} <= first_row(content).keys()


def _helpsteer(content: Iterable[Row], reading: Reading) -> Iterator[Row]:
    """Yield a response's scores by attribute, which becomes the criterion."""
    reading.columns |= {"text": ["prompt", "response"], "votes": list(HELPSTEER_SCORES)}
    reading.lists, reading.options, reading.scale = "ratings", tuple("01234"), "ordinal"
    for row in content:
        scores = {name: row.get(name) for name in HELPSTEER_SCORES}
        listed = {
            name: value if isinstance(value, list) or as_text(value).startswith("[") else [value]
            for name, value in scores.items()
        }
        yield {"prompt": row.get("prompt"), "response": row.get("response")} | listed


HELPSTEER = Format("ratings of HelpSteer", _is_helpsteer, _helpsteer)


def _is_ultrafeedback(content: object) -> bool:
    first = first_row(content)
    completions = first.get("completions")
    return (
        "instruction" in first
        and isinstance(completions, list)
        and all(
            isinstance(entry, dict) and {"response", "annotations"} <= entry.keys()
            for entry in completions
        )
    )


def _ultrafeedback(content: Iterable[Row], reading: Reading) -> Iterator[Row]:
    """Yield ratings of completions by GPT-4, which the import asks about before using them."""
    reading.columns |= {
        "id": ["item_id"],
        "text": ["instruction", "response"],
        "rater": ["annotator"],
    }
    reading.columns |= {"label": ["rating"], "criterion": ["aspect"]}
    for number, row in enumerate(content, 1):
        for place, entry in enumerate(row.get("completions") or (), 1):
            for aspect, given in (entry.get("annotations") or {}).items():
                rating = given.get("Rating") if isinstance(given, dict) else None
                yield {
                    "item_id": f"{number}-{place}",
                    "instruction": row["instruction"],
                    "response": entry.get("response"),
                    "aspect": aspect,
                    "annotator": "gpt-4",
                    "rating": rating,
                }


ULTRAFEEDBACK = Format("ratings of UltraFeedback", _is_ultrafeedback, _ultrafeedback)


def _is_arena(content: object) -> bool:
    names = first_row(content).keys()
    has_winner = "winner" in names or names >= KAGGLE.keys()
    return {"model_a", "model_b"} <= names and has_winner and any(f"{s}_a" in names for s in SIDES)


def _arena(content: Iterable[Row], reading: Reading) -> Iterator[Row]:
    """Yield votes by pair of answers, with each pair in its first order.

    Votes on the same two answers are ratings of one item. A vote on them in the reverse order
    has its sides swapped.
    """
    rows = list(content)
    names = rows[0]
    side = next(s for s in SIDES if f"{s}_a" in names)
    prompts = [n for n in ("prompt", "question", "instruction", "context") if n in names]
    voter = next((n for n in VOTERS if n in names and any(row.get(n) for row in rows)), "")
    turn = ["turn"] if "turn" in names else []
    texts = [*prompts, f"{side}_a", f"{side}_b"]
    reading.columns |= {"id": ["item_id"], "text": texts, "rater": ["voter"], "label": ["winner"]}
    if "question_id" in names or prompts:
        reading.columns["group"] = ["question"]
    reading.columns["judges"] = []
    reading.scale, reading.options = "pairwise", tuple(_winners(rows))
    first: dict[tuple[str, ...], tuple[str, str, str]] = {}
    names_taken: set[str] = set()
    votes: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        sides = as_text(row[f"{side}_a"]), as_text(row[f"{side}_b"])
        asked = tuple(as_text(row.get(n)) for n in [*prompts, *turn])
        key = (*asked, *sorted(sides))
        if key not in first:
            name = _battle(row, number)
            name = f"{name}-{number}" if name in names_taken else name
            names_taken.add(name)
            first[key] = (name, *sides)
        item, *known = first[key]
        swapped = tuple(known) != sides
        place = votes[item] = votes.get(item, 0) + 1
        winner = _winner(row)
        yield {
            "item_id": item,
            "question": row.get("question_id") or next((row.get(n) for n in prompts), None),
            **{n: row.get(n) for n in prompts},
            f"{side}_a": row[f"{side}_b" if swapped else f"{side}_a"],
            f"{side}_b": row[f"{side}_a" if swapped else f"{side}_b"],
            "voter": as_text(row.get(voter)) if voter else f"vote {place}",
            "winner": WINNERS.get(winner, winner) if swapped else winner,
        }


def _battle(row: Row, number: int) -> str:
    parts = [row.get(n) for n in ("question_id", "model_a", "model_b", "turn")]
    named = [as_text(part) for part in parts if part is not None]
    return "__".join(named) if row.get("question_id") else f"battle-{number}"


def _winner(row: Row) -> str:
    if "winner" in row:
        return as_text(row["winner"])
    return next((v for n, v in KAGGLE.items() if as_text(row.get(n)) in {"1", "1.0", "true"}), "")


def _winners(rows: Iterable[Row]) -> list[Any]:
    """Return the labels that occur: the two models, then ties."""
    found = dict.fromkeys(filter(None, map(_winner, rows)))
    return [*WINNERS, *sorted(name for name in found if name not in WINNERS)]


ARENA = Format("battles of an arena", _is_arena, _arena)
