"""Tables of cases: one test for all rows, or some rows by default and the others if slow."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Case = TypeVar("Case")


def for_each(
    cases: Iterable[Case], name: Callable[[Case], object] = repr
) -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Run a test of one argument for each case, as a single test: a test costs milliseconds."""
    rows = [*cases]
    assert rows

    def decorate(test: Callable[[Case], None]) -> Callable[[], None]:
        def run() -> None:
            failures = []
            for row in rows:
                try:
                    test(row)
                except Exception as error:  # noqa: BLE001 -- all are raised below
                    error.add_note(f"for {name(row)}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(rows)} cases fail", failures)

        run.__name__, run.__qualname__ = test.__name__, test.__qualname__
        run.__module__, run.__doc__ = test.__module__, test.__doc__
        return run

    return decorate


def fast_first(n: int, cases: Iterable[object]) -> list[object]:
    """Return cases of which the default tests run the first n, and the slow tests the others."""
    rows = [*cases]
    assert len(rows) > n
    return [
        *rows[:n],
        *(
            pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.slow)
            for row in rows[n:]
        ),
    ]
