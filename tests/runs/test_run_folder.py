"""Run folders: how a run is found and its log read, and when a new model version is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.look_schedules import Schedule, majority, replies
from support.processes import invoke
from support.task_folders import make_task_folder
from support.verdicts import verdict_from

from harness.errors import RunError
from harness.runs.run_folder import find_run


@pytest.mark.slow
def test_a_new_model_version_is_named_with_the_command(tmp_path, stub):
    """The next run on the task names it once; one with the same version does not."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(8, majority)}, n=8)
    arguments = (
        *("run", "--task", tmp_path / "task", "--judges", "judge"),
        *("--judges-file", tmp_path / "judges.yaml", "--elicitation", "forced_choice"),
        *("--out", tmp_path / "runs", "--quiet", "--no-store"),
    )
    assert "harness revalidate" not in invoke(*arguments).stderr
    stub.set_table("judge", replies(8, majority), model="judge-2")
    [line] = invoke(*arguments).stderr.splitlines()
    changed = "judge: the provider reports judge-2, but reported judge-2026-01-01 in small-"
    assert line.startswith(changed)
    assert "harness revalidate " in line
    assert schedule.run.exists()


@pytest.mark.parametrize(
    ("name", "place"), [("nothere", "runs/nothere"), ("runs/nothere", "runs/nothere"), ("/x", "/x")]
)
def test_run_that_is_not_there_is_named_once(tmp_path, monkeypatch, name, place):
    """`runs/nothere` was reported as `runs/runs/nothere`."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunError, match=f"^{place}: not a run folder"):
        find_run(Path("runs"), name)


def test_log_is_read_again_only_if_it_has_changed(tmp_path):
    """The end of asking and the results need the same log."""
    task = make_task_folder(tmp_path / "task", 3)
    arguments = ("run", "--task", task, "--judges", "random", "--out", tmp_path / "runs")
    invoke(*arguments, "--quiet", "--no-store")
    folder = find_run(tmp_path / "runs", None)
    counted = folder.count_verdicts(())
    assert folder.count_verdicts(()) is counted
    before = len(counted.by_judge["random"])
    with folder.open_log() as log:
        log.append(
            [
                verdict_from(
                    judge="random", item="new", elicitation="forced_choice", outcome="invalid"
                )
            ]
        )
    assert len(folder.count_verdicts(()).by_judge["random"]) == before + 1
