"""The page on the shared store: its commands run on a real database, its file is valid."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.doc_pages import blocks
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
    [block] = [b for b in blocks(PAGE.read_text(encoding="utf-8")) if b.title]
    file = tmp_path / block.title
    file.write_text(block.text, encoding="utf-8")
    check = ["-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    subprocess.run([sys.executable, *check], check=True, capture_output=True)
