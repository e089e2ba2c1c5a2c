"""Verdicts of other tools become a file that validation takes, and nothing is lost on the way."""

from __future__ import annotations

import csv
import json
import zipfile
from typing import TYPE_CHECKING

import pytest
from support.processes import invoke

from harness.curation.importing import MaxRejected
from harness.curation.verdicts import Selection, import_verdicts
from harness.errors import HarnessError, VerdictError
from harness.judging.parsing.external_verdicts import read_external, read_verdicts
from harness.judging.parsing.verdict import PairValue
from harness.tasks import CANNOT_ASSESS, Item, Option, Task, load_task

if TYPE_CHECKING:
    from pathlib import Path

ANY = MaxRejected(number=99)


@pytest.fixture
def task() -> Task:
    return Task(
        name="small",
        property="how good it is",
        scale="nominal",
        options=(Option(key="A", label="Good"), Option(key="B", label="Bad"), Option(key="1")),
        items=tuple(Item(name, {"text": name}) for name in ("a", "b", "c", "4")),
        ratings=(),
        abstain=True,
    )


def written(path: Path, content: object) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def imported(path: Path, task: Task, ending: str = "jsonl", **fields) -> tuple[dict, list[str]]:
    """Return (outcome, value) by item, judge and sample as validation reads them, and reasons."""
    output = path.with_name(f"out.{ending}")
    summary = import_verdicts([path], task, output, Selection(**fields), ANY)
    read = read_external(output, task)
    assert len(read) == summary.n_verdicts
    verdicts = {(v.item, v.judge, v.sample): (v.outcome, v.value) for v in read}
    return verdicts, [f"{r.line}: {r.reason}" for r in summary.rejected]


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_a_wide_table_is_read_by_keys_and_labels(tmp_path, task, ending):
    """Every cell is a verdict, listed as unmatched, or counted as empty."""
    table = "doc,g4,ll\na,A,Good\nb,good,B\nc,,CANNOT_ASSESS\nz,A,B\na,B,\n4,1,A \n"
    path = written(tmp_path / "wide.csv", table)
    verdicts, reasons = imported(
        path, task, ending, item_id="doc", judges={"g4": "gpt", "ll": "llama"}
    )
    assert verdicts == {
        ("a", "gpt", 0): ("answered", "A"),
        ("a", "llama", 0): ("answered", "A"),
        ("b", "gpt", 0): ("invalid", None),
        ("b", "llama", 0): ("answered", "B"),
        ("c", "llama", 0): ("abstained", None),
        ("4", "gpt", 0): ("answered", "1"),
        ("4", "llama", 0): ("invalid", None),
    }
    assert reasons == [
        "3: value 'good' is not an option, so it was written as invalid",
        "5: item 'z' is not in the task",
        "5: item 'z' is not in the task",
        "6: the judge has rated this item before (sample 0)",
        "7: value 'A ' is not an option, so it was written as invalid",
    ]
    with path.with_name("out.rejected.csv").open() as file:
        assert [f"{r['line']}: {r['reason']}" for r in csv.DictReader(file)] == reasons


