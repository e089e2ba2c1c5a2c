"""Which judges of a run can be probed, and what the probe found, as the run folder holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from harness.analysis.injection import InjectionFlips
from harness.analysis.serialize import from_json
from harness.errors import RunError
from harness.files.regular_files import read_file
from harness.judging.judges.config import ENSEMBLE
from harness.runs.run_folder import PROBE
from harness.stats import Estimate

if TYPE_CHECKING:
    from pathlib import Path

    from harness.judging.judges.config import JudgeSpec
    from harness.runs.run_folder import RunFolder
    from harness.stats.reasons import Reason
    from harness.tasks import Task

FLIP_RATES = "probe.json"


class _Rates(msgspec.Struct):
    flipped: Estimate


class _Judge(msgspec.Struct):
    judge: str
    perturbed: _Rates
    control: _Rates


class _Probe(msgspec.Struct):
    """The part of ``probe.json`` that stands beside the ranking."""

    judges: tuple[_Judge, ...]


def why_not_probed(spec: JudgeSpec, task: Task) -> Reason:
    """Return why the verdicts of a judge on changed items cannot be compared; "" if they can."""
    if task.is_open:
        return "no_options"
    if spec.kind == ENSEMBLE:
        return "ensembles_are_not_probed"
    if spec.asking.is_fitted:
        return "verdicts_depend_on_other_items"
    return "" if "forced_choice" in spec.asking.elicitations else "gives_no_single_choices"


def injection_flips(folder: RunFolder, task: Task) -> dict[str, InjectionFlips]:
    """Return the flip rates of all judges of a run; nothing where it had no probe.

    Raises
    ------
    RunError
        If they cannot be read.
    """
    manifest = folder.manifest
    if manifest.config.probe is None:
        return {}
    measured = _measured(folder.path / PROBE / FLIP_RATES)
    return {
        spec.name: measured.get(spec.name)
        or InjectionFlips.undefined(why_not_probed(spec, task) or "probe_not_asked")
        for spec in manifest.judges
    }


def _measured(file: Path) -> dict[str, InjectionFlips]:
    try:
        probe = from_json(read_file(file), _Probe)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise RunError(
            f"{file}: cannot be read ({error}). Remove it, and resume the run to write it again."
        ) from None
    return {
        row.judge: InjectionFlips(flipped=row.perturbed.flipped, control=row.control.flipped)
        if row.perturbed.flipped.value is not None
        else InjectionFlips.undefined("no_unchanged_item_was_answered")
        for row in probe.judges
    }
