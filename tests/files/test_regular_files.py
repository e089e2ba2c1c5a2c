"""Reading and writing files where others may have put links, FIFOs and devices."""

from __future__ import annotations

import ast
import os
import re
import signal
from pathlib import Path

import pytest

from harness.files.regular_files import (
    append_text,
    bounded_lines,
    read_file,
    reader,
    unsafe_entry,
    write_file,
)

HARNESS = Path(__file__).resolve().parents[2] / "harness"
WRITING_METHODS = {"write_text", "write_bytes", "touch", "symlink_to", "hardlink_to"}
WRITING_WORDS = {*WRITING_METHODS, "open"}  # of which a file that writes holds one


def make_odd(kind: str, path: Path, target: Path) -> None:
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "device" else target)


@pytest.mark.parametrize("kind", ["link", "fifo", "device", "folder"])
def test_only_regular_files_are_read_written_and_appended_to(tmp_path, kind):
    """A link, a FIFO, a device and a folder are refused at once, and what they lead to is kept."""
    target, odd = tmp_path / "target", tmp_path / "odd"
    target.write_text("kept")
    make_odd(kind, odd, target)
    for action in (reader, lambda p: write_file(p, b"new"), lambda p: append_text(p, "new")):
        with pytest.raises(OSError, match="regular file"):
            action(odd)
    assert target.read_text() == "kept"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_dangling_link_creates_no_file(tmp_path):
    """Where a link points at nothing, nothing appears there."""
    (tmp_path / "odd").symlink_to(tmp_path / "absent")
    for action in (lambda p: write_file(p, b"new"), lambda p: append_text(p, "new")):
        with pytest.raises(OSError, match="regular file"):
            action(tmp_path / "odd")
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch, durable):
    """A failure keeps the earlier content and leaves no part behind."""
    file = write_file(tmp_path / "file", b"first", durable=durable)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_file(file, b"second", durable=durable)
    assert file.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [file]


def test_a_kill_while_writing_keeps_the_file_and_leaves_a_part_that_nothing_reads(tmp_path):
    """The earlier content stays, and the file can be written again."""
    file = write_file(tmp_path / "file", b"first")
    if not (child := os.fork()):
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        write_file(file, b"second", durable=True)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    [part] = set(tmp_path.iterdir()) - {file}
    assert re.fullmatch(r"\.[0-9a-f]{16}\.part", part.name)
    assert file.read_bytes() == b"first"
    assert unsafe_entry(tmp_path) == ""
    assert write_file(file, b"third").read_bytes() == b"third"


def test_a_line_or_file_too_long_for_memory_is_refused(tmp_path, monkeypatch):
    """A line of a gigabyte in a log is not held, but named."""
    monkeypatch.setattr("harness.files.regular_files.MAX_LINE_BYTES", 10)
    path = write_file(tmp_path / "log", b"short\n" + b"x" * 10 + b"\n")
    with reader(path) as file, pytest.raises(OSError, match="line 2 is longer than 10 bytes"):
        list(bounded_lines(file))
    with pytest.raises(OSError, match="it is larger than 10 bytes"):
        read_file(path, 10)
    assert read_file(path, 17) == path.read_bytes()


@pytest.mark.parametrize("kind", ["link", "fifo", "device"])
def test_an_unsafe_entry_is_found_at_any_depth(tmp_path, kind):
    """The first entry that is neither a file nor a folder is named from the folder."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "file").touch()
    assert unsafe_entry(tmp_path) == ""
    make_odd(kind, tmp_path / "a" / "b" / "odd", tmp_path)
    assert unsafe_entry(tmp_path).startswith("a/b/odd is ")


@pytest.mark.slow
def test_every_writer_of_the_package_uses_write_file():
    """No other module writes a file at a name that may be taken."""
    faults = [
        f"{path.relative_to(HARNESS)}:{node.lineno} {name}"
        for path in sorted(HARNESS.rglob("*.py"))
        if any(word in (text := path.read_text(encoding="utf-8")) for word in WRITING_WORDS)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and (name := writing_call(node))
    ]
    assert faults == []


def writing_call(node: ast.Call) -> str:
    """Return the name of a call that writes to a file which may exist, or nothing."""
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name in WRITING_METHODS:
        return name
    modes = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    writes = any(set(mode) <= set("wab+t") and set(mode) & set("wa+") for mode in modes if mode)
    return "open" if name == "open" and writes else ""
