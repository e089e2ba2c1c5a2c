"""The page on which items are rated: served on loopback, to the holder of a token alone.

Who opens the printed address exchanges its token, once, for a cookie that other sites cannot send.
Requests that name another host (DNS rebinding) or come from another origin are refused.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import signal
import socket
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from harness.annotation.rating_session import OutdatedQuestionError, shown_text
from harness.errors import HarnessError, TaskError
from harness.files.plain_text import visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aiohttp import web

    from harness.annotation.rating_session import RatingSession

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

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


class AnswerFields(Struct, frozen=True, forbid_unknown_fields=True):
    """Answer to a question; null where it is skipped."""

    item: str
    elicitation: str
    value: str | tuple[str, ...] | None = None


class AnswerRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Body of a request that answers or skips the questions of a screen."""

    answers: tuple[AnswerFields, ...]
    comment: str = ""
    flagged: bool = False


@dataclass(slots=True)
class Access:
    """Who may use the page: the holder of the token, then of the cookie's secret."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))  # "" once exchanged
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def address(self) -> str:
        """The address to open."""
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """Name of the cookie: browsers send cookies to all ports of a host."""
        return f"annotate-{self.port}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts under which the page may be asked for."""
        return f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"

    def exchange(self, token: str) -> bool:
        """Return whether a token is right, and use it up."""
        is_right = bool(self.token) and _equal(token, self.token)
        if is_right:
            self.token = ""
        return is_right

    def refusal(self, request: web.Request) -> str:
        """Return why a request is refused; "" if it is not."""
        if request.headers.getall("Host", []) not in [[host] for host in self.hosts]:
            return "Wrong host. Open the address that `harness annotate` printed."
        origin = request.headers.get("Origin")
        is_own = origin == f"http://{request.host}"
        if not is_own and (origin is not None or request.method != "GET"):
            return "Requests from other origins are refused."
        if not _equal(request.cookies.get(self.cookie, ""), self.secret):
            return (
                "This page needs the address that `harness annotate` printed. It opens once; for "
                "another browser, stop the command and start it again."
            )
        return ""


def _equal(text: str, secret: str) -> bool:
    return hmac.compare_digest(text.encode(errors="replace"), secret.encode())


