"""Published exports are imported correctly, or ask a question with a command that does, or fail."""

from __future__ import annotations

import pytest
from support import crowd_files, rating_exports, sheet_exports, study_exports, survey_exports
from support.each_case import fast_first
from support.imported_shapes import check_asked, commands, first_import, is_right

from harness.errors import HarnessError

AT_ONCE = (
    rating_exports.sentences_of_summaries,
    rating_exports.scores_of_dialogues,
    rating_exports.classifications,
    survey_exports.axes_of_summaries,
    survey_exports.choices_by_annotator,
    survey_exports.single_labels,
    survey_exports.grid_of_google,
    survey_exports.survey_of_two_headers,
    survey_exports.workers_beside_scores,
    survey_exports.sets_by_worker,
    survey_exports.objects_by_annotator,
    survey_exports.better_and_how_sure,
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
    sheet_exports.questions_about_puns,
    sheet_exports.answers_inside_strings,
    sheet_exports.errors_of_sentences,
)
ASKED = (
    rating_exports.listening_test,
    rating_exports.photo_counts,
    rating_exports.scores_of_experts_and_crowd,
    rating_exports.explanations_without_raters,
    rating_exports.scores_without_header,
    rating_exports.preferences_with_reasons,
    rating_exports.hundred_labels,
    rating_exports.opinions_of_voices,
    rating_exports.numbers_by_worker,
    rating_exports.people_beside_models,
    rating_exports.preferred_pictures,
    rating_exports.opinions_of_screens,
    survey_exports.nested_criteria,
    survey_exports.lists_of_one,
    survey_exports.attributes_by_worker,
    survey_exports.safer_and_better,
    survey_exports.helpful_replies,
    survey_exports.authors_of_tweets,
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
    study_exports.digits_of_grades,
    sheet_exports.people_as_ids,
    sheet_exports.numbered_scores,
    sheet_exports.repeated_lines,
    sheet_exports.validated_questions,
    sheet_exports.lists_of_annotators,
    sheet_exports.people_above_columns,
    sheet_exports.quotes_between_tabs,
    sheet_exports.checked_boxes,
    sheet_exports.crosses_of_coders,
    sheet_exports.numbered_reviewers,
    sheet_exports.grades_below_papers,
    sheet_exports.criteria_of_people,
)
NO_RATINGS = (
    study_exports.trees_of_messages,
    crowd_files.chosen_and_rejected,
    crowd_files.scores_of_sides,
    crowd_files.errors_of_translations,
    crowd_files.aggregated_units,
    crowd_files.older_of_two,
    crowd_files.means_of_labels,
)


@pytest.mark.parametrize("make", AT_ONCE)
def test_an_export_is_imported_without_a_question(make, tmp_path, monkeypatch):
    shape, done = first_import(make, tmp_path, monkeypatch)
    assert done.exit_code == 0, done.exception
    assert is_right(tmp_path, shape), done.output


@pytest.mark.parametrize("make", fast_first(len(ASKED) // 2, ASKED[::2] + ASKED[1::2]))
def test_a_printed_command_imports_the_export(make, tmp_path, monkeypatch):
    """The command reads it, or prints one that does."""
    check_asked(make, tmp_path, monkeypatch)


@pytest.mark.parametrize("make", NO_RATINGS)
def test_an_export_without_single_ratings_prints_no_command(make, tmp_path, monkeypatch):
    _, done = first_import(make, tmp_path, monkeypatch)
    assert isinstance(done.exception, HarnessError)
    assert not commands(done)
    assert not list(tmp_path.glob("*/task.yaml"))
