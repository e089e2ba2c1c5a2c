"""The sentences that end a run say what the numbers say, and hide no condition."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import msgspec
import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task
from support.each_case import fast_first

from harness.analysis import JudgeFacts, validate
from harness.analysis.location import Location
from harness.errors import TaskError
from harness.report import decision, judge_card, page, render
from harness.report.formatting import number, p_value, reason_words, span
from harness.report.html.summaries import changes
from harness.report.next_steps import next_steps
from harness.report.ranking_rows import missing_intervals
from harness.report.recommendation import property_words, sentences, summary
from harness.report.words import BASELINE_NAMES
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
    task = indeterminate_task(n=40, paired=40)
    return render(validate(indeterminate_source(task, judges=("strict", "lenient"))))


def ranked_source(task, **choices):
    """Make a source in which strict is ranked, though it abstains on every ninth item."""
    return indeterminate_source(task, min_answered=0.8, **choices)


@pytest.mark.slow
def test_first_sentence_names_the_judge():
    """Whoever reads three words knows what to do; the cut-off stands above the table."""
    text, validation = recommended(indeterminate_task(n=240), tau=0.4)
    assert validation.decision.verdict == "use"
    judge = validation.decision.judge
    assert text[0] == f"Use {judge}."
    assert "one reply each, cut-off 0.4 (share of raters)." in " ".join(render(validation).split())
    assert decision(validation).startswith(text[0])
    assert summary(validation)[0] == text[0]


def test_judge_that_is_not_better_than_a_baseline_is_not_recommended():
    """The sentence names the best baseline that is not beaten, and both numbers."""
    text, validation = recommended(
        indeterminate_task(), beta=0.5, metric="decision_consistency", judges=("lenient",)
    )
    values = {row.name: row.value for row in validation.evidence.baselines}
    assert max(values, key=values.get) == "most_frequent"
    assert text[0] == (
        "Don't use lenient if 50 % of the raters who chose a negative option would accept a "
        "positive one too."
    )
    assert text[1] == (
        'It is not significantly better than always answering "Toxic": 0.600 against 1.000 (share '
        "of decisions that match the raters')."
    )
    assert validation.decision.judge is None


def test_a_judge_that_is_not_proven_names_the_missing_evidence():
    """The annotator test is undefined with few groups, and a rater on few items: both say why."""
    text, validation = recommended(
        indeterminate_task(n=30, seed=4), judges=("strict",), tau=0.9, min_answered=0.8
    )
    assert validation.decision.verdict == "best_not_proven"
    assert validation.decision.missing == ("one_human", "usable_replies")
    assert text[0] == "Not yet: strict is better than the baselines, but not proven good enough."
    assert (
        "it cannot be compared with another rater (26 items, but at least 63 are needed)" in text[1]
    )
    assert "is undefined (the judge and the rater differ in too few groups. They" in " ".join(text)
    assert "Next: Get ratings for more items" in " ".join(text)


def test_judge_without_a_value_is_named_after_the_sentence_about_the_best():
    """Sentences about the best judge are not about a judge without a rank."""
    source = indeterminate_source(indeterminate_task(n=20))
    silent = {**source.verdicts, "random": []}
    text = sentences(validate(replace(source, verdicts=silent).with_settings(n_resamples=100)))
    [place] = [i for i, sentence in enumerate(text) if "Not ranked" in sentence]
    assert "random 0.0% (40 not asked of 40 replies)" in text[place]
    assert text[0] == "Don't use lenient."
    assert place > 0


def test_judge_whose_replies_all_failed_says_so():
    """Beside the share that it answered stands what became of its replies."""
    source = indeterminate_source(indeterminate_task(n=20), judges=("strict", "lenient"))
    replies = source.verdicts["lenient"]
    failed = [msgspec.structs.replace(row, outcome="failed", value=None) for row in replies]
    source = replace(source, verdicts={**source.verdicts, "lenient": failed})
    validation = validate(source.with_settings(min_answered=0.8))
    text = " ".join(sentences(validation))
    assert "Not ranked, because less than 80% was answered: lenient 0.0% (40 failed of 40" in text
    assert "significantly worse" not in text


def test_no_judge_that_answered_enough_means_no_recommendation():
    """Each is named with what it answered."""
    text, validation = recommended(indeterminate_task(), judges=("strict",))
    assert validation.decision.reason == "too_few_answered"
    assert text[0] == (
        "No judge can be recommended: none answered 90% of 60 items: "
        "strict 88.3% (14 abstained of 120 replies)."
    )


@pytest.mark.parametrize(
    ("kind", "limit"), [("endpoint", " To limit the cost, add --max-cost."), ("smollm2", "")]
)
def test_run_that_stopped_before_its_end_is_to_be_resumed(kind, limit):
    """Replies are missing, so another judge would not help; --max-cost limits those that cost."""
    source = indeterminate_source(indeterminate_task(n=20), judges=("lenient",))
    replies = source.verdicts["lenient"]
    judges = (JudgeFacts(name="lenient", kind=kind),)
    half = replies[: len(replies) // 2]
    location = Location(run="my run", server=("--base-url", "http://localhost/v1"))
    stopped = replace(source, judges=judges, verdicts={"lenient": half}, location=location)
    validation = validate(stopped)
    assert validation.decision.reason == "too_few_answered"
    missing = f"({len(replies) - len(half)} of {len(replies)})"
    assert next_steps(validation)[0] == (
        f"Request the missing replies {missing}: "
        f"`harness resume 'my run' --base-url http://localhost/v1`.{limit}"
    )


@pytest.mark.slow
def test_beta_at_which_another_judge_decides_best_is_named():
    """The break points among ranked judges, and the raters' own beta where they gave both."""
    validation = validate(ranked_source(indeterminate_task(n=400, paired=400)))
    assert validation.decision.significantly_worse
    even = validation.decision.break_even
    assert {name for piece in even.pieces for name in piece.winners} == {"strict", "lenient"}
    [line] = [
        sentence for sentence in sentences(validation) if "the best judge depends" in sentence
    ]
    for piece in even.pieces[1:4]:
        assert f"from {piece.low:.2f}" in line
    raters_own = validation.humans.beta
    assert f"the raters' beta: {raters_own.value:.2f}" in line


