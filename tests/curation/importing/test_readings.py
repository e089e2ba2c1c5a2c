"""Readings are carried out before they are shown: what is printed works, and stays short."""

from __future__ import annotations

import csv
import shlex
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.made_tables import plan_of, text, written
from support.processes import invoke

from harness.curation.importing import read_source, readings_of, tried_readings
from harness.curation.importing.column_facts import Facts, sample_of
from harness.curation.importing.reading_facts import ReadingFacts
from harness.curation.importing.readings import (
    MOST_READINGS,
    SAMPLE_ROWS,
    TableReading,
    explains_less,
)
from harness.errors import HarnessError
from harness.tasks import load_task
from harness.tasks.columns.table_answers import AnswerSettings, RatedOptions

MOST_LINES, MOST_WORDS = 25, 120
N = 24


def commands(output):
    lines = [line.strip() for line in output.splitlines()]
    return [shlex.split(line)[3:] for line in lines if line.startswith("harness curate import")]


def question_of(done):
    """Return what a command asks, or "" if it wrote a task; anything else is a fault."""
    assert done.exception is None or isinstance(done.exception, HarnessError), done.output
    return str(done.exception or "")


def readings(path, roles=None, **said):
    plan = plan_of(path, roles, **said)
    asked = plan.questions()
    return tried_readings(readings_of(plan), read_source(path), RatedOptions(), asked)


KINDS = {
    "id": lambda i, k: f"d{i}",
    "key": lambda i, k: f"x{(i * 7) % 11}",
    "text": lambda i, k: text(i),
    "remark": lambda i, k: f"I thought about {i} and {k} for long",
    "annotator": lambda i, k: ("ann", "bea", "cem")[k],
    "A26O4OGE3YI0": lambda i, k: ("yes", "no")[(i + k) % 2],
    "gpt-4o": lambda i, k: ("yes", "no")[i % 2],
    "label": lambda i, k: ("yes", "no", "n/a")[(i * k + i) % 3],
    "score": lambda i, k: 1 + (i * (k + 2)) % 5,
    "mood": lambda i, k: ("rude", "loud", "rude;loud")[(i + k) % 3],
    "share": lambda i, k: round((i % 5) / 5, 1),
    "when": lambda i, k: f"2024-05-01T10:{i:02}:{k:02}",
    "votes": lambda i, k: '["yes", "no", "no"]' if i % 2 else '["yes", "yes", "no"]',
    "product": lambda i, k: ("Acme", "Initech")[i % 2],
    "": lambda i, k: i % 3,
}


@given(
    names=st.lists(st.sampled_from([*KINDS]), min_size=2, max_size=7, unique=True),
    n_raters=st.sampled_from([1, 3]),
)
@settings(
    max_examples=settings.default.max_examples // 3,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_each_printed_command_writes_a_task_or_asks_something_new(
    tmp_path_factory, names, n_raters
):
    """One question printed itself for ever. The output of an import fits on a screen."""
    place = tmp_path_factory.mktemp("law")
    rows = [[KINDS[name](i, k) for name in names] for i in range(N) for k in range(n_raters)]
    path = written(place / "t.csv", [names, *rows])
    done = invoke("curate", "import", str(path), "--as", str(place / "made"), "--property", "x")
    asked = question_of(done)
    if not asked:
        return
    assert len(asked.split()) <= MOST_WORDS
    assert len(done.output.splitlines()) + 1 <= MOST_LINES, done.output
    for number, words in enumerate(commands(done.stdout)):
        words[words.index(str(place / "made"))] = str(place / f"made-{number}")
        pasted = invoke("curate", "import", *words)
        assert question_of(pasted) != asked, words


def test_facts_and_an_item_stand_above_the_command(tmp_path):
    """A list of options did not show which reading is right."""
    rows = [["tweet", "session", "vote"]]
    rows += [[f"t{i}", f"s{(i * 3 + k) % 9}", 1 + (i + k) % 5] for i in range(N) for k in range(4)]
    [(_, first), (_, second)] = readings(written(tmp_path / "t.csv", rows))
    assert first.lines() == (
        "24 items, 9 raters, 4 ratings each (4: 20, 1: 19, 2: 19, 3: 19, ...)",
        "t0: s0: 1, s1: 2, s2: 3, s3: 4",
    )
    assert second.lines()[0].startswith("9 items, 24 raters, ")