def test_a_long_table_needs_no_map(tmp_path, task):
    """Repeats are told apart by their sample; response sets are JSON arrays of keys or labels."""
    rows = [
        {"id": "a", "judge": "j", "value": "Bad"},
        {"id": "a", "judge": "j", "value": "A", "sample": 1},
        {"id": 4, "judge": "j", "value": ["Good", "1"], "elicitation": "response_set"},
    ]
    path = written(tmp_path / "long.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    verdicts, reasons = imported(path, task)
    assert verdicts == {
        ("a", "j", 0): ("answered", "B"),
        ("a", "j", 1): ("answered", "A"),
        ("4", "j", 0): ("answered", ("A", "1")),
    }
    assert reasons == []


def test_values_are_read_by_the_rules_of_validation(tmp_path, task):
    """`curate verdicts` wrote sets that a task does not admit as answers, and no pair at all; an
    unknown elicitation made a file that could not be read."""
    task = task.model_copy(update={"response_sets": (("A",), ("B",), ("1",), ("A", "B"))})
    sets = {"elicitation": "response_set"}
    rows = [
        {"id": "a", "judge": "j", "value": ["Good", "1"]} | sets,
        {"id": "b", "judge": "j", "value": ["B", "Good", "Bad"]} | sets,
        {"id": "c", "judge": "j", "value": "n/a"} | sets,
        {"id": "a", "judge": "j", "value": {"set": ["Good", "B"], "choice": "Bad"}}
        | {"elicitation": "paired"},
        {"id": "b", "judge": "j", "value": "A", "elicitation": "ranking"},
    ]
    path = written(tmp_path / "long.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    import_verdicts(
        [path], task, tmp_path / "o.jsonl", Selection(rename={"n/a": CANNOT_ASSESS}), ANY
    )
    read = {(v.item, v.elicitation): v for v in read_external(tmp_path / "o.jsonl", task)}
    assert read.pop(("a", "response_set")).outcome == "invalid"
    assert read.pop(("b", "response_set")).value == ("A", "B")
    assert read.pop(("c", "response_set")).outcome == "abstained"
    assert read.pop(("a", "paired")).value == PairValue(set=("A", "B"), choice="B")
    assert not read
    with (tmp_path / "o.rejected.csv").open() as file:
        reasons = [row["reason"] for row in csv.DictReader(file)]
    assert len(reasons) == 2
    assert "elicitation 'ranking' isn't one of forced_choice" in reasons[1]


def sample(name: object, epoch: int = 1, **fields: object) -> dict[str, object]:
    return {"id": name, "epoch": epoch, "input": "x", "target": "", "messages": []} | fields


LOG = {
    "version": 2,
    "status": "success",
    "eval": {"task": "rate", "model": "openai/gpt-4o"},
    "samples": [
        sample("a", scores={"graded": {"value": "C", "answer": "Bad", "explanation": "results"}}),
        sample("a", 2, scores={"graded": {"value": "I", "answer": "A"}}),
        sample(4, scores={"graded": {"value": "P"}}),
        sample("b", error={"message": "timeout", "traceback": ""}),
    ],
}


def inspect_log(folder: Path, ending: str) -> Path:
    path = folder / f"log.{ending}"
    if ending == "json":
        return written(path, LOG)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"eval": LOG["eval"], "version": 2}))
        for entry in LOG["samples"]:
            name = f"samples/{entry['id']}_epoch_{entry['epoch']}.json"
            archive.writestr(name, json.dumps(entry))
    return path


@pytest.mark.parametrize("ending", ["eval", "json"])
def test_scores_of_inspect_are_verdicts_of_the_scorer(tmp_path, task, ending):
    """Epochs are samples, an error is a failed verdict, a grade that is not an option is listed."""
    path = inspect_log(tmp_path, ending)
    verdicts, reasons = imported(path, task, rename={"C": "A", "I": "Bad"})
    assert verdicts == {
        ("a", "graded", 0): ("answered", "A"),
        ("a", "graded", 1): ("answered", "B"),
        ("4", "graded", 0): ("invalid", None),
        ("b", "graded", 0): ("failed", None),
    }
    assert reasons == ["3: value 'P' is not an option, so it was written as invalid"]


def test_answers_of_the_evaluated_model_are_read_where_they_are_named(tmp_path, task):
    """The judge is then the evaluated model."""
    verdicts, reasons = imported(inspect_log(tmp_path, "json"), task, judges={"graded.answer": ""})
    model = "openai/gpt-4o"
    assert verdicts == {
        ("a", model, 0): ("answered", "B"),
        ("a", model, 1): ("answered", "A"),
        ("4", model, 0): ("failed", None),
        ("b", model, 0): ("failed", None),
    }
    assert reasons == []


def promptfoo_result(item: object, provider: str, **fields: object) -> dict[str, object]:
    return {
        "promptIdx": 0,
        "testIdx": 0,
        "provider": {"id": provider, "label": ""},
        "prompt": {"raw": "Rate", "label": "Rate"},
        "vars": {"item": item, "text": "x"},
        "success": True,
        "failureReason": 0,
        "score": 1,
        "namedScores": {},
    } | fields


