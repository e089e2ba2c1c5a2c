"""Real ratings in twelve shapes are imported as they are, or the command asks."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.table_shapes import SHAPES, Ratings, read_ratings

from harness.curation.importing import AnswerSettings, make_plans, make_task, read_source
from harness.errors import TaskError
from harness.tasks import load_task, read_changes

DATA_SETS = (
    *("10k_prompts", "cebab_aspects", "dices_990", "framing", "inferential_strategies"),
    *("mtbench", "qags", "recipes", "summeval", "topical_chat", "wax"),
)
ASKING = {  # labels that may be no option, whatever the shape
    "cebab_aspects": "unknown",
    "dices_990": "Unsure",
    "framing": "n/a: problem is resolved",
}
N_ITEMS = 16


def imported(path, folder, roles=None, **settings):
    """Return the ratings of the tasks made of a table, and the questions if there are any."""
    table = read_source(path)
    try:
        plans = make_plans(folder.name, table, roles or {}, settings=AnswerSettings(**settings))
    except TaskError as error:
        return None, [str(error)]
    if any(plan.questions() for plan in plans):
        return None, [q for plan in plans for q in plan.questions()]
    ratings = []
    for plan in plans:
        summary = make_task(plan, folder.with_name(plan.name))
        assert summary.n_rejected == 0, summary.rejected[:3]
        task = load_task(summary.folder)
        assert [c.after for c in read_changes(task.folder)] == [task.content_hash]
        labels = {option.key: option.label for option in task.options}
        for r in task.ratings:
            item = task.by_id[r.item]
            base = item.group if plan.columns.joint or "criterion" in plan.mapping.id else r.item
            rater = r.rater if task.rater_ids == "real" else ""
            ratings.append((base, item.criterion or "", rater, labels.get(r.value, r.value)))
    return ratings, []


def comparable(rows, *, anonymous, named):
    """Count ratings by item, criterion, rater and label, whatever the case."""
    return Counter(
        (
            item,
            criterion if named else "",
            "" if anonymous else rater.rpartition("ann")[2].strip("otar_"),
            label.casefold(),
        )
        for item, criterion, rater, label in rows
    )


def expected_and_read(shape, ratings):
    named = len(shape.ratings.criteria) > 1
    anonymous = shape.anonymous or any(not rater for _, _, rater, _ in ratings)
    return (
        comparable(shape.ratings.rows, anonymous=anonymous, named=named),
        comparable(ratings, anonymous=anonymous, named=named),
    )


def check_shapes(truth, tmp_path, name, n_items):
    """Return the shapes that were imported unasked; every other must be asked about."""
    data = read_ratings(truth / "data" / name, n_items)
    unasked = []
    for shape_of in SHAPES:
        shape = shape_of(data)
        folder = tmp_path / shape_of.__name__
        ratings, questions = imported(shape.write(tmp_path), folder)
        if questions:
            continue
        expected, read = expected_and_read(shape, ratings)
        assert read == expected, shape_of.__name__
        unasked.append(shape_of.__name__)
    return unasked


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA_SETS)
def test_shapes_are_read_right_or_asked_about(truth, tmp_path, name):
    """No shape is misread; with names that say who rated, ten of twelve need no question."""
    unasked = check_shapes(truth, tmp_path, name, N_ITEMS)
    if name not in ASKING:
        assert len(unasked) >= 10, {s.__name__ for s in SHAPES} - set(unasked)


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA_SETS)
def test_whole_data_sets_are_read_right_or_asked_about(truth, tmp_path, name):
    """The same holds for all of their items."""
    unasked = check_shapes(truth, tmp_path, name, None)
    assert name in ASKING or len(unasked) >= 10


@pytest.mark.parametrize("shape_of", SHAPES[:2])
def test_free_text_is_refused(truth, tmp_path, shape_of):
    """Descriptions are no options."""
    path = shape_of(read_ratings(truth / "data" / "kilogram", 100)).write(tmp_path)
    _, questions = imported(path, tmp_path / "mine")
    assert questions


NAMES = (  # how raters may be called
    *("annotator_{}", "Rater {}", "r{}", "person{}x", "ann.{}", "{}", "worker-{}", "A{}QZ7XK2M"),
    *(
        "Bert {}",
        "J. Müller ({})",
        "rater{}@example.org",
        "标注员{}",
        "our_finetune_v{}",
        "R\u200b{}",
    ),
    *("score {}", "label_{}", "Reviewer #{}", "=rater{}", "criterion{}", "gpt{}", "n_{}", "{}_yes"),
)
CRITERIA = (
    ("",),
    ("fluency", "tone"),
    ("Is it fluent?", "tone (1-5)"),
    ("a_b", "b_a"),
    ("rater", "text"),
    ("yes", "no"),
    ("Größe", "naïve"),
)
LABELS = (
    "yes no",
    "1 2 3 4 5",
    "good fair poor",
    "0 1",
    "A B C",
    "ja nein",
    "true false",
    "-1 0 1",
)
ITEMS = ("item{:02}", "{}", "https://example.org/{}", "doc {} (a)", "=x{}", "rater_{}")


def drawn_criterion(name, criteria):
    """Return the criterion that a name begins with: of "fluency_score 1" the rater may be 1."""
    return next((criterion for criterion in criteria if name.startswith(criterion)), name)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_drawn_shapes_and_names_are_read_right_or_asked_about(tmp_path_factory, data):
    """Whatever the shape, the labels and all names, no rating is misread."""
    check_drawn(tmp_path_factory, data)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_many_drawn_shapes_and_names_are_read_right_or_asked_about(tmp_path_factory, data):
    """The same for more of them."""
    check_drawn(tmp_path_factory, data)


def check_drawn(tmp_path_factory, data):
    labels = data.draw(st.sampled_from(LABELS)).split()
    n_raters = data.draw(st.integers(2, 4))
    form = data.draw(st.sampled_from(NAMES))
    item = data.draw(st.sampled_from(ITEMS))
    criteria = data.draw(st.sampled_from(CRITERIA))
    rng = data.draw(st.randoms(use_true_random=False))
    rows = tuple(
        (
            item.format(i),
            criterion,
            form.format(r),
            labels[(i + k) % len(labels)] if r == 1 else rng.choice(labels),
        )
        for i in range(12)
        for k, criterion in enumerate(criteria)
        for r in range(1, n_raters + 1)
    )
    texts = {item.format(i): f"This is the text of item number {i}." for i in range(12)}
    drawn = Ratings("drawn", rows, texts, tuple(labels))
    shape = data.draw(st.sampled_from(SHAPES))(drawn)
    folder = tmp_path_factory.mktemp("drawn")
    try:
        ratings, questions = imported(shape.write(folder), folder / "mine")
    except TaskError as error:
        ratings, questions = None, [str(error)]
    if not questions:
        named = len(criteria) > 1
        kept = [
            Counter(
                (i, drawn_criterion(c, criteria) if named else "", v.casefold())
                for i, c, _, v in of
            )
            for of in (shape.ratings.rows, ratings)
        ]
        assert kept[0] == kept[1]
