"""Commands that imports, audits and projects of raters print run as they are printed."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from support.annotating import answer_one, make_unrated_task
from support.command_texts import commands_in, open_page, run_command, situation
from support.processes import invoke
from support.rating_tools import label_studio_export
from support.task_folders import write_jsonl

import harness
from harness.annotation import RatingLog, RatingSession, make_screens
from harness.report.next_steps import next_steps
from harness.tasks import load_task
from harness.tasks.folders import takes_ratings

ENDS = frozenset({0, 1, 3})
ROWS = "".join(f"i{i},text {i},{'yes' if i % 3 else 'no'},yes\n" for i in range(30))


def printed(text):
    """Return the commands that stand on lines of their own, indented."""
    return re.findall(r"^  (harness [^\n]*)$", text, re.MULTILINE)


def filled(command, **values):
    """Replace the placeholders of a command, each of which it explains."""
    pasted, _, explained = command.partition("  #")
    for name in re.findall(r"(?<= )[A-Z]{3,}(?= |$)", pasted):
        assert f"{name}: " in explained, command
        pasted = re.sub(rf"(?<= ){name}(?= |$)", str(values[name]), pasted)
    return pasted


@situation(
    "_next_commands: harness validate --task {}{}",
    "_next_commands: harness run --task {} --judges gpt,claude --dry-run",
)
def test_the_next_commands_of_an_import_run(place):
    """`curate import` ends with commands on the task that it made."""
    Path("my table.csv").write_text(f"id,text,ann,bob\n{ROWS}")
    words = ("--raters", "ann,bob", "--property", "whether it is right")
    made = invoke("curate", "import", "my table.csv", "--as", "new", *words)
    commands = printed(made.stdout)
    assert len(commands) == 2
    for command in commands:
        run_command(command)


def test_the_next_commands_of_an_import_without_a_property_run(place):
    """The dry run failed: it sends nothing, so it names what the run itself needs."""
    Path("t.csv").write_text(f"id,text,ann,bob\n{ROWS}")
    made = invoke("curate", "import", "t.csv", "--as", "new", "--raters", "ann,bob")
    *_, planned = [run_command(command) for command in printed(made.stdout)]
    assert "note: new: 'property' in task.yaml is still" in " ".join(planned.stdout.split())


@situation("import_: harness curate import {} --as {}")
def test_a_draft_of_an_import_is_accepted_by_its_command(place):
    """Who rated isn't known from the names of the columns."""
    Path("my table.csv").write_text(f"id,text,first,second\n{ROWS}")
    draft = invoke("curate", "import", "my table.csv", "--as", "new", "--yes")
    run_command(printed(draft.stdout)[0])
    assert Path("new", "task.yaml").exists()


@situation("drop: harness curate diff {} {}")
def test_a_copy_without_an_item_is_compared_with_its_task(place):
    """A copy without an item, beside the task."""
    made = invoke("curate", "drop", "./a task", "--as", "./smaller", "--items", "i3")
    [command] = printed(made.stdout)
    assert "i3" in run_command(command).stdout


@situation(
    "_starter_message: harness run --task {}",
    "_starter_message: harness curate import --help",
    "tasks: harness curate new mine",
    "_first_run: harness run --task {} --judges NAME",
    "_first_run: harness judges",
    "task.yaml: harness lab schema task",
    "commented: harness lab schema task",
)
def test_a_new_task_gets_verdicts_as_its_texts_say(place):
    """NAME is one of those that the second command lists."""
    run_command("harness curate new mine")
    made = invoke("curate", "new", "new").stdout
    run_command(printed(made)[0], more=["--dry-run"])
    run_command(commands_in(made)[-1])
    run_command(commands_in(Path("new", "task.yaml").read_text("utf-8"))[0])
    [step] = next_steps(harness.validate("./a task"))
    run, listing = commands_in(step)
    assert "random" in run_command(listing).stdout
    run_command(run.replace("NAME", "random"), more=["--dry-run"])
    table = [{"id": f"i{i}", "text": f"Text {i}.", "ann": "no", "bob": "yes"} for i in range(4)]
    mapping = {"id": "id", "text": "text", "raters": ["ann", "bob"], "positive": ["yes"]}
    [step] = next_steps(harness.validate(table, mapping=mapping))
    assert step == "Run a judge on it."  # a table in memory has no name


