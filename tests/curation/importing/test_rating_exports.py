"""Published forms with nested, crossed and counted ratings are read right, or asked about."""

from __future__ import annotations

import csv
import json

import pytest
from support import rating_exports, survey_exports
from support.imported_shapes import check_asked, commands, first_import, is_right
from support.processes import invoke

from harness.tasks.schema import read_task_file

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
)


@pytest.mark.parametrize("make", AT_ONCE)
def test_nested_ratings_are_read_without_a_question(make, tmp_path, monkeypatch):
    shape, done = first_import(make, tmp_path, monkeypatch)
    assert done.exit_code == 0, done.exception
    assert is_right(tmp_path, shape), done.output


@pytest.mark.parametrize("make", ASKED)
def test_a_printed_command_reads_each_form(make, tmp_path, monkeypatch):
    """Forms that were without a task, or only with a wrong one, have a command that is right."""
    check_asked(make, tmp_path, monkeypatch)


def test_a_choice_that_repeats_a_cell_of_its_row_is_no_label(tmp_path, monkeypatch):
    """The words to choose among differ from row to row, so they aren't the options of a task."""
    _, done = first_import(rating_exports.best_and_worst, tmp_path, monkeypatch)
    assert "repeats another cell of the row" in str(done.exception)
    assert not commands(done)


def test_lists_of_objects_beside_ratings_are_left_alone(tmp_path, monkeypatch):
    """A row per object would rate each item several times."""
    monkeypatch.chdir(tmp_path)
    words = [{"start": 0, "end": 4, "kind": "name"}, {"start": 5, "end": 9, "kind": "place"}]
    rows = [
        {"id": f"d{i}", "text": rating_exports.sentence(i), "found": words[: 1 + i % 2]}
        | {f"annotator_{k}": rating_exports.pick(("yes", "no"), i, k) for k in (1, 2, 3)}
        for i in range(20)
    ]
    (tmp_path / "t.json").write_text(json.dumps(rows), encoding="utf-8")
    done = invoke("curate", "import", "t.json", "--as", "made", "--text", "text")
    assert done.exit_code == 0, done.exception
    assert "20 items, 3 raters, 60 ratings" in done.output


def test_many_different_numbers_are_asked_about(tmp_path, monkeypatch):
    """More than 100 of them ended an import without a command that reads them."""
    monkeypatch.chdir(tmp_path)
    rows = [["item", "annotator", "score"]]
    rows += [[f"d{i}", who, 7 * i + k] for i in range(60) for k, who in enumerate(("ann", "bea"))]
    (tmp_path / "t.csv").write_text(rating_exports.table_text(rows), encoding="utf-8")
    done = invoke("curate", "import", "t.csv", "--as", "made")
    assert "looks continuous" in str(done.exception)
    pasted = invoke(*commands(done)[0])
    assert pasted.exit_code == 0, pasted.exception
    assert read_task_file(tmp_path / "made/task.yaml").scale == "continuous"


def test_raters_who_are_called_so_were_a_part_of_the_item(tmp_path, monkeypatch):
    """Items were made of rater and text, and kinds of errors were the raters: none is better."""
    _, done = first_import(survey_exports.severity_of_errors, tmp_path, monkeypatch)
    assert done.exit_code
    assert not list(tmp_path.glob("*/task.yaml"))
    assert all("rater," not in word for words in commands(done) for word in words)


def test_an_option_called_none_was_a_column_without_a_name(tmp_path, monkeypatch):
    """``None`` is a missing label in a cell, and the name of an option in a header."""
    monkeypatch.chdir(tmp_path)
    rows = [["scan", "reader", "Edema", "Fracture", "None"]]
    for i in range(20):
        for k in range(3):
            ticks = [int((i * (n + 3) + k * i) % 4 == 0) for n in range(2)]
            rows.append([f"S{i}", f"R{k}", *ticks, int(not any(ticks))])
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    words = ("--id", "scan", "--rater", "reader", "--sets", "Edema,Fracture,None")
    done = invoke("curate", "import", "t.csv", "--as", "made", *words, "--text", "none")
    assert done.exit_code == 0, done.exception
    labels = {option.label for option in read_task_file(tmp_path / "made" / "task.yaml").options}
    assert labels == {"Edema", "Fracture", "none of these"}
