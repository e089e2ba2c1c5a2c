"""Find causes of a difference other than the judge, such as prompts, reply parsing or items."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.app.plan_of_run import prompts_of
from harness.errors import RunError, TaskError
from harness.files.user_folders import user_file
from harness.judging.fingerprints import QUESTION
from harness.judging.judges.config import bundled_judges, load_judges, with_max_tokens
from harness.judging.judges.judge_registry import registered, with_answer_of
from harness.judging.judges.pricing import with_reply_cap
from harness.judging.parsing.grammar import GRAMMAR_VERSION
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts
from harness.runs.run_folder import server_of
from harness.tasks import load_task
from harness.tasks.folders import find_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.parsing.reply_reader import ReplyReader
    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.revalidation.records import Baseline
    from harness.runs.run_folder import RunFolder
    from harness.tasks import Item, Task
    from harness.tasks.item import AnswerKind

MIN_COMPARABLE = 0.8  # share of a baseline's items; with fewer, no judge is comparable
SAME = ". Use the same ones as in the baseline, or validate again: {anew}"
CAUSES = {
    "question": "the task's question or options have changed",
    "prompts": "the prompts have changed",
}
READING_CHANGED = (
    "this version of judge-harness reads replies differently, but the baseline has no reply "
    "texts to read again. Make a new baseline: {anew}"
)
JUDGE_CHANGED = "its {fields} {verb} changed in {file}"


@dataclass(frozen=True, slots=True)
class Setup:
    """Task and prompts of the run, and their current versions.

    ``task`` contains the items' texts. ``current`` is the maintained task, or the run's own copy if
    that can't be reached. ``prompts`` are the run's own, and ``current_prompts`` is the hash of
    those that a new run would use.
    """

    task: Task
    current: Task
    prompts: Prompts
    current_prompts: str

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The run's task, and the current task if it is a different one."""
        return (self.task,) if self.task is self.current else (self.task, self.current)


def setup_of(folder: RunFolder, task_name: str | None) -> Setup:
    """Read a run's task and prompts, and their current versions."""
    config = folder.manifest.config
    current = _current_task(task_name or config.task, required=task_name is not None)
    copied = load_task(str(folder.path / "task")) if config.item_text else None
    task = copied or current
    if task is None:
        raise RunError(
            f"{folder.path}: this folder doesn't contain item texts. Pass the task that has "
            f"them: --task {shlex.quote(config.task)}"
        )
    task.require_options("re-validation")
    prompts = prompts_of(folder, task)
    current_prompts = prompts.hash
    if current:
        current_prompts = Prompts.load(
            current,
            strategies=[spec.asking for spec in folder.manifest.judges],
            own=[spec.prompts for spec in folder.manifest.judges],
            own_folder=folder.prompts,
            demonstrations=prompts.demonstrations,
        ).hash
    if prompts.hash != folder.manifest.hashes["prompts"]:
        current_prompts = prompts.hash
    return Setup(task, current or task, prompts, current_prompts)


def as_in_run(setup: Setup, run: RunFolder) -> Setup:
    """Return the inputs of a run's judges, as the run's manifest identifies them.

    Raises `RunError` if they no longer exist.
    """
    if setup.task.content_hash != run.manifest.hashes["task"]:
        kept = run.manifest.config.item_text
        raise RunError(
            f"{run.path / 'task' if kept else setup.task.folder}: the task has changed since the "
            "run started, so its replies can't serve as a baseline. Restore the task, or "
            f"validate its current version: {validate_anew(run)}"
        )
    if setup.prompts.hash != run.manifest.hashes["prompts"]:
        raise RunError(
            f"{run.prompts}: the prompts have changed since the run started, so its "
            f"replies can't serve as a baseline. Restore them, or validate again: "
            f"{validate_anew(run)}"
        )
    return Setup(setup.task, setup.task, setup.prompts, setup.prompts.hash)


def validate_anew(run: RunFolder, judges_file: Path | None = None) -> str:
    """Return the command that runs and validates the current task and judges of a run."""
    config, specs = run.manifest.config, run.manifest.judges
    words = ["harness", "run", "--task", config.task, "--judges", ",".join(s.name for s in specs)]
    words += server_of(run.manifest, judges_file).words()
    words += ["--elicitation", ",".join(config.elicitations)] if config.elicitations else []
    return shlex.join([*words, *(["--samples", str(config.samples)] if config.samples else [])])


def hashes_of(setup: Setup) -> dict[str, str]:
    """Return the current hash of each of `CAUSES`: the question and the prompts."""
    return {"question": _question_hash(setup.current), "prompts": setup.current_prompts}


def _question_hash(task: Task) -> str:
    described = task.described()
    return _digest({name: value for name, value in described.items() if name in QUESTION})


def item_hashes(task: Task, items: Sequence[str]) -> tuple[str, ...]:
    """Return the hash of each item's content, or "" for an item that is not in the task."""
    by_id = task.by_id
    return tuple(
        _digest([item.group, item.criterion, item.fields, _image_digest(task, item)])
        if item is not None
        else ""
        for item in map(by_id.get, items)
    )


def ratings_hash(task: Task, items: Sequence[str]) -> str:
    """Return a hash of some items' ratings."""
    wanted = set(items)
    return _digest(
        sorted((r.item, r.rater, r.elicitation, r.value) for r in task.ratings if r.item in wanted)
    )


def _image_digest(task: Task, item: Item) -> str:
    image = task.images.get(item.id)
    return image.digest if image else ""


