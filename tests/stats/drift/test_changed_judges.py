"""One error rate over judges and elicitations; common causes."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.drift.changed_judges import CommonChange, changed_judges, common_changes
from harness.stats.drift.reply_counts import Window


def test_a_judge_is_held_to_its_share_of_alpha():
    """E times the smallest p-value is held against alpha / J; equality rejects."""
    p_values = {
        "a": {"forced_choice": 0.01, "response_set": 1.0},
        "b": {"forced_choice": 0.0126, "response_set": 0.9},
    }
    changes = changed_judges(p_values, alpha=0.05)
    assert (changes["a"].changed, changes["a"].p_value) == (True, 0.02)
    assert not changes["b"].changed
    assert changes["a"].threshold == 0.025
    assert changed_judges({"a": {"forced_choice": 0.05}})["a"].changed


def test_elicitations_are_named_by_holm_within_the_judge():
    """The second smallest p-value is held against all of the judge's share."""
    changes = changed_judges({"a": {"f": 0.001, "r": 0.03, "p": 0.2}}, alpha=0.1)
    assert changes["a"].elicitations == ("f", "r")
    assert changed_judges({"a": {"f": 0.06, "r": 0.2}}, alpha=0.1)["a"].elicitations == ()


def test_any_false_alarm_is_rare():
    """Uniform p-values of 5 judges and 2 elicitations alarm in at most 5 %."""
    rng = np.random.default_rng(0)
    names = ("a", "b", "c", "d", "e")
    n_alarms = sum(
        any(
            change.changed
            for change in changed_judges(
                {name: dict(zip("fr", rng.random(2).tolist(), strict=True)) for name in names}
            ).values()
        )
        for _ in range(2000)
    )
    assert 0.03 < n_alarms / 2000 < 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5


@pytest.mark.parametrize(
    ("p_values", "alpha", "message"),
    [
        ({"a": {}}, 0.05, "a has no elicitation"),
        ({"a": {"f": 1.2}}, 0.05, "between 0 and 1"),
        ({"a": {"f": 0.2}}, 1.0, "alpha is 1.0"),
    ],
)
def test_missing_streams_and_wrong_numbers_are_rejected(p_values, alpha, message):
    """A judge without a stream and numbers out of range are errors."""
    with pytest.raises(ValueError, match=message):
        changed_judges(p_values, alpha=alpha)


def test_streams_that_change_together_are_one_change():
    """The same look and overlapping windows make a common change; else not."""
    a, b, c, d, e = ((name, "forced_choice") for name in "abcde")
    alarms = {
        a: (6, Window(6, 2)),  # looks 5 and 6
        b: (6, Window(5, 1)),  # look 5
        c: (6, Window(3, 2)),  # looks 2 and 3
        d: (7, Window(7, 4)),  # in another look
    }
    assert common_changes(alarms) == [CommonChange(6, 5, (a, b))]
    chain = alarms | {e: (6, Window(5, 3))}  # looks 3 to 5 join all
    assert common_changes(chain) == [CommonChange(6, 2, (c, e, a, b))]
    assert common_changes({a: (6, Window(6, 1))}) == []
