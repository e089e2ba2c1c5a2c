"""What the benchmarks of asking share: the yardstick's stub and raw client, a task, a report.

The yardstick is a folder with ``stub_server.py`` (a judge on loopback) and ``client.py`` (raw
clients), named on the command line, by $HARNESS_BENCH, or beside the checkout in ../shared/bench.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import ProxyHandler, build_opener

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKOUT = Path(__file__).resolve().parents[1]
OPENER = build_opener(ProxyHandler({}))
TASK = """\
name: bench
property: which response is better
instructions: You are a strict judge. Reply with one letter, A, B or C.
scale: nominal
options: [{key: A, label: First}, {key: B, label: Second}, {key: C, label: Neither}]
items: items.jsonl
ratings: ratings.jsonl
prompts: {forced_choice: short.txt}
"""
TEMPLATE = """\
[system]
{{instructions}}

[user]
{{fence}}
{{text}}
{{fence}}
"""
FILLER = (
    "The answer discusses the trade-offs, cites one source and ends with a recommendation. " * 4
)
JUDGES = """\
judges:
  local: {{kind: {kind}, model: {model}, base_url: "{url}", key_env: STUB_KEY, \
samples: {samples}, concurrency: {concurrency}, params: {{max_tokens: 8, temperature: 0}}}}
"""


def find_yardstick(named: str | None) -> Path:
    """Find the yardstick's folder, or leave."""
    folder = Path(named or os.environ.get("HARNESS_BENCH") or CHECKOUT.parent / "shared" / "bench")
    if not (folder / "stub_server.py").is_file():
        sys.exit(f"{folder}: no stub_server.py; name the yardstick's folder, or set HARNESS_BENCH")
    return folder


@contextmanager
def stub_running(yardstick: Path, python: str = sys.executable) -> Iterator[int]:
    """Run the stub in a process of its own; give its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python, str(yardstick / "stub_server.py"), "--port", str(port)]
    with subprocess.Popen(command) as process:
        try:
            while True:
                try:
                    n_requests(port)
                    break
                except OSError:
                    time.sleep(0.05)
            yield port
        finally:
            process.terminate()


def n_requests(port: int) -> int:
    """How many requests have reached the stub."""
    with OPENER.open(f"http://127.0.0.1:{port}/stats", timeout=5) as answer:
        return json.load(answer)["requests"]


def write_task(folder: Path, n_items: int) -> Path:
    """Write a task whose prompts are as long as the yardstick's."""
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text(TASK, encoding="utf-8")
    (folder / "short.txt").write_text(TEMPLATE, encoding="utf-8")
    with (folder / "items.jsonl").open("w") as items, (folder / "ratings.jsonl").open("w") as rated:
        for i in range(n_items):
            text = f"Item {i}: which response is better?\n[A] {FILLER}\n[B] {FILLER}\nVerdict:"
            items.write(json.dumps({"id": f"i{i}", "text": text}) + "\n")
            for j in range(3):
                row = {"item": f"i{i}", "rater": f"r{j}", "value": "ABC"[(i + j) % 3]}
                rated.write(json.dumps(row) + "\n")
    return folder


def write_judges(path: Path, port: int, *, ms: float = 0, **fields: object) -> Path:
    """Write a judges file whose judge ``local`` is the stub."""
    facts = {"kind": "endpoint", "model": "stub", "samples": 1, "concurrency": 64} | fields
    url = f"http://127.0.0.1:{port}/ms/{ms:g}/v1"
    path.write_text(JUDGES.format(url=url, **facts), encoding="utf-8")
    return path


def expected_answer(last_message: str) -> str:
    """What the stub says to a prompt."""
    return "ABC"[sha256(last_message.encode()).digest()[0] % 3]


def report(what: str, actual: float, bound: float, *, at_least: bool) -> bool:
    """Print a figure, its bound and whether it holds."""
    holds = actual >= bound if at_least else actual <= bound
    sign = ">=" if at_least else "<="
    print(f"{'holds ' if holds else 'FAILS '} {what}: {actual:.3f} (wanted {sign} {bound:g})")
    return holds
