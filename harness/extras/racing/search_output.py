"""Output of a search: the winning prompt, its diff, and a section of a report."""

from __future__ import annotations

import shlex
import shutil
from difflib import unified_diff
from itertools import pairwise
from typing import TYPE_CHECKING

from harness.analysis.serialize import to_json
from harness.app.plan_of_run import prompts_of
from harness.extras.racing.search_moves import base_of
from harness.files.regular_files import read_file, write_file
from harness.judging.judges.config import load_judges
from harness.judging.prompts.requests import own_name
from harness.report.improvement_text import SECTION, section_of
from harness.report.rebuild import report_run
from harness.tasks import Item

if TYPE_CHECKING:
    from pathlib import Path

    from harness.analysis.improvement import Improvement
    from harness.app.judge_search import JudgeSearch
    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.prompts.requests import Prompts
    from harness.runs.run_folder import RunFolder
    from harness.tasks import Task

PROMPTS, DIFF = "prompts", "wording.diff"  # in a search's folder
SHOWN = "(item)"


def write_prompts(search: JudgeSearch, folder: RunFolder, best: str) -> Path:
    """Write a judge's templates and few-shot examples to a separate folder.

    A run with ``--prompts`` and the judge without its wording then makes the same requests.

    Parameters
    ----------
    search : JudgeSearch
        Search whose folder to use.
    folder : RunFolder
        Round that ran the judge.
    best : str
        Name of the judge.
    """
    spec, path = _spec(folder, best), search.path / PROMPTS
    prompts = prompts_of(folder, folder.load_task(), [spec])
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    if prompts.demonstrations is not None:
        prompts.demonstrations.save(path, item_text=True)
    own = {own_name(file): name for name, file in spec.prompts.items()}
    for name, template in prompts.templates.items():
        if name not in own:
            write_file(path / template.path.name, template.text.encode())
    for name, replaced in own.items():
        file = search.task.prompts.get(replaced, f"{replaced}.txt")
        write_file(path / file, prompts.templates[name].text.encode())
    return path


def run_command(search: JudgeSearch, folder: RunFolder, best: str) -> str:
    """Return the command that runs a judge with the templates in the search's folder."""
    registry = load_judges(search.server.judges_file)
    base = base_of(search.judge, registry)
    asking = _spec(folder, best).asking.label
    options = dict(pairwise(search.command))
    words = ["harness", "run", "--task", options.get("--task", folder.manifest.config.task)]
    words += ["--judges", f"{base}@{asking}" if asking else base]
    words += ["--prompts", str(search.path / PROMPTS), *search.server.words()]
    return shlex.join(words)


def wording_diff(search: JudgeSearch, folder: RunFolder, best: str) -> tuple[str, ...]:
    """Return the diff between a judge's prompt and the first judge's prompt.

    Field names replace the texts of an item.
    """
    task = folder.load_task()
    first, second = (_lines(folder, task, name) for name in (search.judge, best))
    changed = unified_diff(first, second, n=0, lineterm="")
    return tuple(line.rstrip() for line in list(changed)[2:] if line[0] in "+-")


def _lines(folder: RunFolder, task: Task, judge: str) -> list[str]:
    spec = _spec(folder, judge)
    prompts = prompts_of(folder, task, [spec])
    fields = {name: f"{{{{{name}}}}}" for name in task.text}
    criterion = next((item.criterion for item in task.items), None)
    item = Item(SHOWN, fields, None, criterion)
    return _spoken(prompts, item, spec)


def _spoken(prompts: Prompts, item: Item, spec: JudgeSpec) -> list[str]:
    messages = prompts.messages(item, "forced_choice", spec.asking, own=spec.prompts)
    return [line for m in messages for line in (f"[{m.role}]", *m.content.split("\n"))]


def _spec(folder: RunFolder, judge: str) -> JudgeSpec:
    return next(spec for spec in folder.manifest.judges if spec.name == judge)


def write_report(folder: RunFolder, improvement: Improvement) -> Path:
    """Add the candidates to the report of the search's last run, unless they are there."""
    section = to_json(section_of(improvement)).encode()
    path = folder.path / SECTION
    page = folder.path / "report.html"
    is_written = page.exists() and path.exists() and read_file(path) == section
    if not is_written:
        folder.write(SECTION, section)
        report_run(folder)
    return page
