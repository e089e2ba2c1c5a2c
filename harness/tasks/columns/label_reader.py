"""Reading the label or labels in a cell as an answer of a task."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from harness.tasks.columns.cell_values import label_of, labels_of
from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.schema import MAX_ANSWER_CHARS, as_number, number_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.tasks.schema import Scale

LINE_END = re.compile(r"\r\n?")
SHOWN_CHARS = 80


class LabelReading(NamedTuple):
    """What a cell says.

    Attributes
    ----------
    elicitation : str
        As the table says, else ``response_set`` for a list and ``forced_choice`` for other cells.
    value : str or tuple of str
        An option key, a number, a text, ``CANNOT_ASSESS`` or a label that the task ignores; option
        keys of a response set.
    problem : str
        Why it is no answer; "" if it is one.
    """

    elicitation: str
    value: str | tuple[str, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LabelReader:
    """Reads cells as answers of a task.

    Attributes
    ----------
    scale : str
        Of the task.
    keys : mapping of str to str
        What each label, in lower case, stands for: the key of an option, ``CANNOT_ASSESS``, or
        itself where the task ignores it.
    abstain : bool
        Whether ``CANNOT_ASSESS`` is an answer.
    bounds : (float, float) or None
        Least and greatest number of a continuous scale.
    numbers : mapping of float to str
        The key of each option that is a number, on an ordinal scale.
    """

    scale: Scale
    keys: Mapping[str, str]
    abstain: bool = False
    bounds: tuple[float, float] | None = None
    numbers: Mapping[float, str] = field(default_factory=dict)

    def read(self, text: str, elicitation: str = "") -> LabelReading:
        """Read a cell; ``elicitation`` is what the table says of it."""
        labels, is_list = self._labels(text)
        elicitation = elicitation or ("response_set" if is_list else "forced_choice")
        if not labels:
            return LabelReading(elicitation, "", "the label is empty")
        keys = [self.key(label) for label in labels]
        named = tuple(key for key in keys if key is not None)
        if None in keys:
            unknown = labels[keys.index(None)][:SHOWN_CHARS]
            return LabelReading(elicitation, "", f"label {unknown!r} is not an option")
        problem = ""
        if len(set(named)) < len(named):
            problem = "a label is named twice"
        elif CANNOT_ASSESS in named and len(named) > 1:
            problem = f"{CANNOT_ASSESS} stands beside other labels"
        elif elicitation == "forced_choice" and len(named) > 1:
            problem = "several labels where one was asked for"
        elif self.scale == "text" and len(named[0]) > MAX_ANSWER_CHARS:
            problem = f"the text has {len(named[0])} characters; at most {MAX_ANSWER_CHARS}"
        return LabelReading(elicitation, "" if problem else _value(named, elicitation), problem)

    def read_verdict(self, text: str, elicitation: str = "") -> LabelReading:
        """Read the cell of a judge; a label that is not an option stays as it is, to be counted."""
        labels, is_list = self._labels(text)
        elicitation = elicitation or ("response_set" if is_list else "forced_choice")
        named = tuple(dict.fromkeys(self.key(label) or label for label in labels))
        return LabelReading(elicitation, _value(named, elicitation) if named else "")

    def key(self, label: str) -> str | None:
        """Return what a label stands for; None where it is no answer.

        On a continuous scale, a number stands for itself; on a text scale, any label.
        """
        if self.abstain and label == CANNOT_ASSESS:
            return label
        key = self.keys.get(label.casefold())
        if key is not None or self.scale == "text":
            return key or label
        number = as_number(label) if self.numbers or self.scale == "continuous" else None
        if number is None or self.scale != "continuous":
            return self.numbers.get(number) if number is not None else None
        low, high = self.bounds or (-inf, inf)
        return number_text(number) if low <= number <= high else None

    def _labels(self, text: str) -> tuple[tuple[str, ...], bool]:
        """Return the labels in a cell, and whether they are a list; a text is one, as it stands."""
        if self.scale != "text":
            return labels_of(text)
        label = label_of(text)
        stands_for_another = label == CANNOT_ASSESS or label.casefold() in self.keys
        whole = label if stands_for_another else LINE_END.sub("\n", text.strip())
        return ((whole,) if whole else ()), False


def _value(named: tuple[str, ...], elicitation: str) -> str | tuple[str, ...]:
    is_one = elicitation == "forced_choice" or CANNOT_ASSESS in named
    return named[0] if is_one else named
