"""How options are declared, and which go with what is done.

A model holds the options of one concern. A field has its default and bounds, and by `option` the
help and the uses that it goes with. Derived from it are the parameters of the command line
(`harness.cli.binding`), the keyword arguments of the API (`harness.options.keyword_arguments`), and
fields of the manifest (`harness.runs.run_folder.RunConfig`). `check_use` refuses an option that
does not go with a use, everywhere.

A text names another option as ``{max_cost}``: ``--max-cost`` on the command line, ``max_cost`` in
Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from inspect import get_annotations
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from harness.errors import NAMED, OptionError, fault_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pydantic.fields import FieldInfo

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
Model = TypeVar("Model", bound="Options")

# What options go with: a command, or a command with an argument that leaves others without effect.
RUN, RESUME = "run", "resume"
CONFIRM, CONFIRM_VERDICTS = "confirm", "confirm --verdicts"
ESTIMATE = "estimate"
IMPROVE = "improve"
SELFTEST, SELFTEST_TASK = "lab selftest", "lab selftest TASK"
SELFTEST_VERDICTS, SELFTEST_RUN = "lab selftest TASK --verdicts", "lab selftest --run"
SELFTESTS = (SELFTEST, SELFTEST_TASK, SELFTEST_VERDICTS, SELFTEST_RUN)
SIMULATE = "lab simulate"
VALIDATE, VALIDATE_RUN = "validate", "validate RUN"
PROBE = "lab probe"
CHECK = "check"
SELF_PREFERENCE = "lab probe self-preference"
PROMPT = "prompt"
GATE = "gate"
CACHE, CACHE_CLEAR = "cache", "cache clear"
TASKS, METRICS = "tasks", "lab metrics"
DOCTOR = "doctor"
JUDGES = "judges"
REVALIDATE = "revalidate"
ACCEPT, EXCLUDE = "revalidate rebase", "revalidate exclude"
EXPORT = "revalidate export"
SCHEDULE = "revalidate schedule"
HISTORY = "history"
STUDY = "lab study"
TRUST, TRUST_TASK = "trust", "trust --task"
REPORT, REPORT_TASK, REPORT_TWO = "report", "report --task", "report RUN RUN"
REPORT_LIST = "report --list"
VIEW = "view"
ANNOTATE, ANNOTATE_EXPORT = "annotate", "annotate --export"
ANNOTATE_MERGE = "annotate --merge"
AUDIT, DIFF = "curate audit", "curate diff"
DROP, DROP_FINDING = "curate drop", "curate drop --finding"
IMPORT, IMPORT_INTO = "curate import", "curate import --into"
IMPORT_EXPORTED = "curate import FILE.task.yaml"
NEXT, NEXT_FINDING = "curate next", "curate next --finding"
NEXT_ESTIMATE = "curate next --for estimate"
SAMPLE, SAMPLE_LEVELS = "curate sample", "curate sample --by disagreement"
EXPORT_TABLE, EXPORT_TEAM = "curate export", "curate export --to"
EXPORT_SCORES = "curate export --to langfuse"
IMPORT_VERDICTS = "curate verdicts"
PLAN_DIFFERENCE, PLAN_DIFFERENCE_VERDICTS = "plan difference", "plan difference --verdicts"
PLAN_ANNOTATORS, PLAN_ANNOTATORS_VERDICTS = "plan annotators", "plan annotators --verdicts"
PLANS = (
    *(PLAN_DIFFERENCE, PLAN_DIFFERENCE_VERDICTS),
    *(PLAN_ANNOTATORS, PLAN_ANNOTATORS_VERDICTS),
)
ANY = "*"  # goes with all commands that take its model
REASONS = {  # why the other options do not go with a use, and what to do instead
    RESUME: ("a resumed run keeps its options", ", or start a new run"),
    CONFIRM: ("a confirmation keeps the options of its run", ""),
    CONFIRM_VERDICTS: ("verdicts made elsewhere are confirmed, and nothing is asked", ""),
    VALIDATE_RUN: ("a run is validated with its own verdicts, items and seed", ""),
    ACCEPT: ("accepting a look asks for what it needs, and compares nothing", ""),
    EXCLUDE: ("excluding a look asks and compares nothing", ""),
    IMPORT_EXPORTED: ("the table is read as FILE.task.yaml beside it says", ""),
    PLAN_DIFFERENCE_VERDICTS: ("verdicts show how judges answer", ""),
    PLAN_ANNOTATORS_VERDICTS: ("verdicts show how judges answer", ""),
}
PANELS = (  # of a help page, in order
    *("What", "The table", "Columns", "Answers", "How to run judges", "Cost", "Statistics"),
    *("Storage", "Output"),
)
VALIDATING = (VALIDATE, VALIDATE_RUN, CONFIRM_VERDICTS)
ASKING = (RUN, RESUME, CONFIRM, IMPROVE, ESTIMATE, PROBE, CHECK, REVALIDATE, ACCEPT)


class Options(BaseModel):
    """Options of one concern.

    Attributes
    ----------
    panel : str
        Part of a help page that shows them, one of `PANELS`.
    rare : tuple of str
        Those that a help page with many options leaves to ``--help-all``.
    """

    panel: ClassVar[str] = "What"
    rare: ClassVar[tuple[str, ...]] = ()
    model_config = ConfigDict(frozen=True, extra="forbid")

    def words(self) -> list[str]:
        """Return the options as they are given on the command line."""
        words = []
        for name, declared in options_of(type(self)).items():
            value = getattr(self, name)
            if value not in {None, declared.default}:
                words.append(declared.flag)
                text = ",".join(value) if isinstance(value, tuple) else f"{value}"
                words += [] if value is True else [text]
        return words


@dataclass(frozen=True, slots=True)
class DeclaredOption:
    """An option, as it is declared.

    Attributes
    ----------
    name : str
        Of the field and of the argument in Python.
    kind : type
        Of its values, without None; ``tuple`` for several.
    values : tuple of str
        The values that it may have, where those are fixed.
    default : object
        Ellipsis where a value is needed.
    repeats, is_split : bool
        Whether it may be given more than once; whether commas separate its values.
    uses : tuple of str
        What it goes with.
    flag : str
        On the command line: ``--max-cost``.
    declaration : tuple of str
        All its names there, such as ``--task``, ``-t`` or ``--item-text/--no-item-text``.
    range : str
        Bounds of a number, such as ``0<=x<1``; empty without one.
    panel : str
        Part of a help page that shows it, one of `PANELS`.
    is_rare : bool
        Whether a help page with many options leaves it to ``--help-all``.
    """

    name: str
    kind: Any
    annotation: Any
    values: tuple[str, ...]
    default: Any
    repeats: bool
    is_split: bool
    help: str
    help_for: Mapping[str, str]
    uses: tuple[str, ...]
    flag: str
    declaration: tuple[str, ...]
    metavar: str | None
    variable: str | None
    range: str
    panel: str
    is_rare: bool

    def goes_with(self, *uses: str) -> bool:
        """Whether it goes with one of these uses."""
        return ANY in self.uses or not set(uses).isdisjoint(self.uses)

    def text(self, use: str, name_of: Callable[[str], str]) -> str:
        """Return the help for a use, with the names of other options as a reader knows them."""
        shared = self.help_for.get(use.rpartition(" ")[0], self.help)  # the whole group's
        text = NAMED.sub(lambda found: name_of(found[1]), self.help_for.get(use, shared))
        return text.replace("{{", "{").replace("}}", "}")


def option(
    default: object,
    text: str,
    uses: Sequence[str],
    *,
    flag: str = "",
    metavar: str | None = None,
    variable: str | None = None,
    texts: Mapping[str, str] | None = None,
    **bounds: Any,  # noqa: ANN401 -- of `pydantic.Field`
) -> Any:  # noqa: ANN401 -- as `pydantic.Field`
    """Declare an option.

    Parameters
    ----------
    default : object
        None for none; Ellipsis where a value is needed.
    text : str
        What it means, as a sentence.
    uses : sequence of str
        What it goes with.
    flag : str
        Its names on the command line, separated by spaces, where they are not made of the field's:
        ``"--elicitation"``, ``"--item-text/--no-item-text"``, ``"--judges -j"``.
    metavar : str, optional
        What stands for the value in the help.
    variable : str, optional
        Variable of the environment that the command line takes it from, too.
    texts : mapping of str to str
        What it means in some uses, where that is not ``text``.
    **bounds
        As of `pydantic.Field`: ``ge``, ``le``, ``gt``, ``lt`` and so on.
    """
    extra: dict[str, object] = {
        "uses": list(uses),
        "flag": flag,
        "metavar": metavar,
        "texts": dict(texts or {}),
    }
    extra["variable"] = variable
    return Field(default, description=text, json_schema_extra=cast("Any", extra), **bounds)


@cache
def options_of(model: type[BaseModel]) -> dict[str, DeclaredOption]:
    """Return the options that a model declares or inherits, by name."""
    return {
        name: _declared(name, field, _owner(model, name))
        for name, field in model.model_fields.items()
        if isinstance(field.json_schema_extra, dict) and "uses" in field.json_schema_extra
    }


def _owner(model: type[BaseModel], name: str) -> type[Options]:
    """Return the class that declares a field of a model."""
    return next(
        owner
        for owner in model.__mro__
        if issubclass(owner, Options) and name in get_annotations(owner)
    )


def _declared(name: str, field: FieldInfo, owner: type[Options]) -> DeclaredOption:
    extra: Any = field.json_schema_extra  # as `option` makes it
    kind, values = _kind_of(field.annotation, field.metadata)
    names = tuple((extra["flag"] or f"--{name.replace('_', '-')}").split())
    return DeclaredOption(
        name=name,
        kind=kind,
        annotation=field.annotation,
        values=values,
        default=... if field.is_required() else field.default,
        repeats=REPEATED in field.metadata or SEPARATED in field.metadata,
        is_split=kind is tuple and REPEATED not in field.metadata,
        help=field.description or "",
        help_for=extra["texts"],
        uses=tuple(extra["uses"]),
        flag=names[0].partition("/")[0],
        declaration=names,
        metavar=extra["metavar"],
        variable=extra["variable"],
        range=_range(field.metadata),
        panel=owner.panel,
        is_rare=name in owner.rare,
    )


def _range(metadata: Sequence[object]) -> str:
    """Return the bounds of a number as they are read: ``0<=x<1``."""
    signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
    bounds = {
        sign: f"{bound:g}"
        for name, sign in signs.items()
        for item in metadata
        if (bound := getattr(item, name, None)) is not None
    }
    below = [bound + sign.replace(">", "<") for sign, bound in bounds.items() if ">" in sign]
    above = [sign + bound for sign, bound in bounds.items() if "<" in sign]
    if below and not above:
        return "".join(f"x{sign}{bound}" for sign, bound in bounds.items())
    return f"{''.join(below)}x{''.join(above)}" if above else ""


def _kind_of(annotation: object, metadata: Sequence[object]) -> tuple[Any, tuple[str, ...]]:
    """Return the type of the values of an option, and the values where they are fixed."""
    if get_origin(annotation) in {Union, UnionType}:
        kinds = [member for member in get_args(annotation) if member is not NoneType]
        annotation = kinds[0] if len(kinds) == 1 else str
    if get_origin(annotation) is Annotated:
        return _kind_of(get_args(annotation)[0], metadata)
    if get_origin(annotation) is tuple:
        member = get_args(annotation)[0]
        return tuple, get_args(member) if get_origin(member) is Literal else ()
    values = get_args(annotation) if get_origin(annotation) is Literal else ()
    return annotation, values


def declared_options() -> dict[str, DeclaredOption]:
    """Return all options that are declared, by name."""
    found: dict[str, DeclaredOption] = {}
    models = [Options]
    while models:
        model = models.pop()
        models += model.__subclasses__()
        found |= options_of(model)
    return found


def flag_of(name: str) -> str:
    """Return the name of an option on the command line."""
    known = declared_options().get(name)
    return known.flag if known else f"--{name.replace('_', '-')}"


def check_use(given: Iterable[str], use: str, *models: type[BaseModel]) -> None:
    """Refuse options that do not go with what is done.

    Parameters
    ----------
    given : iterable of str
        Names of the options that the user gave.
    use : str
        What is done, such as `RESUME`.
    models : type of Options
        That declare them; what they do not declare is not checked.

    Raises
    ------
    OptionError
        For the first one that does not.
    """
    known: dict[str, DeclaredOption] = {}
    for model in models:
        known |= options_of(model)
    for name in given:
        if name in known and not known[name].goes_with(use):
            problem, instead = REASONS.get(use) or (_only_with(known[name], use), "")
            raise OptionError("", problem, f"Leave {{{name}}} out{instead}")


def _only_with(declared: DeclaredOption, use: str) -> str:
    """Say with which other uses of a command an option goes."""
    command = _command(use)
    others = [other for other in declared.uses if _command(other) == command != other]
    if command in declared.uses or not others:
        return f"it does not go with `{use}`"
    return f"{{{declared.name}}} goes with `{'` or `'.join(others)}`"


def _command(use: str) -> str:
    """Return the command of a use: ``curate next`` of ``curate next --finding``."""
    return re.split(r" (?=-|[A-Z])", use, maxsplit=1)[0]


def read_options(model: type[Model], values: Mapping[str, object]) -> Model:
    """Check values of options; those that are None have their defaults.

    Raises
    ------
    OptionError
        For the first one that is wrong.
    """
    present = {
        name: value
        for name, value in values.items()
        if name in model.model_fields and value is not None
    }
    try:
        return model.model_validate(present)
    except ValidationError as error:
        fault = fault_of(error)
        if not fault.place:
            raise OptionError("", fault.problem) from None
        name = fault.place.partition(".")[0]
        raise OptionError(name, fault.problem, found=fault.found) from None


# Kinds of values

REPEATED = "repeated"  # marks options that are given once for each value
SEPARATED = "separated"  # that are given once or more, with values separated by commas


def _names(names: object) -> object:
    return (names,) if isinstance(names, str) else names


Names = Annotated[tuple[str, ...] | None, BeforeValidator(_names)]
Repeated = Annotated[tuple[str, ...], REPEATED]
Lists = Annotated[tuple[str, ...], SEPARATED]
