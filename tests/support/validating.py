"""Makes tasks and verdicts in memory, ready to be validated."""

from __future__ import annotations

from support.truth_tasks import make_task

from harness.analysis import JudgeFacts, Source
from harness.judging.parsing.external_verdicts import read_external
from harness.judging.parsing.verdict import Verdict
from harness.tasks import CANNOT_ASSESS, Item, Option, Rating, Task, load_task

INVALID = "(unreadable)"


def task_of(ratings, *, options=("A", "B"), items=(), **more):
    """Make a task of ``{rater: {item: value}}``; ``items`` adds fields to the items by id."""
    names = dict.fromkeys(item for rated in ratings.values() for item in rated)
    known = dict(items)
    said = {
        "name": "small",
        "property": "toxic",
        "scale": "binary" if len(options) == 2 else "nominal",
        "options": [Option(key=key) for key in options],
        "positive": tuple(options[:1]),
        "abstain": True,
        **more,
    }
    return Task(
        **said,
        items=tuple(Item(name, {"text": "secret words"}, **known.get(name, {})) for name in names),
        ratings=tuple(
            Rating(item, rater, "forced_choice", value)
            for rater, rated in ratings.items()
            for item, value in rated.items()
        ),
    )


def source_of(task, judges, *, baselines=(), **choices):
    """Make a source of ``{judge: {item: value or list of values}}``; an absent item is unasked."""
    verdicts = {
        name: [
            verdict_of(name, item, sample, value)
            for item, values in answers.items()
            for sample, value in enumerate(values if isinstance(values, list) else [values])
        ]
        for name, answers in judges.items()
    }
    return Source(
        task=task,
        items=task.items,
        judges=tuple(JudgeFacts(name=name, baseline=name in baselines) for name in judges),
        verdicts=verdicts,
        planned={name: {"forced_choice": len(given)} for name, given in verdicts.items()},
        **{"n_resamples": 200} | choices,
    )


def verdict_of(judge, item, sample, value, **more):
    """Make one forced choice: an option, CANNOT_ASSESS or `INVALID`."""
    outcome = {CANNOT_ASSESS: "abstained", INVALID: "invalid"}.get(value, "answered")
    return Verdict(
        item=item,
        judge=judge,
        elicitation="forced_choice",
        outcome=outcome,
        sample=sample,
        value=value if outcome == "answered" else None,
        **more,
    )


def truth_source(truth, name, folder, *, criterion=None, judges=None, **choices):
    """Make a source of a data set of the truth folder and its verdicts."""
    task = load_task(make_task(truth, name, folder))
    items = tuple(item for item in task.items if criterion in {None, item.criterion})
    here = {item.id for item in items}
    by_judge = {}
    for verdict in read_external(truth / "data" / name / "verdicts.csv", task):
        if verdict.item in here and (judges is None or len({*by_judge, verdict.judge}) <= judges):
            by_judge.setdefault(verdict.judge, []).append(verdict)
    return Source(
        task=task,
        items=items,
        judges=tuple(JudgeFacts(name=judge) for judge in by_judge),
        verdicts=by_judge,
        planned={judge: {"forced_choice": len(items)} for judge in by_judge},
        **{"n_resamples": 200} | choices,
    )
