"""Options of the commands and of the Python API, each declared once, by concern."""

from __future__ import annotations

from contextlib import suppress
from math import inf
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeAlias,
)

from pydantic import BeforeValidator, model_validator

from harness.errors import OptionError
from harness.options.declaration import (
    ACCEPT,
    ANNOTATE,
    ANY,
    ASKING,
    AUDIT,
    CACHE,
    CACHE_CLEAR,
    CHECK,
    CONFIRM,
    CONFIRM_VERDICTS,
    DIFF,
    DOCTOR,
    DROP,
    DROP_FINDING,
    ESTIMATE,
    EXCLUDE,
    EXPORT,
    EXPORT_SCORES,
    EXPORT_TABLE,
    EXPORT_TEAM,
    GATE,
    HISTORY,
    IMPORT,
    IMPORT_VERDICTS,
    IMPROVE,
    JUDGES,
    NEXT,
    NEXT_ESTIMATE,
    NEXT_FINDING,
    PLAN_ANNOTATORS,
    PLAN_ANNOTATORS_VERDICTS,
    PLAN_DIFFERENCE,
    PLAN_DIFFERENCE_VERDICTS,
    PLANS,
    PROBE,
    PROMPT,
    REPORT,
    REPORT_LIST,
    REPORT_TASK,
    REPORT_TWO,
    RESUME,
    REVALIDATE,
    RUN,
    SAMPLE,
    SAMPLE_LEVELS,
    SCHEDULE,
    SELF_PREFERENCE,
    SELFTEST,
    SELFTEST_TASK,
    SELFTEST_VERDICTS,
    SELFTESTS,
    SIMULATE,
    STUDY,
    TRUST,
    TRUST_TASK,
    VALIDATE,
    VALIDATE_RUN,
    VALIDATING,
    VIEW,
    Names,
    Options,
    option,
)
from harness.stats import modes
from harness.stats.modes import AbstentionMode, ErrorKind

AnswerKind: TypeAlias = modes.AnswerKind
ANSWER_KINDS: tuple[AnswerKind, ...] = ("forced_choice", "response_set")
Elicitation = Literal[AnswerKind, "paired"]  # paired: the set first, then a choice from it
ELICITATIONS: tuple[Elicitation, ...] = (*ANSWER_KINDS, "paired")
RanksBy = AnswerKind
AggregationLevel: TypeAlias = Literal["micro", "macro", "item"]
Humans: TypeAlias = Literal["rated", "reconstructed", "modelled"]

MAX_TOKENS = 10**12  # larger counts are ignored
REPLY_CAP = 4096  # tokens of a reply under a cost limit, where its judge sets no limit
MAX_SAMPLES = 10_000  # as of a judge
N_PAIRS = 100  # enough to estimate beta
N_PROBED = 20  # items that a probe changes
CHECKED_TASK, N_CHECKED = "toxicity", 30  # whose items a check asks about, and how many
WITHIN = 0.05  # difference of mean losses that does not matter in a race


def _parse_replies(number: object) -> int | Literal["inf"] | None:
    """Read a number of replies; infinity is a word, as JSON has no number for it."""
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


