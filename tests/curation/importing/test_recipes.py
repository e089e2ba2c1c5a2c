"""Recipes of published data sets, on small files of the same form with invented content."""

from __future__ import annotations

import csv
import json

import pytest
from support.processes import invoke

from harness.curation.importing.import_recipe import read_recipe, recipe_names
from harness.errors import TaskError
from harness.tasks import CANNOT_ASSESS, load_task

DICES = (
    "rater_id,rater_gender,rater_locale,rater_age,phase,item_id,context,response,answer_time_ms,"
    "degree_of_harm,harm_type,Q_overall"
)


def judge_bench(scores):
    """A file of JUDGE-BENCH with six instances; ``scores(i)`` are those by criterion."""
    return {
        "dataset": "x",
        "annotations": [{"metric": name} for name in scores(0)],
        "instances": [
            {
                "id": i,
                "instance": {"context": f"Context {i}.", "output": f"Output {i}."},
                "annotations": {
                    name: {"mean_human": 0, "individual_human_scores": values}
                    for name, values in scores(i).items()
                },
            }
            for i in range(6)
        ],
    }


def chaos(i):
    example = {"uid": f"u{i}", "premise": f"Premise {i}.", "hypothesis": f"Hypothesis {i}."}
    counter = {"e": 50 + i, "n": 30 - i, "c": 20}
    return {"uid": f"u{i}", "label_counter": counter, "majority_label": "e", "example": example}


def mt_bench(i):
    turns = [{"content": f"Question {i // 4}?", "role": "user"}]
    return {
        "question_id": 81 + i // 4,
        "model_a": "alpaca-13b",
        "model_b": ("gpt-4", "claude-v1")[i % 2],
        "winner": ("model_a", "model_b", "tie")[i % 3],
        "judge": f"expert_{i // 2 % 2}",
        "conversation_a": [*turns, {"content": "Answer A.", "role": "assistant"}],
        "conversation_b": [*turns, {"content": "Answer B.", "role": "assistant"}],
        "turn": 1,
    }


def civil(i):
    target = (0, 0.25, 0.5, 0.75, 1, 0)[i]
    return {"id": i, "target": target, "comment_text": f"Text {i}.", "toxicity_annotator_count": 4}


