"""JSON documents of no particular tool are tables, whatever their form."""

from __future__ import annotations

import json

import pytest
from support.made_tables import plan_of, task_of, text

N = 12
RATERS = ("ann1", "ann2", "ann3")
ROWS = [
    {"id": f"d{i}", "text": text(i)}
    | {r: ("yes", "no")[(i + k * i) % 2] for k, r in enumerate(RATERS)}
    for i in range(N)
]
FIELDS = [{k: v for k, v in row.items() if k != "id"} for row in ROWS]
VALUES = {(row["id"], r, row[r]) for row in ROWS for r in RATERS}
FORMS = {
    "records": ROWS,
    "index": {row["id"]: fields for row, fields in zip(ROWS, FIELDS, strict=True)},
    "columns": {k: {str(n): row[k] for n, row in enumerate(ROWS)} for k in ROWS[0]},
    "lists": {k: [row[k] for row in ROWS] for k in ROWS[0]},
    "split": {
        "columns": [*FIELDS[0]],
        "index": [row["id"] for row in ROWS],
        "data": [[*fields.values()] for fields in FIELDS],
    },
    "below a key": {"version": 1, "rows": ROWS},
}


def values(task):
    return {(r.item, r.rater, r.value) for r in task.ratings}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_gives_the_same_ratings(tmp_path, form):
    """Objects by id were read as AltTest: items became raters and texts options."""
    (tmp_path / "t.json").write_text(json.dumps(FORMS[form]), encoding="utf-8")
    task = task_of(tmp_path / "t.json")
    assert values(task) == VALUES
    assert task.text == ("text",)


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.ndjson", "t.txt"])
def test_lines_of_json_are_read_under_any_name(tmp_path, name):
    (tmp_path / name).write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    assert values(task_of(tmp_path / name)) == VALUES


def test_a_document_named_jsonl_is_read(tmp_path):
    (tmp_path / "t.jsonl").write_text(json.dumps(ROWS, indent=1), encoding="utf-8")
    assert values(task_of(tmp_path / "t.jsonl")) == VALUES


def test_lists_of_ratings_by_item_are_rows(tmp_path):
    content = {
        row["id"]: [{"annotator": r, "label": row[r], "text": row["text"]} for r in RATERS]
        for row in ROWS
    }
    (tmp_path / "t.json").write_text(json.dumps(content), encoding="utf-8")
    assert values(task_of(tmp_path / "t.json")) == VALUES


def test_labels_by_annotator_and_item_are_still_recognised(tmp_path):
    content = {r: {row["id"]: row[r] for row in ROWS} for r in RATERS}
    (tmp_path / "t.json").write_text(json.dumps(content), encoding="utf-8")
    plan = plan_of(tmp_path / "t.json")
    assert plan.mapping.rater == "annotator"
    assert values(task_of(tmp_path / "t.json")) == VALUES


def test_labels_by_item_and_annotator_are_no_alt_test(tmp_path):
    content = {row["id"]: {r: row[r] for r in RATERS} for row in ROWS}
    (tmp_path / "t.json").write_text(json.dumps(content), encoding="utf-8")
    assert values(task_of(tmp_path / "t.json")) == VALUES


def test_scores_by_criterion_in_an_object_are_columns(tmp_path):
    """They were taken for counts of labels, and the message was about options."""
    rows = [
        {
            "id": f"e{i}",
            "input": {"question": text(i)},
            "output": text(i + 30),
            "scores": {"accuracy": (0.5, 1, 0)[i % 3], "human quality": (0, 0.5, 1)[i % 3]},
        }
        for i in range(N)
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    criteria = ["scores.accuracy", "scores.human quality"]
    task = task_of(tmp_path / "t.jsonl", {"criteria": criteria}, scale="ordinal")
    expected = {(f"e{i}__{criteria[1]}", ("0", "0.5", "1")[i % 3]) for i in range(N)}
    assert expected <= {(r.item, r.value) for r in task.ratings}
    assert set(task.items[0].fields) == {"input.question", "output"}
