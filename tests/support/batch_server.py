"""A server that plays a provider of batches on loopback, with OpenAI's and Anthropic's interfaces.

    python tests/support/batch_server.py --port 0   prints its port, then serves until it is ended

POST /v1/files, /v1/batches; GET /v1/batches, /v1/batches/ID, /v1/files/ID/content        OpenAI
POST /v1/messages/batches; GET the same, /ID, /ID/results                                 Anthropic
POST /bill/N         replies are billed as those of the stub server under /bill/N
POST /hold, /go      batches stay unfinished, or are finished at the second poll (the default)
POST /lose           the next batch is accepted but the connection ends before the response
POST /full           files are refused with 502 until /go
POST /say/TEXT       all answers are this text
POST /mumble         no reply can be read until it is asked for once more
POST /spoil          the next batch leaves one request unanswered and refuses one
POST /v1/chat/completions    a single request, counted among the others
GET  /stats          {"batches": n, "requests": n, "files": n, "polls": n, "billed": {...}}
POST /reset          clears everything
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import threading
from collections import Counter
from datetime import UTC, datetime

from aiohttp import web
from stub_server import (
    answer_to,
    anthropic_reply,
    billed_usage,
    is_reasked,
    openai_reply,
    with_usage,
)

COUNTS: Counter = Counter()
FILES: dict[str, bytes] = {}
BATCHES: dict[str, dict] = {}
MODES = {"hold": False, "full": False, "lose": False, "spoil": False, "bill": 0, "say": ""}
MODES["mumble"] = False
BILLED: dict[str, Counter] = {}  # by model


async def post_file(request: web.Request) -> web.Response:
    if MODES["full"]:
        raise web.HTTPBadGateway
    form = await request.post()
    assert form["purpose"] == "batch"
    COUNTS["files"] += 1
    name = f"file-{COUNTS['files']}"
    FILES[name] = form["file"].file.read()
    return web.json_response({"id": name, "object": "file", "purpose": "batch"})


async def post_batch(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    lines = [json.loads(line) for line in FILES[body["input_file_id"]].splitlines()]
    assert all(line["url"] == body["endpoint"] == "/v1/chat/completions" for line in lines)
    pairs = [(line["custom_id"], line["body"]) for line in lines]
    return await accept_batch(request, pairs, body.get("metadata"))


async def post_messages(request: web.Request) -> web.StreamResponse:
    assert request.headers["anthropic-version"]
    body = await request.json()
    return await accept_batch(
        request, [(r["custom_id"], r["params"]) for r in body["requests"]], None
    )


async def post_single(request: web.Request) -> web.Response:
    COUNTS["requests"] += 1
    body = await request.json()
    return web.json_response(openai_reply(body, said(body)))


def said(body: dict) -> str:
    """Return the answer that was set for all requests, or the one to this."""
    return MODES["say"] or answer_to(body)


async def accept_batch(request, pairs, metadata) -> web.StreamResponse:
    assert len({key for key, _ in pairs}) == len(pairs)
    COUNTS["batches"] += 1
    COUNTS["requests"] += len(pairs)
    name = f"batch_{COUNTS['batches']}"
    BATCHES[name] = {
        "pairs": pairs,
        "polls": 0,
        "metadata": metadata,
        "spoil": MODES["spoil"],
        "created": datetime.now(UTC).isoformat(),
    }
    n_free = 2 if MODES["spoil"] else 0  # refused, and not processed
    MODES["spoil"] = False
    for _, body in pairs[n_free:] if MODES["bill"] else ():
        BILLED.setdefault(body["model"], Counter()).update(billed_usage(body, MODES["bill"]))
    if MODES["lose"]:
        MODES["lose"] = False
        request.transport.abort()
    return web.json_response(describe(name))


def describe(name: str) -> dict:
    """Describe a batch with the fields of both interfaces."""
    batch = BATCHES[name]
    completed = batch["polls"] >= 2 and not MODES["hold"]
    counts = {"processing": 0, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
    return {
        "id": name,
        "status": "completed" if completed else "in_progress",
        "processing_status": "ended" if completed else "in_progress",
        "output_file_id": f"out-{name}" if completed else None,
        "error_file_id": f"err-{name}" if completed and batch["spoil"] else None,
        "metadata": batch["metadata"],
        "created_at": batch["created"],
        "request_counts": counts
        | {"succeeded" if completed else "processing": len(batch["pairs"])},
    }


async def get_batch(request: web.Request) -> web.Response:
    COUNTS["polls"] += 1
    if request.match_info["id"] not in BATCHES:
        raise web.HTTPNotFound
    BATCHES[request.match_info["id"]]["polls"] += 1
    return web.json_response(describe(request.match_info["id"]))


async def list_batches(_request: web.Request) -> web.Response:
    return web.json_response({"data": [describe(name) for name in reversed(BATCHES)]})


def openai_lines(batch: dict, kind: str):
    for place, (key, body) in enumerate(batch["pairs"]):
        spoilt = batch["spoil"] and place < 2
        if spoilt != (kind == "err"):
            continue
        mumbles = MODES["mumble"] and not is_reasked(body)
        reply = openai_reply(body, "It depends." if mumbles else said(body))
        if MODES["bill"]:
            reply = with_usage(reply, billed_usage(body, MODES["bill"]))
        response = {"status_code": 200, "body": reply}
        if spoilt and place == 0:
            response = {"status_code": 400, "body": {"error": {"message": "no", "code": None}}}
        elif spoilt:
            response = None
        error = None if response else {"code": "batch_expired", "message": "too late"}
        yield {"id": f"r{place}", "custom_id": key, "response": response, "error": error}


def anthropic_lines(batch: dict):
    for place, (key, body) in enumerate(batch["pairs"]):
        result = {
            "type": "succeeded",
            "message": anthropic_reply(body, said(body)),
        }
        if batch["spoil"] and place == 0:
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
            result = {"type": "errored", "error": error}
        elif batch["spoil"] and place == 1:
            result = {"type": "expired"}
        yield {"custom_id": key, "result": result}


async def get_content(request: web.Request) -> web.Response:
    kind, _, name = request.match_info["id"].partition("-")
    return in_reverse(openai_lines(BATCHES[name], kind))


async def get_results(request: web.Request) -> web.Response:
    return in_reverse(anthropic_lines(BATCHES[request.match_info["id"]]))


def in_reverse(lines) -> web.Response:
    """Return the lines in another order than the requests'."""
    return web.Response(text="".join(json.dumps(line) + "\n" for line in reversed(list(lines))))


