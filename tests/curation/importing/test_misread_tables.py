"""Tables that were once read wrong without a question, each named after what went wrong."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest
from support.processes import call_harness
from support.table_corpus import PEOPLE, sentence
from support.table_scores import joined

from harness.tasks import load_task

N = 24
NAMES = ("Ana", "Ben", "Chloé")
EMOTIONS = ("anger", "joy", "fear")


def texts(number):
    import random

    return sentence(random.Random(number), number)


def written(place, head, rows, name="t.csv"):
    with (place / name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return place


def imported(place, *options, name="t.csv"):
    return call_harness("curate", "import", name, "--as", "made", "--yes", *options, cwd=place)


def accepted(place, asked):
    """Import with the first command line that was printed."""
    import shlex

    lines = [line.strip() for line in joined(asked.stdout).splitlines()]
    first = next(line for line in lines if line.startswith("harness curate import"))
    return call_harness(*shlex.split(first)[1:], "--yes", cwd=place)


@pytest.mark.parametrize("form", ["{c} ({r})", "{c} - {r}", "{c} [{r}]", "{r}_{c}"])
def test_named_columns_of_criteria_by_rater_are_asked_about(tmp_path, form):
    """With --raters, three people and two criteria were six raters."""
    pairs = [(c, r) for c in ("Fluency", "Tone") for r in NAMES]
    names = [form.format(c=c, r=r) for c, r in pairs]
    rows = [
        [i, texts(i), *(1 + (i * 7 + k * k + i // 3) % 5 for k in range(len(pairs)))]
        for i in range(N)
    ]
    written(tmp_path, ["id", "text", *names], rows)
    asked = imported(tmp_path, "--raters", ",".join(names))
    assert asked.returncode == 2
    assert "criterion and rater. Pass --pattern" in asked.stderr
    assert any(pattern in asked.stdout for pattern in (form.format(c="{criterion}", r="{rater}"),))
    kept = imported(tmp_path, "--raters", ",".join(names), "--pattern", "none")
    assert kept.returncode == 0, kept.stderr
    assert len({rating.rater for rating in load_task(tmp_path / "made").ratings}) == len(names)


def test_named_columns_of_criteria_by_numbered_rater_are_read_by_their_pattern(tmp_path):
    names = [f"{c}_rater{r}" for c in ("fluency", "tone") for r in (1, 2)]
    rows = [[i, texts(i), *(1 + (i * 7 + k * k) % 5 for k in range(4))] for i in range(N)]
    written(tmp_path, ["id", "text", *names], rows)
    done = imported(tmp_path, "--raters", ",".join(names))
    assert done.returncode == 0, done.stderr
    task = load_task(tmp_path / "made")
    assert {rating.rater for rating in task.ratings} == {"rater1", "rater2"}
    assert {item.criterion for item in task.items} == {"fluency", "tone"}


def test_remarks_of_crowd_workers_are_no_criterion(tmp_path):
    """A free answer of a batch of Mechanical Turk became a task of its own."""
    head = ["HITId", "WorkerId", "AssignmentStatus", "Input.text"]
    head += ["Answer.toxicity", "Answer.comment", "Answer.why"]
    rows = [
        [f"H{i}", f"A{w}", "Approved", texts(i), ("toxic", "fine")[(i + w) % 2], "", ""]
        for i in range(N)
        for w in range(3)
    ]
    for row in rows[::5]:
        row[5] = "I was not sure about this one"
    for number, row in enumerate(rows[::2]):
        row[6] = f"because of reason {number}"
    written(tmp_path, head, rows)
    done = imported(tmp_path)
    assert done.returncode == 0, done.stderr
    assert {option.key for option in load_task(tmp_path / "made").options} == {"toxic", "fine"}


@pytest.mark.parametrize(
    ("sides", "labels"),
    [
        (("Antwort A", "Antwort B"), ("A", "B", "gleich")),
        (("回答A", "回答B"), ("A", "B", "平")),
        (("output_left", "output_right"), ("left", "right", "keins")),
        (("answer_0", "answer_1"), ("0", "1")),
    ],
)
def test_sides_of_a_pair_are_no_nominal_labels(tmp_path, sides, labels):
    """A tie in another language, or sides called 0 and 1, made options of the pair."""
    rows = [
        ["Which is better?", texts(i), texts(i + N), r, labels[(i + i // 5 + k) % len(labels)]]
        for i in range(N)
        for k, r in enumerate(NAMES)
    ]
    written(tmp_path, ["prompt", *sides, "annotator", "preference"], rows)
    done = imported(tmp_path)
    if done.returncode == 2:
        assert "are the sides of a pair" in done.stderr
        done = accepted(tmp_path, done)
    assert done.returncode == 0, done.stderr
    assert load_task(tmp_path / "made").scale == "pairwise"


def test_sets_that_are_as_long_as_texts_are_not_left_out(tmp_path):
    """``anger | joy | fear`` beside a choice was taken for a text, and dropped."""
    rows = [
        [i, texts(i), r, EMOTIONS[k], " | ".join(EMOTIONS[: 1 + (i + k) % 3])]
        for i in range(N)
        for k, r in enumerate(NAMES)
    ]
    written(tmp_path, ["id", "text", "annotator", "最佳", "可接受"], rows)
    asked = imported(tmp_path)
    assert asked.returncode == 2
    assert "可接受" in asked.stderr or "--separator" in asked.stderr


def test_single_labels_beside_lists_are_sets_of_one(tmp_path):
    """An export that writes one choice as a word made two elicitations of one column."""
    sets = [EMOTIONS[: 1 + i % 2] for i in range(N)]
    cells = [s[0] if len(s) == 1 else json.dumps({"choices": s}) for s in sets]
    rows = [[i, texts(i), r, cells[(i + k) % N]] for i in range(N) for k, r in enumerate(NAMES)]
    written(tmp_path, ["id", "text", "annotator", "label"], rows)
    done = imported(tmp_path)
    assert done.returncode == 0, done.stderr
    assert {r.elicitation for r in load_task(tmp_path / "made").ratings} == {"response_set"}


def test_ticks_written_as_numbers_with_a_point_are_read(tmp_path):
    """``0.0`` was taken for a tick, so that every option was in every set."""
    rows = [
        [i, texts(i), r, *(f"{float((i + k + n) % 3 > 0)}" for n in range(3))]
        for i in range(N)
        for k, r in enumerate(NAMES)
    ]
    written(tmp_path, ["id", "text", "annotator", *EMOTIONS], rows)
    done = imported(tmp_path, "--sets", ",".join(EMOTIONS))
    assert done.returncode == 0, done.stderr
    assert {len(r.value) for r in load_task(tmp_path / "made").ratings} == {2}


def test_a_tick_that_is_neither_yes_nor_no_is_refused(tmp_path):
    rows = [[i, texts(i), r, 1 + i % 3, 0, 1] for i in range(N) for r in NAMES]
    written(tmp_path, ["id", "text", "annotator", *EMOTIONS], rows)
    refused = imported(tmp_path, "--sets", ",".join(EMOTIONS))
    assert refused.returncode == 2
    assert "column 'anger': cell '2' is not 1 or 0. Write 1" in refused.stderr


def test_a_yes_in_every_row_may_tick_an_option(tmp_path):
    """Columns of yes and no were criteria even where no row is without a yes."""
    rows = [
        [i, texts(i), r, *(("no", "yes")[n == (i + k) % 3] for n in range(3))]
        for i in range(N)
        for k, r in enumerate(NAMES)
    ]
    written(tmp_path, ["id", "text", "annotator", *EMOTIONS], rows)
    asked = imported(tmp_path)
    assert asked.returncode == 2
    assert "--sets anger,joy,fear" in asked.stderr


def test_an_experts_gold_label_is_no_rater(tmp_path):
    labels = ("yes", "no")
    rows = [[i, texts(i), *(labels[(i + k * i // 4) % 2] for k in range(4))] for i in range(N)]
    written(tmp_path, ["id", "text", "rater1", "rater2", "rater3", "expert_gold"], rows)
    done = imported(tmp_path)
    assert done.returncode == 0, done.stderr
    raters = {rating.rater for rating in load_task(tmp_path / "made").ratings}
    assert raters == {"rater1", "rater2", "rater3"}


def test_a_criterion_with_a_strange_name_is_asked_about(tmp_path):
    """It became a part of the item's name, and judges rated one text thrice alike."""
    rows = [
        [r, f"doc_{i}", texts(i), 1 + (i + n * k + n) % 5, aspect]
        for i in range(N)
        for k, r in enumerate(PEOPLE[:3])
        for n, aspect in enumerate(("fluency", "tone", "grounding"))
    ]
    written(tmp_path, ["annotator", "x3", "text", "label", "x7"], rows)
    asked = imported(tmp_path)
    assert asked.returncode == 2
    assert "x7" in asked.stderr


