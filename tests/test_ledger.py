"""Judges that are tried on the same ratings are counted once each, whatever they are called."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

import harness
from harness.errors import RunError
from harness.judging.fingerprints import fingerprints_of
from harness.judging.judges.config import JudgeSpec
from harness.judging.prompts.requests import Prompts
from harness.ledger import LEDGER, LedgerLine, ratings_hash, read_ledger, record, tried_judges
from harness.user_folders import data_folder

N = 12


@pytest.fixture
def task(tmp_path, monkeypatch):
    """A small task; runs go into the working folder."""
    monkeypatch.chdir(tmp_path)
    return make_task_folder(tmp_path / "small", N, response_sets=False)


def verdict_file(number, name="judge", n=N):
    """Write verdicts of another tool, which differ from those with another number."""
    file = Path(f"{name}-{number}.jsonl")
    values = ["AB"[number >> i & 1] for i in range(n)]
    rows = [{"item": f"i{i}", "judge": name, "value": value} for i, value in enumerate(values)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def validated(task, number, **options):
    """Validate a judge of another tool; return the evidence."""
    return harness.validate(task, verdict_file(number), **options).evidence


def user_ledger():
    """Return the lines of the only ledger in the user's folder."""
    [file] = (data_folder() / "ledgers").iterdir()
    return read_ledger(file)


def test_the_fourteenth_judge_is_called_so_and_tested_strictly(task):
    """The verdict counts judges over validations, not those of a run alone."""
    for number in range(1, 14):
        evidence = validated(task, number)
        assert evidence.n_tried == number
    assert evidence.alpha == pytest.approx(0.05 / 4 / (13 * 12))
    shown = invoke("validate", "--task", task, "--verdicts", verdict_file(14))
    assert shown.exit_code == 0
    words = " ".join(shown.stdout.split())
    assert "judge is the 14th judge tried on these ratings, so each test allows an error" in words
    assert len(user_ledger()) == 14


def test_judges_tried_at_once_share_the_error_probability(task):
    """The first J judges have alpha / J each, as without a ledger."""
    both = Path("both.jsonl")
    files = [verdict_file(1), verdict_file(2, name="other")]
    both.write_text("".join(file.read_text("utf-8") for file in files), encoding="utf-8")
    evidence = harness.validate(task, both).evidence
    assert (evidence.n_tried, evidence.n_tried_before) == (2, 0)
    assert evidence.alpha == pytest.approx(0.05 / 2)
    shown = invoke("validate", "--task", task, "--verdicts", both)
    assert "tried on these ratings" not in " ".join(shown.stdout.split())


def test_the_same_judge_is_not_counted_again(task):
    """Validating again gives the same verdict, in another run folder, order or name too."""
    first = validated(task, 1)
    again = harness.validate(task, verdict_file(1, name="renamed")).evidence
    assert (again.n_tried, again.alpha) == (first.n_tried, first.alpha)
    runs = [harness.run(task, judges=["random"], out="runs").validation.evidence for _ in "ab"]
    assert [run.n_tried for run in runs] == [2, 2]
    assert len(user_ledger()) == 2


def test_a_part_of_the_items_is_of_the_same_ratings(task):
    """``--limit`` neither hides the judges tried before nor counts one twice."""
    validated(task, 1, limit=6)
    assert validated(task, 1).n_tried == 1
    assert validated(task, 2, limit=6).n_tried == 2


def test_other_ratings_have_a_ledger_of_their_own(task):
    """The hash is that of the ratings, whatever their order and the task's name."""
    loaded = harness.load_task(task)
    swapped = loaded.model_copy(update={"ratings": loaded.ratings[::-1], "name": "other"})
    fewer = loaded.model_copy(update={"ratings": loaded.ratings[1:]})
    assert ratings_hash(swapped) == ratings_hash(loaded) != ratings_hash(fewer)


def test_a_ledger_in_the_task_folder_is_used_in_place_of_the_users(task):
    """A team shares it with the task."""
    (task / LEDGER).touch()
    validated(task, 1)
    assert [len(line.judges) for line in read_ledger(task / LEDGER)] == [1]
    harness.run(task, judges=["random"], out="runs")
    assert len(read_ledger(task / LEDGER)) == 2
    assert not data_folder().exists()


def test_a_new_ledger_is_said_in_the_verdict(task):
    """Judges tried before no longer count, and every later verdict says how many there were."""
    for number in range(1, 4):
        validated(task, number)
    shown = invoke("validate", "--task", task, "--verdicts", verdict_file(4), "--new-ledger")
    assert "as a new ledger was started: 3 judges tried before" in " ".join(shown.stdout.split())
    evidence = validated(task, 5)
    assert (evidence.n_tried, evidence.n_tried_before, evidence.n_forgotten) == (2, 1, 3)


