"""A provider of batches on loopback, in a process of its own: OpenAI's and Anthropic's interfaces.

    python tests/support/batch_stub.py --port 0     prints its port, then serves until it is ended

POST /v1/files, /v1/batches; GET /v1/batches, /v1/batches/ID, /v1/files/ID/content        OpenAI
POST /v1/messages/batches; GET the same, /ID, /ID/results                                 Anthropic
POST /hold, /go      batches stay unfinished, or are finished at the second look (as at first)
POST /lose           the next batch is taken in but its answer never leaves
POST /spoil          the next batch leaves one request unanswered and refuses one
POST /v1/chat/completions    one request by itself, counted among the others
GET  /stats          {"batches": n, "requests": n, "files": n, "looks": n}
POST /reset          forgets everything
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
from stub import answer_to, anthropic_reply, openai_reply

COUNTS: Counter = Counter()
FILES: dict[str, bytes] = {}
BATCHES: dict[str, dict] = {}
MOOD = {"hold": False, "lose": False, "spoil": False}


async def post_file(request: web.Request) -> web.Response:
    form = await request.post()
    assert form["purpose"] == "batch"
    COUNTS["files"] += 1
    name = f"file-{COUNTS['files']}"
    FILES[name] = form["file"].file.read()
    return web.json_response({"id": name, "object": "file", "purpose": "batch"})


async def post_batch(request: web.Request) -> web.StreamResponse:
    wanted = await request.json()
    lines = [json.loads(line) for line in FILES[wanted["input_file_id"]].splitlines()]
    assert all(line["url"] == wanted["endpoint"] == "/v1/chat/completions" for line in lines)
    pairs = [(line["custom_id"], line["body"]) for line in lines]
    return await take_in(request, pairs, wanted.get("metadata"))


async def post_messages(request: web.Request) -> web.StreamResponse:
    assert request.headers["anthropic-version"]
    wanted = await request.json()
    return await take_in(request, [(r["custom_id"], r["params"]) for r in wanted["requests"]], None)


async def post_single(request: web.Request) -> web.Response:
    COUNTS["requests"] += 1
    body = await request.json()
    return web.json_response(openai_reply(body, answer_to(body)))


async def take_in(request, pairs, metadata) -> web.StreamResponse:
    assert len({key for key, _ in pairs}) == len(pairs)
    COUNTS["batches"] += 1
    COUNTS["requests"] += len(pairs)
    name = f"batch_{COUNTS['batches']}"
    BATCHES[name] = {
        "pairs": pairs,
        "looks": 0,
        "metadata": metadata,
        "spoil": MOOD["spoil"],
        "created": datetime.now(UTC).isoformat(),
    }
    MOOD["spoil"] = False
    if MOOD["lose"]:
        MOOD["lose"] = False
        request.transport.abort()
    return web.json_response(shown(name))


def shown(name: str) -> dict:
    """A batch as both interfaces describe it."""
    batch = BATCHES[name]
    done = batch["looks"] >= 2 and not MOOD["hold"]
    counts = {"processing": 0, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
    return {
        "id": name,
        "status": "completed" if done else "in_progress",
        "processing_status": "ended" if done else "in_progress",
        "output_file_id": f"out-{name}" if done else None,
        "error_file_id": f"err-{name}" if done and batch["spoil"] else None,
        "metadata": batch["metadata"],
        "created_at": batch["created"],
        "request_counts": counts | {"succeeded" if done else "processing": len(batch["pairs"])},
    }


async def get_batch(request: web.Request) -> web.Response:
    COUNTS["looks"] += 1
    if request.match_info["id"] not in BATCHES:
        raise web.HTTPNotFound
    BATCHES[request.match_info["id"]]["looks"] += 1
    return web.json_response(shown(request.match_info["id"]))


async def list_batches(_request: web.Request) -> web.Response:
    return web.json_response({"data": [shown(name) for name in reversed(BATCHES)]})


def openai_lines(batch: dict, kind: str):
    for place, (key, body) in enumerate(batch["pairs"]):
        spoilt = batch["spoil"] and place < 2
        if spoilt != (kind == "err"):
            continue
        response = {"status_code": 200, "body": openai_reply(body, answer_to(body))}
        if spoilt and place == 0:
            response = {"status_code": 400, "body": {"error": {"message": "no", "code": None}}}
        elif spoilt:
            response = None
        error = None if response else {"code": "batch_expired", "message": "too late"}
        yield {"id": f"r{place}", "custom_id": key, "response": response, "error": error}


def anthropic_lines(batch: dict):
    for place, (key, body) in enumerate(batch["pairs"]):
        result = {"type": "succeeded", "message": anthropic_reply(body, answer_to(body))}
        if batch["spoil"] and place == 0:
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
            result = {"type": "errored", "error": error}
        elif batch["spoil"] and place == 1:
            result = {"type": "expired"}
        yield {"custom_id": key, "result": result}


async def get_content(request: web.Request) -> web.Response:
    kind, _, name = request.match_info["id"].partition("-")
    return text_of(openai_lines(BATCHES[name], kind))


async def get_results(request: web.Request) -> web.Response:
    return text_of(anthropic_lines(BATCHES[request.match_info["id"]]))


def text_of(lines) -> web.Response:
    """Lines in an order that is not the requests'."""
    return web.Response(text="".join(json.dumps(line) + "\n" for line in reversed(list(lines))))


async def set_mood(request: web.Request) -> web.Response:
    mood = request.path.strip("/")
    if mood == "reset":
        for store in (COUNTS, FILES, BATCHES):
            store.clear()
        MOOD.update(dict.fromkeys(MOOD, False))
    elif mood == "go":
        MOOD["hold"] = False
    else:
        MOOD[mood] = True
    return web.json_response({})


async def stats(_request: web.Request) -> web.Response:
    names = ("batches", "requests", "files", "looks")
    return web.json_response({name: COUNTS[name] for name in names})


async def serve(port: int) -> None:
    app = web.Application(client_max_size=1 << 30)
    app.router.add_post("/v1/chat/completions", post_single)
    app.router.add_post("/v1/files", post_file)
    app.router.add_get("/v1/files/{id}/content", get_content)
    for path, take in (("/v1/batches", post_batch), ("/v1/messages/batches", post_messages)):
        app.router.add_post(path, take)
        app.router.add_get(path, list_batches)
        app.router.add_get(path + "/{id}", get_batch)
    app.router.add_get("/v1/messages/batches/{id}/results", get_results)
    app.router.add_get("/stats", stats)
    for mood in ("hold", "go", "lose", "spoil", "reset"):
        app.router.add_post(f"/{mood}", set_mood)
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
    given = parser.parse_args()
    if given.with_parent:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    asyncio.run(serve(given.port))
