"""Rows in memory become the task that an import of them would write, and nothing is written."""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.processes import invoke

import harness
from harness.api.table_tasks import _described, _guessed, strings
from harness.errors import HarnessError
from harness.loading import EDGES
from harness.tasks import read_changes
from harness.tasks.columns.column_mapping import whole_mapping
from harness.tasks.columns.table_answers import AnswerSettings, RatedOptions
from harness.tasks.columns.table_columns import plain_table
from harness.tasks.load import task_from

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
AT = "2026-01-01"
LONG = [
    {
        "post": f"p{i}",
        "text": f"text {i}",
        "who": who,
        "label": "yn"[(i + k) % 3 == 0],
        "at": "2026",
    }
    for i in range(8)
    for k, who in enumerate(("ann", "bob", "eve"))
]
WIDE = [
    {"post": f"p{i}", "text": f"text {i}", "ann": "yn"[i % 2], "bob": "yn"[i % 3 == 0], "gpt": "y"}
    for i in range(8)
]
SCORES = [
    {"post": f"p{i}", "text": f"text {i}", "who": who, "score": i + k / 2, "day": "2026-01-01"}
    for i in range(6)
    for k, who in enumerate(("ann", "bob"))
]
PLAIN = [{name: row[name] for name in ("post", "text", "who", "label")} for row in LONG]
TABLES = {
    "long": (LONG, {"id": "post", "text": "text", "rater": "who", "label": "label"}),
    "times": (
        LONG,
        {"id": "post", "text": "text", "rater": "who", "label": "label", "rated_at": "at"},
    ),
    "judges": (WIDE, {"id": "post", "text": "text", "raters": ["ann", "bob"], "judges": ["gpt"]}),
    "whole": (
        [row | {"label": "CANNOT_ASSESS"} if i == 3 else row for i, row in enumerate(PLAIN)],
        {
            "id": "post",
            "text": "text",
            "rater": "who",
            "label": "label",
            "kind": "skilled",
            "scale": "binary",
            "options": ["y", "n"],
            "positive": ["n"],
            "judges": ["eve"],
        },
    ),
    "rater columns": (
        [{**row, "bob": "N", "gpt": "n/a"} for row in WIDE[1:]] + [WIDE[0] | {"ann": "yes"}],
        {
            "id": "post",
            "text": "text",
            "raters": ["ann", "bob"],
            "judges": ["gpt"],
            "scale": "nominal",
            "options": ["y", "n"],
            "abstain": ["n/a"],
            "rater_ids": "real",
            "rename": ["yes=y"],
        },
    ),
    "sets": (
        [PLAIN[0] | {"label": ["maybe"]}]
        + [row | {"label": ["n", "y"] if row["label"] == "y" else ["y"]} for row in PLAIN[1:]],
        {
            "id": "post",
            "text": "text",
            "rater": "who",
            "label": "label",
            "scale": "nominal",
            "options": ["y", "n"],
            "ignore": ["maybe"],
        },
    ),
    "scores": (
        SCORES,
        {"id": "post", "text": "text", "rater": "who", "label": "score", "scale": "continuous"},
    ),
}


class Written:
    """Files that are opened for writing, or made, while it is on."""

    def __init__(self) -> None:
        self.on, self.paths = False, []

    def __call__(self, event: str, arguments: tuple) -> None:
        if self.on and (event == "os.mkdir" or (event == "open" and arguments[2] & WRITING)):
            self.paths.append(arguments[0])


WRITTEN = Written()
sys.addaudithook(WRITTEN)


@contextmanager
def nothing_written():
    """Check that no file or folder is made or changed."""
    WRITTEN.on, WRITTEN.paths = True, []
    try:
        yield
    finally:
        WRITTEN.on = False
    assert WRITTEN.paths == []


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_the_task_of_an_import(tmp_path, monkeypatch, name):
    """With the content of the folder that `harness curate import` writes."""
    monkeypatch.chdir(tmp_path)
    rows, mapping = TABLES[name]
    harness.load_task(rows, mapping=mapping)  # Python may write bytecode of what it imports
    with nothing_written():
        task = harness.load_task(rows, mapping=mapping)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [
        word
        for role, names in mapping.items()
        for word in (
            f"--{role.replace('_', '-')}",
            ",".join(names) if isinstance(names, list) else names,
        )
    ]
    done = invoke("curate", "import", "rows.jsonl", "--as", "./folder", "--yes", *words)
    assert done.exit_code == 0, done.output
    folder = harness.load_task(tmp_path / "folder")
    assert task.items == folder.items
    assert task.ratings == folder.ratings
    same = task.model_copy(update={"name": folder.name, "source": folder.source})
    assert same.content_hash == folder.content_hash


