"""Labels by item in JSON, as the LLM file of AltTest holds them.

Either ``{item: label}``, whose judge is named by the file, or ``{judge: {item: label}}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.curation.verdict_sources.verdict_entries import Entry
from harness.tasks.tables import parse_json
from harness.tasks.tables.checks import PlaceError, check_size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.curation.verdict_sources.verdict_entries import Selection


def label_entries(path: Path, selection: Selection) -> Iterator[Entry]:
    """Yield the labels of a file.

    Raises
    ------
    PlaceError
        If it is no JSON, or holds anything but labels.
    """
    check_size(path, selection.limits)
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PlaceError("", f"{error}; write strict JSON.") from None
    judges = content if _is_nested(content) else {path.stem: content}
    if not judges or not all(map(_holds_labels, judges.values())):
        raise PlaceError(
            "",
            "is no log of inspect_ai, no result of promptfoo, and no labels by item; other JSON "
            "that is read is a list of rows.",
        )
    for judge, labels in judges.items():
        for number, (item, label) in enumerate(labels.items(), 1):
            yield Entry(line=number, item=item, source=judge, judge=judge, value=label)


def _is_nested(content: object) -> bool:
    return isinstance(content, dict) and all(isinstance(part, dict) for part in content.values())


def _holds_labels(labels: object) -> bool:
    return isinstance(labels, dict) and all(map(_is_label, labels.values()))


def _is_label(label: object) -> bool:
    if isinstance(label, list):
        return all(isinstance(member, str | int | float) for member in label)
    return label is None or isinstance(label, str | int | float)
