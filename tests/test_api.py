"""The Python API: in scripts, in notebooks, from rows and DataFrames; the examples of its docs."""

from __future__ import annotations

import asyncio
import concurrent.futures
import doctest
import json
import logging
import re
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

import harness
from harness.errors import ExitCode, HarnessError

RATINGS = [
    {"id": "a", "text": "Thank you!", "ann": "polite", "bob": "polite", "gpt": "polite"},
    {"id": "b", "text": "Read the manual.", "ann": "rude", "bob": "polite", "gpt": "rude"},
    {"id": "c", "text": "Go away.", "ann": "rude", "bob": "rude", "gpt": "rude"},
    {"id": "d", "text": "See you soon.", "ann": "polite", "bob": None, "gpt": "rude"},
]
MAPPING = {
    "name": "tone",
    "property": "the tone of the reply",
    "id": "id",
    "text": "text",
    "raters": ["ann", "bob"],
    "judges": ["gpt"],
    "positive": ["polite"],
}
OPTIONS = {"judges": ["lexicon"], "limit": 8}

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A working folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_equals_what_is_importable():
    """`harness.__all__` names every public attribute that is not a submodule, and no other."""
    public = {name for name in dir(harness) if not name.startswith("_")}
    submodules = {name.split(".")[1] for name in sys.modules if name.startswith("harness.")}
    helpers = {"TYPE_CHECKING", "import_module"}
    assert set(harness.__all__) == public - (submodules - {"run", "validate"}) - helpers
    assert all(getattr(harness, name) is not None for name in harness.__all__)
    with pytest.raises(AttributeError, match="no attribute 'rum'"):
        harness.rum  # noqa: B018 -- it must fail


@pytest.mark.docs
def test_the_stub_is_fresh(tmp_path):
    """An option that is declared is completed at once."""
    file = tmp_path / "__init__.pyi"
    subprocess.run([sys.executable, CHECKOUT / "docs/stub.py", file], check=True)
    committed = (CHECKOUT / "harness/__init__.pyi").read_text(encoding="utf-8")
    assert committed == file.read_text(encoding="utf-8"), "stale; run: python docs/stub.py"
    assert "    max_cost: float | None = None,\n" in committed


