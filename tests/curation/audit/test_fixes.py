"""Repairs: what is merged or grouped, what is left, and that no rating is lost."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from support.processes import invoke
from support.task_folders import TASK, write_jsonl

from harness.curation.audit import audit_task, write_repaired
from harness.errors import TaskError
from harness.tasks import load_task, read_changes, record_change
from harness.tasks.tables import read_rows

MOON = "The moon is made of green cheese."
RAIN = "It often rains in the mountains here, above all in the long autumn months."
TEXTS = (MOON, RAIN, "Bananas are berries.", "Water boils at 100 degrees.")
GRADES = """\
name: grades
property: the grade
scale: nominal
options: [{options}]
positive: [{positive}]
ignore_labels: [{ignored}]
"""


def rated(item, rater, value, **cells):
    return {"item": item, "rater": rater, "value": value, **cells}


def make_task(folder, items, ratings, yaml=TASK):
    folder.mkdir()
    (folder / "task.yaml").write_text(yaml, encoding="utf-8")
    write_jsonl(folder / "items.jsonl", items)
    write_jsonl(folder / "ratings.jsonl", ratings)
    return load_task(folder)


def repaired(task, folder):
    """Write the repaired version; return it with what was done, by kind and number."""
    version = write_repaired(task, audit_task(task), folder)
    return load_task(folder), [(fix.kind, fix.n) for fix in version.fixes]


def n_ratings(task):
    return Counter((r.rater, r.elicitation) for r in (*task.ratings, *task.ignored))


@pytest.fixture
def task(tmp_path):
    """i1 and i2 are identical and rated by different people; so is i3, but r0 rated it too."""
    items = [{"id": f"i{i}", "text": MOON} for i in (1, 2, 3)] + [{"id": "i4", "text": RAIN}]
    ratings = [
        rated("i1", "r0", "A", rated_at="2026-01-01T10:00:00Z"),
        rated("i2", "r1", "B", rated_at="2026-01-02T10:00:00Z", form="forced_choice"),
        rated("i3", "r0", "B"),
        rated("i4", "r0", "A"),
    ]
    task = make_task(tmp_path / "old", items, ratings)
    record_change(task.folder, "made by hand")
    return task


def add_verdicts(task, *rows):
    lines = ["item,judge,elicitation,value", *rows]
    (task.folder / "verdicts.csv").write_text("\n".join(lines), encoding="utf-8")


def test_identical_items_are_merged_where_no_rater_rated_both(task, tmp_path):
    """The others share a group; ratings keep their time; the judge's own verdict stays."""
    audit = audit_task(task)
    add_verdicts(task, "i1,x,,A", "i2,x,,B", "i2,y,,B", "i3,x,,A", "i4,x,,B")
    version = write_repaired(task, audit, tmp_path / "new")
    new, kinds = load_task(tmp_path / "new"), [(fix.kind, fix.n) for fix in version.fixes]
    assert kinds == [("duplicate_items", 1), ("near_duplicate_items", 2)]
    assert [(item.id, item.group) for item in new.items] == [
        ("i1", "i1"),
        ("i3", "i1"),
        ("i4", None),
    ]
    assert n_ratings(new) == n_ratings(task)
    assert "duplicate_items" in {row.kind for row in version.left}
    rows = {(r["item"], r["rater"]): r for _, r in read_rows(tmp_path / "new" / "ratings.jsonl")}
    assert rows["i1", "r1"]["rated_at"] == "2026-01-02T10:00:00Z"
    assert (tmp_path / "new" / "verdicts.csv").read_text(encoding="utf-8").split() == [
        "item,judge,elicitation,value",
        "i1,x,,A",
        "i1,y,,B",
        "i3,x,,A",
        "i4,x,,B",
    ]


def test_the_changelog_leads_from_the_old_hash_to_the_new(task, tmp_path):
    """A line per repair follows those of the audited version, which stays as it was."""
    files = {path.name: path.read_bytes() for path in task.folder.iterdir()}
    new, _ = repaired(task, tmp_path / "new")
    first, *rest = read_changes(tmp_path / "new")
    assert first == read_changes(task.folder)[0]
    assert [change.before for change in rest] == [task.content_hash, rest[0].after]
    assert rest[-1].after == new.content_hash
    assert {path.name: path.read_bytes() for path in task.folder.iterdir()} == files


def test_a_repaired_version_has_nothing_left_to_repair(task, tmp_path):
    """Repairing twice is repairing once."""
    new, _ = repaired(task, tmp_path / "new")
    assert write_repaired(new, audit_task(new), tmp_path / "third").folder is None
    assert not (tmp_path / "third").exists()


