"""Projects of Label Studio: valid for its own SDK, and back as ratings, each once."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from support.annotating import make_unrated_task
from support.packages import checking
from support.pictures import png
from support.processes import invoke
from support.rating_tools import controls_of, label_studio_export, label_studio_result
from support.task_folders import write_jsonl

from harness.annotation.questions import checked_value
from harness.annotation.teams.label_studio_project import control_name
from harness.errors import TaskError
from harness.tasks import load_task
from harness.tasks.write import write_task

MARKUP = '<b onclick="x">$field & "quoted"</b> {{ 7*7 }}'
HOSTILE = f"{MARKUP} \u202e\x1b[31m"
BINARY = """\
scale: binary
options: [{key: A, label: Toxic, description: It hurts.}, {key: B, label: Not}]
positive: [A]
abstain: true
"""
ORDINAL = "scale: ordinal\noptions: ['1', '2', '3', '4']\n"
PAIRWISE = """\
scale: pairwise
options: [{key: A, label: Left}, {key: B, label: Right}, {key: C, label: Tie}]
text: [question, one, two]
pairwise: {answers: [one, two], first: A, second: B}
"""
RUBRIC = """\
scale: binary
options: [{key: met}, {key: missed}]
positive: [met]
rubric: {criteria: {clear: {description: Easy.}, correct: }}
"""
IMAGE = "scale: binary\noptions: [{key: A}, {key: B}]\npositive: [A]\nimage: picture\n"
NAMED_BADLY = f"scale: nominal\noptions: [{{key: A, label: {json.dumps(MARKUP)}}}, {{key: $B}}]\n"
TASKS = {
    "binary": (BINARY, [{"id": f"i{i}", "text": f"Text {i}"} for i in range(6)]),
    "ordinal": (ORDINAL, [{"id": f"i{i}", "text": f"Text {i}"} for i in range(6)]),
    "pairwise": (
        PAIRWISE,
        [{"id": f"i{i}", "question": "Q", "one": f"One {i}", "two": f"Two {i}"} for i in range(8)],
    ),
    "rubric": (
        RUBRIC,
        [
            {"id": f"i{i}{name}", "text": f"Text {i}", "group": f"g{i}", "criterion": name}
            for i in range(4)
            for name in ("clear", "correct")
        ],
    ),
    "continuous": (
        "scale: continuous\nbounds: [0, 1]\n",
        [{"id": f"i{i}", "text": f"Text {i}"} for i in range(4)],
    ),
    "text": ("scale: text\n", [{"id": f"i{i}", "text": f"Text {i}"} for i in range(4)]),
    "image": (
        IMAGE,
        [
            *({"id": f"i{i}", "text": f"Text {i}", "picture": f"{i}.png"} for i in range(3)),
            {"id": "i3", "text": "Without a picture"},
        ],
    ),
    "hostile": (NAMED_BADLY, [{"id": f"{HOSTILE[:9]}{i}", "text": HOSTILE} for i in range(2)]),
}


@pytest.fixture(params=TASKS)
def task(request, tmp_path):
    """A task of each kind, unrated."""
    yaml, items = TASKS[request.param]
    folder = make_unrated_task(tmp_path / "task", [])
    head = f"name: {request.param}\nproperty: {json.dumps('what it costs: $5')}\n"
    (folder / "task.yaml").write_text(
        f"{head}instructions: {json.dumps(f'Read. {HOSTILE}')}\n{yaml}", encoding="utf-8"
    )
    write_jsonl(folder / "items.jsonl", items)
    for i in range(3) if request.param == "image" else ():
        (folder / f"{i}.png").write_bytes(png(i))
    return folder


def exported(task, *options, name="project"):
    folder = task.parent / name
    result = invoke("curate", "export", task, folder, "--to", "label-studio", *options)
    assert result.exit_code == 0, (result.output, result.exception)
    return folder


def written(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.slow
def test_projects_are_valid_and_come_back(task):
    """Configuration, tasks and annotations pass the SDK; every rating is in the task, once."""
    sdk = checking("label-studio-sdk", "label_studio_sdk.label_interface")
    n_items, n_ratings = len(load_task(task, unrated=True).items), 0
    for form in load_task(task, unrated=True).elicitations:
        folder = exported(task, "--elicitation", form, name=f"project-{form}") / form
        interface = sdk.LabelInterface((folder / "label-config.xml").read_text(encoding="utf-8"))
        interface.validate()
        export = label_studio_export(folder, [1, {"id": 2, "email": f"bea@{form}.example"}])
        for one in export:
            assert interface.validate_task({"data": one["data"]})
            for annotation in one["annotations"]:
                assert interface._validate_object(annotation, return_errors=True) == []
        path = written(task.parent / "project-1.json", export)
        command = ("curate", "import", path, "--into", task, "--rater-name", f"1=ann {form}")
        assert invoke(*command).exit_code == 0
        after = load_task(task)
        n_ratings += 2 * n_items * (2 if form == "paired" else 1)
        assert len(after.ratings) == n_ratings
        assert {r.rater for r in after.ratings} >= {f"ann {form}", f"bea@{form}.example"}
        rating = after.ratings[-1]
        assert dict(rating.provenance)["rated_at"].startswith("2026-11-20T11:")
        assert checked_value(after, rating.elicitation, rating.value) == rating.value
        assert "0 ratings.\nRatings that were already in the task: " in invoke(*command).output
        assert load_task(task).content_hash == after.content_hash


def folder_of(tmp_path, name, n=None):
    yaml, items = TASKS[name]
    folder = make_unrated_task(tmp_path / "task", [])
    (folder / "task.yaml").write_text(f"name: {name}\nproperty: tone\n{yaml}", encoding="utf-8")
    write_jsonl(folder / "items.jsonl", items[:n])
    return folder


def test_drawn_order_is_kept_in_the_data_and_undone(tmp_path):
    """Both orders occur; who always takes what stands left prefers either answer of the item."""
    task = folder_of(tmp_path, "pairwise")
    folder = exported(task) / "forced_choice"
    config = (folder / "label-config.xml").read_text(encoding="utf-8")
    [control] = [c for c in controls_of(config) if c["name"] == "choice"]
    export = label_studio_export(folder, [1])
    ones = {}
    for one in export:
        data = one["data"]
        ones[data["harness_items"][0]] = data["text_2"].startswith("One")
        assert data["harness_swapped"] is not data["text_2"].startswith("One")
        assert (data["name_2"], data["name_3"]) == ("Left", "Right")
        one["annotations"][0]["result"] = [label_studio_result(control, ["A"])]
    assert len(set(ones.values())) == 2
    invoke("curate", "import", written(tmp_path / "x.json", export), "--into", task)
    loaded = load_task(task)
    assert {r.item: r.value == "A" for r in loaded.ratings} == ones
    swapped = {r.item: dict(r.provenance).get("swapped", "") for r in loaded.ratings}
    assert {item: text == "" for item, text in swapped.items()} == ones


def test_skips_comments_flags_and_later_answers_come_back(tmp_path):
    """A cancelled annotation is a skip; of two answers of an account the later holds."""
    task = folder_of(tmp_path, "binary", 3)
    folder = exported(task) / "forced_choice"
    controls = {
        c["name"]: c for c in controls_of((folder / "label-config.xml").read_text(encoding="utf-8"))
    }
    first, second, third = label_studio_export(folder, [1])
    first["annotations"][0] |= {"was_cancelled": True, "result": []}
    second["annotations"][0]["result"] = [
        label_studio_result(controls["choice"], ["A"]),
        label_studio_result(controls["comment"], ["Irony?"]),
        label_studio_result(controls["flag"], ["flagged"]),
    ]
    [earlier] = third["annotations"]
    earlier["result"] = [label_studio_result(controls["choice"], ["A"])]
    later = earlier | {"updated_at": "2026-11-21T00:00:00+02:00"}
    third["annotations"] = [later | {"result": [label_studio_result(controls["choice"], ["B"])]}]
    third["annotations"].append(earlier)
    path = written(tmp_path / "x.json", [first, second, third])
    result = invoke("curate", "import", path, "--into", task)
    assert "Replaced by a later answer from the same rater: 1." in result.output
    assert "Items flagged: 1. Comments: 1." in result.output
    loaded = load_task(task, unrated=True)
    by_item = {r.item: r for r in loaded.ratings}
    items = [one["data"]["harness_items"][0] for one in (first, second, third)]
    assert items[0] not in by_item
    assert (task / "skipped.csv").read_text().splitlines()[1].startswith(f"{items[0]},annotator 1,")
    assert dict(by_item[items[1]].provenance)["comment"] == "Irony?"
    assert dict(by_item[items[1]].provenance)["flagged"] == "yes"
    assert by_item[items[2]].value == "B"
    assert dict(by_item[items[2]].provenance)["rated_at"] == "2026-11-20T22:00:00Z"


def test_values_that_are_no_answers_are_named_and_left_out(tmp_path):
    """An option that the task does not have, and 'cannot assess' beside options."""
    task = folder_of(tmp_path, "binary", 3)
    folder = exported(task, "--elicitation", "response_set") / "response_set"
    config = (folder / "label-config.xml").read_text(encoding="utf-8")
    [control] = [c for c in controls_of(config) if c["name"] == "set"]
    export = label_studio_export(folder, [1])
    for one, value in zip(export, (["Z"], ["A", "CANNOT_ASSESS"], ["Not"]), strict=True):
        one["annotations"][0]["result"] = [label_studio_result(control, value)]
    result = invoke("curate", "import", written(tmp_path / "x.json", export), "--into", task)
    assert "Left out, because they aren't answers: 2:" in result.output
    assert "the answer isn't one of the task's options" in result.output
    assert [r.value for r in load_task(task, unrated=True).ratings] == [("B",)]


def test_items_are_divided_among_raters(tmp_path):
    """Each item goes to so many raters, who get equally many; a queue names them otherwise."""
    task = folder_of(tmp_path, "binary")
    folder = exported(task, "--raters", "ann,bea,cem,dee", "--per-item", 2)
    data = [t["data"] for t in json.loads((folder / "forced_choice/tasks.json").read_text())]
    named = [one["harness_raters"].split(", ") for one in data]
    assert all(len(set(names)) == 2 for names in named)
    assert set(Counter(name for names in named for name in names).values()) == {3}
    queue = folder / "assignments.csv"
    other = task.parent / "queued"
    invoke("curate", "export", task, other, "--to", "label-studio", "--queue", queue)
    queued = [t["data"] for t in json.loads((other / "forced_choice/tasks.json").read_text())]
    expected = {tuple(one["harness_items"]): one["harness_raters"] for one in data}
    assert {tuple(one["harness_items"]): one["harness_raters"] for one in queued} == expected
    export = label_studio_export(folder / "forced_choice", [{"email": "zoe"}])
    path = written(tmp_path / "x.json", export)
    assert (
        "Answered screens that were assigned to others: zoe."
        in invoke("curate", "import", path, "--into", task).output
    )
    refused = invoke("curate", "export", task, "x", "--to", "label-studio", "--per-item", 2)
    assert refused.exit_code == 2


def test_a_queue_of_pairs_and_choices_makes_two_projects(tmp_path):
    """What `curate next` queues is asked in its form."""
    task = folder_of(tmp_path, "binary")
    queue = tmp_path / "queue.csv"
    queue.write_text("item,elicitation\ni0,paired\ni1,forced_choice\n", encoding="utf-8")
    folder = exported(task, "--queue", queue)
    assert {path.name for path in folder.iterdir()} == {
        "assignments.csv",
        "paired",
        "forced_choice",
    }
    for form, item in (("paired", "i0"), ("forced_choice", "i1")):
        [one] = json.loads((folder / form / "tasks.json").read_text())
        assert one["data"]["harness_items"] == [item]


def test_ratings_of_a_changed_text_are_named(tmp_path):
    """What was shown in the tool is compared with the task as it is now."""
    task = folder_of(tmp_path, "binary", 3)
    export = label_studio_export(exported(task) / "forced_choice", [1])
    items = task / "items.jsonl"
    items.write_text(items.read_text().replace("Text 1", "Text 11"), encoding="utf-8")
    path = written(tmp_path / "x.json", export)
    result = invoke("curate", "import", path, "--into", task)
    assert "items i1. These ratings are left out. To add them, pass --outdated." in result.output
    assert "1 ratings" in invoke("curate", "import", path, "--into", task, "--outdated").output


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b'{"annotations": 1, "harness_items": []}',
        b'[{"data": {"harness_items": [1]}, "annotations": []}]',
        b'[{"data": {"harness_items": []}, "annotations": ' + b"[" * 100_000,
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path, content):
    """No export, a damaged one and a deeply nested one end with exit code 2."""
    task = folder_of(tmp_path, "binary")
    (tmp_path / "x.json").write_bytes(content)
    result = invoke("curate", "import", tmp_path / "x.json", "--into", task)
    assert isinstance(result.exception, TaskError)
    assert "this is not a JSON export" in str(result.exception)


def test_ratings_for_a_different_task_are_rejected(tmp_path):
    """By the name that stands in the data."""
    task = folder_of(tmp_path, "binary", 3)
    export = label_studio_export(exported(task) / "forced_choice", [1])
    for one in export:
        one["data"]["harness_task"] = "other"
    result = invoke("curate", "import", written(tmp_path / "x.json", export), "--into", task)
    assert "ratings for task 'other', not for 'binary'" in str(result.exception)
    assert not (task / "ratings.jsonl").exists()


WITH_TEXTS = ("coherence", "consistency", "helpfulness", "relevance", "toxicity")


@pytest.mark.parametrize("name", WITH_TEXTS)
def test_ratings_of_bundled_tasks_survive_the_tool(name, tmp_path):
    """Exported without its ratings, filled in with them, and imported: the same ratings."""
    task = load_task(name)
    folder = tmp_path / "task"
    write_task(task, folder, item_text=True)
    (folder / "ratings.jsonl").unlink()
    given = {(r.item, r.rater): r.value for r in task.ratings if r.elicitation == "forced_choice"}
    raters = sorted({rater for _, rater in given})
    [project] = [path for path in exported(folder).iterdir() if path.is_dir()]
    config = (project / "label-config.xml").read_text(encoding="utf-8")
    controls = {c["name"]: c for c in controls_of(config)}
    export = label_studio_export(project, [{"email": rater} for rater in raters])
    for one in export:
        items, swapped = one["data"]["harness_items"], one["data"]["harness_swapped"]
        for annotation, rater in zip(one["annotations"], raters, strict=True):
            annotation["result"] = [
                label_studio_result(controls[control_name("forced_choice", n, len(items))], [value])
                for n, item in enumerate(items)
                if (key := given.get((item, rater))) is not None
                for value in [task.pairwise.swapped_key(key) if swapped else key]
            ]
    path = written(tmp_path / "x.json", export)
    result = invoke("curate", "import", path, "--into", folder)
    assert result.exit_code == 0, result.exception
    again = {(r.item, r.rater): r.value for r in load_task(folder).ratings}
    assert again == given