def test_break_even_is_silent_where_judges_are_not_distinguishable():
    """Two judges with the same answers share the first rank, whatever beta is."""
    task = indeterminate_task(n=40, paired=40)
    source = indeterminate_source(task, judges=("lenient",))
    twin = [msgspec.structs.replace(row, judge="twin") for row in source.verdicts["lenient"]]
    pair = (*source.judges, JudgeFacts(name="twin"))
    verdicts = source.verdicts | {"twin": twin}
    planned = dict.fromkeys(verdicts, source.planned["lenient"])
    validation = validate(replace(source, judges=pair, verdicts=verdicts, planned=planned))
    text = " ".join(sentences(validation))
    assert [row.ranks for row in validation.evidence.judges] == [(1, 2), (1, 2)]
    assert "twin scores the same." in text
    assert "worse by 0.000" not in text
    assert "not significantly different" in text
    assert "every beta" not in text


def test_the_only_ranked_judge_is_the_best_of_nobody():
    """It came "first in 100.0% of 2000 resamples" before judges that have no rank."""
    source = indeterminate_source(indeterminate_task(n=20), judges=("strict", "lenient"))
    silent = {**source.verdicts, "strict": []}
    text = " ".join(
        sentences(validate(replace(source, verdicts=silent).with_settings(n_resamples=100)))
    )
    assert "Not ranked, because less than 90% was answered: strict 0.0%" in text
    for words in ("the best", "best at every beta", "Every other", "would have picked"):
        assert words not in text


