"""Options that several commands share, with one name and one help text."""

from __future__ import annotations

import inspect
import re
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from harness.cli.output import echo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from harness.analysis import Choices, Source, Validation
    from harness.curation import MaxRejected
    from harness.errors import ExitCode
    from harness.tasks.schema import Elicitation

    Command = Callable[..., None]

TASK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Group(TyperGroup):
    """Commands of one subject; named alone, it prints its help."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # of the same class
        """Print the help and end where there are no arguments."""
        if not args and not ctx.resilient_parsing:
            echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)


def split(names: str | None, option: str) -> list[str] | None:
    """Split a comma-separated list; None if the option is absent."""
    if names is None:
        return None
    parts = [name.strip() for name in names.split(",") if name.strip()]
    if not parts:
        raise typer.BadParameter("name at least one", param_hint=option)
    return parts


def max_rejected(text: str) -> MaxRejected:
    """Read a number of rows, or a share of them such as 5%."""
    from harness.curation import MaxRejected

    digits = text.removesuffix("%")
    if not digits.replace(".", "", 1).isdecimal() or (digits == text and not text.isdecimal()):
        raise typer.BadParameter(
            f"{text!r} is neither a number nor a share such as 5%", param_hint="--max-rejected"
        )
    return MaxRejected(int(text)) if digits == text else MaxRejected(share=float(digits) / 100)


def task_names(incomplete: str) -> list[str]:
    """Return the task names that start with a text, for shell completion."""
    from harness.tasks.folders import available_tasks

    return [name for name, _ in available_tasks() if name.startswith(incomplete)]


Task = Annotated[
    str | None,
    typer.Option(
        "--task",
        "-t",
        help="Name of a task, or path of a task folder.",
        autocompletion=task_names,
    ),
]
TaskName = Annotated[
    str,
    typer.Argument(help="Name of a task, or path of a task folder.", autocompletion=task_names),
]
FinishedRun = Annotated[
    str | None, typer.Argument(help="A run, by name or path; the newest by default.")
]
Tasks = Annotated[
    str | None,
    typer.Option(
        "--task",
        "-t",
        help="Name of a task, or path of a task folder; several, comma-separated.",
        autocompletion=task_names,
    ),
]
Tau = Annotated[
    float | None,
    typer.Option(
        help="Share of raters who must allow an option for it to count; the task's by default."
    ),
]
CHOICES: dict[str, Any] = {  # by field of `harness.analysis.Choices`
    "tau": Tau,
    "metric": Annotated[
        str | None,
        typer.Option(
            help="Metric that ranks, e.g. 'hit_rate(h/h)'; by default that of --ranks-by."
        ),
    ],
    "ranks_by": Annotated[
        str | None,
        typer.Option(
            help="Rank by forced_choice or by response_set; by default, as task.yaml says."
        ),
    ],
    "beta": Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Of raters who chose a negative option, assumed share who endorse a positive one.",
        ),
    ],
    "mode": Annotated[
        str | None,
        typer.Option(
            help="CANNOT_ASSESS is left out (exclude), negative (recode), or third_class."
        ),
    ],
    "level": Annotated[
        str | None,
        typer.Option(
            help="Average over decisions (micro) or criteria (macro), or judge whole items (item)."
        ),
    ],
    "confidence": Annotated[
        float | None, typer.Option(help="Confidence level of the intervals; 0.95 by default.")
    ],
    "interval": Annotated[
        str | None,
        typer.Option(help="Method of the intervals: score or percentile."),
    ],
    "replies": Annotated[
        str | None,
        typer.Option(
            help="Replies per item at which judges are compared, or inf; the fewest samples by "
            "default."
        ),
    ],
    "min_answered": Annotated[
        float | None,
        typer.Option(help="Share of items that a ranked judge must have answered; 0.9 by default."),
    ],
    "worth": Annotated[
        float | None,
        typer.Option(
            help="Smallest difference that matters, as a share of the metric's range; 0.05 by "
            "default."
        ),
    ],
    "humans": Annotated[
        str | None,
        typer.Option(
            help="Response sets that raters gave (rated), or those of all who chose, estimated "
            "from the pairs of some (reconstructed). Default: reconstructed where forced choices "
            "rank, the pairs suffice and most choices have no set."
        ),
    ],
}
FailUnless = Annotated[
    str | None,
    typer.Option(
        metavar="VERDICT",
        help="Exit with 1 unless the verdict is use, or at least best_not_proven.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Criterion = Annotated[str | None, typer.Option(help="Only items with this criterion.")]
ShuffleOptions = Annotated[
    bool, typer.Option("--shuffle-options", help="Show each sample the options in another order.")
]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N items.")]
Elicitations = Annotated[
    str | None,
    typer.Option(
        "--elicitation",
        help="How to ask, comma-separated: forced_choice, response_set, paired.",
    ),
]
Pairs = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Items to ask in pairs, too, where raters gave no response sets; 100 by default.",
    ),
]
MaxCost = Annotated[
    float | None, typer.Option(min=0, help="Stop before the run costs more than this many USD.")
]
ReplyCap = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="TOKENS",
        help="Cut replies off here if their judge sets no max_tokens; 4096 under --max-cost.",
    ),
]
MaxCostSoft = Annotated[
    bool,
    typer.Option(
        "--max-cost-soft",
        help="Keep to --max-cost as far as servers that ignore the token limit of replies allow.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print calls, tokens and cost per judge; ask nothing.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Resume RUN, or the newest unfinished run.")]
RunName = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN", help="With --resume: the run, by name or path.", show_default=False
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(help="OpenAI-compatible server of judges that are not aliases."),
]
KeyEnv = Annotated[
    str | None, typer.Option(help="Environment variable that holds that server's key.")
]
JudgesFile = Annotated[
    Path | None,
    typer.Option(help="A judges.yaml of your own; its aliases override the bundled ones."),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder of the run folders; $HARNESS_RUNS or ./runs by default."),
]
Cache = Annotated[
    Path | None, typer.Option(help="Folder of the response cache; $HARNESS_CACHE by default.")
]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Share replies, locks, rates and budget with runs on other machines: "
        "postgresql://HOST/DATABASE. Takes the place of the cache.",
    ),
]
Executor = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Where judges are asked: in this process (local), or by the workers of a Ray cluster "
        "(ray, or ray://HOST:PORT) that share a --store.",
    ),
]
LIMITS: dict[str, Any] = {
    "max_cost": MaxCost,
    "reply_cap": ReplyCap,
    "max_cost_soft": MaxCostSoft,
}
SERVER: dict[str, Any] = {"base_url": BaseUrl, "key_env": KeyEnv, "judges_file": JudgesFile}
NewLedger = Annotated[
    bool,
    typer.Option(
        "--new-ledger",
        help="Do not count the judges tried on these ratings before; the verdict says so.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Details = Annotated[
    bool,
    typer.Option("--details", help="Print outcomes, costs and all evidence."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result alone.")]


WITH_RESUME = frozenset(
    {
        "task",
        "base_url",
        "key_env",
        "judges_file",
        "resume",
        "run_name",
        "max_cost",
        "max_cost_soft",
        "dry_run",
        "fail_unless",
        "out",
        "cache",
        "use_cache",
        "store",
        "executor",
        "quiet",
        "as_json",
        "details",
    }
)
VERDICTS = ("use", "best_not_proven")  # that --fail-unless can demand, the better one first


def check_resume(ctx: typer.Context, *, resume: bool, run_name: str | None) -> None:
    """Refuse options that a resumed run already has, and a run without --resume."""
    if run_name is not None and not resume:
        raise typer.BadParameter(
            f"to resume a run: --resume {run_name}; to start one: --task NAME", param_hint="RUN"
        )
    for option in _options_beside(ctx, WITH_RESUME) if resume else ():
        raise typer.BadParameter(
            f"a resumed run keeps its options; leave {option} out, or start a new run"
        )


def check_limits(*, max_cost: float | None, max_cost_soft: bool, **_: object) -> None:
    """Refuse a soft limit without a limit."""
    if max_cost_soft and max_cost is None:
        raise typer.BadParameter("needs a limit; add --max-cost", param_hint="--max-cost-soft")


def check_without_table(ctx: typer.Context) -> None:
    """Refuse options that describe a table where none is given."""
    for option in ctx.args:
        raise typer.BadParameter(
            f"{option} needs --from FILE, a table; leave it out to write the example"
        )


def _options_beside(ctx: typer.Context, allowed: frozenset[str]) -> Iterator[str]:
    """Yield the options on the command line that are not allowed."""
    for parameter in ctx.command.params:
        name = parameter.name or ""
        source = ctx.get_parameter_source(name)
        if name not in allowed and source is not None and source.name == "COMMANDLINE":
            yield parameter.opts[0]


def task_folder(name: str) -> Path:
    """Return the folder of a new task."""
    from harness.errors import TaskError

    folder = Path(name).expanduser()
    if not TASK_NAME.fullmatch(folder.name):
        raise TaskError(
            f"{folder.name!r} is not a task name; use letters, digits, '.', '_' and '-'."
        )
    return folder


def argument(folder: Path) -> str:
    """Write a folder so that --task takes it for a path."""
    path = str(folder)
    return path if folder.is_absolute() or path.startswith(".") else f"./{path}"


def required_task(task: str | None) -> str:
    """Return the task; a command without one is wrong."""
    if task is None:
        raise typer.BadParameter("name a task, e.g. --task toxicity", param_hint="--task")
    return task


def source(run: str | None, task: str | None, verdicts: Path | None, out: Path | None) -> Source:
    """Read a run, the newest by default, or a task and verdicts of another tool."""
    from harness.runs import find_run
    from harness.sources import source_of, source_of_verdicts

    if task is not None and run is not None:
        raise typer.BadParameter("give a run, or --task and --verdicts, not both")
    if task is not None:
        return source_of_verdicts(task, verdicts)
    if verdicts is not None:
        raise typer.BadParameter("--verdicts needs --task")
    return source_of(find_run(out, run))


def several_tasks(tasks: str | None) -> list[str]:
    """Split tasks that are joined by commas; a folder whose path holds a comma is one task."""
    names = required_task(tasks)
    return [names] if Path(names).exists() else split(names, "--task") or []


def elicitations(names: str | None, pairs: int | None = None) -> tuple[Elicitation, ...] | None:
    """Read ``--elicitation``; in the order of asking. None for the default, with its pairs."""
    from harness.tasks.schema import ELICITATIONS

    chosen = split(names, "--elicitation")
    if chosen is None:
        return None
    if pairs is not None:
        raise typer.BadParameter("--elicitation asks about all items; leave one of the two out")
    for name in chosen:
        if name not in ELICITATIONS:
            raise typer.BadParameter(
                f"{name!r} is not one of {', '.join(ELICITATIONS)}", param_hint="--elicitation"
            )
    return tuple(e for e in ELICITATIONS if e in chosen)


def group(
    parameter: str,
    options: Mapping[str, Any],
    **defaults: Any,  # noqa: ANN401 -- of any option
) -> Callable[[Command], Command]:
    """Give a command a group of options, whose values it gets as a dict in place of a parameter.

    An option without a default is None where it is absent.
    """

    def grouped(command: Command) -> Command:
        added = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=option)
            for name, option in options.items()
        ]
        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [p for old in own for p in (added if old.name == parameter else [old])]

        @wraps(command)
        def called(**values: object) -> None:
            chosen = {name: values.pop(name) for name in options}
            command(**values, **{parameter: chosen})

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by typer
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return grouped


def checked_choices(options: dict[str, object]) -> Choices:
    """Check the options of a validation."""
    from pydantic import ValidationError

    from harness.analysis import Choices

    try:
        return Choices.model_validate(options)
    except ValidationError as error:
        fault = error.errors()[0]
        name = f"--{fault['loc'][0]}".replace("_", "-")
        raise typer.BadParameter(f"{fault['input']!r}: {fault['msg']}", param_hint=name) from None


def checked_holdout(share: float | None) -> float | None:
    """Refuse a holdout that is no share of the items."""
    if share is not None and not 0.0 < share < 1.0:
        raise typer.BadParameter("expected a share between 0 and 1", param_hint="--holdout")
    return share


def check_fail_unless(least: str | None) -> None:
    """Refuse a ``--fail-unless`` that is no verdict, before anything is paid."""
    if least is not None and least not in VERDICTS:
        raise typer.BadParameter(
            f"{least!r} is not one of {', '.join(VERDICTS)}", param_hint="--fail-unless"
        )


def exit_code_of(validation: Validation, least: str | None) -> ExitCode:
    """Return the exit code that ``--fail-unless`` demands, with a line on stderr if it fails."""
    from harness.errors import ExitCode

    verdict = validation.decision.verdict
    if least is None or verdict in VERDICTS[: VERDICTS.index(least) + 1]:
        return ExitCode.DONE
    echo(f"harness: the verdict is {verdict}, --fail-unless asks for {least}.", err=True)
    return ExitCode.CHECK_FAILED
