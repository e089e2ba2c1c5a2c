"""Options of the commands and of the Python API, each declared once."""

from __future__ import annotations

from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, model_validator

from harness.errors import OptionError
from harness.options.declaration import Names, Options, option
from harness.stats import modes
from harness.stats.modes import AbstentionMode

AnswerKind: TypeAlias = modes.AnswerKind
ANSWER_KINDS: tuple[AnswerKind, ...] = ("forced_choice", "response_set")
Elicitation = Literal[AnswerKind, "paired"]  # paired: first the set, then a choice from it
ELICITATIONS: tuple[Elicitation, ...] = (*ANSWER_KINDS, "paired")
RanksBy = AnswerKind
AggregationLevel: TypeAlias = Literal["micro", "macro", "item"]
Humans: TypeAlias = Literal["rated", "reconstructed", "modelled"]

MAX_TOKENS = 10**12  # larger counts are ignored
REPLY_CAP = 4096  # tokens of a reply under a cost limit, if its judge has no limit
MAX_SAMPLES = 10_000  # of a judge per item
N_PAIRS = 100  # enough to estimate beta
N_PROBED = 20  # items that a probe changes
CHECKED_TASK, N_CHECKED = "toxicity", 30  # default task and number of items of a check
WITHIN = 0.05  # largest difference of mean losses that doesn't matter in a race


def _parse_replies(number: object) -> int | Literal["inf"] | None:
    """Validate a number of replies. Infinity becomes "inf", which JSON can store."""
    if number is None:
        return None
    if number in ("inf", inf):
        return "inf"
    if isinstance(number, int | str) and not isinstance(number, bool):
        with suppress(ValueError):
            if (n_replies := int(number)) >= 1:
                return n_replies
    raise ValueError("expected a whole number from 1, or inf")


RepliesCompared: TypeAlias = Annotated[int | Literal["inf"] | None, BeforeValidator(_parse_replies)]


# Concerns


class Tau(Options):
    """Option for the cut-off of a positive answer."""

    panel: ClassVar[str] = "Statistics"
    tau: float | None = option(
        None, "Share of raters who must accept an option for it to count. Default: the task's."
    )


class RankedBy(Tau):
    """Options for the metric or the ratings that rank judges."""

    metric: str | None = option(
        None, "Metric that ranks judges, e.g. 'hit_rate(h/h)'. Default: the metric for {ranks_by}."
    )
    ranks_by: RanksBy | None = option(
        None,
        "Ratings that rank judges if you don't name a metric. Default: set in task.yaml.",
        rare=True,
    )
    beta: float | None = option(
        None,
        "Among raters who chose a negative option, the share assumed to accept a positive one too.",
        ge=0,
        le=1,
    )
    mode: AbstentionMode | None = option(
        None,
        ("CANNOT_ASSESS is left out (exclude), counts as negative (recode), or is third_class."),
        rare=True,
    )
    level: AggregationLevel | None = option(
        None,
        "Average over decisions (micro) or criteria (macro), or judge items as a whole (item).",
        rare=True,
    )


class Confidence(Options):
    """Option for the confidence level."""

    panel: ClassVar[str] = "Statistics"
    confidence: float | None = option(
        None, "Confidence level of the intervals. Default: 0.95.", rare=True
    )


class Choices(Confidence, RankedBy):
    """Options for computing the numbers. None stands for the task's setting or the default."""

    replies: RepliesCompared = option(
        None,
        "Replies per item at which judges are compared, or inf to remove reply noise. "
        "Default: the number every judge has for most items.",
        rare=True,
    )
    min_answered: float | None = option(
        None,
        "Minimum share of items a judge must answer to be ranked. Default: 0.9.",
        ge=0,
        le=1,
        rare=True,
    )
    worth: float | None = option(
        None,
        "Smallest difference that matters, as a share of the metric's range. Default: 0.05. Not "
        "for metrics without an upper bound.",
        gt=0,
        le=1,
        rare=True,
    )
    humans: Humans | None = option(
        None,
        "Source of human response sets: rated, reconstructed from some raters' pairs, or modelled "
        "from the choices' spread at the cut-off. Default: reconstructed if forced choices rank "
        "judges, there are enough pairs and most choices lack a set.",
        rare=True,
    )

    def explicit(self) -> dict[str, Any]:
        """Return the choices that are not None."""
        return self.model_dump(exclude_none=True)


class Seed(Options):
    """Option for the random seed."""

    panel: ClassVar[str] = "Statistics"
    seed: int = option(0, "Seed for all random numbers.", ge=0)


class Quick(Options):
    """Option for the size of a simulation."""

    quick: bool = option(False, "Run a smaller simulation: at most about a minute on two cores.")


