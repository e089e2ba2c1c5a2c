"""Verdicts from another tool: read exactly, counted honestly, refused with file, line and item."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.verdicts import verdict_from

from harness.errors import VerdictError
from harness.files.checksummed_log import encode
from harness.judging.parsing.external_verdicts import read_external
from harness.judging.parsing.verdict import (
    HEADER,
    MAX_JUDGES,
    MAX_NAME_CHARS,
    PairValue,
    Verdict,
)
from harness.tasks import Item, Option, Task

if TYPE_CHECKING:
    from pathlib import Path


def make_task(*keys: str, **fields) -> Task:
    defaults = {
        "name": "small",
        "property": "how good it is",
        "scale": "nominal",
        "options": tuple(Option(key=key) for key in keys),
        "items": tuple(Item(name, {"text": name}) for name in "abc"),
        "ratings": (),
    }
    return Task(**defaults | fields)


@pytest.fixture
def task() -> Task:
    return make_task("yes", "no", "both or neither")


def jsonl(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def row(value: object, item: str = "a", **more: object) -> dict:
    return {"item": item, "judge": "j", "value": value} | more


def outcomes(verdicts: list[Verdict]) -> list[tuple]:
    return [(v.outcome, v.value, v.reason) for v in verdicts]


def test_item_judge_and_value_are_enough(tmp_path, task):
    """Three columns make forced choices of sample 0; other columns are passed over."""
    path = jsonl(tmp_path / "v.jsonl", row("yes", colour="red"), row("no", item="b"))
    assert read_external(path, task) == [
        Verdict(item="a", judge="j", elicitation="forced_choice", outcome="answered", value="yes"),
        Verdict(item="b", judge="j", elicitation="forced_choice", outcome="answered", value="no"),
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("YES ", ("invalid", None, "not_an_option")),
        ("Yes", ("invalid", None, "not_an_option")),
        ("maybe", ("invalid", None, "not_an_option")),
        ("", ("invalid", None, "empty")),
        (None, ("invalid", None, "empty")),
        (True, ("invalid", None, "not_an_option")),
        (1, ("invalid", None, "not_an_option")),
        (["yes"], ("invalid", None, "not_an_option")),
        ({"set": ["yes"], "choice": "yes"}, ("invalid", None, "not_an_option")),
        ("CANNOT_ASSESS", ("abstained", None, "")),
        ("cannot_assess", ("invalid", None, "not_an_option")),
    ],
)
def test_value_outside_the_options_is_invalid(tmp_path, task, value, expected):
    """Values are matched exactly, never mapped to a default; CANNOT_ASSESS abstains."""
    path = jsonl(tmp_path / "v.jsonl", row(value))
    assert outcomes(read_external(path, task)) == [expected]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["no", "yes"], ("answered", ("yes", "no"), "")),
        ('["no", "yes", "no"]', ("answered", ("yes", "no"), "")),
        (["yes", "maybe"], ("invalid", None, "not_an_option")),
        (["yes", ["no"]], ("invalid", None, "not_an_option")),
        ("yes", ("invalid", None, "not_an_option")),
        ('["yes"', ("invalid", None, "not_an_option")),
        ([], ("invalid", None, "not_admissible")),
        (["both or neither", "no"], ("invalid", None, "not_admissible")),
    ],
)
def test_sets_are_lists_of_keys(tmp_path, value, expected):
    """A set is a list of keys, in a cell a JSON array; what the task does not list is invalid."""
    sets = (("yes",), ("no",), ("yes", "no"), ("both or neither",))
    task = make_task("yes", "no", "both or neither", response_sets=sets)
    path = jsonl(tmp_path / "v.jsonl", row(value, elicitation="response_set"))
    assert outcomes(read_external(path, task)) == [expected]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"set": ["no"], "choice": "yes"}, ("answered", PairValue(set=("no",), choice="yes"), "")),
        ('{"set": ["no"], "choice": "no"}', ("answered", PairValue(set=("no",), choice="no"), "")),
        ({"set": ["maybe"], "choice": "yes"}, ("invalid", None, "not_an_option")),
        ({"set": ["no"], "choice": "maybe"}, ("invalid", None, "not_an_option")),
        ({"set": ["no"]}, ("invalid", None, "not_an_option")),
        ("yes", ("invalid", None, "not_an_option")),
        ("CANNOT_ASSESS", ("abstained", None, "")),
    ],
)
def test_pairs_have_set_and_choice(tmp_path, task, value, expected):
    """A pair is read whole or not at all."""
    path = jsonl(tmp_path / "v.jsonl", row(value, elicitation="paired"))
    assert outcomes(read_external(path, task)) == [expected]


def test_numbers_are_keys(tmp_path):
    """A number names the option whose key it is, in every format."""
    task = make_task("1", "2", "3")
    path = tmp_path / "v.csv"
    path.write_text("item,judge,value,sample\na,j,2,\nb,j,4,0\nc,j,3,7\n", "utf-8")
    assert outcomes(read_external(path, task)) == [
        ("answered", "2", ""),
        ("invalid", None, "not_an_option"),
        ("answered", "3", ""),
    ]
    assert [v.sample for v in read_external(path, task)] == [0, 0, 7]
    rows = [row(2), row(2.0, item="b"), row(2.5, item="c")]
    assert [v.value for v in read_external(jsonl(tmp_path / "v.jsonl", *rows), task)] == [
        "2",
        "2",
        None,
    ]


def test_parquet_is_read(tmp_path, task):
    """Columns of lists are sets, missing cells are empty."""
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "v.parquet"
    table = {"item": ["a", "b"], "judge": ["j", "j"], "value": [["yes", "no"], None]}
    parquet.write_table(pa.table(table | {"elicitation": ["response_set"] * 2}), path)
    assert outcomes(read_external(path, task)) == [
        ("answered", ("yes", "no"), ""),
        ("invalid", None, "empty"),
    ]


def test_outcome_is_taken_where_the_value_is_empty(tmp_path, task):
    """A table may say that a judge refused or failed; it cannot say that an empty value answers."""
    rows = [
        row(None, outcome="refused"),
        row("", "b", outcome="answered"),
        row("yes", "c", outcome="x"),
    ]
    counts = outcomes(read_external(jsonl(tmp_path / "v.jsonl", *rows), task))
    assert counts == [("refused", None, ""), ("invalid", None, "empty"), ("answered", "yes", "")]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row("yes"), row("yes", item="z")], "line 2: item 'z' is not in the task"),
        ([row("yes", item=None)], "line 1: item '' is not in the task"),
        ([row("yes"), row("no")], "line 2: item 'a': judge 'j' has already rated this item"),
        ([row("yes", judge="")], "line 1: item 'a': 'judge' is empty"),
        ([row("yes", elicitation="guess")], "line 1: item 'a': elicitation must be one of"),
        ([row("yes", elicitation=["paired"])], "line 1: item 'a': elicitation must be one of"),
        ([row("yes", sample="first")], "line 1: item 'a': sample is not a number"),
        ([row("yes", sample=-1)], "line 1: item 'a': sample is not a number"),
        ([row("yes", sample=True)], "line 1: item 'a': sample is not a number"),
        ([{"item": "a", "value": "yes"}], "'judge' is missing"),
        ([], "empty"),
    ],
)
def test_faults_name_line_and_item(tmp_path, task, rows, message):
    """What cannot be a verdict on the task's items is an error that says where."""
    path = jsonl(tmp_path / "v.jsonl", *rows)
    with pytest.raises(VerdictError, match=message) as caught:
        read_external(path, task)
    assert str(caught.value).startswith(str(path))


