"""Judges by name: which ones a run asks, whether they can be asked, and their one interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from pydantic import ValidationError

from harness.errors import JudgeError, JudgeUnavailable
from harness.judging.judges.config import (
    BASELINES,
    JudgeSpec,
    first_fault,
    key_of,
    load_judges,
    user_file,
)
from harness.judging.judges.http_exchange import Wire
from harness.judging.judges.pricing import Price, Tokens, estimate, price_of
from harness.judging.judges.providers import PROVIDERS, provider_of
from harness.judging.prompts.requests import Request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from harness.judging.parsing.verdict import Reply
    from harness.judging.prompts.requests import Prompts, Unit
    from harness.tasks import Task

__all__ = [
    "Judge",
    "JudgeSpec",
    "Price",
    "Prompted",
    "Resolved",
    "Tokens",
    "build",
    "check",
    "estimate",
    "key_of",
    "load_judges",
    "look_up",
    "notice_of",
    "price_of",
    "resolve",
    "user_file",
]

UNNAMED = ("smollm2", "lexicon")  # the kinds that run when no judge is named


class Judge(Protocol):
    """Something that rates in place of people."""

    spec: JudgeSpec

    def request(self, unit: Unit) -> Request:
        """Say what will be asked; of a pair, the first turn."""

    def follow_up(self, request: Request, reply: Reply) -> Request:
        """Say what the second turn of a pair asks, given the first reply."""

    async def ask(self, request: Request) -> Reply:
        """Answer one request once, or raise `harness.errors.CallFailed`; never retries."""

    async def ask_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer requests that differ in the sample alone, in order; there may be fewer replies."""

    async def aclose(self) -> None:
        """Let go of connections and models."""


class Prompted:
    """What all judges share that read the prompts: requests are made from templates."""

    def __init__(
        self,
        spec: JudgeSpec,
        task: Task,
        prompts: Prompts,
        params: Mapping[str, JsonValue] | None = None,
    ) -> None:
        self.spec = spec
        self.wire = Wire(spec.concurrency)
        self._prompts = prompts
        self._items = {item.id: item for item in task.items}
        self._params = spec.sent_params if params is None else params
        self._empty = Request(
            provider=spec.kind,
            base_url=spec.base_url,
            model=spec.model,
            params=self._params,
            messages=(),
        )

    def request(self, unit: Unit) -> Request:
        """Say what will be asked; of a pair, the first turn."""
        messages = self._prompts.messages(self._items[unit.item], unit.elicitation)
        return self._empty.saying(messages).for_sample(unit.sample)

    def follow_up(self, request: Request, reply: Reply) -> Request:
        """Say what the second turn asks; the first reply is part of it."""
        return request.saying(self._prompts.follow_up(request.messages, reply.text))

    async def aclose(self) -> None:
        """Close the connections."""
        await self.wire.aclose()

    def __repr__(self) -> str:
        """One line that tells the judge; no key."""
        return f"{type(self).__name__}({self.spec.name!r}, {self.spec.model!r})"


class Resolved(NamedTuple):
    """The judges of a run, and those left out with the reason."""

    specs: list[JudgeSpec]
    skipped: list[tuple[str, str]]


def resolve(
    names: Sequence[str] | None,
    task: Task,
    registry: Mapping[str, JudgeSpec],
    *,
    baselines: bool = True,
    base_url: str | None = None,
    key_env: str | None = None,
) -> Resolved:
    """Turn what the user asked for into the judges of a run.

    Parameters
    ----------
    names : sequence of str or None
        Aliases and model strings; None takes every embedded judge that applies.
    task : Task
        What they would rate.
    registry : mapping
        Known aliases, see `load_judges`.
    baselines : bool
        Whether ``random`` and ``majority`` join.
    base_url, key_env : str or None
        From the command line: names that are no alias are models of the server at this address.

    Returns
    -------
    Resolved
        Named judges in the order given, then the baselines. Keys are not looked for here: a plan
        needs none (see `check`).

    Raises
    ------
    JudgeError
        If a name is unknown or given twice.
    JudgeUnavailable
        If a judge that was named cannot run here or means nothing for this task.
    """
    check_server_is_used(names, registry, base_url, key_env)
    specs: list[JudgeSpec] = []
    skipped: list[tuple[str, str]] = []
    for name in names or ():
        if name in {spec.name for spec in specs}:
            raise JudgeError(f"judge {name!r} is named twice; name it once, samples repeat a judge")
        spec = look_up(name, registry, base_url, key_env)
        if not spec.remote:
            check(spec, task)
        specs.append(spec)
    wanted = [spec for spec in registry.values() if spec.kind in UNNAMED and names is None]
    if baselines:
        wanted += [spec for kind in BASELINES for spec in registry.values() if spec.kind == kind]
    for spec in wanted:
        if spec.name in {other.name for other in specs}:
            continue
        try:
            check(spec, task)
        except JudgeUnavailable as reason:
            skipped.append((spec.name, str(reason)))
        else:
            specs.append(spec)
    if not specs:
        raise JudgeError("no judge is left to run; name one, e.g. --judges gpt")
    return Resolved(specs, skipped)