def test_a_run_folder_gives_the_same_verdict_elsewhere_and_later(task, monkeypatch):
    """Its copy of the ledger is as it was when the run was validated."""
    validated(task, 1)
    run = harness.run(task, judges=["random"], out="runs")
    before = (run.path / "metrics.json").read_bytes()
    validated(task, 2)
    monkeypatch.setenv("XDG_DATA_HOME", "elsewhere")
    shutil.rmtree(task)
    assert invoke("validate", run.path).exit_code == 0
    assert (run.path / "metrics.json").read_bytes() == before
    assert not Path("elsewhere").exists()


def test_a_new_ledger_for_a_run_that_was_validated(task):
    """The option works on a run folder, unless nothing would be written."""
    validated(task, 1)
    run = harness.run(task, judges=["random"], out="runs")
    refused = invoke("validate", run.path, "--new-ledger", "--tau", "0.4")
    assert isinstance(refused.exception, RunError)
    assert "Start a new ledger without them" in str(refused.exception)
    assert harness.validate(run, new_ledger=True).evidence.n_forgotten == 1
    assert harness.load_run(run.path).validation.evidence.n_tried == 1


def test_commands_that_only_show_count_nothing(task):
    """``--dry-run`` and ``report`` leave the ledger as it is."""
    assert invoke("run", "--task", task, "--judges", "random", "--dry-run").exit_code == 0
    assert not data_folder().exists()
    run = harness.run(task, judges=["random"], out="runs")
    lines = user_ledger()
    assert invoke("report", run.path).exit_code == 0
    file = verdict_file(1)
    assert invoke("report", "--task", task, "--verdicts", file, "--page", "x.html").exit_code == 0
    assert user_ledger() == lines


def test_a_judge_that_answers_nothing_is_not_counted(task):
    """Of such a judge nothing was learnt."""
    rows = [{"item": f"i{i}", "judge": "mute", "value": None} for i in range(N)]
    harness.validate(task, [*rows, {"item": "i0", "judge": "j", "value": "A"}])
    assert [set(line.judges.values()) for line in user_ledger()] == [{"j"}]


def _record(job):
    file, number = job
    return len(record(file, "r", {f"judge-{number}": "j"}))


def test_runs_that_end_at_once_lose_no_line(tmp_path):
    """Each is counted, after another."""
    file = tmp_path / "folder" / LEDGER
    with ProcessPoolExecutor(8) as pool:
        counts = list(pool.map(_record, [(file, number) for number in range(40)]))
    assert sorted(counts) == list(range(1, 41))
    assert len(read_ledger(file)) == 40


def test_a_broken_line_is_named(task):
    """A line that a user spoilt is neither skipped nor a traceback."""
    (task / LEDGER).write_text("{}\n", encoding="utf-8")
    shown = invoke("validate", "--task", task, "--verdicts", verdict_file(1))
    assert isinstance(shown.exception, RunError)
    assert "ledger.jsonl: line 1 is not a line of a ledger" in str(shown.exception)


def test_a_folder_that_cannot_be_written_is_one_line(task, monkeypatch):
    """Nothing is tested as if it were the first judge because counting failed."""
    Path("file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(Path("file").resolve()))
    with pytest.raises(RunError, match="cannot be counted"):
        validated(task, 1)


def test_shares_of_a_series_have_a_limit():
    """A hundred judges one after the other have at most 1.25 alpha in sum; at once, alpha."""
    at = "2026-01-01T00:00:00+00:00"
    lines = [LedgerLine(ratings="r", at=at, judges={f"p{i}": "j"}) for i in range(100)]
    shares = [tried_judges(lines[: i + 1], [f"p{i}"]).share for i in range(100)]
    assert shares[0] == 1.0
    assert shares[13] == pytest.approx(1 / 4 / (14 * 13))
    assert sum(shares) < 1.25
    at_once = [LedgerLine(ratings="r", at=at, judges={f"p{i}": "j" for i in range(20)})]
    assert tried_judges(at_once, ["p3"]).share == pytest.approx(1 / 20)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "other"},
        {"base_url": "http://127.0.0.1:1/v1"},
        {"params": {"temperature": 0.5}},
        {"strategy": "cot"},
        {"strategy": "self-consistency:3"},
    ],
)
def test_what_makes_another_judge(task, changes):
    """Model, address, parameters and strategy do; name, samples and speed do not."""
    loaded = harness.load_task(task)
    base = {"name": "j", "kind": "endpoint", "model": "m", "base_url": "http://127.0.0.1:2/v1"}
    same = {"name": "k", "samples": 3, "concurrency": 2}

    def print_of(fields, of_task=loaded):
        spec = JudgeSpec(**base | fields)
        prompts = Prompts.load(of_task, strategies=[spec.asking])
        return fingerprints_of([spec], of_task, prompts, {spec.name})[spec.name]

    assert print_of(same) == print_of({}) != print_of(changes)
    asked = loaded.model_copy(update={"property": "whether the comment is rude"})
    assert print_of({}, asked) != print_of({})
