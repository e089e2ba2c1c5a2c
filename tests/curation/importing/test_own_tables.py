"""Tables as people have them, from the file to the task, by the commands alone."""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections import Counter

import openpyxl
import pytest
from support.processes import call_harness

from harness.tasks import load_task

TEXTS = [
    "The driver was late but friendly.",
    "The soup was cold when it came.",
    "The app crashes on every start.",
    "Battery lasts two full days easily.",
    "Staff helped us with the luggage.",
    "Great value for the price paid.",
    "The manual is only in Chinese.",
    "Delivery was quick and well packed.",
]
ADVICE = re.compile(r"^  harness curate import .*$", re.MULTILINE)


def write(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def values(folder):
    return {(r.item, r.rater, r.elicitation): r.value for r in load_task(folder).ratings}


@pytest.fixture
def swapped(tmp_path):
    rows = [
        [k, *(sides[::-1] if rater == "bob" else sides), rater, choice]
        for k, text in enumerate(TEXTS)
        for sides in [(f"Short: {text}", f"Long and polite: {text}")]
        for rater, choice in [("ann", "left"), ("bob", "right"), ("cy", ["left", "tie"][k % 2])]
    ]
    write(tmp_path / "t.csv", [["item", "left", "right", "annotator", "choice"], *rows])
    return tmp_path


@pytest.mark.parametrize(
    "roles",
    [
        "",
        "--id left --text left,right --rater annotator --label choice --judges none",
        "--id item --text left,right --rater annotator --label choice --judges none",
    ],
)
def test_sides_that_change_places_between_raters_are_never_pooled(swapped, roles):
    """Whatever roles are given; and no command that would pool them is printed."""
    args = ["--as", "./out", *roles.split()]
    done = call_harness("curate", "import", "t.csv", *args, cwd=swapped)
    assert done.returncode == 2
    assert "left and right change places" in done.stderr
    assert not ADVICE.findall(done.stdout)
    assert not (swapped / "out").exists()


def test_a_choice_beside_a_set_in_one_text_is_drafted_as_both(tmp_path):
    """The draft is made of the labels that the separator leaves, so its command is right."""
    rows = [
        [text, rater, first, f"{first}|{second}" if (k + j) % 3 else first]
        for k, text in enumerate(TEXTS)
        for j, rater in enumerate("abc")
        for first, second in [[("spam", "ad"), ("ham", "ad"), ("ad", "spam")][(k * j) % 3]]
    ]
    write(tmp_path / "t.csv", [["post", "annotator", "best", "all that apply"], *rows])
    asked = call_harness("curate", "import", "t.csv", "--as", "./out", cwd=tmp_path)
    assert asked.returncode == 2
    accepted, *_ = ADVICE.findall(asked.stdout)
    done = call_harness(*shlex.split(accepted)[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ratings = values(tmp_path / "out")
    assert Counter(elicitation for *_, elicitation in ratings) == {
        "forced_choice": len(rows),
        "response_set": len(rows),
    }
    for text, rater, best, members in rows:
        assert ratings[text, rater, "forced_choice"] == best
        assert set(ratings[text, rater, "response_set"]) == set(members.split("|"))


def test_a_sheet_per_rater_and_its_export_saved_as_a_workbook_are_read(tmp_path):
    """Remarks of raters are no texts; the exported table comes back from a workbook as it was."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    given = {}
    for j, rater in enumerate(["Ana", "Ben", "Cleo"]):
        sheet = book.create_sheet(rater)
        sheet.append(["ID", "Text", "Rating", "Comment"])
        for k, text in enumerate(TEXTS):
            given[str(k), rater, "forced_choice"] = label = ["good", "bad"][(k * (j + 1)) % 3 % 2]
            sheet.append([k, text, label, [None, "hm"][k % 2]])
    book.save(tmp_path / "t.xlsx")
    asked = call_harness("curate", "import", "t.xlsx", "--as", "./out", cwd=tmp_path)
    assert asked.returncode == 2
    assert "--sheet" in asked.stderr
    sheets = ["--sheet", "Ana,Ben,Cleo"]
    done = call_harness("curate", "import", "t.xlsx", "--as", "./out", *sheets, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert values(tmp_path / "out") == given
    assert load_task(tmp_path / "out").text == ("Text",)

    done = call_harness("curate", "export", "./out", "e.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    book = openpyxl.Workbook()
    with (tmp_path / "e.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            book.active.append(row)
    book.save(tmp_path / "e.xlsx")
    done = call_harness("curate", "import", "e.xlsx", "--as", "./back", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert values(tmp_path / "back") == given


@pytest.mark.parametrize("signs", [["*", "**", "***"], ["★☆☆", "★★☆", "★★★"]])
def test_stars_are_steps_of_a_scale(tmp_path, signs):
    """They were options without an order."""
    rows = [[t, r, signs[(k + j) % 3]] for k, t in enumerate(TEXTS) for j, r in enumerate("abc")]
    write(tmp_path / "t.csv", [["review", "rater", "stars"], *rows])
    done = call_harness("curate", "import", "t.csv", "--as", "./out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    task = load_task(tmp_path / "out")
    assert task.scale == "ordinal"
    assert [option.label for option in task.options] == signs


@pytest.mark.parametrize("listed", [False, True])
def test_people_and_ids_beside_ratings_in_one_cell_are_kept(tmp_path, listed):
    """People were taken for places, and the ids of the rows for their numbers."""
    people = ["Ann", "Bo", "Cy"]
    labels = [["yes", "no", "yes", "no"][k % 4 :][:1] * 2 + ["no"] for k in range(len(TEXTS))]
    rows = [
        [f"d{k}", text, json.dumps(given), json.dumps(people)]
        if listed
        else [f"d{k}", text, json.dumps(dict(zip(people, given, strict=True)))]
        for k, (text, given) in enumerate(zip(TEXTS, labels, strict=True))
    ]
    head = ["id", "text", "labels", *(["annotators"] if listed else [])]
    write(tmp_path / "t.csv", [head, *rows])
    done = call_harness("curate", "import", "t.csv", "--as", "./out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert load_task(tmp_path / "out").rater_ids == "real"
    assert values(tmp_path / "out") == {
        (f"d{k}", person, "forced_choice"): label
        for k, given in enumerate(labels)
        for person, label in zip(people, given, strict=True)
    }


@pytest.mark.parametrize("last", ["label", "score"])
def test_a_column_of_raters_names_is_never_drafted_as_ratings(tmp_path, last):
    """Repeated ratings and fractions left nothing else that looked like labels."""
    cells = {"label": ["ok", "bad"], "score": [k / 97 for k in range(1, 97)]}[last]
    rows = [
        [text, rater, cells[(5 * k + 3 * j) % len(cells)]]
        for k, text in enumerate(TEXTS)
        for j, rater in enumerate(["ann", "bo", "bo", "bo"])
    ]
    write(tmp_path / "t.csv", [["text", "rater", last], *rows])
    asked = call_harness("curate", "import", "t.csv", "--as", "./out", cwd=tmp_path)
    assert asked.returncode == 2
    assert not any("--raters rater" in line for line in ADVICE.findall(asked.stdout))


def test_ultrafeedback_is_read_by_aspect_and_asks_whether_its_rater_is_a_judge(tmp_path):
    """GPT-4 alone rated it, which is for the user to call a rater."""
    aspects = ("helpfulness", "honesty")
    lines = [
        {
            "source": "evol",
            "instruction": f"Explain: {text}",
            "models": ["m1", "m2"],
            "completions": [
                {
                    "model": model,
                    "response": f"{model} says {text}",
                    "annotations": {
                        aspect: {"Rating": str((k + j + n) % 5 + 1), "Rationale": "r"}
                        for n, aspect in enumerate(aspects)
                    },
                    "overall_score": 7,
                    "critique": "c",
                }
                for j, model in enumerate(["m1", "m2"])
            ],
        }
        for k, text in enumerate(TEXTS)
    ]
    (tmp_path / "u.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    asked = call_harness("curate", "import", "u.jsonl", "--as", "./out", cwd=tmp_path)
    assert asked.returncode == 2
    accepted, *_ = ADVICE.findall(asked.stdout)
    done = call_harness(*shlex.split(accepted)[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    task = load_task(tmp_path / "out")
    assert {item.criterion for item in task.items} == set(aspects)
    assert len(task.items) == len(task.ratings) == 2 * 2 * len(TEXTS)
    assert [option.key for option in task.options] == list("12345")
    by_item = {rating.item: rating.value for rating in task.ratings}
    for item in task.items:
        k = next(k for k, text in enumerate(TEXTS) if text in item.fields["instruction"])
        j = int(item.fields["response"][1]) - 1
        assert by_item[item.id] == str((k + j + aspects.index(item.criterion)) % 5 + 1)
