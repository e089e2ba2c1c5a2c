"""Words for names in results, such as reasons for NA, checks, baselines, metrics and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.analysis.judge_result import FixedRatersReason
    from harness.options.concerns import AggregationLevel, Elicitation
    from harness.stats.indeterminacy.bounds import BoundsKind
    from harness.stats.indeterminacy.pair_bounds import Settled
    from harness.stats.inference.bootstrap import ResampledUnit
    from harness.stats.inference.metric import Better
    from harness.stats.modes import AbstentionMode, AnswerKind
    from harness.stats.reasons import Reason

READING: dict[Better, str] = {
    "higher": "higher is better",
    "lower": "lower is better",
    "zero": "0 is best",
}
GOAL_WORDS = {"decision_consistency": "decision consistency", "prevalence_bias": "prevalence bias"}
BOUND_WORDS: dict[BoundsKind, str] = {
    "free_per_item": "free per item",
    "common": "one beta",
    "pairs": "all values that fit the choices and pairs",
}
SETTLED_WORDS: dict[Settled, str] = {
    "first": "decision consistency, higher",
    "second": "decision consistency, lower",
    "not_identified": "decision consistency, not identified",
}
METRIC_WORDS = {"hit_rate(h/h)": "hit rate", "cohen_kappa(h/h)": "kappa"}
RATINGS: dict[Elicitation, str] = {
    "forced_choice": "forced choices",
    "response_set": "response sets",
    "paired": "pairs",
}
ONE_RATING: dict[AnswerKind, str] = {
    "forced_choice": "a forced choice",
    "response_set": "a response set",
}
UNITS: dict[ResampledUnit, str] = {"item": "items", "group": "groups", "criterion": "criteria"}
MODES: dict[AbstentionMode, str] = {
    "exclude": "left out of the metrics (exclude)",
    "recode": "counted as the opposite of the positive options (recode)",
    "third_class": "a separate option (third class)",
}
LEVELS: dict[AggregationLevel, str] = {
    "micro": "all decisions pooled (micro)",
    "macro": "mean over criteria (macro)",
    "item": "one verdict per item",
}
RUBRIC_LEVELS = {str(level): text for level, text in LEVELS.items()}
RUBRIC_LEVELS["two_stage"] = "pooled, also for other criteria"
BASELINE_NAMES = {
    "uniform": "random guess",
    "prior": "proportional guess",
    "most_frequent": "most common answer",
    "best_constant": "best fixed answer",
    "mean": "mean rating",
    "median": "median rating",
}
BASELINE_WORDS = {
    "uniform": "guessing at random",
    "prior": "answering at random, in the same proportions as the raters",
    "most_frequent": "always giving the most common answer",
    "best_constant": "always giving the same answer",
    "mean": "always giving the mean of all ratings",
    "median": "always giving the median of all ratings",
}
REASONS: dict[Reason, str] = {  # reasons why a value, an interval or a section is NA
    "no_items": "no item has answers from both sides",
    "no_overlap": "no item has ratings to compare",
    "not_shared": "not all judges answered the item",
    "empty_stratum": "no item in this stratum",
    "forced_choice_not_asked": "not asked for forced choices",
    "response_set_not_asked": "not asked for response sets",
    "no_forced_choices": "no forced choices",
    "no_response_sets": "no response sets",
    "no_pairs": "no pairs",
    "no_calls": "no item has forced choices and response sets",
    "no_negative_choice": "no negative option was chosen",
    "no_judges": "no verdicts were given",
    "all_abstained": "all abstained",
    "nothing_planned": "no reply was planned",
    "not_compared": "it wasn't compared with others",
    "not_answered_in_both_orders": "no item was answered in both orders",
    "too_few_items": "too few items",
    "too_few_groups": "too few groups",
    "too_few_criteria": "too few criteria",
    "too_few_raters": "too few raters per item",
    "too_few_answered": "too few answers",
    "too_few_choices": "too few raters gave single choices",
    "too_few_labels": "too few labels of either kind",
    "no_shared_errors": "too few errors to tell a copy from a good judge",
    "too_few_errors": "a judge made fewer than ten errors",
    "one_rater": "there is one rater",
    "single_rating": "a single rating can't show noise",
    "one_rating_per_item": "one rating per item",
    "one_reply_per_item": "one reply per item",
    "not_two_raters": "no item has just two ratings",
    "unequal_raters": "items have unequal numbers of raters",
    "raters_not_crossed": "fewer than two raters rated every item",
    "fewer_than_six_differ": "fewer than six items differ",
    "fewer_than_two_replies": "no item has two replies",
    "no_reply_on_either_side": "no item has replies on both sides",
    "one_baseline_reply": "the baseline has one reply per item",
    "floor_above_items": "there are too few items for this number of rounds",
    "not_even_all_items": "even a change in all items would go undetected",
    "constant": "it is the same in every resample",
    "no_variance": "no variance",
    "constant_labels": "all labels are the same",
    "single_option": "there is a single option",
    "no_positives": "neither side has a positive label",
    "no_negatives": "neither side has a negative label",
    "no_positive_labels": "the raters gave no positive label",
    "no_negative_labels": "the raters gave no negative label",
    "no_positive_verdicts": "the judge gave no positive verdict",
    "no_negative_verdicts": "the judge gave no negative verdict",
    "empty_sets": "all response sets are empty",
    "infinite": "infinite, because one side never chose one of the options",
    "undefined": "it has no value on these items",
    "undefined_in_resamples": "a different judge has no value in some resamples",
    "not_identified": "not identified",
    "never_endorsed": "never accepted",
    "option_without_pairs": "an option that was chosen has no paired ratings",
    "not_a_probability": "a confidence is outside 0 to 1",
    "no_confidence": "no confidence to order the answers by (a stated one, a logprob, or the "
    "agreement of several samples)",
    "no_mean": "the metric isn't a mean over items",
    "no_weighted_rank_test": "the rank test doesn't support weights",
    "judge_uninformative": "the judge says yes equally often on both kinds of items",
    "one_label": "all labels are the same",
    "selected_undefined": "the judge that the metric selects has no value",
    "no_goal": "no judge has a value for the goal",
    "no_metric": "no judge has a value for the metric",
    "no_options": "the task has no options",
    "no_positive_option": "the task has no positive option: list them under `positive` in "
    "task.yaml",
    "no_negative_option": "all options are positive",
    "several_negative_options": "there are several negative options",
    "no_sensitivity": "the task doesn't say which options raters can accept along with a "
    "negative one (`sensitivity` in task.yaml)",
    "fully_specified": "each answer is possible with only one response set",
    "sets_overlap": "an option is in several response sets",
    "sets_unknown": "the response sets are unknown",
    "response_sets_given": "the raters gave response sets",
    "only_at_level_micro": "it is only computed with --level micro",
    "positional_raters": "the ratings don't name their raters",
    "no_expert_ratings": "the expert rated none of these items",
    "no_ratings_of_one_set": "one of the two sets of raters rated none of these items",
    "not_computed": "not computed",
    "not_needed": "not needed",
    "not_tested": "not tested",
    "no_judge_tested": "no judge could be tested",
    "not_sampled": "it's a count, not a sample",
    "no_resamples": "no intervals were requested",
    "no_interval": "it has no interval",
    "no_range": "the metric has no upper bound, so the margin can't be a share of its range",
}
FIXED_RATERS: dict[FixedRatersReason, str] = {
    "positional_raters": "the ratings don't name them",
    "fewer_than_five_raters": "there are fewer than five",
    "raters_not_crossed": "not all of them rated most items",
    "not_computed": "these settings don't account for other raters",
}
