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
from harness.errors import HarnessError, JudgeError, JudgeUnavailable, RunError
from harness.judging.judges.base import key_of
from harness.judging.judges.config import bundled_judges, load_judges, user_file
from harness.judging.judges.judge_registry import check, check_server_is_used, look_up
from harness.judging.judges.providers import PROVIDERS, provider_of
from harness.judging.storage.response_cache import CacheUnusable, measure_cache
from harness.user_folders import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from harness.command_options import Place, Server
    from harness.judging.judges.config import JudgeSpec

CheckState = Literal["ok", "note", "unusable"]

MAX_LIST_BYTES = 4 << 20
CONTACT_S = 5.0
LOCK_TIMEOUT_S = 2.0
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
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
    state: CheckState
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
    file = server.judges_file or user_file()
    try:
        registry = load_judges(file)
        message = "overrides the bundled aliases" if file else "the bundled aliases are used"
        findings = [CheckResult("judges file", str(file or "none of your own"), "ok", message)]
    except JudgeError as error:  # the bundled ones can be checked all the same
        registry = bundled_judges()
        advice = "correct it; until then no command can read the aliases"
        findings = [CheckResult("judges file", str(file), "unusable", str(error), advice)]
    check_server_is_used(judges, registry, server)
    specs = list(registry.values())
    if judges is not None:
        specs = [look_up(name, registry, server) for name in judges]
    fault: CheckState = "note" if judges is None else "unusable"
    findings += [_checked("judge", spec.name, partial(_judge, spec), fault) for spec in specs]
    if contact:
        findings += asyncio.run(_contact_all(specs, fault))
    is_named = place.cache or os.environ.get("HARNESS_CACHE")
    cache = place.cache or cache_folder()
    fault = "unusable" if is_named else "note"
    findings.append(_checked("cache", str(cache), partial(_cache, cache), fault))
    if place.store is not None:
        findings.append(_checked("store", "--store", partial(_store, place.store)))
    if place.executor != "local":
        findings.append(_checked("cluster", "--executor", partial(_cluster, place.executor)))
    return findings


def _checked(
    area: str, subject: str, check: Callable[[], str], fault: CheckState = "unusable"
) -> CheckResult:
    """Return what a check says, or the error that it raises."""
    try:
        return CheckResult(area, subject, "ok", check())
    except HarnessError as error:
        message = error.cause if isinstance(error, CacheUnusable) else error.problem
        return CheckResult(area, subject, fault, message.removeprefix(f"{subject}: "), error.advice)


def _judge(spec: JudgeSpec) -> str:
    """Check the key and the address of a judge; say them."""
    address = _address_of(spec)
    try:
        check(spec)
    except JudgeUnavailable as error:
        reason, advice = error.problem.removeprefix(f"{spec.name}: "), error.advice
        if spec.key_env and spec.key_env in reason:
            advice = f"set {spec.key_env} to the key of its provider"
        raise JudgeUnavailable("; ".join(filter(None, (address, reason))), advice) from None
    key = f"{spec.key_env} is set" if spec.key_env else "no key needed"
    return f"{address}; {key}" if spec.remote else "ready"


def _address_of(spec: JudgeSpec) -> str:
    """Return where a judge's requests go, and who set it; empty if nowhere."""
    if not spec.remote:
        return ""
    if spec.base_url:
        return f"{', '.join((spec.base_url, *spec.other_urls))} (its own base_url)"
    provider = PROVIDERS.get(provider_of(spec.model))
    if provider is None:
        return f"wherever litellm sends {provider_of(spec.model)!r} models"
    return f"{provider.address} (the provider's)" if provider.address else "no address"


