"""Model versions that providers report: a change calls for a re-validation."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from harness.files import read_file
from harness.runs import list_runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.analysis import Validation
    from harness.runs import RunFolder


class _Judge(msgspec.Struct):
    name: str
    reported_models: tuple[str, ...]


class _Metrics(msgspec.Struct):
    """The part of ``metrics.json`` that is read."""

    judges: tuple[_Judge, ...]


_DECODE = msgspec.json.Decoder(_Metrics).decode


def model_change(folder: RunFolder, validation: Validation) -> str:
    """Return a line that names a judge whose model version changed since the last run on its task.

    Parameters
    ----------
    folder : RunFolder
        A run that ended; earlier ones are looked for beside it.
    validation : Validation
        Its results.

    Returns
    -------
    str
        "" where no version changed or none was reported.
    """
    now = {judge.name: judge.reported_models for judge in validation.judges}
    for run in list_runs(folder.path.parent).readable:
        same_task = run.manifest.hashes["task"] == folder.manifest.hashes["task"]
        is_later = run.manifest.created > folder.manifest.created
        if run.path == folder.path or not same_task or is_later:
            continue
        before = _reported(run)
        changed = [name for name in now if now[name] and before.get(name, now[name]) != now[name]]
        if changed:
            name = changed[0]
            return (
                f"{name}: the provider reports {', '.join(now[name])}, and "
                f"{', '.join(before[name])} in {run.path.name}. Is it still the same judge? "
                f"harness revalidate {run.path}"
            )
        if before:
            return ""
    return ""


def _reported(run: RunFolder) -> Mapping[str, tuple[str, ...]]:
    """Return the model versions that each judge of a run reported."""
    with suppress(OSError, ValueError):
        metrics = _DECODE(read_file(run.path / "metrics.json"))
        return {j.name: j.reported_models for j in metrics.judges if j.reported_models}
    return {}
