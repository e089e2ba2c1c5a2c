"""Tables with known truth: read right or asked about, and what is asked leads to the right reading.

``HARNESS_TABLES`` names more folders of the same form, separated as in ``PATH``.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.table_corpus import SHAPES, corpus, write_corpus
from support.table_scores import Score, score, summary

LEAST_RIGHT = 0.45
SOME = ("0", "4", "8", "9")  # of the ten variants of a shape: words, opaque headers, and the twin
UNKNOWN = {"text_is_item", "listed_ratings", "pairs", "likert", "odd_files", "exports", "counts"}


@pytest.fixture(scope="module")
def cases(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "cases"
    write_corpus(folder)
    return folder


@pytest.fixture(scope="module", params=["some", pytest.param("all", marks=pytest.mark.slow)])
def scores(request, cases) -> list[Score]:
    chosen = [case for case in sorted(cases.iterdir()) if case.name[-1] in SOME]
    chosen = chosen if request.param == "some" else sorted(cases.iterdir())
    return [score(case, cases.parent / "made") for case in chosen]


def test_the_corpus_is_the_same_in_every_process_and_has_ten_tables_per_shape(cases):
    """Seeds are fixed; every shape has a twin that must be asked about."""
    names = [case.name for case in corpus()]
    assert len(names) == len(set(names)) == 10 * len(SHAPES) == 200
    assert {path.name for path in cases.iterdir()} == set(names)
    assert all(case.truth["ask"] for case in corpus() if case.name.endswith("-9"))


def test_no_table_is_read_wrong(scores, tmp_path):
    """A wrong reading never ends with exit code 0; nor of the tables in ``HARNESS_TABLES``."""
    folders = filter(None, os.environ.get("HARNESS_TABLES", "").split(os.pathsep))
    for number, folder in enumerate(folders):
        own = sorted(case for case in Path(folder).iterdir() if case.is_dir())
        scores = [*scores, *(score(case, tmp_path / str(number)) for case in own)]
    assert not [s for s in scores if s.outcome == "wrong"], summary(scores)


def test_most_tables_are_read_unasked(scores):
    """Plain shapes need no option."""
    n_right = sum(s.outcome == "right" for s in scores)
    assert n_right >= LEAST_RIGHT * len(scores), summary(scores)


def test_tables_whose_values_imply_no_roles_are_asked_about(scores):
    """Their twins with the same headers are read, so names do not decide."""
    assert not [s.case for s in scores if s.must_ask and s.outcome != "asked"]


def test_the_advice_that_is_printed_gives_the_right_reading(cases, scores, tmp_path):
    """One of the printed command lines reads the table as it is meant; none is refused.

    What only its owner knows is not among them: a lost rater, the order of unknown words.
    """
    for asked in scores:
        shape = asked.case.split("-")[1]
        if asked.outcome != "asked":
            continue
        pasted = []
        for command in asked.advice:
            shutil.rmtree(tmp_path / "made", ignore_errors=True)
            pasted.append(score(cases / asked.case, tmp_path / "made", command))
        outcomes = [of.outcome for of in pasted]
        assert "asked" not in outcomes, (asked.case, asked.advice)
        assert not [of.why for of in pasted if of.why.startswith("exit")], asked.case
        assert "right" in outcomes or shape in UNKNOWN, (asked.case, asked.advice)
