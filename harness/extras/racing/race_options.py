"""Options of a race: the loss on an item, and the kind of answer from judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from harness.analysis.inputs import ranking_elicitation
from harness.errors import OptionError, TaskError
from harness.options.concerns import N_PAIRS, WITHIN, Elicitation

if TYPE_CHECKING:
    from harness.options.concerns import Choices, RunOptions
    from harness.tasks import Task
    from harness.tasks.item import AnswerKind

AS_GIVEN = ("mode", "level", "humans", "beta")  # options that change how ratings are interpreted


class Loss(NamedTuple):
    """Loss on an item: its key in `LOSSES`, and the kind of answer that it scores."""

    name: str
    elicitation: AnswerKind


LOSS_OF_METRIC = {
    "hit_rate(h/h)": Loss("hit", "forced_choice"),
    "mse(s/s)": Loss("squared", "forced_choice"),
    "mse(srs/srs)": Loss("squared", "response_set"),
}


def loss_of(task: Task, choices: Choices) -> Loss:
    """Return the loss for the ranking metric.

    Without a metric, the loss is the disagreement with a random rater, or the squared error for
    response sets.

    Raises
    ------
    OptionError
        If the metric is not the mean of a loss in [0, 1] at one reply.
    """
    if choices.metric is None:
        if ranking_elicitation(task, choices.ranks_by, None) == "response_set":
            return LOSS_OF_METRIC["mse(srs/srs)"]
        return Loss("random_rater", "forced_choice")
    if choices.metric not in LOSS_OF_METRIC:
        raise OptionError(
            "metric",
            "a race needs a metric that averages the loss of one reply over items",
            f"Pass one of {', '.join(LOSS_OF_METRIC)}, or leave out the metric to use the "
            "disagreement with a random rater",
            found=choices.metric,
        )
    return LOSS_OF_METRIC[choices.metric]


def race_options(task: Task, options: RunOptions, choices: Choices) -> RunOptions:
    """Complete a race's options with the elicitation that its loss needs.

    Judges only give the answers that the loss uses.

    Raises
    ------
    OptionError
        If an option does not work with a race.
    TaskError
        If the task has no options, or no ratings of this kind.
    """
    task.require_options("a race")
    for name in AS_GIVEN:
        if getattr(choices, name) is not None:
            problem = "a race uses the ratings exactly as the raters gave them"
            raise OptionError("", problem, f"Leave out {{{name}}} or {{race}}")
    _, elicitation = loss_of(task, choices)
    asked: tuple[Elicitation, ...] = (elicitation,)
    if options.elicitations not in {None, asked} or options.pairs not in {None, N_PAIRS, 0}:
        name = "pairs" if options.elicitations is None else "elicitations"
        problem = f"this race only requests {elicitation}, because its loss uses no other answers"
        raise OptionError("", problem, f"Leave out {{{name}}}")
    if elicitation not in task.elicitations:
        raise TaskError(f"task {task.name}: {elicitation} is not possible with its options.")
    within = WITHIN if options.within is None else options.within
    return options.model_copy(update={"elicitations": asked, "pairs": None, "within": within})
