"""Alerts: what is posted when a round fails."""

from __future__ import annotations

import json

import pytest
from support.look_schedules import Schedule, majority, other, replies
from support.processes import invoke

from harness.errors import HarnessError, RunError
from harness.revalidation.notification import check_notify_url, notify

N = 20
SECRET = "T00/hook-7f3a"


def posted(server) -> list[dict]:
    requests = server.requests()
    return [json.loads(r["body"]) for r in requests if r["path"].endswith(SECRET)]


@pytest.fixture
def schedule(tmp_path, stub):
    stub.reset()
    return Schedule(tmp_path, stub, {"judge": replies(N, majority)}, n=N)


def test_a_look_that_fails_is_posted_once(schedule, stub, monkeypatch):
    """With the sentence, the link of the job and the verdicts; an unchanged look is not."""
    monkeypatch.setenv("HARNESS_NOTIFY_URL", f"{stub.origin}/{SECRET}")
    assert invoke("revalidate", schedule.run).exit_code == 0
    assert posted(stub) == []
    schedule.stub.set_table("judge", replies(N, lambda i: other(majority(i))))
    job = {"SERVER_URL": "https://git.example", "REPOSITORY": "team/judges", "RUN_ID": "7"}
    for name, value in job.items():
        monkeypatch.setenv(f"GITHUB_{name}", value)
    looked = invoke("revalidate", schedule.run)
    assert looked.exit_code == 1
    [alert] = posted(stub)
    link = "https://git.example/team/judges/actions/runs/7"
    assert alert["text"].startswith("judge: a different judge since ")
    assert alert["text"].endswith(f" {link}")
    assert (alert["link"], alert["exit_code"], alert["verdicts"]) == (link, 1, {"judge": "worse"})
    assert SECRET not in looked.output + looked.stderr


def test_an_alert_that_is_not_accepted_never_fails_the_look(schedule, stub):
    """The line says why, without the address."""
    schedule.stub.set_table("judge", {}, fault="401")
    for address, why in (
        (f"{stub.origin}/{SECRET}", "the server replied with status 404"),
        (f"http://127.0.0.1:9/{SECRET}", "no server answers at that address"),
        (f"https://{stub.origin.partition('//')[2]}/{SECRET}", "the server's certificate is inval"),
    ):
        looked = invoke("revalidate", schedule.run, "--notify", address)
        assert looked.exit_code == 3
        assert f"--notify: {why}" in looked.stderr
        assert SECRET not in looked.output + looked.stderr


def test_an_error_is_posted_too(schedule, stub):
    """A watch that cannot look is no quiet one."""
    (schedule.run / "history.jsonl").unlink(missing_ok=True)
    (schedule.run / "verdicts.jsonl").unlink()
    looked = invoke("revalidate", schedule.run, "--notify", f"{stub.origin}/{SECRET}")
    assert isinstance(looked.exception, HarnessError)
    [alert] = posted(stub)
    assert alert["text"].startswith(str(looked.exception))


@pytest.mark.parametrize("address", ["hooks.example/T00", "file:///T00", "https://", "http://[T00"])
def test_a_wrong_address_is_rejected_without_repeating_it(address):
    """Before anything is asked."""
    with pytest.raises(RunError, match="isn't an address") as refused:
        check_notify_url(address)
    assert "T00" not in str(refused.value)


def test_a_redirect_passed_for_a_delivered_alert(stub):
    """It is not followed, as that may carry the secret elsewhere; the line says so."""
    address = stub.url(fault="302;to=http:%2F%2F127.0.0.1:9%2Fx") + "/chat/completions"
    assert notify(address, "changed.", {}, "runs/x") == "the server replied with status 302"


def test_a_server_that_hangs_is_left(stub, monkeypatch):
    """After the timeout."""
    monkeypatch.setattr("harness.revalidation.notification.TIMEOUT_S", 0.2)
    assert (
        notify(stub.url(ms=5000) + "/chat/completions", "changed.", {}, "runs/x")
        == "no reply within 0.2 s"
    )
