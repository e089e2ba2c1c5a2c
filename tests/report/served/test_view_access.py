"""What `harness view` sends, and to whom."""

from __future__ import annotations

import json
import shutil
from urllib.parse import quote, urlencode

import pytest
from support.local_pages import serving
from support.processes import call_harness
from support.viewed_runs import JUDGE, N_CHANGED, N_VIEWED

from harness.report.served.run_list import _DECODE


@pytest.fixture(scope="module")
def server(viewed):
    """The page of three runs, entered."""
    place, names = viewed
    with serving("view", cwd=place) as running:
        running.enter()
        running.runs, running.names = place / "runs", names
        yield running


def fetch(server, path, **query):
    status, _, text = server.request("GET", f"{path}?{urlencode(query)}" if query else path)
    return status, json.loads(text)


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": ""},
        {"Cookie": "view-1=wrong"},
        {"Host": "evil.example"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
    ids=str,
)
def test_requests_from_elsewhere_are_rejected(server, headers):
    """Without the cookie, under another host or from another origin nothing is shown."""
    for path in ("/", "/runs", f"/report/{server.names[0]}", "/items", "/view.js"):
        status, _, text = server.request("GET", path, **headers)
        assert status in {400, 403}
        assert server.names[0] not in text


def test_nothing_can_be_changed(server):
    """The page reads: requests that could write have no route."""
    for method in ("POST", "PUT", "DELETE"):
        assert server.request(method, "/runs", {})[0] in {403, 404, 405}


def test_runs_are_listed_with_what_their_reports_say(server):
    """Task, state, verdict, leader and cost of each, and the progress of the one that goes on."""
    status, content = fetch(server, "/runs")
    assert status == 200
    by_name = {row["name"]: row for row in content["runs"]}
    first, second, running = server.names
    assert by_name.keys() == {first, second, running}
    for name in (first, second):
        row = by_name[name]
        metrics = json.loads((server.runs / name / "metrics.json").read_text(encoding="utf-8"))
        assert row["leader"] == metrics["decision"]["leader"]
        assert (row["task"], row["state_words"], row["cost"]) == ("task", "done", "$0.0000")
        assert row["verdict"] == "Don't use any"
        assert row["has_report"]
        assert row["n_replies"] is None
    row = by_name[running]
    assert (row["state_words"], row["is_running"], row["has_report"]) == ("running", True, False)
    assert (row["n_replies"], row["n_planned"]) == (N_VIEWED, 2 * N_VIEWED)
    assert row["last_reply"].startswith("20")
    assert row["verdict"] == row["leader"] == row["cost"] == ""


@pytest.mark.parametrize(
    ("reason", "race", "words"),
    [
        ("raced", {"judge": "a"}, ("Race, not validated", "a")),
        ("too_few_answered", None, ("No recommendation", "")),
    ],
)
def test_runs_without_a_ranking_are_not_listed_as_advice_against_the_judges(reason, race, words):
    """A race that returned a judge, and a run that no judge answered, read "Don't use any"."""
    decision = {"verdict": "none", "leader": None, "reason": reason}
    numbers = _DECODE(json.dumps({"decision": decision, "judges": [], "race": race}))
    assert (numbers.verdict, numbers.leader) == words


def test_two_runs_show_what_each_judge_answered_before_and_now(server):
    """Each shared item once, with the answers that the reports of the runs show."""
    first, second, _ = server.names
    status, pair = fetch(server, "/items", first=first, second=second)
    assert status == 200
    assert (pair["first"], pair["second"], pair["n_items"]) == (first, second, [N_VIEWED] * 2)
    assert pair["judges"] == [JUDGE, "mute"]
    assert {"language: de", "language: en"} <= set(pair["slices"])
    assert len(pair["items"]) == N_VIEWED
    changed = set()
    for item in pair["items"]:
        judge, mute = item["judges"]
        index = int(item["id"][1:])
        before = judge["before"]["text"]
        assert before == ("Toxic", "Not toxic")[index % 2 == 0]
        assert judge["is_same"] == (judge["now"]["text"] == before)
        if not judge["is_same"]:
            changed.add(index)
        assert mute["before"]["outcomes"] == mute["now"]["outcomes"] == ["invalid"]
        assert mute["is_same"]
    assert changed == set(range(N_CHANGED))


def test_an_item_comes_with_its_ratings_and_replies(server):
    """The replies of both runs, and each rating."""
    first, second, _ = server.names
    status, full = fetch(server, "/item", first=first, second=second, item="i1")
    assert status == 200
    assert full["text"].startswith("Comment 1. ")
    assert len(full["raters"]) == 3
    assert [answer["name"] for answer in full["now"]] == [JUDGE, "mute"]
    assert {answer["reply"] for answer in full["before"] if answer["name"] == JUDGE} <= {"A", "B"}
    status, missing = fetch(server, "/item", first=first, second=second, item="nowhere")
    assert (status, missing) == (200, None)


@pytest.mark.parametrize("name", ["", "..", "../task", "no-such-run", "a\u202eb"])
def test_a_name_is_not_a_path(server, name):
    """What is no run of the folder is not read."""
    assert server.request("GET", f"/report/{quote(name, safe='')}")[0] == 404
    status, content = fetch(server, "/items", first=name, second=server.names[0])
    assert status == 422
    assert "no such run" in content["problem"]
    assert "\u202e" not in content["problem"]


def test_a_report_has_no_access_to_the_other_runs(server):
    """A run folder may be anybody's: its report is sent without the origin of the page."""
    status, headers, text = server.request("GET", f"/report/{server.names[0]}")
    assert status == 200
    assert "sandbox allow-scripts" in headers["Content-Security-Policy"]
    assert "allow-same-origin" not in headers["Content-Security-Policy"]
    assert text == (server.runs / server.names[0] / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def copied(server, tmp_path):
    """A server of runs that a test may change."""
    shutil.copytree(server.runs, tmp_path / "runs")
    with serving("view", cwd=tmp_path) as running:
        running.enter()
        running.runs, running.names = tmp_path / "runs", server.names
        yield running


def test_a_damaged_run_does_not_hide_the_others(copied):
    """Its folder is counted in a warning."""
    (copied.runs / "broken").mkdir()
    (copied.runs / "broken" / "manifest.json").write_text("{", encoding="utf-8")
    _, content = fetch(copied, "/runs")
    assert len(content["runs"]) == 3
    assert "1 folder could not be read" in content["warning"]


def test_a_link_in_place_of_a_report_is_not_followed(copied, tmp_path):
    """A folder with a link in it is no run folder."""
    report = copied.runs / copied.names[1] / "report.html"
    (tmp_path / "secret.html").write_text("secret", encoding="utf-8")
    report.unlink()
    report.symlink_to(tmp_path / "secret.html")
    status, _, text = copied.request("GET", f"/report/{copied.names[1]}")
    assert status == 404
    assert "secret" not in text


def test_a_port_that_is_taken_is_one_line(server, tmp_path):
    """Exit code 2, with what to do."""
    done = call_harness("view", "--port", server.port, cwd=tmp_path)
    assert done.returncode == 2
    assert f"port {server.port} can't be used" in done.stderr
