"""Run folders whose metrics another version of the schema wrote."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from support.each_case import fast_first
from support.processes import call_harness, invoke
from support.task_folders import make_task_folder

import harness
from harness.analysis.result import SCHEMA_VERSION
from harness.judging.parsing.verdict import SCHEMA_VERSION as VERDICT_VERSION
from harness.report.rebuild import stored_validation
from harness.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from pathlib import Path

OLD = SCHEMA_VERSION - 1


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("schema")
    make_task_folder(place / "task")
    words = ("--task", str(place / "task"), "--judges", "random", "--out", str(place / "runs"))
    assert invoke("run", *words, "--cache", str(place / "cache")).exit_code == 0
    [path] = (place / "runs").iterdir()
    return path


@pytest.fixture
def old_run(run: Path, tmp_path: Path) -> Path:
    """A copy of the run with a file of the schema before."""
    copy = tmp_path / run.name
    shutil.copytree(run, copy)
    (copy / "metrics.json").write_text(json.dumps({"schema_version": OLD, "judges": []}), "utf-8")
    return copy


def contents(path: Path) -> dict[str, bytes]:
    return {str(f.relative_to(path)): f.read_bytes() for f in path.rglob("*") if f.is_file()}


def test_metrics_of_another_schema_are_not_shown(run, old_run):
    """They were shown as they stood."""
    assert stored_validation(RunFolder.open(run)) is not None
    assert stored_validation(RunFolder.open(old_run)) is None
    fields = json.loads((run / "metrics.json").read_text("utf-8"))
    (old_run / "metrics.json").write_text(json.dumps(fields | {"schema_version": OLD}), "utf-8")
    assert stored_validation(RunFolder.open(old_run)) is None


@pytest.mark.parametrize("version", fast_first(1, [OLD, SCHEMA_VERSION + 1]))
def test_report_keeps_metrics_of_another_schema(run, old_run, version):
    """They were overwritten; the page, the ranking and the card are those of the same verdicts."""
    metrics = old_run / "metrics.json"
    metrics.write_text(json.dumps({"schema_version": version}), "utf-8")
    before = metrics.read_bytes()
    (old_run / "ranking.csv").unlink()
    result = invoke("report", str(old_run))
    assert result.exit_code == 0
    assert metrics.read_bytes() == before
    assert (old_run / "ranking.csv").read_bytes() == (run / "ranking.csv").read_bytes()
    [note] = result.stderr.splitlines()
    assert f"schema version {version}" in note
    assert "To have the file rewritten, delete it" in note


def test_validate_writes_nothing_beside_metrics_of_another_schema(run, old_run):
    """The numbers are printed, and the folder stays as it is: no file contradicts another."""
    before = contents(old_run)
    result = invoke("validate", str(old_run), "--json")
    assert result.exit_code == 0
    assert contents(old_run) == before
    assert json.loads(result.stdout) == json.loads((run / "metrics.json").read_text("utf-8"))
    assert f"schema version {OLD}" in result.stderr


def test_other_commands_read_a_run_with_metrics_of_another_schema(run, old_run):
    """`gate` and the Python API compute the numbers again and write nothing."""
    before = contents(old_run)
    required = ("--require", "random: usable_replies >= 0")
    assert invoke("gate", str(old_run), *required).exit_code == 0
    opened = harness.load_run(old_run)
    assert opened.validation.ranking == harness.load_run(run).validation.ranking
    assert harness.validate(opened).ranking == opened.validation.ranking
    assert contents(old_run) == before


def test_metrics_that_were_removed_are_written_in_this_schema(run, old_run):
    """The advice of the note works."""
    (old_run / "metrics.json").unlink()
    assert invoke("validate", str(old_run)).stderr == ""
    assert (old_run / "metrics.json").read_bytes() == (run / "metrics.json").read_bytes()


@pytest.mark.slow
def test_a_damaged_file_is_not_called_a_different_schema(run, old_run):
    """Half of a file, or a version that is not a number, is written again."""
    for damaged in ('{"schema_version": 0, "jud', '{"schema_version": true}', "[]", ""):
        (old_run / "metrics.json").write_text(damaged, "utf-8")
        assert invoke("report", str(old_run)).stderr == ""
        assert (old_run / "metrics.json").read_bytes() == (run / "metrics.json").read_bytes()


@pytest.mark.parametrize("version", [VERDICT_VERSION - 1, VERDICT_VERSION + 1])
@pytest.mark.parametrize("command", ["report", "validate", "resume"])
def test_verdicts_of_another_schema_are_refused_in_one_line(old_run, tmp_path, command, version):
    """They are not read as if nothing had been answered, and nothing is written beside them."""
    log = old_run / "verdicts.jsonl"
    _, rows = log.read_bytes().split(b"\n", 1)
    log.write_bytes(b'{"schema_version": %d}\n' % version + rows)
    before = contents(old_run)
    result = call_harness(command, str(old_run), cwd=tmp_path)
    assert result.returncode == 2
    assert contents(old_run) == before
    [line] = result.stderr.splitlines()
    assert f"{log}: the verdict format is {version}" in line
    assert f"this version reads {VERDICT_VERSION}" in line
    opened = harness.load_run(old_run)
    with pytest.raises(harness.HarnessError, match="verdict format"):
        _ = opened.validation


@pytest.mark.parametrize("command", ["report", "validate"])
def test_a_manifest_of_another_schema_is_refused_in_one_line(old_run, tmp_path, command):
    """The line says which version reads it and how a new run is made."""
    file = old_run / "manifest.json"
    fields = json.loads(file.read_text("utf-8"))
    version = fields["schema_version"] - 1
    file.write_text(json.dumps(fields | {"schema_version": version}), "utf-8")
    result = call_harness(command, str(old_run), cwd=tmp_path)
    assert result.returncode == 2
    [line] = result.stderr.splitlines()
    assert f"{file}: schema version {version}" in line
    assert "or start a new run: harness run" in line
