"""Options of a look at the judges of a run."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING, Any

from harness.errors import OptionError
from harness.options.concerns import (
    DryRun,
    Judges,
    Limit,
    Samples,
    Seed,
    Server,
    StoreOption,
    TaskOption,
)
from harness.options.declaration import (
    ACCEPT,
    EXCLUDE,
    EXPORT,
    HISTORY,
    REVALIDATE,
    SCHEDULE,
    Options,
    option,
)
from harness.revalidation import FAIL_ON, Period

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.runs.run_folder import RunFolder


def use_of_look(values: Mapping[str, Any]) -> str:
    """Return whether judges are asked, or a look is accepted or excluded.

    Raises
    ------
    OptionError
        If a look is to be excluded without a reason.
    """
    if (values.get("because") is None) != (values.get("exclude") is None):
        raise OptionError("", "{exclude} and {because} go together", "Give both")
    if values.get("exclude") is not None:
        return EXCLUDE
    return REVALIDATE if values.get("accept") is None else ACCEPT


class Every(Options):
    """How often a schedule looks."""

    every: Period | None = option(
        None,
        "Time between looks.",
        (SCHEDULE, HISTORY),
        texts={HISTORY: "With {overdue}: the period. Default: that of the last scheduled look."},
    )


class LookOptions(DryRun, StoreOption, Server, Limit, Seed, Samples, TaskOption, Judges):
    """Which judges a look asks, about what, how they are compared, and what is decided.

    The judges that are watched are those named, with the members of ensembles among them; else
    all. An occasion may cost ``max_cost``. A store keeps the replies; its rate limits hold.
    """

    anchor: int | None = option(
        None,
        "Run judges on only N items, drawn once by the raters' agreement.",
        (REVALIDATE, EXPORT),
        ge=1,
    )
    baseline_replies: int | None = option(
        None,
        "Replies per item that a new baseline should have. Missing ones are requested first, "
        "separately from the look.",
        (REVALIDATE,),
        ge=1,
    )
    margin: float = option(
        0.0,
        "Largest fall of the metric that you accept, as a share of its range.",
        (REVALIDATE,),
        ge=0,
        le=0.99,
    )
    fail_on: str = option(
        FAIL_ON,
        "Exit with 1 on changed, worse, underpowered, 'not comparable', decision (the judge in use "
        "is shown to be worse than a constant answer or one human), model (a provider reports a "
        "new model version or fingerprint), or a limit such as outcome-rate>0.05, "
        "'mse(srs/srs)>0.1', 'slice(language=de).agreement:lower<0.6', or beside the baseline "
        "cost>1.5x or latency>3x; comma-separated.",
        (REVALIDATE, SCHEDULE),
        metavar="CONDITIONS",
        texts={SCHEDULE: "Conditions under which a look fails; see harness revalidate."},
    )
    accept: int | None = option(
        None,
        "Start a new baseline from the replies of this look and later ones. It must come after the "
        "look that raised the alarm. Missing replies are requested.",
        (ACCEPT,),
        metavar="LOOK",
        ge=1,
    )
    yes: bool = option(
        False,
        "Accept a judge that is worse.",
        (ACCEPT,),
    )
    exclude: int | None = option(
        None,
        "Drop the replies of this look and send nothing. Needs {because}.",
        (EXCLUDE,),
        metavar="LOOK",
        ge=1,
    )
    because: str | None = option(None, "Why a look is excluded.", (EXCLUDE,), metavar="TEXT")
    if_due: Period | None = option(
        None,
        "Skip this look if the last one is more recent, and exit with its code.",
        (REVALIDATE,),
    )
    notify: str | None = option(
        None,
        "Post the first sentence to this address, as of a chat's webhook, when the exit code is "
        "not 0.",
        (REVALIDATE, ACCEPT, EXCLUDE),
        metavar="URL",
        variable="HARNESS_NOTIFY_URL",
    )

    @property
    def replies_per_item(self) -> int:
        """Replies per item in a look."""
        return self.samples or 1

    def look_command(self, run: RunFolder, *, with_limit: bool) -> str:
        """Return the command that goes on with what was stopped; it names no address of alerts."""
        hidden = {"notify": None, "accept": None} | ({} if with_limit else {"max_cost": None})
        rebase = [] if self.accept is None else ["rebase", str(self.accept)]
        words = self.model_copy(update=hidden).words()
        return join(["harness", "revalidate", *rebase, str(run.path), *words])
