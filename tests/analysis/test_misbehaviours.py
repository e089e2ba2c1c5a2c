"""Decisions that were once wrong."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs
from support.analysis_inputs import indeterminate_source, indeterminate_task, source_of, task_of
from support.each_case import fast_first

from harness.analysis import validate
from harness.analysis.decision import decide
from harness.analysis.evidence_rows import WithoutRater
from harness.report import judge_card, page, render
from harness.report.recommendation import sentences
from harness.report.verdict_words import because
from harness.tasks import CANNOT_ASSESS

RATERS = ("r0", "r1", "r2", "r3", "r4")


def rated_items(seed, n=80, accuracy=0.85):
    """Make a task whose raters give the right answer with a probability, and those answers."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(["A", "B"], n)
    other = {"A": "B", "B": "A"}
    ratings = {
        rater: {
            f"i{i}": answer if rng.random() < accuracy else other[answer]
            for i, answer in enumerate(truth)
        }
        for rater in RATERS
    }
    return task_of(ratings), truth, rng


def coin(rng, n, samples=1):
    """Return answers at random: one per item, or several."""
    return {f"i{i}": [str(choice) for choice in rng.choice(["A", "B"], samples)] for i in range(n)}


@pytest.mark.parametrize("seed", fast_first(1, range(3)))
def test_fair_coins_are_not_recommended(seed):
    """ "Use X" was printed in 60 of 60 data sets in which all judges are fair coins."""
    task, truth, rng = rated_items(seed)
    judges = {f"coin{z}": coin(rng, len(truth)) for z in range(4)}
    decision = validate(source_of(task, judges)).decision
    assert decision.verdict == "none"
    assert decision.judge is None


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_constant_judge_is_not_recommended(share):
    """It was recommended, and allowed to replace a rater; it is the most common answer."""
    rng = np.random.default_rng(3)
    ratings = {
        rater: {f"i{i}": "A" if rng.random() < share else "B" for i in range(60)}
        for rater in RATERS
    }
    judges = {"constant": {f"i{i}": "A" for i in range(60)}}
    decision = validate(source_of(task_of(ratings), judges)).decision
    assert decision.verdict == "none"
    assert decision.reason == "not_better_than_baselines"


@pytest.mark.slow
def test_copy_that_abstains_on_hard_items_does_not_beat_the_original():
    """A copy of a judge beat it by abstaining on the items that are coin flips."""
    task, truth, rng = rated_items(5, n=100)
    answers = {f"i{i}": str(answer) for i, answer in enumerate(truth)}
    hard = [f"i{i}" for i in range(30)]
    answers |= {item: str(rng.choice(["A", "B"])) for item in hard}
    much = answers | dict.fromkeys(hard, CANNOT_ASSESS)
    little = answers | dict.fromkeys(hard[:8], CANNOT_ASSESS)
    validation = validate(source_of(task, {"abstains": much, "original": answers}))
    assert validation.decision.leader == "original"
    assert validation.decision.unranked == ("abstains",)
    validation = validate(source_of(task, {"abstains": little, "original": answers}))
    first, second = validation.evidence.judges
    assert (first.judge, second.judge) == ("original", "abstains")
    assert first.value == second.value
    assert first.ranks == second.ranks == (1, 2)


def test_guessing_ten_times_ties_with_guessing_once():
    """`random` asked ten times scored 0.313 and beat the word list; asked once, 0.714."""
    task, truth, rng = rated_items(7, n=100)
    judges = {"ten": coin(rng, len(truth), 10), "once": coin(rng, len(truth))}
    validation = validate(source_of(task, judges))
    assert validation.evidence.n_replies == 1
    assert [row.ranks for row in validation.evidence.judges] == [(1, 2), (1, 2)]
    assert validation.decision.verdict == "none"


def test_one_human_stands_where_it_is_however_often_judges_are_asked():
    """Beside judges asked ten times, a rater was shown at 0: they were scored at ten replies."""
    task, truth, rng = rated_items(7, n=100)
    right = {f"i{i}": str(answer) for i, answer in enumerate(truth)}
    every = [
        validate(source_of(task, {"judge": replies})).evidence
        for replies in (right, coin(rng, len(truth)), coin(rng, len(truth), 10))
    ]
    assert [evidence.human_value is None for evidence in every] == [False, False, True]
    places = [evidence.judges[0].human.human for evidence in every]
    assert min(places) > 0.03
    assert max(places) - min(places) < 0.05


