"""Plans based on an existing run: resuming it, confirming a judge, or running on other items."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from harness.app.embeddings import embedder_of
from harness.app.plan import NO_RACE, Plan, check_race, checked_plan, priced_in_batch
from harness.errors import RunError, in_sentences, use_one_of
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import check_server_is_used, kept_answers, own_judges
from harness.judging.prompts.requests import Prompts
from harness.options.concerns import NO_LIMIT, NO_SERVER
from harness.runs.asked_items import orders_of
from harness.runs.ledger import check_unspent
from harness.runs.run_folder import CONFIRMATION, RunConfig, RunFolder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.judging.judge_spec import JudgeSpec
    from harness.options.concerns import Limit, Server
    from harness.tasks import Item, Task
    from harness.tasks.item import AnswerKind


def plan_resumed_run(
    folder: RunFolder,
    *,
    limit: Limit = NO_LIMIT,
    task: str | None = None,
    server: Server = NO_SERVER,
    changed_by: str = "",
) -> Plan:
    """Plan the rest of a run from its folder, with the same task, judges and prompts.

    Parameters
    ----------
    folder : RunFolder
        The run.
    limit : Limit
        Replaces the run's own cost limit if it sets one.
    task : str, optional
        The task, if the folder doesn't contain texts and the task has moved.
    server : Server
        Server of the judges. The user's own definitions of judges apply, never the folder's.
    changed_by : str
        Name of the probe, if the run must be one; "" for a run that ranks judges.

    Raises
    ------
    RunError
        If the task or the prompts have changed since the run started, or if it isn't the right
        probe.
    JudgeError
        If the user doesn't have one of the run's judges.
    """
    _check_probe(folder, changed_by)
    loaded = _task_and_own_judges(folder, task, server)
    return _plan_rest(folder, loaded, limit, server)


def _check_probe(folder: RunFolder, probe: str) -> None:
    if folder.manifest.config.changed_by == probe:
        return
    command = folder.location.command_to_resume()
    raise RunError(
        f"{folder.path}: this run is a probe. Its items are changed, so it doesn't rank judges. "
        f"Resume it with: {command}"
    )


def _task_and_own_judges(folder: RunFolder, task: str | None, server: Server) -> Task:
    """Load a run's task, and put the user's definitions of the run's judges into the manifest."""
    manifest = folder.manifest
    embedders = own_judges(
        filter(None, [manifest.embedder]), load_judges(server.judges_file), server
    )
    changes = {
        "judges": _own(manifest.judges, manifest.config, server),
        "embedder": next(iter(embedders), None),
    }
    folder.manifest = manifest.model_copy(update=changes)
    return folder.load_task(task)


def _own(specs: Sequence[JudgeSpec], config: RunConfig, server: Server) -> tuple[JudgeSpec, ...]:
    """Return a run's judges with the user's own definitions and the run's options."""
    registry = load_judges(server.judges_file)
    remote = [spec.name for spec in specs if spec.remote]
    check_server_is_used(remote, registry, server)
    return tuple(priced_in_batch(spec, config) for spec in own_judges(specs, registry, server))


def _asked_judge(folder: RunFolder, judge: str) -> JudgeSpec:
    """Return a run's judge, given the judge's name."""
    asked = {spec.name: spec for spec in folder.manifest.asked_judges}
    if judge not in asked:
        raise RunError(
            in_sentences(
                f"{folder.path}: this run has no judge {judge!r}",
                use_one_of(judge, asked, none="It asked none."),
            )
        )
    return asked[judge]


def _plan_rest(folder: RunFolder, task: Task, limit: Limit, server: Server) -> Plan:
    manifest = folder.manifest
    config = manifest.config.model_copy(update=limit.changes())
    check_race(config)
    prompts = prompts_of(folder, task)
    if prompts.hash != manifest.hashes["prompts"]:
        raise RunError(
            f"{folder.prompts}: the prompts have changed since this run was started. "
            "Restore them, or start a new run."
        )
    return replace(
        checked_plan(task, config, manifest.judges, prompts),
        skipped=manifest.skipped,
        folder=folder,
        embedder=manifest.embedder,
        resume_options=tuple(server.words()),
        kept_answers=tuple(kept_answers(manifest.judges, load_judges(server.judges_file))),
    )


