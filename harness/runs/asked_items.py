"""Items on which a run's judges are queried, by elicitation."""

from __future__ import annotations

from hashlib import sha256
from heapq import nsmallest
from shlex import quote
from typing import TYPE_CHECKING

from harness.analysis import compares_response_sets
from harness.analysis.ratings import select_items
from harness.errors import TaskError
from harness.judging.prompts.presentation_orders import OptionOrders
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from harness.judging.judge_spec import JudgeSpec
    from harness.runs.run_folder import RunConfig
    from harness.tasks import Item, Task
    from harness.tasks.item import Elicitation

MAX_NAMED = 5  # items that a message lists
ItemsByElicitation = dict["Elicitation", tuple["Item", ...]]


def items_of(task: Task, config: RunConfig) -> tuple[Item, ...]:
    """Return a run's items, without the items that it leaves out. See `select_items`."""
    return select_items(
        task,
        criterion=config.criterion,
        limit=config.limit,
        holdout=config.holdout,
        held_out=bool(config.confirms),
        blank=frozenset((*config.blank, *config.left_out)),
    )


def without_blank(config: RunConfig, task: Task) -> RunConfig:
    """Change a run's options so that the run leaves out the task's blank items.

    Raises
    ------
    TaskError
        If all of them are blank.
    """
    blank = tuple(item.id for item in task.items if not task.has_text(item))
    if len(blank) == len(task.items):
        raise TaskError(
            f"{task.folder}: the task has labels but no texts, so judges have nothing to judge. "
            f"Describe its ratings with: harness validate --task {quote(config.task)}"
        )
    return config.model_copy(update={"blank": blank})


def blank_items(task: Task, config: RunConfig) -> list[str]:
    """Return the ids of blank items that a run leaves out, up to the run's item limit."""
    whole = items_of(task, config.model_copy(update={"blank": (), "limit": None}))
    if config.limit is not None:
        whole = whole[: whole.index(items_of(task, config)[-1])]
    return [item.id for item in whole if item.id in set(config.blank)]


def blank_lines(task: Task, config: RunConfig) -> Iterator[str]:
    """Report the blank items that a run leaves out, and its items with a blank part."""
    if left_out := blank_items(task, config):
        yield f"The run leaves out {_named(left_out, 'blank item')}."
    partly = [item.id for item in items_of(task, config) if task.has_blank_part(item)]
    if partly:
        yield f"In {_named(partly, 'item')}, one of the texts is blank, so judges see it as empty."


def blank_note(task: Task, config: RunConfig) -> Iterator[str]:
    """Report the blank items that a run left out, as a note on its results."""
    if left_out := blank_items(task, config):
        verb = "is" if len(left_out) == 1 else "are"
        yield f"{_named(left_out, 'blank item')} {verb} left out"


def _named(ids: Sequence[str], noun: str) -> str:
    """Return a phrase with the number of items and the first few ids."""
    more = ", ..." if len(ids) > MAX_NAMED else ""
    return f"{len(ids):,} {noun}{'s' * (len(ids) > 1)} ({', '.join(ids[:MAX_NAMED])}{more})"


def items_by_elicitation(task: Task, config: RunConfig) -> ItemsByElicitation:
    """Return a run's items by elicitation, in the order of requests.

    Named elicitations apply to all items. By default, forced choices apply to all items, and

    - if raters gave response sets for these items, or the metric compares response sets, so do
      response sets.
    - otherwise, if a negative option has ``sensitivity``, ``config.pairs`` random items are
      rated in the paired form.

    Parameters
    ----------
    task : Task
        The task, whose options determine which elicitations are possible.
    config : RunConfig
        Options of the run.

    Raises
    ------
    TaskError
        If no item has the criterion.
    """
    items = items_of(task, config)
    if config.elicitations is not None:
        return {name: items for name in config.elicitations if name in task.elicitations}
    planned: ItemsByElicitation = {"forced_choice": items}
    if "response_set" in task.elicitations and _needs_sets(task, items, config):
        planned["response_set"] = items
    elif config.pairs and task.sensitivity and not task.space.fully_specified:
        planned["paired"] = random_items(items, config.pairs, seed=config.seed)
    return planned


def elicitations_of(spec: JudgeSpec, planned: Iterable[Elicitation]) -> tuple[Elicitation, ...]:
    """Return the planned elicitations that apply to a judge."""
    return tuple(name for name in planned if name in spec.asking.elicitations)


def orders_of(task: Task, config: RunConfig) -> OptionOrders | None:
    """Return the random orders of options in a run, or None if options are not shuffled.

    Raises
    ------
    TaskError
        If they should be shuffled but the task has no options.
    """
    if config.shuffle_options:
        task.require_options("--shuffle-options")
    return OptionOrders(tuple(task.options), config.seed) if config.shuffle_options else None


def _needs_sets(task: Task, items: Sequence[Item], config: RunConfig) -> bool:
    ids = {item.id for item in items}
    if any(
        rating.elicitation == "response_set"
        and rating.value != CANNOT_ASSESS
        and rating.item in ids
        for rating in task.ratings
    ):
        return True
    return not task.space.fully_specified and compares_response_sets(task, config.choices)


def random_items(items: Sequence[Item], n: int, *, seed: int) -> tuple[Item, ...]:
    """Draw ``n`` random items. The draw does not depend on the order of ``items``.

    The items with the smallest hashes of seed and id are drawn and keep their order. A larger ``n``
    only adds items.
    """
    keys = {item.id: sha256(f"{seed}\0{item.id}".encode()).digest() for item in items}
    drawn = set(nsmallest(n, keys, key=keys.__getitem__))
    return tuple(item for item in items if item.id in drawn)
