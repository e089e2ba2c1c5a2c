"""Exports of tools and studies are read right, at once or by a printed command, or not at all."""

from __future__ import annotations

import pytest
from support import study_exports
from support.imported_shapes import check_asked, commands, first_import, is_right

from harness.errors import HarnessError

AT_ONCE = (
    study_exports.radio_buttons,
    study_exports.summaries_of_systems,
    study_exports.factual_summaries,
    study_exports.winners_in_three_columns,
    study_exports.labels_of_a_project,
    study_exports.responses_of_users,
    study_exports.german_sheet,
    study_exports.french_sheet,
    study_exports.scores_by_attribute,
    study_exports.people_of_annotations,
    study_exports.seen_by_annotators,
    study_exports.form_of_microsoft,
)
ASKED = (
    study_exports.several_items_of_a_hit,
    study_exports.workers_by_label,
    study_exports.judged_uses,
    study_exports.kinds_of_toxicity,
    study_exports.numbers_as_headers,
    study_exports.trials_of_an_experiment,
    study_exports.sarcasm_scores,
    study_exports.several_inferences,
    study_exports.annotations_of_spans,
    study_exports.labels_of_projects,
    study_exports.scores_of_one_user,
    study_exports.chinese_sheet,
    study_exports.responses_below_contexts,
    study_exports.judged_safety,
    study_exports.coded_survey,
    study_exports.feedback_of_traces,
    study_exports.ratings_of_two_in_columns,
    study_exports.preferences_and_turns,
)
NO_RATINGS = (study_exports.trees_of_messages,)


@pytest.mark.parametrize("make", AT_ONCE)
def test_an_export_is_read_without_a_question(make, tmp_path, monkeypatch):
    shape, done = first_import(make, tmp_path, monkeypatch)
    assert done.exit_code == 0, done.exception
    assert is_right(tmp_path, shape), done.output


@pytest.mark.parametrize("make", ASKED)
def test_a_printed_command_reads_an_export(make, tmp_path, monkeypatch):
    check_asked(make, tmp_path, monkeypatch)


@pytest.mark.parametrize("make", NO_RATINGS)
def test_an_export_without_single_ratings_prints_no_command(make, tmp_path, monkeypatch):
    _, done = first_import(make, tmp_path, monkeypatch)
    assert isinstance(done.exception, HarnessError)
    assert not commands(done)
    assert not list(tmp_path.glob("*/task.yaml"))
