"""Items that are held out are neither shown nor scored until a judge is confirmed on them, once."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, NamedTuple

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

import harness
from harness.analysis.ratings import is_held_out
from harness.errors import RunError, TaskError
from harness.judging.storage.verdict_log import read_log
from harness.runs.run_folder import CONFIRMATION, RunFolder
from harness.tasks import Item

if TYPE_CHECKING:
    from pathlib import Path

N, SHARE = 40, 0.3


def make_task(place):
    """Make a small task."""
    folder = make_task_folder(place / "small", N, response_sets=False)
    with (folder / "task.yaml").open("a", encoding="utf-8") as file:
        file.write("lexicon: {positive: B, negative: A}\n")
    return folder


@pytest.fixture
def task(tmp_path, monkeypatch):
    """A small task; runs go into the working folder."""
    monkeypatch.chdir(tmp_path)
    return make_task(tmp_path)


class Confirmed(NamedTuple):
    """A run of two judges, one of which is confirmed after a dry run.

    Attributes
    ----------
    dry, shown : result of a command
        The dry run, and the confirmation.
    dry_files : list of Path
        What the dry run left where the confirmation is written.
    """

    task: Path
    path: Path
    dry: object
    dry_files: list[Path]
    shown: object


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory):
    """A run with a confirmation, which no test changes."""
    place = tmp_path_factory.mktemp("confirmed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        task = make_task(place)
        rows = [{"item": f"i{i}", "judge": "other", "value": "AB"[i % 2]} for i in range(N)]
        run = run_of(task, "random", "lexicon", holdout=SHARE)
        harness.validate(task, rows)
        dry = confirm(run, "random", "--dry-run")
        dry_files = list(run.path.glob(f"{CONFIRMATION}*"))
        return Confirmed(task, run.path.resolve(), dry, dry_files, confirm(run))


def held_out_ids(task, share=SHARE):
    """Return the ids of the items that are held out."""
    return {item.id for item in harness.load_task(task).items if is_held_out(item, share)}


def run_of(task, *judges, **options):
    """Run embedded judges; return the folder."""
    return harness.run(task, judges=list(judges or ("random",)), out="runs", **options)


def confirm(run, judge="random", *options):
    """Confirm a judge by the command line."""
    return invoke("confirm", run.path, "--judge", judge, *options)


def asked_items(folder):
    """Return the ids of the items that judges were asked about."""
    return {verdict.item for verdict in read_log(folder / "verdicts.jsonl").final.values()}


def test_held_out_items_are_in_no_result_before_the_confirmation(task):
    """No verdict, number, table, card or page of a run is of an item that is held out."""
    held_out = held_out_ids(task)
    assert 0 < len(held_out) < N
    run = run_of(task, holdout=SHARE)
    assert asked_items(run.path) == {f"i{i}" for i in range(N)} - held_out
    assert run.validation.evidence.n_items == N - len(held_out)
    texts = [f"comment number {name[1:]}." for name in held_out]
    for name in ("verdicts.jsonl", "metrics.json", "ranking.csv", "judge-card.md", "report.html"):
        shown = (run.path / name).read_text("utf-8")
        assert not [text for text in texts if text in shown]
        assert not [item for item in held_out if f'"{item}"' in shown]
    words = " ".join(invoke("report", run.path, "--out", "page.html").stdout.split())
    assert not [text for text in texts if text in words]


def test_the_holdout_depends_only_on_the_item(task):
    """An item is held out or not whatever other items there are; those of a group together."""
    fewer = harness.load_task(make_task_folder(task.parent / "fewer", 20)).items
    ids = held_out_ids(task)
    assert {item.id for item in fewer if is_held_out(item, SHARE)} == {
        item for item in ids if int(item[1:]) < 20
    }
    of_group = {is_held_out(Item(id=f"x{i}", fields={}, group="g"), 0.5) for i in range(30)}
    assert len(of_group) == 1
    many = [Item(id=f"x{i}", fields={}) for i in range(4000)]
    assert sum(is_held_out(item, SHARE) for item in many) == pytest.approx(1200, abs=100)


def test_later_runs_and_verdicts_leave_the_same_items_out(task):
    """The holdout is fixed for the ratings, whoever is tried on them and with what."""
    run_of(task, holdout=SHARE)
    held_out = held_out_ids(task)
    assert not asked_items(run_of(task, "lexicon").path) & held_out
    rows = [{"item": f"i{i}", "judge": "other", "value": "AB"[i % 2]} for i in range(N)]
    validation = harness.validate(task, rows)
    assert validation.evidence.n_items == N - len(held_out)
    assert f"{len(held_out)} of {N} items are held out" in validation.notes


def test_a_judge_is_confirmed_once_and_at_its_own_level(confirmed):
    """It is tested alone, on the held-out items, however many were tried on the others."""
    assert confirmed.shown.exit_code == 0, confirmed.shown.stderr
    assert "is tested, on" in " ".join(confirmed.shown.stdout.split())
    own = RunFolder.open(confirmed.path / CONFIRMATION)
    assert asked_items(own.path) == held_out_ids(confirmed.task)
    evidence = harness.load_run(own.path).validation.evidence
    assert evidence.alpha == pytest.approx(0.041)
    assert (evidence.n_tried, evidence.held_out) == (1, True)
    assert evidence.n_items == len(held_out_ids(confirmed.task))


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["random", "lexicon"])
def test_a_second_confirmation_is_refused_and_says_when_the_first_was(task, judge):
    """Neither the same judge nor another of any run is confirmed on the items again."""
    run, other = (run_of(task, "random", "lexicon", holdout=SHARE) for _ in "ab")
    assert confirm(run).exit_code == 0
    verdicts = (run.path / CONFIRMATION / "verdicts.jsonl").read_bytes()
    at = RunFolder.open(run.path / CONFIRMATION).manifest.created[:10]
    for again in (run, other):
        refused = confirm(again, judge)
        assert isinstance(refused.exception, RunError)
        assert refused.exception.exit_code == 2
        assert f"were used at {at}" in str(refused.exception)
        assert f"to confirm random of {run.path.name}" in str(refused.exception)
    assert (run.path / CONFIRMATION / "verdicts.jsonl").read_bytes() == verdicts
    assert not (other.path / CONFIRMATION).exists()


def test_a_run_folder_that_was_moved_keeps_its_confirmation(confirmed, tmp_path, monkeypatch):
    """It is refused on another machine too, and validated with the same result."""
    moved = tmp_path / "moved"
    shutil.copytree(confirmed.path, moved)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", "elsewhere")
    assert isinstance(invoke("confirm", moved, "--judge", "random").exception, RunError)
    metrics = (moved / CONFIRMATION / "metrics.json").read_bytes()
    assert invoke("validate", moved / CONFIRMATION).exit_code == 0
    assert (moved / CONFIRMATION / "metrics.json").read_bytes() == metrics


def test_a_confirmation_that_only_shows_its_cost_uses_nothing(confirmed):
    """``--dry-run`` leaves the items for the confirmation."""
    assert confirmed.dry.exit_code == 0
    assert confirmed.dry_files == []
    assert confirmed.shown.exit_code == 0


def test_items_that_judges_were_tried_on_cannot_be_held_out(task):
    """A holdout is fixed before the first judge, and is not changed."""
    run_of(task)
    with pytest.raises(RunError, match="1 judge was tried on all of these items"):
        run_of(task, holdout=SHARE)
    anew = run_of(task, holdout=SHARE, new_ledger=True)
    assert not asked_items(anew.path) & held_out_ids(task)
    with pytest.raises(RunError, match="these ratings already have a fixed holdout"):
        run_of(task, holdout=0.5)


def test_runs_and_judges_that_cannot_be_confirmed_are_named(task):
    """A run without a holdout, an unknown judge, and a holdout of all or no items."""
    with pytest.raises(TaskError, match="40 of 40 items are held out"):
        run_of(task, holdout=0.9999)
    with pytest.raises(TaskError, match="0 of 40 items are held out"):
        run_of(task, holdout=0.0001)
    assert invoke("run", "--task", task, "--holdout", "1.5").exit_code == 2
    run = run_of(task, holdout=SHARE)
    assert "Use one of random" in str(confirm(run, "nobody").exception)
    shutil.rmtree(run.path.parent)
    other = make_task_folder(task.parent / "other", 12)
    items = other / "items.jsonl"
    items.write_text(items.read_text("utf-8").replace("comment", "reply"), encoding="utf-8")
    plain = run_of(other)
    assert "has no held-out items" in str(confirm(plain).exception)


def test_a_confirmed_run_is_history_of_the_ledger(confirmed):
    """The ledger has a line when items are held out, and one when they are used."""
    lines = (confirmed.path / CONFIRMATION / "ledger.jsonl").read_text("utf-8").splitlines()
    first, *_, last = map(json.loads, lines)
    assert first["holdout"] == SHARE
    assert (last["run"], list(last["confirmed"].values())) == (confirmed.path.name, ["random"])


def verdicts_of(path, **judges):
    """Write a file of verdicts on all items, by judge a function of the item's number."""
    rows = [f"i{i},{name},{answer(i)}" for name, answer in judges.items() for i in range(N)]
    path.write_text("\n".join(["item,judge,value", *rows]) + "\n", encoding="utf-8")
    return path


