"""Statistics of judges: pure functions over arrays, needing numpy and scipy alone.

    from harness import stats

    space = stats.OptionSpace.powerset(("toxic", "fine"))
    human = stats.RatingTable.count(space, "human", items, forced_choice=..., response_set=...)
    resampling = stats.Resampling(rng=np.random.default_rng(0))
    result = stats.evaluate(human, judges, tau=0.5, positive=("toxic",), resampling=resampling)
    result.estimates["gpt"]["mse(srs/srs)"]     # value or NA with reason, interval, n
    result.ranking("mse(srs/srs)").best

Names are imported when first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.stats.alt_test.controls import (
        Controls,
        RandomControl,
        annotator_controls,
        optimal_verdicts,
    )
    from harness.stats.alt_test.margin_tests import (
        SignedRankTest,
        StudentTest,
        one_sided_t,
        signed_rank,
    )
    from harness.stats.alt_test.outcome import AltTest, RaterRow, RaterSums
    from harness.stats.alt_test.panel import Panel
    from harness.stats.alt_test.procedure import AltTestDesign, annotator_test, annotator_tests
    from harness.stats.alt_test.scoring import SimilarityTable
    from harness.stats.alt_test.variants import (
        CombinedTest,
        EpsPoint,
        adjust_jointly,
        combine_raters,
        combined_annotator_test,
        eps_sweep,
        smallest_eps,
    )
    from harness.stats.data.aggregation import Levels, levels, levels_of_judges
    from harness.stats.data.dataset_facts import DatasetFacts, dataset_facts
    from harness.stats.data.labels import label_cells, label_counts, means, medians
    from harness.stats.data.option_space import OptionSpace
    from harness.stats.data.rating_table import (
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
    from harness.stats.indeterminacy.bounds import (
        Bound,
        Limit,
        common_bounds,
        free_bounds,
        meets_bounds,
        omega_bounds,
    )
    from harness.stats.indeterminacy.likelihood import (
        CommonF,
        F_and_beta_by_likelihood,
        F_by_likelihood,
    )
    from harness.stats.indeterminacy.rater_error import (
        ErrorShift,
        Identifiability,
        error_matrix,
        identifiability,
        mse_without_rater_error,
        rank_under_rater_error,
        selection_effect,
        selection_effects,
    )
    from harness.stats.indeterminacy.reconstruction import Reconstruction, reconstruct
    from harness.stats.indeterminacy.sensitivity import (
        BreakEven,
        Piece,
        SweepPoint,
        beta_sweep,
        break_even,
        distributions_at_beta,
        winning_regions,
    )
    from harness.stats.indeterminacy.translation import (
        Decomposition,
        F_hat,
        F_hat_by_item,
        F_hat_shrunk,
        ItemTranslation,
        Translation,
        decompose,
        reconstruct_theta,
        sensitivity_family,
    )
    from harness.stats.inference.bootstrap import Resamples, Resampling, Units
    from harness.stats.inference.estimate import (
        Estimate,
        Exclusion,
        Interval,
        ItemSums,
        bootstrap,
        estimate_sums,
        point_estimates,
    )
    from harness.stats.inference.metric import Metric, find_metric
    from harness.stats.inference.multiple_testing import FalseDiscoveries, benjamini_yekutieli, holm
    from harness.stats.metrics.alpha import alpha_metric, coincidences, krippendorff_alpha
    from harness.stats.metrics.association import (
        contingency,
        correlation_metrics,
        correlations,
        correlations_by_jackknife,
    )
    from harness.stats.metrics.binned_divergence import BinnedDivergence, binned_divergence
    from harness.stats.metrics.confusion import (
        BINARY,
        DIAGNOSTICS,
        binary_cells,
        binary_metrics,
        n_var_kappa,
        n_var_phi,
    )
    from harness.stats.metrics.downstream import win_rate_metrics, win_sums
    from harness.stats.metrics.human_agreement import (
        HUMAN_AGREEMENT,
        pearson_by_rater,
        pearson_mean_over_raters,
        pearsons,
    )
    from harness.stats.metrics.judge_agreement import Ensemble, ensemble_agreement
    from harness.stats.metrics.ordinal import (
        ORDINAL_METRICS,
        ordinal_metrics,
        weighted_kappa_metric,
    )
    from harness.stats.metrics.registry import METRICS, metrics_for
    from harness.stats.selection.confidence_set import (
        ConfidenceSet,
        RankSpread,
        model_confidence_set,
        rank_spread,
    )
    from harness.stats.selection.evaluation import (
        Evaluation,
        TableTranslation,
        evaluate,
        primary_metric,
    )
    from harness.stats.selection.ranking import Difference, Ranked, Ranking, rank
    from harness.stats.selection.regret import Regret, regret_matrix, regret_of
    from harness.stats.subsets.abstention import (
        with_abstention,
    )
    from harness.stats.subsets.selective_prediction import (
        AbstentionTest,
        RiskCoverage,
        abstention_test,
        risk_coverage,
    )
    from harness.stats.subsets.strata import (
        Stratum,
        StratumResult,
        default_strata,
        stratify,
    )

__all__ = [
    "BINARY",
    "DIAGNOSTICS",
    "ELICITATIONS",
    "FORMS",
    "HUMAN_AGREEMENT",
    "METRICS",
    "ORDINAL_METRICS",
    "OUTCOMES",
    "AbstentionTest",
    "AltTest",
    "AltTestDesign",
    "BinnedDivergence",
    "Bound",
    "BreakEven",
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
    "Form",
    "Identifiability",
    "Interval",
    "ItemSums",
    "ItemTranslation",
    "Levels",
    "Limit",
    "Metric",
    "OptionSpace",
    "Panel",
    "Piece",
    "RandomControl",
    "RankSpread",
    "Ranked",
    "Ranking",
    "RaterRow",
    "RaterSums",
    "RatingTable",
    "Reconstruction",
    "Regret",
    "Resamples",
    "Resampling",
    "RiskCoverage",
    "SignedRankTest",
    "SimilarityTable",
    "Stratum",
    "StratumResult",
    "StudentTest",
    "SweepPoint",
    "TableTranslation",
    "Translation",
    "Units",
    "abstention_test",
    "adjust_jointly",
    "aggregate",
    "alpha_metric",
    "annotator_controls",
    "annotator_test",
    "annotator_tests",
    "benjamini_yekutieli",
    "beta_sweep",
    "binary_cells",
    "binary_metrics",
    "binned_divergence",
    "bootstrap",
    "break_even",
    "coincidences",
    "combine_raters",
    "combined_annotator_test",
    "common_bounds",
    "contingency",
    "correlation_metrics",
    "correlations",
    "correlations_by_jackknife",
    "dataset_facts",
    "decompose",
    "default_strata",
    "distributions_at_beta",
    "ensemble_agreement",
    "eps_sweep",
    "error_matrix",
    "estimate_sums",
    "evaluate",
    "find_metric",
    "free_bounds",
    "hard",
    "holm",
    "identifiability",
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
    "ordinal_metrics",
    "pearson_by_rater",
    "pearson_mean_over_raters",
    "pearsons",
    "point_estimates",
    "primary_metric",
    "rank",
    "rank_spread",
    "rank_under_rater_error",
    "reaches",
    "reconstruct",
    "reconstruct_theta",
    "regret_matrix",
    "regret_of",
    "risk_coverage",
    "selection_effect",
    "selection_effects",
    "sensitivity_family",
    "signed_rank",
    "smallest_eps",
    "stratify",
    "weighted_kappa_metric",
    "win_rate_metrics",
    "win_sums",
    "winning_regions",
    "with_abstention",
]

_MODULES = {
    "subsets.abstention": ("with_abstention",),
    "data.aggregation": ("Levels", "levels", "levels_of_judges"),
    "metrics.registry": ("METRICS", "metrics_for"),
    "alt_test.controls": ("Controls", "RandomControl", "annotator_controls", "optimal_verdicts"),
    "alt_test.procedure": ("AltTestDesign", "annotator_test", "annotator_tests"),
    "alt_test.outcome": ("AltTest", "RaterRow", "RaterSums"),
    "alt_test.variants": (
        "CombinedTest",
        "EpsPoint",
        "combine_raters",
        "combined_annotator_test",
        "eps_sweep",
        "smallest_eps",
        "adjust_jointly",
    ),
    "metrics.association": (
        "contingency",
        "correlation_metrics",
        "correlations",
        "correlations_by_jackknife",
    ),
    "metrics.confusion": (
        "BINARY",
        "DIAGNOSTICS",
        "binary_cells",
        "binary_metrics",
        "n_var_kappa",
        "n_var_phi",
    ),
    "metrics.binned_divergence": ("BinnedDivergence", "binned_divergence"),
    "indeterminacy.bounds": (
        "Bound",
        "Limit",
        "common_bounds",
        "free_bounds",
        "meets_bounds",
        "omega_bounds",
    ),
    "indeterminacy.sensitivity": (
        "BreakEven",
        "Piece",
        "SweepPoint",
        "beta_sweep",
        "break_even",
        "distributions_at_beta",
        "winning_regions",
    ),
    "data.rating_table": (
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
    "metrics.judge_agreement": ("Ensemble", "ensemble_agreement"),
    "selection.evaluation": ("Evaluation", "TableTranslation", "evaluate", "primary_metric"),
    "data.dataset_facts": ("DatasetFacts", "dataset_facts"),
    "inference.estimate": (
        "Estimate",
        "Exclusion",
        "Interval",
        "ItemSums",
        "bootstrap",
        "estimate_sums",
        "point_estimates",
    ),
    "indeterminacy.translation": (
        "Decomposition",
        "F_hat",
        "F_hat_by_item",
        "F_hat_shrunk",
        "ItemTranslation",
        "Translation",
        "decompose",
        "reconstruct_theta",
        "sensitivity_family",
    ),
    "metrics.alpha": ("alpha_metric", "coincidences", "krippendorff_alpha"),
    "data.labels": ("label_cells", "label_counts", "means", "medians"),
    "indeterminacy.likelihood": (
        "CommonF",
        "F_and_beta_by_likelihood",
        "F_by_likelihood",
    ),
    "inference.multiple_testing": ("FalseDiscoveries", "benjamini_yekutieli", "holm"),
    "alt_test.panel": ("Panel",),
    "selection.ranking": ("Difference", "Ranked", "Ranking", "rank"),
    "metrics.human_agreement": (
        "HUMAN_AGREEMENT",
        "pearson_by_rater",
        "pearson_mean_over_raters",
        "pearsons",
    ),
    "indeterminacy.rater_error": (
        "ErrorShift",
        "Identifiability",
        "error_matrix",
        "identifiability",
        "mse_without_rater_error",
        "rank_under_rater_error",
        "selection_effect",
        "selection_effects",
    ),
    "indeterminacy.reconstruction": ("Reconstruction", "reconstruct"),
    "selection.regret": ("Regret", "regret_matrix", "regret_of"),
    "inference.bootstrap": ("Resamples", "Resampling", "Units"),
    "data.option_space": ("OptionSpace",),
    "inference.metric": ("Metric", "find_metric"),
    "selection.confidence_set": (
        "ConfidenceSet",
        "RankSpread",
        "model_confidence_set",
        "rank_spread",
    ),
    "subsets.selective_prediction": (
        "AbstentionTest",
        "RiskCoverage",
        "abstention_test",
        "risk_coverage",
    ),
    "alt_test.scoring": ("SimilarityTable",),
    "subsets.strata": ("Stratum", "StratumResult", "default_strata", "stratify"),
    "metrics.ordinal": ("ORDINAL_METRICS", "ordinal_metrics", "weighted_kappa_metric"),
    "metrics.downstream": ("win_rate_metrics", "win_sums"),
    "alt_test.margin_tests": ("SignedRankTest", "StudentTest", "one_sided_t", "signed_rank"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
