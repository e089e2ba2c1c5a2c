"""A run with hostile texts."""

from __future__ import annotations

import fcntl
from contextlib import chdir
from pathlib import Path

import pytest
from support.hostile_run import run_hostile_task

from harness.report.html.details import details_of
from harness.report.rebuild import validation_of
from harness.runs.run_folder import RunFolder
from harness.runs.sources import source_of


@pytest.fixture(scope="session")
def folder(tmp_path_factory, worker_id):
    """The folder of a finished run of a hostile task; all workers share it."""
    base = tmp_path_factory.getbasetemp()
    place = (base if worker_id == "master" else base.parent) / "report"
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (made := place.with_suffix(".made")).exists():
            run_hostile_task(place)
            made.touch()
    [path] = (place / "runs").iterdir()
    return RunFolder.open(path)


@pytest.fixture(scope="session")
def validation(folder):
    """The validation of the hostile run."""
    with chdir(folder.path.parents[1]):
        as_written = RunFolder.open(folder.path.relative_to(Path.cwd()))
        return validation_of(as_written, source_of(as_written))


@pytest.fixture(scope="session")
def details(folder, validation):
    """The items, replies and costs that its page shows."""
    return details_of(source_of(folder), folder, certainty=validation.certainty)