def test_assumed_beta_is_part_of_the_recommendation():
    """Numbers that rest on an assumption never stand without it."""
    text, _ = recommended(indeterminate_task(), beta=0.4, metric="decision_consistency")
    assert "if 40 % of the raters who chose a negative option would accept" in text[0]


@pytest.mark.slow
def test_break_even_was_silent_about_distinguishable_judges_if_another_was_close():
    """It says how firm the winner is; where a judge is close to the first, it leaves that one out.

    With a close judge beside them it said nothing of those that are significantly worse.
    """
    task = indeterminate_task(n=120, paired=120).model_copy(update={"rater_ids": "positional"})
    validation = validate(indeterminate_source(task, judges=("strict", "random"), min_answered=0.8))
    best = validation.sensitivity.best_at_beta["decision_consistency"]
    assert validation.decision.significantly_worse == ("random",)
    [line] = [sentence for sentence in sentences(validation) if sentence.startswith("By decision")]
    assert 0 < best.differs_share < 1
    assert f"; there {best.judges[0]} is best, another judge in {best.differs_share:.1%} of" in line
    validation = validate(ranked_source(task))
    assert validation.decision.not_distinguishable
    assert len(validation.sensitivity.break_evens["decision_consistency"].pieces) > 1
    decision = validation.decision
    [close], [worse] = decision.not_distinguishable, decision.significantly_worse
    winners = {name for piece in decision.break_even.pieces for name in piece.winners}
    assert winners <= {decision.leader, worse}
    [line] = [sentence for sentence in sentences(validation) if sentence.startswith("By decision")]
    assert line.startswith(f"By decision consistency and without {close}, ")
    assert "there" not in line
    assert not any("beta" in line for line in changes(validation))


def test_usual_metrics_are_named_with_the_regret_of_their_choice():
    """Hit rate and kappa pick strict where lenient decides better, at the section's regret."""
    task = indeterminate_task(n=120)
    source = ranked_source(task, beta=0.5, metric="decision_consistency")
    validation = validate(source)
    [line] = [sentence for sentence in sentences(validation) if "would have picked" in sentence]
    cell = validation.choosing.regret["hit_rate(h/h)"]["decision_consistency"]
    assert cell.selected == ("strict",)
    assert cell.value > 0
    assert f"picked strict, with a regret of {cell.value:.3f} [" in line
    assert "in consistency on 106 items." in line
    assert validation.decision.leader == "lenient"


def test_hit_rate_was_said_to_pick_another_judge_where_the_two_were_close():
    """Its choice is named where it is significantly worse and its regret is clearly above 0."""
    close = validate(ranked_source(indeterminate_task(n=60), beta=0.5))
    regret = close.choosing.regret["hit_rate(h/h)"]["decision_consistency"]
    assert regret.selected == ("strict",)
    assert close.decision.not_distinguishable or close.decision.leader == "strict"
    assert close.decision.usual_choices == ()
    assert "would have picked" not in " ".join(sentences(close))


def test_interval_of_the_winner_was_na_without_a_reason():
    """Terminal, page, card and notebook say why the value of the first judge has no interval."""
    validation = validate(ranked_source(indeterminate_task(n=4), n_resamples=100))
    [first, *_] = validation.evidence.judges
    assert first.value is not None
    assert first.estimate.interval is None
    note = missing_intervals(validation)
    assert first.judge in note
    assert reason_words(first.estimate.interval_reason) in note
    card = judge_card(validation).replace("\\", "")
    views = (render(validation), card, unescape(page(validation)), validation._repr_html_())
    assert all(note in " ".join(text.split()) for text in views)


@pytest.mark.slow
def test_usual_metrics_choose_among_the_judges_that_are_ranked():
    """Hit rate "would have picked lexicon" while a judge of the same table had a higher one."""
    task = indeterminate_task(n=60)
    source = indeterminate_source(task, beta=0.5, metric="decision_consistency")
    validation = validate(source)
    ranked = {row.judge for row in validation.evidence.judges if row.ranked}
    assert ranked == {"lenient", "random"}
    assert set(validation.choosing.candidates) == ranked
    rates = {name: validation.judge(name).metrics["hit_rate(h/h)"].value for name in ranked}
    [regret] = [validation.choosing.regret["hit_rate(h/h)"]["decision_consistency"]]
    assert regret.selected == (max(rates, key=rates.get),)


