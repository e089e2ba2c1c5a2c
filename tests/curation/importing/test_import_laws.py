"""Laws of an import, over every form of table that the tests have."""

from __future__ import annotations

import csv
import io
import json
import shlex
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import (
    crowd_files,
    public_shapes,
    rating_exports,
    sheet_exports,
    study_exports,
    survey_exports,
)
from support.known_answers import truth_folders
from support.processes import invoke
from support.table_corpus import write_corpus
from support.table_scores import NOT_TABLES

from harness.curation.importing import make_plans, read_source
from harness.errors import HarnessError
from harness.tasks.columns.rater_names import is_model, names_model
from harness.tasks.columns.table_answers import AnswerSettings

MOST_LINES, MOST_WORDS = 25, 120
MOST_COMMANDS = 12  # that are followed from one table


def _forms(*modules):
    return tuple(
        make
        for module in modules
        for name, make in sorted(vars(module).items())
        if getattr(make, "__module__", "") == module.__name__
        and getattr(make, "__annotations__", {}) == {"return": "PublicShape"}
    )


SHAPES = _forms(public_shapes, rating_exports, survey_exports)
SEVERAL = _forms(public_shapes, survey_exports)
MORE = tuple(  # `test_published_exports.py` follows the commands of the first of these
    pytest.param(make, marks=pytest.mark.slow)
    for make in _forms(rating_exports, crowd_files, study_exports, sheet_exports)
)

CALLED_PROGRAMS = {"API", "evaluator"}  # by a column of kinds

ITEMS_ABOVE = (  # surveys, whose header holds the items
    survey_exports.grid_of_google,
    survey_exports.survey_of_two_headers,
)


def imported(place, shape, monkeypatch, *words):
    place.mkdir(exist_ok=True)
    monkeypatch.chdir(place)
    (place / shape.name).write_text(shape.content, encoding="utf-8")
    return invoke(*(words or ("curate", "import", shape.name, "--as", "made")))


def commands(done):
    lines = [line.strip() for line in done.output.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("harness curate import")]


def question(done):
    """Return what a command asks, "" if it wrote a task; anything else is a fault."""
    assert done.exception is None or isinstance(done.exception, HarnessError), done.output
    return str(done.exception or "")


def test_there_are_many_forms():
    assert len(SHAPES) >= 30


@pytest.mark.parametrize("make", [*SEVERAL, *MORE])
def test_an_import_is_short_and_its_commands_lead_on(make, tmp_path, monkeypatch):
    """Each prints at most 25 lines and 120 words of questions, and none asks the same again.

    Only models become judges: ids of people look like anything; a whole name of a model is what it
    takes.
    """
    shape = make()
    first = imported(tmp_path / "0", shape, monkeypatch)
    reached = [(words, {question(first)}) for words in commands(first)]
    printed = [first]
    for number, (words, asked) in enumerate(reached, 1):
        if number > MOST_COMMANDS:
            break
        done = imported(tmp_path / str(number), shape, monkeypatch, *words)
        assert question(done) not in asked, words
        reached += [(more, asked | {question(done)}) for more in commands(done)]
        printed.append(done)
    for done in printed:
        assert len(done.output.splitlines()) <= MOST_LINES, done.output
        assert len(question(done).split()) <= MOST_WORDS, question(done)
    for verdicts in tmp_path.glob("*/*/verdicts.csv"):
        with verdicts.open(encoding="utf-8", newline="") as rows:
            judges = {row["judge"] for row in csv.DictReader(rows)}
            assert all(map(names_model, judges - CALLED_PROGRAMS))


@pytest.mark.parametrize(
    "make", [make for make in SHAPES if make().name.endswith(".csv") and make not in ITEMS_ABOVE]
)
def test_a_first_row_like_those_below_it_is_data(make, tmp_path, monkeypatch):
    """No form loses its first row with its header, and what is read unasked has all ratings."""
    shape = make()
    _, *rows = csv.reader(io.StringIO(shape.content))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(public_shapes.table_text(rows), encoding="utf-8")
    words = ("curate", "import", "t.csv", "--as", "./made", "--json")
    drafts = json.loads(invoke(*words, "--dry-run").stdout)
    draft = drafts[0] if isinstance(drafts, list) else drafts
    assert draft["rows"] == len(rows)
    assert any("no header" in note for note in draft["notes"])
    if not draft["questions"]:
        invoke(*words)
        tables = tmp_path.glob("made*/ratings.csv")
        n_written = sum(len(table.read_text("utf-8").splitlines()) - 1 for table in tables)
        assert n_written == shape.ratings.total()


