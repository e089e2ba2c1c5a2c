"""Repairs of a task that lose no rating, and the new version that holds them."""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from harness.curation.audit.finding import Fix, Left, Version
from harness.curation.audit.rating_checks import spelt_twice
from harness.curation.convert import VERDICTS
from harness.curation.new_folder import new_folder
from harness.curation.task_export import verdicts_of
from harness.files import write_file
from harness.report.formatting import counted
from harness.tasks import CHANGELOG, load_task, record_change
from harness.tasks.tables import parse_json, read_rows
from harness.tasks.tables.writer import csv_text
from harness.tasks.write import write_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.curation.audit.finding import Audit, Kind
    from harness.tasks import Option, Rating, Task


Names: TypeAlias = "dict[str, str]"
MIN_OPTIONS = 2
BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=[^\W\d_])")
DECIDE_YOURSELF = {
    "unused_options": "you know whether raters were offered them",
    "same_answer_raters": "leaving raters out is your decision",
    "deviating_raters": "leaving raters out is your decision",
    "excess_agreement": "leaving raters out is your decision",
    "excess_agreement_with_judge": "leaving raters out is your decision",
    "drifting_raters": "leaving raters out is your decision",
    "suspected_rating_errors": "raters or judges may be right; another rating decides",
    "secrets_or_personal_data": "verdicts rest on the texts as they are",
}
MORE_RATINGS = "more ratings are needed"


@dataclass(slots=True)
class Repair:
    """A task while it is repaired."""

    task: Task
    fixes: list[Fix] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    items: Names = field(default_factory=dict)  # ids that were merged, and what they became
    options: Names = field(default_factory=dict)  # keys, likewise

    def replace(self, task: Task, kind: Kind, what: str, n: int) -> None:
        """Go on with another task."""
        before, after = self.task.content_hash, task.content_hash
        self.fixes.append(Fix(kind=kind, what=what, n=n, before=before, after=after))
        self.task = task

    def leave(self, kind: Kind, reason: str) -> None:
        """Record what is not repaired."""
        self.left.append(Left(kind=kind, reason=reason))


def repair(task: Task, audit: Audit) -> Repair:
    """Repair what loses no rating and needs no decision.

    Identical items are merged where no rater rated both; items that share their text otherwise,
    or nearly, become a group, unless they are in groups that differ. Labels that differ by
    letter case, spaces, hyphens or underscores between words are merged.
    """
    result = Repair(task)
    clusters = {finding.kind: finding.clusters for finding in audit.findings}
    exact, near = clusters.get("duplicate_items", ()), clusters.get("near_duplicate_items", ())
    if exact:
        _merge_items(result, exact)
    if exact or near:
        _group(result, exact, near)
    if "options_spelt_twice" in clusters:
        _restore_ignored(result)
        _merge_options(result)
    for finding in audit.findings:
        if finding.kind in DECIDE_YOURSELF:
            result.leave(finding.kind, DECIDE_YOURSELF[finding.kind])
        elif not (finding.clusters or finding.kind == "options_spelt_twice"):
            result.leave(finding.kind, MORE_RATINGS)
    return result


def _merge_items(result: Repair, clusters: Sequence[Sequence[str]]) -> None:
    """Merge items with the same fields, group and criterion where no rater rated both."""
    task = result.task
    raters: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for rating in (*task.ratings, *task.ignored):
        raters[rating.item].add((rating.rater, rating.elicitation))
    combined = task.alt_test is not None and bool(task.alt_test.combine)
    for cluster in () if combined else clusters:
        kept: list[str] = []
        for item in cluster:
            same = (k for k in kept if _alike(task, k, item) and not raters[k] & raters[item])
            if (first := next(same, None)) is None:
                kept.append(item)
            else:
                result.items[item] = first
                raters[first] |= raters[item]
    n = len(result.items)
    if n:
        what = f"{counted([n])} merged into an identical item that other raters rated"
        result.replace(_with_items_merged(task, result.items), "duplicate_items", what, n)
    if n_left := sum(len(cluster) - 1 for cluster in clusters) - n:
        reason = "a rater rated both, or fields, letter case or punctuation differ"
        result.leave("duplicate_items", f"{counted([n_left])}: {reason}")


