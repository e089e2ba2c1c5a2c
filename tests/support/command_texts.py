"""Commands in the texts of the package: where they are, and which situations run them."""

from __future__ import annotations

import ast
import re
import shlex
import signal
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from support.processes import invoke, start_harness
from support.source_trees import trees_with

import harness
from harness.cli import COMMANDS
from harness.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from click.testing import Result

PACKAGE = Path(harness.__file__).resolve().parent
SCRIPTS = {".js", ".jinja", ".yaml", ".yml", ".html"}
NAMED = r"\bharness[ \"'](?!import )"  # in a file with commands; an import is none
IN_TEXT = re.compile(r"(?<![\w-])harness [a-z{][^`\n]*")
PLACEHOLDER = re.compile(r"(?<= )(?:[A-Z]{3,}|'\$[A-Z]+')(?= |$|{)")
EXECUTED: list[str] = []  # commands that the running test has started


class CommandText(NamedTuple):
    """A command in a text: ``{}`` stands for a value, such as the path of a run.

    Attributes
    ----------
    where : str
        The function, class or constant that holds the text; of other files than Python their name.
    command : str
        The words of the command, to the end of the line.
    """

    where: str
    command: str

    def __str__(self) -> str:
        return f"{self.where}: {self.command}"


@cache
def command_texts() -> tuple[CommandText, ...]:
    """Return all commands in texts of the package, docstrings aside."""
    texts: dict[CommandText, None] = {}
    in_python = trees_with("|".join([NAMED, *_functions()]))
    for path in sorted(PACKAGE.rglob("*")):
        if path in in_python and "_bundled" not in path.parts:
            texts |= dict.fromkeys(_in_python(in_python[path]))
        elif path.suffix in SCRIPTS:
            text = re.sub(r"{{.*?}}", "{}", path.read_text(encoding="utf-8"))
            texts |= dict.fromkeys(CommandText(path.name, command) for command in _in_text(text))
    return tuple(texts)


def _in_text(text: str) -> Iterator[str]:
    """Yield the commands in a text: to a backtick, a gap, the end of the line or sentence."""
    for match in IN_TEXT.finditer(text):
        command = " ".join(re.split(r"[.;,:](?= |$)|[\")]| {3,}", match[0])[0].split())
        first = command.split()[1]
        if first in COMMANDS or "{" in first:
            yield command


def _in_python(tree: ast.Module) -> Iterator[CommandText]:
    for node, where in _with_place(tree, "", set()):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            yield from (CommandText(where, command) for command in _in_text(_text(node)))
        elif isinstance(node, ast.List) and _is_command(node):
            yield CommandText(where, _of_words(node))
        elif isinstance(node, ast.Call) and (name := _name(node)) in _functions():
            yield CommandText(where, f"{name}()")


def _with_place(node: ast.AST, where: str, skipped: set[int]) -> Iterator[tuple[ast.AST, str]]:
    """Yield each node with the name of what holds it; f-strings whole, without docstrings."""
    match getattr(node, "body", None):
        case [ast.Expr(ast.Constant() as docstring), *_]:
            skipped.add(id(docstring))
    for child in ast.iter_child_nodes(node):
        if id(child) in skipped:
            continue
        inside = _defined(child, where) or where
        yield child, inside
        if isinstance(child, ast.JoinedStr):
            skipped |= {id(part) for part in child.values if isinstance(part, ast.Constant)}
        yield from _with_place(child, inside, skipped)


def _defined(node: ast.AST, where: str) -> str:
    """Return the name of a function or class, or of a constant of a module; "" for other nodes."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if not where and isinstance(node, ast.Assign | ast.AnnAssign):
        return ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    return ""


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        parts = node.values
        return "".join(_text(part) if isinstance(part, ast.Constant) else "{}" for part in parts)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_command(node: ast.AST | None) -> bool:
    return isinstance(node, ast.List) and [*map(_text, node.elts)][:1] == ["harness"]


def _of_words(node: ast.List) -> str:
    return " ".join(_text(word) or "{}" for word in node.elts)


def _name(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


@cache
def _functions() -> frozenset[str]:
    """Return the names of functions that return a command: of words, or by another of them."""
    of_words = {f.name for f in _of_texts('"harness"') if any(map(_is_command, ast.walk(f)))}
    by_another = {
        f.name
        for f in _of_texts("|".join(of_words))
        for node in ast.walk(f)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Call)
        if _name(node.value) in of_words
    }
    return frozenset(of_words | by_another)


def _of_texts(pattern: str) -> Iterator[ast.FunctionDef]:
    """Yield the functions that return a text, in files that match a regular expression."""
    for tree in trees_with(pattern).values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and getattr(node.returns, "id", "") == "str":
                yield node


def situation(*texts: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Mark a test as the situation of commands: it gets them from the product and runs each.

    Parameters
    ----------
    *texts : str
        As `CommandText` is written: where the text is, and the command.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def checked(*args: object, **fixtures: object) -> None:
            EXECUTED.clear()
            test(*args, **fixtures)
            for text in texts:
                pattern = _pattern(text.partition(": ")[2])
                assert any(map(pattern.fullmatch, EXECUTED)), (text, EXECUTED)

        return checked

    return decorate


def _pattern(command: str) -> re.Pattern[str]:
    """Return what an executed command matches: values and placeholders are any words."""
    if command.endswith("()"):
        return _pattern(next(t.command for t in command_texts() if t.where == command[:-2]))
    with_values = re.sub(r"{\w+}", "{}", command.partition(" #")[0])
    words = re.escape(PLACEHOLDER.sub("{}", with_values))
    return re.compile(words.replace(r"\ \{\}", "( .*)?").replace(r"\{\}", ".*"), re.DOTALL)


def run_command(
    command: str, *, more: Sequence[str] = (), codes: frozenset[int] = frozenset({0})
) -> Result:
    """Run a command as a shell splits it, in this process; check how it ends.

    ``more`` options make it shorter, such as ``--dry-run``.
    """
    pasted = command.partition("  #")[0].strip()
    for part in pasted.split(" && "):
        words = shlex.split(part)
        assert words[0] == "harness", command
        result = invoke(*words[1:], *more)
        code = int(getattr(result.exception, "exit_code", result.exit_code))
        assert code in codes, (part, result.output, result.exception)
    EXECUTED.append(pasted)
    return result


def open_page(command: str) -> str:
    """Run a command that serves a page, and send Ctrl-C once it has printed the address.

    Return what it then prints.
    """
    with start_harness(*shlex.split(command)[1:], cwd=Path.cwd()) as process:
        lines = iter(process.stdout.readline, "")
        assert any(line.startswith("Open http://") for line in lines), process.stderr.read()
        process.send_signal(signal.SIGINT)
        last = process.stdout.read()
        assert process.wait(20) in {0, ExitCode.INTERRUPTED}
    EXECUTED.append(command)
    return last


def commands_in(text: str) -> list[str]:
    """Return the commands of a text: between backticks, or to the end of a line."""
    matches = re.findall(r"`(harness [^`]+)`|(?<![\w-])(harness [a-z][^\n`]*)", text)
    commands = (quoted or bare for quoted, bare in matches)
    return [command for command in commands if command.split()[1] in COMMANDS]


def situations() -> dict[str, list[str]]:
    """Return the texts that tests run, each with the names of the tests."""
    tests: dict[str, list[str]] = {}
    for path in sorted(Path(__file__).parents[1].rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "@situation(" in text else ():
            if not isinstance(node, ast.FunctionDef):
                continue
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and _name(call) == "situation":
                    for argument in call.args:
                        tests.setdefault(_text(argument), []).append(node.name)
    return tests
