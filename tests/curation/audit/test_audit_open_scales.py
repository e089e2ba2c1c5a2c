"""Audits of tasks without options: numbers and texts."""

from __future__ import annotations

import pytest

from harness.curation.audit import audit_task, audit_text, suspected_raters
from harness.errors import HarnessError
from harness.tasks import load_task

N = 40


@pytest.fixture(params=["continuous", "text"])
def task(tmp_path, request):
    """Forty items: Bo is a copy of Ann, one item has a single rater, two have the same text."""
    yaml = f"name: open\nproperty: how it is\nscale: {request.param}\n"
    (tmp_path / "task.yaml").write_text(yaml, encoding="utf-8")
    texts = [f"{chr(97 + i % 26) * 9} is what number {i * 7919} was about" for i in range(N)]
    texts[7] = texts[3]
    texts[9] = "call me at ann.lee@gmail.com or write to the office"
    items = "".join(f"i{i},{text}\n" for i, text in enumerate(texts))
    (tmp_path / "items.csv").write_text("id,text\n" + items, encoding="utf-8")
    noun = "" if request.param == "continuous" else " dogs"
    rows = [
        f"i{i},{rater},{(i * step) % 100}{noun}\n"
        for i in range(N)
        for rater, step in (("Ann", 7), ("Bo", 7), ("Cy", 11))
        if i or rater == "Cy"
    ]
    if request.param == "text":
        rows[-1] = f"i{N - 1},Cy,asdf\n"
    (tmp_path / "ratings.csv").write_text("item,rater,value\n" + "".join(rows), encoding="utf-8")
    return load_task(tmp_path)


def test_checks_that_need_no_options_run(task):
    """The audit was refused as a whole."""
    audit = audit_task(task)
    found = {finding.kind: finding for finding in audit.findings}
    expected = {
        *("duplicate_items", "secrets_or_personal_data", "single_rater_items", "identical_raters"),
        *(["answers_without_content"] if task.scale == "text" else []),
    }
    assert found.keys() == expected
    assert found["single_rater_items"].items == ("i0",)
    assert set(found["identical_raters"].raters) == {"Ann", "Bo"}
    assert all(finding.command for finding in audit.findings)


def test_skipped_checks_say_why(task):
    """Agreement and sample size need options; with verdicts, so does everything that they add."""
    text = " ".join(audit_text(audit_task(task), details=True).split())
    assert f"a {task.scale} scale has no options" in text
    with pytest.raises(HarnessError, match="an audit with verdicts needs options"):
        audit_task(task, task.folder / "verdicts.csv")


def test_copies_are_suspected(task):
    """`curate next` does not offer them."""
    assert set(suspected_raters(task).values()) == {"identical_raters"}
