"""Words for how statistics are computed, where a caller may choose; needs no other module."""

from __future__ import annotations

from typing import Literal, TypeAlias

AbstentionMode: TypeAlias = Literal["exclude", "recode", "third_class"]
IntervalMethod: TypeAlias = Literal["score", "percentile"]
