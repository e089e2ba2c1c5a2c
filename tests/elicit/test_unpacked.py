"""Weights of 4 bits made weights of 8: the same model, to within rounding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.elicit.smollm2 import weights
from harness.elicit.unpacked import to_q8_0, unpacked
from harness.errors import JudgeUnavailable

gguf = pytest.importorskip("gguf", reason="the extra `embedded` is not installed")
Q4_1, Q8_0 = gguf.GGMLQuantizationType.Q4_1, gguf.GGMLQuantizationType.Q8_0


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 3))
def test_each_weight_moves_by_at_most_half_a_step(seed, rows, blocks):
    """What an independent reader finds in the 8-bit blocks is what it found in the 4-bit ones."""
    rng = np.random.default_rng(seed)
    packed = gguf.quants.quantize(rng.normal(size=(rows, 32 * blocks)).astype("f4"), Q4_1)
    before = gguf.quants.dequantize(packed, Q4_1).reshape(-1, 32)
    after = gguf.quants.dequantize(to_q8_0(packed), Q8_0).reshape(-1, 32)
    largest = np.abs(before).max(axis=1, keepdims=True)
    assert np.all(np.abs(after - before) <= largest * (1 / 254 + 1 / 1024))


def test_a_block_of_zeros_stays_zero():
    """No division by the largest weight where that is 0."""
    packed = gguf.quants.quantize(np.zeros((1, 32), "f4"), Q4_1)
    assert not gguf.quants.dequantize(to_q8_0(packed), Q8_0).any()


def test_the_unpacked_file_holds_the_same_model(tmp_path):
    """Every field and tensor is there, only the packed ones have another type; a second call
    makes nothing.
    """
    try:
        packed = weights()
    except JudgeUnavailable as missing:
        pytest.skip(str(missing))
    made = unpacked(packed, tmp_path / "weights")
    before, after = gguf.GGUFReader(packed), gguf.GGUFReader(made)
    assert before.fields.keys() == after.fields.keys()
    tokens = "tokenizer.ggml.tokens"
    assert before.fields[tokens].contents() == after.fields[tokens].contents()
    types = {(a.tensor_type, b.tensor_type) for a, b in pairs(before.tensors, after.tensors)}
    assert (Q4_1, Q8_0) in types
    assert all(a == b for a, b in types if a != Q4_1)
    stamp = made.stat().st_mtime_ns
    assert unpacked(packed, tmp_path / "weights") == made
    assert made.stat().st_mtime_ns == stamp
    assert [file.name for file in made.parent.iterdir()] == [made.name]


def pairs(before, after):
    found = list(zip(before, after, strict=True))
    assert all(a.name == b.name and list(a.shape) == list(b.shape) for a, b in found)
    return found


def test_what_cannot_be_written_is_said(tmp_path):
    """A folder that is a file is an OSError, and nothing half made stays."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(OSError, match="file"):
        unpacked(blocked, blocked / "weights")