@situation("without_blank: harness validate --task {}")
def test_labels_without_texts_are_described(place):
    """Judges would have nothing to judge."""
    blank = [{"id": f"i{i}", "text": " "} for i in range(24)]
    write_jsonl(Path("a task", "items.jsonl"), blank)
    refused = invoke("run", "--task", "./a task", "--judges", "random")
    run_command(commands_in(str(refused.exception))[0])


@pytest.mark.slow
@situation(
    "_command: harness curate drop {} --as {} --finding {}{}",
    "_command: harness curate next {} {} --queue queue.csv",
    "_command: harness curate import TABLE --as {} {} # {}{}",
    "_command: harness plan annotators --task {}{}",
    "_command: harness plan difference 0.05 --task {}{}",
)
@pytest.mark.parametrize("n_judges", [0, 1, 2, 3])
def test_commands_of_an_audit_run(place, n_judges):
    """With several judges it printed plans that end with 2, as these want one or two."""
    ratings = Path("a task", "ratings.jsonl")
    rows = [json.loads(line) for line in ratings.read_text("utf-8").splitlines()]
    write_jsonl(ratings, [row for row in rows if row.get("elicitation") != "response_set"])
    described = Path("a task", "task.yaml")
    more = "  - {key: A, label: Toxic}\n  - {key: C, label: Sarcastic}\n"
    text = described.read_text("utf-8").replace("  - {key: A, label: Toxic}\n", more)
    described.write_text(text.replace("binary", "nominal").replace("response_set", "forced_choice"))
    names = ("far", "near", "odd")
    verdicts = {n: write_verdicts(f"of {n}.csv", names[:n]) for n in (1, 2, n_judges) if n}
    verdict_file = ("--verdicts", verdicts[n_judges]) if n_judges else ()
    audit = invoke("curate", "audit", "./a task", *verdict_file, "--details").stdout
    commands = re.findall(r"^Run: (.*)$", audit, re.MULTILINE)
    assert len(commands) > 4
    table = Path("table.csv")
    table.write_text(f"id,text,ann,bob\n{ROWS}")
    values = {"TABLE": f"{table} --raters ann,bob", "LABELS": "yes,no"}
    for command in commands:
        file = verdicts[2 if command.endswith("two judges") else 1]
        run_command(filled(command, FILE=f"'{file}'", **values), codes=ENDS)
        shutil.rmtree("a-task-2", ignore_errors=True)


def write_verdicts(name, judges):
    """Write a table with a verdict of each judge on each item."""
    answers = [(i, judge, "AB"[i * k % 2]) for k, judge in enumerate(judges, 1) for i in range(24)]
    rows = "".join(f"i{i},{judge},{answer}\n" for i, judge, answer in answers)
    Path(name).write_text(f"item,judge,value\n{rows}", "utf-8")
    return name


@situation(
    "_summarize: harness validate --task {} --verdicts {}",
    "validate: _report_command()",
    "_report_command: harness report --task {} --verdicts {}",
)
def test_verdicts_that_were_imported_are_validated(place):
    """Those of another tool, in its own form; the page to which the result points is written."""
    write_verdicts("of one.csv", ["far"])
    made = invoke("curate", "verdicts", "of one.csv", "--task", "./a task")
    [command] = printed(made.stdout)
    shown = run_command(command, codes=ENDS).stdout
    run_command(next(c for c in commands_in(shown) if c.startswith("harness report")))
    [page] = Path().glob("*-report.html")
    assert page.stat().st_size


@situation("_read_log: harness validate {}")
def test_a_damaged_log_is_validated_in_its_run(place):
    """`harness validate --verdicts` refuses a damaged line in the log of a run."""
    invoke("run", "--task", "./a task", "--judges", "random", "--out", "all runs")
    [run] = Path("all runs").iterdir()
    log = run / "verdicts.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"i3"', b'"i4"', 1))
    refused = invoke("validate", "--task", "./a task", "--verdicts", log)
    run_command(commands_in(str(refused.exception))[-1], codes=ENDS)


