"""Soft verdicts: the options' probabilities in one call, from the tokens to the statistics."""

from __future__ import annotations

import json
from math import inf, log

import numpy as np
import pytest
from support.judge_runs import RecordingObserver
from support.task_folders import make_task_folder

from harness.analysis import validate
from harness.analysis.judge_result import cost_of
from harness.analysis.ratings import human_table, judge_table
from harness.app.plan import estimate_costs, plan_run
from harness.app.run import ask_open_units, start
from harness.errors import JudgeError, JudgeUnavailable
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import look_up, resolve
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import Reply, Verdict
from harness.judging.prompts.question import Unit
from harness.judging.storage.reply_store import NoStore
from harness.judging.strategies.calibration import calibrated
from harness.judging.strategies.strategy_registry import named
from harness.options.concerns import RunOptions, Server
from harness.runs.sources import source_of
from harness.stats import METRICS, Resampling
from harness.stats.inference.metric import find_metric
from harness.stats.selection.footing import ComparisonRules, common_footing, replies_of
from harness.tasks import load_task

TOKENS = {"A": 0.5, " A": 0.125, "B": 0.125, " B.": 0.0625, "CANNOT": 0.0625, "Well": 0.125}
MASSES = {"A": 0.625, "B": 0.1875, "CANNOT_ASSESS": 0.0625}
SHARE = 0.625 / 0.8125


@pytest.fixture
def task(tmp_path):
    return load_task(str(make_task_folder(tmp_path / "small", 6, response_sets=False)))


def logprobs(tokens, drawn="A"):
    listed = [{"token": token, "logprob": log(p)} for token, p in tokens.items()]
    first = next(entry for entry in listed if entry["token"] == drawn)
    return {"content": [first | {"top_logprobs": listed}]}


def verdict_of(task, tokens, drawn="A", **fields):
    reply = Reply(request="0" * 64, text=drawn, logprobs=logprobs(tokens, drawn), **fields)
    return ReplyReader(task, named("logprob")).verdict(
        reply, Unit("i0", "forced_choice"), "m@logprob"
    )


def test_all_tokens_of_an_option_are_summed(task):
    """Those that are no answer are left over; the drawn token counts once."""
    verdict = verdict_of(task, TOKENS, drawn="Well")
    assert verdict.outcome == "answered"
    assert verdict.value == "A"
    assert verdict.probabilities == pytest.approx(MASSES, abs=1e-12)


def test_a_drawn_token_that_is_not_listed_counts_too(task):
    """Servers list the most probable tokens only."""
    sent = logprobs({"A": 0.25, "B": 0.75}, "A")
    sent["content"][0]["top_logprobs"] = sent["content"][0]["top_logprobs"][1:]
    reply = Reply(request="0" * 64, text="A", logprobs=sent)
    verdict = ReplyReader(task, named("logprob")).verdict(reply, Unit("i0", "forced_choice"), "m")
    assert verdict.probabilities == pytest.approx({"A": 0.25, "B": 0.75})


@pytest.mark.parametrize(
    ("tokens", "outcome"),
    [
        ({"A": 0.01, "B": 0.01, "Well": 0.98}, ("answered", "")),
        ({"A": 0.005, "Well": 0.995}, ("invalid", "outside_options")),
        ({"A": 0.3, "B": 0.3, "CANNOT_ASSESS": 0.4}, ("answered", "")),
        ({"A": 0.3, "CANNOT_ASSESS": 0.6}, ("abstained", "")),
    ],
)
def test_an_abstention_is_more_probable_than_all_options_together(task, tokens, outcome):
    """Options need a hundredth of the probability; all verdicts keep their probabilities."""
    verdict = verdict_of(task, tokens)
    assert (verdict.outcome, verdict.reason) == outcome
    assert verdict.probabilities["A"] == pytest.approx(tokens["A"])


@pytest.mark.parametrize("sent", [None, {}, {"content": []}, {"content": [3]}, [1], "x"])
def test_a_reply_without_log_probabilities_is_invalid(task, sent):
    """Its text is not read in their place."""
    reply = Reply(request="0" * 64, text="A", logprobs=sent)
    verdict = ReplyReader(task, named("logprob")).verdict(reply, Unit("i0", "forced_choice"), "m")
    assert (verdict.outcome, verdict.reason) == ("invalid", "no_logprobs")


