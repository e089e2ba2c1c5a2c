"""What must hold between the fields of a task; each fault begins with the field it is about."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.tasks.fields import TaskFields
    from harness.tasks.options import Option

MAX_POWERSET_OPTIONS = 10


def check_fields(task: TaskFields) -> None:
    """Check the fields of a task against each other.

    Raises
    ------
    ValueError
        With a message that begins with the field, then says what was found and what to do.
    """
    keys = [option.key for option in task.options]
    _check_names(task.options)
    _check_scale(task.scale, keys)
    _check_known("positive", task.positive, keys)
    if len(task.positive) == len(keys):
        raise ValueError("positive: every option is positive; leave out those that are not")
    if task.response_sets != "all":
        _check_sets(task.response_sets, keys)
    _check_sensitivity(task, keys)
    if task.weights is not None:
        _check_weights(task.weights, len(keys), abstain=task.abstain)
    if task.alt_test and task.rater_ids == "positional":
        raise ValueError("alt_test: raters are positional, so no rater is compared; leave it out")
    if task.lexicon:
        _check_known("lexicon", (task.lexicon.positive, task.lexicon.negative), keys)
    if listed := [label for label in task.ignore_labels if label in keys]:
        raise ValueError(
            f"ignore_labels: {listed[0]!r} is an option; remove it from one of the two"
        )
    _check_repeats("text", task.text)


def _check_names(options: Sequence[Option]) -> None:
    _check_repeats("options", [option.key for option in options], "give each its own key")
    _check_repeats("options", [option.label for option in options], "give each its own label")
    owner = {option.key.casefold(): option.key for option in options}
    for option in options:
        other = owner.get(option.label.casefold(), option.key)
        if other != option.key:
            raise ValueError(
                f"options: label {option.label!r} of option {option.key!r} is the key of option "
                f"{other!r}; give it another label"
            )


def _check_scale(scale: str, keys: Sequence[str]) -> None:
    if scale == "binary" and len(keys) != 2:  # noqa: PLR2004 -- binary means two
        raise ValueError(f"options: a binary scale has 2 options, found {len(keys)}")
    numbers = numeric_keys(keys) if scale == "ordinal" else {}
    if numbers and len(numbers) < len(keys):
        raise ValueError("options: two keys are the same number; give each its own")
    steps = list(numbers)
    if steps not in (sorted(steps), sorted(steps, reverse=True)):
        raise ValueError(f"options: {', '.join(keys)} are not in order; list them in order")


def numeric_keys(keys: Iterable[str]) -> dict[float, str]:
    """Return option keys by their number, or nothing if one of them is no decimal number."""
    found: dict[float, str] = {}
    for key in keys:
        number = as_number(key)
        if number is None:
            return {}
        found[number] = key
    return found


def as_number(text: str) -> float | None:
    """Read a plain decimal number such as ``4``, ``-1`` or ``2.50``; None for anything else."""
    digits = text.removeprefix("-").replace(".", "", 1)
    return float(text) if digits.isascii() and digits.isdecimal() else None


def _check_known(field: str, given: Sequence[str], keys: Sequence[str]) -> None:
    if unknown := [key for key in given if key not in keys]:
        known = ", ".join(keys)
        raise ValueError(f"{field}: {unknown[0]!r} is no option; the option keys are {known}")
    _check_repeats(field, given)


def _check_repeats(field: str, given: Iterable[str], todo: str = "name it once") -> None:
    seen: set[str] = set()
    for name in given:
        if name.casefold() in seen:
            raise ValueError(f"{field}: {name!r} is given twice; {todo} (case does not count)")
        seen.add(name.casefold())


def _check_sets(sets: Sequence[Sequence[str]], keys: Sequence[str]) -> None:
    seen: set[frozenset[str]] = set()
    for one in sets:
        if not one:
            raise ValueError("response_sets: a set is empty; name its options or leave it out")
        _check_known("response_sets", one, keys)
        if frozenset(one) in seen:
            raise ValueError(f"response_sets: {', '.join(one)} is given twice; name it once")
        seen.add(frozenset(one))
    if absent := [key for key in keys if not any(key in one for one in sets)]:
        raise ValueError(f"response_sets: option {absent[0]!r} is in no set; put it into one")


def _check_sensitivity(task: TaskFields, keys: Sequence[str]) -> None:
    for key, endorsed in task.sensitivity.items():
        _check_known("sensitivity", (key,), keys)
        _check_known("sensitivity", endorsed, keys)
        if key in task.positive:
            raise ValueError(f"sensitivity: {key!r} is positive; name negative options only")
        if not endorsed or key in endorsed:
            raise ValueError(
                f"sensitivity: give the options other than {key!r} that may go with it"
            )


def _check_weights(weights: Sequence[Sequence[float]], n: int, *, abstain: bool) -> None:
    sizes = (n, n + 1) if abstain else (n,)
    if len(weights) not in sizes or any(len(row) != len(weights) for row in weights):
        wanted = " or ".join(f"{size} x {size}" for size in sizes)
        shape = f"{len(weights)} rows of {sorted({len(row) for row in weights})} numbers"
        raise ValueError(f"weights: found {shape}; wanted {wanted}, in the order of the options")
    cells = [(i, j) for i in range(len(weights)) for j in range(len(weights))]
    if not all(isfinite(weights[i][j]) and weights[i][j] >= 0 for i, j in cells):
        raise ValueError("weights: a cost is negative or not finite; write numbers of 0 or more")
    if any(weights[i][i] for i in range(len(weights))):
        raise ValueError("weights: an option disagrees with itself; write 0 on the diagonal")
    if any(weights[i][j] != weights[j][i] for i, j in cells):
        raise ValueError("weights: the matrix is not symmetric; give both orders the same cost")
    if not any(weights[i][j] for i, j in cells):
        raise ValueError(
            "weights: every cost is 0; leave weights out, or give disagreements a cost"
        )
