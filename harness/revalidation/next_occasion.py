"""Find the occasion for a round's requests: a recent unfinished one, or a new one.

An occasion represents one moment of a judge. Its replies are received within `MAX_SPAN`, which is
shorter than the time until a daily round is due again, and its date is that of its newest reply. An
interrupted round continues its occasion only within that time. A round that received all of its
replies is recorded at any time, with their date.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple

from harness.errors import RunError
from harness.files.plain_text import counted
from harness.files.regular_files import read_file
from harness.revalidation.schedule import MAX_AHEAD
from harness.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

FOLDER = "looks"
MAX_SPAN = timedelta(hours=20)  # maximum time span of an occasion's replies

Unusable = Literal["finished", "interrupted", "ahead", "unreadable"]
WHY: Mapping[Unusable, str] = {
    "interrupted": (
        "The round that began on {date} was interrupted. Its replies stay in {folder} and are too "
        "old to continue with."
    ),
    "ahead": (
        "{folder} is dated {date}, which is ahead of this machine's clock, so the age of its "
        "replies is unknown."
    ),
    "unreadable": "{folder} has replies but no readable manifest.json, so their age is unknown.",
}
LOST = (
    "Warning: history.jsonl doesn't list {looks} of this run (newest: {folder}, {date}). The file "
    "was deleted, cut short or replaced, so an earlier alarm is forgotten. Restore the file "
    "if you can."
)
AGAIN = "This round sends all of its requests again."


@dataclass(frozen=True, slots=True)
class NextOccasion:
    """Occasion for the next round's requests.

    Attributes
    ----------
    number : int
        Number from 1; part of each request's key.
    is_late : bool
        Whether its replies were received, or its batches handed in, longer than `MAX_SPAN` ago.
    is_complete : bool
        Whether it is late but has all of its replies, so that they are recorded and nothing is
        sent.
    began : str
        Time at which its folder was created, if it is late; else "".
    passed_over : tuple of str
        Sentences about the folders of earlier occasions that no round can use.
    lost : str
        Sentence about rounds that have a folder but aren't in the history; "" if there are none.
    """

    number: int
    is_late: bool = False
    is_complete: bool = False
    began: str = ""
    passed_over: tuple[str, ...] = ()
    lost: str = ""


def next_occasion(run: RunFolder, first: int) -> NextOccasion:
    """Return a run's next occasion.

    Parameters
    ----------
    run : RunFolder
        The run, or an exported baseline.
    first : int
        The first number that its history doesn't use.
    """
    unusable: list[tuple[Unusable, str, str]] = []
    number = first
    while (begun := _begun(occasion_path(run, number))).why is not None:
        unusable.append((begun.why, f"{FOLDER}/{number:04d}", begun.date))
        number += 1
    passed_over = tuple(_sentences(unusable))
    return NextOccasion(
        number, begun.is_late, begun.is_complete, begun.date, passed_over, _lost(unusable)
    )


def occasion_path(run: RunFolder, occasion: int) -> Path:
    """Return an occasion's folder."""
    return run.path / FOLDER / f"{occasion:04d}"


def is_within_span(at: str) -> bool:
    """Return whether a time is within the last `MAX_SPAN`, by this machine's clock."""
    return -MAX_AHEAD <= datetime.now(UTC) - datetime.fromisoformat(at) <= MAX_SPAN


class _Begun(NamedTuple):
    """State of an earlier round's folder. ``why`` says why it cannot be used, or is None."""

    why: Unusable | None = None
    date: str = ""
    is_late: bool = False
    is_complete: bool = False


def _begun(path: Path) -> _Begun:
    """Return the state of an occasion's folder. It is empty if the folder was never used."""
    try:
        folder = RunFolder.open(path)
        created = folder.manifest.created
        is_recent = is_within_span(created)
    except (RunError, ValueError, TypeError):
        return _Begun("unreadable" if (path / "verdicts.jsonl").exists() else None)
    state, date = folder.manifest.state, created[:10]
    if state == "done":
        return _Begun("finished", date)
    if is_recent:
        return _Begun()
    if datetime.fromisoformat(created) > datetime.now(UTC):
        return _Begun("ahead", date)
    if state == "asked" or _waits_for_batches(folder):
        return _Begun(date=created, is_late=True, is_complete=state == "asked")
    return _Begun("interrupted", date)


def _waits_for_batches(folder: RunFolder) -> bool:
    """Return whether some submitted batches' replies were not collected."""
    with suppress(OSError):
        return read_file(folder.batches).strip() not in {b"", b"[]"}
    return False


def _sentences(unusable: Sequence[tuple[Unusable, str, str]]) -> Iterator[str]:
    """Yield a sentence for each unfinished round's folder that cannot be used."""
    for why, folder, date in unusable:
        if why != "finished":
            yield f"{WHY[why].format(folder=folder, date=date)} {AGAIN}"


def _lost(unusable: Sequence[tuple[Unusable, str, str]]) -> str:
    """Return a sentence about finished rounds' folders, or "" if there are none."""
    lost = [(folder, date) for why, folder, date in unusable if why == "finished"]
    if not lost:
        return ""
    folder, date = lost[-1]
    looks = counted([len(lost)], "round")
    return f"{LOST.format(looks=looks, folder=folder, date=date)} {AGAIN}"
