"""Images of items: from the task's folder to the judge, byte by byte."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from support.judge_runs import RecordingObserver
from support.pictures import png
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.app.plan import plan_run
from harness.app.plan_of_run import plan_resumed_run
from harness.app.run import ask_open_units, start
from harness.errors import JudgeError, JudgeUnavailable, TaskError
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import resolve
from harness.judging.prompts.question import Unit
from harness.judging.storage.reply_store import NoStore
from harness.options.concerns import RunOptions, Server
from harness.runs.run_folder import RunFolder
from harness.tasks import load_task
from harness.tasks.images import MAX_IMAGE_BYTES


@pytest.fixture
def folder(tmp_path):
    """A task of six items, the first five with an image."""
    folder = make_task_folder(tmp_path / "pictures", 6, response_sets=False)
    (folder / "images").mkdir()
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    for i, item in enumerate(items[:5]):
        (folder / "images" / f"{i}.png").write_bytes(png(40 * i))
        item["picture"] = f"images/{i}.png"
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    with (folder / "task.yaml").open("a") as file:
        file.write("image: picture\n")
    return folder


def plan(folder, judges, url="http://127.0.0.1:1/v1"):
    return plan_run(
        str(folder),
        judges,
        RunOptions(elicitations=("forced_choice",), samples=1),
        server=Server(base_url=url),
    )


def test_a_judge_reads_the_bytes_of_the_images(folder, stub, tmp_path):
    """The server answers by their hash; a resumed run sends the copies in its folder."""
    stub.reset()
    run = start(plan(folder, ["stub"], stub.url()), tmp_path / "runs")
    for image in (folder / "images").iterdir():
        image.write_bytes(png(255))
    ask_open_units(
        plan_resumed_run(RunFolder.open(run.path), server=Server(base_url=stub.url())),
        run,
        NoStore(),
        observer=RecordingObserver(),
    )
    values = {v.item: v.value for v in run.read_verdicts().final.values()}
    for i in range(5):
        assert values[f"i{i}"] == "AB"[hashlib.sha256(png(40 * i)).digest()[0] % 2]
    sent = [json.loads(request["body"])["messages"][-1]["content"] for request in stub.requests()]
    assert sum(isinstance(content, str) for content in sent) == 1
    parts = next(c for c in sent if isinstance(c, list) and "comment number 2." in c[0]["text"])
    url = "data:image/png;base64," + base64.b64encode(png(80)).decode()
    assert parts[1] == {"type": "image_url", "image_url": {"url": url}}


def test_the_image_is_part_of_the_key_and_of_the_task(folder):
    """Other bytes make another request and another content hash; the text alone does not."""
    before, task = plan(folder, ["m"]), load_task(folder)
    (folder / "images" / "0.png").write_bytes(png(200))
    after = plan(folder, ["m"])
    first, second = Unit("i0", "forced_choice"), Unit("i1", "forced_choice")
    assert before.jobs[0].judge.request(first).hash != after.jobs[0].judge.request(first).hash
    assert before.jobs[0].judge.request(second).hash == after.jobs[0].judge.request(second).hash
    assert task.content_hash != load_task(folder).content_hash


def test_a_prompt_names_the_image(folder):
    """As text by type, size and name; as JSON it is what is sent."""
    how = ("--judge", "gpt", "--item", "i1", "--elicitation", "forced_choice")
    shown = invoke("prompt", folder, *how).output
    assert shown.endswith(f"Answer:\n[image/png, {len(png(40))} bytes: 1.png]\n")
    sent = json.loads(invoke("prompt", folder, *how, "--json").output)
    assert sent["messages"][-1]["content"][1]["image_url"]["url"].startswith("data:image/png;")


@pytest.mark.parametrize(
    ("name", "data", "error"),
    [
        ("../secret.png", None, "is outside the task's folder"),
        ("/etc/hostname", None, "is outside the task's folder"),
        ("http://127.0.0.1/x.png", None, "cannot be read"),
        ("images/absent.png", None, "cannot be read"),
        ("images/0.png", b"<svg/>", "not a PNG, JPEG, GIF or WebP image"),
        ("images/0.png", png(1) + bytes(MAX_IMAGE_BYTES), "larger than 5242880 bytes"),
    ],
)
def test_images_are_small_files_of_known_types_in_the_folder(folder, name, data, error):
    """Nothing is fetched; the error names the file or the item."""
    (folder.parent / "secret.png").write_bytes(png(0))
    items = folder / "items.jsonl"
    items.write_text(items.read_text().replace("images/0.png", name))
    if data is not None:
        (folder / name).write_bytes(data)
    with pytest.raises(TaskError, match=error):
        load_task(folder)


def test_a_link_out_of_the_folder_is_refused(folder):
    """Links are resolved before the file is read."""
    (folder.parent / "secret.png").write_bytes(png(0))
    (folder / "images" / "0.png").unlink()
    (folder / "images" / "0.png").symlink_to(folder.parent / "secret.png")
    with pytest.raises(TaskError, match="is outside the task's folder"):
        load_task(folder)


def test_judges_that_read_no_images_are_skipped_with_the_reason(folder):
    """Named, they are an error; so are demonstrations, which show no images."""
    task, registry = load_task(folder), load_judges()
    with pytest.raises(JudgeUnavailable, match="smollm2 doesn't read images"):
        resolve(["smollm2"], task, registry)
    with pytest.raises(JudgeError, match=r"no judge is left to run.*doesn't read images"):
        resolve(None, task, registry)
    with pytest.raises(JudgeError, match="demonstrations don't support images"):
        plan(folder, ["m@few-shot:1"])
    blind = registry["gpt"].model_copy(update={"images": False})
    with pytest.raises(JudgeUnavailable, match="gpt doesn't read images"):
        resolve(["gpt"], task, {"gpt": blind})
