"""What holds for every strategy, and where a strategy may be known by its name."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.source_trees import nodes_of
from support.task_folders import make_task_folder

from harness.judging.computed_verdicts import computed_verdicts
from harness.judging.judges.config import new_judge
from harness.judging.judges.judge_registry import build, check, reader_of
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.demonstrations import draw_demonstrations
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts
from harness.judging.strategies.strategy import DEFAULT, Strategy
from harness.judging.strategies.strategy_registry import BUILT_IN, joined, named
from harness.tasks import load_task

if TYPE_CHECKING:
    from collections.abc import Iterable

PACKAGE = Path(inspect.getfile(Strategy)).parents[2]
FOLDER = PACKAGE / "judging" / "strategies"
WORDING = """\
verbalised:
  template: 'Comment: "{{text}}" This comment is'
  words: {A: rude, B: polite}
"""
LOGPROBS = {
    "content": [
        {
            "token": "A",
            "logprob": -0.5,
            "top_logprobs": [
                {"token": token, "logprob": -1.5}
                for token in ("A", "B", "yes", "no", "rude", "polite")
            ],
        }
    ]
}
NUMBERED = {
    "few-shot": "few-shot:2",
    "self-consistency": "self-consistency:3",
    "option-orders": "option-orders:2",
    "bias": "logprob@bias:50505050",
}
ASKED = [
    NUMBERED.get(name, name)
    for name in BUILT_IN
    if not named(NUMBERED.get(name, name)).joins_members
]
JOINED = [
    *("few-shot:2@cot", "cot@self-consistency:3", "few-shot:2@cot@self-consistency:3"),
    *("logprob@option-orders:2", "cot@no-descriptions", "logprob@option-orders:2@bias:50505050"),
    *("no-descriptions@option-orders:2", "few-shot:2@no-descriptions", "verbalised@bias:50505060"),
]


@pytest.fixture
def task(tmp_path):
    folder = make_task_folder(tmp_path / "small")
    file = folder / "task.yaml"
    described = file.read_text("utf-8").replace("label: Toxic", "label: Toxic, description: rude")
    file.write_text(described + WORDING, encoding="utf-8")
    return load_task(str(folder))


def spec_under(name):
    return new_judge(name="m", model="m", base_url="http://127.0.0.1:1/v1", strategy=name)


def prompts_for(task, asking):
    drawn = None
    if asking.n_demonstrations:
        items = dict.fromkeys(("forced_choice", "response_set"), task.items[:2])
        drawn = draw_demonstrations(task, items, asking.n_demonstrations, seed=0)
    return Prompts.load(task, strategies=[asking], demonstrations=drawn)


@pytest.mark.parametrize("name", [*ASKED, *JOINED])
def test_a_strategy_says_whether_it_changes_the_cache_key(task, name):
    """Where it does not, replies to the plain question are its own too."""
    asking = named(name)
    prompts = prompts_for(task, asking)
    judge = build(spec_under(name), task, prompts)
    plain = build(spec_under(DEFAULT.name), task, prompts)
    samples = range(asking.replies_per_verdict(len(task.options)))
    units = [
        Unit(item.id, elicitation, sample)
        for item in task.items[:2]
        for elicitation in asking.elicitations
        for sample in samples
    ]
    changed = {judge.request(unit).cache_key != plain.request(unit).cache_key for unit in units}
    assert any(changed) == asking.changes_cache_key
    shuffles = asking.option_orders(task, None) is not None  # one of its orders is the task's
    assert shuffles or len(changed) == 1


@pytest.mark.parametrize("name", [*ASKED, *JOINED])
def test_replies_of_a_unit_make_one_verdict(task, name):
    """As many replies as it asks for are read, and become one verdict of its judge."""
    asking, spec = named(name), spec_under(name)
    check(spec, task)
    reader, n = reader_of(spec, task, None), asking.replies_per_verdict(len(task.options))
    items = [*asking.extra_items(task, task.items), task.items[0]]
    for elicitation in asking.elicitations:
        replies = [
            reader.verdict(
                Reply(request="0" * 64, text="A", logprobs=LOGPROBS),
                Unit(item.id, elicitation, sample),
                "m",
                first=Reply(request="1" * 64, text="A") if elicitation == "paired" else None,
            )
            for item in items
            for sample in range(n)
        ]
        [verdict] = computed_verdicts([spec], {"m": replies}, task)["m"]
        place = (verdict.judge, verdict.item, verdict.elicitation, verdict.sample)
        assert place == ("m", task.items[0].id, elicitation, 0)
        combines = n > 1 or bool(asking.extra_items(task, task.items)) or asking.is_fitted
        assert asking.is_computed or not combines


@pytest.mark.parametrize("name", [*ASKED, *JOINED])
def test_a_strategy_has_the_name_that_finds_it(name):
    """Joined with the plain question it stays itself; with itself it makes nothing."""
    asking = named(name)
    assert asking.name == name
    assert named(asking.name) is asking
    assert joined(DEFAULT, asking) is asking
    if asking is not DEFAULT:
        assert asking.label == name
        assert joined(asking, asking) is None


@pytest.mark.parametrize(
    "name", ["guess", "few-shot", "few-shot:0", "cot:2", "cot@", "cot@logprob"]
)
def test_unknown_strategies_are_rejected(name):
    """Also a number that is missing, out of bounds or one too many."""
    with pytest.raises(
        ValueError, match=r"no such strategy\..*Use one of zero-shot|are not compat"
    ):
        named(name)


def names_compared(nodes: Iterable[ast.AST]) -> list[tuple[int, str]]:
    """Lines on which a strategy's name, or a value called strategy, is compared or looked up."""
    names = {*BUILT_IN, *NUMBERED.values()} - {"json", "logprob", "mean", "majority", "weighted"}
    names |= {place.value.partition(":")[2] for place in BUILT_IN.values()}  # names of classes
    found = []
    for node in nodes:
        parts: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Match):
            parts = [node.subject]
            for case in node.cases:
                parts += [part for part in ast.walk(case.pattern) if isinstance(part, ast.expr)]
        elif isinstance(node, ast.Subscript):
            parts = [node.slice]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            methods = {"startswith", "endswith", "fullmatch", "match", "get"}
            parts = [node.func.value, *node.args] if node.func.attr in methods else []
        for part in parts:
            texts = [
                c.value
                for c in ast.walk(part)
                if isinstance(c, ast.Constant) and isinstance(c.value, str)
            ]
            owner = part.value if isinstance(part, ast.Attribute) and part.attr == "name" else part
            is_named = isinstance(owner, ast.Attribute) and owner.attr in {"strategy", "asking"}
            is_local = isinstance(owner, ast.Name) and owner.id in {"strategy", "asking"}
            if is_named or is_local or names & set(texts):
                found.append((node.lineno, ast.unparse(node)))
    return found


