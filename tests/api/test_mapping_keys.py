"""A mapping of columns in Python takes what `harness curate import` takes."""

from __future__ import annotations

from dataclasses import fields

import pytest

import harness
from harness.api.table_tasks import ANSWER_KEYS, TableMapping
from harness.errors import HarnessError
from harness.tasks.columns.column_mapping import ColumnMapping

N = 12
TEXTS = [f"The bus was late again, as case {i} shows." for i in range(N)]


def test_each_role_and_setting_of_the_command_is_a_key():
    roles = {role.name for role in fields(ColumnMapping)}
    assert roles | ANSWER_KEYS.keys() <= TableMapping.__annotations__.keys()


def test_sets_are_divided_and_an_empty_one_is_an_answer():
    rows = [
        {"id": f"d{i}", "text": TEXTS[i], "who": who, "tags": ("a;b", "a", "")[(i + k) % 3]}
        for i in range(N)
        for k, who in enumerate(("ann", "bea", "cem"))
    ]
    mapping = {"id": "id", "text": "text", "rater": "who", "set": "tags"}
    task = harness.load_task(rows, mapping=mapping | {"separator": ";", "none": "neither"})
    assert {r.value for r in task.ratings} == {("a", "b"), ("a",), ("neither",)}
    assert len(task.ratings) == len(rows)


def test_ticks_are_read_as_a_set():
    rows = [
        {"id": f"d{i}", "text": TEXTS[i], "who": who, "a": (i + k) % 2, "b": 1, "c": i % 2}
        for i in range(N)
        for k, who in enumerate(("ann", "bea", "cem"))
    ]
    mapping = {"id": "id", "text": "text", "rater": "who", "sets": ["a", "b", "c"]}
    task = harness.load_task(rows, mapping=mapping)
    assert {r.elicitation for r in task.ratings} == {"response_set"}


def test_shares_take_the_number_of_raters():
    rows = [
        {"id": f"d{i}", "text": TEXTS[i], "p_yes": i % 5 / 4, "p_no": 1 - i % 5 / 4}
        for i in range(N)
    ]
    counts = {"counts": ["p_yes", "p_no"], "id": "id", "text": "text"}
    assert len(harness.load_task(rows, mapping=counts | {"n_raters": 4}).ratings) == 4 * N
    with pytest.raises(HarnessError, match=r"mapping\['n_raters'\]"):
        harness.load_task(rows, mapping=counts)


def test_a_wrong_value_names_its_key():
    rows = [{"id": "a", "text": "One.", "ann": 1, "bea": 0}]
    with pytest.raises(HarnessError, match="decimal"):
        harness.load_task(rows, mapping={"raters": ["ann", "bea"], "decimal": "dot"})


RATED = [
    {"id": f"d{i}", "text": text, "ann": "bad" if i % 2 else "good", "bea": "good"}
    for i, text in enumerate(TEXTS)
]
RATERS = {"raters": ["ann", "bea"]}


def test_word_list_judges_rows_that_say_what_sentiment_means(tmp_path):
    """The error advised to edit a task.yaml, which rows in memory don't have."""
    with pytest.raises(HarnessError, match=r"Pass mapping\['lexicon'\] = {'positive': OPTION"):
        harness.run(RATED, ["lexicon"], mapping=RATERS, out=tmp_path)
    lexicon = {"positive": "good", "negative": "bad"}
    run = harness.run(RATED, ["lexicon"], mapping=RATERS | {"lexicon": lexicon}, out=tmp_path)
    assert run.verdicts["item"].nunique() == N
    with pytest.raises(HarnessError, match="lexicon"):
        harness.load_task(RATED, mapping=RATERS | {"lexicon": lexicon | {"negative": "worse"}})


def test_advice_on_labels_is_python():
    """It was a word quoted for a shell, without an equals sign."""
    rows = [row | {"ann": "don't know"} if i < 2 else row for i, row in enumerate(RATED)]
    with pytest.raises(HarnessError) as error:
        harness.load_task(rows, mapping=RATERS)
    assert """mapping['ignore'] = "don't know" if""" in str(error.value)


def test_frames_where_a_path_or_a_task_belongs_are_named(tmp_path):
    """They ended in a TypeError about os.PathLike, and in a ValueError about truth values."""
    frame = pytest.importorskip("pandas").DataFrame(RATED)
    with pytest.raises(HarnessError, match=r"items='DataFrame': not a path\. Write the items"):
        harness.estimate(judge="random", items=frame)
    with pytest.raises(
        HarnessError, match=r"task='DataFrame': not a task\. Pass harness.load_task"
    ):
        harness.check("random", frame)


def test_rows_without_a_property_are_told_which_key_to_pass(stub):
    """The error advised to edit a task.yaml, which rows in memory don't have."""
    with pytest.raises(HarnessError, match=r"Pass mapping\['property'\] with a phrase"):
        harness.run(RATED, ["m"], mapping=RATERS, base_url=stub.url())


def test_wrong_names_and_types_of_arguments_are_named():
    """`judge` was taken for `judges_file`, and a number ended in a TypeError."""
    with pytest.raises(HarnessError, match=r"Did you mean judges\?"):
        harness.run("toxicity", judge="random")
    with pytest.raises(HarnessError, match="rows or a DataFrame, but found int"):
        harness.run(12, ["random"])
