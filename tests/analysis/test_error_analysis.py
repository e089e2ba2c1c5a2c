from __future__ import annotations

import json

import numpy as np
import pytest
from support.analysis_inputs import INVALID, source_of, task_of, truth_source

from harness.analysis import error_analysis, validate
from harness.analysis.estimates import prepare
from harness.analysis.result import Validation
from harness.errors import TaskError
from harness.report.text import render
from harness.stats.metrics.alpha import krippendorff_alpha
from harness.stats.metrics.ordinal import weighted_kappa, weights
from harness.tasks import CANNOT_ASSESS, load_task, write_task

NONE = CANNOT_ASSESS


def section_of(ratings, judges, *, source=None, **more):
    """Compute the section."""
    prepared = prepare(source_of(task_of(ratings, **more), judges, **(source or {})))
    return error_analysis.section(prepared)[0]


def agreement_of(ratings, **more):
    """Compute the agreement of the raters."""
    return error_analysis.section(prepare(source_of(task_of(ratings, **more), {})))[1]


def of_table(table, **more):
    """Make one rater and one judge of a table of counts, human by judge, over A, B and none."""
    labels = ["A", "B", NONE]
    pairs = [
        (h, j)
        for h, row in zip(labels, table, strict=True)
        for j, n in zip(labels, row, strict=True)
        for _ in range(n)
    ]
    human = {f"i{i}": h for i, (h, _) in enumerate(pairs)}
    judge = {f"i{i}": j for i, (_, j) in enumerate(pairs)}
    return section_of({"r": human}, {"z": judge}, **more)


RAO = [[30, 10, 5], [10, 20, 5], [5, 5, 10]]


def test_three_modes_stand_side_by_side_with_the_answered_fraction():
    """Appendix B of rao2026: 0.714, 0.700 and 0.600 from one table, and 80 % answered."""
    [judge] = of_table(RAO).judges
    modes = judge.modes
    assert modes.exclude["accuracy"].value == pytest.approx(50 / 70)
    assert modes.recode["accuracy"].value == pytest.approx(0.7)
    assert modes.third_class["accuracy"].value == pytest.approx(0.6)
    assert modes.rates["answered_fraction"].value == pytest.approx(0.8)
    assert (modes.recode_to, modes.recode_reason) == ("B", "")
    entry = modes.exclude["kappa"]
    assert (entry.n_used, entry.n_excluded) == (70, 30)
    assert {e.reason: e.n_items for e in entry.excluded} == {
        "both_abstained": 10,
        "human_abstained": 10,
        "judge_abstained": 10,
    }
    assert entry.interval is not None
    assert judge.confusion.cells == tuple((*map(float, row), 0.0, 0.0, 0.0) for row in RAO)


@pytest.mark.parametrize(("options", "ratio"), [("123", True), ("-1 0 1", False), ("abc", False)])
def test_ratio_alpha_is_there_where_options_are_amounts(options, ratio):
    """Numbers, none negative; ordinal and interval alpha are there on every ordered scale."""
    keys = options.split() if " " in options else list(options)
    rows = {"r": [0, 1, 2, 2, 0], "s": [0, 2, 2, 1, 0]}
    ratings = {r: {f"i{i}": keys[k] for i, k in enumerate(row)} for r, row in rows.items()}
    agreement = agreement_of(ratings, options=keys, scale="ordinal", positive=())
    alphas = {name: estimate.value for name, estimate in agreement.items()}
    assert ("krippendorff_alpha_ratio" in alphas) is ratio
    assert {"krippendorff_alpha_ordinal", "krippendorff_alpha_interval"} <= set(alphas)
    if ratio:
        units = [[float(keys[k]) for k in pair] for pair in zip(*rows.values(), strict=True)]
        expected = krippendorff_alpha(units, "ratio").value
        assert alphas["krippendorff_alpha_ratio"] == pytest.approx(expected)


def test_the_three_modes_are_the_same_whichever_the_run_is_in():
    """``--mode`` names the one that ranks."""
    assert of_table(RAO, source={"mode": "recode"}).judges[0].modes == of_table(RAO).judges[0].modes


