"""Datasets of Argilla: valid for its own package, and back as ratings, each once."""

from __future__ import annotations

import json
import random
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from uuid import UUID

import pytest
from annotation.teams.test_label_studio_project import TASKS, folder_of, written
from support.packages import checking
from support.processes import invoke

from harness.errors import TaskError
from harness.tasks import load_task

USERS = [str(UUID(int=1)), str(UUID(int=2))]


class _Server(BaseHTTPRequestHandler):
    """Says who the user is, the only thing that the package asks for by itself."""

    def do_GET(self):
        user = {"id": USERS[0], "username": "ann", "role": "owner", "first_name": "Ann"}
        times = dict.fromkeys(("inserted_at", "updated_at"), "2026-01-01T00:00:00")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(user | times).encode())

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture(scope="module")
def argilla():
    """The package, with a client."""
    package = checking("argilla", "argilla")
    server = HTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    package.Argilla(api_url=f"http://127.0.0.1:{server.server_port}", api_key="none")
    yield package
    server.shutdown()
    server.server_close()


def exported(task, form="forced_choice", *options):
    folder = task.parent / f"project-{form}"
    options = ("--to", "argilla", "--elicitation", form, *options)
    result = invoke("curate", "export", task, folder, *options)
    assert result.exit_code == 0, (result.output, result.exception)
    return folder / form


def drawn(question, rng, endorsed):
    """Return an answer to a question; a choice is among the options of the set before it."""
    kind = question["settings"]["type"]
    options = [o["value"] for o in question["settings"].get("options", [])]
    options = [value for value in options if value != "CANNOT_ASSESS"]
    if kind == "text":
        return f"{rng.random():.3f}"
    if kind == "label_selection":
        return rng.choice(endorsed or options)
    return rng.sample(options, rng.randint(1, len(options)))


def rated(folder, rng):
    """Fill in the records as two users do."""
    records = json.loads((folder / "records.json").read_text(encoding="utf-8"))
    questions = json.loads((folder / "settings.json").read_text(encoding="utf-8"))["questions"]
    for record in records:
        responses = {q["name"]: [] for q in questions if q["name"] != "comment"}
        for user in USERS:
            value = None
            for question in questions[:-1]:
                value = drawn(question, rng, value if isinstance(value, list) else None)
                responses[question["name"]].append({"user_id": user, "value": value})
        record["responses"] = responses
    return records


def check_round_trip(place, name, read_again):
    """Every rating of every form is in the task once, after a tool has read the records."""
    task, rng = folder_of(place, name), random.Random(0)
    n_items, n_ratings = len(load_task(task, unrated=True).items), 0
    for form in load_task(task, unrated=True).elicitations:
        folder = exported(task, form)
        path = written(place / f"{form}.json", read_again(folder, rated(folder, rng)))
        who = [x for i, user in enumerate(USERS) for x in ("--rater-name", f"{user}={form}{i}")]
        command = ("curate", "import", path, "--into", task, *who)
        result = invoke(*command)
        assert result.exit_code == 0, result.exception
        n_ratings += 2 * n_items * (2 if form == "paired" else 1)
        assert len(load_task(task).ratings) == n_ratings
        assert "0 ratings.\nRatings that were already in the task: " in invoke(*command).output


@pytest.mark.parametrize("name", sorted(TASKS.keys() - {"image", "hostile"}))
def test_rated_records_come_back(name, tmp_path):
    check_round_trip(tmp_path, name, lambda _, records: records)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TASKS.keys() - {"image", "hostile"}))
def test_datasets_are_valid_and_come_back(argilla, name, tmp_path):
    """Settings and records are read by the package."""

    def read_again(folder, records):
        settings = argilla.Settings.from_json(folder / "settings.json")
        settings.validate()
        names = {question.name for question in settings.questions}
        again = [argilla.Record.from_dict(record) for record in records]
        assert {name for record in records for name in record["responses"]} < names
        fields = {field.name for field in settings.fields}
        assert all(set(record.fields.to_dict()) == fields for record in again)
        return [record.to_dict() for record in again]

    check_round_trip(tmp_path, name, read_again)


def test_discarded_responses_are_skips_and_drafts_are_left_out(tmp_path):
    """Where the status stands beside the response; a comment is kept."""
    task = folder_of(tmp_path, "binary", 3)
    records = json.loads((exported(task) / "records.json").read_text(encoding="utf-8"))
    said = zip(("submitted", "discarded", "draft"), records, strict=True)
    for status, record in said:
        one = {"user_id": USERS[0], "status": status}
        record["responses"] = {"choice": [one | {"value": "A"}], "comment": [one | {"value": "!"}]}
    result = invoke("curate", "import", written(tmp_path / "x.json", records), "--into", task)
    assert "Skipped: 1" in result.output
    [rating] = load_task(task, unrated=True).ratings
    assert (rating.rater, dict(rating.provenance)["comment"]) == (USERS[0], "!")


def test_raters_are_metadata_to_filter_by(tmp_path):
    """So many raters as are named is what the dataset waits for."""
    task = folder_of(tmp_path, "binary")
    folder = exported(task, "forced_choice", "--raters", "ann,bea,cem", "--per-item", 2)
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["distribution"] == {"strategy": "overlap", "min_submitted": 2}
    records = json.loads((folder / "records.json").read_text())
    assert all(len(record["metadata"]["raters"]) == 2 for record in records)


def test_damaged_records_are_refused_in_one_line(tmp_path):
    """What a record says of itself is read strictly."""
    task = folder_of(tmp_path, "binary", 3)
    content = [{"metadata": {"harness": '{"harness_items": 3}'}, "responses": {}}]
    path = written(tmp_path / "x.json", content)
    error = invoke("curate", "import", path, "--into", task).exception
    assert isinstance(error, TaskError)
    assert "these are not records from a dataset" in str(error)