def test_outputs_of_promptfoo_are_verdicts_of_the_provider(tmp_path, task):
    """An output that failed an assertion is a verdict all the same; an error is not."""
    results = [
        promptfoo_result("a", "openai:gpt-4o", response={"output": "A"}),
        promptfoo_result(
            "a", "openai:gpt-4o", response={"output": "Bad"}, failureReason=1, error="not A"
        ),
        promptfoo_result(4, "openai:gpt-4o", response={"error": "429"}, failureReason=2),
        promptfoo_result("b", "ollama:phi", response={"output": "", "isRefusal": True}),
        promptfoo_result("c", "ollama:phi", response={"output": {"verdict": "A"}}),
    ]
    content = {"evalId": "eval-1", "results": {"version": 3, "results": results}, "config": {}}
    verdicts, reasons = imported(
        written(tmp_path / "results.json", content),
        task,
        judges={"openai:gpt-4o": "gpt", "ollama:phi": ""},
    )
    assert verdicts == {
        ("a", "gpt", 0): ("answered", "A"),
        ("a", "gpt", 1): ("answered", "B"),
        ("4", "gpt", 0): ("failed", None),
        ("b", "ollama:phi", 0): ("refused", None),
        ("c", "ollama:phi", 0): ("invalid", None),
    }
    assert reasons == [
        """5: value '{"verdict": "A"}' is not an option, so it was written as invalid"""
    ]


def test_grades_of_promptfoo_are_verdicts_of_the_grader(tmp_path, task):
    """What an assertion found is read where the assertion is named; without a grade it failed."""

    def graded(item, *grades):
        parts = [
            {"pass": passes, "score": score, "reason": "x", "assertion": {"type": kind} | more}
            for kind, passes, score, more in grades
        ]
        grading = {"pass": True, "score": 1, "reason": "x", "componentResults": parts}
        return promptfoo_result(
            item, "openai:gpt-4o", response={"output": "a text"}, gradingResult=grading
        )

    rubric = ("llm-rubric", True, 0.75, {"value": "is polite"})
    named = ("llm-rubric", False, 0, {"metric": "tone"})
    results = [
        graded("a", rubric, named, ("llm-rubric", False, 0, {})),
        graded("b", ("llm-rubric", False, 0.25, {}), named),
        promptfoo_result("c", "openai:gpt-4o", response={"error": "429"}, failureReason=2),
    ]
    path = written(tmp_path / "results.json", {"results": {"results": results}})
    verdicts, reasons = imported(
        path,
        task,
        judges={"llm-rubric": "polite", "tone": "", "llm-rubric 2": "", "llm-rubric.score": "s"},
        rename={"pass": "A", "fail": "B", "0.75": "A", "0.25": "B"},
    )
    assert verdicts == {
        ("a", "polite", 0): ("answered", "A"),
        ("b", "polite", 0): ("answered", "B"),
        ("c", "polite", 0): ("failed", None),
        ("a", "tone", 0): ("answered", "B"),
        ("b", "tone", 0): ("answered", "B"),
        ("c", "tone", 0): ("failed", None),
        ("a", "llm-rubric 2", 0): ("answered", "B"),
        ("b", "llm-rubric 2", 0): ("failed", None),
        ("c", "llm-rubric 2", 0): ("failed", None),
        ("a", "s", 0): ("answered", "A"),
        ("b", "s", 0): ("answered", "B"),
        ("c", "s", 0): ("failed", None),
    }
    assert reasons == []


def test_labels_by_item_are_verdicts_of_the_file_or_of_each_judge(tmp_path, task):
    """The LLM file of AltTest has either form; a label of null is not a verdict."""
    flat = {"a": "A", "b": "Bad", "c": None, "4": 1}
    path = written(tmp_path / "gpt.json", flat)
    expected = {"a": "A", "b": "B", "4": "1"}
    verdicts, reasons = imported(path, task)
    assert verdicts == {(i, "gpt", 0): ("answered", v) for i, v in expected.items()}
    assert reasons == []
    both = written(tmp_path / "llm_annotations.json", {"gpt": flat, "llama": {"a": "B"}})
    path.with_name("out.jsonl").unlink()
    verdicts, reasons = imported(both, task, judges={"llama": "", "gpt": "g"})
    assert verdicts == {
        ("a", "llama", 0): ("answered", "B"),
        **{(i, "g", 0): ("answered", v) for i, v in expected.items()},
    }


