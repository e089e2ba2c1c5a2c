"""Our numbers beside those of other libraries, as other_libraries.py stored them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.each_case import for_each

from harness import stats
from harness.stats.alt_test.margin_tests import one_sided_t, signed_rank
from harness.stats.metrics.gwet import ac2_of_raters

STORED = json.loads(Path(__file__).with_name("other_libraries.json").read_text("utf-8"))
DATA = STORED["data"]
LABELS = {name: np.array(DATA[name]) for name in ("HUMAN", "JUDGE", "YES", "SAID_YES")}
RATERS = np.array(DATA["RATERS"])
UNITS = [[np.nan if x is None else x for x in unit] for unit in DATA["UNITS"]]
K = 4
CASES = {
    (library, call): wanted
    for library, about in STORED["libraries"].items()
    for call, wanted in about["values"].items()
}
EXACT = {"irrCAC": 1e-11}  # it prints twelve digits


def cells(human, judge, n_options):
    pairs = LABELS[human] * n_options + LABELS[judge]
    return np.bincount(pairs, minlength=n_options**2).astype(float)


def metric(name):
    rows = (*stats.METRICS, *stats.ORDINAL_METRICS)
    return float(stats.find_metric(name, rows).value(cells("HUMAN", "JUDGE", K)))


def of_binary(name):
    tn, fp, fn, tp = cells("YES", "SAID_YES", 2)
    [measure] = [metric for metric in stats.BINARY if metric.name == name]
    return float(measure.value(np.array([tp, fn, fp, tn])))


def human_row(name):
    [row] = [row for row in stats.HUMAN_AGREEMENT if row.name == name]
    return float(row.value(row.contributions(stats.label_counts(RATERS, K)).sum(axis=0)))


def of_units(name):
    rows = (*stats.HUMAN_AGREEMENT, ac2_of_raters(range(1, 6)))
    row = stats.find_metric(name, rows)
    counts = stats.label_counts(np.array(UNITS) - 1, 5)
    return float(row.value(row.contributions(counts).sum(axis=0)))


def of_sets(name):
    row = stats.find_metric(name, stats.METRICS)
    sets = (np.array(DATA[side], dtype=float) for side in ("HUMAN_SETS", "JUDGE_SETS"))
    return float(row.value(row.contributions(*sets).sum(axis=0)))


def correlation(name):
    return stats.correlations(LABELS["HUMAN"], LABELS["JUDGE"])[name].value


def alpha(level):
    return stats.krippendorff_alpha(UNITS, level).value


def distributional(name):
    row = stats.find_metric(name, stats.METRICS)
    sums = row.contributions(np.array(DATA["P"]), np.array(DATA["Q"])).sum(axis=0)
    return float(row.value(sums))


def adjusted(field):
    return getattr(stats.benjamini_yekutieli(DATA["P_VALUES"]), field).tolist()


def outcome_counts():
    return [DATA["DIFFERENCES"].count(k) for k in (-1, 0, 1)]


OURS = {
    "cohen_kappa_score(HUMAN, JUDGE)": lambda: metric("cohen_kappa(h/h)"),
    "cohen_kappa_score(HUMAN, JUDGE, weights='linear')": lambda: metric(
        "weighted_kappa_linear(h/h)"
    ),
    "cohen_kappa_score(HUMAN, JUDGE, weights='quadratic')": lambda: metric(
        "weighted_kappa_quadratic(h/h)"
    ),
    "accuracy_score(HUMAN, JUDGE)": lambda: metric_of_modes("hit_rate(h/h)"),
    "precision_score(YES, SAID_YES)": lambda: of_binary("precision"),
    "recall_score(YES, SAID_YES)": lambda: of_binary("recall"),
    "f1_score(YES, SAID_YES)": lambda: of_binary("f1"),
    "matthews_corrcoef(YES, SAID_YES)": lambda: of_binary("phi"),
    "matthews_corrcoef(HUMAN, JUDGE)": lambda: metric("gorodkin_r(h/h)"),
    "f1_score(HUMAN, JUDGE, average='macro')": lambda: metric("macro_f1(h/h)"),
    "f1_score(HUMAN, JUDGE, average='micro')": lambda: metric_of_modes("hit_rate(h/h)"),
    "f1_score(HUMAN_SETS, JUDGE_SETS, average='macro')": lambda: of_sets("macro_f1(hrs/hrs)"),
    "f1_score(HUMAN_SETS, JUDGE_SETS, average='micro')": lambda: of_sets("micro_f1(hrs/hrs)"),
    "fleiss_kappa(aggregate_raters(RATERS)[0])": lambda: human_row("fleiss_kappa"),
    "fleiss_kappa(aggregate_raters(RATERS)[0], 'randolph')": lambda: human_row("randolph_kappa"),
    "cohens_kappa(cells).kappa": lambda: metric("cohen_kappa(h/h)"),
    "multipletests(P_VALUES, 0.05, 'fdr_by') rejected": lambda: adjusted("rejected"),
    "multipletests(P_VALUES, 0.05, 'fdr_by') adjusted": lambda: adjusted("adjusted"),
    "alpha(UNITS, nominal)": lambda: alpha("nominal"),
    "alpha(UNITS, ordinal)": lambda: alpha("ordinal"),
    "alpha(UNITS, interval)": lambda: alpha("interval"),
    "alpha(UNITS, ratio)": lambda: alpha("ratio"),
    "pearsonr(HUMAN, JUDGE)": lambda: correlation("pearson"),
    "spearmanr(HUMAN, JUDGE)": lambda: correlation("spearman"),
    "kendalltau(HUMAN, JUDGE)": lambda: correlation("kendall_tau_b"),
    "ttest_1samp(DIFFERENCES, EPS, alternative='less')": lambda: (
        one_sided_t(*outcome_counts(), DATA["EPS"]).p
    ),
    "wilcoxon(DIFFERENCES - EPS, alternative='less', method='asymptotic')": lambda: (
        signed_rank(*outcome_counts(), DATA["EPS"]).p_normal
    ),
    "entropy(P, Q, axis=1).mean()": lambda: distributional("kl(s/s, human->judge)"),
    "jensenshannon(P, Q, axis=1).mean()": lambda: distributional("js_distance(s/s)"),
    "CAC(UNITS, 'identity').krippendorff()": lambda: alpha("nominal"),
    "CAC(UNITS, 'quadratic').krippendorff()": lambda: alpha("interval"),
    "CAC(UNITS, 'ratio').krippendorff()": lambda: alpha("ratio"),
    "CAC(HUMAN, JUDGE).conger()": lambda: metric("cohen_kappa(h/h)"),
    "CAC(HUMAN, JUDGE).fleiss()": lambda: metric("scott_pi(h/h)"),
    "CAC(HUMAN, JUDGE).krippendorff()": lambda: metric("krippendorff_alpha_nominal(h/h)"),
    "CAC(HUMAN, JUDGE).bp()": lambda: metric("randolph_kappa(h/h)"),
    "CAC(HUMAN, JUDGE).gwet()": lambda: metric("gwet_ac1(h/h)"),
    "CAC(HUMAN, JUDGE, 'quadratic').gwet()": lambda: metric("gwet_ac2(h/h)"),
    "CAC(UNITS).gwet()": lambda: of_units("gwet_ac1"),
    "CAC(UNITS, 'quadratic').gwet()": lambda: of_units("gwet_ac2"),
    "CAC(UNITS).fleiss()": lambda: of_units("fleiss_kappa_unequal_raters"),
    "CAC(UNITS).bp()": lambda: of_units("randolph_kappa_unequal_raters"),
}


def metric_of_modes(name):
    row, one_hot = stats.find_metric(name, stats.METRICS), np.eye(K)
    sums = row.contributions(one_hot[LABELS["HUMAN"]], one_hot[LABELS["JUDGE"]]).sum(axis=0)
    return float(row.value(sums))


@for_each(CASES)
def test_against_other_libraries(case):
    """The stored value of each call is ours to rounding."""
    library, call = case
    result = OURS[call]()
    assert result == pytest.approx(CASES[case], abs=EXACT.get(library, 1e-12))


def test_every_comparison_has_a_stored_value():
    """Nothing of ours waits for a value that nobody stored, and five libraries are there."""
    assert {call for _, call in CASES} == OURS.keys()
    assert STORED["libraries"].keys() == {
        *("scikit-learn", "statsmodels", "krippendorff", "scipy", "irrCAC"),
    }
    assert all(about["version"] for about in STORED["libraries"].values())
