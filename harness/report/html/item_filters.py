"""What the item table can be filtered by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.report.certainty_charts import stratum_words
from harness.report.judge_charts import option_label

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.analysis import Validation
    from harness.report.html.item_table import ItemTable

AGREEMENT = {"agrees": "as most raters", "differs": "other than most raters"}
CLASS_WORDS = {"CANNOT_ASSESS": "cannot assess"}


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """One filter of the item table.

    Attributes
    ----------
    name : str
        In the address.
    label : str
        On the page.
    choices : tuple of (str, str)
        Values in the address and their words.
    """

    name: str
    label: str
    choices: tuple[tuple[str, str], ...]


def item_filters(v: Validation, table: ItemTable) -> list[ItemFilter]:
    """Return the filters with the values that occur in the table; one of a single value is none."""
    cells = [cell for row in table.rows for cell in row.judges]
    raters = {index for row in table.rows for index in row.classes}
    answers = {index for cell in cells for index in cell.classes}
    outcomes = sorted({outcome for cell in cells for outcome in cell.outcomes})
    agreements = {cell.agreement for cell in cells}
    filters = (
        ItemFilter("judge", "Judge", tuple((name, name) for name in table.judges)),
        ItemFilter("raters", "Raters' answer", _classes(v, table, raters)),
        ItemFilter("answer", "Judge's answer", _classes(v, table, answers)),
        ItemFilter(
            "agreement",
            "Judge answers",
            tuple(pair for pair in AGREEMENT.items() if pair[0] in agreements),
        ),
        ItemFilter(
            "outcome", "Outcome", tuple((name, name.replace("_", " ")) for name in outcomes)
        ),
        ItemFilter("stratum", "Agreement among raters", _strata(v)),
    )
    return [row for row in filters if len(row.choices) > 1 or row.name == "judge"]


def _classes(v: Validation, table: ItemTable, used: Iterable[int]) -> tuple[tuple[str, str], ...]:
    keys = [table.classes[index] for index in sorted(used)]
    return tuple((key, CLASS_WORDS.get(key, option_label(v, key))) for key in keys)


def _strata(v: Validation) -> tuple[tuple[str, str], ...]:
    strata = [row.stratum for row in v.certainty.strata if row.n_items] if v.certainty else []
    return tuple((stratum.name, stratum_words(stratum)) for stratum in strata)
