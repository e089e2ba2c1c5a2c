"""The command line as a user meets it: real processes, real files, a real server on loopback."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from support.judge_runs import QUICK_RETRIES, RecordingObserver
from support.processes import call_harness
from support.task_folders import make_task_folder

from harness.analysis import Validation
from harness.app.plan import plan_run
from harness.app.plan_of_run import plan_resumed_run
from harness.app.run import execute, start
from harness.errors import RunError
from harness.options.concerns import Place, RunOptions, Server
from harness.runs.run_folder import RunFolder, find_run
from harness.runs.sources import source_of

CANARY = "sk-canary-7f3a9"


@pytest.fixture
def place(tmp_path, stub):
    stub.reset()
    make_task_folder(tmp_path / "task", 12)
    return tmp_path


def judges_file(place, **judges: dict) -> str:
    (place / "judges.yaml").write_text(json.dumps({"judges": judges}), encoding="utf-8")
    return "judges.yaml"


def local(stub, fault: str = "", **fields) -> dict:
    return {
        "kind": "endpoint",
        "model": "stub",
        "base_url": stub.url(fault=fault),
        "samples": 2,
    } | fields


def only_run(place):
    [folder] = (place / "runs").iterdir()
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory, stub):
    """What a run of two judges prints and leaves behind; only to be read."""
    place = tmp_path_factory.mktemp("finished")
    make_task_folder(place / "task", 12)
    file = judges_file(place, good=local(stub), odd=local(stub, model="other"))
    command = ("run", "--task", "task", "--judges", "good,odd", "--judges-file", file)
    kept = ("--out", "runs", "--cache", "cache")
    done = call_harness(*command, *kept, cwd=place, env=os.environ | {"HOME": str(place)})
    assert done.returncode == 0, done.stderr
    return place, done.stdout


@pytest.fixture
def copied(finished, tmp_path):
    """The run folder of `finished`, to be changed."""
    return Path(shutil.copytree(only_run(finished[0]), tmp_path / "runs" / "copied"))


def test_without_arguments_it_says_what_to_type_first(tmp_path):
    """`harness` without arguments shows the verbs and a first command."""
    shown = call_harness(cwd=tmp_path)
    assert "harness run --task toxicity" in shown.stdout + shown.stderr
    for verb in ("run", "validate", "tasks", "judges", "|schema|"):
        assert verb in shown.stdout + shown.stderr


def test_run_ranks_judges_and_writes_its_folder(finished):
    """A run ends with a ranking, a sentence, and a folder that holds everything."""
    place, printed = finished
    assert "disagreement with" in printed
    folder = only_run(place)
    names = {
        "manifest.json",
        "prompts",
        "task",
        "verdicts.jsonl",
        "rate.jsonl",
        "metrics.json",
        "ranking.csv",
        "judge-card.md",
        "ledger.jsonl",
        "report.html",
    }
    assert {path.name for path in folder.iterdir()} == names
    validation = Validation.from_json((folder / "metrics.json").read_text())
    assert {judge.name for judge in validation.judges} == {"good", "odd"}
    assert validation.ranking.metric == "mse(srs/srs)"
    rows = list(csv.DictReader((folder / "ranking.csv").read_text().splitlines()))
    assert rows[0]["rank_low"] == "1"
    assert json.loads((folder / "manifest.json").read_text())["state"] == "done"


def test_counts_add_up_to_what_was_planned(place, stub):
    """planned = answered + abstained + refused + invalid + failed + not_asked, per elicitation."""
    file = judges_file(place, flaky=local(stub, "400*1"), silent=local(stub, "null"))
    call_harness(
        "run", "--task", "task", "--judges", "flaky,silent", "--judges-file", file, cwd=place
    )
    validation = Validation.from_json((only_run(place) / "metrics.json").read_text())
    for judge in validation.judges:
        for c in judge.outcomes:
            parts = (c.answered, c.abstained, c.refused, c.invalid, c.failed, c.not_asked)
            assert c.planned == sum(parts) > 0


def test_validate_recomputes_a_run_from_its_folder_alone(copied, tmp_path):
    """The numbers of a run follow from its folder: byte for byte, wherever it lies."""
    before = (copied / "metrics.json").read_bytes()
    for name in ("metrics.json", "ranking.csv", "report.html"):
        (copied / name).unlink()
    done = call_harness("validate", copied, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (copied / "metrics.json").read_bytes() == before


def test_a_judge_whom_no_server_answers_for_is_not_done(place):
    """Every call failed, and the run ended with 0, without a word of why; nor was it resumable."""
    address = "http://127.0.0.1:1/v1"
    file = judges_file(place, gone={"model": "stub", "base_url": address, "samples": 1})
    options = RunOptions(elicitations=("forced_choice",))
    server = Server(judges_file=place / file)
    plan = plan_run(str(place / "task"), ["gone"], options, server=server)
    folder = start(plan, place / "runs")
    hearing = RecordingObserver()
    quick = replace(plan, retry=QUICK_RETRIES)
    result = execute(quick, folder, observer=hearing, place=Place(no_store=True))
    assert result.exit_code == 3
    assert re.search(
        r"unreachable: no server answers at http://127\.0\.0\.1:\d+/v1. Check",
        result.validation.notes[0],
    )
    assert hearing.lines[-1].startswith(
        "some requests couldn't be sent. Resume with: harness resume"
    )
    assert find_run(place / "runs", None, unfinished=True).path == folder.path


def test_judge_whose_every_call_failed_is_not_assessed(place, stub):
    """Whatever made the calls fail, the run ends with 3, says how many and why, and is resumable.

    It ended with 0, and advised a resume that found no unfinished run.
    """
    file = judges_file(place, small=local(stub, "context"))
    command = ("run", "--task", "task", "--judges", "small", "--judges-file", file)
    done = call_harness(*command, "--limit", "3", cwd=place)
    assert done.returncode == 3
    assert "small: 0/12 replies, 12 failed" in done.stderr
    message = done.stdout.replace("\n", " ")
    assert "small is not assessed: 0 of 12 replies are usable (12 failed)." in message
    assert "context_length: the prompt is longer than the model" in message
    assert find_run(place / "runs", None, unfinished=True).path == only_run(place)
    resume = done.stderr.split("Resume with: harness ")[1].split()
    assert call_harness(*resume, cwd=place).returncode == 3


def test_one_judges_trouble_never_changes_another_judges_results(place, stub):
    """A refused key stops its judge at the first reply: exit 3, the other judge complete."""
    file = judges_file(place, locked=local(stub, "401", concurrency=1), good=local(stub))
    command = ("run", "--task", "task", "--judges", "locked,good", "--judges-file", file)
    done = call_harness(*command, cwd=place)
    assert done.returncode == 3
    validation = Validation.from_json((only_run(place) / "metrics.json").read_text())
    locked, good = validation.judge("locked"), validation.judge("good")
    assert [c.answered for c in good.outcomes] == [24, 24]
    assert sum(c.failed for c in locked.outcomes) == 1
    assert sum(c.not_asked for c in locked.outcomes) == 47
    assert "locked" in done.stdout
    path = only_run(place).relative_to(place)
    resume = f"Resume with: harness resume {path} --judges-file judges.yaml\n"
    assert resume in done.stderr


def test_missing_key_is_one_line_before_anything_is_spent(place, stub):
    """The line names the variable; no run folder appears and no request leaves."""
    file = judges_file(place, paid=local(stub, key_env="MY_MISSING_KEY"))
    done = call_harness(
        "run", "--task", "task", "--judges", "paid", "--judges-file", file, cwd=place
    )
    assert done.returncode == 2
    assert "MY_MISSING_KEY" in done.stderr
    assert done.stderr.count("\n") == 1
    assert stub.stats()["requests"] == 0
    assert not (place / "runs").exists()


def test_only_the_first_of_several_missing_keys_was_named(place, stub):
    """A user who lacks two keys read of the second after setting the first."""
    judges = {f"paid{j}": local(stub, key_env=f"MY_MISSING_KEY_{j}") for j in "12"}
    file = judges_file(place, **judges)
    words = ("run", "--task", "task", "--judges", "paid1,paid2", "--judges-file", file)
    done = call_harness(*words, cwd=place)
    assert done.returncode == 2
    advice = "Set this environment variable to your API key."
    assert done.stderr == (
        f"harness: paid1: MY_MISSING_KEY_1 is not set. {advice} "
        f"paid2: MY_MISSING_KEY_2 is not set. {advice}\n"
    )
    assert stub.stats()["requests"] == 0


def test_key_is_in_no_file_and_no_output(place, stub):
    """A key goes to its server and nowhere else."""
    file = judges_file(place, paid=local(stub, "500*1,400*1", key_env="MY_KEY"))
    done = call_harness(
        "run",
        "--task",
        "task",
        "--judges",
        "paid",
        "--limit",
        "4",  # fewer calls than open the circuit breaker, whose waits add up to a minute
        "--judges-file",
        file,
        cwd=place,
        env={**os.environ, "MY_KEY": CANARY},
    )
    assert any(CANARY in str(seen["headers"]) for seen in stub.requests())
    assert CANARY not in done.stdout + done.stderr
    for path in place.rglob("*"):
        assert path.is_dir() or CANARY.encode() not in path.read_bytes()


def test_dry_run_spends_nothing(place, stub):
    """--dry-run shows calls, tokens and cost per judge; it asks nothing and writes nothing."""
    file = judges_file(place, cheap=local(stub, price={"input": 1, "output": 2}), dear=local(stub))
    command = (
        "run",
        "--task",
        "task",
        "--judges",
        "cheap,dear",
        "--judges-file",
        file,
        "--dry-run",
    )
    shown = call_harness(*command, cwd=place)
    assert shown.returncode == 0, shown.stderr
    assert "whose price is unknown" in shown.stdout
    assert "$0.0" in shown.stdout
    quotes = {q["judge"]: q for q in json.loads(call_harness(*command, "--json", cwd=place).stdout)}
    assert quotes["cheap"]["calls"] == 12 * 2 * 2
    assert quotes["dear"]["cost_usd"] is None
    assert stub.stats()["requests"] == 0
    assert not (place / "runs").exists()


def test_max_cost_ends_with_exit_4_and_can_be_resumed_with_a_higher_limit(place, stub):
    """A run that would exceed --max-cost stops before, keeps what it has and says so."""
    price = {"input": 100, "output": 100}
    file = judges_file(place, paid=local(stub, price=price, concurrency=1))
    command = ("run", "--task", "task", "--judges", "paid", "--judges-file", file)
    done = call_harness(*command, "--max-cost", "0.1", cwd=place)
    assert done.returncode == 4, done.stderr
    path = only_run(place).relative_to(place)
    again = f"harness resume {path} --judges-file judges.yaml --max-cost 0.2"
    assert again in done.stderr
    asked = stub.stats()["requests"]
    assert 0 < asked < 48
    validation = Validation.from_json((only_run(place) / "metrics.json").read_text())
    assert 0 < validation.judge("paid").cost.usd <= 0.1
    resumed = ("resume", "--judges-file", file)
    assert call_harness(*resumed, cwd=place).returncode == 4
    done = call_harness(*resumed, "--max-cost", "100", cwd=place)
    assert done.returncode == 0, done.stderr
    assert stub.stats()["requests"] == 48
    manifest = json.loads((only_run(place) / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["config"]["max_cost"] == 100


def test_max_cost_needs_a_price(place, stub):
    """A limit that cannot be held is refused before anything is spent."""
    file = judges_file(place, dear=local(stub))
    command = ("run", "--task", "task", "--judges", "dear", "--judges-file", file)
    done = call_harness(*command, "--max-cost", "1", cwd=place)
    assert done.returncode == 2
    assert "price" in done.stderr
    assert stub.stats()["requests"] == 0


def test_task_without_texts_cannot_be_run(tmp_path):
    """`run` on labels alone is exit 2 and points at `validate`."""
    done = call_harness("run", "--task", "diagnoses", cwd=tmp_path)
    assert done.returncode == 2
    assert "harness validate --task diagnoses" in done.stderr


def test_validate_without_verdicts_reports_human_agreement(tmp_path):
    """Fleiss 1971: kappa 0.430 from the published table."""
    shown = call_harness("validate", "--task", "diagnoses", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    [line] = [line for line in shown.stdout.splitlines() if line.startswith("fleiss_kappa ")]
    assert line.split()[1] == "0.430"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--task", "nowhere"), ("nowhere",)),
        (("run", "--task", "task", "--judges", "gtp"), ("gtp", "gpt")),
        (("run", "--task", "task", "--elicitation", "forced"), ("forced_choice",)),
        (("run", "--task", "task", "--elicitation", ","), ("--elicitation", "at least one")),
        (("run",), ("--task",)),
        (("resume",), ("no unfinished run",)),
        (("resume", "--samples", "3"), ("No such option", "--samples")),
        (
            ("curate", "next", "--task", "task"),
            ("No such option: --task. Pass the task as an argument: harness curate next TASK. ",),
        ),
        (
            ("run", "--task", "task", "--metric", "accuracy", "--judges", "random"),
            ("accuracy", "hit_rate(h/h)"),
        ),
        (
            ("run", "--task", "task", "--metric", "cohen_kappa", "--judges", "random"),
            ("no metric is named 'cohen_kappa'. Did you mean cohen_kappa(h/h)?",),
        ),
        (("run", "--task", "task", "--tau", "1.5", "--judges", "random"), ("1.5",)),
        (("run", "--task", "task", "--judges", ","), ("--judges", "at least one")),
        (("run", "--task", "task", "--seed", "-1"), ("--seed", "greater than or equal to 0")),
        (
            ("run", "--task", "task", "--judges", "gpt", "--base-url", "http://127.0.0.1:1/v1"),
            ("--base-url is only for judges that aren't aliases", "--judges my-model"),
        ),
        (
            ("run", "--task", "task", "--judges", "a/b", "--key-env", CANARY),
            ("key_env: must be the name of the variable that contains the key, never the key",),
        ),
        (("validate",), ("--task",)),
        (("validate", "runs/none"), ("runs/none",)),
        (("validate", "--task", "task", "--verdicts", "none.csv"), ("none.csv",)),
        (("lab", "schema", "verdict"), ("verdicts",)),
    ],
)
def test_wrong_command_is_exit_2_and_says_what_to_do(place, arguments, words):
    """Wrong words cost nothing and are answered with the right ones."""
    done = call_harness(*arguments, cwd=place)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert not (place / "runs").exists()


def test_verdicts_made_elsewhere_are_validated(place):
    """csv and jsonl with item, judge and value are enough; what is not an option is invalid."""
    rows = [("i0", "B"), ("i1", "A"), ("i2", "maybe"), ("i3", "B")]
    (place / "v.csv").write_text("item,judge,value\n" + "".join(f"{i},gpt,{v}\n" for i, v in rows))
    (place / "v.jsonl").write_text(
        "".join(json.dumps({"item": i, "judge": "gpt", "value": v}) + "\n" for i, v in rows)
    )
    results = []
    for name in ("v.csv", "v.jsonl"):
        words = ("--verdicts", name, "--ranks-by", "forced_choice", "--json")
        done = call_harness("validate", "--task", "task", *words, cwd=place)
        assert done.returncode == 0, done.stderr
        results.append(Validation.from_json(done.stdout))
    assert results[0] == results[1]
    [judge] = results[0].judges
    [counts] = judge.outcomes
    assert (counts.planned, counts.answered, counts.invalid, counts.not_asked) == (12, 3, 1, 8)
    assert judge.own.n_used == 3
    assert judge.metrics["hit_rate(h/h)"].reason == "too_few_answered"


@pytest.mark.parametrize("what", ["metrics", "verdicts", "task", "audit"])
def test_schemas_are_json(tmp_path, what):
    """`harness lab schema` prints a JSON schema with properties."""
    shown = call_harness("lab", "schema", what, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["properties"]


def test_lists_name_what_there_is(finished):
    """tasks, judges and runs list names; --json prints the same as data."""
    place, _ = finished
    tasks = json.loads(call_harness("tasks", "--json", cwd=place).stdout)
    assert {"toxicity", "diagnoses"} <= {task["task"] for task in tasks}
    assert "simulated" in call_harness("tasks", cwd=place).stdout
    judges = json.loads(call_harness("judges", "--json", cwd=place).stdout)
    assert {"gpt", "claude", "gemini", "mistral", "llama", "smollm2", "lexicon"} <= {
        judge["name"] for judge in judges
    }
    [run] = json.loads(call_harness("report", "--list", "--json", cwd=place).stdout)
    assert run["run"] == only_run(place).name
    assert run["state"] == "done"


def test_second_process_on_one_run_folder_is_refused(finished, copied, tmp_path):
    """Two processes never write to one run."""
    from harness.judging.storage.verdict_log import VerdictLog

    with VerdictLog.open(copied / "verdicts.jsonl"):
        file = finished[0] / "judges.yaml"
        done = call_harness("resume", copied.name, "--judges-file", file, cwd=tmp_path)
    assert done.returncode == 2
    assert "another process" in done.stderr


def test_edited_copy_of_the_task_is_not_resumed_with_old_verdicts(finished, copied, tmp_path):
    """A run's own copy of the task is compared by its contents, as the original would be."""
    items = copied / "task" / "items.jsonl"
    RunFolder.open(copied).load_task()
    text = items.read_text(encoding="utf-8").replace("number 3.", "three.")
    items.write_text(text, encoding="utf-8")
    file = finished[0] / "judges.yaml"
    refused = call_harness("resume", "copied", "--judges-file", file, cwd=tmp_path)
    assert refused.returncode == 2
    assert "the task has changed since copied was started" in refused.stderr


