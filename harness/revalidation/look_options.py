"""Options for a round of re-validation."""

from __future__ import annotations

from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Self

from pydantic import model_validator

from harness.errors import OptionError
from harness.options.concerns import (
    MAX_SAMPLES,
    DryRun,
    Judges,
    JudgesFile,
    Limit,
    MovedTask,
    Samples,
    Seed,
    Server,
    StoreOption,
)
from harness.options.declaration import Names, Options, leave_out, option
from harness.revalidation import FAIL_ON, Period

if TYPE_CHECKING:
    from harness.runs.run_folder import RunFolder


class Every(Options):
    """Option for the time between scheduled rounds."""

    every: Period | None = option(
        None, "Time between rounds. Default: as for the last scheduled round."
    )


class WatchedJudges(Judges):
    """Option for the judges to watch, by default all. An ensemble includes its members."""

    judges: Names = option(
        None,
        "Watch only these judges, comma-separated. The members of an ensemble are included.",
        flag="--judges -j",
    )


class ValidatedFile(JudgesFile):
    """Option for the file with the judges as they were validated."""

    judges_file: Path | None = option(
        None,
        "A judges.yaml with the validated judges. For a pipeline: its path in the repository.",
    )


class LookSamples(Samples):
    """Option for the number of replies per judge and item in a round."""

    samples: int | None = option(
        None, "Replies per judge and item in a round. Default: 1.", ge=1, le=MAX_SAMPLES
    )


class Anchor(Seed):
    """Option for the number of items in a round."""

    anchor: int | None = option(
        None, "Run judges on only N items, drawn once and stratified by rater agreement.", ge=1
    )


class FailOn(Options):
    """Option for the conditions under which a round fails."""

    fail_on: str = option(
        FAIL_ON,
        "Exit with code 1 on changed, worse, underpowered, 'not comparable', decision (the judge "
        "in use is worse than a constant answer or a rater), model (a provider reports a "
        "new model version or fingerprint), or a limit such as outcome-rate>0.05, "
        "'mse(srs/srs)>0.1', 'slice(language=de).agreement:lower<0.6', or, compared with the "
        "baseline, cost>1.5x or latency>3x. Separate several with commas.",
        metavar="CONDITIONS",
    )


class Notify(Options):
    """Option for the address to notify about failed rounds."""

    notify: str | None = option(
        None,
        "Post the first sentence to this address (such as a chat's webhook) if the exit code "
        "isn't 0.",
        metavar="URL",
        variable="HARNESS_NOTIFY_URL",
    )


class WatchedRun(Notify, MovedTask, WatchedJudges):
    """Options for the run: its judges, its task, and notifications."""


class AskingAgain(StoreOption, ValidatedFile, Server, Limit, WatchedRun):
    """Options for re-running judges: the server, the cost limit and the reply store."""


class Rebasing(AskingAgain, DryRun):
    """Options for accepting a round."""

    yes: bool = option(False, "Accept the replies even if a judge is worse.")


class Excluding(WatchedRun, DryRun):
    """Options for excluding a round."""

    because: str | None = option(None, "Why a round is excluded.", metavar="TEXT")


class Looking(FailOn, Anchor, LookSamples, AskingAgain, DryRun):
    """Options for a round: its judges, its items, and the comparison."""

    baseline_replies: int | None = option(
        None,
        "Replies per item that a new baseline should have. Missing replies are requested first, "
        "separately from the round.",
        ge=1,
    )
    margin: float = option(
        0.0, "Largest drop in the metric that you accept, as a share of its range.", ge=0, le=0.99
    )
    if_due: Period | None = option(
        None, "Skip this round if the last one is more recent, and exit with its code."
    )

    @property
    def replies_per_item(self) -> int:
        """Number of replies per item in a round."""
        return self.samples or 1


class LookOptions(Looking, Rebasing, Excluding):
    """Options for a round, and for the round to accept or exclude.

    Raises
    ------
    OptionError
        If options have no effect on what is done, or a round is excluded without a reason.
    """

    accept: int | None = option(
        None,
        "Start a new baseline from the replies of this round and later ones. It must come after "
        "the round that raised the alarm. Missing replies are requested.",
        metavar="LOOK",
        ge=1,
    )
    exclude: int | None = option(
        None,
        "Drop the replies of this round and send nothing. Needs {because}.",
        metavar="LOOK",
        ge=1,
    )

    @model_validator(mode="after")
    def _do_one_thing(self) -> Self:
        given = {name for name in self.model_fields_set if getattr(self, name) is not None}
        if (self.because is None) != (self.exclude is None):
            raise OptionError("", "{exclude} and {because} go together", "Pass both")
        if self.exclude is not None:
            others = given - Excluding.model_fields.keys() - {"exclude"}
            leave_out(others, "excluding a round doesn't send requests or compare anything")
        elif self.accept is not None:
            others = given - Rebasing.model_fields.keys() - {"accept"}
            leave_out(
                others,
                "accepting a round only requests missing replies",
            )
        else:
            leave_out(given & {"yes"}, "this option works only with {accept}")
        return self

    def look_command(self, run: RunFolder, *, with_limit: bool) -> str:
        """Return the command to continue after a stop. It omits the notification address."""
        hidden = {"notify": None, "accept": None} | ({} if with_limit else {"max_cost": None})
        rebase = [] if self.accept is None else ["rebase", str(self.accept)]
        words = self.model_copy(update=hidden).words()
        return join(["harness", "revalidate", *rebase, str(run.path), *words])
