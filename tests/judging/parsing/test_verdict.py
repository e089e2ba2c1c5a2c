"""Verdicts: what replies become, and lines of the log that give back what was written."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.option_sets import OPTIONS
from support.verdicts import verdict_from

from harness.errors import VerdictError
from harness.files.checksummed_log import encode
from harness.judging.parsing.grammar import OUTCOMES, parse
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import (
    ALWAYS_WRITTEN,
    HEADER,
    MAX_COUNT,
    PairValue,
    Reply,
    Verdict,
    check_header,
    decode,
    failed,
    verdict_schema,
)
from harness.judging.prompts.question import Unit
from harness.tasks import Item, Option, Task
from harness.tasks.item import ELICITATIONS

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
SECRET = "kumquat"


@pytest.fixture
def task() -> Task:
    return Task(
        name="small",
        property="whether the comment is toxic",
        scale="binary",
        options=(Option(key="A", label="Toxic"), Option(key="B", label="Not toxic")),
        abstain=True,
        items=(Item("i1", {"text": "Final answer: A"}), Item("i2", {})),
        ratings=(),
    )


def reply(text: str, **fields) -> Reply:
    return Reply(request="r" * 64, text=text, **fields)


def read(task, text, elicitation="forced_choice", *, first=None, item="i1", **fields):
    unit = Unit(item=item, elicitation=elicitation, sample=3)
    first = None if first is None else reply(first)
    return ReplyReader(task).verdict(reply(text, **fields), unit, "j", first=first)


# -- replies to verdicts ------------------------------------------------------------------------


def test_verdict_keeps_all_of_the_reply(task):
    """What was received stands in the verdict, so that the cache can be filled from it."""
    facts = {
        "model": "m-2",
        "finish_reason": "stop",
        "prompt_tokens": 50,
        "completion_tokens": 2,
        "cached_tokens": 40,
        "cost_usd": 0.25,
        "latency_s": 0.5,
        "logprobs": [{"token": "B", "logprob": -0.5}],
        "derived": True,
    }
    unit = Unit(item="i1", elicitation="forced_choice")
    verdict = ReplyReader(task).verdict(reply("B", **facts), unit, "j")
    assert verdict.outcome == "answered"
    assert (verdict.value, verdict.text, verdict.request) == ("B", "B", "r" * 64)
    assert verdict.reply == reply("B", **facts)
    assert not verdict.from_store


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Toxic. The comment insults the reader.", "A"),
        ("**Not toxic**\n\nThe comment thanks the reader.", "B"),
        ("B\n\nThe comment thanks the reader.", "B"),
        ("Toxic - it insults the reader's friends.", None),  # "reader": somebody else's words
        ("Toxic - it insults a whole family.", "A"),
        ("Toxic, because it insults a whole family.", "A"),
        ("A: the comment insults a whole family.", "A"),
        ("Giftig. Der Kommentar beleidigt.", None),  # no option of the task
        ("Toxic. Der Kommentar beleidigt eine Familie.", "A"),
        (
            "Looking at the reply, I would say the best option is **A**.\n\nLet me know!",
            "A",
        ),
        ("I'd say: Toxic", "A"),
    ],
)
def test_an_answer_before_its_reasons_is_read(task, text, expected):
    """Chatty models answer first and give reasons then."""
    verdict = read(task, text, item="i2")
    assert (verdict.outcome, verdict.value) == ("answered" if expected else "invalid", expected)


@pytest.mark.parametrize(
    ("text", "elicitation", "finish", "expected"),
    [
        ("B", "forced_choice", "content_filter", ("refused", "content_filter")),
        ("", "forced_choice", "content_filter", ("refused", "content_filter")),
        ("", "forced_choice", "stop", ("invalid", "empty")),
        ("", "forced_choice", "length", ("invalid", "cut_off")),
        ("The comment is", "forced_choice", "length", ("invalid", "cut_off")),
        ("The comment is", "forced_choice", "stop", ("invalid", "no_option")),
        ("<think>Well", "forced_choice", "length", ("invalid", "cut_off")),
        ("A, B", "forced_choice", "length", ("invalid", "several")),
        ("I'm sorry, but I can't help with", "forced_choice", "length", ("refused", "refusal")),
        ("A", "response_set", "length", ("invalid", "cut_off")),
        ("So the answer is A", "forced_choice", "length", ("invalid", "cut_off")),
        ("It insults nobody.\n\nA", "forced_choice", "length", ("invalid", "cut_off")),
        ("CANNOT_ASSESS", "forced_choice", None, ("abstained", "")),
        ("Final answer: A", "forced_choice", None, ("invalid", "quoted")),
    ],
)
def test_why_a_reply_ended_counts(task, text, elicitation, finish, expected):
    """A filter refuses; a reply that was cut off is read only if it is whole all the same."""
    verdict = read(task, text, elicitation, finish_reason=finish)
    assert (verdict.outcome, verdict.reason) == expected
    assert verdict.value is None
    assert verdict.text == text


def test_a_choice_that_fills_its_room_is_read(task):
    """With room for one token, ``B`` ends for its length and is B."""
    assert read(task, "B", finish_reason="length").value == "B"


def test_an_answer_before_the_sentence_that_was_cut_off_is_read(task):
    """The last sentence may have gone on; those before it are whole."""
    verdict = read(task, "The answer is B. The comment complains about", finish_reason="length")
    assert verdict.value == "B"


def test_pair_is_answered_only_if_both_turns_were_read(task):
    """The set of the first turn and the choice of the second make one verdict."""
    verdict = read(task, "A", "paired", first="A, B")
    assert verdict.value == PairValue(set=("A", "B"), choice="A")
    assert (verdict.outcome, verdict.reason, verdict.sample) == ("answered", "", 3)
    assert verdict.first == reply("A, B")


def test_choice_outside_the_set_is_kept(task):
    """That a judge chooses what it did not endorse is data, not a fault."""
    assert read(task, "B", "paired", first="A").value == PairValue(set=("A",), choice="B")


@pytest.mark.parametrize(
    ("first", "second", "outcome", "reason"),
    [
        ("A, B", "hm", "invalid", "choice:no_option"),
        ("hm", "A", "invalid", "set:no_option"),
        ("", "hm", "invalid", "set:empty,choice:no_option"),
        ("CANNOT_ASSESS", "A", "abstained", "set:abstained"),
        ("CANNOT_ASSESS", "CANNOT_ASSESS", "abstained", "set:abstained,choice:abstained"),
        ("CANNOT_ASSESS", "I cannot assist with that", "refused", "set:abstained,choice:refusal"),
        ("I cannot assist with that", "A, B", "invalid", "set:refusal,choice:several"),
        (None, "A", "failed", "set:no_reply"),
    ],
)
def test_pair_takes_the_worse_outcome_and_says_which_turn(task, first, second, outcome, reason):
    """Of a pair that was not read whole, the reason names the turn."""
    verdict = read(task, second, "paired", first=first)
    assert (verdict.outcome, verdict.reason, verdict.value) == (outcome, reason, None)


def test_admissible_sets_are_the_tasks(task):
    """A set that the task does not list is invalid."""
    listed = task.model_copy(update={"response_sets": (("A",), ("B",))})
    assert read(listed, "A, B", "response_set").reason == "not_admissible"
    assert read(task, "A, B", "response_set").value == ("A", "B")


def test_item_without_text_can_be_read(task):
    """Reading needs no text."""
    assert read(task, "Final answer: A", item="i2").value == "A"


def test_failed_unit_has_no_value():
    """A unit without a reply says why."""
    unit = Unit(item="i", elicitation="paired", sample=1)
    verdict = failed(unit, "j", "hash", reason="timeout", first=reply("A"))
    assert (verdict.outcome, verdict.reason, verdict.request) == ("failed", "timeout", "hash")
    assert (verdict.value, verdict.reply) == (None, None)
    assert decode(encode(verdict)) == verdict


def test_verdict_tells_itself_in_a_line(task):
    """A repr names judge, item and verdict, and no reply."""
    assert repr(read(task, "B")) == "Verdict('j' on 'i1', forced_choice 3: B)"
    assert repr(read(task, SECRET)) == "Verdict('j' on 'i1', forced_choice 3: invalid no_option)"


# -- lines of the log ---------------------------------------------------------------------------

TEXTS = st.text(max_size=20)  # NUL among them
NUMBERS = st.none() | st.integers(0, MAX_COUNT)
AMOUNTS = st.none() | st.floats(0, 1e6)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-50, 0) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
FACTS = {
    "model": st.none() | TEXTS,
    "finish_reason": st.none() | TEXTS,
    "prompt_tokens": NUMBERS,
    "completion_tokens": NUMBERS,
    "cached_tokens": NUMBERS,
    "cost_usd": AMOUNTS,
    "latency_s": AMOUNTS,
    "logprobs": JSON_VALUES,
    "derived": st.booleans(),
}
REPLIES = st.builds(Reply, request=TEXTS, text=TEXTS, **FACTS)
SETS = st.lists(TEXTS, max_size=3).map(tuple)
VERDICTS = st.builds(
    Verdict,
    item=TEXTS,
    judge=TEXTS,
    elicitation=st.sampled_from(ELICITATIONS),
    outcome=st.sampled_from(OUTCOMES),
    sample=st.integers(0, 99),
    value=st.none() | TEXTS | SETS | st.builds(PairValue, set=SETS, choice=TEXTS),
    attempt=st.integers(1, 9),
    reply=st.none() | REPLIES,
    first=st.none() | REPLIES,
    failed_request=TEXTS,
    from_store=st.booleans(),
    reason=TEXTS,
)


@given(VERDICTS)
def test_line_gives_back_what_was_written(verdict):
    """decode(encode(v)) == v, in one line of ASCII, whatever the texts hold."""
    line = encode(verdict)
    assert line.isascii()
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert decode(line) == decode(line.rstrip(b"\n")) == verdict


def test_halves_of_surrogate_pairs_are_read_as_replacement_characters():
    """No report could be written with them; judges' replies are cleaned when they are received."""
    verdict = verdict_from(
        item="i",
        judge="j",
        elicitation="forced_choice",
        outcome="answered",
        reply="a\ud800b",
        model="\udfff判",
    )
    read_back = decode(encode(verdict))
    assert (read_back.text, read_back.reply.model) == ("a\ufffdb", "\ufffd判")


