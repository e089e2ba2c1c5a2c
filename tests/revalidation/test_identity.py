"""What a round is compared with is fixed when the run is started, not at the first round."""

from __future__ import annotations

import json

from support.look_schedules import Schedule, majority, replies, verdicts
from support.processes import invoke


def edit(file, old, new):
    content = file.read_text("utf-8")
    assert old in content
    file.write_text(content.replace(old, new), "utf-8")


def test_changes_between_the_run_and_the_first_round_are_named(tmp_path, stub):
    """An item, a rating and the wording that were edited before the first round differ from those
    of the run."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    edit(tmp_path / "task" / "items.jsonl", "number 7.", "number seven.")
    look = schedule.look()
    assert look["left_out"] == {"i7": "the item's content has changed"}
    edit(tmp_path / "task" / "task.yaml", "the comment", "this comment")
    look = schedule.look(code=1)
    assert "question or options have changed" in look["causes"][0]


def test_a_wording_edited_before_the_first_look_is_not_comparable(tmp_path, stub):
    """The baseline has the question of the run, and nothing is asked."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    asked = stub.stats()["requests"]
    edit(tmp_path / "task" / "task.yaml", "the comment", "this comment")
    assert verdicts(schedule.look(code=1)) == {"judge": "not comparable"}
    assert stub.stats()["requests"] == asked


def test_a_run_folder_that_was_edited_is_no_baseline(tmp_path, stub):
    """Prompts or items that are not those that the manifest identifies end with 2."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    for name, old, new, what in (
        ("prompts/forced_choice.txt", "[user]", "[user]\nThink hard.", "the prompts have changed"),
        ("task/items.jsonl", "number 7.", "number seven.", "the task has changed"),
    ):
        file = schedule.run / name
        content = file.read_text("utf-8")
        edit(file, old, new)
        refused = invoke("revalidate", schedule.run)
        assert refused.exception.exit_code == 2
        assert what in str(refused.exception)
        assert not (schedule.run / "history.jsonl").read_bytes()
        file.write_text(content, "utf-8")
    assert verdicts(schedule.look()) == {"judge": "stable"}


def test_a_judges_file_that_points_elsewhere_is_a_named_cause(tmp_path, stub, monkeypatch):
    """The user's own file is compared without being named again; without a judge of that name,
    nothing is asked."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    schedule.look()
    asked = stub.stats()["requests"]
    file = tmp_path / "judges.yaml"
    content = file.read_text("utf-8")
    for new, fields in (
        ("model: other", "its model has changed"),
        ("model: judge\n    params: {temperature: 0.5}", "its params have changed"),
    ):
        file.write_text(content.replace("model: judge", new), "utf-8")
        look = schedule.look(code=1)
        assert verdicts(look) == {"judge": "not comparable"}
        assert f"{fields} in " in look["judges"][0]["reason"]
    file.unlink()
    assert "you have no judge with this name" in str(invoke("revalidate", schedule.run).exception)
    assert stub.stats()["requests"] == asked
    own = tmp_path / "own.yaml"
    own.write_text(content.replace(stub.url(table="judge", ms=0), stub.url(table="x")), "utf-8")
    monkeypatch.setenv("HARNESS_JUDGES", str(own))
    look = json.loads(invoke("revalidate", schedule.run, "--json", "--quiet").stdout)
    assert "its base_url has changed" in look["judges"][0]["reason"]


def test_a_limit_of_tokens_on_the_command_line_is_no_other_judge(tmp_path, stub):
    """It stands in the run, and not in the judges file."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    result = invoke(
        *("run", "--task", tmp_path / "task", "--judges", "judge", "--max-tokens", 300),
        *("--judges-file", tmp_path / "judges.yaml", "--out", tmp_path / "more", "--quiet"),
        *("--elicitation", "forced_choice"),
    )
    assert result.exit_code == 0, result.output
    [schedule.run] = (tmp_path / "more").iterdir()
    assert verdicts(schedule.look()) == {"judge": "stable"}
