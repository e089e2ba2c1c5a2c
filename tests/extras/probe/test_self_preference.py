"""Self-preference: a judge's favour for its own texts, beside that of the raters and a control."""

from __future__ import annotations

import json

import pytest
from support.analysis_inputs import source_of, task_of
from support.processes import invoke

from harness.errors import RunError
from harness.extras.probe.self_preference import self_preferences


def single_task():
    """Eight texts of two authors; raters accept half of each."""
    ratings = {f"r{r}": {f"i{i}": "AB"[i % 2] for i in range(8)} for r in range(2)}
    task = task_of(ratings)
    items = tuple(
        type(item)(item.id, item.fields | {"author": "me" if n < 4 else "you"}, item.group)
        for n, item in enumerate(task.items)
    )
    return task.model_copy(update={"items": items})


def test_favour_for_single_texts_by_hand():
    """Own: 4 of 4 accepted where raters accept 2; others: as the raters do."""
    task = single_task()
    answers = {f"i{i}": "A" if i < 4 else "AB"[i % 2] for i in range(8)}
    [preference] = self_preferences(source_of(task, {"j": answers}), {"j": "me"}, author="author")
    assert (preference.n_own, preference.n_others) == (4, 4)
    assert (preference.own.value, preference.control.value, preference.effect.value) == (
        0.5,
        0.0,
        0.5,
    )


def pairwise_task():
    """Six pairs of answers by `me` and `you` in turn; of two raters each prefers one."""
    ratings = {"r0": {f"i{i}": "A" for i in range(6)}, "r1": {f"i{i}": "B" for i in range(6)}}
    fields = {"answers": ("a", "b"), "first": "A", "second": "B", "systems": ("s", "t")}
    task = task_of(ratings, options=("A", "B", "tie"), positive=())
    items = tuple(
        type(item)(
            item.id,
            {"a": "x", "b": "y", "s": ("me", "you")[n % 2], "t": ("you", "me")[n % 2]},
            item.group,
        )
        for n, item in enumerate(task.items)
    )
    changes = {"scale": "pairwise", "text": ("a", "b"), "pairwise": fields, "items": items}
    return task.model_copy(update=changes)


def test_favour_in_pairs_is_compared_with_other_judges():
    """The judge prefers `me` always, the other judge never: +50 against -50 points."""
    own = {f"i{i}": "AB"[i % 2] for i in range(6)}
    other = {item: "B" if value == "A" else "A" for item, value in own.items()}
    source = source_of(pairwise_task(), {"j": own, "k": other})
    [preference] = self_preferences(source, {"j": "me"})
    assert (preference.own.value, preference.control.value, preference.effect.value) == (
        0.5,
        -0.5,
        1.0,
    )
    ties = source_of(pairwise_task(), {"j": dict.fromkeys(own, "tie")})
    [preference] = self_preferences(ties, {"j": "me"})
    assert preference.own.value == 0.0
    assert (preference.control.value, preference.control.reason) == (None, "no_items")
    assert preference.effect.value is None


def test_unknown_judges_systems_and_authors_are_named():
    """A judge that is not in the run, a system without texts, and texts without authors."""
    task = single_task()
    source = source_of(task, {"j": {"i0": "A"}})
    with pytest.raises(RunError, match=r"judge 'k' is not in this run\. Its judges: j"):
        self_preferences(source, {"k": "me"}, author="author")
    with pytest.raises(RunError, match="--own j=SYSTEM"):
        self_preferences(source, {"j": "them"}, author="author")
    with pytest.raises(RunError, match="--author"):
        self_preferences(source, {"j": "me"})
    with pytest.raises(
        RunError, match=r"item 'i0' has no system in the field 'model'\. Add the system's name"
    ):
        self_preferences(source, {"j": "me"}, author="model")
    nameless = pairwise_task()
    first, *others = nameless.items
    bare = type(first)(first.id, {"a": "x", "b": "y", "s": "me"}, first.group)
    nameless = nameless.model_copy(update={"items": (bare, *others)})
    with pytest.raises(RunError, match="item 'i0' has no system in the field 't'"):
        self_preferences(source_of(nameless, {"j": {"i0": "A"}}), {"j": "me"})


def test_self_preference_of_a_run(tmp_path, monkeypatch):
    """From the command line, on a run of scripted judges."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "task"
    folder.mkdir()
    description = {
        "name": "t",
        "property": "helpful",
        "scale": "binary",
        "options": ["A", "B"],
        "positive": ["A"],
    }
    (folder / "task.yaml").write_text(json.dumps(description), encoding="utf-8")
    items = [{"id": f"i{i}", "text": "x", "model": "me" if i < 6 else "you"} for i in range(12)]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
    ratings = "\n".join(f"i{i},r{r},{'AB'[i % 2]}" for i in range(12) for r in range(3))
    (folder / "ratings.csv").write_text(f"item,rater,value\n{ratings}", encoding="utf-8")
    replies = {f"i{i}": "A" for i in range(6)} | {f"i{i}": "AB"[i % 2] for i in range(6, 12)}
    judges = {"judges": {"vain": {"kind": "scripted", "replies": replies}}}
    (tmp_path / "judges.yaml").write_text(json.dumps(judges), encoding="utf-8")
    ran = invoke(
        *("run", "--task", "task", "--judges", "vain", "--judges-file", "judges.yaml"),
        *("--elicitation", "forced_choice", "--quiet"),
    )
    assert ran.exit_code == 0, ran.output
    words = ("lab", "probe", "self-preference", "--own", "vain=me", "--author", "model")
    shown = invoke(*words)
    assert shown.exit_code == 0, shown.output
    assert "+50" in shown.stdout
    [result] = json.loads(invoke(*words, "--json").stdout)
    assert (result["judge"], result["system"], result["n_own"]) == ("vain", "me", 6)
