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


def test_a_long_name_is_no_tower_and_breaks_no_interval():
    """It stays whole, above the numbers of its line; names of two lines break as before."""
    heads = ("rank", "judge", "mse", "items")
    name = "accounts/fireworks/models/llama4-maverick-instruct-basic:free"
    value = "0.312 [0.180, 0.447]"
    rows = [("1 (1-3)", name, value, "25"), ("2 (1-3)", "gpt-4o-mini", value, "29")]
    assert columns(heads, rows, width=44) == [
        "rank     judge   mse                   items",
        "1 (1-3)  accounts/fireworks/models/llama4-",
        "         maverick-instruct-basic:free",
        "                 0.312 [0.180, 0.447]  25",
        "2 (1-3)  gpt-4o-mini",
        "                 0.312 [0.180, 0.447]  29",
    ]
    assert columns(heads, rows[:1])[1:] == [
        "1 (1-3)  accounts/fireworks/models/llama4-maverick-  0.312 [0.180, 0.447]  25",
        "         instruct-basic:free",
    ]


def test_names_of_30_to_60_characters_keep_to_80_columns():
    """Beside seven counts such a name stands whole, on a line of its own where it is longer."""
    heads = ("judge", "planned", "answ.", "abst.", "refus.", "inval.", "fail.", "not asked")
    for name in ("bedrock/us.anthropic.claude-3-5-sonnet-20241022-v2:0", "n" * 60):
        lines = columns(heads, [(f"  {name}", *["123456"] * 7)])
        assert f"  {name}" in lines
        assert max(map(len, lines)) <= 80


def test_wide_letters_keep_columns_straight():
    """A letter that takes two columns of the screen counts as two; controls are blank."""
    assert columns(("a", "b"), [("判定", "1"), ("x\x1b[31m", "2")]) == [
        "a       b",
        "判定    1",
        "x [31m  2",
    ]
