"""New task folders: the example that runs at once, and other people's tables read as tasks."""

from __future__ import annotations

import csv
import json
import os
import pty
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.processes import call_harness

from harness.app.plan import plan_run
from harness.app.run import validate_verdicts
from harness.curation.importing import (
    AnswerSettings,
    MaxRejected,
    make_plans,
    make_task,
    read_source,
)
from harness.errors import TaskError
from harness.files.tables import Limits
from harness.judging.parsing.external_verdicts import read_external
from harness.options.concerns import RunOptions, Server
from harness.tasks import CANNOT_ASSESS, load_task, read_changes
from harness.tasks.columns.cell_values import labels_of

NAMED = {",": "commas", ";": "semicolons", "\t": "tabs"}
JUDGES = {
    *("gemini-1.5-flash", "gemini-1.5-pro", "gpt-4o", "gpt-4o-mini"),
    *("llama-3.1-instruct", "mistral-7b-instruct-v0.3"),
}
RENAMED = {
    "mtbench": {
        "id": "battle",
        "group": "prompt no",
        "conversation_a": "left chat",
        "conversation_b": "right chat",
        "author_0": "Ann. 1",
        "author_4": "Ann. 2",
        "expert_24": "Ann. 3",
        "gpt-4o": "GPT-4o verdict",
    },
    "wax": {
        "id": "example",
        "cue": "stimulus",
        "association": "reply_word",
        "explanation": "why",
        **{f"r{i:02}": f"rating by {name}" for i, name in enumerate("ABCDEFGHIJ", 1)},
    },
}


def write_csv(path, rows) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def truth_rows(truth, name):
    folder = truth / "data" / name
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    tables = []
    for table in ("ratings", "verdicts"):
        with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
            tables.append(list(csv.DictReader(file)))
    return [json.loads(line) for line in lines], *tables


def wide(truth, name, path, renamed):
    """Export a data set with one column per rater and per judge, columns named differently."""
    items, ratings, verdicts = truth_rows(truth, name)
    cells = {(r["item"], r["rater"]): r["value"] for r in ratings}
    cells |= {(v["item"], v["judge"]): v["value"] for v in verdicts}
    people = sorted({r["rater"] for r in ratings}) + sorted({v["judge"] for v in verdicts})
    rows = []
    for item in items:
        row = {k: v if isinstance(v, str) else json.dumps(v) for k, v in item.items()}
        row |= {who: cells.get((item["id"], who), "") for who in people}
        rows.append({renamed.get(k, k): v for k, v in row.items()})
    write_csv(path, rows)
    return items, ratings, verdicts


def plan_of(path, roles=None, **fields):
    [plan] = make_plans("mine", read_source(path), roles or {}, settings=AnswerSettings(**fields))
    return plan


