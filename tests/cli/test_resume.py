"""The folder of a run is data: judges are asked as the user defines them when it is resumed."""

from __future__ import annotations

import json
import shlex
import shutil

import pytest
from support.each_case import fast_first
from support.judge_runs import RecordingObserver
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.app.plan import plan_run
from harness.app.plan_of_run import plan_resumed_run
from harness.app.run import run_plan, start
from harness.errors import JudgeError, RunError
from harness.files.user_folders import data_folder
from harness.options.concerns import Place, RunOptions, Server
from harness.report.rebuild import stored_validation
from harness.runs.run_folder import RunFolder, find_run

SECRET = "aws-secret-of-this-user"
RUN = ("run", "--no-store", "--quiet")
RESUME = ("resume", *RUN[1:])


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working folder with a task, an environment with a secret, and a state folder."""
    make_task_folder(tmp_path / "task", 4)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    return tmp_path


@pytest.fixture
def unfinished(place, stub):
    """A run of this user at the stub server, not asked; its folder is called ``own``."""
    stub.reset()
    plan = plan_run(
        "task",
        ["m"],
        RunOptions(samples=1, elicitations=("forced_choice",)),
        server=Server(base_url=stub.url(), key_env="AWS_SECRET_ACCESS_KEY"),
    )
    folder = start(plan, place / "runs")
    folder.update(state="stopped")
    return folder.path.rename(folder.path.with_name("own"))


def test_a_plain_resume_sends_nothing_where_the_manifest_says(unfinished, stub):
    """Nothing is sent until the user defines the judge; then the user's own key goes with it."""
    refused = invoke(*RESUME)
    assert isinstance(refused.exception, JudgeError)
    assert "Nothing was sent" in str(refused.exception)
    assert "--base-url" in str(refused.exception)
    for other in (["--base-url", "http://127.0.0.1:1/v1"], ["--key-env", "AWS_SECRET_ACCESS_KEY"]):
        assert isinstance(invoke(*RESUME, *other).exception, JudgeError)
    assert stub.requests() == []
    done = invoke(*RESUME, "--base-url", stub.url())
    assert done.exit_code == 0, done.stderr
    assert stub.stats()["requests"] == 4
    assert SECRET not in json.dumps(stub.requests())
    assert RunFolder.open(unfinished).manifest.state == "done"


def test_a_run_that_stops_says_with_which_options_it_is_resumed(place, stub):
    """The folder does not say where judges are, so the command does."""
    stub.reset()
    where = ("--base-url", stub.url(fault="401"), "--key-env", "AWS_SECRET_ACCESS_KEY")
    done = invoke("run", "--no-store", "--task", "task", "--judges", "m", "--samples", 1, *where)
    assert done.exit_code == 3
    [run] = (place / "runs").iterdir()
    [line] = [line for line in done.stderr.splitlines() if "Resume with" in line]
    assert line.endswith(shlex.join(["resume", str(run.relative_to(place)), *where, "--no-store"]))


@pytest.mark.parametrize("changed", ["base_url", "params"])
def test_a_changed_manifest_moves_no_request(unfinished, elsewhere, stub, changed):
    """A judge that differs from the user's own of that name is refused."""
    file = unfinished / "manifest.json"
    manifest = json.loads(file.read_text())
    other = {"base_url": elsewhere.url(), "params": {"user": "x"}}
    manifest["judges"][0][changed] = other[changed]
    file.write_text(json.dumps(manifest))
    for words in ((), ("--base-url", stub.url())):
        assert isinstance(invoke(*RESUME, "own", *words).exception, JudgeError)
    assert elsewhere.requests() == stub.requests() == []


def test_a_run_asks_the_judge_of_that_name_in_the_users_file(unfinished, place, stub, monkeypatch):
    """With the key that the file names, whatever the manifest says; another model is refused."""
    monkeypatch.setenv("OWN_KEY", "key-of-this-user")
    own = {"model": "m", "base_url": stub.url(), "key_env": "OWN_KEY"}
    file = place / "judges.yaml"
    words = (*RESUME, "own", "--judges-file", "judges.yaml")
    for name, judge in (("other", own), ("m", own | {"model": "x"})):
        file.write_text(json.dumps({"judges": {name: judge}}))
        assert isinstance(invoke(*words).exception, JudgeError)
    assert stub.requests() == []
    file.write_text(json.dumps({"judges": {"m": own}}))
    done = invoke(*words)
    assert done.exit_code == 0, done.stderr
    assert "key-of-this-user" in json.dumps(stub.requests())
    assert SECRET not in json.dumps(stub.requests())


