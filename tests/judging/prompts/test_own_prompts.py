"""Templates of a judge's own, named in judges.yaml."""

from __future__ import annotations

import json

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.app.plan import plan_run
from harness.app.plan_of_run import plan_resumed_run
from harness.app.run import start
from harness.errors import JudgeError, PromptError
from harness.judging.prompts.question import Unit
from harness.options.concerns import RunOptions, Server
from harness.runs.run_folder import RunFolder

TEMPLATE = (
    "[user]\nIs this {{property}}? Reply with one of: {{keys}}\n{{fence}}\n{{text}}\n{{fence}}\n"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judges").mkdir()
    (tmp_path / "judges" / "short.txt").write_text(TEMPLATE)
    return make_task_folder(tmp_path / "small")


def write_judges(tmp_path, stub, prompts, more=""):
    text = f"{{model: stub, base_url: '{stub.url()}', prompts: {prompts}{more}}}"
    plain = f"{{model: stub, base_url: '{stub.url()}'}}"
    path = tmp_path / "judges" / "judges.yaml"
    path.write_text(f"judges:\n  short: {text}\n  plain: {plain}\n")
    return path


def plan(folder, path, judges=("short", "plain")):
    return plan_run(
        str(folder),
        judges,
        RunOptions(elicitations=("forced_choice",)),
        server=Server(judges_file=path),
    )


def test_a_judge_is_sent_its_own_template(folder, tmp_path, stub):
    """Beside one that is sent the bundled one; `harness prompt` prints what is sent."""
    path = write_judges(tmp_path, stub, "{forced_choice: short.txt}")
    stub.reset()
    how = ("--judges-file", path, "--elicitation", "forced_choice")
    printed = invoke("prompt", folder, "--judge", "short", "--item", "i0", *how, "--json")
    run = ("--task", folder, "--judges", "short,plain", "--limit", 1, "--samples", 1)
    assert invoke("run", *run, *how, "--no-store", "--quiet").exit_code == 0
    sent = [json.loads(request["body"])["messages"] for request in stub.requests()]
    [message] = json.loads(printed.output)["messages"]
    assert [message] in sent
    assert message["content"].startswith("Is this whether the comment is toxic? Reply with one of:")
    assert len(sent) == 2


def test_the_template_is_part_of_the_key_and_kept_with_the_run(folder, tmp_path, stub):
    """A resumed run sends the templates of its folder, whatever became of the file."""
    path = write_judges(tmp_path, stub, "{forced_choice: short.txt}")
    unit = Unit("i0", "forced_choice")
    planned = plan(folder, path)
    requests = [job.judge.request(unit) for job in planned.jobs]
    assert requests[0].cache_key != requests[1].cache_key
    run = start(planned, tmp_path / "runs")
    (tmp_path / "judges" / "short.txt").write_text(
        TEMPLATE.replace("Is this", "Say whether this is")
    )
    resumed = plan_resumed_run(RunFolder.open(run.path), server=Server(judges_file=path))
    assert resumed.jobs[0].judge.request(unit).hash == requests[0].hash
    edited = plan(folder, path)
    assert edited.prompts.hash != planned.prompts.hash
    assert edited.jobs[0].judge.request(unit).hash != requests[0].hash
    assert edited.jobs[1].judge.request(unit).hash == requests[1].hash


@pytest.mark.parametrize(
    ("prompts", "template", "error"),
    [
        ("{forced_choice: short.txt}", "[user]\n{{sum}} {{text}}", "unknown placeholder {{sum}}"),
        ("{forced_choice: absent.txt}", TEMPLATE, "absent.txt"),
        ("{paired: short.txt}", TEMPLATE, "follow_up"),
        ("{forced_choice: ../short.txt}", TEMPLATE, "is not a file name"),
        ("{forced_choice: forced_choice.txt}", TEMPLATE, "Rename the file"),
    ],
)
def test_templates_are_checked(folder, tmp_path, stub, *, prompts, template, error):
    """Placeholders, parts and names are those of any template; nothing is asked."""
    for name in ("short.txt", "forced_choice.txt"):
        (tmp_path / "judges" / name).write_text(template)
    with pytest.raises(PromptError, match=error):
        plan(folder, write_judges(tmp_path, stub, prompts))


@pytest.mark.parametrize(
    ("prompts", "more", "error"),
    [
        ("{verdict: short.txt}", "", r"judges\.short\.prompts\.verdict"),
        ("{forced_choice: short.txt}", ", strategy: cot", "not for forced_choice_cot"),
    ],
)
def test_names_are_checked(folder, tmp_path, stub, *, prompts, more, error):
    """Those of bundled templates, with reasons where the strategy needs them."""
    with pytest.raises(JudgeError, match=error):
        plan(folder, write_judges(tmp_path, stub, prompts, more))
