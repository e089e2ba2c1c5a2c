"""Self-preference, the degree to which a judge favours its own system's texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict

from harness.analysis.order_bias import points
from harness.errors import RunError
from harness.stats import Estimate, Resampling
from harness.stats.data.arrays import FloatArray, ratio
from harness.stats.inference.estimate import ItemSums
from harness.stats.inference.estimate_sums import estimate_sums
from harness.stats.inference.metric import Metric, no_items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from harness.analysis import Source
    from harness.tasks import Item

RATERS = ""


class SelfPreference(BaseModel):
    """Preference of a judge for its own texts, compared with the raters' preference.

    Favour is the share of answers that prefer the system's answer (a tie counts half). If items are
    single texts, it is the share of answers that accept a positive option. Differences are averaged
    over items.

    Attributes
    ----------
    system : str
        The judge's system.
    n_own, n_others : int
        Items with a text from this system, and the other items, for comparison.
    own : Estimate
        The judge's favour for its own texts, minus the raters' favour.
    control : Estimate
        The same difference for a comparison that should show none. For single texts, these are
        other systems' texts. For pairwise items, it is the other judges' favour for the same texts.
    effect : Estimate
        ``own`` minus ``control``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    judge: str
    system: str
    n_own: int
    n_others: int
    own: Estimate
    control: Estimate
    effect: Estimate


def self_preferences(
    source: Source, systems: Mapping[str, str], *, author: str | None = None
) -> list[SelfPreference]:
    """Estimate the self-preference of judges in a finished run.

    Parameters
    ----------
    source : Source
        Forced-choice verdicts, and ratings.
    systems : mapping of str to str
        Each judge's system, by the judge's name.
    author : str, optional
        Item field with the system that wrote the text. On a pairwise scale, ``pairwise.systems``
        in task.yaml has the fields.

    Raises
    ------
    RunError
        If a judge is not in the run, its system wrote no text, or an author is unknown.
    """
    known = [judge.name for judge in source.judges]
    if unknown := [judge for judge in systems if judge not in known]:
        raise RunError(f"judge {unknown[0]!r} is not in this run. Its judges: {', '.join(known)}.")
    favours = _single_favours(source, author) if author else _pairwise_favours(source)
    return [
        (_of_single if author else _of_pairwise)(judge, system, favours, source)
        for judge, system in systems.items()
    ]


Favours = dict[str, dict[str, dict[str, float]]]  # by item, system and side


def _single_favours(source: Source, author: str) -> Favours:
    positive = frozenset(source.task.positive)
    if not positive:
        raise RunError(
            f"task {source.task.name}: no option is positive. List the positive options in the "
            "task folder's task.yaml, then run the judges on the task again. The stored replies "
            "are used."
        )

    def favour(item: Item, counts: Counter[str]) -> dict[str, float]:
        share = sum(counts[option] for option in positive) / counts.total()
        return {_system_of(item, author, source): share}

    return _favours(source, favour)


def _pairwise_favours(source: Source) -> Favours:
    pairwise = source.task.pairwise
    if pairwise is None or pairwise.systems is None:
        raise RunError(
            f"task {source.task.name}: the author of each text is unknown. Pass the field that "
            "names the author with --author or, on a pairwise scale, 'systems' under 'pairwise' "
            "in task.yaml."
        )
    first, second = pairwise.systems

    def favour(item: Item, counts: Counter[str]) -> dict[str, float]:
        balance = (counts[pairwise.first] - counts[pairwise.second]) / counts.total()
        return {
            _system_of(item, first, source): (1 + balance) / 2,
            _system_of(item, second, source): (1 - balance) / 2,
        }

    return _favours(source, favour)


def _system_of(item: Item, field: str, source: Source) -> str:
    """Return the system in a field. Without the field, an item does not belong to a system."""
    if name := item.fields.get(field, "").strip():
        return name
    raise RunError(
        f"task {source.task.name}: item {item.id!r} has no system in the field {field!r}. "
        "Add the system's name."
    )


