"""Tables of every format, exports of annotation tools, and files that are not what they claim."""

from __future__ import annotations

import json
import zipfile

import pytest

from harness.curation.importing import AnswerSettings, make_plans, make_task, read_source
from harness.errors import TaskError
from harness.files.tables import Limits
from harness.tasks import load_task

SLOW = pytest.mark.slow
ROWS = [
    {"item_id": f"i{i}", "body": f"Text {i}.", "annotator": f"worker_{r}", "label": label}
    for i, labels in enumerate(["yes no", "no no", "yes yes", "no yes"])
    for r, label in enumerate(labels.split())
]


def task_of(path, folder, **settings):
    """Import a file that needs no question and return the task."""
    [plan] = make_plans(folder.name, read_source(path), {}, settings=AnswerSettings(**settings))
    summary = make_task(plan, folder)
    assert summary.n_rejected == 0
    return load_task(summary.folder)


def values(task):
    return {(r.item, r.rater, r.value) for r in task.ratings}


def save_json(path):
    path.write_text(json.dumps(ROWS), encoding="utf-8")


def save_tsv(path):
    lines = ["\t".join(ROWS[0]), *("\t".join(row.values()) for row in ROWS)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def save_utf_16(path):
    save_tsv(path)
    path.write_bytes(path.read_text(encoding="utf-8").encode("utf-16"))


def save_lines(path):
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")


def save_arrow(path):
    import pyarrow as pa

    table = pa.Table.from_pylist(ROWS)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def save_folder(path):
    from datasets import Dataset, disable_progress_bars

    disable_progress_bars()
    Dataset.from_list(ROWS).save_to_disk(str(path))


@pytest.mark.parametrize(
    ("name", "save"),
    [
        ("t.json", save_json),
        ("t.tsv", save_tsv),
        ("t.csv", save_utf_16),
        ("t.v1.dev", save_lines),
        ("t.arrow", save_arrow),
        pytest.param("saved", save_folder, marks=SLOW),
    ],
)
def test_same_rows_from_every_format(tmp_path, name, save):
    """The format changes nothing."""
    save(tmp_path / name)
    task = task_of(tmp_path / name, tmp_path / "mine")
    assert values(task) == {(r["item_id"], r["annotator"], r["label"]) for r in ROWS}
    assert task.text == ("body",)


def test_label_studio_export(tmp_path):
    """Annotators, choices and data become raters, ratings and text; cancelled ones are none."""

    def annotation(who, choice, *, cancelled=False):
        value = {"from_name": "tone", "type": "choices", "value": {"choices": [choice]}}
        return {"completed_by": who, "was_cancelled": cancelled, "result": [value]}

    tasks = [
        {
            "id": i,
            "data": {"text": f"This is the text of task {i}."},
            "annotations": [
                annotation(1, "polite"),
                annotation(2, "rude" if i % 2 else "polite"),
                annotation(3, "rude", cancelled=True),
            ],
        }
        for i in range(1, 7)
    ]
    (tmp_path / "export.json").write_text(json.dumps(tasks), encoding="utf-8")
    task = task_of(tmp_path / "export.json", tmp_path / "mine")
    assert {r.rater for r in task.ratings} == {"1", "2"}
    assert len(task.ratings) == 12
    assert task.items[0].fields == {"text": "This is the text of task 1."}


def test_argilla_export(tmp_path):
    """Responses become ratings by user."""
    records = [
        {
            "id": f"r{i}",
            "fields": {"prompt": f"This is prompt number {i}."},
            "suggestions": {},
            "responses": {"quality": [{"user_id": u, "value": 1 + (i + u) % 3} for u in (7, 8)]},
        }
        for i in range(6)
    ]
    (tmp_path / "records.json").write_text(json.dumps(records), encoding="utf-8")
    task = task_of(tmp_path / "records.json", tmp_path / "mine")
    assert (task.scale, len(task.ratings)) == ("ordinal", 12)
    assert {r.rater for r in task.ratings} == {"7", "8"}


def test_argilla_export_of_version_1(tmp_path):
    """Submitted responses become ratings by user; discarded ones are none."""

    def response(user, value, status="submitted"):
        return {"user_id": user, "status": status, "values": {"quality": {"value": value}}}

    records = [
        {
            "fields": {"prompt": f"This is prompt number {i}."},
            "suggestions": [{"question_name": "quality", "value": 1, "agent": "gpt-4o"}],
            "responses": [response("u1", 1 + i % 3), response("u2", 2), response("u3", 1, "draft")],
        }
        for i in range(6)
    ]
    (tmp_path / "records.json").write_text(json.dumps(records), encoding="utf-8")
    task = task_of(tmp_path / "records.json", tmp_path / "mine")
    assert len(task.ratings) == 12
    assert {r.rater for r in task.ratings} == {"u1", "u2"}


@pytest.mark.parametrize(
    "record",
    [
        {"fields": {"text": "a"}, "responses": [{"question_name": "q", "value": "yes"}]},
        {"fields": ["a"], "responses": {}},
        {"data": "a", "annotations": [{"result": [{"value": "yes"}]}]},
        {"data": {"text": "a"}, "annotations": ["yes"]},
    ],
)
def test_an_export_of_another_form_is_one_line(tmp_path, record):
    """What only looks like an export is named, and no internal error."""
    path = tmp_path / "records.json"
    path.write_text(json.dumps([record]), encoding="utf-8")
    with pytest.raises(TaskError, match=r"records\.json: this JSON looks like an export of"):
        read_source(path)


def test_judge_bench_data_set(tmp_path):
    """Scores of an instance are those of positions, as nothing says who gave them."""
    instances = [
        {
            "id": i,
            "instance": f"This is instance number {i}.",
            "annotations": {"quality": {"individual_human_scores": [1 + i % 3, 1 + i % 3, 2]}},
        }
        for i in range(6)
    ]
    content = {"annotations": [{"metric": "quality"}], "instances": instances}
    (tmp_path / "bench.json").write_text(json.dumps(content), encoding="utf-8")
    task = task_of(tmp_path / "bench.json", tmp_path / "mine")
    assert (task.rater_ids, len(task.ratings)) == ("positional", 18)


def test_alt_test_labels(tmp_path):
    """Labels by annotator and item are ratings; a missing item is a missing rating."""
    labels = {f"worker_{w}": {f"i{i}": "ab"[(i + w) % 2] for i in range(6)} for w in (1, 2, 3)}
    del labels["worker_1"]["i0"]
    (tmp_path / "humans.json").write_text(json.dumps(labels), encoding="utf-8")
    task = task_of(tmp_path / "humans.json", tmp_path / "mine")
    assert values(task) == {(i, w, v) for w, row in labels.items() for i, v in row.items()}


def formula(path):
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["item_id", "ann1", "ann2"])
    book.active.append(["a", "=1+1", 2])
    book.save(path)