class Choices(Options):
    """Choices of a user about the numbers; None for the task's or the default."""

    panel: ClassVar[str] = "Statistics"
    rare: ClassVar[tuple[str, ...]] = (
        "ranks_by",
        "mode",
        "level",
        "confidence",
        "replies",
        "min_answered",
        "worth",
        "humans",
    )
    tau: float | None = option(
        None,
        "Share of raters who must accept an option for it to count. Default: the task's.",
        (RUN, *VALIDATING, NEXT),
    )
    metric: str | None = option(
        None,
        "Metric that ranks, e.g. 'hit_rate(h/h)'. Default: the metric of {ranks_by}.",
        (RUN, *VALIDATING),
    )
    ranks_by: RanksBy | None = option(
        None,
        "Ratings that rank judges if you don't name a metric. Default: as task.yaml says.",
        (RUN, *VALIDATING),
    )
    beta: float | None = option(
        None,
        "Among raters who chose a negative option, the share assumed to accept a positive one too.",
        (RUN, *VALIDATING),
        ge=0,
        le=1,
    )
    mode: AbstentionMode | None = option(
        None,
        "CANNOT_ASSESS is left out (exclude), negative (recode), or third_class.",
        (RUN, *VALIDATING),
    )
    level: AggregationLevel | None = option(
        None,
        "Average over decisions (micro) or criteria (macro), or judge whole items (item).",
        (RUN, *VALIDATING),
    )
    confidence: float | None = option(
        None,
        "Confidence level of the intervals. Default: 0.95.",
        (RUN, *VALIDATING, ESTIMATE, TRUST, TRUST_TASK),
    )
    replies: RepliesCompared = option(
        None,
        "Replies per item at which judges are compared, or inf to remove reply noise. "
        "Default: the number every judge has for most items.",
        (RUN, *VALIDATING),
    )
    min_answered: float | None = option(
        None,
        "Share of items that a judge must have answered to be ranked. Default: 0.9.",
        (RUN, *VALIDATING),
        ge=0,
        le=1,
    )
    worth: float | None = option(
        None,
        "Smallest difference that matters, as a share of the metric's range. Default: "
        "0.05. Metrics without an upper bound don't have one.",
        (RUN, *VALIDATING),
        gt=0,
        le=1,
    )
    humans: Humans | None = option(
        None,
        "Response sets that raters gave (rated), or those of all who chose, estimated from the "
        "pairs of some (reconstructed), at the cut-off by a model of their spread (modelled). "
        "Default: reconstructed where forced choices rank, the pairs suffice and most choices "
        "have no set.",
        (RUN, *VALIDATING),
    )

    def explicit(self) -> dict[str, Any]:
        """Return the choices that are not None."""
        return self.model_dump(exclude_none=True)


class Seed(Options):
    """The seed of everything random."""

    panel: ClassVar[str] = "Statistics"
    seed: int = option(
        0,
        "Seed of everything random.",
        (
            *(RUN, IMPROVE, VALIDATE, CONFIRM_VERDICTS, *SELFTESTS, SIMULATE, PROBE, PROMPT),
            *(REVALIDATE, EXPORT, ANNOTATE, AUDIT, DIFF, DROP_FINDING, NEXT, NEXT_FINDING),
            *(NEXT_ESTIMATE, SAMPLE, SAMPLE_LEVELS, EXPORT_TEAM),
            *(PLAN_ANNOTATORS, PLAN_ANNOTATORS_VERDICTS),
        ),
        texts={REVALIDATE: "Seed of the random anchor.", EXPORT: "Seed of the random anchor."},
        ge=0,
    )


class Quick(Options):
    """How much is simulated."""

    quick: bool = option(
        False,
        "Few data sets: a minute on two cores.",
        (*SELFTESTS, SIMULATE),
        texts={SIMULATE: "Fewer and smaller populations: seconds, not minutes."},
    )


class Samples(Options):
    """How often judges are asked about an item."""

    panel: ClassVar[str] = "How to run judges"
    samples: int | None = option(
        None,
        "Replies per judge and item. Default: the judge's own setting.",
        (RUN, PROBE, REVALIDATE, SCHEDULE, SELFTEST, SELFTEST_TASK),
        texts={
            SELFTEST: "Without verdicts: replies per judge and item. Default: 1.",
            PROBE: "Replies per judge and item, changed or not.",
            REVALIDATE: "Replies per judge and item in this look. Default: 1.",
            SCHEDULE: "Replies per judge and item in a look. Default: 1.",
        },
        ge=1,
        le=MAX_SAMPLES,
    )


class Items(Options):
    """Which items of a task."""

    rare: ClassVar[tuple[str, ...]] = ("criterion",)
    limit: int | None = option(
        None,
        "Only the first N items.",
        (RUN, VALIDATE, ESTIMATE, PROBE, CHECK, PROMPT),
        texts={PROBE: "Change only the first N items.", CHECK: "Ask about the first N items."},
        ge=1,
    )
    criterion: str | None = option(
        None,
        "Only items with this criterion.",
        (RUN, IMPROVE, VALIDATE, CONFIRM_VERDICTS, PROBE, CHECK, PROMPT, *PLANS),
    )


