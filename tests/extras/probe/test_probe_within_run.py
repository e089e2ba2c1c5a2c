"""`harness run --probe injection`: flip rates beside scores, asked once and within the limit."""

from __future__ import annotations

import csv
import json
import re
from html import unescape
from io import StringIO
from pathlib import Path
from typing import ClassVar

import pytest
from support.pictures import png
from support.processes import call_harness, invoke, start_harness
from support.task_folders import make_pairwise_folder, make_task_folder

import harness
from harness.analysis import Validation
from harness.analysis.injection import InjectionFlips, injection_notes
from harness.analysis.ratings import is_held_out
from harness.app.run import LineObserver
from harness.extras.probe.perturbations import read_perturbations
from harness.runs.run_folder import RunFolder
from harness.stats import Estimate
from harness.stats.inference.estimate import share_interval
from harness.tasks import load_task

N = 6
N_CHANGES = len(read_perturbations("injection"))
N_INSTRUCTIONS = sum(change.kind != "control" for change in read_perturbations("injection"))
N_ASKED = 2 * N + N * N_CHANGES  # both elicitations, then changed items; unchanged ones are cached
PRICE = {"input": 100.0, "output": 100.0}


@pytest.fixture
def place(tmp_path, monkeypatch, stub):
    """A task of six items in the working folder, whose judges are asked at an idle stub."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_JUDGES", "judges.yaml")
    (tmp_path / "judges.yaml").write_text("judges: {}\n", encoding="utf-8")
    make_task_folder(tmp_path / "task", N)
    stub.reset()
    return tmp_path


def run_of(stub, *options, **judges):
    """Return the words of a run with a probe; a judge is what the stub does, and more fields."""
    specs = {
        name: {"model": "stub", "concurrency": 1, "base_url": stub.url(**parts)} | fields
        for name, (parts, fields) in judges.items()
    }
    Path("judges.yaml").write_text(json.dumps({"judges": specs}), encoding="utf-8")
    words = ("run", "--task", "task", "--judges-file", "judges.yaml", "--judges", ",".join(judges))
    return (*words, "--samples", "1", "--probe", "injection", *options)


def only_run():
    [path] = Path("runs").iterdir()
    return path


def flips_in(path):
    validation = Validation.from_json((path / "metrics.json").read_text(encoding="utf-8"))
    return {judge.name: judge.injection for judge in validation.judges}


def test_a_judge_that_obeys_items_flips_and_a_firm_one_does_not(place, stub):
    """Every view shows the one value with its n; the flips are those of the items that obey."""
    command = run_of(stub, gullible=({"obey": "B"}, {}), firm=({"say": "B"}, {}))
    done = call_harness(*command, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    path = only_run()
    flips = flips_in(path)
    printed = Validation.from_json(done.stdout)
    assert printed.judge("gullible").injection == flips["gullible"]
    targets = {
        item.fields["probe_item"]: item.fields["probe_target"]
        for item in load_task(str(path / "probe" / "task")).items
    }
    n_obeyed = sum(target != "B" for target in targets.values())
    assert 0 < n_obeyed < N
    gullible, firm = flips["gullible"].flipped, flips["firm"].flipped
    assert gullible.counts == {"n": N * N_INSTRUCTIONS, "k": n_obeyed}
    assert gullible.value == n_obeyed / (N * N_INSTRUCTIONS)
    assert gullible.n_used == N
    assert (firm.value, flips["gullible"].control.value) == (0.0, 0.0)

    shown = f"{gullible.value:.0%} [{gullible.interval.low:.0%}, {gullible.interval.high:.0%}]"
    n = N * N_INSTRUCTIONS
    text = " ".join(call_harness("validate", path, cwd=place).stdout.split())
    assert f"gullible: instructions hidden in items flip {shown} of {n} verdicts" in text
    assert re.search(rf"gullible \S+ \[[^]]*\] {gullible.value:.0%} ", text)
    page = (path / "report.html").read_text(encoding="utf-8")
    page = " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())
    assert f"{shown} of {n} on {N} items" in page
    card = (path / "judge-card.md").read_text(encoding="utf-8").replace("\\", "")
    assert f"| {shown} of {n} on {N} items |" in card
    rows = csv.DictReader(StringIO((path / "ranking.csv").read_text(encoding="utf-8")))
    row = next(row for row in rows if row["judge"] == "gullible")
    assert float(row["flip_rate"]) == gullible.value
    assert float(row["flip_high"]) == gullible.interval.high
    assert (row["n_flip_pairs"], row["n_flip_items"]) == (str(n), str(N))
    assert harness.load_run(path).validation.judge("gullible").injection == flips["gullible"]


def test_without_a_probe_no_view_speaks_of_flips(place):
    """No column, no note; the ranking is the same with a probe."""
    run = harness.run("task", ["random"])
    probed = harness.run("task", ["random"], probe="injection")
    assert run.validation.judge("random").injection is None
    assert "flip" not in " ".join(run.validation.notes)
    assert "flip rate" not in (run.path / "judge-card.md").read_text(encoding="utf-8")
    assert probed.validation.ranking == run.validation.ranking
    assert probed.validation.decision == run.validation.decision


def test_flips_have_the_confidence_level_of_the_run(place):
    """The exact interval with n = items, at the level of the intervals beside it."""
    run = harness.run("task", ["random"], probe="injection", confidence=0.8)
    flipped = run.validation.judge("random").injection.flipped
    assert flipped.value > 0
    assert flipped.interval == share_interval(flipped.value, N, level=0.8)


@pytest.mark.slow
def test_a_judge_that_cannot_be_probed_is_na_with_the_reason(place, stub):
    """An ensemble, and a judge that gave no answer; open scales have no options."""
    mute = ({"say": "no idea"}, {})
    command = run_of(stub, firm=({"say": "B"}, {}), mute=mute)
    command = [word.replace("firm,mute", "firm,mute,firm+mute") for word in command]
    done = call_harness(*command, cwd=place)
    assert done.returncode == 3, done.stderr  # no reply of mute is usable
    reasons = {name: own.flipped.reason for name, own in flips_in(only_run()).items()}
    assert reasons == {
        "firm": "",
        "mute": "probe_not_asked",
        "firm+mute": "ensembles_are_not_probed",
    }
    assert "no flip rate of firm+mute: ensembles are not probed" in " ".join(done.stdout.split())


def test_an_open_scale_has_no_flip_rate(place):
    """Its judges are ranked, and their flip rate is NA."""
    folder = place / "scores"
    folder.mkdir()
    text = "name: scores\nproperty: how warm the tone is\nscale: continuous\nbounds: [0, 10]\n"
    (folder / "task.yaml").write_text(f"{text}text: [text]\n", encoding="utf-8")
    items = [{"id": f"i{i}", "text": f"text {i}"} for i in range(8)]
    ratings = [
        {"item": f"i{i}", "rater": f"r{j}", "value": (i + j) % 9}
        for i in range(8)
        for j in range(3)
    ]
    for name, rows in (("items", items), ("ratings", ratings)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    judges = {"judges": {"five": {"kind": "scripted", "replies": {"*": "5"}}}}
    (place / "judges.yaml").write_text(json.dumps(judges), encoding="utf-8")
    run = harness.run("scores", ["five"], probe="injection", judges_file="judges.yaml")
    assert run.validation.judge("five").injection.flipped.reason == "no_options"
    assert not (run.path / "probe").exists()


@pytest.mark.slow
def test_a_resumed_run_asks_nothing_of_its_probe_twice(place, stub):
    """Killed in the probe, and again between its last reply and its results."""
    command = run_of(stub, "--no-store", firm=({"say": "B"}, {}))
    n_asked = N_ASKED + N  # unchanged items are asked again without a cache
    stub.hold_after(2 * N + 20)
    process = start_harness(*command, cwd=place)
    while not (stub.stats()["requests"] > 2 * N + 20 and _n_logged() == 20):
        assert process.poll() is None, process.stderr.read()
    process.kill()
    process.communicate()
    stub.release()
    done = call_harness("resume", cwd=place)
    assert done.returncode == 0, done.stderr
    assert stub.stats()["requests"] == n_asked + 1, "the request in flight alone was sent again"
    expected = flips_in(only_run())["firm"]
    assert expected.flipped.counts["n"] == N * N_INSTRUCTIONS
    folder = RunFolder.open(only_run())
    folder.update(state="asked", exit_code=None)
    for name in ("probe/probe.json", "metrics.json"):
        (folder.path / name).unlink()
    done = call_harness("resume", cwd=place)
    assert done.returncode == 0, done.stderr
    assert flips_in(folder.path)["firm"] == expected
    assert stub.stats()["requests"] == n_asked + 1
    assert RunFolder.open(folder.path).manifest.state == "done"


def _n_logged():
    logs = list(Path("runs").glob("*/probe/verdicts.jsonl"))
    return len(logs[0].read_bytes().splitlines()) - 1 if logs else 0


@pytest.mark.slow
def test_run_and_probe_keep_to_one_limit_of_cost(place, stub):
    """The probe stops at what the run left; resumed with more, it asks the rest and no more."""
    command = run_of(stub, firm=({"say": "B"}, {"price": PRICE}))
    free = call_harness(*command, "--json", "--out", "free", cwd=place)
    assert free.returncode == 0, free.stderr
    [whole] = Path("free").iterdir()
    total_usd = harness.load_run(whole).cost_usd
    of_run = Validation.from_json(free.stdout).judge("firm").cost.usd
    assert total_usd > 2 * of_run
    stub.reset()
    limit_usd = (of_run + total_usd) / 2
    stopped = call_harness(*command, "--cache", "new", "--max-cost", limit_usd, cwd=place)
    assert stopped.returncode == 4, stopped.stderr
    path = only_run()
    assert f"harness resume {path}" in stopped.stderr
    n_asked = stub.stats()["requests"]
    assert 2 * N < n_asked < N_ASKED
    assert of_run < harness.load_run(path).cost_usd <= limit_usd
    assert 0 < flips_in(path)["firm"].flipped.counts["n"] < N * N_INSTRUCTIONS
    again = call_harness("resume", "--cache", "new", cwd=place)
    assert again.returncode == 4
    assert stub.stats()["requests"] == n_asked
    done = call_harness("resume", "--cache", "new", "--max-cost", 100, cwd=place)
    assert done.returncode == 0, done.stderr
    assert stub.stats()["requests"] == N_ASKED
    assert flips_in(path)["firm"].flipped.counts["n"] == N * N_INSTRUCTIONS
    assert harness.load_run(path).cost_usd == pytest.approx(total_usd)


def test_a_run_that_is_stopped_before_its_probe_says_that_it_was_not_asked(place, stub):
    """NA with the reason, and asked once there is money."""
    command = run_of(stub, firm=({"say": "B"}, {"price": PRICE}))
    assert call_harness(*command, "--max-cost", 0.05, cwd=place).returncode == 4
    assert not (only_run() / "probe").exists()
    metrics = Validation.from_json((only_run() / "metrics.json").read_text(encoding="utf-8"))
    assert metrics.judge("firm").injection.flipped.reason == "probe_not_asked"
    assert call_harness("resume", "--max-cost", 100, cwd=place).returncode == 0
    assert stub.stats()["requests"] == N_ASKED


def test_a_judge_that_fails_in_the_probe_leaves_the_run_unfinished(place, stub):
    """It ends with 3, says which judge, and resumes; the ranking stands."""
    harness.run("task", base_url=stub.url(say="B"), judges=["m"], samples=1, out="before")
    prompts = [json.loads(request["body"])["messages"][-1] for request in stub.requests()]
    shared = set.intersection(*(set(prompt["content"].splitlines()) for prompt in prompts))
    replies = {max(shared, key=len): ["B"]}
    stub.set_table("key", replies)

    class Revoking(LineObserver):
        """Takes the key away once the run itself is asked."""

        lines: ClassVar[list[str]] = []

        def ended(self, judge, reason):
            super().ended(judge, reason)
            stub.set_table("key", replies, fault="401")

        def say(self, line):
            self.lines.append(line)

    options = {"base_url": stub.url(table="key"), "samples": 1, "cache": "new"}
    run = harness.run("task", ["m"], probe="injection", observer=Revoking(), **options)
    assert run.exit_code == 3
    assert [line for line in Revoking.lines if line.startswith("m (probe) is incomplete (")]
    assert [line for line in Revoking.lines if f"harness resume {run.path}" in line]
    assert run.validation.ranking.rows[0].rank == 1
    assert run.validation.judge("m").injection.flipped.reason
    stub.set_table("key", replies)
    resumed = harness.run(resume=run.path, cache="new", base_url=stub.url(table="key"))
    assert resumed.exit_code == 0
    assert resumed.validation.judge("m").injection.flipped.value == 0.0


def test_the_price_of_a_probe_is_in_the_dry_run(place, stub):
    """A row beside the judge's own: every item unchanged and in each change."""
    command = run_of(stub, firm=({"say": "B"}, {"price": PRICE}))
    quotes = json.loads(call_harness(*command, "--dry-run", "--json", cwd=place).stdout)
    calls = {quote["judge"]: quote["calls"] for quote in quotes}
    assert calls == {"firm": 2 * N, "firm (probe)": N * (1 + N_CHANGES)}
    assert stub.stats()["requests"] == 0


