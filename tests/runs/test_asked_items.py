"""What judges are shown: which items, in which elicitation, and that the counts add up."""

from __future__ import annotations

import json

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

import harness
from harness.app.plan import plan_run
from harness.app.plan_of_run import plan_resumed_run
from harness.errors import HarnessError
from harness.options.concerns import RunOptions, Server
from harness.runs.asked_items import items_by_elicitation, random_items
from harness.runs.run_folder import RunConfig, RunFolder
from harness.runs.sources import source_of
from harness.tasks import load_task

N = 30


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working folder with a task without response sets."""
    make_task_folder(tmp_path / "task", N, response_sets=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path


def counts(task, **options):
    """Return the number of items by elicitation."""
    planned = items_by_elicitation(task, RunConfig(task="task", **options))
    return {name: len(items) for name, items in planned.items()}


def test_forced_choices_alone_get_pairs_on_a_subset(place):
    """Raters gave no sets: forced choice everywhere, pairs on the number asked for, 100 at most."""
    task = load_task("task")
    assert counts(task) == {"forced_choice": N, "paired": N}
    assert counts(task, pairs=7) == {"forced_choice": N, "paired": 7}
    assert counts(task, pairs=7, limit=5) == {"forced_choice": 5, "paired": 5}
    assert counts(task, pairs=0) == {"forced_choice": N}
    many = make_task_folder(place / "many", 120, response_sets=False)
    assert counts(load_task(str(many))) == {"forced_choice": 120, "paired": 100}


def test_pairs_need_a_sensitivity(place):
    """Without an option that may be accepted beside a negative one there is no beta to estimate."""
    task = load_task("task")
    assert counts(task.model_copy(update={"sensitivity": {}})) == {"forced_choice": N}
    alone = {"response_sets": (("A",), ("B",))}
    assert counts(task.model_copy(update=alone)) == {"forced_choice": N}


def test_response_sets_of_raters_are_matched_by_those_of_judges(tmp_path):
    """Where raters gave sets of the items of the run, both elicitations are for all items.

    They are also where sets rank, or are to rank.
    """
    task = load_task(str(make_task_folder(tmp_path / "task", N)))
    assert counts(task) == {"forced_choice": N, "response_set": N}
    later = [r for r in task.ratings if r.elicitation == "forced_choice" or r.item == "i9"]
    task = task.model_copy(update={"ratings": tuple(later)})
    assert counts(task, limit=5) == {"forced_choice": 5, "response_set": 5}
    task = task.model_copy(update={"ranks_by": "forced_choice"})
    assert counts(task) == {"forced_choice": N, "response_set": N}
    assert counts(task, limit=5) == {"forced_choice": 5, "paired": 5}
    switched = {"ranks_by": "response_set"}
    assert counts(task, limit=5, choices=switched) == {"forced_choice": 5, "response_set": 5}


def test_metric_that_compares_response_sets_has_them_for_all_items(place):
    """A metric of response sets on the subset alone would rank no judge."""
    task = load_task("task")
    both = {"forced_choice": N, "response_set": N}
    assert counts(task, choices={"metric": "mse(srs/srs)", "beta": 0.2}) == both
    assert counts(task, choices={"metric": "hit_rate(h/h)"}, pairs=3)["paired"] == 3


def test_named_elicitations_are_for_all_items(place):
    """Pairs of some items belong to the default; both at once are refused."""
    task = load_task("task")
    assert counts(task, elicitations=("paired",)) == {"paired": N}
    with pytest.raises(HarnessError, match=r"all items\. Leave out elicitations or pairs"):
        harness.run("task", judges="random", elicitations=["paired"], pairs=3)
    refused = invoke("run", "--task", "task", "--elicitation", "paired", "--pairs", "3")
    assert refused.exit_code == 2
    assert "--elicitation" in refused.output


def test_the_subset_depends_only_on_seed_and_ids(place):
    """It is the same in any order, grows with its size, and another seed draws another."""
    items = load_task("task").items

    def ids(items, n, seed=0):
        return [item.id for item in random_items(items, n, seed=seed)]

    drawn = ids(items, 10)
    assert ids(items[::-1], 10) == drawn[::-1]
    assert {*drawn} < {*ids(items, 11)}
    assert {*drawn} != {*ids(items, 10, seed=1)}
    assert drawn == [item.id for item in items if item.id in drawn]


def test_dry_run_shows_the_items_of_each_elicitation(place):
    """And prices them: one call per forced choice, two per pair."""
    words = ("run", "--task", "task", "--judges", "random", "--samples", "2", "--pairs", "4")
    shown = invoke(*words, "--dry-run")
    assert f"items: forced_choice {N}, paired 4" in shown.output
    [quote] = json.loads(invoke(*words, "--dry-run", "--json").output)
    assert quote["n_items"] == {"forced_choice": N, "paired": 4}
    assert quote["calls"] == 2 * (N + 2 * 4)


def test_pairs_on_a_subset_are_counted_kept_and_estimate_beta(place, stub):
    """Planned is answered and the rest, by elicitation; a resumed run keeps the subset."""
    judge = {"kind": "endpoint", "model": "stub", "base_url": stub.url(), "samples": 2}
    (place / "judges.yaml").write_text(json.dumps({"judges": {"far": judge}}), encoding="utf-8")
    options = {"judges_file": "judges.yaml", "pairs": 12, "seed": 5}
    run = harness.run("task", judges="far", **options)
    far = run.validation.judge("far")
    planned = {count.elicitation: (count.planned, count.answered) for count in far.outcomes}
    assert planned == {"forced_choice": (2 * N, 2 * N), "paired": (24, 24)}
    assert run.validation.evidence_of("far").usable_replies == 1.0
    assert sum(far.n_endorsed) + far.n_outside == 24
    assert far.beta.value is not None
    assert "from pairs" in (run.path / "judge-card.md").read_text(encoding="utf-8")
    verdicts = run.verdicts
    pairs = {*verdicts[verdicts.elicitation == "paired"].item}
    assert pairs == {item.id for item in random_items(load_task("task").items, 12, seed=5)}
    folder = RunFolder.open(run.path)
    assert folder.manifest.config.pairs == 12
    [job] = plan_resumed_run(folder, server=Server(judges_file=place / "judges.yaml")).jobs
    assert job.planned == source_of(folder).planned["far"]
    assert {item.id for item in job.items_of("paired")} == pairs


def test_number_of_pairs_is_recorded_where_it_is_the_default(place):
    """The folder says how many pairs were asked, whatever the default will be."""
    plan = plan_run("task", ["random"])
    assert plan.config.pairs == 100
    assert plan_run("task", ["random"], RunOptions(elicitations=("paired",))).config.pairs is None
    assert RunConfig.model_validate_json(plan.config.model_dump_json()) == plan.config
