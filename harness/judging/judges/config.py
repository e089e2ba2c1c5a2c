"""Specifications of judges, and `judges.yaml`: the bundled aliases and the user's."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from harness import loading
from harness.errors import JudgeError, fault_of
from harness.files.strict_yaml import read_yaml
from harness.judging.judges.providers import (
    OWN_PROTOCOLS,
    PROVIDERS,
    REASONING_MAX_TOKENS,
    Price,
    provider_of,
    reasons_first,
)
from harness.judging.judges.response_errors import explain
from harness.judging.prompts.presentation_orders import N_ORDERS
from harness.judging.strategies.answer_schemas import SCHEMA_MAX_TOKENS
from harness.judging.strategies.strategy import (
    DEFAULT,
    DEFAULT_OF_ENSEMBLES,
    TOKEN_LIMITS,
    AnswerForm,
    Strategy,
    joined,
    named,
    with_room,
)
from harness.tasks import TemplateName

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness.files.json_values import JsonObject

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
FIELD_LINE = re.compile(r"`(params: \{[^`]*\}|answer: plain)`")
VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]{0,99}")

Script = dict[
    str,  # item id, or "*" for every other item
    str | tuple[str | tuple[str, str], ...] | dict[str, str | tuple[str | tuple[str, str], ...]],
]

_SAMPLING: dict[str, JsonValue] = {"temperature": 1.0, "max_tokens": 32}
SAMPLES_PER_REQUEST = 10  # for providers that are known to allow several
_DEFAULTS: dict[str, JsonObject] = {
    "litellm": {"samples": 10, "concurrency": 16, "deadline_s": 60.0, "params": _SAMPLING},
    "endpoint": {"samples": 10, "concurrency": 64, "deadline_s": 60.0, "params": _SAMPLING},
    EMBEDDING: {"concurrency": 16, "deadline_s": 60.0},
    "smollm2": {
        "model": "SmolLM2-135M-Instruct.Q4_1",
        "concurrency": 1,
        "deadline_s": 300.0,
        "params": {"temperature": 0.0, "max_tokens": 12},
    },
    "lexicon": {"model": "vader"},
    "random": {"model": "uniform", "samples": 10},
    "scripted": {"model": "script"},
}
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


class JudgeSpec(BaseModel):
    """Specification of a judge; never contains a key.

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
        By default true if the task has ``pairwise`` and the judge reads prompts and isn't
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
        """The judge's strategy."""
        return named(self.strategy)

    def n_samples(self, wanted: int | None) -> int:
        """Return the number of verdicts per item and elicitation, given the requested number.

        The number is even if answers are shown in both orders. Otherwise a round with more of one
        order would differ from the run even if the judge hasn't changed.
        """
        n_orders = N_ORDERS if self.both_orders else 1
        n = 1 if self.asking.gives_distribution else wanted or self.samples
        return n + n % n_orders

    def why_samples(self, wanted: int | None) -> str:
        """Return the reason for the number of replies per item from `n_samples`."""
        if self.asking.gives_distribution:
            return "because one reply has the probabilities of all answers"
        if wanted:
            return "set by --samples"
        default = _DEFAULTS.get(self.kind, {}).get("samples", 1)
        if self.samples != default:
            return "set in judges.yaml"
        return (
            "because replies don't vary" if default == 1 else "because replies vary (the default)"
        )

    @property
    def sent_params(self) -> dict[str, JsonValue]:
        """Parameters sent with each call: those that are not null."""
        return {key: value for key, value in self.params.items() if value is not None}

    def explain(self, reason: str) -> str:
        """Return a failure's slug, meaning and remedy, naming the server and the key's variable."""
        provider = PROVIDERS.get(provider_of(self.model))
        address = self.base_url or (provider.address if provider else None)
        text = explain(reason, address=address, key_env=self.key_env)
        return FIELD_LINE.sub(self._as_entry, text)

    def _as_entry(self, line: re.Match[str]) -> str:
        """Return a field as a line of judges.yaml, if the entry must set it."""
        name = self.name.removesuffix(f"@{self.strategy}")
        bundled = _bundled_judges().get(name)
        if name != self.model and (bundled is None or bundled.model != self.model):
            return line[0]
        fields = {"model": self.model, "base_url": self.base_url, "key_env": self.key_env}
        members = [f"{key}: {json.dumps(value)}" for key, value in fields.items() if value]
        return f"`{json.dumps(name)}: {{{', '.join([*members, line[1]])}}}`"

    def entry(self) -> JsonObject:
        """Return the judge as an entry of judges.yaml, from which the same judge is loaded.

        The entry has every field, because the default of a field depends on others.
        """
        entry = self.model_dump(mode="json", exclude={"name", "other_urls"})
        if self.other_urls:
            entry["base_url"] = [self.base_url, *self.other_urls]
        return entry

    def __repr__(self) -> str:
        """Return one line without params, key and script."""
        return f"JudgeSpec({self.name!r}, {self.kind} {self.model!r}, {self.samples} samples)"

    __str__ = __repr__

    @model_validator(mode="before")
    @classmethod
    def _set_defaults(cls, fields: object) -> object:
        if not isinstance(fields, dict):
            return fields
        if isinstance(urls := fields.get("base_url"), list) and urls:
            fields = fields | {"base_url": urls[0], "other_urls": urls[1:]}
        kind = fields.get("kind", "endpoint" if fields.get("base_url") else "litellm")
        defaults = _DEFAULTS.get(kind, {}) if isinstance(kind, str) else {}
        filled = {**defaults, **fields, "kind": kind}
        if kind == ENSEMBLE and isinstance(members := fields.get("members"), list | tuple):
            filled.setdefault("model", "+".join(map(str, members)))
        if kind == ENSEMBLE:
            filled.setdefault("strategy", DEFAULT_OF_ENSEMBLES)
        provider = (
            PROVIDERS.get(provider_of(str(fields.get("model"))))
            if kind in {"litellm", EMBEDDING}
            else None
        )
        if provider is not None and not fields.get("base_url"):
            filled.setdefault("key_env", provider.key_env)  # never sent to another address
            if provider is PROVIDERS["openai"]:
                filled.setdefault("n_per_request", SAMPLES_PER_REQUEST)
        if kind in CHAT_KINDS and "concurrency" not in fields:
            filled.setdefault("concurrency_start", filled["concurrency"] // 4)
        if isinstance(params := fields.get("params", {}), dict):
            with suppress(ValueError):  # which the strategy's own field reports
                asking = named(str(filled.get("strategy", DEFAULT.name)))
                filled.setdefault("answer", asking.answer)
            own_defaults = _default_params(filled, defaults.get("params", {}), params)
            filled["params"] = {**_without_other_limits(own_defaults, params), **params}
        return filled

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
                f"base_url must be one address, not a list, for judges of kind {self.kind}"
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
                else f"strategy {self.strategy} is for ensembles"
            )
        return self