def test_a_run_is_asked_on_by_a_judge_of_the_users_file_in_batches_at_their_price(place):
    """The price of a batch is that of the user's judge, not of the manifest."""
    judge = {"model": "openai/gpt-5.4-mini", "key_env": "AWS_SECRET_ACCESS_KEY"}
    (place / "judges.yaml").write_text(json.dumps({"judges": {"mini": judge}}))
    server = Server(judges_file=place / "judges.yaml")
    plan = plan_run("task", ["mini"], RunOptions(batch=True), server=server)
    folder = start(plan, place / "runs")
    forged = plan.specs[0].model_copy(update={"price": None})
    folder.manifest = folder.manifest.model_copy(update={"judges": (forged,)})
    [job] = plan_resumed_run(folder, server=server).jobs
    assert job.judge.spec == plan.specs[0]
    assert job.judge.spec.price is not None


def hosted(**changes):
    """Return the specification of a hosted judge as a manifest has it."""
    from harness.judging.judges.config import new_judge

    fields = {"model": "openai/gpt-5.4-mini", "key_env": "OPENAI_API_KEY"} | changes
    fields |= {"name": changes.get("name", fields["model"])}
    return new_judge(**fields)


def test_a_built_in_alias_and_a_providers_own_key_need_no_options(unfinished):
    """The key of a provider goes to that provider as without the run; any other key does not."""
    folder = RunFolder.open(unfinished)
    for judge in (hosted(), hosted(model="groq/llama-3", key_env="GROQ_API_KEY")):
        folder.manifest = folder.manifest.model_copy(update={"judges": (judge,)})
        assert plan_resumed_run(folder).folder is folder
        assert folder.manifest.judges == (judge,)


@pytest.mark.parametrize(
    "changes",
    [
        {"base_url": "http://127.0.0.1:9/v1", "kind": "litellm"},
        {"name": "gpt", "model": "huggingface/x"},
        {"params": {"fallbacks": ["http://127.0.0.1:9"]}},
    ],
)
def test_hosted_judges_of_a_run_are_asked_only_as_the_user_would(unfinished, changes):
    """Another address, provider or parameter than that of the user's judge is refused."""
    folder = RunFolder.open(unfinished)
    folder.manifest = folder.manifest.model_copy(update={"judges": (hosted(**changes),)})
    with pytest.raises(JudgeError, match=r"uses your definitions.*--judges-file"):
        plan_resumed_run(folder)


def test_a_manifest_decides_neither_key_nor_redirects(unfinished):
    """They are those of the user's judge, which alone is asked."""
    folder = RunFolder.open(unfinished)
    forged = hosted(key_env="AWS_SECRET_ACCESS_KEY", allow_redirects=True, price=None)
    folder.manifest = folder.manifest.model_copy(update={"judges": (forged,)})
    [job] = plan_resumed_run(folder).jobs
    spec = job.judge.spec
    assert (spec.key_env, spec.allow_redirects) == ("OPENAI_API_KEY", False)
    [job] = plan_resumed_run(folder, server=Server(allow_redirects=True)).jobs
    assert job.judge.spec.allow_redirects


