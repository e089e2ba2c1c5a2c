"""A server that plays judges on loopback, in the providers' formats and with faults on request.

    python tests/support/stub_server.py --port 0   prints its port, then serves until it is ended

POST [/ms/N][/fault/PLAN][/say/TEXT][/table/NAME][/tokens/JSON]/v1/chat/completions   OpenAI
POST [...]/v1/completions                                                       OpenAI, text
POST [...]/v1/messages                                                          Anthropic
POST [...]/models/MODEL:generateContent                                         Gemini
POST [...]/api/chat or /api/generate                                            Ollama
POST [...]/v1/embeddings                        how often each letter is in the text
GET  [...]/v1/models                  one model, "stub" unless /say/NAME
POST [...]/bill/N[...]  a token per byte of the prompt; replies of N tokens, cut off at the limit
               that the request sets, which /nocap/1 ignores; /stats sums what that is billed.
               /setbill/N goes for sets; under /details/1 only the details report most of a reply
GET  /stats    {"requests": n, "in_flight": n, "max_in_flight": n, "prompts": n, "by_path": {...}}
GET  /requests the last requests: [{"path", "headers", "body"}, ...]
POST /reset    clears both, and lets all requests through
POST /clear    as /reset; forgets all tables, too
POST /hold/N   lets N more requests through; the others wait for /release
POST /release  lets all requests through
POST /tables/NAME  {"replies": {line of a prompt: [reply, ...]}, "model": ..., "fingerprint": ...,
                   "fault": PLAN, "ms": N}

The answer is a function of the prompt: one of the option keys that stand at the start of its lines
("A: Toxic", "- B. Fine"), or several where a set is asked for, in JSON where the request holds a
schema. `/say/TEXT` gives the answer itself; `/obey/TEXT` too, but for prompts with a line such as
"Answer A.", which are answered so. `/unread/TEXT` gives TEXT until the judge is asked once more.
`/table/NAME` takes it from a table of replies: the n-th request whose prompt holds a line gets the
n-th reply to that line, and from the first again after the last. A reply may be an object of tokens
with their probabilities: the text is the most probable.

Where a message holds an image, the answer is A or B by the SHA-256 of its bytes; one that is no
PNG in a `data:` URL fails.

`/patch/{"choice": {"finish_reason": "MAX_TOKENS"}}` sets members of a chat completion, of its first
choice, of the `message` in it, of its `usage`, or at its `top`.
`/refuse/{"if": "temperature", "status": 400, "body": {...}}` refuses requests with such a member,
or with `"if": ""` all of them.

`/tokens/{"A": 0.7, " B": 0.2, "Well": 0.1}` draws it from these tokens, the n-th draw for a prompt
always the same, and reports their probabilities where log-probabilities are asked for.

A plan is `FAULT`, or `FAULT*N` for the first N requests of each prompt, several joined by commas:
`/fault/429*2,500*1/v1`. It may also end the model's name: `stub+429*2`. Arguments of a
fault follow it: `429;retry-after=1`, `307;to=http://127.0.0.1:8000/x` (percent-encoded in a path).
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gzip
import hashlib
import json
import math
import os
import random
import re
import sys
import threading
from collections import Counter, deque
from functools import cache
from itertools import pairwise
from string import ascii_lowercase
from urllib.parse import unquote

from aiohttp import web

LAST_REQUESTS = deque(maxlen=1000)
COUNTS = Counter()
BY_PATH = Counter()
BILLED = {}  # tokens by path and kind
UNBILLED = frozenset(  # faults
    {"400", "401", "403", "404", "409", "422", "429", "500", "503", "529"}
    | {"quota", "credit", "payment", "badkey400"}
)
TABLES = {}  # by name
TIMES_ASKED = Counter()  # by table and line
DRAWS = Counter()  # from tokens, by prompt
ATTEMPTS = Counter()  # requests so far, by path and prompt
HELD = {"after": math.inf, "released": asyncio.Event()}  # requests that are let through
PNG_URL = "data:image/png;base64,"
BIG = 60 << 20
OPTION = re.compile(r"^[\s>*-]*\(?([A-Za-z0-9_]{1,12})\s*[:.)=]\s+\S", re.MULTILINE)


def options_of(body: dict) -> list[str]:
    """Return the option keys that the prompt lists; A and B when it lists none."""
    keys = []
    for text in texts_of(body):
        keys += [key for key in OPTION.findall(text) if key not in keys and len(key) <= 3]
    return keys or ["A", "B"]


def texts_of(body: dict) -> list[str]:
    """Return the text of every message, in any provider's format."""
    messages = [body["system"]] if body.get("system") else []
    messages += [body["prompt"]] if body.get("prompt") else []
    messages += [
        message.get("content", message.get("parts")) for message in body.get("messages", [])
    ]
    messages += [message["parts"] for message in body.get("contents", [])]
    return [
        message if isinstance(message, str) else " ".join(p.get("text", "") for p in message)
        for message in messages
    ]


