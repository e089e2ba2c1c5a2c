"""Another distribution adds a strategy: the one of docs/how-to/strategy.md, step by step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zipfile
from functools import partial
from pathlib import Path

import pytest
from support.doc_pages import blocks
from support.processes import call_harness, run_harness, start_harness
from support.task_folders import make_task_folder

CHECKOUT = Path(__file__).resolve().parent.parent
N = 6
NAME = "my-model@two-sided:3"


@pytest.fixture(scope="module")
def page():
    """The page."""
    return (CHECKOUT / "docs/how-to/strategy.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(page, tmp_path_factory):
    """A folder in which the distribution is installed that the files of the page make."""
    source = tmp_path_factory.mktemp("two-sided")
    for block in blocks(page):
        (source / block.title).write_text(block.text, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"],
        cwd=source,
        check=True,
        capture_output=True,
    )
    [wheel] = (source / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(source / "site")
    return source / "site"


@pytest.fixture
def env(site, tmp_path):
    """Environment in which the distribution is installed; a folder with the task."""
    make_task_folder(tmp_path / "datasets" / "toxicity", n=N)
    paths = [str(site), str(CHECKOUT), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "HARNESS_CACHE": str(tmp_path / "cache"),
    }


@pytest.fixture
def harness(env, tmp_path):
    """Run the command line in that folder."""
    return partial(run_harness, cwd=tmp_path, env=env)


@pytest.fixture
def in_process(env, site, tmp_path, monkeypatch):
    """As `harness`, in this process."""
    monkeypatch.syspath_prepend(str(site))
    return partial(call_harness, cwd=tmp_path, env=env)


@pytest.fixture
def command(page, stub):
    """The command of the page, on the stub server."""
    stub.reset()
    [line] = [line for line in page.splitlines() if line.startswith("    harness run")]
    words = line.replace("http://127.0.0.1:8000/v1", stub.url()).split()
    return [*words[1:], "--samples", "2", "--elicitation", "forced_choice", "--quiet"]


def run_of(folder):
    [path] = (folder / "runs").iterdir()
    return path


def lines_of(run, judge=None):
    rows = (run / "verdicts.jsonl").read_text(encoding="utf-8").split("\n")[1:-1]
    return [row for row in map(json.loads, rows) if judge in {None, row["judge"]}]


def judges_of(run):
    judges = json.loads((run / "metrics.json").read_text(encoding="utf-8"))["judges"]
    return {judge["name"]: judge for judge in judges}


@pytest.mark.slow
def test_the_strategy_of_the_page_does_what_a_built_in_one_does(harness, command, stub, tmp_path):
    """Its prompt is sent and kept, its replies make verdicts, and it is ranked like any judge."""
    result = harness(*command)
    assert result.returncode == 0, result.stderr
    run = run_of(tmp_path)
    assert len(lines_of(run, NAME)) == N * 2 * 3
    [counts] = judges_of(run)[NAME]["outcomes"]
    assert (counts["elicitation"], counts["planned"]) == ("forced_choice", N * 2)
    bodies = [json.loads(request["body"]) for request in stub.requests()]
    own = [body for body in bodies if "speaks for every option" in json.dumps(body)]
    assert {body["max_tokens"] for body in own} == {256}
    assert "speaks for every option" in (run / "prompts" / "two_sided.txt").read_text("utf-8")
    before = judges_of(run)
    assert harness("validate", run, "--quiet").returncode == 0
    assert judges_of(run) == before


@pytest.mark.slow
def test_a_killed_run_of_a_plug_in_strategy_goes_on(harness, command, env, stub, tmp_path):
    """With the template that its folder keeps; no reply that was received is asked for again."""
    stub.hold_after(20)
    process = start_harness(*command, cwd=tmp_path, env=env)
    while not (list((tmp_path / "runs").glob("*/verdicts.jsonl")) and lines_of(run_of(tmp_path))):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.kill()
    process.communicate()
    received = {row["reply"]["request"] for row in lines_of(run_of(tmp_path))}
    stub.release()
    stub.reset()
    result = harness("resume", "--quiet", "--base-url", stub.url())
    assert result.returncode == 0, result.stderr
    rows = lines_of(run_of(tmp_path))
    assert len(lines_of(run_of(tmp_path), NAME)) == N * 2 * 3
    assert len(rows) == N * 2 * (3 + 1)
    assert stub.stats()["requests"] <= len(rows) - len(received)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my-model@cot@two-sided:3", "isn't compatible with two-sided:3"),
        ("lexicon@two-sided:3", "needs a judge that reads prompts"),
    ],
)
def test_plugins_that_do_not_fit_fail_in_one_line(in_process, name, message):
    """Exit code 2 before anything is asked."""
    server = ("--base-url", "http://127.0.0.1:1/v1") if "lexicon" not in name else ()
    command = ("run", "--task", "toxicity", "--judges", name, "--dry-run", *server)
    result = in_process(*command)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert message in " ".join(result.stderr.split())
