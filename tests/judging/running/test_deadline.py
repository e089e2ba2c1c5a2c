"""What counts against the time that a call may take."""

from __future__ import annotations

import time

from support.judge_runs import run_judge
from support.task_folders import make_task_folder

from harness.judging.judges import hosted
from harness.judging.judges.config import JudgeSpec
from harness.tasks import load_task


def test_import_of_litellm_does_not_count_against_the_deadline(tmp_path, stub, monkeypatch):
    """On a slow machine it takes longer than a call may; the calls that wait for it are sent
    once."""
    import_s, real, n_imports = 2.0, hosted.load_litellm, []

    def load_slowly():
        if not n_imports:
            time.sleep(import_s)
        n_imports.append(1)
        return real()

    monkeypatch.setenv("STUB_KEY", "sk-x")
    settings = {"kind": "litellm", "model": "openai/stub", "base_url": stub.url()}
    spec = JudgeSpec(name="j", key_env="STUB_KEY", concurrency=2, **settings)
    task = load_task(make_task_folder(tmp_path / "task"))
    options = {"elicitations": ("forced_choice",), "samples": 1}
    run_judge(spec, task, tmp_path / "warm.jsonl", **options)  # litellm's first call takes a second
    stub.reset()
    monkeypatch.setattr(hosted, "load_litellm", load_slowly)
    spec = spec.model_copy(update={"deadline_s": import_s / 2})
    log, end, _ = run_judge(spec, task, tmp_path / "log.jsonl", **options)
    assert end == ""
    assert {verdict.outcome for verdict in log.final.values()} == {"answered"}
    assert stub.stats()["requests"] == len(task.items)
