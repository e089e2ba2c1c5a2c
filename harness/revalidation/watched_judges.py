"""Select the run's judges that a round watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.analysis.race_result import RACED
from harness.errors import RunError, in_sentences, use_one_of
from harness.report.rebuild import stored_validation
from harness.revalidation.history import FILE, read_history
from harness.runs.sources import compared_source

if TYPE_CHECKING:
    from collections.abc import Collection

    from harness.judging.judge_spec import JudgeSpec
    from harness.runs.run_folder import RunFolder


def watched_judges(run: RunFolder, names: Collection[str] = ()) -> tuple[JudgeSpec, ...]:
    """Return the named judges, plus the members of named ensembles. Without names, return all.

    After a race, only the winner is returned, if it ran on all items.

    Raises
    ------
    RunError
        If the run has no judge with a name, or its judges raced and none ran on all items.
    """
    specs = {spec.name: spec for spec in run.manifest.judges}
    if run.manifest.config.race:
        [winner] = compared_source(run).judges
        names = names or (winner.name,)
        if set(names) != {winner.name}:
            raise RunError(f"{run.path}: {RACED}", f"Watch only {winner.name}")
    unknown = [name for name in names if name not in specs]
    if unknown:
        problem = f"{run.path}: this run has no judge {unknown[0]!r}"
        raise RunError(in_sentences(problem, use_one_of(unknown[0], specs, none="It has none.")))
    members = {member for name in names for member in specs[name].members}
    wanted = members.union(names) if names else specs.keys()
    return tuple(spec for spec in specs.values() if spec.name in wanted)


def judges_in_use(run: RunFolder) -> tuple[str, ...]:
    """Return a run's best judge and the judges not significantly different from it.

    The judges come from the run's final validation, which a baseline keeps. Empty if no judge is
    better than the baseline judges, or there is no such validation.
    """
    baseline = read_history(run.path / FILE).baseline
    if baseline is not None:
        return baseline.in_use
    validation = stored_validation(run)
    decision = validation.decision if validation else None
    if decision is None or decision.judge is None:
        return ()
    return (decision.judge, *decision.not_distinguishable)
