"""The package without one of its edges: what is left works, and what is gone is said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import COMMANDS
from harness.edges import EDGES

CHECKOUT = Path(__file__).resolve().parent.parent
API = {"estimation": "estimate", "revalidation": "revalidate", "experiments": "selftest"}
IMPORTS = """
import harness, harness.testing
assert harness.__file__.startswith({copy!r})
for name in harness.__all__:
    assert hasattr(harness, name) == (name != {gone!r}), name
assert harness.run("toxicity", ["lexicon"], limit=20).exit_code == 0
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("edge", EDGES)
def test_without_an_edge_the_core_works_and_its_commands_are_gone(edge, tmp_path):
    """A copy of the package without one edge: imports, the main job, the core's own tests."""
    copy, place = tmp_path / "copy", tmp_path / "place"
    place.mkdir()
    left_out = {str(CHECKOUT / "harness"): [edge]}
    shutil.copytree(
        CHECKOUT / "harness",
        copy / "harness",
        ignore=lambda folder, _: ["__pycache__", *left_out.get(folder, [])],
    )
    for folder in ("datasets", "prompts"):
        (copy / folder).symlink_to(CHECKOUT / folder)

    def call(*words: str, code: int = 0) -> str:
        environment = os.environ | {"PYTHONPATH": str(copy), "HARNESS_CACHE": str(place / "cache")}
        done = subprocess.run(
            [sys.executable, *words],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    call("-c", IMPORTS.format(copy=str(copy), gone=API.get(edge)))
    shown = call("-m", "harness", "--help")
    for name, source in COMMANDS.items():
        assert (f"\n  {name} " in shown) == (edge not in source.edges)
        if edge in source.edges:
            assert f"No such command '{name}'" in call("-m", "harness", name, code=2)
    run = ("run", "--task", "toxicity", "--judges", "lexicon,random", "--limit", "40")
    assert "lexicon" in call("-m", "harness", *run, "--out", "mine")
    [folder] = (place / "mine").glob("toxicity-*")
    for command in ("validate", "report"):
        call("-m", "harness", command, str(folder))
    core = "test_run_gives_the_results_of_its_folder or test_asking_imports"
    files = [str(CHECKOUT / "tests" / name) for name in ("test_api.py", "test_layers.py")]
    paths = ("-o", f"pythonpath={copy} {CHECKOUT / 'tests'}")  # the checkout's comes first else
    assert "2 passed" in call("-m", "pytest", "-q", "-n0", *paths, *files, "-k", core)