def images_of(body: dict) -> list[bytes]:
    """Return the bytes of the images in an OpenAI request."""
    contents = [message.get("content") for message in body.get("messages", [])]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    urls = [part["image_url"]["url"] for part in parts if part.get("type") == "image_url"]
    return [base64.b64decode(url.removeprefix(PNG_URL), validate=True) for url in urls]


def answer_to(body: dict) -> str:
    """Choose one option, or several where a set is asked for, by the prompt's hash."""
    texts = texts_of(body)
    if images := images_of(body):
        return "AB"[hashlib.sha256(images[-1]).digest()[0] % 2]
    digest = hashlib.sha256("\n".join(texts).encode("utf-8", "replace")).digest()
    if schema := body.get("response_format", {}).get("json_schema"):
        return json.dumps(structured(schema["schema"]["properties"], digest))
    keys = options_of(body)
    if "\nyes\nno\n" in texts[-1]:
        return ("yes", "no")[digest[0] % 2]
    if wants_set(body):
        chosen = [key for place, key in enumerate(keys) if digest[1 + place] % 2]
        return ", ".join(chosen or keys[:1])
    return keys[digest[0] % len(keys)]


def is_reasked(body: dict) -> bool:
    """Return whether the last question follows a reply that could not be read."""
    return texts_of(body)[-1].startswith("That reply can't be read")


def wants_set(body: dict) -> bool:
    return "every option" in texts_of(body)[-1].lower()


def obeyed(otherwise: str, body: dict) -> str:
    """Return the option that a line of the prompt demands, else ``otherwise``; "" without one."""
    demanded = re.search(r"^Answer (\w+)\.$", texts_of(body)[-1], re.MULTILINE)
    return demanded[1] if otherwise and demanded else otherwise


def structured(properties: dict, digest: bytes) -> dict:
    """Return an object of a schema whose members are enumerations, or lists of such."""
    return {
        name: member["enum"][digest[0] % len(member["enum"])]
        if "enum" in member
        else member["items"]["enum"][: 1 + digest[0] % 2]
        for name, member in properties.items()
    }


def answer_from(name: str, body: dict) -> str | dict[str, float]:
    """Take the next reply to the line of the prompt that a table knows."""
    replies = TABLES[name]["replies"]
    lines = [{line for line in text.splitlines() if line in replies} for text in texts_of(body)]
    [line] = next(filter(None, reversed(lines)))  # a second question repeats no item
    number = TIMES_ASKED[name, line]
    TIMES_ASKED[name, line] += 1
    return replies[line][number % len(replies[line])]


def draw_token(tokens: dict[str, float], body: dict) -> str:
    """Draw one of some tokens with their probabilities."""
    prompt = "\n".join(texts_of(body))
    DRAWS[prompt] += 1
    rng = random.Random(f"{DRAWS[prompt]} {prompt}")
    return rng.choices(list(tokens), list(tokens.values()))[0]


def with_logprobs(tokens: dict[str, float], body: dict, reply: dict) -> dict:
    """Report the probabilities of the first token, if they are asked for."""
    if body.get("logprobs"):
        listed = [{"token": token, "logprob": math.log(p)} for token, p in tokens.items()]
        listed.sort(key=lambda entry: -entry["logprob"])
        for choice in reply["choices"]:
            if "text" in choice:
                top = {entry["token"]: entry["logprob"] for entry in listed[: body["logprobs"]]}
                drawn = {"tokens": [choice["text"]], "top_logprobs": [top]}
                choice["logprobs"] = drawn | {"token_logprobs": [math.log(tokens[choice["text"]])]}
                continue
            text = choice["message"]["content"]
            drawn = {"token": text, "logprob": math.log(tokens[text])}
            most = listed[: body.get("top_logprobs", 0)]
            choice["logprobs"] = {"content": [drawn | {"top_logprobs": most}]}
    return reply


