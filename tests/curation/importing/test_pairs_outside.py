"""Pairs of a set and a choice that contradict each other, on import and in estimates."""

from __future__ import annotations

import json

from support.processes import invoke

from harness import stats
from harness.analysis.ratings import human_table
from harness.tasks import load_task

TABLE = """\
item,text,rater,elicitation,label
i1,Hm.,ann,response_set,"[""yes"", ""no""]"
i1,Hm.,ann,forced_choice,no
i1,Hm.,bea,response_set,"[""yes""]"
i1,Hm.,bea,forced_choice,no
i2,Oh.,ann,response_set,"[""no""]"
i2,Oh.,ann,forced_choice,no
i2,Oh.,bea,forced_choice,yes
"""


def test_choice_outside_its_set_is_dropped_or_counted_in_F(tmp_path, monkeypatch):  # noqa: N802 -- F is the paper's letter
    """The import counts and keeps both ratings; F, its reverse and beta leave the pair out."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text(TABLE, encoding="utf-8")
    arguments = ("curate", "import", "pairs.csv", "--as", "t", "--id", "item", "--rater", "rater",
                 "--label", "label", "--positive", "yes", "--json")  # fmt: skip
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["choice_outside_endorsed_set"] == 1
    task = load_task(tmp_path / "t")
    assert len(task.ratings) == 7
    table = human_table(task, task.items)
    estimate = stats.F_hat(table)
    assert (estimate.n_pairs, estimate.n_outside) == (2, 1)
