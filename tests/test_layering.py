"""Which part may import which: read from the source, so that lazy imports count too."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

HARNESS = Path(__file__).resolve().parent.parent / "harness"

# Each module may import only from those in earlier rows (errors may be imported by all but stats).
LAYERS = (
    ("stats",),
    ("tables",),
    ("task",),
    (
        *("elicit.templates", "elicit.prompts"),
        *("elicit.mentions", "elicit.grammar", "elicit.verdicts", "elicit.external"),
    ),
    (
        *(
            "elicit.prices",
            "elicit.usage",
            "elicit.specs",
            "elicit.faults",
            "elicit.wire",
            "elicit.providers",
        ),
        *("elicit.folders", "elicit.unpacked"),
        *("elicit.judges", "elicit.hosted", "elicit.endpoint", "elicit.embedded", "elicit.smollm2"),
    ),
    (
        *("elicit.leases", "elicit.cache", "elicit.log", "elicit.budget", "elicit.rate"),
        *(
            "elicit.gate",
            "elicit.jobs",
            "elicit.lanes",
            "elicit.quotes",
            "elicit.runner",
            "elicit.batch_api",
            "elicit.batch",
        ),
    ),
    ("ratings",),
    ("validate",),
    ("runs",),
    ("report",),
    ("main_job", "doctor", "probe"),
    ("cli",),
)
HEAVY = {
    "litellm",
    "datasets",
    "pyarrow",
    "pandas",
    "aiohttp",
    "xllamacpp",
    "vaderSentiment",
    "diskcache",
}


def module_name(path: Path) -> str:
    parts = path.relative_to(HARNESS).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def rank(module: str) -> int | None:
    for level, row in enumerate(LAYERS):
        if any(module == name or module.startswith(f"{name}.") for name in row):
            return level
    return None


def imported(path: Path, *, top_level: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level else list(ast.walk(tree))
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


MODULES = sorted(path for path in HARNESS.rglob("*.py") if "_bundled" not in path.parts)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_a_module_imports_only_from_layers_left_of_it(path):
    """No layer knows the one above it."""
    own = rank(module_name(path))
    if module_name(path) in ("", "__main__", "errors", "elicit"):
        return
    assert own is not None, f"{module_name(path)} stands in no layer; add it to LAYERS"
    for name in imported(path):
        if name.startswith("harness."):
            other = rank(name.removeprefix("harness."))
            assert other is None or other <= own, f"{module_name(path)} imports {name}"


@pytest.mark.parametrize("path", [p for p in MODULES if "stats" in p.parts], ids=module_name)
def test_stats_needs_numpy_and_scipy_alone(path):
    """The statistics know nothing of files, models or screens, not even this package's errors."""
    allowed = {"numpy", "scipy", *sys.stdlib_module_names}
    for name in imported(path):
        root = name.split(".")[0]
        assert root in allowed or name.startswith("harness.stats") or name == "harness", name


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_heavy_packages_are_imported_only_when_used(path):
    """No module pays for a heavy package on import."""
    roots = {name.split(".")[0] for name in imported(path, top_level=True)}
    assert not roots & HEAVY


def test_help_and_tasks_import_nothing_heavy():
    """`harness --help` and `harness tasks` start without the heavy packages."""
    heavy = sorted({"litellm", "datasets", "scipy.stats", "pyarrow", "pandas"})
    for arguments in (["--help"], ["tasks"]):
        code = (
            "import sys; from harness.cli import main\n"
            f"sys.argv = ['harness', *{arguments!r}]\n"
            "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
            f"found = [name for name in {heavy!r} if name in sys.modules]\n"
            "assert not found, found\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr


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


def function_lengths(path: Path) -> list[tuple[str, int]]:
    lengths = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lengths.append((node.name, body[-1].end_lineno - body[0].lineno + 1 if body else 0))
    return lengths


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_modules_and_functions_stay_small(path):
    """No module over 500 lines, no function over 50 without its docstring."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500
    assert [f for f in function_lengths(path) if f[1] > 50] == []