def _default_params(fields: JsonObject, defaults: JsonObject, own: JsonObject) -> JsonObject:
    """Return a judge's default parameters, with enough tokens for its kind of replies."""
    if fields["kind"] in CHAT_KINDS and reasons_first(str(fields.get("model")), own):
        defaults = with_room(defaults, REASONING_MAX_TOKENS)
    if fields.get("answer") == "schema":
        defaults = with_room(defaults, SCHEMA_MAX_TOKENS)
    with suppress(ValueError):
        defaults = named(str(fields.get("strategy", DEFAULT.name))).params(defaults)
    return defaults


def _without_other_limits(defaults: JsonObject, params: JsonObject) -> JsonObject:
    """Return the defaults without a token limit that the user set under a different name."""
    if all(params.get(name) is None for name in TOKEN_LIMITS):
        return defaults
    return {name: value for name, value in defaults.items() if name not in TOKEN_LIMITS}


def with_strategy(spec: JudgeSpec, strategy: str) -> JudgeSpec:
    """Return a judge with a strategy, which becomes part of its name.

    The judge's own strategy and the new one are joined if they are compatible. The judge keeps its
    form of answer unless the new strategy sets one.
    """
    name, added = f"{spec.name}@{strategy}", named(strategy)
    if spec.kind == ENSEMBLE:
        raise JudgeError(f"judge {name!r}: put the strategy on the members of the ensemble")
    whole = joined(spec.asking, added)
    if whole is None:
        raise JudgeError(
            f"judge {spec.name!r} already has the strategy {spec.strategy}, which isn't "
            f"compatible with {strategy}. Pass it without @{strategy}"
        )
    changes = {
        "name": name,
        "strategy": whole.name,
        "params": added.params(spec.params),
        "answer": _answer_under(whole, added, spec),
        "reask": spec.reask if whole.can_reask else 0,
    }
    return spec.model_copy(update=changes)


def _answer_under(whole: Strategy, added: Strategy, spec: JudgeSpec) -> AnswerForm:
    """Return a judge's form of answer under a new strategy."""
    if not whole.has_schema:
        return "plain"
    return "schema" if added.answer == "schema" else spec.answer


def with_reask(spec: JudgeSpec) -> JudgeSpec:
    """Return a new judge with ``reask`` at its default: 1 if the judge can be asked again."""
    is_settled = "reask" in spec.model_fields_set or spec.kind not in CHAT_KINDS
    if is_settled or not spec.asking.can_reask:
        return spec
    return spec.model_copy(update={"reask": 1})


