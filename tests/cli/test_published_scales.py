"""Published ratings on a scale of grades, of stars and in words: import, run, validate, resume.

The texts that people rated are not among the files, apart from the reviews of CEBaB; the name of an
item, or a picture of one pixel, stands in for them.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

import pytest
from support.exit_codes import code_by_counts
from support.known_answers import golden_cases, load_dataset
from support.pictures import png
from support.processes import invoke
from support.task_folders import write_jsonl

pytestmark = pytest.mark.slow


@pytest.fixture
def place(truth, tmp_path, monkeypatch):
    """An empty folder, where there are published ratings."""
    monkeypatch.chdir(tmp_path)
    return truth / "data"


def done(*words):
    """Run a command to its end; return what it printed."""
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def validated(*words):
    """Run judges or validate a run; return the result, whose counts decide the exit code."""
    result = invoke(*words, "--json")
    metrics = json.loads(result.stdout)
    assert result.exit_code == code_by_counts(metrics), result.output
    return metrics


def import_table(name, head, rows, *words):
    """Write a table and make a task folder of it."""
    with Path(f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    columns = ("--id", "item", "--rater", "rater", "--label", "value", "--text", "text")
    done("curate", "import", f"{name}.csv", "--as", f"./{name}", *columns, "--yes", *words)


def check_run(name, stub, say, *words, judges="far,random"):
    """Ask a server and embedded judges; validate the run anew, and run it again from the cache."""
    stub.reset()
    entry = {"kind": "endpoint", "model": "m", "base_url": stub.url(say=say)}
    Path("judges.yaml").write_text(json.dumps({"judges": {"far": entry}}), encoding="utf-8")
    arguments = ("--judges-file", "judges.yaml", "--out", f"runs-{name}", "--cache", "cache")
    ask = ("run", "--task", f"./{name}", "--judges", judges, *arguments, *words)
    first = validated(*ask, "--quiet")
    assert {row["name"] for row in first["judges"]} == set(judges.split(","))
    n_asked = stub.stats()["requests"]
    again = validated(*ask, "--quiet")
    assert stub.stats()["requests"] == n_asked
    assert [j["metrics"] for j in again["judges"]] == [j["metrics"] for j in first["judges"]]
    folder = next(Path(f"runs-{name}").iterdir())
    assert validated("validate", folder)["evidence"] == first["evidence"]
    return first


def annotator_tests(name, verdicts, *words):
    """Validate published verdicts; return the annotator test of each judge."""
    words = ("--task", f"./{name}", "--verdicts", verdicts, *words)
    validation = json.loads(done("validate", *words, "--json"))
    return {result["judge"]: result["test"] for result in validation["replacement"]["judges"]}


def check_known(cases, tests_of):
    """Compare winning rate and advantage with the known ones of some cases."""
    for case in cases:
        test = tests_of(case["inputs"])[case["inputs"]["judge"]]
        assert test["winning_rate"]["value"] == pytest.approx(case["expect"]["omega"])
        assert test["advantage"]["value"] == pytest.approx(case["expect"]["rho"])


@pytest.mark.parametrize(
    "scale", [("continuous", "--bounds", "1,5"), ("ordinal", "--options", "1,2,3,4,5")]
)
def test_summeval_runs_as_numbers_and_as_grades(place, stub, scale):
    """As numbers with the known annotator tests of its four criteria."""
    dataset = load_dataset("summeval")
    facts = {item["id"]: (item["group"], item["criterion"]) for item in dataset.items}
    head = ("item", "rater", "value", "doc", "criterion", "text")
    rows = [
        (r["item"], r["rater"], r["value"], *facts[r["item"]], f"summary {r['item']}")
        for r in dataset.ratings
    ]
    names = ("--group", "doc", "--criterion", "criterion", "--kind", "expert", "--scale", *scale)
    import_table("summeval", head, rows, *names, "--property", "how good the summary is")
    few = ("--criterion", "relevance", "--limit", "40")
    result = check_run("summeval", stub, "4", *few)
    assert result["evidence"]["n_items"] == 40
    if scale[0] != "continuous":
        return
    cases = [c for c in golden_cases("alt_test") if c["id"].startswith("alt5/summeval/")]
    assert len(cases) == 16
    tests = {
        criterion: annotator_tests(
            "summeval", place / "summeval" / "verdicts.csv", "--criterion", criterion
        )
        for criterion in ("coherence", "consistency", "fluency", "relevance")
    }
    check_known(cases, lambda inputs: tests[inputs["criterion"]])


def test_kilogram_runs_with_pictures(place, stub):
    """In words, by their overlap: the server is sent a picture of each item."""
    dataset = load_dataset("kilogram")
    head = ("item", "rater", "value", "text")
    rows = [(r["item"], r["rater"], r["value"], "the figure") for r in dataset.ratings]
    import_table(
        "kilogram", head, rows, "--scale", "text", "--property", "what the figure looks like"
    )
    folder = Path("kilogram")
    items = list(map(json.loads, (folder / "items.jsonl").read_text().splitlines()))
    for n, item in enumerate(items):
        item["picture"] = f"{n}.png"
        (folder / item["picture"]).write_bytes(png(n % 256))
    write_jsonl(folder / "items.jsonl", items)
    description = (folder / "task.yaml").read_text(encoding="utf-8")
    (folder / "task.yaml").write_text(f"{description}image: picture\n", encoding="utf-8")
    result = check_run("kilogram", stub, "a house", "--limit", "40", judges="far")
    assert result["judges"][0]["metrics"]["similarity"]["value"] > 0.0
    assert all("data:image/png;base64," in request["body"] for request in stub.requests())
    tests = annotator_tests("kilogram", place / "kilogram" / "verdicts.csv")
    cases = [c for c in golden_cases("alt_test") if c["id"].startswith("alt/kilogram-jaccard/")]
    check_known(cases, lambda _: tests)


@pytest.mark.parametrize("scale", [("continuous", "--bounds", "1,5"), ("ordinal",)])
def test_stars_of_reviews_run_with_an_embedded_model(place, stub, scale):
    """Stars are 3, and one more or less for each aspect that a worker saw praised or blamed."""
    dataset = load_dataset("cebab_aspects")
    reviews = {item["id"]: (item["group"], item["review"]) for item in dataset.items}
    stars = defaultdict(lambda: 3)
    for r in dataset.ratings:
        review, _ = reviews[r["item"]]
        stars[review, r["rater"]] += {"Positive": 1, "Negative": -1}.get(r["value"], 0)
    texts = dict(reviews.values())
    rows = [(g, rater, max(1, min(5, n)), texts[g]) for (g, rater), n in stars.items()]
    words = ("--scale", *scale, "--property", "how satisfied the reviewer is, in stars")
    import_table("stars", ("item", "rater", "value", "text"), rows, *words)
    judges = "far,random,smollm2@few-shot:2"
    result = check_run("stars", stub, "4", "--limit", "6", judges=judges)
    outcomes = {row["name"]: row["outcomes"][0] for row in result["judges"]}
    assert all(counts["planned"] for counts in outcomes.values())
    assert outcomes["smollm2@few-shot:2"]["answered"] > 0
    assert result["decision"]["verdict"] in {"use", "best_not_proven", "none"}