def test_annotator_test_is_said_for_the_leader(paired):
    """Whether it may replace a rater, with the winning rate and the margin."""
    text, validation = paired
    [line] = [sentence for sentence in text if sentence.startswith("The alternative annotator")]
    test = validation.evidence.judges[0].annotator_test
    assert ("does not allow" in line) == (not test.passes)
    assert f"wins minus losses {test.net_wins:.2f} [{test.low:.2f}, {test.high:.2f}]" in line
    assert f"eps {validation.replacement.eps:g}" in line


def test_one_human_takes_the_place_of_the_annotator_test_of_anonymous_raters():
    """The sentence says why there is no test; non-inferiority to a human rater decides."""
    text, validation = recommended(indeterminate_task(rater_ids="positional"), judges=("lenient",))
    assert "No annotator test: the ratings don't name their raters." in text
    decided = validation.decision
    assert decided.checks["annotator_test"].passed is None
    assert (decided.verdict == "use") == bool(decided.checks["one_human"].passed)


@pytest.mark.slow
def test_an_uncertain_result_says_what_to_collect_next():
    """Response sets where there are none; more items where judges do not differ."""
    text, _ = recommended(indeterminate_task())
    assert any("response sets" in sentence and "Maybe" in sentence for sentence in text)
    task = indeterminate_task(n=60, paired=60, seed=4)
    validation = validate(ranked_source(task, tau=0.9, metric="js_divergence(s/s)"))
    step, text = validation.decision.next_step, sentences(validation)
    needed = [sentence for sentence in text if "Get ratings for" in sentence]
    assert bool(needed) == (step.n_items_needed is not None)
    assert validation.decision.not_distinguishable
    n_more = step.n_items_needed - step.n_items
    assert f"{n_more} more items: with {step.n_items_needed}, a difference" in " ".join(needed)


def test_judge_half_of_whose_replies_are_unreadable_is_warned_about():
    """Every item has an answer, so it is ranked; the second reply to each is invalid."""
    source = indeterminate_source(indeterminate_task(), judges=("lenient",))
    rows = source.verdicts["lenient"]
    second = [msgspec.structs.replace(row, sample=1, outcome="invalid", value=None) for row in rows]
    planned = {"lenient": {"forced_choice": 120, "response_set": 120}}
    source = replace(source, verdicts={"lenient": rows + second}, planned=planned)
    validation = validate(source)
    assert validation.decision.leader == "lenient"
    assert validation.evidence.judges[0].answered_fraction == 1.0
    assert any(
        "of the replies of lenient are unreadable" in sentence for sentence in sentences(validation)
    )


def test_replies_that_were_not_asked_for_are_not_called_unusable():
    """An interrupted run says what is missing; nothing is wrong with what came."""
    source = indeterminate_source(indeterminate_task(n=20), judges=("lenient",))
    part = {"lenient": source.verdicts["lenient"][:38]}
    text = " ".join(
        sentences(validate(replace(source, verdicts=part).with_settings(n_resamples=100)))
    )
    assert (
        "2 of the 40 planned replies of lenient are missing. Collect them before you rely on it."
        in text
    )
    assert "could not be used" not in text


def test_metric_that_is_na_for_all_recommends_nobody():
    """With the reason."""
    text, _ = recommended(indeterminate_task(), metric="decision_consistency")
    assert text[0] == (
        "No judge can be recommended: the share of decisions that match the raters' is NA for all "
        "of them (no response sets)."
    )


