"""A validation as one HTML page that needs no network and runs no script."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from harness.report import words

if TYPE_CHECKING:
    from harness.validate import Validation

HERE = Path(__file__).parent
POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'"


def page(validation: Validation) -> str:
    """Render the page; everything that comes from the task or a judge is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 -- only for pages

    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (HERE / "page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template("page.html.jinja").render(
        v=validation,
        words=words,
        style=style,
        policy=f"{POLICY}; style-src 'sha256-{digest}'",
    )
