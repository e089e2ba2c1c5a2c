"""`harness estimate`: a share over items that nobody rated, from a run and one of its judges."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.processes import call_harness, invoke
from support.task_folders import make_task_folder

from benchmarks.estimate_memory import LARGEST_MB, peak_mb
from harness.estimation.unlabelled import PART, ItemTables, read_parts
from harness.runs.run_folder import RunFolder
from harness.stats.estimation.identified_set import share_above
from harness.tasks import load_task

N = 40


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a task and a run of a word list and of random answers, which nobody changes."""
    place = tmp_path_factory.mktemp("finished")
    folder = make_task_folder(place / "small", N, response_sets=False)
    with (folder / "task.yaml").open("a", encoding="utf-8") as file:
        file.write("lexicon: {positive: B, negative: A}\n")
    judges = ("--judges", "lexicon,random")
    result = invoke("run", "--task", folder, *judges, "--out", place / "runs", "-q")
    assert result.exit_code == 0, result.output
    return place


@pytest.fixture
def run(finished, tmp_path, monkeypatch):
    """The name of the run, copied with its task into the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return next((tmp_path / "runs").iterdir()).name


def write_items(path, n, first=0, **fields):
    lines = [
        json.dumps({"id": f"u{i}", "text": f"{'good' if i % 2 else 'bad'} day {i}"} | fields)
        for i in range(first, first + n)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def estimated(*arguments):
    result = invoke("estimate", "--out", "runs", "--json", "--quiet", *arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.slow
def test_share_is_estimated_from_ratings_and_judge(run, tmp_path):
    """The estimate has an interval, its numbers of items, and the other ways beside it."""
    items = write_items(tmp_path / "new.jsonl", 60)
    found = estimated(run, "--judge", "lexicon", "--items", items)
    mean = found["mean"]
    assert mean["n_labelled"] == N
    assert mean["n_unlabelled"] == found["n_unlabelled"] == 60
    assert mean["estimate"]["low"] <= mean["estimate"]["value"] <= mean["estimate"]["high"]
    assert mean["labels_alone"]["low"] < mean["labels_alone"]["high"]
    assert mean["n_judges"] == 2
    assert found["above_tau"] == list(
        share_above(0.5, mean["estimate"]["low"], mean["estimate"]["high"])
    )
    text = invoke("estimate", run, "--judge", "lexicon", "--items", items, "--out", "runs")
    assert "Share of raters who would choose" in " ".join(text.stdout.split())
    assert "of the items (bounds; too few raters per item to narrow this)" in " ".join(
        text.stdout.split()
    )
    assert "The interval accounts for selecting this judge from 2 judges." in " ".join(
        text.stdout.split()
    )


@pytest.mark.slow
def test_judge_is_not_asked_twice_about_an_item(run, tmp_path):
    """The same command again asks nothing, and more items are asked alone."""
    items = write_items(tmp_path / "new.jsonl", 30)
    estimated(run, "--judge", "random", "--items", items)
    parts = tmp_path / "runs" / run / "estimates"
    (part,) = parts.iterdir()
    log = (part / "verdicts.jsonl").read_bytes()
    first = estimated(run, "--judge", "random", "--items", items)
    assert (part / "verdicts.jsonl").read_bytes() == log
    assert estimated(run, "--judge", "random", "--items", items) == first
    assert len(list(parts.iterdir())) == 1


def test_texts_of_unlabelled_items_are_not_kept(run, tmp_path):
    """Folders below the run hold verdicts, and no texts of the items."""
    items = write_items(tmp_path / "new.jsonl", 20, text="a secret sentence")
    estimated(run, "--judge", "random", "--items", items)
    for file in (tmp_path / "runs" / run / "estimates").rglob("*"):
        assert not file.is_file() or b"a secret sentence" not in file.read_bytes(), file


@pytest.fixture
def asked(tmp_path, stub, monkeypatch):
    """Run a judge that answers, about 40 items; return what changes its replies."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_JUDGES", "judges.yaml")
    make_task_folder(tmp_path / "small", N, response_sets=False)
    stub.reset()
    lines = [f"This is comment number {i}." for i in range(N)]
    lines += [f"{'good' if i % 2 else 'bad'} day {i}" for i in range(60)]

    def set_reply(text, **more):
        stub.set_table("far", {line: [text] for line in lines}, **more)

    address = {"base_url": stub.url(table="far"), "price": {"input": 1, "output": 1}}
    judges = {"far": {"kind": "endpoint", "model": "far", "samples": 1} | address}
    Path("judges.yaml").write_text(json.dumps({"judges": judges}), "utf-8")
    set_reply("A")
    words = ("--task", "./small", "--judges", "far", "--elicitation", "forced_choice", "-q")
    ran = invoke("run", *words)
    assert ran.exit_code == 0, ran.output
    return set_reply


