"""Items without a text: found before the first request, left out or shown as empty, and counted."""

from __future__ import annotations

import json
import shutil

import pytest
from support.each_case import fast_first
from support.pictures import png
from support.processes import call_harness
from support.task_folders import make_pairwise_folder, make_task_folder, write_jsonl

import harness
from harness.files.plain_text import is_blank
from harness.runs.run_folder import RunFolder

UNSEEN = ["", " \t\n", "\xa0\u3000", "\u200b\ufeff\u2060", "\0\x1b", "\u2800\u3164\ufe0f\xad"]
BLANK = dict(zip(("i1", "i4"), ("", "\u200b \xa0"), strict=True))


def rows_of(file):
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def change(folder, texts, field="text"):
    """Give some items other texts; None stands for null."""
    items = rows_of(folder / "items.jsonl")
    write_jsonl(folder / "items.jsonl", [i | {field: texts.get(i["id"], i[field])} for i in items])
    return folder


def asked(folder, stub, tmp_path, *arguments, command="run", code=0):
    """Call a command with the stub server as judge; return what it printed, and the run."""
    stub.reset()
    result = call_harness(
        *(command, "--task", folder, "--judges", "stub", "--base-url", stub.url()),
        *("--elicitation", "forced_choice", "--samples", 1, "--out", tmp_path / "runs"),
        *arguments,
        cwd=tmp_path,
    )
    assert result.returncode == code, result.stderr
    runs = list((tmp_path / "runs").glob("*/manifest.json"))
    return result, RunFolder.open(runs[0].parent) if runs else None


def prompts(stub):
    return [json.loads(request["body"])["messages"][-1]["content"] for request in stub.requests()]


@pytest.mark.parametrize("text", UNSEEN)
def test_text_without_a_visible_character_is_blank(text):
    """Spaces, control characters and what Unicode says is ignored show a reader nothing."""
    assert is_blank(text)
    assert not is_blank(f"{text}.")


@pytest.mark.parametrize("text", ["no", "\u0301", "\U0001f600", "-", "\ud800"])
def test_text_with_a_visible_character_is_not_blank(text):
    """Marks, signs and pictures are seen."""
    assert not is_blank(text)


def test_blank_items_are_left_out_and_counted(stub, tmp_path):
    """The first line counts them; no reply to them is planned or paid for."""
    folder = change(make_task_folder(tmp_path / "t", response_sets=False), BLANK | {"i5": None})
    result, run = asked(folder, stub, tmp_path)
    assert result.stderr.startswith("The run leaves out 3 blank items (i1, i4, i5).\n")
    assert stub.stats()["requests"] == len(run.read_verdicts().final) == 3
    metrics = json.loads((run.path / "metrics.json").read_text("utf-8"))
    assert "3 blank items (i1, i4, i5) are left out" in metrics["notes"]
    [counts] = metrics["judges"][0]["outcomes"]
    assert counts["planned"] == counts["answered"] == 3


def test_dry_run_counts_blank_items(stub, tmp_path):
    """What a run would leave out is known before it is started."""
    folder = change(make_task_folder(tmp_path / "t", response_sets=False), BLANK)
    result, _ = asked(folder, stub, tmp_path, "--dry-run")
    assert result.stdout.startswith("The run leaves out 2 blank items (i1, i4).\n")


def test_run_without_texts_still_knows_its_blank_items(stub, tmp_path):
    """A folder that keeps no texts leaves the same items out when it is validated again."""
    folder = change(make_task_folder(tmp_path / "t", response_sets=False), BLANK)
    _, run = asked(folder, stub, tmp_path, "--no-item-text", "--json")
    before = json.loads((run.path / "metrics.json").read_text("utf-8"))
    result = call_harness("validate", run.path, "--json", cwd=tmp_path)
    assert json.loads(result.stdout)["judges"] == before["judges"]


def test_limit_counts_items_with_a_text(stub, tmp_path):
    """--limit 3 asks about three items, and counts the blank ones before the third."""
    texts = {"i1": "", "i5": ""}
    folder = change(make_task_folder(tmp_path / "t", response_sets=False), texts)
    result, run = asked(folder, stub, tmp_path, "--limit", 3)
    assert {v.item for v in run.read_verdicts().final.values()} == {"i0", "i2", "i3"}
    assert "leaves out 1 blank item (i1)." in result.stderr


@pytest.mark.parametrize("side", fast_first(1, ["\u200b", None, ""]))
def test_blank_side_of_a_pair_is_an_empty_answer(stub, tmp_path, side):
    """It is shown as empty, in both orders, and counted; the pair stays."""
    make_pairwise_folder(tmp_path / "p")
    change(tmp_path / "p", {"i3": side}, "answer_b")
    result, run = asked(tmp_path / "p", stub, tmp_path, "--samples", 2)
    assert "In 1 item (i3), one of the texts is blank, so judges see it as empty." in result.stderr
    assert len(run.read_verdicts().final) == 16
    shown = [prompt for prompt in prompts(stub) if "long 3" in prompt]
    assert len(shown) == 2
    assert all("answer_a:\n" in prompt and "answer_b:\n" in prompt for prompt in shown)


def test_pair_of_two_blank_answers_to_a_question_is_judged(stub, tmp_path):
    """A question with two empty answers shows a judge something; without it, it is left out."""
    make_pairwise_folder(tmp_path / "p")
    for field in ("answer_a", "answer_b"):
        change(tmp_path / "p", {"i3": "", "i4": ""}, field)
    change(tmp_path / "p", {"i4": " "}, "question")
    result, run = asked(tmp_path / "p", stub, tmp_path)
    assert {v.item for v in run.read_verdicts().final.values()} == {f"i{i}" for i in range(8)} - {
        "i4"
    }
    assert "leaves out 1 blank item (i4)." in result.stderr


