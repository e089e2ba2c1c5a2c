"""Differences between systems from a run's last estimate, which are saved for gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from harness.analysis.conditions import difference_name
from harness.errors import RunError
from harness.files.regular_files import read_file
from harness.stats import Estimate, Interval
from harness.stats.modes import MadeBy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.runs.run_folder import RunFolder

FILE = "differences.json"


class EstimatedDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Estimated difference between two values of a field.

    Attributes
    ----------
    judge, field : str
        The judge of the estimate, and the field.
    first, second : str
        The values; the difference is the mean of the second minus that of the first.
    value, low, high, level : float
        The difference, and its interval at the simultaneous level of all differences.
    n_rated : int
        Number of rated items of both values.
    """

    judge: str
    field: str
    first: str
    second: str
    value: float
    low: Annotated[float, MadeBy("prediction-powered")]
    high: Annotated[float, MadeBy("prediction-powered")]
    level: float
    n_rated: int

    def both_ways(self) -> dict[str, Estimate]:
        """Return the difference in both directions, by name. The reverse has the opposite sign."""
        return {
            difference_name(self.second, self.first): self._estimate(
                self.value, self.low, self.high
            ),
            difference_name(self.first, self.second): self._estimate(
                -self.value, -self.high, -self.low
            ),
        }

    def _estimate(self, value: float, low: float, high: float) -> Estimate:
        interval = Interval(
            low=low,
            high=high,
            level=self.level,
            method="prediction-powered",
            unit="item",
            estimand="population value",
        )
        return Estimate(value=value, interval=interval, n_used=self.n_rated)


_DECODE = msgspec.json.Decoder(list[EstimatedDifference]).decode


def write_differences(folder: RunFolder, differences: Iterable[EstimatedDifference]) -> None:
    """Save the differences from an estimate, replacing the last estimate's."""
    folder.write(FILE, msgspec.json.format(msgspec.json.encode(list(differences))))


def read_differences(folder: RunFolder) -> dict[str, dict[str, Estimate]]:
    """Return the saved differences by judge and name, or {} if none are saved.

    Raises
    ------
    RunError
        If the file cannot be read.
    """
    path = folder.path / FILE
    if not path.exists():
        return {}
    try:
        rows = _DECODE(read_file(path))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(
            f"{path}: can't be read ({error})", "Run the estimate again with --by"
        ) from None
    by_judge: dict[str, dict[str, Estimate]] = {}
    for row in rows:
        by_judge.setdefault(row.judge, {}).update(row.both_ways())
    return by_judge