def test_repeats_are_told_apart_by_sample(tmp_path, task):
    """The same judge may rate an item several times and in several elicitations."""
    rows = [row("yes"), row("no", sample=1), row(["no"], elicitation="response_set")]
    path = jsonl(tmp_path / "v.jsonl", *rows)
    assert [(v.sample, v.value) for v in read_external(path, task)] == [
        (0, "yes"),
        (1, "no"),
        (0, ("no",)),
    ]


def test_missing_and_foreign_files_are_verdict_errors(tmp_path, task):
    """A file that is absent or of another format is one line."""
    for name in ("absent.jsonl", "absent.csv", "v.txt"):
        with pytest.raises(VerdictError, match=name):
            read_external(tmp_path / name, task)


# -- our own log --------------------------------------------------------------------------------


def logged(item: str = "a", **changed) -> bytes:
    fields = {
        "elicitation": "forced_choice",
        "outcome": "answered",
        "value": "yes",
        "reply": "Yes.",
    }
    return encode(verdict_from(item=item, judge="j", **fields | changed))


def log(path: Path, *lines: bytes) -> Path:
    path.write_bytes(HEADER + b"".join(lines))
    return path


def test_own_log_is_read_with_its_checksums(tmp_path, task):
    """A run's verdicts.jsonl gives back its verdicts; of a unit, the newest success."""
    lines = [
        logged(outcome="failed", value=None),
        logged(),
        logged(outcome="failed", value=None),
        logged("b", elicitation="paired", value=PairValue(set=("no",), choice="yes")),
    ]
    read = read_external(log(tmp_path / "verdicts.jsonl", *lines), task)
    assert [(v.item, v.outcome) for v in read] == [("a", "answered"), ("b", "answered")]
    assert read[0].text == "Yes."


