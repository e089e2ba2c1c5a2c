"""Items that a judge answers differently: which, how they are told, and what is shown of them."""

from __future__ import annotations

import numpy as np
import pytest
from support.look_schedules import Schedule, flawed, majority, replies, text_of
from support.processes import invoke

from harness.judging.storage.verdict_log import read_log
from harness.revalidation.changed_answers import AnswerChanges
from harness.revalidation.reply_categories import Category, StreamReplies, counts_of
from harness.stats.drift.stream_path import Component

LABELS = {"A": "yes", "B": "no"}
FEW = Component("few_items", None, None, 0.0)
SECRET = "Because of the third word in "  # begins a reply in these tests


def stream(*answers: str) -> StreamReplies:
    """Replies to items: a letter is an option, r refused, each character a reply."""
    categories = {
        "A": Category("answered", "A"),
        "B": Category("answered", "B"),
        "r": Category("refused"),
    }
    order = list(categories)
    coded = tuple(tuple(order.index(letter) for letter in item) for item in answers)
    return StreamReplies("gpt", "forced_choice", tuple(categories.values()), coded)


def changes(first_look: int, *occasions: StreamReplies) -> AnswerChanges:
    items = [f"i{i}" for i in range(len(occasions[0].replies))]
    return AnswerChanges.since(first_look, counts_of(occasions), occasions, items)


def test_a_changed_answer_is_another_most_frequent_reply():
    """Noise that keeps the most common reply is no change, nor is a tie with it; an item without
    replies on a side is not compared."""
    baseline = stream("BBBBB", "BBBBB", "BBBAB", "BBBBB", "BBBBB", "")
    first, second = stream("B", "A", "A", "B", "", "A"), stream("B", "A", "A", "A", "", "A")
    result = changes(1, baseline, first, second)
    assert [row.item for row in result.items] == ["i1", "i2"]
    assert result.n_compared == 4
    row = result.items[1]
    assert (row.share_before, row.share_now) == ((4, 5), (2, 2))
    assert [row.item for row in changes(2, baseline, first, second).items] == ["i3", "i1", "i2"]


def test_noise_stood_before_the_refusals_that_the_sentence_names():
    """Items whose usual reply is now that outcome come first, the others as before."""
    occasions = stream(*["BBB"] * 4), stream("A", "r", "B", "r")
    items, counts = ["i0", "i1", "i2", "i3"], counts_of(occasions)
    result = AnswerChanges.since(1, counts, occasions, items, "(refused)")
    assert [row.item for row in result.items] == ["i1", "i3", "i0"]


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (("A", "A", "A", "B"), "3 of 4 answers changed, all from no to yes"),
        (("A", "A", "A", "r"), "4 of 4 answers changed, most from no to yes"),
        (("A", "A", "r", "r"), "4 of 4 answers changed"),
    ],
)
def test_words_name_what_most_changes_have_in_common(look, words):
    """More than half of them; else only their number is said."""
    result = changes(1, stream(*["BBB"] * 4), stream(*look))
    assert result.in_words(FEW, LABELS) == words


def test_words_say_how_many_changes_are_noise():
    """A judge that strays from its usual answer in a fifth of its replies does so in one of five
    items, with one reply each; with three each, the most common one is seldom noise."""
    baseline, look = stream(*["BBBBA"] * 10), stream(*["A"] * 10)
    words = "10 of 10 answers changed, all from no to yes"
    assert changes(1, baseline, look).in_words(FEW, LABELS) == (
        f"{words} (about 2 expected from its usual noise)"
    )
    assert changes(1, baseline, stream(*["AAA"] * 10)).in_words(FEW, LABELS) == words