class Ledger(Options):
    """What counts as tried on the same items."""

    panel: ClassVar[str] = "Statistics"
    rare: ClassVar[tuple[str, ...]] = ("new_ledger",)
    new_ledger: bool = option(
        False,
        "Forget the judges tried on these items before. The result says so.",
        (RUN, VALIDATE, VALIDATE_RUN),
    )


class Holdout(Options):
    """Which items are kept for a confirmation."""

    panel: ClassVar[str] = "Statistics"
    holdout: float | None = option(
        None,
        "Share of the items to hold out for harness confirm, e.g. 0.3.",
        (RUN, IMPROVE, VALIDATE),
        metavar="SHARE",
        texts={
            IMPROVE: "Share of the items to hold out until the end of the search, if none is held "
            "out yet; 0.3 by default."
        },
        gt=0,
        lt=1,
    )


class Validating(Holdout, Ledger, Seed, Items):
    """Which items are validated, and how they are resampled."""


class Elicitations(Options):
    """How judges are asked."""

    panel: ClassVar[str] = "How to run judges"
    elicitations: tuple[Elicitation, ...] | None = option(
        None,
        "How to ask about all items: forced_choice, response_set, paired. Default: "
        "forced choices, and response sets if raters gave any. Otherwise, see {pairs}.",
        (RUN, PROBE),
        flag="--elicitation",
        texts={PROBE: "How to ask: forced_choice, response_set, paired."},
    )

    @model_validator(mode="before")
    @classmethod
    def _in_order(cls, values: object) -> object:
        """Put elicitations into the order of asking."""
        if not isinstance(values, dict):
            return values
        chosen = values.get("elicitations")
        if isinstance(chosen, str):
            chosen = (chosen,)
        if isinstance(chosen, list | tuple) and set(chosen) <= set(ELICITATIONS):
            chosen = tuple(name for name in ELICITATIONS if name in chosen)
        return values if chosen is None else values | {"elicitations": chosen}


class Shuffling(Options):
    """In which order options are shown."""

    panel: ClassVar[str] = "How to run judges"
    rare: ClassVar[tuple[str, ...]] = ("shuffle_options",)
    shuffle_options: bool = option(
        False,
        "Show the options in a different order in each sample.",
        (RUN, PROMPT),
    )


class ItemText(Options):
    """Whether texts are kept."""

    panel: ClassVar[str] = "Storage"
    rare: ClassVar[tuple[str, ...]] = ("item_text",)
    item_text: bool = option(
        True,
        "Keep the items' texts in the run folder.",
        (RUN, EXPORT),
        flag="--item-text/--no-item-text",
        texts={EXPORT: "Write the items' texts too."},
    )


class PromptFiles(Options):
    """Which templates judges are asked by."""

    panel: ClassVar[str] = "How to run judges"
    rare: ClassVar[tuple[str, ...]] = ("prompts",)
    prompts: Path | None = option(
        None,
        "Folder of templates that replace those of the same name, as harness improve writes one.",
        (RUN, PROMPT),
        metavar="FOLDER",
    )


class Asking(PromptFiles, ItemText, Shuffling, Samples, Elicitations):
    """How often, and with which limits, judges are asked."""

    panel: ClassVar[str] = "How to run judges"
    rare: ClassVar[tuple[str, ...]] = (
        "pairs",
        "max_tokens",
        "batch",
    )
    pairs: int | None = option(
        None,
        f"Items to ask about in pairs too, if raters gave no response sets. Default: {N_PAIRS}.",
        (RUN,),
        ge=0,
    )
    max_tokens: int | None = option(
        None, "Most tokens in a reply. Default: each judge's own limit.", (RUN,), ge=1
    )
    batch: bool = option(
        False,
        "Use batch interfaces, which cost less, if a judge has one.",
        (RUN,),
    )

    @model_validator(mode="before")
    @classmethod
    def _pairs_by_default(cls, values: object) -> object:
        """Ask in pairs, too, unless elicitations are named."""
        if not isinstance(values, dict):
            return values
        if values.get("elicitations") is None:
            return values | {"pairs": N_PAIRS} if values.get("pairs") is None else values
        if values.get("pairs") is not None:
            raise ValueError("{elicitations} asks about all items. Leave it or {pairs} out")
        return values


