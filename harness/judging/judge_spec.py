"""Specifications of judges, as stored in a run's manifest."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from harness.judging.model_names import provider_of, reasons_first
from harness.judging.prompts.presentation_orders import N_ORDERS
from harness.judging.strategies.strategy import DEFAULT, TOKEN_LIMITS, AnswerForm, Strategy
from harness.judging.strategies.strategy_registry import named
from harness.tasks import TemplateName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.files.json_values import JsonObject
    from harness.tasks import Task

ENSEMBLE = "ensemble"
EMBEDDING = "embedding"
BuiltInKind = Literal[
    "litellm",
    "endpoint",
    "embedding",
    "smollm2",
    "lexicon",
    "random",
    "scripted",
    "ensemble",
]
BUILT_IN_KINDS: tuple[str, ...] = get_args(BuiltInKind)
CHAT_KINDS = frozenset({"litellm", "endpoint"})
LOCAL_KINDS = frozenset(BUILT_IN_KINDS) - {"litellm", "endpoint", EMBEDDING}
CONTROL_KINDS = frozenset({"lexicon", "random", "scripted"})  # shown but never recommended
MIN_MEMBERS = 2
VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]{0,99}")

Script = dict[
    str,  # item id, or "*" for every other item
    str | tuple[str | tuple[str, str], ...] | dict[str, str | tuple[str | tuple[str, str], ...]],
]

_RESERVED = frozenset(
    {
        "api_base",
        "api_key",
        "api_version",
        "base_url",
        "cache",
        "caching",
        "callbacks",
        "client",
        "extra_body",
        "extra_headers",
        "headers",
        "max_retries",
        "messages",
        "mock_response",
        "model",
        "n",
        "num_retries",
        "stream",
        "timeout",
    }
)


class Price(BaseModel):
    """Prices of tokens in USD per million.

    Attributes
    ----------
    input, output : float
        Price of prompt tokens and of reply tokens.
    cached, cache_write : float or None
        Price of prompt tokens read from the provider's cache, or written to it. If None, they cost
        the same as other prompt tokens.
    batch : float
        Factor applied to all prices for requests sent in a batch.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    cached: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    cache_write: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    batch: Annotated[float, Field(gt=0, le=1)] = 1.0

    def cost_usd(
        self,
        prompt_tokens: int,
        completion_tokens: int,
        cached_tokens: int = 0,
        written_tokens: int = 0,
    ) -> float:
        """Return a reply's cost in USD. Prompt tokens include cached and written tokens."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_write is None else self.cache_write
        fresh = max(0, prompt_tokens - cached_tokens - written_tokens)
        prompt = fresh * self.input + cached_tokens * cached + written_tokens * written
        return (prompt + completion_tokens * self.output) / 1_000_000

    @property
    def most_input(self) -> float:
        """Highest price of a prompt token, which can be new, cached or written to the cache."""
        return max(self.input, self.cached or 0.0, self.cache_write or 0.0)

    def in_batch(self) -> Price:
        """Return the price that applies to requests in a batch."""
        rates = {
            name: None if rate is None else rate * self.batch
            for name, rate in self.model_dump(exclude={"batch"}).items()
        }
        return Price(**rates)


FREE = Price(input=0, output=0)


class JudgeSpec(BaseModel):
    """Specification of a judge. It never contains an API key.

    Attributes
    ----------
    name : str
        Alias or model string; unique in a run.
    kind : str
        The kind of judge, built in or from a plug-in. By default ``endpoint`` if ``base_url`` is
        set, else ``litellm``. An ``embedding`` returns vectors for ``similarity`` in task.yaml,
        through litellm or from its ``base_url``.
    model : str
        The provider's name for the model.
    base_url : str or None
        Address of the server, without a user name or a query. An endpoint can have a list of
        addresses.
    other_urls : tuple of str
        The other addresses in that list, which serve the same model. Requests name the first.
    params : dict
        Parameters sent with each call, in addition to the kind's defaults. ``null`` removes a
        default, including a strategy's. A token limit under any name replaces the default one.
        Models known to reason first have a higher default limit.
    key_env : str or None
        Name of the environment variable that contains the key.
    samples : int
        Calls per item and elicitation, unless set on the command line. Raised to an even number if
        answers are shown in both orders.
    n_per_request : int
        Maximum number of samples in a request (``n``), so that the prompt is paid for once. By
        default 10 for OpenAI's own models, else 1. If a server returns fewer, the others are
        requested one by one.
    concurrency : int
        Maximum number of calls in flight.
    concurrency_start : int or None
        Initial number of calls in flight. By default a quarter of ``concurrency`` if that also has
        its default, else all of it.
    rpm, tpm : float or None
        Requests and tokens per minute that the provider allows.
    deadline_s : float
        Maximum wall time of a call, in seconds.
    retry_after_max_s : float
        Longest wait, in seconds, that is accepted from a server. A longer one stops the judge.
    batch_poll_s : float
        Seconds between the first two polls of a batch; the interval grows to ten times that.
    price : Price or None
        USD per million tokens; None uses litellm's price list.
    allow_redirects : bool
        Whether the provider may redirect a request, including its key, to a different address.
    strategy : str
        How the judge is prompted: ``zero-shot``; ``few-shot:N`` with N demonstrations; ``cot`` for
        chain of thought, which raises the default token limit; ``few-shot:N@cot`` for both;
        ``json`` for replies that follow a JSON schema; ``logprob`` for the options' probabilities
        from one call; ``logprob-calibrated`` for these divided by a content-free item's;
        ``endorse`` for a yes-or-no call per option, and ``endorse-logprob`` for the probabilities
        of yes; ``verbalised`` for the probabilities of the words that complete the task's sentence;
        ``self-consistency:N``, with or without another strategy, for the majority of N replies. For
        an ensemble: ``majority``; ``weighted`` for a weighted majority; ``mean`` for the verdict of
        a random member. Plug-ins can add more.
    answer : str
        ``schema`` sends a JSON schema that allows only the keys (the provider's structured output),
        with reasons before the verdict if the strategy asks for them. ``plain`` sends only the
        question, and is the default except for the strategy ``json``. Strategies that read
        probabilities are always plain.
    reask : int
        1 to ask once more in the same conversation after a complete but unreadable reply, else 0.
        By default 1 for models behind an API, unless the strategy reads probabilities, and 0 for
        this package's own judges. Always 0 in runs of earlier versions.
    prompts : dict of str to str
        The judge's own templates, by the name of the bundled template that each replaces: files in
        the folder of `judges.yaml`.
    both_orders : bool or None
        Whether samples for an item of a pairwise task alternate between both orders of its answers.
        By default true if the task has ``pairwise`` and the judge reads prompts and is not
        ``logprob-calibrated``, which corrects position bias itself. A run records the value.
    images : bool or None
        Whether the model reads images. By default as in litellm's list for hosted models, and true
        for other servers.
    members : tuple of str
        For an ensemble: the aliases, with their strategies, whose verdicts it combines.
    replies : dict
        For a scripted judge: its replies, by item id.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
    kind: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    model: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{1,500}$")]
    base_url: str | None = None
    other_urls: tuple[str, ...] = ()
    params: dict[str, JsonValue] = {}
    key_env: str | None = None
    samples: Annotated[int, Field(ge=1, le=10_000)] = 1
    n_per_request: Annotated[int, Field(ge=1, le=128)] = 1
    concurrency: Annotated[int, Field(ge=1, le=4096)] = 8
    concurrency_start: Annotated[int, Field(ge=1, le=4096)] | None = None
    rpm: Annotated[float, Field(gt=0, le=1e9)] | None = None
    tpm: Annotated[float, Field(gt=0, le=1e12)] | None = None
    deadline_s: Annotated[float, Field(gt=0, le=86_400)] = 30.0
    retry_after_max_s: Annotated[float, Field(ge=0, le=86_400)] = 60.0
    batch_poll_s: Annotated[float, Field(gt=0, le=86_400)] = 30.0
    price: Price | None = None
    allow_redirects: bool = False
    strategy: str = DEFAULT.name
    answer: AnswerForm = "plain"
    reask: Literal[0, 1] = 0
    prompts: dict[TemplateName, str] = {}
    both_orders: bool | None = None
    images: bool | None = None
    members: tuple[str, ...] = ()
    replies: Script = {}

    @property
    def remote(self) -> bool:
        """Whether requests can leave this process and cost something."""
        return self.kind not in LOCAL_KINDS

    @property
    def asking(self) -> Strategy:
        """Strategy with which the judge is prompted."""
        return named(self.strategy)

    def n_samples(self, wanted: int | None) -> int:
        """Return the number of verdicts per item and elicitation for the requested number.

        The number is even if answers are shown in both orders. Otherwise a round with more of one
        order would differ from the run even if the judge has not changed.
        """
        n_orders = N_ORDERS if self.both_orders else 1
        n = 1 if self.asking.gives_distribution else wanted or self.samples
        return n + n % n_orders

    @property
    def sent_params(self) -> dict[str, JsonValue]:
        """Parameters sent with each call, which exclude those set to null."""
        return {key: value for key, value in self.params.items() if value is not None}

    def entry(self) -> JsonObject:
        """Return the judge as an entry for judges.yaml that loads as the same judge.

        The entry has every field, because the default of a field depends on others.
        """
        entry = self.model_dump(mode="json", exclude={"name", "other_urls"})
        if self.other_urls:
            entry["base_url"] = [self.base_url, *self.other_urls]
        return entry

    def __repr__(self) -> str:
        """Describe the judge in one line, without its params, key and script."""
        return f"JudgeSpec({self.name!r}, {self.kind} {self.model!r}, {self.samples} samples)"

    __str__ = __repr__

    @model_validator(mode="before")
    @classmethod
    def _set_answer(cls, fields: object) -> object:
        return with_answer(fields) if isinstance(fields, dict) else fields

    @field_validator("key_env")
    @classmethod
    def _check_key_env(cls, name: str | None) -> str | None:
        if name is not None and not VARIABLE.fullmatch(name):
            raise ValueError(
                "must be the name of the variable that contains the key, never the key"
            )
        return name

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, url: str | None) -> str | None:
        if url is None:
            return None
        if not url.isprintable() or " " in url:
            raise ValueError("must not contain spaces or control characters")
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError if it is invalid
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("must look like http://host:port/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("must not contain a user name, password, query or fragment")
        return url.rstrip("/")

    @field_validator("other_urls")
    @classmethod
    def _check_other_urls(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(cls._check_base_url(url) or "" for url in urls)

    @field_validator("strategy")
    @classmethod
    def _check_strategy(cls, strategy: str) -> str:
        return named(strategy).name

    @field_validator("params")
    @classmethod
    def _check_params(cls, params: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if reserved := sorted(_RESERVED & params.keys()):
            raise ValueError(
                f"{', '.join(reserved)} cannot be set here. Use model, base_url, key_env, samples"
            )
        for name in TOKEN_LIMITS:
            limit = params.get(name)
            if limit is not None and (type(limit) is not int or limit < 1):
                raise ValueError(f"{name} must be a whole number from 1, or null for no limit")
        json.dumps(params, allow_nan=False)  # raises ValueError for NaN
        return params

    @model_validator(mode="after")
    def _check_base_url_and_kind(self) -> JudgeSpec:
        if self.kind == "endpoint" and self.base_url is None:
            raise ValueError("base_url is missing. An endpoint needs the address of its server")
        if self.base_url and not self.remote:
            raise ValueError(f"judges of kind {self.kind} don't use base_url. Remove it")
        if self.other_urls and self.kind != "endpoint":
            raise ValueError(
                f"for judges of kind {self.kind}, base_url must be one address, not a list"
            )
        return self

    @model_validator(mode="after")
    def _check_answer(self) -> JudgeSpec:
        if self.answer == "schema" and not self.asking.has_schema:
            raise ValueError(
                f"answer: schema isn't compatible with strategy {self.strategy}, which has no "
                "schema. Remove one of them"
            )
        return self

    @model_validator(mode="after")
    def _check_reask(self) -> JudgeSpec:
        if self.reask and not self.asking.can_reask:
            raise ValueError(
                f"reask: 1 isn't compatible with strategy {self.strategy}. Remove one of them"
            )
        return self

    @model_validator(mode="after")
    def _check_members(self) -> JudgeSpec:
        is_ensemble = self.kind == ENSEMBLE
        if is_ensemble != bool(self.members):
            raise ValueError("members must be set for ensembles, and only for them")
        if is_ensemble and not MIN_MEMBERS <= len(set(self.members)) == len(self.members):
            raise ValueError("members must be at least two different judges")
        if is_ensemble != self.asking.joins_members:
            raise ValueError(
                "strategy must be majority, mean or weighted for an ensemble. Set other strategies "
                "on its members"
                if is_ensemble
                else f"strategy {self.strategy} is only for ensembles"
            )
        return self


def with_answer(fields: JsonObject) -> JsonObject:
    """Add a strategy's form of answer to a judge's fields, unless the fields set one."""
    with suppress(ValueError):  # which the strategy's own field reports
        return {"answer": named(str(fields.get("strategy", DEFAULT.name))).answer, **fields}
    return fields


def control_judges(specs: Iterable[JudgeSpec]) -> frozenset[str]:
    """Return the names of control judges and of ensembles with only control judges."""
    specs = list(specs)
    alone = {spec.name for spec in specs if spec.kind in CONTROL_KINDS}
    joined = {spec.name for spec in specs if spec.members and alone.issuperset(spec.members)}
    return frozenset(alone | joined)


def easier_strategies(spec: JudgeSpec, task: Task) -> tuple[str, ...]:
    """Return names of strategies that would make the judge's replies easier to parse.

    Log-probabilities cover the first token, which is not the answer if a model reasons first.
    Anthropic does not report any.
    """
    if spec.kind == "smollm2" and spec.asking.easier and task.verbalised is not None:
        return ("verbalised",)
    if spec.kind not in CHAT_KINDS:
        return ()
    reads_tokens = not (
        task.is_open
        or provider_of(spec.model) == "anthropic"
        or reasons_first(spec.model, spec.params)
    )
    return tuple(
        name
        for name in spec.asking.easier
        if (reads_tokens or not named(name).needs_logprobs)
        and not spec.answer == named(name).answer == "schema"
    )
