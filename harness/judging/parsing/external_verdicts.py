"""Reader for verdicts in files: tables (csv, jsonl, parquet) or verdict logs.

A table needs ``item``, ``judge`` and ``value``. By default, ``elicitation`` is a forced choice and
``sample`` is 0. ``outcome`` is read if the value is empty. Other columns are ignored. Values are
matched exactly: a value that is not one of the task's options counts as an invalid verdict.

Judges that return numbers can have a column ``score`` instead of ``value``, and ``better`` can
specify whether ``higher`` or ``lower`` scores are better. Numbers in ``value`` that mostly are not
options are scores, too.
"""

from __future__ import annotations

from collections import Counter
from math import isfinite
from shlex import quote
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import asdict, replace

from harness.errors import VerdictError
from harness.files.tables import parse_json, read_rows
from harness.judging.parsing.grammar import OUTCOMES, Parsed
from harness.judging.parsing.open_answers import parse_open
from harness.judging.parsing.verdict import (
    MAX_NAME_CHARS,
    PairValue,
    Value,
    Verdict,
    decode,
    log_lines,
    max_judges,
    newest,
)
from harness.judging.strategies.scores import has_order, ordered_options
from harness.tasks import CANNOT_ASSESS
from harness.tasks.answer_rules import AnswerRules, BadAnswerError
from harness.tasks.item import ELICITATIONS, Elicitation
from harness.tasks.schema import number_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from harness.files.tables import Row
    from harness.stats.scores.score_map import ScoreDirection
    from harness.tasks import Task
    from harness.tasks.item import HumanElicitation

LOG_OPENING = b'{"schema_version"'
MAX_SAMPLE_DIGITS = 9
NOT_AN_OPTION = Parsed("invalid", reason="not_an_option")
NO_NAMES: Mapping[str, str] = MappingProxyType({})
UnitOfJudge = tuple[str, str, Elicitation, int]  # item, judge, elicitation, sample
SCORE = "score"  # the column used instead of ``value`` for real numbers
DIRECTIONS: dict[object, ScoreDirection] = {"higher": "higher", "lower": "lower"}


class ExternalVerdicts(NamedTuple):
    """Verdicts in a file, with the score direction of each judge that returns scores.

    Attributes
    ----------
    verdicts : list of Verdict
        One per unit, in the file's order. The value of a score is the number as text.
    scores : dict of str to {"higher", "lower", "found"}
        Which scores are better, by judge that returns scores.
    by_value : frozenset of str
        Judges whose scores are in the column ``value``.
    """

    verdicts: list[Verdict]
    scores: dict[str, ScoreDirection]
    by_value: frozenset[str] = frozenset()


NO_VERDICTS = ExternalVerdicts([], {})


def read_external(path: Path, task: Task) -> list[Verdict]:
    """Read verdicts as `read_verdicts` does, and return only the verdicts."""
    return read_verdicts(path, task).verdicts


