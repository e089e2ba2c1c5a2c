"""Imports of nested, repeated and unlabelled ratings that published exports have."""

from __future__ import annotations

import csv
import json

from support import rating_exports, survey_exports
from support.imported_shapes import commands, first_import
from support.processes import invoke

from harness.tasks.schema import read_task_file


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


def test_repeated_ratings_are_listed_as_rejected(tmp_path, monkeypatch):
    """A post with several minorities has a row for each, with the same ratings of its worker."""
    monkeypatch.chdir(tmp_path)
    rows = [["item", "annotator", "label", "target"]]
    rows += [
        [f"d{i}", who, ("yes", "no")[(i + k) % 2], target]
        for i in range(10)
        for k, who in enumerate(("ann", "bea"))
        for target in (("x",) if i % 3 else ("x", "y"))
    ]
    (tmp_path / "t.csv").write_text(rating_exports.table_text(rows), encoding="utf-8")
    words = ("--id", "item", "--rater", "annotator", "--label", "label")
    done = invoke("curate", "import", "t.csv", "--as", "made", *words)
    assert done.exit_code == 0, done.exception
    assert "20 ratings" in done.output
    assert "Rejected: 8, listed in made/rejected.csv" in done.output
