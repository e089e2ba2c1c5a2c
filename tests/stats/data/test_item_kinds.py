from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.rating_tables import seeded

from harness import stats
from harness.stats.data import kinds as kinds_module
from harness.stats.data.kinds import Kinds

SPACE = stats.OptionSpace.powerset(("toxic", "fine"))
N = 700  # items, of few kinds
counted = st.integers(1, 12).flatmap(lambda n: arrays(float, (n, 3), elements=st.integers(-1, 2)))


@given(table=counted, shift=st.sampled_from([0.0, 0.25, 1e12]))
def test_kinds_are_the_different_rows(table, shift):
    """Each item's kind has its counts; kinds are in the order of a sort, whatever the numbers."""
    kinds = Kinds.of(table[:, :1] + shift, table[:, 1:])
    wanted, first, place, times = np.unique(
        table, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    np.testing.assert_array_equal(table[kinds.first], wanted)
    np.testing.assert_array_equal(kinds.of_item, place.ravel())
    np.testing.assert_array_equal(kinds.first, first)
    np.testing.assert_array_equal(kinds.times, times)


def test_codes_too_large_to_count_are_sorted(monkeypatch):
    """More columns than fit one code are numbered anew on the way, or sorted."""
    monkeypatch.setattr(kinds_module, "TABLE", 1)
    rows = np.random.default_rng(0).integers(0, 4, (60, 5))
    np.testing.assert_array_equal(rows[Kinds.of(rows).first], np.unique(rows, axis=0))


def test_too_many_kinds_are_given_up():
    assert Kinds.few(2, np.arange(3.0)[:, None]) is None
    assert repr(Kinds.few(3, np.arange(3.0)[:, None])) == "Kinds(3 of 3 items)"
    assert len(Kinds.of(np.zeros((0, 2))).first) == 0


def table(name: str, rng: np.random.Generator) -> stats.RatingTable:
    """Two raters or samples each, some items unrated, some in pairs."""
    forced = rng.multinomial(2, (0.6, 0.4), N)
    forced[rng.random(N) < 0.1] = 0
    sets = rng.multinomial(2, (0.3, 0.3, 0.4), N)
    joint = np.zeros((N, 2, 3), int)
    joint[::7, 0, 2] = 1
    outcomes = np.zeros((N, 3, 5), int)
    outcomes[:, 0, 0] = forced.sum(axis=1)
    outcomes[forced.sum(axis=1) == 0, 0, 3] = 1
    return stats.RatingTable(
        space=SPACE,
        name=name,
        items=tuple(map(str, range(N))),
        forced_choice=forced,
        response_set=sets,
        joint=joint,
        outcomes=outcomes,
    )


def test_items_alike_are_evaluated_as_if_apart(monkeypatch):
    """One look at each kind of items gives the values, counts and intervals of a look at each."""
    rng = np.random.default_rng(0)
    human, judge = table("human", rng), table("judge", rng)

    def evaluated(groups):
        return stats.evaluate(
            human,
            [judge],
            tau=0.5,
            positive=("toxic",),
            resampling=seeded(1, groups=groups, n_resamples=50),
        )

    monkeypatch.setattr("harness.stats.inference.bootstrap.ALIKE", 1)
    monkeypatch.setattr("harness.stats.selection.evaluate.ALIKE", 1)
    together, apart = evaluated(None), evaluated([str(i) for i in range(N)])
    assert together.units.n_units == N
    for name, expected in apart.estimates["judge"].items():
        assert_same(together.estimates["judge"][name], expected)
    for name, expected in apart.human_agreement.items():
        assert_same(together.human_agreement[name], expected)
    for name, expected in apart.translations.items():
        assert_same(together.translations[name].beta, expected.beta)
        assert_same(together.translations[name].cross_call_beta, expected.cross_call_beta)


def assert_same(actual: stats.Estimate, wanted: stats.Estimate) -> None:
    """Compare everything but the name of the unit, numbers but for rounding."""
    assert actual.value == pytest.approx(wanted.value, abs=1e-12)
    assert actual.counts == pytest.approx(wanted.counts)
    assert (actual.interval is None) == (wanted.interval is None)
    if actual.interval and wanted.interval:
        ends = [(estimate.interval.low, estimate.interval.high) for estimate in (actual, wanted)]
        np.testing.assert_allclose(*ends, atol=1e-9)
    same = {"value": None, "interval": None, "counts": {}}
    assert replace(actual, **same) == replace(wanted, **same)


def test_strata_of_items_alike_are_those_of_items_apart(monkeypatch):
    """A stratum's values and replicates do not depend on whether items alike are looked at once."""
    rng = np.random.default_rng(0)
    human, judge = (rng.multinomial(3, (0.5, 0.3, 0.2), N) for _ in range(2))

    def stratified():
        [rows] = stats.stratify(
            human,
            {"": judge},
            strata=stats.default_strata(3, ordinal=True),
            level="ordinal",
            resampling=seeded(1, n_resamples=50),
        ).values()
        return rows

    monkeypatch.setattr("harness.stats.inference.bootstrap.ALIKE", N)  # draw items, not kinds
    together = stratified()
    monkeypatch.setattr(Kinds, "few", classmethod(lambda cls, most, *tables: None))
    for stratum, wanted in zip(together, stratified(), strict=True):
        assert (stratum.n_items, stratum.n_labels_seen) == (wanted.n_items, wanted.n_labels_seen)
        for part in ("hh", "mm", "hw_mw", "h_mw", "random", "random_h", "delta", "js_b"):
            for name, estimate in getattr(wanted, part).items():
                assert_same(getattr(stratum, part)[name], estimate)