@given(people=st.lists(st.text("abcdefghimnoprst0123456789_", min_size=2), min_size=2, unique=True))
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_column_becomes_a_judge_unless_its_whole_name_is_a_models(tmp_path_factory, people):
    place = tmp_path_factory.mktemp("wide")
    raters = [name for name in people if not names_model(name)][:4]
    rows = [["item", "text", *raters]]
    rows += [
        [
            f"d{i}",
            public_shapes.sentence(i),
            *(("yes", "no")[(i + k) % 2] for k in range(len(raters))),
        ]
        for i in range(12)
    ]
    table = public_shapes.PublicShape("t.csv", public_shapes.table_text(rows), None)
    (place / table.name).write_text(table.content, encoding="utf-8")
    done = invoke("curate", "import", str(place / "t.csv"), "--as", str(place / "made"))
    question(done)
    assert not (place / "made" / "verdicts.csv").exists()
    assert not any(map(is_model, raters))


@pytest.mark.slow
def test_commands_for_tables_of_the_corpus_are_short(tmp_path, monkeypatch):
    """Every second table of each shape."""
    write_corpus(tmp_path / "cases")
    monkeypatch.chdir(tmp_path)
    for number, case in enumerate(sorted((tmp_path / "cases").iterdir())[::2]):
        tables = [path for path in sorted(case.iterdir()) if path.name not in NOT_TABLES]
        done = invoke("curate", "import", *map(str, tables), "--as", f"./made{number}")
        assert len(done.output.splitlines()) <= MOST_LINES, done.output
        assert len(question(done).split()) <= MOST_WORDS


@pytest.mark.slow
def test_planning_a_large_table_costs_less_than_reading_it(tmp_path):
    """Roles are looked for in samples of whole values; 200,000 rows were read several times."""
    with (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["comment_id", "comment", "worker", "toxicity"])
        for i in range(40_000):
            text = f"{public_shapes.sentence(i)}, comment {i}"
            rows.writerows(
                [i, text, f"w{(i * 7 + k * 131) % 4000}", ("toxic", "fine")[(i * i + k) % 3 == 0]]
                for k in range(5)
            )
    start = time.process_time()
    table = read_source(tmp_path / "t.csv")
    read = time.process_time()
    [plan] = make_plans("t", table, {}, settings=AnswerSettings())
    planned = time.process_time()
    assert (plan.mapping.id, plan.mapping.rater) == (("comment_id",), "worker")
    assert planned - read < 0.75 * (read - start)


CASES = [
    path
    for folder in truth_folders()
    for path in sorted((folder.parent / "cases" / "tables").glob("*/input.*"))
]


NO_CASES = pytest.mark.skip(reason="no cases beside the known answers")


@pytest.mark.parametrize(
    "path",
    CASES or [pytest.param(Path("none/none"), marks=NO_CASES)],
    ids=lambda path: path.parent.name,
)
def test_laws_hold_for_cases_from_practice(path, tmp_path, monkeypatch):
    """Read without options, each is short, leads on, makes no judge and loses no row unsaid."""
    place = tmp_path / "0"
    first = imported_bytes(place, path, monkeypatch)
    reached = [(words, {question(first)}) for words in commands(first)]
    printed = [(first, place)]
    for number, (words, asked) in enumerate(reached, 1):
        if number > MOST_COMMANDS:
            break
        place = tmp_path / str(number)
        done = imported_bytes(place, path, monkeypatch, *words)
        assert question(done) not in asked, words
        reached += [(more, asked | {question(done)}) for more in commands(done)]
        printed.append((done, place))
    for done, place in printed:
        assert len(done.output.splitlines()) <= MOST_LINES, done.output
        assert len(question(done).split()) <= MOST_WORDS, question(done)
        assert not list(place.glob("*/verdicts.csv"))
        assert "rejected.csv" in done.output or not list(place.glob("made*/rejected.csv"))


def imported_bytes(place, path, monkeypatch, *words):
    place.mkdir()
    monkeypatch.chdir(place)
    (place / path.name).write_bytes(path.read_bytes())
    return invoke(*(words or ("curate", "import", path.name, "--as", "made")))
