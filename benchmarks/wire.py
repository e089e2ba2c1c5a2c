"""How close asking comes to a bare client, in one run: requests/s, CPU per request, latency.

    python benchmarks/wire.py [YARDSTICK] [--rounds 5] [--samples 1] [--litellm]

Every round runs the yardstick's raw client and ours against one stub, in turn; ratios are medians
over the rounds. Ours is a whole run: cache, locks, log, parser and retry layer on.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from yardstick import (
    expected_answer,
    find_yardstick,
    report,
    stub_running,
    write_judges,
    write_task,
)

SETTINGS = {"64": (64, 0, 20_000), "256": (256, 0, 20_000), "200ms": (100, 200, 5_000)}
WARM_UP = 500


def main() -> None:
    """Compare ours with the raw client in every setting."""
    parser = argparse.ArgumentParser()
    parser.add_argument("yardstick", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--only", default=",".join(SETTINGS))
    parser.add_argument("--litellm", action="store_true", help="the litellm judge and acompletion")
    options = parser.parse_args()
    yardstick = find_yardstick(options.yardstick)
    holds = True
    for name in options.only.split(","):
        concurrency, ms, n = SETTINGS[name]
        n = int(n * options.scale / (10 if options.litellm and not ms else 1))
        rounds = []
        for _ in range(options.rounds):
            with stub_running(yardstick) as port:
                rounds.append(one_round(yardstick, port, options, (concurrency, ms, n)))
        holds &= judge(name, ms, rounds, litellm=options.litellm)
    sys.exit(not holds)


def one_round(yardstick, port, options, setting):
    """Raw, then ours, against the same stub."""
    concurrency, ms, n = setting
    shape = ["--n", n, "--concurrency", concurrency, "--latency-ms", ms, "--port", port]
    peer = "litellm" if options.litellm else "raw_aiohttp"
    raw = run([yardstick / "client.py", peer, *shape])
    kind = ["--kind", "litellm"] if options.litellm else []
    ours = run([__file__, "--ours", *shape, "--samples", options.samples, *kind])
    return raw, ours


def run(arguments, python=sys.executable):
    """Run one client as a process; read the line that it prints."""
    command = [str(python), "-W", "ignore", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def judge(name, ms, rounds, *, litellm):
    """Print the medians of a setting and whether its bounds hold."""
    raws, ours = zip(*rounds, strict=True)
    load = os.getloadavg()[0]
    print(f"\n{name}: medians of {len(rounds)} rounds, load {load:.1f}")
    for who, rows in (("raw ", raws), ("ours", ours)):
        shown = {k: statistics.median(r[k] for r in rows) for k in ("rps", "cpu_ms_per_req")}
        print(f"  {who} {shown['rps']:8.0f} requests/s  {shown['cpu_ms_per_req']:.3f} ms CPU each")

    def ratio(key):
        return statistics.median(o[key] / r[key] for r, o in rounds)

    wrong = sum(row["wrong"] for row in ours)
    holds = report(f"{name} wrong answers", wrong, 0, at_least=False)
    if litellm:
        more = statistics.median(o["cpu_ms_per_req"] - r["cpu_ms_per_req"] for r, o in rounds)
        holds &= report(f"{name} requests/s of acompletion's", ratio("rps"), 0.9, at_least=True)
        holds &= report(f"{name} CPU ms added", more, 0.25, at_least=False)
    elif ms:
        holds &= report(f"{name} efficiency of raw's", ratio("efficiency"), 0.97, at_least=True)
        holds &= report(f"{name} p99 added of raw's", ratio("p99_added_ms"), 2, at_least=False)
    else:
        holds &= report(f"{name} requests/s of raw's", ratio("rps"), 0.8, at_least=True)
        holds &= report(f"{name} CPU of raw's", ratio("cpu_ms_per_req"), 1.5, at_least=False)
    return holds


def ours() -> None:
    """Be the measured process: one run over ``n`` units, after a warm-up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--kind", default="endpoint")
    for name in ("n", "concurrency", "port", "samples"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--latency-ms", type=float)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder), options)))


def measure(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Ask everything and say what it took."""
    from harness.cli import GC_THRESHOLD
    from harness.judging.judges.config import load_judges
    from harness.judging.prompts.requests import Prompts
    from harness.tasks import load_task

    os.environ["STUB_KEY"] = "sk-stub"
    gc.set_threshold(GC_THRESHOLD)
    task = load_task(str(write_task(folder / "task", options.n // options.samples)))
    file = write_judges(
        folder / "judges.yaml",
        options.port,
        ms=options.latency_ms,
        kind=options.kind,
        model="openai/stub" if options.kind == "litellm" else "stub",
        concurrency=options.concurrency,
    )
    spec = load_judges(file)["local"]
    prompts = Prompts.load(task)
    some = task.items[: WARM_UP // options.samples]
    store = getattr(options, "store", None)
    asked(folder / "warm", task, prompts, spec, items=some, samples=1)
    cpu, start = time.process_time(), time.perf_counter()
    took = asked(
        folder / "run", task, prompts, spec, items=task.items, samples=options.samples, store=store
    )
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    took.sort()
    ideal = options.n * options.latency_ms / 1e3 / options.concurrency
    return {
        "rps": options.n / wall,
        "cpu_ms_per_req": cpu / options.n * 1e3,
        "efficiency": ideal / wall,
        "p99_added_ms": took[int(len(took) * 0.99)] * 1e3 - options.latency_ms,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "wrong": n_wrong(folder / "run", task, prompts, options.n),
    }


def asked(folder, task, prompts, spec, *, items, samples, store=None):
    """Run one judge over items as `harness run` does; give the seconds each unit took."""
    import uvloop

    from harness.cli.progress import watch
    from harness.judging.judges.judge_registry import build
    from harness.judging.running import asker
    from harness.judging.running.budget import CostBudget
    from harness.judging.running.session import Session
    from harness.judging.running.session_state import SessionLimits, SessionState
    from harness.judging.running.units import Job
    from harness.judging.storage.response_cache import ResponseCache
    from harness.judging.storage.verdict_log import VerdictLog

    folder.mkdir()
    took = []

    pool = asker.WorkerPool

    class TimedPool(pool):
        async def answer(self, unit):
            start = time.perf_counter()
            await super().answer(unit)
            took.append(time.perf_counter() - start)

    asker.WorkerPool = TimedPool
    job = Job(build(spec, task, prompts), items, ("forced_choice",), samples)
    with (
        VerdictLog.open(folder / "verdicts.jsonl") as log,
        watch({spec.name: len(items) * samples}, quiet=False) as observer,
    ):
        limits = SessionLimits(CostBudget(None))
        if store is None:
            cache = ResponseCache(folder / "cache", observer.say)
        else:
            from harness.extras.cluster import open_store, session_limits

            cache = open_store(store, folder.name, spec.deadline_s, observer.say)
            limits = session_limits(cache, None, 0.0)
        state = SessionState(task, log=log, store=cache, done={}, observer=observer, limits=limits)
        session = Session([job], state)
        uvloop.run(session.run())
        cache.close()
    asker.WorkerPool = pool
    return took


def n_wrong(folder, task, prompts, n):
    """Verdicts that are missing or are not what the stub said."""
    from harness.judging.storage.verdict_log import read_log

    final = read_log(folder / "verdicts.jsonl").final
    right = 0
    for verdict in final.values():
        said = prompts.messages(task.by_id[verdict.item], "forced_choice")[-1].content
        right += verdict.value == expected_answer(said)
    return n - right


if __name__ == "__main__":
    ours() if "--ours" in sys.argv else main()
