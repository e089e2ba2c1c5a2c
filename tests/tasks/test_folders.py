"""Task folders are found by name or path, read whole, and written back unchanged."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.task_folders import make_task_folder

from harness.errors import TaskError
from harness.tasks import (
    CANNOT_ASSESS,
    Item,
    Lexicon,
    Option,
    Rating,
    Task,
    available_tasks,
    bundled,
    describe,
    find_task,
    load_task,
    write_task,
)

SAID = {
    "name": "demo",
    "property": "x",
    "scale": "binary",
    "options": [{"key": "A", "label": "Toxic"}, {"key": "B", "label": "Not toxic"}],
}
ITEMS = [
    {"id": "a", "text": "first"},
    {"id": "b", "text": "second", "group": "g", "criterion": "c"},
]
RATINGS = "item,rater,value\na,h1,A\nb,h1,B\n"


def make(folder, fields=SAID, *, items=ITEMS, ratings=RATINGS, groups=None):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.yaml").write_text(json.dumps(fields))
    for name, rows in (("items", items), ("groups", groups)):
        if rows is not None:
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    if ratings is not None:
        (folder / "ratings.csv").write_text(ratings)
    return folder


def fault(folder, **options):
    with pytest.raises(TaskError) as caught:
        load_task(folder, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_items_keep_their_fields_group_and_criterion(tmp_path):
    """What prompts and the bootstrap need is there."""
    task = load_task(make(tmp_path))
    assert task.items == (Item("a", {"text": "first"}), Item("b", {"text": "second"}, "g", "c"))
    assert repr(task) == "Task('demo', binary, 2 options, 2 items, 2 ratings)"
    assert task.folder == tmp_path


def test_cells_that_are_no_text_are_written_as_json(tmp_path):
    """Numbers, lists and objects can be shown; what is null is absent."""
    items = [{"id": 1, "text": [{"role": "user"}], "n": 2, "none": None}]
    task = load_task(make(tmp_path, items=items, ratings="item,rater,value\n1,h1,A\n"))
    assert task.items == (Item("1", {"text": '[{"role": "user"}]', "n": "2"}),)


def test_items_are_joined_with_their_groups(tmp_path):
    """The group's fields come first, then the item's own."""
    groups = [{"id": "g", "article": "long"}, {"id": "unused", "article": "other"}]
    task = load_task(make(tmp_path, groups=groups))
    assert [item.fields for item in task.items] == [
        {"text": "first"},
        {"article": "long", "text": "second"},
    ]


@pytest.mark.parametrize(
    ("items", "groups", "message"),
    [
        (ITEMS, [{"id": "other"}], "item 'b': group 'g' is not in the groups file"),
        (
            ITEMS,
            [{"id": "g", "text": "x"}],
            "item 'b': the field 'text' is also in the item's group",
        ),
        (ITEMS, [{"id": "g"}, {"id": "g"}], "groups.jsonl: line 2: id 'g' occurs twice"),
        ([*ITEMS, ITEMS[0]], None, "items.jsonl: line 3: id 'a' occurs twice"),
        ([{"text": "x"}], None, "items.jsonl: line 1: column 'id' is missing"),
        ([{"id": " a"}], None, "line 1: id: found ' a'. Write 1 to 256"),
        ([{"id": "a", "group": "g\n"}], None, "line 1: group: found 'g\\n'"),
        (None, [{"id": "g"}], "found groups but no items"),
        ([], None, "items.jsonl: the file is empty"),
    ],
)
def test_faults_of_items_and_groups_are_named(tmp_path, items, groups, message):
    """Ids are unique, groups exist, fields have one origin."""
    assert message in fault(make(tmp_path, items=items, groups=groups))


def test_a_task_without_items_takes_them_from_its_ratings(tmp_path):
    """Labels alone make a task; its items come in the order in which they were first rated."""
    task = load_task(make(tmp_path, items=None, ratings="item,rater,value\nb,1,A\na,1,B\nb,2,B\n"))
    assert task.items == (Item("b", {}), Item("a", {}))
    assert not any(task.has_text(item) for item in task.items)
    with pytest.raises(TaskError, match="item 'b' is blank: it has no text in text"):
        task.text_of(task.items[0])


def test_ids_alone_make_items(tmp_path):
    """An items file may hold nothing but ids, even where the task names fields to show."""
    task = load_task(make(tmp_path, SAID | {"text": ["text"]}, items=[{"id": "a"}, {"id": "b"}]))
    assert not any(task.has_text(item) for item in task.items)


def test_a_field_that_no_item_has_is_a_fault(tmp_path):
    """A misspelt name under `text` is found on load, not by the first judge."""
    message = fault(make(tmp_path, SAID | {"text": ["text", "txt"]}))
    assert message.endswith("text: no item has a field 'txt'. The fields are text.")


RATED_BY_FOUR = "item,rater,value\na,h1,A\na,h2,B\nb,h3,B\nb,h4,B\n"
ANSWERED = [{"id": "a", "text": "first", "answer": "A"}, {"id": "b", "text": "second"}]


def test_a_task_says_how_the_annotator_test_is_done(tmp_path):
    """Margin, expert, right answers, weights of raters, and whom to combine; and keeps it."""
    fields = {
        "eps": 0.05,
        "expert": "h1",
        "gold": "answer",
        "quality": {"h1": 2, "h2": 1, "h3": 1, "h4": 0.5},
        "combine": [["h1", "h2"], ["h3", "h4"]],
    }
    folder = make(
        tmp_path / "a", SAID | {"alt_test": fields}, items=ANSWERED, ratings=RATED_BY_FOUR
    )
    task = load_task(folder)
    assert task.alt_test.model_dump(mode="json") == fields
    write_task(task, tmp_path / "b", item_text=True)
    assert load_task(tmp_path / "b").content_hash == task.content_hash
    write_task(task, tmp_path / "c", item_text=False)
    assert [item.fields for item in load_task(tmp_path / "c").items] == [{"answer": "A"}, {}]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"eps": 1}, "alt_test.eps: found '1'. Input should be less than 1."),
        ({"expert": "h9"}, "alt_test.expert: 'h9' didn't rate any item. Write a rater's name."),
        ({"quality": {"h1": 0}}, "alt_test.quality.h1: found '0'. Input should be greater than 0."),
        (
            {"quality": {"h1": 1}},
            "alt_test.quality: 'h2' has no number. Write a number for every rater.",
        ),
        (
            {"combine": [["h1", "h2"]]},
            "alt_test.combine: write two sets of raters, with each rater in only one set.",
        ),
        (
            {"combine": [["h1"], ["h2"]]},
            "alt_test.combine: item 'a' was rated by both sets",
        ),
        (
            {"gold": "key"},
            (
                "alt_test.gold: no item has a field 'key'. Write the name of the field with the "
                "answers."
            ),
        ),
        (
            {"gold": "text"},
            "alt_test.gold: item 'a' has 'first', which is not an option. The option keys are",
        ),
        (
            {"epsilon": 0.1},
            (
                "alt_test.epsilon: unknown field. Remove this field, or use one of eps, expert, "
                "gold, quality"
            ),
        ),
    ],
)
def test_faults_of_the_annotator_test_are_found_on_load(tmp_path, fields, message):
    """Each names the field, what was found and what to do."""
    fields = json.loads(json.dumps(fields), parse_int=str, parse_float=str)
    folder = make(tmp_path, SAID | {"alt_test": fields}, items=ANSWERED, ratings=RATED_BY_FOUR)
    assert fault(folder).startswith(f"{folder / 'task.yaml'}: {message}")


def test_positional_raters_are_not_compared_as_people(tmp_path):
    """A task that says both is refused."""
    fields = SAID | {"alt_test": {"eps": 0.1}, "rater_ids": "positional"}
    assert "alt_test: raters are positional" in fault(make(tmp_path, fields))


def test_one_field_is_shown_bare_and_several_with_their_names(tmp_path):
    """Judges see the fields that the task names, in its order."""
    items = [{"id": "a", "q": "Q", "r": "R", "text": "T"}, {"id": "b", "q": " ", "r": "R"}]
    task = load_task(make(tmp_path, SAID | {"text": ["r", "q"]}, items=items))
    assert task.text_of(task.items[0]) == "r:\nR\n\nq:\nQ"
    assert task.text_of(task.items[1]) == "r:\nR\n\nq:\n "
    assert task.has_blank_part(task.items[1])
    assert not task.has_blank_part(task.items[0])
    assert load_task(make(tmp_path, SAID, items=items)).text_of(task.items[0]) == "T"


@pytest.mark.parametrize(
    "name",
    [
        "../ratings.csv",
        "/etc/passwd",
        "x/../../ratings.csv",
        "..\\ratings.csv",
        "C:\\x.csv",
        "a\0b.csv",
    ],
)
@pytest.mark.parametrize("kind", ["items", "groups", "ratings"])
def test_a_path_that_leaves_the_folder_is_refused(tmp_path, name, kind):
    """A task reads nothing but its own folder."""
    make(tmp_path / "out")
    assert f"task.yaml: {kind}: {name!r} is outside the task's folder" in fault(
        make(tmp_path / "task", SAID | {kind: name})
    )


def test_links_do_not_lead_out_of_the_folder(tmp_path):
    """Neither a named nor a found file, nor task.yaml itself, may be a link to elsewhere."""
    outside = make(tmp_path / "outside")
    folder = make(tmp_path / "named", SAID | {"items": "link.jsonl"})
    (folder / "link.jsonl").symlink_to(outside / "items.jsonl")
    assert "items: 'link.jsonl' is outside" in fault(folder)
    folder = make(tmp_path / "found", ratings=None)
    (folder / "ratings.csv").symlink_to(outside / "ratings.csv")
    assert "ratings: 'ratings.csv' is outside" in fault(folder)
    folder = tmp_path / "whole"
    folder.mkdir()
    (folder / "task.yaml").symlink_to(outside / "task.yaml")
    assert "'task.yaml' is outside" in fault(folder)
    folder = make(tmp_path / "circle", SAID | {"ratings": "loop.csv"})
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    assert str(folder) in fault(folder)


def test_links_inside_and_to_the_folder_are_followed(tmp_path):
    """A folder that is itself reached by a link is fine."""
    folder = make(tmp_path / "task", SAID | {"ratings": "sub/r.csv"}, ratings=None)
    (folder / "sub").mkdir()
    (folder / "other.csv").write_text(RATINGS)
    (folder / "sub" / "r.csv").symlink_to(folder / "other.csv")
    (tmp_path / "link").symlink_to(folder)
    assert load_task(tmp_path / "link").content_hash == load_task(folder).content_hash


def test_files_that_are_absent_or_two_are_named(tmp_path):
    """There is one ratings file, and the one named is there."""
    assert "found no ratings. Write ratings.csv" in fault(make(tmp_path / "a", ratings=None))
    folder = make(tmp_path / "b")
    (folder / "ratings.jsonl").write_text("{}")
    assert "found ratings.jsonl and ratings.csv. Write the one to use under 'ratings'" in fault(
        folder
    )
    assert "x.csv: the file was not found" in fault(
        make(tmp_path / "c", SAID | {"ratings": "x.csv"})
    )


def test_the_three_formats_hold_the_same_task(tmp_path):
    """The hash is of the content, not of the files."""
    import pyarrow as pa
    from pyarrow import parquet

    task = load_task(make(tmp_path / "one"))
    folder = make(tmp_path / "two", items=None, ratings=None)
    rows = [{"item": "a", "rater": "h1", "value": "A"}, {"item": "b", "rater": "h1", "value": "B"}]
    parquet.write_table(pa.Table.from_pylist(rows), folder / "ratings.parquet")
    (folder / "items.csv").write_text("id,text,group,criterion\na,first,,\nb,second,g,c\n")
    assert load_task(folder).content_hash == task.content_hash


@pytest.mark.parametrize(
    "change",
    [
        {"tau": 0.4},
        {"instructions": "y"},
        {"positive": ["A"]},
        {"options": [{"key": "A", "label": "Toxic", "description": "d"}, {"key": "B"}]},
        {"notice": "n"},
    ],
)
def test_the_hash_sees_every_change(tmp_path, change):
    """Whatever the task says is in its hash."""
    assert (
        load_task(make(tmp_path, SAID | change)).content_hash
        != load_task(make(tmp_path)).content_hash
    )


def test_the_hash_sees_texts_and_ratings_but_not_places(tmp_path):
    """An edited item or rating changes it; another folder does not."""
    task = load_task(make(tmp_path / "one"))
    assert load_task(make(tmp_path / "two")).content_hash == task.content_hash
    edited = [ITEMS[0] | {"text": "firsT"}, ITEMS[1]]
    assert load_task(make(tmp_path / "two", items=edited)).content_hash != task.content_hash
    other = load_task(make(tmp_path / "three", ratings=RATINGS.replace("a,h1,A", "a,h1,B")))
    assert other.content_hash != task.content_hash


def test_a_copy_with_changes_is_checked_and_hashed_anew(tmp_path):
    """Nothing computed for the old values is carried over."""
    task = load_task(make(tmp_path))
    before = task.content_hash, task.space
    copy = task.model_copy(update={"tau": 0.25, "response_sets": (("A",), ("B",))})
    assert copy.content_hash != before[0]
    assert len(copy.space.sets) == 2
    with pytest.raises(ValidationError):
        task.model_copy(update={"tau": 2.0})
    with pytest.raises(ValidationError):
        task.tau = 0.1


def test_the_space_admits_what_the_task_admits(tmp_path):
    """Every set, the listed ones, or the single options where the sets are unknown."""
    every = load_task(make(tmp_path))
    assert every.space.sets == (("A",), ("B",), ("A", "B"))
    listed = every.model_copy(update={"response_sets": (("B",), ("B", "A"))})
    assert listed.space.sets == (("B",), ("A", "B"))
    many = every.model_copy(update={"scale": "nominal", "options": tuple("ABCDEFGHIJK")})
    assert (len(many.space.sets), many.space.sets_known) == (11, False)
    assert many.elicitations == ("forced_choice",)
    assert every.elicitations == listed.elicitations == ("forced_choice", "response_set", "paired")


def test_a_task_is_found_by_name_then_by_path(tmp_path, monkeypatch):
    """The user's folders come before ./datasets, and both before what is bundled."""
    own, here = tmp_path / "mine", tmp_path / "work"
    make(own / "demo", SAID | {"notice": "mine"})
    make(here / "datasets" / "demo", SAID | {"notice": "here"})
    make(here / "datasets" / "toxicity", SAID | {"notice": "hides the bundled one"})
    monkeypatch.chdir(here)
    assert load_task("demo").notice == "here"
    monkeypatch.setenv("HARNESS_TASKS", os.pathsep.join([str(tmp_path / "absent"), str(own)]))
    assert load_task("demo").notice == "mine"
    assert load_task("datasets/demo").notice == "here"
    assert load_task(str(own / "demo" / "task.yaml")).notice == "mine"
    assert load_task("toxicity").notice == "hides the bundled one"
    assert load_task(bundled("datasets") / "toxicity").notice.startswith("authored probe")
    names = dict(available_tasks())
    assert {"demo", "toxicity", "diagnoses"} <= names.keys()
    assert names["demo"] == own / "demo"


