"""The shape of the package: folders, what imports what, and the files that a command enters.

    python benchmarks/house.py

Imports within functions and those for type hints count. A file is entered if one of its functions
is called, other than while a file is imported. `harness run` asks a stub server about the items of
a small task, and `harness validate` reads the run.
"""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import harness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import FrameType

PACKAGE = Path(harness.__file__).parent
N_ITEMS = 12
JUDGES = """\
judges:
  one: {{kind: endpoint, model: stub, base_url: "{url}", samples: 2}}
  two: {{kind: endpoint, model: stub, base_url: "{url}", samples: 2}}
"""
Graph: TypeAlias = "Mapping[str, frozenset[str]]"


@cache
def nodes_of(path: Path) -> Iterable[ast.AST]:
    """Return all syntax nodes of a file."""
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def import_graph(nodes_of: Callable[[Path], Iterable[ast.AST]] = nodes_of) -> Graph:
    """Return which files of the package each file imports, by the names of modules."""
    files = {
        ".".join(part for part in path.relative_to(PACKAGE.parent).with_suffix("").parts): path
        for path in PACKAGE.rglob("*.py")
        if "_bundled" not in path.parts
    }
    named = {name.removesuffix(".__init__"): path for name, path in files.items()}
    return {
        name: frozenset(_imports(nodes_of(path), named.keys())) - {name, "harness"}
        for name, path in named.items()
    }


def _imports(nodes: Iterable[ast.AST], names: object) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            wholes = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [whole if whole in names else node.module for whole in wholes]
        else:
            continue
        yield from (name for name in found if name in names)


def circles(graph: Graph) -> list[list[str]]:
    """Return the files that import one another, a list for each circle; see Tarjan (1972)."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = lowest[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
            if other in stack:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == index[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return [circle for circle in found if len(circle) > 1]


def top_of(module: str) -> str:
    """Return the folder or loose module at the top of the package that a module belongs to."""
    return module.split(".")[1] if "." in module else "__init__"


def arrows(graph: Graph) -> dict[str, set[str]]:
    """Return which folders each folder at the top of the package imports."""
    between: dict[str, set[str]] = {top_of(module): set() for module in graph}
    for module, imported in graph.items():
        between[top_of(module)] |= {top_of(other) for other in imported} - {top_of(module)}
    return between


def longest_chain(between: Mapping[str, set[str]]) -> int:
    """Return the number of folders in the longest chain in which each imports the next."""
    lengths: dict[str, int] = {}
    for folder in TopologicalSorter(between).static_order():
        lengths[folder] = 1 + max((lengths[other] for other in between[folder]), default=0)
    return max(lengths.values())


def files_entered(arguments: list[str], folder: Path) -> set[str]:
    """Return the files of the package that a command enters, in a process of its own."""
    command = [sys.executable, __file__, "--follow", *arguments]
    quiet = {"HF_HUB_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    names = folder / "entered.txt"
    subprocess.run(
        command,
        cwd=folder,
        env=os.environ | quiet | {"HARNESS_ENTERED": str(names)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return set(names.read_text(encoding="utf-8").split())


def follow_command(arguments: list[str]) -> None:
    """Run a command and write the files it entered to the file that ``HARNESS_ENTERED`` names."""
    entered: set[str] = set()
    importing = threading.local()

    def follow(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if code.co_name == "<module>" and event in {"call", "return"}:
            importing.depth = getattr(importing, "depth", 0) + (1 if event == "call" else -1)
        is_function = code.co_flags & inspect.CO_OPTIMIZED  # no module or class body
        if event == "call" and is_function and not getattr(importing, "depth", 0):
            entered.add(code.co_filename)

    from harness.cli import main

    sys.argv = ["harness", *arguments]
    threading.setprofile(follow)
    sys.setprofile(follow)
    try:
        main()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        inside = [
            Path(name)
            for name in entered
            if Path(name).is_relative_to(PACKAGE) and name.endswith(".py")
        ]
        text = "\n".join(sorted(str(path.relative_to(PACKAGE)) for path in inside))
        Path(os.environ["HARNESS_ENTERED"]).write_text(text, encoding="utf-8")


def files_of_commands(task: Path, url: str, folder: Path) -> dict[str, set[str]]:
    """Return the files that `harness run` and `harness validate` enter."""
    (folder / "judges.yaml").write_text(JUDGES.format(url=url), encoding="utf-8")
    run = [
        "run",
        "--judges",
        "one,two",
        "--judges-file",
        "judges.yaml",
        "--task",
        str(task),
        "--out",
        "runs",
        "--quiet",
    ]
    entered = {"run": files_entered(run, folder)}
    (made,) = (folder / "runs").iterdir()
    return entered | {"validate": files_entered(["validate", str(made)], folder)}


def main() -> None:
    """Print the table."""
    from yardstick import find_yardstick, stub_running, write_task

    graph = import_graph()
    between = arrows(graph)
    folders = [name for name in between if (PACKAGE / name).is_dir()]
    print(f"folders and loose modules: {len(folders)} + {len(between) - len(folders)}")
    print(f"longest chain of folders: {longest_chain(between)}")
    print(f"arrows between them: {sum(map(len, between.values()))}")
    print(f"circles of files: {len(circles(graph))}")
    with stub_running(find_yardstick(None)) as port, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = write_task(folder / "task", N_ITEMS)
        entered = files_of_commands(task, f"http://127.0.0.1:{port}/v1", folder)
    for command, files in entered.items():
        of_folder = Counter(file.partition("/")[0] for file in sorted(files))
        listed = ", ".join(f"{name} {n}" for name, n in of_folder.items())
        print(f"files that {command} enters: {len(files)} ({listed})")
    lines = {name: _lines_of(name) for name in sorted(folders)}
    print("lines: " + ", ".join(f"{name} {n:,}" for name, n in lines.items()))


def _lines_of(folder: str) -> int:
    files = (PACKAGE / folder).rglob("*.py")
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--follow"]:
        follow_command(sys.argv[2:])
    else:
        main()
