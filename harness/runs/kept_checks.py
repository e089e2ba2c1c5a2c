"""Checks of a run's judges, stored in the run folder and shown in the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from harness.analysis.check_result import JudgeCheck
from harness.analysis.serialize import from_json, to_json
from harness.errors import RunError
from harness.files.regular_files import read_file
from harness.runs.run_folder import CHECKS_FILE

if TYPE_CHECKING:
    from harness.runs.run_folder import RunFolder


class KeptChecks(msgspec.Struct, frozen=True, kw_only=True):
    """Last check of each judge in a run, by the judge's name."""

    checks: dict[str, JudgeCheck]


def keep_check(folder: RunFolder, check: JudgeCheck) -> None:
    """Save a check, replacing the same judge's last check.

    Raises
    ------
    RunError
        If the file of checks cannot be read or written.
    """
    earlier = kept_checks(folder) if folder.has(CHECKS_FILE) else {}
    kept = KeptChecks(checks=earlier | {check.judge: check})
    folder.write(CHECKS_FILE, to_json(kept) + "\n")


def kept_checks(folder: RunFolder) -> dict[str, JudgeCheck]:
    """Return the last check of each judge in a run, by the judge's name.

    Raises
    ------
    RunError
        If the file of checks cannot be read.
    """
    path = folder.path / CHECKS_FILE
    try:
        return from_json(read_file(path), KeptChecks).checks
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: can't be read ({error})", "Delete it") from None
