"""Replies in JSON by a schema, plain text in their place, and verdicts after prose."""

from __future__ import annotations

import json

import pytest
from support.judge_runs import RecordingObserver
from support.task_folders import make_task_folder

from harness.app.plan import plan_run
from harness.app.run import ask_open_units, start
from harness.errors import JudgeError
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import look_up
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.question import Unit
from harness.judging.storage.reply_store import NoStore
from harness.judging.strategies.answer_schemas import SCHEMA_MAX_TOKENS, is_structured
from harness.judging.strategies.strategy_registry import named
from harness.options.concerns import RunOptions, Server
from harness.runs.sources import source_of
from harness.tasks import load_task

ELICITATIONS = ("forced_choice", "response_set", "paired")


@pytest.fixture
def task(tmp_path):
    return load_task(str(make_task_folder(tmp_path / "small", 6)))


def asked(task, url, tmp_path, judges, elicitations=("forced_choice",)):
    plan = plan_run(
        str(task.folder),
        judges,
        RunOptions(elicitations=elicitations, samples=1),
        server=Server(base_url=url),
    )
    folder = start(plan, tmp_path / "runs")
    ask_open_units(plan, folder, NoStore(), observer=RecordingObserver())
    return source_of(folder)


def test_a_server_that_knows_schemas_replies_in_json(task, stub, tmp_path):
    """Each turn has the schema of its reply; the first turn of a pair is the response set's."""
    stub.reset()
    source = asked(task, stub.url(), tmp_path, ["stub@json"], ELICITATIONS)
    verdicts = source.verdicts["stub@json"]
    assert len(verdicts) == 18
    assert {v.outcome for v in verdicts} <= {"answered", "abstained", "invalid"}
    assert all(is_structured(v.text) for v in verdicts if v.outcome == "answered")
    assert not any("plain text" in note for note in source.notes)
    bodies = [json.loads(request["body"]) for request in stub.requests()]
    schemas = [b["response_format"]["json_schema"]["schema"]["properties"] for b in bodies]
    keys = {"type": "string", "enum": ["A", "B", "CANNOT_ASSESS"]}
    choices = sum(schema == {"verdict": keys} for schema in schemas)
    sets = sum(schema == {"verdict": {"type": "array", "items": keys}} for schema in schemas)
    assert (choices, sets) == (12, 12)
    assert {body["max_tokens"] for body in bodies} == {SCHEMA_MAX_TOKENS}


def test_plain_replies_are_read_as_ever_and_counted(task, stub, tmp_path):
    """A server that ignores the schema loses nothing; a note says how many."""
    source = asked(task, stub.url(say="B"), tmp_path, ["stub", "stub@json"])
    assert {v.value for v in source.verdicts["stub@json"]} == {"B"}
    notes = [note for note in source.notes if "plain text" in note]
    assert notes == [
        "stub@json: 6 of 6 replies are verdicts in plain text instead of the requested JSON"
    ]


def test_the_schema_is_part_of_the_key(task):
    """The same judge without it asks something else."""
    url = "http://127.0.0.1:1/v1"
    plan = plan_run(
        task, ["m", "m@json"], RunOptions(elicitations=ELICITATIONS), server=Server(base_url=url)
    )
    units = [Unit("i0", "forced_choice"), Unit("i0", "response_set"), Unit("i0", "paired")]
    plain, (choice, endorsed, paired) = (
        [job.judge.request(unit).hash for unit in units] for job in plan.jobs
    )
    assert len({*plain, choice, endorsed}) == 4
    assert paired == endorsed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"verdict": "A"}', True),
        (' {"verdict": ["A", "B"]}\n', True),
        ('{"verdict": "A", "note": "B"}', False),
        ("A", False),
        ("[" * 9999, False),
    ],
)
def test_json_contains_only_the_verdict(text, expected):
    """Anything else is plain text."""
    assert is_structured(text) is expected


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ("It insults somebody.\n\nAnswer: A", ("answered", "answered")),
        ("It insults somebody, so A fits.\nCANNOT_ASSESS", ("invalid", "abstained")),
        ("The answer is A.\nThank you!", ("answered", "answered")),
        ("The comment is toxic.\nB", ("invalid", "answered")),
        ("It insults somebody.\nSo I would say toxic", ("answered", "answered")),
        ("It insults somebody.\nSo some would say toxic", ("invalid", "invalid")),
    ],
)
def test_the_last_line_of_a_chain_of_thought_outranks_its_reasons(task, text, outcomes):
    """Of other replies, and without an answer there, all lines must state the same."""
    reply, unit = Reply(request="0" * 64, text=text), Unit("i0", "forced_choice")
    strategies = ("zero-shot", "few-shot:2@cot")
    assert outcomes == tuple(
        ReplyReader(task, named(s)).verdict(reply, unit, "m").outcome for s in strategies
    )


def test_a_verdict_after_prose_is_not_invalid(task, stub, tmp_path):
    """A last line that is an option is read under every strategy, and needs no note."""
    replies = {f"This is comment number {i}.": ["It insults somebody.\nA"] for i in range(6)}
    stub.set_table("prose", replies)
    source = asked(task, stub.url(table="prose"), tmp_path, ["stub", "stub@cot"])
    assert {v.value for v in source.verdicts["stub"]} == {"A"}
    assert {v.value for v in source.verdicts["stub@cot"]} == {"A"}
    assert not any("last line" in note for note in source.notes)


def test_few_shot_joins_chain_of_thought(task):
    """In either order; demonstrations precede a prompt that asks for reasons."""
    plan = plan_run(
        task, ["llama@few-shot:1@cot"], RunOptions(elicitations=("forced_choice",), limit=3)
    )
    spec = plan.specs[0]
    assert (spec.name, spec.strategy) == ("llama@few-shot:1@cot", "few-shot:1@cot")
    assert spec.params["max_tokens"] == 1024
    messages = plan.jobs[0].judge.request(Unit("i0", "forced_choice")).messages
    assert [m.role for m in messages] == ["system", "user", "assistant", "user"]
    assert "First give your reasons" in messages[1].content
    registry = load_judges()
    swapped = look_up("gpt@cot@few-shot:1@self-consistency:3", registry)
    assert swapped.strategy == f"{spec.strategy}@self-consistency:3"
    for name in ("gpt@cot@logprob", "gpt@few-shot:1@few-shot:2", "gpt@few-shot:1@cot@cot"):
        with pytest.raises(JudgeError, match="already has the strategy"):
            look_up(name, registry)
