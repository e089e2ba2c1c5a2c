"""The form of answer that a judge asks for: a schema of the keys, or plain text."""

from __future__ import annotations

import json

import pytest
from support.judge_runs import RecordingObserver
from support.look_schedules import Schedule, majority, replies
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.app.plan import plan_run
from harness.app.run import ask_open_units, start
from harness.errors import JudgeError, JudgeUnavailable
from harness.judging.fingerprints import fingerprints_of
from harness.judging.judge_spec import JudgeSpec
from harness.judging.judges.config import explained, load_judges
from harness.judging.judges.judge_registry import build, look_up, own_judges, resolve
from harness.judging.judges.parameter_refusals import REFUSED
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts
from harness.judging.storage.reply_store import NoStore
from harness.options.concerns import RunOptions, Server
from harness.runs.sources import source_of
from harness.tasks import load_task

URL = "http://127.0.0.1:1/v1"
KEYS = {"type": "string", "enum": ["A", "B", "CANNOT_ASSESS"]}
REFUSAL = {"message": {"content": None, "refusal": "I can't help with that."}}


@pytest.fixture
def task(tmp_path):
    return load_task(str(make_task_folder(tmp_path / "small", 6)))


def judges_with(tmp_path, **fields):
    """Return the user's judges: one that is named ``m``."""
    path = tmp_path / "judges.yaml"
    path.write_text(json.dumps({"judges": {"m": {"model": "stub", "base_url": URL} | fields}}))
    return load_judges(path)


def sent(spec, task, elicitation="forced_choice"):
    """Return the request of a judge for the first item."""
    judge = build(spec, task, Prompts.load(task, strategies=[spec.asking]))
    return judge.request(Unit("i0", elicitation))


def schema(spec, task, elicitation="forced_choice"):
    """Return the members of the schema that a judge is sent."""
    form = sent(spec, task, elicitation).params["response_format"]["json_schema"]
    assert form["strict"] is True
    assert form["schema"]["required"] == list(form["schema"]["properties"])
    return form["schema"]["properties"]


def test_judge_is_plain_unless_its_entry_says_otherwise(task, tmp_path):
    """With a schema it has room for JSON, unless it has a limit of its own."""
    plain = judges_with(tmp_path)["m"]
    assert "response_format" not in sent(plain, task).params
    structured = judges_with(tmp_path, answer="schema")["m"]
    assert schema(structured, task) == {"verdict": KEYS}
    assert structured.params["max_tokens"] == 128
    assert (
        judges_with(tmp_path, answer="schema", params={"max_tokens": 9})["m"].params["max_tokens"]
        == 9
    )


def test_schema_follows_the_strategy(task, tmp_path):
    """Reasons come first; a question about one option admits yes and no."""
    judges = judges_with(tmp_path, answer="schema")
    assert list(schema(look_up("m@cot", judges), task)) == ["reason", "verdict"]
    assert schema(look_up("m@self-consistency:3", judges), task) == {"verdict": KEYS}
    endorse = schema(look_up("m@endorse", judges), task, "response_set")
    assert endorse == {"verdict": KEYS | {"enum": ["yes", "no", "CANNOT_ASSESS"]}}
    for name in ("m@logprob", "m@endorse-logprob", "m@verbalised"):
        assert look_up(name, judges).answer == "plain"


def test_bundled_judges_of_providers_with_structured_output_have_a_schema():
    """A judge of their name at another address is plain."""
    bundled = load_judges()
    forms = {name: spec.answer for name, spec in bundled.items()}
    assert {name for name, form in forms.items() if form == "schema"} == {
        *("gpt", "claude", "gemini", "mistral")
    }


def test_alias_at_another_address_is_plain(tmp_path):
    """Its server may not know schemas."""
    path = tmp_path / "j.yaml"
    path.write_text(json.dumps({"judges": {"gpt": {"base_url": URL}}}))
    assert load_judges(path)["gpt"].answer == "plain"


def test_form_of_answer_is_part_of_the_fingerprint_and_of_the_cache_key(task, tmp_path):
    """But the fingerprints of plain judges and of @json stay as they were."""
    limit = {"max_tokens": 128}
    plain = judges_with(tmp_path, params=limit)["m"]
    structured = judges_with(tmp_path, params=limit, answer="schema")["m"]
    prompts = Prompts.load(task)
    prints = [fingerprints_of([s], task, prompts, ["m"])["m"] for s in (plain, structured)]
    assert prints[0] != prints[1]
    assert sent(plain, task).cache_key != sent(structured, task).cache_key
    assert sent(structured, task).hash == sent(look_up("m@json", {"m": plain}), task).hash


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"answer": "schema", "strategy": "logprob"}, "isn't compatible with strategy logprob"),
        ({"answer": "json"}, "answer"),
    ],
)
def test_wrong_form_of_answer_is_an_error(tmp_path, fields, problem):
    """Before anything is sent."""
    with pytest.raises(JudgeError, match=problem):
        judges_with(tmp_path, **fields)