class Racing(Options):
    """Whether judges that can no longer be the best are asked on."""

    panel: ClassVar[str] = "Cost"
    rare: ClassVar[tuple[str, ...]] = (
        "within",
        "complete_winner",
    )
    race: bool = option(
        False,
        "Run judges on items in batches, and drop a judge once there's evidence that it "
        "isn't better than the leader.",
        (RUN,),
    )
    within: float | None = option(
        None,
        f"In a {{race}}, difference of mean losses that doesn't matter, or 0 to find the one best "
        f"judge. Default: {WITHIN}.",
        (RUN, IMPROVE),
        texts={
            IMPROVE: "Difference of mean disagreements with a rater that does not matter; "
            f"{WITHIN} by default."
        },
        ge=0,
        lt=1,
        allow_inf_nan=False,
    )
    complete_winner: bool = option(
        False,
        "After a {race}, run the judge it returns on the other items too, and validate it.",
        (RUN, RESUME),
    )


class Searching(Options):
    """How long a search for a better way of asking goes on."""

    rounds: int = option(
        3, "Rounds of candidates, each against the best so far.", (IMPROVE,), ge=1, le=20
    )
    candidates: int = option(
        4, "Other ways of asking in a round, at most.", (IMPROVE,), ge=1, le=20
    )
    writer: str | None = option(
        None,
        "A model that writes other instructions and descriptions of the options, from the second "
        "round on: an alias or a litellm model. It is shown development items.",
        (IMPROVE,),
    )


class Limit(Options):
    """What asking may cost."""

    panel: ClassVar[str] = "Cost"
    rare: ClassVar[tuple[str, ...]] = (
        "max_cost_soft",
        "keep_going",
    )
    max_cost: float | None = option(
        None,
        "Stop before the run costs more than this many USD.",
        (*ASKING, SCHEDULE),
        ge=0,
        allow_inf_nan=False,
    )
    max_cost_soft: bool = option(
        False,
        "Stop at {max_cost} without limiting the tokens of replies. Replies in flight "
        "can exceed it.",
        ASKING,
    )

    keep_going: bool = option(
        False,
        "Continue with a judge even if at most 5 of its first 20 replies can be read.",
        ASKING,
    )

    def changes(self) -> dict[str, object]:
        """Return what is set, to change the limits of a run."""
        flags = {"max_cost_soft": self.max_cost_soft, "keep_going": self.keep_going}
        changes: dict[str, object] = {name: True for name, is_set in flags.items() if is_set}
        return changes if self.max_cost is None else {"max_cost": self.max_cost, **changes}

    def after(self, spent_usd: float) -> Self:
        """Return the options with what is left of the limit once so much was spent."""
        if self.max_cost is None:
            return self
        return self.model_copy(update={"max_cost": max(0.0, self.max_cost - spent_usd)})


class BudgetOptions(Limit):
    """What asking may cost, and the length of replies that this supposes."""

    panel: ClassVar[str] = "Cost"
    rare: ClassVar[tuple[str, ...]] = ("reply_cap",)
    reply_cap: int | None = option(
        None,
        f"Token limit of replies if a judge has no max_tokens. Default: {REPLY_CAP} under "
        "{max_cost}.",
        (RUN, PROBE),
        metavar="TOKENS",
        ge=1,
        lt=MAX_TOKENS,
    )

    @property
    def added_cap(self) -> int | None:
        """Token limit of judges that set none; None for no limit."""
        needs_cap = self.max_cost is not None and not self.max_cost_soft
        return self.reply_cap or (REPLY_CAP if needs_cap else None)


def check_limit(limit: Limit) -> None:
    """Refuse a soft limit without a limit."""
    if limit.max_cost_soft and limit.max_cost is None:
        raise OptionError("", "{max_cost_soft} needs a limit", "Add {max_cost}")


class RunOptions(BudgetOptions, Holdout, Ledger, Seed, Items, Racing, Asking):
    """How a new run asks about which items; a part of its manifest."""

    def changes(self) -> dict[str, object]:
        """Return what is set that a resumed run may change."""
        completing: dict[str, object] = {"complete_winner": True} if self.complete_winner else {}
        return super().changes() | completing


