"""Meaning of a table's answers: user settings, options, and values read from cells."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self

from pydantic import field_validator, model_validator

from harness.errors import OptionError, TaskError
from harness.files.tables.checks import quoted, short
from harness.options.declaration import Lists, Options, Repeated, option
from harness.tasks.columns.cell_values import label_of, labels_of, nearest
from harness.tasks.item import ANSWER_KINDS, OPEN_SCALES, Scale
from harness.tasks.options import (
    CANNOT_ASSESS,
    MAX_KEY_CHARS,
    PUNCTUATION,
    keyed_labels,
    split_label,
)
from harness.tasks.schema import (
    MAX_ANSWER_CHARS,
    MAX_POWERSET_OPTIONS,
    MAX_RESPONSE_SETS,
    RaterIds,
    RaterKind,
    as_number,
    number_text,
    numeric_keys,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.files.json_values import JsonObject
    from harness.tasks.columns.answer_cells import AnswerReader
    from harness.tasks.schema import TaskFields

LINE_END = re.compile(r"\r\n?")
CellLists = Literal["ratings", "sets", "counts", "raters"]  # what a list in a cell holds
DecimalSign = Literal["comma", "point"]
OnDuplicate = Literal["reject", "last"]
ScaleSharing = Literal["shared", "own"]


class AnswerSettings(Options):
    """Settings from the user or a recipe about a table's answers. The rest is inferred."""

    panel: ClassVar[str] = "Answers"
    scale: Scale | None = option(None, "Scale of the answers.")
    options: Lists = option((), "Labels that are options, in order.")
    positive: Lists = option((), "Options that count as positive.")
    abstain: Lists = option(
        (), "Labels that mean the rater couldn't say (CANNOT_ASSESS).", rare=True
    )
    ignore: Lists = option((), "Labels to count and leave out.", rare=True)
    rename: Repeated = option(
        (), "A label, and the option that it means. Repeatable.", metavar="LABEL=OPTION"
    )
    bounds: tuple[float, float] | None = option(
        None, "Lowest and highest number of a continuous scale.", metavar="LOW,HIGH", rare=True
    )
    raters_per_item: int | None = option(
        None,
        "Number of raters per item, if columns contain shares.",
        flag="--n-raters",
        ge=1,
        rare=True,
    )
    lists: CellLists | None = option(
        None, "Meaning of a list, or of numbers by name, in a cell.", rare=True
    )
    separator: str | None = option(
        None, "Separator between the options of a response set in a cell, such as ';'.", rare=True
    )
    none: str | None = option(
        None,
        "Option for blank cells or rows of zeros, if they mean that no option applies.",
        metavar="KEY",
        rare=True,
    )
    decimal: DecimalSign | None = option(
        None, "Whether 3,5 in a cell is a number. By default, you're asked.", rare=True
    )
    on_duplicate: OnDuplicate = option(
        "reject",
        "Whether to reject repeated ratings, or to use a rater's last rating by time.",
        rare=True,
    )
    scales: ScaleSharing | None = option(
        None,
        "One task for all criteria, or one for each criterion. Default: depends on the labels.",
        rare=True,
    )

    @field_validator("separator")
    @classmethod
    def _with_line_breaks(cls, text: str | None) -> str | None:
        return (text or "").replace("\\n", "\n") or None

    @field_validator("bounds", mode="before")
    @classmethod
    def _are_ordered(cls, ends: object) -> object:
        if not isinstance(ends, list | tuple):
            return ends
        numbers = [as_number(end.strip()) if isinstance(end, str) else end for end in ends]
        match numbers:
            case [int() | float() as low, int() | float() as high] if low < high:
                return numbers
        raise ValueError("write LOW,HIGH such as 0,100")

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.bounds is not None and self.scale != "continuous":
            raise OptionError(
                "bounds", "this option works only with {scale} continuous", "Add that option"
            )
        return self

    @model_validator(mode="after")
    def _give_one_meaning(self) -> Self:
        """Reject a label that was given two meanings."""
        said = [("options", label, "") for label in self.options]
        said += [("ignore", label, "") for label in self.ignore]
        said += [("abstain", label, "") for label in self.abstain]
        said += [("rename", label, option_.casefold()) for label, option_ in self._renamed()]
        meanings: dict[str, tuple[str, str]] = {}
        for name, label, meaning in said:
            if label.casefold() == meaning:  # another case of the option
                continue
            before = meanings.setdefault(label.casefold(), (name, meaning))
            if before != (name, meaning):
                problem = f"this label is also in {{{before[0]}}}"
                raise OptionError(
                    name, problem, "Use the label in only one of the two", found=label
                )
        return self

    def meanings(self) -> dict[str, str]:
        """Map labels, in lower case, to a meaning other than the option with the label's name."""
        meanings = {label.casefold(): label for label in self.ignore}
        meanings |= dict.fromkeys((label.casefold() for label in self.abstain), CANNOT_ASSESS)
        meanings |= {label.casefold(): option_ for label, option_ in self._renamed()}
        return meanings

    def _renamed(self) -> list[tuple[str, str]]:
        """Return each alternative name for an option, and the option."""
        pairs = []
        for pair in self.rename:
            label, sign, option_ = (part.strip() for part in pair.rpartition("="))
            if not label or not sign or not option_:
                raise TaskError(f"--rename: found {pair!r}. Write it as label=option.")
            pairs.append((label, option_))
        return pairs

    def check_labels(self, cells: AnswerReader) -> None:
        """Reject labels that were given a meaning but don't occur in the table.

        Raises
        ------
        TaskError
            If such a label exists (the message lists similar labels), or if an alternative name
            doesn't belong to any option.
        """
        where, renamed = str(cells.table.path), self._renamed()
        named = {
            "--ignore": self.ignore,
            "--abstain": self.abstain,
            "--rename": tuple(label for label, _ in renamed),
        }
        check_labels(named, cells, where, self.scale)
        options = {*self.options, *_option_keys(self.options)}
        options |= {word for part in keyed_labels(self.options).values() for word in part}
        meanings = {text.casefold() for text in (*options, *self.ignore, CANNOT_ASSESS)}
        for _, meaning in renamed if self.options else ():
            if meaning.casefold() not in meanings:
                names = ", ".join(self.options)
                raise TaskError(f"{where}: --rename: {meaning!r} isn't one of {names}.")

    @property
    def is_whole(self) -> bool:
        """Whether both scale and options are set, so that nothing must be inferred."""
        named = [label.casefold() for label in self.options]
        whole = len(set(named)) == len(named) > 1 and self.scale not in {None, *OPEN_SCALES}
        return whole and bool(self.positive or self.scale != "binary")


