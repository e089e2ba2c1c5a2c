"""The sentences that end a run say what the numbers say, and hide no condition."""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec
import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task

from harness.analysis import JudgeFacts, validate
from harness.report import decision, render
from harness.report.formatting import counted, number, p_value, span
from harness.report.html.findings import facts
from harness.report.recommendation import sentences
from harness.stats.inference.estimate import Interval


def recommended(task, **options):
    """Return the closing sentences of a small validation, and the validation."""
    validation = validate(indeterminate_source(task, **options))
    return sentences(validation), validation


@pytest.fixture(scope="module")
def paired():
    """The sentences about raters who gave both elicitations, and the validation."""
    return recommended(indeterminate_task(n=120, paired=120))


@pytest.fixture(scope="module")
def terminal():
    """The terminal output of a small validation."""
    return render(validate(indeterminate_source(indeterminate_task(n=40, paired=40))))


def test_first_sentence_names_the_judge_the_job_and_the_cut_off():
    """Whoever reads one sentence knows what to do."""
    text, validation = recommended(indeterminate_task(n=120, paired=120), tau=0.4)
    judge = validation.ranking.rows[0].judge
    assert text[0] == f"Use {judge} to judge whether it is toxic at tau 0.4."
    assert decision(validation).startswith(text[0])


def test_best_baseline_means_none_of_the_judges():
    """A judge that a baseline beats is not recommended."""
    text, _ = recommended(indeterminate_task(), baselines=("strict", "lenient"))
    assert text[0].startswith("Use none to judge whether it is toxic")
    assert "none of these judges is better than the baseline strict" in text[0]
    assert not any("the same judge" in sentence for sentence in text)


def test_judge_without_a_value_is_named_after_the_sentence_about_the_best():
    """Sentences about the best judge are not about a judge without a rank."""
    task = indeterminate_task(n=20)
    source = indeterminate_source(task, baselines=())
    silent = {**source.verdicts, "random": []}
    text = sentences(validate(replace(source, verdicts=silent, n_resamples=100)))
    [line] = [sentence for sentence in text if "no rank" in sentence]
    assert "random has no rank: its js_divergence(s/s) is NA (" in line
    assert line.index("comes first") < line.index("random has no rank")


def test_judge_whose_replies_all_failed_says_so():
    """Beside NA stands what became of its replies; who is left alone does not come first."""
    task = indeterminate_task(n=20)
    source = indeterminate_source(task, judges=("strict", "lenient"), baselines=())
    replies = source.verdicts["lenient"]
    failed = [msgspec.structs.replace(row, outcome="failed", value=None) for row in replies]
    validation = validate(replace(source, verdicts={**source.verdicts, "lenient": failed}))
    text = " ".join(sentences(validation))
    assert "lenient has no rank: its js_divergence(s/s) is NA (no forced choices: 40 failed" in text
    assert "comes first" not in text
    assert "Not significantly different" not in {row.name for row in facts(validation)}


def test_beta_at_which_another_judge_decides_best_is_named(paired):
    """The break points of the section, and the raters' own beta where they gave both."""
    text, validation = paired
    [line] = [sentence for sentence in text if "the best judge" in sentence]
    even = validation.sensitivity.break_evens["decision_consistency"]
    for piece in even.pieces[1:4]:
        assert f"from {piece.low:.2f}" in line
    raters_own = validation.humans.beta
    assert f"the raters' beta: {raters_own.value:.2f}" in line


def test_judges_that_decide_alike_are_spoken_of_as_several():
    """Two judges with the same answers decide best together, whatever beta is."""
    task = indeterminate_task(n=20, paired=20)
    source = indeterminate_source(task, judges=("strict",), baselines=())
    twin = [msgspec.structs.replace(row, judge="twin") for row in source.verdicts["strict"]]
    pair = (*source.judges, JudgeFacts(name="twin"))
    verdicts = source.verdicts | {"twin": twin}
    planned = dict.fromkeys(verdicts, source.planned["strict"])
    source = replace(source, judges=pair, verdicts=verdicts, planned=planned, n_resamples=100)
    text = " ".join(sentences(validate(source)))
    assert "strict and twin are best at every beta" in text


def test_the_only_ranked_judge_comes_first_of_nobody():
    """It came "first in 100.0% of 2000 resamples" before judges that have no rank."""
    source = indeterminate_source(
        indeterminate_task(n=20), judges=("strict", "lenient"), baselines=()
    )
    silent = {**source.verdicts, "lenient": []}
    text = " ".join(sentences(validate(replace(source, verdicts=silent, n_resamples=100))))
    assert "lenient has no rank" in text
    assert "comes first" not in text


def test_assumed_beta_is_part_of_the_recommendation():
    """Numbers that rest on an assumption never stand without it."""
    text, _ = recommended(indeterminate_task(), beta=0.4, metric="decision_consistency")
    assert text[0].endswith("at tau 0.5 if beta is 0.4.")


def test_usual_metrics_are_named_with_the_regret_of_their_choice():
    """Hit rate and kappa pick strict where lenient decides better, at the section's regret."""
    task = indeterminate_task(n=120)
    text, validation = recommended(task, beta=0.5, metric="decision_consistency", baselines=())
    [line] = [sentence for sentence in text if "would have picked" in sentence]
    cell = validation.choosing.regret["hit_rate(h/h)"]["decision_consistency"]
    assert cell.selected == ("strict",)
    assert cell.value > 0
    assert f"picked strict, with regret {cell.value:.3f} [" in line
    assert "in consistency on 106 to 120 items." in line
    assert validation.ranking.rows[0].judge == "lenient"


