"""Argilla datasets (version 2): writing settings and records, and reading exports."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from harness.annotation.teams.label_studio_project import NAMES, control_name, image_address
from harness.annotation.teams.screens import (
    headed_texts,
    question_of,
    shown_data,
    shown_instructions,
)
from harness.annotation.teams.team_answers import ScreenData, TeamAnswer
from harness.errors import TaskError
from harness.files.json_values import JsonObject
from harness.files.plain_text import visible
from harness.tasks import CANNOT_ASSESS
from harness.tasks.model import ASKED_ON

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.annotation.teams.screens import TeamScreen
    from harness.tasks import Task
    from harness.tasks.item import HumanElicitation

SCREEN = "harness"  # metadata: a record's description, as JSON
DISCARDED, DRAFT = "discarded", "draft"


def project_files(task: Task, screens: Sequence[TeamScreen]) -> dict[str, bytes]:
    """Return the files with settings and records for screens with the same form."""
    records = [_record(task, screen) for screen in screens]
    encode = msgspec.json.encode
    return {"settings.json": encode(settings(task, screens)), "records.json": encode(records)}


def settings(task: Task, screens: Sequence[TeamScreen]) -> JsonObject:
    """Return a dataset's settings, as ``argilla.Settings.to_json`` writes them.

    Parameters
    ----------
    screens : sequence of TeamScreen
        Screens with the same form and criteria, which are read from the first.
    """
    first = screens[0]
    heads = [head for head, _ in headed_texts(task, first)]
    texts = [_text_field(f"text_{n}", head) for n, head in enumerate(heads, 1)]
    if _has_own_criteria(first):
        texts.append(_text_field("criterion", "Criterion"))
    image = {"name": "image", "title": "Image", "required": False, "settings": {"type": "image"}}
    questions = [
        _question(task, first, elicitation, number)
        for number in range(len(first.items))
        for elicitation in ASKED_ON[first.form]
    ]
    n_raters = max(len(screen.raters) for screen in screens)
    return {
        "guidelines": shown_instructions(task),
        "fields": [*texts, *([image] if task.image else [])],
        "questions": [*questions, _text_question("comment", "Comment", required=False)],
        "vectors": [],
        "metadata": [
            {
                "name": "raters",
                "title": "Raters",
                "settings": {"type": "terms", "visible_for_annotators": True},
            }
        ],
        "allow_extra_metadata": True,
        "distribution": {"strategy": "overlap", "min_submitted": max(n_raters, 1)},
        "mapping": None,
    }


def _has_own_criteria(screen: TeamScreen) -> bool:
    """Return whether a record shows one criterion, instead of a question per criterion."""
    return len(screen.items) == 1 and screen.item.criterion is not None


def _text_field(name: str, title: str) -> JsonObject:
    kind = {"type": "text", "use_markdown": False}
    return {"name": name, "title": title, "required": True, "settings": kind}


def _text_question(name: str, title: str, *, required: bool) -> JsonObject:
    kind = {"type": "text", "use_markdown": False}
    return {"name": name, "title": title, "required": required, "settings": kind}


def _question(
    task: Task, screen: TeamScreen, elicitation: HumanElicitation, number: int
) -> JsonObject:
    name = control_name(elicitation, number, len(screen.items))
    criterion = task.criterion_text(screen.items[number].criterion)
    title = question_of(task, elicitation)
    if len(screen.items) > 1:
        title = f"{visible(criterion)}: {title}"
    if task.is_open:
        return _text_question(name, title, required=True)
    options = [{"value": o.key, "text": visible(o.label)} for o in task.options]
    options += [{"value": CANNOT_ASSESS, "text": "Cannot assess"}] if task.abstain else []
    several = {"type": "multi_label_selection", "options_order": "natural"}
    kind = several if elicitation == "response_set" else {"type": "label_selection"}
    described = "\n".join(f"{o.label}: {o.description}" for o in task.options if o.description)
    return {
        "name": name,
        "title": title,
        "description": described or None,
        "required": True,
        "settings": {**kind, "options": options},
    }


def _record(task: Task, screen: TeamScreen) -> JsonObject:
    data = shown_data(task, screen)
    fields = {name: text for name, text in data.items() if name.startswith("text_")}
    if _has_own_criteria(screen):
        fields["criterion"] = data["criterion_1"]
    if address := image_address(task, screen) if task.image else "":
        fields["image"] = address
    said = {name: data[name] for name in ScreenData.__struct_fields__}
    metadata: JsonObject = {SCREEN: json.dumps(said, ensure_ascii=False)}
    return {
        "id": screen.item.id,
        "fields": fields,
        "metadata": metadata | ({"raters": list(screen.raters)} if screen.raters else {}),
        "suggestions": {},
        "responses": {},
        "vectors": {},
    }


class _Record(Struct, frozen=True):
    metadata: JsonObject
    id: int | str | None = None
    responses: dict[str, list[JsonObject]] = msgspec.field(default_factory=dict)


def is_export(content: bytes) -> bool:
    """Return whether a file contains records from an exported dataset."""
    return b'"metadata"' in content and b'"responses"' in content and b"harness_items" in content


def read_export(content: bytes, where: str) -> list[TeamAnswer]:
    """Read exported records of a dataset made from `settings`, as ``records.to_json`` writes them.

    Responses with the ``status`` ``discarded`` are skips. Drafts are left out.

    Raises
    ------
    TaskError
        If the file isn't such an export. The message names the location.
    """
    try:
        records = msgspec.json.decode(content, type=list[_Record])
        return [
            answer
            for number, record in enumerate(records, 1)
            for answer in _given(record, f"{where}: record {record.id or number}")
        ]
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise TaskError(
            f"{where}: these are not records from a dataset that `harness curate export --to "
            f"argilla` made: {error}."
        ) from None


def _given(record: _Record, where: str) -> Iterator[TeamAnswer]:
    screen = msgspec.json.decode(str(record.metadata.get(SCREEN, "")), type=ScreenData)
    n_items = len(screen.harness_items)
    questions = {
        control_name(elicitation, number, n_items): (number, elicitation)
        for number in range(n_items)
        for elicitation in NAMES
    }
    given = {
        question: [response for response in responses if response.get("status") != DRAFT]
        for question, responses in record.responses.items()
    }
    discarded = {
        str(response.get("user_id"))
        for responses in given.values()
        for response in responses
        if response.get("status") == DISCARDED
    }
    for user, values in _by_user(given).items():
        yield TeamAnswer(
            where=where,
            screen=screen,
            rater=user,
            values={questions[n]: v for n, v in values.items() if n in questions},
            comment=str(values.get("comment") or ""),
            skipped=user in discarded,
        )


def _by_user(values: Mapping[str, Sequence[JsonObject]]) -> dict[str, dict[str, object]]:
    """Regroup responses by user, then by question."""
    users: dict[str, dict[str, object]] = defaultdict(dict)
    for question, responses in values.items():
        for response in responses:
            users[str(response.get("user_id"))][question] = response.get("value")
    return users
