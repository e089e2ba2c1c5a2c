"""Verdicts counted as they are read are those that the log gives one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.verdicts import verdict_from

from harness.errors import VerdictError
from harness.files.checksummed_log import encode, with_checksum
from harness.judging.parsing.verdict import HEADER, PairValue
from harness.judging.storage.verdict_columns import columns_of, count_log, verdicts_at
from harness.judging.storage.verdict_log import read_log

VALUES = {
    "forced_choice": st.sampled_from(["A", "B", "é"]),
    "response_set": st.sampled_from([("A",), ("A", "B")]),
    "paired": st.just(PairValue(set=("A", "B"), choice="B")),
}


@st.composite
def verdicts(draw):
    elicitation = draw(st.sampled_from(sorted(VALUES)))
    outcome = draw(st.sampled_from(["answered", "abstained", "invalid", "failed"]))
    return verdict_from(
        item=draw(st.sampled_from(["a", "b", "naïve"])),
        judge=draw(st.sampled_from(["j", "k"])),
        elicitation=elicitation,
        sample=draw(st.integers(0, 2)),
        outcome=outcome,
        value=draw(VALUES[elicitation]) if outcome == "answered" else None,
        attempt=draw(st.integers(1, 3)),
        reply=None if outcome == "failed" else draw(st.sampled_from(["A", '{"confidence": 1}'])),
        request=draw(st.sampled_from(["x", "y"])),
        from_store=draw(st.booleans()),
        reason="timeout" if outcome == "failed" else "",
    )


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(rows=st.lists(verdicts() | st.just(None), max_size=40))
def test_columns_hold_the_verdicts_that_the_log_gives(tmp_path, rows):
    """In the same order, the newest success of each unit, with damaged lines set aside."""
    path = tmp_path / "verdicts.jsonl"
    lines = [b'{"torn":1}\n' if row is None else encode(row) for row in rows]
    path.write_bytes(HEADER + b"".join(lines))
    wanted, log = read_log(path), count_log(path)
    assert log.n_damaged == len(wanted.damaged)
    by_judge = {}
    for verdict in wanted.final.values():
        by_judge.setdefault(verdict.judge, []).append(verdict)
    assert log.by_judge.keys() == by_judge.keys()
    for judge, of_judge in by_judge.items():
        logged = log.by_judge[judge]
        assert list(logged) == of_judge
        assert [logged[i] for i in range(len(logged))] == of_judge
        columns, others = logged.columns, columns_of(of_judge)
        assert columns.kinds == others.kinds
        assert columns.n_by_kind() == others.n_by_kind()
        np.testing.assert_array_equal(columns.kind, others.kind)
        assert [columns.items[i] for i in columns.item] == [v.item for v in of_judge]
        answered = columns.of_kinds(lambda kind: kind.outcome == "answered")
        assert verdicts_at(logged, answered) == [v for v in of_judge if v.outcome == "answered"]


def test_a_number_beyond_32_bits_is_a_damaged_line(tmp_path):
    """A log of others may hold any number; it is set aside, as what this version never writes."""
    path = tmp_path / "verdicts.jsonl"
    good = verdict_from(
        item="a", judge="j", elicitation="forced_choice", outcome="answered", value="A"
    )
    body = encode(good).rpartition(b',"crc"')[0] + b"}"
    large = with_checksum(body.replace(b'"sample":0', b'"sample":9223372036854775808'))
    path.write_bytes(HEADER + encode(good) + large)
    log = count_log(path)
    assert (log.n_damaged, len(log.by_judge["j"])) == (1, 1)


def test_a_log_that_was_rewritten_is_refused(tmp_path):
    """Texts are read where they were: a log is append-only, and one that is not says so."""
    path = tmp_path / "verdicts.jsonl"
    fields = {"judge": "j", "elicitation": "forced_choice", "outcome": "answered", "value": "A"}
    path.write_bytes(HEADER + b"".join(encode(verdict_from(item=i, **fields)) for i in "ab"))
    log = count_log(path)
    path.write_bytes(HEADER)
    with pytest.raises(VerdictError, match="was changed while it was read"):
        list(log.by_judge["j"])