def test_judge_that_follows_no_schema_is_an_error(task, tmp_path):
    """A judge that reads no prompts would ignore it."""
    path = tmp_path / "j.yaml"
    path.write_text("judges: {w: {kind: lexicon, model: vader, answer: schema}}")
    with pytest.raises(JudgeUnavailable, match="w: a judge of kind lexicon doesn't follow"):
        resolve(["w"], task, load_judges(path))


def test_advice_for_a_refused_schema_is_an_entry_of_a_bundled_judge(tmp_path):
    """As printed, it makes the judge plain."""
    text = explained(load_judges()["gpt"], REFUSED + "response_format")
    [entry] = [part for part in text.split("`") if part.startswith('"gpt"')]
    path = tmp_path / "j.yaml"
    path.write_text(f"judges:\n  {entry}\n")
    assert load_judges(path)["gpt"].answer == "plain"
    assert load_judges(path)["gpt"].model == load_judges()["gpt"].model


@pytest.mark.parametrize(
    "case",
    [
        ({"say": "B"}, "answered", 6),
        ({"say": "The answer is B."}, "answered", 6),
        ({"say": '{"verdict": "B"}'}, "answered", 0),
        ({"patch": json.dumps(REFUSAL)}, "refused", 0),
    ],
)
def test_servers_may_ignore_or_refuse_a_schema(task, stub, tmp_path, case):
    """Plain replies are read and counted; the field for refusals is a refusal."""
    parts, outcome, n_plain = case
    spec = {"model": "stub", "base_url": stub.url(**parts), "answer": "schema"}
    file = tmp_path / "j.yaml"
    file.write_text(json.dumps({"judges": {"m": spec}}))
    options = RunOptions(elicitations=("forced_choice",), samples=1)
    plan = plan_run(str(task.folder), ["m"], options, server=Server(judges_file=file))
    folder = start(plan, tmp_path / "runs")
    ask_open_units(plan, folder, NoStore(), observer=RecordingObserver())
    source = source_of(folder)
    assert {verdict.outcome for verdict in source.verdicts["m"]} == {outcome}
    notes = [note for note in source.notes if "plain text" in note]
    assert len(notes) == bool(n_plain)
    assert all(f"m: {n_plain} of 6 replies" in note for note in notes)


def test_resumed_run_keeps_its_form_of_answer(tmp_path):
    """The user's judge may have another one by now, with other room for replies."""
    before = judges_with(tmp_path)
    after = judges_with(tmp_path, answer="schema")
    for old, new in ((before, after), (after, before)):
        [own] = own_judges([old["m"]], new, Server())
        assert (own.answer, own.params) == (old["m"].answer, old["m"].params)


def test_judge_of_a_run_without_the_field_is_as_it_was():
    """Runs of earlier versions have plain judges, and @json."""
    old = {"name": "m", "kind": "endpoint", "model": "m", "base_url": URL}
    assert JudgeSpec.model_validate(old).answer == "plain"
    assert JudgeSpec.model_validate(old | {"strategy": "json"}).answer == "schema"


def test_baseline_keeps_its_form_of_answer(tmp_path, stub):
    """A look sends what the baseline sent, compares it, and says that a new run would not."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    file = tmp_path / "judges.yaml"
    file.write_text(file.read_text("utf-8") + "    answer: schema\n", "utf-8")
    stub.reset()
    look = invoke("revalidate", schedule.run, "--judges-file", file)
    assert look.exit_code == 0, look.output
    line = "judge: runs with `answer: plain`, as before. A new run would use `answer: schema`."
    assert look.stderr.count(line) == 1
    assert "not comparable" not in look.output
    bodies = [json.loads(request["body"]) for request in stub.requests()]
    assert not any("response_format" in body for body in bodies)


@pytest.mark.slow
def test_resumed_run_says_that_it_keeps_its_form_of_answer(tmp_path, stub):
    """It sends what it was started with."""
    task = make_task_folder(tmp_path / "small", 6, response_sets=False)
    file, runs = tmp_path / "judges.yaml", tmp_path / "runs"
    judge = {"model": "stub", "base_url": stub.url(), "price": {"input": 1, "output": 1}}
    words = ("--judges-file", file, "--no-store", "--max-cost")
    file.write_text(json.dumps({"judges": {"m": judge}}))
    begun = invoke("run", "--task", task, "--judges", "m", "--out", runs, *words, "0.002")
    assert begun.exit_code == 4, begun.output
    file.write_text(json.dumps({"judges": {"m": judge | {"answer": "schema"}}}))
    [run] = runs.iterdir()
    stub.reset()
    resumed = invoke("resume", run, *words, "1")
    assert resumed.exit_code == 0, resumed.output
    assert "m: runs with `answer: plain`, as before." in resumed.stderr
    bodies = [json.loads(request["body"]) for request in stub.requests()]
    assert bodies
    assert not any("response_format" in body for body in bodies)
