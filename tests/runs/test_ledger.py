"""Validations that share an item are of one series, whatever is renamed or changed between them."""

from __future__ import annotations

import json
import re
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

import harness
from harness.errors import RunError
from harness.files.user_folders import data_folder
from harness.judging.fingerprints import fingerprints_of
from harness.judging.judges.config import new_judge
from harness.judging.prompts.requests import Prompts
from harness.runs.ledger import LEDGER, _locked, read_ledger
from harness.runs.used_items import DIGEST, KEY, Contents, ItemDigests, encoded
from harness.stats.inference.alpha_spending import FIRST, LATER, level_after

N, ALPHA = 12, 0.05


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


def counted():
    """Return the lines of the user's ledger in which judges are counted."""
    return [line for line in user_ledger() if line.judges]


def changed(task, name, change, file="ratings.jsonl"):
    """Copy a task under another name, with the rows of a file changed."""
    copied = shutil.copytree(task, task.parent / name)
    lines = (copied / file).read_text("utf-8").splitlines()
    rows = change([json.loads(line) for line in lines])
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (copied / file).write_text(text, encoding="utf-8")
    about = copied / "task.yaml"
    about.write_text(about.read_text("utf-8").replace("name: ", f"name: {name}-"), encoding="utf-8")
    return copied


@pytest.mark.slow
def test_the_fourteenth_judge_is_called_so_and_tested_strictly(task):
    """The verdict counts judges over validations, not those of a run alone."""
    for number in range(1, 14):
        evidence = validated(task, number)
        assert evidence.n_tried == number
    assert evidence.alpha == pytest.approx(ALPHA * LATER / (13 * 12))
    shown = invoke("validate", "--task", task, "--verdicts", verdict_file(14))
    assert shown.exit_code == 0
    words = " ".join(shown.stdout.split())
    assert "is the 14th judge tried on these items (in all tasks that have them), so " in words
    assert re.search(r"each test uses an error rate of [0-9.e-]+ instead of up to 0\.041\.", words)
    assert len(counted()) == 14


def test_judges_tried_at_once_share_the_error_probability(task):
    """The first J judges have J-ths of what the first validation spends."""
    both = Path("both.jsonl")
    files = [verdict_file(1), verdict_file(2, name="other")]
    both.write_text("".join(file.read_text("utf-8") for file in files), encoding="utf-8")
    evidence = harness.validate(task, both).evidence
    assert (evidence.n_tried, evidence.n_tried_before) == (2, 0)
    assert evidence.alpha == pytest.approx(ALPHA * FIRST / 2)
    shown = invoke("validate", "--task", task, "--verdicts", both)
    assert "tried on these items" not in " ".join(shown.stdout.split())


@pytest.mark.slow
def test_the_same_judge_is_not_counted_again(task):
    """Validating again gives the same verdict, in another run folder, order or name too."""
    first = validated(task, 1)
    again = harness.validate(task, verdict_file(1, name="renamed")).evidence
    assert (again.n_tried, again.alpha) == (first.n_tried, first.alpha)
    runs = [harness.run(task, judges=["random"], out="runs").validation.evidence for _ in "ab"]
    assert [run.n_tried for run in runs] == [2, 2]
    assert len(counted()) == 2


def test_a_limited_validation_spends_nothing_and_recommends_nothing(task):
    """``--limit`` leaves the first validation to the judge, and says what is missing."""
    limited = harness.validate(task, verdict_file(1), limit=6)
    assert limited.decision.checks["all_items"].passed is False
    assert limited.decision.verdict not in {"use", "use_if_independent"}
    whole = validated(task, 1)
    assert (whole.n_tried, whole.number) == (1, 1)
    assert whole.alpha == pytest.approx(ALPHA * FIRST)
    assert validated(task, 2, limit=6).number == 2
    assert validated(task, 3).number == 2


def test_a_judge_that_was_seen_on_a_part_was_chosen_among_those_seen(task):
    """The best of three that ``--limit`` showed has a third; one that wasn't seen has all."""
    for number in (1, 2, 3):
        validated(task, number, limit=6)
    assert validated(task, 4).alpha == pytest.approx(ALPHA * FIRST)
    evidence = validated(task, 2)
    assert evidence.n_contenders == 4
    assert evidence.alpha == pytest.approx(ALPHA * LATER / 2 / 4)


def test_a_validation_of_too_few_replies_spends_nothing(task):
    """What an interrupted run shows can't recommend a judge, so its rest is the first test."""
    rows = [{"item": f"i{i}", "judge": "j", "value": "AB"[i % 2]} for i in range(N)]
    part = harness.validate(task, rows[:5])
    assert part.decision.checks == {} or part.decision.checks["answered"].passed is False
    whole = harness.validate(task, rows).evidence
    assert (whole.number, whole.n_tried, whole.alpha) == (1, 1, pytest.approx(ALPHA * FIRST))


