"""Audit of a task: planted faults are found, named and ordered by what they do to the decision."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys

import jsonschema
import numpy as np
import pytest
from support.processes import call_harness
from support.task_folders import TASK, write_jsonl

from harness.analysis import validate
from harness.curation.audit import audit_task, audit_text
from harness.curation.audit.decision_effects import source_without
from harness.curation.audit.sufficiency import annotator_power, items_needed
from harness.curation.audit.text_checks import items_by_pattern
from harness.sources import source_of_verdicts
from harness.tasks import Item, load_task

WORDS = ["red", "small", "loud", "quiet", "broken", "clever", "heavy", "sudden", "plain", "odd"]
WORDS += ["cat", "river", "engine", "letter", "window", "teacher", "song", "market", "bridge"]
EMAIL, KEY = "jane.doe@example.org", "sk-abcdefghijklmnopqrstuvwx123456"


def sentences(n, seed=0):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=14)) + f" {i}" for i in range(n)]


def write_task(folder, texts, choices, *, task=TASK, groups=None):
    """Write a task; ``choices`` maps each rater to a list of keys, None for no rating."""
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text(task, encoding="utf-8")
    items = [{"id": f"i{i}", "text": text} for i, text in enumerate(texts)]
    for i, group in enumerate(groups or ()):
        items[i]["group"] = group
    write_jsonl(folder / "items.jsonl", items)
    rows = [
        {"item": f"i{i}", "rater": rater, "value": key}
        for rater, keys in choices.items()
        for i, key in enumerate(keys)
        if key is not None
    ]
    write_jsonl(folder / "ratings.jsonl", rows)
    return folder


def rated_like(truth, rng, error=0.1):
    """Choices that differ from the truth on a share of the items."""
    return [key if rng.random() > error else "AB"[key == "A"] for key in truth]


@pytest.fixture
def planted(tmp_path):
    """A task with a fault of every kind that a task of two options can have."""
    rng = random.Random(1)
    texts = sentences(100)
    texts[50] = texts[3].upper() + "!"
    texts[51] = texts[4] + " indeed"
    texts[60] += f" {EMAIL}"
    texts[61] += f" {KEY}"
    truth = [rng.choice("AB") for _ in texts]
    choices = {f"r{j}": rated_like(truth, rng) for j in range(5)}
    choices["random"] = [rng.choice("AB") for _ in texts]
    choices["lazy"] = ["B"] * 100
    choices["brief"] = [*truth[:8], *[None] * 92]
    for rater, keys in choices.items():
        if rater != "r0":
            keys[99] = None
    return write_task(tmp_path / "planted", texts, choices)


def finding(audit, kind):
    return next(row for row in audit.findings if row.kind == kind)


def test_planted_faults_are_found_where_they_are(planted):
    """Duplicates, raters, single ratings and personal data are named by id."""
    audit = audit_task(load_task(planted))
    assert finding(audit, "duplicate_items").clusters == (("i3", "i50"),)
    assert finding(audit, "near_duplicate_items").clusters == (("i4", "i51"),)
    assert finding(audit, "single_rater_items").items == ("i99",)
    assert finding(audit, "few_items_per_rater").raters == ("brief",)
    assert finding(audit, "same_answer_raters").raters == ("lazy",)
    assert finding(audit, "deviating_raters").raters == ("random", "lazy")
    assert finding(audit, "secrets_or_personal_data").items == ("i60", "i61")
    assert {row.check for row in audit.not_checked} >= {
        "drift over time",
        "suspected rating errors",
    }


def test_matched_secrets_are_in_no_output(planted, tmp_path):
    """Neither the table nor the JSON repeats an address or a key that was matched."""
    task = load_task(planted)
    shown = call_harness("curate", "audit", str(planted), "--json", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    for text in (audit_text(audit_task(task)), shown.stdout):
        assert "i60" in text
        assert EMAIL not in text
        assert KEY not in text


def test_json_has_the_fields_of_the_published_schema(planted, tmp_path):
    """`harness schema audit` describes what `harness curate audit --json` prints."""
    schema = json.loads(call_harness("schema", "audit", cwd=tmp_path).stdout)
    shown = json.loads(call_harness("curate", "audit", str(planted), "--json", cwd=tmp_path).stdout)
    jsonschema.validate(shown, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(shown | {"findings": [{"kind": "unknown"}]}, schema)


def test_a_clean_task_has_findings_about_its_size_alone(tmp_path):
    """Without a fault nothing but the amount of data and its elicitation is mentioned."""
    rng = random.Random(2)
    texts = sentences(60)
    truth = [rng.choice("AB") for _ in texts]
    folder = write_task(
        tmp_path / "clean", texts, {f"r{j}": rated_like(truth, rng) for j in range(4)}
    )
    kinds = {row.kind for row in audit_task(load_task(folder)).findings}
    assert kinds <= {"wide_intervals", "low_annotator_power", "not_fully_specified"}


def test_duplicates_across_groups_are_told_from_those_within(tmp_path):
    """Only copies in another group break the independence of groups."""
    texts = sentences(8)
    texts[1], texts[5] = texts[0], texts[4]
    groups = ["a", "a", "a", "a", "b", "c", "b", "c"]
    folder = write_task(
        tmp_path / "t", texts, {"r0": list("ABABABAB"), "r1": list("ABABABAB")}, groups=groups
    )
    audit = audit_task(load_task(folder))
    assert finding(audit, "duplicate_items").clusters == (("i0", "i1"), ("i4", "i5"))
    assert finding(audit, "duplicates_across_groups").clusters == (("i4", "i5"),)


def test_context_that_a_group_shares_makes_no_duplicates(tmp_path):
    """Different sentences of the same long article are no near duplicates."""
    article = " ".join(sentences(20, seed=5))
    folder = write_task(
        tmp_path / "t",
        sentences(6),
        {"r0": list("ABABAB")},
        task=TASK + "text: [article, text]\n",
        groups=["g"] * 6,
    )
    write_jsonl(folder / "groups.jsonl", [{"id": "g", "article": article}])
    kinds = {row.kind for row in audit_task(load_task(folder)).findings}
    assert not kinds & {"duplicate_items", "near_duplicate_items"}


def test_a_rater_who_tires_is_found_by_the_times_of_the_ratings(tmp_path):
    """With `rated_at` in the ratings the rater whose late answers are random is named."""
    rng = random.Random(6)
    texts = sentences(120)
    truth = [rng.choice("AB") for _ in texts]
    choices = {f"r{j}": rated_like(truth, rng, 0.05) for j in range(4)}
    choices["tired"] = truth[:60] + [rng.choice("AB") for _ in range(60)]
    folder = write_task(tmp_path / "t", texts, choices)
    rows = [
        {"item": f"i{i}", "rater": rater, "value": key}
        | {"rated_at": f"2026-01-01T{i // 60:02}:{i % 60:02}:00Z"}
        for rater, keys in choices.items()
        for i, key in enumerate(keys)
    ]
    write_jsonl(folder / "ratings.jsonl", rows)
    audit = audit_task(load_task(folder))
    assert finding(audit, "drifting_raters").raters == ("tired",)
    assert "drift over time" not in {row.check for row in audit.not_checked}


def test_options_spelt_twice_and_unused_are_found(tmp_path):
    """Labels that differ by case or punctuation alone are a pair; an unchosen option is listed."""
    task = """\
