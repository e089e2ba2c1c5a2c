"""Declaration of options, and conversion of models to a command's options.

A model contains the options of one concern. A field has its default and bounds, and `option` adds
the help. A command or a function of the API accepts all options of the models that it names. The
models determine the command-line parameters (`harness.cli.binding`), the keyword arguments of the
API (`harness.options.keyword_arguments`), and fields of the manifest
(`harness.runs.run_folder.RunConfig`). If an option has a different meaning for a command, a
subclass of its model declares it again.

A text names another option as ``{max_cost}``: ``--max-cost`` on the command line, ``max_cost`` in
Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from inspect import get_annotations
from types import EllipsisType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    ParamSpec,
    Self,
    TypedDict,
    TypeVar,
    Union,
    Unpack,
    cast,
    get_args,
    get_origin,
    overload,
)

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from harness.errors import NAMED, OptionError, fault_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pydantic.fields import FieldInfo

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
Value = TypeVar("Value")
Model = TypeVar("Model", bound="Options")

PANELS = (  # panels of a help page, in order
    *("What", "The table", "Columns", "Answers", "How to run judges", "Cost", "Statistics"),
    *("Storage", "Output"),
)


class Options(BaseModel):
    """Base class of options that belong together.

    Attributes
    ----------
    panel : str
        Part of a help page that shows them, one of `PANELS`.
    """

    panel: ClassVar[str] = "What"
    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, *parts: Options, **more: object) -> Self:
        """Build the options from models that declare some of them, and from other values."""
        values = {name: value for part in parts for name, value in part} | more
        defaults = {name: field.default for name, field in cls.model_fields.items()}
        return cls.model_validate({n: v for n, v in values.items() if v != defaults[n]})

    def words(self) -> list[str]:
        """Return the options as words of a command line."""
        words = []
        for name, declared in options_of(type(self)).items():
            value = getattr(self, name)
            if value not in {None, declared.default}:
                words += declared.words(value)
        return words


@dataclass(frozen=True, slots=True)
class DeclaredOption:
    """Option with its declared properties.

    Attributes
    ----------
    name : str
        Name of the field, and of the argument in Python.
    kind : type
        Type of the values, without None. ``tuple`` if there can be several values.
    values : tuple of str
        The possible values, if they are fixed.
    default : object
        Default value, or Ellipsis if a value is required.
    repeats, is_split : bool
        Whether the option can be repeated, and whether commas separate its values.
    flag : str
        Name on the command line, such as ``--max-cost``.
    declaration : tuple of str
        All names on the command line, such as ``--task``, ``-t`` or ``--item-text/--no-item-text``.
    range : str
        Bounds of a number, such as ``0<=x<1``; empty without bounds.
    panel : str
        Part of a help page that shows it, one of `PANELS`.
    is_rare : bool
        Whether a help page with many options leaves it to ``--help-all``.
    """

    name: str
    kind: object
    annotation: object
    values: tuple[str, ...]
    default: object
    repeats: bool
    is_split: bool
    help: str
    flag: str
    declaration: tuple[str, ...]
    metavar: str | None
    variable: str | None
    range: str
    panel: str
    is_rare: bool

    def text(self, name_of: Callable[[str], str]) -> str:
        """Return the help text, with other options' names in the notation of ``name_of``."""
        text = NAMED.sub(lambda found: name_of(found[1]), self.help)
        return text.replace("{{", "{").replace("}}", "}")

    def words(self, value: object) -> list[str]:
        """Return the command-line words that give the option a value."""
        if not isinstance(value, tuple):
            return [self.flag] if value is True else [self.flag, f"{value}"]
        texts = [f"{part:g}" if isinstance(part, float) else f"{part}" for part in value]
        if (self.repeats and not self.is_split) or any("," in text for text in texts):
            return [word for text in texts for word in (self.flag, text)]
        return [self.flag, ",".join(texts)]


class Bounds(TypedDict, total=False):
    """Bounds of an option's value, with names as in `pydantic.Field`."""

    ge: float
    gt: float
    le: float
    lt: float
    allow_inf_nan: bool
    strict: bool


