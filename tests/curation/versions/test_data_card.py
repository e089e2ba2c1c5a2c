"""The data card says what the ratings are; mlcroissant validates and reads the metadata."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from hashlib import sha256

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.hostile_run import BAD_NAME
from support.packages import need
from support.processes import invoke
from support.task_folders import TASK, make_task_folder, write_jsonl

from harness.curation.versions.data_card import croissant, data_card
from harness.errors import TaskError
from harness.tasks import load_task, record_change

READ = """
import json, sys
import mlcroissant
metadata = mlcroissant.Dataset(sys.argv[1]).metadata
counts = {r.id: len(list(mlcroissant.Dataset(sys.argv[1]).records(r.id)))
          for r in metadata.record_sets}
print(json.dumps({"errors": sorted(metadata.issues.errors), "counts": counts}))
"""


def test_card_counts_ratings_and_lists_changes(tmp_path):
    """Counts, options, findings and changes stand in it, and no text of an item."""
    folder = make_task_folder(tmp_path / "small", 8)
    yaml = (folder / "task.yaml").read_text(encoding="utf-8") + "instructions: Read *twice*.\n"
    (folder / "task.yaml").write_text(yaml, encoding="utf-8")
    record_change(folder, "made by hand")
    card = data_card(load_task(folder))
    assert "| ratings | 24 forced choices, 24 response sets |" in card
    assert "| A | Toxic | yes | 12 | 16 |" in card
    assert r"Instructions: Read \*twice\*." in card
    assert "| made by hand | new |" in card
    assert "changed after that in unrecorded ways" not in card
    assert "- wide intervals: " in card
    assert "comment number" not in card
    (folder / "task.yaml").write_text(yaml + "tau: 0.6\n", encoding="utf-8")
    assert "changed after that in unrecorded ways" in data_card(load_task(folder))


def test_names_are_escaped_in_markup(tmp_path):
    """What the task's author wrote is escaped."""
    folder = make_task_folder(tmp_path / "small", 8)
    yaml = TASK.replace("label: Toxic", f"label: '{BAD_NAME}'") + f"notice: 'a | b {BAD_NAME}'\n"
    (folder / "task.yaml").write_text(yaml, encoding="utf-8")
    assert BAD_NAME not in data_card(load_task(folder))


def test_metadata_name_the_files_by_content(tmp_path):
    """Addresses are relative to the metadata, and hashes those of the files."""
    task = load_task(make_task_folder(tmp_path / "small"))
    metadata = json.loads(croissant(task, tmp_path / "cards"))
    files = metadata["distribution"]
    assert [file["contentUrl"] for file in files] == [
        "../small/items.jsonl",
        "../small/ratings.jsonl",
    ]
    for file in files:
        assert file["sha256"] == sha256((task.folder / file["name"]).read_bytes()).hexdigest()
    assert metadata["version"] == f"1.0.0+{task.content_hash[:12]}"


def test_bundled_tasks_are_not_written_into(tmp_path):
    """Their cards go where --to says."""
    refused = invoke("curate", "card", "toxicity")
    assert isinstance(refused.exception, TaskError)
    assert "--to" in str(refused.exception)
    assert invoke("curate", "card", "toxicity", "--to", tmp_path / "cards").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "cards").iterdir()) == [
        "card.md",
        "croissant.json",
    ]


def rewrite(path, ending):
    """Write a jsonl table in another format, in place of it."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if ending == "csv":
        with path.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    if ending == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path.with_suffix(".parquet"))
    if ending != "jsonl":
        path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_mlcroissant_validates_and_reads_the_metadata(tmp_path, ending):
    """No error, and as many records as the tables have rows."""
    need("mlcroissant")
    folder = make_task_folder(tmp_path / "small", 8, response_sets=ending == "jsonl")
    yaml = TASK.replace(".jsonl", f".{ending}") + "licence: CC0-1.0\nsource: https://example.org\n"
    (folder / "task.yaml").write_text(yaml, encoding="utf-8")
    groups = [{"id": "g", "context": "On a forum."}]
    items = [{"id": f"i{i}", "group": "g", "text": f"Comment {i}."} for i in range(8)]
    write_jsonl(folder / "items.jsonl", items)
    write_jsonl(folder / "groups.jsonl", groups)
    for name in ("items", "groups", "ratings"):
        rewrite(folder / f"{name}.jsonl", ending)
    task = load_task(folder)
    assert invoke("curate", "card", folder).exit_code == 0
    command = [sys.executable, "-c", READ, str(folder / "croissant.json")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    read = json.loads(result.stdout.splitlines()[-1])
    assert read == {
        "errors": [],
        "counts": {"items": 8, "groups": 1, "ratings": len(task.ratings)},
    }
