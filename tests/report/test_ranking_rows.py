"""Terminal, page, card and CSV draw the ranking from one list of rows."""

from __future__ import annotations

import csv

from support.analysis_inputs import indeterminate_source, indeterminate_task

from harness.analysis import validate
from harness.report import judge_card, page, ranking_csv, render
from harness.report.ranking_rows import ranking_rows


def test_every_row_of_the_list_stands_in_every_table():
    """Each view made rows of its own, and one human read differently on the page."""
    validation = validate(indeterminate_source(indeterminate_task(paired=60), n_resamples=50))
    rows = ranking_rows(validation)
    names = [row.name for row in rows]
    assert names[:3] == [row.judge for row in validation.evidence.judges]
    assert "guessing" in names
    terminal, html, card = render(validation), page(validation), judge_card(validation)
    table = {row["judge"]: row for row in csv.DictReader(ranking_csv(validation).splitlines())}
    assert list(table) == names[:3]
    for row in rows:
        value = row.value.partition(" ")[0]
        [line] = [
            line
            for line in terminal.splitlines()
            if row.value in line and f" {row.name} " in f" {line} "
        ] or [""]
        assert line or not row.is_defined or value == "NA"
        assert f">{row.name}<" in html
        assert value in html
        if row.judge is not None:
            low, _, high = row.ranks.partition("-")
            assert table[row.name]["rank_low"] == low
            assert table[row.name]["rank_high"] == (high or low)
            assert f"| {row.name} |" in card
