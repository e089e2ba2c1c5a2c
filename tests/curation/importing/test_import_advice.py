"""Command lines that an import prints: each is right where what stands above it is so."""

from __future__ import annotations

import csv
import random
import shlex

import pytest
from support.processes import invoke

from harness.errors import ExitCode, TaskError
from harness.tasks import load_task


def write_table(path, ratings, values="12345"):
    draw = random.Random(7)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "summary", *ratings])
        for i in range(24):
            text = f"The council voted on item number {i} in a long session on Monday."
            cells = [draw.choice(values) for _ in ratings]
            writer.writerow([f"s{i}", text, *cells])


def advice(output):
    """Return each printed command line behind its condition."""
    found, condition = {}, ""
    for line in output.splitlines():
        if line.startswith("If "):
            condition = line
        elif line.startswith("  harness curate import"):
            assert condition not in found, "two readings with one condition"
            found[condition] = shlex.split(line)[3:]
    return found


def asked(table, tmp_path, monkeypatch, *words):
    monkeypatch.chdir(tmp_path)
    done = invoke("curate", "import", table, "--as", "./made", *words)
    assert isinstance(done.exception, TaskError), done.output
    return advice(done.stdout)


ORDERED = ("bit", "bit more", "more", "a lot more")
CRITERIA = ("fluency", "coherence", "relevance")


def test_a_column_per_criterion_without_raters_was_offered_as_raters_alone(tmp_path, monkeypatch):
    """Pasted, it gave a task of three raters who rated one thing."""
    write_table(tmp_path / "table.csv", CRITERIA)
    commands = asked("table.csv", tmp_path, monkeypatch)
    assert [*commands] == [
        "If fluency, coherence, relevance are raters:",
        "If fluency, coherence, relevance are criteria:",
    ]
    done = invoke("curate", "import", *commands["If fluency, coherence, relevance are criteria:"])
    assert done.exit_code == 0, done.output
    task = load_task("./made")
    assert {item.criterion for item in task.items} == {*CRITERIA}
    assert len(task.items) == len(task.ratings) == 24 * 3
    assert {rating.rater for rating in task.ratings} == {"p1"}
    assert task.rater_ids == "positional"
    assert {item.group for item in task.items} == {f"s{i}" for i in range(24)}
    done = invoke("validate", "--task", "./made")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("columns", "values"),
    [
        (("mia", "tom", "lee"), ("ok", "bad")),
        (("label",), ("ok", "bad")),
        (("mia", "tom", "lee"), ("ok", "bad", "n/a")),
        (("tone", "style", "depth", "focus"), "123"),
        (("fl1", "fl2", "to1", "to2"), "12345"),
        (("ann1", "ann2", "mini"), ("low", "middling", "high")),
        (("rater 1", "rater 2"), ("1,5", "2,5", "3,5")),
        (("rater 1", "rater 2"), ("rude", "loud", "rude;loud")),
    ],
)
def test_every_command_line_is_accepted_when_it_is_pasted(tmp_path, monkeypatch, columns, values):
    """None asks again, fails, or stands for two readings."""
    write_table(tmp_path / "table.csv", columns, values=values)
    commands = asked("table.csv", tmp_path, monkeypatch)
    for number, words in enumerate(commands.values()):
        place = words.index("./made")
        words[place] = f"./made-{number}"
        done = invoke("curate", "import", *words)
        assert done.exit_code == 0, (words, done.output)


def test_an_order_that_only_the_user_knows_was_printed_as_placeholders(tmp_path, monkeypatch):
    """``--options LOWEST,...,HIGHEST`` was refused when it was pasted."""
    write_table(
        tmp_path / "t.csv", ("rater 1", "rater 2"), values=("bit", "bit more", "more", "a lot more")
    )
    commands = asked("t.csv", tmp_path, monkeypatch)
    assert [*commands] == ["If the scale is nominal:"]


def test_shares_of_an_unknown_number_of_raters_print_no_command_line(tmp_path, monkeypatch):
    """``--n-raters N`` was printed, which is no number."""
    rows = ["id,text,share_yes,share_no"]
    text = "The council met once more"
    rows += [f"s{i},{text} for item {i},0.{i},0.{10 - i}" for i in range(1, 10)]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    assert not asked("t.csv", tmp_path, monkeypatch, "--counts", "share_yes,share_no")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--n-raters", "3"), "--n-raters works only with counts of raters"),
        (("--lists", "sets"), "--lists works only for cells with several ratings"),
        (("--on-duplicate", "last"), "--on-duplicate last needs a row per rating"),
        (("--separator", ";"), "no rating contains the --separator ';'"),
        (("--decimal", "comma"), "no rating has a decimal comma"),
        (("--scales", "own"), "--scales works only with several criteria"),
        (("--total", "id"), "--total works only with counts of raters"),
        (
            ("--ignore", "bda"),
            "t.csv: --ignore: no answer in the table is 'bda'. The most similar labels are 'bad'",
        ),
        (
            ("--abstain", "n/a"),
            "t.csv: --abstain: no answer in the table is 'n/a'. The most similar labels are",
        ),
        (
            ("--rename", "k=ok"),
            "t.csv: --rename: no answer in the table is 'k'. The most similar labels are 'ok'",
        ),
        (("--rename", "OK=o", "--options", "a,bad"), "t.csv: --rename: 'o' isn't one of a, bad"),
        (("--sheet", "one"), "--sheet works only for workbooks"),
    ],
)
def test_settings_without_effect_on_a_table_were_ignored(tmp_path, monkeypatch, words, message):
    """The import wrote a task as if they were not there."""
    write_table(tmp_path / "t.csv", ("mia", "tom"), ("ok", "bad"))
    monkeypatch.chdir(tmp_path)
    roles = ("--raters", "mia,tom", "--judges", "none")
    done = invoke("curate", "import", "t.csv", "--as", "./made", *roles, *words)
    assert isinstance(done.exception, TaskError), done.output
    assert message in str(done.exception)
    assert done.exception.exit_code == ExitCode.WRONG_INPUT
    assert not (tmp_path / "made").exists()
