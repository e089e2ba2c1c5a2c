"""Checks of ratings: raters, options and items' coverage."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from harness.curation.audit.finding import Finding, RaterFacts
from harness.files.plain_text import counted
from harness.stats.inference.estimate import share_interval
from harness.stats.raters.excess_agreement import ExcessAgreement, excess_agreement
from harness.stats.raters.rater_deviation import (
    RaterChoices,
    drift_p_values,
    rater_deviation,
    same_answer_p_values,
)
from harness.tasks import CANNOT_ASSESS
from harness.tasks.item import unit_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.tasks import Rating, Task

LEVEL = 0.05  # chance of any false flag among interchangeable raters
MIN_DIFFERENCE = 0.05  # smallest difference in agreement that is flagged
FEW_ITEMS = 30  # raters with fewer items get no t-test in the annotator test
IGNORED = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class RatedChoices:
    """A task's forced choices as integer codes, with the raters' names."""

    choices: RaterChoices
    raters: tuple[str, ...]

    @classmethod
    def of(cls, task: Task) -> RatedChoices:
        """Encode a task's forced choices. Abstentions are left out."""
        ratings = (r for r in task.ratings if r.elicitation == "forced_choice")
        rows = [r for r in ratings if r.value != CANNOT_ASSESS]
        number = {option.key: k for k, option in enumerate(task.options)}
        return cls.coded(task, rows, [number[str(r.value)] for r in rows], len(task.options))

    @classmethod
    def coded(
        cls, task: Task, ratings: Sequence[Rating], options: Sequence[int], n_options: int
    ) -> RatedChoices:
        """Number the items and raters of ratings whose options are numbered already."""
        raters = tuple(dict.fromkeys(rating.rater for rating in ratings))
        item_number = {item.id: i for i, item in enumerate(task.items)}
        rater_number = {rater: j for j, rater in enumerate(raters)}
        choices = RaterChoices(
            item=np.array([item_number[r.item] for r in ratings], dtype=np.int64),
            rater=np.array([rater_number[r.rater] for r in ratings], dtype=np.int64),
            option=np.array(options, dtype=np.int64),
            unit=np.array(unit_numbers(task.items), dtype=np.int64),
            n_raters=len(raters),
            n_options=n_options,
        )
        return cls(choices, raters)


def single_rater_items(task: Task) -> Iterator[Finding]:
    """Find items with only one rater."""
    raters: dict[str, set[str]] = defaultdict(set)
    for rating in task.ratings:
        raters[rating.item].add(rating.rater)
    items = tuple(item.id for item in task.items if len(raters[item.id]) == 1)
    if items:
        yield Finding(
            kind="single_rater_items",
            what=f"{counted([len(items)], 'item')} rated by only one person",
            why=(
                "Such items don't show how much raters disagree, or whether a judge can replace "
                "a rater."
            ),
            action="Collect a second and third rating for each of these items.",
            n=len(items),
            items=items,
        )


def option_findings(task: Task) -> Iterator[Finding]:
    """Find options that nobody chose, and labels that differ only in case or punctuation."""
    used = Counter(key for rating in task.ratings for key in rating.labels)
    unused = tuple(option.key for option in task.options if not used[option.key])
    if unused:
        yield Finding(
            kind="unused_options",
            what=f"{counted([len(unused)], 'option')} of {len(task.options)} never chosen",
            why="Judges can still choose these options, and are then always wrong.",
            action=(
                "Check whether raters could choose these options. If not, remove the options "
                "from task.yaml."
            ),
            n=len(unused),
            options=unused,
        )
    pairs = spelt_twice(task)
    if pairs:
        names = tuple(dict.fromkeys(name for pair in pairs for name in pair))
        yield Finding(
            kind="options_spelt_twice",
            what=f"{counted([len(names)], 'label')} that differ only in case or punctuation",
            why="Ratings with the same answer are split, so raters seem to disagree.",
            action="Merge each pair into one option.",
            n=len(names),
            options=names,
        )


