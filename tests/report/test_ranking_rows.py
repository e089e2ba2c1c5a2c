"""Terminal, page, card and CSV draw the ranking from one list of rows."""

from __future__ import annotations

import csv
from typing import get_args

import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task

from harness.analysis import validate
from harness.report import judge_card, page, ranking_columns, ranking_csv, render
from harness.report.formatting import estimate
from harness.report.notebook import notebook_table
from harness.report.ranking_columns import COLUMNS, RankingCell, RankingColumn, RankingView
from harness.report.ranking_rows import ranking_rows


def test_every_row_of_the_list_stands_in_every_table():
    """Each view made rows of its own, and a human rater read differently on the page."""
    validation = validate(indeterminate_source(indeterminate_task(paired=60), n_resamples=50))
    rows = ranking_rows(validation)
    names = [row.name for row in rows]
    assert names[:3] == [row.judge for row in validation.evidence.judges]
    assert "random guess" in names
    terminal, html, card = (
        render(validation, details=True),
        page(validation),
        judge_card(validation),
    )
    table = {row["judge"]: row for row in csv.DictReader(ranking_csv(validation).splitlines())}
    assert list(table) == names[:3]
    for row in rows:
        shown = estimate(row.judge.evidence.estimate) if row.judge else row.value
        value = shown.partition(" ")[0]
        [line] = [
            line
            for line in terminal.splitlines()
            if shown in line and f" {row.name} " in f" {line} "
        ] or [""]
        assert line or not row.is_defined or value == "NA"
        assert f">{row.name}<" in html
        assert value in html
        if row.judge is not None:
            low, high = row.judge.evidence.ranks or ("", "")
            assert table[row.name]["rank_low"] == str(low)
            assert table[row.name]["rank_high"] == str(high)
            assert f"| {row.name} |" in card


@pytest.fixture(scope="module")
def v():
    """A validation without intervals."""
    return validate(indeterminate_source(indeterminate_task(n=40), n_resamples=0))


@pytest.mark.parametrize("view", get_args(RankingView))
def test_card_and_csv_lacked_columns_of_the_others(v, view, monkeypatch):
    """A column of the list is in every view that it names, and in no other."""
    seen = RankingColumn(
        head="seen",
        cell=lambda *_: RankingCell("1,357"),
        raw={"seen": lambda *_: "1,357"},
        views=(view,),
    )
    monkeypatch.setattr(ranking_columns, "COLUMNS", (*COLUMNS, seen))
    drawn = {"terminal": render, "notebook": notebook_table, "page": page, "card": judge_card}
    texts = {name: draw(v) for name, draw in (drawn | {"csv": ranking_csv}).items()}
    assert [name for name, text in texts.items() if "1,357" in text] == [view]
    assert texts[view].count("1,357") == len(v.judges)
