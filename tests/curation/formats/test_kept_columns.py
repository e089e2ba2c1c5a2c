"""Whatever an export tells about an item stays with it, and judges aren't shown it."""

from __future__ import annotations

import json

import pytest
from support.made_tables import text
from support.processes import invoke

from harness.tasks import load_task

NOTE = "The expert found that this text attacks nobody at all, as rule {} says."
N, RATERS = 12, ("ann", "bob", "cem")
LANGUAGES = ("en", "de")


def rating(i, k):
    return ("fine", "toxic")[(i + i * k // 3) % 2]


def toloka():
    for i in range(N):
        for k, who in enumerate(RATERS):
            yield {
                "INPUT:text": text(i),
                "INPUT:language": LANGUAGES[i % 2],
                "OUTPUT:result": rating(i, k),
                "GOLDEN:result": "fine" if i % 6 == 0 else "",
                "HINT:text": NOTE.format(i),
                "ASSIGNMENT:task_id": f"t{i}",
                "ASSIGNMENT:worker_id": who,
                "ASSIGNMENT:status": "APPROVED",
            }


def mturk():
    for i in range(N):
        for k, who in enumerate(RATERS):
            yield {
                "HITId": f"H{i}",
                "WorkerId": who,
                "AssignmentStatus": "Approved",
                "Input.text": text(i),
                "Input.language": LANGUAGES[i % 2],
                "Answer.tone": rating(i, k),
            }


def prodigy():
    for i in range(N):
        for k, who in enumerate(RATERS):
            yield {
                "text": text(i),
                "meta": {"language": LANGUAGES[i % 2], "note": NOTE.format(i)},
                "_input_hash": 100 + i,
                "_task_hash": 200 + i,
                "options": [{"id": "fine"}, {"id": "toxic"}],
                "accept": [rating(i, k)],
                "answer": "accept",
                "_annotator_id": who,
            }


def argilla():
    for i in range(N):
        answers = [
            {"value": rating(i, k), "user_id": who, "status": "submitted"}
            for k, who in enumerate(RATERS)
        ]
        yield {
            "id": str(i),
            "fields": {"text": text(i)},
            "metadata": {"language": LANGUAGES[i % 2], "note": NOTE.format(i)},
            "responses": {"tone": answers},
        }


@pytest.mark.parametrize("export", [toloka, mturk, prodigy, argilla], ids=lambda f: f.__name__)
def test_the_language_of_an_item_is_a_field_that_judges_do_not_see(tmp_path, monkeypatch, export):
    """It was shown to judges as part of the text, or lost. Neither do they see notes and hints."""
    rows = [json.dumps(row) for row in export()]
    (tmp_path / "t.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = invoke("curate", "import", "t.jsonl", "--as", "./made", "--property", "tone")
    assert done.exit_code == 0, done.output
    task = load_task("./made")
    assert len(task.items) == N
    assert {rating.rater for rating in task.ratings} == {*RATERS}
    [language] = {n for n in task.items[0].fields if "language" in n}
    assert [item.fields[language] for item in task.items] == [LANGUAGES[i % 2] for i in range(N)]
    assert task.parts_of(task.items[0]) == (text(0),)