def spelt_twice(task: Task) -> tuple[tuple[str, str], ...]:
    """Return (option key, other key or ignored label) pairs that differ in case or punctuation."""
    first: dict[str, str] = {}
    pairs = []
    labels = [(option.key, option.label) for option in task.options]
    for key, label in (*labels, *((name, name) for name in task.ignore_labels)):
        spelling = IGNORED.sub("", label.casefold()) or label
        other = first.setdefault(spelling, key)
        if other != key:
            pairs.append((other, key))
    return tuple(pairs)


def few_item_raters(task: Task) -> Iterator[Finding]:
    """Find raters with fewer than 30 items."""
    rated = dict.fromkeys((rating.rater, rating.item) for rating in task.ratings)
    n_items = Counter(rater for rater, _ in rated)
    few = tuple(rater for rater, n in n_items.items() if n < FEW_ITEMS)
    if few:
        yield Finding(
            kind="few_items_per_rater",
            what=f"{len(few)} of {counted([len(n_items)], 'rater')} rated fewer than {FEW_ITEMS} "
            "items",
            why=(
                "The annotator test has little power for such raters, and their agreement with "
                "the others is uncertain."
            ),
            action=(
                f"Assign these raters more items, at least {FEW_ITEMS}, or run the annotator test "
                f"without these raters."
            ),
            n=len(few),
            raters=few,
        )


def rater_facts(task: Task, rated: RatedChoices) -> tuple[RaterFacts, ...]:
    """Compute each rater's agreement with the others, with an interval and a permutation test."""
    choices = rated.choices
    deviation = rater_deviation(choices)
    option, p_same = same_answer_p_values(choices)
    n_ratings = np.bincount(choices.rater, minlength=choices.n_raters)
    keys = [o.key for o in task.options]
    facts = []
    for j, rater in enumerate(rated.raters):
        agreement, low, high = _or_none(deviation.agreement, j), None, None
        if agreement is not None:
            interval = share_interval(agreement, int(deviation.n_units[j]))
            low, high = interval.low, interval.high
        facts.append(
            RaterFacts(
                rater=rater,
                n_ratings=int(n_ratings[j]),
                n_items=int(deviation.n_items[j]),
                agreement=agreement,
                low=low,
                high=high,
                expected=_or_none(deviation.expected, j),
                p_adjusted=_or_none(deviation.p_adjusted, j),
                always=keys[option[j]] if option[j] >= 0 and p_same[j] <= LEVEL else "",
            )
        )
    return tuple(facts)


def _or_none(values: FloatArray, j: int) -> float | None:
    return None if np.isnan(values[j]) else float(values[j])


def rater_findings(facts: Iterable[RaterFacts]) -> Iterator[Finding]:
    """Find raters who always give one answer, or agree less than interchangeable raters would."""
    facts = tuple(facts)
    same = tuple(fact.rater for fact in facts if fact.always)
    if same:
        yield Finding(
            kind="same_answer_raters",
            what=f"{counted([len(same)], 'rater')} always chose the same option, but "
            f"interchangeable raters wouldn't (chance of any false flag: at most {LEVEL:.0%})",
            why="Such ratings carry no information about the items.",
            action="Ask whether they took the task seriously. If not, leave out their ratings.",
            n=len(same),
            raters=same,
        )
    low = tuple(fact.rater for fact in facts if is_low(fact))
    if low:
        agree = "agrees" if len(low) == 1 else "agree"
        yield Finding(
            kind="deviating_raters",
            what=f"{len(low)} of {counted([len(facts)], 'rater')} {agree} "
            "less with the others than interchangeable raters would (chance of any false flag: at "
            f"most {LEVEL:.0%})",
            why=(
                "These raters might have misread the instructions, or might notice details that "
                "the others miss."
            ),
            action=(
                "Look at some of the items together with these raters before you leave anything "
                "out."
            ),
            n=len(low),
            raters=low,
        )