def test_numbered_rows_are_not_shown_beside_an_item_that_repeats(tmp_path):
    """Pasted, the command made 633 items with one rater."""
    rows = [["id", "V", "A"]]
    rows += [[f"s{i}", 1 + (i + k) % 3, 1 + i * k % 3] for i in range(N) for k in range(5)]
    tested = readings(written(tmp_path / "t.csv", rows))
    assert tested
    assert all(reading.items for reading, _ in tested)


def test_a_reading_is_selected_by_its_shortest_option(tmp_path, monkeypatch):
    """Six options were printed where one of them leaves nothing open."""
    rows = [["who", "what", "age", "clear"]]
    rows += [[f"P{p}", f"S{s}", 20 + p, 1 + (p + 2 * s) % 5] for p in range(8) for s in range(6)]
    written(tmp_path / "t.csv", rows)
    monkeypatch.chdir(tmp_path)
    selected = commands(invoke("curate", "import", "t.csv", "--as", "./made").output)
    assert ["t.csv", "--as", "./made", "--rater", "who"] in selected


def test_at_most_three_readings_are_shown(tmp_path):
    rows = [["id", "text", "annotator", "answer_1", "answer_2", "answer_3"]]
    rows += [
        [i, text(i), r, *((i + k + n) % 2 for n in range(3))]
        for i in range(N)
        for k, r in enumerate(("ann", "bea", "cem"))
    ]
    assert 1 < len(readings(written(tmp_path / "t.csv", rows))) <= MOST_READINGS


def test_a_sample_has_whole_items_from_everywhere(tmp_path):
    """A sorted table shows no repetition in its first rows."""
    rows = [["id", "rater", "label"]]
    rows += [[f"d{i:04}", f"r{k}", (i + k) % 2] for i in range(3000) for k in range(3)]
    table = read_source(written(tmp_path / "t.csv", rows))
    sample = sample_of(table, ["id"], SAMPLE_ROWS)
    assert SAMPLE_ROWS / 2 < sample.n_rows <= 1.1 * SAMPLE_ROWS
    assert sample.n_rows == 3 * sample.n_distinct(["id"])
    ids = sample.columns["id"].by_row()
    assert (ids[0], ids[-1]) == ("d0000", "d2999")


def test_dependences_in_a_large_table_are_those_of_whole_values(tmp_path):
    """A remark differs between raters of an item, wherever a sample of the rows is taken."""
    rows = [["id", "text", "rater", "remark"]]
    rows += [[f"d{i}", text(i), f"r{(i + k) % 9}", k % 2] for i in range(8000) for k in range(3)]
    facts = Facts(read_source(written(tmp_path / "t.csv", rows)))
    assert facts.determines(("id",), "text")
    assert not facts.determines(("id",), "remark")
    assert not facts.determines(("rater",), "id")
    assert facts.keys("id", "rater") == 1
    assert facts.keys("id") < 0.4


@given(
    cells=st.lists(
        st.tuples(
            st.integers(0, 5),
            st.sampled_from(("ann", "bea", "cem")),
            st.sampled_from(("yes", "no", "no", "yes", "", "n/a", "maybe yes", "Yes")),
        ),
        min_size=12,
        max_size=40,
    ),
    options=st.sampled_from(((), ("--options", "yes,no"), ("--ignore", "n/a"))),
)
@settings(max_examples=40, deadline=None)
def test_no_rating_disappears_unsaid(tmp_path_factory, cells, options):
    """A cell that isn't blank is a rating, a listed row, or a label that is left out by name."""
    place = tmp_path_factory.mktemp("law")
    rows = [["id", "text", "annotator", "label"], *([f"d{i}", text(i), w, v] for i, w, v in cells)]
    words = [str(written(place / "t.csv", rows)), "--as", str(place / "made"), *options]
    words += ["--id", "id", "--rater", "annotator", "--label", "label", "--max-rejected", "99"]
    done = invoke("curate", "import", *words)
    if done.exit_code:
        return
    with (place / "made" / "ratings.csv").open() as file:
        ratings = [row["value"] for row in csv.DictReader(file)]
    rejected = place / "made" / "rejected.csv"
    n_rejected = len(rejected.read_text().splitlines()) - 1 if rejected.exists() else 0
    assert len(ratings) + n_rejected == sum(bool(value) for *_, value in cells)


