"""A table of numbers from the import to the report, on the command line."""

from __future__ import annotations

import csv
import json

import pytest
from support.processes import invoke

N = 12


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Import a table of scores by three raters, with 12 summaries."""
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "scores.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["summary", "text", "who", "score"])
        for i in range(N):
            for j, rater in enumerate(("r1", "r2", "r3")):
                writer.writerow([f"s{i}", f"Summary {i}", rater, 8 * i + 1.5 * j])
    imported = invoke(
        *("curate", "import", "scores.csv", "--as", "./task", "--yes"),
        *("--id", "summary", "--rater", "who", "--label", "score"),
        *("--scale", "continuous", "--bounds", "0,100", "--property", "how good the summary is"),
    )
    assert imported.exit_code == 0, imported.output
    return tmp_path


def judges_file(place, stub):
    """Write judges: one that always says 45 on a server, and one that knows the scores."""
    judges = {
        "server": {"kind": "endpoint", "model": "m", "base_url": stub.url(say="Score: 45")},
        "exact": {
            "kind": "scripted",
            "model": "m",
            "replies": {f"s{i}": f"{8 * i + 1}/100" for i in range(N)},
        },
    }
    (place / "judges.yaml").write_text(json.dumps({"judges": judges}), encoding="utf-8")
    return "judges.yaml"


@pytest.mark.slow
def test_a_table_of_numbers_ends_in_a_decision(place, stub):
    """Import, run on a server, a script and at random; resume asks nothing; the page is written."""
    assert "bounds: [0, 100]" in (place / "task" / "task.yaml").read_text(encoding="utf-8")
    stub.reset()
    arguments = ("--judges-file", judges_file(place, stub), "--out", "runs", "--cache", "cache")
    judges = "server,exact,random,server@self-consistency:2"
    done = invoke("run", "--task", "./task", "--judges", judges, *arguments, "--json", "--quiet")
    assert done.exit_code == 0, done.output
    v = json.loads(done.stdout)
    values = {row["judge"]: row["estimate"]["value"] for row in v["evidence"]["judges"]}
    assert values["exact"] == pytest.approx(0.5)
    assert values["server"] == pytest.approx(values["server@self-consistency:2"])
    assert v["decision"]["leader"] == "exact"
    [folder] = (place / "runs").iterdir()
    assert "a number from 0 to 100" in stub.requests()[0]["body"]
    assert {"number.txt"} == {path.name for path in (folder / "prompts").iterdir()}
    n_asked = stub.stats()["requests"]
    again = invoke("run", "--task", "./task", "--judges", judges, *arguments, "--json", "--quiet")
    assert json.loads(again.stdout)["evidence"] == v["evidence"]
    assert stub.stats()["requests"] == n_asked
    shown = invoke("validate", folder).output
    assert "mean rating" in shown
    assert "root mean squared error" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_metric_of_options_is_refused_in_one_line(place):
    """With the metrics that there are."""
    refused = invoke("validate", "--task", "./task", "--metric", "hit_rate(h/h)")
    assert "is not a metric of a continuous scale. Use rmse, mse" in str(refused.exception)
