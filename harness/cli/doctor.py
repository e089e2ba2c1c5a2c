"""`harness doctor`: check your set-up."""

from __future__ import annotations

from dataclasses import asdict

import typer

from harness.cli.binding import takes
from harness.cli.output import echo, show
from harness.options.concerns import (
    BaseUrl,
    Cache,
    Executor,
    Json,
    Judges,
    JudgesFile,
    KeyEnv,
    Place,
    Server,
    StoreOption,
)
from harness.options.declaration import Names, Options, option

LABELS = {"ok": "ok", "note": "note", "unusable": "NO"}


class DoctorJudges(Judges):
    """Options for the judges that must be usable."""

    judges: Names = option(
        None,
        "Judges that must be usable, comma-separated. Default: all aliases.",
        flag="--judges -j",
    )


class DoctorServer(JudgesFile, KeyEnv, BaseUrl):
    """Options for the server of judges without an alias."""


class DoctorPlace(Executor, StoreOption, Cache):
    """Options for where judges run, and for where replies are stored."""


class ContactOption(Options):
    """Option to contact servers."""

    contact: bool = option(False, "Contact servers at your own base_url, or on this machine.")


@takes
def doctor(
    *,
    subject: DoctorJudges,
    server: DoctorServer,
    place: DoctorPlace,
    wanted: ContactOption,
    printing: Json,
) -> None:
    """Check keys, addresses, cache and shared store, and advise. No judge is run.

    Exits with code 1 if something that you named can't be used. Keys are never shown.

    \b
    Examples:
      harness doctor
      harness doctor --judges gpt,claude
      harness doctor --judges m --base-url http://127.0.0.1:8000/v1 --contact
      harness doctor --store postgresql://db.example.org/judges --executor ray
    """
    from harness.app.doctor import examine
    from harness.errors import ExitCode

    findings = examine(subject.judges, Server.of(server), Place.of(place), contact=wanted.contact)
    if printing.as_json:
        show([asdict(finding) for finding in findings], as_json=True)
    else:
        for finding in findings:
            echo(f"{LABELS[finding.state]:5} {finding.area} {finding.subject}: {finding.message}")
            if finding.advice:
                echo(f"      -> {finding.advice}")
    if any(finding.state == "unusable" for finding in findings):
        raise typer.Exit(ExitCode.CHECK_FAILED)
