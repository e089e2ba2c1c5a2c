"""The bundled data sets are what their README files say."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp

from harness.tasks import bundled, load_task
from harness.tasks.load import item_rows

TOXICITY = bundled("datasets") / "toxicity"
DIAGNOSES = bundled("datasets") / "diagnoses"
CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def toxicity():
    return load_task(TOXICITY)


@pytest.fixture(scope="module")
def model():
    """The committed script that simulates the ratings."""
    spec = importlib.util.spec_from_file_location("make_ratings", TOXICITY / "make_ratings.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)  # data folders stay as they are
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pairs(toxicity):
    """(choice, set) of every rater who gave both."""
    counts = defaultdict(dict)
    for rating in toxicity.ratings:
        counts[rating.item, rating.rater][rating.elicitation] = rating.value
    return [
        (pair["forced_choice"], pair["response_set"]) for pair in counts.values() if len(pair) == 2
    ]


def kinds():
    with (TOXICITY / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {row["item"]: row["kind"] for row in csv.DictReader(file)}


def test_the_datasets_folder_does_not_shadow_the_package():
    """`import datasets` must find the package of that name."""
    assert not list(bundled("datasets").rglob("__init__.py"))


def test_toxicity_says_that_its_ratings_are_simulated(toxicity):
    """Whoever shows its numbers shows this with them."""
    assert toxicity.notice == "authored probe, ratings simulated"
    assert "simulated" in toxicity.source


def test_toxicity_is_a_binary_task_with_every_response_set(toxicity):
    """Its options, cut-off, sensitivity and word list are the documented ones."""
    assert [(option.key, option.label) for option in toxicity.options] == [
        ("A", "Toxic"),
        ("B", "Not toxic"),
    ]
    assert (toxicity.positive, toxicity.tau, toxicity.abstain) == (("A",), 0.5, True)
    assert toxicity.sensitivity == {"B": ("A",)}
    assert (toxicity.lexicon.negative, toxicity.lexicon.positive) == ("A", "B")
    assert toxicity.space.sets == (("A",), ("B",), ("A", "B"))


def test_toxicity_has_120_short_and_different_comments(toxicity):
    """They are short enough for a small model to read quickly."""
    texts = [toxicity.text_of(item) for item in toxicity.items]
    n_words = [len(text.split()) for text in texts]
    assert len(set(texts)) == len(texts) == 120
    assert max(n_words) <= 20
    assert 9 <= np.mean(n_words) <= 12


def test_toxicity_has_hard_negatives_and_hard_positives(toxicity):
    """Strong words that insult nobody, and polite ones that do."""
    counts = Counter(kinds().values())
    assert counts["hard_negative"] >= 25
    assert counts["hard_positive"] >= 10
    assert kinds().keys() == {item.id for item in toxicity.items}
    assert any("Damn, that was a good goal" in toxicity.text_of(item) for item in toxicity.items)


def test_judges_never_see_a_grade(toxicity):
    """Items hold their text and nothing else."""
    assert {tuple(item.fields) for item in toxicity.items} == {("text",)}


def test_every_item_has_enough_raters_and_100_are_paired(toxicity, pairs):
    """Nine raters, at least five per item; response sets for 100 items by the raters who chose."""
    chosen = Counter(r.item for r in toxicity.ratings if r.elicitation == "forced_choice")
    endorsed = Counter(r.item for r in toxicity.ratings if r.elicitation == "response_set")
    assert len({rating.rater for rating in toxicity.ratings}) == 9
    assert len(chosen) == 120
    assert min(chosen.values()) >= 5
    assert len(endorsed) == 100
    assert all(endorsed[item] == chosen[item] for item in endorsed)
    assert len(pairs) == sum(endorsed.values())


def test_regenerating_the_ratings_gives_the_same_file(model, tmp_path):
    """The committed script and the committed ratings belong together."""
    model.write(tmp_path / "ratings.csv")
    assert (tmp_path / "ratings.csv").read_bytes() == (TOXICITY / "ratings.csv").read_bytes()


def test_beta_is_recovered_from_the_paired_ratings(model, toxicity, pairs):
    """Counting pairs gives the beta of the model within three standard errors."""
    items, grade = model.grades()
    n_paired = Counter(r.item for r in toxicity.ratings if r.elicitation == "response_set")
    truth = model.beta(model.theta(grade), np.array([n_paired[item] for item in items]))
    eligible = ["A" in endorsed for choice, endorsed in pairs if choice == "B"]
    error = np.sqrt(truth * (1 - truth) / len(eligible))
    assert abs(np.mean(eligible) - truth) < 3 * error
    readme = (TOXICITY / "README.md").read_text(encoding="utf-8")
    assert f"{truth:.3f}" in readme
    assert f"{np.mean(eligible):.3f}" in readme
    assert f"over the {len(pairs)} pairs" in readme
    assert f"{truth:.4f}" in (model.__doc__ or "")


def test_f_is_recovered_and_keeps_to_its_support(model, pairs):
    """Nobody chooses outside the own set, and of both options Toxic is chosen as F says."""
    assert all(choice in endorsed for choice, endorsed in pairs)
    both = [choice == "A" for choice, endorsed in pairs if len(endorsed) == 2]
    f = model.F[0, 2]
    assert abs(np.mean(both) - f) < 3 * np.sqrt(f * (1 - f) / len(both))


def test_theta_is_recovered_over_the_paired_items(model, toxicity):
    """How often each set was accepted agrees with the model within three standard errors."""
    items, grade = model.grades()
    theta = dict(zip(items, model.theta(grade), strict=True))
    assert np.allclose([row.sum() for row in theta.values()], 1)
    endorsed = [r for r in toxicity.ratings if r.elicitation == "response_set"]
    drawn = np.array([toxicity.space.set_index(rating.value) for rating in endorsed])
    chances = np.array([theta[rating.item] for rating in endorsed])  # sets in the same order
    for v, members in enumerate(model.SETS):
        assert toxicity.space.sets[v] == members
        error = np.sqrt((chances[:, v] * (1 - chances[:, v])).sum())
        assert abs((drawn == v).sum() - chances[:, v].sum()) < 3 * error


def test_forced_choice_hides_toxicity(model):
    """The README's shares of positive items follow from the model."""
    _, grade = model.grades()
    theta = model.theta(grade)
    chosen = (theta @ model.F[0] >= 0.5).mean()
    endorsed = (theta[:, 0] + theta[:, 2] >= 0.5).mean()
    readme = (TOXICITY / "README.md").read_text(encoding="utf-8")
    assert f"{chosen:.0%}".replace("%", " %") in readme
    assert f"{endorsed:.0%}".replace("%", " %") in readme


