"""Tables are read row by row, strictly, and each fault says where it is."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.errors import TaskError, VerdictError
from harness.files.tables import Limits, parse_json, read_rows
from harness.files.tables.native_rows import READERS
from harness.files.tables.reader import READ_AT_ONCE
from harness.files.tables.strict_json import parse_flat_lines

ROWS = [{"item": "a", "value": "yes"}, {"item": "b", "value": "no, maybe\nlater"}]


def write_csv(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def write_parquet(path, columns, **options):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), path, **options)
    return path


def fault(path, **options):
    with pytest.raises(TaskError) as caught:
        list(read_rows(path, **options))
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}: ")


def test_the_three_formats_give_the_same_rows(tmp_path):
    """csv, jsonl and parquet of the same table give equal rows."""
    files = (
        write_csv(tmp_path / "t.csv", 'item,value\na,yes\nb,"no, maybe\nlater"\n'),
        write_csv(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS)),
        write_parquet(
            tmp_path / "t.parquet", {"item": ["a", "b"], "value": [r["value"] for r in ROWS]}
        ),
    )
    for path in files:
        assert [row for _, row in read_rows(path)] == ROWS


@pytest.mark.parametrize("separator", [";", "\t"])
def test_separators_of_other_spreadsheets_are_read(tmp_path, separator):
    """Where the header has no comma, semicolons or tabs stand between columns; commas are text."""
    text = '\nitem,value\na,yes\nb,"no; maybe\tlater"\n'.replace(",", separator)
    path = write_csv(tmp_path / "t.csv", text.replace("maybe", "maybe,"))
    rows = [row for _, row in read_rows(path)]
    assert rows[0] == ROWS[0]
    assert rows[1]["value"].startswith("no")
    assert "maybe," in rows[1]["value"]


def test_lines_are_those_of_the_file(tmp_path):
    """A row's number is the line it begins on, blank lines and broken cells counted."""
    path = write_csv(tmp_path / "t.csv", 'item,value\n\na,"x\ny"\nb,z\n')
    assert [line for line, _ in read_rows(path)] == [3, 5]
    path = write_csv(tmp_path / "t.jsonl", '\n{"a": 1}\n\n{"a": 2}')
    assert list(read_rows(path)) == [(2, {"a": 1}), (4, {"a": 2})]


def test_a_byte_order_mark_and_windows_lines_are_tolerated(tmp_path):
    """What spreadsheets save is read."""
    path = write_csv(tmp_path / "t.csv", "\ufeffitem,value\r\na,é\r\n")
    assert list(read_rows(path, required=("item",))) == [(2, {"item": "a", "value": "é"})]
    path = write_csv(tmp_path / "t.jsonl", '\ufeff{"a": "é"}\r\n')
    assert list(read_rows(path)) == [(1, {"a": "é"})]


