"""Time and peak memory of `harness validate RUN` as a process, over many items.

    python benchmarks/validation.py [--n 100000 1000000]

Each run folder has three judges that were asked once about each item, each rated by three raters.
Prints CPU seconds, as a multiple of those that parsing its files as JSON takes, too, and the peak
memory, less that of program files, of which the system maps more or less. Exits with 1 if 100,000
items or more take more than `MOST_TIMES`, or more memory than `BASE_MB` and `MB_OF_ITEM` of each.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.judging.judges.config import new_judge
from harness.judging.parsing.verdict import Reply, Verdict
from harness.judging.prompts.requests import Prompts
from harness.runs.run_folder import NewJudges, RunConfig, RunFolder
from harness.tasks import load_task

if TYPE_CHECKING:
    from collections.abc import Iterator

N_RATERS = 3
MOST_TIMES = 5.5  # the time that parsing takes; objects for each verdict took 14
BASE_MB, MB_OF_ITEM = 180.0, 0.0012  # objects for each verdict took 1,059 MB at 100,000 items
UNIT = 100_000  # items; fewer aren't compared
ACCURACY = {"careful": 0.9, "quick": 0.8, "careless": 0.65}  # of each judge
OPTIONS = ("fine", "toxic")
TASK = """\
name: many
property: toxicity
scale: binary
options: [{key: fine, label: Not toxic}, {key: toxic, label: Toxic}]
positive: [toxic]
"""
CODE = """
import re, resource, sys
from pathlib import Path

from harness.cli import main

sys.argv = ["harness", *sys.argv[1:]]
try:
    main()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    status = Path("/proc/self/status").read_text()  # not ru_maxrss, which a child inherits
    kib = {name: int(n) for name, n in re.findall("(VmHWM|RssFile):[^0-9]*([0-9]+)", status)}
    peak_kib = kib["VmHWM"] - kib["RssFile"]
    print(f"used {used.ru_utime + used.ru_stime} s, {peak_kib} KiB", file=sys.stderr)
"""


class Used(NamedTuple):
    """What a process used."""

    cpu_s: float
    peak_mb: float


def write_run(folder: Path, n: int) -> Path:
    """Write a task of n items, and a run of three judges on it; return the run's folder."""
    rng = np.random.default_rng(0)
    toxic = rng.random(n) < rng.beta(0.5, 1.0, n)
    _write_task(folder / "task", toxic, rng)
    task = load_task(folder / "task")
    specs = tuple(
        new_judge(name=name, kind="openai", model=f"{name}-1", base_url="http://127.0.0.1:9/v1")
        for name in ACCURACY
    )
    run = RunFolder.create(
        folder / "runs",
        task,
        RunConfig(task=str(folder / "task"), elicitations=("forced_choice",)),
        NewJudges(specs=specs),
        prompts=Prompts.load(task),
        name="many",
    )
    with run.open_log() as log:
        verdicts = _verdicts(toxic, rng)
        while some := list(islice(verdicts, 10_000)):
            log.append(some)
    run.update(state="asked")
    return run.path


def _write_task(folder: Path, toxic: np.ndarray, rng: np.random.Generator) -> None:
    folder.mkdir()
    (folder / "task.yaml").write_text(TASK, encoding="utf-8")
    with (folder / "items.jsonl").open("w", encoding="utf-8") as file:
        for i in range(len(toxic)):
            text = f"Comment {i} on the article: I read it twice and still cannot follow you."
            file.write(json.dumps({"id": f"comment-{i}", "text": text}) + "\n")
    said = toxic[:, None] ^ (rng.random((len(toxic), N_RATERS)) < 0.15)
    with (folder / "ratings.csv").open("w", encoding="utf-8") as file:
        file.write("item,rater,value\n")
        for i, row in enumerate(said.tolist()):
            for rater, value in enumerate(row):
                file.write(f"comment-{i},rater-{rater},{OPTIONS[value]}\n")


def _verdicts(toxic: np.ndarray, rng: np.random.Generator) -> Iterator[Verdict]:
    wrong = [rng.random(len(toxic)) > share for share in ACCURACY.values()]
    for i, is_toxic in enumerate(toxic.tolist()):
        for judge, errs in zip(ACCURACY, wrong, strict=True):
            value = OPTIONS[is_toxic ^ bool(errs[i])]
            item = f"comment-{i}"
            reply = Reply(
                request=hashlib.sha256(f"{judge} {item}".encode()).hexdigest(),
                text=value,
                model=f"{judge}-1-2026-01-01",
                finish_reason="stop",
                prompt_tokens=180 + i % 40,
                completion_tokens=1,
                cost_usd=0.0001,
                latency_s=0.2 + i % 7 / 100,
            )
            yield Verdict(
                item=item,
                judge=judge,
                elicitation="forced_choice",
                outcome="answered",
                value=value,
                reply=reply,
            )


def validate(run: Path) -> Used:
    """Validate a run in a process of its own, as the command does."""
    done, used = measured_command("validate", str(run), folder=run.parent.parent)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return used


def measured_command(
    *arguments: str, folder: Path
) -> tuple[subprocess.CompletedProcess[str], Used]:
    """Run a command in a folder, in a process of its own with one thread, and measure it."""
    of_own = {"XDG_DATA_HOME": str(folder / "data"), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        cwd=folder,
        env=os.environ | of_own,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"used ([\d.]+) s, (\d+) KiB", done.stderr)
    if found is None:
        raise RuntimeError(done.stdout + done.stderr)
    return done, Used(float(found[1]), int(found[2]) * 1024 / 1e6)


def parsing_s(run: Path) -> float:
    """Return the CPU seconds that parsing the files of a run as JSON takes, line by line."""
    start = time.process_time()
    for name in ("verdicts.jsonl", "task/items.jsonl", "task/ratings.jsonl"):
        with (run / name).open(encoding="utf-8") as file:
            for line in file:
                json.loads(line)
    return time.process_time() - start


def measured(folder: Path, n: int) -> tuple[Used, float]:
    """Validate a run over n items in a new folder; return what that took, and what parsing does.

    Parsing is timed before and after, and the mean counts: on a busy machine both take longer.
    """
    run = write_run(folder, n)
    before = parsing_s(run)
    used = validate(run)
    return used, (before + parsing_s(run)) / 2.0


def main() -> int:
    """Print what each size takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[100_000, 1_000_000])
    holds = True
    for n in parser.parse_args().n:
        with tempfile.TemporaryDirectory() as name:
            (cpu_s, peak_mb), parsed_s = measured(Path(name), n)
        times = cpu_s / parsed_s
        holds &= n < UNIT or (times <= MOST_TIMES and peak_mb <= BASE_MB + MB_OF_ITEM * n)
        print(
            f"{n:,} items: {cpu_s:.1f} s of CPU ({times:.1f} times parsing), "
            f"{peak_mb:.0f} MB at the peak",
            flush=True,
        )
    return 0 if holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
