"""Real ratings made into tasks: the released verdicts of six LLMs, and embedded judges."""

from __future__ import annotations

import json

import pytest
from support.exit_codes import code_by_counts, metrics_in
from support.processes import call_harness
from support.task_folders import make_truth_task

from harness.analysis import Validation
from harness.report.text import render
from harness.runs.run_folder import RunFolder


def cases(truth, kind: str, dataset: str) -> list[dict]:
    listed = []
    for file in sorted((truth / "golden").glob("*.json")):
        listed += json.loads(file.read_text(encoding="utf-8"))
    return [c for c in listed if c["kind"] == kind and c["inputs"].get("dataset") == dataset]


@pytest.mark.slow
def test_released_wax_verdicts_give_the_published_accuracy(truth, tmp_path):
    """`harness validate` on the wax verdicts of six LLMs reproduces the known accuracies; forced
    choices alone rank by JS divergence, and the sentence names a judge."""
    make_truth_task(truth, "wax", tmp_path)
    verdicts = truth / "data" / "wax" / "verdicts.csv"
    process = call_harness(
        "validate", "--task", "wax", "--verdicts", verdicts, "--json", cwd=tmp_path
    )
    assert process.returncode == 0, process.stderr
    validation = Validation.from_json(process.stdout)
    known_answers = cases(truth, "judge_vs_raters", "wax")
    assert known_answers
    assert len(validation.judges) == 6
    names = {
        "accuracy_majority_expected": "hit_rate(h/h)",
        "accuracy_majority_lower": "hit_rate_ties_lost(h/h)",
        "accuracy_majority_upper": "hit_rate_ties_won(h/h)",
    }
    for case in known_answers:
        metrics = validation.judge(case["inputs"]["judge"]).metrics
        for key, name in names.items():
            assert metrics[name].value == pytest.approx(case["expect"][key], abs=1e-9)
        assert metrics["hit_rate(h/h)"].n_used == case["expect"]["n_items"]
        assert metrics["hit_rate(h/h)"].n_tied == case["expect"]["n_tied"]
        assert metrics["decision_consistency"].reason == "no_positive_option"
    assert validation.ranking.metric == "js_divergence(s/s)"
    report = render(validation)
    assert "Use gpt-4o." in report.splitlines()


def run_qags(truth, tmp_path, *arguments: str) -> Validation:
    make_truth_task(truth, "qags", tmp_path)
    process = call_harness("run", "--task", "qags", *arguments, cwd=tmp_path)
    assert process.returncode == code_by_counts(metrics_in(tmp_path / "runs")), process.stderr
    assert "lexicon skipped" in process.stderr
    [folder] = (tmp_path / "runs").iterdir()
    validation = Validation.from_json((folder / "metrics.json").read_text())
    assert {j.name for j in validation.judges} == {"smollm2"}
    for judge in validation.judges:
        for c in judge.outcomes:
            assert c.not_asked == 0
            assert c.planned == c.answered + c.abstained + c.refused + c.invalid + c.failed
    final = RunFolder.open(folder).read_verdicts().final.values()
    assert {v.reason for v in final if v.outcome == "failed"} <= {"context_length"}
    return validation


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.timeout(400)
def test_embedded_judges_complete_qags(truth, tmp_path):
    """8 sentences of QAGS with their articles: the judges that apply run to the end.

    Asked as its raters were, by forced choice; the tests below also ask in pairs.
    """
    options = ("--limit", "8", "--elicitation", "forced_choice")
    validation = run_qags(truth, tmp_path, *options)
    assert validation.task.n_items == 8
    assert validation.ranking.metric == "js_divergence(s/s)"
    assert validation.sampling.unit == "group"


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.timeout(1800)
def test_embedded_judges_complete_qags_with_pairs(truth, tmp_path):
    """60 sentences by forced choice, and 30 of them in pairs, as its raters gave no sets."""
    validation = run_qags(truth, tmp_path, "--limit", "60", "--pairs", "30")
    [judge] = validation.judges
    planned = {counts.elicitation: counts.planned for counts in judge.outcomes}
    assert planned == {"forced_choice": 60, "paired": 30}


@pytest.mark.hour
@pytest.mark.real
@pytest.mark.timeout(7200)
def test_embedded_judges_complete_all_of_qags(truth, tmp_path):
    """All 953 sentences, 100 of them in pairs."""
    assert run_qags(truth, tmp_path).task.n_items == 953