def test_faults_belong_to_the_branch_the_caller_names(tmp_path):
    """Verdict files raise VerdictError through the same reader."""
    with pytest.raises(VerdictError, match="not found"):
        list(read_rows(tmp_path / "absent.csv", error=VerdictError))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,value\na,b,c\n", "line 2: found 3 cells, but the header has 2"),
        (
            "item,value\n\n\na\n",
            "line 4: found 1 cell, but the header has 2. Also write the separators",
        ),
        ("item,item\na,b\n", "line 1: column 'item' appears twice"),
        ("item,\na,b\n", "line 1: found a column without a name"),
        (
            "item;value\na;b;c\n",
            "line 2: found 3 cells, but the header has 2. Put cells with",
        ),
        ("id,value\na,b\n", "line 1: column 'item' is missing (found 'id', 'value')"),
        ('item,value\na,"b\n', "line 2: cannot be read as CSV"),
        ('item,value\na,"b"c\n', "line 2: cannot be read as CSV"),
        ("item,value\ra,b\r", "line 1: cannot be read as CSV"),
        ("item,value\na,b\0\n", "line 2: contains the character NUL"),
        ("item,value\n", "found no rows"),
        ("\n\n", "found no rows"),
        ("", "the file is empty"),
    ],
)
def test_faults_of_csv_name_line_and_remedy(tmp_path, text, message):
    """Each malformed csv is refused at its line."""
    assert fault(write_csv(tmp_path / "t.csv", text), required=("item", "value")).startswith(
        message
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"item": "a", "item": "b"}', "line 1: key 'item' appears twice"),
        ('{"item": {"x": 1, "x": 2}}', "line 1: key 'x' appears twice"),
        ('{"item": NaN}', "line 1: NaN is not a JSON number"),
        ('{"item": -Infinity}', "line 1: -Infinity is not a JSON number"),
        ('{"item": 1e999}', "line 1: the number '1e999' is too large"),
        ('{"item": ' + "9" * 5000 + "}", "line 1: the number '999"),
        ('{"item": ' + "[" * 200_000, "line 1: nested deeper than 64 levels"),
        ('{"item": ' + "[" * 65 + "]" * 65 + "}", "line 1: nested deeper than 64 levels"),
        ('{"item": "\\ud800"}', "line 1: a text contains half of a surrogate pair"),
        ('{"item": "\\u0000"}', "line 1: a text contains the character NUL"),
        ('{"item": "a"} {"item": "b"}', "line 1: not JSON (Extra data"),
        ('{"item": "a"}\n["a"]', "line 2: is not a JSON object"),
        ('{"item": "a"}\n{"value": "a"}', "line 2: column 'item' is missing (found 'value')"),
        ('{"item": "a"}\n{}', "line 2: column 'item' is missing (found no columns)"),
        ('{"item": "a", "": 1}', "line 1: found a column without a name"),
        ("[\n]", "line 1: not JSON"),
        ("\n \n", "found no rows"),
        ("", "the file is empty"),
    ],
)
def test_faults_of_jsonl_name_line_and_remedy(tmp_path, text, message):
    """Each line that is not one strict JSON object is refused."""
    assert fault(write_csv(tmp_path / "t.jsonl", text), required=("item",)).startswith(message)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_different_encoding_is_rejected(tmp_path, name, encoding):
    """What is not UTF-8 is named with its line, not guessed."""
    path = write_csv(tmp_path / name, '"é"\n"x"\n', encoding)
    assert "Save the file as UTF-8" in fault(path)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(n_bytes=20), "found "),
        (Limits(line_bytes=20), "line 2: is longer than 20 bytes"),
        (Limits(n_rows=1), "found more than 1 rows"),
        (Limits(n_columns=1), "line 1: found 2 columns, but the limit is 1"),
        (Limits(field_chars=10), "line 2: "),
    ],
)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "item,value\na,longer than twenty bytes\nb,next one\n"),
        ("t.jsonl", '{"a":1,"b":2}\n{"c":"more than twenty","d":""}\n\n\n\n\n'),
    ],
)
def test_every_cap_is_kept(tmp_path, name, text, limits, message):
    """A file above a cap is refused, not cut."""
    path = write_csv(tmp_path / name, text)
    assert fault(path, limits=limits).startswith(message)
    assert len(list(read_rows(path))) == 2


@pytest.mark.slow
def test_parquet_is_checked_against_what_it_declares(tmp_path):
    """Rows and unpacked size are refused before anything is unpacked."""
    path = write_parquet(tmp_path / "t.parquet", {"item": ["a" * 1000] * 3})
    assert fault(path, limits=Limits(n_rows=2)).startswith("found more than 2 rows")
    assert "bytes" in fault(path, limits=Limits(n_bytes=50))
    assert fault(path, limits=Limits(field_chars=10)).startswith(
        "row 1: 'item' contains 1000 characters"
    )
    assert fault(path, required=("value",)).startswith("columns: column 'value' is missing")
    texts = ["x" * 100_000 + str(i) for i in range(50)]
    bomb = write_parquet(tmp_path / "bomb.parquet", {"item": texts}, use_dictionary=False)
    message = fault(bomb, limits=Limits(unpacked_bytes=bomb.stat().st_size * 2))
    assert message.startswith("unpacks to more than")