def test_longer_keys_are_recognised_by_how_they_begin(tmp_path):
    """A token that begins one key alone counts for it; one that begins several for none."""
    folder = make_task_folder(tmp_path / "long", 2, response_sets=False)
    text = (folder / "task.yaml").read_text()
    for old, new in (
        ("key: A", "key: Nonsense"),
        ("key: B", "key: Neutral"),
        ("[A]", "[Nonsense]"),
    ):
        text = text.replace(old, new)
    (folder / "task.yaml").write_text(text.replace("{B: [Nonsense]}", "{Neutral: [Nonsense]}"))
    ratings = folder / "ratings.jsonl"
    rows = ratings.read_text().replace('"A"', '"Nonsense"').replace('"B"', '"Neutral"')
    ratings.write_text(rows)
    verdict = verdict_of(
        load_task(str(folder)), {"Non": 0.5, " Neut": 0.25, "N": 0.125, "No": 0.125}, drawn="N"
    )
    assert verdict.probabilities == pytest.approx({"Nonsense": 0.625, "Neutral": 0.25})


def test_one_token_is_asked_for_once_at_temperature_1(task):
    """Whatever --samples says; response sets and pairs are not asked for."""
    judges = ["gpt", "gpt@logprob"]
    plan = plan_run(
        task, judges, RunOptions(samples=7, elicitations=("forced_choice", "response_set"))
    )
    plain, soft = estimate_costs(plan)
    assert (plain.calls, soft.calls) == (12, 6)
    assert soft.completion_tokens == 6
    assert plan.jobs[1].elicitations == ("forced_choice",)
    params = {"temperature": 1.0, "max_tokens": 1, "logprobs": True, "top_logprobs": 20}
    assert plan.jobs[1].judge.spec.params.items() >= params.items()
    with pytest.raises(JudgeError, match="Add --elicitation forced_choice"):
        plan_run(task, ["gpt@logprob"], RunOptions(elicitations=("response_set",)))


def test_judges_without_log_probabilities_and_votes_on_them_are_refused(task):
    """One line says so before anything is asked."""
    registry = load_judges()
    with pytest.raises(JudgeUnavailable, match="doesn't return log-probabilities"):
        resolve(["s@logprob"], task, registry | {"s": _scripted()})
    with pytest.raises(JudgeError, match="isn't compatible with self-consistency"):
        look_up("gpt@logprob@self-consistency:3", registry)
    with pytest.raises(JudgeError, match="doesn't return the single choices"):
        resolve(["gpt@logprob+claude"], task, registry)


def _scripted():
    from support.judge_runs import scripted

    return scripted({"*": "A"}, name="s")


def asked(task, stub, tmp_path, judges, **fields):
    """Ask judges of a server that draws from TOKENS; return the source of a validation."""
    url = stub.url(tokens=json.dumps(TOKENS))
    plan = plan_run(
        str(task.folder),
        judges,
        RunOptions(elicitations=("forced_choice",), **fields),
        server=Server(base_url=url),
    )
    folder = start(plan, tmp_path / "runs")
    ask_open_units(plan, folder, NoStore(), observer=RecordingObserver())
    return source_of(folder)


def test_a_soft_call_agrees_with_a_thousand_sampled_calls(task, stub, tmp_path):
    """The distribution is exact, and sampled shares lie within four standard errors of it."""
    items = {"limit": 1, "samples": 1000}
    source = asked(task, stub, tmp_path, ["stub", "stub@logprob"], **items)
    sampled, soft = (
        replies_of(judge_table(task, source.items, name, source.verdicts[name]), "s")
        for name in ("stub", "stub@logprob")
    )
    assert len(source.verdicts["stub@logprob"]) == 1
    assert soft.shares[0] == pytest.approx([SHARE, 1 - SHARE], abs=1e-12)
    assert soft.n_samples[0] == inf
    n = sampled.n_samples[0]
    assert n > 700
    assert abs(sampled.shares[0, 0] - SHARE) < 4 * np.sqrt(SHARE * (1 - SHARE) / n)