def _alike(task: Task, first: str, second: str) -> bool:
    a, b = task.by_id[first], task.by_id[second]
    return (a.fields, a.group, a.criterion) == (b.fields, b.group, b.criterion)


def _with_items_merged(task: Task, merged: Mapping[str, str]) -> Task:
    def renamed(ratings: Sequence[Rating]) -> tuple[Rating, ...]:
        return tuple(replace(r, item=merged.get(r.item, r.item)) for r in ratings)

    items = tuple(item for item in task.items if item.id not in merged)
    ratings, ignored = renamed(task.ratings), renamed(task.ignored)
    return task.model_copy(update={"items": items, "ratings": ratings, "ignored": ignored})


def _group(result: Repair, exact: Sequence[Sequence[str]], near: Sequence[Sequence[str]]) -> None:
    """Give items that share a text a group of their own, so that they are resampled together."""
    task = result.task
    taken = {item.group for item in task.items}
    group_of: Names = {}
    n_apart = n_clusters = 0
    for cluster in _joined_clusters(exact, near):
        members = [item for item in cluster if item not in result.items]
        groups = {task.by_id[item].group for item in members}
        if len(members) == 1 or (len(groups) == 1 and None not in groups):
            continue
        if groups != {None}:
            n_apart += 1
            continue
        name = members[0] if members[0] not in taken else f"{members[0]} and duplicates"
        group_of |= dict.fromkeys(members, name)
        n_clusters += 1
    if group_of:
        what = f"{counted([len(group_of)])} with the same or nearly the same text put into "
        what += counted([n_clusters], "group")
        result.replace(_with_groups(task, group_of), "near_duplicate_items", what, len(group_of))
    if n_apart:
        clusters = counted([n_apart], "cluster")
        result.leave("duplicates_across_groups", f"{clusters} in groups that differ")


def _joined_clusters(
    exact: Sequence[Sequence[str]], near: Sequence[Sequence[str]]
) -> Iterator[list[str]]:
    """Yield clusters of equal texts, and of nearly equal ones with all items of each text."""
    equal = {cluster[0]: cluster for cluster in exact}
    for cluster in near:
        yield [item for first in cluster for item in equal.pop(first, (first,))]
    yield from map(list, equal.values())


def _with_groups(task: Task, group_of: Mapping[str, str]) -> Task:
    items = tuple(replace(i, group=group_of.get(i.id, i.group)) for i in task.items)
    return task.model_copy(update={"items": items})


def _restore_ignored(result: Repair) -> None:
    """Count ratings whose label is an option in another spelling, instead of ignoring them."""
    task = result.task
    keys = {spelling: option.key for option in task.options for spelling in _spellings(option)}
    labels = {name: keys[_spelling(name)] for name in task.ignore_labels if _spelling(name) in keys}
    restored = {id(r): labels[r.value] for r in task.ignored if r.value in labels}
    if not restored:
        return
    ratings = [replace(r, value=restored[id(r)]) for r in task.ignored if id(r) in restored]
    ignored = tuple(r for r in task.ignored if id(r) not in restored)
    still = {label for r in ignored for label in r.labels}
    update = {
        "ratings": (*task.ratings, *ratings),
        "ignored": ignored,
        "ignore_labels": tuple(x for x in task.ignore_labels if x not in labels or x in still),
    }
    what = f"{counted([len(ratings)], 'rating')} counted whose label is an option spelt otherwise"
    result.replace(task.model_copy(update=update), "options_spelt_twice", what, len(ratings))


def _spelling(name: str) -> str:
    """Return a label without letter case and without what separates its words."""
    return BETWEEN_LETTERS.sub(" ", name.casefold().strip())


def _spellings(option: Option) -> set[str]:
    return {_spelling(option.key), _spelling(option.label)}


