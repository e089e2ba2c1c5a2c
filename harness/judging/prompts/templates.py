"""Prompt templates: text files in parts, with ``{{name}}`` placeholders.

A template is UTF-8 text in parts, each below a line with its name in brackets::

    [system]     text that all items share
    [user]       the question, followed by the item: {{fence}}, {{text}}, {{fence}}
    [follow_up]  the second turn of a pair
    [abstain]    the value of {{abstain}} for tasks that allow abstaining
    [sets]       the value of {{sets}} for tasks that list their response sets
    [criterion]  the value of {{criterion}} for items that have a criterion

``{{property}}``, ``{{instructions}}`` and ``{{options}}`` come from the task. ``{{option}}`` is the
option that an endorsement is about, and empty otherwise. ``{{keys}}`` lists the possible replies to
a forced choice, and ``{{replies}}`` those to a response set (or examples if there are many), one
per line.

Values are never scanned for placeholders. A line that contains only placeholders is left out if all
of them are empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from harness.errors import PromptError, use_one_of
from harness.files.regular_files import TooLarge, read_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAX_BYTES = 1 << 16
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
PART = re.compile(r"\[([a-z_]+)\]")
PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}")
TASK_NAMES = frozenset(
    ("property", "instructions", "options", "option", "keys", "replies", "abstain", "sets")
)
ITEM_NAMES = frozenset(("criterion", "fence", "text"))
ALLOWED: dict[str, frozenset[str]] = {
    "system": TASK_NAMES,
    "user": TASK_NAMES | ITEM_NAMES,
    "follow_up": TASK_NAMES,
    "abstain": frozenset(),
    "sets": frozenset(),
    "criterion": frozenset(("criterion",)),
}


@dataclass(frozen=True, slots=True)
class Template:
    """Template file that was checked, with its parts by name."""

    path: Path
    text: str
    parts: dict[str, str]

    def render(self, part: str, values: Mapping[str, str]) -> str:
        """Fill the placeholders in a part, or return "" if the template lacks the part."""
        return render(self.parts.get(part, "").split("\n"), values)

    def question(self, values: Mapping[str, str], slots: frozenset[str]) -> tuple[str, str]:
        """Fill the part [user], but keep the placeholders in ``slots``.

        Return the lines that all items share, ending in a newline, and the lines that show the
        item, as a format string for `str.format`.
        """
        lines = self.parts["user"].split("\n")
        numbers = (n for n, line in enumerate(lines) if ITEM_NAMES & set(PLACEHOLDER.findall(line)))
        first = next(numbers, len(lines))
        return render([*lines[:first], ""], values), render(lines[first:], values, slots)


def read_template(name: str, folders: Sequence[Path], needed: Sequence[str]) -> Template:
    """Read and check a template from the first folder that contains it."""
    if not FILE_NAME.fullmatch(name):
        raise PromptError(
            f"prompts: {name!r} is not a file name. Write letters, digits, '.', '_', '-'."
        )
    path = _find(name, folders)
    text = _text_of(path)
    template = Template(path, text, _parts(path, text))
    for part in needed:
        if not template.parts.get(part):
            raise PromptError(f"{path}: part [{part}] is missing or empty. Add this part.")
    _check(template)
    return template


def _find(name: str, folders: Sequence[Path]) -> Path:
    for folder in folders:
        path = folder / name
        if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
            return path
    places = " or ".join(str(folder) for folder in folders)
    raise PromptError(f"prompts: template {name!r} was not found in {places}. Add this template.")


def _text_of(path: Path) -> str:
    try:
        text = read_file(path, MAX_BYTES, follow_links=True).decode("utf-8-sig")
    except TooLarge:
        raise PromptError(f"{path}: longer than {MAX_BYTES} bytes. Shorten the template.") from None
    except OSError as error:
        raise PromptError(f"{path}: cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError as error:
        raise PromptError(
            f"{path}: byte {error.start + 1} is not UTF-8. Save the file as UTF-8."
        ) from None
    return text.replace("\r\n", "\n")


def _parts(path: Path, text: str) -> dict[str, str]:
    parts: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if header := PART.fullmatch(line.rstrip()):
            if header[1] not in ALLOWED or header[1] in parts:
                names = ", ".join(ALLOWED)
                raise PromptError(
                    f"{path}: line {number}: part [{header[1]}] is unknown or repeated. "
                    f"A template can contain each of {names} once."
                )
            lines = parts.setdefault(header[1], [])
        elif lines is not None:
            lines.append(line)
        elif line.strip():
            raise PromptError(
                f"{path}: line {number}: found text before the first part. Begin with [system]."
            )
    return {name: "\n".join(content).strip() for name, content in parts.items()}


def _check(template: Template) -> None:
    for part, text in template.parts.items():
        for name in PLACEHOLDER.findall(text):
            if name not in ALLOWED[part]:
                raise PromptError(
                    f"{template.path}: part [{part}]: unknown placeholder {{{{{name}}}}}. "
                    + use_one_of(name, sorted(ALLOWED[part]), none="This part has no placeholders.")
                )
    names = PLACEHOLDER.findall(template.parts["user"])
    item = [name for name in names if name in ITEM_NAMES]
    if [name for name in item if name != "criterion"] != ["fence", "text", "fence"]:
        raise PromptError(
            f"{template.path}: part [user] must show {{{{text}}}} once, between two {{{{fence}}}}."
        )
    if item[-1] != "fence" or names[len(names) - len(item) :] != item:
        raise PromptError(
            f"{template.path}: part [user] must end with the item. Write the text that all items "
            "share first, then {{criterion}}, then the fenced text."
        )


def render(
    lines: Sequence[str], values: Mapping[str, str], slots: frozenset[str] = frozenset()
) -> str:
    """Fill the placeholders in lines, and drop a line if all of its placeholders are empty.

    The placeholders in ``slots`` stay open, and the result is then a format string for
    `str.format`.
    """
    filled = []
    for line in lines:
        pieces = _pieces(line)
        texts = [values[piece] if is_name else piece for piece, is_name in pieces]
        if slots:
            texts = [
                f"{{{piece}}}" if is_name and piece in slots else _escaped(text)
                for text, (piece, is_name) in zip(texts, pieces, strict=True)
            ]
        text = "".join(texts)
        if text.strip() or not any(is_name for _, is_name in pieces):
            filled.append(text)
    return "\n".join(filled)


def _escaped(text: str) -> str:
    """Escape a text for use in a format string."""
    return text.replace("{", "{{").replace("}", "}}")


@cache
def _pieces(line: str) -> list[tuple[str, bool]]:
    """Split a line into texts and placeholder names."""
    pieces = PLACEHOLDER.split(line)
    return [(piece, i % 2 == 1) for i, piece in enumerate(pieces) if piece or i % 2]
