"""Writes `harness/__init__.pyi` from how options are declared: `python docs/stub.py [FILE]`.

Editors complete the options of `harness.run` from it, and type checkers reject those that don't
exist. `tests/test_api.py` fails when what this writes is not what is committed.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import harness

TARGET = Path(harness.__file__).with_suffix(".pyi")
MARK = "# Made by docs/stub.py from the declared options; do not edit."
ABSTRACT = "collections.abc"


class Written(NamedTuple):
    """A public function in the stub, and what its annotations are imported from."""

    text: str
    imports: dict[str, str]
    aliases: dict[str, str]


def main(target: Path) -> None:
    """Write the stub of the package."""
    target.write_text(stub(), encoding="utf-8")


def stub() -> str:
    """Return the text of the stub: imports, names of fixed values, and all public functions."""
    classes = [name for name in harness.__all__ if inspect.isclass(getattr(harness, name))]
    functions = [_function(name) for name in harness.__all__ if name not in classes]
    imports = {name: getattr(harness, name).__module__ for name in classes}
    aliases: dict[str, str] = {}
    for function in functions:
        imports = function.imports | imports
        aliases |= function.aliases
    names = ",\n".join(f'    "{name}"' for name in harness.__all__)
    parts = [
        MARK,
        "\n".join(_imports(imports, set(classes))),
        "\n".join(f"{name}: TypeAlias = {text}" for name, text in sorted(aliases.items())),
        f"__version__: str\n__all__ = [\n{names},\n]",
        "\n".join(function.text for function in functions),
    ]
    return "\n\n".join(parts) + "\n"


def _imports(modules: dict[str, str], exported: set[str]) -> list[str]:
    modules |= {"Literal": "typing", "TypeAlias": "typing", "Path": "pathlib"}
    modules |= {"Sequence": ABSTRACT}
    lines = []
    for is_own in (False, True):
        for module in sorted({m for m in modules.values() if m.startswith("harness") == is_own}):
            names = sorted(name for name, of in modules.items() if of == module)
            shown = [f"{name} as {name}" if name in exported else name for name in names]
            lines += [f"from {module} import {name}" for name in _lines_of(shown)]
        lines.append("")
    return lines[:-1]


def _lines_of(shown: list[str]) -> list[str]:
    """Join what is imported without ``as``, as formatters do."""
    plain = [name for name in shown if " as " not in name]
    return [*([", ".join(plain)] if plain else []), *(name for name in shown if " as " in name)]


def _function(name: str) -> Written:
    """Write one public function."""
    function = getattr(harness, name)
    own = inspect.unwrap(function)
    imports: dict[str, str] = {}
    aliases: dict[str, str] = {}
    lines, is_keyword = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            lines.append("    *,")
            is_keyword = True
        annotation = parameter.annotation
        if isinstance(annotation, str):
            imports |= _imported(annotation, own)
            text = annotation
        else:
            text = _option_type(parameter.name, annotation, aliases)
        lines.append(f"    {parameter.name}: {text}{_default(parameter.default)},")
    returned = inspect.signature(function).return_annotation
    imports |= _imported(returned, own)
    verb = "async def" if inspect.iscoroutinefunction(own) else "def"
    text = "\n".join([f"{verb} {name}(", *lines, f") -> {returned}: ..."])
    return Written(text, imports, aliases)


def _default(value: object) -> str:
    if value is inspect.Parameter.empty:
        return ""
    plain = value is None or isinstance(value, bool | int | float | str)
    return f" = {_quoted(value)}" if plain else " = ..."


def _quoted(value: object) -> str:
    return '"' + value + '"' if isinstance(value, str) else repr(value)


def _option_type(name: str, annotation: Any, aliases: dict[str, str]) -> str:  # noqa: ANN401 -- a type
    """Write the type of an option's argument: a path may be a text, several values any sequence."""
    if get_origin(annotation) in {Union, UnionType}:
        members = [_option_type(name, member, aliases) for member in get_args(annotation)]
        return " | ".join(dict.fromkeys(members))
    if annotation in {None, NoneType}:
        return "None"
    if get_origin(annotation) is Literal:
        alias = f"_{name.title().replace('_', '')}"
        values = ", ".join(map(_quoted, get_args(annotation)))
        aliases[alias] = f"Literal[{values}]"
        return alias
    if get_origin(annotation) is tuple:
        members = get_args(annotation)
        if members[-1] is not Ellipsis:
            return f"tuple[{', '.join(_option_type(name, m, aliases) for m in members)}]"
        member = _option_type(name, members[0], aliases)
        return f"{member} | Sequence[{member}]"
    return "str | Path" if annotation is Path else str(annotation.__name__)


def _imported(annotation: str, function: Any) -> dict[str, str]:  # noqa: ANN401 -- a function
    """Return where the names of an annotation come from, as the function's module imports them."""
    source = Path(inspect.getfile(function)).read_text(encoding="utf-8")
    known = {
        alias.name: node.module or ""
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names = {n.id for n in ast.walk(ast.parse(annotation)) if isinstance(n, ast.Name)}
    return {
        name: known.get(name, function.__module__) for name in names if not hasattr(builtins, name)
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