@pytest.mark.parametrize(
    "choices", fast_first(2, [{}, {"beta": 0.3}, {"level": "macro"}, {"tau": 0.2}])
)
def test_terminal_output_fits_eighty_columns_and_a_screen(choices, terminal):
    """Ranking, verdict, agreement, error and next step; a table of at most seven columns."""
    if choices:
        task, judges = indeterminate_task(n=40, paired=40), ("strict", "lenient")
        terminal = render(validate(indeterminate_source(task, judges=judges, **choices)))
    lines = terminal.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 28
    [heads] = [line for line in lines if line.startswith("rank ")]
    assert len(re.split(r"  +", heads)) <= 7
    assert re.search(r"^1 ", terminal, re.MULTILINE)


def test_rows_of_one_human_and_baselines_stand_on_the_same_scale():
    """Below the judges, without a rank; the strongest baseline unless details are wanted."""
    task = indeterminate_task(n=40, paired=40)
    validation = validate(indeterminate_source(task, judges=("strict", "lenient")))
    rows = render(validation).split("\n\n")[1].splitlines()
    names = [re.split(r"  +", row.strip())[0] for row in rows[-2:]]
    strongest = BASELINE_NAMES[validation.decision.checks["beats_baselines"].rival]
    assert names == ["human rater", strongest]
    lines = render(validation, details=True).splitlines()
    names = [re.split(r"  +", line.strip())[0] for line in lines]
    names = [name for name in names if name in {"human rater", *BASELINE_NAMES.values()}]
    assert names == [
        "human rater",
        "random guess",
        "proportional guess",
        "most common answer",
        "best fixed answer",
    ]


@pytest.mark.slow
def test_judge_that_is_not_ranked_is_na():
    """Its value on the items that it answered is not comparable: only the page has it, as that."""
    validation = validate(indeterminate_source(indeterminate_task()))
    assert re.search(r"^- +strict +NA \(too few answers\)", render(validation), re.MULTILINE)
    own = validation.judge("strict").own
    _, own_items = page(validation).split("Each judge on the items that it answered</h4>")
    assert f"{own.value:.3f}" in own_items


def test_details_add_legend_outcomes_and_all_evidence(paired):
    """What the summary leaves out stands behind --details, and nothing is lost there."""
    text, validation = paired
    short, long = render(validation), render(validation, details=True)
    assert "not asked" in long
    assert "not asked" not in short
    for sentence in text:
        assert sentence in " ".join(long.split())
    for sentence in summary(validation):
        assert sentence in text


def test_numbers_of_the_sentences_stand_beside_their_n(paired):
    """Items of the metric, of a human rater and of beta; raters of a winning rate."""
    text, validation = paired
    text, evidence = " ".join(text), validation.evidence
    leader = evidence.judges[0]
    assert f"on {evidence.n_items} items (lower is better; one reply each)" in text
    assert f"It answered {leader.answered_fraction:.1%} of {evidence.n_rated} items, and" in text
    assert re.search(rf"\(difference [^)]* on {leader.human.n_items} items, margin", text)
    n_raters = validation.decision.checks["annotator_test"].n
    assert re.search(rf"for beating at least \d+ of {n_raters} raters", text)


@pytest.mark.slow
def test_items_that_not_all_judges_answered_are_left_out_of_the_comparison():
    """The line above the table says how many are shared."""
    validation = validate(ranked_source(indeterminate_task()))
    line = (
        "Compared by forced choices on 53 of 60 rated items (7 not answered by all ranked judges), "
        "one reply each, cut-off"
    )
    assert line in " ".join(render(validation, details=True).split())
    assert "on 53 of 60 rated items, one reply" in " ".join(render(validation).split())
    alone = " ".join(render(validate(indeterminate_source(indeterminate_task()))).split())
    first = "Compared by forced choices on all 60 rated items, one reply each"
    assert f"{first}, cut-off 0.5 (share of raters)." in alone