def test_verdicts_among_rows_are_validated():
    """Those of the judges that the mapping names."""
    rows, mapping = TABLES["judges"]
    validation = harness.validate(rows, mapping=mapping)
    assert [judge.name for judge in validation.judges if judge.name == "gpt"]
    assert validation.judge("gpt").outcomes[0].answered == len(rows)


def test_the_watch_sees_what_is_written(tmp_path):
    """Otherwise the claim above would be empty."""
    with pytest.raises(AssertionError), nothing_written():
        (tmp_path / "file").write_text("x")


WHOLE = {
    "id": "post",
    "text": "text",
    "rater": "who",
    "label": "label",
    "scale": "binary",
    "options": ["y", "n"],
    "positive": ["y"],
}


def test_a_mapping_that_says_all_needs_no_guess(monkeypatch):
    """The core makes the task alone."""
    expected = harness.load_task(PLAIN, mapping=WHOLE)
    monkeypatch.setitem(EDGES, "curation", "harness.absent")
    task = harness.load_task(PLAIN, mapping=WHOLE)
    assert task.content_hash == expected.content_hash
    with pytest.raises(HarnessError, match=r"no harness\.absent"):
        harness.load_task(PLAIN, mapping={"rater": "who"})


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        ({"label": "n/a"}, {"options": None}, "can't tell if raters chose 'n/a' as an option"),
        ({"who": "gpt-4o"}, {}, None),
        ({"state": "rejected"}, {}, None),
        ({"text": "text 0"}, {}, None),
    ],
)
def test_columns_missing_from_a_mapping_are_inferred(change, more, message):
    """A label that is a remark, a model among the raters, a column without a role, shared texts."""
    rows = [row | change if i % 3 == 1 else row for i, row in enumerate(PLAIN)]
    mapping = {key: value for key, value in (WHOLE | more).items() if value is not None}
    if message:
        with pytest.raises(HarnessError, match=message):
            harness.load_task(rows, mapping=mapping)
        return
    table, roles = plain_table(rows, "rows"), ("id", "text", "rater", "label")
    assert whole_mapping({role: [WHOLE[role]] for role in roles}, table) is None


def test_rows_that_cannot_be_used_are_named(caplog):
    """More than 5 % of them were left out in silence."""
    few = [row | {"label": "maybe"} if i == 5 else row for i, row in enumerate(PLAIN)]
    with caplog.at_level(logging.WARNING, logger="harness"):
        task = harness.load_task(few, mapping=WHOLE)
    assert len(task.ratings) == len(PLAIN) - 1
    assert "rows: left out: row 6, label: label 'maybe' is not an option" in caplog.text
    many = [row | {"label": "maybe"} if i % 4 == 0 else row for i, row in enumerate(PLAIN)]
    message = (
        "6 rows or cells can't be used, which is more than 5% of the answers .such as "
        "row 1, label: label"
    )
    with pytest.raises(HarnessError, match=message):
        harness.load_task(many, mapping=WHOLE)


@pytest.mark.parametrize(
    "said", [{}, {"scale": "binary", "options": ["y", "n"], "positive": ["y"]}]
)
def test_a_judge_missing_from_the_table_is_rejected(said):
    """Of ``gpt4``, where the table has ``gpt-4``, the verdicts counted as ratings of a person."""
    rows = [row | {"who": "gpt-4"} if row["who"] == "eve" else row for row in PLAIN]
    mapping = {"id": "post", "text": "text", "rater": "who", "label": "label", **said}
    for name in ("gpt-4", "GPT-4"):
        task = harness.load_task(rows, mapping=mapping | {"judges": [name]})
        assert {rating.rater for rating in task.ratings} == {"ann", "bob"}
    message = (
        r"judges'\]: no column or rater is called 'gpt4'. The most similar names in "
        "'who' are 'gpt-4',"
    )
    with pytest.raises(HarnessError, match=message):
        harness.load_task(rows, mapping=mapping | {"judges": ["gpt4"]})


def test_an_unknown_elicitation_is_refused(tmp_path, monkeypatch):
    """In memory it was a forced choice; an import wrote a folder that could not be loaded."""
    rows = [row | {"elicitation": "pairwise"} for row in PLAIN]
    mapping = {"id": "post", "text": "text", "rater": "who", "label": "label"}
    message = "row 1, label: elicitation 'pairwise' is not one of forced_choice, response_set"
    for more in ({}, {"judges": ["ann", "bob"]}):
        with pytest.raises(HarnessError, match=message.replace("row 1", r"row \d")):
            harness.load_task(rows, mapping=mapping | more)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = invoke("curate", "import", "rows.jsonl", "--as", "./folder", "--yes")
    assert "no row could be used; line 1: elicitation 'pairwise' is not one of" in str(
        done.exception
    )
    assert not (tmp_path / "folder").exists()