name: spelt
property: tone
scale: nominal
options: [{key: polite}, {key: Polite.}, {key: rude}, {key: neutral}]
"""
    choices = {"r0": ["polite", "Polite.", "rude"], "r1": ["Polite.", "polite", "rude"]}
    folder = write_task(tmp_path / "t", sentences(3), choices, task=task)
    audit = audit_task(load_task(folder))
    assert finding(audit, "options_spelt_twice").options == ("polite", "Polite.")
    assert finding(audit, "unused_options").options == ("neutral",)


def test_findings_that_change_the_decision_come_first(tmp_path):
    """Ratings that make the worse judge look better head the list, with what they change."""
    rng = random.Random(3)
    texts = sentences(150)
    truth = [rng.choice("AB") for _ in texts]
    inverted = ["AB"[key == "A"] for key in truth]
    wrong = [inverted[i] if 100 <= i < 120 else key for i, key in enumerate(truth)]
    choices = {f"r{j}": rated_like(wrong, rng, 0.02) for j in range(3)}
    folder = write_task(tmp_path / "t", texts, choices)
    rows = [
        {"item": f"i{i}", "judge": judge, "value": key}
        for judge in ("first", "second", "third")
        for i, key in enumerate(rated_like(truth, rng, 0.03))
    ]
    write_jsonl(tmp_path / "verdicts.jsonl", rows)
    audit = audit_task(load_task(folder), tmp_path / "verdicts.jsonl")
    suspected = finding(audit, "suspected_rating_errors")
    assert set(suspected.items) <= {f"i{i}" for i in range(100, 120)}
    assert len(suspected.items) >= 12
    assert audit.findings[0] == suspected
    assert suspected.effect is not None
    assert suspected.effect.n_items == 150 - len(suspected.items)
    assert suspected.effect.largest_change > 0.05
    changes = [row.effect.changes_decision for row in audit.findings if row.effect]
    assert changes == sorted(changes, reverse=True)


def test_the_honest_rater_beside_a_copy_is_not_the_one_who_is_named(tmp_path):
    """Who copied, and who pasted a judge's answers, are named with whom they agree."""
    rng = random.Random(5)
    truth = [rng.choice("AB") for _ in range(150)]
    choices = {f"r{j}": rated_like(truth, rng, 0.15) for j in range(4)}
    choices["copy"] = rated_like(choices["r0"], rng, 0.02)
    judge = rated_like(truth, rng, 0.15)
    choices["pasted"] = rated_like(judge, rng, 0.02)
    task = load_task(write_task(tmp_path / "task", sentences(150), choices))
    rows = [{"item": f"i{i}", "judge": "j", "value": judge[i]} for i in range(150)]
    write_jsonl(tmp_path / "verdicts.jsonl", rows)
    audit = audit_task(task, tmp_path / "verdicts.jsonl")
    alike = finding(audit, "excess_agreement")
    assert alike.raters == ("r0", "copy")
    assert alike.left_out_raters == ("copy",)
    assert alike.what.startswith("r0 and copy agree on ")
    assert finding(audit, "excess_agreement_with_judge").raters == ("pasted",)
    assert "deviating_raters" not in {row.kind for row in audit.findings}


