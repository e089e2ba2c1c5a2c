"""Checks of response sets, identical raters, labels and answers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from harness.curation.audit.finding import Finding
from harness.curation.audit.rating_checks import LEVEL, RatedChoices
from harness.files.plain_text import counted
from harness.stats.raters.rater_deviation import same_answer_p_values
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from harness.curation.audit.finding import FindingKind
    from harness.tasks import Rating, Task

MIN_SHARED = 30  # fewest items on which raters' answers are compared
MIN_WORD = 4  # fewest letters in a label; many shorter ones differ by a letter
RARE = 0.05  # largest share of ratings for a label that can be a typo
NO_ANSWERS = frozenset(
    {
        *("asd", "asdf", "asdfg", "qwe", "qwer", "qwerty", "zxcv", "hjkl", "jkl"),
        *("test", "foo", "bar", "blah", "xxx", "lorem ipsum"),
    }
)
NO_LETTERS = re.compile(r"[\W_]*|(\w)\1\1+")


def set_findings(task: Task) -> Iterator[Finding]:
    """Find choices outside the rater's own set, and raters whose sets are all of one kind."""
    yield from _choices_outside(task)
    if task.rater_ids == "real":
        n_options = len(task.options)
        yield from _always(
            task,
            "sets_of_everything",
            lambda members: len(members) == n_options,
            what="accepted all options on every item",
            action="Ask whether these raters read the items. If not, leave out their ratings.",
        )
        yield from _always(
            task,
            "sets_of_one_option",
            lambda members: len(members) == 1,
            what="accepted a single option on every item",
            action=(
                "Ask whether these raters thought they could accept only one option. If so, "
                "have them rate again."
            ),
        )


def _choices_outside(task: Task) -> Iterator[Finding]:
    sets = {
        (r.item, r.rater): r.value
        for r in task.ratings
        if r.elicitation == "response_set" and not isinstance(r.value, str)
    }
    outside = [
        rating
        for rating in task.ratings
        if rating.elicitation == "forced_choice"
        and rating.value != CANNOT_ASSESS
        and rating.value not in sets.get((rating.item, rating.rater), (rating.value,))
    ]
    if outside:
        n_pairs = sum(
            r.elicitation == "forced_choice" and (r.item, r.rater) in sets for r in task.ratings
        )
        yield Finding(
            kind="choice_outside_set",
            what=f"{counted([len(outside)], 'choice')} outside the rater's own set, among "
            f"{counted([n_pairs], 'pair')}",
            why=(
                "The choice and the set contradict each other, so the pair doesn't count for F "
                "and beta."
            ),
            action="Get new ratings for the items. Ask each rater first for the response set, then "
            "for a choice from this set.",
            n=len(outside),
            items=tuple(dict.fromkeys(rating.item for rating in outside)),
            raters=tuple(dict.fromkeys(rating.rater for rating in outside)),
        )


def _always(
    task: Task,
    kind: FindingKind,
    matches: Callable[[tuple[str, ...]], bool],
    *,
    what: str,
    action: str,
) -> Iterator[Finding]:
    """Find raters all of whose sets match a kind, which is unlikely for interchangeable raters."""
    rows = [
        r for r in task.ratings if r.elicitation == "response_set" and not isinstance(r.value, str)
    ]
    rated = RatedChoices.coded(task, rows, [int(matches(r.labels)) for r in rows], 2)
    if not rated.raters:
        return
    option, p = same_answer_p_values(rated.choices)
    always = tuple(rated.raters[j] for j in np.flatnonzero((option == 1) & (p <= LEVEL)).tolist())
    if always:
        yield Finding(
            kind=kind,
            what=f"{counted([len(always)], 'rater')} {what}, but interchangeable raters wouldn't "
            f"(chance of any false flag: at most {LEVEL:.0%})",
            why="Such sets don't show which options are reasonable.",
            action=action,
            n=len(always),
            raters=always,
        )


