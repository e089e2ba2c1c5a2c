"""Peak memory from the start of `harness run` to the last reply, and its growth per request.

    python benchmarks/memory.py [YARDSTICK] [--n 1000000]

Two whole runs of the command over the same 1,000 items: 10,000 requests, then ``--n``. Each ends
as the last reply is in; by then neither litellm nor scipy may have been imported.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from yardstick import find_yardstick, report, stub_running, write_judges, write_task

FEW, N_ITEMS = 10_000, 1_000
CODE = """
import json, re, sys
from pathlib import Path
from harness import app
from harness.cli import main

def at_the_last_reply(*_, **__):
    status = Path("/proc/self/status").read_text()  # not ru_maxrss, which a child inherits
    peak = int(re.search("VmHWM:[^0-9]*([0-9]+)", status)[1]) * 1024
    heavy = [name for name in ("litellm", "scipy") if name in sys.modules]
    print(json.dumps({"peak_bytes": peak, "heavy": heavy}))
    raise SystemExit(0)

app.finish = at_the_last_reply
sys.argv = ["harness", *sys.argv[1:]]
main()
"""


def main() -> None:
    """Metric both runs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("yardstick", nargs="?")
    parser.add_argument("--n", type=int, default=1_000_000)
    options = parser.parse_args()
    with stub_running(find_yardstick(options.yardstick)) as port:
        few, many = measured(port, FEW), measured(port, options.n)
    growth = (many["peak_bytes"] - few["peak_bytes"]) / (options.n - FEW)
    print(f"imported by the last reply: {many['heavy'] or 'neither litellm nor scipy'}")
    holds = report(f"MiB at {FEW}", few["peak_bytes"] / 2**20, 100, at_least=False)
    holds &= report(f"MiB at {options.n}", many["peak_bytes"] / 2**20, 100, at_least=False)
    holds &= report("bytes per further request", growth, 200, at_least=False)
    sys.exit(not holds or bool(many["heavy"]))


def measured(port: int, n: int) -> dict[str, object]:
    """Run the command as a process; read what it printed as the last reply came in."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_task(folder / "task", N_ITEMS)
        write_judges(folder / "judges.yaml", port, samples=n // N_ITEMS)
        command = ["run", "--task", "task", "--judges", "local", "--judges-file", "judges.yaml"]
        more = ["--elicitation", "forced_choice", "--cache", "cache"]
        done = subprocess.run(
            [sys.executable, "-c", CODE, *command, *more],
            cwd=folder,
            env={"PATH": "", "HOME": name, "STUB_KEY": "sk-stub"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
