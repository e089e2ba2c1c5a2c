"""Causes of a difference other than the judge, such as prompts, parser and items."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.app import prompts_of
from harness.errors import RunError, TaskError
from harness.judging.judges.config import load_judges
from harness.judging.judges.cost_limit import with_reply_cap
from harness.judging.judges.judge_registry import registered
from harness.judging.parsing.grammar import GRAMMAR_VERSION
from harness.judging.prompts.requests import Prompts, Unit
from harness.judging.storage.verdict_log import replies_of
from harness.tasks import load_task
from harness.tasks.folders import find_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Reader, Verdict
    from harness.revalidation.history import Baseline
    from harness.runs import RunFolder
    from harness.tasks import Item, Task

MIN_COMPARABLE = 0.8  # of the items of a baseline; with fewer, no judge is comparable
QUESTION = frozenset(
    {
        "property",
        "instructions",
        "scale",
        "options",
        "bounds",
        "response_sets",
        "abstain",
        "pairwise",
        "rubric",
        "lexicon",
        "verbalised",
        "text",
        "image",
        "prompts",
    }
)  # fields of a task that judges are asked with; others, such as the source, change no answer
SAME = "compare with the same {what} as in the baseline, or validate the new {what}: harness run"
CAUSES = {
    "question": "the task's question or options have changed; " + SAME.format(what="task"),
    "prompts": "the prompts have changed; " + SAME.format(what="prompts"),
}
READING_CHANGED = (
    "this version of judge-harness reads replies differently, and the baseline keeps no texts to "
    "read again; make a new baseline: harness baseline export"
)
PARAMETERS_CHANGED = (
    "its model, address or parameters have changed in the judges file; restore them, or validate "
    "the new ones: harness run"
)


@dataclass(frozen=True, slots=True)
class Setup:
    """What judges are asked with, and what is in use now.

    ``task`` has the texts of the items; ``current`` is the task where it is maintained, the run's
    own copy where that is out of reach. ``prompts`` are the run's own, ``current_prompts`` the hash
    of those that a new run would use.
    """

    task: Task
    current: Task
    prompts: Prompts
    current_prompts: str


def setup_of(folder: RunFolder, task_name: str | None) -> Setup:
    """Read task and prompts of a run, and what they are where the task is maintained."""
    config = folder.manifest.config
    name = task_name or (config.task if folder.sealed else None)
    current = _current_task(name, required=task_name is not None) if name else None
    copied = load_task(str(folder.path / "task")) if config.item_text else None
    task = copied or current
    if task is None:
        raise RunError(
            f"{folder.path}: it holds no item texts; name the task that has them: --task "
            f"{shlex.quote(config.task)}"
        )
    task.require_options("re-validation")
    prompts = prompts_of(folder, task)
    current_prompts = prompts.hash
    if current:
        current_prompts = Prompts.load(
            current,
            strategies={spec.strategy for spec in folder.manifest.judges},
            own=[spec.prompts for spec in folder.manifest.judges],
            own_folder=folder.prompts,
            demonstrations=prompts.demonstrations,
        ).hash
    if prompts.hash != folder.manifest.hashes["prompts"]:
        current_prompts = prompts.hash
    return Setup(task, current or task, prompts, current_prompts)


def hashes_of(setup: Setup) -> dict[str, str]:
    """Return the hashes of what is in use now, of a part for each of `CAUSES`, and of the ratings.

    Other ratings change metrics, never whether answers are comparable.
    """
    task = setup.current
    described = task.described()
    question = {name: value for name, value in described.items() if name in QUESTION}
    return {"question": _digest(question), "prompts": setup.current_prompts}


def item_hashes(setup: Setup, items: Sequence[str]) -> tuple[str, ...]:
    """Return the hash of the content of each item; "" for one that the task does not have."""
    task = setup.current
    by_id = task.by_id
    return tuple(
        _digest([item.group, item.criterion, item.fields, _image_digest(task, item)])
        if item is not None
        else ""
        for item in map(by_id.get, items)
    )


def ratings_hash(setup: Setup, items: Sequence[str]) -> str:
    """Return the hash of the ratings of some items."""
    wanted = set(items)
    return _digest(
        sorted(
            (r.item, r.rater, r.elicitation, r.value)
            for r in setup.current.ratings
            if r.item in wanted
        )
    )


def _image_digest(task: Task, item: Item) -> str:
    image = task.images.get(item.id)
    return image.digest if image else ""


def parameters_of(spec: JudgeSpec) -> str:
    """Return the hash of what a judge is asked with, besides its prompts."""
    asked = [spec.kind, spec.model, spec.base_url, spec.sent_params, spec.strategy]
    return _digest([*asked, spec.prompts, spec.votes, spec.members, spec.rule])


def current_parameters(
    specs: Iterable[JudgeSpec], judges_file: Path | None, cap: int | None = None
) -> dict[str, str]:
    """Return the hash of each judge's parameters: those in a judges file, else the run's own.

    ``cap`` is the token limit that the run gave to judges without one.
    """
    registry = load_judges(judges_file) if judges_file else {}
    current = ((spec.name, registered(spec.name, registry) or spec) for spec in specs)
    return {name: parameters_of(with_reply_cap(spec, cap)) for name, spec in current}


@dataclass(frozen=True, slots=True)
class Comparable:
    """What a look can compare with its baseline.

    Attributes
    ----------
    causes : tuple of str
        Why no judge is comparable; empty if they are.
    left_out : dict of str to str
        Items of the baseline that are not as they were, each with the reason.
    """

    causes: tuple[str, ...]
    left_out: dict[str, str]


def compare_content(
    baseline: Baseline,
    setup: Setup,
    readers: Mapping[str, Reader],
    verdicts: Sequence[Verdict],
) -> Comparable:
    """Compare question, prompts, items and the reading of replies with those of a baseline.

    Parameters
    ----------
    baseline : Baseline
        Holds the hashes of what was in use then.
    setup : Setup
        What is in use now.
    readers : mapping of str to Reader
        By judge, what reads replies now.
    verdicts : sequence of Verdict
        Of the run; without texts where these were not kept.
    """
    now = hashes_of(setup)
    causes = [CAUSES[name] for name in CAUSES if baseline.hashes[name] != now[name]]
    left_out = _changed_items(baseline, setup)
    if baseline.grammar_version != GRAMMAR_VERSION:
        if any(verdict.reply is not None for verdict in verdicts):
            left_out |= _read_otherwise(readers, verdicts)
        else:
            causes.append(READING_CHANGED)
    n = len(baseline.items)
    left_out = {item: left_out[item] for item in baseline.items if item in left_out}
    if n - len(left_out) < MIN_COMPARABLE * n and not causes:
        causes.append(
            f"only {n - len(left_out)} of {n} items are as they were (at least "
            f"{MIN_COMPARABLE:.0%} are needed); {SAME.format(what='items')}"
        )
    return Comparable(tuple(causes), left_out)


def _changed_items(baseline: Baseline, setup: Setup) -> dict[str, str]:
    """Return the items whose content is not that of the baseline, with the reason."""
    now = item_hashes(setup, baseline.items)
    hashes = zip(baseline.items, baseline.item_hashes, now, strict=True)
    return {
        item: "its content has changed" if after else "the task no longer has it"
        for item, before, after in hashes
        if before != after
    }


def _read_otherwise(readers: Mapping[str, Reader], verdicts: Iterable[Verdict]) -> dict[str, str]:
    """Return the items with a reply that is read differently now, with the reason."""
    changed = {}
    for logged in verdicts:
        if logged.reply is None or logged.judge not in readers:
            continue
        *first, reply = replies_of(logged)
        unit = Unit(logged.item, logged.elicitation, logged.sample)
        reader = readers[logged.judge]
        read = reader.verdict(reply, unit, logged.judge, first=first[0] if first else None)
        if (read.outcome, read.value) != (logged.outcome, logged.value):
            changed[logged.item] = "a reply of the baseline is read differently now"
    return changed


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
