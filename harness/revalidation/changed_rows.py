"""Changed items for output, with ratings and, if the run keeps texts, texts and replies."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.judging.storage.verdict_log import read_log
from harness.report.html.item_table import answer_text, item_text, option_labels
from harness.revalidation.causes import setup_of
from harness.revalidation.changed_answers import answer_label
from harness.revalidation.next_occasion import occasion_path
from harness.revalidation.reply_categories import Category, category_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.revalidation.records import Look
    from harness.runs.run_folder import RunFolder
    from harness.tasks import Task


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """Changed item for output. ``text`` and ``reply`` are "" if the run does not keep them.

    ``change`` names both answers; ``before`` and ``now`` include the number of times each was
    given.
    """

    judge: str
    item: str
    change: str
    before: str
    now: str
    raters: str
    text: str
    reply: str


def changed_rows(run: RunFolder, look: Look) -> list[ChangedRow]:
    """Return the changed items of a round. Include texts and replies if the run keeps texts."""
    if not any(judge.changed_items for judge in look.judges):
        return []
    try:
        task = setup_of(run, None).task
    except HarnessError:  # the task isn't on this machine
        task = None
    labels = option_labels(task) if task else {}
    texts = task.by_id if task and run.manifest.config.item_text else {}
    ratings = _tallies(task, labels) if task else {}
    replies = _replies(run, look)
    return [
        ChangedRow(
            judge=judge.judge,
            item=row.item,
            change=f"{answer_label(row.before, labels)} to {answer_label(row.now, labels)}",
            before=_shown(row.before, row.share_before, labels),
            now=_shown(row.now, row.share_now, labels),
            raters=ratings.get((row.item, row.elicitation), ""),
            text=item_text(texts[row.item], task) if task and row.item in texts else "",
            reply=replies.get((judge.judge, row.item, row.elicitation, row.now), ""),
        )
        for judge in look.judges
        for row in judge.changed_items
    ]


def _shown(answer: Category, share: tuple[int, int], labels: Mapping[str, str]) -> str:
    return f"{answer_label(answer, labels)} ({share[0]} of {share[1]})"


def _tallies(task: Task, labels: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Return the number of raters per answer by item and elicitation, most common answers first."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for rating in task.ratings:
        answers = counts.setdefault((rating.item, rating.elicitation), Counter())
        answers[answer_text(rating.value, labels)] += 1
    return {
        key: ", ".join(f"{n} {answer}" for answer, n in answers.most_common())
        for key, answers in counts.items()
    }


def _replies(run: RunFolder, look: Look) -> dict[tuple[str, str, str, Category], str]:
    """Return a reply's text for each judge, item, elicitation and answer. Empty without a log."""
    log = occasion_path(run, look.occasion) / "verdicts.jsonl"
    if not log.exists():
        return {}
    return {
        (verdict.judge, verdict.item, verdict.elicitation, category_of(verdict)): verdict.text
        for verdict in read_log(log).final.values()
        if verdict.text and verdict.outcome != "failed"
    }
