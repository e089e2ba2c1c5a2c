"""The number of items that a validation names finds the difference that it names."""

from __future__ import annotations

import pytest

from benchmarks.planned_items import Design, fails, simulate


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "n"), [(Design(150, 2, 3, named=False), 80), (Design(60, 5, 5, named=False), 60)]
)
def test_too_few_items_were_named_for_five_judges(design, n):
    """Of several judges, the first two look more alike than they are: 74 % where 80 are said."""
    assert not fails(simulate(design, n))
