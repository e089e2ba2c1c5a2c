"""Series of validations rarely end in a wrong recommendation, simulated with fewer data sets."""

from __future__ import annotations

import re
from math import sqrt

import pytest

from benchmarks.series import PAGE, START, comparison_rows, contender_rows, size_rows

N = 200
MOST = 100 * (0.05 + 2 * sqrt(0.05 * 0.95 / N))


def first_share(row):
    """Return the first share in a row of a table."""
    return float(re.findall(r"([0-9.]+) % \(", row)[0])


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_way_of_looking_again_recommends_a_bad_judge_often():
    """Prompts in a row, one judge until it passes, repeats, and all of them in turn."""
    rows = [*size_rows("", N)]
    assert len(rows) == 20
    assert [row for row in rows if first_share(row) > MOST] == []


@pytest.mark.slow
def test_contenders_keep_the_error_rate():
    """Screens of judges that are equal, far apart, or apart by steps."""
    rows = [*contender_rows("5 judges", N)]
    assert len(rows) == 6
    assert [row for row in rows if first_share(row) > MOST] == []


@pytest.mark.slow
def test_a_hundred_judges_are_rarely_called_better_than_a_baseline_as_good():
    """2,000 resamples don't resolve the levels of late validations: a floor does (Bonferroni)."""
    rows = [*comparison_rows("", N)]
    assert len(rows) == 4
    assert [row for row in rows if first_share(row) > MOST] == []


def test_each_published_error_rate_is_within_its_bound():
    """The page has 1,000 data sets a row: at most 5 % and two standard errors."""
    text = PAGE.read_text("utf-8").split(START)[1]
    series, _, contenders = text.partition("Several judges at once")
    wrong = [row for row in series.splitlines() if row.startswith("|") and ";" in row]
    wrong += [row for row in contenders.splitlines() if re.match(r"\| \d+ judges", row)]
    assert len(wrong) > 12
    assert max(map(first_share, wrong)) <= 100 * (0.05 + 2 * sqrt(0.05 * 0.95 / 1000))