async def _contact_all(specs: Sequence[JudgeSpec], fault: CheckState) -> list[CheckResult]:
    """Ask servers at the user's own addresses, or on this machine, for their models."""
    urls = []
    for spec in specs:
        provider = PROVIDERS.get(provider_of(spec.model)) if spec.kind == "litellm" else None
        url = spec.base_url or (provider and provider.address) or ""
        if spec.base_url or urlsplit(url).hostname in LOOPBACK:
            urls += [(spec, address) for address in (url, *spec.other_urls)]
    found = await asyncio.gather(*(_contact(spec, url) for spec, url in urls))
    return [
        CheckResult("judge", spec.name, state or fault, f"{url}: {message}", advice)
        for (spec, url), (state, message, advice) in zip(urls, found, strict=True)
    ]


async def _contact(spec: JudgeSpec, url: str) -> tuple[CheckState | None, str, str]:
    """Return state (None for a fault), message and advice of one server."""
    try:
        status, body = await _get(f"{url}/models", spec)
    except (OSError, ValueError) as error:
        late = f" within {CONTACT_S:g} s" if isinstance(error, TimeoutError) else ""
        return None, f"no answer{late}", "start the server, or correct base_url"
    if status in HTTP_DENIED:
        return (
            None,
            f"the key was not accepted (HTTP {status})",
            f"check {spec.key_env or 'key_env'}",
        )
    if status in HTTP_REDIRECTS:
        message = f"redirects (HTTP {status}), which is refused"
        return None, message, "give the final address as base_url"
    if status != HTTP_OK:
        message = f"answers, but has no list of models (HTTP {status})"
        return "note", message, "check that base_url ends as in /v1"
    try:
        models = [str(model["id"]) for model in json.loads(body)["data"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        models = []
    if models and spec.model.removeprefix(f"{provider_of(spec.model)}/") not in models:
        return "note", "does not list this model", f"set model to one of: {', '.join(models[:5])}"
    return "ok", "answers", ""


async def _get(url: str, spec: JudgeSpec) -> tuple[int, bytes]:
    """Return status and body of a response, asked for with the judge's key if it is set."""
    import aiohttp  # noqa: PLC0415 -- only when a server is contacted

    try:
        headers = {"Authorization": f"Bearer {key}"} if (key := key_of(spec)) else {}
    except JudgeUnavailable:
        headers = {}
    try:
        async with (
            asyncio.timeout(CONTACT_S),
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.get(url, headers=headers, allow_redirects=False) as response,
        ):
            body = b""
            async for part in response.content.iter_any():
                body += part
                if len(body) > MAX_LIST_BYTES:
                    break
            return response.status, body
    except aiohttp.ClientError:
        failure = OSError("no answer")
    raise failure  # outside the except clause: its traceback would hold the key


def _cache(folder: Path) -> str:
    """Check the response cache, without writing to it."""
    if not folder.exists():
        return "empty; the first run creates it"
    if not folder.is_dir():
        raise RunError("not a folder", "choose another with --cache DIR")
    n_replies = measure_cache(folder, timeout_s=LOCK_TIMEOUT_S).n_replies
    if (path := folder / "cache.db").exists():
        with closing(sqlite3.connect(path, LOCK_TIMEOUT_S, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
            except sqlite3.OperationalError as error:
                raise CacheUnusable(folder, error) from None
    return f"sound, {n_replies} replies"


def _store(address: str) -> str:
    """Check a shared store, which creates its tables."""
    started_s = time.monotonic()
    with closing(edge("cluster").open_store(address, "harness doctor")) as store:
        opened_ms = (time.monotonic() - started_s) * 1000
        version, n_replies, n_workers = store.describe()
        return (
            f"{store.lease.name}, PostgreSQL {version}, about {n_replies} replies, {n_workers} "
            f"other workers; opened in {opened_ms:.0f} ms"
        )


def _cluster(executor: str) -> str:
    """Check a Ray cluster, which is started if it is one on this machine."""
    started_s = time.monotonic()
    message, other_versions = edge("cluster").describe_cluster(executor)
    message += f"; connected in {time.monotonic() - started_s:.0f} s"
    if other_versions:
        raise RunError(f"{message}; {other_versions}", "install the same versions on all nodes")
    return str(message)
