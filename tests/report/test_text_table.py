"""Tables and paragraphs of text: what is wrapped, and what never is."""

from __future__ import annotations

from harness.report.text_table import draw_table, paragraph


def test_columns_are_as_wide_as_their_widest_cell():
    """Two blanks lie between columns; no line ends in a blank."""
    assert draw_table(("rank", "judge"), [("1 (1-1)", "gpt"), ("2", "claude")]).splitlines() == [
        "rank     judge",
        "1 (1-1)  gpt",
        "2        claude",
    ]


def test_texts_are_wrapped_between_words():
    """A description gives way; the name beside it stays whole."""
    rows = [("toxicity", "whether the comment is toxic to its readers")]
    assert draw_table(("task", "property"), rows, width=36).splitlines() == [
        "task      property",
        "toxicity  whether the comment is",
        "          toxic to its readers",
    ]


def test_names_and_intervals_are_never_broken():
    """A table is rather too wide: names are there to be copied."""
    name = "accounts/fireworks/models/llama4-maverick-instruct-basic:free"
    rows = [("1 (1-3)", name, "0.312 [0.180, 0.447]", "25"), ("2", "gpt", "0.1 [0.0, 0.2]", "29")]
    assert draw_table(("rank", "judge", "mse", "items"), rows, width=44).splitlines() == [
        f"rank     judge{' ' * 58}mse                   items",
        f"1 (1-3)  {name}  0.312 [0.180, 0.447]  25",
        f"2        gpt{' ' * 60}0.1 [0.0, 0.2]        29",
    ]


def test_indented_names_keep_their_indentation():
    """Rows of a group stand below its name."""
    lines = draw_table(("judge", "n"), [("forced_choice:", ""), ("  gpt", "12")]).splitlines()
    assert lines[1:] == ["forced_choice:", "  gpt           12"]


def test_wide_letters_keep_columns_straight():
    """A letter of two columns counts as two; what a terminal would act on is a picture."""
    assert draw_table(("a", "b"), [("判定", "1"), ("x\x1b[31m", "2")]).splitlines() == [
        "a       b",
        "判定    1",
        "x␛[31m  2",
    ]


def test_markup_is_printed_as_it_is():
    """A name in brackets is no style."""
    assert draw_table(("a",), [("[red]x[/red]",)]).splitlines()[1] == "[red]x[/red]"


def test_heads_are_bold_on_request(monkeypatch):
    """For a terminal; NO_COLOR leaves no colour."""
    monkeypatch.setenv("NO_COLOR", "1")
    head = draw_table(("a",), [("x",)], styled=True).splitlines()[0]
    assert head == "\x1b[1ma\x1b[0m"


def test_paragraphs_do_not_break_names():
    """Neither at hyphens nor anywhere else."""
    name = "n-" * 60
    assert paragraph(f"Use {name} now.").splitlines() == ["Use", name, "now."]
