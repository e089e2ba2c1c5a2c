"""Suggest next steps after a recommendation, in one sentence each."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from harness.analysis.decision import RECOMMENDING
from harness.analysis.recommendation_checks import (
    BEATS_BASELINES,
    INDEPENDENT,
    ONE_HUMAN,
    TRY_OTHERS,
)
from harness.files.plain_text import counted
from harness.judging.judge_spec import LOCAL_KINDS
from harness.report.formatting import listed, number
from harness.report.race_text import next_step
from harness.report.unreadable_text import first_step
from harness.report.verdict_words import has_single_ratings, step_words
from harness.stats import primary_metric
from harness.stats.inference.metric import losses_of

if TYPE_CHECKING:
    from harness.analysis import Validation


LATER_STEP = "Also: "  # begins the line of a next step that isn't the first


MORE_ITEMS = (
    "Get ratings for more items: {leader} is closer to the raters than another rater is, but "
    "there are too few items to show that it is better than the baseline."
)


READ_ERRORS = {  # words by whether there is only one judge
    is_alone: f'Read the items that {who} wrong: the report lists them under "Where is it wrong?".'
    for is_alone, who in ((True, "it gets"), (False, "they get"))
}


ANSWER_FIRST = (
    "Fix the cause that kept the judges from answering. Then `{resume}` sends failed requests "
    "again."
)


CORRECT = "Fix the cause that kept the judges from answering, and run them again."


LIMIT_COST = " To limit the cost, add --max-cost."


BY_ASKED = "Leave out --metric to rank by the ratings that the judges gave."


OTHER_METRIC = {  # steps if a chosen metric can't rank, by reason
    "positional_raters": "Leave out --metric, because other metrics don't need the raters' names.",
    "forced_choice_not_asked": BY_ASKED,
    "response_set_not_asked": BY_ASKED,
}


OTHER_RATINGS: dict[str, tuple[str, str]] = {  # what ranks instead, by a judge's reason for NA
    "forced_choice_not_asked": ("response_set", "response sets"),
    "response_set_not_asked": ("forced_choice", "forced choices"),
}


UNNAMED = {  # metrics that rank by default
    primary_metric("response_set"),
    primary_metric("forced_choice"),
    primary_metric("forced_choice", ordinal=True),
}


USE_IT = "Use this judge with the same model and prompt, and validate it again when either changes."


WATCH_IT = (
    "Use this judge with the same model and prompt. Later, test whether the judge has changed: "
    "`{revalidate}`. To test regularly: `harness revalidate schedule --help`."
)


def next_steps(v: Validation) -> list[str]:
    """Return the next steps. There is always at least one.

    Unreadable replies come first, because more items or raters wouldn't help.
    """
    if v.decision.verdict not in RECOMMENDING and (readable := first_step(v)):
        return [readable]
    if not v.judges:
        return [next_step(v.race, v.location) if v.race else _first_run(v)]
    if first := _answering(v) or _resuming(v) or other_metric_step(v) or _other_ratings_step(v):
        return [first]
    if v.decision.verdict == "none":
        read = READ_ERRORS[len(v.judges) == 1]
        is_lone = has_single_ratings(v)
        own = [step_words(v, ONE_HUMAN.kind)] if is_lone else _promising(v) or _searching(v)
        return [*own, TRY_OTHERS, read, *_missing_replies(v)]
    if v.decision.verdict in RECOMMENDING:
        stated = [] if v.decision.verdict == "use" else [step_words(v, INDEPENDENT.kind)]
        return [*stated, _using(v), *_steps(v)]
    settling = [step_words(v, kind) for kind in v.decision.missing]
    return list(dict.fromkeys([*settling, *_steps(v)]))


def _first_run(v: Validation) -> str:
    """Explain how to get judges' verdicts on a task."""
    if not v.location.task:
        return "Run a judge on it."
    command = f"harness run --task {quote(v.location.task)} --judges NAME"
    return f"Run a judge on it: `{command}`. Replace NAME with a judge from `harness judges`."


def _answering(v: Validation) -> str:
    """Yield the next step if no judge gave any answer."""
    if not nothing_answered(v):
        return ""
    if not v.location.run:
        return CORRECT
    return ANSWER_FIRST.format(resume=v.location.command_to_resume())


def _searching(v: Validation) -> list[str]:
    """Suggest a search for a better way to run the top judge, if the judge can be run again."""
    leader = v.decision.leader
    if leader is None or not v.location.run or not v.task.options:
        return []
    if v.evidence and v.evidence.held_out:  # a run that ended a search or a confirmation
        return []
    judge = v.judge(leader)
    if judge.kind == "external" or judge.is_control:
        return []
    command = v.location.command_to_improve(leader)
    return [f"Search for a better way of asking {leader}: `{command}`."]


