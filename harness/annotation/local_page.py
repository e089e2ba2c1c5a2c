"""The local rating page and the handlers for its requests."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from harness.annotation.rating_session import OutdatedQuestionError, shown_text
from harness.errors import HarnessError
from harness.files.plain_text import visible
from harness.report.served.loopback import colours, response, serve_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import web

    from harness.annotation.rating_session import RatingSession
    from harness.report.served.loopback import Handler


class AnswerFields(Struct, frozen=True, forbid_unknown_fields=True):
    """Answer to a question, or null if the rater skipped the question."""

    item: str
    elicitation: str
    value: str | tuple[str, ...] | None = None


class AnswerRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Request body with answers or skips for a screen's questions."""

    answers: tuple[AnswerFields, ...]
    comment: str = ""
    flagged: bool = False


class RatingPage:
    """Handlers for the page's requests."""

    def __init__(self, session: RatingSession) -> None:
        self._session = session
        self._files = {
            "/": (page_html(session), "text/html"),
            "/annotate.css": (colours() + _file("static/annotate.css"), "text/css"),
            "/annotate.js": (_file("static/annotate.js"), "text/javascript"),
        }

    def add_routes(self, router: web.UrlDispatcher) -> None:
        """Add the page's routes to a router."""
        for path in self._files:
            router.add_get(path, self._send_file)
        router.add_get("/question", self._question)
        router.add_get("/image", self._image)
        router.add_post("/answer", self._answer)
        router.add_post("/skip", self._skip)
        moves = {
            "/back": self._session.back,
            "/forward": self._session.forward,
            "/skipped": self._session.show_skipped,
        }
        for path, move in moves.items():
            router.add_post(path, self._moving(move))

    async def _send_file(self, request: web.Request) -> web.Response:
        text, content_type = self._files[request.path]
        return response(text, content_type=content_type)

    async def _question(self, _: web.Request) -> web.Response:
        return self._view()

    async def _image(self, request: web.Request) -> web.Response:
        """Send the current item's image."""
        from aiohttp import web  # noqa: PLC0415 -- costs 100 ms; only when the page is served

        screen = self._session.current()
        image = self._session.task.images.get(screen.item.id) if screen else None
        if image is None or request.query_string != image.digest:
            return response("This item has no image.", status=404)
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
        """Save a request's content, and respond with the next screen."""
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
        return response(text, content_type="application/json", status=status)


def _file(name: str) -> str:
    return (files("harness.annotation") / name).read_text(encoding="utf-8")


def page_html(session: RatingSession) -> str:
    """Return the page's HTML, with all texts escaped. Its script fetches the questions."""
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
        Port on loopback; 0 for any free port.
    announce : callable
        Receives the address to open.

    Raises
    ------
    TaskError
        If the port is taken.
    """
    await serve_page("annotate", RatingPage(session).add_routes, port=port, announce=announce)
