"""Vectors of texts, as the log of embeddings keeps them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import FloatArray

ID_DIGITS = 32


def text_id(text: str) -> str:
    """Return the id for a text to embed."""
    return sha256(text.encode()).hexdigest()[:ID_DIGITS]


def encode_vector(vector: Sequence[float]) -> str:
    """Encode a vector as text: single precision, base64."""
    import numpy as np  # noqa: PLC0415 -- only for vectors

    array = np.asarray(vector, dtype="<f4")
    if array.ndim != 1 or not np.isfinite(array).all() or not array.any():
        raise ValueError("no vector")
    return b64encode(array.tobytes()).decode()


def decode_vector(text: str) -> FloatArray:
    """Return the vector that `encode_vector` encoded, scaled to length 1."""
    import numpy as np  # noqa: PLC0415 -- only for vectors

    array = np.frombuffer(b64decode(text), dtype="<f4").astype(np.float64)
    unit: FloatArray = array / np.linalg.norm(array)
    return unit
