"""Second questions: their share of each judge's replies, and the ranking without them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields
from support.analysis_inputs import coherence_as_numbers, source_of, task_of

from harness.analysis import Validation, validate
from harness.analysis.judge_result import cost_of
from harness.judging.parsing.verdict import Reply
from harness.options.concerns import Choices
from harness.report.html.page import page
from harness.report.text import render, second_questions_table

N_ITEMS = 40
RATERS = {
    f"r{j}": {f"i{i}": "AB"[(i + (j == i % 9)) % 2] for i in range(N_ITEMS)} for j in range(3)
}
SURE = {f"i{i}": "AB"[i % 2] for i in range(N_ITEMS)}
UNSURE = SURE | {f"i{i}": "BA"[i % 2] for i in range(0, N_ITEMS, 10)}


def source(reasked, *, read=True):
    """Return two judges: ``sure`` was asked again about the first items, ``unsure`` never."""
    made = source_of(task_of(RATERS), {"unsure": UNSURE, "sure": SURE})
    return replace(made, verdicts={**made.verdicts, "sure": after_questions(made, reasked, read)})


def after_questions(made, reasked, read):
    for place, verdict in enumerate(made.verdicts["sure"]):
        if place >= reasked:
            yield verdict
        elif read:
            yield with_fields(verdict, unread=Reply(request="q", text="Hm."))
        else:
            yield with_fields(verdict, value=None, outcome="invalid", reason="unreadable")


def listed(made):
    """Return a source whose verdicts are lists."""
    return replace(made, verdicts={name: list(of) for name, of in made.verdicts.items()})


def test_judges_that_were_never_asked_again_have_no_section():
    v = validate(listed(source(0)))
    assert v.second_questions is None
    assert "asked judges once more" not in render(v, details=True)


def test_ranking_without_second_questions_is_that_of_replies_that_cannot_be_read():
    """On the same items and by the same values as if those replies had stayed unreadable."""
    v = validate(listed(source(3)))
    without = validate(listed(source(3, read=False))).evidence
    asked = v.second_questions
    assert asked.n_items == without.n_items == N_ITEMS - 3
    assert asked.n_replies == without.n_replies == 1
    by_judge = {judge.judge: judge for judge in asked.judges}
    for row in v.evidence.judges:
        assert by_judge[row.judge].value == row.value
    for row in without.judges:
        assert by_judge[row.judge].value_without == pytest.approx(row.value, abs=1e-12)
    sure, unsure = by_judge["sure"], by_judge["unsure"]
    assert (sure.n_reasked, sure.n_read, sure.n_replies) == (3, 3, N_ITEMS)
    assert (unsure.n_reasked, unsure.share) == (0, 0.0)
    assert (sure.rank, unsure.rank, sure.rank_without, unsure.rank_without) == (1, 2, 1, 2)


def test_judge_that_answered_mostly_second_questions_has_no_place_without_them():
    v = validate(listed(source(N_ITEMS // 2)))
    sure = next(judge for judge in v.second_questions.judges if judge.judge == "sure")
    assert (sure.rank, sure.rank_without, sure.value_without) == (1, None, None)


def test_page_terminal_and_json_show_the_share_and_both_ranks():
    v = validate(listed(source(3)))
    rows = {"unsure": "0.0% of 40", "sure": "7.5% of 40"}
    title, _, table = second_questions_table(v.second_questions)
    assert f"compared on {v.second_questions.n_items} items" in title
    assert {name: share for name, share, *_ in table} == rows
    text, html = render(v, details=True), page(v)
    for shown in (text, html):
        assert "7.5% of 40" in shown
        assert "rank without" in shown
    assert "7.5% of 40" not in render(v)
    assert Validation.from_json(v.to_json()).second_questions == v.second_questions


def test_the_cost_covers_both_replies():
    """Each is counted once, with its tokens; a question that is still open has one reply."""
    bought = Reply(request="q", text="Hm.", cost_usd=1.0, prompt_tokens=5, completion_tokens=2)
    [verdict, *_] = source(0).verdicts["unsure"]
    answered = with_fields(verdict, unread=bought, reply=bought, from_store=False)
    begun = with_fields(answered, item="i1", outcome="failed", value=None, reply=None)
    cost = cost_of([answered, begun])
    assert (cost.usd, cost.n_paid, cost.prompt_tokens) == (3.0, 3, 15)


@pytest.mark.slow
def test_open_scale_has_the_ranking_without_second_questions(truth, tmp_path):
    made = coherence_as_numbers(truth, tmp_path, Choices())
    name = made.judges[0].name
    reasked = [
        with_fields(verdict, unread=Reply(request="q", text="Hm.")) if place < 10 else verdict
        for place, verdict in enumerate(made.verdicts[name])
    ]
    v = validate(replace(made, verdicts={**made.verdicts, name: reasked}))
    fewer = {item.item for item in reasked[:10]}
    assert v.second_questions.n_items == v.evidence.n_items - len(fewer)
    assert v.second_questions.judges[0].value == v.evidence.judges[0].value