def with_max_tokens(spec: JudgeSpec, max_tokens: int) -> JudgeSpec:
    """Return a judge with a token limit on its replies.

    Judges that send no token limit or read one token's probabilities are returned unchanged.
    """
    names = [name for name in TOKEN_LIMITS if name in spec.params]
    limits = [name for name in names if spec.params[name] is not None] or names[:1]
    if spec.asking.gives_distribution or not (limits or spec.kind in CHAT_KINDS):
        return spec
    params = spec.params | dict.fromkeys(limits or TOKEN_LIMITS[:1], max_tokens)
    return spec.model_copy(update={"params": params})


def user_file() -> Path | None:
    """Return the user's judges file: ``$HARNESS_JUDGES``, else the one in their config folder."""
    if path_name := os.environ.get("HARNESS_JUDGES"):
        return Path(path_name)
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    path = Path(home).expanduser() / "judge-harness" / "judges.yaml"
    return path if path.is_file() else None


def load_judges(path: Path | None = None) -> dict[str, JudgeSpec]:
    """Read the bundled aliases and the user's, which override them.

    Parameters
    ----------
    path : Path or None
        The user's file; by default that from `user_file`.

    Returns
    -------
    dict
        Specification by alias.

    Raises
    ------
    JudgeError
        If a file cannot be read or an entry is wrong; the message names file and field.
    """
    own, bundled = path or user_file(), bundled_judges()
    return bundled if own is None else bundled | _read_file(own, bundled)


def control_judges(specs: Iterable[JudgeSpec]) -> frozenset[str]:
    """Return the names of controls: judges of control kinds, and ensembles of only those."""
    specs = list(specs)
    alone = {spec.name for spec in specs if spec.kind in CONTROL_KINDS}
    joined = {spec.name for spec in specs if spec.members and alone.issuperset(spec.members)}
    return frozenset(alone | joined)


def judges_folder(path: Path | None = None) -> Path | None:
    """Return the folder of the user's judges file, which contains judges' own templates."""
    own = path or user_file()
    return own.parent if own else None


def bundled_judges() -> dict[str, JudgeSpec]:
    """Return the bundled aliases, without the user's."""
    return dict(_bundled_judges())


@cache
def _bundled_judges() -> dict[str, JudgeSpec]:
    return _read_file(Path(__file__).with_name("judges.yaml"))


def _read_file(path: Path, bundled: Mapping[str, JudgeSpec] | None = None) -> dict[str, JudgeSpec]:
    content = read_yaml(path, typed=True, error=JudgeError)
    judges = content.get("judges")
    if not isinstance(judges, dict) or set(content) != {"judges"}:
        raise JudgeError(f"{path}: must contain one mapping `judges:` from names to judges")
    return {name: _spec_from(path, name, entry, bundled or {}) for name, entry in judges.items()}


def _spec_from(path: Path, name: str, entry: object, bundled: Mapping[str, JudgeSpec]) -> JudgeSpec:
    where = f"{path}: judges.{name}"
    if not isinstance(entry, dict) or "name" in entry:
        raise JudgeError(f"{where}: must contain fields such as `model:`, but no `name:`")
    if entry.get("base_url") and "kind" not in entry and name in bundled:
        entry = _at_gateway(bundled[name], entry)
    try:
        spec = JudgeSpec(name=name, **entry)
    except ValidationError as error:
        raise JudgeError(f"{where}.{first_problem(error)}") from None
    if spec.kind not in BUILT_IN_KINDS and spec.kind not in loading.names(loading.JUDGES):
        raise JudgeError(
            f"{where}.kind: {spec.kind!r} must be built in ({', '.join(BUILT_IN_KINDS)}) or "
            "registered by an installed plug-in"
        )
    return with_reask(spec)


def _at_gateway(bundled: JudgeSpec, entry: JsonObject) -> JsonObject:
    """Return the user's entry for a bundled judge that is moved to a different address.

    It keeps its model if the entry names none, and its provider's protocol unless the entry names a
    different provider's model.
    """
    if bundled.kind != "litellm":
        return entry
    provider, _, bundled_name = bundled.model.partition("/")
    model = str(entry.get("model", bundled_name))
    prefix, _, bare = model.partition("/")
    if provider not in OWN_PROTOCOLS or (prefix != provider and prefix in PROVIDERS):
        return {"model": model} | entry
    name = bare if prefix == provider else model
    return entry | {"kind": "litellm", "model": f"{provider}/{name}"}


def first_problem(error: ValidationError) -> str:
    """Return the first invalid field and its problem, but never the value, which can be a key."""
    fault = fault_of(error)
    if fault.kind == "extra_forbidden":
        names = ", ".join(field for field in JudgeSpec.model_fields if field != "name")
        return f"{fault.place}: no such field. Known are {names}"
    return f"{fault.place}: {fault.problem}" if fault.place else fault.problem
