"""Run folders that others made: what lies in one is data, and nothing beyond it is touched."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from support.processes import call_harness, invoke
from support.task_folders import make_task_folder

from harness.errors import HarnessError
from harness.judging.storage.verdict_log import VerdictLog, read_log

SECRET = "the content of a file that nobody shared"
COMMANDS = {
    "validate": ("validate",),
    "report": ("report",),
    "resume": ("resume", "--no-store"),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A finished run, as somebody might send it."""
    place = tmp_path_factory.mktemp("shared")
    task = make_task_folder(place / "task", 8)
    done = invoke("run", "--task", task, "--judges", "random", "--no-store", "--out", place / "out")
    assert done.exit_code == 0, done.stderr
    [run] = (place / "out").iterdir()
    return run


@pytest.fixture
def foreign(shared, tmp_path, monkeypatch):
    """A copy of the shared run, in a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(shared, tmp_path / "runs" / "foreign")


@pytest.fixture
def secret(tmp_path):
    """A file beside the run folders."""
    file = tmp_path / "secret"
    file.write_text(SECRET)
    return file


def assert_refused(command: str, run, reason: str) -> None:
    """Check that a command ends with an error that gives a reason."""
    refused = invoke(*COMMANDS[command], run)
    assert isinstance(refused.exception, HarnessError), refused.output
    assert reason in str(refused.exception)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "name",
    [".ranking.csv.part", "ranking.csv", "metrics.parquet", "report.html", "metrics.json"],
)
def test_no_command_writes_through_a_link_in_a_run_folder(foreign, secret, command, name):
    """What links lead to stays as it is, and what is not there is not created."""
    for target in (secret, secret.with_name("absent")):
        (foreign / name).unlink(missing_ok=True)
        (foreign / name).symlink_to(target)
        assert_refused(command, foreign, f"{name} is a link")
    assert secret.read_text() == SECRET
    assert not secret.with_name("absent").exists()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("folder", ["prompts", "task"])
def test_a_report_discloses_no_file_that_a_link_leads_to(foreign, secret, command, folder):
    """A link below prompts/ or task/ is refused before anything is read."""
    (foreign / folder / "notes.txt").symlink_to(secret)
    assert_refused(command, foreign, f"{folder}/notes.txt is a link")
    assert all(SECRET not in file.read_text("utf-8") for file in foreign.glob("*.html"))


@pytest.mark.parametrize("name", ["verdicts.jsonl", "verdicts.part-0001.jsonl"])
def test_resume_truncates_nothing_that_the_log_links_to(foreign, secret, name):
    """A file that is not a verdict log keeps its torn last line."""
    (foreign / name).unlink(missing_ok=True)
    (foreign / name).symlink_to(secret)
    assert_refused("resume", foreign, f"{name} is a link")
    assert secret.read_text() == SECRET


def test_a_log_is_opened_only_where_it_is_a_regular_file(tmp_path, secret):
    """Also where the folder was not checked before."""
    (tmp_path / "verdicts.jsonl").symlink_to(secret)
    for opening in (VerdictLog.open, read_log):
        with pytest.raises(HarnessError, match="not a regular file"):
            opening(tmp_path / "verdicts.jsonl")
    assert secret.read_text() == SECRET


@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_folder_that_is_a_link_is_refused(foreign, command):
    """Results never land in a folder that was not named."""
    link = foreign.with_name("link")
    link.symlink_to(foreign)
    assert_refused(command, link, "is a link. Pass the run folder itself")


def test_fifos_in_run_folders_hang_no_command(shared, tmp_path, monkeypatch):
    """They are refused in one line; `runs` counts the folders and `run` goes past them."""
    monkeypatch.chdir(tmp_path)
    for place, name in enumerate(("manifest.json", "verdicts.jsonl", "task/task.yaml", "own.txt")):
        run = shutil.copytree(shared, tmp_path / "runs" / f"foreign-{place}")
        (run / name).unlink(missing_ok=True)
        os.mkfifo(run / name)
    make_task_folder(tmp_path / "task", 4)
    started = ("run", "--task", "task", "--judges", "random", "--no-store")
    commands = [("report", "--list"), started, ("validate", run)]
    listed, ran, validated = (call_harness(*words, cwd=tmp_path) for words in commands)
    assert [done.returncode for done in (listed, ran, validated)] == [0, 0, 2]
    assert "4 folders could not be read" in listed.stderr
    assert "own.txt is neither a file nor a folder" in validated.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_many_judges_of_many_options_in_a_run_folder_are_refused(foreign, monkeypatch, command):
    """Compared, each pair of options of each judge would be held in every resample."""
    monkeypatch.setattr("harness.judging.parsing.verdict.MAX_CELLS", 3)  # fewer than 1 x 2 x 2
    assert_refused(command, foreign, "options, a run can have at most")


@pytest.mark.parametrize("command", COMMANDS)
def test_run_folder_without_judges_is_refused(foreign, command):
    """No run is started without one, and none can be resumed, compared or asked again."""
    manifest = json.loads((foreign / "manifest.json").read_text())
    (foreign / "manifest.json").write_text(json.dumps(manifest | {"judges": []}))
    assert_refused(command, foreign, "a run needs at least one judge")