class Naming(Bounds, total=False):
    """Bounds of an option's value, with the option's names. See `option`."""

    flag: str
    metavar: str | None
    variable: str | None
    rare: bool


@overload
def option(default: EllipsisType, text: str, **more: Unpack[Naming]) -> Any: ...  # noqa: ANN401 -- it has no default with a type


@overload
def option(default: Value, text: str, **more: Unpack[Naming]) -> Value: ...


def option(
    default: object,
    text: str,
    *,
    flag: str = "",
    metavar: str | None = None,
    variable: str | None = None,
    rare: bool = False,
    **bounds: Unpack[Bounds],
) -> object:
    """Declare an option.

    Parameters
    ----------
    default : object
        Default value; None if there is none, Ellipsis if a value is required.
    text : str
        Its meaning, as a sentence.
    flag : str
        Names on the command line, separated by spaces, if they differ from the field's:
        ``"--elicitation"``, ``"--item-text/--no-item-text"``, ``"--judges -j"``.
    metavar : str, optional
        Placeholder for the value in the help.
    variable : str, optional
        Environment variable that can also set it on the command line.
    rare : bool
        Whether a help page with many options leaves it to ``--help-all``.
    **bounds
        Bounds of the value.
    """
    extra = {"flag": flag, "metavar": metavar, "variable": variable, "rare": rare}
    made: object = Field(default, description=text, json_schema_extra=cast("Any", extra), **bounds)
    return made


@cache
def options_of(model: type[BaseModel]) -> dict[str, DeclaredOption]:
    """Return the options that a model declares or inherits, by name."""
    return {
        name: _declared(name, field, _owner(model, name))
        for name, field in model.model_fields.items()
        if isinstance(field.json_schema_extra, dict) and "flag" in field.json_schema_extra
    }


def _owner(model: type[BaseModel], name: str) -> type[Options]:
    """Return the first class that declares a model's field."""
    return next(
        owner
        for owner in reversed(model.__mro__)
        if issubclass(owner, Options) and name in get_annotations(owner)
    )


def _declared(name: str, field: FieldInfo, owner: type[Options]) -> DeclaredOption:
    extra: Any = field.json_schema_extra  # always so in fields from `option`
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
        flag=names[0].partition("/")[0],
        declaration=names,
        metavar=extra["metavar"],
        variable=extra["variable"],
        range=_range(field.metadata),
        panel=owner.panel,
        is_rare=extra["rare"],
    )


def _range(metadata: Sequence[object]) -> str:
    """Return a number's bounds in mathematical notation, such as ``0<=x<1``."""
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


def _kind_of(annotation: object, metadata: Sequence[object]) -> tuple[object, tuple[str, ...]]:
    """Return the type of an option's values, and all values if they are fixed."""
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
    """Return all declared options by name."""
    found: dict[str, DeclaredOption] = {}
    models = [Options]
    while models:
        model = models.pop()
        models += model.__subclasses__()
        found |= options_of(model)
    return found


def flag_of(name: str) -> str:
    """Return an option's name on the command line."""
    known = declared_options().get(name)
    return known.flag if known else f"--{name.replace('_', '-')}"


def leave_out(given: Iterable[str], problem: str, instead: str = "") -> None:
    """Reject the first of some options, because it has no effect.

    Raises
    ------
    OptionError
        For the first such option. ``instead`` is advice for the user.
    """
    for name in sorted(given):
        raise OptionError("", problem, f"Leave out {{{name}}}{instead}")


def read_options(model: type[Model], values: Mapping[str, object]) -> Model:
    """Check the values of options, and replace None by the default.

    Raises
    ------
    OptionError
        For the first wrong value.
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

REPEATED = "repeated"  # marks options that are repeated for each value
SEPARATED = "separated"  # marks options with comma-separated values, which can be repeated


def _names(names: object) -> object:
    return (names,) if isinstance(names, str) else names


Names = Annotated[tuple[str, ...] | None, BeforeValidator(_names)]
Repeated = Annotated[tuple[str, ...], REPEATED]
Lists = Annotated[tuple[str, ...], SEPARATED]