def test_own_log_of_other_options_is_invalid(tmp_path, task):
    """A verdict whose value is none of the task's is counted invalid, its reply kept."""
    lines = [logged(value="maybe"), logged("b", value=("yes",)), logged("c", value="CANNOT_ASSESS")]
    read = read_external(log(tmp_path / "verdicts.jsonl", *lines), task)
    assert outcomes(read) == [("invalid", None, "not_an_option")] * 3
    assert read[0].text == "Yes."


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (logged()[:40], "line 2: the line doesn't end with a checksum"),
        (logged().replace(b"yes", b"not"), "line 2: the checksum doesn't match"),
        (logged("z"), "line 2: item 'z' is not in the task"),
    ],
)
def test_damaged_line_of_own_log_is_named(tmp_path, task, line, message):
    """A line that is not as it was written is an error here, with its number."""
    with pytest.raises(VerdictError, match=message):
        read_external(log(tmp_path / "verdicts.jsonl", line), task)


def test_log_of_a_later_version_is_refused(tmp_path, task):
    """A format that this version does not know is not guessed at."""
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(b'{"schema_version": 2}\n')
    with pytest.raises(VerdictError, match="format is 2"):
        read_external(path, task)


def test_verdict_ingest_against_truth(tmp_path, truth):
    """Labels outside the options are counted invalid, as the reporting rules ask."""
    cases = [
        case
        for file in sorted((truth / "golden").glob("*.json"))
        for case in json.loads(file.read_text("utf-8"))
        if case["kind"] == "verdict_ingest"
    ]
    assert cases
    for case in cases:
        rows = case["inputs"]["verdicts"]
        items = tuple(Item(row["item"], {}) for row in rows)
        path = jsonl(tmp_path / "v.jsonl", *(row | {"judge": "j"} for row in rows))
        read = read_external(path, make_task(*case["inputs"]["options"], items=items))
        assert Counter(v.outcome for v in read) == case["expect"]["counts"]


def test_more_judges_than_are_compared_are_refused(tmp_path, task):
    """300 judges of 4 items took a minute; too many are refused where the first of them stands."""
    rows = [row("A", judge=f"j{j}") for j in range(MAX_JUDGES + 1)]
    assert len(read_external(jsonl(tmp_path / "v.jsonl", *rows[:-1]), task)) == MAX_JUDGES
    with pytest.raises(VerdictError, match=r"line 51: more than 50 judges. Split the file"):
        read_external(jsonl(tmp_path / "v.jsonl", *rows), task)
    long = jsonl(tmp_path / "v.jsonl", row("A", judge="j" * (MAX_NAME_CHARS + 1)))
    with pytest.raises(VerdictError, match=r"name has 201 characters\. Use at most 200"):
        read_external(long, task)


def test_fewer_judges_are_compared_where_there_are_many_options(tmp_path):
    """50 judges of a task with 100 options took 8.5 GB."""
    task = make_task(*(f"o{k}" for k in range(100)))
    path = jsonl(tmp_path / "v.jsonl", *(row("o1", judge=f"j{j}") for j in range(3)))
    with pytest.raises(VerdictError, match="line 3: more than 2 judges"):
        read_external(path, task)
