"""A validation as text keeps to a number of lines, however much there is to say."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task

from harness.analysis import validate
from harness.report.text import render

MOST_LINES = 25


@pytest.fixture(scope="module")
def short():
    """A validation whose text fits."""
    return validate(indeterminate_source(indeterminate_task()))


def lines_of(validation, **choices):
    """Return the lines with the limit of a command."""
    return render(validation, most_lines=MOST_LINES, **choices).splitlines()


def test_a_text_that_fits_is_whole(short):
    """Nothing points to --details."""
    assert lines_of(short) == render(short).splitlines()
    assert len(lines_of(short)) <= MOST_LINES


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