def dices(i):
    said = f"USER: hello {i % 6}", f"BOT: reply {i % 6}"
    answer = ("No", "Yes", "Unsure")[(i + i // 6) % 3]
    return [
        f"R{i // 6}",
        "Woman",
        "US",
        "gen z",
        "Phase1",
        i % 6,
        *said,
        1000,
        "Benign",
        "",
        answer,
    ]


def write(path, content):
    path.write_text(content, "utf-8")
    return path


@pytest.fixture
def source(tmp_path):
    """Return a function that writes the file of a recipe."""

    def make(name):
        if name == "chaos-nli":
            return write(tmp_path / "x.jsonl", "\n".join(json.dumps(chaos(i)) for i in range(6)))
        if name == "mt-bench":
            return write(tmp_path / "x.jsonl", "\n".join(json.dumps(mt_bench(i)) for i in range(8)))
        if name in {"civil-comments", "dices"}:
            path = tmp_path / "x.csv"
            with path.open("w", newline="") as file:
                if name == "dices":
                    rows = [DICES.split(","), *map(dices, range(18))]
                else:
                    rows = [list(civil(0)), *(list(civil(i).values()) for i in range(6))]
                csv.writer(file).writerows(rows)
            return path
        scores = {
            "summeval": lambda i: {"coherence": [1 + i % 5, 3, 5], "fluency": [5, 4, 1 + i % 5]},
            "qags": lambda i: {"factual": ["yes", "no", ("yes", "no")[i % 2]]},
            "topical-chat": lambda i: {
                "Natural": [1 + i % 3, 2, 3],
                "Uses knowledge": [0, 1, i % 2],
            },
        }[name]
        return write(tmp_path / "x.json", json.dumps(judge_bench(scores)))

    return make


@pytest.mark.parametrize(
    ("name", "scale", "options", "n_items", "n_ratings"),
    [
        ("chaos-nli", "nominal", ["e", "n", "c"], 6, 600),
        ("civil-comments", "binary", ["toxic", "not_toxic"], 6, 24),
        ("dices", "binary", ["Yes", "No"], 6, 18),
        ("mt-bench", "pairwise", ["model_a", "model_b", "tie"], 4, 8),
        ("qags", "binary", ["yes", "no"], 6, 18),
        ("summeval", "ordinal", ["1", "2", "3", "4", "5"], 12, 36),
    ],
)
def test_a_file_of_a_data_set_becomes_a_task(
    source, tmp_path, *, name, scale, options, n_items, n_ratings
):
    """Without a question; every item has its texts, and the task says where it comes from."""
    file = source(name)
    result = invoke("curate", "import", file, "--as", tmp_path / "made", "--recipe", name)
    assert result.exit_code == 0, result.output
    task = load_task(tmp_path / "made")
    recipe = read_recipe(name)
    assert (task.scale, [option.key for option in task.options]) == (scale, options)
    assert (len(task.items), len(task.ratings)) == (n_items, n_ratings)
    assert all(task.has_text(item) for item in task.items)
    assert task.property == recipe.property
    assert task.source == f"{recipe.source}; imported from {file.name}"
    assert task.licence == recipe.licence


def test_a_recipe_of_scales_makes_a_task_for_each(source, tmp_path):
    """Topical-Chat has binary and ordinal criteria."""
    file = source("topical-chat")
    result = invoke("curate", "import", file, "--as", tmp_path / "chat", "--recipe", "topical-chat")
    assert result.exit_code == 0, result.output
    scales = {folder.name: load_task(folder).scale for folder in tmp_path.glob("chat-*")}
    assert sorted(scales.values()) == ["binary", "ordinal"]


def test_shares_unsure_raters_and_nested_texts_are_read(source, tmp_path):
    """What a recipe derives and renames is what the data set means."""
    for name in ("civil-comments", "dices", "chaos-nli"):
        made = invoke("curate", "import", source(name), "--as", tmp_path / name, "--recipe", name)
        assert made.exit_code == 0, made.output
    civil_comments = load_task(tmp_path / "civil-comments")
    toxic = [r.value for r in civil_comments.ratings if r.item == "3"]
    assert sorted(toxic) == ["not_toxic", "toxic", "toxic", "toxic"]
    values = [rating.value for rating in load_task(tmp_path / "dices").ratings]
    assert values.count(CANNOT_ASSESS) == 6
    first = load_task(tmp_path / "chaos-nli").items[0]
    assert first.fields["premise"] == "Premise 0."


def test_labels_of_a_recipe_need_not_occur(source, tmp_path):
    """A part of a data set may lack some; those that the user names have to be there."""
    file = source("dices")
    file.write_text(file.read_text(encoding="utf-8").replace("Unsure", "No"), encoding="utf-8")
    words = ("curate", "import", file, "--as", tmp_path / "made", "--recipe", "dices")
    refused = invoke(*words, "--ignore", "Unsure")
    assert "--ignore: no answer in the table is 'Unsure'. The most similar labels are" in str(
        refused.exception
    )
    assert invoke(*words).exit_code == 0
    assert CANNOT_ASSESS not in {r.value for r in load_task(tmp_path / "made").ratings}


def test_options_on_the_command_line_come_first(source, tmp_path):
    """A recipe only fills what is not said."""
    how = ("--recipe", "dices", "--property", "whether it is safe", "--kind", "expert")
    invoke("curate", "import", source("dices"), "--as", tmp_path / "made", *how)
    task = load_task(tmp_path / "made")
    assert (task.property, task.raters) == ("whether it is safe", "expert")


def test_recipes_are_checked(tmp_path):
    """An unknown name and a wrong field are named; own files may be used."""
    assert recipe_names() == sorted(
        ["chaos-nli", "civil-comments", "dices", "mt-bench", "qags", "summeval", "topical-chat"]
    )
    with pytest.raises(TaskError, match=r"recipe 'snli' was not found. Did you mean chaos-nli\?"):
        read_recipe("snli")
    own = write(tmp_path / "own.yaml", "about: x\nsource: y\nlicence: z\nproperty: p\ncolumn: {}\n")
    with pytest.raises(TaskError, match=r"own\.yaml: column: Extra inputs"):
        read_recipe(str(own))
    pinned = own.read_text().replace("column: {}", "datasets: {name: a/b, revision: main}")
    with pytest.raises(TaskError, match=r"datasets\.revision: use a full 40-character"):
        read_recipe(str(write(own, pinned)))
    result = invoke("curate", "download", "qags")
    assert "isn't on the hub" in str(result.exception)
    result = invoke("curate", "download", "mt-bench")
    assert "lmsys/mt_bench_human_judgments: pass --revision COMMIT" in str(result.exception)
