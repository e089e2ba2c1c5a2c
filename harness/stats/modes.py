"""Values with a fixed set that statistics, options and files share; needs no other module."""

from __future__ import annotations

from typing import Literal, TypeAlias

AbstentionMode: TypeAlias = Literal["exclude", "recode", "third_class"]
IntervalConstruction: TypeAlias = Literal[  # how any interval came about
    "score",
    "percentile",
    "crossed",
    "profile likelihood",
    "simultaneous",
    "wilson",
    "betting",
]
Estimand: TypeAlias = Literal["design value", "population value"]
AnswerKind: TypeAlias = Literal["forced_choice", "response_set"]  # an option, or a set
ClosedScale: TypeAlias = Literal["binary", "nominal", "ordinal", "pairwise"]
Ordering: TypeAlias = Literal["nominal", "ordinal"]  # whether options have an order
RaterIds: TypeAlias = Literal["real", "positional"]