def table(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", RENAMED)
@pytest.mark.parametrize("change", [True, False], ids=["renamed", "as released"])
def test_wide_table_becomes_the_same_task(truth, tmp_path, name, change):
    """Every rating and verdict of a wide export is there again, whatever its columns are called."""
    renamed = RENAMED[name] if change else {}
    items, ratings, verdicts = wide(truth, name, tmp_path / "t.csv", renamed)
    shown = [renamed.get(k, k) for k in items[0] if k not in {"id", "group"}]
    assert name == "mtbench" or plan_of(tmp_path / "t.csv").questions()  # single words may be shown
    roles = {"text": shown, "judges": {renamed.get(v["judge"], v["judge"]): 0 for v in verdicts}}
    summary = make_task(plan_of(tmp_path / "t.csv", roles), tmp_path / "mine")
    task = load_task(tmp_path / "mine")
    assert summary.n_rejected == 0
    values = {(r.item, r.rater, r.value) for r in task.ratings}
    assert values == {(r["item"], renamed.get(r["rater"], r["rater"]), r["value"]) for r in ratings}
    read = read_external(tmp_path / "mine" / "verdicts.csv", task)
    assert {(v.item, v.judge, v.value) for v in read} == {
        (v["item"], renamed.get(v["judge"], v["judge"]), v["value"]) for v in verdicts
    }
    texts = [name for name in items[0] if name not in {"id", "group"}]
    assert [renamed.get(text, text) for text in texts] == list(task.text)
    assert [item.group for item in task.items] == [item.get("group") for item in items]
    assert task.rater_ids == "real"


@pytest.mark.parametrize("name", RENAMED)
@pytest.mark.parametrize(
    "columns",
    [("case", "worker", "relation"), pytest.param(("q", "who", "x"), marks=pytest.mark.slow)],
)
def test_long_table_becomes_the_same_task(truth, tmp_path, name, columns):
    """Raters' rows become judges' only when the user says so; each row is there again."""
    items, ratings, verdicts = truth_rows(truth, name)
    by_id = {item["id"]: item for item in items}
    rows = [
        dict(zip(columns, (r["item"], r.get("rater") or r["judge"], r["value"]), strict=True))
        | {"body": json.dumps({k: v for k, v in by_id[r["item"]].items() if k != "id"})}
        for r in ratings + verdicts
    ]
    write_csv(tmp_path / "t.csv", rows)
    [question] = plan_of(tmp_path / "t.csv").questions()
    assert "Pass --judges none if they are people, or --judges" in question
    plan = plan_of(tmp_path / "t.csv", {"judges": sorted(JUDGES)})
    make_task(plan, tmp_path / "mine")
    task = load_task(tmp_path / "mine")
    assert {(r.item, r.rater, r.value) for r in task.ratings} == {
        (r["item"], r["rater"], r["value"]) for r in ratings
    }
    assert len(read_external(tmp_path / "mine" / "verdicts.csv", task)) == len(verdicts)
    assert task.text == ("body",)


@pytest.mark.slow
def test_decision_from_a_table_of_ones_own(truth, tmp_path):
    """Two commands lead from a wide table to the judge to use."""
    names = RENAMED["mtbench"]
    wide(truth, "mtbench", tmp_path / "battles.csv", names)
    judges = ",".join(sorted(names.get(judge, judge) for judge in JUDGES))
    command = ("curate", "new", "mtb", "--from", "battles.csv", "--judges", judges, "--yes")
    result = call_harness(*command, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    [line] = [x for x in result.stdout.splitlines() if x.startswith("  harness validate")]
    done = call_harness(*line.split()[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "720" not in done.stderr
    for judge in ("GPT-4o verdict", "gemini-1.5-pro"):
        assert judge in done.stdout.replace("\n", " ")


def test_judges_are_not_asked_for_a_property_that_nobody_said(tmp_path):
    """They were asked for "the label that raters gave", and paid; baselines do not read it."""
    path = table(tmp_path, "id,body,a1,a2\n1,one two,yes,no\n2,three,no,no\n")
    make_task(plan_of(path), tmp_path / "mine")
    task, options = str(tmp_path / "mine"), RunOptions(elicitations=("forced_choice",))
    with pytest.raises(TaskError, match="Replace it with a phrase for the property"):
        plan_run(task, ["m"], options, server=Server(base_url="http://127.0.0.1:1/v1"))
    assert plan_run(task, ["random"], options).jobs


def test_binary_table_has_a_sweep_over_beta(tmp_path):
    """The task says by default that who chose the negative label may accept the positive one."""
    path = table(tmp_path, "id,body,a1,a2\n1,one two,yes,no\n2,three,no,no\n3,four,yes,yes\n")
    make_task(plan_of(path, positive=("yes",)), tmp_path / "mine")
    validation = validate_verdicts(str(tmp_path / "mine"), None)
    assert validation.sensitivity.reason == ""
    assert load_task(tmp_path / "mine").sensitivity == {"no": ("yes",)}


def test_new_task_runs_at_once(tmp_path):
    """The example loads, says that it is one, and a run on it ends with a decision."""
    result = call_harness("curate", "new", "politeness", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "harness run --task ./politeness" in result.stdout
    task = load_task(tmp_path / "politeness")
    assert (task.name, len(task.items)) == ("politeness", 12)
    assert "# " in (tmp_path / "politeness" / "task.yaml").read_text()
    done = call_harness("run", "--task", "./politeness", "--judges", "lexicon", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "made-up example" in done.stdout


def test_existing_folder_is_refused(tmp_path):
    """Nothing of the user's is written over."""
    (tmp_path / "mine").mkdir()
    path = table(tmp_path, "id,a1,a2\n1,yes,no\n")
    for arguments in (("mine",), ("mine", "--from", path, "--yes")):
        done = call_harness("curate", "new", *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert "mine: exists already" in done.stderr
        assert done.stderr.count("\n") == 1
    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.parametrize("option", [["--dry-run"], ["--raters", "a,b"], ["--property", "tone"]])
def test_options_for_reading_a_table_need_a_table(tmp_path, option):
    """Nothing is written: `--dry-run` wrote the example, and the rest was passed over."""
    done = call_harness("curate", "new", "mine", *option, cwd=tmp_path)
    assert done.returncode == 2
    assert f"{option[0]} needs --from FILE" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_label_without_a_rater_is_refused(tmp_path):
    """In a table of a column per rater, that column was neither a rating nor kept."""
    path = table(tmp_path, "id,a1,a2,a3\n1,yes,no,no\n2,no,no,no\n")
    with pytest.raises(
        TaskError,
        match=r"--label 'a3' works only for tables with a row per rating\. Also pass --rater",
    ):
        plan_of(path, {"label": ["a3"]})


def test_a_weak_reading_is_not_taken(tmp_path):
    """Without a terminal, what is unclear is named with the options that settle it."""
    path = table(tmp_path, "id,anna,mini\na,yes,no\nb,no,no\n")
    for consent in ([], ["--yes"]):
        done = call_harness("curate", "new", "mine", "--from", path, *consent, cwd=tmp_path)
        assert done.returncode == 2
        assert "anna, mini" in done.stdout
        assert "Pass --raters anna,mini" in done.stderr
        assert done.stderr.count("\n") == 1
        assert not (tmp_path / "mine").exists()
    named = call_harness("curate", "new", "mine", "--from", path, "--judges", "mini", cwd=tmp_path)
    assert named.returncode == 0, named.stderr
    assert {r.rater for r in load_task(tmp_path / "mine").ratings} == {"anna"}


@pytest.mark.slow
def test_guess_is_confirmed_and_corrected_on_a_terminal(tmp_path):
    """On a terminal changes are typed, then y (or Enter), then what was rated."""
    path = table(tmp_path, "id,note,ann1,ann2,extra\na,good one,yes,no,yes\nb,bad one,no,no,yes\n")
    terminal, inside = pty.openpty()
    command = [sys.executable, "-m", "harness", "curate", "new", "mine", "--from", str(path)]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=inside, stdout=inside, stderr=inside
    ) as process:
        os.close(inside)
        typed = b"raters=ann1,ann2,extra\nnonsense=1\ntext=note\ny\nwhether it is good\n"
        os.write(terminal, typed)
        shown = b""
        while process.poll() is None or b"Next:" not in shown:
            try:
                shown += os.read(terminal, 4096)
            except OSError:
                break
        assert process.wait() == 0, shown
    os.close(terminal)
    task = load_task(tmp_path / "mine")
    assert {r.rater for r in task.ratings} == {"ann1", "ann2", "extra"}
    assert task.property == "whether it is good"
    assert b"'nonsense' isn't a column role" in shown


def test_rejected_rows_are_listed_with_line_and_reason(tmp_path):
    """What cannot be used is named; the rest is kept."""
    path = table(
        tmp_path,
        "id,ann1,ann2,gpt-4o\na,yes,no,yes\n,yes,no,no\na,no,no,no\nb,maybe,no,no\nc,,,yes\nd,,no,\n",
    )
    plan = plan_of(path, {"judges": ["gpt-4o"]}, options=("yes", "no"))
    summary = make_task(plan, tmp_path / "mine")
    text = (tmp_path / "mine" / "rejected.csv").read_text(encoding="utf-8")
    listed = list(csv.DictReader(text.splitlines()))
    assert [(row["line"], row["column"], row["reason"]) for row in listed] == [
        ("3", "id", "the item is not named"),
        ("4", "id", "item 'a' is also on line 2"),
        ("5", "ann1", "label 'maybe' is not an option"),
        ("6", "", "no rater rated this item"),
    ]
    assert (summary.n_rejected, summary.n_items, summary.raters) == (4, 3, {"ann1": 1, "ann2": 3})
    assert [
        v.item for v in read_external(tmp_path / "mine/verdicts.csv", load_task(summary.folder))
    ]


def test_no_answer_is_lost(tmp_path):
    """Answers written + answers rejected = answers in the table, for wide tables of any cells."""

    @settings(max_examples=40, deadline=None)
    @given(
        st.lists(
            st.lists(
                st.sampled_from(["yes", "no", "maybe", "", CANNOT_ASSESS]), min_size=3, max_size=3
            ),
            min_size=1,
            max_size=6,
        )
    )
    def check(rows):
        path = tmp_path / "t.csv"
        text = "".join(f"i{i},{','.join(row)}\n" for i, row in enumerate(rows))
        path.write_text(f"id,ann1,ann2,ann3\n{text}first,yes,no,\n", encoding="utf-8")
        plan = plan_of(path, {"raters": ["ann1,ann2,ann3"]}, options=("yes", "no"))
        folder = tmp_path / f"mine{len(list(tmp_path.iterdir()))}"
        summary = make_task(plan, folder)
        filled = sum(bool(cell) for row in rows for cell in row) + 2
        empty_rows = sum(not any(row) for row in rows)
        assert sum(summary.raters.values()) + summary.n_rejected == filled + empty_rows
        assert len(load_task(folder).ratings) == sum(summary.raters.values())

    check()


@pytest.mark.parametrize(
    ("text", "scale", "options", "positive"),
    [
        ("id,a1,a2\n1,yes,no\n2,no,no\n", "binary", ["no", "yes"], ("yes",)),
        ("id,a1,a2\n1,toxic,not toxic\n", "binary", ["not toxic", "toxic"], ("toxic",)),
        ("id,a1,a2\n1,unsafe,safe\n", "binary", ["safe", "unsafe"], ("safe",)),
        ("id,a1,a2\n1,0,1\n2,1,1\n", "binary", ["0", "1"], ("1",)),
        ("id,a1,a2\n1,left,tie\n2,right,tie\n", "pairwise", ["left", "right", "tie"], ()),
        ("id,a1,a2\n1,model_a,model_b\n", "pairwise", ["model_a", "model_b"], ()),
        ("id,a1,a2\n1,1.0,5\n2,2,4\n3,,5.0\n", "ordinal", ["1", "2", "3", "4", "5"], ()),
        ("id,a1,a2\n1,high,low\n2,medium,low\n", "ordinal", ["low", "medium", "high"], ()),
        ("id,a1,a2\n1,red,blue\n2,Red,green\n", "nominal", ["blue", "green", "red"], ()),
        ('id,a1,a2\n1,"no, really",yes\n', "binary", ["no really", "yes"], ("yes",)),
    ],
)
def test_scale_and_options_follow_the_labels(tmp_path, text, scale, options, positive):
    """Labels say which scale it is, in which order its options stand, and what is positive."""
    plan = plan_of(table(tmp_path, text))
    assert (plan.answers.scale, list(plan.answers.labels)) == (scale, options)
    assert plan.answers.positive == positive
    make_task(plan, tmp_path / "mine")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "id,a1,a2\n" + "".join(f"{i},{i * 0.37:.2f},{i * 0.3:.1f}\n" for i in range(30)),
            "continuous",
        ),
        (
            "id,rater,text\n" + "".join(f"{i // 3},r{i % 3},words {i}\n" for i in range(400)),
            "--raters",
        ),
        ("id|a|b\n1|yes|no\n", "commas"),
        ("id,a1,a2\n1,yes,yes\n", "only the label 'yes'"),
        ("one,two\nalpha,beta\n", "the columns are 'one', 'two'".replace("the", "The")),
        ("", "empty"),
        ("id,a1,a2\n1,yes\n", "line 2"),
    ],
)
def test_unusable_table_is_one_line_that_says_why(tmp_path, text, words):
    """Exit 2, what was found and what to do, and no folder."""
    path = table(tmp_path, text)
    done = call_harness("curate", "new", "mine", "--from", path, "--yes", cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "mine").exists()


def test_numbers_up_to_the_cap_are_steps_when_told_so(tmp_path):
    """--scale ordinal uses each number as a step."""
    text = "id,a1,a2\n" + "".join(f"{i},{i * 2},{i * 2 + 1}\n" for i in range(15))
    plan = plan_of(table(tmp_path, text), scale="ordinal")
    assert list(plan.answers.labels) == [str(i) for i in range(30)]


def test_labels_of_judges_alone(tmp_path):
    """What two judges say is an option; what one alone says is kept and counted as invalid."""
    text = "id,a1,a2,gpt,claude\n1,yes,no,none,none\n2,no,no,ERROR,yes\n"
    plan = plan_of(table(tmp_path, text), {"judges": ["gpt,claude"]})
    summary = make_task(plan, tmp_path / "mine")
    task = load_task(summary.folder)
    assert [option.key for option in task.options] == ["no", "none", "yes"]
    verdicts = read_external(summary.folder / "verdicts.csv", task)
    assert [v.outcome for v in verdicts] == ["answered", "answered", "invalid", "answered"]


def test_response_sets_in_cells(tmp_path):
    """A JSON array in a cell is a response set, and a single label beside it is a set of one."""
    text = 'id,a1,a2,gpt\n1,"[""x"",""y""]","[""x""]","[""y"",""x""]"\n2,x,y,y\n'
    plan = plan_of(table(tmp_path, text), {"judges": ["gpt"]})
    summary = make_task(plan, tmp_path / "mine")
    task = load_task(summary.folder)
    assert [(r.elicitation, r.value) for r in task.ratings] == [
        ("response_set", ("x", "y")),
        ("response_set", ("x",)),
        ("response_set", ("x",)),
        ("response_set", ("y",)),
    ]
    kinds = [v.elicitation for v in read_external(summary.folder / "verdicts.csv", task)]
    assert kinds == ["response_set", "response_set"]


@pytest.mark.parametrize(("with_sets", "ranks_by"), [(8, "forced_choice"), (9, "response_set")])
def test_imported_task_ranks_by_sets_where_nearly_all_items_have_them(
    tmp_path, with_sets, ranks_by
):
    """At least 90 % of the rated items; one that nobody could assess is not rated."""
    rows = ["doc,rater,elicitation,value", f"d10,p1,forced_choice,{CANNOT_ASSESS}"]
    for i in range(10):
        rows += [f"d{i},p{j},forced_choice,{'ab'[(i + j) % 2]}" for j in range(3)]
        if i < with_sets:
            rows.append(f'd{i},p1,response_set,"[""a"", ""b""]"')
    roles = {"id": ["doc"], "rater": ["rater"], "label": ["value"], "elicitation": ["elicitation"]}
    path = table(tmp_path, "\n".join(rows) + "\n")
    summary = make_task(plan_of(path, roles), tmp_path / "mine")
    assert load_task(summary.folder).ranks_by == ranks_by
    assert f"\nranks_by: {ranks_by}\n" in (summary.folder / "task.yaml").read_text("utf-8")


def test_pairs_in_a_long_table(tmp_path):
    """A column `elicitation` keeps a rater's choice and set apart."""
    rows = ["doc,rater,elicitation,value"]
    for i in range(4):
        for rater in ("p1", "p2"):
            rows += [f"d{i},{rater},forced_choice,{'ab'[i % 2]}"]
            rows += [f'd{i},{rater},response_set,"[""a"", ""b""]"']
    summary = make_task(plan_of(table(tmp_path, "\n".join(rows) + "\n")), tmp_path / "mine")
    assert summary.n_rejected == 0
    assert len(load_task(summary.folder).ratings) == 16


def test_abstentions_and_ignored_labels(tmp_path):
    """CANNOT_ASSESS allows abstaining; an ignored label is counted and left out."""
    text = f"id,a1,a2\n1,yes,{CANNOT_ASSESS}\n2,no,n/a\n"
    summary = make_task(plan_of(table(tmp_path, text), ignore=("n/a",)), tmp_path / "mine")
    task = load_task(summary.folder)
    assert task.abstain
    assert task.n_ignored == {"n/a": 1}


def test_labels_that_say_nothing_are_asked_about(tmp_path):
    """N/A and ? were options like any other, and made the scale nominal."""
    path = table(tmp_path, "id,a1,a2\n1,1,N/A\n2,2,?\n3,3,1\n")
    plan = plan_of(path)
    [question] = plan.questions()
    assert question.startswith(
        "can't tell if raters chose 'N/A', '?' as an option. Pass --abstain 'N/A,?' "
    )
    assert (plan.answers.scale, list(plan.answers.labels)) == ("ordinal", ["1", "2", "3"])
    assert not plan_of(path, ignore=("N/A", "?")).questions()
    summary = make_task(plan_of(path, abstain=("n/a",), ignore=("?",)), tmp_path / "mine")
    task = load_task(summary.folder)
    assert [r.value for r in task.ratings] == ["1", CANNOT_ASSESS, "2", "3", "1"]
    assert task.n_ignored == {"?": 1}


def test_positional_raters(tmp_path):
    """Numbered label columns filled from the left are places; crossed workers are persons."""
    places = "id,label_1,label_2,label_3\n1,yes,no,\n2,no,no,yes\n3,yes,,\n"
    people = "id,w1,w2,w3\n1,yes,no,\n2,,no,yes\n3,yes,,no\n"
    assert plan_of(table(tmp_path, places)).rated.rater_ids == "positional"
    assert plan_of(table(tmp_path, people)).rated.rater_ids == "real"


def test_kind_of_raters(tmp_path):
    """--kind says what the raters are; columns called after experts say it themselves."""
    path = table(tmp_path, "id,expert_1,expert_2\n1,yes,no\n2,no,no\n")
    assert plan_of(path).rated.kind == "expert"
    result = call_harness(
        "curate", "new", "m", "--from", path, "--kind", "skilled", "--yes", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert load_task(tmp_path / "m").raters == "skilled"


def test_header_that_breaks_its_line_loses_no_rater(tmp_path):
    """Line breaks, hard spaces and spaces around a column's name are not part of the name."""
    text = '\ufeff" Doc ID ";"Rater 1\n(Anna)";Rater\u00a02;"gpt\n4o"\nd1;yes;no;yes\nd2;no;no;no\n'
    roles = {"id": ["Doc ID"], "raters": ["Rater 1 (Anna),Rater 2"], "judges": ["gpt 4o"]}
    summary = make_task(plan_of(table(tmp_path, text), roles), tmp_path / "mine")
    assert summary.n_rejected == 0
    assert summary.raters == {"Rater 1 (Anna)": 2, "Rater 2": 2}
    assert summary.judges == {"gpt 4o": 2}


def test_columns_that_read_the_same_are_refused(tmp_path):
    """Names that differ in what cannot be seen alone would be one column."""
    path = table(tmp_path, 'id,a1,"a1 "\n1,yes,no\n')
    with pytest.raises(TaskError, match=r"line 2: two columns are called 'a1'\. Rename one"):
        read_source(path)


@pytest.mark.parametrize(
    ("head", "raters", "labels"),
    [
        ("item_id,rater,score", ("Ann", "Bob", "Cid"), "12345"),
        ("item,annotator,rating", ("1", "2", "3"), "12345"),
        ("id,worker_id,label", ("1", "2", "3"), "01"),
        ("doc,annotator,value", ("a", "b"), "xy"),
    ],
)
def test_numbers_that_name_items_are_no_ratings(tmp_path, head, raters, labels):
    """Ids and names that look like the labels beside them leave a long table long."""
    rows = [
        f"{i},{rater},{labels[(i + n) % len(labels)]}"
        for i in range(8)
        for n, rater in enumerate(raters)
    ]
    mapping = plan_of(table(tmp_path, "\n".join([head, *rows]) + "\n")).mapping
    assert (*mapping.id, mapping.rater, mapping.label) == tuple(head.split(","))


@pytest.mark.parametrize("heads", ["r1,r2,r3", "Anna,Ben,Cleo"])
def test_a_rater_who_often_abstains_is_not_shown_to_judges(tmp_path, heads):
    """Abstentions and ignored labels do not make a text of a rater's column."""
    none = CANNOT_ASSESS
    rows = ["a,one,yes,no,n/a", f"b,two,no,no,{none}", f"c,three,{none},yes,yes", "d,four,no,no,?"]
    path = table(tmp_path, f"id,body,{heads}\n" + "\n".join(rows) + "\n")
    mapping = plan_of(path, ignore=("n/a", "?")).mapping
    assert (mapping.raters, mapping.text) == (tuple(heads.split(",")), ("body",))


def test_a_rater_who_is_left_out_is_not_shown_to_judges(tmp_path):
    """In a small table, the few labels of a column not named were varied enough for a text."""
    labels = "vwxyz"
    rows = [
        f"{i},text number {i},{labels[i % 5]},{labels[i // 2]},{labels[i * 2 % 5]}"
        for i in range(8)
    ]
    path = table(tmp_path, "id,body,ann,ben,cleo\n" + "\n".join(rows) + "\n")
    assert plan_of(path, {"raters": ["ann,ben"]}).mapping.text == ("body",)


def test_a_repeated_id_is_no_rater(tmp_path):
    """A wide table whose ids come twice has no column more of ratings."""
    rows = [f"{i // 2},text number {i},{i % 5},{i % 4}" for i in range(12)]
    mapping = plan_of(table(tmp_path, "id,text,r1,r2\n" + "\n".join(rows) + "\n")).mapping
    assert mapping.raters == ("r1", "r2")


@pytest.mark.parametrize("roles", [{}, {"criterion": ["aspect"]}, {"id": ["item"]}])
@pytest.mark.parametrize("form", ["long", "wide"])
def test_the_rated_aspect_is_kept_with_the_id(tmp_path, form, roles):
    """Criteria of one text are items of one group, and judges are told which is which."""
    pairs = [(i, aspect) for i in range(6) for aspect in ("fluency", "style")]
    if form == "long":
        head = "item,text,annotator,aspect,rating"
        rows = [f"{i},text {i},{who},{a},{(i + len(a)) % 5}" for i, a in pairs for who in "pq"]
    else:
        head = "item,text,aspect,r1,r2"
        rows = [f"{i},text {i},{a},{(i + len(a)) % 5},{i % 4}" for i, a in pairs]
    summary = make_task(
        plan_of(table(tmp_path, "\n".join([head, *rows]) + "\n"), roles), tmp_path / "mine"
    )
    assert summary.n_rejected == 0
    items = load_task(summary.folder).items
    assert {(item.group, item.criterion) for item in items} == {(str(i), a) for i, a in pairs}
    assert len(items) == len(pairs)


def test_items_named_by_several_columns(tmp_path):
    """Where no column alone names an item, those that do together are joined."""
    rows = ["question_id,model_a,model_b,winner,judge,turn"]
    for i in range(40):
        for judge in ("author_4", "expert_24", "author_2"):
            pair = f"{'alpaca' if i % 2 else 'gpt-4'},{'vicuna' if i % 4 < 2 else 'claude-v1'}"
            winner = ["model_a", "model_b", "tie"][i % 3]
            rows.append(f"{80 + i // 8},{pair},{winner},{judge},{1 + i % 8 // 4}")
    plan = plan_of(table(tmp_path, "\n".join(rows) + "\n"))
    assert plan.mapping.id == ("question_id", "model_a", "model_b", "turn")
    assert (plan.mapping.rater, plan.mapping.label) == ("judge", "winner")
    assert plan.mapping.group == "question_id"
    assert make_task(plan, tmp_path / "mine").n_items == 40


def test_texts_that_name_themselves(tmp_path):
    """In a long table without ids, the text names the item."""
    rows = [
        f"This is comment number {i // 3},p{i % 3},{'yes' if i % 2 else 'no'}" for i in range(30)
    ]
    text = "comment,annotator,toxic\n" + "\n".join(rows) + "\n"
    summary = make_task(plan_of(table(tmp_path, text)), tmp_path / "mine")
    task = load_task(summary.folder)
    assert len(task.items) == 10
    assert task.items[0].fields == {"comment": "This is comment number 0"}


@pytest.mark.parametrize(("ending", "mark"), [("csv", ","), ("csv", ";"), ("tsv", "\t")])
def test_ragged_rows_are_rejected_with_their_lines(tmp_path, ending, mark):
    """A row with too few or too many cells ended the import; now the others are imported."""
    lines = ["id,a1,a2", "1,yes,no", "2,no", "3,yes,yes,no", "4,no,no", "5,yes,no"]
    path = tmp_path / f"t.{ending}"
    path.write_text("\n".join(lines).replace(",", mark), encoding="utf-8")
    plan = plan_of(path)
    listed = tmp_path / "mine.rejected.csv"
    with pytest.raises(TaskError, match=r"2 rows or cells .*\(line 3: found 2 cells, but"):
        make_task(plan, tmp_path / "mine", max_rejected=MaxRejected())
    assert listed.read_text(encoding="utf-8").count("\n") == 3
    summary = make_task(plan, tmp_path / "mine", max_rejected=MaxRejected(number=2))
    assert not listed.exists()  # it was of the import before
    assert (summary.n_items, summary.n_rejected) == (3, 2)
    with (tmp_path / "mine" / "rejected.csv").open(encoding="utf-8") as file:
        assert [(row["line"], row["reason"]) for row in csv.DictReader(file)] == [
            ("3", "found 2 cells, but the header has 3. Also write the separators of empty cells"),
            ("4", f"found 4 cells, but the header has 3. Put cells with {NAMED[mark]} in quotes"),
        ]


def test_table_of_ragged_rows_names_the_first(tmp_path):
    """Where no row has the header's cells, that is said, and not that there are no rows."""
    with pytest.raises(TaskError, match="line 2: found 2 cells, but the header has 3"):
        read_source(table(tmp_path, "id,a1,a2\n1,yes\n2,no\n"))


def test_text_that_only_a_rejected_row_has_is_no_field(tmp_path):
    """The task named a field that no item had, and could not be loaded."""
    path = table(tmp_path, "id,ann1,ann2,text\na,yes,no,\n,yes,no,some longer text of an item\n")
    plan = plan_of(path, {"id": ["id"], "text": ["text"]})
    assert len(load_task(make_task(plan, tmp_path / "mine").folder).items) == 1


def test_item_that_reads_otherwise_is_rejected(tmp_path):
    """Two texts under one id are no one item; the later row is listed."""
    text = "id,rater,label,body\n1,p1,yes,first\n1,p2,no,second\n2,p1,no,x\n2,p2,no,x\n"
    roles = {"id": ["id"], "rater": ["rater"], "label": ["label"], "text": ["body"]}
    summary = make_task(plan_of(table(tmp_path, text), roles), tmp_path / "mine")
    assert [(row.line, row.reason) for row in summary.rejected] == [
        (3, "item '1' differs from an earlier row")
    ]


def test_items_without_a_text_are_kept_and_named(tmp_path):
    """Their ratings count; that a run needs their text is said."""
    path = table(tmp_path, "id,body,a1,a2\nx1,hello there,yes,no\nx2,,no,no\n")
    done = call_harness(
        "curate", "new", "m", "--from", path, "--text", "body", "--yes", cwd=tmp_path
    )
    assert "1 item without a text: x2. A run leaves it out." in done.stdout
    assert len(load_task(tmp_path / "m").items) == 2


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_other_formats(tmp_path, ending):
    """jsonl and parquet are read as csv is; truth values and numbers become labels."""
    rows = [
        {
            "uid": f"u{i}",
            "prompt": f"tell me about {i}",
            "ann1": i % 2 == 0,
            "ann2": True,
            "gpt": False,
        }
        for i in range(8)
    ]
    path = tmp_path / f"t.{ending}"
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.Table.from_pylist(rows), path)
    plan = plan_of(path, {"judges": ["gpt"]})
    assert plan.mapping.raters == ("ann1", "ann2")
    assert list(plan.answers.labels) == ["false", "true"]
    assert make_task(plan, tmp_path / "mine").n_items == 8


def test_facts_as_json(tmp_path):
    """--json prints what was read and written; --dry-run writes nothing."""
    path = table(tmp_path, "id,a1,a2,gpt\n1,yes,no,yes\n2,no,no,no\n")
    command = ("curate", "new", "mine", "--from", path, "--judges", "gpt", "--json")
    planned = json.loads(call_harness(*command, "--dry-run", cwd=tmp_path).stdout)
    assert planned["columns"] == {"id": ["id"], "raters": ["a1", "a2"], "judges": ["gpt"]}
    assert not (tmp_path / "mine").exists()
    written = json.loads(call_harness(*command, "--yes", cwd=tmp_path).stdout)
    assert written["judges"] == {"gpt": 2}
    assert (tmp_path / "mine" / "task.yaml").exists()


def test_unknown_column_is_named_with_those_there_are(tmp_path):
    """A mistyped column costs one line."""
    path = table(tmp_path, "id,a1,a2\n1,yes,no\n")
    with pytest.raises(TaskError, match=r"found no column 'a3'\. The columns are 'id', 'a1', 'a2'"):
        plan_of(path, {"raters": ["a1,a3"]})


def test_guess_fits_80_columns(tmp_path):
    """Long names of columns and labels are wrapped."""
    names = ",".join(f"annotator_with_a_long_name_{i}" for i in range(9))
    labels = ",".join(["a rather long label", "another label that is long"] * 4 + ["third"])
    path = table(tmp_path, f"id,{names}\n1,{labels}\n")
    shown = call_harness("curate", "new", "mine", "--from", path, "--dry-run", cwd=tmp_path).stdout
    assert max(map(len, shown.splitlines())) <= 80


def test_any_table_becomes_a_task_or_one_line(tmp_path):
    """However odd a table, it becomes a task that loads, or a fault that is told in one line."""
    names = ["id", "text", "rater", "label", "ann1", "ann2", "gpt-4o", "group", " x ", "r1", "r2"]
    cells = ["yes", "no", "Yes", "", "3.0", "nan", '["yes"]', "[", "a, b", "x\ny", "\u200b", "4.5"]

    @settings(max_examples=40, deadline=None)
    @given(st.data())
    def check(data):
        columns = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=6, unique=True))
        row = st.lists(st.sampled_from(cells), min_size=len(columns), max_size=len(columns))
        path = tmp_path / "t.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([columns, *data.draw(st.lists(row, min_size=1, max_size=8))])
        folder = tmp_path / f"m{len(list(tmp_path.iterdir()))}"
        fault = ""
        try:
            for i, plan in enumerate(
                make_plans(folder.name, read_source(path), {}, settings=AnswerSettings())
            ):
                task = load_task(make_task(plan, folder / str(i)).folder)
                assert [c.after for c in read_changes(task.folder)] == [task.content_hash]
        except TaskError as error:
            fault = str(error)
        assert "\n" not in fault
        assert any(folder.glob("*")) != bool(fault)

    check()


def test_tables_above_the_caps_are_refused(tmp_path):
    """The limits of tables hold here, too."""
    path = table(tmp_path, "id,a1,a2\n1,yes,no\n2,no,no\n3,no,no\n")
    with pytest.raises(TaskError, match="more than 2 rows"):
        read_source(path, limits=Limits(n_rows=2))


@given(st.text(max_size=30))
def test_any_cell_is_read(text):
    """No cell crashes the reader of labels, and none holds spaces around it."""
    labels, _ = labels_of(text)
    assert all(label == label.strip() and label for label in labels)


def test_two_responses_of_a_pair_are_texts(tmp_path):
    """Outputs that are compared are shown to judges, and are no raters, however short."""
    rows = [f"{i},p{i},a {i},b {i},{'AB'[i % 2]},{'AB'[i % 3 % 2]}" for i in range(8)]
    text = "\n".join(["id,prompt,response_a,response_b,ann_1,ann_2", *rows]) + "\n"
    plan = plan_of(table(tmp_path, text))
    assert plan.mapping.raters == ("ann_1", "ann_2")
    assert plan.mapping.text == ("prompt", "response_a", "response_b")


def test_a_column_of_ratings_called_ann_is_no_column_of_names(tmp_path):
    """One row per item, two columns of ratings, one called after a rater: not a row per rating."""
    rows = [f"{i},text {i},{'AB'[i % 2]},{('A', 'B', 'C')[i % 3]}" for i in range(30)]
    path = table(tmp_path, "\n".join(["id,prompt,ann,bea", *rows]) + "\n")
    assert plan_of(path).questions()


@pytest.mark.parametrize(
    ("sides", "ties", "options"),
    [
        ("A B", "A B tie", ("a", "b", "tie")),
        ("left right", "left right both same", ("left", "right", "both", "same")),
        ("model_a model_b", "MODEL_A MODEL_B tie", ("model_a", "model_b", "tie")),
    ],
)
@pytest.mark.parametrize("ties_first", [False, True])
def test_a_rater_of_pairs_without_ties_shares_the_options_of_the_others(
    tmp_path, sides, ties, options, *, ties_first
):
    """Two columns whose sides are the same are raters on one scale, whoever used the tie."""
    columns = [sides.split(), ties.split()][:: -1 if ties_first else 1]
    rows = [
        ",".join([f"q{i}", f"prompt {i}", *(labels[i % len(labels)] for labels in columns)])
        for i in range(30)
    ]
    header = "id,prompt,annotator_1,annotator_2"
    plan = plan_of(table(tmp_path, "\n".join([header, *rows]) + "\n"))
    assert plan.mapping.raters == ("annotator_1", "annotator_2")
    assert plan.questions() == ()
    assert plan.answers.scale == "pairwise"
    assert {key.casefold() for key in plan.answers.labels} == set(options)


def test_columns_of_pairs_with_other_sides_are_asked_about(tmp_path):
    """Labels of two sides and those of two others are never taken for one scale unasked."""
    rows = [f"q{i},prompt {i},{'AB'[i % 2]},{('left', 'right')[i % 2]}" for i in range(30)]
    header = "id,prompt,ann_x,ann_y"
    plan = plan_of(table(tmp_path, "\n".join([header, *rows]) + "\n"))
    assert plan.questions()


def test_times_of_ratings_are_kept(tmp_path):
    """Times that differ between the ratings of an item go with the rating; others are fields."""
    rows = [
        f"d{i},text {i},2025-12-24T18:00:00,{rater},{('no', 'yes')[i % 2]},2026-01-01T10:{i}{j}:00"
        for i in range(5)
        for j, rater in enumerate(("ann_1", "ann_2"))
    ]
    header = "doc,body,published,rater,label,timestamp"
    plan = plan_of(table(tmp_path, "\n".join([header, *rows]) + "\n"))
    assert plan.mapping.rated_at == "timestamp"
    task = load_task(make_task(plan, tmp_path / "mine").folder)
    assert [c.after for c in read_changes(task.folder)] == [task.content_hash]
    made = {(r.item, r.rater): dict(r.provenance) for r in task.ratings}
    assert made["d4", "ann_2"] == {"rated_at": "2026-01-01T10:41:00"}
    assert len(made) == 10
