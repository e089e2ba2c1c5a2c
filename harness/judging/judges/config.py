"""Configuration of new judges: the bundled aliases and the user's `judges.yaml`."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from harness import loading
from harness.errors import JudgeError, fault_of
from harness.files.strict_yaml import read_yaml
from harness.files.user_folders import user_file
from harness.judging.judge_spec import (
    BUILT_IN_KINDS,
    CHAT_KINDS,
    EMBEDDING,
    ENSEMBLE,
    JudgeSpec,
    with_answer,
)
from harness.judging.judges.providers import OWN_PROTOCOLS, PROVIDERS
from harness.judging.judges.response_errors import explain
from harness.judging.model_names import REASONING_MAX_TOKENS, provider_of, reasons_first
from harness.judging.strategies.answer_schemas import SCHEMA_MAX_TOKENS
from harness.judging.strategies.strategy import (
    DEFAULT,
    TOKEN_LIMITS,
    AnswerForm,
    Strategy,
    with_room,
)
from harness.judging.strategies.strategy_registry import DEFAULT_OF_ENSEMBLES, joined, named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from harness.files.json_values import JsonObject

FIELD_LINE = re.compile(r"`(params: \{[^`]*\}|answer: plain)`")

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


def new_judge(**fields: object) -> JudgeSpec:
    """Build a judge from some fields, with defaults from its kind, provider and strategy.

    Raises
    ------
    pydantic.ValidationError
        If a field is wrong.
    """
    return JudgeSpec.model_validate(_with_defaults(fields))


def _with_defaults(fields: JsonObject) -> JsonObject:
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
        filled = with_answer(filled)
        own_defaults = _default_params(filled, defaults.get("params", {}), params)
        filled["params"] = {**_without_other_limits(own_defaults, params), **params}
    return filled


def why_samples(spec: JudgeSpec, wanted: int | None) -> str:
    """Explain a judge's number of replies per item. See `JudgeSpec.n_samples`."""
    if spec.asking.gives_distribution:
        return "because one reply has the probabilities of all answers"
    if wanted:
        return "set by --samples"
    default = _DEFAULTS.get(spec.kind, {}).get("samples", 1)
    if spec.samples != default:
        return "set in judges.yaml"
    return "because replies don't vary" if default == 1 else "because replies vary (the default)"


def explained(spec: JudgeSpec, reason: str) -> str:
    """Explain a failure and its remedy, naming the judge's server and key variable."""
    provider = PROVIDERS.get(provider_of(spec.model))
    address = spec.base_url or (provider.address if provider else None)
    text = explain(reason, address=address, key_env=spec.key_env)
    return FIELD_LINE.sub(lambda line: _as_entry(spec, line), text)


def _as_entry(spec: JudgeSpec, line: re.Match[str]) -> str:
    """Return a field as a full entry for judges.yaml, if the entry must set more fields."""
    name = spec.name.removesuffix(f"@{spec.strategy}")
    bundled = _bundled_judges().get(name)
    if name != spec.model and (bundled is None or bundled.model != spec.model):
        return line[0]
    fields = {"model": spec.model, "base_url": spec.base_url, "key_env": spec.key_env}
    members = [f"{key}: {json.dumps(value)}" for key, value in fields.items() if value]
    return f"`{json.dumps(name)}: {{{', '.join([*members, line[1]])}}}`"


def _default_params(fields: JsonObject, defaults: JsonObject, own: JsonObject) -> JsonObject:
    """Return a judge's default parameters, with enough tokens for its kind of reply."""
    if fields["kind"] in CHAT_KINDS and reasons_first(str(fields.get("model")), own):
        defaults = with_room(defaults, REASONING_MAX_TOKENS)
    if fields.get("answer") == "schema":
        defaults = with_room(defaults, SCHEMA_MAX_TOKENS)
    with suppress(ValueError):
        defaults = named(str(fields.get("strategy", DEFAULT.name))).params(defaults)
    return defaults


def _without_other_limits(defaults: JsonObject, params: JsonObject) -> JsonObject:
    """Drop default token limits if the user set a token limit under any name."""
    if all(params.get(name) is None for name in TOKEN_LIMITS):
        return defaults
    return {name: value for name, value in defaults.items() if name not in TOKEN_LIMITS}


def with_strategy(spec: JudgeSpec, strategy: str) -> JudgeSpec:
    """Add a strategy to a judge and to the judge's name.

    The judge's own strategy and the new one are joined if they are compatible. The judge keeps its
    form of answer unless the new strategy sets one.
    """
    name, added = f"{spec.name}@{strategy}", named(strategy)
    if spec.kind == ENSEMBLE:
        raise JudgeError(f"judge {name!r} is an ensemble. Set the strategy on its members instead")
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
    """Return the form of answer for a judge to which a strategy was added."""
    if not whole.has_schema:
        return "plain"
    return "schema" if added.answer == "schema" else spec.answer


def with_reask(spec: JudgeSpec) -> JudgeSpec:
    """Set the default ``reask`` of a new judge: 1 if it supports a second question."""
    is_settled = "reask" in spec.model_fields_set or spec.kind not in CHAT_KINDS
    if is_settled or not spec.asking.can_reask:
        return spec
    return spec.model_copy(update={"reask": 1})


def with_max_tokens(spec: JudgeSpec, max_tokens: int) -> JudgeSpec:
    """Set a limit on the tokens of a judge's replies.

    Judges that send no token limit or read one token's probabilities are returned unchanged.
    """
    names = [name for name in TOKEN_LIMITS if name in spec.params]
    limits = [name for name in names if spec.params[name] is not None] or names[:1]
    if spec.asking.gives_distribution or not (limits or spec.kind in CHAT_KINDS):
        return spec
    params = spec.params | dict.fromkeys(limits or TOKEN_LIMITS[:1], max_tokens)
    return spec.model_copy(update={"params": params})


def load_judges(path: Path | None = None) -> dict[str, JudgeSpec]:
    """Read the bundled aliases and the user's aliases, which take precedence.

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


def judges_folder(path: Path | None = None) -> Path | None:
    """Return the folder of the user's judges file. Judges' own templates are there too."""
    own = path or user_file()
    return own.parent if own else None


def bundled_judges() -> dict[str, JudgeSpec]:
    """Return the bundled aliases without the user's aliases."""
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
        spec = new_judge(name=name, **entry)
    except ValidationError as error:
        raise JudgeError(f"{where}.{first_problem(error)}") from None
    if spec.kind not in BUILT_IN_KINDS and spec.kind not in loading.names(loading.JUDGES):
        raise JudgeError(
            f"{where}.kind: {spec.kind!r} must be built in ({', '.join(BUILT_IN_KINDS)}) or "
            "registered by an installed plug-in"
        )
    return with_reask(spec)


def _at_gateway(bundled: JudgeSpec, entry: JsonObject) -> JsonObject:
    """Complete a user's entry that sends a bundled judge's requests to a different address.

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
    """Describe the first invalid field, but never its value, which can be a key."""
    fault = fault_of(error)
    if fault.kind == "extra_forbidden":
        names = ", ".join(field for field in JudgeSpec.model_fields if field != "name")
        return f"{fault.place}: unknown field. The fields are {names}"
    return f"{fault.place}: {fault.problem}" if fault.place else fault.problem