def _asked_with(spec: JudgeSpec) -> dict[str, object]:
    """Return the properties that identify a judge, such as its model and parameters."""
    names = ("kind", "model", "base_url", "strategy", "prompts", "members")
    return {name: getattr(spec, name) for name in names} | {"params": spec.sent_params}


def changed_judges_file(run: RunFolder, judges_file: Path | None) -> dict[str, str]:
    """Return the run's judges that differ in the current judges file, and the reason for each.

    The file is the given one, or else the user's own. Judges that it doesn't define can't change in
    it. A different form of answer, with the token limit it needs, only applies to the next
    baseline.
    """
    config, changed = run.manifest.config, {}
    file = judges_file or user_file()
    registry = load_judges(file) if file else {}
    bundled = bundled_judges()
    for spec in run.manifest.judges:
        current = registered(spec.name, registry)
        if current is None or current == registered(spec.name, bundled):
            continue
        if current.answer != spec.answer:
            current = with_answer_of(current, spec)
        if config.max_tokens is not None:
            current = with_max_tokens(current, config.max_tokens)
        now = _asked_with(with_reply_cap(current, config.added_cap))
        fields = [name for name, value in _asked_with(spec).items() if value != now[name]]
        if fields:
            changed[spec.name] = JUDGE_CHANGED.format(
                fields=" and ".join(fields),
                verb="have" if fields[1:] or fields == ["params"] else "has",
                file=file,
            ) + SAME.format(anew=validate_anew(run, file))
    return changed


@dataclass(frozen=True, slots=True)
class Comparable:
    """Items in a round that can be compared with its baseline.

    Attributes
    ----------
    causes : tuple of str
        Reasons why no judge is comparable; empty if they are.
    left_out : dict of str to str
        Items of the baseline that have changed, each with the reason.
    """

    causes: tuple[str, ...]
    left_out: dict[str, str]


def compare_content(
    baseline: Baseline,
    setup: Setup,
    readers: Mapping[str, ReplyReader],
    verdicts: Sequence[Verdict],
    *,
    anew: str,
) -> Comparable:
    """Compare the question, prompts, items and reply parsing with those of a baseline.

    Both the texts in the judges' requests and those of the maintained task are compared, because a
    run's own copy can be edited too.

    Parameters
    ----------
    baseline : Baseline
        Baseline with the hashes of its inputs.
    setup : Setup
        Inputs in use now.
    readers : mapping of str to ReplyReader
        Current reader of replies, by judge.
    verdicts : sequence of Verdict
        Verdicts of the baseline, without texts or empty if these weren't kept.
    anew : str
        The command that validates the inputs in use now.
    """
    same = SAME.format(anew=anew)
    now = {
        "question": {_question_hash(task) for task in setup.tasks},
        "prompts": {setup.current_prompts},
    }
    causes = [CAUSES[name] + same for name in CAUSES if now[name] != {baseline.hashes[name]}]
    left_out = {
        item: reason
        for task in setup.tasks
        for item, reason in _changed_items(baseline, task).items()
    }
    if baseline.grammar_version != GRAMMAR_VERSION:
        if any(verdict.reply for verdict in verdicts):
            left_out |= _read_otherwise(readers, verdicts)
        else:
            causes.append(READING_CHANGED.format(anew=anew))
    n = len(baseline.items)
    left_out = {item: left_out[item] for item in baseline.items if item in left_out}
    if n - len(left_out) < MIN_COMPARABLE * n and not causes:
        causes.append(
            f"only {n - len(left_out)} of {n} items are unchanged (at least "
            f"{MIN_COMPARABLE:.0%} are needed){same}"
        )
    return Comparable(tuple(causes), left_out)


def _changed_items(baseline: Baseline, task: Task) -> dict[str, str]:
    """Return the items whose content differs from the baseline's, and the reason for each."""
    now = item_hashes(task, baseline.items)
    hashes = zip(baseline.items, baseline.item_hashes, now, strict=True)
    return {
        item: "the item's content has changed" if after else "the item is no longer in the task"
        for item, before, after in hashes
        if before != after
    }


def _read_otherwise(
    readers: Mapping[str, ReplyReader], verdicts: Iterable[Verdict]
) -> dict[str, str]:
    """Return the items with a reply that is parsed differently now, and the reason for each."""
    changed = {}
    for logged in verdicts:
        if logged.reply is None or logged.judge not in readers:
            continue
        unit = Unit(logged.item, logged.elicitation, logged.sample)
        reader = readers[logged.judge]
        read = reader.verdict(logged.reply, unit, logged.judge, first=logged.first)
        was_read = not _are_unreadable(logged, reader, unit)
        if was_read or (read.outcome, read.value) != (logged.outcome, logged.value):
            changed[logged.item] = "a reply of the baseline is read differently now"
    return changed


def _are_unreadable(logged: Verdict, reader: ReplyReader, unit: Unit) -> bool:
    """Return whether replies that led to a second question are still unreadable."""
    last = "forced_choice" if unit.elicitation == "paired" else unit.elicitation
    turns: Sequence[tuple[Reply | None, AnswerKind]] = (
        (logged.first_unread, "response_set"),
        (logged.unread, last),
    )
    return all(reader.is_unreadable(reply, unit, kind) for reply, kind in turns if reply)


def _current_task(name: str, *, required: bool) -> Task | None:
    try:
        find_task(name)
    except TaskError:
        if required:
            raise
        return None
    return load_task(name)


def _digest(content: object) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
