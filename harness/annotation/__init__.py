"""Rating items by hand: a local page, its log of ratings, and adding them to a task."""

from harness.annotation.local_page import serve
from harness.annotation.merged_ratings import Merged, export_ratings, merge_ratings
from harness.annotation.questions import make_steps
from harness.annotation.rating_log import RatingLog
from harness.annotation.rating_session import RatingSession

__all__ = [
    "Merged",
    "RatingLog",
    "RatingSession",
    "export_ratings",
    "make_steps",
    "merge_ratings",
    "serve",
]
