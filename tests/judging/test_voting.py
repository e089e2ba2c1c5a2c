"""Verdicts by vote: self-consistency and ensembles."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations

import pytest
from support.judge_runs import RecordingObserver
from support.task_folders import make_task_folder

import harness
from harness.analysis.judge_result import cost_of
from harness.app.plan import estimate_costs, plan_run
from harness.app.plan_of_run import plan_resumed_run
from harness.app.run import ask_open_units, start
from harness.errors import JudgeError, RunError
from harness.judging.computed_verdicts import computed_verdicts
from harness.judging.judges.config import load_judges, new_judge
from harness.judging.judges.judge_registry import look_up, resolve
from harness.judging.parsing.verdict import PairValue, Verdict
from harness.judging.storage.reply_store import NoStore
from harness.judging.strategies.voting import Ballot, majority
from harness.options.concerns import RunOptions, Server
from harness.runs.sources import source_of, verdicts_of
from harness.stats import OptionSpace
from harness.tasks import load_task

SPACE = OptionSpace.powerset(["A", "B", "C"])
ABSTAINED, REFUSED, INVALID, FAILED = "abstained", "refused", "invalid", "failed"
OUTCOMES = {ABSTAINED, REFUSED, INVALID, FAILED}
URL = "http://127.0.0.1:1/v1"


def vote(value, judge="m", item="i", sample=0, elicitation="forced_choice"):
    """Return a verdict: an outcome without a value, or an answer."""
    outcome = value if isinstance(value, str) and value in OUTCOMES else "answered"
    return Verdict(
        item=item,
        judge=judge,
        elicitation=elicitation,
        sample=sample,
        outcome=outcome,
        value=value if outcome == "answered" else None,
    )


def result_of(values, item="i", space=SPACE):
    verdict = majority(Ballot("j", item, "forced_choice", 0), [vote(v) for v in values], space)
    return verdict.value if verdict.outcome == "answered" else verdict.outcome


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["A", "B", "B"], "B"),
        (["A", "B", "C", "C"], "C"),
        (["A", "A", "B", ABSTAINED, ABSTAINED], "A"),  # most are answers
        (["A", ABSTAINED], "A"),  # half are
        (["A", ABSTAINED, ABSTAINED], ABSTAINED),
        (["A", ABSTAINED, INVALID, INVALID], INVALID),
        (["A", REFUSED, INVALID, REFUSED, INVALID], REFUSED),
        (["A", "A", FAILED], FAILED),
        ([("A",), ("A", "B"), ("B", "A")], ("A", "B")),
        ([("A",), ("A", "B"), ("C",)], ("A",)),
        (
            [PairValue(set=("A", "B"), choice=c) for c in "BBA"],
            PairValue(set=("A", "B"), choice="B"),
        ),
    ],
)
def test_the_verdict_follows_the_stated_rule(values, expected):
    """Whatever the order of the votes."""
    for ordered in permutations(values):
        assert result_of(ordered) == expected


def test_ties_are_drawn_evenly_and_do_not_depend_on_the_order_of_votes():
    """Each of three tied options wins a third of 3000 items, within four standard errors."""
    winners = Counter()
    for i in range(3000):
        drawn = {result_of(votes, f"i{i}") for votes in ("ABC", "CBA", "BCA")}
        assert len(drawn) == 1
        winners.update(drawn)
    assert set(winners) == set("ABC")
    assert all(abs(n - 1000) < 4 * (3000 * 2 / 9) ** 0.5 for n in winners.values())


def test_an_option_that_half_endorse_is_drawn_evenly():
    """A set voted on by two judges holds what both endorse, and half of what one does."""
    sets = [result_of([("A",), ("A", "B")], f"i{i}") for i in range(2000)]
    assert set(sets) == {("A",), ("A", "B")}
    assert abs(sets.count(("A",)) - 1000) < 4 * 2000**0.5 / 2


def test_a_set_that_is_not_admissible_gives_way_to_the_most_frequent_set():
    """Where sets are listed, options voted on apart need not make one of them."""
    listed = OptionSpace(("A", "B", "C"), (("A", "B"), ("B", "C"), ("A", "C"), ("C",)))
    votes = [("A", "B"), ("B", "C"), ("A", "C"), ("A", "C"), ("A", "B"), ("B", "C"), ("A", "C")]
    assert result_of(votes, space=listed) == ("A", "C")


def specs(**members):
    ensemble = new_judge(
        name="e", kind="ensemble", members=tuple(members["members"]), **members["fields"]
    )
    asked = [new_judge(name=name, model=name, base_url=URL) for name in members["members"]]
    return [*asked, ensemble]


def test_the_mean_of_an_ensemble_is_the_mean_of_its_members(task):
    """Of 4000 samples, each member gives about half; a sample is that of one member."""
    members = {name: [vote(name, name, f"i{i}") for i in range(4000)] for name in "AB"}
    verdicts = computed_verdicts(specs(members="AB", fields={"strategy": "mean"}), members, task)[
        "e"
    ]
    counts = Counter(verdict.value for verdict in verdicts)
    assert {verdict.judge for verdict in verdicts} == {"e"}
    assert abs(counts["A"] - 2000) < 4 * 4000**0.5 / 2


def test_a_unit_has_no_verdict_before_all_its_votes_are_there(task):
    """Neither an ensemble nor a judge with votes guesses what is missing."""
    verdicts = {"A": [vote("A", "A")], "B": []}
    assert computed_verdicts(specs(members="AB", fields={}), verdicts, task)["e"] == []
    judge = new_judge(name="m", model="m", base_url=URL, strategy="self-consistency:3")
    replies = [vote(value, sample=s) for s, value in enumerate("ABBAA")]
    [verdict] = computed_verdicts([judge], {"m": replies}, task)["m"]
    assert (verdict.sample, verdict.value) == (0, "B")


@pytest.fixture
def task(tmp_path):
    return load_task(str(make_task_folder(tmp_path / "small")))


def test_a_plus_joins_aliases_and_asks_each_once(task):
    """Members that are not named are asked too; a member may have a strategy."""
    registry = load_judges()
    names = ["gpt+claude@cot", "gpt"]
    assert [spec.name for spec in resolve(names, task, registry).specs] == [
        "gpt",
        "claude@cot",
        "gpt+claude@cot",
    ]
    with pytest.raises(JudgeError, match=r"but 'openai/m' is not an alias"):
        resolve(["gpt+openai/m"], task, registry)
    with pytest.raises(JudgeError, match=r"at least two different judges"):
        resolve(["gpt+gpt"], task, registry)
    plus = new_judge(name="a+b", model="openai/a+b")
    assert resolve(["a+b"], task, {"a+b": plus}).specs == [plus]
    panel = new_judge(name="p", kind="ensemble", members=("gpt", "claude"))
    with pytest.raises(JudgeError, match="Set the strategy on its members"):
        look_up("p@cot", registry | {"p": panel})
    with pytest.raises(JudgeError, match="or is an ensemble"):
        resolve(["p+gpt"], task, registry | {"p": panel})


def test_self_consistency_follows_another_strategy_and_is_named_once(task):
    """It changes no prompt: the requests are those of the judge without it."""
    registry = load_judges()
    voting = look_up("gpt@cot@self-consistency:5", registry)
    cot = look_up("gpt@cot", registry)
    assert voting == cot.model_copy(
        update={"name": voting.name, "strategy": "cot@self-consistency:5"}
    )
    with pytest.raises(JudgeError, match="already has the strategy self-consistency:5, which"):
        look_up("gpt@self-consistency:5@self-consistency:3", registry)
    with pytest.raises(JudgeError, match="unknown judge 'gpt@self-consistency:1'"):
        resolve(["gpt@self-consistency:1"], task, registry)


@pytest.fixture
def judges_file(tmp_path):
    """Three scripted judges: of the first, the majority of replies 0 to 2 and 3 to 5 differ."""
    judges = {
        "a": {"kind": "scripted", "replies": {"*": ["A", "B", "B", "A", "A", "B"]}},
        "b": {"kind": "scripted", "replies": {"*": ["A", "B"]}, "samples": 2},
        "c": {"kind": "scripted", "replies": {"*": ["B", "B"]}, "samples": 2},
        "panel": {"kind": "ensemble", "members": ["a@self-consistency:3", "b", "c"]},
    }
    path = tmp_path / "judges.yaml"
    path.write_text(json.dumps({"judges": judges}))
    return path


def ask(plan, folder):
    ask_open_units(plan, folder, NoStore(), observer=RecordingObserver())


@pytest.fixture
def asked_run(task, judges_file, tmp_path):
    """Run that was asked, without results."""
    fields = {"elicitations": ("forced_choice",), "samples": 2}
    plan = plan_run(
        str(task.folder), ["panel"], RunOptions(**fields), server=Server(judges_file=judges_file)
    )
    folder = start(plan, tmp_path / "runs")
    ask(plan, folder)
    return folder


def values_of(source):
    return {
        (judge, sample): {v.value for v in verdicts if v.sample == sample}
        for judge, verdicts in source.verdicts.items()
        for sample in (0, 1)
    }


def test_votes_and_ensembles_are_computed_from_the_log(asked_run):
    """The replies of ``a`` make B then A; with b (A, B) and c (B, B) the panel gives B twice.

    A run that is killed and resumed has the same verdicts, and buys no vote twice.
    """
    before = source_of(asked_run)
    values = values_of(before)
    assert values == {
        ("a@self-consistency:3", 0): {"B"},
        ("a@self-consistency:3", 1): {"A"},
        ("b", 0): {"A"},
        ("b", 1): {"B"},
        ("c", 0): {"B"},
        ("c", 1): {"B"},
        ("panel", 0): {"B"},
        ("panel", 1): {"B"},
    }
    assert [sum(planned.values()) for planned in before.planned.values()] == [12] * 4
    costs = {
        name: cost_of(verdicts, before.replies_voted_on.get(name))
        for name, verdicts in before.verdicts.items()
    }
    assert [cost.n_paid for cost in costs.values()] == [36, 12, 12, 0]
    assert costs["panel"].usd_per_answered == 0.0
    assert len(list(verdicts_of(asked_run))) == 12 * 4
    asked_run.verdicts.write_bytes(
        b"".join(asked_run.verdicts.read_bytes().splitlines(keepends=True)[:21])
    )
    assert len(source_of(asked_run).verdicts["panel"]) < 12
    ask(plan_resumed_run(asked_run), asked_run)
    assert values_of(source_of(asked_run)) == values
    assert len(asked_run.read_verdicts().final) == 36 + 12 + 12


def test_a_dry_run_prices_an_ensemble_at_nothing(task, judges_file):
    """Its members are priced, each vote as a call."""
    plan = plan_run(
        str(task.folder), ["panel"], RunOptions(samples=2), server=Server(judges_file=judges_file)
    )
    quotes = {quote.judge: quote for quote in estimate_costs(plan)}
    assert [quote.calls for quote in quotes.values()] == [72, 24, 24, 0]
    assert quotes["panel"].n_items == quotes["b"].n_items


def test_a_manifest_without_a_member_of_an_ensemble_is_refused(asked_run):
    """One line says so, where a file of others names judges that the run has not."""
    asked_run.update(judges=asked_run.manifest.judges[1:])
    with pytest.raises(RunError, match=r"panel has a member that isn't one of this run's judges"):
        source_of(asked_run)


@pytest.mark.slow
def test_an_ensemble_is_ranked_like_a_judge_of_its_own(task, judges_file, tmp_path):
    """It has the numbers of a judge with the same verdicts; validating the run gives them again."""
    run = harness.run(
        str(task.folder),
        ["panel"],
        judges_file=judges_file,
        elicitations=["forced_choice"],
        samples=2,
        out=tmp_path / "runs",
        cache=tmp_path / "cache",
    )
    judges = {judge.name: judge for judge in run.validation.judges}
    assert judges["panel"].metrics["mse(s/s)"] == judges["c"].metrics["mse(s/s)"]
    assert {row.judge for row in run.validation.ranking.rows} == set(judges)
    assert harness.validate(run).to_json() == run.validation.to_json()
    assert len(run.verdicts) == 12 * 4
