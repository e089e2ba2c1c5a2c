"""Panels of ratings for tests of the alternative annotator test."""

from harness import stats


def panel_by_rater(ratings, items=None):
    """Make a panel from each rater's value per item."""
    return stats.Panel.of(
        ((item, rater, value) for rater, rated in ratings.items() for item, value in rated.items()),
        items=items,
    )
