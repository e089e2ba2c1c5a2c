"""Endorsement: each option asked about on its own, and the response sets that this makes."""

from __future__ import annotations

import json
from math import inf

import numpy as np
import pytest
from support.judge_runs import RecordingObserver
from support.task_folders import make_task_folder

from harness.analysis import validate
from harness.analysis.ratings import judge_table
from harness.app.plan import estimate_costs, plan_run
from harness.app.run import ask_open_units, start
from harness.errors import JudgeError, PromptError
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import look_up, resolve
from harness.judging.parsing.external_verdicts import read_external
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.question import Unit
from harness.judging.storage.reply_store import NoStore
from harness.judging.strategies.endorsement import endorsed, set_distribution
from harness.judging.strategies.strategy_registry import named
from harness.options.concerns import RunOptions, Server
from harness.runs.sources import source_of
from harness.stats import OptionSpace
from harness.stats.selection.footing import replies_of
from harness.tasks import load_task

TOKENS = {"yes": 0.5, " Yes": 0.125, "no": 0.125, "CANNOT": 0.0625, "Well": 0.1875}
P = 0.625 / 0.75  # of yes, among yes and no
AB = OptionSpace.powerset(("A", "B"))


@pytest.fixture
def task(tmp_path):
    return load_task(str(make_task_folder(tmp_path / "small", 6)))


def verdict(task, texts, sample=0, strategy="endorse"):
    """The verdict that replies about the options in turn make."""
    reader = ReplyReader(task, named(strategy))
    replies = [
        reader.verdict(
            Reply(request="0" * 64, text=text),
            Unit("i0", "response_set", len(texts) * sample + k),
            "m",
        )
        for k, text in enumerate(texts)
    ]
    [whole] = endorsed(replies, task.space)
    return whole


@pytest.mark.parametrize(
    ("texts", "outcome", "value"),
    [
        (["yes", "Yes."], "answered", ("A", "B")),
        (["no", "yes"], "answered", ("B",)),
        (["no", "no"], "invalid", None),
        (["yes", "maybe"], "invalid", None),
        (["yes", "CANNOT_ASSESS"], "abstained", None),
        (["yes", "A"], "invalid", None),
    ],
)
def test_the_options_with_a_yes_are_the_set(task, texts, outcome, value):
    """A verdict is answered only if all replies are, and its set is admissible."""
    whole = verdict(task, texts, sample=2)
    assert (whole.outcome, whole.value, whole.sample) == (outcome, value, 2)


def test_the_sets_are_those_of_independent_replies():
    """The product over the options, among the admissible sets (by hand)."""
    theta = set_distribution({"A": 0.5, "B": 0.25}, AB)
    by_set = dict(zip(AB.sets, theta.tolist(), strict=True))
    assert by_set == pytest.approx({("A",): 0.6, ("B",): 0.2, ("A", "B"): 0.2})
    assert not set_distribution({"A": 0.0, "B": 0.001}, AB).any()


def asked(task, url, tmp_path, judges, **fields):
    plan = plan_run(
        str(task.folder),
        judges,
        RunOptions(elicitations=("response_set",), **fields),
        server=Server(base_url=url),
    )
    folder = start(plan, tmp_path / "runs")
    ask_open_units(plan, folder, NoStore(), observer=RecordingObserver())
    return folder


def test_a_call_per_option_is_planned_and_sent(task, stub, tmp_path):
    """Each shows one option, with the texts of all; a sample is K calls."""
    stub.reset()
    url = stub.url(say="yes")
    plan = plan_run(
        str(task.folder), ["m@endorse"], RunOptions(samples=3), server=Server(base_url=url)
    )
    assert plan.jobs[0].elicitations == ("response_set",)
    assert [quote.calls for quote in estimate_costs(plan)] == [6 * 3 * 2]
    folder = asked(task, url, tmp_path, ["m@endorse"], samples=1, limit=2)
    sent = [json.loads(r["body"])["messages"][-1]["content"] for r in stub.requests()]
    question = "following option reasonable for this text?"
    shown = f"{question}\n{{}}\nThe whole reply is one of these:\nyes\nno\nCANNOT_ASSESS"
    for option in ("A: Toxic", "B: Not toxic"):
        assert sum(shown.format(option) in text for text in sent) == 2
    source = source_of(folder)
    assert {v.value for v in source.verdicts["m@endorse"]} == {("A", "B")}
    assert source.planned["m@endorse"] == {"response_set": 2}
    log = read_external(folder.verdicts, task)
    assert {v.reason for v in log} == {"one_option"}


@pytest.mark.slow
def test_a_soft_call_agrees_with_a_thousand_sampled_calls(task, stub, tmp_path):
    """The distribution over sets is exact; sampled shares lie within four standard errors."""
    url = stub.url(tokens=json.dumps(TOKENS))
    judges = ["m@endorse", "m@endorse-logprob"]
    source = source_of(asked(task, url, tmp_path, judges, limit=1, samples=1000))
    sampled, soft = (
        replies_of(judge_table(task, source.items, name, source.verdicts[name]), "srs")
        for name in judges
    )
    some = 1 - (1 - P) ** 2
    by_set = {("A",): P * (1 - P) / some, ("B",): P * (1 - P) / some, ("A", "B"): P * P / some}
    assert soft.shares[0] == pytest.approx([by_set[s] for s in task.space.sets], abs=1e-12)
    assert soft.n_samples[0] == inf
    n = sampled.n_samples[0]
    assert n > 400
    error = np.sqrt(soft.shares[0] * (1 - soft.shares[0]) / n)
    assert (np.abs(sampled.shares[0] - soft.shares[0]) < 4 * error).all()


def test_runs_with_endorsements_are_validated(task, stub, tmp_path):
    """Both rank by the metric of response sets; the mass outside yes and no is a note."""
    url = stub.url(tokens=json.dumps(TOKENS))
    judges = ["m@endorse", "m@endorse-logprob"]
    result = validate(source_of(asked(task, url, tmp_path, judges, samples=3)))
    assert {row.judge for row in result.ranking.rows} == set(judges)
    assert result.ranking.metric == "mse(srs/srs)"
    assert any(
        "m@endorse-logprob: on average, 18.8% of the probability is outside" in n
        for n in result.notes
    )


def test_strategies_that_need_whole_replies_are_rejected(task):
    """Votes, ensembles and forced choices; and a template without the option."""
    registry = load_judges()
    with pytest.raises(JudgeError, match="isn't compatible with self-consistency"):
        look_up("gpt@endorse@self-consistency:3", registry)
    with pytest.raises(JudgeError, match="doesn't return the single choices"):
        resolve(["gpt@endorse+claude"], task, registry)
    with pytest.raises(JudgeError, match="Add --elicitation response_set"):
        plan_run(task, ["gpt@endorse"], RunOptions(elicitations=("forced_choice",)))
    numbers = {"scale": "continuous", "options": (), "positive": (), "sensitivity": {}, "items": ()}
    numbers |= {"ranks_by": "forced_choice"}
    lengths = task.model_copy(update=numbers | {"abstain": False, "ratings": ()})
    with pytest.raises(JudgeError, match="the task lacks options, which endorse needs"):
        resolve(["gpt@endorse"], lengths, registry)
    own = task.folder / "own.txt"
    own.write_text("[user]\nRate.\n{{fence}}\n{{text}}\n{{fence}}\n")
    task = task.model_copy(update={"prompts": {"endorsement": "own.txt"}})
    with pytest.raises(PromptError, match=r"must show \{\{option\}\}"):
        plan_run(task, ["gpt@endorse"], RunOptions(elicitations=("response_set",)))