def by_turns(i):
    """Answer A and B by turns."""
    return "AB"[i % 2]


def test_verdicts_made_elsewhere_fix_a_holdout_for_all_that_follows(task):
    """``validate --holdout`` scores the other items alone, and later runs keep to it."""
    file = verdicts_of(task.parent / "first.csv", mine=by_turns)
    shown = invoke("validate", "--task", task, "--verdicts", file, "--holdout", SHARE, "--json")
    assert shown.exit_code == 0, shown.stderr
    result = json.loads(shown.stdout)
    n_held_out = len(held_out_ids(task))
    assert result["evidence"]["n_items"] == N - n_held_out
    assert f"{n_held_out} of {N} items are held out" in result["notes"]
    assert f"comment number {min(held_out_ids(task))[1:]}." not in shown.stdout
    run = run_of(task)
    assert not asked_items(run.path) & held_out_ids(task)
    with pytest.raises(RunError, match="these ratings already have a fixed holdout"):
        harness.validate(task, file, holdout=0.5)
    assert confirm(run).exit_code == 0


def test_items_that_verdicts_were_scored_on_cannot_be_held_out(task):
    """The rules are those of runs: before the first judge, and some items on either side."""
    file = verdicts_of(task.parent / "first.csv", mine=by_turns)
    with pytest.raises(TaskError, match="0 of 40 items are held out"):
        harness.validate(task, file, holdout=0.0001)
    with pytest.raises(harness.HarnessError, match="without verdicts"):
        harness.validate(task, holdout=SHARE)
    harness.validate(task, file)
    with pytest.raises(RunError, match="1 judge was tried on all of these items"):
        harness.validate(task, file, holdout=SHARE)
    with pytest.raises(RunError, match="no rated items are held out"):
        harness.confirm_verdicts(task, file, "mine")
    anew = harness.validate(task, file, holdout=SHARE, new_ledger=True)
    assert anew.evidence.n_items == N - len(held_out_ids(task))