def test_replacement_test_is_said_for_the_recommended_judge(paired):
    """Whether it may replace a rater, with the winning rate and the margin."""
    text, validation = paired
    best = validation.ranking.rows[0].judge
    [line] = [sentence for sentence in text if "alternative annotator test" in sentence]
    test = next(row for row in validation.replacement.judges if row.judge == best)
    assert ("does not allow" in line) == (not test.passes)
    assert f"winning rate {test.winning_rate.value:.2f}" in line
    assert f"eps {validation.replacement.eps:g}" in line


def test_positional_raters_have_no_replacement_test():
    """The sentence says why."""
    text, _ = recommended(indeterminate_task(rater_ids="positional"))
    assert "No annotator test: the ratings do not name their raters." in text


def test_what_to_collect_next_is_said_where_the_answer_is_not_firm():
    """Response sets where there are none; more items where judges do not differ."""
    text, _ = recommended(indeterminate_task())
    assert any("response sets" in sentence and "Maybe" in sentence for sentence in text)
    text, validation = recommended(
        indeterminate_task(n=30, paired=30, seed=4), judges=("strict", "lenient"), tau=0.9
    )
    rival = validation.ranking.rows[1]
    if not rival.difference.separated:
        [line] = [sentence for sentence in text if "separate" in sentence]
        assert re.search(r"About \d+ items, in place of \d+|More items are unlikely", line)
    else:
        assert not any("in place of" in sentence for sentence in text)


def test_judge_that_leaves_much_unanswered_is_warned_about():
    """88 % of the replies could be used."""
    text, validation = recommended(indeterminate_task(), judges=("strict",), baselines=())
    assert validation.judge("strict").answered_fraction < 0.9
    assert any("could not be used" in sentence for sentence in text)


def test_replies_that_were_not_asked_for_are_not_called_unusable():
    """An interrupted run says what is missing; nothing is wrong with what came."""
    source = indeterminate_source(indeterminate_task(n=20), judges=("lenient",), baselines=())
    half = {"lenient": source.verdicts["lenient"][:20]}
    text = " ".join(sentences(validate(replace(source, verdicts=half, n_resamples=100))))
    assert "20 of its 40 planned replies are missing; collect them before relying on it." in text
    assert "could not be used" not in text


def test_metric_that_is_na_for_all_recommends_nobody():
    """With the reason."""
    text, _ = recommended(indeterminate_task(), metric="decision_consistency")
    assert text[0] == (
        "No judge can be recommended: decision_consistency is NA for all of them "
        "(no response sets)."
    )


@pytest.mark.parametrize(
    "choices", [{}, {"beta": 0.3}, {"interval": "jackknife"}, {"level": "macro"}, {"tau": 0.2}]
)
def test_terminal_output_fits_eighty_columns_and_one_screen(choices, terminal):
    """Ranking with rank intervals, legend and sentences."""
    if choices:
        terminal = render(
            validate(indeterminate_source(indeterminate_task(n=40, paired=40), **choices))
        )
    lines = terminal.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 45
    assert re.search(r"^1 \(1-\d\) ", terminal, re.MULTILINE)


def test_numbers_of_the_terminal_stand_beside_their_n(paired):
    """Items in each line of the ranking, and of beta; raters of a winning rate."""
    text, validation = paired
    ranked = {}
    for line in render(validation).split("rank ")[1].splitlines()[1:]:
        if not re.match(r"\d+ \(", line):
            break
        ranked[line.split()[2]] = int(line.split()[-1])
    metric = validation.ranking.metric
    assert ranked == {judge.name: judge.metrics[metric].n_used for judge in validation.judges}
    text = " ".join(text)
    assert re.search(rf"the raters' beta: [^)]* on {validation.humans.beta.n_used} items", text)
    best = validation.judge(validation.ranking.rows[0].judge)
    assert f"it answered {best.answered_fraction:.1%} of {best.n_planned} planned." in text
    n_raters = validation.replacement.judges[0].n_tested
    assert re.search(rf"winning rate [^)]* over {n_raters} raters", text)


def test_items_of_a_second_metric_are_named_where_they_differ():
    """The column of items is that of the metric that ranks."""
    source = indeterminate_source(indeterminate_task(n=60, paired=30))
    assert "consistency is on" not in render(validate(source))
    validation = validate(replace(source, metric="js_divergence(s/s)"))
    n_items = {judge.metrics["decision_consistency"].n_used for judge in validation.judges}
    assert f"decision consistency is on {counted(n_items)}\n" in render(validation)


def test_design_of_a_single_rating_per_item_is_in_the_singular():
    """One rating is no ratings."""
    validation = validate(indeterminate_source(indeterminate_task(n=20, raters=1)))
    assert "The design has 1 rating per item;" in render(validation)


def test_what_rounds_to_zero_has_no_sign_and_no_p_is_zero():
    """Neither -0.000 nor a p of 0.000 is a number that anybody computed."""
    assert number(-0.0004) == "0.000"
    assert number(-0.0005) == "-0.001"
    assert span(Interval(-0.2, -0.0001, 0.95, "percentile", "item")) == "[-0.200, 0.000]"
    assert p_value(0.0004) == "<0.001"
    assert p_value(0.001) == "0.001"
    assert p_value(None) == "NA"


def test_legend_names_method_unit_and_estimand(terminal):
    """What an interval covers is never left to the reader."""
    assert "95% intervals: bootstrap of groups, 300 resamples, design value." in terminal
    assert "for infinitely many see\nmse_without_rater_noise(srs/srs)." in terminal
    task = indeterminate_task(n=40, paired=40)
    noise = validate(
        indeterminate_source(task, metric="mse_without_rater_noise(s/s)", interval="bca")
    )
    assert "bootstrap of groups (BCa), 300 resamples, population value." in render(noise)
