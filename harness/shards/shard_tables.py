"""Tables of a shard, read column by column with bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import VerdictError
from harness.stats.data.rating_table import OUTCOMES
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from harness.stats.data.arrays import BoolArray, IntArray

ENDINGS = (".parquet", ".arrow")


class Columns:
    """Columns of a table, as codes and the values that they stand for."""

    def __init__(self, columns: dict[str, tuple[list[Any], IntArray]], n_rows: int) -> None:
        self._columns = columns
        self._n_rows = n_rows

    @classmethod
    def read(cls, folder: Path, name: str, needed: tuple[str, ...]) -> Columns:
        """Read a table of a shard."""
        paths = [folder / f"{name}{ending}" for ending in ENDINGS]
        path = next((path for path in paths if path.exists()), None)
        if path is None:
            raise VerdictError(f"{folder}: found no {name}.parquet or {name}.arrow; write one.")
        wanted = (*needed, "sample", "outcome", "group")
        try:
            table = _arrow_table(path, wanted)
        except (OSError, ValueError) as error:  # pyarrow's errors are of these kinds
            raise VerdictError(f"{path}: cannot be read ({type(error).__name__}).") from None
        if missing := [column for column in needed if column not in table.column_names]:
            raise VerdictError(f"{path}: lacks the column {missing[0]!r}; add it.")
        columns = {}
        for column in table.column_names:
            encoded = table.column(column).combine_chunks().dictionary_encode()
            codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            columns[column] = (encoded.dictionary.to_pylist(), codes.astype(np.int64))
        if any((columns[column][1] < 0).any() for column in needed[:2]):
            raise VerdictError(f"{path}: an {needed[0]} or {needed[1]} is missing; fill it in.")
        return cls(columns, table.num_rows)

    def codes(self, column: str) -> tuple[list[str], IntArray]:
        """Return the values of a column as texts, and which of them each row has."""
        values, codes = self._columns[column]
        return list(map(str, values)), codes

    def answers(self, options: tuple[str, ...]) -> IntArray:
        """Return for each row the place of its option, or K and that of its outcome."""
        places = {option: i for i, option in enumerate(options)}
        places |= {outcome: len(options) + i for i, outcome in enumerate(OUTCOMES)}
        invalid = places["invalid"]
        values, codes = self.codes("value")
        of_value = [
            places["abstained"] if value == CANNOT_ASSESS
            else places[value] if value in options
            else invalid
            for value in values
        ]  # fmt: skip
        answers = np.array([*of_value, invalid], dtype=np.int64)[codes]
        if "outcome" in self._columns:
            outcomes, of_row = self.codes("outcome")
            named = [places.get(outcome, invalid) for outcome in outcomes]
            unvalued = codes < 0
            answers[unvalued] = np.array([*named, invalid], dtype=np.int64)[of_row[unvalued]]
        return answers

    def different(self, column: str, rows: BoolArray) -> frozenset[str]:
        """Return the values in some of the rows; one, where there is no such column."""
        if column not in self._columns:
            return frozenset({""})
        values, codes = self.codes(column)
        return frozenset(values[code] for code in np.unique(codes[rows]).tolist())

    def groups(self, items: Sequence[str], of_row: IntArray) -> Sequence[str]:
        """Return the group of each item, or its id where it has none."""
        if "group" not in self._columns:
            return items
        groups, codes = self.codes("group")
        if (codes < 0).all():
            return items
        of_item = np.full(len(items), -1)
        of_item[of_row] = codes
        return [
            groups[code] if code >= 0 else item for item, code in zip(items, of_item, strict=True)
        ]

    def check_once(self, path: Path, key: tuple[str, ...]) -> None:
        """Refuse a second row with the same key."""
        rows: IntArray = np.zeros(self._n_rows, dtype=np.int64)
        for column in key:
            if column in self._columns:
                values, codes = self._columns[column]
                rows = rows * (len(values) + 1) + codes + 1
        if len(np.unique(rows)) < len(rows):
            raise VerdictError(f"{path}: two rows have the same {', '.join(key)}; leave one.")


def _arrow_table(path: Path, columns: tuple[str, ...]) -> Any:  # noqa: ANN401 -- pyarrow is untyped
    """Read the columns of a table that are there."""
    from pyarrow import ipc, parquet  # noqa: PLC0415 -- heavy, and used in workers alone

    if path.suffix == ".arrow":
        with ipc.open_file(path) as file:
            table = file.read_all()
            return table.select([name for name in columns if name in table.column_names])
    file = parquet.ParquetFile(path)
    present = [name for name in columns if name in file.schema_arrow.names]
    return file.read(columns=present, use_threads=False)
