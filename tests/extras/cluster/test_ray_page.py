"""The page on Ray clusters: its commands run on a real cluster, its file is valid."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.doc_pages import blocks
from support.packages import need
from support.processes import run_harness

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

PAGE = Path(__file__).resolve().parents[3] / "docs/how-to/ray-cluster.md"
ADDRESS = "postgresql://harness@db.example.org/judges"


def test_its_commands_run_on_a_cluster(database, cluster, tmp_path):
    """Every `harness` command but the last ends with 0; nothing is left to resume."""
    commands = [
        shlex.split(line.replace(ADDRESS, database))[1:]
        for block in blocks(PAGE.read_text(encoding="utf-8"))
        if block.kind == "console"
        for line in block.text.splitlines()
        if line.startswith("harness ")
    ]
    env = os.environ | cluster.env | {"HARNESS_RUNS": str(tmp_path / "runs")}
    results = [run_harness(*command, cwd=tmp_path, env=env) for command in commands]
    assert [result.returncode for result in results] == [0, 0, 2], results
    assert "unfinished" in results[-1].stderr


def test_its_cluster_file_is_valid(tmp_path):
    """The file follows the schema that Ray has for it; nothing is started."""
    need("ray")
    need("check-jsonschema")
    [block] = [b for b in blocks(PAGE.read_text(encoding="utf-8")) if b.title]
    file = tmp_path / block.title
    file.write_text(block.text, encoding="utf-8")
    schema = Path(find_spec("ray").submodule_search_locations[0]) / "autoscaler/ray-schema.json"
    assert "head_start_ray_commands" in json.loads(schema.read_text())["properties"]
    check = ["-m", "check_jsonschema", "--schemafile", str(schema), str(file)]
    subprocess.run([sys.executable, *check], check=True, capture_output=True)
