"""Write results as JSON and matrices as rows, with rounding and null for NaN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from math import isnan
from typing import TYPE_CHECKING, TypeAlias, TypeVar, get_args, get_origin

import msgspec
import numpy as np

from harness.stats import Estimate, Interval

if TYPE_CHECKING:
    from collections.abc import Collection

    from harness.files.json_values import JsonObject
    from harness.stats.data.arrays import FloatArray

T = TypeVar("T")
Numbers: TypeAlias = tuple[float | None, ...]
Matrix: TypeAlias = tuple[Numbers, ...]
DEFAULTS = {  # of members that an estimate and its interval can omit
    field.name: field.default if field.default_factory is MISSING else field.default_factory()
    for type_ in (Estimate, Interval)
    for field in fields(type_)
    if (field.default, field.default_factory) != (MISSING, MISSING)
}
DIGITS = 6  # for matrices in charts and tables; everything else is written in full


def rows_of(values: FloatArray, *, digits: int | None = None) -> Matrix:
    """Return the rows of a matrix. A nan becomes None.

    Parameters
    ----------
    values : (R, C) array
        The matrix.
    digits : int, optional
        Decimals to round to. Default: all.
    """
    rounded = values if digits is None else np.round(values, digits)
    rows = (rounded + 0.0).tolist()  # + 0.0: no negative zero
    return tuple(tuple(None if isnan(cell) else cell for cell in row) for row in rows)


def shared_fields(type_: type, source: object) -> JsonObject:
    """Return values for a dataclass's fields from an object's attributes with the same names."""
    names = [field.name for field in fields(type_)]
    return {name: getattr(source, name) for name in names if hasattr(source, name)}


def to_json(value: object) -> str:
    """Return a result as JSON, with each member on a separate line.

    Parameters
    ----------
    value : dataclass
        Result with any nesting, including dataclasses from `harness.stats`, their arrays and NumPy
        scalars.
    """
    text = msgspec.json.encode(value, enc_hook=_plain)
    return msgspec.json.format(text, indent=1).decode()


def to_short_json(value: object, *, without: Collection[str] = ()) -> str:
    """Return a result as JSON on one line. Omit members of estimates that have their default value.

    `from_json` reads it like the full text, if the members left out by ``without`` have defaults.
    """
    short = _short(value)
    if without:
        assert isinstance(short, dict), "a result has members"
        short = {name: member for name, member in short.items() if name not in without}
    return msgspec.json.encode(short, enc_hook=_plain).decode()


def indented(text: str) -> str:
    """Format JSON with each member on a separate line."""
    return msgspec.json.format(text, indent=1)


def _short(value: object) -> object:
    if value is None or isinstance(value, str | int | float):  # a quick check for most members
        return value
    if isinstance(value, Estimate | Interval):
        members = {field.name: getattr(value, field.name) for field in fields(value)}
        return {
            n: _short(member) for n, member in members.items() if member != DEFAULTS.get(n, ...)
        }
    if is_dataclass(value):
        return {field.name: _short(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _short(member) for name, member in value.items()}
    if isinstance(value, tuple | list):
        return [_short(member) for member in value]
    return value


def from_json(text: str | bytes, type_: type[T]) -> T:
    """Read a result from the output of `to_json`.

    Raises
    ------
    ValueError
        If the text isn't JSON, or a member is missing or has a different type.
    """
    try:
        return msgspec.json.decode(text, type=type_, dec_hook=_array)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from None


def schema_of(type_: type) -> JsonObject:
    """Return the JSON schema of a result."""
    schema = msgspec.json.schema(type_, schema_hook=_array_schema)
    definitions = schema.pop("$defs")
    root = definitions.pop(schema.pop("$ref").rsplit("/", 1)[-1])
    return {**root, **schema, "$defs": definitions}


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")


def _array(type_: type, value: object) -> object:
    if get_origin(type_) is np.ndarray:
        [scalar] = get_args(get_args(type_)[1])
        return np.array(value, dtype=np.int64 if scalar is np.integer else scalar)
    raise NotImplementedError(f"{type_} cannot be read from JSON")


def _array_schema(type_: type) -> JsonObject:
    if np.ndarray in {type_, get_origin(type_)}:
        return {"type": "array", "description": "A vector, or a matrix as rows. NA is null."}
    raise NotImplementedError(f"{type_} has no schema")