def test_design_of_a_single_rating_per_item_is_in_the_singular():
    """One rating is no ratings."""
    validation = validate(indeterminate_source(indeterminate_task(n=20, raters=1)))
    assert "The design has 1 rating per item." in render(validation, details=True)


def test_rounded_zeros_have_no_sign_and_no_p_is_zero():
    """Neither -0.000 nor a p of 0.000 is a number that anybody computed."""
    assert number(-0.0004) == "0.000"
    assert number(-0.0005) == "-0.001"
    assert span(Interval(-0.2, -0.0001, 0.95, "percentile", "item")) == "[-0.200, 0.000]"
    assert p_value(0.0004) == "<0.001"
    assert p_value(0.001) == "0.001"
    assert p_value(None) == "NA"


def test_legend_names_method_unit_and_estimand():
    """What an interval covers is never left to the reader."""
    source = indeterminate_source(indeterminate_task(n=40, paired=40))
    terminal = render(validate(source), details=True)
    assert "95% intervals: bootstrap of groups, 300 resamples, design value." in terminal
    see = "For infinitely many, see disagreement with raters, rater noise removed"
    assert see in " ".join(terminal.split())


def test_metric_of_a_judges_own_replies_ranks_nobody():
    """Every judge was NA by it, without a reason."""
    task = indeterminate_task(n=40, paired=40)
    with pytest.raises(TaskError, match=r"can't rank judges.*Rank by mse\(s/s\)"):
        validate(indeterminate_source(task, metric="mse_without_rater_noise(s/s)"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("whether it is toxic", "whether it is toxic"),
        ("the diagnosis", "the diagnosis"),
        ("toxicity", "\u201ctoxicity\u201d"),
        ("toxic", "\u201ctoxic\u201d"),
    ],
)
def test_property_reads_well_after_to_tell(name, words):
    """A question or a noun with its article as they are; a single noun or adjective in quotes."""
    assert property_words(name) == words


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [
        (-0.5, -0.3, "Improve the prompt or try other judges"),
        (
            -0.3,
            0.1,
            "Get ratings for more items: the comparison with a human rater is too close to call",
        ),
        (None, None, "Get ratings for more items, from at least three raters each."),
    ],
)
def test_failed_annotator_test_says_what_would_settle_it(low, high, step):
    """Another judge where it is surely below the margin, more items where that is open."""
    validation = validate(indeterminate_source(indeterminate_task(n=60), judges=("lenient",)))
    first = validation.evidence.judges[0]
    test = replace(first.annotator_test, net_wins=-0.3, low=low, high=high)
    evidence = replace(validation.evidence, judges=(replace(first, annotator_test=test),))
    checks = validation.decision.checks
    below = replace(checks["annotator_test"], passed=False, reason="too_few_raters_beaten")
    failed = replace(
        validation.decision,
        verdict="best_not_proven",
        missing=("annotator_test",),
        checks={**checks, "annotator_test": below},
    )
    steps = next_steps(replace(validation, evidence=evidence, decision=failed))
    assert steps[0].startswith(step)


def test_free_judge_cost_0_percent_as_much():
    """A judge beside a dearer one costs nothing, or a share of what that costs."""
    task = indeterminate_task(n=40, paired=40)
    source = indeterminate_source(task, judges=("lenient",))
    twin = [msgspec.structs.replace(row, judge="twin") for row in source.verdicts["lenient"]]
    pair = (*source.judges, JudgeFacts(name="twin"))
    verdicts = source.verdicts | {"twin": twin}
    planned = dict.fromkeys(verdicts, source.planned["lenient"])
    validation = validate(replace(source, judges=pair, verdicts=verdicts, planned=planned))
    for usd, words in ((0.0, "and costs nothing."), (0.5, "and costs 50% as much.")):
        prices = {validation.decision.leader: 1.0}
        judges = tuple(
            replace(j, cost=replace(j.cost, usd_per_answered=prices.get(j.name, usd)))
            for j in validation.judges
        )
        assert words in " ".join(sentences(replace(validation, judges=judges)))
