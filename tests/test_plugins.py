"""Another distribution adds a kind of judge and a metric; both are used from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from support.processes import call_harness
from support.task_folders import make_task_folder

from harness import loading

CHECKOUT = Path(__file__).resolve().parent.parent
PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "first-option"
version = "1.0"

[project.entry-points."judge_harness.judges"]
first-option = "first_option:FirstOption"
text-length = "first_option:TextLength"
random = "first_option:Shadow"
broken = "first_option:missing"
no-class = "first_option:same_mode"

[project.entry-points."judge_harness.metrics"]
same_mode = "first_option:same_mode"
broken_metric = "first_option_absent:metric"
other_name = "first_option:same_mode"
failing = "first_option:failing"
silent = "first_option:silent"
"hit_rate(h/h)" = "first_option:shadow_metric"

[tool.hatch.build.targets.wheel]
only-include = ["first_option.py"]
"""
MODULE = '''
"""A judge that gives the first option, and a metric."""
import sys
from dataclasses import replace
import numpy as np
from harness.judging.judges.base import PromptedJudge
from harness.judging.parsing.verdict import Reply
from harness.stats.inference.metric import Metric
from harness.stats.metrics.registry import METRICS

print("first_option was imported", file=sys.stderr)


class FirstOption(PromptedJudge):
    """Gives the first option of the task."""

    def __init__(self, spec, task, prompts, *, seed=0):
        super().__init__(spec, task, prompts, seed=seed)
        self._first = task.options[0].key

    async def ask(self, request):
        return Reply(request=request.hash, text=self._first, model="first", cost_usd=0.0)


class Shadow(FirstOption):
    pass


class TextLength(FirstOption):
    """Gives the length of what it is asked, as a text metric would."""

    async def ask(self, request):
        length = str(len(request.messages[-1].content) / 100)
        return Reply(request=request.hash, text=length, model="length", cost_usd=0.0)


built_in = next(metric for metric in METRICS if metric.name == "hit_rate(h/h)")
same_mode = Metric(
    name="same_mode",
    display_name="same mode",
    paper="none",
    contributions=built_in.contributions,
    value=built_in.value,
    reason=built_in.reason,
    bounds=built_in.bounds,
    human_form="h",
    judge_form="h",
)
silent = replace(
    same_mode,
    name="silent",
    value=lambda totals: totals[..., 0] * float("nan"),
    reason=lambda totals: "because",
)
failing = replace(same_mode, name="failing", value=lambda totals: totals["no such key"])
shadow_metric = None
'''