def pair_findings(rated: RatedChoices, judges: Iterable[tuple[str, IntArray]]) -> Iterator[Finding]:
    """Find raters who agree unusually often with one other rater or with a judge."""
    names = rated.raters
    pairs = _significant(excess_agreement(rated.choices), 1)
    if pairs:
        yield Finding(
            kind="excess_agreement",
            what=_pairs_in_words([(names[p.first], names[p.second], p) for p in pairs]),
            why=(
                "These raters might have worked together or used the same source, and then "
                "count as one rater. They might also notice details that the others miss."
            ),
            action="Ask all raters how they rated before you leave anyone out.",
            n=len(pairs),
            raters=tuple(names[j] for p in pairs for j in (p.first, p.second)),
        )
    answers = list(judges)
    like = [
        (names[p.first], judge, p)
        for judge, options in answers
        for p in _significant(excess_agreement(rated.choices, options), len(answers))
    ]
    if like:
        yield Finding(
            kind="excess_agreement_with_judge",
            what=_pairs_in_words(like),
            why=(
                "The rater might have used the same model, or the judge might be based on these "
                "ratings. Such agreement doesn't carry over to other raters."
            ),
            action="Ask how the rater worked and the judge was made, or add another rater.",
            n=len(like),
            raters=tuple(dict.fromkeys(rater for rater, _, _ in like)),
        )


def _significant(pairs: Iterable[ExcessAgreement], n_tests: int) -> list[ExcessAgreement]:
    return [
        pair
        for pair in pairs
        if n_tests * pair.p_adjusted <= LEVEL
        and pair.agreement - pair.next_highest >= MIN_DIFFERENCE
    ]


def _pairs_in_words(pairs: Iterable[tuple[str, str, ExcessAgreement]]) -> str:
    agreements = "; ".join(
        f"{first} and {second} agree on {pair.agreement:.0%} of {pair.n_items:,} items, but with "
        f"no one else on more than {pair.next_highest:.0%}"
        for first, second, pair in pairs
    )
    return f"{agreements} (chance of any false flag: at most {LEVEL:.0%})"


def is_low(fact: RaterFacts) -> bool:
    """Return whether a rater's agreement is significantly below expectation, by at least 0.05."""
    if fact.p_adjusted is None or fact.agreement is None or fact.expected is None:
        return False
    return fact.p_adjusted <= LEVEL and fact.expected - fact.agreement >= MIN_DIFFERENCE


def rating_times(task: Task) -> dict[tuple[str, str], float]:
    """Return the time of each forced choice, in seconds since 1970, by (item, rater).

    Ratings without an ISO 8601 time in ``rated_at`` are left out.
    """
    times: dict[tuple[str, str], float] = {}
    for r in task.ratings:
        if r.elicitation == "forced_choice" and (rated_at := dict(r.provenance).get("rated_at")):
            with suppress(ValueError):
                times[r.item, r.rater] = datetime.fromisoformat(rated_at).timestamp()
    return times


def drift_findings(
    task: Task, rated: RatedChoices, times: Mapping[tuple[str, str], float]
) -> Iterator[Finding]:
    """Find raters whose agreement with the others changes over time."""
    items, raters = [item.id for item in task.items], rated.raters
    pairs = zip(rated.choices.item.tolist(), rated.choices.rater.tolist(), strict=True)
    moments = np.array([times.get((items[i], raters[j]), np.nan) for i, j in pairs])
    rho, p = drift_p_values(rated.choices, moments)
    drifting = np.flatnonzero(p <= LEVEL).tolist()
    if drifting:
        trends = ", ".join(
            f"{raters[j]} {'falls' if rho[j] < 0 else 'rises'} ({rho[j]:+.2f})" for j in drifting
        )
        yield Finding(
            kind="drifting_raters",
            what=f"{counted([len(drifting)], 'rater')} whose agreement with the others changes "
            f"over time: {trends} (correlation; chance of any false flag: at most {LEVEL:.0%})",
            why=(
                "These raters got tired, or learned the task while rating, so their early and "
                "late ratings differ."
            ),
            action="Get new ratings for the period with less agreement.",
            n=len(drifting),
            raters=tuple(raters[j] for j in drifting),
        )
