"""Fingerprints of judges, which identify a judge regardless of its name."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from harness.judging.judge_spec import ENSEMBLE
from harness.judging.prompts.requests import template_name
from harness.tasks.item import ELICITATIONS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.prompts.requests import Prompts
    from harness.tasks import Task

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
)  # task fields that affect requests; other fields, such as the source, don't
N_DIGITS = 16


def fingerprints_of(
    specs: Sequence[JudgeSpec], task: Task, prompts: Prompts, prompted: Container[str]
) -> dict[str, str]:
    """Return each judge's fingerprint, which has 16 hex digits, by the judge's name.

    It covers model, address, parameters, strategy, form of answer and ``reask``. For the judges in
    ``prompted`` it also covers templates, demonstrations and the task's question. The number of
    samples and the rate of requests are not part of it.
    """
    described = task.described()
    question = {name: described[name] for name in sorted(QUESTION & described.keys())}
    prints: dict[str, str] = {}
    for spec in sorted(specs, key=lambda spec: spec.kind == ENSEMBLE):
        asked: list[object] = [spec.kind, spec.model, spec.base_url, spec.sent_params]
        asked += [spec.strategy, bool(spec.both_orders), spec.replies]
        asked += [sorted(prints[member] for member in spec.members)]
        if spec.answer != spec.asking.answer:
            asked.append(spec.answer)
        if spec.reask:
            asked.append({"reask": spec.reask})
        if spec.name in prompted:
            asked += [question, _shown(spec, prompts)]
        prints[spec.name] = _digest(asked)
    return prints


def _shown(spec: JudgeSpec, prompts: Prompts) -> list[object]:
    """Return a judge's templates and demonstrations, and whether options are shuffled."""
    names = [template_name(kind, spec.asking, spec.prompts) for kind in ELICITATIONS]
    texts = [prompts.templates[name].text for name in names if name in prompts.templates]
    drawn = prompts.demonstrations if spec.asking.n_demonstrations else None
    shown = "" if drawn is None else drawn.to_json(item_text=True).decode()
    return [texts, shown, prompts.orders is not None]


def fingerprint_of_verdicts(verdicts: Iterable[Verdict]) -> str:
    """Return a fingerprint of verdicts, for a judge whose specification is unknown."""
    rows = ([v.item, v.elicitation, v.sample, v.outcome, v.value] for v in verdicts)
    return _digest(sorted(map(json.JSONEncoder(default=str).encode, rows)))


def _digest(content: object) -> str:
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:N_DIGITS]
