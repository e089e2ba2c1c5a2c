"""Text of a self-test's result for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.extras.experiments.self_test import DIFFERENCES, difference_of, metric_of, of_raters
from harness.report.text_table import draw_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.extras.experiments.self_test import ClaimKind, Selftest, Share

FLEISS = ("fleiss_kappa", "fleiss_kappa_pooled_pairs", "fleiss_kappa_item_agreements")
SHARE_HEADS = ("what", "planted", "share", "95 % interval", "n", "wanted")
WANTED = {"choice": "", "power": "", "size": "at most 5 %", "coverage": "95 %"}
HEADS: dict[ClaimKind, str] = {
    "choice": "Right judge",
    "power": "Power: how often the analysis makes a true claim",
    "size": "Size: how often the analysis makes a false claim",
    "coverage": "Coverage of 95 % intervals",
}


def described(result: Selftest) -> str:
    """Return the tables for a self-test."""
    return "\n\n".join(part for part in _parts(result) if part)


def _parts(result: Selftest) -> Iterator[str]:
    yield "\n".join(lead(result))
    yield draw_table(judge_heads(result), judge_rows(result))
    for kind, head in HEADS.items():
        if rows := shown_shares(result, kind):
            yield f"{head}\n{draw_table(SHARE_HEADS, list(map(share_line, rows)))}"
    yield "\n".join(last_lines(result))


def lead(result: Selftest) -> list[str]:
    """Return lines with the design, the planted truth and the number of data sets."""
    options = ", ".join(f"{key} {share:.0%}" for key, share in result.shares_of_answers.items())
    rated = f"{result.n_items} items, {result.n_raters} raters, {result.n_ratings} ratings"
    share = f"two raters agree {result.rater_agreement:.1%} of the time"
    agreed = f"{share}, and {result.abstention:.1%} of ratings are abstentions"
    drawn = f"{result.n_data_sets} data sets of each kind, seed {result.seed}"
    return [
        f"Design of {result.task}: {rated}",
        f"Planted: {options}; {agreed}",
        f"{drawn}, and the truth computed on {result.n_large:,} items",
    ]


def judge_heads(result: Selftest) -> tuple[str, ...]:
    """Return the column heads of `judge_rows`."""
    return ("judge", "agrees with a rater", result.metric, "abstains", "replies")


def judge_rows(result: Selftest) -> list[tuple[str, ...]]:
    """Return a table row with the planted values for each judge."""
    return [
        (
            row.judge,
            f"{row.agreement:.3f}",
            "NA" if row.value is None else f"{row.value:.4f}",
            f"{row.abstention:.1%}",
            str(row.n_replies),
        )
        for row in result.truths
    ]


def shown_shares(result: Selftest, kind: ClaimKind) -> list[Share]:
    """Select the shares of one kind to show. For coverage, only the main estimates are shown."""
    judges = [truth.judge for truth in result.truths]
    main = {DIFFERENCES, *map(metric_of, judges), *map(difference_of, judges)}
    main |= {*map(of_raters, FLEISS)}
    return [
        row
        for row in result.shares
        if row.kind == kind and (kind != "coverage" or row.name in main)
    ]


def share_line(row: Share) -> tuple[str, ...]:
    """Return a row with a share, its interval and n, in the order of `SHARE_HEADS`."""
    if row.share is None or row.interval is None:
        return (row.name, row.world, "NA", row.reason, "0", WANTED[row.kind])
    low, high = row.interval.low, row.interval.high
    interval = f"{low:.1%} to {high:.1%}"
    return (row.name, row.world, f"{row.share:.1%}", interval, str(row.n), WANTED[row.kind])


def last_lines(result: Selftest) -> list[str]:
    """Return lines with the expected regret, the cost and the simplifications of the design."""
    regret = "NA"
    if result.regret is not None:
        error = "NA" if result.regret_error is None else f"{result.regret_error:.4f}"
        regret = f"{result.regret:.4f} (standard error {error})"
    cost = "" if result.cost_usd is None else f", ${result.cost_usd:.2f}"
    return [
        f"Expected regret in {result.metric}: {regret}, n {result.n_regret}",
        f"Cost of a data set like this: {result.n_calls:,} replies{cost}",
        *(f"Note: {note}" for note in result.notes),
    ]