def test_a_single_rater_of_a_long_table_is_read(tmp_path):
    rows = [[i, texts(i), "Ana", ("yes", "no")[i * i % 3 > 0]] for i in range(N)]
    written(tmp_path, ["item_id", "text", "annotator", "label"], rows)
    done = imported(tmp_path)
    assert done.returncode == 0, done.stderr
    assert {rating.rater for rating in load_task(tmp_path / "made").ratings} == {"Ana"}


def test_ids_of_crowd_workers_are_no_models(tmp_path):
    """``A08AD08B`` was asked about, as if it ended in a number of parameters."""
    workers = ("A08AD08B", "A3E7B7B", "AF46F6O", "A1111C")
    rows = [
        [i, texts(i), w, ("yes", "no")[(i + k) % 2]]
        for i in range(N)
        for k, w in enumerate(workers)
    ]
    written(tmp_path, ["item_id", "text", "annotator", "label"], rows)
    done = imported(tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_unclear_points_are_printed_once_where_both_streams_share_a_pipe(tmp_path):
    rows = [[i, texts(i), ("yes", "no")[i % 2], ("no", "yes")[i % 3 > 0]] for i in range(N)]
    written(tmp_path, ["id", "text", "Bert", "our_tune"], rows)
    command = [sys.executable, "-m", "harness", "curate", "import", "t.csv", "--as", "made"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout.count("are people, models or criteria") == 1


def test_commas_of_texts_divide_no_sets(tmp_path):
    """With --separator a text with a comma became a list, and judges were shown nothing."""
    rows = [
        [i, texts(i), r, ", ".join(EMOTIONS[: 1 + (i + k) % 3])]
        for i in range(N)
        for k, r in enumerate(NAMES)
    ]
    written(tmp_path, ["id", "text", "annotator", "label"], rows)
    done = imported(tmp_path, "--separator", ",")
    assert done.returncode == 0, done.stderr
    assert load_task(tmp_path / "made").text == ("text",)


def test_a_choice_and_a_set_beside_it_are_drafted_as_both(tmp_path):
    """The advice offered the choice alone, or two criteria."""
    rows = [
        [i, texts(i), r, EMOTIONS[(i + k) % 3], ";".join(sorted({EMOTIONS[(i + k) % 3], "joy"}))]
        for i in range(N)
        for k, r in enumerate(NAMES)
    ]
    written(tmp_path, ["id", "text", "annotator", "choice", "set"], rows)
    asked = imported(tmp_path)
    assert asked.returncode == 2
    done = accepted(tmp_path, asked)
    assert done.returncode == 0, done.stderr
    kinds = [rating.elicitation for rating in load_task(tmp_path / "made").ratings]
    assert kinds.count("response_set") == kinds.count("forced_choice") == 3 * N


def test_lines_of_a_cell_are_asked_about_as_a_set(tmp_path):
    """They were joined with blanks, and asked about as steps of a scale."""
    rows = [
        [i, texts(i), r, "\n".join(EMOTIONS[: 1 + (i + k) % 3])]
        for i in range(N)
        for k, r in enumerate(NAMES)
    ]
    written(tmp_path, ["id", "text", "annotator", "label"], rows)
    asked = imported(tmp_path)
    assert asked.returncode == 2
    assert accepted(tmp_path, asked).returncode == 0
    assert {r.elicitation for r in load_task(tmp_path / "made").ratings} == {"response_set"}


@pytest.mark.parametrize("form", ["{o}_ann{r}", "ann{r}_{o}"])
def test_ticks_of_options_by_rater_are_asked_about(tmp_path, form):
    """Each option was a criterion, though every rater ticked at least one."""
    names = [form.format(o=o, r=r) for r in (1, 2) for o in EMOTIONS]
    rows = [
        [i, texts(i), *(int((i + r + n) % 3 > 0) for r in (1, 2) for n in range(3))]
        for i in range(N)
    ]
    written(tmp_path, ["id", "text", *names], rows)
    asked = imported(tmp_path)
    assert asked.returncode == 2
    assert "tick the options of a set" in asked.stderr


def test_rejected_work_in_a_table_of_no_known_form_is_asked_about(tmp_path):
    rows = [
        [i, texts(i), r, ("yes", "no")[(i + k) % 2], ("approved", "rejected")[(i + k) % 7 == 0]]
        for i in range(N)
        for k, r in enumerate(NAMES)
    ]
    written(tmp_path, ["id", "text", "worker", "answer", "status"], rows)
    asked = imported(tmp_path)
    assert asked.returncode == 2
    assert "pass --drop status if the ratings count" in asked.stderr
    assert imported(tmp_path, "--drop", "status").returncode == 0


def test_answers_that_are_numbers_are_not_hidden_from_judges(tmp_path):
    rows = [
        [
            f"What is {i} plus {i * 3}?",
            i * 4 + i % 3,
            *(("right", "wrong")[(i + k) % 2] for k in (0, 1)),
        ]
        for i in range(N)
    ]
    written(tmp_path, ["question", "answer", "rater1", "rater2"], rows)
    asked = imported(tmp_path)
    assert asked.returncode == 2
    assert "--text question,answer" in asked.stderr


@pytest.mark.parametrize("labels", [("1", "3", "5", "7"), ("2", "4", "6")])
def test_steps_stay_as_used_where_every_second_is_missing(tmp_path, labels):
    """A scale of 1, 3, 5 and 7 had seven steps."""
    rows = [[i, texts(i), *(labels[(i + k) % len(labels)] for k in (0, 1))] for i in range(N)]
    written(tmp_path, ["id", "text", "rater1", "rater2"], rows)
    done = imported(tmp_path)
    assert done.returncode == 0
    assert "list all with --options" in " ".join(done.stdout.split())
    assert [option.key for option in load_task(tmp_path / "made").options] == list(labels)


def test_a_set_and_a_choice_of_label_studio_are_one_pair(tmp_path):
    """They were two criteria of an item."""

    def result(name, choices):
        return {"from_name": name, "type": "choices", "value": {"choices": list(choices)}}

    tasks = [
        {
            "id": i,
            "data": {"text": texts(i)},
            "annotations": [
                {
                    "completed_by": r,
                    "result": [
                        result("set", EMOTIONS[: 1 + (i + r) % 3]),
                        result("choice", EMOTIONS[:1]),
                    ],
                }
                for r in (1, 2)
            ],
        }
        for i in range(N)
    ]
    (tmp_path / "p.json").write_text(json.dumps(tasks), encoding="utf-8")
    done = imported(tmp_path, name="p.json")
    assert done.returncode == 0, done.stderr
    task = load_task(tmp_path / "made")
    assert len(task.items) == N
    kinds = [rating.elicitation for rating in task.ratings]
    assert kinds.count("response_set") == kinds.count("forced_choice") == 2 * N


def test_a_data_set_of_argilla_keeps_users_and_drops_drafts(tmp_path):
    records = [
        {
            "id": f"r{i}",
            "status": "completed",
            "text": texts(i),
            "tone.responses": ["toxic", "fine", ("fine", "toxic")[i % 2]],
            "tone.responses.users": ["ana", "ben", "cy"],
            "tone.responses.status": ["submitted", "submitted", ("draft", "submitted")[i % 2]],
            "tone.suggestion": "fine",
        }
        for i in range(N)
    ]
    lines = "\n".join(map(json.dumps, records))
    (tmp_path / "r.jsonl").write_text(lines, encoding="utf-8")
    done = imported(tmp_path, name="r.jsonl")
    assert done.returncode == 0, done.stderr
    task = load_task(tmp_path / "made")
    assert {rating.rater for rating in task.ratings} == {"ana", "ben", "cy"}
    assert len(task.ratings) == 2 * N + N // 2


def test_pairs_of_rater_and_label_in_a_cell_are_read(tmp_path):
    rows = [
        [i, texts(i), json.dumps([[r, ("yes", "no")[(i + k) % 2]] for k, r in enumerate(NAMES)])]
        for i in range(N)
    ]
    written(tmp_path, ["id", "text", "labels"], rows)
    done = imported(tmp_path)
    assert done.returncode == 0, done.stderr
    assert {rating.rater for rating in load_task(tmp_path / "made").ratings} == set(NAMES)


def test_short_remarks_that_name_their_rater_were_offered_as_texts_of_the_item(tmp_path):
    """ "Comments (Ana)" of a few words stood in the command line for a table that is not right."""
    head = ["id", "Customer wrote", "text", *NAMES, f"Comments ({NAMES[0]})"]
    asked = ["Where is my parcel?", "I want a refund", "Reset my password", "App crashes"]
    rows = [
        [i, asked[i % 4], texts(i), *(("good", "bad")[(i * k) % 3 % 2] for k in (1, 2, 4)),
         ("hm", "too short", "")[i % 3]]
        for i in range(N)
    ]  # fmt: skip
    written(tmp_path, head, rows)
    result = imported(tmp_path, "--raters", ",".join(NAMES), "--judges", "none")
    assert f"Comments ({NAMES[0]}): raters' remarks" in joined(result.stdout)
    commands = [row for row in joined(result.stdout).splitlines() if "harness curate import" in row]
    assert not any("Comments" in command for command in commands)
    assert any("Customer wrote" in command for command in commands)


def test_a_check_mark_and_a_cross_are_two_answers(tmp_path):
    """Both became 1, as if a cross alone were a mark."""
    rows = [
        [i, texts(i), *("✓" if (i * 7 + k * 3) % 4 < 2 else "✗" for k in range(len(NAMES)))]
        for i in range(N)
    ]
    written(tmp_path, ["id", "text", *NAMES], rows)
    made = imported(tmp_path, "--raters", ",".join(NAMES))
    assert made.returncode == 0, made.stderr
    ratings = load_task(tmp_path / "made").ratings
    marks = {(r.item, r.rater): r.value for r in ratings}
    assert marks == {
        (str(i), who): row[2 + k] for i, row in enumerate(rows) for k, who in enumerate(NAMES)
    }


@pytest.mark.parametrize("remark", ["keine Angabe", "ne sait pas", "no sabe", "不知道"])
def test_a_remark_in_the_raters_language_is_asked_about(tmp_path, remark):
    """It became an option of its own, unsaid."""
    rows = [
        [
            i,
            texts(i),
            *(remark if (i + k) % 8 == 0 else "AB"[(i * 7 + k) % 3 % 2] for k in range(3)),
        ]
        for i in range(N)
    ]
    written(tmp_path, ["id", "text", *NAMES], rows)
    asked = imported(tmp_path, "--raters", ",".join(NAMES))
    assert asked.returncode == 2
    assert f"--ignore {remark}" in asked.stdout.replace("'", "")
    assert f"--abstain {remark}" in asked.stdout.replace("'", "")