class Samples(Options):
    """Option for the number of replies per judge and item."""

    panel: ClassVar[str] = "How to run judges"
    samples: int | None = option(
        None, "Replies per judge and item. Default: the judge's own setting.", ge=1, le=MAX_SAMPLES
    )


class FirstItems(Options):
    """Option to limit the number of items."""

    limit: int | None = option(None, "Only the first N items.", ge=1)


class Criterion(Options):
    """Option to select the items of one criterion."""

    criterion: str | None = option(None, "Only items with this criterion.", rare=True)


class Items(Criterion, FirstItems):
    """Options that select a task's items."""


class CheckedItems(Items):
    """Option for the items on which to check a judge."""

    limit: int = option(N_CHECKED, "Run the judge on the first N items.", ge=1)


class Ledger(Options):
    """Option to start a new ledger of judges tried on the same items."""

    panel: ClassVar[str] = "Statistics"
    new_ledger: bool = option(
        False, "Ignore judges tried on these items before. The result mentions this.", rare=True
    )


class Holdout(Options):
    """Option to hold out items for a confirmation."""

    panel: ClassVar[str] = "Statistics"
    holdout: float | None = option(
        None,
        "Share of the items to hold out for harness confirm, e.g. 0.3.",
        metavar="SHARE",
        gt=0,
        lt=1,
    )


OWN_VERDICTS = "a run has its own verdicts, items and seed"


class Validating(Holdout, Ledger, Seed, Items):
    """Options for the items to validate and how to resample them."""


class Elicitations(Options):
    """Options for how judges are asked about an item."""

    panel: ClassVar[str] = "How to run judges"
    elicitations: tuple[Elicitation, ...] | None = option(
        None,
        "Answers to request for all items: forced_choice, response_set, paired. Default: "
        "forced choices, and response sets if raters gave any. Otherwise, see {pairs}.",
        flag="--elicitation",
    )

    @model_validator(mode="before")
    @classmethod
    def _in_order(cls, values: object) -> object:
        """Sort elicitations in the order of their requests."""
        if not isinstance(values, dict):
            return values
        chosen = values.get("elicitations")
        if isinstance(chosen, str):
            chosen = (chosen,)
        if isinstance(chosen, list | tuple) and set(chosen) <= set(ELICITATIONS):
            chosen = tuple(name for name in ELICITATIONS if name in chosen)
        return values if chosen is None else values | {"elicitations": chosen}


class Shuffling(Options):
    """Option for the order of options in prompts."""

    panel: ClassVar[str] = "How to run judges"
    shuffle_options: bool = option(
        False, "Show the options in a different order in each sample.", rare=True
    )


class ItemText(Options):
    """Option to store items' texts."""

    panel: ClassVar[str] = "Storage"
    item_text: bool = option(
        True,
        "Keep the items' texts in the run folder.",
        flag="--item-text/--no-item-text",
        rare=True,
    )


class PromptFiles(Options):
    """Option for the prompt templates of judges."""

    panel: ClassVar[str] = "How to run judges"
    prompts: Path | None = option(
        None,
        "Folder of templates. Each replaces the bundled template with the same name. harness "
        "improve writes such a folder.",
        metavar="FOLDER",
        rare=True,
    )


class Asking(PromptFiles, ItemText, Shuffling, Samples, Elicitations):
    """Options for the number, the limits and the kind of requests to judges."""

    panel: ClassVar[str] = "How to run judges"
    pairs: int | None = option(
        None,
        "Number of items to ask about in pairs too, if raters gave no response sets. Default: "
        f"{N_PAIRS}.",
        ge=0,
        rare=True,
    )
    max_tokens: int | None = option(
        None, "Maximum tokens in a reply. Default: each judge's own limit.", ge=1, rare=True
    )
    batch: bool = option(
        False, "Use batch interfaces, which cost less, if a judge has one.", rare=True
    )

    @model_validator(mode="before")
    @classmethod
    def _pairs_by_default(cls, values: object) -> object:
        """Request pairs by default, unless the elicitations are set."""
        if not isinstance(values, dict):
            return values
        if values.get("elicitations") is None:
            return values | {"pairs": N_PAIRS} if values.get("pairs") is None else values
        if values.get("pairs") is not None:
            raise ValueError(
                "{elicitations} asks about all items. Leave out {elicitations} or {pairs}"
            )
        return values


class Within(Options):
    """Option for the difference that does not matter in a race."""

    panel: ClassVar[str] = "Cost"
    within: float | None = option(
        None,
        f"In a {{race}}, difference in mean loss to ignore, or 0 to find the one best judge. "
        f"Default: {WITHIN}.",
        ge=0,
        lt=1,
        allow_inf_nan=False,
        rare=True,
    )


class CompleteWinner(Options):
    """Option to run a race's winner on the remaining items."""

    panel: ClassVar[str] = "Cost"
    complete_winner: bool = option(
        False,
        "After a {race}, run the judge it returns on the other items too, and validate it.",
        rare=True,
    )


