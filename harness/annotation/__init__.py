"""Rating items by hand on a local page, logging ratings, and merging them into a task."""

from harness.annotation.local_page import serve
from harness.annotation.merged_ratings import (
    Collected,
    Merged,
    collected_logs,
    export_ratings,
    merge_ratings,
)
from harness.annotation.questions import make_screens
from harness.annotation.rating_log import RatingLog
from harness.annotation.rating_session import RatingSession

__all__ = [
    "Collected",
    "Merged",
    "RatingLog",
    "RatingSession",
    "collected_logs",
    "export_ratings",
    "make_screens",
    "merge_ratings",
    "serve",
]
