"""The package without one of its edges: what is left works, and what is gone is said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import COMMANDS, LAB
from harness.loading import EDGES

CHECKOUT = Path(__file__).resolve().parent.parent
API = {"estimation": "estimate", "revalidation": "revalidate", "experiments": "selftest"}
IMPORTS = """
import harness, harness.testing
assert harness.__file__.startswith({copy!r})
for name in harness.__all__:
    assert hasattr(harness, name) == (name != {gone!r}), name
assert harness.run("toxicity", ["lexicon"], limit=20).exit_code == 0
"""


class Copy:
    """A copy of the package without one edge, and a folder to work in."""

    def __init__(self, parent: Path, edge: str) -> None:
        self.path, self.place = parent / "copy", parent / "place"
        self.place.mkdir()
        package = CHECKOUT.joinpath(*EDGES[edge].removesuffix(".importing").split("."))
        left_out = {str(package.parent): [package.name]}
        shutil.copytree(
            CHECKOUT / "harness",
            self.path / "harness",
            ignore=lambda folder, _: ["__pycache__", *left_out.get(folder, [])],
        )
        for folder in ("datasets", "prompts"):
            (self.path / folder).symlink_to(CHECKOUT / folder)

    def call(self, *words: str, code: int = 0) -> str:
        """Run Python in that folder, and return what it printed."""
        own = {"PYTHONPATH": str(self.path), "HARNESS_CACHE": str(self.place / "cache")}
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.place,
            env=os.environ | own,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("edge", EDGES)
def test_without_an_edge_the_core_works_and_its_commands_are_gone(edge, tmp_path):
    """A copy of the package without one edge: imports, the main job, the core's own tests."""
    copy = Copy(tmp_path, edge)
    call, place = copy.call, copy.place
    call("-c", IMPORTS.format(copy=str(copy.path), gone=API.get(edge)))
    shown = call("-m", "harness", "--help-all")
    in_lab = {f"lab {name}": source for name, source in LAB.items()}
    for name, source in (COMMANDS | in_lab).items():
        if name == "lab":
            continue
        assert (f"\n  {name} " in shown) == (edge not in source.edges)
        if edge in source.edges:
            last = name.split()[-1]
            assert f"No such command '{last}'" in call("-m", "harness", *name.split(), code=2)
    run = ("run", "--task", "toxicity", "--judges", "lexicon,random", "--limit", "40")
    assert "lexicon" in call("-m", "harness", *run, "--out", "mine")
    [folder] = (place / "mine").glob("toxicity-*")
    for command in ("validate", "report"):
        call("-m", "harness", command, str(folder))
    core = "test_run_gives_the_results_of_its_folder or test_asking_imports"
    files = [str(CHECKOUT / "tests" / name) for name in ("test_api.py", "test_layers.py")]
    paths = (
        "-o",
        f"pythonpath={copy.path} {CHECKOUT / 'tests'}",
    )  # the checkout's comes first else
    assert "2 passed" in call("-m", "pytest", "-q", "-n0", *paths, *files, "-k", core)


OFFERED = {  # by an edge, in a command that works without it
    "estimation": "curate draw toxicity --judge lexicon --items new.jsonl --as new --budget 9",
    "racing": "run --task toxicity --judges lexicon,random --race",
}


@pytest.mark.slow
@pytest.mark.parametrize("edge", OFFERED)
def test_option_of_an_edge_is_refused_in_a_line_without_it(edge, tmp_path):
    """Regression: `curate draw` without estimation was an internal error."""
    copy = Copy(tmp_path, edge)
    said = copy.call("-m", "harness", *OFFERED[edge].split(), code=2)
    assert said == f"harness: this installation of judge-harness has no {EDGES[edge]}.\n"