def batch_line(name: str, body: object = None, status: int = 200) -> dict[str, object]:
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": f"batch_{name}", "custom_id": name, "response": response, "error": None}


def chat(*texts: str | None, refusal: str | None = None) -> dict[str, object]:
    message = {"role": "assistant", "refusal": refusal}
    choices = [{"index": i, "message": message | {"content": t}} for i, t in enumerate(texts)]
    return {"object": "chat.completion", "model": "gpt-4o", "choices": choices}


def test_replies_of_an_openai_batch_are_verdicts_of_the_model(tmp_path, task):
    """Choices are samples; a failed request belongs to the only model of the file."""
    response = {
        "object": "response",
        "model": "gpt-4o",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "content": [{"type": "output_text", "text": "Good"}]},
        ],
    }
    lines = [
        batch_line("rate-a", chat("A", "Bad")),
        batch_line("rate-b", chat(None, refusal="I cannot help")),
        batch_line("rate-c", response),
        batch_line("rate-4", {"error": {"message": "overloaded"}}, 500),
        batch_line("other", chat("A")),
    ]
    path = written(tmp_path / "out_put.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    verdicts, reasons = imported(path, task, item_id="rate-{item}", judges={"gpt-4o": "gpt"})
    assert verdicts == {
        ("a", "gpt", 0): ("answered", "A"),
        ("a", "gpt", 1): ("answered", "B"),
        ("b", "gpt", 0): ("refused", None),
        ("c", "gpt", 0): ("answered", "A"),
        ("4", "gpt", 0): ("failed", None),
    }
    assert reasons == ["5: item 'other' is not in the task"]


def test_an_error_file_belongs_to_the_judge_that_is_named(tmp_path, task):
    """Lines of failed requests name no model; without a judge they are listed."""
    lines = [batch_line("a", chat("A")), batch_line("b", {}, 429), batch_line("c", None, 500)]
    texts = [json.dumps(line) + "\n" for line in lines]
    replies = written(tmp_path / "output.jsonl", texts[0])
    errors = written(tmp_path / "errors.jsonl", "".join(texts[1:]))
    counts = []
    for number, judges in enumerate(({"gpt-4o": "gpt"}, {})):
        output = tmp_path / f"{number}.jsonl"
        summary = import_verdicts([replies, errors], task, output, Selection(judges), ANY)
        counts.append((summary.n_verdicts, [r.reason for r in summary.rejected]))
    unnamed = "the request failed, and its model is not named"
    assert counts == [(3, []), (1, [unnamed, unnamed])]


def test_nothing_is_written_where_much_is_unmatched(tmp_path, task):
    """Above the limit the list alone is written, and the error says where it is."""
    path = written(tmp_path / "wide.csv", "id,g\na,A\nb,x\n")
    output = tmp_path / "v.jsonl"
    with pytest.raises(
        VerdictError, match=r"1 of the entries .*v\.rejected\.csv.*wide\.csv: line 3"
    ):
        import_verdicts([path], task, output, Selection(judges={"g": ""}))
    assert not output.exists()
    assert (tmp_path / "v.rejected.csv").read_text().count("\n") == 2
    written(path, "id,g\na,A\nb,B\n")
    import_verdicts([path], task, output, Selection(judges={"g": ""}))
    assert not (tmp_path / "v.rejected.csv").exists()  # it was of the earlier import


@pytest.mark.parametrize(
    ("file", "fields", "message"),
    [
        (("t.csv", "id,g\na,A\n"), {}, "name the verdict columns with --map"),
        (("t.csv", "id,g\na,A\n"), {"judges": {"h": ""}}, "found no column 'h'"),
        (("t.csv", "doc,g\na,A\n"), {"judges": {"g": ""}}, "found no column 'item' or 'id'"),
        (("t.json", {"eval": {"model": "m"}, "samples": None}), {}, "has no samples"),
        (
            ("t.json", {"results": {"results": [{"vars": {}}]}}),
            {},
            "isn't a promptfoo results file",
        ),
        (("t.json", {"rows": [{}]}), {}, "isn't an inspect_ai log.* or labels by item"),
        (("t.json", {"eval": 1}), {}, "isn't an inspect_ai log .* a list of rows"),
        (("t.json", "{"), {}, "Write strict JSON"),
        (("t.json", {}), {}, "or labels by item"),
        (("t.eval", "no archive"), {}, "is damaged"),
        (("t.jsonl", '{"custom_id": "a", "response": 3}\n'), {}, "isn't a line from a batch"),
        (
            ("t.jsonl", {"custom_id": "a", "response": None}),
            {"item_id": "rate"},
            "--id: found 'rate'",
        ),
        (("t.json", LOG), {"judges": {"other": ""}}, "no verdicts from 'other'"),
        (("absent.csv", None), {}, "was not found"),
    ],
)
def test_a_wrong_file_is_refused_in_a_line(tmp_path, task, file, fields, message):
    """The error names the file and what to do."""
    name, content = file
    path = tmp_path / name
    if content is not None:
        written(path, content)
    with pytest.raises(HarnessError, match=message) as caught:
        import_verdicts([path], task, tmp_path / "v.jsonl", Selection(**fields), ANY)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "v.jsonl").exists()