def read_verdicts(path: Path, task: Task) -> ExternalVerdicts:
    """Read verdicts on a task's items from a file.

    Parameters
    ----------
    path : Path
        A table that ends in ``.csv``, ``.jsonl`` or ``.parquet``, or a run's ``verdicts.jsonl``.
    task : Task
        Task with the items and options.

    Returns
    -------
    ExternalVerdicts
        All verdicts, except that a verdict log counts only with each unit's newest success.

    Raises
    ------
    VerdictError
        If the file cannot be read, names an unknown item, or names a unit twice. The message names
        file, line and item.
    """
    if _is_log(path):
        try:
            return ExternalVerdicts(_read_log(path, task), {})
        except OSError as error:
            raise VerdictError(f"{path}: cannot be read ({error.strerror}).") from None
    rules = _Rules(task)
    verdicts: dict[UnitOfJudge, Verdict] = {}
    numbers: dict[UnitOfJudge, str] = {}
    for line, row in read_rows(path, required=("item", "judge"), error=VerdictError):
        where = f"{path}: line {line}"
        if "value" not in row and SCORE not in row:
            raise VerdictError(f"{where}: column 'value' is missing. Add it, or 'score'.")
        verdict = rules.read_row(row, where)
        unit = (verdict.item, verdict.judge, verdict.elicitation, verdict.sample)
        if unit in verdicts:
            raise VerdictError(
                f"{where}: item {verdict.item!r}: judge {verdict.judge!r} has already rated this "
                f"item (sample {verdict.sample}). Number repeated verdicts in a column 'sample'."
            )
        verdicts[unit] = verdict
        if verdict.reason == NOT_AN_OPTION.reason and is_number(row["value"]):
            numbers[unit] = number_or_none(row["value"]) or ""
    found = score_judges(task, verdicts.values(), numbers, rules.scores)
    for unit, verdict in verdicts.items():
        value = numbers.get(unit, verdict.value if verdict.outcome == "answered" else None)
        if verdict.judge in found and value:
            verdicts[unit] = replace(verdict, outcome="answered", value=value, reason="")
    scores = rules.scores | dict.fromkeys(sorted(found), "found")
    return ExternalVerdicts(list(verdicts.values()), scores, frozenset(found))


def score_judges(
    task: Task,
    verdicts: Iterable[Verdict],
    numbers: Mapping[UnitOfJudge, str],
    known: Collection[str] = (),
) -> set[str]:
    """Return the judges that return scores: numbers that mostly are not the task's options.

    Parameters
    ----------
    task : Task
        The task. Only ordered options can be compared with scores.
    verdicts : iterable of Verdict
        The verdicts, read as options.
    numbers : mapping of UnitOfJudge to str
        Values that are numbers but not options; "" for a number that is not finite.
    known : collection of str
        Judges that are known to return scores.
    """
    if not any(numbers.values()) or task.is_open or not has_order(task):
        return set()
    n_numbers = Counter(judge for (_, judge, _, _), number in numbers.items() if number)
    n_options: Counter[str] = Counter()
    others = set(known)
    for verdict in verdicts:
        is_option = verdict.outcome == "answered" and number_or_none(verdict.value) is not None
        n_options[verdict.judge] += is_option
        unit = (verdict.item, verdict.judge, verdict.elicitation, verdict.sample)
        is_other = verdict.outcome == "answered" and not is_option
        if is_other or (verdict.reason == NOT_AN_OPTION.reason and unit not in numbers):
            others.add(verdict.judge)
    return {judge for judge, n in n_numbers.items() if n >= n_options[judge]} - others


