"""Words for the names that results use: reasons of NA, checks, baselines, metrics, settings."""

from __future__ import annotations

READING = {"higher": "higher is better", "lower": "lower is better", "zero": "0 is best"}
GOAL_WORDS = {"decision_consistency": "decision consistency", "prevalence_bias": "prevalence bias"}
METRIC_WORDS = {"hit_rate(h/h)": "hit rate", "cohen_kappa(h/h)": "kappa"}
RATINGS = {"forced_choice": "forced choices", "response_set": "response sets"}
ONE_RATING = {"forced_choice": "a forced choice", "response_set": "a response set"}
UNITS = {"item": "items", "group": "groups", "criterion": "criteria"}
MODES = {
    "exclude": "left out of the metrics (exclude)",
    "recode": "taken for the opposite of the positive options (recode)",
    "third_class": "an option of its own (third class)",
}
LEVELS = {
    "micro": "all decisions pooled (micro)",
    "macro": "mean over criteria (macro)",
    "item": "one verdict per item",
}
BASELINE_NAMES = {
    "uniform": "guessing",
    "prior": "marginal",
    "most_frequent": "most frequent",
    "best_constant": "best constant",
    "mean": "mean rating",
    "median": "median rating",
}
BASELINE_WORDS = {
    "uniform": "guessing",
    "prior": "answering at random in the raters' proportions",
    "most_frequent": "always giving the most common answer",
    "best_constant": "always giving the same answer",
    "mean": "always giving the mean of all ratings",
    "median": "always giving the median of all ratings",
}
REASONS = {  # of a value or an interval that is NA
    "no_items": "no item has both sides",
    "no_overlap": "no item has ratings to compare",
    "constant_labels": "all labels are the same",
    "constant": "it is the same in every resample",
    "infinite": "infinite: an option was never chosen by one side",
    "unequal_raters": "items have unequal numbers of raters",
    "not_two_raters": "no item has just two ratings",
    "too_few_raters": "too few raters per item",
    "single_rating": "one rating shows no noise",
    "positional_raters": "the ratings do not name their raters",
    "forced_choice_not_asked": "not asked for forced choices; "
    "--elicitation forced_choice,response_set asks for both",
    "response_set_not_asked": "not asked for response sets; "
    "--elicitation forced_choice,response_set asks for both",
}
FIXED_RATERS = {
    "positional_raters": "the ratings do not name them",
    "fewer_than_five_raters": "there are fewer than five",
    "raters_not_crossed": "not all of them rated most items",
    "not_computed": "other raters are not allowed for with these settings",
}
NO_TEST = {  # where the annotator test does not apply
    "positional_raters": "the ratings do not name their raters",
    "too_few_raters": "it needs at least three raters",
    "too_few_choices": "it needs single choices by at least three raters",
    "no_forced_choices": "the judge was not asked for single choices (--elicitation "
    "forced_choice,response_set asks for both)",
}
NOT_LEFT_OUT = {
    "positional_raters": NO_TEST["positional_raters"],
    "too_few_raters": "that takes at least three raters",
    "not_computed": "there are too many ratings, or too few without any one rater",
}
NOT_PASSED = {
    "annotator_test": "it does not pass the alternative annotator test",
    "one_human": "it is not shown to be as good as another rater",
    "answered": "it answered too few items",
    "usable_replies": "only {} of its {} planned replies are usable",
}
UNDECIDED = {
    "annotator_test": "the alternative annotator test is undefined",
    "one_human": "it cannot be compared with another rater",
    "answered": "no item could be answered",
    "usable_replies": "no reply was planned",
    "with_losses": "unanswered items cannot be counted as losses",
}
CHECK_REASONS = {  # of a check that cannot be decided
    "too_few_groups": "judge and rater differ in too few groups: 10 are needed, and half of all "
    "groups or 20 of them",
    "too_few_items": "fewer than 10 items of each rater",
    "single_rating": "a single rating per item",
    "no_mean": "the metric is not a mean over items",
    "no_judges": "no verdicts were given",
    **NO_TEST,
}
STEP_FOR = {
    "without_each_rater": "Look at that rater's ratings, and have items rated by others.",
    "one_human": "Have more items rated, by at least two raters each.",
    "answered": "Find out why so many replies could not be used.",
    "usable_replies": "Find out why so many replies could not be used.",
    "with_losses": "Find out why items were not answered, or ask again for them.",
}
OTHER_RATINGS = {
    "forced_choice_not_asked": "; --ranks-by response_set ranks by response sets",
    "response_set_not_asked": "; --ranks-by forced_choice ranks by forced choices",
}