def check_labels(
    named: Mapping[str, Iterable[str]], cells: AnswerReader, where: str, scale: Scale | None
) -> None:
    """Reject a label that was given a meaning but isn't an answer in the table.

    Parameters
    ----------
    named : mapping of str to iterable of str
        Labels, by the option that names them, such as ``--ignore``.
    cells : AnswerReader
        The table's cells.
    where : str
        Subject of errors.
    scale : str or None
        Scale of the answers, if known.

    Raises
    ------
    TaskError
        With the most similar labels in the table.
    """
    if not any(named.values()):
        return
    labels = {label.casefold(): label for label in sorted(cells.labels(whole=scale == "text"))}
    for place, names in named.items():
        if absent := [name for name in names if name.casefold() not in labels]:
            near = "" if scale == "text" else nearest(absent[0], labels.values())
            listed = f". The most similar labels are {near}" if near else ""
            raise TaskError(
                f"{where}: {place}: no answer in the table is {short(absent[0])}{listed}",
                "Correct the label, or remove it.",
            )


class RatedOptions(Options):
    """Options for the rated property and the raters, as in ``task.yaml``."""

    panel: ClassVar[str] = "Answers"
    property: str = option("", "The rated property, as a phrase for judges.")
    rater_ids: RaterIds | None = option(
        None,
        "Whether a rater's name identifies a person, or only a position within the item.",
        rare=True,
    )
    kind: RaterKind | None = option(
        None, "Kind of raters, which sets eps to 0.2, 0.15 or 0.1, respectively.", rare=True
    )


