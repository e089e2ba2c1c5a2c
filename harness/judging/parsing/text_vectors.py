"""Encoding of embedding vectors in a run's log of embeddings."""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import FloatArray

ID_DIGITS = 32


def text_id(text: str) -> str:
    """Return the id under which a text's vector is stored."""
    return sha256(text.encode()).hexdigest()[:ID_DIGITS]


def encode_vector(vector: Sequence[float]) -> str:
    """Encode a vector as text, in single precision and Base64."""
    import numpy as np  # noqa: PLC0415 -- only for vectors

    array = np.asarray(vector, dtype="<f4")
    if array.ndim != 1 or not np.isfinite(array).all() or not array.any():
        raise ValueError("no vector")
    return b64encode(array.tobytes()).decode()


def decode_vector(text: str) -> FloatArray:
    """Decode a vector from `encode_vector`, and scale it to length 1."""
    import numpy as np  # noqa: PLC0415 -- only for vectors

    array = np.frombuffer(b64decode(text), dtype="<f4").astype(np.float64)
    unit: FloatArray = array / np.linalg.norm(array)
    return unit