DATA_SET = """\
name: set
property: whether it is right
scale: binary
options: [{key: "yes"}, {key: "no"}]
positive: ["yes"]
datasets:
  file: table.csv
  columns: {id: id, text: [text], raters: [ann, bob]}
"""


@situation("check_own_files: harness curate export {} {} && harness curate import {} --as {}")
def test_a_task_of_a_data_set_becomes_one_of_files(place):
    """Ratings can be added to the one that the commands make."""
    Path("set").mkdir()
    Path("set", "table.csv").write_text(f"id,text,ann,bob\n{ROWS}")
    Path("set", "task.yaml").write_text(DATA_SET)
    refused = invoke("annotate", "merge", "./set")
    run_command(commands_in(str(refused.exception))[0])
    assert Path("set-2", "ratings.csv").exists()
    assert takes_ratings(Path("set-2"))


@situation(
    "export_project: harness curate import EXPORT --into {} # EXPORT",
    "import_answers: harness validate --task {}",
)
def test_answers_of_a_team_are_added_as_the_project_says(place):
    """EXPORT is the file that the tool makes, as the command explains."""
    make_unrated_task(Path("b task"), ["One.", "Two.", "Three."])
    made = invoke("curate", "export", "./b task", "team", "--to", "label-studio")
    [command] = printed(made.stdout)
    accounts = [{"id": 2, "email": "bea@x.example"}]
    export = label_studio_export(Path("team", "forced_choice"), accounts)
    Path("export.json").write_text(json.dumps(export))
    added = run_command(filled(command, EXPORT="export.json"))
    [command] = printed(added.stdout)
    run_command(command)


@situation("_end: harness annotate merge {}", "merge: harness validate --task {}")
def test_ratings_of_the_page_are_added_as_it_says_at_its_end(place):
    """And validated, once every item has some."""
    make_unrated_task(Path("b task"), ["One.", "Two."])
    task = load_task("./b task", unrated=True)
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form="forced_choice"), log)
        while session.current() is not None:
            answer_one(session, "B")
    [command] = printed(open_page("harness annotate './b task' --rater ann"))
    [command] = printed(run_command(command).stdout)
    run_command(command)


@pytest.mark.slow
@situation(
    "draw_items: harness estimate {} --judge {} --items {} {}",
    "draw: harness annotate {} --rater NAME{} # NAME",
    "draw: harness annotate merge {}",
    "draw: harness run --task {} --judges {}{}",
    "draw: harness estimate --judge {} --items {}{}",
)
def test_drawn_items_are_rated_and_estimated_as_the_draw_says(place, stub):
    """The judge is one of a server, and the runs aren't in the usual folder."""
    Path("a task").rename("small")
    server = ("--judges", "far", "--base-url", stub.url(), "--samples", 1)
    invoke("run", "--task", "./small", *server, "--out", "all runs")
    items = [{"id": f"m{i}", "text": f"New text {i}."} for i in range(30)]
    write_jsonl(Path("more items.jsonl"), items)
    draw = ("curate", "draw", "./small", "--judge", "far", "--budget", 20)
    draw = (*draw, "--items", "more items.jsonl", "--as", "./drawn", "--out", "all runs")
    run_command(commands_in(str(invoke(*draw).exception))[0])
    annotate, merge, run, estimate = printed(invoke(*draw).stdout)
    open_page(filled(annotate, NAME="ann"))
    task = load_task("./drawn", unrated=True)
    form = "response_set" if "response_set" in annotate else "forced_choice"
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form=form), log)
        while session.current() is not None:
            answer_one(session, ["B"] if form == "response_set" else "B")
    for command in (merge, run, estimate):
        run_command(command, codes=ENDS)


@situation("_print_files: harness annotate {} --rater NAME --queue {} # NAME")
def test_items_that_a_person_must_rate_are_rated_as_trust_says(place):
    """The queue names items of the task, and its file has a space in its name."""
    rows = [{"item": f"i{i}", "judge": "mine", "value": "A"} for i in range(6)]
    write_jsonl(Path("mine.jsonl"), rows)
    trust = ("trust", "--task", "./a task", "--verdicts", "mine.jsonl", "--judge", "mine")
    done = invoke(*trust, "--max-error", 0.1, "--queue", "the rest.csv")
    [command] = printed(done.stdout)
    open_page(filled(command, NAME="ann"))