def test_the_command_counts_every_entry(tmp_path):
    """As JSON: verdicts by outcome, what was left out and what was not matched."""
    name = load_task("toxicity").items[0].id
    scores = {"s": {"value": "A", "answer": "B"}}
    log = LOG | {"samples": [sample(name, scores=scores), sample("no item", scores=scores)]}
    path, output = written(tmp_path / "log.json", log), tmp_path / "v.csv"
    arguments = ("curate", "verdicts", path, "-t", "toxicity", "-o", output, "--json")
    refused = invoke(*arguments)
    assert isinstance(refused.exception, VerdictError), "half of the entries match nothing"
    result = invoke(*arguments, "--max-rejected", "50%")
    assert result.exit_code == 0, result.output
    assert json.loads(result.output) == {
        "file": str(output),
        "n_verdicts": 1,
        "judges": {
            "s": {"n_items": 1, "outcomes": {"answered": 1}, "n_empty": 0, "gives_scores": False}
        },
        "left_out": {"s.answer": 2},
        "n_unmatched": 1,
        "unmatched_file": str(tmp_path / "v.rejected.csv"),
    }
    assert invoke("validate", "-t", "toxicity", "--verdicts", output).exit_code == 0


def test_numbers_of_a_grader_were_written_as_invalid(tmp_path, task):
    """On ordered options they are scores, as `harness validate` takes them; other judges aren't."""
    ordered = task.model_copy(
        update={"scale": "binary", "options": task.options[:2], "positive": ("A",)}
    )
    path = written(tmp_path / "wide.csv", "id,rm,gpt\na,1.94,A\nb,-0.6,2\nc,.3,B\n4,nan,A\n")
    output = tmp_path / "out.jsonl"
    selection = Selection(judges={"rm": "reward", "gpt": ""})
    summary = import_verdicts([path], ordered, output, selection, ANY)
    reward, gpt = summary.judges["reward"], summary.judges["gpt"]
    assert (reward.gives_scores, gpt.gives_scores) == (True, False)
    assert reward.outcomes == {"answered": 3, "invalid": 1}
    assert gpt.outcomes == {"answered": 3, "invalid": 1}
    assert [r.reason for r in summary.rejected] == [
        "value '2' is not an option, so it was written as invalid",
        "value 'nan' is not an option, so it was written as invalid",
    ]
    read = read_verdicts(output, ordered)
    assert read.scores == {"reward": "found"}
    assert [v.value for v in read.verdicts if v.judge == "reward"] == ["1.94", "-0.6", "0.3", None]


def test_numbers_on_options_without_an_order_stay_invalid(tmp_path, task):
    """A score orders items, and nominal options have no order."""
    path = written(tmp_path / "wide.csv", "id,rm\na,1.94\nb,-0.6\n")
    summary = import_verdicts(
        [path], task, tmp_path / "out.csv", Selection(judges={"rm": "reward"}), ANY
    )
    assert summary.judges["reward"].outcomes == {"invalid": 2}
    assert len(summary.rejected) == 2