class RaceOption(Options):
    """Option to drop judges early."""

    panel: ClassVar[str] = "Cost"
    race: bool = option(
        False,
        "Run judges on items in batches, and drop a judge once there's evidence that it "
        "isn't better than the leader.",
    )


class MaxCost(Options):
    """Option for the cost limit of a run."""

    panel: ClassVar[str] = "Cost"
    max_cost: float | None = option(
        None, "Stop before the run costs more than this many USD.", ge=0, allow_inf_nan=False
    )


class Limit(MaxCost):
    """Options for a run's cost limit, a soft limit, and continuing past unreadable replies."""

    max_cost_soft: bool = option(
        False,
        "Stop at {max_cost} without limiting the tokens of replies. Replies in flight "
        "can exceed it.",
        rare=True,
    )
    keep_going: bool = option(
        False,
        "Continue with a judge even if at most 5 of its first 20 replies can be read.",
        rare=True,
    )

    def changes(self) -> dict[str, object]:
        """Return the options that are set and that change a run's limits."""
        flags = {"max_cost_soft": self.max_cost_soft, "keep_going": self.keep_going}
        changes: dict[str, object] = {name: True for name, is_set in flags.items() if is_set}
        return changes if self.max_cost is None else {"max_cost": self.max_cost, **changes}

    def after(self, spent_usd: float) -> Self:
        """Return the options with the limit reduced by the amount already spent."""
        if self.max_cost is None:
            return self
        return self.model_copy(update={"max_cost": max(0.0, self.max_cost - spent_usd)})


class BudgetOptions(Limit):
    """Options for the cost limit of a run, and for the length of replies."""

    panel: ClassVar[str] = "Cost"
    reply_cap: int | None = option(
        None,
        f"Token limit for replies if a judge sets no max_tokens. Default: {REPLY_CAP} under "
        "{max_cost}.",
        metavar="TOKENS",
        ge=1,
        lt=MAX_TOKENS,
        rare=True,
    )

    @property
    def added_cap(self) -> int | None:
        """Token limit for judges that have none, or None to add no limit."""
        needs_cap = self.max_cost is not None and not self.max_cost_soft
        return self.reply_cap or (REPLY_CAP if needs_cap else None)


def check_limit(limit: Limit) -> None:
    """Reject the option for a soft limit if there is no limit."""
    if limit.max_cost_soft and limit.max_cost is None:
        raise OptionError("", "{max_cost_soft} needs a limit", "Add {max_cost}")


class ResumeOptions(Limit, CompleteWinner):
    """Options that can change when a run is resumed."""

    def changes(self) -> dict[str, object]:
        """Return the options that are set."""
        completing: dict[str, object] = {"complete_winner": True} if self.complete_winner else {}
        return super().changes() | completing


class RunOptions(
    BudgetOptions, Holdout, Ledger, Seed, Items, CompleteWinner, Within, RaceOption, Asking
):
    """Options of a new run that are stored in its manifest."""


class BaseUrl(Options):
    """Option for the server of judges that are not aliases."""

    panel: ClassVar[str] = "How to run judges"
    base_url: str | None = option(None, "OpenAI-compatible server for judges that aren't aliases.")


class KeyEnv(Options):
    """Option for a server's API key."""

    panel: ClassVar[str] = "How to run judges"
    key_env: str | None = option(None, "Environment variable that contains that server's key.")


class JudgesFile(Options):
    """Option for the file with aliases of judges."""

    panel: ClassVar[str] = "How to run judges"
    judges_file: Path | None = option(
        None, "Your own judges.yaml. Its aliases override the bundled ones."
    )


class Redirects(Options):
    """Option to allow providers that can redirect requests."""

    panel: ClassVar[str] = "How to run judges"
    allow_redirects: bool = option(
        False, "Also run providers whose redirects can't be blocked.", rare=True
    )


class Server(Redirects, JudgesFile, KeyEnv, BaseUrl):
    """Options for the server, the key and the aliases of judges."""


class StoreOption(Options):
    """Option for a store that is shared with other machines."""

    panel: ClassVar[str] = "Storage"
    store: str | None = option(
        None,
        "Share replies, locks, rates and budget with runs on other machines: "
        "postgresql://HOST/DATABASE. Replaces the cache.",
        metavar="ADDRESS",
        rare=True,
    )


class Cache(Options):
    """Option for the folder of the response cache."""

    panel: ClassVar[str] = "Storage"
    cache: Path | None = option(
        None, "Folder of the response cache. Default: $HARNESS_CACHE.", rare=True
    )


