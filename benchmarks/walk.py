"""Files that one ordinary forced choice enters, from its item to its line in verdicts.jsonl.

    python benchmarks/walk.py

It also counts the files that rows in memory enter on their way to a task: with a mapping that says
all, and with one that leaves options to be read from the labels.

A judge at a stub server answers about more items than are claimed at once, one at a time. The last
but one is followed. By then its judge has shown that it can be read, so what's done once for a run
or a judge doesn't count. The walk begins where its request is made and ends when its verdict is
written.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import harness
from harness.app.plan import plan_run
from harness.app.run import ask_open_units, start
from harness.judging.running.asker import LOOKUP_BATCH
from harness.judging.running.recorder import NoObserver
from harness.judging.storage.response_cache import ResponseCache
from harness.options.concerns import RunOptions, Server

if TYPE_CHECKING:
    from types import FrameType

    from harness.api.table_tasks import TableMapping

N_ITEMS = LOOKUP_BATCH + 5
PACKAGE = Path(harness.__file__).parent
JUDGES = """\
judges:
  local: {{kind: endpoint, model: stub, base_url: "{url}", samples: 1, concurrency: 1}}
"""


@dataclass
class Walk:
    """Functions of the package that are called while one unit is under way, by file.

    Attributes
    ----------
    n_before : int
        Items whose requests are made before that of the unit.
    functions : dict of str to set of str
        By path of the file in the package.
    """

    n_before: int
    functions: dict[str, set[str]] = field(default_factory=dict)
    _requested: list[str] = field(default_factory=list)
    _is_under_way: bool = False

    def follow(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call, as `sys.setprofile` wants it."""
        if event not in {"call", "return"}:
            return
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(PACKAGE):
            return
        name = frame.f_code.co_name
        if event == "call" and name == "request":
            item = getattr(frame.f_locals.get("unit"), "item", "")
            if item not in self._requested:
                self._requested.append(item)
            self._is_under_way |= item == self._item
        if event == "call" and self._is_under_way:
            self.functions.setdefault(str(path.relative_to(PACKAGE)), set()).add(name)
        if event == "return" and name == "append":
            written = frame.f_locals.get("records") or ()
            if any(getattr(verdict, "item", None) == self._item for verdict in written):
                self._is_under_way = False

    @property
    def _item(self) -> str | None:
        """The item of the unit, once its request is made."""
        return self._requested[self.n_before] if len(self._requested) > self.n_before else None


def walk_of(task: Path, url: str, folder: Path) -> Walk:
    """Run a judge at a server on `N_ITEMS` items of a task, and follow the last but one.

    Parameters
    ----------
    task : Path
        A task folder.
    url : str
        Base URL of the server.
    folder : Path
        For the run and its cache.
    """
    judges = folder / "judges.yaml"
    judges.write_text(JUDGES.format(url=url), encoding="utf-8")
    options = RunOptions(elicitations=("forced_choice",), limit=N_ITEMS)
    plan = plan_run(str(task), ["local"], options, server=Server(judges_file=judges))
    run = start(plan, folder / "runs")
    walk = Walk(N_ITEMS - 2)
    threading.setprofile(walk.follow)
    sys.setprofile(walk.follow)
    try:
        ask_open_units(plan, run, ResponseCache(folder / "cache"), observer=NoObserver())
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return walk


ROLES = {"id": "id", "text": "text", "rater": "rater", "label": "label", "scale": "binary"}
WHOLE = {"judges": "none", "options": ["y", "n"], "positive": ["y"], "kind": "crowd"}


def files_of_rows(mapping: TableMapping) -> set[str]:
    """Return the files of the package that a long table in memory enters until it is a task."""
    rows = [
        {"id": f"i{i}", "text": f"text {i}", "rater": rater, "label": "yn"[i % 2]}
        for i in range(6)
        for rater in ("ann", "bob")
    ]
    harness.load_task(rows, mapping=mapping)  # imports are not counted
    files: set[str] = set()

    def follow(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            files.add(str(path.relative_to(PACKAGE)))

    sys.setprofile(follow)
    try:
        harness.load_task(rows, mapping=mapping)
    finally:
        sys.setprofile(None)
    return files


def main() -> None:
    """Print the files of the walk, and how many functions of each were called."""
    from yardstick import find_yardstick, stub_running, write_task

    with stub_running(find_yardstick(None)) as port, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"http://127.0.0.1:{port}/v1"
        walk = walk_of(write_task(folder / "task", N_ITEMS), url, folder)
    for file, names in sorted(walk.functions.items()):
        print(f"{file}: {', '.join(sorted(names))}")
    n_functions = sum(map(len, walk.functions.values()))
    print(f"{len(walk.functions)} files, {n_functions} functions")
    n_whole, n_guessed = (len(files_of_rows(more)) for more in (ROLES | WHOLE, ROLES))
    print(f"rows to a task: {n_whole} files, {n_guessed} where options are read from the labels")


if __name__ == "__main__":
    main()
