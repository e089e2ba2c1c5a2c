"""The item table as data for the page's script, each distinct text once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.formatting import control_pictures

if TYPE_CHECKING:
    from collections.abc import Hashable

    from harness.report.html.item_table import Answer, FullItem, ItemTable

DIGITS = 4


class Interned:
    """Distinct values in the order of their first use, referred to by their index."""

    def __init__(self) -> None:
        self.indices: dict[Hashable, int] = {}

    def index(self, value: Hashable) -> int:
        """Return the index of a value, which is added where it is new."""
        return self.indices.setdefault(value, len(self.indices))

    @property
    def values(self) -> list[Hashable]:
        """The values by index."""
        return list(self.indices)


def item_block(table: ItemTable) -> dict[str, object]:
    """Return the rows, the texts and classes they refer to, and the items in full.

    A row is id, text, raters, disagreement, judges apart, strata and a cell per judge; raters,
    strata and cells are indices. An item in full is its text and four indices of texts for each
    rating and each reply: name, elicitation, answer and reply.
    """
    raters, strata, cells, texts = Interned(), Interned(), Interned(), Interned()
    rows = [
        [
            row.id,
            row.text,
            raters.index((row.raters, row.classes)),
            None if row.disagreement is None else round(row.disagreement, DIGITS),
            row.n_judges_apart,
            strata.index(row.strata),
            *(
                cells.index((cell.text, cell.classes, cell.outcomes, cell.agreement))
                for cell in row.judges
            ),
        ]
        for row in table.rows
    ]
    return {
        "rows": rows,
        "judges": table.judges,
        "classes": table.classes,
        "raters": raters.values,
        "strata": strata.values,
        "cells": cells.values,
        "full": [_full(item, texts) for item in table.full],
        "texts": texts.values,
    }


def _full(item: FullItem, texts: Interned) -> list[object]:
    answers = (_answers(side, texts) for side in (item.raters, item.judges))
    return [texts.index(control_pictures(item.text)), *answers]


def _answers(answers: tuple[Answer, ...], texts: Interned) -> list[int]:
    return [
        texts.index(control_pictures(text))
        for answer in answers
        for text in (answer.name, answer.elicitation, answer.text, answer.reply)
    ]
