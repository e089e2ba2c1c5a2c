"""Several tasks together: decisions, beta of each judge, and the regret of choosing by a metric."""

from __future__ import annotations

import contextlib
import json
import shutil
from statistics import mean

import numpy as np
import pytest
from support.html_pages import (
    assert_headings_are_numbered_as_listed,
    assert_no_two_metrics_look_alike,
)
from support.processes import invoke

from harness.analysis import Validation
from harness.analysis.serialize import to_json
from harness.analysis.study import study
from harness.analysis.study_figures import task_figures
from harness.errors import RunError
from harness.report.annotator_charts import judges_by_advantage
from harness.report.judge_charts import metric_label
from harness.report.study_page import beta_charts, defined_goals, names_in, regret_table
from harness.runs.run_folder import find_run
from harness.runs.sources import source_of
from harness.tasks import bundled

WORDS = (
    *("--task", "toxicity,./rudeness"),
    *("--judges", "lexicon,random", "--limit", "20"),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a second task: the bundled one with its items in reverse order."""
    folder = tmp_path_factory.mktemp("study")
    task = folder / "rudeness"
    shutil.copytree(bundled("datasets") / "toxicity", task)
    description = (task / "task.yaml").read_text(encoding="utf-8")
    (task / "task.yaml").write_text(
        description.replace("name: toxicity", "name: rudeness"), encoding="utf-8"
    )
    lines = (task / "items.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (task / "items.jsonl").write_text("".join(reversed(lines)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def validations(place):
    """The results of two judges in both tasks, asked for 20 items, by run."""
    with contextlib.chdir(place):
        done = invoke("run", *WORDS, "--json")
    assert done.exit_code == 0, done.output
    runs = [row["run"] for row in json.loads(done.stdout)["tasks"]]
    return {
        run: Validation.from_json((place / "runs" / run / "metrics.json").read_bytes())
        for run in runs
    }


@pytest.mark.slow
def test_decisions_and_regrets_are_those_of_each_validation(validations):
    """Nothing is worked out anew; the mean is over the tasks in which the regret is defined."""
    result = study(validations)
    assert [row.task for row in result.tasks] == ["toxicity", "rudeness"]
    for row in result.tasks:
        decision = validations[row.run].decision
        assert (row.verdict, row.judge) == (decision.verdict, decision.judge)
    assert [(row.judge, row.task) for row in result.betas] == [
        (judge, task) for task in ("toxicity", "rudeness") for judge in ("lexicon", "random")
    ]
    for row in result.regrets:
        by_task = {
            v.task.name: v.choosing.regret[row.metric][row.goal].value for v in validations.values()
        }
        assert row.by_task == {task: value for task, value in by_task.items() if value is not None}
        assert row.mean == pytest.approx(mean(row.by_task.values()))
        assert row.n_not_best == sum(value > 1e-12 for value in row.by_task.values())


@pytest.mark.slow
def test_regret_by_beta_is_the_loss_beyond_the_best_judge_at_that_beta(validations):
    """By hand from the curves of each judge, averaged over tasks; never negative."""
    result = study(validations)
    assert result.curves
    for curve in result.curves:
        assert curve.tasks == ("toxicity", "rudeness")
        expected = np.zeros(len(curve.betas))
        for task, v in zip(curve.tasks, validations.values(), strict=True):
            grid = v.sensitivity.grid
            tau = grid.taus.index(v.tau)
            columns = [grid.betas.index(beta) for beta in curve.betas]
            is_share = curve.goal == "decision_consistency"
            losses = {}
            for judge, surface in grid.judges.items():
                value = np.array((surface.consistency if is_share else surface.bias)[tau])[columns]
                losses[judge] = -value if is_share else np.abs(value)
            selected = result.selections[task][curve.metric].judges
            for b, judges in enumerate(selected):
                best = min(values[b] for values in losses.values())
                expected[b] += np.mean([losses[judge][b] for judge in judges]) - best
        assert curve.regret == pytest.approx((expected / 2).tolist(), abs=1e-3)
        assert min(curve.regret) >= 0.0


@pytest.mark.slow
def test_no_two_metrics_of_a_study_have_the_same_name(place, validations):
    """Three metrics were called "disagreement with raters" in a table and its chart."""
    result = study(validations)
    v = next(iter(validations.values()))
    names = names_in(result, {name: metric_label(v, name) for name in v.judges[0].metrics})
    assert len(names) > 5
    assert len(set(names.values())) == len(names)
    for goal in defined_goals(result):
        _, rows = regret_table(result, goal, names)
        assert len({row[0] for row in rows}) == len(rows)
    with contextlib.chdir(place):
        assert invoke("lab", "study", *validations, "--page", "names.html").exit_code == 0
    page = (place / "names.html").read_text(encoding="utf-8")
    assert_no_two_metrics_look_alike(page)
    [report, *_] = (place / "runs").glob("*/report.html")
    assert_no_two_metrics_look_alike(report.read_text(encoding="utf-8"))


def test_beta_of_each_judge_is_drawn_with_its_interval(validations):
    """A chart per task, with the raters first."""
    result = study(validations)
    charts = beta_charts(result)
    assert [chart.title for chart in charts] == ["toxicity", "rudeness"]
    for chart in charts:
        assert "raters" in chart.alt
        assert all(row.judge in chart.alt for row in result.betas)


def test_prevalence_of_a_study_is_that_of_the_sweep(validations):
    """Figure 8: it grows with beta, and falls with tau."""
    result = study(validations)
    for prevalence in result.prevalence.values():
        shares = np.array(prevalence.shares, dtype=float)
        assert shares.shape == (len(prevalence.taus), len(prevalence.betas))
        assert (np.diff(shares, axis=1) >= 0).all()
        assert (np.diff(shares, axis=0) <= 0).all()


def test_a_study_may_be_of_one_task_but_has_no_task_twice(validations):
    """Means are then of that task; two runs of the same task are refused in one line."""
    first = next(iter(validations.values()))
    assert [row.task for row in study({"run-1": first}).tasks] == [first.task.name]
    with pytest.raises(RunError, match="several of task toxicity"):
        study({"run-1": first, "again": first})


@pytest.mark.slow
def test_study_of_finished_runs_is_that_of_the_command_that_ran_them(place, validations):
    """As table, JSON and page; a dry run gives the calls of both tasks."""
    with contextlib.chdir(place):
        planned = invoke("run", *WORDS, "--dry-run", "--json")
        completed = invoke("lab", "study", *validations, "--json")
        table = invoke("lab", "study", *validations, "--details")
        written = invoke("lab", "study", *validations, "--page", "study.html")
    assert [quote["judge"] for quote in json.loads(planned.stdout)] == ["lexicon", "random"] * 2
    assert json.loads(completed.stdout) == json.loads(to_json(study(validations)))
    assert "Regret, share of items with the same decision" in table.stdout
    assert written.exit_code == 0, written.output
    page = (place / "study.html").read_text(encoding="utf-8")
    assert_headings_are_numbered_as_listed(page)
    assert page.count("<svg") >= 2
    assert "rudeness" in page
    for name in ("items", "winning-rate-by-eps"):
        for task in ("toxicity", "rudeness"):
            assert f'id="chart-{name}-{task}"' in page
    assert (
        "No figure for toxicity: all raters agree on" in page or "chart-certainty-toxicity" in page
    )


@pytest.mark.slow
def test_figures_of_a_task_are_those_of_the_plan_and_of_the_test(place, validations):
    """Power by items as `harness plan annotators` draws it; 0.1 and 0.2 on the same draws."""
    run, v = next(iter(validations.items()))
    folder = find_run(place / "runs", run)
    found = task_figures(source_of(folder), v)
    curve = found.items
    assert curve.judge == judges_by_advantage(v)[0].judge
    assert tuple(curve.by_margin) == (0.1, 0.2)
    low, high = curve.by_margin.values()
    assert [row.n_items for row in low] == [10, 20, 30, 50, 75, 100, 150, 200]
    assert [row.advantage for row in low] == [row.advantage for row in high]
    assert all(a.power <= b.power for a, b in zip(low, high, strict=True))
    assert (found.certainty is None) == bool(found.certainty_reason)


@pytest.mark.slow
def test_cost_limit_holds_for_all_tasks_together(place, stub):
    """The second task may cost what the first one left; at the limit the exit code is 4."""
    judge = {"model": "stub", "base_url": stub.url(), "price": {"input": 1000, "output": 1000}}
    (place / "judges.yaml").write_text(json.dumps({"judges": {"paid": judge}}), encoding="utf-8")
    words = ("--task", "toxicity,./rudeness", "--judges", "paid", "--judges-file", "judges.yaml")
    with contextlib.chdir(place):
        full = invoke("run", *words, "--limit", "4", "--json", "--out", "full", "--no-store")
        assert full.exit_code == 0, full.output
        costs = [cost_of(folder) for folder in sorted((place / "full").iterdir())]
        limit = f"{max(costs) * 1.5:.4f}"
        done = invoke(
            *("run", *words, "--limit", "4", "--max-cost", limit),
            *("--out", "limited", "--no-store"),
        )
    assert done.exit_code == 4, done.output
    assert sum(map(cost_of, (place / "limited").iterdir())) <= float(limit)


def cost_of(folder):
    validation = Validation.from_json((folder / "metrics.json").read_bytes())
    return sum(judge.cost.usd for judge in validation.judges)
