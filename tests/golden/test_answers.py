"""The known answers that a clone brings are those of the truth folder."""

from __future__ import annotations

import json

from golden.write_answers import FIELDS
from support.known_answers import ANSWERS, truth_cases


def test_kept_answers_are_those_of_the_truth_folder(truth):
    """A case that was corrected there is written here again by the script."""
    assert truth
    known = {case["id"]: case for case in truth_cases()}
    files = [file.read_text(encoding="utf-8") for file in ANSWERS.glob("*.jsonl")]
    kept = [json.loads(line) for text in files for line in text.splitlines()]
    assert kept
    for case in kept:
        if case["id"] in known:
            assert case == {name: known[case["id"]][name] for name in FIELDS}