class Server(Options):
    """Where judges are that are not aliases."""

    panel: ClassVar[str] = "How to run judges"
    rare: ClassVar[tuple[str, ...]] = ("allow_redirects",)
    base_url: str | None = option(
        None,
        "OpenAI-compatible server for judges that aren't aliases.",
        (*ASKING, PROMPT, DOCTOR, SCHEDULE),
    )
    key_env: str | None = option(
        None, "Environment variable with that server's key.", (*ASKING, DOCTOR, SCHEDULE)
    )
    judges_file: Path | None = option(
        None,
        "Your own judges.yaml. Its aliases override the bundled ones.",
        (*ASKING, PROMPT, DOCTOR, JUDGES, SCHEDULE),
        texts={
            REVALIDATE: "A judges.yaml whose judges must be those that were validated.",
            SCHEDULE: "A judges.yaml with the judges that were validated. Pipelines need its path "
            "in the repository.",
        },
    )
    allow_redirects: bool = option(
        False, "Also run providers whose redirects can't be blocked.", ASKING
    )


class StoreOption(Options):
    """What is shared with other machines."""

    panel: ClassVar[str] = "Storage"
    rare: ClassVar[tuple[str, ...]] = ("store",)
    store: str | None = option(
        None,
        "Share replies, locks, rates and budget with runs on other machines: "
        "postgresql://HOST/DATABASE. Takes the place of the cache.",
        (RUN, RESUME, CONFIRM, ESTIMATE, REVALIDATE, ACCEPT, DOCTOR, SCHEDULE),
        metavar="ADDRESS",
    )


class Cache(Options):
    """Where replies are kept."""

    panel: ClassVar[str] = "Storage"
    rare: ClassVar[tuple[str, ...]] = ("cache",)
    cache: Path | None = option(
        None,
        "Folder of the response cache. Default: $HARNESS_CACHE.",
        (RUN, RESUME, CONFIRM, IMPROVE, ESTIMATE, PROBE, DOCTOR, CACHE, CACHE_CLEAR),
    )


class Place(StoreOption, Cache):
    """Where judges are asked, and replies kept."""

    panel: ClassVar[str] = "Storage"
    rare: ClassVar[tuple[str, ...]] = (
        "budget_name",
        "executor",
        "no_store",
    )
    budget_name: str = option(
        "",
        "Name of the cost limit in the {store}. Runs with the same name share it. "
        "Default: one for all processes of this run.",
        (RUN, RESUME, CONFIRM),
        metavar="NAME",
    )
    executor: str = option(
        "local",
        "Where judges are asked: in this process (local), or by processes on a Ray cluster (ray, "
        "or ray://HOST:PORT) that share a {store}.",
        (RUN, RESUME, CONFIRM, DOCTOR),
        metavar="NAME",
    )
    refresh: bool = option(
        False,
        "Send every request again, and replace the stored replies.",
        (RUN, RESUME, CONFIRM, ESTIMATE, PROBE),
    )
    no_store: bool = option(
        False,
        "Don't use stored replies, and don't store new ones.",
        (RUN, RESUME, CONFIRM, ESTIMATE, PROBE),
    )

    @property
    def resume_words(self) -> list[str]:
        """The words with which a command that resumes a run treats stored replies alike."""
        words = {"--refresh": self.refresh, "--no-store": self.no_store}
        return [word for word, is_given in words.items() if is_given]


def check_place(place: Place) -> None:
    """Refuse a store with options of the cache, and a cluster without a store."""
    if place.store is None and place.executor != "local":
        raise OptionError("", "processes on a cluster need a shared store", "Add {store}")
    if place.refresh and place.no_store:
        problem = "{refresh} stores replies, and {no_store} doesn't"
        raise OptionError("", problem, "Leave one of the two out")
    given = {"cache": place.cache, "refresh": place.refresh, "no_store": place.no_store}
    names = [name for name, value in given.items() if value]
    if place.store is not None and names:
        raise OptionError("", "a store takes the place of the cache", f"Leave {{{names[0]}}} out")


