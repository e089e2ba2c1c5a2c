"""Ratings of the page as a table, in the task, and in its validation."""

from __future__ import annotations

import csv
import json
import stat

import pytest
from support.annotating import answer_one, make_unrated_task
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.analysis import Validation
from harness.annotation import RatingLog, RatingSession, make_screens
from harness.errors import TaskError
from harness.tasks import load_task, read_changes
from harness.tasks.options import DEFAULT_PROPERTY

N_ITEMS = 12


def rate_in_pairs(folder, rater, *, both=()):
    """Rate all items of a task: B, with A in the set of the items in ``both``."""
    task = load_task(folder, unrated=True)
    with RatingLog.open(task, rater) as log:
        session = RatingSession(task, make_screens(task, rater, form="paired"), log)
        while (screen := session.current()) is not None:
            endorsed = ["A", "B"] if screen.item.id in both else ["B"]
            answer_one(session, "B" if screen.elicitation == "forced_choice" else endorsed)


@pytest.fixture
def folder(tmp_path):
    """A task that ann and bea rated in pairs; a third of ann's negative choices allow A."""
    texts = [f"Comment {i}." for i in range(N_ITEMS)]
    task = make_unrated_task(tmp_path / "task", texts)
    rate_in_pairs(task, "ann", both=("i0", "i1", "i2", "i3"))
    rate_in_pairs(task, "bea")
    return task


@pytest.mark.parametrize(
    "ending", ["csv", "jsonl", pytest.param("parquet", marks=pytest.mark.slow)]
)
def test_export_holds_every_rating_with_its_provenance(folder, tmp_path, ending):
    """Who, when, how and under which instructions; readable by its owner alone, and by a task."""
    table = tmp_path / f"ratings.{ending}"
    assert invoke("annotate", "export", folder, table).exit_code == 0
    assert stat.S_IMODE(table.stat().st_mode) == 0o600
    (folder / table.name).write_bytes(table.read_bytes())
    ratings = load_task(folder).ratings
    assert len(ratings) == 4 * N_ITEMS
    assert {r.value for r in ratings} == {"B", ("B",), ("A", "B")}
    if ending == "csv":
        rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
        assert {row["form"] for row in rows} == {"paired"}
        assert len({row["instructions"] for row in rows}) == 1
        assert all(row["rated_at"].endswith("Z") for row in rows)


@pytest.mark.parametrize("rater", [None, "bea"])
def test_merge_adds_each_rating_once(folder, rater):
    """A second merge adds nothing, and one rater may be merged alone."""
    options = ("--rater", rater) if rater else ()
    n_new = 2 * N_ITEMS if rater else 4 * N_ITEMS
    unrated = load_task(folder, unrated=True).content_hash
    assert f": {n_new} ratings" in invoke("annotate", "merge", folder, *options).output
    merged = (folder / "ratings.jsonl").read_bytes()
    again = invoke("annotate", "merge", folder, *options).output
    assert f": 0 ratings.\nRatings that were already in the task: {n_new}." in again
    assert (folder / "ratings.jsonl").read_bytes() == merged
    task = load_task(folder)
    assert {r.rater for r in task.ratings} == ({rater} if rater else {"ann", "bea"})
    (change,) = read_changes(folder)
    assert change.change == f"merge of {n_new} ratings of harness annotate"
    assert (change.before, change.after) == (unrated, task.content_hash)


def test_merge_keeps_the_ratings_of_a_csv_table(tmp_path):
    """Rows that were there stay as they are; new columns are empty in them."""
    folder = make_task_folder(tmp_path / "task", 4)
    rows = [json.loads(line) for line in (folder / "ratings.jsonl").read_text().splitlines()]
    (folder / "ratings.jsonl").unlink()
    lines = [f"{r['item']},{r['rater']},{r['value']}" for r in rows if "elicitation" not in r]
    text = "item,rater,value\n" + "\n".join(lines) + "\n"
    (folder / "ratings.csv").write_text(text, encoding="utf-8")
    yaml = (folder / "task.yaml").read_text(encoding="utf-8")
    (folder / "task.yaml").write_text(yaml.replace(".jsonl\nr", ".jsonl\n#r"), encoding="utf-8")
    before = load_task(folder).ratings
    rate_in_pairs(folder, "ann")
    assert invoke("annotate", "merge", folder).exit_code == 0
    after = load_task(folder).ratings
    assert after[: len(before)] == before
    assert len(after) == len(before) + 8