def test_identical_judges_need_no_number_of_items():
    """Identical judges got a number of items in 74 % of data sets."""
    task, truth, _ = rated_items(9)
    answers = {f"i{i}": str(answer) for i, answer in enumerate(truth)}
    decision = validate(source_of(task, {"judge": answers, "twin": answers})).decision
    assert decision.next_step.n_items_needed is None
    assert decision.next_step.equivalent == ("twin",)


def test_good_judge_may_be_used():
    """One that is right where raters are right in 85 % passes every check."""
    task, truth, _ = rated_items(11, n=150)
    answers = {f"i{i}": str(answer) for i, answer in enumerate(truth)}
    validation = validate(source_of(task, {"good": answers}))
    assert validation.decision.verdict == "use"
    assert all(check.passed for check in validation.decision.checks.values())


def test_equal_judges_are_ordered_by_what_they_answered():
    """Exact ties went to the judge that was named first."""
    task, truth, _ = rated_items(13)
    answers = {f"i{i}": str(answer) for i, answer in enumerate(truth)}
    fewer = {item: answer for item, answer in answers.items() if item not in {"i0", "i1"}}
    validation = validate(source_of(task, {"fewer": fewer, "all": answers}))
    assert [row.judge for row in validation.evidence.judges] == ["all", "fewer"]
    assert validation.decision.leader == "all"


def test_silence_on_lost_items_can_be_counted_as_losses():
    """A judge that is better where it answers is first on the shared items, but "use" needs it to
    be first with losses, too."""
    task, truth, _ = rated_items(15, n=200)
    right = {f"i{i}": str(answer) for i, answer in enumerate(truth)}
    wrong = {f"i{i}": "AB"["BA".index(answer)] for i, answer in enumerate(truth)}
    silent = right | dict.fromkeys((f"i{i}" for i in range(18)), CANNOT_ASSESS)
    steady = right | {f"i{i}": wrong[f"i{i}"] for i in (*range(6), *range(60, 64))}
    judges = {"silent": silent, "steady": steady}
    shared = validate(source_of(task, judges))
    assert shared.decision.leader == "silent"
    assert shared.decision.verdict == "best_not_proven"
    assert shared.decision.checks["with_losses"].rival == "steady"


@pytest.mark.slow
def test_ten_replies_are_no_advantage_in_the_annotator_test():
    """A judge that is asked ten times is tested on as many replies as one that is asked once: by
    the mode of ten, replies of accuracy .65 would pass for a judge of .85."""
    task, truth, rng = rated_items(3, n=150)

    def replies(accuracy, samples):
        right = rng.random((len(truth), samples)) < accuracy
        wrong = {"A": "B", "B": "A"}
        return {
            f"i{i}": [answer if is_right else wrong[answer] for is_right in right[i].tolist()]
            for i, answer in enumerate(truth)
        }

    judges = {"once": replies(0.75, 1), "ten": replies(0.65, 10)}
    validation = validate(source_of(task, judges))
    tests = {row.judge: row.annotator_test for row in validation.evidence.judges}
    assert {row.n_replies for row in validation.replacement.judges} == {1}
    assert {test.passes for test in tests.values()} == {False}
    alone = validate(source_of(task, {"ten": judges["ten"]}))
    assert [row.n_replies for row in alone.replacement.judges] == [10]
    [of_ten] = alone.evidence.judges
    assert of_ten.annotator_test.net_wins > tests["ten"].net_wins + 0.1


@pytest.mark.parametrize("accuracy", [0.5, 0.6])
def test_a_copy_of_one_poor_rater_is_not_recommended(accuracy):
    """With three raters a copy of one beat two of three by agreeing with the one it copies."""
    task, truth, rng = rated_items(21, n=150)
    wrong = {"A": "B", "B": "A"}
    poor = {
        f"i{i}": answer if rng.random() < accuracy else wrong[answer]
        for i, answer in enumerate(truth)
    }
    ratings = {
        rater: {row.item: row.value for row in task.ratings if row.rater == rater}
        for rater in ("r0", "r1")
    }
    decision = validate(source_of(task_of(ratings | {"r2": poor}), {"copy": poor})).decision
    assert decision.checks["annotator_test"].passed
    assert decision.verdict == "best_not_proven"
    assert decision.missing == ("copies_a_rater",)
    assert decision.checks["copies_a_rater"].rival == "r2"


