"""The first lines say in plain words: may I use it, which, how good, what is wrong, what next."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape

import msgspec
import numpy as np
import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task, source_of, task_of

from harness.analysis import validate
from harness.report import judge_card, page, render
from harness.report.next_steps import LATER_STEP, READ_ERRORS, next_steps
from harness.report.recommendation import summary
from harness.report.verdict_words import (
    agreement,
    because,
    commonest_error,
    quoted_option,
    verdict,
)

N = 80


def answers_of(right, truth):
    """Return the true answers where ``right``, else the other of two."""
    return [t if ok else "AB"[t == "A"] for ok, t in zip(right, truth, strict=True)]


def validation_of(judges, *, raters=5, seed=3):
    """Return a validation of judges that are right so often, beside raters who are in .85."""
    rng = np.random.default_rng(seed)
    names = [f"i{i}" for i in range(N)]
    truth = ["AB"[i % 2] for i in range(N)]
    ratings = {
        f"r{j}": dict(zip(names, answers_of(rng.random(N) < 0.85, truth), strict=True))
        for j in range(raters)
    }
    verdicts = {
        name: dict(zip(names, answers_of(rng.random(N) < right, truth), strict=True))
        for name, right in judges.items()
    }
    return validate(source_of(task_of(ratings), verdicts))


@pytest.fixture(scope="module")
def good():
    """A judge better than the raters, beside one that guesses."""
    return validation_of({"good": 0.97, "coin": 0.5})


@pytest.fixture(scope="module")
def bad():
    """Two judges that guess."""
    return validation_of({"coin": 0.5, "other": 0.5})


def test_verdict_is_the_first_line_and_names_the_judge(good, bad):
    """May I use it, and which: nothing else stands in the line."""
    assert verdict(good) == "Use good."
    assert verdict(bad) == "Don't use any of these."


def test_two_numbers_of_a_metric_stand_in_the_second_line(good, bad):
    """The verdict named two metrics' values before it said what to do."""
    for v in (good, bad):
        check = v.decision.checks["beats_baselines"]
        first, second, *_ = summary(v)
        assert not re.search(r"\d\.\d", first)
        assert f"{check.value:.3f} against {check.threshold:.3f}" in second
        assert second == because(v)


def test_baseline_is_called_by_the_answer_that_it_always_gives():
    """ "the most common answer" left the reader to look it up."""
    v = validate(indeterminate_source(indeterminate_task(n=20), judges=("lenient",)))
    [answers] = next(
        row.answers
        for row in v.evidence.baselines
        if row.name == v.decision.checks["beats_baselines"].rival
    )
    labels = " and ".join(f'"{v.task.options[key]}"' for key in (answers,) if key in v.task.options)
    assert f"always answering {labels}" in because(v)


def test_quality_is_a_share_of_the_same_remaining_ratings_for_both(good):
    """Judge and rater are compared with the other ratings of each item, whose shares are means."""
    agreeing = good.evidence.share_agreeing
    assert agreeing.n_items == N
    assert agreeing.n_ratings == 5 * N
    assert agreeing.difference == pytest.approx(agreeing.human - agreeing.judge)
    assert agreeing.low < agreeing.difference < agreeing.high
    line = agreement(good)
    assert f"on {100 * agreeing.judge:.0f} of 100 items" in line
    assert f"Raters agree with each other on {100 * agreeing.human:.0f} (95% interval: " in line
    low, high = round(100 * agreeing.low), round(100 * agreeing.high)
    assert high < 0
    assert f"{-high} to {-low} fewer than the judge; {N} items)" in line


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.604, 0.754, "60 to 75 more"),
        (-0.754, -0.604, "60 to 75 fewer"),
        (-0.604, 0.754, "60 fewer to 75 more"),
    ],
)
def test_interval_of_agreement_counts_items_of_100(good, low, high, words):
    """A rater's agreement minus the judge's, whichever is larger."""
    agreeing = replace(good.evidence.share_agreeing, low=low, high=high)
    changed = replace(good, evidence=replace(good.evidence, share_agreeing=agreeing))
    assert f"interval: {words} than the judge; " in agreement(changed)


def test_quality_is_absent_where_items_have_one_rating():
    """No other rater is there to agree with."""
    v = validation_of({"good": 0.97}, raters=1)
    assert v.evidence.share_agreeing is None
    assert agreement(v) == ""
    assert "another rater's answer" not in " ".join(summary(v))
    assert "Get a second rater's answers for the same items." in next_steps(v)


def test_one_rater_per_item_is_named_as_the_limit_of_a_failed_judge():
    """No majority is named, and a second rater comes first."""
    v = validation_of({"bad": 0.5}, raters=1)
    assert v.decision.verdict == "none"
    said = " ".join(summary(v))
    assert "With one rater per item, the ratings can't show how often raters differ." in said
    assert "Next: Get a second rater's answers for the same items." in said
    assert "where the rater says" in said
    assert "most raters say" not in said + page(v)


def test_commonest_error_is_a_cell_of_the_matrix_with_one_of_its_items(bad):
    """It has the count of the confusion matrix, and its example is an item of that cell."""
    leader = next(row for row in bad.errors.judges if row.judge == bad.decision.leader)
    wrong = {(h, j): n for h, j, n in leader.confusion.pairs() if h != j}
    error = leader.commonest
    assert wrong[error.human, error.judge] == error.n == max(wrong.values())
    assert f"{error.item}" in commonest_error(bad)
    assert f"of {leader.confusion.n_items} items" in commonest_error(bad)