def test_import_is_light():
    """`import harness` imports nothing of its own but itself, and takes less than 30 ms of CPU."""
    code = (
        "import sys, time; start = time.process_time(); import harness\n"
        "seconds = time.process_time() - start\n"
        "loaded = sorted(name for name in sys.modules if name.startswith('harness.'))\n"
        "assert not loaded, loaded\n"
        "assert 'numpy' not in sys.modules\n"
        "assert seconds < 0.03, seconds"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.docs
@pytest.mark.parametrize(
    "name", ["", ".api.asked_runs", ".api.revalidations", ".api.validations", ".api.table_tasks"]
)
def test_examples_in_docstrings_run(name):
    """Every example of the API prints what its docstring shows."""
    module = import_module(f"harness{name}")
    globs = vars(module) | {"harness": harness, "asyncio": asyncio}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    examples = doctest.DocTestFinder(exclude_empty=True).find(module, globs=globs)
    for example in examples:
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries > 0


def test_run_gives_the_results_of_its_folder(place):
    """Ranking, verdicts, report and cost of a run; `load_run` gives the same."""
    run = harness.run("toxicity", **OPTIONS)
    assert (run.exit_code, run.cost_usd) == (ExitCode.DONE, 0)
    assert run.path.parent == place / "runs" or run.path.parent.resolve() == place / "runs"
    assert run.report_path.is_file()
    assert set(run.verdicts["judge"]) == {"lexicon"}
    assert len(run.verdicts) == 16
    assert repr(run).startswith("Run('toxicity-")
    assert "\n" not in repr(run)
    assert run._repr_html_().startswith("<table>")
    for loaded in (harness.load_run(), harness.load_run(run.path), harness.load_run(run.path.name)):
        assert loaded.path.name == run.path.name
        assert loaded.validation == run.validation
        assert (loaded.exit_code, loaded.cost_usd) == (run.exit_code, run.cost_usd)
    (run.path / "metrics.json").unlink()
    assert harness.load_run().validation == run.validation


def test_command_line_runs_what_the_api_runs(monkeypatch):
    """`harness run` and `harness.run` make the same plan and call the same function."""
    plans = []

    def stand_in(plan, **options):
        plans.append(plan)
        raise harness.HarnessError("enough")

    monkeypatch.setattr("harness.app.run.run_plan", stand_in)
    monkeypatch.setattr("harness.api.asked_runs.run_plan", stand_in)
    with pytest.raises(harness.HarnessError, match="enough"):
        harness.run("toxicity", ["random"], tau=0.4, seed=3, samples=2)
    words = ("run", "--task", "toxicity", "--judges", "random", "--tau", "0.4", "--seed", "3")
    invoke(*words, "--samples", "2")
    from_api, from_command = plans
    assert from_api.config == from_command.config
    assert from_api.specs == from_command.specs


def test_run_works_inside_a_running_loop():
    """As in a notebook: a running event loop is no error, and other threads go on."""

    async def notebook():
        return harness.run("toxicity", **OPTIONS)

    assert asyncio.run(notebook()).exit_code == ExitCode.DONE


@pytest.mark.slow
def test_arun_leaves_the_loop_free():
    """While judges are asked, other tasks of the loop go on; concurrent runs take turns."""
    ticks = []

    async def tick():
        while True:
            ticks.append(time.monotonic())
            await asyncio.sleep(0.01)

    async def main():
        ticking = asyncio.create_task(tick())
        runs = await asyncio.gather(*(harness.arun("toxicity", **OPTIONS) for _ in range(2)))
        ticking.cancel()
        return runs

    first, second = asyncio.run(main())
    assert first.path != second.path
    assert len(ticks) > 3


def hanging(place, stub):
    """Judges whose replies take a while."""
    stub.reset()
    make_task_folder(place / "task", 30)
    judge = {"model": "stub", "base_url": stub.url(ms=100), "concurrency": 2, "samples": 1}
    (place / "judges.yaml").write_text(json.dumps({"judges": {"slow": judge}}), encoding="utf-8")
    return {"judges": ["slow"], "judges_file": "judges.yaml"}


def wait_for_requests(stub):
    while stub.stats()["requests"] < 4:
        time.sleep(0.01)


@pytest.mark.slow
def test_cancelled_arun_keeps_its_replies_and_is_resumed(place, stub):
    """Cancelling receives what is in flight; `resume=True` asks for the rest alone."""
    options = hanging(place, stub)

    async def main():
        running = asyncio.create_task(harness.arun("task", **options))
        await asyncio.to_thread(wait_for_requests, stub)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    stopped = harness.load_run()
    assert stopped.exit_code == ExitCode.INTERRUPTED
    n_answered = len(stopped.verdicts)
    assert 4 <= n_answered < 60
    run = harness.run(resume=True, judges_file="judges.yaml")
    assert (run.path.name, run.exit_code) == (stopped.path.name, ExitCode.DONE)
    assert stub.stats()["requests"] == 60


def test_interrupt_of_a_notebook_ends_its_run(place, stub, monkeypatch):
    """Ctrl-C in the thread that waits drains the run, and its results are returned."""
    options = hanging(place, stub)
    waited = []

    original = concurrent.futures.Future.result

    def result(future, timeout=None):
        if not waited:
            waited.append(True)
            wait_for_requests(stub)
            raise KeyboardInterrupt
        return original(future, timeout)

    monkeypatch.setattr("concurrent.futures.Future.result", result)

    async def notebook():
        return harness.run("task", **options)

    run = asyncio.run(notebook())
    assert run.exit_code == ExitCode.INTERRUPTED
    assert 4 <= len(run.verdicts) < 60


def test_signal_handlers_are_put_back():
    """A script's own handler of Ctrl-C is in place again after a run."""
    import signal

    def own(*_):
        """Do nothing."""

    before = signal.signal(signal.SIGTERM, own)
    try:
        assert threading.current_thread() is threading.main_thread()
        harness.run("toxicity", **OPTIONS)
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
@pytest.mark.usefixtures("shared_weights")
def test_skipped_judges_are_logged(caplog):
    """A judge that does not apply is named under the logger `harness`."""
    with caplog.at_level(logging.WARNING, logger="harness"):
        harness.run(RATINGS, mapping=MAPPING, samples=1, elicitations=["forced_choice"], limit=1)
    assert "lexicon skipped: " in caplog.text


def test_rows_and_frames_are_tasks():
    """A list of dicts, a pandas DataFrame and an Arrow table with a mapping give the same task."""
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    tasks = [
        harness.load_task(table, mapping=MAPPING)
        for table in (RATINGS, pd.DataFrame(RATINGS), pa.Table.from_pylist(RATINGS))
    ]
    assert {task.content_hash for task in tasks} == {tasks[0].content_hash}
    assert (tasks[0].name, len(tasks[0].items), len(tasks[0].ratings)) == ("tone", 4, 7)
    run = harness.run(pd.DataFrame(RATINGS), judges="random", mapping=MAPPING)
    assert run.exit_code == ExitCode.DONE
    assert harness.load_run(run.path).validation.task.name == "tone"


def test_verdicts_are_a_file_rows_or_a_frame(place):
    """All give the same validation; a table of ratings brings its own verdicts."""
    pd = pytest.importorskip("pandas")
    rows = [{"item": row["id"], "judge": "gpt", "value": row["gpt"]} for row in RATINGS]
    (place / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = harness.load_task(RATINGS, mapping=MAPPING)
    own = harness.validate(RATINGS, mapping=MAPPING)
    for verdicts in ("verdicts.jsonl", rows, pd.DataFrame(rows)):
        assert harness.validate(task, verdicts) == own
    assert own.judge("gpt").outcomes[0].answered == 4
    assert harness.validate(task, rows, limit=2).task.n_items == 2
    assert harness.validate(task).judges == ()


@pytest.mark.slow
def test_verdicts_of_a_run_are_validated_again():
    """The table of a run's verdicts is what `validate` accepts; options change the numbers."""
    run = harness.run("toxicity", **OPTIONS)
    again = harness.validate("toxicity", run.verdicts, limit=8)
    assert again.judge("lexicon").metrics == run.validation.judge("lexicon").metrics
    assert harness.validate(run, tau=0.3).tau == 0.3
    assert harness.load_run(run.path).validation == run.validation


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (harness.run, "pass a task"),
        (lambda: harness.run("nowhere"), "nowhere"),
        (lambda: harness.run("toxicity", ["random"], tau="x"), "tau='x'"),
        (lambda: harness.run("toxicity", ["random"], samples=0), "samples=0"),
        (lambda: harness.run("toxicity", ["random"], colour=1), "colour=1"),
        (lambda: harness.run(judges="random", resume=True), "keeps its judges"),
        (lambda: harness.run(resume="none"), "none: not a run folder"),
        (
            lambda: harness.run("toxicity", mapping={"id": "x"}),
            "mapping describes the columns of a table",
        ),
        (lambda: harness.run(RATINGS, mapping=MAPPING, item_text=False), "couldn't be resumed"),
        (lambda: harness.validate([1, 2]), "expected dicts, found int"),
        (lambda: harness.validate(RATINGS, mapping={"id": "nope"}), "rows: .*nope"),
        (lambda: harness.validate("toxicity", [{"item": "x"}]), "verdicts.jsonl: line 1"),
    ],
)
def test_wrong_arguments_are_one_clear_error(call, words):
    """What is wrong is named, without paths of temporary folders."""
    with pytest.raises(harness.HarnessError, match=words) as error:
        call()
    assert "/tmp/tmp" not in str(error.value)