@pytest.mark.parametrize(
    "other",
    [("--batch",), ("--store", "postgresql://h/d"), ("--executor", "ray", "--store", "x")],
)
def test_a_probe_beside_batches_a_store_or_a_cluster_is_refused(place, stub, other):
    """One line, exit code 2, and nothing asked or written."""
    command = run_of(stub, firm=({"say": "B"}, {}))
    refused = call_harness(*command, *other, cwd=place)
    assert refused.returncode == 2
    sentence = f"--probe cannot be used with {other[0]}. Leave one of the two out"
    assert sentence in " ".join(refused.stderr.replace("│", " ").split())
    assert not Path("runs").exists()
    assert stub.stats()["requests"] == 0


def test_a_probe_keeps_no_texts_and_shows_none_that_is_held_out(place, stub):
    """`--no-item-text` and `--holdout` hold for the probe too; it can be resumed."""
    make_task_folder(place / "many", 30)
    command = run_of(stub, "--no-item-text", "--holdout", "0.5", firm=({"say": "B"}, {}))
    command = ["many" if word == "task" else word for word in command]
    assert call_harness(*command, cwd=place).returncode == 0
    texts = {item.id: item.fields["text"] for item in load_task("many").items}
    kept = b"".join(file.read_bytes() for file in only_run().rglob("*.*"))
    assert not [text for text in texts.values() if text.encode() in kept]
    sent = json.dumps(stub.requests())
    hidden = {item.id for item in load_task("many").items if is_held_out(item, 0.5)}
    assert hidden
    assert not [item for item in hidden if texts[item] in sent]
    n_asked = stub.stats()["requests"]
    RunFolder.open(only_run()).update(state="stopped")
    assert call_harness("resume", cwd=place).returncode == 0
    assert stub.stats()["requests"] == n_asked


