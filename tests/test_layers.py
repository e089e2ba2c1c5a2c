"""Which part may import which: read from the source, so that lazy imports count too."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from support.source_trees import nodes_of, tree_of

from benchmarks.house import arrows, circles, import_graph, longest_chain
from harness.loading import EDGES

if TYPE_CHECKING:
    from collections.abc import Sequence

HARNESS = Path(__file__).resolve().parent.parent / "harness"

# Each folder may import only from those in earlier rows (errors may be imported by all but stats).
LAYERS = (
    ("stats",),
    ("loading", "files"),
    ("options",),
    ("tasks",),
    ("judging.prompts", "judging.parsing", "judging.strategies"),
    ("judging.model_names",),
    ("judging.judge_spec",),
    ("judging.judges",),
    ("judging.storage", "judging.fingerprints"),
    ("judging.computed_verdicts",),
    ("judging.running",),
    ("analysis",),
    ("runs",),
    ("report",),
    ("app",),
    ("curation",),
    ("extras",),
    ("estimation",),
    ("revalidation",),
    ("annotation",),
    ("api",),
    ("testing",),
    ("cli",),
)
PACKAGES = {  # of edges
    name: place.removeprefix("harness.").removesuffix(".importing") for name, place in EDGES.items()
}
CLIENTS_OF_EDGES = {
    "api.unrated_estimates",
    "api.revalidations",
}  # modules of the API that an edge needs
HEAVY = {
    "litellm",
    "datasets",
    "pyarrow",
    "pandas",
    "aiohttp",
    "xllamacpp",
    "vaderSentiment",
    "uvloop",
}


def module_name(path: Path) -> str:
    parts = path.relative_to(HARNESS).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def edge_of(module: str) -> str | None:
    """Return the edge that a module belongs to; its name is without the package's."""
    return next(
        (name for name, place in PACKAGES.items() if f"{module}.".startswith(f"{place}.")), None
    )


def rank(module: str) -> int | None:
    for level, row in enumerate(LAYERS):
        if any(module == name or module.startswith(f"{name}.") for name in row):
            return level
    return None


MAX_FOLDERS, MAX_CHAIN, MAX_ARROWS = 17, 11, 134
MOST_PARAMETERS = 8
STATISTICS = {  # public functions of one formula each, whose parameters are its arguments
    "stats.selection.footing:common_footing",
    *("stats.selection.evaluate:evaluate", "stats.indeterminacy.sensitivity:beta_sweep"),
    "stats.selection.rank_sets:winner_interval",
}


@dataclass(frozen=True)
class Module:
    """What a file of the package imports, and how long it and its functions are, in lines."""

    name: str
    in_stats: bool
    imports: set[str]
    imports_at_once: set[str]  # when it is imported itself
    n_lines: int
    functions: dict[str, int]  # without their docstrings
    parameters: dict[str, int]  # of each function, ``self`` aside
    names_of_modules: set[str]  # texts that begin like one


@cache
def modules() -> tuple[Module, ...]:
    return tuple(
        read(path) for path in sorted(HARNESS.rglob("*.py")) if "_bundled" not in path.parts
    )


