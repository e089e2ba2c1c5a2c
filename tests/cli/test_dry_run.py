"""Nothing that says dry-run writes: folders have the same files and bytes before and after."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from support.processes import invoke
from support.task_folders import copy_place, make_task_folder

from harness.errors import RunError, TaskError

TABLE = "id,text,ann,bob\n" + "".join(
    f"{n},Text number {n},{'good' if n % 2 else 'bad'},good\n" for n in range(12)
)


@pytest.fixture(scope="module")
def made(tmp_path_factory, stub):
    """A folder with tasks, a table, a run with a holdout and one with two looks at its judge."""
    place = tmp_path_factory.mktemp("made")
    make_task_folder(place / "task", 8)
    judge = {"model": "stub", "base_url": stub.url(), "price": {"input": 1, "output": 2}}
    judge |= {"samples": 2, "concurrency": 4}
    (place / "judges.yaml").write_text(json.dumps({"judges": {"far": judge}}), encoding="utf-8")
    (place / "table.csv").write_text(TABLE, encoding="utf-8")
    make_task_folder(place / "held", 20)
    items = place / "held" / "items.jsonl"  # texts of its own, since no judge was tried on them
    items.write_text(items.read_text(encoding="utf-8").replace("comment", "remark"), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("HARNESS_JUDGES", "judges.yaml")
        asked = ("--judges", "far", "--judges-file", "judges.yaml")
        assert invoke("run", "--task", "task", *asked).exit_code == 0
        held_out = ("--judges", "random", "--holdout", "0.5", "--out", "held-runs")
        assert invoke("run", "--task", "held", *held_out).exit_code == 0
        for _ in range(2):
            assert invoke("revalidate").exit_code == 0
    return place


@pytest.fixture
def place(made, tmp_path, stub, monkeypatch):
    """A copy of it, which is the working folder."""
    copy_place(made, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_JUDGES", "judges.yaml")
    stub.reset()
    return tmp_path


def contents(folder) -> dict[str, str]:
    """The hash of every file below a folder, and its time of change."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        + str(path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


COMMANDS = {
    "run": ("run", "--task", "task", "--judges", "far", "--judges-file", "judges.yaml"),
    "run --max-cost": (
        *("run", "--task", "task", "--judges", "far", "--judges-file", "judges.yaml"),
        *("--max-cost", "1", "--fail-unless", "use"),
    ),
    "lab probe": (
        *("lab", "probe", "verbosity", "--task", "task", "--judges", "far"),
        *("--judges-file", "judges.yaml"),
    ),
    "curate import": (
        *("curate", "import", "table.csv", "--as", "mine"),
        *("--raters", "ann,bob"),
    ),
    "confirm run": ("confirm", "--judge", "random", "--out", "held-runs"),
    "check": ("check", "far", "task"),
    "improve": ("improve", "--task", "task", "--judge", "far", "--judges-file", "judges.yaml"),
    "cache clear": ("cache", "clear", "--task", "task"),
    "revalidate look": ("revalidate",),
    "resume": ("resume", "RUN"),
    "revalidate look --baseline-replies": ("revalidate", "--baseline-replies", "2"),
    "revalidate look --fail-on": ("revalidate", "--fail-on", "changed,worse", "--max-cost", "1"),
    "revalidate rebase": ("revalidate", "rebase", "1"),
    "revalidate exclude": ("revalidate", "exclude", "1", "--because", "an outage"),
    "revalidate look --if-due": ("revalidate", "--if-due", "week"),
}


@pytest.mark.slow
def test_dry_run_wrote_a_new_baseline(place):
    """`revalidate rebase 1 --dry-run` did; now it says what it would be."""
    before = contents(place)
    shown = invoke("revalidate", "rebase", 1, "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "would contain the replies of round 1" in shown.stdout
    assert contents(place) == before
    assert "contains the replies of round 1" in invoke("revalidate", "rebase", 1).stdout
    assert contents(place) != before


@pytest.mark.slow
def test_no_command_writes_or_asks_in_a_dry_run(place, stub, tmp_path_factory, monkeypatch):
    """Not in the working folder, nor in the folders of cache, configuration and runs."""
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("HARNESS_CACHE", str(cache))
    [run] = Path("runs").iterdir()
    for name, command in COMMANDS.items():
        before = contents(place), contents(cache)
        words = [str(run) if word == "RUN" else word for word in command]
        done = invoke(*words, "--dry-run")
        assert done.exit_code == 0, (name, done.output)
        assert (contents(place), contents(cache)) == before, name
    assert stub.stats()["requests"] == 0


def test_every_command_with_a_dry_run_is_among_these():
    """A new one is added to the list above."""
    from typer.main import get_command

    from harness.cli import app

    def walk(command, name=""):
        for child_name, child in getattr(command, "commands", {}).items():
            yield from walk(child, f"{name} {child_name}".strip())
        if any("--dry-run" in parameter.opts for parameter in command.params):
            yield name

    listed = {" ".join(word for word in key.split() if word[0] != "-") for key in COMMANDS}
    every = {
        "lab probe" if name.startswith("lab probe") else name for name in walk(get_command(app))
    }
    assert every == listed


def test_rebase_rejects_fail_on(place):
    """--fail-on demands a comparison, which `rebase` does not make; nothing is written then."""
    before = contents(place)
    done = invoke("revalidate", "rebase", 1, "--fail-on", "changed")
    assert done.exit_code == 2
    assert "--fail-on" in done.output
    assert contents(place) == before


def test_wrong_condition_passed_in_a_dry_run(place):
    """A misspelt one was found only after everything had been asked and paid for."""
    misspelt = invoke("revalidate", "--dry-run", "--fail-on", "changed or worse").exception
    assert isinstance(misspelt, RunError)
    unknown = invoke("revalidate", "--dry-run", "--fail-on", "mse(x/x)>0.1").exception
    assert isinstance(unknown, TaskError)