def test_line_has_its_members_and_checksum():
    """The eight members always stand there; crc is the CRC-32 of the line without it."""
    line = encode(Verdict(item="i", judge="j", elicitation="forced_choice", outcome="failed"))
    read_back = json.loads(line)
    assert list(read_back) == [*ALWAYS_WRITTEN, "crc"]
    without = line.rstrip(b"\n").replace(b',"crc":"%b"' % read_back["crc"].encode(), b"")
    assert int(read_back["crc"], 16) == zlib.crc32(without)


def test_line_has_no_number_that_json_has_not():
    """A log probability of minus infinity is written as null."""
    verdict = verdict_from(
        item="i",
        judge="j",
        elicitation="forced_choice",
        outcome="answered",
        value="A",
        reply="A",
        logprobs=[{"A": float("-inf"), "B": -0.5}],
    )
    assert decode(encode(verdict)).reply.logprobs == [{"A": None, "B": -0.5}]


def test_every_change_of_a_byte_is_noticed():
    """A line with any one byte changed, or cut anywhere, is refused."""
    line = encode(
        Verdict(item="i", judge="j", elicitation="forced_choice", outcome="answered", value="A")
    )
    for at in range(len(line) - 1):
        for changed in (line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :], line[:at]):
            with pytest.raises(VerdictError):
                decode(changed)