def is_number(value: object) -> bool:
    """Return whether a cell is a number, such as 0.3, "0.3" or a failed grader's "nan"."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        float(value)
    except (ValueError, OverflowError):
        return False
    return True


def number_or_none(value: object) -> str | None:
    """Return a finite number as text, or None for any other value."""
    if not isinstance(value, int | float | str) or not is_number(value):
        return None
    number = float(value)
    return number_text(number) if isfinite(number) else None


def _is_log(path: Path) -> bool:
    if path.suffix.lower() != ".jsonl" or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(LOG_OPENING)) == LOG_OPENING


def _read_log(path: Path, task: Task) -> list[Verdict]:
    rules = _Rules(task)
    verdicts: dict[UnitOfJudge, Verdict] = {}
    log = path.resolve() if path.is_symlink() else path
    for number, line in log_lines(log):
        where = f"{log}: line {number}"
        try:
            verdict = decode(line)
        except VerdictError as error:
            raise VerdictError(
                f"{where}: {error}. To leave out this line, validate its run: harness validate "
                f"{quote(str(log.parent))}"
            ) from None
        rules.check_item(verdict.item, where)
        rules.check_judge(verdict.judge, where)
        unit = (verdict.item, verdict.judge, verdict.elicitation, verdict.sample)
        verdicts[unit] = newest(verdict, verdicts.get(unit))
    return [rules.checked(verdict) for verdict in verdicts.values()]


class _Rules:
    """Checks for the items, judges and values in verdicts on a task."""

    def __init__(self, task: Task) -> None:
        self._items = task.by_id
        self._judges: set[str] = set()
        self._max_judges = max_judges(task)
        self._values = ValueReader(task)
        self._task = task
        self.scores: dict[str, ScoreDirection] = {}

    def check_item(self, item: str, where: str) -> None:
        """Reject an unknown item."""
        if item not in self._items:
            raise VerdictError(
                f"{where}: item {item!r} is not in the task. Check that the file belongs to "
                "this task."
            )

    def check_judge(self, judge: str, where: str) -> None:
        """Reject a judge whose name is too long, or who exceeds the maximum number of judges."""
        self._judges.add(judge)
        if len(judge) > MAX_NAME_CHARS:
            raise VerdictError(
                f"{where}: the judge's name has {len(judge)} characters. Use at most "
                f"{MAX_NAME_CHARS}."
            )
        if len(self._judges) > self._max_judges:
            raise VerdictError(
                f"{where}: more than {self._max_judges} judges. Split the file by judge."
            )

    def read_row(self, row: Row, where: str) -> Verdict:
        """Convert a table row to a verdict."""
        item, judge = key_text(row["item"]) or "", key_text(row["judge"])
        self.check_item(item, where)
        if not judge:
            raise VerdictError(f"{where}: item {item!r}: 'judge' is empty. Fill it in.")
        self.check_judge(judge, where)
        elicitation = row.get("elicitation") or "forced_choice"
        if elicitation not in ELICITATIONS:
            names = ", ".join(ELICITATIONS)
            raise VerdictError(f"{where}: item {item!r}: elicitation must be one of {names}.")
        value: Value
        if "value" in row:  # a score next to it isn't a verdict, but could be a confidence
            parsed, value = self._values.read(row["value"], elicitation)
        else:
            parsed = self._score(row, judge, where)
            value = parsed.value
        if parsed.reason == "empty" and row.get("outcome") in OUTCOMES[1:]:
            parsed = Parsed(row["outcome"])
        sample = row.get("sample")
        return Verdict(
            item=item,
            judge=judge,
            elicitation=elicitation,
            outcome=parsed.outcome,
            sample=0 if sample is None else _sample(sample, f"{where}: item {item!r}"),
            value=value,
            reason=parsed.reason,
        )

    def _score(self, row: Row, judge: str, where: str) -> Parsed:
        """Read a judge's score and whether higher or lower scores are better."""
        better = row.get("better")
        direction = "found" if is_empty(better) else DIRECTIONS.get(better)
        if direction is None or self.scores.setdefault(judge, direction) != direction:
            raise VerdictError(
                f"{where}: column 'better' of judge {judge!r} contains {better!r}. Write higher or "
                "lower, use the same word in all rows of a judge, or leave out the column."
            )
        if not self._task.is_open:
            ordered_options(self._task)  # rejects options without an order
        if is_empty(row[SCORE]):
            return Parsed("invalid", reason="empty")
        number = number_or_none(row[SCORE])
        return Parsed("answered", number) if number else Parsed("invalid", reason="unreadable")

    def checked(self, verdict: Verdict) -> Verdict:
        """Mark a logged answer as invalid if the task does not allow it."""
        if verdict.outcome != "answered":
            return verdict
        if len(verdict.shown) == 1:  # about one option, so only part of a verdict
            return replace(verdict, outcome="invalid", value=None, reason="one_option")
        logged = verdict.value
        builtins = asdict(logged) if isinstance(logged, PairValue) else logged
        parsed, value = self._values.read(builtins, verdict.elicitation)
        if value == logged:
            return verdict
        reason = parsed.reason or "not_an_option"
        return replace(verdict, outcome="invalid", value=None, reason=reason)