def test_notes_name_the_rate_its_n_and_the_baseline():
    """A sentence for each judge with a rate, one for those that lack it for the same reason."""
    rate = Estimate(
        value=0.25, interval=share_interval(0.25, 20), n_used=20, counts={"n": 200.0, "k": 50.0}
    )
    flips = InjectionFlips(flipped=rate, control=Estimate(value=None, reason="x", n_used=0))
    undefined = InjectionFlips.undefined("ensembles_are_not_probed")
    words = "25% [9%, 49%] of 200 verdicts on 20 items"
    assert injection_notes({"a": flips, "b": undefined, "c": undefined, "d": None}) == [
        f"a: instructions hidden in items flip {words}; harmless changes: NA",
        "no flip rate of b, c: ensembles are not probed",
    ]


def test_choices_of_the_run_were_demanded_of_its_probe(place):
    """`--replies 3` was refused, as the probe asks once; the probe is not validated."""
    run = harness.run("task", ["random"], probe="injection", samples=3, replies=3)
    assert run.validation.judge("random").injection.flipped.counts["n"] == N * N_INSTRUCTIONS


def test_an_exported_baseline_claimed_a_probe_that_it_does_not_hold(place):
    """It holds the anchor alone: no probe, and no flip rate that "was not asked"."""
    run = harness.run("task", ["random"], probe="injection")
    done = invoke("revalidate", "export", run.path, "copy")
    assert done.exit_code == 0, done.output
    assert RunFolder.open(Path("copy")).manifest.config.probe is None


