"""`harness doctor`: what is ready, what is not, and what to do."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options

SIGNS = {"ok": "ok", "note": "note", "unusable": "NO"}


def doctor(
    judges: Annotated[
        str | None,
        typer.Option(
            "--judges", "-j", help="Judges that must be usable, comma-separated; else all aliases."
        ),
    ] = None,
    *,
    base_url: Annotated[
        str | None, typer.Option(help="Server of judges that are no alias, as for run.")
    ] = None,
    key_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds that server's key.")
    ] = None,
    judges_file: options.JudgesFile = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of the reply cache; $HARNESS_CACHE by default.")
    ] = None,
    out: options.Out = None,
    contact: Annotated[
        bool,
        typer.Option(
            "--contact",
            help="Ask servers at your own base_url, or on this machine, for their models.",
        ),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Check keys, addresses, wheels, cache and disk, and say what to do; no judge is asked.

    Ends with 1 if something that you named cannot be used. Keys are looked for, never shown.

    \b
    Examples:
      harness doctor
      harness doctor --judges gpt,claude
      harness doctor --judges m --base-url http://127.0.0.1:8000/v1 --contact
    """
    from harness.cli.lists import show
    from harness.doctor import examine

    findings = examine(
        judges=options.split(judges, "--judges"),
        judges_file=judges_file,
        base_url=base_url,
        key_env=key_env,
        cache=cache,
        out=out,
        contact=contact,
    )
    if as_json:
        show([asdict(finding) for finding in findings], as_json=True)
    else:
        for one in findings:
            typer.echo(f"{SIGNS[one.state]:5} {one.area} {one.subject}: {one.found}")
            if one.advice:
                typer.echo(f"      -> {one.advice}")
    if any(finding.state == "unusable" for finding in findings):
        raise typer.Exit(1)
