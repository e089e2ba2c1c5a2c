"""Serve pages on the loopback address to the holder of a token.

Opening the printed address exchanges its token, once, for a cookie that other sites can't send.
Requests with a different host (DNS rebinding) or origin are rejected.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING

from harness.errors import TaskError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aiohttp import web

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
    Routes = Callable[[web.UrlDispatcher], None]

LOOPBACK = "127.0.0.1"
MAX_BODY = 1 << 16
SHUTDOWN_S = 1.0
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(slots=True)
class Access:
    """Access control for a page. The first request needs a token, later requests need a cookie.

    Attributes
    ----------
    command : str
        Command that serves the page and prints its address: ``annotate``.
    """

    port: int
    command: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))  # "" after the exchange
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def address(self) -> str:
        """Address of the page, including the token."""
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """Name of the cookie. It contains the port because browsers send cookies to all ports."""
        return f"{self.command}-{self.port}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Host names that requests may use."""
        return f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"

    def exchange(self, token: str) -> bool:
        """Return whether a token is valid. A valid token can be used only once."""
        is_right = bool(self.token) and _equal(token, self.token)
        if is_right:
            self.token = ""
        return is_right

    def refusal(self, request: web.Request) -> str:
        """Return why a request is rejected, or "" if it is accepted."""
        printed = f"the address that `harness {self.command}` printed"
        if request.headers.getall("Host", []) not in [[host] for host in self.hosts]:
            return f"Wrong host. Open {printed}."
        origin = request.headers.get("Origin")
        is_own = origin == f"http://{request.host}"
        if not is_own and (origin is not None or request.method != "GET"):
            return "Requests from other origins are rejected."
        if not _equal(request.cookies.get(self.cookie, ""), self.secret):
            return (
                f"This page needs {printed}. It opens only once. To use a different browser, "
                "stop the command and start it again."
            )
        return ""


def _equal(text: str, secret: str) -> bool:
    return hmac.compare_digest(text.encode(errors="replace"), secret.encode())


def guarded_application(access: Access, routes: Routes) -> web.Application:
    """Return the web application that serves a page.

    Parameters
    ----------
    access : Access
        Access to the page.
    routes : callable
        Function that adds routes to a router.
    """
    from aiohttp import web  # noqa: PLC0415 -- costs 100 ms; only when the page is served

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        return await _guarded(access, request, handler)

    async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)

    application = web.Application(middlewares=[guard], client_max_size=MAX_BODY)
    application.on_response_prepare.append(add_headers)
    application.router.add_get("/favicon.ico", _send_no_icon)
    routes(application.router)
    return application


async def _guarded(access: Access, request: web.Request, handler: Handler) -> web.StreamResponse:
    refusal = access.refusal(request)
    is_entry = request.method == "GET" and request.path == "/" and "token" in request.query
    if is_entry and request.host in access.hosts and access.exchange(request.query["token"]):
        entered = response(status=303, location="/")
        entered.set_cookie(access.cookie, access.secret, httponly=True, samesite="Strict", path="/")
        return entered
    if refusal:
        return response(refusal, status=403)
    return response(status=303, location="/") if is_entry else await handler(request)


async def _send_no_icon(_: web.Request) -> web.Response:
    return response(status=204)


def response(
    text: str = "",
    *,
    status: int = 200,
    content_type: str = "text/plain",
    location: str = "",
    policy: str = "",
) -> web.Response:
    """Return a response. ``policy`` replaces the default content security policy."""
    from aiohttp import web  # noqa: PLC0415 -- costs 100 ms; only when the page is served

    headers = {"Location": location, "Content-Security-Policy": policy}
    present = {name: value for name, value in headers.items() if value}
    return web.Response(text=text, content_type=content_type, status=status, headers=present)


def colours() -> str:
    """Return a style sheet with the report's colours filled in."""
    return (files("harness.report.html") / "static/colours.css").read_text(encoding="utf-8")


async def serve_page(
    command: str, routes: Routes, *, port: int = 0, announce: Callable[[str], object] = print
) -> None:
    """Serve a page until SIGINT or SIGTERM.

    Parameters
    ----------
    command : str
        Command that serves it: ``annotate``.
    routes : callable
        Function that adds routes to a router.
    port : int
        Port on loopback; 0 for any free port.
    announce : callable
        Function that receives the address to open.

    Raises
    ------
    TaskError
        If the port is taken.
    """
    from aiohttp import web  # noqa: PLC0415 -- costs 100 ms; only when the page is served

    try:
        listener = socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise TaskError(
            f"port {port} can't be used ({error.strerror}). Pass a different port."
        ) from None
    access = Access(listener.getsockname()[1], command)
    runner = web.AppRunner(
        guarded_application(access, routes), access_log=None, shutdown_timeout=SHUTDOWN_S
    )
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        stopped = asyncio.Event()
        with suppress(NotImplementedError):  # on Windows, Ctrl-C cancels this task
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        announce(access.address)
        await stopped.wait()
    finally:
        await runner.cleanup()
