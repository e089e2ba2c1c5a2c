"""What a run will cost, what it did cost, and what one answered verdict costs."""

from __future__ import annotations

import json

import pytest
from support.judge_runs import run_judge
from support.processes import invoke
from support.task_folders import make_task_folder
from support.verdicts import verdict_from

from harness.analysis import Validation
from harness.analysis.judge_result import cost_of
from harness.cli.progress import Lines
from harness.judging.judges.config import load_judges, new_judge
from harness.judging.running.budget import logged_cost_usd
from harness.judging.storage.reply_store import NoStore
from harness.judging.storage.response_cache import ResponseCache
from harness.tasks import load_task

PRICE = {"input": 1.0, "output": 4.0}


@pytest.fixture
def place(tmp_path, stub, monkeypatch):
    """A folder with a task, from which commands are run in this process."""
    stub.reset()
    make_task_folder(tmp_path / "task", 8)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def judges_file(place, **judges: dict) -> str:
    (place / "judges.yaml").write_text(json.dumps({"judges": judges}), encoding="utf-8")
    return "judges.yaml"


def local(stub, **fields) -> dict:
    address = fields.pop("base_url", stub.url())
    return {"model": "stub", "base_url": address, "samples": 3, "price": PRICE} | fields


def test_dry_run_predicts_the_cost_within_a_tenth(place, stub):
    """In all three elicitations; and the account of a run is what the stub counted."""
    every = ("forced_choice", "response_set", "paired")
    file = judges_file(place, far=local(stub))
    words = ("run", "--task", "task", "--judges", "far", "--judges-file", file)
    words += ("--elicitation", ",".join(every), "--json", "--dry-run")
    [quote] = json.loads(invoke(*words).stdout)
    spec, task = load_judges(place / file)["far"], load_task("task")
    log = place / "log.jsonl"
    asking = {"elicitations": every, "samples": 3}
    done, _, _ = run_judge(spec, task, log, store=ResponseCache(place / "cache"), **asking)
    cost = cost_of(list(done.final.values()))
    assert quote["expected_usd"] == pytest.approx(cost.usd, rel=0.1)
    assert quote["cost_usd"] >= cost.usd
    assert quote["calls"] == stub.stats()["requests"] == cost.n_paid
    bought = {r.request: r for verdict in done.final.values() for r in verdict.replies}
    assert cost.prompt_tokens == sum(reply.prompt_tokens for reply in bought.values())
    assert cost.cached_tokens == sum(reply.cached_tokens for reply in bought.values()) > 0
    assert cost.usd == pytest.approx((cost.prompt_tokens + cost.completion_tokens * 4) / 1e6)


def test_the_most_that_a_judge_may_cost_is_that_of_tokens_at_their_price(place, stub):
    """Replies of the greatest length at the price of replies; a prompt token per byte at most."""
    file = judges_file(
        place,
        replies=local(stub, price={"input": 0.0, "output": 5.0}),
        prompts=local(stub, price={"input": 3.0, "output": 0.0}, reask=0),
    )
    words = ("run", "--task", "task", "--judges", "replies,prompts", "--judges-file", file)
    quotes = json.loads(invoke(*words, "--dry-run", "--json").stdout)
    replies, prompts = quotes
    assert replies["cost_usd"] == pytest.approx(replies["completion_tokens"] * 5.0 / 1e6)
    assert 1.0 < prompts["cost_usd"] / (prompts["prompt_tokens"] * 3.0 / 1e6) < 10.0


def test_replies_with_a_set_are_expected_to_be_longer_than_choices(place, stub):
    """By hand, a token per word or mark: A or B is one; A, B and "A, B" are 5 / 3, rounded up."""
    file = judges_file(place, far=local(stub))
    words = ("run", "--task", "task", "--judges", "far", "--judges-file", file)
    for elicitation, tokens in (("forced_choice", 1), ("response_set", 2)):
        shown = invoke(*words, "--elicitation", elicitation, "--dry-run", "--json").stdout
        [quote] = json.loads(shown)
        assert quote["expected_completion_tokens"] == 8 * 3 * tokens


class Heard(Lines):
    """The lines of a run's progress."""

    def __init__(self, planned):
        super().__init__(planned)
        self.lines = []

    def say(self, line):
        self.lines.append(line)