@pytest.mark.slow
@pytest.mark.parametrize("nested", [False, True])
def test_parquet_that_repeats_a_text_is_counted_unpacked(tmp_path, nested):
    """A file of a few kilobytes took gigabytes, as each row named the same long text."""
    text = "x" * 100_000
    values = [[text] * 10] * 30 if nested else [text] * 300
    path = write_parquet(tmp_path / "t.parquet", {"item": values}, compression="zstd")
    assert path.stat().st_size < 5_000
    size = 300 * len(text)
    assert fault(path, limits=Limits(unpacked_bytes=size)).startswith("unpacks to more than")
    assert len(list(read_rows(path, limits=Limits(unpacked_bytes=size + 20_000)))) == len(values)


def test_parquet_in_an_encoding_without_bounds_is_refused(tmp_path):
    """Where a text repeats the beginning of the one before, its size is known only unpacked."""
    options = {"use_dictionary": False, "column_encoding": {"item": "DELTA_BYTE_ARRAY"}}
    path = write_parquet(tmp_path / "t.parquet", {"item": ["a", "ab"]}, **options)
    assert fault(path).startswith(
        "'item' is encoded as DELTA_BYTE_ARRAY. Write the file with a different"
    )


@pytest.mark.slow
@given(st.integers(0, 2000), st.binary(min_size=1, max_size=8))
@settings(max_examples=4)
def test_parquet_with_bytes_changed_is_read_or_refused(tmp_path_factory, place, noise):
    """Whatever bytes differ, there are rows or one line of what is wrong."""
    read_or_refused(tmp_path_factory.mktemp("noise") / "t.parquet", place, noise)


@pytest.mark.slow
@given(st.integers(0, 2000), st.binary(min_size=1, max_size=8))
@settings(max_examples=100)
def test_parquet_with_any_bytes_changed_is_read_or_refused(tmp_path_factory, place, noise):
    """The same, for as many draws as find one that crashes pyarrow."""
    read_or_refused(tmp_path_factory.mktemp("noise") / "t.parquet", place, noise)


def read_or_refused(path, place, noise):
    change_bytes(path, place, noise)
    with contextlib.suppress(TaskError):
        list(read_rows(path))


def change_bytes(path, place, noise):
    write_parquet(path, {"item": ["abc", "d"] * 20, "value": [["A"], None] * 20})
    raw = bytearray(path.read_bytes())
    place %= len(raw)
    raw[place : place + len(noise)] = noise
    path.write_bytes(raw)


def test_parquet_that_crashes_pyarrow_is_one_line(tmp_path):
    """An exception that C++ does not catch aborts the process; it took the command with it."""
    path = tmp_path / "t.parquet"
    change_bytes(path, 220, b";")
    assert fault(path).startswith("crashes the parquet reader (SIGABRT): it is damaged")


