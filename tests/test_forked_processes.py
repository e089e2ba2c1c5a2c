"""A process that is forked behaves as one that is started; see `support/forked_harness.py`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from support.annotating import make_unrated_task
from support.forked_processes import ForkedProcess, can_fork
from support.processes import start_harness

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are started there")


@pytest.mark.slow
def test_its_output_and_exit_code_are_those_of_a_process_that_is_started(tmp_path):
    """In its own folder, with its own variables, and an error on stderr."""
    make_unrated_task(tmp_path / "tasks" / "mine", ["Hm."])
    environment = os.environ | {"HARNESS_TASKS": "tasks"}
    for words in (["tasks"], ["validate", "nothing"], ["run", "--wrong"]):
        forked = ForkedProcess(words, cwd=tmp_path, env=environment)
        stdout, stderr = forked.communicate(timeout=60)
        command = [sys.executable, "-m", "harness", *words]
        started = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert (stdout, stderr) == (started.stdout, started.stderr)
        assert forked.returncode == started.returncode
    assert "mine" in ForkedProcess(["tasks"], cwd=tmp_path, env=environment).communicate()[0]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 0)], ids=str
)
def test_it_gets_signals_of_its_own(tmp_path, number, code):
    """One of two is killed, or interrupted: the other goes on."""
    make_unrated_task(tmp_path / "task", ["Hm."])
    words = ("annotate", "./task", "--rater")
    with (
        start_harness(*words, "ann", cwd=tmp_path) as process,
        start_harness(*words, "bob", cwd=tmp_path) as other,
    ):
        assert isinstance(process, ForkedProcess)
        assert "Open http" in process.stdout.readline() + process.stdout.readline()
        process.send_signal(number)
        assert process.wait(timeout=60) == code
        assert other.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(timeout=0.01)
        other.kill()
        other.communicate()


def test_changes_that_need_a_new_interpreter_are_not_forked(tmp_path):
    """A process with another path, as those with plug-ins, is started."""
    assert can_fork(os.environ)
    assert not can_fork(os.environ | {"PYTHONPATH": str(tmp_path)})
