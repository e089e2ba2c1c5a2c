"""Fixed sets of values that statistics, options and files share. Imports no other module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

AbstentionMode: TypeAlias = Literal["exclude", "recode", "third_class"]
IntervalConstruction: TypeAlias = Literal[  # how an interval was computed
    "score",
    "percentile",
    "crossed",
    "profile likelihood",
    "simultaneous",
    "exact",
    "betting",
    "inverted test",
    "jackknife",
    "prediction-powered",
]


@dataclass(frozen=True, slots=True)
class MadeBy:
    """Method that computed an interval's end: ``low: Annotated[float, MadeBy("exact")]``.

    Every field with an end of an interval has this, unless it is an `Interval`, which includes its
    method.
    """

    procedure: IntervalConstruction
    otherwise: IntervalConstruction | None = None


InvertedEnd: TypeAlias = Annotated[float | None, MadeBy("inverted test")]
FEnds: TypeAlias = Annotated[  # one row per option, one column per response set
    tuple[tuple[float | None, ...], ...], MadeBy("profile likelihood", "exact")
]
Estimand: TypeAlias = Literal["design value", "population value"]
AnswerKind: TypeAlias = Literal["forced_choice", "response_set"]  # an option, or a set
ClosedScale: TypeAlias = Literal["binary", "nominal", "ordinal", "pairwise"]
Ordering: TypeAlias = Literal["nominal", "ordinal"]  # whether options have an order
RaterIds: TypeAlias = Literal["real", "positional"]
ErrorKind: TypeAlias = Literal["majority", "rater", "set"]  # basis of comparison for a verdict