class TaskOption(Options):
    """The task."""

    task: str | None = option(
        None,
        "Name of a task, or path of a task folder.",
        (
            *(*ASKING, VALIDATE, CONFIRM_VERDICTS, EXCLUDE, EXPORT, SCHEDULE),
            *(TRUST_TASK, REPORT_TASK, IMPORT_VERDICTS, CACHE_CLEAR, *PLANS),
        ),
        flag="--task -t",
        texts={
            RUN: "Name of a task, or path of a task folder; several, comma-separated.",
            REVALIDATE: "Name or path of the task, if it has moved.",
            EXPORT: "Name or path of the task, if it is elsewhere now.",
            SCHEDULE: "Name or path of the task in the repository.",
            CACHE_CLEAR: "Only replies that were received for the task of this name or path.",
        },
    )


class VerdictFile(Options):
    """Verdicts that were made elsewhere."""

    verdicts: Path | None = option(
        None,
        "Verdicts of another tool: jsonl, csv or parquet with item, judge, value.",
        (
            *(
                VALIDATE,
                CONFIRM_VERDICTS,
                SELFTEST_VERDICTS,
                TRUST_TASK,
                REPORT_TASK,
                AUDIT,
                DIFF,
            ),
            *(DROP_FINDING, NEXT_FINDING, PLAN_DIFFERENCE_VERDICTS, PLAN_ANNOTATORS_VERDICTS),
            EXPORT_SCORES,
        ),
        texts={
            EXPORT_TABLE: "With --to langfuse or mlflow: the verdicts to write, such as those of a "
            "run; by default verdicts.csv of the task.",
            CONFIRM: "Verdicts of another tool, with some on the items that are held out.",
            SELFTEST: "Verdicts that show how its judges answer.",
            TRUST: "With {task}: the verdicts, jsonl, csv or parquet.",
            REPORT: "With {task}: the verdicts, jsonl, csv or parquet.",
            AUDIT: "Verdicts of judges (a file or a run folder), to measure what findings do to "
            "the decision; by default verdicts.csv of the task.",
            DIFF: "Verdicts of judges; by default verdicts.csv of each version.",
            DROP: "With {finding}: verdicts of judges, where the audit had them.",
            NEXT: "With {finding}: verdicts of judges, where the audit had them.",
            PLAN_DIFFERENCE: "Verdicts on the task's items: jsonl, csv or parquet, also of a run.",
            PLAN_ANNOTATORS: "Verdicts on the task's items: jsonl, csv or parquet, also of a run.",
        },
    )


class Page(Options):
    """A page that a command writes."""

    panel: ClassVar[str] = "Output"
    page: Path | None = option(
        None,
        "Write the result into this file, as a page.",
        (AUDIT, CHECK, HISTORY, STUDY, *SELFTESTS, SIMULATE, REPORT_TASK),
        texts={
            AUDIT: "Write the audit into this file, as a page.",
            CHECK: "Write the card into this file, as a page.",
            HISTORY: "Write the charts into this file, as a page.",
            STUDY: "Write the study into this file, as a page.",
            SELFTEST: "Write a page with charts into this file.",
            SIMULATE: "Write the figures into this file, as charts.",
            REPORT: "With {task}: file of the report; <task>-report.html by default.",
        },
    )


class JudgeName(Options):
    """One judge."""

    judge: str = option(
        ...,
        "The judge of that run to ask.",
        (ESTIMATE, CONFIRM, CONFIRM_VERDICTS, IMPROVE, PROMPT, TRUST, TRUST_TASK),
        flag="--judge -j",
        texts={
            TRUST: "The judge whose verdicts are checked.",
            IMPROVE: "The judge to improve: an alias or a litellm model, or a judge of the run.",
            CONFIRM: "The judge to confirm; only one can be.",
            PROMPT: "Alias or litellm model.",
        },
    )


class Trusting(Options):
    """When the verdict of a judge can stand without a person."""

    max_error: float | None = option(
        None,
        "Share of errors among accepted verdicts, at most, such as 0.1.",
        (TRUST, TRUST_TASK, ESTIMATE),
        texts={
            ESTIMATE: "Also say which of the judge's verdicts can stand without a person, at this "
            "share of errors at most; see `harness trust`."
        },
        gt=0,
        lt=1,
    )
    error_kind: ErrorKind = option(
        "majority",
        "An error differs from the raters' majority, from a random rater, or lies outside a "
        "random rater's response set.",
        (TRUST, TRUST_TASK, ESTIMATE),
        flag="--error",
    )


