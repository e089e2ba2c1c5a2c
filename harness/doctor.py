"""`harness doctor`: check keys, addresses, cache and shared store without asking a judge.

Nothing is contacted unless requested. Then servers at the user's own addresses (``base_url`` of a
judge, or on this machine) are asked once for their list of models; redirects are refused, and
providers' addresses are never contacted.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from harness.command_options import HERE, NO_SERVER
from harness.edges import edge
from harness.errors import HarnessError, JudgeError, JudgeUnavailable
from harness.judging.judges.base import key_of
from harness.judging.judges.config import bundled_judges, load_judges, user_file
from harness.judging.judges.judge_registry import check, check_server_is_used, look_up
from harness.judging.judges.providers import PROVIDERS, provider_of, redirecting_variable
from harness.judging.storage.response_cache import ADVICE, CacheUnusable, measure_cache
from harness.user_folders import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from harness.command_options import Place, Server
    from harness.judging.judges.config import JudgeSpec


MAX_LIST_BYTES = 4 << 20
CONTACT_S = 5.0
START = "start the server, or correct base_url"
LOCK_TIMEOUT_S = 2.0
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


async def list_models(spec: JudgeSpec, base_url: str, *, timeout_s: float) -> tuple[int, list[str]]:
    """Return status and models of a server, asked with the judge's key if it is set."""
    status, body = await _get(f"{base_url}/models", _authorization(spec), timeout_s)
    try:
        return status, [str(model["id"]) for model in json.loads(body)["data"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return status, []


def _authorization(spec: JudgeSpec) -> dict[str, str]:
    try:
        key = key_of(spec)
    except JudgeUnavailable:
        key = None
    return {} if key is None else {"Authorization": f"Bearer {key}"}


async def _get(url: str, headers: dict[str, str], timeout_s: float) -> tuple[int, bytes]:
    import aiohttp  # noqa: PLC0415 -- only when a server is contacted

    try:
        async with (
            asyncio.timeout(timeout_s),
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.get(url, headers=headers, allow_redirects=False) as response,
        ):
            body = bytearray()
            async for part in response.content.iter_any():
                body += part
                if len(body) > MAX_LIST_BYTES:
                    break
            return response.status, bytes(body)
    except aiohttp.ClientError:
        failure = OSError("no answer")
    raise failure  # outside the except clause: its traceback would hold the key


State = Literal["ok", "note", "unusable"]
HTTP_OK, HTTP_REDIRECTS, HTTP_DENIED = 200, range(300, 400), {401, 403}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check.

    Attributes
    ----------
    area : str
        ``judges file``, ``judge``, ``cache``, ``store`` or ``cluster``.
    subject : str
        What was checked.
    state : {"ok", "note", "unusable"}
        ``unusable`` only for what the user named; at most ``note`` for everything else.
    message : str
        What was found. Of a key, only whether it is set.
    advice : str
        What to do; empty if nothing need be done.
    """

    area: str
    subject: str
    state: State
    message: str
    advice: str = ""


def examine(
    judges: Sequence[str] | None = None,
    server: Server = NO_SERVER,
    place: Place = HERE,
    *,
    contact: bool = False,
) -> list[CheckResult]:
    """Check judges, cache, shared store and cluster.

    Parameters
    ----------
    judges : sequence of str, optional
        Judges that must be usable; by default all aliases are checked and none must be.
    server : Server
        Where judges are that are no aliases.
    place : Place
        Where they would be asked; a store and a cluster are contacted.
    contact : bool
        Whether servers at the user's own addresses are asked for their models.

    Returns
    -------
    findings : list of CheckResult
        In the order of the areas.

    Raises
    ------
    JudgeError
        If a name in ``judges`` is unknown.
    """
    file_finding, registry = _check_judges_file(server.judges_file)
    check_server_is_used(judges, registry, server)
    if judges is None:
        specs = list(registry.values())
    else:
        specs = [look_up(name, registry, server) for name in judges]
    fault = _fault(judges)
    findings = [file_finding]
    for spec in specs:
        findings += [_check_judge(spec, fault), *_check_variables(spec)]
    if contact:
        findings += asyncio.run(_contact_all(specs, fault))
    fault = _fault(place.cache or os.environ.get("HARNESS_CACHE"))
    cache = place.cache or cache_folder()
    findings.append(_check_cache(cache, fault))
    if place.store is not None:
        findings.append(_check_store(place.store))
    if place.executor != "local":
        findings.append(_check_cluster(place.executor))
    return findings


def _fault(request: object) -> State:
    """Return the state of a fault: ``unusable`` only if the user named what is faulty."""
    return "note" if request is None else "unusable"


def _check_judges_file(path: Path | None) -> tuple[CheckResult, dict[str, JudgeSpec]]:
    """Read the aliases; if the user's file cannot be read, the bundled ones."""
    file = path or user_file()
    if file is None:
        finding = CheckResult(
            "judges file", "none of your own", "ok", "the bundled aliases are used"
        )
        return finding, load_judges()
    try:
        registry = load_judges(file)
    except JudgeError as error:
        advice = "correct it; until then no command can read the aliases"
        return CheckResult(
            "judges file", str(file), "unusable", str(error), advice
        ), bundled_judges()
    return CheckResult("judges file", str(file), "ok", "overrides the bundled aliases"), registry


def _check_judge(spec: JudgeSpec, fault: State) -> CheckResult:
    address = address_of(spec)
    try:
        check(spec)
    except JudgeUnavailable as error:
        reason, advice = error.problem.removeprefix(f"{spec.name}: "), error.advice
        if spec.key_env and spec.key_env in reason:
            advice = f"set {spec.key_env} to the key of its provider"
        message = f"{address}; {reason}" if address else reason
        return CheckResult("judge", spec.name, fault, message, advice)
    key = "no key needed" if spec.key_env is None else f"{spec.key_env} is set"
    return CheckResult("judge", spec.name, "ok", f"{address}; {key}" if spec.remote else "ready")


def address_of(spec: JudgeSpec) -> str:
    """Return the server that a judge's requests go to, and who set it; empty if there is none."""
    if not spec.remote:
        return ""
    if spec.base_url:
        more = f" and {len(spec.other_urls)} more" if spec.other_urls else ""
        return f"{spec.base_url}{more} (its own base_url)"
    provider = PROVIDERS.get(provider_of(spec.model))
    if provider is None:
        return f"wherever litellm sends {provider_of(spec.model)!r} models"
    return f"{provider.address} (the provider's)" if provider.address else "no address"


def _check_variables(spec: JudgeSpec) -> Iterator[CheckResult]:
    """Report an environment variable that litellm takes a provider's address from."""
    provider = provider_of(spec.model)
    if spec.kind != "litellm" or spec.base_url or provider in PROVIDERS:
        return
    if variable := redirecting_variable(provider):
        message = f"{variable} is set: litellm sends its requests to {_origin(variable)}"
        advice = f"unset {variable} unless that is intended"
        yield CheckResult("judge", spec.name, "note", message, advice)


def _origin(variable: str) -> str:
    """Return host and port of an address in the environment, without secrets in it."""
    try:
        parts = urlsplit(os.environ[variable])
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    return f"{parts.scheme}://{parts.hostname}{port}"


async def _contact_all(specs: Sequence[JudgeSpec], fault: State) -> list[CheckResult]:
    servers = [(spec, url) for spec in specs if (url := _own_address(spec)) is not None]
    servers += [(spec, url) for spec in specs for url in spec.other_urls]
    return list(await asyncio.gather(*(_contact(*server, fault) for server in servers)))


def _own_address(spec: JudgeSpec) -> str | None:
    """Return the address that may be contacted: the user's own, or one on this machine."""
    if spec.base_url or spec.kind != "litellm":
        return spec.base_url
    provider = PROVIDERS.get(provider_of(spec.model))
    address = provider.address if provider else None
    return address if address and urlsplit(address).hostname in LOOPBACK else None


async def _contact(spec: JudgeSpec, url: str, fault: State) -> CheckResult:
    """Ask a server for its models."""
    try:
        status, models = await list_models(spec, url, timeout_s=CONTACT_S)
    except TimeoutError:
        state, message, advice = fault, f"no answer within {CONTACT_S:g} s", START
    except (OSError, ValueError):
        state, message, advice = fault, "no answer", START
    else:
        state, message, advice = _read_answer(spec, status, models, fault)
    return CheckResult("judge", spec.name, state, f"{url}: {message}", advice)


def _read_answer(
    spec: JudgeSpec, status: int, models: Sequence[str], fault: State
) -> tuple[State, str, str]:
    """Return state, message and advice for a server's list of models."""
    if status in HTTP_DENIED:
        message = f"the key was not accepted (HTTP {status})"
        return fault, message, f"check {spec.key_env or 'key_env'}"
    if status in HTTP_REDIRECTS:
        message = f"redirects (HTTP {status}), which is refused"
        return fault, message, "give the final address as base_url"
    if status != HTTP_OK:
        message = f"answers, but has no list of models (HTTP {status})"
        return "note", message, "check that base_url ends as in /v1"
    if models and spec.model.removeprefix(f"{provider_of(spec.model)}/") not in models:
        return "note", "does not list this model", f"set model to one of: {', '.join(models[:5])}"
    return "ok", "answers", ""


def _check_cache(folder: Path, fault: State) -> CheckResult:
    """Check the response cache, without writing to it."""
    finding = partial(CheckResult, "cache", str(folder))
    if not folder.exists():
        return finding("ok", "empty; the first run creates it")
    if not folder.is_dir():
        return finding(fault, "not a folder", "choose another with --cache DIR")
    if not (folder / "cache.db").exists():
        return finding("ok", "empty")
    try:
        stats = measure_cache(folder, timeout_s=LOCK_TIMEOUT_S)
    except CacheUnusable as error:
        return finding(fault, error.cause, error.advice)
    message = f"sound, {stats.n_replies} replies"
    if _is_locked(folder / "cache.db"):
        return finding(fault, f"database is locked; {message}", ADVICE)
    return finding("ok", message)


def _check_store(address: str) -> CheckResult:
    """Check a shared store, which creates its tables."""
    started_s = time.monotonic()
    try:
        store = edge("cluster").open_store(address, "harness doctor")
    except HarnessError as error:
        return CheckResult("store", "--store", "unusable", error.problem, error.advice)
    try:
        opened_ms = (time.monotonic() - started_s) * 1000
        version, n_replies, n_workers = store.describe()
    finally:
        store.close()
    message = (
        f"PostgreSQL {version}, about {n_replies} replies, {n_workers} other workers; opened in "
        f"{opened_ms:.0f} ms"
    )
    return CheckResult("store", store.lease.name, "ok", message)


def _check_cluster(executor: str) -> CheckResult:
    """Check a Ray cluster, which is started if it is one on this machine."""
    started_s = time.monotonic()
    try:
        message, other_versions = edge("cluster").describe_cluster(executor)
    except HarnessError as error:
        return CheckResult("cluster", executor, "unusable", error.problem, error.advice)
    message += f"; connected in {time.monotonic() - started_s:.0f} s"
    if other_versions:
        advice = "install the same versions on all nodes"
        return CheckResult("cluster", executor, "unusable", f"{message}; {other_versions}", advice)
    return CheckResult("cluster", executor, "ok", message)


def _is_locked(path: Path) -> bool:
    """Whether another program has locked the database for writing."""
    with closing(sqlite3.connect(path, timeout=LOCK_TIMEOUT_S, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return True
    return False
