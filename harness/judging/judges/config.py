"""Who a judge is: one checked specification each, read from the shipped and the user's aliases."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
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

from harness.errors import CallFailed, JudgeError, JudgeUnavailable
from harness.judging.judges.pricing import Price
from harness.judging.judges.providers import PROVIDERS, provider_of

if TYPE_CHECKING:
    from yaml import Node

Kind = Literal["litellm", "endpoint", "smollm2", "lexicon", "random", "majority", "scripted"]
BASELINES = ("random", "majority")
MAX_FILE_BYTES = 1 << 20
VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]{0,99}")
SURROGATE = re.compile("[\ud800-\udfff]")

Script = dict[
    str,  # item id, or "*" for every other item
    str | tuple[str | tuple[str, str], ...] | dict[str, str | tuple[str | tuple[str, str], ...]],
]

_OPENING: dict[str, JsonValue] = {"temperature": 1.0, "max_tokens": 32}
SEVERAL_AT_ONCE = 10  # samples in one request, where the provider is known to allow it
_DEFAULTS: dict[str, dict[str, Any]] = {
    "litellm": {"samples": 10, "concurrency": 16, "deadline_s": 60.0, "params": _OPENING},
    "endpoint": {"samples": 10, "concurrency": 64, "deadline_s": 60.0, "params": _OPENING},
    "smollm2": {
        "model": "SmolLM2-135M-Instruct.Q4_1",
        "concurrency": 1,
        "deadline_s": 300.0,
        "params": {"temperature": 0.0, "max_tokens": 12},
    },
    "lexicon": {"model": "vader"},
    "random": {"model": "uniform", "samples": 10},
    "majority": {"model": "mode of the human ratings (in-sample)"},
    "scripted": {"model": "script"},
}
_RESERVED = frozenset(
    {
        *(
            "api_base",
            "api_key",
            "api_version",
            "base_url",
            "cache",
            "caching",
            "callbacks",
            "client",
        ),
        *("extra_body", "extra_headers", "headers", "max_retries", "messages", "mock_response"),
        *("model", "n", "num_retries", "stream", "timeout"),
    }
)


class JudgeSpec(BaseModel):
    """Everything there is to know about a judge before it is asked; holds no key.

    Attributes
    ----------
    name : str
        Alias or model string; unique in a run.
    kind : str
        How it is reached. Left out: ``endpoint`` when ``base_url`` is given, else ``litellm``.
    model : str
        What the provider calls it.
    base_url : str or None
        Address of the server, without a user name or a query.
    params : dict
        Sent with each call, on top of the kind's defaults; ``null`` takes a default away.
    key_env : str or None
        Name of the environment variable that holds the key.
    samples : int
        Calls per item and elicitation, unless the command line says otherwise.
    n_per_request : int
        Most samples asked for in one request (``n``), so that its prompt is paid for once. Left
        out: 10 for OpenAI's own models, else 1. A server that gives fewer is asked singly.
    concurrency : int
        Most calls in flight at once.
    concurrency_start : int or None
        Calls in flight to begin with. Left out: a quarter of ``concurrency`` where that was left
        out too, else all of it.
    rpm, tpm : float or None
        Requests and tokens per minute that the provider allows.
    deadline_s : float
        Wall time one call may take, in seconds.
    retry_after_max_s : float
        Longest wait that the server may ask for, in seconds; a longer one stops the judge.
    batch_poll_s : float
        Seconds between the first two looks at a batch; the wait grows to ten times that.
    price : Price or None
        USD per million tokens; None asks litellm's price list.
    allow_redirects : bool
        Whether the provider may send a request, with its key, on to another address.
    replies : dict
        What a scripted judge says, by item id.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
    kind: Kind
    model: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{1,500}$")]
    base_url: str | None = None
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
    replies: Script = {}

    @property
    def baseline(self) -> bool:
        """Whether it is there to be beaten."""
        return self.kind in BASELINES

    @property
    def remote(self) -> bool:
        """Whether asking it leaves this process, so that a reply may cost something."""
        return self.kind in {"litellm", "endpoint"}

    @property
    def sent_params(self) -> dict[str, JsonValue]:
        """What goes out with each call: the params that were not taken away."""
        return {key: value for key, value in self.params.items() if value is not None}

    def __repr__(self) -> str:
        """One line; params, key and script are left out."""
        return f"JudgeSpec({self.name!r}, {self.kind} {self.model!r}, {self.samples} samples)"

    __str__ = __repr__

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: Any) -> Any:  # noqa: ANN401 -- what pydantic hands over
        if not isinstance(given, dict):
            return given
        kind = given.get("kind", "endpoint" if given.get("base_url") else "litellm")
        defaults = _DEFAULTS.get(kind, {}) if isinstance(kind, str) else {}
        filled = {**defaults, **given, "kind": kind}
        provider = (
            PROVIDERS.get(provider_of(str(given.get("model")))) if kind == "litellm" else None
        )
        if provider is not None and not given.get("base_url"):
            filled.setdefault("key_env", provider.key_env)  # never sent to an address of one's own
            if provider is PROVIDERS["openai"]:
                filled.setdefault("n_per_request", SEVERAL_AT_ONCE)
        if kind in {"litellm", "endpoint"} and "concurrency" not in given:
            filled.setdefault("concurrency_start", filled["concurrency"] // 4)
        if isinstance(params := given.get("params", {}), dict):
            filled["params"] = {**defaults.get("params", {}), **params}
        return filled

    @field_validator("key_env")
    @classmethod
    def _name_of_a_variable(cls, name: str | None) -> str | None:
        if name is not None and not VARIABLE.fullmatch(name):
            raise ValueError("must be the name of the variable that holds the key, never the key")
        return name

    @field_validator("base_url")
    @classmethod
    def _plain_address(cls, url: str | None) -> str | None:
        if url is None:
            return None
        if not url.isprintable() or " " in url:
            raise ValueError("must hold no spaces and no control characters")
        parts = urlsplit(url)
        _ = parts.port  # one that cannot be raises ValueError
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("must look like http://host:port/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("must hold no user name, password, query or fragment")
        return url.rstrip("/")

    @field_validator("params")
    @classmethod
    def _own_words_stay_ours(cls, params: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if taken := sorted(_RESERVED & params.keys()):
            raise ValueError(
                f"{', '.join(taken)} cannot be set here; see model, base_url, key_env and samples"
            )
        json.dumps(params, allow_nan=False)  # raises ValueError for what JSON lacks
        return params

    @model_validator(mode="after")
    def _fits_together(self) -> JudgeSpec:
        if self.kind == "endpoint" and self.base_url is None:
            raise ValueError("base_url is missing; an endpoint needs the address of its server")
        if self.base_url and not self.remote:
            raise ValueError(f"base_url means nothing to a judge of kind {self.kind}")
        return self


def key_of(spec: JudgeSpec) -> str | None:
    """Read the judge's key from its environment variable; None when the judge names none.

    Raises
    ------
    JudgeUnavailable
        If the variable is unset, empty or holds what no key can; the message names it alone.
    """
    if spec.key_env is None:
        return None
    key = os.environ.get(spec.key_env, "").strip()
    if not key:
        raise JudgeUnavailable(
            f"{spec.name}: no key; set the environment variable {spec.key_env} to it"
        )
    if not (key.isascii() and key.isprintable()):
        raise JudgeUnavailable(f"{spec.name}: {spec.key_env} holds characters no key can have")
    return key


def key_now(spec: JudgeSpec) -> str | None:
    """Read the key at the moment of a call, where its absence stops the judge."""
    try:
        return key_of(spec)
    except JudgeUnavailable:
        raise CallFailed("no_key", stops_judge=True, hint=f"set {spec.key_env}") from None


def user_file() -> Path | None:
    """Find the user's own aliases: ``$HARNESS_JUDGES``, else their configuration folder's file."""
    if named := os.environ.get("HARNESS_JUDGES"):
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    path = Path(home).expanduser() / "judge-harness" / "judges.yaml"
    return path if path.is_file() else None


def load_judges(path: Path | None = None) -> dict[str, JudgeSpec]:
    """Read the shipped aliases, overridden by the user's own.

    Parameters
    ----------
    path : Path or None
        The user's file; None looks where `user_file` does.

    Returns
    -------
    dict
        Specification by alias.

    Raises
    ------
    JudgeError
        If a file cannot be read or an entry is wrong; the message names file and field.
    """
    own = path or user_file()
    return shipped_judges() if own is None else shipped_judges() | _read_file(own)


def shipped_judges() -> dict[str, JudgeSpec]:
    """Read the aliases that come along, without the user's."""
    return _read_file(Path(__file__).with_name("judges.yaml"))


def _read_file(path: Path) -> dict[str, JudgeSpec]:
    judges = _read_yaml(path)
    return {str(name): _spec_from(path, str(name), entry) for name, entry in judges.items()}


def _read_yaml(path: Path) -> dict[Any, Any]:
    import yaml  # noqa: PLC0415 -- only when aliases are wanted

    try:
        data = path.read_bytes()
        if len(data) > MAX_FILE_BYTES:
            raise JudgeError(f"{path}: larger than {MAX_FILE_BYTES} bytes; is it a judges file?")
        text = data.decode()
        _refuse_odd_tokens(path, text)
        loader = yaml.SafeLoader(text)
        tree = loader.get_single_node()
        _refuse_repeated_names(path, tree)
        loaded: Any = loader.construct_document(tree) if tree else None
    except OSError as error:
        raise JudgeError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise JudgeError(f"{path}: not UTF-8; save it as UTF-8") from None
    except RecursionError:
        raise JudgeError(f"{path}: nested too deeply; is it a judges file?") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "cannot be parsed"
        raise JudgeError(f"{path}{where}: not valid YAML ({problem})") from None
    except ValueError:  # what is wrong with it may quote a key
        raise JudgeError(f"{path}: a number or date in it cannot be; put it in quotes") from None
    judges = loaded.get("judges") if isinstance(loaded, dict) else None
    if not isinstance(judges, dict) or set(loaded) != {"judges"}:
        raise JudgeError(f"{path}: wanted one mapping `judges:` from names to judges")
    return judges


def _refuse_odd_tokens(path: Path, text: str) -> None:
    """Refuse anchors and aliases before anything follows them, and halves of surrogate pairs."""
    import yaml  # noqa: PLC0415 -- only when aliases are wanted

    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        where = f"{path}, line {token.start_mark.line + 1}"
        if isinstance(token, yaml.AliasToken | yaml.AnchorToken):
            raise JudgeError(f"{where}: anchors are not used here; write it out")
        if isinstance(token, yaml.ScalarToken) and SURROGATE.search(token.value):
            raise JudgeError(f"{where}: half of a surrogate pair is no text; write the character")


def _refuse_repeated_names(path: Path, tree: Node | None) -> None:
    """Refuse names that are defined twice, which YAML would let pass in silence."""
    import yaml  # noqa: PLC0415 -- only when aliases are wanted

    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if (word := str(key.value)) in seen:
                    line = key.start_mark.line + 1
                    raise JudgeError(f"{path}, line {line}: {word!r} is defined twice; keep one")
                seen.add(word)
                waiting.append(value)


def _spec_from(path: Path, name: str, entry: object) -> JudgeSpec:
    if not isinstance(entry, dict) or "name" in entry:
        raise JudgeError(f"{path}: judges.{name}: wanted fields such as `model:` (and no `name:`)")
    try:
        return JudgeSpec(name=name, **{str(key): value for key, value in entry.items()})
    except ValidationError as error:
        raise JudgeError(f"{path}: judges.{name}.{first_fault(error)}") from None


def first_fault(error: ValidationError) -> str:
    """Name the field and what is wrong with it, never the value: it may be a key."""
    fault = error.errors(include_input=False, include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        known = ", ".join(field for field in JudgeSpec.model_fields if field != "name")
        return f"{where}: no such field; known are {known}"
    message = fault["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
