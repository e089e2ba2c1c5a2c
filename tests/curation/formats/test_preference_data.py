"""Published forms of preferences, as rows of ratings."""

from __future__ import annotations

import time

import pytest

from harness.curation.formats.preference_data import ARENA
from harness.errors import TaskError
from harness.tasks.columns.formats import Reading

N_BATTLES = 20_000
MOST_CPU_S = 5.0  # 0.2 s; minutes where each battle is compared with all before it


def test_many_battles_are_not_compared_with_each_other():
    """Names of items stay apart, and 20,000 battles took minutes."""
    battle = {"question_id": "q", "model_a": "a", "model_b": "b", "winner": "model_a"}
    rows = [
        battle | {"conversation_a": f"x{i}", "conversation_b": f"y{i}"} for i in range(N_BATTLES)
    ]
    start_s = time.process_time()
    items = [row["item_id"] for row in ARENA.rows(rows, Reading())]
    assert time.process_time() - start_s < MOST_CPU_S
    assert items[:2] == ["q__a__b", "q__a__b-2"]
    assert len(set(items)) == N_BATTLES


def battles(winners, **columns):
    """Make votes of three raters on pairs whose answers change places."""
    rows = []
    for i in range(4):
        for j, rater in enumerate(("ann", "bob", "cem")):
            a, b = ("b", "a") if j == 1 else ("a", "b")
            sides = {f"answer_{a}": f"first {i}", f"answer_{b}": f"second {i}"}
            models = {f"model_{a}": "gpt", f"model_{b}": "llama"}
            winner = winners[(i + j) % len(winners)]
            rows.append({"prompt": f"Ask {i}", **sides, **models, "winner": winner, "rater": rater})
    return [row | columns for row in rows]


def test_votes_for_a_and_b_are_no_battles_of_an_arena():
    """A task had the options model_a, model_b, A, B and tie, and swapped pairs weren't turned."""
    assert not ARENA.recognises(battles(["A", "B", "tie"])[:5])
    assert not ARENA.recognises(battles(["gpt", "llama"])[:5])
    assert ARENA.recognises(battles(["model_a", "tie (bothbad)", ""])[:5])
    late = battles(["model_a", "tie"])
    late[-1]["winner"] = "A"
    with pytest.raises(TaskError, match="row 12: the winner is 'A'"):
        list(ARENA.rows(late, Reading()))


def test_battles_keep_raters_and_columns_of_both_sides():
    """The raters were named by position, and the models weren't kept."""
    reading = Reading()
    rows = list(ARENA.rows(battles(["model_a"], language="en"), reading))
    assert [row["voter"] for row in rows[:3]] == ["ann", "bob", "cem"]
    assert {(row["model_a"], row["model_b"], row["language"]) for row in rows} == {
        ("gpt", "llama", "en")
    }
    assert [row["winner"] for row in rows[:3]] == ["model_a", "model_b", "model_a"]
    assert reading.columns["text"] == ["prompt", "answer_a", "answer_b"]
    assert reading.columns["group"] == ["question"]