def _merge_options(result: Repair) -> None:
    """Merge options of a nominal scale that differ by spelling alone."""
    task = result.task
    options = {option.key: option for option in task.options}
    pairs = [pair for pair in spelt_twice(task) if pair[0] in options and pair[1] in options]
    merged: Names = {}
    for first, second in pairs:
        alike = _spellings(options[first]) & _spellings(options[second])
        same_side = (first in task.positive) == (second in task.positive)
        if alike and same_side and first not in merged:
            merged[second] = first
    if merged and _may_merge(task, len(merged)):
        result.options = merged
        what = f"{counted([len(merged)], 'option')} merged into the same one spelt otherwise"
        new = _with_options_merged(task, merged)
        result.replace(new, "options_spelt_twice", what, len(merged))
    if n_left := len(pairs) - len(result.options):
        reason = f"{counted([n_left], 'pair')} that may differ in meaning, or that task.yaml uses"
        result.leave("options_spelt_twice", reason)


def _may_merge(task: Task, n_merged: int) -> bool:
    """Whether the scale has no order, and no other field names options."""
    gold = task.alt_test and task.alt_test.gold
    uses = (task.weights, task.lexicon, task.sensitivity, gold, task.response_sets != "all")
    is_nominal = task.scale == "nominal"
    return is_nominal and not any(uses) and len(task.options) - n_merged >= MIN_OPTIONS


def _with_options_merged(task: Task, merged: Names) -> Task:
    options = tuple(option for option in task.options if option.key not in merged)

    def value(rating: Rating) -> str | tuple[str, ...]:
        if isinstance(rating.value, str):
            return merged.get(rating.value, rating.value)
        endorsed = {merged.get(key, key) for key in rating.value}
        return tuple(option.key for option in options if option.key in endorsed)

    ratings = tuple(replace(r, value=value(r)) for r in task.ratings)
    positive = tuple(key for key in task.positive if key not in merged)
    return task.model_copy(update={"options": options, "positive": positive, "ratings": ratings})


def write_repaired(task: Task, audit: Audit, folder: Path | None = None) -> Version:
    """Write a task with its safe findings repaired as a new version; see `repair`.

    Ratings keep when and how they were made, and ``verdicts.csv`` follows merged items and
    options. The changelog goes on with a line per repair.

    Parameters
    ----------
    folder : Path, optional
        Must not exist yet; by default the next free ``NAME-2``, ``NAME-3`` in the current folder.

    Raises
    ------
    TaskError
        If the folder exists or cannot be written.
    """
    result = repair(task, audit)
    fixes, left = tuple(result.fixes), tuple(result.left)
    if not fixes:
        return Version(folder=None, fixes=(), left=left)
    target = folder or next_version(task.name)
    with new_folder(target) as part:
        _write(task, result, part)
    return Version(folder=str(target), fixes=fixes, left=left)


def next_version(name: str) -> Path:
    """Return the first of ``NAME-2``, ``NAME-3``, ... that does not exist here."""
    return next(path for n in count(2) if not (path := Path(f"{name}-{n}")).exists())


def _write(task: Task, result: Repair, folder: Path) -> None:
    write_version(result.task, task, folder)
    verdicts = verdicts_of(task)
    if verdicts:
        write_file(folder / VERDICTS, _verdicts(verdicts, result).encode())
    changelog = task.folder / CHANGELOG
    if changelog.exists():
        shutil.copyfile(changelog, folder / CHANGELOG)
    for fix in result.fixes:
        record_change(folder, f"audit: {fix.what}", before=fix.before, after=fix.after)
    load_task(folder)


def _verdicts(path: Path, result: Repair) -> str:
    """Return a table of verdicts whose items and options are those of the repaired task."""
    rows = [row for _, row in read_rows(path)]
    own = {_key(row) for row in rows if row["item"] not in result.items}
    kept = []
    for row in rows:
        renamed = row | {"item": result.items.get(row["item"], row["item"])}
        if row["item"] in result.items and _key(renamed) in own:
            continue
        own.add(_key(renamed))
        kept.append(renamed | {"value": _value(row["value"], result.options)})
    return csv_text(kept, list(rows[0]))


def _key(row: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(row.get(name) for name in ("item", "judge", "elicitation", "sample"))


def _value(text: str, merged: Names) -> str:
    """Return a verdict in the options' new spelling; what is no list of options stays as it is."""
    if not (merged and text.startswith("[")):
        return merged.get(text, text)
    try:
        members = parse_json(text)
    except ValueError:
        return text
    keys = [merged.get(key, key) for key in members if isinstance(key, str)]
    return json.dumps(list(dict.fromkeys(keys)), ensure_ascii=False) if keys else text
