"""Seeded mutations of the code that numbers and money rest on, and which tests notice them.

    python benchmarks/mutants.py [--n 60] [--seed 0] [--only K,K] [--nearest]

Draws places in statistics, decision, drift, audit checks and the money path, an equal number of
each; changes one operator, bound or constant in a copy of the checkout; and runs the tests that are
nearest, then (but with ``--nearest``) all default ones. Prints one line per mutant with what killed
it, and exits with 1 if one survived. A survivor is equivalent, or names a test that is missing.
Exits with 2 if a test fails before anything is changed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKOUT = Path(__file__).resolve().parent.parent
AREAS = {
    "statistics": ("stats/**/*.py",),
    "decision": ("analysis/decision.py", "analysis/evidence.py", "stats/selection/*.py"),
    "drift": ("stats/drift/*.py", "revalidation/assessment.py", "revalidation/judge_in_use.py"),
    "audit": ("curation/audit/*.py",),
    "money": (
        "judging/running/budget.py",
        "judging/running/cost_estimate.py",
        "judging/judges/pricing.py",
    ),
}
INVERSE = {
    ast.Lt: ast.LtE,
    ast.Gt: ast.GtE,
    ast.Eq: ast.NotEq,
    ast.Is: ast.IsNot,
    ast.In: ast.NotIn,  # codespell:ignore
}
COMPARISONS = INVERSE | {new: old for old, new in INVERSE.items()}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
BOOLEAN = {ast.And: ast.Or, ast.Or: ast.And}
NEAREST_S, ALL_S = 300, 2400  # a mutant that runs on is killed
UNCHANGED = Path("tests/cli/test_end_to_end.py")  # passes before anything is changed


class Mutant(NamedTuple):
    """A change of one expression.

    Attributes
    ----------
    path : Path
        Of the file, below ``harness``.
    start, end : int
        Bytes of the file that it takes the place of.
    before, after : str
        The expression, and what takes its place.
    """

    area: str
    path: Path
    line: int
    start: int
    end: int
    before: str
    after: str


def mutated(node: ast.AST) -> ast.AST | None:
    """Return a changed copy of an expression; None where none is made."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            new.ops = [COMPARISONS[type(op)]()]
        case ast.BoolOp():
            new.op = BOOLEAN[type(new.op)]()
        case ast.BinOp() if type(new.op) in ARITHMETIC:
            new.op = ARITHMETIC[type(new.op)]()
        case ast.UnaryOp(op=ast.Not()):
            return new.operand
        case ast.Constant(value=bool(value)):
            new.value = not value
        case ast.Constant(value=int(value) | float(value)):
            new.value = value + 1
        case ast.Call(func=ast.Name(id="min" | "max" as name)):
            new.func.id = {"min": "max", "max": "min"}[name]
        case _:
            return None
    return new


def mutants_of(area: str, path: Path) -> Iterator[Mutant]:
    """Yield all mutants of a file, but those of annotations and decorators."""
    text = path.read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(text)
    apart = {  # annotations, and what decorators such as `dataclass` are told
        id(child)
        for node in ast.walk(tree)
        for part in (
            getattr(node, "annotation", None),
            getattr(node, "returns", None),
            *getattr(node, "decorator_list", ()),
        )
        if part is not None
        for child in ast.walk(part)
    }
    for node in ast.walk(tree):
        if id(node) in apart or not isinstance(node, ast.expr):
            continue
        new = mutated(node)
        if new is not None:
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            before, after = ast.unparse(node), f"({ast.unparse(new)})"
            yield Mutant(area, path.relative_to(CHECKOUT), node.lineno, start, end, before, after)


def drawn(n: int, seed: int) -> list[Mutant]:
    """Draw mutants, an equal number of each area."""
    generator = random.Random(seed)
    chosen = []
    for area, patterns in AREAS.items():
        files = sorted({p for pattern in patterns for p in (CHECKOUT / "harness").glob(pattern)})
        all_of_area = [mutant for path in files for mutant in mutants_of(area, path)]
        chosen += generator.sample(all_of_area, n // len(AREAS))
    return chosen


def nearest_tests(path: Path) -> list[Path]:
    """Return tests by name, then of the same folder, from the nearest to the farthest."""
    tests = CHECKOUT / "tests"
    named = sorted(tests.rglob(f"test_{path.stem}.py"))
    folder = tests.joinpath(*path.parts[1:-1])
    while not folder.is_dir():
        folder = folder.parent
    return [p.relative_to(CHECKOUT) for p in (*named, folder) if p != tests]


def killer(place: Path, mutant: Mutant, *, nearest: bool) -> str:
    """Return what notices a mutant: a test, or "timeout"; "" for nothing."""
    tests = [(path, "0", NEAREST_S) for path in nearest_tests(mutant.path)]
    tests += [] if nearest else [(Path("tests"), "2", ALL_S)]
    target = place / mutant.path
    original = target.read_bytes()
    changed = original[: mutant.start] + mutant.after.encode() + original[mutant.end :]
    target.write_bytes(changed)
    try:
        found = (failing_test(place, *some) for some in tests)
        return next(filter(None, found), "")
    finally:
        target.write_bytes(original)


def failing_test(place: Path, tests: Path, workers: str, limit: float) -> str:
    """Return the first test that fails; "" for none."""
    truth = os.environ.get("HARNESS_TRUTH", str(CHECKOUT.parent / "shared" / "truth"))
    environment = os.environ | {"PYTHONPATH": str(place), "HARNESS_TRUTH": truth}
    words = ["-q", "-x", f"-n{workers}", "-p", "no:cacheprovider", str(tests)]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    if done.returncode in {0, 5}:  # 5: no test in that folder is a default one
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (failed or ["ERROR"])[0].split(" - ")[0]


def left_out(folder: str, names: list[str]) -> set[str]:
    """Return what of a folder isn't copied: of the checkout's own also its runs."""
    found = shutil.ignore_patterns(".git", ".venv", "__pycache__", "*_cache")(folder, names)
    return found | ({"runs"} if Path(folder) == CHECKOUT else set())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="numbers of mutants, comma-separated")
    parser.add_argument("--nearest", action="store_true", help="leave out all other tests")
    arguments = parser.parse_args()
    only = arguments.only and set(map(int, arguments.only.split(",")))
    survivors = []
    with tempfile.TemporaryDirectory() as name:
        place = Path(name) / "checkout"
        shutil.copytree(CHECKOUT, place, ignore=left_out)
        if failed := failing_test(place, UNCHANGED, "0", NEAREST_S):
            print(f"without a change, {failed} fails")
            return 2
        for k, mutant in enumerate(drawn(arguments.n, arguments.seed)):
            if only and k not in only:
                continue
            found = killer(place, mutant, nearest=arguments.nearest)
            where = f"{mutant.path}:{mutant.line}"
            change = f"{mutant.before}  ->  {mutant.after}"
            print(f"{k}\t{mutant.area}\t{where}\t{change}\t{found or 'SURVIVED'}", flush=True)
            if not found:
                survivors.append(k)
    print(f"{len(survivors)} survived: {survivors}")
    return int(bool(survivors))


if __name__ == "__main__":
    raise SystemExit(main())
