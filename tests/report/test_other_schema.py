"""Run folders whose metrics another version of the schema wrote."""

from __future__ import annotations

import json

from support.processes import invoke
from support.task_folders import make_task_folder

from harness.report.rebuild import stored_validation
from harness.runs import RunFolder


def test_metrics_of_another_schema_are_computed_again(tmp_path, monkeypatch):
    """They were shown as they stood."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    make_task_folder(tmp_path / "task")
    assert invoke("run", "--task", "./task", "--judges", "random").exit_code == 0
    [path] = (tmp_path / "runs").iterdir()
    metrics = path / "metrics.json"
    fields = json.loads(metrics.read_text("utf-8"))
    assert stored_validation(RunFolder.open(path)) is not None
    metrics.write_text(json.dumps(fields | {"schema_version": 0}), "utf-8")
    assert stored_validation(RunFolder.open(path)) is None
    assert invoke("report", str(path)).exit_code == 0
    assert json.loads(metrics.read_text("utf-8")) == fields