SECRET = "My password is hunter2-correct-horse, do not tell anyone at the office"


def test_unknown_labels_are_not_quoted(caplog):
    """With a wrong mapping, a warning and an error held the reply of a user."""
    few = [row | {"label": SECRET} if i == 5 else row for i, row in enumerate(PLAIN)]
    with caplog.at_level(logging.WARNING, logger="harness"):
        harness.load_task(few, mapping=WHOLE)
    problem = f"the label ({len(SECRET)} characters) is not an option"
    assert f"rows: left out: row 6, label: {problem}" in caplog.text
    many = [row | {"label": f"{SECRET} {i}"} for i, row in enumerate(PLAIN)]
    swapped = [row | {"who": SECRET} for row in PLAIN]
    for rows in (many, swapped):
        with pytest.raises(HarnessError) as refused:
            harness.load_task(rows, mapping=WHOLE)
        assert "password" not in str(refused.value)
    assert "password" not in caplog.text


def test_response_sets_of_many_options_are_listed(tmp_path, monkeypatch):
    """Rows in memory were refused, and an import wrote a folder that could not be loaded."""
    topics = [f"topic {letter}" for letter in "abcdefghijkl"]
    rows = [row | {"label": topics[i % 11 : i % 11 + 2][::-1]} for i, row in enumerate(PLAIN * 2)]
    rows = [row | {"post": f"p{i // 3}", "text": f"text {i // 3}"} for i, row in enumerate(rows)]
    rows += [{"post": "p0", "text": "text 0", "who": "gpt-4o", "label": [topics[0], topics[11]]}]
    mapping = {"id": "post", "text": "text", "rater": "who", "label": "label", "judges": ["gpt-4o"]}
    task = harness.load_task(rows, mapping=mapping)
    pairs = [tuple(topics[i : i + 2]) for i in range(11)]
    ends = (topics[0], topics[11])
    assert task.response_sets == (*((key,) for key in topics), pairs[0], ends, *pairs[1:])
    assert task.ranks_by == "response_set"
    whole = mapping | {"scale": "nominal", "options": topics}
    assert harness.load_task(rows, mapping=whole).response_sets == task.response_sets
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("--judges", "gpt-4o", "--yes")
    done = invoke("curate", "import", "rows.jsonl", "--as", "./folder", *words)
    assert "has 24: those in the table, and each option by itself" in " ".join(done.output.split())
    folder = harness.load_task(tmp_path / "folder")
    assert folder.response_sets == task.response_sets
    assert folder.ratings == task.ratings
    assert [change.after for change in read_changes(folder.folder)] == [folder.content_hash]
    validation = harness.validate(folder, "folder/verdicts.csv")
    assert validation.judge("gpt-4o").outcomes[0].answered == 1


def test_more_response_sets_than_can_be_listed(tmp_path, monkeypatch):
    """Rows in memory are refused; an import says what to do."""
    topics = [f"topic {letter}" for letter in "abcdefghijkl"]
    many = [[key for k, key in enumerate(topics) if i >> k & 1] for i in range(1, 1100)]
    texts = [{"post": f"p{i // 2}", "text": f"text {i // 2}"} for i in range(len(many))]
    rows = [
        text | {"who": ("ann", "bob")[i % 2], "label": labels}
        for i, (text, labels) in enumerate(zip(texts, many, strict=True))
    ]
    mapping = {"id": "post", "text": "text", "rater": "who", "label": "label"}
    whole = mapping | {"scale": "nominal", "options": topics}
    with pytest.raises(HarnessError, match="more than 1023 different response sets"):
        harness.load_task(rows, mapping=whole)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("--options", ",".join(topics), "--scale", "nominal", "--yes")
    done = invoke("curate", "import", "rows.jsonl", "--as", "./folder", *words)
    message = "list the admissible sets under 'response_sets' in folder/task.yaml"
    assert message in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"kind": "wizard"}, "kind"),
        ({"rater_ids": "maybe"}, "rater_ids"),
        ({"name": "two words"}, "rows: name"),
        ({"options": ["y", "n", "x"]}, "found 3 options, but a binary scale has 2"),
        ({"scale": "fuzzy"}, "scale"),
        ({"positive": ["z"]}, "'z' isn't one of y, n"),
        ({"positive": ["y", "n"]}, "^rows: positive: every option is positive"),
        (
            {"abstain": ["y"]},
            "^abstain='y': this label is also in options. Use the label in only one",
        ),
        ({"rename": ["y"]}, "label=option"),
        (
            {"options": ["n", "x"], "positive": ["n"], "rename": ["Y=yes"]},
            r"mapping\['rename'\]: 'yes' isn't one of n, x",
        ),
        (
            {"ignore": ["N/A"]},
            r"mapping\['ignore'\]: no answer in the table is 'N/A'. The most similar labels are",
        ),
        (
            {"abstain": ["?"]},
            r"mapping\['abstain'\]: no answer in the table is '\?'. The most similar",
        ),
        (
            {"rename": ["yes=y"]},
            r"\['rename'\]: no answer in the table is 'yes'. The most similar labels are 'y', 'n'",
        ),
        ({"id": 3}, "id"),
    ],
)
def test_a_wrong_value_of_a_mapping_is_one_clear_error(more, message):
    """Some ended as an error of pydantic."""
    with pytest.raises(HarnessError, match=message) as refused:
        harness.load_task(PLAIN, mapping=WHOLE | more)
    assert "\n" not in str(refused.value)
    assert "--" not in str(refused.value)