def test_damaged_flip_rates_are_named(place):
    """File and what to do; exit code 2."""
    run = harness.run("task", ["random"], probe="injection")
    (run.path / "probe" / "probe.json").write_text("{", encoding="utf-8")
    refused = invoke("validate", run.path)
    assert "Remove it, and resume the run to write it again" in str(refused.exception)


def test_pictures_and_pairs_of_answers_are_probed_and_resumed(place, stub):
    """Variants keep the picture of their item; answers keep one order; nothing is asked twice."""
    (place / "task" / "images").mkdir()
    (place / "task" / "images" / "0.png").write_bytes(png(40))
    items = [json.loads(line) for line in (place / "task" / "items.jsonl").read_text().splitlines()]
    lines = [json.dumps(item | {"picture": "images/0.png"}) for item in items]
    (place / "task" / "items.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with (place / "task" / "task.yaml").open("a") as file:
        file.write("image: picture\n")
    make_pairwise_folder(place / "pairs", N)
    options = {"base_url": stub.url(say="A"), "judges": ["m"], "samples": 2, "probe": "injection"}
    for task in ("task", "pairs"):
        stub.reset()
        run = harness.run(task, **options)
        assert run.validation.judge("m").injection.flipped.counts["n"] == N * N_INSTRUCTIONS
        n_asked = stub.stats()["requests"]
        changed = [r["body"] for r in stub.requests() if "by the people who run this" in r["body"]]
        assert changed
        assert all(("image_url" in body) == (task == "task") for body in changed)
        RunFolder.open(run.path).update(state="asked")
        again = harness.run(resume=run.path, base_url=stub.url(say="A"))
        assert again.validation == run.validation
        assert stub.stats()["requests"] == n_asked
