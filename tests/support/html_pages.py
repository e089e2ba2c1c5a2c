"""What tests read in pages of a report."""

from __future__ import annotations

import re


def assert_headings_are_numbered_as_listed(page: str) -> None:
    """Each numbered heading has the number and title under which the navigation lists it."""
    listed = re.findall(r'<li><a href="#([\w-]+)">(.*?)</a></li>', page)
    numbers = {id_: (str(n), title) for n, (id_, title) in enumerate(listed, start=1)}
    headings = re.findall(
        r'<h2 id="([\w-]+)"><span class="n" aria-hidden="true">(\d+)</span> (.*?)</h2>', page
    )
    assert headings
    assert {id_: (n, title) for id_, n, title in headings}.items() <= numbers.items()
