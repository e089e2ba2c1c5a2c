"""The simulation of decisions and intervals: its counting, its page, and its worst rows anew."""

from __future__ import annotations

from collections import defaultdict
from math import sqrt
from typing import TYPE_CHECKING

import pytest

from benchmarks.decision import (
    END,
    PAGE,
    SIZE_SCENARIO,
    START,
    Row,
    Scenario,
    evaluate_scenario,
    largest_size,
    read_rows,
    render,
    render_row,
    scenarios,
    write_page,
    write_rows,
)

if TYPE_CHECKING:
    import numpy as np

N_WORST, N_FEW, N_ERRORS = 10, 200, 4.0


def test_the_page_sums_up_the_rows() -> None:
    assert render(read_rows()).rstrip() in PAGE.read_text("utf-8")


def test_a_row_counts_what_held_among_the_defined() -> None:
    def simulate(rng: np.random.Generator) -> dict[str, bool | None]:
        value = rng.random()
        return {"below a half": None if value < 0.25 else value < 0.5}

    scenario = Scenario("uniform numbers", simulate, {"below a half": (0.0, 0.05)})
    (row,) = evaluate_scenario(scenario, 2000)
    assert row == evaluate_scenario(scenario, 2000)[0]
    assert row.n_defined / row.n_replicates == pytest.approx(0.75, abs=0.05)
    assert row.share == pytest.approx(1 / 3, abs=0.06)
    assert row.misses


def test_rows_are_read_as_they_were_written(tmp_path) -> None:
    rows = [
        Row("coins", "use", 30, 1000, 1000, (0.0, 0.05)),
        Row("good", "use", 900, 1000, 1000, (0.8, 1.0)),
        Row("few groups", "rejects", 0, 0, 1000, (0.0, 0.07)),
        Row("intervals", "beta", 720, 800, 1000, (0.92, 0.98)),
    ]
    write_rows(rows, tmp_path / "rows.csv")
    assert read_rows(tmp_path / "rows.csv") == rows
    page = tmp_path / "page.md"
    page.write_text(f"# What stays\n\n{START}\nWhat goes\n{END}\n# The next\n", "utf-8")
    write_page(render(rows), page)
    text = page.read_text("utf-8")
    assert text.startswith("# What stays\n")
    assert "What goes" not in text
    assert text.endswith("# The next\n"), "it cut off what other scripts had written below"
    assert [row.misses for row in rows] == [False, False, False, True]
    assert "| rejects | 1 | NA | 0 | 0 |" in text
    assert "| beta | 1 | 90.0 to 90.0 % | 1 | 1 |" in text
    assert render_row(rows[3]) in text
    assert render_row(rows[0]) not in text
    assert "| NA | 100.0 % |" in render_row(rows[2])


def test_a_good_judge_is_recommended_and_a_coin_is_not() -> None:
    by_name = {scenario.name: scenario for scenario in scenarios()}
    (good,) = evaluate_scenario(by_name["good judges: 3 judges, 150 items, 5 raters"], 5)
    (coin,) = evaluate_scenario(by_name["coin judges: 5 judges, 100 items, 5 raters"], 5)
    assert good.n_held >= 4
    assert coin.n_held == 0


def test_the_page_has_every_row() -> None:
    wanted = {(scenario.name, claim) for scenario in scenarios() for claim in scenario.wanted}
    rows = read_rows()
    assert {(row.scenario, row.claim) for row in rows if row.scenario != SIZE_SCENARIO} == wanted


@pytest.mark.parametrize("n", [10, pytest.param(29, marks=pytest.mark.slow)])
def test_the_deciding_test_holds_its_level(n: int) -> None:
    assert largest_size(n) <= 0.05


@pytest.mark.slow
def test_the_worst_rows_are_as_published() -> None:
    """200 data sets agree with the page to four standard errors, those of the page included."""
    worst = sorted(read_rows(), key=lambda row: -row.n_errors_off)[:N_WORST]
    by_scenario = defaultdict(list)
    for row in worst:
        by_scenario[row.scenario].append(row)
    for scenario in scenarios():
        if scenario.name not in by_scenario:
            continue
        again = {row.claim: row for row in evaluate_scenario(scenario, N_FEW)}
        for row in by_scenario[scenario.name]:
            few = again[row.claim]
            variance = max(row.share * (1.0 - row.share), 0.01)
            error = sqrt(variance / max(few.n_defined, 1) + variance / row.n_defined)
            assert abs(few.share - row.share) <= N_ERRORS * error, (row, few)
