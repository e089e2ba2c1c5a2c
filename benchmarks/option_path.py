"""Counts what an option's name crosses: `python benchmarks/option_path.py [max_cost]`.

Read from the source of the package: where the option is declared (a field of a class, or of the
parameters of a function), and what names it, as an argument, an attribute or a key.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "harness"


def crossed(option: str) -> tuple[set[str], set[str]]:
    """Return where an option is declared, and all that names it: ``file:function``."""
    declared: set[str] = set()
    named: set[str] = set()

    def visit(node: ast.AST, place: str) -> None:
        for child in ast.iter_child_nodes(node):
            inside = place
            match child:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    inside = f"{place.partition(':')[0]}:{name}"
                case ast.ClassDef(name=name):
                    inside = f"{place.partition(':')[0]}:{name}"
                case ast.arg(arg=name) if name == option:
                    declared.add(place)
                case ast.AnnAssign(target=ast.Name(id=name)) if name == option:
                    declared.add(place)
                case (
                    ast.Name(id=name)
                    | ast.keyword(arg=name)
                    | ast.Attribute(attr=name)
                    | ast.Constant(value=name)
                ) if name == option:
                    named.add(place)
            visit(child, inside)

    for path in sorted(PACKAGE.rglob("*.py")):
        file = str(path.relative_to(PACKAGE))
        visit(ast.parse(path.read_text(encoding="utf-8")), f"{file}:")
    return declared, declared | named


def main() -> None:
    """Print them."""
    option = sys.argv[1] if len(sys.argv) > 1 else "max_cost"
    declared, named = crossed(option)
    for place in sorted(named):
        print(f"{place}{'  (declared)' if place in declared else ''}")
    print(f"{option}: declared in {len(declared)} places, named in {len(named)}")


if __name__ == "__main__":
    main()
