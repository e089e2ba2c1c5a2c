"""Exports of Langfuse and MLflow: people's scores are ratings, evaluators' are verdicts."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pytest
from support.processes import invoke

from harness.errors import HarnessError
from harness.tasks import load_task

N = 12
PEOPLE = ("Ada", "Bo", "Cy")


def score(i, *, source="ANNOTATION", who=None, name="helpful", value="yes", **more):
    """Return a score as the export of the table of scores has it."""
    return {
        "id": f"s-{i}-{source}-{who}-{name}",
        "traceId": f"tr-{i}",
        "sessionId": None,
        "datasetRunId": None,
        "timestamp": f"2026-03-01T10:{i:02}:00.000Z",
        "source": source,
        "name": name,
        "dataType": "CATEGORICAL",
        "value": 1 if value == "yes" else 0,
        "stringValue": value,
        "comment": None,
        "metadata": {},
        "observationId": None,
        "traceName": "chat",
        "userId": None,
        "traceTags": [],
        "environment": "production",
        "authorUserName": who,
    } | more


def trace(i):
    return {
        "bookmarked": False,
        "id": f"tr-{i}",
        "timestamp": f"2026-03-01T09:{i:02}:00.000Z",
        "name": "chat",
        "input": {"messages": [{"role": "user", "content": f"May I return parcel {i}?"}]},
        "output": {"content": f"Yes, parcel {i} can go back within 30 days."},
        "metadata": {"language": ("en", "de")[i % 2]},
        "tags": ["shop"],
        "version": "1",
    }


def value_of(i, k):
    return ("yes", "no")[(i + (i * k) % 3 // 2) % 2]


def scores():
    given = [score(i, who=w, value=value_of(i, k)) for i in range(N) for k, w in enumerate(PEOPLE)]
    return given + [score(i, source="EVAL", value=value_of(i, 0)) for i in range(N)]


def saved(path, rows):
    """Write rows as the ending says; csv has objects as JSON, as Langfuse writes them."""
    if path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            for row in rows:
                cells = {
                    n: json.dumps(c) if isinstance(c, dict | list) else c for n, c in row.items()
                }
                writer.writerow(cells)
    return path


def imported(place, *words):
    done = invoke("curate", "import", *words, "--as", str(place / "made"), "--property", "x")
    assert done.exit_code == 0, done.exception
    return load_task(place / "made"), done.output


@pytest.mark.parametrize("ending", ["json", "csv", "jsonl"])
@pytest.mark.parametrize("first", ["scores", "traces"])
def test_scores_and_traces_of_langfuse_become_a_task(tmp_path, ending, first):
    files = {
        "scores": str(saved(tmp_path / f"scores.{ending}", scores())),
        "traces": str(saved(tmp_path / f"traces.{ending}", [trace(i) for i in range(N)])),
    }
    second = next(name for name in files if name != first)
    task, output = imported(tmp_path, files[first], files[second])
    assert Counter(r.rater for r in task.ratings) == dict.fromkeys(PEOPLE, N)
    assert [r.value for r in task.ratings] == [value_of(i, k) for i in range(N) for k in range(3)]
    assert task.rater_ids == "real"
    assert f"1 judge, {N} verdicts" in output
    item = task.by_id["tr-3"]
    assert item.fields["output"] == "Yes, parcel 3 can go back within 30 days."
    assert "May I return parcel 3?" in item.fields["input"]
    assert item.fields["metadata.language"] == "de"
    assert task.text == ("input", "output")


def test_scores_of_langfuse_from_blob_storage_and_the_api_are_read(tmp_path):
    names = {"traceId": "trace_id", "stringValue": "string_value", "dataType": "data_type"}
    rows = [{names.get(n, n): cell for n, cell in row.items()} for row in scores()]
    blob, _ = imported(tmp_path, str(saved(tmp_path / "blob.jsonl", rows)))
    (tmp_path / "api.json").write_text(json.dumps({"data": scores(), "meta": {"page": 1}}))
    (tmp_path / "made").rename(tmp_path / "blob")
    api, output = imported(tmp_path, str(tmp_path / "api.json"))
    assert [r.value for r in api.ratings] == [r.value for r in blob.ratings]
    assert "Export the traces, and pass both" in " ".join(output.split())


def test_scores_that_came_by_the_api_are_asked_about(tmp_path):
    """A thumb of a user and the result of a script look alike."""
    rows = scores() + [score(i, source="API", value="yes") for i in range(N)]
    path = saved(tmp_path / "scores.json", rows)
    done = invoke("curate", "import", str(path), "--as", str(tmp_path / "made"))
    assert isinstance(done.exception, HarnessError)
    assert "API are people or a program" in str(done.exception)
    _, output = imported(tmp_path, str(path), "--judges", "evaluator,API")
    assert "2 judges" in output


def test_traces_of_langfuse_alone_name_nobody(tmp_path):
    rows = [trace(i) | {"helpful": ["yes", "no"]} for i in range(N)]
    path = saved(tmp_path / "traces.json", rows)
    done = invoke("curate", "import", str(path), "--as", str(tmp_path / "made"))
    assert "Export the scores too" in str(done.exception)


def test_scores_that_are_not_ratings_are_counted(tmp_path):
    rows = scores()
    rows += [score(0, dataType="CORRECTION", stringValue="Better text", name="output")]
    rows += [score(1, traceId=None, sessionId="se-1", who="Ada")]
    _, output = imported(tmp_path, str(saved(tmp_path / "scores.json", rows)))
    said = " ".join(output.split())
    assert "left out corrections of an output: 1" in said
    assert "left out scores of sessions or data set runs: 1" in said


def test_several_scores_of_langfuse_are_criteria(tmp_path):
    rows = scores() + [
        score(i, who=w, name="polite", value=value_of(i + 1, k))
        for i in range(N)
        for k, w in enumerate(PEOPLE)
    ]
    task, _ = imported(tmp_path, str(saved(tmp_path / "scores.json", rows)))
    assert {item.criterion for item in task.items} == {"helpful", "polite"}


def assessment(i, who, value, *, kind="HUMAN", name="helpful", **more):
    """Return an assessment as `Assessment.to_dictionary` writes it."""
    return {
        "assessment_id": f"a-{i}-{who}",
        "assessment_name": name,
        "trace_id": f"tr-{i}",
        "source": {"source_type": kind, "source_id": who},
        "create_time": f"2026-03-01T10:{i:02}:00Z",
        "last_update_time": f"2026-03-01T10:{i:02}:00Z",
        "feedback": {"value": value},
        "valid": True,
    } | more


def assessments(i):
    given = [assessment(i, who, value_of(i, k)) for k, who in enumerate(PEOPLE)]
    expected = assessment(i, "Ada", "", name="expected") | {"expectation": {"value": "30 days"}}
    del expected["feedback"]
    judged = assessment(i, "gpt-4o", value_of(i, 0), kind="LLM_JUDGE")
    return [*given, judged, expected]


def as_row(i):
    """Return a trace as `mlflow.search_traces` has it."""
    return {
        "trace_id": f"tr-{i}",
        "state": "OK",
        "request_time": 1772355600000 + i,
        "execution_duration": 900 + i,
        "request": {"question": f"May I return parcel {i}?"},
        "response": f"Yes, parcel {i} can go back within 30 days.",
        "trace_metadata": {"mlflow.user": "u", "language": ("en", "de")[i % 2]},
        "tags": {},
        "spans": [],
        "assessments": assessments(i),
    }


def as_object(i):
    """Return a trace as `Trace.to_json` writes it."""
    attributes = {
        "mlflow.spanInputs": json.dumps({"question": f"May I return parcel {i}?"}),
        "mlflow.spanOutputs": json.dumps(f"Yes, parcel {i} can go back within 30 days."),
    }
    info = {name: as_row(i)[name] for name in ("trace_id", "state", "trace_metadata", "tags")}
    info |= {"request_preview": "May I", "response_preview": "Yes,"}
    span = {"span_id": "x", "parent_span_id": None, "attributes": attributes}
    return {"info": info | {"assessments": assessments(i)}, "data": {"spans": [span]}}


@pytest.mark.parametrize(
    ("name", "make"),
    [("t.json", as_row), ("t.csv", as_row), ("t.jsonl", as_object), ("o.json", as_object)],
)
def test_traces_of_mlflow_become_a_task(tmp_path, name, make):
    task, output = imported(tmp_path, str(saved(tmp_path / name, [make(i) for i in range(N)])))
    assert Counter(r.rater for r in task.ratings) == dict.fromkeys(PEOPLE, N)
    assert [r.value for r in task.ratings] == [value_of(i, k) for i in range(N) for k in range(3)]
    assert f"1 judge, {N} verdicts" in output
    assert f"left out expectations: {N}" in " ".join(output.split())
    fields = task.by_id["tr-5"].fields
    assert fields["input"] == "May I return parcel 5?"
    assert fields["output"] == "Yes, parcel 5 can go back within 30 days."
    assert fields["metadata.language"] == "de"


def test_replaced_feedback_of_mlflow_is_left_out(tmp_path):
    rows = [as_row(i) for i in range(N)]
    rows[0]["assessments"].append(assessment(0, "Ada", "no", valid=False))
    _, output = imported(tmp_path, str(saved(tmp_path / "t.json", rows)))
    assert "left out feedback that was replaced later: 1" in " ".join(output.split())


def test_a_judge_called_like_a_person_keeps_its_verdicts_apart(tmp_path):
    rows = [as_row(i) for i in range(N)]
    for row in rows:
        row["assessments"][3]["source"]["source_id"] = "Ada"
    task, output = imported(tmp_path, str(saved(tmp_path / "t.json", rows)))
    assert {r.rater for r in task.ratings} == {*PEOPLE}
    assert "judges      llm_judge Ada" in output
