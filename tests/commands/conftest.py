"""A folder whose name, and those in it, need quotes."""

from __future__ import annotations

import pytest
from support.task_folders import make_task_folder


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder with a task, which becomes the working directory."""
    folder = tmp_path / "my runs & tasks"
    make_task_folder(folder / "a task", 24)
    monkeypatch.chdir(folder)
    return folder