def test_soft_judges_are_compared_at_the_common_number_of_replies(task, stub, tmp_path):
    """At r replies, the expected squared distance is that of the distribution and its noise.

    ``sum_k (H_k - p_k)^2 + p_k (1 - p_k) / r``, on each item; alone, a soft judge has no noise.
    """
    source = asked(task, stub, tmp_path, ["stub", "stub@logprob"], samples=3)
    human = human_table(task, source.items)
    metric = find_metric("mse(s/s)", METRICS)
    shares = human.forced_choice[:, 0] / human.forced_choice.sum(axis=1)
    bias = 2 * np.mean((shares - SHARE) ** 2)
    noise = 2 * SHARE * (1 - SHARE)
    tables = [judge_table(task, source.items, n, v) for n, v in source.verdicts.items()]
    resampling = Resampling(rng=np.random.default_rng(0), n_resamples=10)
    fields = {"tau": 0.5, "positive": ["A"], "resampling": resampling}
    together = common_footing(
        human, tables, metric, rules=ComparisonRules(min_answered=0.5), **fields
    )
    r = together.n_replies
    assert r in {2, 3}
    kept = together.items.shared
    bias_kept = 2 * np.mean((shares[kept] - SHARE) ** 2)
    by_name = dict(zip(together.judges, together.values, strict=True))
    assert by_name["stub@logprob"] == pytest.approx(bias_kept + noise / r)
    alone = common_footing(human, tables[1:], metric, **fields)
    assert alone.n_replies == inf
    assert alone.values[0] == pytest.approx(bias)


def soft(item, **probabilities):
    fields = {"item": item, "judge": "m", "elicitation": "forced_choice", "outcome": "answered"}
    return Verdict(**fields, value=max(probabilities), probabilities=probabilities)


def test_a_calibrated_probability_is_relative_to_that_on_a_content_free_item():
    """p_k / p_cf_k, so that options have as much probability together as before (Zhao et al.)."""
    verdicts = [
        soft("(content-free)", A=0.6, B=0.2),
        soft("i0", A=0.6, B=0.2, CANNOT_ASSESS=0.1),
        soft("i1", A=0.5, B=0.3),
    ]
    free, *own = verdicts
    same, other = calibrated(own, {"i0": None, "i1": None}, {free.item: free.probabilities})
    assert same.probabilities == pytest.approx({"A": 0.4, "B": 0.4, "CANNOT_ASSESS": 0.1})
    assert other.probabilities == pytest.approx({"A": 0.8 * 5 / 14, "B": 0.8 * 9 / 14})
    assert other.value == "B"


def test_a_judge_without_a_content_free_probability_is_not_calibrated():
    """An option that the content-free item does not list, or no such item at all, is no zero."""
    for content_free in (
        {"(content-free)": {"A": 0.6}},
        {},
    ):
        [verdict] = calibrated([soft("i0", A=0.6, B=0.2)], {"i0": None}, content_free)
        assert (verdict.outcome, verdict.reason) == ("invalid", "no_calibration")


def test_a_calibrated_judge_asks_one_item_more(task, stub, tmp_path):
    """A stub that has the same preference on all items has none once it is calibrated."""
    stub.reset()
    source = asked(task, stub, tmp_path, ["stub@logprob-calibrated"])
    [name] = source.verdicts
    assert source.planned[name] == {"forced_choice": 6}
    assert len(source.verdicts[name]) == 6
    assert cost_of(source.verdicts[name], source.replies_voted_on[name]).n_paid == 7
    replies = replies_of(judge_table(task, source.items, name, source.verdicts[name]), "s")
    assert replies.shares == pytest.approx(np.full((6, 2), 0.5), abs=1e-12)
    assert any("12.5% of the probability" in note and "6 items" in note for note in source.notes)
    [sent] = {
        r["body"]
        for r in stub.requests()
        if "\nN/A\n" in json.loads(r["body"])["messages"][-1]["content"]
    }
    assert "Options:" in sent


def test_a_calibration_is_for_one_order(task):
    """Shuffled options would need one for each."""
    with pytest.raises(JudgeError, match="Drop --shuffle-options"):
        plan_run(
            task,
            ["gpt@logprob-calibrated"],
            RunOptions(elicitations=("forced_choice",), shuffle_options=True),
        )


def test_a_run_with_soft_judges_is_validated(task, stub, tmp_path):
    """Alone and beside others; the mass outside the options is a note."""
    source = asked(task, stub, tmp_path, ["stub", "stub@logprob"], samples=3)
    result = validate(source)
    soft = result.evidence_of("stub@logprob")
    assert (soft.n_planned, soft.usable_replies) == (6, 1.0)
    assert {row.judge for row in result.ranking.rows} == {"stub", "stub@logprob"}
    assert any(
        note.startswith("stub@logprob: on average, 12.5% of the probability is outside")
        for note in result.notes
    )
