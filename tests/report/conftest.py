"""A run with hostile texts, and a browser to look at its page."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest
from support.cores import on_all_cores
from support.making import harness, make_task
from support.reporting import HOSTILE, N_ITEMS, N_RATERS, scripts

from harness.report.html.details import details_of
from harness.report.rebuild import validation_of
from harness.runs import RunFolder, source_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def place(tmp_path_factory, worker_id):
    """A folder with a finished run of a task whose texts attack the page; all workers share it."""
    base = tmp_path_factory.getbasetemp()
    place = (base if worker_id == "master" else base.parent) / "report"
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            attacked(place.with_suffix(".part")).rename(place)
    return place


def attacked(place: Path) -> Path:
    """Write the task and run it; where that fails, no later worker finds half of it."""
    shutil.rmtree(place, ignore_errors=True)
    task = make_task(place / "task", N_ITEMS, raters=N_RATERS, response_sets=False)
    items = [
        {"id": f"i{i}", "text": f"Comment {i}. {HOSTILE[i % len(HOSTILE)]}"} for i in range(N_ITEMS)
    ]
    text = "".join(json.dumps(item) + "\n" for item in items)
    (task / "items.jsonl").write_text(text, encoding="utf-8")
    yaml = (task / "task.yaml").read_text(encoding="utf-8")
    yaml = yaml.replace("label: Toxic", 'label: "<b onclick=window.hit=1>Toxic</b>"')
    (task / "task.yaml").write_text(yaml, encoding="utf-8")
    (place / "judges.yaml").write_text(json.dumps({"judges": scripts()}), encoding="utf-8")
    command = ("run", "--task", "task", "--judges", ",".join(scripts()), "--no-cache")
    options = ("--judges-file", "judges.yaml", "--elicitation", "forced_choice,response_set,paired")
    done = harness(*command, *options, cwd=place, env={**os.environ, "HOME": str(place)})
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="session")
def folder(place):
    [path] = (place / "runs").iterdir()
    return RunFolder.open(path)


@pytest.fixture(scope="session")
def source(folder):
    return source_of(folder)


@pytest.fixture(scope="session")
def validation(folder, source):
    return validation_of(folder, source)


@pytest.fixture(scope="session")
def details(folder, source, validation):
    return details_of(source, folder, disputed=validation.decision.disputed)


@pytest.fixture(scope="module")
def browser():
    """Debian's chromium, driven by playwright; the tests that need it skip where it is absent.

    Not for longer than a module: while it is driven, no other event loop runs in this process.
    """
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no chromium on PATH")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with on_all_cores():
        playwright = driver.sync_playwright().start()
        started = playwright.chromium.launch(executable_path=program, args=arguments)
    yield started
    started.close()
    playwright.stop()
