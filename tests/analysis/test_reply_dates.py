"""How old the replies behind a result are, in numbers and in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.reply_dates import NO_DATES, ReplyDates, reply_dates
from harness.judging.parsing.verdict import Reply, Verdict

OCTOBER, NOVEMBER = 1790935200.0, 1793610000.0  # 2026-10-02, 2026-11-02


def verdict(at, *, from_store=True, has_reply=True):
    reply = Reply(request="0" * 64, text="A", received_at=at) if has_reply else None
    outcome = "answered" if has_reply else "failed"
    return Verdict(
        item="i",
        judge="j",
        elicitation="forced_choice",
        outcome=outcome,
        value="A" if has_reply else None,
        reply=reply,
        from_store=from_store,
    )


@pytest.mark.parametrize(
    ("dates", "sentence"),
    [
        (NO_DATES, ""),
        (ReplyDates(n=3, n_new=3, oldest="2026-10-02", newest="2026-10-02"), ""),
        (
            ReplyDates(n=240, oldest="2026-10-02", newest="2026-10-05"),
            "No new replies: all 240 were collected between 2026-10-02 and 2026-10-05.",
        ),
        (
            ReplyDates(n=240, oldest="2026-10-02", newest="2026-10-02"),
            "No new replies: all 240 were collected on 2026-10-02.",
        ),
        (
            ReplyDates(n=60, n_new=12, oldest="2026-10-02", newest="2026-11-01"),
            (
                "12 of 60 replies are new, and 48 are shared with other judges or earlier runs. "
                "The oldest was collected on 2026-10-02."
            ),
        ),
        (
            ReplyDates(n=5, n_undated=5),
            "No new replies: all 5 are from earlier runs. 5 have no date.",
        ),
    ],
)
def test_a_sentence_says_how_old_stored_replies_are(dates, sentence):
    """And there is none if all are new."""
    assert dates.sentence == sentence


def test_replies_are_counted_and_dated():
    """Failed calls have no reply; a time that can't be one is no date."""
    groups = [
        [verdict(OCTOBER), verdict(NOVEMBER, from_store=False)],
        [verdict(None), verdict(1e300), verdict(None, has_reply=False)],
    ]
    dates = reply_dates(groups)
    assert (dates.n, dates.n_new, dates.n_undated) == (4, 1, 2)
    assert (dates.by_day().oldest, dates.by_day().newest) == ("2026-10-02", "2026-11-02")
    assert reply_dates(groups, since=NOVEMBER + 1).n_new == 0


@given(st.lists(st.tuples(st.floats(0, 4e9) | st.none(), st.booleans())), st.integers(0, 20))
def test_groups_add_up(facts, n_first):
    """The dates of two groups together are those of both, added."""
    verdicts = [verdict(at, from_store=stored) for at, stored in facts]
    first, second = verdicts[:n_first], verdicts[n_first:]
    whole = reply_dates([verdicts])
    assert reply_dates([first]).plus(reply_dates([second])) == whole
    assert reply_dates([first, second]) == whole
    assert replace(whole, n=whole.n_new).sentence == ""
