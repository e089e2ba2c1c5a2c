"""More published forms: each is read right at once or by a printed command, or has no ratings."""

from __future__ import annotations

import pytest
from support import crowd_files
from support.imported_shapes import check_asked, commands, first_import, is_right
from support.processes import invoke

from harness.errors import HarnessError

AT_ONCE = (
    crowd_files.argument_quality,
    crowd_files.entailment_of_workers,
    crowd_files.scored_essays,
    crowd_files.anecdotes,
    crowd_files.safety_with_reasons,
    crowd_files.compared_summaries,
    crowd_files.letters_of_choices,
    crowd_files.outputs_and_metrics,
    crowd_files.listed_and_counted,
    crowd_files.measured_hate,
    crowd_files.coders_with_notes,
)
ASKED = (
    crowd_files.posts_and_targets,
    crowd_files.direct_assessments,
    crowd_files.named_model_beside_people,
    crowd_files.feelings_by_annotator,
    crowd_files.students_by_number,
    crowd_files.preferred_melodies,
    crowd_files.ticked_posts,
    crowd_files.units_of_contributors,
    crowd_files.aspects_of_simplifications,
    crowd_files.moral_tweets,
    crowd_files.certainty_of_speakers,
    crowd_files.ticked_degrees,
    crowd_files.keyed_answers,
)
NO_RATINGS = (
    crowd_files.chosen_and_rejected,
    crowd_files.scores_of_sides,
    crowd_files.errors_of_translations,
    crowd_files.aggregated_units,
    crowd_files.older_of_two,
    crowd_files.means_of_labels,
)


@pytest.mark.parametrize("make", AT_ONCE)
def test_a_form_is_read_right_without_a_question(make, tmp_path, monkeypatch):
    shape, done = first_import(make, tmp_path, monkeypatch)
    assert done.exit_code == 0, done.exception
    assert is_right(tmp_path, shape), done.output


@pytest.mark.parametrize("make", ASKED)
def test_the_first_command_that_is_printed_or_a_later_one_is_right(make, tmp_path, monkeypatch):
    check_asked(make, tmp_path, monkeypatch)


@pytest.mark.parametrize("make", NO_RATINGS)
def test_a_file_without_single_ratings_prints_no_command(make, tmp_path, monkeypatch):
    _, done = first_import(make, tmp_path, monkeypatch)
    assert isinstance(done.exception, HarnessError)
    assert not commands(done)
    assert not list(tmp_path.glob("*/task.yaml"))


def test_a_rating_that_is_repeated_is_listed_and_no_loss(tmp_path, monkeypatch):
    """A post with several minorities has a row for each, with the same ratings of its worker."""
    monkeypatch.chdir(tmp_path)
    rows = [["item", "annotator", "label", "target"]]
    rows += [
        [f"d{i}", who, ("yes", "no")[(i + k) % 2], target]
        for i in range(10)
        for k, who in enumerate(("ann", "bea"))
        for target in (("x",) if i % 3 else ("x", "y"))
    ]
    (tmp_path / "t.csv").write_text(crowd_files.table_text(rows), encoding="utf-8")
    words = ("--id", "item", "--rater", "annotator", "--label", "label")
    done = invoke("curate", "import", "t.csv", "--as", "made", *words)
    assert done.exit_code == 0, done.exception
    assert "20 ratings" in done.output
    assert "Rejected: 8, listed in made/rejected.csv" in done.output