def read(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = tree_of(path)
    nodes = nodes_of(path)
    return Module(
        name=module_name(path),
        in_stats="stats" in path.relative_to(HARNESS).parts,
        imports=imported(nodes),
        imports_at_once=imported(tree.body),
        n_lines=len(text.splitlines()),
        functions=function_lengths(nodes),
        parameters=parameter_counts(nodes),
        names_of_modules={
            node.value
            for node in nodes
            if isinstance(node, ast.Constant) and str(node.value).startswith("harness.")
        },
    )


def imported(nodes: Sequence[ast.AST]) -> set[str]:
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def function_lengths(nodes: Sequence[ast.AST]) -> dict[str, int]:
    lengths = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            lengths[f"{node.name}:{node.lineno}"] = length
    return lengths


def parameter_counts(nodes: Sequence[ast.AST]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            taken = node.args
            named = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs]
            starred = [star for star in (taken.vararg, taken.kwarg) if star]
            names = [arg.arg for arg in (*named, *starred) if arg.arg not in {"self", "cls"}]
            name = getattr(node, "name", "lambda")
            counts[name] = max(len(names), counts.get(name, 0))
    return counts


def test_no_function_has_more_than_eight_parameters():
    """What belongs together is one parameter: a model of options, or a record."""
    longer = {
        f"{module.name}:{name}"
        for module in modules()
        for name, n in module.parameters.items()
        if n > MOST_PARAMETERS
    }
    assert longer == STATISTICS


def test_a_module_imports_only_from_layers_left_of_it():
    """No layer knows the one above it."""
    faults = []
    for module in modules():
        if module.name in ("", "__main__", "errors", "judging"):
            continue
        own = rank(module.name)
        assert own is not None, f"{module.name} stands in no layer; add it to LAYERS"
        for name in module.imports:
            other = rank(name.removeprefix("harness.")) if name.startswith("harness.") else None
            if other is not None and other > own:
                faults.append(f"{module.name} imports {name}")
    assert faults == []


def test_the_core_imports_no_edge():
    """All but the command line and the API of an edge loads edges by name."""
    clients = {"cli", "testing", ""}  # of the pytest plug-in, types alone; "" is the package itself
    found = {
        (module.name, name)
        for module in modules()
        for name in module.imports
        if name.startswith("harness.")
        and edge_of(name.removeprefix("harness."))
        and not edge_of(module.name)
        and module.name.split(".")[0] not in clients
        and module.name not in CLIENTS_OF_EDGES
    }
    assert found == set()


def test_the_core_names_an_edge_in_one_table():
    """Beside ``harness.loading``, only the registered formats are loaded by name."""
    pattern = re.compile(rf"harness\.({'|'.join(PACKAGES.values())})(\.\w+)*")
    found = {
        module.name
        for module in modules()
        if not edge_of(module.name) and any(map(pattern.fullmatch, module.names_of_modules))
    }
    assert found == {"loading", "tasks.columns.formats"}


EDGES_OF_EDGES = {("annotation", "curation")}


def test_an_edge_imports_no_other_edge():
    """But for the projects of rating tools, which annotation and curation offer together."""
    found = {
        (own, other)
        for module in modules()
        for name in module.imports
        if (own := edge_of(module.name)) and name.startswith("harness.")
        if (other := edge_of(name.removeprefix("harness."))) and own != other
    }
    assert found == EDGES_OF_EDGES


def test_stats_imports_only_numpy_and_scipy():
    """The statistics know nothing of files, models or screens, not even this package's errors."""
    allowed = {"numpy", "scipy", *sys.stdlib_module_names}
    statistics = [module for module in modules() if module.in_stats]
    assert len(statistics) > 50
    faults = [
        f"{module.name} imports {name}"
        for module in statistics
        for name in module.imports
        if name.split(".")[0] not in allowed
        and not name.startswith("harness.stats")
        and name != "harness"
    ]
    assert faults == []


def test_heavy_packages_are_imported_only_when_used():
    """No module pays for a heavy package on import."""
    faults = [
        f"{module.name} imports {name}"
        for module in modules()
        for name in module.imports_at_once
        if name.split(".")[0] in HEAVY
    ]
    assert faults == []


def test_help_and_tasks_import_nothing_heavy():
    """`harness --help` imports no command, and `harness tasks` no heavy package."""
    commands = ["pydantic", "harness.cli.run", "harness.cli.options"]
    heavy = ["litellm", "datasets", "scipy.stats", "pyarrow", "pandas"]
    for arguments, avoided in ((["--help"], heavy + commands), (["tasks"], heavy)):
        code = (
            "import sys; from harness.cli import main\n"
            f"sys.argv = ['harness', *{arguments!r}]\n"
            "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
            f"imported = [name for name in {avoided!r} if name in sys.modules]\n"
            "assert not imported, imported\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr


def test_asking_imports_neither_scipy_nor_psycopg():
    """A run imports scipy with its statistics, after the last reply, and psycopg for --store."""
    code = "import sys, harness.app.run; assert not {'scipy', 'psycopg'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_stats_runs_where_only_numpy_and_scipy_can_be_imported():
    """`from harness import stats` works when every other package is out of reach."""
    code = (
        "import sys\n"
        "class Wall:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        root = name.split('.')[0]\n"
        "        own = {'numpy', 'scipy', 'harness', *sys.stdlib_module_names}\n"
        "        if root not in own and not root.startswith('_sysconfigdata'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Wall())\n"
        "from harness import stats\n"
        "assert all(getattr(stats, name) is not None for name in stats.__all__)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_no_files_import_each_other():
    """There is an order in which every file comes after those it names, in type hints, too."""
    graph = import_graph(nodes_of)
    assert sum(map(len, graph.values())) > 1000
    assert circles(graph) == []


def test_the_top_of_the_package_is_its_table():
    """A folder for each noun, four files, and no more arrows between them than there were."""
    between = arrows(import_graph(nodes_of))
    loose = {name for name in between if not (HARNESS / name).is_dir()}
    assert loose == {"__init__", "__main__", "errors", "loading"}
    assert len(between) - len(loose) <= MAX_FOLDERS
    assert longest_chain(between) <= MAX_CHAIN
    assert sum(map(len, between.values())) <= MAX_ARROWS
