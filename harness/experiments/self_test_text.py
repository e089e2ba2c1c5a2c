"""A self-test as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.text_table import draw_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.experiments.self_test import Selftest, Share

WANTED = {"choice": "", "power": "", "size": "at most 5 %", "coverage": "95 %"}
HEADS = {
    "choice": "Right judge",
    "power": "Power: how often claims are made that are true",
    "size": "Size: how often claims are made that are false",
    "coverage": "Coverage of 95 % intervals",
}


def described(result: Selftest) -> str:
    """Return the tables of a self-test."""
    return "\n\n".join(part for part in _parts(result) if part)


def _parts(result: Selftest) -> Iterator[str]:
    options = ", ".join(f"{key} {share:.0%}" for key, share in result.shares_of_options.items())
    yield (
        f"Design of {result.task}: {result.n_items} items, {result.n_raters} raters, "
        f"{result.n_ratings} ratings\nPlanted: {options}; two raters agree "
        f"{result.rater_agreement:.1%}, {result.abstention:.1%} abstain\n"
        f"{result.n_data_sets} data sets of each kind, seed {result.seed}; truth from "
        f"{result.n_large:,} items"
    )
    yield draw_table(
        ("judge", "agrees with a rater", result.metric, "abstains", "replies"),
        [
            (
                row.judge,
                f"{row.agreement:.3f}",
                "NA" if row.value is None else f"{row.value:.4f}",
                f"{row.abstention:.1%}",
                str(row.n_replies),
            )
            for row in result.truths
        ],
    )
    for kind, head in HEADS.items():
        rows = [row for row in result.shares if row.kind == kind and _is_shown(row)]
        if rows:
            heads = ("what", "planted", "share", "95 % interval", "n", "wanted")
            yield f"{head}\n{draw_table(heads, [_line(row) for row in rows])}"
    yield _last(result)


def _is_shown(row: Share) -> bool:
    """Whether a share is printed: of the many intervals, those of what ranks and of agreement."""
    return row.kind != "coverage" or row.name.startswith(("metric of", "difference", "fleiss"))


def _line(row: Share) -> tuple[str, ...]:
    if row.share is None or row.interval is None:
        return (row.name, row.world, "NA", row.reason, "0", WANTED[row.kind])
    low, high = row.interval.low, row.interval.high
    interval = f"{low:.1%} to {high:.1%}"
    return (row.name, row.world, f"{row.share:.1%}", interval, str(row.n), WANTED[row.kind])


def _last(result: Selftest) -> str:
    regret = "NA"
    if result.regret is not None:
        error = "NA" if result.regret_error is None else f"{result.regret_error:.4f}"
        regret = f"{result.regret:.4f} (standard error {error})"
    cost = "" if result.cost_usd is None else f", ${result.cost_usd:.2f}"
    lines = [
        f"Expected regret in {result.metric}: {regret}, n {result.n_regret}",
        f"Cost of such a data set: {result.n_calls:,} replies{cost}",
        *(f"Note: {note}" for note in result.notes),
    ]
    return "\n".join(lines)