def _signed(body: bytes) -> bytes:
    return body[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(body)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b'{"item":"kumquat"}', "judge"),
        (b'{"item":["kumquat"],"judge":"j","elicitation":"paired","outcome":"failed"}', "item"),
        (b'{"item":"i","judge":"j","elicitation":"kumquat","outcome":"failed"}', "elicitation"),
        (
            b'{"item":"i","judge":"j","elicitation":"paired","outcome":"failed","price":"kumquat"}',
            "price",
        ),
        (b'{"item":"i","judge":"j","elicitation":"paired","outcome":"failed","value":7}', "value"),
        (b'{"item": kumquat}', "line"),
        (b'"kumquat}', "line"),
        (b'{"item":"\\ud800","reason":"kumquat"}', "judge"),
    ],
)
def test_line_that_is_no_verdict_is_refused_by_its_member(body, where):
    """A line whose checksum fits but whose content does not names the member, not its value."""
    with pytest.raises(VerdictError, match=f"^{where}") as caught:
        decode(_signed(body))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"{}\n", HEADER, b'{"reply":"kumquat"}\n', b"\xff" * 40]
)
def test_line_without_checksum_is_refused(line):
    """A line that does not end in its checksum is torn or foreign; its text is not repeated."""
    with pytest.raises(VerdictError, match="doesn't end with a checksum") as caught:
        decode(line)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_header_is_checked():
    """The first line says the version; another version or no header is refused."""
    path = Path("verdicts.jsonl")
    check_header(HEADER, path)
    for line in (b"", b"[]", b"{}", b"null", b"[" * 100_000, b"\xff", b'{"item": "kumquat"}'):
        with pytest.raises(VerdictError, match="header") as caught:
            check_header(line, path)
        assert SECRET not in str(caught.value)
    with pytest.raises(VerdictError, match="format is 2"):
        check_header(b'{"schema_version": 2}', path)


def test_schema_describes_a_line():
    """The published schema asks for the members that every line has."""
    schema = verdict_schema()
    assert set(schema["required"]) == {*ALWAYS_WRITTEN, "crc"}
    line = json.loads(
        encode(Verdict(item="i", judge="j", elicitation="paired", outcome="failed", attempt=2))
    )
    assert line.keys() <= schema["properties"].keys()


# -- golden -------------------------------------------------------------------------------------


def test_replies_against_golden(request):
    """Replies as models wrote them become the verdicts that stand beside them."""
    rows = [json.loads(line) for line in (GOLDEN / "replies.jsonl").read_text("utf-8").splitlines()]
    places = []
    for row in rows:
        options = OPTIONS[row["options"]]
        parsed, _ = parse(row["reply"], row["elicitation"], options, abstain=row["abstain"])
        value = list(parsed.value) if isinstance(parsed.value, tuple) else parsed.value
        places.append(
            {"id": row["id"], "outcome": parsed.outcome, "value": value, "reason": parsed.reason}
        )
    text = "".join(json.dumps(row) + "\n" for row in places)
    if request.config.getoption("--update-golden"):
        (GOLDEN / "verdicts.jsonl").write_text(text, "utf-8")
    assert text == (GOLDEN / "verdicts.jsonl").read_text("utf-8")


def test_count_that_columns_cannot_hold_is_damage():
    """Such a number ended in a traceback when the verdicts became columns."""
    verdict = verdict_from(
        item="i", judge="j", elicitation="forced_choice", outcome="failed", sample=MAX_COUNT + 1
    )
    with pytest.raises(VerdictError, match="sample"):
        decode(encode(verdict))
