"""Columns of images: files beside the table, and ``data:`` URLs in it."""

from __future__ import annotations

import base64
import json

import pytest
from support.made_tables import written
from support.pictures import png
from support.processes import invoke

from harness.errors import HarnessError
from harness.tasks import load_task
from harness.tasks.changelog import read_changes

N = 8


def rows(names):
    head = [["who", "picture", "caption", "label"]]
    return head + [
        [who, names[i], f"The caption of picture {i} here", ("yes", "no")[(i + k) % 2]]
        for i in range(N)
        for k, who in enumerate(("ann", "bea", "cem"))
    ]


def imported(place, monkeypatch, *words):
    monkeypatch.chdir(place)
    return invoke("curate", "import", "t.csv", "--as", "./made", "--rater", "who", *words)


def test_paths_of_images_are_the_image_and_no_text(tmp_path, monkeypatch):
    """They were left out of what judges see, or offered as a text to read."""
    names = [f"shots/{i}.png" for i in range(N)]
    (tmp_path / "shots").mkdir()
    for i, name in enumerate(names):
        (tmp_path / name).write_bytes(png(i + 1))
    written(tmp_path / "t.csv", rows(names))
    done = imported(tmp_path, monkeypatch)
    assert done.exit_code == 0, done.exception
    task = load_task(tmp_path / "made")
    assert (task.image, task.text) == ("picture", ("caption",))
    assert len({image.digest for image in task.images.values()}) == N
    assert read_changes(tmp_path / "made")[-1].after == task.content_hash


def test_images_in_cells_become_files(tmp_path, monkeypatch):
    pictures = [png(i + 1) for i in range(N)]
    cells = [f"data:image/png;base64,{base64.b64encode(of).decode()}" for of in pictures]
    written(tmp_path / "t.csv", rows(cells))
    done = imported(tmp_path, monkeypatch, "--id", "caption")
    assert done.exit_code == 0, done.exception
    task = load_task(tmp_path / "made")
    assert {image.read() for image in task.images.values()} == {*pictures}


@pytest.mark.parametrize("name", ["absent.png", "../outside.png", "/etc/hosts.png"])
def test_images_that_are_not_beside_the_table_stay_a_field(tmp_path, monkeypatch, name):
    written(tmp_path / "t.csv", rows([f"{i}{name}" if name[0] == "a" else name for i in range(N)]))
    done = imported(tmp_path, monkeypatch, "--id", "caption")
    assert done.exit_code == 0, done.exception
    assert "names images that can't be shown" in " ".join(done.output.split())
    assert load_task(tmp_path / "made").image is None
    made = (tmp_path / "made/items.jsonl").read_text(encoding="utf-8").splitlines()
    assert "picture" in json.loads(made[0])
    (tmp_path / "made").rename(tmp_path / "former")
    asked = imported(tmp_path, monkeypatch, "--id", "caption", "--image", "picture")
    assert isinstance(asked.exception, HarnessError)
    assert not (tmp_path / "made").exists()


def test_a_file_that_is_no_image_is_refused(tmp_path, monkeypatch):
    names = [f"{i}.png" for i in range(N)]
    for name in names:
        (tmp_path / name).write_bytes(b"a text")
    written(tmp_path / "t.csv", rows(names))
    done = imported(tmp_path, monkeypatch)
    assert "not a PNG" in str(done.exception)
    assert not (tmp_path / "made").exists()
