"""More published forms: each is read right at once or by a printed command, or has no ratings."""

from __future__ import annotations

import pytest
from support import crowd_files
from support.imported_shapes import commands, first_import, is_right, reaches_right

from harness.errors import HarnessError

MOST_LINES = 25
AT_ONCE = (
    crowd_files.argument_quality,
    crowd_files.entailment_of_workers,
    crowd_files.safety_with_reasons,
    crowd_files.compared_summaries,
    crowd_files.letters_of_choices,
    crowd_files.outputs_and_metrics,
    crowd_files.listed_and_counted,
    crowd_files.measured_hate,
    crowd_files.coders_with_notes,
)
ASKED = (
    crowd_files.direct_assessments,
    crowd_files.named_model_beside_people,
    crowd_files.feelings_by_annotator,
    crowd_files.students_by_number,
    crowd_files.preferred_melodies,
    crowd_files.ticked_posts,
    crowd_files.units_of_contributors,
    crowd_files.aspects_of_simplifications,
    crowd_files.anecdotes,
    crowd_files.moral_tweets,
    crowd_files.scored_essays,
    crowd_files.certainty_of_speakers,
    crowd_files.keyed_answers,
)
NO_RATINGS = (
    crowd_files.chosen_and_rejected,
    crowd_files.scores_of_sides,
    crowd_files.errors_of_translations,
)


@pytest.mark.parametrize("make", AT_ONCE)
def test_a_form_is_read_right_without_a_question(make, tmp_path, monkeypatch):
    shape, done = first_import(make, tmp_path, monkeypatch)
    assert done.exit_code == 0, done.exception
    assert is_right(tmp_path, shape), done.output


@pytest.mark.parametrize("make", ASKED)
def test_the_first_command_that_is_printed_or_a_later_one_is_right(make, tmp_path, monkeypatch):
    shape, done = first_import(make, tmp_path, monkeypatch)
    assert isinstance(done.exception, HarnessError)
    assert not list(tmp_path.glob("*/task.yaml"))
    assert len(done.output.splitlines()) <= MOST_LINES
    if not reaches_right(shape, done, tmp_path, monkeypatch):
        pytest.fail(f"{done.exception}\n{done.output}")


@pytest.mark.parametrize("make", NO_RATINGS)
def test_a_file_without_single_ratings_prints_no_command(make, tmp_path, monkeypatch):
    _, done = first_import(make, tmp_path, monkeypatch)
    assert isinstance(done.exception, HarnessError)
    assert not commands(done)
    assert not list(tmp_path.glob("*/task.yaml"))
