"""Numbers of a run under flat names, for experiment trackers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.report.export import metric_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.analysis import Validation

OTHER_CHARACTERS = re.compile(r"[^\w.-]+")
MOST_CHARACTERS = 120  # characters of a name's part; trackers allow 250 in total
ENDS = ("low", "high")  # suffixes for interval ends


def flat_metrics(v: Validation) -> dict[str, float]:
    """Return every defined number in a validation, by a name that experiment trackers accept.

    A name is ``judge/metric``, or ``raters/metric`` for the agreement among raters, with letters,
    digits, ``_``, ``.`` and ``-`` in each part: ``lexicon/mse_srs_srs``. The ends of intervals
    have the same name with ``_low`` and ``_high``, and ``judge/cost_usd`` is the cost of a judge.
    Numbers that are NA are left out; `metric_table` has their reasons.

    Parameters
    ----------
    v : Validation
        Validation of a run or of verdicts.
    """
    rows = metric_table(v)
    judges = short_names(str(row["judge"]) for row in rows)
    metrics = short_names([*(str(row["metric"]) for row in rows), "cost_usd"])
    flat: dict[str, float] = {}
    for row in rows:
        name = f"{judges[str(row['judge'])]}/{metrics[str(row['metric'])]}"
        numbers = {name: row["value"]} | {f"{name}_{end}": row[end] for end in ENDS}
        flat |= {key: float(n) for key, n in numbers.items() if isinstance(n, int | float)}
    costs = {judges[judge.name]: judge.cost.usd for judge in v.judges if judge.name in judges}
    return flat | {f"{name}/cost_usd": usd for name, usd in costs.items() if usd is not None}


def short_names(texts: Iterable[str]) -> dict[str, str]:
    """Return a unique name for each text, made of letters, digits, ``_``, ``.`` and ``-``."""
    names: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        plain = OTHER_CHARACTERS.sub("_", text.replace("->", "_to_")).strip("_.-")
        plain = re.sub("__+", "_", plain)[:MOST_CHARACTERS] or "unnamed"
        name, n = plain, 1
        while name in names.values():
            n += 1
            name = f"{plain}_{n}"
        names[text] = name
    return names