@pytest.mark.slow
def test_no_module_outside_the_folder_compares_the_name_of_a_strategy():
    """What differs between strategies is asked of the strategy. 16 modules branched on its text."""
    faults = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if FOLDER in path.parents or "_bundled" in path.parts:
            continue
        compared = names_compared(nodes_of(path))
        faults += [f"{path.relative_to(PACKAGE)}:{n}: {code}" for n, code in compared]
    assert faults == []


def test_no_module_outside_the_folder_imports_a_strategy():
    """Built-in strategies are found by name, as those of other distributions are."""
    classes = {place.value.partition(":")[2] for place in BUILT_IN.values()}
    faults = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if FOLDER in path.parents or "_bundled" in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        for node in nodes_of(path) if "judging.strategies" in text else ():
            if isinstance(node, ast.ImportFrom) and "judging.strategies" in (node.module or ""):
                faults += [f"{path}: {a.name}" for a in node.names if a.name in classes]
    assert faults == []


def test_the_comparison_of_a_name_is_found():
    """In each form in which the modules of the package had it."""
    for code in (
        "spec.strategy == CALIBRATED",
        "spec.strategy in SOFT",
        "strategy != ZERO_SHOT",
        "name == 'logprob-calibrated'",
        "table['endorse']",
        "strategy.endswith('@cot')",
        "asking.name == 'json'",
        "spec.asking.name in SOFT",
        "type(asking).__name__ == 'Calibrated'",
        "FEW_SHOT.fullmatch(strategy)",
        "match spec.strategy:\n    case 'cot':\n        pass",
    ):
        assert names_compared(ast.walk(ast.parse(code))), code
    other = ast.parse("spec.asking.gives_reasons and kind == 'paired'")
    assert not names_compared(ast.walk(other))
