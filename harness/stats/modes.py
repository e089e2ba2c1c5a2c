"""Values from a fixed set that statistics, options and files share; imports no other module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

AbstentionMode: TypeAlias = Literal["exclude", "recode", "third_class"]
IntervalConstruction: TypeAlias = Literal[  # how any interval came about
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
    """How the ends in a field are computed: ``low: Annotated[float, MadeBy("exact")]``.

    Every field with an end of an interval has this, unless it's an `Interval`, which includes its
    method.
    """

    procedure: IntervalConstruction
    otherwise: IntervalConstruction | None = None


InvertedEnd: TypeAlias = Annotated[float | None, MadeBy("inverted test")]
FEnds: TypeAlias = Annotated[  # a row per option, a column per response set
    tuple[tuple[float | None, ...], ...], MadeBy("profile likelihood", "exact")
]
Estimand: TypeAlias = Literal["design value", "population value"]
AnswerKind: TypeAlias = Literal["forced_choice", "response_set"]  # an option, or a set
ClosedScale: TypeAlias = Literal["binary", "nominal", "ordinal", "pairwise"]
Ordering: TypeAlias = Literal["nominal", "ordinal"]  # whether options have an order
RaterIds: TypeAlias = Literal["real", "positional"]
ErrorKind: TypeAlias = Literal["majority", "rater", "set"]  # with whom a verdict is compared
