"""`harness lab`: simulations, self-tests, probes, and lists for research on methods."""

from __future__ import annotations

from typing import ClassVar

import typer

from harness.cli import LAB, LazyGroup, options


class LabGroup(options.Group, LazyGroup):
    """Group of the lab's commands. Without a command, it prints its help."""

    sources = LAB
    sections: ClassVar = {"Commands": LAB}


app = typer.Typer(name="lab", cls=LabGroup, rich_markup_mode=None)


@app.callback()
def lab() -> None:
    """Test methods, combine studies, and print schemas and metrics.

    \b
    Examples:
      harness lab selftest diagnoses --quick
      harness lab probe injection --task toxicity --judges lexicon --limit 5
      harness lab metrics
    """