def test_first_lines_and_section_named_different_errors_on_a_tie():
    """Both errors are made on four items; first lines and section name the same one."""
    truth = {f"i{i}": "AB"[i % 2] for i in range(60)}
    wrong = {f"i{i}": "BA"[i % 2] for i in range(8)}
    v = validate(source_of(task_of(dict.fromkeys(("r1", "r2", "r3"), truth)), {"j": truth | wrong}))
    [errors] = v.errors.judges
    error = errors.commonest
    wrong_cells = {(h, j): n for h, j, n in errors.confusion.pairs() if h != j}
    assert wrong_cells == {("A", "B"): 4, ("B", "A"): 4}
    human, judge = (quoted_option(v, key).strip('"') for key in (error.human, error.judge))
    assert f'"{judge}" where most raters say "{human}"' in commonest_error(v)
    html = unescape(page(v))
    assert f'most often "{judge}" where most raters say "{human}": 4 of 60 items' in html
    assert f'"{human}" where most raters say "{judge}"' not in html


def test_text_of_an_example_is_in_no_file_to_publish():
    """Terminal and page quote it; metrics.json and the judge card do not."""
    v = validate(indeterminate_source(indeterminate_task(n=20), judges=("lenient",)))
    [errors] = v.errors.judges
    secret = replace(errors.commonest, text="a secret text")
    v = replace(v, errors=replace(v.errors, judges=(replace(errors, commonest=secret),)))
    assert "a secret text" in render(v)
    assert "a secret text" in page(v)
    assert "a secret text" not in json.dumps(json.loads(v.to_json()))
    assert "a secret text" not in judge_card(v)


def test_next_step_fits_the_verdict(good, bad):
    """Another judge where none is good, never a sample size; the watch where one is used."""
    assert next_steps(bad)[0].startswith("Try another judge, prompt or way of asking")
    assert not re.search(r"\d+ items", " ".join(next_steps(bad)))
    assert next_steps(good)[0].startswith("Use this judge with the same model and prompt")


def test_a_judge_closer_than_a_rater_needs_more_items():
    """Most items have one answer, so a good judge isn't yet better than a constant."""
    names = [f"i{i}" for i in range(12)]
    truth = dict.fromkeys(names, "A") | {"i0": "B", "i1": "B"}
    wrong = {f"r{j}": truth | {f"i{2 + 3 * j}": "B"} for j in range(3)}
    v = validate(source_of(task_of(wrong), {"good": truth}))
    assert v.decision.verdict == "none"
    assert v.evidence.judges[0].human.difference < 0
    first, *others = next_steps(v)
    assert first.startswith("Get ratings for more items: good is closer to the raters than another")
    assert any(step.startswith("Try another judge") for step in others)


def test_terminal_and_page_have_the_same_lines(good, bad):
    """One source: each line of the summary stands in both."""
    for v in (good, bad):
        text = " ".join(render(v).split())
        html = unescape(re.sub(r"</?(a|code)\b[^>]*>", "", page(v)))
        for line in summary(v):
            assert line in text
            assert line.startswith(("Next: ", LATER_STEP)) or line in html
        for step in next_steps(v):
            assert step.replace("`", "").removesuffix(".") in html or step in READ_ERRORS.values()


def test_repr_of_a_validation_was_174025_characters_long(good, bad):
    """It is one line with what was validated and the verdict."""
    about = f"{good.task.name!r}, 80 items, 2 judges"
    assert repr(good) == f"Validation({about}, verdict 'use', judge 'good')"
    assert repr(bad) == f"Validation({about}, verdict 'none')"


def test_notebook_shows_verdict_and_the_interval_that_allows_for_the_choice(good):
    """The first judge's interval is the one of the terminal."""
    first = good.evidence.judges[0].estimate
    assert first.interval.method == "simultaneous"
    html = good._repr_html_()
    assert "<caption>Use good. " in html
    assert f"[{first.interval.low:.3f}, {first.interval.high:.3f}]" in html


def test_next_step_of_judges_that_answered_nothing_was_to_try_another():
    """A server that is away or a key that is wrong says nothing of a judge."""
    source = indeterminate_source(indeterminate_task(n=20), judges=("lenient",))
    failed = [
        msgspec.structs.replace(verdict, outcome="failed", value=None)
        for verdict in source.verdicts["lenient"]
    ]
    v = validate(replace(source, verdicts={"lenient": failed}).with_settings(n_resamples=100))
    first, next_line, *_ = summary(v)
    assert first.startswith("No judge can be recommended, because none answered: lenient (")
    assert next_line.startswith("Next: Fix the cause that kept the judges from answering")


def test_a_confidence_level_is_never_rounded(good):
    """At 97.5 % the terminal and the card said 98 %, and the page 97.5 %."""
    v = replace(good, settings=replace(good.settings, confidence=0.975))
    for text in (render(v, details=True), judge_card(v), page(v)):
        assert "97.5" in text
        assert "98%" not in text


@pytest.mark.slow
def test_the_page_counts_the_rated_items_that_are_compared_like_the_first_lines():
    """Its table said "of" the items that the metric can use, the terminal "of" all rated ones."""
    task = indeterminate_task(n=40, paired=30, ranks_by="response_set")
    v = validate(indeterminate_source(task, n_resamples=50, min_answered=0.5))
    counted = "26 of 40 rated items"
    assert counted in " ".join(render(v).split())
    [caption] = re.findall(r"<caption>(.*?)</caption>", page(v).split('class="ranking"')[1])[:1]
    assert counted in caption


def test_the_card_of_judges_that_are_not_ranked_has_whole_sentences():
    """Its paragraph ended in "(lower is better), ."."""
    source = indeterminate_source(indeterminate_task(n=20), judges=("lenient",))
    part = replace(source, verdicts={"lenient": source.verdicts["lenient"][:20]})
    card = judge_card(validate(part.with_settings(n_resamples=50)))
    assert "(lower is better), but no judge answered enough items." in card
    assert ", ." not in card