def test_columns_of_a_frame_may_be_numbers():
    """As pandas names them where a file has no header; it was an internal error."""
    rows = [dict(enumerate(row.values())) for row in PLAIN]
    numbered = {"id": 0, "text": [1], "rater": 2, "label": 3}
    task = harness.load_task(rows, mapping=WHOLE | numbered)
    assert len(task.ratings) == len(PLAIN)
    assert task.text == ("1",)


CELLS = st.sampled_from(["y", "n", "Y", " n ", "", "maybe", "CANNOT_ASSESS", None, '["y", "n"]'])


@given(data=st.data(), n_items=st.integers(2, 6), wide=st.booleans())
def test_the_core_reads_what_an_import_would_read(data, n_items, wide):
    """Also odd cells, gaps and totals; where the core asks for a guess, it asks no more."""
    people = ["ann", "bob", "cy"]
    rows, labels = [], set()
    for i in range(n_items):
        item = {"post": f"p{i}", "text": f"A text about thing {i}"}
        cells = {name: data.draw(CELLS) for name in people}
        labels.update(cells.values())
        rows += (
            [item | cells]
            if wide
            else [item | {"who": who, "label": cell} for who, cell in cells.items()]
        )
    if data.draw(st.booleans()):
        rows.append(rows[data.draw(st.integers(0, len(rows) - 1))])
    columns = {"raters": people} if wide else {"rater": "who", "label": "label"}
    roles = {role: [*strings(names)] for role, names in columns.items()}
    roles |= {"id": ["post"], "text": ["text"], "judges": ["none"]}
    said = {
        "scale": "nominal",
        "options": ("y", "n"),
        "ignore": data.draw(st.sampled_from([(), ("maybe",)] if "maybe" in labels else [()])),
    }
    settings, rated = AnswerSettings(**said), RatedOptions(rater_ids="real")
    table = plain_table(rows, "rows")
    subject = _described("rows", roles, table, settings, rated)
    if subject is None:
        return
    try:
        plan = _guessed("rows", roles, table, settings, rated)
    except HarnessError:
        with pytest.raises(HarnessError):
            task_from(subject)
        return
    assert subject.answers == plan.answers
    assert [*subject.reader().rated()] == [*plan.reader().rated()]
    assert (subject.rated, subject.columns) == (plan.rated, plan.columns)


def test_the_only_reading_that_explains_all_columns_is_taken():
    """A command took it, and the same rows in memory were asked about."""
    names = ("fluency_score", "tone_score", "depth_score")
    rows = [
        {"doc": f"d{i}", "text": f"The text of document {i} is here.", "annotator": who}
        | {name: 1 + (i * (n + 2) + k * (n + 1) + i // 5) % 4 for n, name in enumerate(names)}
        for i in range(24)
        for k, who in enumerate(("ann", "bea", "cem"))
    ]
    task = harness.load_task(rows)
    assert {item.criterion for item in task.items} == set(names)
    assert len(task.ratings) == 24 * 3 * 3


def test_names_of_images_in_memory_are_fields():
    """Rows in memory have no folder that holds the files."""
    rows = [
        {"picture": f"{i}.png", "caption": f"The caption of picture {i}.", "a1": "yes", "a2": said}
        for i, said in enumerate(("yes", "no") * 6)
    ]
    mapping = {"raters": ["a1", "a2"], "id": "picture"}
    task = harness.load_task(rows, mapping=mapping)
    assert task.image is None
    assert len(task.items) == 12
    with pytest.raises(HarnessError, match="no folder for images"):
        harness.load_task(rows, mapping=mapping | {"image": "picture"})