class BudgetName(Options):
    """Option to name a cost limit that several runs share."""

    panel: ClassVar[str] = "Storage"
    budget_name: str = option(
        "",
        "Name of the cost limit in the {store}. Runs with the same name share it. "
        "Default: one for all processes of this run.",
        metavar="NAME",
        rare=True,
    )


class Executor(Options):
    """Option for the processes that run judges."""

    panel: ClassVar[str] = "Storage"
    executor: str = option(
        "local",
        "Where judges run: in this process (local), or in processes on a Ray cluster (ray, "
        "or ray://HOST:PORT) that share a {store}.",
        metavar="NAME",
        rare=True,
    )


class StoredReplies(Options):
    """Options for the use of stored replies."""

    panel: ClassVar[str] = "Storage"
    refresh: bool = option(False, "Send every request again, and replace the stored replies.")
    no_store: bool = option(False, "Don't use stored replies, and don't store new ones.", rare=True)


class Place(StoredReplies, Executor, BudgetName, StoreOption, Cache):
    """Options for where judges run and where replies are stored."""

    @property
    def resume_words(self) -> list[str]:
        """Words for a resume command that make it treat stored replies in the same way."""
        words = {"--refresh": self.refresh, "--no-store": self.no_store}
        return [word for word, is_given in words.items() if is_given]


def check_place(place: Place) -> None:
    """Reject options that conflict with a shared store, and a cluster without a shared store."""
    if place.store is None and place.executor != "local":
        raise OptionError("", "processes on a cluster need a shared store", "Add {store}")
    if place.refresh and place.no_store:
        problem = "{refresh} stores replies, and {no_store} doesn't"
        raise OptionError("", problem, "Leave out one of the two")
    cache_options = {"cache": place.cache, "refresh": place.refresh, "no_store": place.no_store}
    names = [name for name, value in cache_options.items() if value]
    if place.store is not None and names:
        raise OptionError("", "a store replaces the cache", f"Leave out {{{names[0]}}}")


class Out(Options):
    """Option for the folder that contains the run folders."""

    panel: ClassVar[str] = "Storage"
    out: Path | None = option(
        None, "Folder that contains the run folders. Default: $HARNESS_RUNS or ./runs."
    )


class RunPlace(Out, Place):
    """Options for where judges run, and where replies and runs are stored."""


class TaskOption(Options):
    """Option for the task."""

    task: str | None = option(None, "Name of a task, or path of a task folder.", flag="--task -t")


class MovedTask(TaskOption):
    """Option for a run's task."""

    task: str | None = option(
        None, "Name or path of the task, if the task has moved.", flag="--task -t"
    )


class Judges(Options):
    """Option for the judges."""

    judges: Names = option(
        None,
        "Judges: aliases or litellm models, comma-separated. Default: the embedded ones.",
        flag="--judges -j",
    )


class Subject(Judges, TaskOption):
    """Options for the task and the judges."""


class Unasked(Options):
    """Option to skip the confirmation before a command writes or removes anything."""

    panel: ClassVar[str] = "Output"
    unasked: bool = option(False, "Don't ask for confirmation.", flag="--yes -y")


class DryRun(Options):
    """Option to show a command's plan without running it."""

    panel: ClassVar[str] = "Output"
    dry_run: bool = option(
        False, "Print calls, tokens and cost per judge. Nothing is sent or written."
    )


class FailUnless(Options):
    """Option to require a recommendation."""

    panel: ClassVar[str] = "Output"
    fail_unless: Literal["use", "use_if_independent", "best_not_proven"] | None = option(
        None, "Exit with code 1 unless the recommendation is at least this strong."
    )


class Json(Options):
    """Option to print JSON."""

    panel: ClassVar[str] = "Output"
    as_json: bool = option(False, "Print JSON instead of a table.", flag="--json")


class DetailsOption(Options):
    """Option to print all details."""

    panel: ClassVar[str] = "Output"
    details: bool = option(False, "Print everything: all evidence, causes and costs.")


class JsonOrDetails(Json, DetailsOption):
    """Options to print JSON or all details."""


class Quiet(Options):
    """Option to print only the result."""

    panel: ClassVar[str] = "Output"
    quiet: bool = option(False, "Print only the result.", flag="--quiet -q")


class Reporting(Json, Quiet):
    """Options for the format of the output."""


class Sending(Reporting, DryRun):
    """Options for a dry run and for the output format."""


class Printing(Reporting, DetailsOption):
    """Options for the format and the amount of output."""


class DecisionPrinting(Printing, FailUnless):
    """Options for the output format and for an exit code that depends on the result."""


class Handling(DecisionPrinting, Sending):
    """Options for a command's confirmation, output format and exit code."""


NO_CHOICES, NO_LIMIT, NO_SERVER, HERE, ALL_ITEMS = (
    Choices(),
    Limit(),
    Server(),
    Place(),
    Validating(),
)
