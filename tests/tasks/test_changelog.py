"""Every command that changes a task records the content hash before and after."""

from __future__ import annotations

import numpy as np
import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.curation.collecting.sampling import draw_sample, write_sample
from harness.curation.importing import write_starter
from harness.curation.versions.task_export import export_task, import_exported
from harness.errors import TaskError
from harness.tasks import load_task, read_changes, record_change

TABLE = """doc,body,rater,answer
d1,The moon is made of cheese.,ann,no
d1,The moon is made of cheese.,bea,"[""yes"", ""no""]"
d2,It often rains here.,ann,yes
d2,It often rains here.,bea,n/a
"""


def test_new_tasks_record_their_hash(tmp_path):
    """The example, an imported table and an imported export begin a changelog each."""
    (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")
    roles = ("--id", "doc", "--text", "body", "--rater", "rater", "--label", "answer")
    labels = ("--options", "yes,no", "--ignore", "n/a", "--lists", "sets", "--yes")
    folder = tmp_path / "mine"
    result = invoke("curate", "import", tmp_path / "t.csv", "--as", folder, *roles, *labels)
    assert result.exit_code == 0, result.output
    assert load_task(folder).n_ignored == {"n/a": 1}
    write_starter("example", tmp_path / "example")
    export_task(load_task(folder), tmp_path / "out.csv")
    import_exported(tmp_path / "out.csv", tmp_path / "again")
    for name, change in (
        ("mine", "import of t.csv"),
        ("example", "commented example"),
        ("again", "import of out.csv"),
    ):
        (line,) = read_changes(tmp_path / name)
        assert (line.change, line.before) == (change, "")
        assert line.after == load_task(tmp_path / name).content_hash


def test_a_sample_names_the_task_it_was_drawn_from(tmp_path):
    """The hash before is that of the task."""
    task = load_task(make_task_folder(tmp_path / "small", 8))
    sample = draw_sample(task, "disagreement", 1, rng=np.random.default_rng(0))
    write_sample(task, sample, tmp_path / "part", "disagreement")
    (line,) = read_changes(tmp_path / "part")
    assert line.change == "sample of 1 of 8 items of small, by disagreement"
    assert (line.before, line.after) == (
        task.content_hash,
        load_task(tmp_path / "part").content_hash,
    )


def test_changes_are_read_in_the_order_in_which_they_were_made(tmp_path):
    """Lines are appended; a line that lacks a field is named."""
    folder = make_task_folder(tmp_path / "small")
    assert read_changes(folder) == ()
    first = record_change(folder, "first")
    second = record_change(folder, "second", before=first.after)
    assert read_changes(folder) == (first, second)
    (folder / "changelog.jsonl").write_text('{"at": "2026-01-01"}\n', encoding="utf-8")
    with pytest.raises(TaskError, match=r"changelog\.jsonl: line 1"):
        read_changes(folder)