CHANGES = {
    "a rating changed": lambda rows: [rows[0] | {"value": "A"}, *rows[1:]],
    "a rating removed": lambda rows: rows[1:],
    "a rater added": lambda rows: [*rows, *(row | {"rater": "r9"} for row in rows[::3])],
    "raters renamed": lambda rows: [row | {"rater": f"x{row['rater']}"} for row in rows],
}


MORE_CHANGES = {"a rating removed", "a rater added", "raters renamed"}  # in the slow tests


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(change, id=name, marks=[pytest.mark.slow] if name in MORE_CHANGES else [])
        for name, change in CHANGES.items()
    ],
)
def test_changed_ratings_are_of_the_same_series(task, change):
    """What was spent stays spent, in a copy of the task under another name."""
    validated(task, 1)
    evidence = validated(changed(task, "copied", change), 2)
    assert (evidence.number, evidence.n_tried) == (2, 2)
    assert evidence.alpha == pytest.approx(ALPHA * LATER / 2)


def test_renamed_items_are_of_the_same_series(task):
    """Items are known by what judges see, and not by their ids."""
    validated(task, 1)
    renamed = changed(task, "renamed", lambda rows: [r | {"item": f"x{r['item']}"} for r in rows])
    items = renamed / "items.jsonl"
    items.write_text(items.read_text("utf-8").replace('"id": "i', '"id": "xi'), encoding="utf-8")
    rows = [{"item": f"xi{i}", "judge": "j", "value": "A"} for i in range(N)]
    assert harness.validate(renamed, rows).evidence.number == 2


def test_items_that_were_never_used_start_anew(task):
    """Other texts have a series of their own."""
    validated(task, 1)
    fresh = changed(
        task, "fresh", lambda rows: [r | {"text": f"New: {r['text']}"} for r in rows], "items.jsonl"
    )
    evidence = validated(fresh, 2)
    assert (evidence.number, evidence.alpha) == (1, pytest.approx(ALPHA * FIRST))


@pytest.mark.slow
def test_any_shared_item_makes_one_series_and_two_series_can_meet(task):
    """Two thirds are apart until a validation uses items of both; then they are one series."""

    def number(name, first, last, answer):
        ids = [f"i{i}" for i in range(first, last)]
        part = task.parent / name
        if not part.exists():
            changed(task, name, lambda rows: [row for row in rows if row["item"] in ids])
            items = (task / "items.jsonl").read_text("utf-8").splitlines()[first:last]
            (part / "items.jsonl").write_text("\n".join(items), encoding="utf-8")
        rows = [{"item": item, "judge": answer, "value": answer} for item in ids]
        return harness.validate(part, rows).evidence.number

    assert [number("left", 0, 4, "A"), number("right", 8, 12, "A")] == [1, 1]
    assert number("middle", 3, 9, "A") == 3
    assert [number("left", 0, 4, "B"), number("right", 8, 12, "B")] == [4, 5]


def test_a_different_property_of_the_same_texts_starts_a_new_series(task):
    """Unless most ratings are the same: then the property was only reworded."""
    validated(task, 1)

    def about(name, change):
        copied = changed(task, name, change)
        text = (copied / "task.yaml").read_text("utf-8")
        lines = [x for x in text.splitlines() if not x.startswith("property")]
        (copied / "task.yaml").write_text("\n".join([*lines, f"property: {name}", ""]), "utf-8")
        return copied

    other = about("politeness", lambda rows: [r | {"value": "B"} for r in rows])
    assert validated(other, 2).number == 1
    assert validated(about("reworded", lambda rows: rows), 2).number == 2


def test_more_ratings_of_the_same_replies_cost_little(task):
    """A corrected rating leaves the level nearly as it was, and it is one judge."""
    first = validated(task, 1)
    again = validated(changed(task, "corrected", CHANGES["a rating changed"]), 1)
    assert (again.number, again.n_tried, again.n_tried_before) == (2, 1, 0)
    expected = level_after(ALPHA * LATER / 2, [(first.alpha, 11 / 12)])
    assert again.alpha == pytest.approx(expected, rel=1e-3)
    assert again.alpha > 5 * ALPHA * LATER / 2


def test_fresh_replies_of_a_judge_are_another_try(task):
    """A repeat in which one reply differs is tested as if the judge were new."""
    validated(task, 0b111)
    assert validated(task, 0b110).alpha == pytest.approx(ALPHA * LATER / 2)


