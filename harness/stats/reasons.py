"""Reasons why a value, an interval or a section is undefined, or why items are excluded."""

from __future__ import annotations

from typing import Literal, TypeAlias

NAReason: TypeAlias = Literal[
    # nothing to compare
    "no_items",
    "no_overlap",
    "not_shared",
    "empty_stratum",
    "forced_choice_not_asked",
    "response_set_not_asked",
    "no_forced_choices",
    "no_response_sets",
    "no_pairs",
    "no_calls",
    "no_negative_choice",
    "no_judges",
    "all_abstained",
    "nothing_planned",
    "not_compared",
    "not_answered_in_both_orders",
    # too little data
    "too_few_items",
    "too_few_groups",
    "too_few_criteria",
    "too_few_raters",
    "too_few_answered",
    "too_few_choices",
    "too_few_labels",
    "one_rater",
    "single_rating",
    "one_rating_per_item",
    "one_reply_per_item",
    "not_two_raters",
    "unequal_raters",
    "raters_not_crossed",
    "fewer_than_six_differ",
    "fewer_than_two_replies",
    "no_reply_on_either_side",
    "no_shared_errors",
    "too_few_errors",
    "one_baseline_reply",
    "floor_above_items",
    "not_even_all_items",
    # undefined for these values
    "constant",
    "no_variance",
    "constant_labels",
    "single_option",
    "no_positives",
    "no_negatives",
    "no_positive_labels",
    "no_negative_labels",
    "no_positive_verdicts",
    "no_negative_verdicts",
    "empty_sets",
    "infinite",
    "undefined",
    "undefined_in_resamples",
    "not_identified",
    "never_endorsed",
    "option_without_pairs",
    "not_a_probability",
    "no_confidence",
    "no_mean",
    "no_weighted_rank_test",
    "judge_uninformative",
    "one_label",
    "selected_undefined",
    "no_goal",
    "no_metric",
    # undefined for this task
    "no_options",
    "no_positive_option",
    "no_negative_option",
    "several_negative_options",
    "no_sensitivity",
    "fully_specified",
    "sets_overlap",
    "sets_unknown",
    "response_sets_given",
    "only_at_level_micro",
    "positional_raters",
    "no_expert_ratings",
    "no_ratings_of_one_set",
    # not computed
    "not_computed",
    "not_needed",
    "not_tested",
    "no_judge_tested",
    "not_sampled",
    "no_resamples",
    "no_interval",
    "no_range",
]
Reason: TypeAlias = NAReason | Literal[""]  # "" if nothing is undefined

RatingSide: TypeAlias = Literal["human", "judge"]
HumanMissing: TypeAlias = Literal[  # what an item lacks from the raters
    "human_no_ratings",
    "human_no_forced_choices",
    "human_single_rating",
    "human_more_ratings",
    "human_answered",
    "human_abstained",
    "human_refused",
    "human_invalid",
    "human_failed",
    "human_mixed_outcomes",
    "human_not_asked",
]
JudgeMissing: TypeAlias = Literal[  # what an item lacks from the judge
    "judge_no_ratings",
    "judge_no_response_sets",
    "judge_single_rating",
    "judge_unanswered",
    "judge_answered",
    "judge_abstained",
    "judge_refused",
    "judge_invalid",
    "judge_failed",
    "judge_mixed_outcomes",
    "judge_not_asked",
]
ExclusionReason: TypeAlias = (
    HumanMissing
    | JudgeMissing
    | NAReason
    | Literal["no_ratings", "too_few_ratings", "both_abstained"]
)
