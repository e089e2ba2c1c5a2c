"""Make the tables of claims anew: all that docs/ and benchmarks/ hold.

    python benchmarks/coverage.py [--list] [--only WORD]

Runs each script whose table a page of docs/ holds, or whose rows stand in a CSV file beside it,
with ``--write``, one after the other. That takes many hours, so ``--only`` names some, and
``--list`` shows what they write. Exits with 1 if a script fails, as most do
if a claim is beyond its bound.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from time import monotonic

FOLDER = Path(__file__).resolve().parent
DOCS = FOLDER.parent / "docs"
MARK = re.compile(r"<!-- benchmarks/(\w+)\.py writes what follows -->")


def tables() -> dict[str, list[str]]:
    """Return what each script writes: pages and files, by the name of the script."""
    written = defaultdict(list)
    for page in sorted(DOCS.rglob("*.md")):
        for name in MARK.findall(page.read_text(encoding="utf-8")):
            written[name].append(f"docs/{page.relative_to(DOCS).as_posix()}")
    for file in sorted(FOLDER.glob("*.csv")):
        written[file.stem].append(f"benchmarks/{file.name}")
    return dict(sorted(written.items()))


def main() -> int:
    """Run the scripts; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--list", action="store_true", help="only show what is written")
    parser.add_argument("--only", default="", help="scripts whose name contains this")
    options = parser.parse_args()
    failed = []
    for name, places in tables().items():
        if options.only not in name:
            continue
        if options.list:
            print(f"{name}.py  {', '.join(places)}")
            continue
        begun = monotonic()
        script = [sys.executable, str(FOLDER / f"{name}.py"), "--write"]
        code = subprocess.run(script, cwd=FOLDER.parent, check=False).returncode
        print(f"{name}.py  exit {code}  {monotonic() - begun:.0f} s", flush=True)
        failed += [name] if code else []
    for name in failed:
        print(f"{name}.py: a claim is beyond its bound, or the script failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
