"""Who may use the page: the holder of the token, from the page itself, under its own host."""

from __future__ import annotations

import json
import os
import stat
from hashlib import sha256

import pytest
from support.annotating import make_unrated_task, page_server
from support.pictures import png
from support.task_folders import write_jsonl

ANSWER = {"item": "i0", "elicitation": "forced_choice", "value": "A"}


def body_of(**changes):
    """The answer to the only question, with changes."""
    return {"answers": [ANSWER | changes]}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The page of a task of one item, entered."""
    task = make_unrated_task(tmp_path_factory.mktemp("access") / "task", ["A comment."])
    with page_server(task, "ann") as running:
        running.enter()
        running.task = task
        yield running


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": ""},
        {"Cookie": "annotate-1=wrong"},
        {"Host": "evil.example"},
        {"Host": "evil.example:8765"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ],
    ids=str,
)
def test_requests_from_elsewhere_are_refused(server, headers):
    """Without the cookie, under another host or from another origin nothing is shown or kept."""
    log = server.task / "annotations" / "ann.jsonl"
    before = log.read_bytes()
    for method, path, body in (
        ("GET", "/", None),
        ("GET", "/question", None),
        ("POST", "/answer", body_of()),
        ("POST", "/skip", body_of()),
        ("POST", "/back", {}),
    ):
        status, _, text = server.request(method, path, body, **headers)
        assert status in {400, 403}
        assert "A comment." not in text
    assert log.read_bytes() == before


def test_answers_need_an_origin(server):
    """A form that sends no origin is refused as well."""
    assert server.request("POST", "/answer", body_of(), Origin="")[0] == 403
    assert server.request("POST", "/answer", body_of(), Content_Type="text/plain")[0] == 415


def test_token_is_used_up(server):
    """The printed address opens once; the browser that opened it is sent to the page."""
    path = f"/?token={server.token}"
    assert server.request("GET", path, Cookie="")[0] == 403
    assert server.request("GET", "/?token=wrong", Cookie="")[0] == 403
    assert server.request("GET", path)[0] == 303


def test_cookie_and_headers_are_strict(tmp_path):
    """No script reads the cookie, no other site sends it; nothing from outside is loaded."""
    task = make_unrated_task(tmp_path / "task", ["A comment."])
    with page_server(task, "ann") as running:
        _, headers, _ = running.request("GET", f"/?token={running.token}", Host="evil.example")
        assert "Set-Cookie" not in headers
        _, headers, _ = running.request("GET", f"/?token={running.token}")
        assert "HttpOnly" in headers["Set-Cookie"]
        assert "SameSite=Strict" in headers["Set-Cookie"]
        assert headers["Referrer-Policy"] == "no-referrer"
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy


def test_only_the_owner_can_read_the_files(server):
    """The log and its folder have no permissions for others, whatever the umask allows."""
    folder = server.task / "annotations"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "ann.jsonl").stat().st_mode) == 0o600
    assert folder.stat().st_uid == os.geteuid()


def test_answers_are_checked(server):
    """What is not an answer to the current question is refused, and changes nothing."""
    for body, status in (
        (body_of(value="C"), 422),
        (body_of(value=[]), 422),
        (body_of(value=None), 422),
        (body_of(value=1), 400),
        (body_of(item="i9"), 409),
        (body_of(elicitation="response_set"), 409),
        ({"answers": []}, 409),
        ([], 400),
    ):
        assert server.request("POST", "/answer", body)[0] == status
    view = json.loads(server.request("GET", "/question")[2])
    assert (view["n_complete"], view["can_go_back"]) == (0, False)


def test_two_raters_at_once_do_not_mix(tmp_path):
    """Each has a log, a port and a cookie of their own; one name is used by one process."""
    task = make_unrated_task(tmp_path / "task", ["A comment."])
    with page_server(task, "ann") as ann, page_server(task, "a/nn") as other:
        ann.enter()
        other.enter()
        assert ann.cookie.partition("=")[0] != other.cookie.partition("=")[0]
        assert ann.request("POST", "/answer", body_of())[0] == 200
        assert other.request("POST", "/answer", body_of(value="B"))[0] == 200
        assert other.request("GET", "/", Cookie=ann.cookie)[0] == 403
        with pytest.raises(AssertionError, match="another process is writing"):
            page_server(task, "ann").__enter__()
    logs = sorted((task / "annotations").iterdir())
    values = [json.loads(log.read_text().splitlines()[-1])["value"] for log in logs]
    assert {log.name: value for log, value in zip(logs, values, strict=True)} == {
        "a%2Fnn.jsonl": "B",
        "ann.jsonl": "A",
    }


def test_interrupt_ends_with_a_summary(tmp_path):
    """Ctrl-C is the ordinary end: exit code 0, and the next command."""
    import signal

    task = make_unrated_task(tmp_path / "task", ["A comment."])
    with page_server(task, "ann") as running:
        running.enter()
        running.request("POST", "/answer", body_of())
        running.process.send_signal(signal.SIGINT)
        out, err = running.process.communicate(timeout=20)
    assert (running.process.returncode, err) == (0, "")
    assert "Rated: 1 of 1 items." in out
    assert "harness annotate merge ./task" in out


def test_raters_see_the_image_of_the_item(tmp_path):
    """The image of the question alone is sent, under its hash; the next item has another."""
    task = make_unrated_task(tmp_path / "task", ["First.", "Second."])
    items = [{"id": f"i{n}", "text": f"Text {n}", "picture": f"{n}.png"} for n in range(2)]
    write_jsonl(task / "items.jsonl", items)
    for n in range(2):
        (task / f"{n}.png").write_bytes(png(n))
    with (task / "task.yaml").open("a") as file:
        file.write("image: picture\n")
    with page_server(task, "ann") as running:
        running.enter()
        screen = json.loads(running.request("GET", "/question")[2])["screen"]
        [question] = screen["questions"]
        shown = png(int(question["item"].removeprefix("i")))
        assert screen["image"] == sha256(shown).hexdigest()
        status, headers, content = running.request("GET", f"/image?{screen['image']}")
        assert (status, headers["Content-Type"]) == (200, "image/png")
        assert content.encode(errors="surrogateescape") == shown
        assert running.request("GET", f"/image?{screen['image']}", Cookie="")[0] == 403
        view = running.request("POST", "/answer", body_of(item=question["item"]))[2]
        assert json.loads(view)["screen"]["image"] != screen["image"]
        assert running.request("GET", f"/image?{screen['image']}")[0] == 404
