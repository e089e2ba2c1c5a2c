"""Metrics and the decision on the replies of a round."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from support.look_schedules import flawed, majority, other
from support.task_folders import make_task_folder

from harness.analysis import validate
from harness.analysis.conditions import ComparedQuantity
from harness.options.concerns import Choices
from harness.revalidation.metric_changes import (
    Yardstick,
    compare_metrics,
    decision_on,
    item_scores,
)
from harness.revalidation.records import ComparedJudge
from harness.revalidation.reply_categories import Category, StreamReplies, counts_of
from harness.tasks import load_task

FIELDS = ComparedJudge.__struct_fields__
OPTIONS = (Category("answered", "A"), Category("answered", "B"), Category("invalid"))


@pytest.fixture(scope="module")
def yardstick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("yardstick") / "task"
    make_task_folder(folder, 60, response_sets=False)
    task = load_task(folder)
    return Yardstick(task, task.items, Choices(), 0)


def stream(judge, answer, n_replies, *, seed=0, invalid=0.0):
    """Replies of which a tenth is another answer, and some are invalid."""
    rng = random.Random(seed)

    def reply(i):
        if rng.random() < invalid:
            return 2
        return "AB".index(other(answer(i)) if rng.random() < 0.1 else answer(i))

    replies = tuple(tuple(reply(i) for _ in range(n_replies)) for i in range(60))
    return StreamReplies(judge, "forced_choice", OPTIONS, replies)


def test_the_decision_is_that_of_a_validation(yardstick):
    """Without the parts that a round does not need, all that it records is equal.

    The value of a judge in a round was that on the items that its baseline answered too.
    """
    streams = [stream("good", majority, 2), stream("flawed", flawed, 2, seed=1)]
    facts = decision_on(yardstick, streams, 2)
    parts = {s.judge: ([s], slice(None)) for s in streams}
    whole = validate(yardstick.source(parts, replies=2))
    assert (facts.verdict, facts.judge) == (whole.decision.verdict, whole.decision.judge)
    assert facts.metric == whole.ranking_metric
    assert [row.judge for row in facts.judges] == ["good", "flawed"]
    for row in facts.judges:
        evidence = whole.evidence_of(row.judge)
        assert row == ComparedJudge(**{name: getattr(evidence, name) for name in FIELDS})
        assert row.estimate == whole.judge(row.judge).metrics[facts.metric]


def test_a_sequence_is_in_the_unit_of_the_metric(yardstick):
    """Its value is the mean over items of what single replies differ; worse is up for a loss."""
    before = stream("judge", majority, 3, invalid=0.05)
    look = stream("judge", flawed, 1, seed=1, invalid=0.05)
    _, scorer = compare_metrics(yardstick, [before], [look])
    scores = scorer.scores(OPTIONS, "forced_choice")
    sequence = scorer.sequence(item_scores(counts_of([before, look]), scores), alpha=0.05)
    assert sequence.name == scorer.scoring.metric.name == "js_divergence(s/s)"
    losses = 1 - scores
    changes = [
        losses[i, now[0]] - sum(losses[i, k] for k in then if k < 2) / sum(k < 2 for k in then)
        for i, (then, now) in enumerate(zip(before.replies, look.replies, strict=True))
        if now[0] < 2 and any(k < 2 for k in then)
    ]
    assert sequence.difference == pytest.approx(sum(changes) / len(changes))
    assert sequence.n == len(changes) < 60
    assert 0 < sequence.difference < sequence.high
    assert sequence.low < sequence.difference


def test_watched_slices_and_ends_are_figures(yardstick):
    """A look has the number of each slice that is watched, and ends of intervals."""
    language = {item.id: "de" if i % 3 == 0 else "en" for i, item in enumerate(yardstick.items)}
    items = tuple(
        replace(item, fields=item.fields | {"language": language[item.id]})
        for item in yardstick.items
    )
    task = yardstick.task.model_copy(update={"items": items})
    watched = tuple(
        ComparedQuantity(name, end)
        for name, end in (
            ("slice(language=de).consistency", "value"),
            ("slice(language=de).consistency", "lower"),
            ("slice(language=fr).agreement", "value"),
            ("js_divergence(s/s)", "upper"),
        )
    )
    sliced = Yardstick(task, items[:45], Choices(), 0, watched=watched)
    before = stream("judge", majority, 2)
    look = stream("judge", lambda i: majority(i) if i % 3 else other(majority(i)), 2, seed=1)
    cut = [replace_replies(row, 45) for row in (before, look)]
    figures, _ = compare_metrics(sliced, [cut[0]], [cut[1]])
    value, low, unknown, upper = figures["judge"][-4:]
    assert value.name == "slice(language=de).consistency"
    assert value.n == 15
    assert value.look < 0.3 < value.baseline
    assert value.difference == pytest.approx(value.look - value.baseline)
    assert low.look < value.look
    assert (unknown.look, unknown.reason) == (None, "not_compared")
    metric = next(row for row in figures["judge"] if row.name == "js_divergence(s/s)")
    assert upper.name == "js_divergence(s/s):upper"
    assert upper.look > metric.look


def replace_replies(row, n):
    """Keep the replies to the first items."""
    return StreamReplies(row.judge, row.elicitation, row.categories, row.replies[:n])
