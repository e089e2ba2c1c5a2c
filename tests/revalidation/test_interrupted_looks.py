"""Looks that a full disk or kill -9 ends at any moment, and the advice that failures print."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest
from support.look_schedules import Schedule, figure, majority, replies, verdicts
from support.processes import call_harness, invoke, start_harness

from harness.files.checksummed_log import with_checksum, without_checksum
from harness.revalidation.records import SCHEMA_VERSION

N = 20
PAGE = 4096
ROOMS = (0, 1, 4, 20, 44, 52, 56, 62, 72)  # pages that are free


@pytest.fixture
def schedule(tmp_path, stub):
    return Schedule(tmp_path, stub, {"judge": replies(N, majority)}, n=N)


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of its own, and what resizes it."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(*options: str) -> None:
        subprocess.run(
            ["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)],
            check=True,
            capture_output=True,
        )

    try:
        mount("-o", "size=10m")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no file system can be mounted here")
    try:
        yield folder, lambda size: mount("-o", f"remount,size={size}")
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def occupied(folder) -> int:
    usage = os.statvfs(folder)
    return (usage.f_blocks - usage.f_bfree) * usage.f_frsize


@pytest.mark.slow
def test_a_full_disk_leaves_a_folder_that_the_next_look_uses(schedule, small_disk):
    """However much room is left, the round ends with 2 and one line, or is done; with room again
    the same command is, and the folder holds one round."""
    folder, resize = small_disk
    n_full = 0
    for n_pages in ROOMS:
        resize("10m")
        run = folder / f"run-{n_pages}"
        shutil.copytree(schedule.run, run)
        resize(occupied(folder) + n_pages * PAGE)
        full = call_harness("revalidate", run, "--quiet", cwd=folder.parent)
        assert full.returncode in {0, 2, 3}, full.stderr
        assert "Traceback" not in full.stderr
        n_full += full.returncode != 0
        if full.returncode == 2:
            assert "cache" not in full.stderr
            assert full.stderr.count("\n") <= 3, full.stderr
        resize("10m")
        again = invoke("revalidate", run, "--json", "--quiet")
        assert again.exit_code == 0, (n_pages, full.stderr, again.output, again.exception)

        assert verdicts(json.loads(again.stdout)) == {"judge": "stable"}
        shutil.rmtree(run)
    assert n_full > len(ROOMS) / 3


@pytest.mark.slow
@pytest.mark.parametrize("after_ms", [150, 300, 450, 600, 800, 1000])
def test_kill_at_any_moment_leaves_a_folder_that_the_next_look_uses(schedule, after_ms):
    """The same command ends the round; there is no second one, and every item has one reply."""
    process = start_harness("revalidate", schedule.run, "--quiet", cwd=schedule.folder)
    time.sleep(after_ms / 1000)
    process.kill()
    process.communicate()
    look = schedule.look()
    assert verdicts(look) == {"judge": "stable"}
    assert figure(look, "judge", "answered")["n"] == N
    assert look["number"] in {1, 2}


def commands_in(text: str) -> list[str]:
    """Return what a user would paste: each printed command, from `harness` to the end of a line."""
    pasted = re.findall(r"(?:^|: )((?:mkdir .*)?harness [a-z].*?)\.?$", text, re.MULTILINE)
    return [command for command in pasted if not command.startswith("harness: ")]


def paste(command: str, folder) -> None:
    """Run a line as a shell does; a round may find a change, but the line is not wrong."""
    program = f"{shlex.quote(sys.executable)} -m harness"
    line = (
        command.replace("harness ", f"{program} ", 1)
        if command.startswith("harness")
        else (command.replace(" && harness ", f" && {program} "))
    )
    ended = subprocess.run(
        ["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ended.returncode in {0, 1}, (command, ended.stderr)


def older(path) -> None:
    """Rewrite a history as another version would have written it."""
    lines = [without_checksum(line) for line in path.read_bytes().splitlines(keepends=True)]
    number = b'"schema_version":%d'
    changed = [line.replace(number % SCHEMA_VERSION, number % 1) for line in lines]
    path.write_bytes(b"".join(map(with_checksum, changed)))


@pytest.mark.slow
def test_a_baseline_of_another_version_is_named_in_one_line(schedule):
    """The command ends with 2 and touches nothing; what it advises makes a new baseline, whose
    first round asks anew."""
    schedule.look()
    older(schedule.run / "history.jsonl")
    before = {file: file.read_bytes() for file in schedule.run.rglob("*") if file.is_file()}
    refused = call_harness("revalidate", schedule.run, cwd=schedule.folder)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert {file: file.read_bytes() for file in schedule.run.rglob("*") if file.is_file()} == before
    asked = schedule.stub.stats()["requests"]
    [command] = commands_in(refused.stderr)
    paste(command, schedule.folder)
    assert schedule.stub.stats()["requests"] == asked + N
    assert schedule.look()["number"] == 2


def test_an_export_of_another_version_says_to_export_anew(schedule):
    """It has no replies to start from."""
    target = schedule.folder / "export"
    invoke("revalidate", "export", schedule.run, target)
    older(target / "history.jsonl")
    words = ("--judges-file", schedule.folder / "judges.yaml", "--task", schedule.folder / "task")
    refused = invoke("revalidate", target, *words)
    assert refused.exception.exit_code == 2
    command = f"harness revalidate export RUN {target}.new  # RUN: that run"
    assert str(refused.exception).endswith(f"from a finished run: {command}")


def damage(line: bytes) -> bytes:
    return line.replace(b'"kind"', b'"kin"')


@pytest.mark.slow
def test_replies_of_a_damaged_line_are_not_used_again(schedule):
    """The look after it asks on an occasion of its own."""
    schedule.look()
    schedule.look()
    path = schedule.run / "history.jsonl"
    *first, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*first, damage(last)]))
    asked = schedule.stub.stats()["requests"]
    look = schedule.look(code=3)
    assert look["occasion"] == 3
    assert look["sentences"][0].startswith("Warning: the last line is damaged in ")
    assert schedule.stub.stats()["requests"] == asked + N
    assert schedule.look()["warnings"] == [f"Damaged lines in {path}, which are left out: 1."]


def test_cost_limit_that_a_killed_look_reached_says_what_is_only_possibly_spent(schedule):
    """As a run does: calls in flight when a round was killed count at their maximum."""
    file = schedule.folder / "judges.yaml"
    more = "    price: {input: 1000, output: 1000}\n"
    file.write_text(file.read_text("utf-8").rstrip() + f"\n{more}", "utf-8")
    words = ("revalidate", schedule.run, "--judges-file", file, "--max-cost", 1)
    schedule.stub.hold_after(0)
    process = start_harness(*words, cwd=schedule.folder)
    end = time.monotonic() + 60
    while schedule.stub.stats()["in_flight"] < 1 and time.monotonic() < end:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    schedule.stub.release()
    done = invoke(*words)
    assert done.exit_code == 4, done.output
    shown = " ".join(done.stderr.split())
    assert re.search(
        r"--max-cost 1 is reached\. \$0\.\d+ of it could have been spent on calls", shown
    )


def printed_by_failures(schedule) -> str:
    """Return what failures of rounds print."""
    folder, run, file = schedule.folder, schedule.run, schedule.folder / "judges.yaml"
    printed = [invoke("history", run)]
    stopped = json.loads((run / "manifest.json").read_text("utf-8"))
    process = start_harness("revalidate", run, "--samples", 2, cwd=folder)
    while not list(run.glob("looks/0001/verdicts.jsonl")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    texts = ["\n".join(process.communicate())]
    printed.append(invoke("revalidate", run))
    content = file.read_text("utf-8")
    file.write_text(content.replace("model: judge", "model: other"), "utf-8")
    printed.append(invoke("revalidate", run))
    file.write_text(content, "utf-8")
    question = folder / "task" / "task.yaml"
    wording = question.read_text("utf-8")
    question.write_text(wording.replace("the comment", "this comment"), "utf-8")
    printed.append(invoke("revalidate", run))
    question.write_text(wording, "utf-8")
    schedule.stub.set_table("judge", {}, fault="401")
    printed += [invoke("revalidate", run), invoke("revalidate", "rebase", 4, run)]
    schedule.stub.set_table("judge", replies(N, majority))
    options = ("--judges-file", "judges.yaml", "--package", "judge_harness.whl")
    printed.append(invoke("revalidate", "schedule", run, "--emit", "github", *options))
    assert stopped["state"] == "done"
    texts += [f"{result.output}\n{result.stderr}\n{result.exception}\n" for result in printed]
    return "\n".join(texts)


@pytest.mark.slow
def test_every_command_that_failures_print_works_when_pasted(tmp_path, stub, monkeypatch):
    """From the folder where the failure was seen, and as it stands."""
    monkeypatch.chdir(tmp_path)
    schedule = Schedule(tmp_path, stub, {"judge": replies(N, majority)}, n=N, ms=100, concurrency=4)
    commands = list(dict.fromkeys(commands_in(printed_by_failures(schedule))))
    assert {" ".join(command.split()[:2]) for command in commands} == {
        "harness revalidate",
        "harness run",
    }
    assert any(command.startswith("harness revalidate export") for command in commands)
    for command in commands:
        paste(command, schedule.folder)