class Judges(Options):
    """The judges."""

    judges: Names = option(
        None,
        "Judges: aliases or litellm models, comma-separated. Default: the embedded ones.",
        (RUN, PROBE, DOCTOR, REVALIDATE, EXCLUDE, ACCEPT, SCHEDULE),
        flag="--judges -j",
        texts={
            DOCTOR: "Judges that must be usable, comma-separated. Default: all aliases.",
            REVALIDATE: "Watch only these judges, comma-separated. An ensemble brings its members.",
            SCHEDULE: "Watch these judges, comma-separated, or all. Default: the one in use.",
        },
    )


class Subject(Judges, TaskOption):
    """Who is asked about what."""


class Unasked(Options):
    """Whether the user is asked before something is written or removed."""

    panel: ClassVar[str] = "Output"
    unasked: bool = option(
        False,
        "Don't ask for confirmation.",
        (IMPORT, CACHE_CLEAR),
        flag="--yes -y",
        texts={IMPORT: "Write without asking for confirmation."},
    )


class DryRun(Options):
    """Whether something is only shown."""

    panel: ClassVar[str] = "Output"
    dry_run: bool = option(
        False,
        "Print calls, tokens and cost per judge. Nothing is sent or written.",
        (*ASKING, EXCLUDE, IMPORT, CACHE_CLEAR),
        texts={
            IMPORT: "Show how the table is read, and write nothing.",
            CACHE_CLEAR: "Count the replies that would be removed, and remove none.",
        },
    )


class RaterNames(Options):
    """What raters are called in what is passed on."""

    panel: ClassVar[str] = "Output"
    show_raters: bool = option(
        False,
        "Show the raters' names. Without it, raters are called r1, r2, ...",
        (REPORT, REPORT_TASK, REPORT_TWO, VIEW),
    )


class FailUnless(Options):
    """What is demanded of the verdict."""

    panel: ClassVar[str] = "Output"
    fail_unless: Literal["use", "use_if_independent", "best_not_proven"] | None = option(
        None,
        "Exit with code 1 unless the recommendation is this one or a stronger one.",
        (RUN, RESUME, CONFIRM, IMPROVE, *VALIDATING),
    )


class Json(Options):
    """Whether a program reads what is printed."""

    panel: ClassVar[str] = "Output"
    as_json: bool = option(False, "Print JSON instead of a table.", (ANY,), flag="--json")


class Verbosity(Options):
    """How much is printed."""

    panel: ClassVar[str] = "Output"
    details: bool = option(
        False,
        "Print outcomes, costs and all evidence.",
        (RUN, RESUME, CONFIRM, *VALIDATING, REVALIDATE, ACCEPT, EXCLUDE),
    )
    quiet: bool = option(
        False,
        "Print only the result.",
        (*ASKING, *VALIDATING, EXCLUDE),
        flag="--quiet -q",
    )


class Printing(Json, Verbosity):
    """What is printed."""


class Handling(Printing, FailUnless, DryRun):
    """How a command begins, what it prints and how it ends."""


class Out(Options):
    """Where run folders are."""

    panel: ClassVar[str] = "Storage"
    out: Path | None = option(
        None,
        "Folder of the run folders. Default: $HARNESS_RUNS or ./runs.",
        (
            *(*ASKING, EXCLUDE, EXPORT, SCHEDULE, HISTORY, STUDY, REPORT, REPORT_TWO),
            *(GATE, REPORT_LIST, SELF_PREFERENCE, NEXT_ESTIMATE, VIEW, TRUST),
        ),
    )


class RunPlace(Out, Place):
    """Where judges are asked, and replies and runs kept."""


NO_CHOICES, NO_LIMIT, NO_SERVER, HERE, ALL_ITEMS = (
    Choices(),
    Limit(),
    Server(),
    Place(),
    Validating(),
)
