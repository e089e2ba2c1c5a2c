"""Values of other libraries on small data sets, which `test_other_libraries.py` compares with ours.

    python tests/stats/metrics/other_libraries.py [library ...]

Writes ``other_libraries.json`` beside it; libraries that are not named keep their stored values.
Each key of a library's values is the call that gave it. The dependency group ``benchmarks`` has all
libraries but irrCAC, which wants numpy below 2 and so an environment of its own.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np

STORED = Path(__file__).with_name("other_libraries.json")
# Krippendorff 2011: 12 units, 4 raters, None where missing.
UNITS = [
    [1, 1, None, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [None, 5, 5, 5],
    [None, None, 1, 1],
    [None, None, 3, None],
]
rng = np.random.default_rng(20250101)
HUMAN = rng.integers(0, 4, 60)
JUDGE = np.clip(HUMAN + rng.choice([-1, 0, 0, 1], 60), 0, 3)
YES = (HUMAN > 1).astype(int)
SAID_YES = (JUDGE > 1).astype(int)
RATERS = np.where(
    rng.random((40, 5)) < 0.6, rng.integers(0, 4, (40, 1)), rng.integers(0, 4, (40, 5))
)
P = rng.dirichlet(np.ones(4), 6)
Q = rng.dirichlet(np.ones(4), 6)
DIFFERENCES = rng.choice([-1, 0, 1], 45, p=[0.3, 0.5, 0.2])
EPS = 0.15
HUMAN_SETS = (rng.random((30, 4)) < 0.5).astype(int)  # 1: the option is in the set
JUDGE_SETS = np.where(rng.random((30, 4)) < 0.7, HUMAN_SETS, 1 - HUMAN_SETS)
P_VALUES = np.array([0.001, 0.012, 0.03, 0.0005, 0.2])


def sklearn_values() -> dict[str, float]:
    """Two vectors of labels."""
    from sklearn import metrics

    sets = HUMAN_SETS, JUDGE_SETS
    return {
        "cohen_kappa_score(HUMAN, JUDGE)": metrics.cohen_kappa_score(HUMAN, JUDGE),
        "cohen_kappa_score(HUMAN, JUDGE, weights='linear')": metrics.cohen_kappa_score(
            HUMAN, JUDGE, weights="linear"
        ),
        "cohen_kappa_score(HUMAN, JUDGE, weights='quadratic')": metrics.cohen_kappa_score(
            HUMAN, JUDGE, weights="quadratic"
        ),
        "accuracy_score(HUMAN, JUDGE)": metrics.accuracy_score(HUMAN, JUDGE),
        "precision_score(YES, SAID_YES)": metrics.precision_score(YES, SAID_YES),
        "recall_score(YES, SAID_YES)": metrics.recall_score(YES, SAID_YES),
        "f1_score(YES, SAID_YES)": metrics.f1_score(YES, SAID_YES),
        "matthews_corrcoef(YES, SAID_YES)": metrics.matthews_corrcoef(YES, SAID_YES),
        "matthews_corrcoef(HUMAN, JUDGE)": metrics.matthews_corrcoef(HUMAN, JUDGE),
        "f1_score(HUMAN, JUDGE, average='macro')": metrics.f1_score(HUMAN, JUDGE, average="macro"),
        "f1_score(HUMAN, JUDGE, average='micro')": metrics.f1_score(HUMAN, JUDGE, average="micro"),
        "f1_score(HUMAN_SETS, JUDGE_SETS, average='macro')": metrics.f1_score(
            *sets, average="macro"
        ),
        "f1_score(HUMAN_SETS, JUDGE_SETS, average='micro')": metrics.f1_score(
            *sets, average="micro"
        ),
    }


def statsmodels_values() -> dict[str, float | list]:
    """Raw labels of five raters, variance of kappa, adjusted p-values."""
    from statsmodels.stats import inter_rater
    from statsmodels.stats.multitest import multipletests

    table, _ = inter_rater.aggregate_raters(RATERS)
    cells = np.zeros((4, 4))
    np.add.at(cells, (HUMAN, JUDGE), 1)
    rejected, adjusted, *_ = multipletests(P_VALUES, 0.05, method="fdr_by")
    return {
        "fleiss_kappa(aggregate_raters(RATERS)[0])": inter_rater.fleiss_kappa(table),
        "fleiss_kappa(aggregate_raters(RATERS)[0], 'randolph')": inter_rater.fleiss_kappa(
            table, "randolph"
        ),
        "cohens_kappa(cells).kappa": inter_rater.cohens_kappa(cells).kappa,
        "multipletests(P_VALUES, 0.05, 'fdr_by') rejected": rejected.tolist(),
        "multipletests(P_VALUES, 0.05, 'fdr_by') adjusted": adjusted.tolist(),
    }


def krippendorff_values() -> dict[str, float]:
    """Every level of measurement."""
    import krippendorff

    data = np.array(UNITS, dtype=float).T
    return {
        f"alpha(UNITS, {level})": krippendorff.alpha(
            reliability_data=data, level_of_measurement=level
        )
        for level in ("nominal", "ordinal", "interval", "ratio")
    }


def scipy_values() -> dict[str, float | list]:
    """Correlations, tests and the Jensen-Shannon distance."""
    from scipy import stats as scipy_stats
    from scipy.spatial.distance import jensenshannon

    shifted = DIFFERENCES - EPS
    return {
        "pearsonr(HUMAN, JUDGE)": scipy_stats.pearsonr(HUMAN, JUDGE).statistic,
        "spearmanr(HUMAN, JUDGE)": scipy_stats.spearmanr(HUMAN, JUDGE).statistic,
        "kendalltau(HUMAN, JUDGE)": scipy_stats.kendalltau(HUMAN, JUDGE).statistic,
        "ttest_1samp(DIFFERENCES, EPS, alternative='less')": scipy_stats.ttest_1samp(
            DIFFERENCES, EPS, alternative="less"
        ).pvalue,
        "wilcoxon(DIFFERENCES - EPS, alternative='less', method='asymptotic')": float(
            scipy_stats.wilcoxon(shifted, alternative="less", method="asymptotic").pvalue
        ),
        "entropy(P, Q, axis=1).mean()": scipy_stats.entropy(P, Q, axis=1).mean(),
        "jensenshannon(P, Q, axis=1).mean()": float(jensenshannon(P, Q, axis=1).mean()),
    }


def irrcac_values() -> dict[str, float]:
    """Alpha under the weights that are its levels; AC1, AC2, Fleiss and Brennan-Prediger."""
    import pandas as pd
    from irrCAC.raw import CAC

    frame = pd.DataFrame(UNITS, dtype=float)
    two = pd.DataFrame({"human": HUMAN, "judge": JUDGE})
    both, several = CAC(two, digits=12), CAC(frame, digits=12)
    in_part = CAC(frame, weights="quadratic", digits=12)
    two_in_part = CAC(two, weights="quadratic", digits=12)
    alphas = {
        f"CAC(UNITS, '{weights}').krippendorff()": CAC(
            frame, weights=weights, digits=12
        ).krippendorff()["est"]["coefficient_value"]
        for weights in ("identity", "quadratic", "ratio")  # its ordinal weights are Gwet's own
    }
    return alphas | {
        "CAC(HUMAN, JUDGE).conger()": both.conger()["est"]["coefficient_value"],
        "CAC(HUMAN, JUDGE).fleiss()": both.fleiss()["est"]["coefficient_value"],
        "CAC(HUMAN, JUDGE).krippendorff()": both.krippendorff()["est"]["coefficient_value"],
        "CAC(HUMAN, JUDGE).bp()": both.bp()["est"]["coefficient_value"],
        "CAC(HUMAN, JUDGE).gwet()": both.gwet()["est"]["coefficient_value"],
        "CAC(HUMAN, JUDGE, 'quadratic').gwet()": two_in_part.gwet()["est"]["coefficient_value"],
        "CAC(UNITS).gwet()": several.gwet()["est"]["coefficient_value"],
        "CAC(UNITS, 'quadratic').gwet()": in_part.gwet()["est"]["coefficient_value"],
        "CAC(UNITS).fleiss()": several.fleiss()["est"]["coefficient_value"],
        "CAC(UNITS).bp()": several.bp()["est"]["coefficient_value"],
    }


def main() -> None:
    """Store data and values."""
    warnings.simplefilter("ignore")
    data = {
        name: np.asarray(globals()[name]).tolist()
        for name in (
            "HUMAN",
            "JUDGE",
            "YES",
            "SAID_YES",
            "RATERS",
            "P",
            "Q",
            "DIFFERENCES",
            "HUMAN_SETS",
            "JUDGE_SETS",
        )
    }
    libraries = {
        "scikit-learn": sklearn_values,
        "statsmodels": statsmodels_values,
        "krippendorff": krippendorff_values,
        "scipy": scipy_values,
        "irrCAC": irrcac_values,
    }
    stored = json.loads(STORED.read_text("utf-8"))["libraries"] if STORED.exists() else {}
    for name in sys.argv[1:] or libraries:
        stored[name] = {"version": version(name), "values": libraries[name]()}
    data |= {"UNITS": UNITS, "EPS": EPS, "P_VALUES": P_VALUES.tolist()}
    text = json.dumps({"data": data, "libraries": dict(sorted(stored.items()))}, indent=1)
    STORED.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
