"""The history file: append-only, checksummed, and held by one process."""

from __future__ import annotations

import msgspec
import pytest
from support.html_pages import assert_headings_are_numbered_as_listed

from harness.errors import RunError
from harness.files.checksummed_log import with_checksum
from harness.judging.parsing.verdict import Verdict
from harness.revalidation.baseline_design import DetectionPower
from harness.revalidation.history import HistoryFile, HistoryReading, read_history
from harness.revalidation.history_facts import history_facts
from harness.revalidation.history_page import history_page
from harness.revalidation.history_text import history_text
from harness.revalidation.records import (
    Baseline,
    DecisionFacts,
    Figure,
    JudgeLook,
    Look,
    ProviderReport,
    model_changes,
)
from harness.revalidation.reply_categories import Category, StreamReplies, counts_of, stream_of
from harness.tasks import load_task

STREAM = StreamReplies(
    "gpt",
    "response_set",
    (Category("answered", ("A", "B")), Category("invalid")),
    ((0, 1), (), (0,)),
)
BASELINE = Baseline(
    number=1,
    at="2026-01-01T00:00:00+00:00",
    items=("i1", "i2", "i3"),
    n_items_in_run=3,
    hashes={"question": "0", "prompts": "0"},
    item_hashes=("0", "1", "2"),
    ratings_hash="0",
    grammar_version=1,
    providers={},
    alpha=0.05,
    decision=None,
    power={"gpt": DetectionPower(share=0.1)},
    streams=(STREAM,),
)
LOOK = Look(number=1, occasion=1, baseline=1, at="2026-01-08", judges=(), streams=(STREAM,))


def write(folder, *records):
    with HistoryFile.open(folder) as file:
        file.append(records)
    return folder / "history.jsonl"


def test_a_written_history_is_read_back(tmp_path):
    """Baselines and rounds come back with every reply."""
    reading = read_history(write(tmp_path, BASELINE, LOOK))
    assert reading.baselines == [BASELINE]
    assert reading.looks == reading.looks_since_baseline == [LOOK]
    assert reading.first_unused_occasion == 2
    assert BASELINE.n_replies == 2


def test_facts_of_a_history_are_short(tmp_path):
    """As JSON, rounds have names, dates and rounded numbers, and neither replies nor blanks."""
    reason = "its model has changed"
    judge = JudgeLook(judge="gpt", p=0.123456, since=1, since_at=LOOK.at, reason=reason)
    look = msgspec.structs.replace(LOOK, judges=(judge,))
    facts = history_facts(read_history(write(tmp_path, BASELINE, look)))
    [baseline], [shown] = facts["baselines"], facts["looks"]
    assert (baseline["number"], baseline["n_items"], baseline["alpha"]) == (1, 3, 0.05)
    assert (shown["number"], shown["at"], "streams" in shown) == (1, "2026-01-08", False)
    [of_judge] = shown["judges"]
    assert of_judge["judge"] == "gpt"
    assert (of_judge["p"], of_judge["since"]) == (0.1235, 1)
    assert of_judge["reason"] == reason
    assert not [value for value in of_judge.values() if value in (None, "", [], {})]


def test_a_torn_last_line_is_cut_off(tmp_path):
    """The next line stands on its own."""
    path = write(tmp_path, BASELINE, LOOK)
    whole = path.read_bytes()
    for n in (1, 10, 100):
        path.write_bytes(whole[:-n])
        assert read_history(path).looks == []
        write(tmp_path, LOOK)
        assert path.read_bytes() == whole


def test_a_damaged_line_is_left_out_and_counted(tmp_path):
    """The other lines stay readable."""
    path = write(tmp_path, BASELINE, LOOK)
    path.write_bytes(path.read_bytes().replace(b"2026-01-08", b"2026-01-09"))
    reading = read_history(path)
    assert (reading.baselines, reading.looks, reading.n_damaged) == ([BASELINE], [], 1)


def test_a_second_process_is_refused(tmp_path):
    """The lock is that of an open file: it ends with its holder."""
    with (
        HistoryFile.open(tmp_path),
        pytest.raises(RunError, match="another process is re-validating this run"),
    ):
        HistoryFile.open(tmp_path)
    write(tmp_path, BASELINE)


