"""Readers for Prodigy and Doccano."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.files.tables.checks import as_text
from harness.tasks.columns.formats import Format, Reading, first_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.files.tables import Row

PRODIGY_OWN = frozenset(
    [
        "options",
        "accept",
        "answer",
        "config",
        "meta",
        "tokens",
        "spans",
        "relations",
        "view_id",
        "label",
        "style",
        "head",
    ]
)
DOCCANO_KEYS = frozenset(
    {"id", "text", "data", "label", "labels", "cats", "Comments", "comments", "meta"}
)


def _is_prodigy(content: object) -> bool:
    return {"_input_hash", "_task_hash", "answer"} <= first_row(content).keys()


def _prodigy(content: Iterable[Row], reading: Reading) -> Iterator[Row]:
    """Yield accepted choices, or decisions about a label. Ignored examples are skipped."""
    rows = list(content)
    kept = [row for row in rows if row.get("answer") != "ignore"]
    if len(kept) < len(rows):
        reading.notes.append(f"left out ignored examples: {len(rows) - len(kept)}")
    by_choice = any("accept" in row for row in rows)
    if by_choice and (rejected := sum(row.get("answer") == "reject" for row in kept)):
        reading.notes.append(f"left out rejected examples: {rejected}")
        kept = [row for row in kept if row.get("answer") != "reject"]
    several = any(len(row.get("accept") or ()) > 1 for row in kept)
    asked = {as_text(row.get("label")) for row in kept} if not by_choice else set()
    who = next((n for n in ("_annotator_id", "_session_id") if any(row.get(n) for row in kept)), "")
    fields = [n for n in rows[0] if not n.startswith("_") and n not in PRODIGY_OWN]
    reading.columns |= {"id": ["_input_hash"], "rater": ["annotator"], "judges": []}
    reading.columns |= {"label": ["chosen"]} | (
        {"criterion": ["criterion"]} if len(asked) > 1 else {}
    )
    reading.aside |= {name for row in kept for name in _meta(row)} - {*fields}
    for row in kept:
        accepted = row.get("accept") or []
        chosen: Any = accepted if several else next(iter(accepted), None)
        cells = {"_input_hash": row["_input_hash"], **_meta(row), **{n: row.get(n) for n in fields}}
        cells |= {
            "annotator": row.get(who) or "annotator",
            "chosen": chosen if by_choice else row["answer"],
        }
        yield cells | ({"criterion": row.get("label")} if len(asked) > 1 else {})


def _meta(row: Row) -> Row:
    """Return an example's metadata, from the fields under ``meta``."""
    meta = row.get("meta")
    return {str(name): value for name, value in meta.items()} if isinstance(meta, dict) else {}


PRODIGY = Format("an export of Prodigy", _is_prodigy, _prodigy)


def _is_doccano(content: object) -> bool:
    first = first_row(content)
    if isinstance(first.get("annotations"), list) and "text" in first and "data" not in first:
        return all(
            isinstance(a, dict) and {"label", "user"} <= a.keys() for a in first["annotations"]
        )
    commented = {"Comments", "comments"} & first.keys()
    names = first.keys() - {"file", "sheet"}
    return bool(commented) and names <= DOCCANO_KEYS and isinstance(first.get("label"), list)


def _doccano(content: Iterable[Row], reading: Reading) -> Iterator[Row]:
    """Yield labels by user. Without users, each file has one annotator."""
    rows = list(content)
    text = next(name for name in ("text", "data") if name in rows[0])
    reading.columns |= {
        "id": ["item_id"],
        "text": [text],
        "rater": ["annotator"],
        "label": ["label"],
    }
    own = {"annotations", "file", "sheet"}
    several = any(isinstance(row.get("label"), list) and len(row["label"]) > 1 for row in rows)
    for number, row in enumerate(rows, 1):
        kept = {name: value for name, value in row.items() if name not in DOCCANO_KEYS | own}
        shared = {**_meta(row), **kept, "item_id": row.get("id", number), text: row.get(text)}
        for entry in row.get("annotations") or ():
            yield shared | {"annotator": as_text(entry["user"]), "label": entry["label"]}
        if "annotations" not in row:
            labels = row.get("label") or []
            label = labels if several else next(iter(labels), None)
            yield shared | {"annotator": row.get("file") or "annotator", "label": label}


DOCCANO = Format("an export of Doccano", _is_doccano, _doccano)
