"""A task whose items are rated on the page of `harness annotate`, and the server of that page."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from support.local_pages import serving
from support.task_folders import TASK, write_jsonl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.local_pages import PageServer

    from harness.annotation import RatingSession


def make_unrated_task(folder: Path, texts: list[str]) -> Path:
    """Write a task whose items nobody has rated."""
    folder.mkdir(parents=True)
    yaml = TASK.replace("ratings: ratings.jsonl\n", "instructions: Read the comment twice.\n")
    (folder / "task.yaml").write_text(yaml, encoding="utf-8")
    write_jsonl(folder / "items.jsonl", [{"id": f"i{i}", "text": t} for i, t in enumerate(texts)])
    return folder


def answer_one(session: RatingSession, value: str | list[str]) -> None:
    """Give the same answer to every question of the screen that is shown."""
    session.answer(dict.fromkeys((step.key for step in session.current().steps), value))


@contextmanager
def page_server(task: Path, rater: str, *options: object) -> Iterator[PageServer]:
    """Run `harness annotate` until the block ends."""
    arguments = ("annotate", f"./{task.name}", "--rater", rater, *options)
    with serving(*arguments, cwd=task.parent) as server:
        yield server