def children():
    """Return the processes that this one started and that run still."""
    threads = Path("/proc/self/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text().split()]


def test_reader_has_no_keys_and_is_ended_with_its_rows(tmp_path, monkeypatch):
    """The process that reads parquet sees no environment variable of the user's."""
    monkeypatch.setenv("STUB_KEY", "sk-canary")
    path = write_parquet(tmp_path / "t.parquet", {"item": ["x" * 1000] * 10_000})
    before = children()
    rows = read_rows(path)
    assert next(rows)[0] == 1
    [reader] = set(children()) - set(before)
    assert b"sk-canary" not in Path(f"/proc/{reader}/environ").read_bytes()
    rows.close()
    assert children() == before


def test_parquet_values_must_be_plain(tmp_path):
    """Bytes and numbers that are none are refused with their row."""
    path = write_parquet(tmp_path / "t.parquet", {"item": ["a", "b"], "value": [1.0, float("nan")]})
    assert fault(path).startswith("row 2: 'value' contains an infinite or undefined number")
    path = write_parquet(tmp_path / "t.parquet", {"item": [b"a"]})
    assert fault(path).startswith("row 1: 'item' contains bytes")


@pytest.mark.slow
def test_parquet_with_a_time_in_a_column_nobody_uses_is_read(tmp_path):
    """Dates and times are text, as in a csv of the same table."""
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    path = write_parquet(tmp_path / "t.parquet", {"day": [moment.date()], "at": [moment]})
    assert list(read_rows(path)) == [(1, {"day": "2026-01-02", "at": "2026-01-02T03:04:05+00:00"})]


def test_parquet_without_rows_is_said_to_have_none(tmp_path, capfd):
    """It is no damaged file, and the library that reads it says nothing of its own."""
    assert "found no rows" in fault(write_parquet(tmp_path / "t.parquet", {"item": []}))
    assert capfd.readouterr().err == ""


def test_damaged_parquet_is_one_clear_fault(tmp_path):
    """Neither a wrong footer nor damaged pages end in a traceback."""
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 nonsense")
    assert "cannot be read as parquet" in fault(path)
    write_parquet(path, {"item": ["abc"] * 100, "value": list(range(100))})
    raw = bytearray(path.read_bytes())
    raw[4:60] = bytes(byte ^ 0xFF for byte in raw[4:60])
    path.write_bytes(raw)
    assert "cannot be read" in fault(path)


def test_parquet_is_found_under_odd_names(tmp_path):
    """Brackets, stars and spaces in a path are no patterns."""
    folder = tmp_path / "a [b] *{c,d} #é"
    folder.mkdir()
    path = write_parquet(folder / "t.parquet", {"item": ["a"], "value": [["A", "B"]]})
    assert list(read_rows(path)) == [(1, {"item": "a", "value": ["A", "B"]})]


def test_parquet_that_declares_pictures_opens_none(tmp_path):
    """Metadata made the reader ask for an address and open a path; now they are ignored."""
    import pyarrow as pa
    from pyarrow import parquet

    picture = tmp_path / "picture.png"
    picture.write_bytes(b"not to be opened")
    features = {"item": {"_type": "Image"}, "other": {"_type": "Image"}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    columns = {"item": ["http://127.0.0.1:9/picture.png"], "other": [str(picture)]}
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table(columns).replace_schema_metadata(metadata), path)
    cells = [values[0] for values in columns.values()]
    code = (
        "import runpy, sys\n"
        "events = []; sys.addaudithook(lambda *event: events.append(event))\n"
        "sys.argv[1:] = ['parquet', '1000']\n"
        f"runpy.run_path({str(READERS)!r}, run_name='__main__')\n"
        "assert not [event for event, _ in events if event.startswith('socket')]\n"
        "files = {str(arguments[0]) for event, arguments in events if event == 'open'}\n"
        f"assert files and {str(picture)!r} not in files\n"
    )
    with path.open("rb") as file:
        command = [sys.executable, "-c", code]
        result = subprocess.run(command, stdin=file, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [[1, *columns], cells]


@pytest.mark.parametrize(
    ("name", "found"), [("t.xlsx", ".xlsx"), ("t", "no ending"), ("t.csv.gz", ".gz")]
)
def test_other_formats_are_refused(tmp_path, name, found):
    """Only the three endings are tables."""
    message = f"found {found}. The name of a table must end in .csv, .jsonl or .parquet"
    assert message in fault(write_csv(tmp_path / name, "a,b\n1,2\n"))


def test_folders_and_pipes_are_rejected_as_tables(tmp_path):
    """A folder or a pipe is not read."""
    (tmp_path / "t.csv").mkdir()
    assert "not a regular file" in fault(tmp_path / "t.csv")
    os.mkfifo(tmp_path / "p.csv")
    assert "not a regular file" in fault(tmp_path / "p.csv")


@pytest.mark.slow
def test_reading_streams(tmp_path):
    """Memory does not grow with the file."""
    path = tmp_path / "t.csv"
    path.write_text("item,value\n" + "some item,some value\n" * 40_000)
    tracemalloc.start()
    try:
        n_rows = sum(1 for _ in read_rows(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n_rows == 40_000
    assert peak < path.stat().st_size / 4


def test_a_message_quotes_no_text_of_the_row(tmp_path):
    """A malformed line stays out of the message: it may be an item's text."""
    path = write_csv(tmp_path / "t.jsonl", '{"text": "something private", "x": }\n')
    assert "private" not in fault(path)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**50), 10**50)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0")),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0")), inner
        )
    ),
    max_leaves=20,
)  # fmt: skip -- one value per line would hide the shape