def check_server_is_used(
    names: Sequence[str] | None,
    registry: Mapping[str, JudgeSpec],
    base_url: str | None,
    key_env: str | None,
) -> None:
    """Refuse an address or a key, from the command line, that no judge would be asked with.

    Raises
    ------
    JudgeError
        If all names are aliases, which say themselves where they are asked.
    """
    option = "--base-url" if base_url is not None else "--key-env" if key_env is not None else ""
    if option and all(name in registry for name in names or ()):
        raise JudgeError(
            f"{option} is for judges that are no alias, and none was named; name the model as its "
            "server does, e.g. --judges my-model, or give an alias of yours these in judges.yaml"
        )


def look_up(
    name: str, registry: Mapping[str, JudgeSpec], base_url: str | None, key_env: str | None
) -> JudgeSpec:
    """Find a judge by alias, else take the name for a model string; see `resolve`.

    Raises
    ------
    JudgeError
        If the name is neither.
    """
    if name in registry:
        return registry[name]
    if "/" not in name and base_url is None:
        raise JudgeError(
            f"unknown judge {name!r}; known are {', '.join(registry)}, "
            "or give a model string such as openai/gpt-4o"
        )
    try:
        given = {"name": name, "model": name, "base_url": base_url, "key_env": key_env}
        return JudgeSpec.model_validate({k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        raise JudgeError(f"judge {name!r}: {first_fault(error)}") from None


def check(spec: JudgeSpec, task: Task | None = None) -> None:
    """Say why a judge cannot run, before anything is spent.

    Parameters
    ----------
    spec : JudgeSpec
        The judge.
    task : Task or None
        When given, whether the judge means anything for it is checked too.

    Raises
    ------
    JudgeUnavailable
        If a key, a wheel or the task's word on what the judge means is missing. A missing key is
        named by its variable; of a key that is there nothing is said.
    """
    if spec.kind == "smollm2":
        from harness.judging.judges.smollm2 import weights  # noqa: PLC0415 -- only for this judge

        weights(spec.model)
    elif spec.kind == "litellm":
        from harness.judging.judges.hosted import check_hosted  # noqa: PLC0415 -- only for this judge

        check_hosted(spec)
    elif spec.kind == "endpoint":
        key_of(spec)
    elif task is not None:
        from harness.judging.judges.embedded import check_task  # noqa: PLC0415 -- only for this judge

        check_task(spec, task)


def notice_of(spec: JudgeSpec) -> str:
    """Say in one line what whoever reads this judge's results should know; mostly nothing."""
    if spec.kind == "majority":
        return (
            f"{spec.name}: the mode of all human ratings, so it has seen the answers (in-sample); "
            "ties go to the option that comes first"
        )
    if spec.kind == "litellm" and provider_of(spec.model) not in PROVIDERS:
        return f"{spec.name}: redirects are followed, with key and text (--allow-redirects)"
    return ""


def build(spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> Judge:
    """Make a judge that can be asked; ``seed`` moves only the random one."""
    if spec.kind == "litellm":
        from harness.judging.judges.hosted import Hosted  # noqa: PLC0415 -- only for this judge

        return Hosted(spec, task, prompts)
    if spec.kind == "endpoint":
        from harness.judging.judges.endpoint import Endpoint  # noqa: PLC0415 -- only for this judge

        return Endpoint(spec, task, prompts)
    if spec.kind == "smollm2":
        from harness.judging.judges.smollm2 import SmolLM2  # noqa: PLC0415 -- only for this judge

        return SmolLM2(spec, task, prompts)
    from harness.judging.judges.embedded import build_embedded  # noqa: PLC0415 -- only for this judge

    return build_embedded(spec, task, prompts, seed=seed)
