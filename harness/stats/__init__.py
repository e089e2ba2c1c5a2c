"""Statistics of judges: pure functions over arrays, needing numpy and scipy alone.

    from harness import stats

    space = stats.OptionSpace.powerset(("toxic", "fine"))
    human = stats.RatingTable.count(space, "human", items, forced_choice=..., response_set=...)
    result = stats.evaluate(human, judges, tau=0.5, positive=("toxic",), rng=rng)
    result.estimates["gpt"]["mse(srs/srs)"]     # value or NA with reason, interval, n
    result.ranking("mse(srs/srs)").best

Names are imported when first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.stats.abstention import (
        AbstentionModes,
        abstention_cells,
        abstention_modes,
        with_abstention,
    )
    from harness.stats.aggregation import Levels, levels, levels_of_judges
    from harness.stats.agreement import METRICS
    from harness.stats.alt_test import annotator_test, annotator_tests
    from harness.stats.alt_test_controls import (
        Controls,
        RandomControl,
        annotator_controls,
        optimal_verdicts,
    )
    from harness.stats.alt_test_design import AltTestDesign
    from harness.stats.alt_test_result import AltTest, RaterRow, Tally
    from harness.stats.alt_test_variants import (
        CombinedTest,
        EpsPoint,
        combine_raters,
        combined_annotator_test,
        eps_sweep,
        smallest_eps,
        together,
    )
    from harness.stats.association import (
        contingency,
        correlation_measures,
        correlations,
        correlations_by_jackknife,
    )
    from harness.stats.binary import (
        BINARY,
        DIAGNOSTICS,
        binary_cells,
        binary_rows,
        n_var_kappa,
        n_var_phi,
    )
    from harness.stats.binned import BinnedDivergence, binned_divergence
    from harness.stats.bounds import (
        Bound,
        Limit,
        common_bounds,
        free_bounds,
        meets_bounds,
        omega_bounds,
    )
    from harness.stats.break_evens import BreakEven, Piece, break_even, winning_regions
    from harness.stats.distributions import (
        ELICITATIONS,
        FORMS,
        OUTCOMES,
        Distributions,
        Form,
        RatingTable,
        aggregate,
        hard,
        multilabel,
        reaches,
    )
    from harness.stats.ensembles import Ensemble, ensemble_agreement
    from harness.stats.evaluation import Evaluation, TableTranslation, evaluate, primary_metric
    from harness.stats.experiments import (
        Cell,
        SelectionRow,
        judge_values,
        run_cell,
        selection_experiment,
        spearman,
        standard_scenarios,
    )
    from harness.stats.facts import DatasetFacts, dataset_facts
    from harness.stats.figures import FIGURES, FigureRow, Size, figure
    from harness.stats.intervals import Estimate, Exclusion, Interval, bootstrap
    from harness.stats.item_translation import F_hat_by_item, F_hat_shrunk, ItemTranslation
    from harness.stats.krippendorff import alpha_measure, coincidences, krippendorff_alpha
    from harness.stats.labels import label_cells, label_counts, means, medians
    from harness.stats.likelihood import (
        CommonF,
        F_and_beta_by_likelihood,
        F_by_likelihood,
        beta_by_likelihood,
    )
    from harness.stats.measures import Batch, Measure, estimate, estimate_batches, read
    from harness.stats.metric_table import metrics_for
    from harness.stats.multiple_testing import FalseDiscoveries, benjamini_yekutieli, holm
    from harness.stats.panel import Panel
    from harness.stats.ranking import Difference, Ranked, Ranking, rank
    from harness.stats.rater_experiments import (
        RaterEffect,
        error_experiment,
        prevalence_experiment,
        sampling_experiment,
    )
    from harness.stats.raters import (
        HUMAN_AGREEMENT,
        HumanRow,
        pearson_by_rater,
        pearson_mean_over_raters,
        pearsons,
    )
    from harness.stats.rating_error import (
        ErrorShift,
        Identifiability,
        error_matrix,
        identifiability,
        mse_without_rater_error,
        rank_under_rater_error,
        selection_effect,
        selection_effects,
        undo_error,
    )
    from harness.stats.reconstruction import Reconstruction, reconstruct
    from harness.stats.regret import Regret, regret_matrix, regret_of
    from harness.stats.resampling import Resamples, Units
    from harness.stats.response_sets import OptionSpace
    from harness.stats.rows import MetricRow, find_metric
    from harness.stats.selection import ConfidenceSet, RankSpread, model_confidence_set, rank_spread
    from harness.stats.selective import AbstentionTest, RiskCoverage, abstention_test, risk_coverage
    from harness.stats.similarity import SimilarityTable
    from harness.stats.simulate import (
        Population,
        Sample,
        Scenario,
        draw_population,
        draw_sample,
        gamma_for,
        project,
        random_space,
        selection_matrix,
    )
    from harness.stats.strata import (
        Stratum,
        StratumResult,
        default_strata,
        stratify,
        stratify_judges,
    )
    from harness.stats.sweep import SweepPoint, beta_sweep, suppose
    from harness.stats.translation import (
        Decomposition,
        F_hat,
        Translation,
        decompose,
        reconstruct_theta,
        sensitivity_family,
    )
    from harness.stats.weighted import ORDINAL_METRICS, ordinal_rows, weighted_kappa_measure
    from harness.stats.win_rates import win_rate_measures, win_sums
    from harness.stats.win_tests import SignedRankTest, StudentTest, one_sided_t, signed_rank

__all__ = [
    "BINARY",
    "DIAGNOSTICS",
    "ELICITATIONS",
    "FIGURES",
    "FORMS",
    "HUMAN_AGREEMENT",
    "METRICS",
    "ORDINAL_METRICS",
    "OUTCOMES",
    "AbstentionModes",
    "AbstentionTest",
    "AltTest",
    "AltTestDesign",
    "Batch",
    "BinnedDivergence",
    "Bound",
    "BreakEven",
    "Cell",
    "CombinedTest",
    "CommonF",
    "ConfidenceSet",
    "Controls",
    "DatasetFacts",
    "Decomposition",
    "Difference",
    "Distributions",
    "Ensemble",
    "EpsPoint",
    "ErrorShift",
    "Estimate",
    "Evaluation",
    "Exclusion",
    "F_and_beta_by_likelihood",
    "F_by_likelihood",
    "F_hat",
    "F_hat_by_item",
    "F_hat_shrunk",
    "FalseDiscoveries",
    "FigureRow",
    "Form",
    "HumanRow",
    "Identifiability",
    "Interval",
    "ItemTranslation",
    "Levels",
    "Limit",
    "Measure",
    "MetricRow",
    "OptionSpace",
    "Panel",
    "Piece",
    "Population",
    "RandomControl",
    "RankSpread",
    "Ranked",
    "Ranking",
    "RaterEffect",
    "RaterRow",
    "RatingTable",
    "Reconstruction",
    "Regret",
    "Resamples",
    "RiskCoverage",
    "Sample",
    "Scenario",
    "SelectionRow",
    "SignedRankTest",
    "SimilarityTable",
    "Size",
    "Stratum",
    "StratumResult",
    "StudentTest",
    "SweepPoint",
    "TableTranslation",
    "Tally",
    "Translation",
    "Units",
    "abstention_cells",
    "abstention_modes",
    "abstention_test",
    "aggregate",
    "alpha_measure",
    "annotator_controls",
    "annotator_test",
    "annotator_tests",
    "benjamini_yekutieli",
    "beta_by_likelihood",
    "beta_sweep",
    "binary_cells",
    "binary_rows",
    "binned_divergence",
    "bootstrap",
    "break_even",
    "coincidences",
    "combine_raters",
    "combined_annotator_test",
    "common_bounds",
    "contingency",
    "correlation_measures",
    "correlations",
    "correlations_by_jackknife",
    "dataset_facts",
    "decompose",
    "default_strata",
    "draw_population",
    "draw_sample",
    "ensemble_agreement",
    "eps_sweep",
    "error_experiment",
    "error_matrix",
    "estimate",
    "estimate_batches",
    "evaluate",
    "figure",
    "find_metric",
    "free_bounds",
    "gamma_for",
    "hard",
    "holm",
    "identifiability",
    "judge_values",
    "krippendorff_alpha",
    "label_cells",
    "label_counts",
    "levels",
    "levels_of_judges",
    "means",
    "medians",
    "meets_bounds",
    "metrics_for",
    "model_confidence_set",
    "mse_without_rater_error",
    "multilabel",
    "n_var_kappa",
    "n_var_phi",
    "omega_bounds",
    "one_sided_t",
    "optimal_verdicts",
    "ordinal_rows",
    "pearson_by_rater",
    "pearson_mean_over_raters",
    "pearsons",
    "prevalence_experiment",
    "primary_metric",
    "project",
    "random_space",
    "rank",
    "rank_spread",
    "rank_under_rater_error",
    "reaches",
    "read",
    "reconstruct",
    "reconstruct_theta",
    "regret_matrix",
    "regret_of",
    "risk_coverage",
    "run_cell",
    "sampling_experiment",
    "selection_effect",
    "selection_effects",
    "selection_experiment",
    "selection_matrix",
    "sensitivity_family",
    "signed_rank",
    "smallest_eps",
    "spearman",
    "standard_scenarios",
    "stratify",
    "stratify_judges",
    "suppose",
    "together",
    "undo_error",
    "weighted_kappa_measure",
    "win_rate_measures",
    "win_sums",
    "winning_regions",
    "with_abstention",
]

_MODULES = {
    "abstention": ("AbstentionModes", "abstention_cells", "abstention_modes", "with_abstention"),
    "aggregation": ("Levels", "levels", "levels_of_judges"),
    "agreement": ("METRICS",),
    "alt_test": ("annotator_test", "annotator_tests"),
    "alt_test_controls": ("Controls", "RandomControl", "annotator_controls", "optimal_verdicts"),
    "alt_test_design": ("AltTestDesign",),
    "alt_test_result": ("AltTest", "RaterRow", "Tally"),
    "alt_test_variants": (
        "CombinedTest",
        "EpsPoint",
        "combine_raters",
        "combined_annotator_test",
        "eps_sweep",
        "smallest_eps",
        "together",
    ),
    "association": (
        "contingency",
        "correlation_measures",
        "correlations",
        "correlations_by_jackknife",
    ),
    "binary": ("BINARY", "DIAGNOSTICS", "binary_cells", "binary_rows", "n_var_kappa", "n_var_phi"),
    "binned": ("BinnedDivergence", "binned_divergence"),
    "bounds": ("Bound", "Limit", "common_bounds", "free_bounds", "meets_bounds", "omega_bounds"),
    "break_evens": ("BreakEven", "Piece", "break_even", "winning_regions"),
    "distributions": (
        "Distributions",
        "ELICITATIONS",
        "FORMS",
        "Form",
        "OUTCOMES",
        "RatingTable",
        "aggregate",
        "hard",
        "multilabel",
        "reaches",
    ),
    "ensembles": ("Ensemble", "ensemble_agreement"),
    "evaluation": ("Evaluation", "TableTranslation", "evaluate", "primary_metric"),
    "experiments": (
        "Cell",
        "SelectionRow",
        "judge_values",
        "run_cell",
        "selection_experiment",
        "spearman",
        "standard_scenarios",
    ),
    "figures": ("FIGURES", "FigureRow", "Size", "figure"),
    "facts": ("DatasetFacts", "dataset_facts"),
    "intervals": ("Estimate", "Exclusion", "Interval", "bootstrap"),
    "item_translation": ("F_hat_by_item", "F_hat_shrunk", "ItemTranslation"),
    "krippendorff": ("alpha_measure", "coincidences", "krippendorff_alpha"),
    "labels": ("label_cells", "label_counts", "means", "medians"),
    "likelihood": (
        "CommonF",
        "F_and_beta_by_likelihood",
        "F_by_likelihood",
        "beta_by_likelihood",
    ),
    "measures": ("Batch", "Measure", "estimate", "estimate_batches", "read"),
    "metric_table": ("metrics_for",),
    "multiple_testing": ("FalseDiscoveries", "benjamini_yekutieli", "holm"),
    "panel": ("Panel",),
    "ranking": ("Difference", "Ranked", "Ranking", "rank"),
    "rater_experiments": (
        "RaterEffect",
        "error_experiment",
        "prevalence_experiment",
        "sampling_experiment",
    ),
    "raters": (
        "HUMAN_AGREEMENT",
        "HumanRow",
        "pearson_by_rater",
        "pearson_mean_over_raters",
        "pearsons",
    ),
    "rating_error": (
        "ErrorShift",
        "Identifiability",
        "error_matrix",
        "identifiability",
        "mse_without_rater_error",
        "rank_under_rater_error",
        "selection_effect",
        "selection_effects",
        "undo_error",
    ),
    "reconstruction": ("Reconstruction", "reconstruct"),
    "regret": ("Regret", "regret_matrix", "regret_of"),
    "resampling": ("Resamples", "Units"),
    "response_sets": ("OptionSpace",),
    "rows": ("MetricRow", "find_metric"),
    "selection": ("ConfidenceSet", "RankSpread", "model_confidence_set", "rank_spread"),
    "selective": ("AbstentionTest", "RiskCoverage", "abstention_test", "risk_coverage"),
    "similarity": ("SimilarityTable",),
    "simulate": (
        "Population",
        "Sample",
        "Scenario",
        "draw_population",
        "draw_sample",
        "gamma_for",
        "project",
        "random_space",
        "selection_matrix",
    ),
    "strata": ("Stratum", "StratumResult", "default_strata", "stratify", "stratify_judges"),
    "sweep": ("SweepPoint", "beta_sweep", "suppose"),
    "translation": (
        "Decomposition",
        "F_hat",
        "Translation",
        "decompose",
        "reconstruct_theta",
        "sensitivity_family",
    ),
    "weighted": ("ORDINAL_METRICS", "ordinal_rows", "weighted_kappa_measure"),
    "win_rates": ("win_rate_measures", "win_sums"),
    "win_tests": ("SignedRankTest", "StudentTest", "one_sided_t", "signed_rank"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