class RatingPage:
    """Handlers of the page."""

    def __init__(self, session: RatingSession, access: Access) -> None:
        self._session = session
        self._access = access
        self._files = {
            "/": (page_html(session), "text/html"),
            "/annotate.css": (_colours() + _file("static/annotate.css"), "text/css"),
            "/annotate.js": (_file("static/annotate.js"), "text/javascript"),
        }

    def application(self) -> web.Application:
        """Return the application that serves the page."""
        from aiohttp import web  # noqa: PLC0415 -- costs 100 ms; only when the page is served

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._guarded(request, handler)

        async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
            response.headers.update(HEADERS)

        application = web.Application(middlewares=[guard], client_max_size=MAX_BODY)
        application.on_response_prepare.append(add_headers)
        for path in self._files:
            application.router.add_get(path, self._send_file)
        application.router.add_get("/favicon.ico", self._send_no_icon)
        application.router.add_get("/question", self._question)
        application.router.add_get("/image", self._image)
        application.router.add_post("/answer", self._answer)
        application.router.add_post("/skip", self._skip)
        moves = {
            "/back": self._session.back,
            "/forward": self._session.forward,
            "/skipped": self._session.show_skipped,
        }
        for path, move in moves.items():
            application.router.add_post(path, self._moving(move))
        return application

    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = self._access.refusal(request)
        is_entry = request.method == "GET" and request.path == "/" and "token" in request.query
        is_host = request.host in self._access.hosts
        if is_entry and is_host and self._access.exchange(request.query["token"]):
            response = _response(status=303, location="/")
            response.set_cookie(
                self._access.cookie, self._access.secret, httponly=True, samesite="Strict", path="/"
            )
            return response
        if refusal:
            return _response(refusal, status=403)
        return _response(status=303, location="/") if is_entry else await handler(request)

    async def _send_file(self, request: web.Request) -> web.Response:
        text, content_type = self._files[request.path]
        return _response(text, content_type=content_type)

    async def _send_no_icon(self, _: web.Request) -> web.Response:
        return _response(status=204)

    async def _question(self, _: web.Request) -> web.Response:
        return self._view()

    async def _image(self, request: web.Request) -> web.Response:
        """Send the image of the item that is asked about."""
        from aiohttp import web  # noqa: PLC0415 -- costs 100 ms; only when the page is served

        screen = self._session.current()
        image = self._session.task.images.get(screen.item.id) if screen else None
        if image is None or request.query_string != image.digest:
            return _response("This item has no image.", status=404)
        return web.Response(body=image.read(), content_type=image.media_type)

    async def _answer(self, request: web.Request) -> web.Response:
        def answer(body: AnswerRequest) -> None:
            values = {(a.item, a.elicitation): a.value or "" for a in body.answers}
            self._session.answer(values, comment=body.comment, flagged=body.flagged)

        return await self._kept(request, answer)

    async def _skip(self, request: web.Request) -> web.Response:
        def skip(body: AnswerRequest) -> None:
            keys = {(a.item, a.elicitation): None for a in body.answers}
            self._session.skip(keys, comment=body.comment, flagged=body.flagged)

        return await self._kept(request, skip)

    async def _kept(
        self, request: web.Request, keep: Callable[[AnswerRequest], None]
    ) -> web.Response:
        """Read the body of a request, keep what it says, and send the next screen."""
        if request.content_type != "application/json":
            return self._view("The answer could not be read.", 415)
        try:
            keep(msgspec.json.decode(await request.read(), type=AnswerRequest))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return self._view("The answer could not be read.", 400)
        except OutdatedQuestionError as error:
            return self._view(str(error), 409)
        except ValueError as error:
            return self._view(str(error), 422)
        except HarnessError as error:
            return self._view(f"Not saved. {error}", 507)
        return self._view()

    def _moving(self, move: Callable[[], None]) -> Handler:
        async def handler(_: web.Request) -> web.Response:
            move()
            return self._view()

        return handler

    def _view(self, problem: str = "", status: int = 200) -> web.Response:
        view = {**self._session.view(), "problem": visible(problem)}
        text = msgspec.json.encode(view).decode()
        return _response(text, content_type="application/json", status=status)


def _response(
    text: str = "", *, status: int = 200, content_type: str = "text/plain", location: str = ""
) -> web.Response:
    from aiohttp import web  # noqa: PLC0415 -- costs 100 ms; only when the page is served

    headers = {"Location": location} if location else None
    return web.Response(text=text, content_type=content_type, status=status, headers=headers)


def _file(name: str) -> str:
    return (files("harness.annotation") / name).read_text(encoding="utf-8")


def _colours() -> str:
    return (files("harness.report.html") / "static/colours.css").read_text(encoding="utf-8")


def page_html(session: RatingSession) -> str:
    """Return the page without a question, which its script fetches; every text is escaped."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 -- only for the page

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(_file("templates/annotate.html.jinja"))
    task = session.task
    return template.render(
        name=visible(task.name),
        rater=visible(session.rater),
        property=visible(task.property),
        instructions=shown_text(task.instructions),
        options=[(visible(o.label), shown_text(o.description)) for o in task.options],
    )


async def serve(
    session: RatingSession, *, port: int = 0, announce: Callable[[str], object] = print
) -> None:
    """Serve the page until SIGINT or SIGTERM.

    Parameters
    ----------
    session : RatingSession
        Questions and answers.
    port : int
        Where to listen on loopback; 0 for any free port.
    announce : callable
        Gets the address to open.

    Raises
    ------
    TaskError
        If the port is taken.
    """
    from aiohttp import web  # noqa: PLC0415 -- costs 100 ms; only when the page is served

    try:
        listener = socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise TaskError(f"port {port} cannot be used ({error.strerror}). Name another.") from None
    access = Access(listener.getsockname()[1])
    application = RatingPage(session, access).application()
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_S)
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        announce(access.address)
        await stopped.wait()
    finally:
        await runner.cleanup()