@pytest.mark.slow
@given(JSON)
def test_strict_json_reads_what_json_writes(value):
    """Every finite JSON value survives."""
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False)) == value


SCALARS = (
    *(
        '"a"',
        '"\\"',
        '"\\\\"',
        '"\\\\\\""',
        '"\\u0022"',
        '"\\u0000"',
        '"\\ud83d"',
        '"\\ud83d\\ude00"',
    ),
    *(
        '"é"',
        '"\\t"',
        '"\t"',
        '"}\\n{"',
        '"NaN"',
        "0",
        "-0",
        "-0.0",
        "1e5",
        "1e400",
        "5e-324",
        "0.1",
    ),
    *("9" * 20, "-" + "9" * 99, "9" * 100, "9" * 101, "NaN", "01", "true", "null", "[]", "{}"),
    *('["a", "b"]', '[["a"]]', '["a", 1]', '{"a": {"b": "c"}}', "'", "", ",", "}", "{", '"'),
)
MEMBERS = st.lists(
    st.tuples(st.sampled_from(("a", "b", "", "\\u0061", "é")), st.sampled_from(SCALARS))
)
OBJECTS = MEMBERS.map(lambda members: ", ".join(f'"{name}": {text}' for name, text in members))
LINES = st.one_of(
    OBJECTS.map("{{{}}}".format),
    st.dictionaries(st.text(), st.one_of(st.text(), st.floats(), st.integers())).map(json.dumps),
    st.sampled_from(("", " ", '{"a": 1}{"b": 2}', '{"a":', "1}", "[1]", '{"a": 1} ', "\ufeff{}")),
)


@pytest.mark.slow
@example(['{"a": 1}{"b": 2}', '{"a":', "1}"])
@example(['{"a": ' + "9" * 101 + "}"])
@example(['{"a": ' + "[" * 65 + '"b"' + "]" * 65 + "}"])
@given(st.lists(LINES, min_size=1, max_size=4))
@settings(max_examples=500)
def test_lines_that_are_parsed_at_once_are_those_that_are_parsed_alone(lines):
    """Whatever stands in them, lines give equal rows at once and alone, or have to be alone."""
    text = "\n".join(lines)
    rows = parse_flat_lines(text.encode(errors="replace"))
    if rows is not None:
        alone = [parse_json(line) for line in text.removesuffix("\n").split("\n")]
        assert [list(row) for row in rows] == [list(row) for row in alone]
        assert list(map(repr, rows)) == list(map(repr, alone))


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "a", "text": "said \\"yes\\" \\\\ \\u00e9 é\\n", "set": ["a", "b"], "x": -1e3}',
        '{"id": "a", "n": 1}',
        '{"id": "a", "is_rated": true, "group": null}',
    ],
)
def test_plain_lines_are_parsed_at_once(line):
    """Texts with escapes, numbers, sets of options and what is missing need no second look."""
    assert parse_flat_lines(f"{line}\n{line}\n".encode()) == [json.loads(line)] * 2


def test_faults_and_lines_are_found_where_many_lines_are_read_at_once(tmp_path):
    """Each row has its line, and a fault is found behind any number of rows that are right."""
    line = '{"id": "%d", "text": "' + "x" * 100 + '"}\n'
    n = 3 * READ_AT_ONCE // 100
    path = tmp_path / "t.jsonl"
    path.write_text("".join(line % i for i in range(n)), encoding="utf-8")
    assert all(row["id"] == str(number - 1) for number, row in read_rows(path))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"id": "a", "id": "b"}\n')
    assert fault(path) == (
        f"line {n + 1}: key 'id' appears twice. Write one strict JSON object per line."
    )


@given(st.text())
def test_strict_json_raises_only_value_errors(text):
    """Random text is a value or a ValueError, never something else."""
    with contextlib.suppress(ValueError):
        parse_json(text)


def test_brackets_inside_of_strings_are_no_nesting():
    """A long text full of brackets is not deep."""
    text = "[{" * 500 + '\\"'
    assert parse_json(json.dumps({"text": text})) == {"text": text}
