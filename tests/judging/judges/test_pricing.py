"""Tokens are counted as the provider told them, and paid for at their own price."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from harness.judging.judge_spec import Price
from harness.judging.judges.config import new_judge
from harness.judging.judges.endpoint import split_counts, token_counts
from harness.judging.judges.pricing import TokenCounts, cost_of, price_of

OPENAI = {
    "prompt_tokens": 1000,
    "completion_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 600},
}
ANTHROPIC = {
    "prompt_tokens": 1000,
    "completion_tokens": 20,
    "cache_read_input_tokens": 600,
    "cache_creation_input_tokens": 300,
}
MAYBE = st.none() | st.integers(0, 10**6)


def test_cached_tokens_are_read_in_both_styles():
    """OpenAI's details and Anthropic's names; what is put into a cache is told apart."""
    assert token_counts(OPENAI) == TokenCounts(1000, 20, 600, None)
    assert token_counts(ANTHROPIC) == TokenCounts(1000, 20, 600, 300)
    assert token_counts({"prompt_tokens_details": "?"}) == TokenCounts(None, None, None, None)


def test_prompt_of_no_tokens_was_not_counted():
    """litellm puts zeros where a server tells nothing; its price is unknown, not 0."""
    assert token_counts({"prompt_tokens": 0, "completion_tokens": 0}) == TokenCounts(
        None, None, None
    )
    assert token_counts({"prompt_tokens": 9, "completion_tokens": 0}) == TokenCounts(9, 0, None)


def test_cached_tokens_are_paid_at_their_own_price():
    """600 read at 0.1, 300 written at 1.25, 100 fresh at 1, and 20 of the reply at 5."""
    price = Price(input=1, output=5, cached=0.1, cache_write=1.25)
    usd = (100 * 1 + 600 * 0.1 + 300 * 1.25 + 20 * 5) / 1e6
    assert cost_of(token_counts(ANTHROPIC), price) == pytest.approx(usd)
    assert cost_of(token_counts(OPENAI), price) == pytest.approx((400 + 60 + 100) / 1e6)
    plain = Price(input=1, output=5)
    assert cost_of(token_counts(ANTHROPIC), plain) == pytest.approx((1000 + 100) / 1e6)


def test_price_in_a_batch_is_its_share_of_everything():
    """Half of every rate, and the batch of a batch is no cheaper still."""
    price = Price(input=1, output=5, cached=0.1, cache_write=1.25, batch=0.5)
    assert price.in_batch() == Price(input=0.5, output=2.5, cached=0.05, cache_write=0.625)
    assert price.in_batch().in_batch() == price.in_batch()


def test_listed_prices_know_caches_and_batches():
    """litellm's list has the rates of Anthropic's cache; both providers sell batches at half."""
    claude = price_of(new_judge(name="c", model="anthropic/claude-haiku-4-5"))
    assert claude.cached == pytest.approx(claude.input * 0.1)
    assert claude.cache_write == pytest.approx(claude.input * 1.25)
    assert claude.batch == 0.5
    assert price_of(new_judge(name="m", model="mistral/mistral-small-latest")).batch == 1.0


@given(MAYBE, MAYBE, MAYBE, st.integers(1, 128))
def test_replies_of_one_request_share_its_tokens_to_the_last(prompt, completion, cached, n):
    """The shares differ by at most one and sum to the whole; what was not told stays untold."""
    whole = TokenCounts(prompt, completion, cached)
    shares = split_counts(whole, n)
    assert len(shares) == n
    for place, total in enumerate(astuple(whole)):
        parts = [astuple(share)[place] for share in shares]
        assert (sum(parts) == total) if total is not None else parts == [None] * n
        assert total is None or max(parts) - min(parts) <= 1
