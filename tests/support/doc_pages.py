"""Runs the fenced blocks of README and docs in order and compares their outputs.

The language of a block and its place decide what is done with it:

- with ``title="NAME"``: a file, which is written under that name;
- ``sh``: commands, which are run (``harness`` in this process) and must exit with 0;
- ``text`` right after ``sh`` or ``python``: the output, which must be equal; a line ``...`` stands
  for any lines, and a date for any date;
- ``python``: code, which is run with the variables of the page's earlier code;
- ``console``: commands that need other machines, keys or servers; they are not run.

A comment before ``sh`` changes that: ``<!-- exit: 2 -->`` names another exit code,
``<!-- stub -->`` replaces the address of the server by that of the stub server, and
``<!-- setup -->`` leaves the block to a test of its own.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from support.processes import call_harness

BLOCK = re.compile(
    r"^(?:<!-- (?P<note>[^>]*) -->\n+)?(?P<indent> *)```(?P<kind>\w+)(?P<more>[^\n]*)\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
TITLE = re.compile(r'title="([^"]+)"')
SHELL = set("|><;&$")
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b|\b20\d{6}T\d{6}Z-[0-9a-f]{6}\b")  # and of a run
INTO_FILE = re.compile(r"(harness [^|<>;&$]*) > (\S+)")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    kind: str
    text: str
    title: str
    note: str
    span: tuple[int, int]  # of its text in the page


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    listed = []
    for match in BLOCK.finditer(page):
        title = TITLE.search(match["more"])
        text = re.sub(f"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        note = (match["note"] or "").strip()
        listed.append(
            Block(match["kind"], text, title[1] if title else "", note, match.span("text"))
        )
    return listed


def commands(text: str) -> list[str]:
    """Return the commands of a block; a line that ends in a backslash is continued."""
    joined = text.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines() if line.strip()]


def run_command(command: str, cwd: Path) -> tuple[int, str, str]:
    """Run a command and return its exit code, stdout and stderr."""
    if redirection := INTO_FILE.fullmatch(command):
        code, out, err = run_command(redirection[1], cwd)
        (cwd / redirection[2]).write_text(out, encoding="utf-8")
        return code, "", err
    if command.startswith("harness") and not SHELL & set(command):
        words = shlex.split(command)[1:]
        names = [name for word in words for name in _matches(word, cwd)]
        called = call_harness(*names, cwd=cwd)
        return called.returncode, called.stdout, called.stderr
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=cwd,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return process.returncode, process.stdout, process.stderr


def _matches(word: str, cwd: Path) -> list[str]:
    """Expand a word with ``*`` in it as a shell does."""
    paths = sorted(str(path.relative_to(cwd)) for path in cwd.glob(word)) if "*" in word else []
    return paths or [word]


def matches_output(shown: str, printed: str) -> bool:
    """Return whether an output is as shown: ``...`` stands for any lines, a date for any date."""
    shown, printed = (DATE.sub("DATE", text) for text in (shown, printed))
    parts = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
    pattern = r"(?:.*\n)*?".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, printed) is not None


SHOWN_URL = "http://127.0.0.1:8000/v1"  # of a server, on a page


class Page:
    """A page whose blocks are run in order in one folder; failures stand in `faults`."""

    def __init__(self, path: Path, cwd: Path, stub_url: str) -> None:
        self.path = path
        self.cwd = cwd
        self.stub_url = stub_url
        self.faults: list[str] = []
        self.updates: list[tuple[tuple[int, int], str]] = []
        self._names: dict[str, object] = {"__name__": "page"}
        self._printed: str | None = None

    def run(self) -> None:
        """Run every block."""
        for block in blocks(self.path.read_text(encoding="utf-8")):
            printed, self._printed = self._printed, None
            if block.title:
                target = self.cwd / block.title
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(self._with_stub(block, block.text), encoding="utf-8")
            elif block.kind == "sh" and block.note != "setup":
                self._shell(block)
            elif block.kind == "python":
                self._python(block)
            elif block.kind == "text" and printed is not None:
                self._compare(block, printed)

    def _shell(self, block: Block) -> None:
        exit_note = re.search(r"exit: (\d+)", block.note)
        expected = int(exit_note[1]) if exit_note else 0
        printed = ""
        for command in commands(block.text):
            code, out, err = run_command(self._with_stub(block, command), self.cwd)
            if code != expected:
                self.faults.append(f"{command}\nended with {code}, not {expected}:\n{out}{err}")
            printed += out + (err if expected else "")
        self._printed = printed

    def _with_stub(self, block: Block, text: str) -> str:
        """Return a text with the address of the stub server, where the page says so."""
        if "stub" not in block.note:
            return text
        return text.replace(SHOWN_URL, self.stub_url)

    def _python(self, block: Block) -> None:
        out = StringIO()
        try:
            with redirect_stdout(out):
                exec(compile(block.text, str(self.path), "exec"), self._names)
        except Exception as error:  # noqa: BLE001 -- a page's code may fail in any way
            self.faults.append(f"{block.text}\nfailed: {error!r}")
        self._printed = out.getvalue()

    def _compare(self, block: Block, printed: str) -> None:
        printed = printed.replace(self.stub_url, SHOWN_URL)
        if not matches_output(block.text, printed):
            self.faults.append(f"shown:\n{block.text}\nprinted:\n{printed}")
            if "...\n" not in block.text:
                self.updates.append((block.span, printed))

    def updated(self) -> str:
        """Return the page with the outputs of this run."""
        text = self.path.read_text(encoding="utf-8")
        for (start, end), printed in reversed(self.updates):
            text = text[:start] + printed + text[end:]
        return text
