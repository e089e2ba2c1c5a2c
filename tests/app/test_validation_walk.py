"""What `harness validate` of a run enters: nothing that decides how judges are called."""

from __future__ import annotations

import json

import pytest
from support.task_folders import make_task_folder

from benchmarks.house import files_entered
from harness.app.plan import plan_run
from harness.app.run import LineObserver, run_plan, validate_run
from harness.options.concerns import HERE, NO_CHOICES, RunOptions, Server
from harness.runs.run_folder import RunFolder
from harness.runs.sources import source_of

MAX_FILES = 153  # of 184 at first
N_ITEMS = 12


@pytest.fixture
def judges_file(tmp_path, monkeypatch):
    """A judges file of the user's, which a run remembers."""
    file = tmp_path / "judges.yaml"
    monkeypatch.setenv("HARNESS_JUDGES", str(file))
    return file


def run_at(stub, judges_file, names, server=None):
    judge = {"kind": "endpoint", "model": "stub", "base_url": stub.url(), "samples": 2}
    judges_file.write_text(json.dumps({"judges": {"one": judge, "two": judge}}))
    task = make_task_folder(judges_file.parent / "task", N_ITEMS)
    options = RunOptions(elicitations=("forced_choice",))
    plan = plan_run(str(task), names, options, server=server or Server(judges_file=judges_file))
    return run_plan(plan, observer=LineObserver(), out=judges_file.parent / "runs", place=HERE)


@pytest.mark.slow
def test_validation_enters_no_module_of_judges(stub, tmp_path, judges_file):
    """Nor more files than before."""
    run = run_at(stub, judges_file, ["one", "two"])
    entered = files_entered(["validate", str(run.folder.path)], tmp_path)
    assert {"judging/judge_spec.py", "analysis/validation.py"} <= entered
    assert [file for file in entered if file.startswith("judging/judges/")] == []
    assert len(entered) <= MAX_FILES, sorted(entered)


def test_broken_judges_file_changes_no_validation(stub, judges_file):
    """The run is data, and its judges file is read only to ask them something."""
    run = run_at(stub, judges_file, ["one", "two"])
    before = (run.folder.path / "metrics.json").read_bytes()
    for broken in ("judges: [", "judges: {one: {kind: no-such-kind, model: x}}"):
        judges_file.write_text(broken)
        validate_run(RunFolder.open(run.folder.path), NO_CHOICES)
        assert (run.folder.path / "metrics.json").read_bytes() == before


def test_run_remembers_the_address_and_the_notices_of_its_judges(stub, judges_file):
    """Commands and notes name them, whatever the judges file says by now."""
    server = Server(base_url=stub.url(), key_env="STUB_KEY", judges_file=judges_file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STUB_KEY", "sk-of-the-stub")
        run = run_at(stub, judges_file, ["openai/far"], server)
    judges_file.write_text("judges: [")
    source = source_of(RunFolder.open(run.folder.path))
    words = ("--base-url", stub.url(), "--key-env", "STUB_KEY")
    assert source.location.server[:4] == words
    assert [note for note in source.notes if f"requests to {stub.url()} use OpenAI's" in note]
