"""Whatever differs from the format in a JSON file of another tool, it is read or refused."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.curation.importing import AnswerSettings, make_plans, make_task, read_source
from harness.curation.verdicts import Selection, import_verdicts
from harness.errors import HarnessError
from harness.tasks import Item, Option, Task, load_task


def annotation(who, choice):
    return {"completed_by": who, "result": [{"value": {"choices": [choice]}, "from_name": "tone"}]}


PREDICTION = {"model_version": "m", "result": [{"value": {"rating": 3}, "from_name": "tone"}]}
GRADE = {"pass": True, "score": 1, "reason": "x", "assertion": {"type": "llm-rubric"}}
RESULT = {
    "promptIdx": 0,
    "provider": {"id": "p"},
    "vars": {"item": "a"},
    "response": {"output": "A"},
    "gradingResult": {"componentResults": [GRADE]},
}
SAMPLE = {
    "id": "a",
    "epoch": 1,
    "scores": {"s": {"value": "A", "answer": "B"}},
    "output": {"completion": "", "choices": [{"message": {"content": [{"text": "A"}]}}]},
}
CONTENTS = (
    [
        {
            "id": i,
            "data": {"text": "x"},
            "annotations": [annotation(1, "a"), annotation(2, "b")],
            "predictions": [PREDICTION],
        }
        for i in range(3)
    ],
    [
        {
            "id": f"r{i}",
            "fields": {"prompt": "x"},
            "suggestions": {"q": {"value": 1, "agent": "m"}},
            "responses": {"q": [{"user_id": user, "value": 1} for user in (7, 8)]},
        }
        for i in range(3)
    ],
    {
        "annotations": [{"metric": "q"}],
        "instances": [
            {"id": i, "instance": "x", "annotations": {"q": {"individual_human_scores": [1, 2]}}}
            for i in range(3)
        ],
    },
    {"w1": {"i1": "a", "i2": "b"}, "w2": {"i1": "b", "i2": "b"}},
    {"version": 2, "eval": {"model": "m"}, "samples": [SAMPLE]},
    {"results": {"results": [RESULT]}},
)
NASTY = (
    *(None, True, -1, 10**30, 1e308, -0.5, "", "\x1b[2J", "a\nb", "=1+1", "A", "x" * 300),
    *([], {}, [[[]]], {"a": {"b": [1]}}, ["a", "b"], [None], [{}], {"": 1}),
)


def changed(content, rng):
    """Replace or remove a value anywhere in a document, or add one."""
    holder = {"content": copy.deepcopy(content)}
    node, key = holder, "content"
    while node[key] and isinstance(node[key], dict | list) and rng.random() < 0.8:
        node = node[key]
        key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
    if rng.random() < 0.2 and node is not holder:
        del node[key]
    else:
        node[key] = rng.choice(NASTY)
    return holder["content"]


def check(folder, rng):
    task = Task(
        name="small",
        property="how good it is",
        scale="nominal",
        options=(Option(key="A", label="Good"), Option(key="B", label="Bad")),
        items=(Item("a", {"text": "a"}), Item("b", {"text": "b"})),
        ratings=(),
        abstain=True,
    )
    content = rng.choice(CONTENTS)
    for _ in range(rng.choice((1, 1, 2, 3))):
        content = changed(content, rng)
    path = folder / "export.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    for read in (
        lambda: [
            load_task(make_task(plan, folder / plan.name).folder)
            for plan in make_plans("mine", read_source(path), {}, settings=AnswerSettings())
        ],
        lambda: import_verdicts([path], task, folder / "verdicts.jsonl", Selection()),
    ):
        try:
            read()
        except HarnessError as error:
            assert "\n" not in str(error)  # noqa: PT017 -- most files are refused


@settings(max_examples=25)
@given(st.randoms(use_true_random=False))
def test_changed_exports_are_read_or_refused_in_a_line(tmp_path_factory, rng):
    """A list where an object belongs ended in a traceback."""
    check(tmp_path_factory.mktemp("export"), rng)


@pytest.mark.slow
@settings(max_examples=1500)
@given(st.randoms(use_true_random=True))
def test_many_changed_exports_are_read_or_refused_in_a_line(tmp_path_factory, rng):
    """The same for more of them."""
    check(tmp_path_factory.mktemp("export"), rng)