def test_conflict_with_the_task_merges_nothing(folder):
    """A rater who answered otherwise in the task's ratings is named, and nothing is written."""
    invoke("annotate", "merge", folder, "--rater", "bea")
    path = folder / "ratings.jsonl"
    path.write_text(path.read_text().replace('"B"', '"A"', 1), encoding="utf-8")
    before = path.read_bytes()
    result = invoke("annotate", "merge", folder)
    assert isinstance(result.exception, TaskError)
    assert "bea rated item" in str(result.exception)
    assert path.read_bytes() == before


def test_pairs_estimate_the_raters_beta(folder):
    """`validate` estimates the beta of the merged pairs by counting: 4 of 24 negative choices."""
    invoke("annotate", "merge", folder)
    result = Validation.from_json(invoke("validate", "--task", folder, "--json").stdout)
    assert result.humans.n_pairs == 2 * N_ITEMS
    assert result.humans.beta.value == pytest.approx(4 / 24)


def test_assumed_beta_is_compared_with_the_pairs(folder):
    """Where beta is assumed although raters gave pairs, a note says what the pairs estimate."""
    invoke("annotate", "merge", folder)
    [note] = notes_of(folder, "--beta", 0.5)[-1:]
    assert note.startswith("The estimate of the raters' beta from 24 pairs is 0.17 [")
    assert "too few for use by default (there are pairs on 12 items, but 30 are needed)" in note
    assert "To use this estimate instead of an assumed beta, pass --humans reconst" in note
    assert not any("the raters' beta from" in note for note in notes_of(folder))


def test_pairs_of_some_stand_for_the_choices_of_all(folder):
    """Where most choices have no set, a note names the option that uses the pairs; it does so."""
    invoke("annotate", "merge", folder, "--rater", "ann")
    rows = [{"item": f"i{i}", "rater": r, "value": "B"} for i in range(N_ITEMS) for r in "xyz"]
    with (folder / "ratings.jsonl").open("a", encoding="utf-8") as table:
        table.writelines(json.dumps(row) + "\n" for row in rows)
    assert any(
        note.startswith("The estimate of the raters' beta from 12 pairs is 0.33 [")
        for note in notes_of(folder)
    )
    used = " ".join(notes_of(folder, "--humans", "reconstructed"))
    assert "are reconstructed from their forced choices, using F' from 12 pairs on 12 items" in used


def notes_of(folder, *options):
    result = invoke("validate", "--task", folder, *options, "--json")
    return Validation.from_json(result.stdout).notes


