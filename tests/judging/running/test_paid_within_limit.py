"""What a run is billed never exceeds its limit, whatever its judges, servers and resumes are.

If servers ignore the token limit of their requests, it exceeds the limit by one reply at most.

The servers count what they would bill: a token per byte of a prompt, more for its template, replies
up to the limit that the request sets, and also what never arrived.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.judge_runs import QUICK_RETRIES
from support.processes import BATCH_SERVER, start_server
from support.task_folders import make_task_folder

from harness.app.plan import check_judges, plan_run
from harness.app.plan_of_run import plan_resumed_run
from harness.app.run import ask_open_units, start
from harness.errors import ExitCode, JudgeUnavailable
from harness.judging.running.recorder import NoObserver
from harness.judging.storage.reply_store import NoStore
from harness.judging.storage.response_cache import ResponseCache
from harness.options.concerns import Limit, RunOptions, Server
from harness.runs.run_folder import RunFolder

ROUNDING_USD = 1e-9
FAULTS = (  # of the first requests; "" for none
    "",
    "429*2",
    "500*1",
    "502*2",
    "408*1",
    "filter400*1",
    "reset*1",
    "trunc*2",
    "cut*1",
    "empty*1",
    "nousage",
    "n1",
    "n400",
    "nochoices*1",
    "hang*1",
)
SEEN_FAULTS = ("", "429*2", "500*1", "n1", "n400")  # after which a reply reports what it is billed
JUDGE = st.fixed_dictionaries(
    {
        "input": st.sampled_from([0, 1, 50]),
        "output": st.sampled_from([0, 4, 200]),
        "cached": st.none() | st.sampled_from([0.1, 60]),
        "cache_write": st.none() | st.sampled_from([1.25, 90]),
        "limit": st.sampled_from(
            [{"max_tokens": None}, {}, {"max_tokens": 3}, {"max_completion_tokens": 700}]
        ),
        "n_per_request": st.sampled_from([1, 2, 5]),
        "concurrency": st.sampled_from([1, 3, 8]),
        "reply": st.sampled_from([1, 40, 5000, 100_000]),
        "set_reply": st.none() | st.sampled_from([1, 5000, 100_000]),
        "obeys": st.sampled_from([True, True, False]),
        "reports": st.sampled_from(["all", "details"]),
        "mumbles": st.booleans(),
        "fault": st.sampled_from(FAULTS),
        "is_priced": st.integers(0, 12).map(bool),
    }
)
SCENARIO = st.fixed_dictionaries(
    {
        "judges": st.lists(JUDGE, min_size=1, max_size=6),
        "elicitations": st.sets(
            st.sampled_from(["forced_choice", "response_set", "paired"]), min_size=1
        ),
        "samples": st.integers(1, 3),
        "batch": st.booleans(),
        "cached": st.booleans(),
        "reply_cap": st.sampled_from([None, 10, 1000]),
        "limits": st.lists(st.sampled_from([0.001, 0.05, 0.5, 3.0, 20.0]), min_size=1, max_size=3),
    }
)
PLAIN_JUDGE = {
    "input": 1,
    "output": 4,
    "cached": None,
    "cache_write": None,
    "limit": {"max_tokens": 100},
    "n_per_request": 1,
    "concurrency": 8,
    "reply": 40,
    "set_reply": None,
    "obeys": True,
    "reports": "all",
    "mumbles": False,
    "fault": "",
    "is_priced": True,
}


def scenario_of(n_judges, limit_usd, elicitations=("forced_choice",), **fields):
    """A scenario of judges that are alike."""
    return {
        "judges": [PLAIN_JUDGE | fields] * n_judges,
        "elicitations": set(elicitations),
        "samples": 2,
        "batch": False,
        "cached": True,
        "reply_cap": None,
        "limits": [limit_usd, limit_usd],
    }


@pytest.fixture(scope="module")
def provider():
    with start_server(BATCH_SERVER) as running:
        yield running


def spec_of(number, judge, scenario, stub, provider):
    """Specify a judge at a path, or of a model, of its own."""
    price = {name: judge[name] for name in ("input", "output", "cached", "cache_write")}
    parts = {"bill": str(judge["reply"]), "fault": judge["fault"], "judge": f"j{number}"}
    if judge["set_reply"]:
        parts["setbill"] = str(judge["set_reply"])
    if judge["mumbles"]:
        parts["unread"] = "It depends."
    if not judge["obeys"]:
        parts |= {"nocap": "1", "fault": seen_fault(judge)}
    if judge["reports"] == "details":
        parts["details"] = "1"
    return {
        "model": f"model-{number}",
        "base_url": provider.url() if scenario["batch"] else stub.url(**parts),
        "params": judge["limit"],
        "n_per_request": judge["n_per_request"],
        "concurrency": judge["concurrency"],
        "batch_poll_s": 0.01,
        "deadline_s": 0.2 if judge["obeys"] else 30.0,  # a late reply does not tell its excess
    } | ({"price": price} if judge["is_priced"] else {})


def seen_fault(judge):
    """A fault of a server whose replies tell what they are billed: otherwise nobody can know."""
    return judge["fault"] if judge["fault"] in SEEN_FAULTS else ""


def excess_usd(judges, scenario):
    """The most that one call bills for replies beyond its token limit."""
    return (
        max(
            max(judge["reply"], judge["set_reply"] or 0) * judge["n_per_request"] * judge["output"]
            if not (judge["obeys"] or scenario["batch"])
            else 0.0
            for judge in judges
        )
        / 1e6
    )


def billed_usd(judges, stub, provider):
    """What both servers bill, by the prices of the judges."""
    by_path, by_model = stub.stats()["billed"], provider.stats()["billed"]
    total = 0.0
    for number, judge in enumerate(judges):
        paths = [tokens for path, tokens in by_path.items() if f"/judge/j{number}/" in path]
        for tokens in [*paths, *filter(None, [by_model.get(f"model-{number}")])]:
            cached = judge["input"] if judge["cached"] is None else judge["cached"]
            written = judge["input"] if judge["cache_write"] is None else judge["cache_write"]
            fresh = tokens["prompt"] - tokens["cached"] - tokens["written"]
            total += fresh * judge["input"] + tokens["cached"] * cached
            total += tokens["written"] * written + tokens["reply"] * judge["output"]
    return total / 1e6


@settings(  # a run each: half of the profile's examples
    max_examples=settings.default.max_examples // 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(SCENARIO)
@example(scenario_of(30, 0.025, obeys=False, reply=5000))
@example(scenario_of(10, 0.05, ("response_set", "forced_choice"), obeys=False, set_reply=5000))
@example(scenario_of(10, 0.05, obeys=False, reply=5000, reports="details"))
@example(scenario_of(1, 0.05, limit={"max_tokens": 2000}, reply=5000, reports="details"))
@example(scenario_of(2, 0.02, ("response_set", "paired"), mumbles=True))
def test_paid_is_within_the_limit(stub, provider, scenario):
    """For any judges, prices, token limits, faults that are retried, batches, pairs, replies that
    can't be read and resumes under limits that rise or fall, and reasoning that only the details of
    a usage count; a judge of unknown price is refused before anything is sent. Of any number of
    judges whose servers ignore the limit, in all their replies or in sets only, one reply exceeds
    it."""
    judges, limits = scenario["judges"], scenario["limits"]
    stub.reset()
    provider.reset()
    provider.post(f"/bill/{judges[0]['reply']}")
    with TemporaryDirectory() as scratch:
        place = Path(scratch)
        task = str(make_task_folder(place / "task", 2))
        file = place / "judges.yaml"
        specs = {
            f"judge-{number}": spec_of(number, judge, scenario, stub, provider)
            for number, judge in enumerate(judges)
        }
        file.write_text(json.dumps({"judges": specs}), encoding="utf-8")
        plan = plan_run(
            task,
            list(specs),
            RunOptions(
                elicitations=tuple(sorted(scenario["elicitations"])),
                samples=scenario["samples"],
                batch=scenario["batch"],
                max_cost=limits[0],
                reply_cap=scenario["reply_cap"],
            ),
            server=Server(judges_file=file),
        )
        if not all(judge["is_priced"] for judge in judges):
            with pytest.raises(JudgeUnavailable, match="its price is unknown"):
                check_judges(plan)
            return
        folder = start(plan, place / "runs")
        for number, limit_usd in enumerate(limits):
            if number:
                folder = RunFolder.open(folder.path)
                plan = plan_resumed_run(
                    folder, limit=Limit(max_cost=limit_usd), server=Server(judges_file=file)
                )
            check_judges(plan)
            with ExitStack() as opened:
                store = ResponseCache(place / "cache") if scenario["cached"] else NoStore()
                opened.callback(store.close)
                observer = NoObserver()
                quick = replace(plan, retry=QUICK_RETRIES)
                asked = ask_open_units(quick, folder, store, observer=observer)
            paid_usd = billed_usd(judges, stub, provider)
            most_usd = max(limits[: number + 1]) + excess_usd(judges, scenario)
            assert paid_usd <= most_usd + ROUNDING_USD
            assert paid_usd <= asked.budget.spent_usd + asked.budget.reserved_usd + ROUNDING_USD
            assert asked.exit_code in {ExitCode.DONE, ExitCode.COST_LIMIT, ExitCode.INCOMPLETE}