def test_a_page_escapes_names_and_marks_the_model(tmp_path):
    """A name from a manifest cannot bring a script; a round with another model is marked."""
    hostile = "<script>alert(1)</script>"
    stream = msgspec.structs.replace(STREAM, judge=hostile)
    looks = [
        msgspec.structs.replace(
            LOOK,
            number=number,
            judges=(
                JudgeLook(
                    judge=hostile, verdict="stable", provider=ProviderReport(models=(model,))
                ),
            ),
        )
        for number, model in enumerate(("m-1", "m-1", "m-2"), 1)
    ]
    power = {hostile: DetectionPower(share=0.1)}
    write(tmp_path, msgspec.structs.replace(BASELINE, streams=(stream,), power=power), *looks)
    history = read_history(tmp_path / "history.jsonl")
    assert model_changes(history.looks, hostile) == {3}
    page = history_page("run", history)
    assert hostile not in page
    assert "&lt;script&gt;alert(1)" in page
    assert page.count("<svg") == 3
    assert page.count("new model version or fingerprint: 2026-01-08") == 3


def test_a_change_of_the_metric_is_drawn_with_its_confidence_sequence():
    """Value and ends stand in the row of the round; a round without replies has none."""
    words = ["0.100", "[-0.100,", "0.400]"]
    changes = [Figure(name="mse(s/s)", difference=0.1, low=-0.1, high=0.4, n=3)]
    changes.append(Figure(name="mse(s/s)", reason="no_reply_on_either_side"))
    decision = DecisionFacts(metric="mse(s/s)", verdict="none", judge=None)
    looks = [
        msgspec.structs.replace(
            LOOK,
            number=number,
            judges=(JudgeLook(judge="gpt", verdict="stable", sequence=change),),
            decision=decision,
        )
        for number, change in enumerate(changes, 1)
    ]
    history = HistoryReading([BASELINE], looks)
    [*_, heading, heads, empty, drawn] = history_text(history).splitlines()
    assert heading == "gpt"
    assert heads.split() == ["round", "date", "verdict", "flips", "p", "value", "change", "model"]
    assert drawn.split() == ["1", "2026-01-08", "stable", "NA", "1.000", "NA", *words]
    assert empty.split() == ["2", "2026-01-08", "stable", "NA", "1.000", "NA", "NA"]
    page = history_page("run", history)
    assert "upper end, all rounds together" in page
    assert page.count("<svg") == 5
    assert_headings_are_numbered_as_listed(page)


def test_a_line_of_another_version_is_named(tmp_path):
    """It is not taken for damage."""
    path = tmp_path / "history.jsonl"
    path.write_bytes(with_checksum(b'{"kind":"look"}'))
    with pytest.raises(RunError, match="a different version of judge-harness wrote this baseline"):
        read_history(path)


def test_a_line_without_a_time_is_not_read(tmp_path):
    """What somebody else wrote for a time would else end every view of the history."""
    for look in (
        msgspec.structs.replace(LOOK, at="yesterday"),
        msgspec.structs.replace(
            LOOK, judges=(JudgeLook(judge="gpt", verdict="changed", since=1, since_at="then"),)
        ),
    ):
        path = write(tmp_path, look)
        with pytest.raises(RunError):
            read_history(path)
        path.unlink()


def test_reply_without_an_answer_has_no_value():
    """A log of somebody else may say otherwise; the reply counts as what came of it."""
    task = load_task("toxicity")
    item = task.items[0].id
    verdicts = [
        Verdict(
            item=item, judge="gpt", elicitation="forced_choice", sample=n, outcome=what, value="A"
        )
        for n, what in enumerate(("answered", "abstained"))
    ]
    stream = stream_of(verdicts, "gpt", "forced_choice", [item], task)
    assert stream.categories == (Category("answered", "A"), Category("abstained"))
    assert counts_of([stream]).categories == ("A", "(abstained)")
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"outcome": "abstained", "value": "A"}', type=Category)
