"""Identifiers name what they hold."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest
from support.source_trees import nodes_of, tree_of

TESTS = Path(__file__).resolve().parent
HARNESS = TESTS.parent / "harness"
EMPTY_WORDS = {"one", "found", "told", "known", "given", "mine"}
MOST_PER_THOUSAND = 3


def bindings(folder):
    """Count the names that code binds: assignment targets, arguments and definitions."""
    names = Counter()
    for path in folder.rglob("*.py"):
        tree = tree_of(path) if folder == HARNESS else ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    names[name] += 1
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    names[node.name] += 1
    return names


@pytest.mark.parametrize(
    "folder",
    [pytest.param(HARNESS, id="harness"), pytest.param(TESTS, id="tests", marks=pytest.mark.slow)],
)
def test_identifiers_are_not_empty_words(folder):
    """Words that name nothing stay below 3 of 1,000 bindings."""
    names = bindings(folder)
    total = sum(names.values())
    assert total > 10_000
    empty = {word: names[word] for word in EMPTY_WORDS if names[word]}
    assert 1000 * sum(empty.values()) / total < MOST_PER_THOUSAND, empty


@pytest.mark.slow
def test_each_exception_to_a_rule_of_style_has_its_reason():
    """Beside `noqa` stands why, after two dashes."""
    for path in (*HARNESS.rglob("*.py"), *TESTS.rglob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if comment := re.search(r"\s#\snoqa(.*)", line):
                with_reason = re.match(r": [A-Z]+\d+(, [A-Z]+\d+)* -- \w", comment[1])
                assert with_reason, (path, number, line)


def test_a_basename_stands_once():
    """A file is found by its name; commands may be called like what they run."""
    names = Counter(
        path.name
        for path in HARNESS.rglob("*.py")
        if "cli" not in path.relative_to(HARNESS).parts[:1] and path.name != "__init__.py"
    )
    assert [name for name, n in names.items() if n > 1] == []


@cache
def module_names():
    """Return kind, file, name and definition of all constants and classes that modules define."""
    names = []
    for path in sorted(HARNESS.rglob("*.py")):
        for node in tree_of(path).body:
            match node:
                case ast.ClassDef(name=name):
                    names.append(("class", path, name, ""))
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    kind = "constant" if name.isupper() else "class"
                    names.append((kind, path, name, ast.unparse(value)))
    return names


def type_names(path):
    """Yield the public classes and aliases of types that a module defines, with their values.

    A name that repeats one of another module, as ``Scale: TypeAlias = modes.Scale``, is no new one.
    """
    body = tree_of(path).body
    guarded = [node.body for node in body if isinstance(node, ast.If)]
    for node in (*body, *(inner for nodes in guarded for inner in nodes)):
        match node:
            case ast.ClassDef(name=name):
                yield name, "class"
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name[0].isupper() and not name.isupper():
                text = ast.unparse(value)
                if not text.endswith(f".{name}") and "TypeVar(" not in text:
                    yield name, text


def test_a_type_has_a_name_of_its_own():
    """No two public classes, or aliases of types, are called the same, whatever their modules.

    `Outcome` was a word for a verdict and the end of a unit, `State` three sets of words.
    """
    places = defaultdict(list)
    for path in sorted(HARNESS.rglob("*.py")):
        for name, value in type_names(path):
            if not name.startswith("_") and "ParamSpec(" not in value:
                places[name].append(path.relative_to(HARNESS).as_posix())
    assert len(places) > 300
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def fixed_sets(path):
    """Yield the sets of two words or more that a module spells as a ``Literal``."""
    text = path.read_text(encoding="utf-8")
    for node in nodes_of(path) if "Literal" in text else ():
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Literal"):
            elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            words = {part.value for part in elements if isinstance(part, ast.Constant)}
            if len(words) > 1 and all(isinstance(word, str) for word in words):
                yield frozenset(words)


def test_a_fixed_set_of_words_is_spelt_once():
    """The scales of a task were in three modules, kinds of raters in three, too."""
    places = defaultdict(list)
    for path in sorted(HARNESS.rglob("*.py")):
        for words in fixed_sets(path):
            places[words].append(path.relative_to(HARNESS).as_posix())
    assert len(places) > 60
    assert {tuple(words): files for words, files in places.items() if len(files) > 1} == {}


def test_a_least_number_of_raters_says_what_it_is_for():
    """`MIN_RATERS` was 2, 3 and 5 in eight files; no such number has two values now."""
    values = {}
    for kind, _, name, value in module_names():
        if (
            kind == "constant"
            and name.startswith("MIN_")
            and ("RATERS" in name or name.startswith("MIN_FOR_"))
        ):
            values.setdefault(name, set()).add(value)
    assert len(values) > 5
    assert {name: found for name, found in values.items() if len(found) > 1} == {}
    assert "MIN_RATERS" not in values


@pytest.mark.parametrize(
    "name", ["Verdict", "Reply", "Parsed", "Strategy", "Combining", "Elicitation", "AnswerKind"]
)
def test_a_type_of_judging_has_its_name_alone(name):
    """A verdict is what a reply means; what a run decides is a `DecisionVerdict`."""
    places = [
        path for kind, path, defined, _ in module_names() if (kind, defined) == ("class", name)
    ]
    own = [path for path in places if "stats" not in path.relative_to(HARNESS).parts]
    defined = [path for path in own if path.name != "item.py"]
    assert len(defined) == 1, places