@pytest.mark.slow
def test_one_judge_of_verdicts_made_elsewhere_is_confirmed_once(task):
    """It is tested alone, on the held-out items; a wrong option or name does not use them."""
    file = verdicts_of(task.parent / "all.csv", mine=by_turns, other=lambda _: "A")
    harness.validate(task, file, holdout=SHARE)
    with pytest.raises(RunError, match="Pass one of mine, other"):
        harness.confirm_verdicts(task, file, "nobody")
    with pytest.raises(harness.HarnessError, match="metric"):
        harness.confirm_verdicts(task, file, "mine", metric="no_such_metric")
    where = ("--task", task, "--verdicts", file)
    shown = invoke("confirm", "verdicts", *where, "--judge", "mine", "--json")
    assert shown.exit_code == 0, shown.stderr
    evidence = json.loads(shown.stdout)["evidence"]
    assert (evidence["n_tried"], evidence["held_out"]) == (1, True)
    assert evidence["alpha"] == pytest.approx(0.041)
    assert evidence["n_items"] == len(held_out_ids(task))
    assert [judge["judge"] for judge in evidence["judges"]] == ["mine"]
    for judge in ("mine", "other"):
        with pytest.raises(RunError, match=r"were used at .*, to confirm mine, and can.t"):
            harness.confirm_verdicts(task, file, judge)
    assert isinstance(confirm(run_of(task)).exception, RunError)


def test_a_confirmation_is_of_a_run_or_of_verdicts(task):
    """Each is a command of its own: a run has no verdicts of others, and verdicts ask nothing."""
    file = verdicts_of(task.parent / "all.csv", mine=by_turns)
    where = ("--task", task, "--verdicts", file, "--judge", "mine")
    both = invoke("confirm", "some-run", *where)
    assert (both.exit_code, "No such option: --verdicts" in both.stderr) == (2, True)
    asking = invoke("confirm", "verdicts", *where, "--dry-run")
    assert (asking.exit_code, "No such option: --dry-run" in asking.stderr) == (2, True)


@pytest.mark.slow
def test_python_confirms_like_the_command(task):
    """`harness.confirm` decides on the held-out items at J = 1, and only once."""
    run = run_of(task, "random", "lexicon", holdout=SHARE)
    own = harness.confirm(run.path, "random")
    assert own.path == run.path / CONFIRMATION
    assert asked_items(own.path) == held_out_ids(task)
    evidence = own.validation.evidence
    assert (evidence.n_tried, evidence.alpha) == (1, pytest.approx(0.041))
    with pytest.raises(RunError, match="confirm"):
        harness.confirm(run.path, "lexicon")


def test_a_confirmation_in_python_keeps_the_options_of_its_run(task):
    """Other options are named and refused before the held-out items are used."""
    run = run_of(task, holdout=SHARE)
    with pytest.raises(harness.HarnessError, match="limit"):
        harness.confirm(run.path, "random", limit=3)
    assert not (run.path / CONFIRMATION).exists()
