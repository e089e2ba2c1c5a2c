"""Verdicts go back to the traces they are about, as scores of Langfuse or MLflow."""

from __future__ import annotations

import json

import pytest
from support.processes import invoke

from harness.errors import HarnessError
from harness.tasks import load_task

N = 12
PEOPLE = ("Ada", "Bo", "Cy")


def scores():
    """Return scores of people and of an evaluator, on steps of traces."""
    return [
        {
            "id": f"s-{i}-{who}",
            "traceId": f"tr-{i}",
            "observationId": f"ob-{i}",
            "timestamp": f"2026-03-01T10:{i:02}:00Z",
            "source": "EVAL" if who == "" else "ANNOTATION",
            "name": "helpful",
            "dataType": "CATEGORICAL",
            "value": None,
            "stringValue": ("yes", "no", "partly")[(i + k // 2) % 3],
            "authorUserName": who,
        }
        for i in range(N)
        for k, who in enumerate((*PEOPLE, ""))
    ]


@pytest.fixture
def imported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.json").write_text(json.dumps(scores()), encoding="utf-8")
    done = invoke("curate", "import", "scores.json", "--as", "made", "--property", "help")
    assert done.exit_code == 0, done.exception
    return tmp_path


def exported(place, form, *words):
    done = invoke("curate", "export", "made", "out.jsonl", "--to", form, *words)
    assert done.exit_code == 0, done.exception
    return [json.loads(line) for line in (place / "out.jsonl").read_text().splitlines()], done


def test_scores_of_langfuse_name_trace_step_and_judge(imported):
    bodies, done = exported(imported, "langfuse")
    assert f"Wrote out.jsonl: {N} scores (evaluator {N})." in done.output
    first = bodies[0]
    assert (first["traceId"], first["observationId"]) == ("tr-0", "ob-0")
    assert (first["name"], first["value"], first["dataType"]) == ("helpful", "no", "CATEGORICAL")
    assert first["metadata"]["judge"] == "evaluator"
    assert len({body["id"] for body in bodies}) == N


def test_a_second_export_has_the_same_ids(imported):
    first, _ = exported(imported, "langfuse")
    (imported / "out.jsonl").unlink()
    assert exported(imported, "langfuse")[0] == first


def test_exported_scores_are_verdicts_when_they_are_imported(imported):
    """They come by the API, but say which judge gave them."""
    bodies, _ = exported(imported, "langfuse")
    back = [
        body | {"source": "API", "stringValue": body["value"], "value": None} for body in bodies
    ]
    people = [row for row in scores() if row["source"] == "ANNOTATION"]
    (imported / "both.json").write_text(json.dumps([*people, *back]), encoding="utf-8")
    done = invoke("curate", "import", "both.json", "--as", "again", "--property", "help")
    assert done.exit_code == 0, done.exception
    assert f"1 judge, {N} verdicts" in done.output
    made, again = load_task("made"), load_task("again")
    assert [r.value for r in again.ratings] == [r.value for r in made.ratings]
    texts = [(imported / name / "verdicts.csv").read_text() for name in ("made", "again")]
    assert texts[0] == texts[1]


def test_assessments_of_mlflow_have_a_source_and_a_value(imported):
    bodies, _ = exported(imported, "mlflow")
    assessment = bodies[0]["assessment"]
    assert assessment["trace_id"] == "tr-0"
    assert assessment["source"] == {"source_type": "LLM_JUDGE", "source_id": "evaluator"}
    assert assessment["feedback"] == {"value": "no"}
    assert assessment["create_time"].endswith("Z")


def test_numbers_and_sets_keep_their_kinds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"d{i},{1 + i % 3},{1 + i % 2},{1 + (i + 1) % 3}\n" for i in range(N))
    (tmp_path / "t.csv").write_text("id,rater1,rater2,rater3\n" + rows)
    done = invoke("curate", "import", "t.csv", "--as", "made", "--scale", "ordinal")
    assert done.exit_code == 0, done.exception
    lines = ["item,judge,elicitation,value", "d0,j,forced_choice,2"]
    lines += ['d1,j,response_set,"[""1"", ""2""]"', "d2,j,forced_choice,CANNOT_ASSESS"]
    (tmp_path / "v.csv").write_text("\n".join(lines) + "\n")
    bodies, done = exported(tmp_path, "langfuse", "--verdicts", "v.csv")
    assert [body["value"] for body in bodies] == [2.0, '["1", "2"]']
    assert [body["dataType"] for body in bodies] == ["NUMERIC", "CATEGORICAL"]
    assert "Left out, because they have no answer: 1 abstained." in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("out.csv", "--to", "langfuse"), "scores are written as .jsonl"),
        (("scores.json", "--to", "mlflow"), "scores are written as .jsonl"),
        (("out.jsonl", "--to", "langfuse", "--per-item", "2"), "--per-item"),
        (("out.jsonl", "--verdicts", "v.csv"), "--verdicts"),
    ],
)
def test_options_of_other_exports_are_refused(imported, words, message):
    done = invoke("curate", "export", "made", *words)
    assert done.exit_code == 2 or isinstance(done.exception, HarnessError)
    assert message in f"{done.output}{done.exception}"