class ValueReader:
    """Reader for the values of verdicts on a task.

    Parameters
    ----------
    task : Task
        The task, which defines the valid options, numbers or texts.
    names : mapping of str to str, optional
        Alternative names, each with its option or ``CANNOT_ASSESS``.
    """

    def __init__(self, task: Task, names: Mapping[str, str] = NO_NAMES) -> None:
        self._task, self._is_open, self._names = task, task.is_open, names
        self._answers = AnswerRules.of(task)

    def read(self, value: object, elicitation: Elicitation) -> tuple[Parsed, Value]:
        """Parse a cell. Return the result and, for an answer, the verdict's value."""
        value = self._named(value)
        if is_empty(value):
            return Parsed("invalid", reason="empty"), None
        if value == CANNOT_ASSESS:
            return Parsed("abstained"), None
        if elicitation == "forced_choice":
            parsed = self._choice(value)
        elif self._is_open:
            return Parsed("invalid", reason="unreadable"), None
        elif elicitation == "response_set":
            parsed = self._set(_json(value))
        else:
            return self._pair(_json(value))
        return parsed, parsed.value

    def _choice(self, value: object) -> Parsed:
        if self._is_open:
            return open_answer(value, self._task)
        key = key_text(self._named(value))
        return NOT_AN_OPTION if key is None else self._answer(key, "forced_choice")

    def _set(self, value: object) -> Parsed:
        members = value if isinstance(value, list | tuple) else [None]
        keys = [key_text(self._named(member)) for member in members]
        if None in keys:
            return NOT_AN_OPTION
        return self._answer(list(dict.fromkeys(keys)), "response_set")

    def _answer(self, value: object, elicitation: HumanElicitation) -> Parsed:
        """Parse an option key or a list of keys in the same way as in ratings."""
        try:
            answer, is_foreign = self._answers.read(value, elicitation)
        except BadAnswerError as error:
            is_unknown = error.reason in {"unknown_label", "non_numeric_value", "empty_value"}
            return NOT_AN_OPTION if is_unknown else Parsed("invalid", reason="not_admissible")
        return (
            NOT_AN_OPTION if is_foreign or CANNOT_ASSESS in answer else Parsed("answered", answer)
        )

    def _pair(self, value: object) -> tuple[Parsed, Value]:
        if not isinstance(value, dict) or value.keys() != {"set", "choice"}:
            return NOT_AN_OPTION, None
        endorsed, chosen = self._set(value["set"]), self._choice(value["choice"])
        if isinstance(endorsed.value, tuple) and isinstance(chosen.value, str):
            return chosen, PairValue(set=endorsed.value, choice=chosen.value)
        return chosen if endorsed.outcome == "answered" else endorsed, None

    def _named(self, value: object) -> object:
        """Return the option for an alternative name, or any other value unchanged."""
        text = key_text(value) if self._names else None
        return value if text is None else self._names.get(text, value)


def is_empty(value: object) -> bool:
    """Return whether a cell is empty."""
    return value is None or value == "" or value != value  # noqa: PLR0124 -- nan is not itself


def key_text(value: object) -> str | None:
    """Convert a value to the text of an option key, or to None if its type cannot be a key."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return str(value)


def open_answer(value: object, task: Task) -> Parsed:
    """Parse a cell of a task whose answers are numbers or texts."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = number_text(float(value))
    if not isinstance(value, str):
        return Parsed("invalid", reason="unreadable")
    return parse_open(value, task)[0]


def _json(value: object) -> object:
    """Decode a cell that contains a JSON list or object, and return other values unchanged."""
    if not isinstance(value, str) or value[:1] not in "[{":
        return value
    try:
        return parse_json(value)
    except ValueError:
        return value


def _sample(value: object, where: str) -> int:
    text = "0" if is_empty(value) else key_text(value) or ""
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_SAMPLE_DIGITS):
        raise VerdictError(
            f"{where}: sample is not a number. Number a judge's repeated verdicts from 0."
        )
    return int(text)
