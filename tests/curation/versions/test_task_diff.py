"""What changed between two versions of a task."""

from __future__ import annotations

import json
import shutil

import pytest
from support.processes import call_harness, invoke
from support.task_folders import make_task_folder, write_jsonl

from harness.curation.versions.task_diff import Changes, diff_text, task_diff
from harness.tasks import load_task, record_change


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def versions(tmp_path):
    """A task, and a copy without its last item, with a changed rating, label and instruction."""
    before = make_task_folder(tmp_path / "before", 12, response_sets=False)
    after = tmp_path / "after"
    shutil.copytree(before, after)
    write_jsonl(after / "items.jsonl", rows_of(after / "items.jsonl")[:-1])
    ratings = [row for row in rows_of(after / "ratings.jsonl") if row["item"] != "i11"]
    ratings[0]["value"] = "A"
    write_jsonl(after / "ratings.jsonl", ratings)
    text = (after / "task.yaml").read_text(encoding="utf-8")
    text = text.replace("label: Toxic", "label: Harmful") + "instructions: Read twice.\n"
    (after / "task.yaml").write_text(text, encoding="utf-8")
    return before, after


def test_every_change_is_named(tmp_path):
    """Items, ratings, options and fields are listed by name."""
    before, after = map(load_task, versions(tmp_path))
    diff = task_diff(before, after)
    assert diff.items == Changes(removed=("i11",))
    assert diff.ratings.changed == ("i0 r0 forced_choice",)
    assert diff.ratings.removed == tuple(f"i11 r{j} forced_choice" for j in range(3))
    assert diff.options == Changes(changed=("A",))
    assert diff.fields == Changes(changed=("instructions",))
    assert (diff.before_hash, diff.after_hash) == (before.content_hash, after.content_hash)


def test_the_same_content_is_no_change(tmp_path):
    """Whatever the folder, equal hashes are said to be equal."""
    task = load_task(make_task_folder(tmp_path / "t"))
    assert "same content" in diff_text(task_diff(task, task))


@pytest.mark.slow
def test_decisions_are_those_of_validating_each_version(tmp_path):
    """Verdicts on an item that the later version lacks count for the earlier alone."""
    before, after = versions(tmp_path)
    rows = [
        {"item": f"i{i}", "judge": judge, "value": "A" if i % step else "B"}
        for judge, step in (("x", 2), ("y", 3))
        for i in range(12)
    ]
    write_jsonl(tmp_path / "all.jsonl", rows)
    write_jsonl(tmp_path / "rest.jsonl", [row for row in rows if row["item"] != "i11"])
    arguments = ("curate", "diff", str(before), str(after), "--verdicts", "all.jsonl", "--json")
    diff = json.loads(call_harness(*arguments, cwd=tmp_path).stdout)
    for folder, verdicts, key in ((before, "all", "before"), (after, "rest", "after")):
        arguments = ("--task", str(folder), "--verdicts", f"{verdicts}.jsonl", "--json")
        alone = json.loads(call_harness("validate", *arguments, cwd=tmp_path).stdout)
        assert diff[key]["verdict"] == alone["decision"]["verdict"]
        metric = diff[key]["metric"]
        for judge in alone["judges"]:
            assert diff[key]["values"][judge["name"]] == judge["metrics"][metric]["value"]
    assert (diff["before"]["n_items"], diff["after"]["n_items"]) == (12, 11)


@pytest.mark.slow
def test_recorded_changes_and_the_outcome_are_named(tmp_path):
    """Without --verdicts, verdicts.csv of a version is used; without any, the text says so."""
    before, after = versions(tmp_path)
    first = load_task(before).content_hash
    record_change(after, "one item left out", before=first)
    shown = invoke("curate", "diff", before, after).output
    assert "- one item left out" in shown
    assert "Without verdicts, decisions can't be compared. Pass --verdicts." in shown
    lines = [f"i{i},{judge},{'A' if i % 4 else 'B'}" for judge in "xy" for i in range(12)]
    (before / "verdicts.csv").write_text("\n".join(["item,judge,value", *lines]), encoding="utf-8")
    shown = invoke("curate", "diff", before, after)
    assert "The decision stays best_not_proven x." in shown.output
    diff = json.loads(invoke("curate", "diff", before, after, "--json").output)
    assert diff["after"]["verdicts"] == str(before / "verdicts.csv")
    assert diff["recorded"][0]["after"] == load_task(after).content_hash