def test_invalid_and_abstained_are_classes_of_their_own():
    """Neither is folded into an option; items nobody asked about are counted apart."""
    human = {f"i{i}": "A" for i in range(6)}
    judge = {"i0": "A", "i1": NONE, "i2": INVALID, "i3": [INVALID, NONE], "i4": "B"}
    [outcome] = section_of({"r": human}, {"z": judge}).judges
    assert outcome.confusion.judge == ("A", "B", NONE, "refused", "invalid", "failed")
    assert outcome.confusion.cells[0] == (1.0, 1.0, 1.5, 0.0, 1.5, 0.0)
    assert (outcome.confusion.n_items, outcome.confusion.n_excluded) == (5, 1)
    assert [(e.reason, e.n_items) for e in outcome.confusion.excluded] == [("judge_not_asked", 1)]
    accuracy = outcome.modes.third_class["accuracy"]
    assert {e.reason: e.n_items for e in accuracy.excluded} == {
        "judge_not_asked": 1,
        "judge_invalid": 1,
    }
    assert accuracy.n_used + accuracy.n_excluded == 6


def test_cells_sum_to_the_items():
    """Whatever is tied or lost, every item is in the cells or among the excluded."""
    rng = np.random.default_rng(0)
    labels = ["A", "B", NONE, INVALID]
    ratings = {
        f"r{j}": {f"i{i}": str(rng.choice(labels[:3])) for i in range(50) if rng.random() < 0.7}
        for j in range(2)
    }
    ratings["r2"] = {f"i{i}": "A" for i in range(0, 50, 2)} | {"i1": "B"}
    judge = {f"i{i}": rng.choice(labels, 3).tolist() for i in range(45)}
    task = task_of(ratings)
    [outcome] = error_analysis.section(prepare(source_of(task, {"z": judge})))[0].judges
    cells = np.array(outcome.confusion.cells)
    assert cells.sum() == pytest.approx(outcome.confusion.n_items)
    assert outcome.confusion.n_items + outcome.confusion.n_excluded == len(task.items)
    assert sum(e.n_items for e in outcome.confusion.excluded) == outcome.confusion.n_excluded
    for part in (outcome.modes.exclude, outcome.modes.recode, outcome.modes.third_class):
        for entry in part.values():
            assert entry.n_used + entry.n_excluded == len(task.items)
            assert sum(e.n_items for e in entry.excluded) == entry.n_excluded


def test_leniency_tells_to_which_side_a_judge_errs():
    """Precision, recall and drift of the positive side by hand."""
    [judge] = of_table([[20, 10, 0], [0, 70, 0], [0, 0, 0]]).judges
    value = {name: entry.value for name, entry in judge.leniency.items()}
    assert value["precision"] == 1.0
    assert value["recall"] == pytest.approx(2 / 3)
    assert value["marginal_drift"] == pytest.approx(-0.1)
    assert (judge.leniency["precision"].n_used, judge.leniency_reason) == (100, "")


def test_without_positive_options_there_is_no_lenient_side():
    """NA with the reason; what needs no side is still there."""
    outcome = of_table(RAO, positive=())
    [judge] = outcome.judges
    assert (judge.leniency, judge.leniency_reason) == ({}, "no_positive_option")
    assert judge.modes.exclude["f1"].reason == "no_positive_option"
    assert judge.modes.exclude["accuracy"].value == pytest.approx(50 / 70)
    assert (judge.modes.recode, judge.modes.recode_reason) == ({}, "no_positive_option")


def test_several_negative_options_cannot_take_an_abstention():
    """Which of them it would become is nobody's default."""
    ratings = {"r": {"i0": "A", "i1": "C"}}
    [judge] = section_of(ratings, {"z": {"i0": "A", "i1": NONE}}, options="ABC").judges
    assert (judge.modes.recode_to, judge.modes.recode_reason) == (None, "several_negative_options")
    assert judge.leniency["recall"].value == 1.0


def test_all_abstained_is_na_in_one_mode_and_a_number_in_another():
    """Nothing is left to exclude, recode still has a number: the mode must be named."""
    [judge] = of_table([[0, 0, 40], [0, 0, 50], [0, 0, 10]]).judges
    assert {entry.reason for entry in judge.modes.exclude.values()} == {"all_abstained"}
    assert judge.modes.recode["accuracy"].value == pytest.approx(0.6)
    assert judge.leniency["precision"].reason == "all_abstained"


