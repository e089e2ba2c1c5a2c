"""Time and memory of a whole validation where a crowd rates: many items, many raters, few each.

    python benchmarks/crowd.py [--items 10000] [--raters 500] [--judges 10]

Every item has five ratings by five of the raters. The bound in seconds is on the processor's time,
which does not depend on what else the machine does; the time that passed stands beside it.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

import numpy as np
from yardstick import report

from harness.analysis import JudgeFacts, Source, validate
from harness.judging.parsing.verdict import Verdict
from harness.tasks import Item, Option, Rating, Task

OPTIONS = ("toxic", "rude", "fine")
RATINGS_PER_ITEM = 5
MAX_SECONDS, MAX_MIB = 20.0, 600.0


def main() -> None:
    """Validate once in this process and compare with the bounds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--raters", type=int, default=500)
    parser.add_argument("--judges", type=int, default=10)
    options = parser.parse_args()
    source = crowd_source(options.items, options.raters, options.judges)
    before = peak_mib()
    start, start_cpu = time.perf_counter(), time.process_time()
    validation = validate(source)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
    print(f"{len(validation.judges)} judges; {before:.0f} MiB before the validation")
    print(f"{seconds:.3f} seconds passed")
    holds = report("CPU seconds for a validation", cpu_seconds, MAX_SECONDS, at_least=False)
    holds &= report("MiB at its peak", peak_mib(), MAX_MIB, at_least=False)
    sys.exit(not holds)


def peak_mib() -> float:
    """Return the most memory that this process has held."""
    status = Path("/proc/self/status").read_text()  # not ru_maxrss, which a child inherits
    return int(re.search(r"VmHWM:\s*(\d+)", status)[1]) / 1024.0


def crowd_source(n_items: int, n_raters: int, n_judges: int) -> Source:
    """Simulate items with a most likely option that raters and judges choose more or less often."""
    rng = np.random.default_rng(0)
    likely = rng.integers(len(OPTIONS), size=n_items)
    items = tuple(Item(f"i{i}", {"text": f"text {i}"}) for i in range(n_items))
    raters = np.argsort(rng.random((n_items, n_raters)), axis=1)[:, :RATINGS_PER_ITEM]
    chosen = _choices(likely, 0.7, RATINGS_PER_ITEM, rng)
    ratings = tuple(
        Rating(items[i].id, f"r{raters[i, k]}", "forced_choice", OPTIONS[chosen[i, k]])
        for i in range(n_items)
        for k in range(RATINGS_PER_ITEM)
    )
    names = [f"judge{j}" for j in range(n_judges)]
    verdicts = {}
    for j, name in enumerate(names):
        answers = _choices(likely, 0.5 + 0.04 * j, 1, rng)[:, 0].tolist()
        verdicts[name] = [
            Verdict(
                item=item.id,
                judge=name,
                elicitation="forced_choice",
                outcome="answered",
                sample=0,
                value=OPTIONS[answer],
            )
            for item, answer in zip(items, answers, strict=True)
        ]
    task = Task(
        name="crowd",
        property="toxicity",
        scale="nominal",
        options=[Option(key=option) for option in OPTIONS],
        positive=OPTIONS[:1],
        items=items,
        ratings=ratings,
    )
    return Source(
        task=task,
        items=items,
        judges=tuple(JudgeFacts(name=name) for name in names),
        verdicts=verdicts,
        planned={name: {"forced_choice": n_items} for name in names},
    )


def _choices(
    likely: np.ndarray, accuracy: float, n_choices: int, rng: np.random.Generator
) -> np.ndarray:
    """Return (n, n_choices): the likely option with some probability, else any of them."""
    random = rng.integers(len(OPTIONS), size=(len(likely), n_choices))
    hit = rng.random((len(likely), n_choices)) < accuracy
    return np.where(hit, likely[:, None], random)


if __name__ == "__main__":
    main()