def test_judge_that_cannot_be_read_is_shown_and_continued_as_the_message_says(asked, tmp_path):
    """It printed no example, and advised to repeat a command that sent nothing more."""
    asked("The weather is nice.")
    command = ("estimate", "--judge", "far", "--items", write_items(tmp_path / "new.jsonl", 60))
    stopped = invoke(*command)
    assert stopped.exit_code == 3
    assert "    - The weather is nice." in stopped.stderr
    assert "run the same command with --keep-going." in " ".join(stopped.stdout.split())
    went_on = invoke(*command, "--keep-going")
    assert went_on.exit_code == 3
    assert "0 of 60 replies are usable (60 invalid)" in went_on.stdout
    asked("A")
    assert invoke(*command).exit_code == 3  # the unreadable replies are kept
    assert "run the same command with --refresh" in " ".join(went_on.stdout.split())
    assert invoke(*command, "--refresh").exit_code == 0


@pytest.mark.slow
def test_judge_that_is_always_refused_is_to_be_changed_first(asked, tmp_path):
    """Repeating the command alone would not help, so the message says what would."""
    asked("A", fault="400")
    items = write_items(tmp_path / "new.jsonl", 60)
    stopped = invoke("estimate", "--judge", "far", "--items", items)
    assert stopped.exit_code == 3
    assert "Check model and params. Then run the same command." in " ".join(stopped.stdout.split())
    asked("A")
    assert invoke("estimate", "--judge", "far", "--items", items).exit_code == 0


@pytest.mark.slow
def test_cost_limit_is_raised_as_the_message_says(asked, tmp_path):
    """The same command under the same limit sends nothing more."""
    command = ("estimate", "--judge", "far", "--items", write_items(tmp_path / "new.jsonl", 60))
    stopped = invoke(*command, "--max-cost", 0.002)
    assert stopped.exit_code == 4
    assert "run the same command with a higher --max-cost." in " ".join(stopped.stdout.split())
    assert invoke(*command, "--max-cost", 1).exit_code == 0


def test_limit_reads_the_first_items(run, tmp_path):
    """--limit asks about the first items alone."""
    items = write_items(tmp_path / "new.jsonl", 30)
    found = estimated(run, "--judge", "lexicon", "--items", items, "--limit", "10")
    assert found["n_unlabelled"] == 10


def test_folder_of_tables_is_read_whole(run, tmp_path):
    """All tables of a folder are read, in the order of their names."""
    folder = tmp_path / "parts"
    folder.mkdir()
    write_items(folder / "a.jsonl", 5)
    write_items(folder / "b.jsonl", 7, first=5)
    (folder / "README.txt").write_text("not a table", encoding="utf-8")
    assert estimated(run, "--judge", "lexicon", "--items", folder)["n_unlabelled"] == 12


def test_items_are_read_in_parts(run, tmp_path):
    """No more than 2,000 items are held at a time."""
    task = load_task(str(tmp_path / "small"))
    items = write_items(tmp_path / "many.jsonl", 2 * PART + 1)
    assert [len(part) for part in read_parts(ItemTables(items), task)] == [PART, PART, 1]


def test_share_under_a_range_of_beta_has_ends_and_no_value(run, tmp_path):
    """With beta in a range, text and JSON give an interval, and NA for the value."""
    items = write_items(tmp_path / "new.jsonl", 30)
    arguments = (run, "--judge", "lexicon", "--items", items, "--beta-range", "0.1,0.3")
    found = estimated(*arguments)
    assert found["mean"]["estimate"]["value"] is None
    text = " ".join(invoke("estimate", *arguments, "--out", "runs", "-q").stdout.split())
    assert "whatever beta is between 0.1 and 0.3" in text