def test_a_run_without_texts_is_resumed_with_the_task_of_its_hash(place):
    """The path in its manifest may lead anywhere, so the task there must be the one that was asked;
    `--task` names another place."""
    words = ("--task", "task", "--judges", "random", "--no-item-text")
    assert invoke(*RUN, *words).exit_code == 0
    [run] = (place / "runs").iterdir()
    RunFolder.open(run).update(state="stopped")
    (place / "task").rename(place / "moved")
    refused = invoke(*RESUME, run)
    assert isinstance(refused.exception, RunError)
    assert "--task" in str(refused.exception)
    make_task_folder(place / "task", 5)
    assert "has changed since" in str(invoke(*RESUME, run).exception)
    done = invoke(*RESUME, run, "--task", "moved")
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize("other", fast_first(1, ["ratings", "none"]))
def test_a_ledger_beside_a_task_counts_runs_on_its_ratings_alone(place, other):
    """The manifest of a run may name any folder; only one with the run's items is written to."""
    assert invoke(*RUN, "--task", "task", "--judges", "random").exit_code == 0
    [run] = (place / "runs").iterdir()
    (run / "ledger.jsonl").unlink()
    shutil.rmtree(data_folder())  # as on another machine
    if other == "ratings":
        shutil.rmtree(place / "task")
        make_task_folder(place / "task", 5)
        items = place / "task" / "items.jsonl"
        items.write_text(items.read_text(encoding="utf-8").replace("comment", "remark"), "utf-8")
    ledger = place / "task" / "ledger.jsonl"
    ledger.touch()
    assert invoke("validate", run).exit_code == 0
    assert bool(ledger.read_bytes()) is (other == "none")


@pytest.mark.parametrize("name", ["metrics.json", "verdicts.jsonl"])
def test_numbers_are_read_back_only_from_an_unchanged_folder(place, name):
    """Where the metrics or the verdicts were changed, they are computed from the verdicts."""
    assert invoke(*RUN, "--task", "task", "--judges", "random").exit_code == 0
    [run] = (place / "runs").iterdir()
    assert stored_validation(RunFolder.open(run)) is not None
    (run / name).write_bytes((run / name).read_bytes().replace(b"random", b"radnom"))
    assert stored_validation(RunFolder.open(run)) is None


def test_resume_completes_a_run_that_died_before_its_results(place, monkeypatch):
    """Between the last reply and the results a run is ``asked``; neither keys nor judges are
    needed to complete it."""
    with monkeypatch.context() as dying:
        dying.setattr("harness.app.run.write_report", die)
        crashed = invoke(*RUN, "--task", "task", "--judges", "random")
    assert isinstance(crashed.exception, Death)
    [run] = (place / "runs").iterdir()
    assert RunFolder.open(run).manifest.state == "asked"
    assert RunFolder.open(run).manifest.exit_code is None
    monkeypatch.setattr("harness.app.run.check_judges", die)
    done = invoke(*RESUME)
    assert done.exit_code == 0, done.output
    manifest = RunFolder.open(run).manifest
    assert (manifest.state, manifest.exit_code) == ("done", 0)
    assert (run / "report.html").exists()


@pytest.mark.slow
def test_validate_completes_a_run_that_died_before_its_results(place):
    """After that nothing is left to resume."""
    assert invoke(*RUN, "--task", "task", "--judges", "random").exit_code == 0
    [run] = (place / "runs").iterdir()
    RunFolder.open(run).update(state="asked", exit_code=None)
    assert invoke("validate", run).exit_code == 0
    with pytest.raises(RunError, match="no unfinished run"):
        find_run(place / "runs", None, unfinished=True)


class Death(Exception):  # noqa: N818 -- the end of a process, not an error of the package
    """Stands for a process that is killed."""


def die(*_args, **_kwargs):
    raise Death


@pytest.mark.parametrize("refusal", ["cache", "log"])
def test_a_refused_run_leaves_no_folder(place, monkeypatch, refusal):
    """Where the cache or the log cannot be used, nothing was asked and nothing is left."""
    (place / "cache").write_text("a file")
    words = ["run", "--task", "task", "--judges", "random", "--cache", "cache"]
    if refusal == "log":
        words = [*RUN, *words[1:-2]]
        monkeypatch.setattr("harness.runs.run_folder.VerdictLog.open", refuse)
    assert isinstance(invoke(*words).exception, RunError)
    assert list((place / "runs").iterdir()) == []


def refuse(*_):
    raise RunError("refused")


def test_a_resumed_run_that_is_refused_keeps_its_folder(place):
    """Only a folder that this start made is removed."""
    assert invoke(*RUN, "--task", "task", "--judges", "random").exit_code == 0
    [run] = (place / "runs").iterdir()
    folder = RunFolder.open(run)
    folder.update(state="planned")
    (place / "cache").write_text("a file")
    plan = plan_resumed_run(folder)
    with pytest.raises(RunError, match="cannot be used as a cache"):
        run_plan(plan, observer=RecordingObserver(), place=Place(cache=place / "cache"))
    assert (run / "verdicts.jsonl").exists()