def test_an_unknown_task_is_answered_with_the_names_there_are(tmp_path, monkeypatch):
    """The message says what would have been found."""
    make(tmp_path / "demo")
    monkeypatch.setenv("HARNESS_TASKS", str(tmp_path))
    with pytest.raises(
        TaskError,
        match=r"task 'dmeo' was not found. Did you mean demo\? Use one of the names \(.*demo.*\)",
    ):
        find_task("dmeo")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TaskError, match=r"the folder has no task\.yaml"):
        find_task(str(tmp_path / "empty"))


def test_a_broken_task_does_not_hide_the_others(tmp_path, monkeypatch):
    """A listing shows the fault in its place."""
    monkeypatch.setenv("HARNESS_TASKS", str(tmp_path))
    make(tmp_path / "good")
    make(tmp_path / "bad", {"name": "bad"})
    listed = {name: describe(folder) for name, folder in available_tasks()}
    assert listed["good"]["options"] == 2
    assert "property: this field is missing" in str(listed["bad"]["notice"])


def test_bundled_folders_are_those_of_the_checkout():
    """Prompts and data sets of a checkout are those at its top."""
    top = Path(__file__).resolve().parents[2]
    assert bundled("datasets") == top / "datasets"
    assert bundled("prompts") == top / "prompts"


