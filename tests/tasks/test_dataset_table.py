"""Tasks that are read from a data set: columns of a local table, or a split of the hub."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import yaml
from support.hub_server import NAME, REVISION, serve
from support.processes import invoke

from harness.errors import TaskError
from harness.tasks import CANNOT_ASSESS, load_task

TASK = {
    "name": "mapped",
    "property": "whether the statement is true",
    "scale": "binary",
    "options": [{"key": "yes"}, {"key": "no"}],
    "positive": ["yes"],
}
WIDE = "doc,body,source,ann1,ann2\nd1,Snow is black.,web,No,no\nd2,It rains.,book,yes,\n"
LONG = (
    "doc,body,source,who,answer\nd1,Snow is black.,web,ann1,false\n"
    "d1,Snow is black.,web,ann2,false\nd2,It rains.,book,ann1,true\n"
)
COUNTS = "doc,body,n_yes,n_no\nd1,Snow is black.,0,2\nd2,It rains.,1,0\n"
TEXT = {"id": "doc", "text": ["body", "source"]}
LAYOUTS = {
    "wide": (WIDE, {"columns": TEXT | {"raters": ["ann1", "ann2"]}}),
    "long": (
        LONG,
        {
            "columns": TEXT | {"rater": "who", "label": "answer"},
            "rename": {"false": "no", "true": "yes"},
        },
    ),
}


def make(folder, table=WIDE, datasets=LAYOUTS["wide"][1], **fields):
    """Write a folder with a task and, where ``table`` is text, its file."""
    folder.mkdir(exist_ok=True)
    source = {"file": "table.csv", **datasets} if table else datasets
    content = TASK | {"datasets": source} | fields
    (folder / "task.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    if table:
        (folder / "table.csv").write_text(table, encoding="utf-8")
    return folder


def ratings_of(task):
    return [(rating.item, rating.rater, rating.value) for rating in task.ratings]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_table_of_another_form_is_the_same_task_as_files(tmp_path, layout):
    """Items, fields and ratings are those of the folder; only the source says where they are."""
    files = tmp_path / "files"
    files.mkdir()
    (files / "task.yaml").write_text(yaml.safe_dump(TASK | {"text": ["body", "source"]}))
    (files / "items.csv").write_text(
        "id,body,source\nd1,Snow is black.,web\nd2,It rains.,book\n", encoding="utf-8"
    )
    (files / "ratings.csv").write_text(
        "item,rater,value\nd1,ann1,no\nd1,ann2,no\nd2,ann1,yes\n", encoding="utf-8"
    )
    table, datasets = LAYOUTS[layout]
    mapped, expected = load_task(make(tmp_path / "mapped", table, datasets)), load_task(files)
    assert mapped.source == "table.csv"
    unsourced = mapped.model_copy(update={"source": ""})
    assert unsourced.content_hash == expected.content_hash
    assert mapped.text == ("body", "source")


def test_counts_make_positional_raters(tmp_path):
    """Who gave a rating is not known then, and a task that says otherwise is refused."""
    datasets = {"columns": {"id": "doc", "text": "body", "counts": ["n_yes", "n_no"]}}
    task = load_task(make(tmp_path / "a", COUNTS, datasets))
    assert ratings_of(task) == [("d1", "p1", "no"), ("d1", "p2", "no"), ("d2", "p1", "yes")]
    assert task.rater_ids == "positional"
    with pytest.raises(TaskError, match=r"rater_ids: the data set doesn't say who"):
        load_task(make(tmp_path / "b", COUNTS, datasets, rater_ids="real"))


def test_lists_derived_columns_and_abstentions_are_read(tmp_path):
    """A list of votes, a field of an object, and a label that means CANNOT_ASSESS."""
    rows = [
        {"uid": "u1", "example": {"text": "Snow is black."}, "votes": ["0", "0", "1"]},
        {"uid": "u2", "example": {"text": "It rains."}, "votes": ["1", "2"]},
    ]
    folder = make(
        tmp_path / "a",
        None,
        {
            "file": "table.jsonl",
            "derive": {"body": "example.text"},
            "columns": {"id": "uid", "text": "body", "votes": "votes"},
            "rename": {"0": "no", "1": "yes", "2": CANNOT_ASSESS},
        },
        abstain=True,
    )
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "table.jsonl").write_text(lines, encoding="utf-8")
    task = load_task(folder)
    assert task.items[0].fields == {"body": "Snow is black."}
    values = [value for _, _, value in ratings_of(task)]
    assert sorted(values) == sorted(["no", "no", "yes", "yes", CANNOT_ASSESS])


@pytest.mark.parametrize(
    ("datasets", "message"),
    [
        ({"name": NAME, "revision": "main"}, r"revision: found 'main'. Use a full 40-character"),
        (
            {"name": NAME},
            r"revision: this field is missing. Add the commit that `git ls-remote https://",
        ),
        ({"name": "ratings", "revision": REVISION}, r"datasets\.name: found 'ratings'"),
        ({}, r"name: write a data set from the hub as OWNER/NAME, or pass a file"),
        ({"name": NAME, "file": "table.csv"}, r"name: write a data set from the hub"),
        (
            {"file": "table.csv", "revision": REVISION},
            r"file: a file has no configuration, split or",
        ),
        (
            {"file": "../table.csv"},
            r"datasets\.file: '\.\./table\.csv' is outside the task's folder",
        ),
        ({"file": "none.csv"}, r"none\.csv: the file was not found"),
        ({"file": "table.csv", "trust_remote_code": True}, r"trust_remote_code: unknown field"),
    ],
)
def test_a_source_that_may_change_or_is_no_table_is_refused(tmp_path, datasets, message):
    """A branch is no revision, and nothing but the columns of one table is read."""
    columns = LAYOUTS["wide"][1]
    with pytest.raises(TaskError, match=message):
        load_task(make(tmp_path / "a", None, columns | datasets))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": "doc"}, "columns: found none. Use one of raters, rater, counts, votes"),
        ({"raters": "ann1", "votes": "x"}, "columns: found raters and votes. Use one"),
        ({"rater": "who", "id": "doc"}, "columns: rater and label work only together"),
        ({"rater": "who", "label": "answer"}, "columns: id is missing"),
        (
            {"group": ["a", "b"], "raters": "ann1"},
            "columns: found 2 columns for group. Use only one",
        ),
        ({"text": "id", "raters": "ann1"}, "columns: text: 'id' is not a field. Rename the column"),
        ({"raters": "ann9"}, "table.csv: found no column 'ann9' for raters. The columns are"),
        ({"judges": "gpt", "raters": "ann1"}, "judges"),
    ],
)
def test_roles_that_do_not_fit_are_named(tmp_path, columns, message):
    """Every role and column is checked before a rating is read."""
    with pytest.raises(TaskError, match=message.replace(".", r"\.")):
        load_task(make(tmp_path / "a", datasets={"columns": columns}))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            WIDE.replace("yes", "maybe"),
            r"row 3, ann1: label 'maybe' is not an option. .*'rename'",
        ),
        (WIDE.replace("d2", "d1"), r"row 3, doc: item 'd1' is also on line 2"),
        (WIDE.replace("yes", ""), r"table\.csv: item 'd2' has no ratings"),
        (WIDE.replace("d2", ""), r"row 3, doc: the item is not named"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused(tmp_path, table, message):
    """Nothing is left out in silence: the row, the column and the cell are named."""
    with pytest.raises(TaskError, match=message):
        load_task(make(tmp_path / "a", table))


@pytest.mark.parametrize(
    ("rename", "ignored", "message"),
    [
        (
            {"yess": "yes"},
            [],
            r"csv: datasets\.rename: no answer in the table is 'yess'. The most .* 'yes', 'no'",
        ),
        (
            {},
            ["n/a"],
            r"csv: ignore_labels: no answer in the table is 'n/a'. The most similar labels",
        ),
    ],
)
def test_a_label_that_occurs_nowhere_is_refused(tmp_path, rename, ignored, message):
    """It was accepted in silence, and the label that was meant was no option."""
    datasets = LAYOUTS["wide"][1] | {"rename": rename}
    with pytest.raises(TaskError, match=message):
        load_task(make(tmp_path / "a", WIDE, datasets, ignore_labels=ignored))


def test_numbers_are_matched_by_their_value(tmp_path):
    """0.50 is the step 0.5 of an ordinal scale."""
    table = WIDE.replace("yes", "0.50").replace("No", "1.0").replace("no", "0.5")
    folder = make(tmp_path / "a", table, scale="ordinal", options=["0.5", "1"], positive=["1"])
    assert [value for _, _, value in ratings_of(load_task(folder))] == ["1", "0.5", "0.5"]


def test_answers_on_a_text_scale_are_read_whole(tmp_path):
    """A list, or a text of several lines, is one answer: it is not split into labels."""
    table = 'doc,body,ann1,ann2\nd1,Snow is black.,"[""red"", ""blue""]","one\r\ntwo"\n'
    datasets = {"columns": {"id": "doc", "text": "body", "raters": ["ann1", "ann2"]}}
    folder = make(tmp_path / "a", table, datasets, scale="text", options=[], positive=[])
    values = [value for _, _, value in ratings_of(load_task(folder))]
    assert values == ['["red", "blue"]', "one\ntwo"]


def test_files_next_to_a_data_set_are_rejected(tmp_path):
    """Either files or a data set hold the ratings; new ones have no file to be added to."""
    folder = make(tmp_path / "a")
    result = invoke("annotate", folder, "--rater", "ann")
    assert "its ratings come from a data set" in str(result.exception)
    (folder / "ratings.csv").write_text("item,rater,value\nd1,ann3,no\n", encoding="utf-8")
    with pytest.raises(TaskError, match=r"ratings\.csv: task\.yaml names a data set"):
        load_task(folder)


@pytest.mark.slow
def test_a_changed_table_is_noticed_on_resume(tmp_path, monkeypatch):
    """The run keeps the hash of what it was asked about; other ratings are another task."""
    monkeypatch.chdir(tmp_path)
    folder = make(tmp_path / "a")
    options = ("--judges", "random", "--no-item-text", "--no-store")
    ended = invoke("run", "--task", folder, *options)
    assert ended.exit_code == 0, ended.output
    run = next((tmp_path / "runs").iterdir())
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["hashes"]["task"] == load_task(folder).content_hash
    (folder / "table.csv").write_text(WIDE.replace("No,no", "No,yes"), encoding="utf-8")
    resumed = invoke("resume", run)
    assert "the task has changed since" in str(resumed.exception)


def facts_in_a_process(folder, address, home, **env):
    """Load a task in a process of its own; return what it prints, or its error."""
    code = (
        "import sys; from harness.tasks import load_task\n"
        "from harness.errors import TaskError\n"
        "try:\n    task = load_task(sys.argv[1])\n"
        "except TaskError as error:\n    sys.exit(str(error))\n"
        "print(task.content_hash, len(task.ratings), 'datasets' in sys.modules, task.source)\n"
    )
    env = os.environ | {
        "HF_ENDPOINT": address,
        "HF_HOME": str(home / "hf"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_DATA_HOME": str(home / "data"),
        "HARNESS_CACHE": "",
        "HF_HUB_OFFLINE": "0",
        **env,
    }
    ended = subprocess.run(
        [sys.executable, "-c", code, folder], env=env, capture_output=True, text=True, check=False
    )
    return ended.stdout.strip() or ended.stderr.strip().splitlines()[-1]


def hub_task(folder, revision=REVISION):
    source = {"name": NAME, "revision": revision, **LAYOUTS["wide"][1]}
    return make(folder, None, source, source="Made for this test")


@pytest.mark.slow
def test_a_split_of_the_hub_is_downloaded_once(tmp_path):
    """Without a network the same task is read again, and neither the library nor the hub asked."""
    folder = hub_task(tmp_path / "task")
    with serve(**{"data/train.csv": WIDE}) as address:
        first = facts_in_a_process(folder, address, tmp_path)
    content, n_ratings, _, source = first.split(" ", 3)
    assert source == f"Made for this test; {NAME}, split train, commit {REVISION}"
    again = facts_in_a_process(folder, address, tmp_path, HF_HUB_OFFLINE="1")
    assert again == f"{content} {n_ratings} False {source}"
    assert n_ratings == "3"


@pytest.mark.slow
def test_a_different_commit_in_the_cache_is_not_used(tmp_path):
    """The library falls back to the newest commit that it has; that is refused, in one line."""
    with serve(**{"data/train.csv": WIDE}) as address:
        facts_in_a_process(hub_task(tmp_path / "a"), address, tmp_path)
    other = hub_task(tmp_path / "b", revision="b" * 40)
    refused = facts_in_a_process(other, address, tmp_path, HF_HUB_OFFLINE="1")
    assert "this commit is not in the cache. Connect to the internet once" in refused


@pytest.mark.slow
def test_a_split_that_is_not_cached_needs_the_hub(tmp_path, monkeypatch):
    """One line says so where the hub is switched off."""
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    hub_task(tmp_path / "a")
    with pytest.raises(TaskError, match=r"team/ratings: the hub cannot be reached"):
        load_task(tmp_path / "a")
    assert not list((tmp_path / "cache").rglob("*.parquet"))
