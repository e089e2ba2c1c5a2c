"""Weights of 4 bits made weights of 8: the same model, to within rounding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judging.judges.smollm2 import to_q8_0, unpacked_weights

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


def small_model(path):
    """Write a file of one field of each kind and one tensor of each type."""
    writer = gguf.GGUFWriter(path, arch="llama")
    writer.add_context_length(64)
    writer.add_token_list(["<s>", "a", "\N{CYRILLIC SMALL LETTER ZHE}"])
    weights = np.random.default_rng(0).normal(size=(4, 64)).astype("f4")
    writer.add_tensor("packed", gguf.quants.quantize(weights, Q4_1), raw_dtype=Q4_1)
    writer.add_tensor("plain", weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_the_unpacked_file_holds_the_same_model(tmp_path):
    """Every field and tensor is there, only the packed ones have another type; a second call
    makes nothing.
    """
    packed = small_model(tmp_path / "small.gguf")
    unpacked = unpacked_weights(packed, tmp_path / "weights")
    before, after = gguf.GGUFReader(packed), gguf.GGUFReader(unpacked)
    assert {k: v.contents() for k, v in before.fields.items() if "." in k} == {
        k: v.contents() for k, v in after.fields.items() if "." in k
    }
    pairs = list(zip(before.tensors, after.tensors, strict=True))
    assert [a.name for a, _ in pairs] == [b.name for _, b in pairs] == ["packed", "plain"]
    assert all(list(a.shape) == list(b.shape) for a, b in pairs)
    assert [b.tensor_type for _, b in pairs] == [Q8_0, gguf.GGMLQuantizationType.F32]
    assert np.array_equal(pairs[1][0].data, pairs[1][1].data)
    stamp = unpacked.stat().st_mtime_ns
    assert unpacked_weights(packed, tmp_path / "weights") == unpacked
    assert unpacked.stat().st_mtime_ns == stamp
    assert [file.name for file in unpacked.parent.iterdir()] == [unpacked.name]


def test_a_failed_write_raises_and_leaves_nothing(tmp_path):
    """A folder that is a file is an OSError, and nothing half made stays."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(OSError, match="file"):
        unpacked_weights(blocked, blocked / "weights")