def test_the_comparison_with_one_human_has_a_reason_only_where_it_fails():
    """Anonymous raters of .85: a judge of .95 passes, one of .70 does not and says so."""
    task, truth, rng = rated_items(8, n=200)
    task, wrong = task.model_copy(update={"rater_ids": "positional"}), {"A": "B", "B": "A"}
    for accuracy, passed, reason in ((0.95, True, ""), (0.7, False, "not_shown_non_inferior")):
        answers = {f"i{i}": t if rng.random() < accuracy else wrong[t] for i, t in enumerate(truth)}
        check = validate(source_of(task, {"judge": answers})).decision.checks["one_human"]
        assert (check.passed, check.reason, check.n) == (passed, reason, 200)


def test_a_leader_that_answered_too_few_items_fails_that_check_alone():
    """The check compares the answered share with the least one; a limit that is met passes."""
    task, truth, _ = rated_items(23, n=100)
    answers = {f"i{i}": str(answer) for i, answer in enumerate(truth)}
    result = validate(source_of(task, {"judge": answers}))
    for fraction, passed in ((0.9, True), (0.89, False)):
        leader = replace(result.evidence.judges[0], answered_fraction=fraction)
        evidence = replace(result.evidence, judges=(leader,))
        decision = decide(result.humans, result.judges, evidence)
        assert decision.checks["answered"].passed is passed
        assert ("answered" in decision.missing) is not passed


def test_answers_that_are_numpy_texts_had_no_content_hash():
    """A task made in memory of numpy's texts is the one made of the same texts."""
    plain = {rater: {f"i{i}": "AB"[i % 2] for i in range(4)} for rater in RATERS}
    array = {rater: {i: np.array([x])[0] for i, x in row.items()} for rater, row in plain.items()}
    assert task_of(array).content_hash == task_of(plain).content_hash


def test_a_copy_of_a_fair_rater_is_recognised_by_its_answers():
    """It beats the baselines and most raters; a judge better than all raters isn't a copy."""
    task, truth, rng = rated_items(22, n=250)
    wrong = {"A": "B", "B": "A"}
    good, fair = (
        {f"i{i}": t if rng.random() < accuracy else wrong[t] for i, t in enumerate(truth)}
        for accuracy in (0.95, 0.72)
    )
    result = validate(source_of(task, {"good": good}))
    assert result.decision.checks["copies_a_rater"].passed
    assert (
        "It doesn't copy a rater: its own judgement explains its answers better than copying does."
    ) in sentences(result)
    ratings = {
        rater: {row.item: row.value for row in task.ratings if row.rater == rater}
        for rater in ("r0", "r1")
    }
    result = validate(source_of(task_of(ratings | {"r2": fair}), {"copy": fair}))
    check = result.decision.checks["copies_a_rater"]
    assert (check.passed, check.reason, check.raters) == (False, "copies_raters", ("r2",))
    assert result.evidence.copying.shares == pytest.approx([1.0], abs=1e-3)
    assert "Missing: its answers look copied from r2 (250 items)" in " ".join(sentences(result))


def test_the_raters_a_result_rests_on_are_named_in_order_of_effect():
    """One was named, by the alphabet, where two made the difference."""
    task, truth, _ = rated_items(22, n=150)
    result = validate(source_of(task, {"good": {f"i{i}": t for i, t in enumerate(truth)}}))
    left_out = (
        WithoutRater("Anna", "", passes=False, effect=0.2),
        WithoutRater("Ben", "", passes=True, effect=0.01),
        WithoutRater("Dora", "", passes=False, effect=0.6),
    )
    evidence = replace(result.evidence, copying=None, without_raters=left_out)
    decision = decide(result.humans, result.judges, evidence)
    check = decision.checks["copies_a_rater"]
    assert (check.raters, check.reason) == (("Dora", "Anna"), "not_passed_without_rater")
    text = because(replace(result, evidence=evidence, decision=decision))
    assert "Missing: the judge fails without Dora or Anna." in text


def as_sets(source):
    """Give every choice of raters and judges as a response set, and no choices."""
    task = source.task
    ratings = tuple(
        replace(rating, elicitation="response_set", value=(rating.value,))
        for rating in task.ratings
    )
    verdicts = {
        name: [structs.replace(v, elicitation="response_set", value=(v.value,)) for v in rows]
        for name, rows in source.verdicts.items()
    }
    planned = {name: {"response_set": len(rows)} for name, rows in verdicts.items()}
    update = {"ratings": ratings, "ranks_by": "response_set"}
    task = task.model_copy(update=update)
    return replace(source, task=task, verdicts=verdicts, planned=planned)