async def set_mode(request: web.Request) -> web.Response:
    mode = request.path.strip("/")
    if mode == "reset":
        for store in (COUNTS, FILES, BATCHES, BILLED):
            store.clear()
        MODES.update(dict.fromkeys(MODES, 0))
    elif mode == "go":
        MODES["hold"] = MODES["full"] = False
    else:
        MODES[mode] = True
    return web.json_response({})


async def bill(request: web.Request) -> web.Response:
    MODES["bill"] = int(request.match_info["n"])
    return web.json_response({})


async def say(request: web.Request) -> web.Response:
    MODES["say"] = request.match_info["text"]
    return web.json_response({})


async def stats(_request: web.Request) -> web.Response:
    names = ("batches", "requests", "files", "polls")
    return web.json_response({name: COUNTS[name] for name in names} | {"billed": BILLED})


async def serve(port: int) -> None:
    app = web.Application(client_max_size=1 << 30)
    app.router.add_post("/v1/chat/completions", post_single)
    app.router.add_post("/v1/files", post_file)
    app.router.add_get("/v1/files/{id}/content", get_content)
    for path, post in (("/v1/batches", post_batch), ("/v1/messages/batches", post_messages)):
        app.router.add_post(path, post)
        app.router.add_get(path, list_batches)
        app.router.add_get(path + "/{id}", get_batch)
    app.router.add_get("/v1/messages/batches/{id}/results", get_results)
    app.router.add_get("/stats", stats)
    app.router.add_post("/bill/{n}", bill)
    app.router.add_post("/say/{text}", say)
    for mode in ("hold", "full", "go", "lose", "spoil", "mumble", "reset"):
        app.router.add_post(f"/{mode}", set_mode)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, shutdown_timeout=0.1)
    await site.start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.sleep(3600)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--with-parent", action="store_true", help="end when stdin does")
    arguments = parser.parse_args()
    if arguments.with_parent:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    asyncio.run(serve(arguments.port))
