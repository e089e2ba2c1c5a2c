"""Words that finish a sentence: their probabilities in one call, and what they mean."""

from __future__ import annotations

import json
from math import inf, log

import pytest
from support.judge_runs import RecordingObserver
from support.task_folders import make_task_folder

from harness.analysis.ratings import judge_table
from harness.app.plan import estimate_costs, plan_run
from harness.app.run import ask_open_units, start
from harness.errors import JudgeError, JudgeUnavailable, TaskError
from harness.judging.parsing.option_probabilities import word_probabilities
from harness.judging.storage.response_cache import ResponseCache
from harness.options.concerns import RunOptions, Server
from harness.runs.sources import source_of
from harness.stats.selection.footing import replies_of
from harness.tasks import load_task

WORDING = """\
verbalised:
  template: 'Comment: "{{text}}" This comment is'
  words: {A: rude, B: polite}
  weights: {A: 2}
  cutoff: 0.39
"""
TOKENS = {" a": 0.5, " rude": 0.02, "Rude": 0.01, " polite": 0.09, " politely": 0.2, " the": 0.18}
SHARE = 0.06 / 0.15  # of A: twice the probability of its word, beside that of B's
WORDS = {"A": "rude", "B": "polite"}
BY_TOKEN = {" rude": log(0.25), " polite": log(0.125)}
LISTED = [{"token": token, "logprob": logprob} for token, logprob in BY_TOKEN.items()]
PROBABLE = [{"token": " rude", "prob": 0.25}, {"token": " polite", "prob": 0.125}]


@pytest.fixture
def folder(tmp_path):
    folder = make_task_folder(tmp_path / "small", 6)
    with (folder / "task.yaml").open("a", encoding="utf-8") as file:
        file.write(WORDING)
    return folder


def asked(folder, stub, tmp_path, tokens=TOKENS, judges=("stub@verbalised",), **fields):
    url = stub.url(tokens=json.dumps(tokens))
    plan = plan_run(str(folder), list(judges), RunOptions(**fields), server=Server(base_url=url))
    run = start(plan, tmp_path / "runs")
    cache = ResponseCache(tmp_path / "cache", print)
    ask_open_units(plan, run, cache, observer=RecordingObserver())
    return source_of(run)


def test_choices_and_sets_follow_from_the_words_exactly(folder, stub, tmp_path):
    """A choice is the weighted shares of the words; a set, the options at or above the cut-off."""
    source = asked(folder, stub, tmp_path)
    table = judge_table(
        load_task(str(folder)), source.items, "stub", source.verdicts["stub@verbalised"]
    )
    choices, sets = replies_of(table, "s"), replies_of(table, "srs")
    assert choices.shares[:, 0] == pytest.approx([SHARE] * 6, abs=1e-12)
    assert choices.shares[:, 1] == pytest.approx([1 - SHARE] * 6, abs=1e-12)
    assert sets.shares.tolist() == [[0, 0, 1]] * 6
    assert set(choices.n_samples) == set(sets.n_samples) == {inf}
    below = TOKENS | {" polite": 0.1}  # 0.06 / 0.16 for A
    source = asked(folder, stub, tmp_path, below)
    verdicts = [v for v in source.verdicts["stub@verbalised"] if v.elicitation == "response_set"]
    assert {v.value for v in verdicts} == {("B",)}
    assert all(v.reply.derived for v in verdicts)


def test_an_item_is_one_request_however_it_is_rated(folder, stub, tmp_path):
    """A choice and a response set come from the same reply, whatever --samples says."""
    stub.reset()
    asked(folder, stub, tmp_path, samples=5)
    requests = [json.loads(request["body"]) for request in stub.requests()]
    assert len(requests) == 6
    assert {request["path"].rpartition("/v1")[2] for request in stub.requests()} == {"/completions"}
    sentence = 'Comment: "This is comment number 3." This comment is'
    [request] = [body for body in requests if body["prompt"] == sentence]
    assert request["max_tokens"] == 1
    assert request["logprobs"] == 20
    assert "messages" not in request


def test_a_word_that_is_not_listed_makes_an_invalid_verdict(folder, stub, tmp_path):
    """Servers list the most probable tokens alone; an absent one is no zero."""
    tokens = {" rude": 0.4, " a": 0.6}
    [first, *_] = asked(folder, stub, tmp_path, tokens).verdicts["stub@verbalised"]
    assert (first.outcome, first.reason) == ("invalid", "word_not_listed")


@pytest.mark.parametrize(
    "logprobs",
    [
        {"content": [{"token": " a", "logprob": log(0.5), "top_logprobs": LISTED}]},
        {"content": [{"token": " rude", "prob": 0.25, "top_probs": PROBABLE}]},
        {"tokens": [" a"], "token_logprobs": [log(0.5)], "top_logprobs": [BY_TOKEN]},
    ],
)
def test_words_are_read_in_every_form_that_servers_send(logprobs):
    """Chat completions, probabilities after sampling, and text completions."""
    [text] = (logprobs.get("content") or [{"token": " a"}])[:1]
    assert word_probabilities(logprobs, text["token"], WORDS) == pytest.approx(
        {"A": 0.25, "B": 0.125}
    )


@pytest.mark.parametrize("sent", [None, {}, {"content": []}, {"top_logprobs": []}, [1], "x"])
def test_a_completion_without_log_probabilities_has_none(sent):
    """Nothing is made up for it."""
    assert word_probabilities(sent, "rude", WORDS) is None


def test_judges_that_finish_no_sentence_are_refused(folder, tmp_path):
    """So are tasks without a sentence, pairs, and shuffled options; nothing is asked."""
    with pytest.raises(JudgeUnavailable, match="can't complete a text"):
        plan_run(str(folder), ["gpt@verbalised"])
    other = make_task_folder(tmp_path / "other", 2)
    with pytest.raises(JudgeUnavailable, match=r"has no sentence to complete\. Add `verbalised:`"):
        plan_run(str(other), ["stub@verbalised"], server=Server(base_url="http://127.0.0.1:9/v1"))
    server, shuffled = Server(base_url="http://127.0.0.1:9/v1"), RunOptions(shuffle_options=True)
    with pytest.raises(JudgeError, match="needs a fixed order of the options"):
        plan_run(str(folder), ["stub@verbalised"], shuffled, server=server)
    plan = plan_run(
        str(folder),
        ["stub@verbalised"],
        RunOptions(samples=9),
        server=Server(base_url="http://127.0.0.1:9/v1"),
    )
    assert plan.jobs[0].elicitations == ("forced_choice", "response_set")
    assert estimate_costs(plan)[0].completion_tokens == 12


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{{text}}", "{{comment}}", "template must contain {{text}}, each exactly once"),
        ("{{text}}", "it", "template must contain {{text}}, each exactly once"),
        ("B: polite", "C: polite", "write a word for each option: A, B"),
        ("B: polite", "B: Rude", "Give each option its own word"),
        ("B: polite", "B: 'not rude'", "found 'not rude'. Write a word that consists of letters"),
        ("{A: 2}", "{A: 0}", "greater than 0"),
        ("{A: 2}", "{C: 2}", "'C'"),
        ("cutoff: 0.39", "cutoff: 1", "less than 1"),
    ],
)
def test_a_faulty_sentence_is_one_line(folder, old, new, message):
    """Which says what to write."""
    text = (folder / "task.yaml").read_text(encoding="utf-8")
    (folder / "task.yaml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(TaskError) as caught:
        load_task(str(folder))
    assert message in str(caught.value)
    assert "verbalised" in str(caught.value)
