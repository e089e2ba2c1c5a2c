"""An exported task is imported again as it was."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pictures import png
from support.processes import call_harness
from support.task_folders import make_task_folder, write_jsonl

from harness.curation.versions.task_export import export_task, import_exported
from harness.errors import TaskError
from harness.files.tables.writer import neutralized, restored
from harness.tasks import bundled, load_task

TABLE = (
    "item_id,body,ann1,ann2,gpt-4o\n"
    "i1,=SUM(A1:A9),+1,-1,+1\n"
    "i2,'quoted' text,-1,,-1\n"
    '-i3,"@home, ""here""\nand there",+1,+1,x\n'
)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_import_export_import_is_the_identity(tmp_path, ending):
    """Content hash and verdicts stay, for texts and labels that look like formulas too."""
    (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")
    options = (
        "--property",
        "whether it is good",
        "--options",
        "+1,-1",
        "--positive",
        "+1",
        "-j",
        "gpt-4o",
    )
    first = call_harness("curate", "import", "t.csv", "--as", "mine", *options, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    out = f"out.{ending}"
    done = call_harness("curate", "export", "./mine", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = call_harness("curate", "import", out, "--as", "again", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    original, copy = load_task(tmp_path / "mine"), load_task(tmp_path / "again")
    assert original.content_hash == copy.content_hash
    verdicts = [(tmp_path / name / "verdicts.csv").read_text() for name in ("mine", "again")]
    assert verdicts[0] == verdicts[1]


BUNDLED = ("coherence", "consistency", "diagnoses", "helpfulness", "relevance", "toxicity")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_tasks_survive(tmp_path, name, ending):
    """So do tasks that no import made."""
    task = load_task(name)
    export_task(task, tmp_path / f"out.{ending}")
    import_exported(tmp_path / f"out.{ending}", tmp_path / "mine")
    assert load_task(tmp_path / "mine").content_hash == task.content_hash


def test_images_prompts_and_similarities_survive(tmp_path):
    """Files of the task travel in a folder beside the table, and come back under their names."""
    folder = make_task_folder(tmp_path / "small", 3, response_sets=False)
    rows = [{"id": f"i{i}", "text": f"T{i}", "image": f"pictures/{i}.png"} for i in range(2)]
    write_jsonl(folder / "items.jsonl", [*rows, {"id": "i2", "text": "without"}])
    (folder / "pictures").mkdir()
    for i in range(2):
        (folder / f"pictures/{i}.png").write_bytes(png(i))
    with (folder / "task.yaml").open("a", encoding="utf-8") as file:
        file.write("image: image\nprompts: {forced_choice: own.txt}\n")
    prompt = (bundled("prompts") / "forced_choice.txt").read_text(encoding="utf-8")
    (folder / "own.txt").write_text(prompt, encoding="utf-8")
    task = load_task(folder)
    export_task(task, tmp_path / "out.csv")
    import_exported(tmp_path / "out.csv", tmp_path / "again")
    again = load_task(tmp_path / "again")
    assert again.content_hash == task.content_hash
    assert [image.read() for image in again.images.values()] == [png(0), png(1)]
    assert (tmp_path / "again/own.txt").read_text(encoding="utf-8") == prompt


def test_files_of_a_foreign_table_stay_in_its_folder(tmp_path):
    """A link out of the folder of files is not followed, and nothing is made then."""
    folder = make_task_folder(tmp_path / "small", 1, response_sets=False)
    write_jsonl(folder / "items.jsonl", [{"id": "i0", "text": "T", "image": "0.png"}])
    (folder / "0.png").write_bytes(png(0))
    with (folder / "task.yaml").open("a", encoding="utf-8") as file:
        file.write("image: image\n")
    export_task(load_task(folder), tmp_path / "out.csv")
    (tmp_path / "out.csv.files/0.png").unlink()
    (tmp_path / "out.csv.files/0.png").symlink_to(folder / "0.png")
    with pytest.raises(TaskError):
        import_exported(tmp_path / "out.csv", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_no_exported_cell_is_a_formula(tmp_path):
    """No cell starts with a character that a spreadsheet evaluates."""
    export_task(load_task("toxicity"), tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        assert not [c for row in csv.reader(file) for c in row if c[:1] in {"=", "+", "-", "@"}]


@given(st.text())
def test_neutralized_cells_are_restored(text):
    """Every text comes back, and none starts like a formula in between."""
    assert restored(neutralized(text)) == text
    assert not neutralized(text).startswith(("=", "+", "-", "@"))


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_times_of_ratings_survive(tmp_path, ending):
    """When and on which form a rating was made comes back, where it is recorded."""
    folder = make_task_folder(tmp_path / "small", 2, raters=1, response_sets=False)
    made = {"rated_at": "2026-01-01T10:00:00Z", "form": "paired"}
    rows = [
        {"item": "i0", "rater": "r0", "value": "A"},
        {"item": "i1", "rater": "r0", "value": "B", **made},
    ]
    write_jsonl(folder / "ratings.jsonl", rows)
    export_task(load_task(folder), tmp_path / f"out.{ending}")
    import_exported(tmp_path / f"out.{ending}", tmp_path / "again")
    first, second = load_task(tmp_path / "again").ratings
    assert (first.provenance, dict(second.provenance)) == ((), made)


def test_export_does_not_turn_rare_line_breaks_into_spaces(tmp_path):
    """A next-line character in the instructions comes back as it was."""
    task = load_task("toxicity").model_copy(update={"instructions": "First.\x85Then."})
    export_task(task, tmp_path / "out.csv")
    import_exported(tmp_path / "out.csv", tmp_path / "again")
    assert load_task(tmp_path / "again").content_hash == task.content_hash