def test_words_for_rates():
    """An outcome that became more frequent is counted in replies; a shift of which no item shows is
    said without a number."""
    result = changes(1, stream(*["BBB"] * 4), stream("r", "B", "B", "B"))
    rise = Component("category", "(refused)", "up", 0.0)
    assert result.in_words(rise, LABELS) == "1 of 4 replies refuse (0 of 12 before)"
    same = changes(1, stream(*["BBB"] * 4), stream(*["B"] * 4))
    assert same.in_words(Component("category", "A", "down", 0.0), LABELS) == (
        "it answers yes less often"
    )
    assert same.in_words(Component("usual_answer", None, "up", 0.0), LABELS) == (
        "it gives its usual answers more often"
    )


def told(table):
    """Replies that say more than the answer, so that their text can be looked for."""
    return {
        line: [f"{SECRET}it.\n\nAnswer: {letter}" for letter in letters]
        for line, letters in table.items()
    }


@pytest.mark.slow
def test_a_look_leads_with_a_sentence_and_ten_changed_items(tmp_path, stub):
    """Before and now, the raters' answers, item and reply stand below it; the page has them, too,
    and neither the history nor what goes to stderr holds a text."""
    schedule = Schedule(tmp_path, stub, {"judge": told(replies(60, majority))}, samples=5)
    assert np.isclose(schedule.look()["judges"][0]["p"], 1.0)
    stub.set_table("judge", told(replies(60, flawed)))
    result = invoke("revalidate", schedule.run, "--details")
    assert result.exit_code == 1
    first, *_ = result.stdout.split("\n\n")
    words = "15 of 60 answers changed, all from Not toxic to Toxic"
    assert words in " ".join(first.split())
    assert first.startswith("judge: a different judge since ")
    assert result.stdout.count("; raters: 3 Not toxic") == 10
    assert result.stdout.count(f"    reply: {SECRET}") == 10
    assert f"    item: {text_of(0)}" in result.stdout
    assert "judge, 10 of 15 changed answers:" in result.stdout
    page = tmp_path / "history.html"
    invoke("history", schedule.run, "--page", page)
    html = page.read_text("utf-8")
    assert words in html
    assert html.count(f'class="reply">{SECRET}') == 15
    for text in (SECRET, "This is comment"):
        assert text not in result.stderr
        assert text not in (schedule.run / "history.jsonl").read_text("utf-8")


@pytest.mark.slow
def test_an_export_without_texts_shows_the_changed_items_by_name(tmp_path, stub):
    """Without item texts and replies, what is left are ids and answers."""
    schedule = Schedule(tmp_path, stub, {"judge": told(replies(60, majority))}, samples=5)
    small = tmp_path / "small"
    assert invoke("revalidate", "export", schedule.run, small).exit_code == 0
    stub.set_table("judge", told(replies(60, flawed)))
    result = invoke("revalidate", small, "--task", tmp_path / "task")
    assert result.exit_code == 1, result.output
    assert "judge, 3 of 15 changed answers:" in result.stdout
    assert SECRET not in result.output
    assert "This is comment" not in result.output
    assert not any(SECRET in text for text in texts_in(small))


def texts_in(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.read_text("utf-8", errors="replace") for path in files]


def test_an_export_keeps_replies_on_request(tmp_path, stub):
    """The run's replies to the anchor are in the folder, looks keep theirs, and those that changed
    are shown; item texts are left out all the same."""
    schedule = Schedule(tmp_path, stub, {"judge": told(replies(60, majority))}, samples=5)
    small = tmp_path / "small"
    export = ("revalidate", "export", schedule.run, small, "--anchor", 40, "--keep-replies")
    assert invoke(*export).exit_code == 0
    final = read_log(small / "verdicts.jsonl").final.values()
    assert len(final) == 5 * 40
    assert all(verdict.text.startswith(SECRET) for verdict in final)
    stub.set_table("judge", told(replies(60, flawed)))
    result = invoke("revalidate", small, "--task", tmp_path / "task", "--details")
    assert result.exit_code == 1, result.output
    assert f"    reply: {SECRET}" in result.stdout
    assert SECRET not in result.stderr
    assert not any("This is comment" in text for text in [result.output, *texts_in(small)])
    assert len(read_log(small / "looks" / "0001" / "verdicts.jsonl").final) == 40