def test_duplicates_of_other_groups_are_left(tmp_path):
    """Which group is right is the user's to say."""
    items = [{"id": f"i{i}", "text": RAIN, "group": f"g{i}"} for i in (1, 2)]
    items += [{"id": "i3", "text": RAIN.upper()}]
    task = make_task(tmp_path / "old", items, [rated(f"i{i}", "r0", "A") for i in (1, 2, 3)])
    version = write_repaired(task, audit_task(task), tmp_path / "new")
    assert version.folder is None
    assert "duplicates_across_groups" in {row.kind for row in version.left}


def graded(tmp_path, options, *, positive="", ignored="", values):
    yaml = GRADES.format(options=", ".join(options), positive=positive, ignored=ignored)
    keys = "\n".join(f"  - {{key: {key}, label: {key}}}" for key in options)
    yaml = yaml.replace(f"options: [{', '.join(options)}]", f"options:\n{keys}")
    items = [{"id": f"i{i}", "text": TEXTS[i]} for i in range(len(values))]
    ratings = [rated(f"i{i}", "r0", value) for i, value in enumerate(values)]
    return make_task(tmp_path / "old", items, ratings, yaml)


def test_options_spelt_twice_are_merged(tmp_path):
    """Words that are separated otherwise are the same option, in ratings and verdicts."""
    options = ["not_toxic", "not toxic", "toxic"]
    task = graded(tmp_path, options, positive="toxic", values=["not toxic", "not_toxic", "toxic"])
    audit = audit_task(task)
    add_verdicts(task, "i0,x,,not toxic", 'i0,x,response_set,"[""not toxic""]"')
    write_repaired(task, audit, tmp_path / "new")
    new = load_task(tmp_path / "new")
    assert [r.value for r in new.ratings] == ["not_toxic", "not_toxic", "toxic"]
    verdicts = [row["value"] for _, row in read_rows(tmp_path / "new" / "verdicts.csv")]
    assert verdicts == ["not_toxic", '["not_toxic"]']


@pytest.mark.parametrize("options", [["A", "A-", "B"], ["C", "C++", "D"], ["1.5", "15", "2"]])
def test_options_that_differ_by_signs_are_left(tmp_path, options):
    """A grade with a minus, or a decimal point, is another option."""
    task = graded(tmp_path, [f'"{key}"' for key in options], values=options)
    version = write_repaired(task, audit_task(task), tmp_path / "new")
    assert version.folder is None
    assert "options_spelt_twice" in {row.kind for row in version.left}


def test_options_of_which_one_is_positive_are_left(tmp_path):
    """Merging them would decide what counts as positive."""
    options = ["not_toxic", "not toxic", "toxic"]
    task = graded(tmp_path, options, positive="not toxic", values=options)
    assert write_repaired(task, audit_task(task), tmp_path / "new").folder is None


def test_ignored_ratings_of_an_option_in_another_spelling_are_counted(tmp_path):
    """The label is no longer ignored, and the rating is the option."""
    values = ["toxic", "not_toxic", "Not Toxic", "n/a"]
    options = ["not_toxic", "toxic"]
    task = graded(tmp_path, options, ignored="Not Toxic, n/a", values=values)
    new, fixes = repaired(task, tmp_path / "new")
    assert fixes == [("options_spelt_twice", 1)]
    assert Counter(r.value for r in new.ratings) == {"not_toxic": 2, "toxic": 1}
    assert new.n_ignored == {"n/a": 1}


def test_fix_and_page_of_the_command(task, tmp_path, monkeypatch):
    """The next free name is taken, a folder that exists refused, and the page written."""
    monkeypatch.chdir(tmp_path)
    arguments = ("curate", "audit", task.folder, "--fix", "--page", "audit.html")
    shown = invoke(*arguments).output
    assert "Wrote small-2:\n- 1 item merged into an identical item" in shown
    assert "harness curate diff" in shown
    result = json.loads(invoke(*arguments, "--json").output)
    assert result["version"]["folder"] == "small-3"
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "Written to <code>small-3</code>" in page
    assert MOON not in page
    refused = invoke(*arguments, "--as", "small-2")
    assert isinstance(refused.exception, TaskError)
    assert "exists already" in str(refused.exception)


def test_verdicts_of_the_task_measure_the_findings(task):
    """Without --verdicts, verdicts.csv of the folder is used and named."""
    add_verdicts(task, *(f"i{i},{judge},,A" for judge in "xy" for i in (1, 2, 3, 4)))
    audit = audit_task(task)
    assert audit.verdicts == str(task.folder / "verdicts.csv")
    assert audit.decision is not None