def far_cell(path):
    from openpyxl import Workbook

    book = Workbook()
    book.active["A1"] = "item_id"
    book.active["XFD1048576"] = "x"
    book.save(path)


def open_tags(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", '<c r="A1"' * 200_000 + "</c>")


def repeated_entry(path):
    """An arrow file of 10 kB whose rows all name the same long text."""
    import pyarrow as pa

    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), ["x" * 1_000_000])
    save_table(path, pa.table({"item_id": texts}), pa.ipc.IpcWriteOptions(compression="zstd"))


def many_nulls(path):
    import pyarrow as pa

    save_table(path, pa.table({"item_id": pa.nulls(2_000_000_000)}))


def save_table(path, table, options=None):
    import pyarrow as pa

    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, table.schema, options=options) as writer,
    ):
        writer.write_table(table)
    assert path.stat().st_size < 300_000


def long_line(path):
    path.write_bytes(b"id,ann1,ann2\na," + b"y" * (9 << 20) + b",no\n")


def nul(path):
    path.write_bytes(b"id,ann1,ann2\na,y\0s,no\n")


def two_encodings(path):
    path.write_bytes("id,ann1,ann2\na,né,no\n".encode() + "b,né,no\n".encode("latin-1"))


@pytest.mark.parametrize(
    ("name", "save", "words"),
    [
        ("t.xlsx", formula, "cell B2: contains a formula without a stored value"),
        ("t.xlsx", nul, "cannot be read as xlsx"),
        ("t.csv", long_line, "line 2: is longer than"),
        ("t.csv", nul, "line 2: contains the character NUL"),
        ("t.csv", two_encodings, "line 3: byte 4 (0xe9) is not UTF-8"),
        ("t.json", nul, "contains the character NUL"),
        ("t.arrow", nul, "cannot be read as arrow"),
        ("t.xlsx", far_cell, "crashes the xlsx reader (SIGABRT): it is damaged, or takes more"),
        ("t.xlsx", open_tags, "cannot be read as xlsx"),
        pytest.param("t.arrow", repeated_entry, "unpacks to more than 1073741824", marks=SLOW),
        pytest.param("t.arrow", many_nulls, "found more than 5000000 rows", marks=SLOW),
    ],
)
def test_hostile_files_are_one_line(tmp_path, name, save, words):
    """What is wrong, and where, on one line."""
    save(tmp_path / name)
    with pytest.raises(TaskError) as caught:
        read_source(tmp_path / name)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_json_too_large_for_memory_is_refused_by_its_size(tmp_path):
    """It is read whole, and takes many times its size."""
    save_json(tmp_path / "t.json")
    with pytest.raises(TaskError, match=r"found \d+ bytes, but the limit is 100"):
        read_source(tmp_path / "t.json", limits=Limits(json_bytes=100))


def test_workbook_that_unpacks_to_too_much_is_refused(tmp_path):
    """20 MB of zeros in 20 kB."""
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * (20 << 20))
    with pytest.raises(TaskError, match="unpacks to more than 1048576 bytes"):
        read_source(tmp_path / "t.xlsx", limits=Limits(n_bytes=1 << 20))