def test_items_that_look_different_are_said_to(run, tmp_path):
    """A warning says that the interval may not hold for items of another kind."""
    items = write_items(tmp_path / "new.jsonl", 200, text="long " * 200)
    text = invoke("estimate", run, "--judge", "lexicon", "--items", items, "--out", "runs", "-q")
    assert "don't look like the rated ones" in " ".join(text.stdout.split())


@pytest.mark.slow
def test_number_of_labels_for_a_width_is_printed(run, tmp_path):
    """--n-labels says how many ratings would do, and more for a narrower interval."""
    items = write_items(tmp_path / "new.jsonl", 500)
    wide, narrow = (
        estimated(run, "--judge", "lexicon", "--items", items, "--n-labels", width)["needed"]["n"]
        for width in ("0.4", "0.2")
    )
    assert 0 < wide < narrow


@pytest.mark.slow
def test_width_that_cannot_be_reached_is_said_with_one_that_can(run, tmp_path):
    """--n-labels below the width with all items rated says how likely it is, and what is."""
    arguments = ("--judge", "lexicon", "--items", write_items(tmp_path / "new.jsonl", 60))
    needed = estimated(run, *arguments, "--n-labels", "0.01")["needed"]
    assert (needed["n"], needed["n_items"], needed["chance"]) == (None, N + 60, 0.0)
    text = " ".join(
        invoke(
            "estimate", run, *arguments, "--out", "runs", "-q", "--n-labels", "0.01"
        ).stdout.split()
    )
    assert "Even with all 100 items rated, the chance of an interval no wider than 1.0%" in text
    assert f"It's 80% for a width of {needed['least_width']:.1%}." in text


def test_interval_that_is_narrow_enough_needs_no_more_ratings(run, tmp_path):
    """It was "0 rated items", or fewer than there are."""
    arguments = ("--judge", "lexicon", "--items", write_items(tmp_path / "new.jsonl", 60))
    found = estimated(run, *arguments, "--n-labels", "0.9")
    assert found["needed"]["n"] == found["mean"]["n_labelled"] == N
    text = " ".join(
        invoke(
            "estimate", run, *arguments, "--out", "runs", "-q", "--n-labels", "0.9"
        ).stdout.split()
    )
    assert "The interval isn't wider than 90.0%, so you don't need more ratings." in text


def test_plan_with_unknown_beta_is_refused(run, tmp_path):
    """The interval of a share that rests on beta is another one: exit 2."""
    items = write_items(tmp_path / "new.jsonl", 20)
    command = ("estimate", run, "--judge", "lexicon", "--items", items, "--n-labels", "0.1")
    result = call_harness(*command, "--beta-range", "0.1,0.2", "--out", "runs", cwd=tmp_path)
    assert result.returncode == 2
    assert "no plan for a share that depends on beta" in result.stderr


@pytest.fixture
def paired(tmp_path, monkeypatch):
    """The name of a run on a task whose raters gave choices and sets."""
    monkeypatch.chdir(tmp_path)
    folder = make_task_folder(tmp_path / "pairs", N)
    with (folder / "task.yaml").open("a", encoding="utf-8") as file:
        file.write("lexicon: {positive: B, negative: A}\n")
    result = invoke("run", "--task", folder, "--judges", "lexicon", "--out", "runs", "-q")
    assert result.exit_code == 0, result.output
    return next((tmp_path / "runs").iterdir()).name


@pytest.mark.slow
def test_beta_comes_from_the_pairs_of_the_raters(paired, tmp_path):
    """The share is mu + beta (1 - mu), and its interval is wider than at that beta if known."""
    arguments = (paired, "--judge", "lexicon", "--items", write_items(tmp_path / "new.jsonl", 60))
    found = estimated(*arguments, "--paired-beta")
    beta, n_pairs = found["paired_beta"]["value"], found["paired_beta"]["n_pairs"]
    negative = [
        (i, j) for i in range(N) for j in range(3) if j >= i % 4
    ]  # as `make_task_folder` writes them
    assert n_pairs == len(negative)
    assert beta == pytest.approx(sum((i + j) % 3 == 0 for i, j in negative) / n_pairs)
    known = estimated(*arguments, "--beta-range", f"{beta},{beta}")["mean"]["estimate"]
    estimate = found["mean"]["estimate"]
    assert estimate["value"] == pytest.approx(known["value"])
    assert estimate["low"] < known["low"] < known["high"] < estimate["high"]
    text = " ".join(
        invoke("estimate", *arguments, "--paired-beta", "--out", "runs", "-q").stdout.split()
    )
    assert f"beta is {beta:.2f}, from {n_pairs} pairs in which a rater" in text