def test_a_ledger_in_the_task_folder_is_shared_with_it(task, monkeypatch):
    """A team counts together, on a machine that has no ledger of its own too."""
    (task / LEDGER).touch()
    validated(task, 1)
    monkeypatch.setenv("XDG_DATA_HOME", "elsewhere")
    run = harness.run(task, judges=["random"], out="runs")
    assert run.validation.evidence.number == 2
    assert [len(line.judges) for line in read_ledger(task / LEDGER) if line.judges] == [1, 1]
    assert validated(task, 2).number == 3


@pytest.mark.slow
def test_a_new_ledger_is_said_in_the_verdict(task):
    """Judges tried before no longer count, and every later verdict says how many there were."""
    for number in range(1, 4):
        validated(task, number)
    shown = invoke("validate", "--task", task, "--verdicts", verdict_file(4), "--new-ledger")
    said = "Because you started a new ledger, 3 judges tried earlier aren't counted."
    assert said in " ".join(shown.stdout.split())
    evidence = validated(task, 5)
    assert (evidence.n_tried, evidence.n_tried_before, evidence.n_forgotten) == (2, 1, 3)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_new_ledger_for_a_run_that_was_validated(task):
    """The option works on a run folder, unless nothing would be written."""
    validated(task, 1)
    run = harness.run(task, judges=["random"], out="runs")
    refused = invoke("validate", run.path, "--new-ledger", "--tau", "0.4")
    assert isinstance(refused.exception, RunError)
    assert "So it can't start a new ledger. Drop --new-ledger" in str(refused.exception)
    assert harness.validate(run, new_ledger=True).evidence.n_forgotten == 1
    assert harness.load_run(run.path).validation.evidence.n_tried == 1


@pytest.mark.slow
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
    assert [set(line.judges.values()) for line in counted()] == [{"j"}]


@pytest.mark.slow  # the address is tried for a minute
def test_an_unreachable_judge_does_not_count_as_tried(task):
    """A mistyped name leaves the first validation to the judge that was meant."""
    shown = invoke("run", "--task", task, "--judges", "typo", "--base-url", "http://127.0.0.1:9/v1")
    assert shown.exit_code != 0
    assert validated(task, 1).number == 1


def _validated(job):
    folder, number = job
    rows = [{"item": f"i{i}", "judge": "j", "value": "AB"[number >> i & 1]} for i in range(N)]
    return harness.validate(folder, rows).evidence.number


@pytest.mark.slow
def test_validations_that_end_at_once_are_counted_one_after_the_other(task):
    """Each has a number of its own."""
    with ProcessPoolExecutor(4) as pool:
        numbers = list(pool.map(_validated, [(task, number) for number in range(8)]))
    assert sorted(numbers) == list(range(1, 9))


def test_a_ledger_of_100000_items_takes_a_megabyte(tmp_path):
    """Later lines have the keys of new items only, and one shared item is enough to find it."""
    keys = np.arange(1, 100_001, dtype=np.uint64)
    ratings = encoded(np.ones(1000, np.uint16), DIGEST)

    def contents(keys):
        sampled = encoded(keys[:1000], KEY)
        digests = ItemDigests(n=len(keys), items=sampled, ratings=ratings, replies={"j": ratings})
        return Contents("toxic", keys, digests)

    with _locked(contents(keys), tmp_path) as writer:
        writer.record({"p": "j"}, limited=False)
    [file] = (data_folder() / "ledgers").iterdir()
    size = file.stat().st_size
    assert size < 1_200_000
    with _locked(contents(keys[-1:] + np.arange(1000, dtype=np.uint64)), tmp_path) as writer:
        assert writer.record({"q": "j"}, limited=False).standing.number == 2
    assert file.stat().st_size < size + 40_000


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
    with pytest.raises(RunError, match="can't be counted"):
        validated(task, 1)


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
def test_model_address_parameters_and_strategy_identify_a_judge(task, changes):
    """Model, address, parameters and strategy do; name, samples and speed do not."""
    loaded = harness.load_task(task)
    base = {"name": "j", "kind": "endpoint", "model": "m", "base_url": "http://127.0.0.1:2/v1"}
    same = {"name": "k", "samples": 3, "concurrency": 2}

    def print_of(fields, of_task=loaded):
        spec = new_judge(**base | fields)
        prompts = Prompts.load(of_task, strategies=[spec.asking])
        return fingerprints_of([spec], of_task, prompts, {spec.name})[spec.name]

    assert print_of(same) == print_of({}) != print_of(changes)
    asked = loaded.model_copy(update={"property": "whether the comment is rude"})
    assert print_of({}, asked) != print_of({})
