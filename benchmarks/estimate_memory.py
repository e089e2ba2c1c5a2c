"""Peak memory of `harness estimate` over many unlabelled items, as a process.

    python benchmarks/estimate_memory.py [--n 1000000]

A run of the word list on the bundled toxicity task, then its estimate over ``--n`` items of a jsonl
file. Exits with 1 if the peak resident memory exceeds 500 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LARGEST_MB = 500.0
TEXTS = ("You are an idiot and a coward, number {}.", "Thank you, that helped, number {}.")
CODE = """
import re, sys
from pathlib import Path

from harness.cli import main

sys.argv = ["harness", *sys.argv[1:]]
try:
    main()
finally:
    status = Path("/proc/self/status").read_text()  # not ru_maxrss, which a child inherits
    print(int(re.search("VmHWM:[^0-9]*([0-9]+)", status)[1]) * 1024, file=sys.stderr)
"""


def peak_mb(folder: Path, n: int) -> float:
    """Estimate over n items in a new folder; return the peak resident memory in MB."""
    items = folder / "items.jsonl"
    with items.open("w", encoding="utf-8") as file:
        for i in range(n):
            text = TEXTS[i % 3 > 0].format(i)
            file.write(json.dumps({"id": f"n{i}", "text": text}) + "\n")
    place = ["--out", "runs", "--quiet"]
    _call(folder, "run", "--task", "toxicity", "--judges", "lexicon", *place)
    done = _call(folder, "estimate", "--judge", "lexicon", "--items", "items.jsonl", *place)
    if f"for {n:,} unlabelled ones" not in done.stdout:
        raise RuntimeError(f"not all items were asked about: {done.stdout}")
    return int(done.stderr.split()[-1]) / 1e6


def _call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        cwd=folder,
        env=os.environ | {"HARNESS_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1_000_000)
    n = parser.parse_args().n
    with tempfile.TemporaryDirectory() as name:
        peak = peak_mb(Path(name), n)
    print(f"{n:,} items: {peak:.0f} MB at the peak (at most {LARGEST_MB:.0f})")
    return 0 if peak <= LARGEST_MB else 1


if __name__ == "__main__":
    raise SystemExit(main())