@pytest.mark.parametrize("cached", [True, False])
def test_progress_counts_a_shared_first_turn_once(place, stub, cached):
    """A line's cost is the summary's: a pair that goes on from a response set's reply pays for its
    second turn alone; without a cache it buys the first again."""
    task, spec = load_task("task"), new_judge(name="far", **local(stub))
    store = ResponseCache(place / "cache") if cached else NoStore()
    for run in ("first", "second"):
        heard = Heard({"far": 8 * 3 * 2})
        asking = {"elicitations": ("response_set", "paired"), "samples": 3, "observer": heard}
        done, _, _ = run_judge(spec, task, place / f"{run}.jsonl", store=store, **asking)
        cost = cost_of(list(done.final.values()))
        n_bought = 0 if cached and run == "second" else 8 * 3 * (2 if cached else 3)
        assert cost.n_paid == n_bought
        assert logged_cost_usd(done) == pytest.approx(cost.usd)
        assert heard.lines == [
            f"far: 48/48 replies, {cost.n_from_store} from the store, ${cost.usd:.4f}"
        ]
    store.close()


def test_progress_says_that_a_price_is_unknown():
    """As the summary does, in the place of $0."""
    heard = Heard({"j": 1})
    facts = {"elicitation": "paired", "outcome": "answered", "reply": "A"}
    verdict = verdict_from(item="a", judge="j", **facts)
    heard.advanced("j", [verdict])
    heard.ended("j", "")
    assert heard.lines == ["j: 1/1 replies, 0 from the store, unknown price"]


def test_the_cost_of_a_run_names_judges_with_an_unknown_price(place, stub):
    """A sum that lacks them does not pass for the whole."""
    file = judges_file(place, far=local(stub), dear=local(stub, price=None, model="other"))
    words = ("run", "--task", "task", "--judges", "far,dear", "--judges-file", file)
    shown = invoke(*words, "--elicitation", "forced_choice")
    assert shown.stdout.splitlines()[-2].endswith(", not counting dear (unknown price)")


def test_dry_run_of_a_batch_is_half_where_that_is_offered(place, stub):
    """By the judge's own price, by litellm's list for Anthropic, and not where nobody offers it."""
    price = PRICE | {"batch": 0.5}
    judges = {"far": local(stub, price=price), "gem": {"model": "gemini/gemini-2.5-flash"}}
    file = judges_file(place, **judges, claude={"model": "claude-haiku-4-5"})
    words = ("run", "--task", "task", "--judges", "far,gem,claude", "--judges-file", file)
    words += ("--dry-run", "--json")
    shown = {}
    for batch in ((), ("--batch",)):
        quotes = json.loads(invoke(*words, *batch).stdout)
        shown[batch] = [quote["expected_usd"] for quote in quotes]
    (far, gem, claude), (far_batch, gem_batch, claude_batch) = shown.values()
    assert far_batch == pytest.approx(far / 2)
    assert gem_batch == pytest.approx(gem)
    assert claude_batch == pytest.approx(claude / 2)
    assert stub.stats()["requests"] == 0


def test_useful_verdicts_carry_the_cost_of_useless_ones(place, stub):
    """A judge that answers nothing has a cost and no cost per answered verdict."""
    useless = stub.url(say="I would rather talk of something else")
    file = judges_file(place, far=local(stub), lost=local(stub, base_url=useless))
    words = ("run", "--task", "task", "--judges", "far,lost", "--judges-file", file)
    words += ("--elicitation", "forced_choice", "--details", "--keep-going")
    shown = invoke(*words)
    assert shown.exit_code == 3, shown.output  # lost is not assessed
    [folder] = (place / "runs").iterdir()
    result = Validation.from_json((folder / "metrics.json").read_text())
    far, lost = (result.judge(name).cost for name in ("far", "lost"))
    assert (far.n_paid, far.n_from_store) == (24, 0)
    assert far.usd_per_answered == pytest.approx(far.usd / 24)
    assert lost.usd > 0
    assert lost.usd_per_answered is None, "nothing was answered"
    message = " ".join(shown.stdout.split())
    assert f"24 replies; ${far.usd_per_answered:.3g} per answered verdict" in message
    assert "50% of its prompt tokens" in message
    paces = [json.loads(line) for line in (folder / "rate.jsonl").read_text().splitlines()]
    assert {"judge": "far", "limit": 16, "reason": "start"}.items() <= paces[0].items()


def test_replies_from_the_cache_keep_what_they_cost():
    """Nothing is paid again, and a useful verdict still costs what it cost."""
    facts = {"judge": "j", "elicitation": "forced_choice", "value": None}
    bought = {"from_store": True, "reply": "A", "cost_usd": 0.02, "prompt_tokens": 7}
    verdicts = [
        verdict_from(item="a", outcome="answered", request="1" * 64, **bought, **facts),
        verdict_from(item="b", outcome="invalid", request="2" * 64, **bought, **facts),
    ]
    cost = cost_of(verdicts)
    assert (cost.usd, cost.n_paid, cost.n_from_store, cost.prompt_tokens) == (0, 0, 2, 0)
    assert cost.usd_per_answered == pytest.approx(0.04)