def plan_confirmation(
    folder: RunFolder,
    judge: str,
    *,
    limit: Limit = NO_LIMIT,
    task: str | None = None,
    server: Server = NO_SERVER,
    compared_with: str = "",
) -> Plan:
    """Plan a judge's run on a run's held-out items, or the rest of that run.

    The run folder is ``confirmation`` inside the run's folder. Parameters are as for
    `plan_resumed_run`. ``compared_with`` is another judge to run in addition, which isn't ranked.

    Raises
    ------
    RunError
        If the run has no held-out items or no such judge, or the items were used before. Also as
        for `plan_resumed_run`.
    """
    manifest = folder.manifest
    if manifest.config.holdout is None or manifest.config.confirms:
        raise RunError(
            f"{folder.path}: this run has no held-out items. Start a run with --holdout 0.3."
        )
    asked = [_asked_judge(folder, name) for name in (judge, compared_with) if name]
    if (folder.path / CONFIRMATION / "manifest.json").exists():
        begun = RunFolder.open(folder.path / CONFIRMATION)
        if begun.manifest.state != "done" and begun.manifest.judges[0].name == judge:
            return plan_resumed_run(begun, limit=limit, task=task, server=server)
    specs = _own(asked, manifest.config, server)
    loaded = folder.load_task(task)
    check_unspent(folder, loaded)
    changes = {"confirms": folder.path.name, "limit": None, "new_ledger": False}
    changes |= {"compared_with": compared_with}
    changes |= NO_RACE
    config = manifest.config.model_copy(update=changes | limit.changes())
    prompts = prompts_of(folder, loaded, specs)
    return replace(
        checked_plan(loaded, config, specs, prompts),
        embedder=embedder_of(loaded, partial(load_judges, server.judges_file)),
        resume_options=tuple(server.words()),
    )


def plan_other_items(
    folder: RunFolder,
    judge: str,
    items: tuple[Item, ...],
    answers: AnswerKind,
    *,
    limit: Limit = NO_LIMIT,
    server: Server = NO_SERVER,
) -> Plan:
    """Plan one verdict from a run's judge for each of some items that aren't in the run's task.

    Parameters
    ----------
    folder : RunFolder
        The run with the task, prompts, judge and options.
    judge : str
        Name of a judge in the run.
    items : tuple of Item
        The items, without ratings.
    answers : str
        The kind of answer to ask for.
    limit, server
        As for `plan_resumed_run`.

    Raises
    ------
    RunError
        If the run has no such judge; otherwise as for `plan_resumed_run`.
    """
    task, prompts = other_items(folder, judge, items)
    changes = {"elicitations": (answers,), "samples": 1}
    return _plan_alone(folder, judge, task, changes, prompts, limit=limit, server=server)


def plan_as_in_run(
    folder: RunFolder,
    judge: str,
    task: Task,
    changes: Mapping[str, object],
    *,
    limit: Limit = NO_LIMIT,
    server: Server = NO_SERVER,
) -> Plan:
    """Plan a run's judge on modified copies of the run's items.

    Parameters
    ----------
    folder, judge, limit, server
        As for `plan_other_items`, as are the errors.
    task : Task
        The modified items, in a task with the fields and options of the run's task.
    changes : mapping of str to object
        Changes to the run's configuration. With ``changed_by``, answers are shown in one order.
    """
    config = folder.manifest.config.model_copy(update=dict(changes))
    prompts = prompts_of(folder, folder.load_task(), [_asked_judge(folder, judge)], config)
    return _plan_alone(folder, judge, task, changes, prompts, limit=limit, server=server)


def _plan_alone(
    folder: RunFolder,
    judge: str,
    task: Task,
    changes: Mapping[str, object],
    prompts: Prompts,
    *,
    limit: Limit,
    server: Server,
) -> Plan:
    """Plan a separate run of a run's judge on all items in a task."""
    specs = _own([_asked_judge(folder, judge)], folder.manifest.config, server)
    alone = {
        "item_text": False,
        **dict.fromkeys(("pairs", "limit", "criterion", "holdout", "max_cost")),
        **NO_RACE,
    }
    config = folder.manifest.config.model_copy(update=alone | dict(changes) | limit.changes())
    if config.changed_by:
        specs = tuple(spec.model_copy(update={"both_orders": False}) for spec in specs)
    plan = checked_plan(task, config, specs, prompts)
    return replace(plan, resume_options=tuple(server.words()))


def other_items(folder: RunFolder, judge: str, items: tuple[Item, ...]) -> tuple[Task, Prompts]:
    """Return a run's task with other items and no ratings, and a judge's prompts."""
    loaded = folder.load_task()
    prompts = prompts_of(folder, loaded, [_asked_judge(folder, judge)])
    return loaded.model_copy(update={"items": items, "ratings": (), "ignored": ()}), prompts


def prompts_of(
    folder: RunFolder,
    task: Task,
    judges: Sequence[JudgeSpec] | None = None,
    config: RunConfig | None = None,
) -> Prompts:
    """Read the templates for all or some of a run's judges, bound to a task.

    If ``config`` is passed, its orders of the options replace the run's.

    Raises
    ------
    PromptError
        If a template is missing or invalid.
    """
    judges = folder.manifest.judges if judges is None else judges
    return Prompts.load(
        task,
        folder.prompts,
        strategies=[spec.asking for spec in judges],
        own=[spec.prompts for spec in judges],
        orders=orders_of(task, config or folder.manifest.config),
    )
