"""Numbers as words."""

from __future__ import annotations

import pytest

from harness.report.formatting import duration


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (1.04, "1.0 s"),
        (600, "10 min"),
        (4 * 3600 + 720, "4 h 12 min"),
        (47 * 3600 + 3540, "2 days"),
        (151 * 3600 + 720, "6 days 7 h"),
    ],
)
def test_a_week_was_shown_in_hours(seconds, shown):
    """The next look was due in 151 h 12 min."""
    assert duration(seconds) == shown
