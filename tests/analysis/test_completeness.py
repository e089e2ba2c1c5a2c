"""A failure is never a result: what a judge's counts allow, in every command that asks one.

planned = answered + abstained + refused + invalid + failed + not asked, and one function decides.
"""

from __future__ import annotations

import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.processes import invoke
from support.task_folders import make_task_folder, write_jsonl

from harness.analysis.completeness import Completeness, exit_code_of
from harness.analysis.ratings import OutcomeCounts
from harness.errors import ExitCode

N = 40
OUTCOMES = ("answered", "abstained", "refused", "invalid", "failed", "not_asked")
FAULTS = {  # what the server does to every request, and what becomes of the replies
    "400": {"fault": "400"},
    "context": {"fault": "context"},
    "401": {"fault": "401"},
    "404": {"fault": "404"},
    "refused": {"say": "I'm sorry, but I can't help with that."},
    "invalid": {"say": "The weather is nice."},
    "abstained": {"say": "CANNOT_ASSESS"},
}
COMMANDS = ("run", "resume", "validate", "race", "confirm", "estimate", "revalidate", "if-due")


def counts_of(**counts):
    full = dict.fromkeys(OUTCOMES, 0) | counts
    return OutcomeCounts(elicitation="forced_choice", planned=sum(full.values()), **full)


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(OUTCOMES, st.integers(0, 9))), max_size=3))
def test_completeness_depends_only_on_counts(rows):
    """Nothing usable isn't assessed; less than the least share, or cut short, is incomplete."""
    counts = tuple(counts_of(**row) for row in rows)
    judge = Completeness(counts, 0.5)
    n_answered, n_cut = (sum(row[name] for row in rows) for name in ("answered", "not_asked"))
    is_short = any(2 * c.answered < c.planned for c in counts)
    if not n_answered:
        assert judge.standing == "not assessed"
    else:
        assert judge.standing == ("incomplete" if is_short or n_cut else "complete")
    n_planned = sum(c.planned for c in counts)
    is_complete = judge.standing == "complete" or not n_planned
    assert exit_code_of([judge]) == (ExitCode.DONE if is_complete else ExitCode.INCOMPLETE)
    assert str(judge).startswith(f"{n_answered} of {n_planned} replies")


class Place:
    """A finished run of a judge on the stub server, and commands about it under a fault."""

    def __init__(self, folder, stub):
        self.folder, self.stub = folder, stub
        make_task_folder(folder / "task", N, response_sets=False)
        items = [{"id": f"u{i}", "text": f"Another comment, number {i}."} for i in range(N)]
        write_jsonl(folder / "new.jsonl", items)
        judge = {"model": "m", "base_url": self.stub.url(table="judge"), "samples": 1}
        judges = {"judge": judge | {"kind": "endpoint", "concurrency": 2}}
        (folder / "judges.yaml").write_text(json.dumps({"judges": judges}))

    def answer(self, say="", **fault):
        """Let the judge answer, or say a text, or meet a fault at every request."""
        lines = ("This is comment number {}.", "Another comment, number {}.")
        replies = {line.format(i): [say or "AB"[i % 4 < 2]] for line in lines for i in range(N)}
        self.stub.set_table("judge", replies, **fault)

    def call(self, *words):
        server = ("--judges-file", "judges.yaml")
        return invoke(*words, *server)

    def run(self, *more, judges="judge"):
        return self.call(
            *("run", "--task", "task", "--judges", judges, "--elicitation", "forced_choice"),
            *("--out", "runs", "--refresh", *more),
        )

    @property
    def newest(self):
        return max((self.folder / "runs").iterdir(), key=lambda path: path.stat().st_mtime)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, stub):
    """A place with a run that held items out; it is copied."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        place = Place(folder, stub)
        place.answer()
        done = place.run("--holdout", "0.4", "--new-ledger")
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def place(finished, tmp_path, monkeypatch, stub):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    found = object.__new__(Place)
    found.folder, found.stub = tmp_path, stub
    return found


def ended(place, command):
    """Call a command that asks the judge, or reads what it was asked."""
    run = place.newest
    on_run = {
        "confirm": ("confirm", run, "--judge", "judge", "--refresh"),
        "estimate": ("estimate", run, "--judge", "judge", "--items", "new.jsonl", "--refresh"),
        "revalidate": ("revalidate", run, "--quiet", "--fail-on", "underpowered"),
        "if-due": ("revalidate", run, "--if-due", "week", "--fail-on", "underpowered"),
    }
    if command == "if-due":
        place.call(*on_run["revalidate"])
    if command in on_run:
        return place.call(*on_run[command])
    race = {"judges": "judge,random"} if command == "race" else {}
    result = place.run(*(["--race"] if race else []), **race)
    if command == "validate":
        return invoke("validate", place.newest)
    if command == "resume":
        return place.call("resume", place.newest, "--refresh")
    return result


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_judge_without_a_usable_reply_is_not_assessed(place, command, fault):
    """Whatever it did in place of answering: exit code 3, and the word."""
    place.answer(**FAULTS[fault])
    result = ended(place, command)
    text = " ".join(result.output.split())
    assert result.exit_code == 3, text
    if command == "race":
        assert "random is" not in text
    assert "not assessed" in text
    assert "would be" not in text  # of what is found or detected
    assert "Use judge" not in text