def as_reported(name: str, reply: dict) -> dict:
    """Replace the model version and the fingerprint by those of a table."""
    table = TABLES[name]
    fields = {"model": table.get("model"), "system_fingerprint": table.get("fingerprint")}
    return reply | {field: value for field, value in fields.items() if value}


def openai_reply(body: dict, text: str | None, finish: str = "stop", **message) -> dict:
    n_in, n_out = tokens(body, text)
    choice = {"role": "assistant", "content": text, "refusal": None} | message
    return {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": str(body.get("model", "stub")) + "-2026-01-01",
        "service_tier": "default",
        "choices": [
            {"index": i, "message": choice, "logprobs": None, "finish_reason": finish}
            for i in range(int(body.get("n") or 1))
        ],
        "usage": {
            "prompt_tokens": n_in,
            "completion_tokens": n_out,
            "total_tokens": n_in + n_out,
            "prompt_tokens_details": {"cached_tokens": n_in // 2},
        },
    }


def completion_reply(body: dict, text: str | None, finish: str = "length", **_fields) -> dict:
    reply = openai_reply(body, text, finish) | {"object": "text_completion"}
    choices = [{"index": 0, "text": text, "logprobs": None, "finish_reason": finish}]
    return reply | {"choices": choices}


def anthropic_reply(body: dict, text: str | None, finish: str = "stop", **_message) -> dict:
    n_in, n_out = tokens(body, text)
    reasons = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
    return {
        "id": "msg_stub",
        "type": "message",
        "role": "assistant",
        "model": str(body.get("model", "stub")) + "-20260101",
        "content": [] if text is None else [{"type": "text", "text": text}],
        "stop_reason": reasons.get(finish, finish),
        "stop_sequence": None,
        "usage": {"input_tokens": n_in, "output_tokens": n_out},
    }


def gemini_reply(body: dict, text: str | None, finish: str = "stop", **_message) -> dict:
    n_in, n_out = tokens(body, text)
    reasons = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
    parts = [] if text is None else [{"text": text}]
    return {
        "candidates": [
            {
                "content": {"role": "model", "parts": parts},
                "finishReason": reasons[finish],
                "index": 0,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": n_in,
            "candidatesTokenCount": n_out,
            "totalTokenCount": n_in + n_out,
        },
        "modelVersion": "stub",
    }


def ollama_reply(body: dict, text: str | None, finish: str = "stop", **_message) -> dict:
    n_in, n_out = tokens(body, text)
    return {
        "model": body.get("model", "stub"),
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": text or ""},
        "response": text or "",
        "done": True,
        "done_reason": finish,
        "prompt_eval_count": n_in,
        "eval_count": n_out,
    }


def tokens(body: dict, text: str | None) -> tuple[int, int]:
    size = sum(len(t.encode("utf-8", "replace")) for t in texts_of(body))
    return max(1, size // 4), max(1, len(str(text or "")) // 4)


def billed_usage(body: dict, n_tokens: int, *, ignores_cap: bool = False) -> dict[str, int]:
    """Return the tokens that a request is billed: most prompt tokens go through the cache."""
    cap = body.get("max_completion_tokens") or body.get("max_tokens") or n_tokens
    inputs = [body["input"]] if isinstance(body.get("input"), str) else body.get("input", [])
    texts = texts_of(body) + inputs
    n_in = 50 + sum(len(text.encode("utf-8", "replace")) for text in texts)
    n_out = (n_tokens if ignores_cap else min(n_tokens, cap)) * int(body.get("n") or 1)
    n_out = 0 if inputs else n_out
    return {"prompt": n_in, "cached": n_in // 3, "written": n_in // 3, "reply": n_out}


def with_usage(reply: dict, billed: dict[str, int]) -> dict:
    """Report in a reply what it is billed."""
    details = {"cached_tokens": billed["cached"], "cache_creation_tokens": billed["written"]}
    usage = {
        "prompt_tokens": billed["prompt"],
        "completion_tokens": billed["reply"],
        "total_tokens": billed["prompt"] + billed["reply"],
        "prompt_tokens_details": details,
    }
    return reply | {"usage": usage}


def details_usage(reply: dict, billed: dict[str, int]) -> dict:
    """Report what a reply is billed as reasoning, which the totals leave out."""
    shown = billed["reply"] // 3
    reply = with_usage(reply, billed | {"reply": shown})
    reply["usage"]["completion_tokens_details"] = {"reasoning_tokens": billed["reply"] - shown}
    return reply


def billed_style(make, request: web.Request, body: dict, settings: dict, *, is_free: bool):
    """Bill a request, and return what makes a reply that says so."""
    n_tokens = (
        settings["setbill"] if "setbill" in settings and wants_set(body) else settings["bill"]
    )
    billed = billed_usage(body, int(n_tokens), ignores_cap="nocap" in settings)
    if not is_free:
        BILLED.setdefault(request.path, Counter()).update(billed)
    report = details_usage if "details" in settings else with_usage
    return lambda *args, **fields: report(make(*args, **fields), billed)


def patched(reply: dict, parts: dict[str, dict]) -> dict:
    """Set members of a chat completion and of its parts."""
    [choice, *_] = reply["choices"]
    choice |= {"message": choice["message"] | parts.get("message", {})} | parts.get("choice", {})
    reply["usage"] |= parts.get("usage", {})
    return reply | parts.get("top", {})


def letter_counts(text: str) -> list[float]:
    """Return the vector of a text: how often each letter from a to z is in it."""
    return [float(text.lower().count(letter)) for letter in ascii_lowercase]


def embedding_reply(body: dict, *_: object, **_fields: object) -> dict:
    [text] = [body["input"]] if isinstance(body["input"], str) else body["input"]
    return {
        "object": "list",
        "model": str(body.get("model", "stub")) + "-2026-01-01",
        "data": [{"object": "embedding", "index": 0, "embedding": letter_counts(text)}],
        "usage": {"prompt_tokens": len(text.split()), "total_tokens": len(text.split())},
    }


STYLES = {
    "/embeddings": embedding_reply,
    "/chat/completions": openai_reply,
    "/completions": completion_reply,
    "/messages": anthropic_reply,
    ":generateContent": gemini_reply,
    "/api/chat": ollama_reply,
    "/api/generate": ollama_reply,
}


def error_body(kind: str, message: str, code: str | None = None) -> dict:
    """Make an error that both OpenAI's and Anthropic's clients can read."""
    return {
        "type": "error",
        "error": {"type": kind, "message": message, "code": code, "param": None},
    }


ERRORS = {
    "400": (400, "invalid_request_error", "unknown parameter", None),
    "401": (401, "authentication_error", "invalid key", "invalid_api_key"),
    "403": (403, "permission_error", "not allowed", None),
    "404": (404, "not_found_error", "no such model", "model_not_found"),
    "408": (408, "timeout", "too slow", None),
    "409": (409, "conflict", "try again", None),
    "422": (422, "invalid_request_error", "cannot be processed", None),
    "429": (429, "rate_limit_error", "rate limited", "rate_limit_exceeded"),
    "500": (500, "server_error", "stub fault", None),
    "502": (502, "server_error", "stub fault", None),
    "503": (503, "server_error", "stub fault", None),
    "504": (504, "server_error", "stub fault", None),
    "529": (529, "overloaded_error", "overloaded", None),
    "quota": (429, "insufficient_quota", "You exceeded your current quota", "insufficient_quota"),
    "credit": (400, "invalid_request_error", "Your credit balance is too low to go on", None),
    "payment": (402, "payment_required", "insufficient credits", None),
    "badkey400": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", None),
    "context": (
        400,
        "invalid_request_error",
        "This model's maximum context length is 8 tokens.",
        "context_length_exceeded",
    ),
    "toolong": (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", None),
    "filter400": (400, "invalid_request_error", "content management policy", "content_filter"),
    "error200": (200, "server_error", "stub fault", None),
}


def fault_for(plan: str, attempt: int) -> tuple[str, dict[str, str]]:
    """Return the fault of a prompt's n-th request (from 1), and the fault's arguments."""
    for part in plan.split(","):
        name, *arguments = part.split(";")
        name, _, times = name.partition("*")
        if not times or attempt <= int(times):
            return name, dict(argument.split("=", 1) for argument in arguments)
        attempt -= int(times)
    return "", {}


async def misbehave(request, fault: str, values: dict[str, str], reply) -> web.StreamResponse:
    """Show one fault of the matrix; ``reply(text, finish)`` makes a good body."""
    if fault in ERRORS:
        status, kind, message, code = ERRORS[fault]
        return web.json_response(error_body(kind, message, code), status=status, headers=values)
    if fault in {"301", "302", "303", "307", "308"}:
        return web.Response(status=int(fault), headers={"Location": values["to"]})
    if fault == "reset":
        request.transport.abort()
        return web.Response()
    if fault == "hang":
        await asyncio.sleep(3600)
    if fault in {"drip", "cut", "resetbody", "halves"}:
        return await in_pieces(request, fault, json.dumps(reply("A")).encode())
    if fault in {"gzip", "bomb"}:
        body = gzip.compress(json.dumps(reply("A")).encode()) if fault == "gzip" else bomb()
        packed = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        return web.Response(body=body, headers=packed)
    return web.Response(body=odd_body(fault, reply), content_type="application/json")


@cache
def bomb() -> bytes:
    """Return a small body that unpacks to a large one."""
    return gzip.compress(b"\0" * BIG * 4)


def odd_body(fault: str, reply) -> bytes:
    """Return a body with status 200 that no client should trust."""
    good = json.dumps(reply("A"))
    bodies = {
        "trunc": good[: len(good) // 2].encode,
        "html": lambda: b"<html><body>Sign in to the hotel network</body></html>",
        "utf8": lambda: good.replace('"A"', '"@"').encode().replace(b"@", b"\xff\xfe"),
        "empty": lambda: b"",
        "list": lambda: b"[]",
        "deep": lambda: b"[" * 200_000,
        "nochoices": lambda: json.dumps(
            reply("A") | {"choices": [], "content": [], "candidates": []}
        ).encode(),
        "n1": lambda: json.dumps(reply("A") | {"choices": reply("A")["choices"][:1]}).encode(),
        "nousage": lambda: json.dumps(
            {name: part for name, part in reply("A").items() if name != "usage"}
        ).encode(),
        "number": lambda: json.dumps(reply(7)).encode(),
        "null": lambda: json.dumps(reply(None)).encode(),
        "filter": lambda: json.dumps(reply(None, "content_filter")).encode(),
        "refusal": lambda: json.dumps(
            reply(None, "stop", refusal="I cannot help with that.")
        ).encode(),
        "length": lambda: json.dumps(reply("The answer to this", "length")).encode(),
        "nul": lambda: json.dumps(reply("A\0")).encode(),
        "surrogate": lambda: json.dumps(reply("A\ud800")).encode(),
        "bidi": lambda: json.dumps(reply("\u202eA\u202c")).encode(),
        "big": lambda: json.dumps(reply("A" * BIG)).encode(),
        "code200": lambda: json.dumps({"error": {"code": 429, "message": "slow down"}}).encode(),
    }
    return bodies[fault]()


async def in_pieces(request, fault: str, body: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = len(body)
    await response.prepare(request)
    if fault == "drip":
        for byte in body:
            await response.write(bytes([byte]))
            await asyncio.sleep(0.2)
    await response.write(body[: len(body) // 2])
    await asyncio.sleep(0.05)
    if fault == "halves":
        await response.write(body[len(body) // 2 :])
        return response
    request.transport.abort() if fault == "resetbody" else request.transport.close()
    return response


async def complete(request: web.Request) -> web.StreamResponse:
    raw = await request.read()
    COUNTS["requests"] += 1
    BY_PATH[request.path] += 1
    LAST_REQUESTS.append(
        {
            "path": request.raw_path,
            "headers": dict(request.headers),
            "body": raw.decode("utf-8", "replace"),
        }
    )
    if request.method == "GET" and request.path.endswith("/models"):
        return await models(request)
    make = next((make for end, make in STYLES.items() if request.path.endswith(end)), None)
    if make is None or request.method != "POST":
        return web.json_response(error_body("not_found_error", "no such path"), status=404)
    body = json.loads(raw)
    parts = request.raw_path.split("/")
    settings = {key: unquote(value) for key, value in pairwise(parts)}
    plan = (
        settings.get("fault")
        or TABLES.get(settings.get("table"), {}).get("fault")
        or str(body.get("model", "")).partition("+")[2]
    )
    prompt = (request.path, hashlib.sha256(raw).digest())
    ATTEMPTS[prompt] += 1
    fault, values = fault_for(plan, ATTEMPTS[prompt]) if plan else ("", {})
    if fault == "n400":  # a server that refuses to be asked for several samples
        fault = "400" if int(body.get("n") or 1) > 1 else ""
    if "bill" in settings:
        make = billed_style(make, request, body, settings, is_free=fault in UNBILLED)
    if COUNTS["requests"] > HELD["after"]:
        await HELD["released"].wait()
    slowed = TABLES.get(settings.get("table"), {}).get("ms", 0)
    await asyncio.sleep(float(settings.get("ms", slowed)) / 1000)
    if fault and fault != "limits":
        return await misbehave(
            request,
            fault,
            values,
            lambda text, finish="stop", **fields: make(body, text, finish, **fields),
        )
    return well_behaved(body, settings, make, values if fault else {})  # limits: what is left


def well_behaved(body: dict, settings: dict, make, headers: dict[str, str]) -> web.Response:
    """Answer a request, or refuse one of its parameters."""
    refusal = json.loads(settings.get("refuse", "{}"))
    if refusal and (not refusal["if"] or refusal["if"] in body):
        return web.json_response(refusal["body"], status=refusal["status"])
    if "input" in body:
        return web.json_response(make(body))
    if table := settings.get("table"):
        answer = answer_from(table, body)
        tokens = answer if isinstance(answer, dict) else {answer: 1.0}
        reply = with_logprobs(tokens, body, make(body, max(tokens, key=tokens.get)))
        return web.json_response(as_reported(table, reply))
    tokens = json.loads(settings.get("tokens", "{}"))
    unread = "" if is_reasked(body) else settings.get("unread")
    says = unread or settings.get("say") or obeyed(settings.get("obey", ""), body)
    answer = draw_token(tokens, body) if tokens else says or answer_to(body)
    reply = with_logprobs(tokens or {answer: 1.0}, body, make(body, answer))
    if "patch" in settings:
        reply = patched(reply, json.loads(settings["patch"]))
    return web.json_response(reply, headers=headers)


async def models(request: web.Request) -> web.StreamResponse:
    parts = request.raw_path.split("/")
    settings = {key: unquote(value) for key, value in pairwise(parts)}
    listed = {"object": "list", "data": [{"id": settings.get("say", "stub"), "object": "model"}]}
    fault, values = fault_for(settings["fault"], 1) if "fault" in settings else ("", {})
    if fault:
        return await misbehave(request, fault, values, lambda *_, **__: listed)
    return web.json_response(listed)


async def count_in_flight(request: web.Request) -> web.StreamResponse:
    COUNTS["in_flight"] += 1
    COUNTS["max_in_flight"] = max(COUNTS["max_in_flight"], COUNTS["in_flight"])
    try:
        return await complete(request)
    finally:
        COUNTS["in_flight"] -= 1


async def stats(_request: web.Request) -> web.Response:
    counts = {name: COUNTS[name] for name in ("requests", "in_flight", "max_in_flight")}
    counts["prompts"] = len(ATTEMPTS)
    return web.json_response(counts | {"by_path": dict(BY_PATH), "billed": BILLED})


async def last_requests(_request: web.Request) -> web.Response:
    return web.json_response(list(LAST_REQUESTS))


async def reset(request: web.Request) -> web.Response:
    for store in (LAST_REQUESTS, BY_PATH, ATTEMPTS, COUNTS, DRAWS, BILLED):
        store.clear()
    return await release(request)


async def clear(request: web.Request) -> web.Response:
    for store in (TABLES, TIMES_ASKED):
        store.clear()
    return await reset(request)


async def hold(request: web.Request) -> web.Response:
    HELD["after"] = COUNTS["requests"] + int(request.match_info["n"])
    HELD["released"].clear()
    return web.json_response({})


async def release(_request: web.Request) -> web.Response:
    HELD["after"] = math.inf
    HELD["released"].set()
    return web.json_response({})


async def set_table(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    TABLES[name] = await request.json()
    for key in [key for key in TIMES_ASKED if key[0] == name]:
        del TIMES_ASKED[key]
    return web.json_response({})


async def serve(port: int, max_seconds: float) -> None:
    app = web.Application(client_max_size=1 << 30)
    app.router.add_get("/stats", stats)
    app.router.add_get("/requests", last_requests)
    app.router.add_post("/reset", reset)
    app.router.add_post("/clear", clear)
    app.router.add_post("/hold/{n}", hold)
    app.router.add_post("/release", release)
    app.router.add_post("/tables/{name}", set_table)
    app.router.add_route("*", "/{tail:.*}", count_in_flight)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=4096, shutdown_timeout=0.1)
    await site.start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.sleep(max_seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--with-parent", action="store_true", help="end when stdin does")
    parser.add_argument(
        "--max-seconds", type=float, default=6 * 3600, help="ends by itself after this long"
    )
    arguments = parser.parse_args()
    if arguments.with_parent:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    asyncio.run(serve(arguments.port, arguments.max_seconds))