def test_effects_are_those_of_whole_validations(planted, tmp_path):
    """Decision and largest change are those of `validate` on what is left."""
    task, rng = load_task(planted), random.Random(4)
    truth = {r.item: r.value for r in task.ratings if r.rater == "r0"}
    rows = [
        {"item": item, "judge": judge, "value": rated_like([key], rng, error)[0]}
        for judge, error in (("good", 0.1), ("fair", 0.25))
        for item, key in truth.items()
    ]
    write_jsonl(tmp_path / "verdicts.jsonl", rows)
    source = source_of_verdicts(task, tmp_path / "verdicts.jsonl")
    before = {row.judge: row.value for row in validate(source).evidence.judges}
    findings = [row for row in audit_task(task, tmp_path / "verdicts.jsonl").findings if row.effect]
    assert {"deviating_raters", "duplicate_items"} <= {row.kind for row in findings}
    for row in findings:
        rest = validate(source_without(source, set(row.left_out_items), set(row.left_out_raters)))
        changes = [abs(judge.value - before[judge.judge]) for judge in rest.evidence.judges]
        assert (row.effect.verdict, row.effect.judge) == (
            rest.decision.verdict,
            rest.decision.judge,
        )
        assert row.effect.largest_change == max(changes)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("write to a.b+c@mail.example.co.uk.", {"e-mail address"}),
        ("call +44 20 7946 0958 now", {"phone number"}),
        ("card 4111 1111 1111 1111", {"card number"}),
        ("number 4111 1111 1111 1112", set()),
        ("IBAN GB82 WEST 1234 5698 7654 32", {"IBAN"}),
        ("IBAN GB83 WEST 1234 5698 7654 32", set()),
        ("-----BEGIN RSA PRIVATE KEY-----", {"private key"}),
        ("in 2024-01-31 the 3.14159265358979 was 100-200", set()),
        ("version 1.2.3 @home, item 12345678", set()),
    ],
)
def test_patterns_match_what_they_name(text, kinds):
    """Check digits are verified; dates, decimals and handles are no personal data."""
    assert set(items_by_pattern([Item("a", {"text": text})])) == kinds


def test_power_grows_with_items_and_reaches_80_percent_where_said():
    """At the number of items named, the simulated power is about 80 %."""
    for discordance, eps in ((0.3, 0.1), (0.2, 0.2)):
        n = items_needed(discordance, eps)
        assert annotator_power(n, discordance, eps) == pytest.approx(0.8, abs=0.07)
        assert annotator_power(n // 3, discordance, eps) < 0.6


@pytest.mark.slow
@pytest.mark.timeout(600)  # the bound is of CPU; other tests run at the same time
@pytest.mark.parametrize("has_verdicts", [False, True])
def test_a_hundred_thousand_items_take_less_than_a_minute_and_2_gib(tmp_path, *, has_verdicts):
    """Five ratings each, in a process of its own, with and without the verdicts of two judges."""
    rng = np.random.default_rng(0)
    n, words = 100_000, np.array([f"word{i}" for i in range(5000)])
    texts = [" ".join(row) for row in words[rng.integers(0, 5000, (n, 40))]]
    texts[1::1000] = [f"{text} {EMAIL}" for text in texts[1::1000]]
    texts[-50:] = texts[:50]
    answers = (rng.random((n, 7)) < np.where(rng.random((n, 1)) < 0.5, 0.9, 0.1)).astype(int)
    answers[:, 4] = rng.integers(2, size=n)  # a rater unlike the others
    folder = write_task(tmp_path / "big", texts, {})
    rows = [
        {"item": f"i{i}", "rater": f"r{j}", "value": "AB"[answers[i, j]]}
        for i in range(n)
        for j in range(1 if i < 200 else 5)
    ]
    write_jsonl(folder / "ratings.jsonl", rows)
    verdicts = [
        {"item": f"i{i}", "judge": f"z{j}", "value": "AB"[answers[i, j]]}
        for i in range(n)
        for j in (5, 6)
    ]
    write_jsonl(folder / "verdicts.jsonl", verdicts)
    options = ["--verdicts", str(folder / "verdicts.jsonl")] if has_verdicts else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(
        [sys.executable, "-m", "harness", "curate", "audit", str(folder), "--json", *options],
        check=True,
        capture_output=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    measured = [row["kind"] for row in json.loads(ended.stdout)["findings"] if row["effect"]]
    assert len(measured) == 5 * has_verdicts, measured
    # s of CPU, of one process with one thread
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 60
    assert after.ru_maxrss < 2 * 2**20  # KiB
