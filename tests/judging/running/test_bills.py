"""What a call costs that fails: nothing, or the most that it may have."""

from __future__ import annotations

from contextlib import suppress

import pytest

from harness.errors import CallFailed, NotAsked
from harness.judging.judges.config import new_judge
from harness.judging.judges.response_errors import NOT_BILLED
from harness.judging.parsing.verdict import Reply
from harness.judging.running.budget import CallBill, CostBudget
from harness.judging.running.cost_estimate import JudgeQuote, quote_of_ensemble


def spent_after(error: BaseException) -> tuple[float, float, float]:
    budget = CostBudget(2.0)
    with suppress(type(error)), CallBill(budget, "j", 0.5):
        assert budget.reserved_usd == 0.5
        raise error
    return budget.spent_usd, budget.assumed_usd, budget.reserved_usd


@pytest.mark.parametrize("error", [NotAsked(), *map(CallFailed, sorted(NOT_BILLED))], ids=str)
def test_a_call_that_is_not_billed_costs_nothing(error):
    """Refused for want of a key, too many requests, or not sent."""
    assert spent_after(error) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "error", [NotAsked(is_sent=True), CallFailed("timeout"), KeyboardInterrupt()], ids=repr
)
def test_a_call_that_may_be_billed_costs_the_most_that_it_may(error):
    """The prompt may have been read: what was reserved for it is spent, and said to be assumed."""
    assert spent_after(error) == (0.5, 0.5, 0.0)


def test_an_ensemble_of_judges_that_are_asked_is_quoted_at_nothing():
    """Its members' replies are those of the run: no call, no token, no cost."""
    of_member = JudgeQuote("a", {"forced_choice": 3}, 3, 90, 48, 48, 0.2, 0.1, 16)
    ensemble = new_judge(name="both", kind="ensemble", members=("a", "b"))
    quote = quote_of_ensemble(ensemble, [of_member])
    assert quote == JudgeQuote("both", {"forced_choice": 3}, 0, 0, 0, 0, 0.0, 0.0, 0)


def test_a_call_that_ends_leaves_what_others_have_reserved():
    """Of two calls in flight, the one that ended reserves nothing more, the other what it did."""
    budget = CostBudget(2.0)
    with CallBill(budget, "j", 0.5):
        with CallBill(budget, "j", 0.25) as bill:
            bill.settle([Reply(request="0", text="yes", cost_usd=0.1)])
        assert (budget.spent_usd, budget.reserved_usd) == (0.1, 0.5)
    assert budget.reserved_usd == 0.0


@pytest.mark.parametrize(("cost_usd", "stops"), [(0.25, False), (0.26, True)])
def test_a_judge_whose_reply_cost_more_than_was_reserved_is_stopped(cost_usd, stops):
    """A cent is enough; with --max-cost-soft it goes on."""
    for is_soft in (False, True):
        budget = CostBudget(2.0, is_soft=is_soft)
        with CallBill(budget, "j", 0.25) as bill:
            bill.settle([Reply(request="0", text="yes", cost_usd=cost_usd)])
        assert (budget.overrun("j") is not None) == (stops and not is_soft)
        assert budget.overrun("other") is None


def test_a_call_to_an_untried_server_is_settled_by_its_own_limit():
    """More is held for it than it may cost: beyond its own limit it's too dear, and if its cost is
    unknown, it counts as the most that it may cost."""
    for cost_usd, is_kept, spent_usd in ((0.1, True, 0.1), (0.3, False, 0.3), (None, True, 0.2)):
        budget = CostBudget(2.0)
        with budget.reserve("j", "0", 0.5, 0.2) as bill:
            assert budget.reserved_usd == 0.5
            bill.settle([Reply(request="0", text="yes", cost_usd=cost_usd)])
        assert (bill.is_kept, budget.overrun("j") is None) == (is_kept, is_kept)
        assert (budget.spent_usd, budget.dearest_usd) == (spent_usd, cost_usd or 0.0)
