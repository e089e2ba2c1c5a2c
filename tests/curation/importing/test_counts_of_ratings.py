"""The draft of an import, its last lines and the task give the same numbers."""

from __future__ import annotations

import pytest
from support.made_tables import plan_of, text, written
from support.processes import invoke

from harness.curation.importing.reading_facts import facts_of
from harness.tasks import load_task

N = 24
RATERS = ("ann", "bea", "cem")


def table_with_gaps(place):
    """Write a row per item: one cell says n/a, and one is blank."""
    rows = [["id", "text", *RATERS]]
    rows += [[f"d{i}", text(i), *(("no", "yes")[(i + k) % 2] for k in range(3))] for i in range(N)]
    rows[3][2], rows[5][3] = "n/a", ""
    return written(place / "t.csv", rows)


def test_an_ignored_label_was_counted_as_a_rating(tmp_path):
    """71 ratings were said to be written, and validation counted 70."""
    words = ["--raters", ",".join(RATERS), "--ignore", "n/a", "--as", str(tmp_path / "made")]
    done = invoke("curate", "import", str(table_with_gaps(tmp_path)), *words)
    n_ratings = len(load_task(tmp_path / "made").ratings)
    assert n_ratings == N * 3 - 2
    assert f"{N} items, 3 raters, {n_ratings} ratings (1 more ignored)." in done.stdout
    comment = f"# 3 raters gave {n_ratings} ratings."
    assert comment in (tmp_path / "made" / "task.yaml").read_text("utf-8")


@pytest.mark.parametrize(
    ("raters", "counts"),
    [
        (RATERS, "24 items, 3 raters, 2 to 3 ratings each ("),
        (RATERS[2:], "24 items, 1 rater, 1 rating each ("),
    ],
)
def test_blank_cells_are_no_ratings_in_a_draft(tmp_path, raters, counts):
    """Each item was said to have the median number of ratings."""
    roles = {"raters": raters, "judges": ["none"]}
    ignored = ("n/a",) if "ann" in raters else ()
    plan = plan_of(table_with_gaps(tmp_path), roles, ignore=ignored)
    assert facts_of([plan]).lines()[0].startswith(counts)


def test_a_single_rare_rating_is_named_as_one(tmp_path):
    rows = [["id", "text", "rater", "label"]]
    rows += [[f"d{i}", text(i), who, ("no", "yes")[i % 2]] for i in range(60) for who in RATERS]
    rows[7][3] = "perhaps"
    words = ["--scale", "nominal", "--as", str(tmp_path / "made")]
    done = invoke("curate", "import", str(written(tmp_path / "t.csv", rows)), *words)
    assert "only 1 rating says 'perhaps'" in " ".join(done.output.split())