def test_beta_of_no_pairs_is_refused(run, tmp_path):
    """Forced choices alone do not show beta: exit 2, and what to do."""
    items = write_items(tmp_path / "new.jsonl", 20)
    command = ("estimate", run, "--judge", "lexicon", "--items", items, "--paired-beta")
    result = call_harness(*command, "--out", "runs", cwd=tmp_path)
    assert result.returncode == 2
    assert "0 pairs of a negative choice and a response set. Collect at least 10" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--judge", "lexicon", "--paired-beta", "--beta-range", "0.1,0.2"),
            "either estimated or assumed",
        ),
        (("--judge", "lexicon", "--n-labels", "1"), "the whole scale is only 1 wide"),
        (("--judge", "nobody"), "no judge 'nobody'. Use one of lexicon, random"),
        (("--judge", "lexicon", "--beta-range", "0.5,0.1"), "two ordered values"),
        (("--judge", "lexicon", "--n-labels", "2"), "n-labels"),
    ],
)
def test_wrong_arguments_are_refused(run, tmp_path, arguments, message):
    """A judge of no run, or impossible values, end with 2 and say what is wrong."""
    items = write_items(tmp_path / "new.jsonl", 20)
    result = call_harness(
        "estimate", run, "--items", items, "--out", "runs", *arguments, cwd=tmp_path
    )
    assert result.returncode == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"id": "i0"}, "is also an item of task"), ({"text": None}, "no item has the field 'text'")],
)
def test_items_that_do_not_fit_are_refused(run, tmp_path, fields, message):
    """Items of the task itself, or without its fields, end with 2, and nothing is asked."""
    task = load_task(str(tmp_path / "small"))
    known = {"id": task.items[0].id} if "id" in fields else fields
    items = write_items(tmp_path / "new.jsonl", 1, **known)
    result = call_harness(
        "estimate", run, "--judge", "lexicon", "--items", items, "--out", "runs", cwd=tmp_path
    )
    assert result.returncode == 2
    assert message in result.stderr
    assert RunFolder.open(tmp_path / "runs" / run).manifest.state == "done"
    assert not (tmp_path / "runs" / run / "estimates").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_100_000_items_take_less_than_500_mb(tmp_path):
    """Items are streamed: the peak resident memory of the whole process stays bounded."""
    assert peak_mb(tmp_path, 100_000) <= LARGEST_MB


@pytest.mark.slow
def test_positive_options_are_added_as_the_message_says(tmp_path, monkeypatch):
    """The message came again after its advice was followed, as a run keeps its copy of the task."""
    monkeypatch.chdir(tmp_path)
    rated = "".join(f"d{n},Text number {n}.,{'ab'[n % 2]},{'abb'[n % 3]},a\n" for n in range(24))
    Path("rated.csv").write_text(f"doc,text,ann,bo,cy\n{rated}", encoding="utf-8")
    write_items(Path("new.jsonl"), 5, first=100)
    words = ("--raters", "ann,bo,cy", "--property", "the letter")
    assert invoke("curate", "import", "rated.csv", "--as", "letters", *words).exit_code == 0
    running = ("run", "--task", "letters", "--judges", "random", "--out", "runs", "--quiet")
    estimating = ("--judge", "random", "--items", "new.jsonl")

    def ran():
        assert invoke(*running).exit_code == 0
        return max(Path("runs").iterdir(), key=lambda folder: folder.stat().st_mtime_ns)

    refused = invoke("estimate", ran(), *estimating)
    assert "then run the judges on the task again" in str(refused.exception)
    described = Path("letters/task.yaml")
    described.write_text(f"{described.read_text('utf-8')}\npositive: [a]\n", encoding="utf-8")
    estimated_now = invoke("estimate", ran(), *estimating)
    assert estimated_now.exit_code == 0, estimated_now.stderr
