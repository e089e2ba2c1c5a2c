"""Readers for published preferences and scores: HelpSteer, UltraFeedback and arena battles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.errors import TaskError
from harness.files.tables.checks import as_text
from harness.tasks.columns.column_words import RATERS, TIES, contains_word
from harness.tasks.columns.formats import Format, Reading, first_row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from harness.files.tables import Row

HELPSTEER_SCORES = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")
WINNERS = {"model_a": "model_b", "model_b": "model_a"}
SIDES = ("conversation", "response", "answer", "completion", "output")
KAGGLE = {"winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": "tie"}
VOTERS = ("judge", "judge_hash", "annotator", "user", "user_id", "voter")


def _is_helpsteer(content: object) -> bool:
    return {"prompt", "response", *HELPSTEER_SCORES} <= first_row(content).keys()


def _helpsteer(content: Iterable[Row], reading: Reading) -> Iterator[Row]:
    """Yield each response's scores. The attribute becomes the criterion."""
    reading.columns |= {"text": ["prompt", "response"], "votes": list(HELPSTEER_SCORES)}
    reading.lists, reading.options, reading.scale = "ratings", tuple("01234"), "ordinal"
    for row in content:
        scores = {name: row.get(name) for name in HELPSTEER_SCORES}
        listed = {
            name: value if isinstance(value, list) or as_text(value).startswith("[") else [value]
            for name, value in scores.items()
        }
        yield dict(row) | listed


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
    """Yield GPT-4's ratings of completions. The import asks before it uses them."""
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
    if not {"model_a", "model_b"} <= names or not any(f"{s}_a" in names for s in SIDES):
        return False
    return names >= KAGGLE.keys() or (
        "winner" in names and all(map(_names_a_side, map(_winner, _rows(content))))
    )


def _rows(content: object) -> Sequence[Row]:
    return [row for row in content if isinstance(row, dict)] if isinstance(content, list) else []


def _names_a_side(winner: str) -> bool:
    """Return whether a vote names one of the two models, is a tie, or is missing."""
    return not winner or winner in WINNERS or contains_word(winner, TIES)


def _arena(content: Iterable[Row], reading: Reading) -> Iterator[Row]:
    """Yield votes on pairs of answers, with each pair in the order in which it first occurs.

    Votes on the same two answers are ratings of one item. If a vote saw them in reverse order, its
    sides are swapped.
    """
    rows = list(content)
    names = rows[0]
    side = next(s for s in SIDES if f"{s}_a" in names)
    prompts = [n for n in ("prompt", "question", "instruction", "context") if n in names]
    _check_winners(rows)
    voters = [*VOTERS, *(name for name in names if contains_word(name, RATERS))]
    voter = next((n for n in voters if n in names and any(row.get(n) for row in rows)), "")
    turn = ["turn"] if "turn" in names else []
    texts = [*prompts, f"{side}_a", f"{side}_b"]
    reading.columns |= {"id": ["item_id"], "text": texts, "rater": ["voter"], "label": ["winner"]}
    if "question_id" in names or prompts:
        reading.columns["group"] = ["question"]
    reading.columns["judges"] = []
    reading.scale, reading.options = "pairwise", tuple(_winners(rows))
    used = {*texts, *KAGGLE, "winner", voter}
    kept = {name: _of_other_side(name, names) for name in names if name not in used}
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
            **{n: row.get(other if swapped else n) for n, other in kept.items()},
            "voter": as_text(row.get(voter)) if voter else f"vote {place}",
            "winner": WINNERS.get(winner, winner) if swapped else winner,
        }


def _check_winners(rows: Sequence[Row]) -> None:
    """Reject votes that name the winner differently, because their sides couldn't be swapped."""
    for number, winner in enumerate(map(_winner, rows), 1):
        if not _names_a_side(winner):
            raise TaskError(
                f"row {number}: the winner is {winner!r}, but other rows use model_a or model_b. "
                f"Name the winner in the same way in all rows."
            )


def _of_other_side(name: str, names: Collection[str]) -> str:
    """Return the other answer's column for the same property, or else the column itself."""
    other = name[:-1] + {"a": "b", "b": "a"}.get(name[-1:], "")
    return other if name[-2:] in {"_a", "_b"} and other in names else name


def _battle(row: Row, number: int) -> str:
    parts = [row.get(n) for n in ("question_id", "model_a", "model_b", "turn")]
    named = [as_text(part) for part in parts if part is not None]
    return "__".join(named) if row.get("question_id") else f"battle-{number}"


def _winner(row: Row) -> str:
    if "winner" in row:
        return as_text(row["winner"])
    return next((v for n, v in KAGGLE.items() if as_text(row.get(n)) in {"1", "1.0", "true"}), "")


def _winners(rows: Iterable[Row]) -> list[Any]:
    """Return the labels of both models, then the tie labels that occur."""
    found = dict.fromkeys(filter(None, map(_winner, rows)))
    return [*WINNERS, *sorted(name for name in found if name not in WINNERS)]


ARENA = Format("arena battles", _is_arena, _arena)
