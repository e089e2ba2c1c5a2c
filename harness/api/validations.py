"""Validation and confirmation of existing verdicts."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from harness.api.asked_runs import Run
from harness.api.calling import wait_for
from harness.api.table_tasks import read_task, verdict_file, without_folder
from harness.app.run import confirm_verdicts as decide_on_verdicts
from harness.app.run import validate_run, validate_verdicts
from harness.errors import HarnessError
from harness.judging.running.stopping import StopRequests
from harness.options.concerns import OWN_VERDICTS, Choices, Criterion, Ledger, Seed, Validating
from harness.options.declaration import leave_out, read_options
from harness.options.keyword_arguments import keywords

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.api.table_tasks import TableMapping, TableRows, TaskLike


@keywords(Validating, Choices)
def validate(
    task: TaskLike | Run,
    verdicts: str | Path | TableRows | None = None,
    *,
    mapping: TableMapping | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> Validation:
    """Validate judges' verdicts against the human ratings of a task.

    Like the command, it records the judges in the ledger for these ratings, which is in the user's
    data folder (``$XDG_DATA_HOME``) or next to ``task.yaml``.

    Parameters
    ----------
    task : str, Path, Task, list of dict, DataFrame or Run
        Name or path of a task, a loaded task, a table of ratings, or a run to validate again. A
        run's results are rewritten if you pass no options and its ``metrics.json`` has the current
        schema version.
    verdicts : str, Path, list of dict, or DataFrame, optional
        At least the columns ``item``, ``judge`` and ``value``. By default, the verdicts in the
        table if ``task`` is one. Without verdicts, the human ratings are summarised.
    mapping : dict, optional
        For a table of ratings: which column is what, see `TableMapping`.
    **options

    Raises
    ------
    HarnessError
        If the task, the verdicts or an option is wrong.

    Examples
    --------
    >>> ratings = [
    ...     {"id": "a", "text": "Thank you!", "ann": "polite", "bob": "polite"},
    ...     {"id": "b", "text": "Read the manual.", "ann": "rude", "bob": "polite"},
    ...     {"id": "c", "text": "Go away.", "ann": "rude", "bob": "rude"},
    ... ]
    >>> verdicts = [
    ...     {"item": "a", "judge": "mine", "value": "polite"},
    ...     {"item": "b", "judge": "mine", "value": "rude"},
    ...     {"item": "c", "judge": "mine", "value": "rude"},
    ... ]
    >>> mapping = {"id": "id", "text": "text", "raters": ["ann", "bob"], "positive": ["polite"]}
    >>> validation = harness.validate(ratings, verdicts, mapping=mapping)
    >>> validation.judge("mine").metrics["hit_rate(h/h)"].value
    0.8333333333333334
    """
    validating, choices = read_options(Validating, options), read_options(Choices, options)
    if isinstance(task, Run):
        leave_out(validating.model_fields_set - Ledger.model_fields.keys(), OWN_VERDICTS)
        if verdicts is not None or mapping:
            raise HarnessError(OWN_VERDICTS)
        return validate_run(task._folder, choices, new_ledger=validating.new_ledger)  # noqa: SLF001 -- its own module
    with TemporaryDirectory() as scratch:
        loaded, own_verdicts = read_task(task, mapping)
        given_verdicts = (own_verdicts or None) if verdicts is None else verdicts
        file = None if given_verdicts is None else verdict_file(given_verdicts, Path(scratch))
        call = partial(validate_verdicts, loaded, file, validating, choices)
        try:
            return wait_for(call, StopRequests())
        except HarnessError as error:
            raise without_folder(error, Path(scratch)) from None


@keywords(Criterion, Seed, Choices)
def confirm_verdicts(
    task: TaskLike,
    verdicts: str | Path | TableRows,
    judge: str,
    *,
    mapping: TableMapping | None = None,
    **options: Any,  # noqa: ANN401 -- see its signature
) -> Validation:
    """Validate one judge on the held-out items of `validate`, and recommend whether to use it.

    You can confirm only one judge, and only once. Its tests do not account for other judges.

    Parameters
    ----------
    task : str, Path, Task, list of dict, or DataFrame
        As for `validate`.
    verdicts : str, Path, list of dict, or DataFrame
        Verdicts of the judge on the held-out items. Those of other judges or on other items are
        ignored.
    judge : str
        Its name in the verdicts.
    mapping : dict, optional
        As for `validate`.
    **options

    Raises
    ------
    HarnessError
        If no items are held out, the judge has no verdicts on them, or they were used before.
    """
    validating = Validating.of(read_options(Seed, options), read_options(Criterion, options))
    choices = read_options(Choices, options)
    with TemporaryDirectory() as scratch:
        loaded, _ = read_task(task, mapping)
        file = verdict_file(verdicts, Path(scratch))
        call = partial(decide_on_verdicts, loaded, file, judge, validating, choices)
        try:
            return wait_for(call, StopRequests())
        except HarnessError as error:
            raise without_folder(error, Path(scratch)) from None