def test_a_batch_on_a_cluster_is_refused_before_the_store_is_opened(tmp_path):
    """It ended in an internal error after the run folder was made."""
    pytest.importorskip("ray", reason="it is an extra")
    options = {"batch": True, "executor": "ray", "store": "postgresql://127.0.0.1:1/none"}
    with pytest.raises(
        harness.HarnessError, match=r"batch cannot be used with store\. Drop one of them"
    ):
        harness.run("toxicity", judges=["lexicon"], limit=2, out=tmp_path, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_repr_of_a_run_with_many_judges_was_as_long_as_their_names(tmp_path):
    """Up to three are named, more are counted."""
    judges = ["random", *(f"random@self-consistency:{n}" for n in (3, 5, 7))]
    three = harness.run("toxicity", judges[:3], limit=2, out=tmp_path, cache=tmp_path / "cache")
    four = harness.run("toxicity", judges, limit=2, out=tmp_path, cache=tmp_path / "cache")
    assert ", judges: random, random@self-consistency:3" in repr(three)
    assert ", 4 judges, $" in repr(four)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"raters": ["zed"]}, "rows: mapping['raters']: found no column 'zed'"),
        (
            {"raters": ["ann"]},
            "Pass mapping['text'] = ['text', 'bob', 'cy'], or",
        ),
        ({"people": "ann"}, "mapping has no key 'people'. Use one of name, property, id,"),
    ],
)
def test_errors_of_rows_name_keys_of_the_mapping_and_no_flags(mapping, message):
    """In Python there are no flags, and rows in memory have no file."""
    rows = [
        {"id": f"t{i}", "text": f"Thank you {i}!"} | dict.fromkeys(("ann", "bob", "cy"), value)
        for i, value in enumerate(["rude", "polite"] * 5)
    ]
    with pytest.raises(HarnessError, match=re.escape(message)) as refused:
        harness.load_task(rows, mapping=mapping)
    assert "--" not in str(refused.value)