FAMILY = ("fluency_score", "tone_score", "depth_score")


def table_of_criteria(place, names=FAMILY, low=1):
    """Write a table whose rows hold several ratings of a rater, each called after a rating."""
    rows = [["doc", "text", "annotator", *names]]
    rows += [
        [f"d{i}", text(i), who, *(low + (i * (n + 2) + k * (n + 1) + i // 5) % 4 for n in range(3))]
        for i in range(N)
        for k, who in enumerate(("ann", "bea", "cem"))
    ]
    return written(place / "t.csv", rows)


def test_a_reading_that_explains_all_that_others_do_and_more_is_taken(tmp_path):
    """It asked which of three scores is the rating: two would have been lost."""
    path = table_of_criteria(tmp_path)
    assert plan_of(path).questions()
    done = invoke("curate", "import", str(path), "--as", str(tmp_path / "made"))
    assert done.exit_code == 0, done.exception
    assert "the others explain fewer columns or make no sense" in " ".join(done.output.split())
    task = load_task(tmp_path / "made")
    assert {item.criterion for item in task.items} == set(FAMILY)
    assert len(task.ratings) == N * 3 * 3


def test_a_column_next_to_a_rating_may_not_be_a_rating(tmp_path):
    """A rater's confidence differs between raters, too: nothing is taken unasked."""
    path = table_of_criteria(tmp_path, ("answer", "sure", "rest"))
    with path.open() as file:
        rows = [row[:5] for row in csv.reader(file)]
    assert len(readings(written(path, rows))) > 1


def test_no_reading_is_shown_that_leaves_the_rest_of_a_family(tmp_path):
    rows = [["doc", "text", "annotator", "unclear", "anger", "joy", "fear"]]
    rows += [
        [f"d{i}", text(i), who, (i + k) % 7 == 0, *((i * n + k) % 3 == 0 for n in (1, 2, 4))]
        for i in range(N)
        for k, who in enumerate(("ann", "bea", "cem"))
    ]
    shown = readings(written(tmp_path / "t.csv", rows))
    assert shown
    for reading, _ in shown:
        used = {name for names in reading.roles.values() for name in names}
        assert {"anger", "joy", "fear"} <= used


@given(data=st.data())
@settings(max_examples=50)
def test_explaining_more_is_a_partial_order(data):
    """No reading explains less than itself; two never explain less than each other."""
    words = st.sampled_from(("a", "b", "c")).map(lambda name: (name,))
    sets = st.frozensets(st.sampled_from("wxyz"))
    columns = data.draw(st.dictionaries(words, sets, min_size=3, max_size=3))
    made = [TableReading("", {}, AnswerSettings(), name) for name in columns]
    for first in made:
        assert not explains_less(columns, first, first)
        for second in made:
            less = explains_less(columns, first, second)
            assert not (less and explains_less(columns, second, first))
            for third in made:
                if less and explains_less(columns, second, third):
                    assert explains_less(columns, first, third)


@pytest.mark.parametrize("n_columns", [30, 200])
def test_many_columns_do_not_fill_the_screen(tmp_path, n_columns):
    """169,509 bytes were printed."""
    names = [f"n/a {k}" for k in range(n_columns)]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        rows = [[i, text(i), *((i * k) % 3 for k in range(n_columns))] for i in range(N)]
        csv.writer(file).writerows([["id", "text", *names], *rows])
    done = invoke("curate", "import", str(path), "--as", str(tmp_path / "made"))
    lines = [line for line in done.output.splitlines() if "harness curate import" not in line]
    assert len(lines) <= MOST_LINES


def test_raters_who_share_no_option_make_no_sense():
    """The fields of a record were read as raters: their names, values and counts never agree."""
    raters = Counter({"name": 12, "value": 12})
    values = Counter({"spam": 6, "quality": 6, "0.1": 6, "0.7": 6})
    apart = {"name": {"spam", "quality"}, "value": {"0.1", "0.7"}}
    assert ReadingFacts(raters, values=values, labels=apart).is_absurd
    shared = {"name": {"spam", "0.1"}, "value": {"0.1", "0.7"}}
    assert not ReadingFacts(raters, values=values, labels=shared).is_absurd
    of_one_mind = {"name": {"spam"}, "value": {"0.1", "0.7"}}
    assert not ReadingFacts(raters, values=values, labels=of_one_mind).is_absurd
