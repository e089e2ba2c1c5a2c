"""Causes of a difference other than the judge, such as prompts, parser and items."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.app import prompts_of
from harness.errors import RunError, TaskError
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import registered
from harness.judging.parsing import grammar, option_matching, option_probabilities, verdict
from harness.judging.prompts.requests import Prompts, Unit
from harness.judging.storage.verdict_log import replies_of
from harness.tasks import load_task
from harness.tasks.folders import find_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Reader, Verdict
    from harness.runs import RunFolder
    from harness.tasks import Item, Task

SAME = "compare with the same {what} as in the baseline, or validate the new {what}: harness run"
CAUSES = {
    "task": "the task's description or options have changed; " + SAME.format(what="task"),
    "items": "items of the anchor have changed or are missing; " + SAME.format(what="items"),
    "ratings": "ratings of the anchor's items have changed; " + SAME.format(what="ratings"),
    "prompts": "the prompts have changed; " + SAME.format(what="prompts"),
    "parser": "replies are parsed differently; use the version of judge-harness that made the "
    "baseline, or validate with this one: harness run",
}
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


def hashes_of(setup: Setup, items: Sequence[str]) -> dict[str, str]:
    """Return the hashes of what is in use now, of a part for each of `CAUSES`."""
    task, wanted = setup.current, set(items)
    by_id = task.by_id
    texts = [
        (item.id, item.group, item.criterion, item.fields, _image_digest(task, item))
        for item in map(by_id.get, items)
        if item is not None
    ]
    ratings = sorted(
        (r.item, r.rater, r.elicitation, r.value) for r in task.ratings if r.item in wanted
    )
    return {
        "task": _digest(task.described()),
        "items": _digest(texts),
        "ratings": _digest(ratings),
        "prompts": setup.current_prompts,
        "parser": parser_hash(),
    }


def _image_digest(task: Task, item: Item) -> str:
    image = task.images.get(item.id)
    return image.digest if image else ""


def parameters_of(spec: JudgeSpec) -> str:
    """Return the hash of what a judge is asked with, besides its prompts."""
    asked = [spec.kind, spec.model, spec.base_url, spec.sent_params, spec.strategy]
    return _digest([*asked, spec.prompts, spec.votes, spec.members, spec.rule])


def current_parameters(specs: Iterable[JudgeSpec], judges_file: Path | None) -> dict[str, str]:
    """Return the hash of each judge's parameters: those in a judges file, else the run's own."""
    registry = load_judges(judges_file) if judges_file else {}
    return {spec.name: parameters_of(registered(spec.name, registry) or spec) for spec in specs}


def parser_hash() -> str:
    """Return the hash of the code that parses replies."""
    code = b"".join(
        Path(str(module.__file__)).read_bytes()
        for module in (grammar, option_matching, option_probabilities, verdict)
    )
    return hashlib.sha256(code).hexdigest()


def changed_causes(
    before: Mapping[str, str],
    now: Mapping[str, str],
    readers: Mapping[str, Reader],
    verdicts: Iterable[Verdict],
) -> list[str]:
    """Return why no judge is comparable with the baseline; empty if all are."""
    changed = [name for name in CAUSES if before[name] != now[name]]
    if "parser" in changed and read_alike(readers, verdicts):
        changed.remove("parser")
    return [CAUSES[name] for name in changed]


def read_alike(readers: Mapping[str, Reader], verdicts: Iterable[Verdict]) -> bool:
    """Return whether replies are parsed as they were; False where there are no texts."""
    n_read = 0
    for logged in verdicts:
        if logged.reply is None:
            continue
        *first, reply = replies_of(logged)
        unit = Unit(logged.item, logged.elicitation, logged.sample)
        reader = readers[logged.judge]
        read = reader.verdict(reply, unit, logged.judge, first=first[0] if first else None)
        if (read.outcome, read.value) != (logged.outcome, logged.value):
            return False
        n_read += 1
    return n_read > 0


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