def identical_raters(task: Task) -> Iterator[Finding]:
    """Find raters who rated the same items, at least 30, and gave the same answers to all."""
    answers: dict[str, dict[tuple[str, str], str | tuple[str, ...]]] = defaultdict(dict)
    for r in task.ratings:
        answers[r.rater][r.item, r.elicitation] = r.value
    alike: dict[frozenset[object], list[str]] = defaultdict(list)
    for rater, given in answers.items():
        items = {item for item, _ in given}
        if len(items) >= MIN_SHARED and len(set(given.values())) > 1:
            alike[frozenset(given.items())].append(rater)
    groups = [raters for raters in alike.values() if len(raters) > 1]
    if groups:
        pairs = [pair for raters in groups for pair in pairwise(raters)]
        names = "; ".join(" and ".join(raters) for raters in groups)
        yield Finding(
            kind="identical_raters",
            what=f"the same answers to all their shared items ({MIN_SHARED} or more): {names}",
            why="One column could be a copy of the other, and a copy counts as a second rater.",
            action="Compare these columns with the original table. Leave out copies.",
            n=len(pairs),
            raters=tuple(name for pair in pairs for name in pair),
        )


def label_findings(task: Task) -> Iterator[Finding]:
    """Find rare labels that are one letter away from another label, and answers without content.

    On a text scale, the labels are the raters' texts.
    """
    ratings = (*task.ratings, *task.ignored)
    used = Counter(key for rating in ratings for key in rating.labels)
    n_rare = RARE * len(ratings)
    names = {option.key: option.label for option in task.options}
    names |= {label: label for label in task.ignore_labels}
    if task.scale == "text":
        names |= {text: text for text in used if text != CANNOT_ASSESS}
    known = {} if task.is_open else names
    words = [(key, name.casefold()) for key, name in known.items() if len(name) >= MIN_WORD]
    slips = [
        (key, other)
        for i, (key, word) in enumerate(words)
        for other, second in words[i + 1 :]
        if _one_letter_apart(word, second) and 0 < min(used[key], used[other]) <= n_rare
    ]
    if slips:
        labels = tuple(dict.fromkeys(key for pair in slips for key in pair))
        yield Finding(
            kind="labels_one_letter_apart",
            what=(
                f"{counted([len(labels)], 'label')} that differ by one letter, and one of the "
                "two is rare: "
            )
            + "; ".join(f"{first} and {second}" for first, second in slips),
            why="One label could be a typo of the other, which makes raters appear to disagree.",
            action="Check the ratings with the rare label. If the label is a typo, rename it to "
            "the other label.",
            n=len(labels),
            options=labels,
        )
    empty = tuple(
        key for key, name in names.items() if 0 < used[key] <= n_rare and _is_no_answer(name)
    )
    if empty:
        n = sum(used[key] for key in empty)
        yield Finding(
            kind="answers_without_content",
            what=f"{counted([n], 'rating')} whose answer has no content: {', '.join(empty)}",
            why=(
                "Raters probably typed such answers to get to the next item, and could have "
                "rated other items that way too."
            ),
            action=(
                "List these answers under 'ignore_labels', and check the other answers from "
                "these raters."
            ),
            n=n,
            raters=_raters_of(ratings, set(empty)),
            options=empty,
        )


def _raters_of(ratings: Sequence[Rating], labels: set[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(r.rater for r in ratings if labels.intersection(r.labels)))


def _one_letter_apart(first: str, second: str) -> bool:
    """Return whether texts differ by one wrong, missing or swapped letter after the first."""
    short, long = sorted((first, second), key=len)
    if len(long) - len(short) > 1 or short == long or short[0] != long[0]:
        return False
    start = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), None)
    if start is None:
        return long[-1].isalpha()
    rest, other = short[start:], long[start:]
    if len(short) < len(long):
        return rest == other[1:] and other[0].isalpha()
    is_swapped = rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return is_swapped or (rest[1:] == other[1:] and rest[0].isalpha() and other[0].isalpha())


def _is_no_answer(name: str) -> bool:
    """Return whether an answer has no letters or digits, repeats one, or is a filler like asdf."""
    text = name.strip().casefold()
    return text in NO_ANSWERS or NO_LETTERS.fullmatch(text) is not None
