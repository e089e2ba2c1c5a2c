"""Tasks, verdicts and sources of a validation, made in memory."""

from __future__ import annotations

import numpy as np
from support.task_folders import make_truth_task
from support.verdicts import verdict_from

from harness.analysis import JudgeFacts, Settings, Source
from harness.analysis.race_result import RacedJudge, RaceResult
from harness.judging.parsing.external_verdicts import read_external
from harness.judging.parsing.verdict import Verdict
from harness.options.concerns import Validating
from harness.runs.sources import source_of_verdicts
from harness.tasks import CANNOT_ASSESS, Item, Option, Rating, Task, load_task

INVALID = "(unreadable)"
EITHER = ("A", "B")


def task_of(ratings, *, options=("A", "B"), items=(), **fields):
    """Make a task of ``{rater: {item: value}}``; ``items`` adds fields to the items by id."""
    names = dict.fromkeys(item for rated in ratings.values() for item in rated)
    item_fields = dict(items)
    description = {
        "name": "small",
        "property": "toxic",
        "scale": "binary" if len(options) == 2 else "nominal",
        "options": [Option(key=key) for key in options],
        "positive": tuple(options[:1]),
        "abstain": True,
        **fields,
    }
    return Task(
        **description,
        items=tuple(
            Item(name, {"text": "secret words"}, **item_fields.get(name, {})) for name in names
        ),
        ratings=tuple(
            Rating(item, rater, "forced_choice", value)
            for rater, rated in ratings.items()
            for item, value in rated.items()
        ),
    )


def source_of(task, judges, **choices):
    """Make a source of ``{judge: {item: value or values}}``; absent items were not asked."""
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
        judges=tuple(JudgeFacts(name=name) for name in judges),
        verdicts=verdicts,
        planned={name: {"forced_choice": len(listed)} for name, listed in verdicts.items()},
        settings=Settings(**{"n_resamples": 200} | choices),
    )


def verdict_of(judge, item, sample, value, **fields):
    """Make one forced choice: an option, CANNOT_ASSESS or `INVALID`."""
    outcome = {CANNOT_ASSESS: "abstained", INVALID: "invalid"}.get(value, "answered")
    return verdict_from(
        item=item,
        judge=judge,
        elicitation="forced_choice",
        outcome=outcome,
        sample=sample,
        value=value if outcome == "answered" else None,
        **fields,
    )


def race_of(judge, others=(), **fields):
    """Return a race that one judge won on 60 items, and that dropped the others on twelve."""
    rows = [
        RacedJudge(
            judge=name,
            n_items=12,
            n_calls=12,
            n_calls_full=60,
            usd=0.01,
            usd_full=0.05,
            left_at_items=12,
            left_at_calls=480,
        )
        for name in others
    ]
    fields = {"completed": False, "n_groups": None, "over_budget": False} | fields
    return RaceResult(
        ending="unique",
        judge=judge,
        within=0.0,
        alpha=0.05,
        loss="squared",
        n_items=60,
        n_unrated=0,
        n_drawn=60,
        judges=tuple(rows),
        **fields,
    )


def coherence_as_numbers(truth, folder, choices):
    """Make a source of summeval's coherence, from 1 to 5, read as numbers."""
    bounded = {"scale": "continuous", "options": [], "bounds": [1, 5]}
    task = make_truth_task(truth, "summeval", folder, **bounded)
    verdicts = truth / "data" / "summeval" / "verdicts.csv"
    return source_of_verdicts(str(task), verdicts, Validating(criterion="coherence"), choices)


def truth_source(truth, name, folder, *, criterion=None, judges=None, **choices):
    """Make a source of a data set of the truth folder and its verdicts."""
    task = load_task(make_truth_task(truth, name, folder))
    items = tuple(item for item in task.items if criterion in {None, item.criterion})
    item_ids = {item.id for item in items}
    by_judge = {}
    for verdict in read_external(truth / "data" / name / "verdicts.csv", task):
        if verdict.item in item_ids and (
            judges is None or len({*by_judge, verdict.judge}) <= judges
        ):
            by_judge.setdefault(verdict.judge, []).append(verdict)
    return Source(
        task=task,
        items=items,
        judges=tuple(JudgeFacts(name=judge) for judge in by_judge),
        verdicts=by_judge,
        planned={judge: {"forced_choice": len(items)} for judge in by_judge},
        settings=Settings(**{"n_resamples": 200} | choices),
    )


def indeterminate_task(n=60, raters=7, *, paired=0, seed=0, **fields):
    """Make a task whose raters often find both options reasonable.

    On the first ``paired`` items raters give their response set too; judges are ranked by them
    where that is all items. A rater chooses A with
    the item's own probability, B otherwise; half of those who choose B would also accept A.
    """
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.7, 1.2, n)
    ratings = []
    for i in range(n):
        for j in range(raters):
            choice = "A" if rng.random() < chance[i] else "B"
            endorsed = EITHER if choice == "B" and rng.random() < 0.5 else (choice,)
            ratings.append(Rating(f"i{i}", f"r{j}", "forced_choice", choice))
            if i < paired:
                ratings.append(Rating(f"i{i}", f"r{j}", "response_set", endorsed))
    description = {
        "name": "small",
        "property": "whether it is toxic",
        "scale": "binary",
        "options": [Option(key="A", label="Toxic"), Option(key="B", label="Fine")],
        "positive": ("A",),
        "abstain": True,
        "sensitivity": {"B": ("A",)},
        "ranks_by": "response_set" if paired == n else "forced_choice",
        **fields,
    }
    item_fields = [{"group": f"d{i // 2}", "criterion": "ab"[i % 2]} for i in range(n)]
    items = tuple(
        Item(f"i{i}", {"text": "words"}, **fields) for i, fields in enumerate(item_fields)
    )
    return Task(**description, items=items, ratings=tuple(ratings))


def indeterminate_source(task, *, judges=("strict", "lenient", "random"), **choices):
    """Make a source of three judges of an indeterminate task.

    ``strict`` answers as most raters chose and abstains on every ninth item, ``lenient`` answers A
    where more than 15 % of the raters did, ``random`` at random.
    """
    rng = np.random.default_rng(1)
    chosen = {}
    for rating in task.ratings:
        if rating.elicitation == "forced_choice":
            chosen.setdefault(rating.item, []).append(rating.value == "A")
    verdicts = {name: [] for name in judges}
    for i, (item, votes) in enumerate(chosen.items()):
        share = float(np.mean(votes))
        for name in judges:
            cut = {"strict": 0.5, "lenient": 0.15}.get(name, rng.random())
            choice = "A" if share >= cut else "B"
            endorsed = (choice,) if name != "lenient" or choice == "B" else EITHER
            abstains = name == "strict" and i % 9 == 0
            verdicts[name] += _verdicts(name, item, choice, endorsed, abstains=abstains)
    return Source(
        task=task,
        items=task.items,
        judges=tuple(JudgeFacts(name=name) for name in judges),
        verdicts=verdicts,
        planned={
            name: {"forced_choice": len(chosen), "response_set": len(chosen)} for name in judges
        },
        settings=Settings(**{"n_resamples": 300} | choices),
    )


def _verdicts(judge, item, choice, endorsed, *, abstains):
    outcome = "abstained" if abstains else "answered"
    values = {"forced_choice": choice, "response_set": endorsed}
    return [
        Verdict(
            item=item,
            judge=judge,
            elicitation=elicitation,
            outcome=outcome,
            sample=0,
            value=None if abstains else value,
        )
        for elicitation, value in values.items()
    ]
