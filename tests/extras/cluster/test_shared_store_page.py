"""The page on the shared store: its commands run on a real database, its file is valid."""

from __future__ import annotations

import configparser
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.doc_pages import blocks
from support.packages import need
from support.processes import invoke

pytestmark = pytest.mark.cluster

PAGE = Path(__file__).resolve().parents[3] / "docs/how-to/shared-store.md"
ADDRESS = "postgresql://harness@db.example.org/judges"


def test_its_commands_run_on_a_database(database, tmp_path, monkeypatch):
    """Every `harness` command ends with 0 when the address is that of a real database."""
    monkeypatch.chdir(tmp_path)
    commands = [
        shlex.split(line.replace(ADDRESS, database))[1:]
        for block in blocks(PAGE.read_text(encoding="utf-8"))
        if block.kind == "console"
        for line in block.text.splitlines()
        if line.startswith("harness ")
    ]
    assert len(commands) == 4
    for command in commands:
        result = invoke(*command)
        assert result.exit_code == 0, (command, result.output)


def test_its_compose_file_is_valid(tmp_path):
    """The file follows the specification of Compose; nothing is started."""
    need("check-jsonschema")
    [block] = [b for b in blocks(PAGE.read_text(encoding="utf-8")) if b.title.startswith("docker")]
    file = tmp_path / block.title
    file.write_text(block.text, encoding="utf-8")
    check = ["-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    subprocess.run([sys.executable, *check], check=True, capture_output=True)


def example(title):
    [block] = [b for b in blocks(PAGE.read_text(encoding="utf-8")) if b.title == title]
    return block.text


@pytest.mark.parametrize("title", ["start.sh", "judging.slurm"])
def test_its_scripts_are_valid(title):
    """The shell reads them; nothing is started."""
    subprocess.run(["bash", "-n"], input=example(title), text=True, check=True)


def test_its_unit_of_systemd_is_valid():
    """It has the sections and the one command of a oneshot service."""
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str
    unit.read_string(example("judging@.service"))
    assert set(unit) == {"DEFAULT", "Unit", "Service"}
    assert unit["Service"]["Type"] == "oneshot"
    assert unit["Service"]["ExecStart"].startswith("/")


def test_its_job_of_kubernetes_is_valid():
    """It has what `batch/v1` requires of a Job, and restarts what fails."""
    job = yaml.safe_load(example("job.yaml"))
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    assert job["spec"]["completions"] == job["spec"]["parallelism"]
    pod = job["spec"]["template"]["spec"]
    assert pod["restartPolicy"] in {"OnFailure", "Never"}
    assert all({"name", "image"} <= set(container) for container in pod["containers"])


@pytest.mark.parametrize("title", ["start.sh", "judging.slurm", "judging@.service", "job.yaml"])
def test_its_examples_name_options_that_exist(title):
    """Each option stands in the help of `harness run`."""
    options = set(re.findall(r"--[a-z][a-z-]+", example(title).partition("harness")[2]))
    shown = invoke("run", "--help-all").output
    assert options >= {"--task", "--judges", "--store"}
    assert [option for option in options if option not in shown] == []
