"""Every command on tasks without options: it does its work, or refuses them in one line."""

from __future__ import annotations

import csv
import json

import pytest
from support.processes import invoke

from harness.cli import COMMANDS
from harness.errors import HarnessError
from harness.tasks import load_task

CONTINUOUS = {"scale": "continuous", "bounds": [0, 100]}
TEXT = {"scale": "text"}
N = 12


@pytest.fixture(params=[CONTINUOUS, TEXT], ids=["continuous", "text"])
def place(request, tmp_path, monkeypatch):
    """A task of 12 items and three raters, verdicts of two judges, and a finished run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task").mkdir()
    fields = {"name": "open", "property": "what it is worth"} | request.param
    (tmp_path / "task" / "task.yaml").write_text(json.dumps(fields))
    items = [{"id": f"s{i}", "text": f"Text {i}", "group": f"g{i // 2}"} for i in range(N)]
    (tmp_path / "task" / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    rows = [(f"s{i}", f"r{j}", 7 * i + j) for i in range(N) for j in range(3)]
    write_csv(tmp_path / "task" / "ratings.csv", ("item", "rater", "value"), rows)
    rows = [(f"s{i}", judge, 7 * i + k) for i in range(N) for k, judge in enumerate("xy")]
    write_csv(tmp_path / "verdicts.csv", ("item", "judge", "value"), rows)
    judges = {"judges": {"j": {"kind": "scripted", "replies": {"*": "40"}}}}
    (tmp_path / "judges.yaml").write_text(json.dumps(judges))
    done = invoke("run", *ON_TASK, *JUDGE, "--out", "runs", "--quiet")
    assert done.exit_code == 0, done.output
    return next((tmp_path / "runs").iterdir())


def write_csv(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


ON_TASK = ("--task", "./task")
JUDGE = ("--judges", "j", "--judges-file", "judges.yaml", "--cache", "cache")
FILE = ("--verdicts", "verdicts.csv")
DONE = {
    "validate": ("validate", *ON_TASK, *FILE, "--details"),
    "raters": ("validate", *ON_TASK),
    "run-again": ("validate", "RUN"),
    "report": ("report", "RUN"),
    "gate": ("gate", "RUN", "--require", "decision=none"),
    "prompt": ("prompt", "./task", "--judge", "j", "--judges-file", "judges.yaml", "--item", "s0"),
    "audit": ("curate", "audit", "./task"),
    "diff": ("curate", "diff", "./task", "./task"),
    "card": ("curate", "card", "./task", "--to", "cards"),
    "export": ("curate", "export", "./task", "table.csv"),
    "verdicts": ("curate", "verdicts", "verdicts.csv", *ON_TASK, "-o", "matched.csv"),
    "sample": ("curate", "sample", "./task", "--as", "drawn", "--items", "6", "--by", "group"),
}
NEEDS_OPTIONS = "needs options to choose from, but a (continuous|text) scale has no options"
REFUSED = {
    "compare": (NEEDS_OPTIONS, "report", "RUN", "RUN"),
    "revalidate": (NEEDS_OPTIONS, "revalidate", "RUN", "--dry-run"),
    "baseline": (NEEDS_OPTIONS, "revalidate", "export", "RUN", "baseline"),
    "schedule": (NEEDS_OPTIONS, "revalidate", "schedule", "RUN", "--emit", "cron"),
    "audit-verdicts": (NEEDS_OPTIONS, "curate", "audit", "./task", *FILE),
    "next": (NEEDS_OPTIONS, "curate", "next", "./task", "--budget", "5"),
    "strata": (
        *(NEEDS_OPTIONS, "curate", "sample", "./task", "--as", "s", "--items", "6"),
        *("--by", "disagreement"),
    ),
    "difference": (
        *(NEEDS_OPTIONS, "plan", "difference", "0.05", *ON_TASK, *FILE),
        *("--judges", "x,y"),
    ),
    "annotators": (NEEDS_OPTIONS, "plan", "annotators", *ON_TASK, *FILE, "--judge", "x"),
    "probe": (NEEDS_OPTIONS, "lab", "probe", "injection", *ON_TASK, *JUDGE),
    "shuffle": (NEEDS_OPTIONS, "run", *ON_TASK, *JUDGE, "--shuffle-options"),
    "sets": (NEEDS_OPTIONS, "run", *ON_TASK, *JUDGE, "--elicitation", "response_set"),
    "position": ("Write 'pairwise' with", "lab", "probe", "position", *ON_TASK, *JUDGE),
    "history": ("never re-validated", "history", "RUN"),
    "estimate": (
        "its answers are not numbers|the file was not found",  # of texts; of numbers, which go on
        *("estimate", "RUN", "--judge", "j", "--items", "none.jsonl"),
    ),
    "selftest": (f"no item has two forced choices|{NEEDS_OPTIONS}", "lab", "selftest", "./task"),
    "confirm": ("has no held-out items", "confirm", "RUN", "--judge", "j"),
    "trust": (NEEDS_OPTIONS, "trust", "RUN", "--judge", "j", "--max-error", "0.1"),
    "improve": (NEEDS_OPTIONS, "improve", *ON_TASK, "--judge", "j", *JUDGE[2:]),
    "check": (NEEDS_OPTIONS, "check", "j", "./task", *JUDGE[2:4]),
    "self": (
        "the author of each text is unknown",
        "lab",
        "probe",
        "self-preference",
        "RUN",
        "--own",
        "j=a",
    ),
}


def words(command, run):
    return [run if word == "RUN" else word for word in command]


@pytest.mark.slow
def test_commands_for_all_scales_do_their_work(place):
    """None needs options: each ends with exit code 0."""
    for command in DONE.values():
        done = invoke(*words(command, place))
        assert done.exit_code == 0, done.output
    assert "| distinct |" in (place.parents[1] / "cards" / "card.md").read_text()
    assert "Findings of the audit" in (place.parents[1] / "cards" / "card.md").read_text()
    matched = (place.parents[1] / "matched.csv").read_text().splitlines()
    assert len(matched) == 1 + 2 * N
    assert load_task("drawn").is_open


@pytest.mark.slow
def test_commands_for_options_refuse_in_one_line(place):
    """With exit code 2 and what they would need; nothing is written but an empty history."""
    (place / "history.jsonl").touch()
    before = sorted(place.parents[1].rglob("*"))
    for message, *command in REFUSED.values():
        with pytest.raises(HarnessError, match=message) as refused:
            raise invoke(*words(command, place)).exception
        assert refused.value.exit_code == 2
        assert "\n" not in str(refused.value)
    assert sorted(place.parents[1].rglob("*")) == before


def test_every_command_is_tried():
    """A new command must say here what it does on an open scale, or why that does not matter."""

    no_scale = {"doctor", "tasks", "judges", "resume"}
    no_scale |= {"cache", "run", "view"}
    no_scale |= {"annotate"}  # its page asks for numbers and texts: tests/annotation
    tried = {command[0] for command in DONE.values()} | {row[1] for row in REFUSED.values()}
    assert tried | no_scale == set(COMMANDS)