def test_verdicts_from_a_different_run_are_rejected(copied):
    """A judge that the manifest does not name is one clear line."""
    folder = RunFolder.open(copied)
    folder.update(judges=tuple(spec for spec in folder.manifest.judges if spec.name != "odd"))
    with pytest.raises(RunError, match="judge 'odd' isn't one of this run's judges"):
        source_of(folder)


def test_report_runs_nothing_that_an_item_or_judge_says(place, stub):
    """Names and texts are escaped and the page's policy allows no script but its own."""
    name = "<script>alert(1)</script>"
    (place / "v.jsonl").write_text(json.dumps({"item": "i0", "judge": name, "value": "A"}) + "\n")
    from harness.app.run import validate_verdicts
    from harness.report import page, ranking_csv

    validation = validate_verdicts(str(place / "task"), place / "v.jsonl")
    html = page(validation)
    policy = unescape(html)
    assert name not in html
    assert "&lt;script&gt;" in html
    assert "default-src 'none'" in policy
    (place / "v.jsonl").write_text(json.dumps({"item": "i0", "judge": "=1+1", "value": "A"}) + "\n")
    assert "'=1+1" in ranking_csv(validate_verdicts(str(place / "task"), place / "v.jsonl"))


def test_run_folder_of_another_schema_is_refused_with_the_version_needed(copied):
    """A run folder of another version is not guessed at."""
    manifest = json.loads((copied / "manifest.json").read_text(encoding="utf-8"))
    written = manifest["versions"]["harness"]
    manifest["schema_version"] = 99
    (copied / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(RunError, match=rf"reads 3\. Read it with judge-harness {written}"):
        RunFolder.open(copied)
    manifest["versions"]["harness"] = "9.8.7"
    (copied / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(RunError, match=r"schema version 99.*Read it with judge-harness 9\.8\.7"):
        RunFolder.open(copied)
    for odd in ({"schema_version": 99, "versions": 9}, {"schema_version": True}):
        (copied / "manifest.json").write_text(json.dumps(manifest | odd), encoding="utf-8")
        with pytest.raises(RunError, match="schema version"):
            RunFolder.open(copied)


def test_interrupt_while_results_are_computed_says_how_to_go_on(
    finished, copied, tmp_path, monkeypatch
):
    """All replies are in by then; Ctrl-C names the command that computes the rest."""
    hearing = RecordingObserver()
    folder = RunFolder.open(copied)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.app.run.validate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        execute(
            plan_resumed_run(folder, server=Server(judges_file=finished[0] / "judges.yaml")),
            folder,
            observer=hearing,
            place=Place(cache=tmp_path / "cache"),
        )
    assert f"harness validate {copied}" in hearing.lines[-1]