def disputed_ratings(n=80):
    """Make items of which every other is disputed."""
    return {
        f"r{j}": {f"i{i}": "A" if (i % 2 == 0 or j == 0) else "B" for i in range(n)}
        for j in range(3)
    }


def of_criteria():
    """Make two criteria on 30 documents, with a judge that is bad at the second."""
    rng = np.random.default_rng(0)
    items, human, judge = {}, {}, {}
    for i in range(30):
        for c, error in (("clear", 0.1), ("true", 0.4)):
            name = f"i{i}-{c}"
            items[name] = {"group": f"d{i}", "criterion": c}
            human[name] = str(rng.choice(["A", "B"]))
            judge[name] = human[name] if rng.random() > error else "AB"[human[name] == "A"]
    return items, {"r": human}, {"z": judge}


def test_level_item_of_the_run_leaves_the_errors_as_they_are():
    """The section counts decisions; what the metrics average over does not move it."""
    items, ratings, judges = of_criteria()
    task = task_of(ratings, items=items)
    plain, whole = (
        error_analysis.section(prepare(source_of(task, judges, level=level)))
        for level in ("micro", "item")
    )
    assert plain == whole


def test_an_ensemble_reports_one_number_once():
    """Eq. 16 on complete votes; confusions are those of each judge."""
    rng = np.random.default_rng(0)
    human = {f"i{i}": "AB"[i % 2] for i in range(40)}
    judges = {
        f"z{j}": {i: v if rng.random() < 0.8 else "A" for i, v in human.items()} for j in range(3)
    }
    errors = section_of({"r": human}, judges)
    ensemble = errors.ensemble
    assert tuple(ensemble.confusions) == ("z0", "z1", "z2")
    fleiss, alpha = (
        ensemble.agreement[name].value for name in ("fleiss_kappa", "krippendorff_alpha_nominal")
    )
    assert alpha == pytest.approx(fleiss + (1 - fleiss) / 120)
    assert ensemble.agreement["alpha_from_fleiss"].value == pytest.approx(alpha)
    assert errors.ensemble_same_as["krippendorff_alpha_nominal"] == "fleiss_kappa"
    assert ensemble.n_pairs == 3
    assert np.sum(ensemble.confusions["z0"]) == 40


def test_ordinal_scales_have_ordinal_agreement():
    """The terminal names alpha at the level of the scale; metrics.json alone had it."""
    ratings = {"r": {"x": "1", "y": "3", "z": "2"}, "s": {"x": "2", "y": "3", "z": "2"}}
    task = task_of(ratings, options=("1", "2", "3"), scale="ordinal", positive=())
    outcome = validate(source_of(task, {}))
    alpha = outcome.humans.agreement["krippendorff_alpha_ordinal"]
    shown = " ".join(render(outcome).split())
    assert f"krippendorff_alpha_ordinal {alpha.value:.3f} [NA]" in shown


def test_ratings_that_are_not_choices_are_counted(tmp_path):
    """Abstentions and ignored labels are missing from the count of forced choices, so say so."""
    ratings = {"r": {"x": "A", "y": NONE}, "s": {"x": "B", "y": "n/a"}, "t": {"x": "n/a"}}
    write_task(task_of(ratings, ignore_labels=("n/a",)), tmp_path, item_text=True)
    task = load_task(tmp_path)
    sentence = render(validate(source_of(task, {})))
    assert "note: ratings that are CANNOT_ASSESS: 1" in sentence
    assert "ignores: 2 ('n/a' 2)" in sentence.replace("\n", " ")


STEPS = weights("linear", 3).tolist()


def test_weights_of_answers_enter_the_mode_without_abstention():
    """K x K weights: weighted kappa of the pairs that both answered, and alpha of the raters."""
    rng = np.random.default_rng(0)
    human = {f"i{i}": str(rng.choice(list("ABC"))) for i in range(50)}
    judge = {i: str(rng.choice([v, "B"])) for i, v in human.items()} | {"i0": NONE}
    agreement = agreement_of({"r": human, "s": judge}, options="ABC", weights=STEPS)
    modes = section_of({"r": human}, {"z": judge}, options="ABC", weights=STEPS).judges[0].modes
    cells = np.zeros(9)
    for item, label in human.items():
        if judge[item] != NONE:
            cells["ABC".index(label) * 3 + "ABC".index(judge[item])] += 1
    expected = weighted_kappa(cells, weights("linear", 3))
    assert modes.exclude["weighted_kappa"].value == pytest.approx(float(expected))
    assert modes.exclude["krippendorff_alpha_weighted"].value is not None
    assert "weighted_kappa" not in modes.third_class
    assert "krippendorff_alpha_weighted" in agreement


