"""Ratings from 1 to 5 read as numbers: the annotator test and rank correlation of known answers."""

from __future__ import annotations

import pytest
from support.analysis_inputs import coherence_as_numbers
from support.known_answers import golden_cases

from harness.analysis import validate
from harness.options.concerns import Choices


@pytest.mark.slow
def test_summeval_as_numbers_gives_the_published_annotator_test_and_correlation(truth, tmp_path):
    """Coherence by six judges: winning rate, advantage and Spearman's correlation with the mean."""
    validation = validate(coherence_as_numbers(truth, tmp_path, Choices(confidence=0.9)))
    tests = {result.judge: result.test for result in validation.replacement.judges}
    n_cases = 0
    for case in golden_cases("alt_test"):
        if case["id"].startswith("alt5/summeval/coherence/"):
            test, expected = tests[case["inputs"]["judge"]], case["expect"]
            assert test.winning_rate.value == pytest.approx(expected["omega"])
            assert test.advantage.value == pytest.approx(expected["rho"])
            n_cases += 1
    for case in golden_cases("binned_jsd"):
        if case["id"].startswith("jsb/summeval/coherence/"):
            spearman = validation.judge(case["inputs"]["judge"]).metrics["spearman"]
            assert spearman.value == pytest.approx(case["expect"]["spearman_mean"])
            assert spearman.interval.low < spearman.value < spearman.interval.high
            n_cases += 1
    assert n_cases == 8
