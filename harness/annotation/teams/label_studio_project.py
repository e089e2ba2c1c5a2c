"""Label Studio projects: writing configuration and tasks, and reading exports.

All texts are data of a Label Studio task, so they are never read as markup or variables. Options
are identified by their keys (``alias``), not their labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import msgspec
from pydantic import TypeAdapter, ValidationError

from harness.annotation.teams.screens import question_of, shown_data
from harness.annotation.teams.team_answers import ScreenData, TeamAnswer
from harness.curation.formats.annotation_tools import LabelStudioTask
from harness.errors import TaskError, fault_of
from harness.files.plain_text import visible
from harness.tasks import CANNOT_ASSESS
from harness.tasks.model import ASKED_ON

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.annotation.teams.screens import TeamScreen
    from harness.files.json_values import JsonObject
    from harness.tasks import Task
    from harness.tasks.item import HumanElicitation
    from harness.tasks.model import JudgeElicitation

NAMES: dict[HumanElicitation, str] = {"response_set": "set", "forced_choice": "choice"}
FLAG = "Flag this item"
NO_IMAGE = (  # a transparent dot for items without an image, because every task needs the field
    "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
)
SIDES = "display: flex; gap: 1rem"
SIDE = "flex: 1; min-width: 0"


def control_name(elicitation: HumanElicitation, number: int, n_items: int) -> str:
    """Return the name of the control for a screen's item, given the item's number from 0."""
    return NAMES[elicitation] + (f"_{number + 1}" if n_items > 1 else "")


def labelling_configuration(task: Task, form: JudgeElicitation, example: TeamScreen) -> str:
    """Return the labelling configuration (XML) for screens with the form of the example.

    Parameters
    ----------
    form : str
        Form of the screens. Paired: the set, then the choice, on one screen.
    example : TeamScreen
        A screen whose texts and criteria all of them share.
    """
    view = ET.Element("View")
    _add(view, "Header", value="$property")
    panel = _add(_add(view, "Collapse"), "Panel", value="Instructions")
    _add(panel, "Text", name="instructions", value="$instructions")
    first = _add_texts(view, task)
    if task.image:
        _add(view, "Image", name="image", value="$image")
    n_items = len(example.items)
    for number, item in enumerate(example.items):
        if item.criterion is not None:
            _add(view, "Header", value=f"$criterion_{number + 1}", size="5")
        for elicitation in ASKED_ON[form]:
            _add(view, "Header", value=question_of(task, elicitation), size="6")
            name = control_name(elicitation, number, n_items)
            after = control_name("response_set", number, n_items)
            waits = form == "paired" and elicitation == "forced_choice"
            extra = {"visibleWhen": "choice-selected", "whenTagName": after} if waits else {}
            _add_control(view, task, elicitation, {"name": name, "toName": first, **extra})
    remark = {"toName": first, "required": "false"}
    _add(view, "TextArea", name="comment", placeholder="Comment", maxSubmissions="1", **remark)
    flag = _add(view, "Choices", name="flag", choice="multiple", **remark)
    _add(flag, "Choice", value=FLAG, alias="flagged")
    ET.indent(view)
    return ET.tostring(view, encoding="unicode") + "\n"


def _add(parent: ET.Element, tag: str, /, **attributes: str) -> ET.Element:
    return ET.SubElement(parent, tag, attributes)


def _add_texts(view: ET.Element, task: Task) -> str:
    """Add the texts, with compared answers side by side, and return the first text's name."""
    sides = task.pairwise.answers if task.pairwise else ()
    pair = None
    for number, name in enumerate(task.text, 1):
        place = view
        if name in sides:
            pair = _add(view, "View", style=SIDES) if pair is None else pair
            place = _add(pair, "View", style=SIDE)
        if len(task.text) > 1:
            _add(place, "Header", value=f"$name_{number}", size="5")
        _add(place, "Text", name=f"text_{number}", value=f"$text_{number}")
    return "text_1"


def _add_control(
    view: ET.Element, task: Task, elicitation: HumanElicitation, attributes: Mapping[str, str]
) -> None:
    required = {"required": "true", **attributes}
    if task.scale == "continuous":
        low, high = task.bounds or (None, None)
        bounds = {} if low is None else {"min": f"{low:g}", "max": f"{high:g}"}
        _add(view, "Number", step="any", **bounds, **required)
    elif task.scale == "text":
        _add(view, "TextArea", maxSubmissions="1", rows="3", **required)
    else:
        kind = "multiple" if elicitation == "response_set" else "single"
        choices = _add(view, "Choices", choice=kind, **required)
        for option in task.options:
            hint = {"hint": visible(option.description)} if option.description else {}
            _add(choices, "Choice", value=visible(option.label), alias=option.key, **hint)
        if task.abstain:
            _add(choices, "Choice", value="Cannot assess", alias=CANNOT_ASSESS)


def project_files(task: Task, screens: Sequence[TeamScreen]) -> dict[str, bytes]:
    """Return the files with configuration and tasks for screens with the same form."""
    configuration = labelling_configuration(task, screens[0].form, screens[0])
    tasks = msgspec.json.encode(project_tasks(task, screens))
    return {"label-config.xml": configuration.encode(), "tasks.json": tasks}


def project_tasks(task: Task, screens: Sequence[TeamScreen]) -> list[JsonObject]:
    """Return the screens as tasks that Label Studio can import, including images."""
    tasks = []
    for screen in screens:
        data = shown_data(task, screen)
        if task.image:
            data["image"] = image_address(task, screen) or NO_IMAGE
        tasks.append({"data": data})
    return tasks


def image_address(task: Task, screen: TeamScreen) -> str:
    """Return a screen's image as a ``data:`` URL, or "" if the item has none."""
    image = task.images.get(screen.item.id)
    return image.data_url() if image else ""


def is_export(content: bytes) -> bool:
    """Return whether a file is a JSON export from a project that the harness wrote."""
    return b'"harness_items"' in content and b'"annotations"' in content


def read_export(content: bytes, where: str) -> list[TeamAnswer]:
    """Read a JSON export from a project with `labelling_configuration`.

    Raises
    ------
    TaskError
        If the file isn't such an export. The message names the location.
    """
    try:
        tasks = TypeAdapter(list[LabelStudioTask]).validate_json(content)
        return [
            answer
            for number, task in enumerate(tasks, 1)
            for answer in _given(task, f"{where}: task {task.id or number}")
        ]
    except (ValidationError, msgspec.ValidationError) as error:
        parts = fault_of(error)[:2] if isinstance(error, ValidationError) else (str(error),)
        raise TaskError(
            f"{where}: this is not a JSON export of a project that `harness curate export --to "
            f"label-studio` made: {': '.join(filter(None, parts))}."
        ) from None


def _given(task: LabelStudioTask, where: str) -> Iterator[TeamAnswer]:
    screen = msgspec.convert(task.data, ScreenData)
    n_items = len(screen.harness_items)
    controls = {
        control_name(elicitation, number, n_items): (number, elicitation)
        for number in range(n_items)
        for elicitation in NAMES
    }
    for annotation in task.annotations or ():
        by_name = {r.from_name: r.typed or r.chosen for r in annotation.result or ()}
        comment = by_name.get("comment") or []
        yield TeamAnswer(
            where=where,
            screen=screen,
            rater=annotation.who,
            values={controls[n]: v for n, v in by_name.items() if n in controls},
            made_at=annotation.updated_at or annotation.created_at or "",
            comment="\n".join(map(str, comment)) if isinstance(comment, list) else str(comment),
            flagged="flag" in by_name,
            skipped=bool(annotation.was_cancelled),
        )