def test_names_were_looked_up_at_every_metric_of_a_page(tmp_path, monkeypatch):
    """Distributions are read again once one was installed, and not before."""
    look_ups = []

    def counted(**chosen):
        look_ups.append(chosen)
        return entry_points(**chosen)

    monkeypatch.setattr(loading, "entry_points", counted)
    monkeypatch.syspath_prepend(tmp_path)
    for _ in range(3):
        assert loading.names("judge_harness.test") == ()
    assert len(look_ups) == 1
    folder = tmp_path / "late-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: late\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[judge_harness.test]\nlate = late:Judge\n")
    assert loading.names("judge_harness.test") == ("late",)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder in which the distribution is installed."""
    source = tmp_path_factory.mktemp("first-option")
    (source / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (source / "first_option.py").write_text(MODULE, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"],
        cwd=source,
        check=True,
        capture_output=True,
    )
    [wheel] = (source / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(source / "site")
    return source / "site"


@pytest.fixture
def harness(site, tmp_path):
    """Run the command line with the distribution installed, in a folder with the task ``small``."""
    make_task_folder(tmp_path / "datasets" / "small", n=12)
    paths = [str(site), str(CHECKOUT), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HARNESS_CACHE": str(tmp_path / "c")}

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "harness", *arguments],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def in_process(site, tmp_path, monkeypatch):
    """As `harness`, in this process, where only what the command prints and writes is checked."""
    make_task_folder(tmp_path / "datasets" / "small", n=12)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "c"))
    return partial(call_harness, cwd=tmp_path)


def metrics_of(folder):
    [path] = (folder / "runs").glob("*/metrics.json")
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_judge_and_metric_of_another_distribution(harness, tmp_path):
    """`--judges` names the kind, `--metric` the metric; both stand in metrics.json."""
    result = harness("run", "--task", "small", "--judges", "first-option", "--metric", "same_mode")
    assert result.returncode == 0, result.stderr
    validation = metrics_of(tmp_path)
    assert validation["ranking"]["metric"] == "same_mode"
    [judge] = [judge for judge in validation["judges"] if judge["name"] == "first-option"]
    assert judge["kind"] == "first-option"
    assert judge["metrics"]["same_mode"]["value"] == judge["metrics"]["hit_rate(h/h)"]["value"]


@pytest.mark.slow
def test_kind_of_another_distribution_in_judges_yaml(harness, tmp_path):
    """`kind: NAME` gives the judge an alias, parameters and a number of samples."""
    (tmp_path / "own.yaml").write_text(
        "judges: {mine: {kind: first-option, model: m, samples: 2}}", encoding="utf-8"
    )
    result = harness("run", "--task", "small", "--judges", "mine", "--judges-file", "own.yaml")
    assert result.returncode == 0, result.stderr
    [judge] = [judge for judge in metrics_of(tmp_path)["judges"] if judge["name"] == "mine"]
    assert judge["kind"] == "first-option"


@pytest.mark.slow
def test_plug_ins_load_only_when_named_and_never_shadow(harness, tmp_path):
    """Its `random` and `hit_rate(h/h)` stay unused, and nothing of it is imported."""
    result = harness(*("run", "--task", "small", "--judges", "random", "--metric", "hit_rate(h/h)"))
    assert result.returncode == 0, result.stderr
    assert "first_option was imported" not in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--judges", "broken"), "plug-in 'broken' of first-option cannot be loaded (Attribute"),
        (("--judges", "no-class"), "plug-in 'no-class': "),
        (("--judges", "absent"), "unknown judge 'absent'"),
        (("--metric", "broken_metric"), "'broken_metric' of first-option cannot be loaded (Module"),
        (("--metric", "other_name"), "The plug-in must provide a Metric with that name"),
        (("--metric", "absent_metric"), "no metric is named 'absent_metric'"),
    ],
)
def test_broken_plug_in_is_one_line(in_process, tmp_path, options, message):
    """Exit code 2 and one line, before anything is asked."""
    judges = () if options[0] == "--judges" else ("--judges", "first-option")
    result = in_process("run", "--task", "small", *judges, *options)
    assert result.returncode == 2
    lines = result.stderr.replace("first_option was imported\n", "").splitlines()
    assert message in " ".join(lines)
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "runs").exists()


def test_metric_that_raises_is_one_line(in_process, tmp_path):
    """The run ended with a traceback and 70; it names the plug-in, and the replies are kept."""
    result = in_process("run", "--task", "small", "--judges", "first-option", "--metric", "failing")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    last = " ".join(result.stderr.splitlines()[-2:])
    assert "plug-in 'failing': `value` of the metric fails (IndexError: " in last
    [run] = (tmp_path / "runs").iterdir()
    assert len((run / "verdicts.jsonl").read_text().splitlines()) == 1 + 2 * 12
    assert in_process("validate", str(run), "--metric", "same_mode").returncode == 0
    unknown = in_process("validate", str(run), "--metric", "silent")
    assert unknown.returncode == 2
    assert "`reason` of the metric fails ('because' is not one of the reasons" in unknown.stderr


def test_metrics_of_plug_ins_are_listed(in_process):
    """They are accepted by --metric; those that cannot be loaded are named on stderr."""
    result = in_process("lab", "metrics", "--json")
    assert result.returncode == 0
    listed = {row["metric"]: row["for"] for row in json.loads(result.stdout)}
    assert listed["same_mode"] == listed["failing"] == "plug-in"
    assert listed["hit_rate(h/h)"] == "all tasks"
    assert "broken_metric" not in listed
    assert "plug-in 'broken_metric' of first-option cannot be loaded" in result.stderr


def test_a_plug_in_may_give_numbers(in_process, tmp_path):
    """Its numbers, asked for by ``@scoring-higher``, are mapped to options and order the items."""
    judge = "text-length@scoring-higher"
    result = in_process("run", "--task", "small", "--judges", judge)
    assert result.returncode == 0, result.stderr
    [scored] = metrics_of(tmp_path)["scores"]["judges"]
    assert (scored["judge"], scored["better"], scored["is_declared"]) == (judge, "higher", True)
    assert scored["strata"][0]["n_items"] == 12
    [ranked] = [row for row in metrics_of(tmp_path)["judges"] if row["name"] == judge]
    assert ranked["kind"] == "text-length"
    assert ranked["metrics"]["hit_rate(h/h)"]["n_used"] == 12


def test_unknown_kind_in_judges_yaml_is_one_line(in_process, tmp_path):
    """The line names the file and the kinds there are."""
    (tmp_path / "own.yaml").write_text("judges: {mine: {kind: absent, model: m}}", encoding="utf-8")
    result = in_process("judges", "--judges-file", "own.yaml")
    assert result.returncode == 2
    assert "own.yaml: judges.mine.kind: 'absent' must be built in" in result.stderr
