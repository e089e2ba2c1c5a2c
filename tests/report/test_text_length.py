"""A validation as text keeps to a number of lines, however much there is to say."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task, race_of

from harness.analysis import validate
from harness.analysis.rubric import RubricResult, RubricRow
from harness.analysis.score_measures import ScoredJudge, Scores, ScoreStratum
from harness.report.next_steps import LATER_STEP
from harness.report.score_table import MEASURES
from harness.report.text import render
from harness.stats import Estimate

MOST_LINES = 25


@pytest.fixture(scope="module")
def short():
    """A validation whose text fits."""
    return validate(indeterminate_source(indeterminate_task()))


def lines_of(validation, **choices):
    """Return the lines with the limit of a command."""
    return render(validation, most_lines=MOST_LINES, **choices).splitlines()


def test_a_text_that_fits_is_whole(short):
    """Nothing points to --details; with one line less, something does."""
    n_lines = len(render(short).splitlines())
    assert render(short, most_lines=n_lines) == render(short)
    assert "Add --details to see 1 more sentence" in render(short, most_lines=n_lines - 1)


@pytest.mark.parametrize("n_notes", [1, 3, 12, 40])
def test_notes_beyond_the_limit_are_counted(short, n_notes):
    """The first notes are printed, the others counted, and the recommendation stays."""
    notes = tuple(f"note {i}, {'which takes several words ' * 5}" for i in range(n_notes))
    long = replace(short, notes=notes)
    shown = lines_of(long)
    n_shown = sum(line.startswith("note: ") for line in shown)
    n_more = re.search(r"(\d+) more notes?", " ".join(shown))
    assert len(shown) <= MOST_LINES
    assert n_shown + (int(n_more[1]) if n_more else 0) == n_notes
    assert "Next: " in "\n".join(shown)
    full = lines_of(long, details=True)
    assert sum(line.startswith("note: ") for line in full) == n_notes


def test_judges_beyond_the_limit_are_counted(short):
    """The last judges of a long ranking are left out, and baselines are not."""
    names = tuple(f"judge-{i:02}" for i in range(40))
    judges, rows = short.judges, short.evidence.judges
    extra = [replace(judges[-1], name=name) for name in names]
    more = [replace(rows[-1], judge=name, ranked=True) for name in names]
    evidence = replace(short.evidence, judges=(*rows, *more))
    long = replace(short, judges=(*judges, *extra), evidence=evidence)
    shown = lines_of(long)
    assert len(shown) <= MOST_LINES
    assert re.search(r"Add --details to see .*\d+ more judges", " ".join(shown))
    assert "human rater" in "\n".join(shown)


N_ROWS = 40  # of a table that is longer than a screen
AT = Estimate(value=0.5, n_used=12)


def with_rubric(short):
    """Add a rubric of many criteria."""
    kappa = {judge.name: AT for judge in short.judges}
    names = [*(f"criterion-{i:02}" for i in range(N_ROWS)), ""]
    rows = [
        RubricRow(
            name=name,
            level="criterion" if name else "item",
            weight=None,
            n=12,
            met=0.5,
            hit_rate=kappa,
            kappa=kappa,
        )
        for name in names
    ]
    return replace(short, rubric=RubricResult(threshold=0.5, rows=tuple(rows)))


def with_scores(short):
    """Add the scores of many judges, with an undeclared direction."""
    measures = dict.fromkeys(MEASURES, AT)
    judges = [
        ScoredJudge(
            judge=f"metric-{i:02}",
            better="higher",
            is_declared=False,
            tie_width=None,
            pairwise_accuracy=AT,
            strata=(ScoreStratum(name="all", n_items=12, measures=measures),),
            by_median=(),
        )
        for i in range(N_ROWS)
    ]
    return replace(short, scores=Scores(unit="item", options=(), judges=tuple(judges)))


def with_race(short):
    """Add the race of many judges that ran before."""
    names = [f"racer-{i:02}" for i in range(N_ROWS)]
    return replace(short, race=race_of(names[0], names, completed=True))


@pytest.mark.parametrize(
    ("lengthen", "start", "noun"),
    [
        (with_rubric, "criterion-", "rubric row"),
        (with_scores, "metric-", "score row"),
        (with_race, "racer-", "race row"),
    ],
)
def test_rows_beyond_the_limit_are_counted(short, lengthen, start, noun):
    """A rubric, scores or a race keep to the limit, and --details prints every row."""
    long = lengthen(short)
    shown = lines_of(long)
    row = re.compile(rf"{start}\d\d  ")
    n_shown = sum(bool(row.match(line)) for line in shown)
    n_more = re.search(rf"(\d+) more {noun}s?", " ".join(shown))
    assert len(shown) <= MOST_LINES
    assert n_shown + int(n_more[1]) == N_ROWS
    assert any(line.startswith("Next: ") for line in shown)
    full = lines_of(long, details=True)
    assert sum(bool(row.match(line)) for line in full) >= N_ROWS


def test_later_steps_are_left_out_last(short):
    """The first step stays where a text is much too long, and the others are counted."""
    shown = " ".join(render(short, most_lines=1).splitlines())
    assert re.search(r"Add --details to see .*[1-9] more steps?\.", shown)
    assert "Next: " in shown
    assert LATER_STEP not in shown
    assert LATER_STEP in render(short)