def test_weights_of_classes_enter_the_third_mode():
    """(K + 1) x (K + 1) weights say what an abstention costs against each option."""
    half = [[0, 1, 0.5], [1, 0, 0.5], [0.5, 0.5, 0]]
    modes = of_table(RAO, weights=half).judges[0].modes
    expected = weighted_kappa(np.array(RAO, float).ravel(), np.array(half))
    assert modes.third_class["weighted_kappa"].value == pytest.approx(float(expected))
    assert "weighted_kappa" not in modes.exclude


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([[0, 1]], "found 1 rows of"),
        ([[0, 1, 1], [1, 0, 1]], "found 2 rows of"),
        ([[0, 1], [2, 0]], "not symmetric"),
        ([[1, 1], [1, 0]], "0 on the diagonal"),
        ([[0, -1], [-1, 0]], "negative or not finite"),
        ([[0, float("inf")], [float("inf"), 0]], "negative or not finite"),
        ([[0, 0], [0, 0]], "every cost is 0"),
    ],
)
def test_malformed_weights_are_refused(inputs, message):
    """Square, symmetric, 0 on the diagonal, positive somewhere."""
    with pytest.raises(ValueError, match=message):
        task_of({"r": {"i0": "A"}}, weights=inputs)


def test_weights_for_abstention_need_a_task_that_allows_it():
    """K + 1 rows where nobody can abstain are a mistake."""
    with pytest.raises(ValueError, match="Write 2 x 2"):
        task_of({"r": {"i0": "A"}}, abstain=False, weights=[[0, 1, 1], [1, 0, 1], [1, 1, 0]])


def test_weights_survive_the_task_file(tmp_path):
    """Written into a run folder and read back, a task is the same; a fault is told in one line."""
    task = task_of({"r": {"i0": "A"}}, weights=[[0, 2.5], [2.5, 0]])
    write_task(task, tmp_path / "task", item_text=True)
    read = load_task(tmp_path / "task")
    assert read.weights == ((0.0, 2.5), (2.5, 0.0))
    assert read.content_hash == task.content_hash
    file = tmp_path / "task" / "task.yaml"
    file.write_text(file.read_text().replace("2.5", "-2.5"))
    with pytest.raises(TaskError, match="weights: a cost is negative"):
        load_task(tmp_path / "task")


def test_a_validation_with_all_sections_reads_back():
    """``metrics.json`` holds every section, and nothing in it is lost on the way."""
    ratings = disputed_ratings(12)
    judges = {"z": {f"i{i}": ["A", "B", NONE] for i in range(10)}}
    outcome = validate(source_of(task_of(ratings), judges))
    assert None not in (outcome.certainty, outcome.replacement, outcome.errors)
    text = outcome.to_json()
    assert json.loads(Validation.from_json(text).to_json()) == json.loads(text)


def test_real_data_adds_up(truth, tmp_path):
    """wax: cells sum to the items, selective accuracy is the hit rate, 15 pairs of judges."""
    source = truth_source(truth, "wax", tmp_path)
    p = prepare(source)
    outcome, _ = error_analysis.section(p)
    for judge in outcome.judges:
        assert np.sum(judge.confusion.cells) == pytest.approx(judge.confusion.n_items)
        accuracy = judge.modes.exclude["accuracy"]
        hits = p.evaluation.estimates[judge.judge]["hit_rate(h/h)"]  # on the same resamples
        assert accuracy.value == pytest.approx(hits.value)
        assert accuracy.interval.low == pytest.approx(hits.interval.low)
        assert accuracy.interval.high == pytest.approx(hits.interval.high)
    assert outcome.ensemble.n_pairs == 15
    assert outcome.ensemble.agreement["mean_pairwise_phi"].reason == "no_positive_option"