def _promising(v: Validation) -> list[str]:
    """Suggest more ratings if a judge is closer than a rater but not shown to beat a baseline."""
    evidence, check = v.evidence, v.decision.checks.get(BEATS_BASELINES.kind)
    if evidence is None or check is None or check.value is None or check.threshold is None:
        return []
    human = evidence.judges[0].human
    is_closer = human is not None and human.difference is not None and human.difference < 0
    own, of_baseline = losses_of([check.value, check.threshold], evidence.better)
    if not is_closer or own >= of_baseline or v.decision.reason == "control_first":
        return []
    return [MORE_ITEMS.format(leader=v.decision.leader)]


def _using(v: Validation) -> str:
    """Explain how to use the judge. If the judge can be run again, add the command to watch it."""
    leader = v.judge(v.decision.leader or "")
    if leader.kind == "external" or not v.location.run:
        return USE_IT
    return WATCH_IT.format(revalidate=v.location.command_to_watch("--judges", leader.name))


def other_metric_step(v: Validation) -> str:
    """Return the next step if the chosen metric cannot rank judges, or "" if it can."""
    if v.decision.leader is not None or v.ranking_metric in UNNAMED:
        return ""
    return OTHER_METRIC.get(v.judge(v.decision.unranked[0]).own.reason, "")


def _other_ratings_step(v: Validation) -> str:
    """Suggest ranking by different ratings if judges lack answers of the kind that ranks."""
    if v.decision.leader is not None or not v.decision.unranked:
        return ""
    first = v.judge(v.decision.unranked[0])
    if first.own.reason not in OTHER_RATINGS:
        return ""
    key, name = OTHER_RATINGS[first.own.reason]
    step = f"Rank by {name}: `--ranks-by {key}`."
    if first.kind == "external":
        return step
    return f"{step} Or run the judges on both forms: `--elicitation forced_choice,response_set`."


def nothing_answered(v: Validation) -> bool:
    """Return whether judges were run but none gave an answer."""
    planned = sum(judge.n_replies("planned") for judge in v.judges)
    return planned > 0 and not any(judge.n_replies("answered") for judge in v.judges)


def _resuming(v: Validation) -> str:
    """Suggest resuming a run with missing replies. Return "" if resuming would not help."""
    asked = [judge for judge in v.judges if judge.kind != "external"]
    missing = [judge.n_replies("not_asked") + judge.n_replies("failed") for judge in asked]
    if v.decision.reason != "too_few_answered" or not any(missing):
        return ""
    n_planned = sum(judge.n_replies("planned") for judge in asked)
    replies = f"Request the missing replies ({sum(missing)} of {n_planned})"
    if not v.location.run:
        return f"{replies}."
    limit = LIMIT_COST if any(judge.kind not in LOCAL_KINDS for judge in asked) else ""
    return f"{replies}: `{v.location.command_to_resume()}`.{limit}"


def next_lines(v: Validation, *, with_alternatives: bool = True) -> list[str]:
    """Return a line for each next step. Without alternatives, a search is the only step."""
    first, *others = next_steps(v)
    is_search = v.decision.verdict == "none" and [first] == _searching(v)
    shown = [] if is_search and not with_alternatives else others
    return [f"Next: {first}", *(f"{LATER_STEP}{step}" for step in shown)]


def _steps(v: Validation) -> list[str]:
    """Yield steps to collect more data, if the result is not firm."""
    step, parts = v.decision.next_step, []
    if step.n_items_needed is not None:
        parts.append(
            f"Get ratings for {counted([step.n_items_needed - step.n_items], 'more item')}: with "
            f"{step.n_items_needed}, a difference of {number(step.worth)} between the top two "
            "judges would be detected with 80% power."
        )
    if step.more_raters:
        parts.append(
            "Get ratings from more raters. With the present raters, no number of items would show "
            f"a difference of {number(step.worth)} between the top two judges."
        )
    if step.advice:
        parts.append(f"{step.advice.removesuffix('.')}{_rating_command(v)}.{_break_even(v)}")
    return [*parts, *_missing_replies(v)]


def _rating_command(v: Validation) -> str:
    """Return the command to rate items both ways, or "" if the task does not take ratings."""
    if not v.location.takes_ratings:
        return ""
    task = quote(v.location.task)
    command = f"`harness annotate {task} --rater NAME --elicitation paired`"
    return f": {command}, with the rater's name as NAME"


def _missing_replies(v: Validation) -> list[str]:
    """Report missing or unusable replies of the top judge."""
    step, parts = v.decision.next_step, []
    if step.n_missing:
        parts.append(
            f"{step.n_missing} of the {step.n_planned} planned replies of {v.decision.leader} are "
            "missing. Collect them before you rely on it."
        )
    if step.unusable:
        parts.append("Find out why so many replies could not be used before you rely on it.")
    return parts


def _break_even(v: Validation) -> str:
    """Report the raters' beta above which a different judge is best, or return ""."""
    even = v.decision.break_even
    if even is None or len(even.pieces) == 1:
        return ""
    second = even.pieces[1]
    who = "who chose a negative option accept a positive one too"
    best = "best of the judges that differ" if v.decision.not_distinguishable else "best"
    verb = "decides" if len(second.winners) == 1 else "decide"
    return (
        f" If more than {second.low:.0%} of the raters {who}, {listed(second.winners)} {verb} "
        f"{best}."
    )