def unlabelled():
    """Kinds, grades and texts of the comments that nobody rated."""
    with (TOXICITY / "unlabelled_grades.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = {item.id: item.fields["text"] for item in item_rows(TOXICITY / "unlabelled.jsonl")}
    assert [row["item"] for row in rows] == list(texts)
    return [row["kind"] for row in rows], [float(row["grade"]) for row in rows], [*texts.values()]


def test_200_unlabelled_comments_look_like_the_rated_ones(toxicity):
    """None occurs elsewhere; their kinds are as frequent, and their texts as long."""
    kinds_of_new, _, texts = unlabelled()
    rated = [toxicity.text_of(item) for item in toxicity.items]
    with (TOXICITY / "wording.csv").open(encoding="utf-8", newline="") as file:
        wording = [row["text"] for row in csv.DictReader(file)]
    assert len({*texts, *rated, *wording}) == 200 + len(rated) + len(wording)
    counts, rated_counts = Counter(kinds_of_new), Counter(kinds().values())
    for kind, n in rated_counts.items():
        assert counts[kind] / 200 == pytest.approx(n / 120, abs=0.01)
    assert ks_2samp([*map(len, texts)], [*map(len, rated)]).pvalue > 0.5


def test_shares_of_the_unlabelled_comments_follow_from_their_grades(model):
    """READMEs tell the truth that `harness estimate` is to find."""
    theta = model.theta(np.array(unlabelled()[1]))
    endorsed, chosen = (theta[:, 0] + theta[:, 2]).mean(), (theta @ model.F[0]).mean()
    own = (TOXICITY / "README.md").read_text(encoding="utf-8")
    assert f"{endorsed:.1%} would name".replace("%", " %") in own
    assert f"{chosen:.1%} would choose".replace("%", " %") in own
    assert f"{endorsed:.1%}" in (CHECKOUT / "docs/how-to/estimate.md").read_text(encoding="utf-8")


# Fleiss (1971), table 1: psychiatrists (of 6) who chose each category, patient by patient
FLEISS = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006
10050 11040 03300 10050 02031 00501 30012 51000 02040 10203
00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""


def diagnoses_counts():
    task = load_task(DIAGNOSES)
    column = {option.key: k for k, option in enumerate(task.options)}
    row = {item.id: i for i, item in enumerate(task.items)}
    counts = np.zeros((len(row), len(column)))
    for rating in task.ratings:
        counts[row[rating.item], column[rating.value]] += 1
    return counts


def test_diagnoses_are_the_published_counts():
    """Each patient's ratings add up to the published row."""
    published = [[int(digit) for digit in row] for row in FLEISS.split()]
    assert diagnoses_counts().tolist() == published


def test_diagnoses_fleiss_kappa_is_0_430():
    """Fleiss (1971): kappa .430, mean agreement .556, by chance .220, and kappa by category."""
    counts = diagnoses_counts()
    n_items, n_raters = len(counts), 6
    assert (counts.sum(axis=1) == n_raters).all()
    share = counts.sum(axis=0) / (n_items * n_raters)
    agreeing = ((counts * (counts - 1)).sum(axis=1) / (n_raters * (n_raters - 1))).mean()
    by_chance = (share**2).sum()
    assert round(agreeing, 3) == 0.556
    assert round(by_chance, 3) == 0.220
    assert round((agreeing - by_chance) / (1 - by_chance), 3) == 0.430
    apart = (counts * (n_raters - counts)).sum(axis=0) / (n_items * n_raters * (n_raters - 1))
    by_category = 1 - apart / (share * (1 - share))
    assert by_category.round(3).tolist() == [0.245, 0.245, 0.520, 0.471, 0.566]


def test_diagnoses_are_labels_of_positional_raters():
    """There are no texts to show, and no raters to tell apart."""
    task = load_task(DIAGNOSES)
    assert (len(task.items), len(task.ratings), len(task.options)) == (30, 180, 5)
    assert task.rater_ids == "positional"
    assert not any(task.has_text(item) for item in task.items)
    assert "Psychological Bulletin 76" in task.source


@pytest.mark.parametrize("folder", [TOXICITY, DIAGNOSES], ids=lambda folder: folder.name)
def test_bundled_tasks_state_source_and_licence(folder):
    """Each has a README, a source and a licence, and its name is its folder's."""
    task = load_task(folder)
    assert task.name == folder.name
    assert task.source
    assert task.licence
    assert (folder / "README.md").is_file()


def test_comments_hold_no_markup_and_no_addresses():
    """The probe is plain text, one comment per line."""
    for line in (TOXICITY / "items.jsonl").read_text(encoding="utf-8").splitlines():
        text = json.loads(line)["text"]
        assert text.isprintable()
        assert not re.search(r"[<>{}@#]|https?:", text)
