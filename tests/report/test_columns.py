"""Tables of text: what gives way where they are too wide."""

from __future__ import annotations

from harness.report.columns import columns, wrap


def test_what_fits_is_left_alone():
    """Columns are as wide as their widest cell, two blanks apart."""
    assert columns(("rank", "judge"), [("1 (1-1)", "gpt"), ("2", "claude")]) == [
        "rank     judge",
        "1 (1-1)  gpt",
        "2        claude",
    ]


def test_a_name_breaks_at_its_joints():
    """Hyphens, slashes and underscores end a line; an indentation is repeated."""
    assert wrap("gpt-4o-mini", 8) == ["gpt-4o-", "mini"]
    assert wrap("  gpt-4o-mini", 10) == ["  gpt-4o-", "  mini"]
    assert wrap("meta/llama_3", 6) == ["meta/", "llama_", "3"]
    assert wrap("unbreakable", 4) == ["unbr", "eaka", "ble"]


def test_an_interval_stays_on_its_line():
    """Names give way before numbers do, and heads before names."""
    rows = [("a-name-of-some-length", "0.194 [0.155, 0.236]", "7")]
    assert columns(("judge", "value", "not asked"), rows, width=50) == [
        "judge                  value                 not",
        "                                             asked",
        "a-name-of-some-length  0.194 [0.155, 0.236]  7",
    ]
    assert columns(("judge", "value", "n"), rows, width=36) == [
        "judge        value                 n",
        "a-name-of-   0.194 [0.155, 0.236]  7",
        "some-length",
    ]


def test_wide_letters_keep_columns_straight():
    """A letter that takes two columns of the screen counts as two; controls are blank."""
    assert columns(("a", "b"), [("判定", "1"), ("x\x1b[31m", "2")]) == [
        "a       b",
        "判定    1",
        "x [31m  2",
    ]
