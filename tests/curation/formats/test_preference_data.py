"""Published forms of preferences, as rows of ratings."""

from __future__ import annotations

import time

from harness.curation.formats.preference_data import ARENA
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