class LabelReading(NamedTuple):
    """The answer that a cell contains.

    Attributes
    ----------
    elicitation : str
        Elicitation in the table. By default, ``response_set`` for a list and ``forced_choice`` for
        other cells.
    value : str or tuple of str
        An option key, a number, a text, ``CANNOT_ASSESS`` or a label that the task ignores; option
        keys of a response set.
    problem : str
        Reason if the cell doesn't contain an answer, else "".
    """

    elicitation: str
    value: str | tuple[str, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAnswers:
    """A task's options, the labels that a table uses for them, and a reader for its cells.

    Attributes
    ----------
    keys : mapping of str to str
        Meaning of each label in lower case: the key of an option, ``CANNOT_ASSESS``, or itself if
        the task ignores it.
    labels : mapping of str to str
        Maps each option's key, in order, to the text that people read.
    positive : tuple of str
        Keys of the positive options.
    abstain : bool
        Whether ``CANNOT_ASSESS`` is an answer.
    ignore : tuple of str
        Labels to count and leave out.
    bounds : (float, float) or None
        Bounds of a continuous scale.
    """

    scale: Scale
    keys: Mapping[str, str]
    labels: Mapping[str, str]
    positive: tuple[str, ...]
    abstain: bool
    ignore: tuple[str, ...]
    bounds: tuple[float, float] | None = None

    @classmethod
    def of(cls, settings: AnswerSettings, where: str, *, abstain: bool) -> Self:
        """Return the answers that settings define. ``abstain`` if the table contains CANNOT_ASSESS.

        Raises
        ------
        TaskError
            If a positive label is not an option.
        """
        assert settings.scale is not None, "given or guessed"
        if keyed := keyed_labels(settings.options):
            labels = {part.key: part.label for part in keyed.values()}
            keys = {name.casefold(): part.key for name, part in keyed.items()}
            keys |= {label.casefold(): key for key, label in labels.items()}
        else:
            labels = dict(zip(_option_keys(settings.options), settings.options, strict=True))
            keys = {label.casefold(): key for key, label in labels.items()}
        positive = _positive_keys(settings.positive, labels, keys, where)
        keys |= {key.casefold(): key for key in labels}
        meanings = settings.meanings()
        excluded = {*settings.ignore, CANNOT_ASSESS}
        others: dict[str, str] = {}
        for label, meaning in meanings.items():
            is_answer = meaning in excluded or settings.scale in OPEN_SCALES
            if key := meaning if is_answer else keys.get(meaning.casefold()):
                others[label] = key
        return cls(
            scale=settings.scale,
            keys=keys | others,
            labels=labels,
            positive=positive,
            abstain=abstain or CANNOT_ASSESS in meanings.values(),
            ignore=tuple(label for label in settings.ignore if label not in labels),
            bounds=settings.bounds,
        )

    def with_others(self, labels: Mapping[str, str]) -> Self:
        """Return the same answers with additional labels for some options."""
        others = {other.casefold(): self.keys[label.casefold()] for other, label in labels.items()}
        return replace(self, keys={**self.keys, **others})

    @classmethod
    def of_task(cls, task: TaskFields, rename: Mapping[str, str]) -> Self:
        """Return an existing task's answers. ``rename`` maps the table's other names to options.

        Checking the ratings also checks whether the task allows CANNOT_ASSESS, numbers or sets.
        """
        keys = {label.casefold(): label for label in (*task.ignore_labels, CANNOT_ASSESS)}
        keys |= {option.label.casefold(): option.key for option in task.options}
        keys |= {option.key.casefold(): option.key for option in task.options}
        keys |= {label.casefold(): key for label, key in rename.items()}
        return cls(
            scale=task.scale,
            keys=keys,
            labels={option.key: option.label for option in task.options},
            positive=task.positive,
            abstain=True,
            ignore=task.ignore_labels,
        )

    def fields(self) -> JsonObject:
        """Return the equivalent fields of ``task.yaml``."""
        options = [
            {"key": key} | ({"label": label} if label != key else {})
            for key, label in self.labels.items()
        ]
        said = {
            "scale": self.scale,
            "bounds": self.bounds and [int(n) if n.is_integer() else n for n in self.bounds],
            "options": options,
            "positive": list(self.positive),
            "abstain": self.abstain,
            "ignore_labels": list(self.ignore),
        }
        return {name: value for name, value in said.items() if value not in (None, [])}

    def listed_sets(self, given: Iterable[tuple[str, ...]]) -> list[list[str]]:
        """Return the response sets to list for a task with many options.

        The list contains the sets that occur and each single option, with the smallest sets first.
        It is empty if all sets are possible, or if there are no sets or too many.
        """
        place = {key: i for i, key in enumerate(self.labels)}
        sets = {tuple(sorted(place[key] for key in s)) for s in given if place.keys() >= {*s}}
        if len(place) <= MAX_POWERSET_OPTIONS or not sets:
            return []
        sets |= {(i,) for i in range(len(place))}
        keys = tuple(place)
        listed = [[keys[i] for i in members] for members in sorted(sets, key=lambda s: (len(s), s))]
        return listed if len(listed) <= MAX_RESPONSE_SETS else []

    def read(self, text: str, elicitation: str = "") -> LabelReading:
        """Read a cell. ``elicitation`` is the row's elicitation, or "" if the table has none."""
        labels, is_list = self._labels(text)
        elicitation = elicitation or ("response_set" if is_list else "forced_choice")
        if elicitation not in ANSWER_KINDS:
            return _of_no_kind(elicitation)
        if not labels:
            return LabelReading(elicitation, "", "the label is empty")
        keys = [self.key(label) for label in labels]
        named = tuple(key for key in keys if key is not None)
        if None in keys:
            unknown = labels[keys.index(None)]
            return LabelReading(elicitation, "", f"{quoted('label', unknown)} is not an option")
        problem = ""
        if len(set(named)) < len(named):
            problem = "a label occurs twice"
        elif CANNOT_ASSESS in named and len(named) > 1:
            problem = f"{CANNOT_ASSESS} is combined with other labels"
        elif elicitation == "forced_choice" and len(named) > 1:
            problem = "found several labels instead of one"
        elif elicitation == "response_set" and self.scale in OPEN_SCALES:
            problem = f"a {self.scale} scale has no response sets"
        elif self.scale == "text" and len(named[0]) > MAX_ANSWER_CHARS:
            problem = f"the text has {len(named[0])} characters. Write at most {MAX_ANSWER_CHARS}"
        return LabelReading(elicitation, "" if problem else _value(named, elicitation), problem)

    def read_verdict(self, text: str, elicitation: str = "") -> LabelReading:
        """Read a judge's cell. Labels that aren't options are kept, so they can be counted."""
        labels, is_list = self._labels(text)
        elicitation = elicitation or ("response_set" if is_list else "forced_choice")
        if elicitation not in ANSWER_KINDS:
            return _of_no_kind(elicitation)
        named = tuple(dict.fromkeys(self.key(label) or label for label in labels))
        return LabelReading(elicitation, _value(named, elicitation) if named else "")

    def key(self, label: str) -> str | None:
        """Return the meaning of a label, or None if it isn't an answer.

        On a continuous scale, each number is its own meaning. On an ordinal scale, 0.50 means the
        option 0.5. On a text scale, each label is its own meaning.
        """
        if self.abstain and label == CANNOT_ASSESS:
            return label
        key = self.keys.get(label.casefold())
        if key is not None or self.scale == "text":
            return key or label
        if part := split_label(label):
            written = self.labels.get(part.key, "").casefold()
            return part.key if written in {part.label.casefold(), part.key.casefold()} else None
        number = as_number(label)
        if number is None or self.scale not in {"continuous", "ordinal"}:
            return None
        if self.scale == "ordinal":
            return numeric_keys(self.labels).get(number)
        low, high = self.bounds or (-inf, inf)
        return number_text(number) if low <= number <= high else None

    def _labels(self, text: str) -> tuple[tuple[str, ...], bool]:
        """Return the labels in a cell, and whether they form a list.

        On a text scale, a cell is one label.
        """
        if self.scale != "text":
            return labels_of(text)
        label = label_of(text)
        stands_for_another = label == CANNOT_ASSESS or label.casefold() in self.keys
        whole = label if stands_for_another else LINE_END.sub("\n", text.strip())
        return ((whole,) if whole else ()), False


def _positive_keys(
    positive: Sequence[str], labels: Mapping[str, str], keys: Mapping[str, str], where: str
) -> tuple[str, ...]:
    if unknown := [label for label in positive if label.casefold() not in keys]:
        names = ", ".join(labels.values())
        raise TaskError(f"{where}: --positive: {unknown[0]!r} isn't one of {names}.")
    return tuple(keys[label.casefold()] for label in positive)


def _option_keys(names: Sequence[str]) -> list[str]:
    """Return a key for each label: the label itself if it is a valid key."""
    keys: list[str] = []
    for name in names:
        plain = re.sub(f"[{re.escape(PUNCTUATION)}]+", " ", name)
        plain = " ".join("".join(c if c.isprintable() else " " for c in plain).split())
        key = plain[:MAX_KEY_CHARS].strip() or "option"
        number = 2
        while key.casefold() in {k.casefold() for k in keys}:
            key, number = f"{key[: MAX_KEY_CHARS - 4]} {number}", number + 1
        keys.append(key)
    return keys


def _of_no_kind(elicitation: str) -> LabelReading:
    problem = f"{quoted('elicitation', elicitation)} is not one of {', '.join(ANSWER_KINDS)}"
    return LabelReading(elicitation, "", problem)


def _value(named: tuple[str, ...], elicitation: str) -> str | tuple[str, ...]:
    is_one = elicitation == "forced_choice" or CANNOT_ASSESS in named
    return named[0] if is_one else named