def test_blank_text_of_a_group_is_shown_as_empty(stub, tmp_path):
    """An article that is blank beside a sentence is empty; both blank, the item is left out."""
    folder = make_task_folder(tmp_path / "t", response_sets=False)
    items = [i | {"group": f"g{k // 2}"} for k, i in enumerate(rows_of(folder / "items.jsonl"))]
    items[1]["text"] = " "
    write_jsonl(folder / "items.jsonl", items)
    groups = [{"id": f"g{k}", "article": "" if k == 0 else f"article {k}"} for k in range(3)]
    write_jsonl(folder / "groups.jsonl", groups)
    with (folder / "task.yaml").open("a") as file:
        file.write("text: [article, text]\n")
    result, _ = asked(folder, stub, tmp_path)
    assert "leaves out 1 blank item (i1)." in result.stderr
    assert "In 1 item (i0), one of the texts is blank" in result.stderr


def test_image_without_a_text_is_judged(stub, tmp_path):
    """An image is something to judge; neither image nor text is not."""
    folder = change(make_task_folder(tmp_path / "t", response_sets=False), {"i0": "", "i1": ""})
    (folder / "i0.png").write_bytes(png(40))
    items = rows_of(folder / "items.jsonl")
    items[0]["picture"] = "i0.png"
    write_jsonl(folder / "items.jsonl", items)
    with (folder / "task.yaml").open("a") as file:
        file.write("image: picture\n")
    result, run = asked(folder, stub, tmp_path)
    assert "leaves out 1 blank item (i1)." in result.stderr
    assert {v.item for v in run.read_verdicts().final.values()} == {"i0", "i2", "i3", "i4", "i5"}


def test_blank_items_are_no_demonstrations(stub, tmp_path):
    """A few-shot judge is shown other items, and not asked about the blank one."""
    folder = change(make_task_folder(tmp_path / "t", 12, response_sets=False), {"i3": "\u200b"})
    _, run = asked(folder, stub, tmp_path, "--judges", "stub@few-shot:2")
    assert len(run.read_verdicts().final) == 11
    drawn = json.loads((run.prompts / "demonstrations.json").read_text("utf-8"))
    assert "i3" not in {row["item"] for row in drawn["forced_choice"]}


def test_task_of_blank_items_alone_is_refused(stub, tmp_path):
    """Nothing is sent, and the code is 2."""
    texts = {f"i{i}": "\xa0" for i in range(6)}
    folder = change(make_task_folder(tmp_path / "t", response_sets=False), texts)
    result, run = asked(folder, stub, tmp_path, code=2)
    assert "labels but no texts" in result.stderr
    assert run is None
    assert stub.stats()["requests"] == 0


def test_rows_without_a_text_are_left_out(stub, tmp_path, caplog):
    """In Python, None, NaN and an invisible text are blank."""
    texts = [None, float("nan"), "\ufeff", *(f"comment {i}" for i in range(9))]
    rows = [
        {"id": f"t{i}", "comment": text, "rater": r, "label": "ab"[(i + int(r)) % 2]}
        for i, text in enumerate(texts)
        for r in "012"
    ]
    mapping = {"id": "id", "text": "comment", "rater": "rater", "label": "label"}
    mapping |= {"property": "rude", "positive": "a", "raters": []}
    run = harness.run(
        rows,
        "stub",
        mapping={name: value for name, value in mapping.items() if value},
        base_url=stub.url(),
        samples=1,
        elicitations=["forced_choice"],
        out=tmp_path,
    )
    assert len(run.verdicts) == 9
    assert "The run leaves out 3 blank items (t0, t1, t2)." in caplog.text


def test_resumed_and_revalidated_runs_leave_the_same_items_out(stub, tmp_path):
    """A look asks about the items that the run asked about."""
    folder = change(make_task_folder(tmp_path / "t", response_sets=False), BLANK)
    _, run = asked(folder, stub, tmp_path)
    stub.reset()
    server = ("--base-url", stub.url(), "--out", tmp_path / "runs")
    result = call_harness("revalidate", run.path.name, *server, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert stub.stats()["requests"] == 4


def test_blank_unlabelled_items_are_left_out_of_an_estimate(stub, tmp_path):
    """They are counted, and all items are checked before the first request."""
    folder = make_task_folder(tmp_path / "t", 12, response_sets=False)
    _, run = asked(folder, stub, tmp_path)
    stub.reset()
    texts = ["", None, "\u200b", *(f"comment {i}" for i in range(5))]
    items = [{"id": f"u{i}", "text": text} for i, text in enumerate(texts)]
    write_jsonl(tmp_path / "new.jsonl", items)
    words = ("estimate", run.path.name, "--judge", "stub", "--items", tmp_path / "new.jsonl")
    server = ("--base-url", stub.url(), "--out", tmp_path / "runs")
    result = call_harness(*words, *server, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "3 blank items are left out." in result.stdout
    assert stub.stats()["requests"] == 5
    shutil.rmtree(run.path / "estimates")
    write_jsonl(tmp_path / "new.jsonl", [*items, {"id": "i0", "text": "known"}])
    result = call_harness(*words, *server, cwd=tmp_path)
    assert result.returncode == 2
    assert "is also an item of task" in result.stderr
    assert stub.stats()["requests"] == 5