def test_a_copy_of_one_rater_was_not_looked_at_where_there_are_no_choices():
    """Without an annotator test, a human rater decides without each rater, too, by the difference.

    The reason was that there are too few raters, of three and of five.
    """
    task, truth, rng = rated_items(21, n=150)
    wrong = {"A": "B", "B": "A"}
    poor = {
        f"i{i}": answer if rng.random() < 0.6 else wrong[answer] for i, answer in enumerate(truth)
    }
    ratings = {
        rater: {row.item: row.value for row in task.ratings if row.rater == rater}
        for rater in ("r0", "r1")
    }
    source = as_sets(source_of(task_of(ratings | {"r2": poor}), {"copy": poor}))
    result = validate(source)
    assert result.decision.checks["annotator_test"].reason == "too_few_choices"
    said = "No annotator test: the test needs single choices from at least three raters."
    assert said in sentences(result)
    assert len(result.evidence.without_raters) == 3
    assert result.decision.checks["copies_a_rater"].passed is False
    assert result.decision.checks["copies_a_rater"].rival == "r2"
    good = {
        f"i{i}": answer if rng.random() < 0.95 else wrong[answer] for i, answer in enumerate(truth)
    }
    result = validate(as_sets(source_of(task, {"good": good})))
    assert result.decision.checks["copies_a_rater"].passed
    assert "Leaving out any one of the 5 raters doesn't change this." in sentences(result)


def test_why_raters_were_not_left_out_was_not_said():
    """Two raters: a human rater decides, and every view says what was not checked."""
    task, truth, rng = rated_items(22, n=250)
    wrong = {"A": "B", "B": "A"}
    good = {
        f"i{i}": answer if rng.random() < 0.95 else wrong[answer] for i, answer in enumerate(truth)
    }
    two = {
        rater: {row.item: row.value for row in task.ratings if row.rater == rater}
        for rater in ("r0", "r1")
    }
    result = validate(source_of(task_of(two), {"good": good}))
    check = result.decision.checks["copies_a_rater"]
    assert (result.decision.verdict, check.passed) == ("use_if_independent", None)
    assert check.reason == result.evidence.without_raters_reason == "too_few_raters"
    why = "the test needs at least three raters"
    assert f"There was no test for copies of a rater: {why}." in sentences(result)
    for view in (render(result), judge_card(result), page(result)):
        assert re.search(f"copies of a rater[^.]*: {why}", " ".join(view.split()), re.IGNORECASE)


def test_a_good_judge_holds_without_any_one_rater():
    """Its evidence does not rest on one rater; without names there is nothing to leave out."""
    task, truth, rng = rated_items(22, n=150)
    wrong = {"A": "B", "B": "A"}
    good = {
        f"i{i}": answer if rng.random() < 0.9 else wrong[answer] for i, answer in enumerate(truth)
    }
    check = validate(source_of(task, {"good": good})).decision.checks["copies_a_rater"]
    assert (check.passed, check.n) == (True, 150)
    nameless = task.model_copy(update={"rater_ids": "positional"})
    check = validate(source_of(nameless, {"good": good})).decision.checks["copies_a_rater"]
    assert (check.passed, check.reason) == (None, "positional_raters")


@pytest.mark.parametrize("metric", fast_first(1, ["prevalence_bias", "marginal_drift(h/h)"]))
def test_a_metric_whose_best_is_0_had_the_interval_of_its_magnitude(metric):
    """The interval is that of the signed value, and the rival is the baseline nearest to 0.

    A bias of -.2 stood beside an interval from .05 to .35, and the best baseline was the least.
    """
    source = indeterminate_source(indeterminate_task(paired=60), metric=metric, min_answered=0.8)
    result = validate(source)
    values = [row.value for row in result.evidence.judges]
    assert min(values) < 0
    assert [abs(value) for value in values] == sorted(abs(value) for value in values)
    for row in result.evidence.judges:
        interval = row.estimate.interval
        assert interval.low < row.value < interval.high
    baselines = {row.name: row.value for row in result.evidence.baselines}
    check = result.decision.checks["beats_baselines"]
    assert abs(baselines[check.rival]) == min(map(abs, baselines.values()))
    assert min(baselines.values()) != baselines[check.rival]
    text = " ".join(sentences(result))
    assert f"The best, {result.decision.leader}, is not significantly better" in text