def _favours(source: Source, favour: Callable[[Item, Counter[str]], dict[str, float]]) -> Favours:
    options = {option.key for option in source.task.options}
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for side, item_id, value in _answers(source):
        if isinstance(value, str) and value in options:
            counts[item_id, side][value] += 1
    favours: Favours = defaultdict(lambda: defaultdict(dict))
    for item in source.items:
        for side in (RATERS, *(judge.name for judge in source.judges)):
            if counted := counts.get((item.id, side)):
                for system, share in favour(item, counted).items():
                    favours[item.id][system][side] = share
    return favours


def _answers(source: Source) -> Iterable[tuple[str, str, object]]:
    yield from ((RATERS, rating.item, rating.value) for rating in source.task.ratings)
    for judge, verdicts in source.verdicts.items():
        for verdict in verdicts:
            if verdict.elicitation == "forced_choice":
                yield judge, verdict.item, verdict.value


def _of_single(judge: str, system: str, favours: Favours, source: Source) -> SelfPreference:
    rows = np.zeros((len(source.items), 4))
    for row, item in enumerate(source.items):
        for name, by_side in favours[item.id].items():
            if judge in by_side and RATERS in by_side:
                place = 0 if name == system else 2
                rows[row, place : place + 2] = by_side[judge] - by_side[RATERS], 1.0
    return _result(judge, system, rows, source)


def _of_pairwise(judge: str, system: str, favours: Favours, source: Source) -> SelfPreference:
    rows = np.zeros((len(source.items), 4))
    for row, item in enumerate(source.items):
        by_side = favours[item.id].get(system, {})
        others = [by_side[side] for side in by_side if side not in {judge, RATERS}]
        if judge in by_side and RATERS in by_side:
            rows[row, :2] = by_side[judge] - by_side[RATERS], 1.0
            if others:
                rows[row, 2:] = np.mean(others) - by_side[RATERS], 1.0
    return _result(judge, system, rows, source)


def _own(totals: FloatArray) -> FloatArray:
    return ratio(totals[..., 0], totals[..., 1])


def _control(totals: FloatArray) -> FloatArray:
    return ratio(totals[..., 2], totals[..., 3])


def _effect(totals: FloatArray) -> FloatArray:
    return np.asarray(_own(totals) - _control(totals))


METRICS = (
    Metric(name="own", value=_own, reason=no_items, bounds=(-1.0, 1.0)),
    Metric(name="control", value=_control, reason=no_items, bounds=(-1.0, 1.0)),
    Metric(name="effect", value=_effect, reason=no_items, bounds=(-2.0, 2.0)),
)


def _result(judge: str, system: str, rows: FloatArray, source: Source) -> SelfPreference:
    n_own, n_others = (int(rows[:, column].sum()) for column in (1, 3))
    if not n_own:
        raise RunError(
            f"judge {judge}: none of the items that this judge answered has a text from "
            f"{system!r}. Name the judge's own system with --own {judge}=SYSTEM."
        )
    groups: Sequence[str | None] = [item.group for item in source.items]
    resampling = Resampling(
        rng=np.random.default_rng(source.settings.seed), groups=groups if any(groups) else None
    )
    sums = ItemSums(contributions=rows, metrics=METRICS)
    estimates = estimate_sums({"": sums}, resampling=resampling)[""]
    return SelfPreference(judge=judge, system=system, n_own=n_own, n_others=n_others, **estimates)


def preference_rows(preferences: Iterable[SelfPreference]) -> list[dict[str, str]]:
    """Return a table row per judge, with shares in percentage points."""
    return [
        {
            "judge": row.judge,
            "system": row.system,
            "items": str(row.n_own),
            "favours its own": points(row.own),
            "control": points(row.control),
            "effect": points(row.effect),
        }
        for row in preferences
    ]