def test_formulas_are_neutralized_in_exported_csv(tmp_path):
    """An item whose id is a formula does not run in a spreadsheet; in the task it keeps its id."""
    task = make_unrated_task(tmp_path / "task", ["a"])
    items = task / "items.jsonl"
    items.write_text(items.read_text(encoding="utf-8").replace("i0", "=1+1"), encoding="utf-8")
    rate_in_pairs(task, "ann")
    invoke("annotate", "export", task, tmp_path / "x.csv")
    invoke("annotate", "merge", task)
    rows = list(csv.DictReader((tmp_path / "x.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["item"] for row in rows} == {"'=1+1"}
    assert {rating.item for rating in load_task(task).ratings} == {"=1+1"}


def test_nothing_to_merge_is_one_line(tmp_path):
    """A task without a log, and a rater without a log, end with exit code 2."""
    task = make_unrated_task(tmp_path / "task", ["a"])
    table = tmp_path / "x.csv"
    for words in (("merge", task), ("merge", task, "--rater", "ann"), ("export", task, table)):
        assert isinstance(invoke("annotate", *words).exception, TaskError)
    assert not table.exists()


def test_a_rater_may_be_left_out(folder, tmp_path):
    """Of a merge and of an export; a name that nobody has is refused."""
    result = invoke("annotate", "merge", folder, "--without", "bea")
    assert f": {2 * N_ITEMS} ratings ({2 * N_ITEMS} by ann)" in result.output
    assert {r.rater for r in load_task(folder).ratings} == {"ann"}
    invoke("annotate", "export", folder, tmp_path / "x.csv", "--without", "ann")
    assert ",ann," not in (tmp_path / "x.csv").read_text(encoding="utf-8")
    refused = invoke("annotate", "merge", folder, "--without", "zoe").exception
    assert isinstance(refused, TaskError)
    assert "The raters are ann, bea" in str(refused)
    assert invoke("annotate", folder, "--rater", "ann", "--without", "bea").exit_code == 2


@pytest.mark.parametrize("changed", ["text", "options"])
def test_ratings_of_another_text_or_option_list_are_not_merged_in_silence(folder, changed):
    """They are named and left out, and added where the user says so."""
    if changed == "text":
        items = folder / "items.jsonl"
        items.write_text(items.read_text().replace("Comment 3.", "Comment 33."), encoding="utf-8")
    else:
        yaml = (folder / "task.yaml").read_text(encoding="utf-8")
        yaml = yaml.replace("label: Toxic", "label: Very toxic")
        (folder / "task.yaml").write_text(yaml, encoding="utf-8")
    n_changed = 1 if changed == "text" else N_ITEMS
    result = invoke("annotate", "merge", folder)
    assert f": {4 * (N_ITEMS - n_changed)} ratings" in result.output
    assert "These ratings are left out. To add them, pass --outdated." in result.output
    result = invoke("annotate", "merge", folder, "--outdated")
    assert f": {4 * n_changed} ratings" in result.output
    assert "Rated with an earlier text or earlier options: items i" in result.output


def test_skips_flags_and_comments_are_kept_once(tmp_path):
    """Comments stand beside the rating, skips in a table of their own, through two merges."""
    folder = make_unrated_task(tmp_path / "task", ["One.", "Two."])
    task = load_task(folder, unrated=True)
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form="forced_choice"), log)
        first = session.current()
        session.skip(dict.fromkeys(step.key for step in first.steps), comment="=Unclear")
        answers = dict.fromkeys((step.key for step in session.current().steps), "A")
        session.answer(answers, comment="Irony?", flagged=True)
    for _ in range(2):
        result = invoke("annotate", "merge", folder)
        assert "Skipped: 1. The task's skipped.csv lists" in result.output
        [row] = csv.DictReader((folder / "skipped.csv").read_text().splitlines())
        assert (row["item"], row["rater"], row["comment"]) == (first.item.id, "ann", "'=Unclear")
    [line] = (folder / "ratings.jsonl").read_text(encoding="utf-8").splitlines()
    kept = json.loads(line)
    assert (kept["comment"], kept["flagged"]) == ("Irony?", "yes")
    [rating] = load_task(folder, unrated=True).ratings
    assert dict(rating.provenance)["comment"] == "Irony?"


def test_people_are_not_asked_before_it_is_said_what_they_rate(tmp_path):
    """A task made of a table without --property is refused, as a run of hosted judges is."""
    folder = make_unrated_task(tmp_path / "task", ["One."])
    yaml = (folder / "task.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    lines = [f"property: {DEFAULT_PROPERTY}\n" if x.startswith("property:") else x for x in yaml]
    (folder / "task.yaml").write_text("".join(lines), encoding="utf-8")
    refused = invoke("annotate", folder, "--rater", "ann").exception
    assert isinstance(refused, TaskError)
    assert "says what is rated" in str(refused)
    assert not (folder / "annotations").exists()