def test_a_written_task_is_the_task_that_was_read(tmp_path):
    """With texts, the folder written gives the same hash, whatever the groups held."""
    fields = SAID | {
        "positive": ["A"],
        "response_sets": [["A"], ["B"], ["A", "B"]],
        "abstain": True,
        "tau": 0.25,
        "sensitivity": {"B": ["A"]},
        "ignore_labels": ["n/a"],
        "lexicon": {"positive": "B", "negative": "A", "cutoff": 0.1},
        "text": ["article", "text"],
        "instructions": "one\n\n  two: 'three'\n",
    }
    rows = RATINGS + "a,h2,n/a\nb,h3,CANNOT_ASSESS\n"
    folder = make(
        tmp_path / "one", fields, ratings=rows, groups=[{"id": "g", "article": "é\u2028x"}]
    )
    task = load_task(folder)
    write_task(task, tmp_path / "two", item_text=True)
    again = load_task(tmp_path / "two")
    assert again.content_hash == task.content_hash
    assert again.model_copy(update={"folder": task.folder}) == task
    assert again.n_ignored == {"n/a": 1}
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == [
        "items.jsonl",
        "ratings.jsonl",
        "task.yaml",
    ]


def test_a_task_written_without_texts_has_none(tmp_path):
    """Ids, groups and criteria stay, so that every number can be redone."""
    task = load_task(make(tmp_path / "one", SAID | {"text": ["text"]}))
    write_task(task, tmp_path / "two", item_text=False)
    written = "".join(path.read_text() for path in (tmp_path / "two").iterdir())
    assert "first" not in written
    again = load_task(tmp_path / "two")
    assert again.items == (Item("a", {}), Item("b", {}, "g", "c"))
    assert again.ratings == task.ratings


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)
NAME = st.text(st.characters(categories=("L", "N"), exclude_characters="_"), min_size=1, max_size=8)


