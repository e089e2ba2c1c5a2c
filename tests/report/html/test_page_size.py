"""How large a page is, and what it takes to write one."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest
from support.task_folders import make_task_folder

from harness.analysis import Validation, validate
from harness.report import details_of, page
from harness.runs.sources import source_of_verdicts

N_JUDGES = 10
ANSWERS = {"forced_choice": ("A", "B"), "response_set": (["A"], ["B"], ["A", "B"])}
TEXT = "A comment of the usual length, which says one thing and then says it once more. " * 3
CHILD = """
import json, re, sys, time
from pathlib import Path
from harness.runs.sources import source_of_verdicts
from harness.report import details_of, page
from harness.analysis import Validation
place = Path(sys.argv[1])
source = source_of_verdicts(str(place / "task"), place / "verdicts.jsonl")
v = Validation.from_json((place / "metrics.json").read_bytes())
(place / "report.html").write_text(page(v, details_of(source)), encoding="utf-8")
status = Path("/proc/self/status").read_text()  # not ru_maxrss, which a child inherits
peak = int(re.search("VmHWM:[^0-9]*([0-9]+)", status)[1])
print(json.dumps({"cpu_s": time.process_time(), "peak_kib": peak}))
"""


def prepare(place, n_items: int):
    """Write a task, and a verdict of each judge on each item in both elicitations."""
    task = make_task_folder(place / "task", n_items, raters=5)
    items = [{"id": f"i{i}", "text": f"{i}: {TEXT}"} for i in range(n_items)]
    rows = "".join(json.dumps(item) + "\n" for item in items)
    (task / "items.jsonl").write_text(rows, encoding="utf-8")
    draw = random.Random(0)
    with (place / "verdicts.jsonl").open("w", encoding="utf-8") as file:
        for j in range(N_JUDGES):
            for i in range(n_items):
                for elicitation, values in ANSWERS.items():
                    row = {"item": f"i{i}", "judge": f"judge-{j}", "elicitation": elicitation}
                    file.write(json.dumps(row | {"value": draw.choice(values)}) + "\n")


def computed(place) -> Validation:
    """Few resamples: a page shows as many numbers whatever they rest on."""
    source = source_of_verdicts(str(place / "task"), place / "verdicts.jsonl")
    return validate(source.with_settings(n_resamples=100))


@pytest.mark.slow
def test_page_of_200_items_and_10_judges_is_below_3_megabytes(tmp_path):
    """It can be sent by mail."""
    prepare(tmp_path, 200)
    source = source_of_verdicts(str(tmp_path / "task"), tmp_path / "verdicts.jsonl")
    html = page(computed(tmp_path), details_of(source))
    assert len(html.encode()) < 3e6


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_page_of_10000_items_and_10_judges_takes_20_seconds_and_a_gibibyte(tmp_path):
    """From the files of a run to its page, in a process of its own."""
    prepare(tmp_path, 10_000)
    (tmp_path / "metrics.json").write_text(computed(tmp_path).to_json(), encoding="utf-8")
    child = [sys.executable, "-c", CHILD, str(tmp_path)]
    done = subprocess.run(child, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    took = json.loads(done.stdout)
    assert took["cpu_s"] <= 20
    assert took["peak_kib"] <= 1 << 20
    assert (tmp_path / "report.html").stat().st_size < 12e6
