"""What a command prints by default fits on a screen: at most 25 lines on the bundled task."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from support.processes import invoke

import harness
from harness.tasks import load_task

MOST_LINES = 25
TOXICITY = Path(__file__).resolve().parents[2] / "datasets" / "toxicity"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the bundled task, with the verdicts of two judges of another tool."""
    place = tmp_path_factory.mktemp("short") / "tox"
    shutil.copytree(TOXICITY, place)
    items = [item.id for item in load_task(str(place)).items]
    with (place / "verdicts.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "judge", "elicitation", "value"])
        for i, item in enumerate(items):
            rows.writerow([item, "m1", "forced_choice", "AB"[i % 2]])
            rows.writerow([item, "m2", "forced_choice", "AB"[i % 3 > 0]])
    with (place / "many.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "judge", "elicitation", "value"])
        for n in range(2, 22):
            rows.writerows(
                [item, f"m{n}", "forced_choice", "AB"[i % n > 0]] for i, item in enumerate(items)
            )
    return place


@pytest.fixture(scope="module")
def runs(folder):
    """Two runs of a judge and a control, the second with items held out, and another task's."""
    out = folder.parent / "runs"
    judges = ["lexicon", "random"]
    held = harness.run(str(folder), judges, out=out / "held", holdout=0.3, samples=1)
    other = harness.run("coherence", ["random"], out=out / "other", samples=1, limit=20)
    own = harness.run(str(folder), judges, out=out / "all", samples=1)
    return own.path, held.path, other.path


COMMANDS = [
    "run --task FOLDER --judges lexicon,random --samples 1 --out OUT",
    "run --task FOLDER --judges gpt,claude,random --dry-run",
    "validate RUN",
    "report RUN",
    "report RUN HELD",
    "confirm run HELD --judge lexicon",
    "check lexicon FOLDER --limit 10 --out OUT",
    "trust RUN --judge lexicon --max-error 0.3",
    "estimate RUN --judge lexicon --items FOLDER/unlabelled.jsonl",
    "revalidate look RUN",
    "history RUN",
    "curate audit FOLDER",
    "curate next FOLDER --budget 100",
    "plan difference 0.1 --task FOLDER --verdicts FOLDER/verdicts.csv",
    "gate RUN --require decision=use",
    "doctor --judges lexicon",
    "lab study RUN OTHER",
]
SLOW = [
    "validate --task FOLDER --verdicts FOLDER/verdicts.csv",
    "validate --task FOLDER --verdicts FOLDER/many.csv",
    "plan annotators --task FOLDER --verdicts FOLDER/verdicts.csv --judge m1",
]


@pytest.mark.parametrize(
    "command", [*COMMANDS, *(pytest.param(command, marks=pytest.mark.slow) for command in SLOW)]
)
def test_output_fits_on_a_screen(command, folder, runs, tmp_path):
    """The rest is behind --details, or in a file."""
    places = {"FOLDER": folder, "OUT": tmp_path, "RUN": runs[0], "HELD": runs[1]}
    places["OTHER"] = runs[2]
    for name, place in places.items():
        command = command.replace(name, str(place))
    shown = invoke(*command.split())
    assert shown.exit_code in {0, 1, 3}, shown.output
    lines = shown.stdout.splitlines()
    assert 0 < len(lines) <= MOST_LINES, shown.stdout