@pytest.mark.slow
@example(labels=["x", "y"], texts=[""], instructions="a\x85}b\u2028 c\n d\r", tau=0.5)
@given(
    labels=st.lists(NAME, min_size=2, max_size=4, unique_by=str.casefold),
    texts=st.lists(TEXT, min_size=1, max_size=4),
    instructions=TEXT,
    tau=st.floats(0.001, 1),
)
def test_writing_and_reading_any_task_keeps_its_hash(
    tmp_path_factory, labels, texts, instructions, tau
):
    """Whatever texts and labels look like, the round trip keeps them."""
    folder = tmp_path_factory.mktemp("task")
    options = tuple(Option(key=f"k{n}", label=label + "!") for n, label in enumerate(labels))
    items = tuple(Item(f"i{n}", {"text": text}) for n, text in enumerate(texts))
    task = Task(
        name="any",
        property="x",
        scale="nominal",
        options=options,
        instructions=instructions,
        tau=tau,
        abstain=True,
        lexicon=Lexicon(positive="k0", negative="k1"),
        items=items,
        ratings=(
            *(Rating(item.id, "h", "forced_choice", "k1") for item in items),
            Rating("i0", "h", "response_set", ("k0", "k1")),
            Rating("i0", "h2", "response_set", CANNOT_ASSESS),
        ),
    )
    write_task(task, folder, item_text=True)
    assert load_task(folder).content_hash == task.content_hash


@pytest.mark.slow
def test_a_large_task_loads_in_seconds(tmp_path):
    """20,000 items with 5 ratings each take a few seconds of CPU at most."""
    items = [
        {"id": f"i{i:05d}", "group": f"g{i // 10}", "text": "some text " * 20}
        for i in range(20_000)
    ]
    rows = "".join(f"i{i:05d},r{h},{'AB'[(i + h) % 2]}\n" for i in range(20_000) for h in range(5))
    folder = make(tmp_path, items=items, ratings="item,rater,value\n" + rows)
    begun = time.process_time()
    task = load_task(folder)
    assert time.process_time() - begun < 10
    assert len(task.ratings) == 100_000


def test_content_of_a_long_task_is_hashed_as_one_document(tmp_path):
    """Blocks of items and ratings join to the JSON of all: none is left out or stands twice."""
    folder = make_task_folder(tmp_path / "long", 2001)
    task = load_task(folder)
    content = {
        "task": task.described(),
        "items": [(item.id, item.group, item.criterion, item.fields) for item in task.items],
        "ratings": [(r.item, r.rater, r.elicitation, r.value) for r in task.ratings],
        "ignored": [],
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert task.content_hash == hashlib.sha256(text.encode()).hexdigest()
