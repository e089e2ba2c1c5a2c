"""Parts are added as CONTRIBUTING.md shows, each by a file, a field or an entry."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from support.doc_pages import blocks
from support.task_folders import make_task_folder

pytestmark = pytest.mark.docs

CHECKOUT = Path(__file__).resolve().parent.parent
FORMS = "FORMS: dict[Form, Aggregation] = {\n"
ENTRY = """
    "rare": Aggregation(
        vectors=lambda dist, _: 1.0 - dist.O,
        elicitation="forced_choice",
        symbol="rare",
        words="options not chosen",
        meaning="shares of other choices",
    ),
"""


FORMATS = "FORMATS = (\n"
COLUMNS = "COLUMNS = (\n"
VIEWS = """
import harness
from harness.report import judge_card, page, ranking_csv, render

v = harness.validate("task", "verdicts.csv")
print("\\f".join(f(v) for f in (render, type(v)._repr_html_, page, judge_card, ranking_csv)))
"""
GATE = "\n\n@takes\ndef gate("


@pytest.fixture(scope="module")
def page():
    """The blocks of the page that are files, by their name."""
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return {block.title: block.text for block in blocks(text) if block.title}


def change(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def copy(page, tmp_path_factory):
    """Copy the package, add the files of the page, and the entries that it asks for."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        CHECKOUT / "harness", folder / "harness", ignore=shutil.ignore_patterns("__pycache__")
    )
    added = [name for name in page if name.startswith("harness/")]
    assert len(added) == 3
    for name in added:
        assert not (folder / name).exists()
        (folder / name).write_text(page[name], encoding="utf-8")
    change(folder / "harness/stats/data/forms.py", FORMS, FORMS + ENTRY)
    column = folder / "harness/report/ranking_columns.py"
    change(column, COLUMNS, f"{page['a column']}\n{COLUMNS}    STORED,\n")
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [field] = re.findall(r"`(least: int = option\(.*?)` in `GateOptions` of", text)
    change(folder / "harness/cli/gate.py", GATE, f"    {field}\n\n{GATE}")
    imported = "from harness.curation.formats.rating_app import RATING_APP\n"
    change(
        folder / "harness/curation/formats/__init__.py",
        FORMATS,
        f"{imported}\n{FORMATS}    RATING_APP,\n",
    )
    return folder


@pytest.fixture
def printed_by(copy, tmp_path):
    """Run Python with the copy, and return what it prints."""

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def printed(printed_by):
    """Run a command with the copy, and return what it prints."""
    return partial(printed_by, "-m", "harness")


@pytest.fixture
def judged(tmp_path):
    """Write a task and verdicts on its items."""
    make_task_folder(tmp_path / "task", n=12)
    verdicts = "\n".join(f"i{i},z,A" for i in range(12))
    (tmp_path / "verdicts.csv").write_text(f"item,judge,value\n{verdicts}\n", encoding="utf-8")


@pytest.mark.usefixtures("judged")
def test_a_metric_in_one_file_and_a_form_in_one_entry_are_in_the_output_of_a_run(printed):
    """`harness validate` computes the metric, and every metric that compares the form."""
    result = json.loads(
        printed("validate", "--task", "./task", "--verdicts", "verdicts.csv", "--json")
    )
    [judge] = result["judges"]
    metrics = judge["metrics"]
    assert metrics["apart(s/s)"]["value"] == 9 / 12  # raters agree on every fourth item
    assert metrics["mse(rare/rare)"]["value"] == pytest.approx(metrics["mse(s/s)"]["value"])
    assert metrics["mse(rare/rare)"]["interval"] is not None
    names = {"apart(s/s)", "mse(rare/srs)", "mse(h/rare)", "bce(rare/h)"}
    assert names < set(metrics)
    assert "apart(s/s)" in printed("lab", "metrics")


@pytest.mark.usefixtures("judged")
def test_the_column_of_the_page_is_in_every_view(printed_by):
    """Narrow views have its short head, page and card the other one, the CSV its raw value."""
    views = printed_by("-c", VIEWS).split("\f")
    heads = ("stored", ">stored<", ">replies from the store<", "replies from the store", "n_from")
    for view, head in zip(views, heads, strict=True):
        assert view.count(head) == 1


def test_the_option_of_the_page_has_flag_bounds_and_help(printed):
    """One field is all: `@takes` derives the rest."""
    shown = " ".join(printed("gate", "--help").split())
    described = r"--least \S+ Judges that the run must have\. \[x>=1\] \[default: 1\]"
    assert re.search(described, shown)


def test_the_recipe_of_the_page_reads_its_table(page, printed, tmp_path):
    """Found by its name, as a bundled one."""
    (tmp_path / "tone.csv").write_text(page["tone.csv"], encoding="utf-8")
    shown = printed("curate", "import", "tone.csv", "--as", "tone", "--recipe", "tone-of-replies")
    assert "Wrote tone: 2 items, 3 raters, 6 ratings." in shown
    task = (tmp_path / "tone/task.yaml").read_text(encoding="utf-8")
    assert "whether the reply is polite" in task
    assert "CC0-1.0" in task


def test_the_reader_of_the_page_reads_its_export(page, printed, tmp_path):
    """Recognised by its marks, without options."""
    (tmp_path / "rated.json").write_text(page["rated.json"], encoding="utf-8")
    shown = printed("curate", "import", "rated.json", "--as", "rated")
    assert "an export of Rating App" in shown
    assert "Wrote rated: 2 items, 2 raters, 4 ratings." in shown
