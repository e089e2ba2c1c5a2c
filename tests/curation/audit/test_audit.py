"""Audit of a task: planted faults are found, named and ordered by what they do to the decision."""

from __future__ import annotations

import json
import random
import shlex
import shutil

import jsonschema
import numpy as np
import pytest
from support.processes import call_harness, invoke
from support.task_folders import TASK, write_jsonl

from benchmarks.validation import measured_command
from harness.analysis import validate
from harness.analysis.evidence import deciding_evidence
from harness.curation.audit import audit_task, audit_text, suspected_raters
from harness.curation.audit.decision_effects import (
    source_without,
    verdict_and_equals,
    with_effects,
)
from harness.curation.audit.finding import Finding
from harness.curation.audit.response_checks import _one_letter_apart
from harness.curation.audit.sufficiency import items_for_width
from harness.curation.audit.text_checks import items_by_pattern
from harness.errors import TaskError
from harness.runs.sources import source_of_verdicts
from harness.stats.inference.estimate import share_interval
from harness.tasks import Item, load_task, read_changes

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
    for text in (audit_text(audit_task(task), details=True), shown.stdout):
        assert "i60" in text
        assert EMAIL not in text
        assert KEY not in text


def test_json_has_the_fields_of_the_published_schema(planted, tmp_path):
    """`harness lab schema audit` describes what `harness curate audit --json` prints."""
    schema = json.loads(call_harness("lab", "schema", "audit", cwd=tmp_path).stdout)
    shown = json.loads(call_harness("curate", "audit", str(planted), "--json", cwd=tmp_path).stdout)
    jsonschema.validate(shown, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(shown | {"findings": [{"kind": "unknown"}]}, schema)


def test_a_clean_task_has_only_findings_about_its_size(tmp_path):
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
    effects = [row.effect for row in audit.findings if row.effect]
    changes = [(effect.changes_verdict, effect.changes_equals) for effect in effects]
    assert changes == sorted(changes, reverse=True)


def test_a_judge_without_answers_hides_no_suspected_error(tmp_path):
    """It is not one of the good judges, who all have to agree."""
    rng = random.Random(3)
    truth = [rng.choice("AB") for _ in range(60)]
    wrong = ["AB"[key == "A"] if i < 4 else key for i, key in enumerate(truth)]
    task = load_task(write_task(tmp_path / "t", sentences(60), {f"r{j}": wrong for j in range(3)}))
    answers = {"first": truth, "second": truth, "silent": ["CANNOT_ASSESS"] * 60}
    rows = [
        {"item": f"i{i}", "judge": judge, "value": key}
        for judge, keys in answers.items()
        for i, key in enumerate(keys)
    ]
    write_jsonl(tmp_path / "verdicts.jsonl", rows)
    audit = audit_task(task, tmp_path / "verdicts.jsonl")
    assert finding(audit, "suspected_rating_errors").items == ("i0", "i1", "i2", "i3")


def test_effects_are_measured_on_two_items_or_more_and_come_before_none(tmp_path):
    """Leaving out an item of a faultless judge changes nothing, which is an effect; of four items,
    two can be left out and three cannot."""
    keys = ["A", "B", "A", "B"]
    choices = {f"r{j}": keys for j in range(3)}
    task = load_task(write_task(tmp_path / "t", sentences(4), choices))
    rows = [{"item": f"i{i}", "judge": "j", "value": key} for i, key in enumerate(keys)]
    write_jsonl(tmp_path / "verdicts.jsonl", rows)
    source = source_of_verdicts(task, tmp_path / "verdicts.jsonl")
    findings = [
        Finding(
            kind="duplicate_items",
            what="",
            why="",
            action="",
            n=n,
            items=tuple(f"i{i}" for i in range(n)),
        )
        for n in (0, 1, 2, 3)
    ]
    measured = with_effects(findings, source, deciding_evidence(source))
    assert [row.n for row in measured] == [1, 2, 0, 3]
    n_items = [row.effect and row.effect.n_items for row in measured]
    assert n_items == [3, 2, None, None]
    assert measured[0].effect.largest_change == 0.0


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


@pytest.mark.slow
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
        assert row.effect.verdict == rest.decision.verdict
        best = () if rest.decision.judge is None else (rest.decision.judge,)
        close = rest.decision.not_distinguishable if best else ()
        assert row.effect.equals == (*best, *close)
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


def test_the_width_named_is_that_of_the_interval_that_is_printed():
    """It was that of another formula, 381, where 402 items are needed."""
    n = items_for_width(0.05)
    halves = [
        max((i.high - i.low) / 2 for i in (share_interval(k / m, m) for k in range(m + 1)))
        for m in (n - 1, n)
    ]
    assert halves[0] > 0.05 >= halves[1]


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
    done, used = measured_command(
        "curate", "audit", str(folder), "--json", *options, folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    effects = [row["kind"] for row in json.loads(done.stdout)["findings"] if row["effect"]]
    assert len(effects) == 5 * has_verdicts, effects
    assert used.cpu_s < 60
    assert used.peak_mb < 2**31 / 1e6


def test_swapping_tied_judges_changes_nothing(tmp_path):
    """Two judges that are not significantly different swap places: the equals are the same."""
    rng = random.Random(10)
    texts = sentences(120)
    truth = [rng.choice("AB") for _ in texts]
    choices = {f"r{j}": rated_like(truth, rng, 0.1) for j in range(3)}
    task = load_task(write_task(tmp_path / "t", texts, choices))
    flipped = {"x": set(range(3, 12)), "y": set(range(12, 22))}
    rows = [
        {"item": f"i{i}", "judge": judge, "value": "AB"[(truth[i] == "A") == (i in wrong)]}
        for judge, wrong in flipped.items()
        for i in range(120)
    ]
    write_jsonl(tmp_path / "verdicts.jsonl", rows)
    source = source_of_verdicts(task, tmp_path / "verdicts.jsonl")
    left_out = ("i3", "i4", "i5", "i6")
    before = deciding_evidence(source)
    after = deciding_evidence(source_without(source, set(left_out), set()))
    assert before.judges[0].judge != after.judges[0].judge
    assert verdict_and_equals(before)[1] == verdict_and_equals(after)[1][::-1]
    same = Finding(kind="duplicate_items", what="", why="", action="", n=4, items=left_out)
    # of all items, nothing is left to measure an effect on: that finding comes last
    everything = tuple(item.id for item in task.items)
    whole = Finding(kind="duplicate_items", what="", why="", action="", n=120, items=everything)
    measured, unmeasured = with_effects([whole, same], source, before)
    assert measured.effect.changes_equals is measured.effect.changes_verdict is False
    assert (unmeasured.n, unmeasured.effect) == (120, None)


def set_rows(rater, sets):
    return [
        {"item": f"i{i}", "rater": rater, "elicitation": "response_set", "value": members}
        for i, members in enumerate(sets)
    ]


def test_response_sets_are_checked(tmp_path):
    """A choice outside of the set, sets of everything and sets of one option are named."""
    rng = random.Random(9)
    sets = {f"r{j}": [rng.choice([["A"], ["B"], ["A", "B"]]) for _ in range(40)] for j in range(4)}
    sets |= {"all": [["A", "B"]] * 40, "single": [[rng.choice("AB")] for _ in range(40)]}
    folder = write_task(tmp_path / "t", sentences(40), {})
    rows = [row for rater, members in sets.items() for row in set_rows(rater, members)]
    choices = {f"i{i}": members[0] for i, members in enumerate(sets["r0"])}
    outside = next(i for i, members in enumerate(sets["r0"]) if members == ["A"])
    choices[f"i{outside}"] = "B"
    rows += [{"item": item, "rater": "r0", "value": key} for item, key in choices.items()]
    write_jsonl(folder / "ratings.jsonl", rows)
    audit = audit_task(load_task(folder))
    assert finding(audit, "choice_outside_set").items == (f"i{outside}",)
    assert finding(audit, "choice_outside_set").what.startswith("1 choice outside")
    assert finding(audit, "sets_of_everything").raters == ("all",)
    assert finding(audit, "sets_of_one_option").raters == ("single",)
    assert suspected_raters(load_task(folder)) == {
        "all": "sets_of_everything",
        "single": "sets_of_one_option",
    }


def test_careful_raters_of_easy_items_are_not_named_for_their_sets(tmp_path):
    """Where everybody accepts one option, nobody stands out for it."""
    folder = write_task(tmp_path / "t", sentences(40), {})
    rows = [row for j in range(3) for row in set_rows(f"r{j}", [["A"], ["B"]] * 20)]
    write_jsonl(folder / "ratings.jsonl", rows)
    kinds = {row.kind for row in audit_task(load_task(folder)).findings}
    assert not kinds & {"choice_outside_set", "sets_of_everything", "sets_of_one_option"}
    assert "identical_raters" in kinds


def test_a_copied_column_is_found(tmp_path):
    """Two raters with the same answers to all their items, and the second is the one left out."""
    rng = random.Random(10)
    truth = [rng.choice("AB") for _ in range(40)]
    choices = {"ann": rated_like(truth, rng), "bea": rated_like(truth, rng)}
    choices["copy"] = choices["ann"]
    audit = audit_task(load_task(write_task(tmp_path / "t", sentences(40), choices)))
    alike = finding(audit, "identical_raters")
    assert alike.raters == ("ann", "copy")
    assert alike.left_out_raters == ("copy",)


def test_slips_and_empty_answers_are_found(tmp_path):
    """Of labels one letter apart one is rare; an opposite or a number is no slip."""
    task = """\
name: spelt
property: tone
scale: nominal
options: [polite, moral, amoral, level1, level2]
ignore_labels: [polit, asdf, "...", none]
"""
    keys = ["polite", "moral", "amoral", "level1", "level2"] * 20
    choices = {"r0": keys, "r1": ["polit", "asdf", "...", *keys[3:]]}
    audit = audit_task(load_task(write_task(tmp_path / "t", sentences(100), choices, task=task)))
    assert finding(audit, "labels_one_letter_apart").options == ("polite", "polit")
    assert finding(audit, "answers_without_content").options == ("asdf", "...")
    assert finding(audit, "answers_without_content").raters == ("r1",)


@pytest.mark.parametrize(
    ("first", "second", "is_slip"),
    [
        ("polite", "polit", True),  # missing at the end, in the middle, and a letter too many
        ("polite", "plite", True),
        ("polite", "pollite", True),
        ("polite", "ploite", True),  # swapped
        ("polite", "pxlite", True),  # wrong
        ("polite", "olite", False),  # the first letter
        ("polite", "po5lite", False),  # no letter
        ("polite", "po5ite", False),
        ("level1", "level2", False),
        ("level", "level2", False),
        ("polite", "polite", False),
        ("polite", "pol", False),
    ],
)
def test_one_wrong_letter_is_a_slip(first, second, is_slip):
    """Wrong, missing, doubled or swapped, but for the first letter and for figures."""
    assert _one_letter_apart(first, second) is is_slip
    assert _one_letter_apart(second, first) is is_slip


@pytest.mark.slow
def test_every_finding_names_a_command_that_runs(planted, tmp_path, monkeypatch):
    """Those that drop and queue do so; what they leave out is in no finding afterwards."""
    monkeypatch.chdir(tmp_path)
    audit = audit_task(load_task("./planted"), name="./planted")
    assert all(row.command.startswith("harness ") for row in audit.findings)
    for row in audit.findings:
        words = shlex.split(row.command)[1:]
        if words[:2] not in (["curate", "drop"], ["curate", "next"]):
            continue
        result = invoke(*words)
        assert result.exit_code == 0, (words, result.output)
        if words[1] == "drop":
            again = audit_task(load_task("./planted-2"))
            assert row.kind not in {f.kind for f in again.findings}
            shutil.rmtree("planted-2")


def test_dropping_keeps_ids_and_verdicts(planted, tmp_path, monkeypatch):
    """A version without a rater and an item: the rest is the same, and the change is recorded."""
    monkeypatch.chdir(tmp_path)
    rows = [{"item": f"i{i}", "judge": "j", "value": "A"} for i in range(100)]
    text = "item,judge,value\n" + "".join(f"{r['item']},{r['judge']},A\n" for r in rows)
    (planted / "verdicts.csv").write_text(text, encoding="utf-8")
    before = load_task("./planted")
    command = ("curate", "drop", "./planted", "--as", "less", "--raters", "lazy", "--items", "i3")
    assert invoke(*command).exit_code == 0
    after = load_task("./less")
    assert after.by_id.keys() == before.by_id.keys() - {"i3"}
    kept = [r for r in before.ratings if r.rater != "lazy" and r.item != "i3"]
    assert list(after.ratings) == kept
    assert (planted.parent / "less" / "verdicts.csv").read_text() == text.replace("i3,j,A\n", "")
    [change] = read_changes(planted.parent / "less")
    assert (change.before, change.after) == (before.content_hash, after.content_hash)
    refused = invoke("curate", "drop", "./planted", "--as", "new", "--raters", "nobody")
    assert isinstance(refused.exception, TaskError)
