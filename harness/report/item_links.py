"""Addresses within the page that filter its item table."""

from __future__ import annotations

from urllib.parse import quote, urlencode


def items_link(**filters: str) -> str:
    """Return the fragment that opens the item table with these filters.

    Parameters
    ----------
    **filters : str
        ``judge``, ``raters`` and ``answer`` (keys of options), or ``stratum``.
    """
    return "#" + urlencode({"open": "errors", **filters}, quote_via=quote)
