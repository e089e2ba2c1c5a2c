"""A row per rating: item, rater and rating by what depends on what."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

from harness.curation.column_facts import (
    FEW_LABELS,
    KEY,
    LOOKED_AT,
    MOST,
    ends_in_id,
)
from harness.curation.rater_names import is_model, who_are
from harness.curation.role_draft import RoleDraft, names_of
from harness.plain_text import visible
from harness.tasks.columns import column_words
from harness.tasks.columns.cell_values import (
    is_iso_time,
)
from harness.tasks.columns.column_words import contains_word, parts, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.tasks.columns.table_columns import Column

MAX_KEYS = 4  # columns that together name an item
MANY_CRITERIA = 20
MOST_RATERS = 0.6  # of the rows: a rater rates two items or so
NO_RATERS = (column_words.MARGINS - {"number", "n", "num"}) | column_words.CRITERIA
RATER_MARKS = column_words.PEOPLE | {"w", "r", "worker"}
ITEM_MARKS = column_words.ITEMS | {"d", "q", "doc", "text", "comment", "post", "story"}


class LongRoles(RoleDraft):
    """Finds item, rater and ratings of a table with a row per item and rater."""

    def _long(self, *, required: bool = False) -> bool:
        """Find item, rater and rating of a table with a row per item and rater."""
        free = self._free()
        if "elicitation" in free:
            self._set(elicitation="elicitation")
        items = [self.mapping.id] if self.mapping.id else self._item_keys()
        best = None
        for item in items:
            raters = [self.mapping.rater] if self.mapping.rater else self._rater_columns(item)
            found = [(item, rater) for rater in raters if rater not in item]
            if found and best is None:
                best = found
        if not best and not self.mapping.id:
            best = self._named_item(self.mapping.rater)
        if not best:
            return False
        if not required and not self._ratings(*best[0]) and not self._agreed(best[0][1]):
            return False
        if not self.mapping.rater:
            best = self._unambiguous(best)
        item, rater = best[0]
        self._set(
            id=item, rater=rater, criterion=self.mapping.criterion or self._criterion(item, rater)
        )
        self._label_roles()
        return True

    def _agreed(self, rater: str) -> bool:
        """Whether a table whose raters always agree says by names who rated and how."""
        labels = [
            n
            for n in self._free()
            if self.facts.called(n, column_words.LABELS) and self.facts.is_labels(n) and n != rater
        ]
        return self._favours("", rater) >= 1 and len(labels) == 1

    def _numbered_people(self) -> set[str]:
        """Return the columns called after raters by number, which hold their ratings."""
        named = [n for n in self._free() if self.facts.called(n, column_words.PEOPLE)]
        stems = [stem(n) for n in named if any(part.isdecimal() for part in parts(n))]
        return {n for n in named if stems.count(stem(n)) > 1}

    def _item_keys(self) -> list[tuple[str, ...]]:
        """Return what may name the items of rows that repeat them, the best first.

        A column that fixes all texts is the item; without one, the text that repeats.
        """
        people = self._numbered_people()
        free = [n for n in self._free() if n not in people]
        facts = self.facts
        repeated = [n for n in free if 1 < self.table.n_distinct((n,)) <= 0.95 * self.table.n_rows]
        texts = [n for n in repeated if facts.is_prose(n) and facts.is_filled(n)]
        names = [
            n
            for n in repeated
            if facts.is_name(n) and not self._is_measure(n) and not facts.called(n, NO_RATERS)
        ]
        fixing = {n: {t for t in texts if facts.fixes(n, t)} for n in names}
        most = max(map(len, fixing.values()), default=0)
        if most:
            best = [n for n in names if len(fixing[n]) == most]
            fewest = min(self.table.n_distinct((n,)) for n in best)
            best = [n for n in best if self.table.n_distinct((n,)) <= 1.01 * fewest]
            best.sort(key=lambda n: not facts.called(n, column_words.ITEMS))
            unfixed = [t for t in texts if t not in fixing[best[0]]]
            finer = [t for t in unfixed if all(facts.fixes(t, other) for other in fixing[best[0]])]
            keys = [(n,) for n in best]
            return [*keys, *((t,) for t in finer)]
        if texts:
            finest = [t for t in texts if all(t == o or facts.fixes(t, o) for o in texts)]
            if finest:
                return [(finest[0],)]
            return [tuple(texts[:MAX_KEYS])] if len(texts) <= MAX_KEYS else []
        return [(n,) for n in sorted(names, key=lambda n: not facts.called(n, column_words.ITEMS))]

    def _named_item(self, rater: str) -> list[tuple[tuple[str, ...], str]]:
        """Return an item of several columns, or of a rater that the user or its column names."""
        free = self._free()
        if not rater:
            known = [n for n in free if self.facts.is_name(n) and self._favours("", n) >= 1]
            if len(known) != 1:
                return []
            rater = known[0]
        names = [
            n
            for n in free
            if n != rater
            and self.facts.is_name(n)
            and not self.facts.called(n, column_words.LABELS)
        ]
        keys = [
            n for n in names if self.facts.keys(n, rater) >= MOST and not self.facts.is_labels(n)
        ]
        keys.sort(key=lambda n: not self.facts.called(n, column_words.ITEMS))
        if keys and self.mapping.rater:
            return [((keys[0],), rater)]
        repeated = self.table.n_distinct(names) < KEY * self.table.n_rows if names else False
        joint = self._joint(names, (rater,)) if repeated else ()
        return [(joint, rater)] if joint else []

    def _joint(self, names: Sequence[str], within: tuple[str, ...]) -> tuple[str, ...]:
        """Return columns that only together name an item, those called after items first."""
        named = sorted(names, key=lambda n: not self.facts.called(n, column_words.ITEMS))
        chosen = named[:1]
        while chosen and len(chosen) < MAX_KEYS:
            rest = [name for name in named if name not in chosen]
            if not rest:
                break
            best = max(rest, key=lambda name: self.table.n_distinct((*chosen, name, *within)))
            chosen.append(best)
            if self.table.distinct_share((*chosen, *within)) >= KEY:
                return tuple(chosen)
        return ()

    def _is_measure(self, name: str) -> bool:
        words = column_words.MEASURES | column_words.LABELS
        return self.facts.called(name, words) and not ends_in_id(name)

    def _rater_columns(self, item: tuple[str, ...]) -> list[str]:
        """Return the columns that with the item tell rows apart and recur with other items."""
        found = []
        people = self._numbered_people()
        for name in self._free():
            if (
                name in item
                or name in people
                or not self.facts.is_name(name)
                or self._is_measure(name)
            ):
                continue
            if self.facts.called(name, NO_RATERS):
                continue
            if self.facts.called(name, column_words.TEXTS) and not ends_in_id(name):
                continue
            n_values = self.table.n_distinct((name,))
            crowd = self.facts.called(name, column_words.RATERS)  # may rate one item each
            most = self.table.n_rows if crowd else MOST_RATERS * self.table.n_rows
            recurs = 1 < n_values <= most
            fixed = self.table.determines(item, name)
            share = self._key_share(item, name)
            if recurs and not fixed and share >= MOST and not self._shares_labels(name):
                found.append((share < KEY, not self._is_rater_named(name), name))
        exact = [entry for entry in found if not entry[0]] or found
        if not exact:
            return []
        named = [name for _, unnamed, name in exact if not unnamed]
        first = named or [name for *_, name in exact]
        worded = [name for name in first if not self.facts.is_numbers(name)]
        return worded or first

    def _key_share(self, item: tuple[str, ...], name: str) -> float:
        within = tuple(filter(None, (self.mapping.criterion, self.mapping.elicitation)))
        share = self.facts.keys(*item, name, *within)
        if share >= KEY or within:
            return share
        criterion = self._criterion(item, name)
        return self.facts.keys(*item, name, criterion) if criterion else share

    def _shares_labels(self, name: str) -> bool:
        """Whether another column holds values of this one, as columns of ratings do."""
        values = set(self.facts[name].values)
        others = (n for n in self.table.columns if n != name and self.facts.is_labels(n))
        return not self._is_rater_named(name) and any(
            not values.isdisjoint(self.facts.labels(other)) for other in others
        )

    def _criterion(self, item: tuple[str, ...], rater: str) -> str:
        """Return the column of what is rated: with item and rater it tells rows apart."""
        for name in self._free():
            column = self.facts[name]
            if name in {*item, rater} or not 1 < len(column.values) <= MANY_CRITERIA:
                continue
            if not self.facts.called(name, column_words.CRITERIA) or not self.facts.is_filled(name):
                continue
            if self.facts.keys(*item, rater, name) >= MOST:
                return name
        return ""

    def _ratings(self, item: tuple[str, ...], rater: str) -> list[str]:
        """Return the columns that differ between raters and between items, and may be ratings."""
        facts = self.facts
        within = tuple(filter(None, [self._criterion(item, rater)]))
        found = [
            n
            for n in self._free()
            if n not in {*item, rater, *within}
            and (facts.is_labels(n) or facts.is_list(n))
            and (not facts.is_prose(n) or self._repeats_often(n))
            and len(facts.labels(n)) > 1
            and not (facts.called(n, column_words.ITEMS) and ends_in_id(n))
            and not is_model(n)
            and not self.table.determines((*item, *within), n)
            and not self.table.determines((rater,), n)
        ]
        clear = [
            n for n in found if not facts.called(n, column_words.MARGINS - column_words.MEASURES)
        ]
        return clear or found

    def _repeats_often(self, name: str) -> bool:
        """Whether long values are labels all the same: few, each of them often used."""
        column = self.facts[name]
        return 3 * len(column.values) <= column.n_filled and len(column.values) <= FEW_LABELS // 2

    def _unambiguous(
        self, best: list[tuple[tuple[str, ...], str]]
    ) -> list[tuple[tuple[str, ...], str]]:
        """Ask which column is the item and which the rater, unless values or names say so."""
        item, rater = best[0]
        if len(best) > 1:
            names = names_of([rater for _, rater in best])
            self._ask(f"{names} may each name the rater: give --rater")
        if len(item) > 1 or self.facts.is_prose(item[0]):
            return best
        texts = [t for t in self.table.columns if self.facts.is_prose(t)]
        depends = any(
            self.facts.fixes(item[0], t) and not self.facts.fixes(rater, t) for t in texts
        )
        reverse = any(
            self.facts.fixes(rater, t) and not self.facts.fixes(item[0], t) for t in texts
        )
        if depends and not reverse:
            return best
        straight = self._favours(item[0], rater)
        swapped = self._favours(rater, item[0])
        if straight >= 1 and not swapped:
            return best
        if swapped >= 1 and not straight:
            return [((rater,), item[0])]
        self._ask(
            f"{item[0]} and {rater}: one names the item, the other the rater, and values do not "
            "say which: give --id and --rater",
            {"id": (rater,), "rater": item[0]}
            if straight >= swapped
            else {"id": item, "rater": rater},
        )
        return best if straight >= swapped else [((rater,), item[0])]

    def _favours(self, item: str, rater: str) -> float:
        """Return how much names of columns and forms of values say for an item and its rater."""
        facts = self.facts
        strong = facts.called(rater, column_words.RATERS)
        weak = facts.called(rater, column_words.WEAK_RATERS)
        marked = _are_marked(facts[rater], RATER_MARKS)
        if not item:
            return 1.0 * strong + 0.5 * weak + 0.5 * marked
        named = facts.called(item, column_words.ITEMS) and not facts.called(
            item, column_words.RATERS
        )
        marked = marked and not _are_marked(facts[item], RATER_MARKS)
        of_items = _are_marked(facts[item], ITEM_MARKS) and not _are_marked(
            facts[rater], ITEM_MARKS
        )
        return 1.0 * strong + 0.5 * weak + 0.5 * named + 0.5 * marked + 0.5 * of_items

    def _label_roles(self) -> None:
        """Find the rating, or the ratings, of a row, unless the user named them."""
        mapping = self.mapping
        if mapping.label or mapping.set or mapping.criteria or mapping.sets:
            return
        facts = self.facts
        within = tuple(filter(None, [mapping.criterion]))
        found = self._ratings(mapping.id, mapping.rater)
        models = [n for n in found if who_are([n])[n] == "model"]
        found = [n for n in found if n not in models]
        lists = [n for n in found if facts.is_list(n)]
        single = [n for n in found if n not in lists]
        measures = [
            n for n in single if facts.called(n, column_words.MARGINS | column_words.SUMMARIES)
        ]
        if len(lists) == 1 and len(single) <= 1:
            self._set(set=lists[0], label=single[0] if single else "")
            if single and not facts.alike([lists[0]], single[0]):
                self._ask(
                    f"{names_of([*single, *lists])}: give --label and --set if they are a choice "
                    "and a response set of one rater, or --label alone",
                    {"set": ""},
                )
        elif len(single) == 1 and not lists:
            self._set(label=single[0])
            if measures:
                self._ask(f"{single[0]} may be no rating: give --label")
        elif single and not lists:
            self._several_ratings(single, measures)
        elif found:
            self._ask(f"{names_of(found)} may each be a rating: give --label or --criteria")
            self._set(label=found[0])
        else:
            self._no_ratings(within)
        self._agreed_ratings()

    def _agreed_ratings(self) -> None:
        """Ask about columns of labels that are called after ratings, or alike, but never differ."""
        mapping, facts = self.mapping, self.facts
        chosen = [n for n in (mapping.label, *mapping.criteria) if n and facts.is_labels(n)]
        known = column_words.SUMMARIES | column_words.GROUPS | column_words.METADATA | {"age"}
        alike = [
            n
            for n in self._free()
            if chosen
            and facts.is_labels(n)
            and n in facts.alike([n], chosen[0])
            and not facts.called(n, known | column_words.ITEMS)
            and not is_model(n)
        ]
        if alike:
            every = (*chosen, *alike)
            option = "--criteria" if len(chosen) > 1 else "--label"
            verb = "holds" if len(alike) == 1 else "hold"
            self._ask(
                f"{names_of(alike)} {verb} the labels of {names_of(chosen)} but no rating that "
                f"differs between raters: give --criteria {quote(','.join(every))} if it is one, "
                f"or {option} {quote(','.join(chosen))} if not",
                {"label": "", "criteria": every},
            )

    def _several_ratings(self, names: list[str], measures: list[str]) -> None:
        """Read several columns of labels as criteria, or ask."""
        facts = self.facts
        rest = [n for n in names if n not in measures] or names
        alike = all(name in facts.alike(names, names[0]) for name in names)
        ticks = all(
            set(map(str.casefold, facts.labels(n))) <= {"0", "1", "true", "false"} for n in names
        )
        opaque = any(n in facts.opaque for n in names)
        labelled = [n for n in rest if facts.called(n, column_words.LABELS)]
        if len(rest) == 1 or (len(labelled) == 1 and not alike):
            self._set(label=(labelled or rest)[0])
        elif ticks:
            self._set(sets=tuple(names))
        else:
            self._set(criteria=tuple(rest))
        if not (measures or opaque or ticks) and not labelled:
            return
        listed = quote(",".join(names))
        choices = [
            f"--label {quote(rest[0])} if that alone is the rating",
            f"--criteria {listed} if each is a criterion",
        ]
        if ticks:
            choices.append(f"--sets {listed} if each says whether an option is in a response set")
        readings: list[dict[str, Any]] = [
            {"label": rest[0]},
            {"criteria": tuple(names)},
            {"criteria": tuple(rest)},
        ]
        readings += [{"sets": tuple(names)}] if ticks else []
        empty: dict[str, Any] = {"label": "", "criteria": (), "sets": ()}
        others = [
            empty | reading
            for reading in readings
            if any(getattr(self.mapping, role) != value for role, value in reading.items())
        ]
        self._ask(f"{names_of(names)} differ between raters: give {', or '.join(choices)}", *others)

    def _no_ratings(self, within: tuple[str, ...]) -> None:
        mapping, facts = self.mapping, self.facts
        scores = [
            n
            for n in self._free()
            if n not in within
            and facts.is_numbers(n)
            and not facts.called(n, column_words.MARGINS)
            and not self.table.determines(mapping.id, n)
        ]
        named = [
            n
            for n in self._free()
            if facts.called(n, column_words.LABELS) and not facts.is_prose(n)
        ]
        if scores and not named:
            named = scores
        if len(named) == 1:
            agreed = self._agreed(mapping.rater)
            self._set(label=named[0])
            if named[0] not in scores and not agreed:
                self._ask(f"{named[0]} does not differ between raters: give --label")

    # A column per rater

    def _judges_of_long(self) -> None:
        """Find the models among the raters, and columns of models beside them."""
        if "judges" in self.fixed:
            return
        mapping = self.mapping
        raters = self.facts[mapping.rater].values
        people = contains_word(mapping.rater, column_words.PEOPLE) or not any(
            not column_words.MODEL_MARKS.isdisjoint(parts(name)) for name in raters[:LOOKED_AT]
        )
        who = who_are(raters, people=people)
        models = [name for name in raters if who[name] == "model"]
        unclear = [name for name in raters if who[name] == "unclear"]
        if len(models) == len(raters):
            text = f"every name in {mapping.rater!r} is called after a model"
            self._ask(f"{text}: give --judges with those that are, or --judges none")
            models = []
        elif unclear:
            remedy = f"give --judges {quote(','.join(models) or 'none')} if they are people"
            text = f"{names_of(unclear)} in {mapping.rater!r} may be people or models: {remedy}"
            self._ask(visible(f"{text}, or --judges with the models among them"))
        labels = [n for n in (mapping.label, *mapping.criteria, mapping.set) if n]
        columns = [n for n in self._free() if self.facts.is_labels(n) and is_model(n)]
        similar = {n for label in labels for n in self.facts.alike(columns, label)}
        self._set(judges=(*models, *(n for n in columns if n in similar)))

    def _time(self) -> str:
        """Return the only column of times (ISO 8601) that differ between the ratings of an item."""
        times = [
            n
            for n in self._free()
            if self.facts.all_values(n, is_iso_time)
            and not self.table.determines(self.mapping.id, n)
        ]
        return times[0] if len(times) == 1 else ""


def _are_marked(column: Column, marks: frozenset[str]) -> bool:
    """Whether most values begin with one of some words before a number, or are e-mail addresses."""
    values = column.values[:LOOKED_AT]
    words = [parts(value) for value in values]
    marked = [bool(of) and of[0] in marks and len(of) > 1 for of in words]
    addressed = ["@" in value for value in values] if "annotator" in marks else [False]
    return sum(marked) > 0.5 * len(values) or sum(addressed) > 0.5 * len(values)
