"""`harness doctor`: check keys, addresses, cache and shared store without running a judge.

No server is contacted by default. If requested, only servers at the user's own addresses are
contacted (a judge's ``base_url``, or this machine). Redirects are rejected, and providers are never
contacted.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from harness.app.ask import ClusterEdge
from harness.errors import HarnessError, JudgeUnavailable, RunError, capitalised
from harness.files.user_folders import cache_folder, user_file
from harness.judging.judges.base import key_of
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import check, check_server_is_used, look_up
from harness.judging.judges.providers import PROVIDERS
from harness.judging.judges.response_errors import MEANINGS, OK, failure_of
from harness.judging.model_names import provider_of
from harness.judging.storage.response_cache import CacheUnusable, measure_cache
from harness.loading import edge
from harness.options.concerns import HERE, NO_SERVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from harness.judging.judge_spec import JudgeSpec
    from harness.options.concerns import Place, Server

CheckState = Literal["ok", "note", "unusable"]

CONTACT_S = 5.0
LOCK_TIMEOUT_S = 2.0
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of a check.

    Attributes
    ----------
    area : str
        ``judge``, ``cache``, ``store`` or ``cluster``.
    subject : str
        Subject of the check.
    state : {"ok", "note", "unusable"}
        ``unusable`` is only for things that the user named. Everything else has at most a ``note``.
    message : str
        Result. For a key, it says only whether the key is set.
    advice : str
        What to do, or empty if there is nothing to do.
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
    """Check keys and addresses of judges, the cache, the shared store and the Ray cluster.

    Parameters
    ----------
    judges : sequence of str, optional
        Judges that must be usable; by default, all aliases are checked but needn't be usable.
    server : Server
        Server of judges that aren't aliases.
    place : Place
        Where judges would run; a store and a cluster are contacted.
    contact : bool
        Whether to contact servers at the user's own addresses.

    Raises
    ------
    JudgeError
        If the judges file can't be read, or a name in ``judges`` is unknown.
    """
    registry = load_judges(server.judges_file or user_file())
    check_server_is_used(judges, registry, server)
    names = registry if judges is None else judges
    specs = [look_up(name, registry, server) for name in names]
    fault: CheckState = "note" if judges is None else "unusable"
    results = [_checked("judge", spec.name, partial(_judge, spec), fault) for spec in specs]
    for spec, url in _own_addresses(specs) if contact else ():
        results.append(_checked("judge", spec.name, partial(_contact, spec, url), fault))
    fault = "unusable" if place.cache or os.environ.get("HARNESS_CACHE") else "note"
    cache = place.cache or cache_folder()
    results.append(_checked("cache", str(cache), partial(_cache, cache), fault))
    if place.store is not None:
        results.append(_checked("store", "--store", partial(_store, place.store)))
    if place.executor != "local":
        describe = partial(edge("cluster", ClusterEdge).describe_cluster, place.executor)
        results.append(_checked("cluster", "--executor", describe))
    return results


def _checked(
    area: str, subject: str, check: Callable[[], str], fault: CheckState = "unusable"
) -> CheckResult:
    """Run a check, and return its result. An error becomes a result with the state ``fault``."""
    try:
        return CheckResult(area, subject, "ok", check())
    except HarnessError as error:
        problem = error.problem.removeprefix(f"{subject}: ")
        return CheckResult(area, subject, fault, problem, error.advice)


def _judge(spec: JudgeSpec) -> str:
    """Check a judge's key and address, and describe them."""
    address = f"{_address_of(spec)}; " if spec.remote else ""
    try:
        check(spec)
    except JudgeUnavailable as error:
        problem = error.problem.removeprefix(f"{spec.name}: ")
        raise JudgeUnavailable(f"{address}{problem}", error.advice) from None
    key = f"{spec.key_env} is set" if spec.key_env else "no key needed"
    return f"{address}{key}" if spec.remote else "ready"


def _address_of(spec: JudgeSpec) -> str:
    """Describe the address for a judge's requests and where the address comes from."""
    if spec.base_url:
        return f"{', '.join((spec.base_url, *spec.other_urls))} (its own base_url)"
    name = provider_of(spec.model)
    address = PROVIDERS[name].address if name in PROVIDERS else None
    return f"{address} (the provider's)" if address else f"litellm's address of {name!r}"


def _own_addresses(specs: Sequence[JudgeSpec]) -> Iterator[tuple[JudgeSpec, str]]:
    """Yield the judges' addresses that the user set or that are on this machine."""
    for spec in specs:
        provider = PROVIDERS.get(provider_of(spec.model)) if spec.kind == "litellm" else None
        url = spec.base_url or (provider and provider.address) or ""
        if spec.base_url or urlsplit(url).hostname in LOOPBACK:
            yield from ((spec, address) for address in (url, *spec.other_urls))


def _contact(spec: JudgeSpec, url: str) -> str:
    """Check that a server responds and accepts the judge's key."""
    status = asyncio.run(_status_of(f"{url}/models", spec))
    if status is None:
        raise RunError(
            f"{url}: no response within {CONTACT_S:g} s", capitalised(MEANINGS["unreachable"])
        )
    reason = failure_of(status, {}, b"").reason
    if reason in {"unauthorized", "forbidden", "redirect_refused"}:
        raise RunError(f"{url}: HTTP {status}", capitalised(MEANINGS[reason]))
    return f"{url}: answers" + (f", but has no {url}/models (HTTP {status})" * (status != OK))


async def _status_of(url: str, spec: JudgeSpec) -> int | None:
    """Send a request with the judge's key, if set.

    Return the HTTP status, or None if no response arrived.
    """
    import aiohttp  # noqa: PLC0415 -- only when a server is contacted

    try:
        key = key_of(spec.name, spec.key_env)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
    except JudgeUnavailable:
        headers = {}
    try:
        async with (
            asyncio.timeout(CONTACT_S),
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.get(url, headers=headers, allow_redirects=False) as response,
        ):
            return response.status
    except (aiohttp.ClientError, OSError, ValueError):  # the error could contain the key
        return None


def _cache(folder: Path) -> str:
    """Check the response cache, without writing to it."""
    if not folder.exists():
        return "not created yet. The first run creates it"
    if not folder.is_dir():
        raise RunError("not a folder", "Choose a different one with --cache DIR")
    n_replies = measure_cache(folder, timeout_s=LOCK_TIMEOUT_S).n_replies
    if (path := folder / "cache.db").exists():
        with closing(sqlite3.connect(path, LOCK_TIMEOUT_S, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
            except sqlite3.OperationalError as error:
                raise CacheUnusable(folder, error) from None
    return f"no damage, {n_replies} replies"


def _store(address: str) -> str:
    """Check a shared store. Its tables are created if needed."""
    return edge("cluster", ClusterEdge).describe_store(address)
