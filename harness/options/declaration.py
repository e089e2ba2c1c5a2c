"""How options are declared, and which a command takes.

A model holds the options of one concern. A field has its default and bounds, and by `option` the
help. A command, and a function of the API, takes all options of the models that it names: derived
from them are the parameters of the command line (`harness.cli.binding`), the keyword arguments of
the API (`harness.options.keyword_arguments`), and fields of the manifest
(`harness.runs.run_folder.RunConfig`). Where an option means something else to a command, a subclass
of its model declares it again.

A text names another option as ``{max_cost}``: ``--max-cost`` on the command line, ``max_cost`` in
Python.
"""

from __future__ import annotations

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
    Self,
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

PANELS = (  # of a help page, in order
    *("What", "The table", "Columns", "Answers", "How to run judges", "Cost", "Statistics"),
    *("Storage", "Output"),
)


class Options(BaseModel):
    """Options of one concern.

    Attributes
    ----------
    panel : str
        Part of a help page that shows them, one of `PANELS`.
    """

    panel: ClassVar[str] = "What"
    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, *parts: Options, **more: object) -> Self:
        """Return options with the values of models that declare some of them, and more."""
        values = {name: value for part in parts for name, value in part} | more
        defaults = {name: field.default for name, field in cls.model_fields.items()}
        return cls.model_validate({n: v for n, v in values.items() if v != defaults[n]})

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
        """Return the help, with the names of other options as a reader knows them."""
        text = NAMED.sub(lambda found: name_of(found[1]), self.help)
        return text.replace("{{", "{").replace("}}", "}")


def option(
    default: object,
    text: str,
    *,
    flag: str = "",
    metavar: str | None = None,
    variable: str | None = None,
    rare: bool = False,
    **bounds: Any,  # noqa: ANN401 -- of `pydantic.Field`
) -> Any:  # noqa: ANN401 -- as `pydantic.Field`
    """Declare an option.

    Parameters
    ----------
    default : object
        None for none; Ellipsis where a value is needed.
    text : str
        What it means, as a sentence.
    flag : str
        Its names on the command line, separated by spaces, where they are not made of the field's:
        ``"--elicitation"``, ``"--item-text/--no-item-text"``, ``"--judges -j"``.
    metavar : str, optional
        What stands for the value in the help.
    variable : str, optional
        Variable of the environment that the command line takes it from, too.
    rare : bool
        Whether a help page with many options leaves it to ``--help-all``.
    **bounds
        As of `pydantic.Field`: ``ge``, ``le``, ``gt``, ``lt`` and so on.
    """
    extra = {"flag": flag, "metavar": metavar, "variable": variable, "rare": rare}
    return Field(default, description=text, json_schema_extra=cast("Any", extra), **bounds)


@cache
def options_of(model: type[BaseModel]) -> dict[str, DeclaredOption]:
    """Return the options that a model declares or inherits, by name."""
    return {
        name: _declared(name, field, _owner(model, name))
        for name, field in model.model_fields.items()
        if isinstance(field.json_schema_extra, dict) and "flag" in field.json_schema_extra
    }


def _owner(model: type[BaseModel], name: str) -> type[Options]:
    """Return the class that first declares a field of a model."""
    return next(
        owner
        for owner in reversed(model.__mro__)
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
        flag=names[0].partition("/")[0],
        declaration=names,
        metavar=extra["metavar"],
        variable=extra["variable"],
        range=_range(field.metadata),
        panel=owner.panel,
        is_rare=extra["rare"],
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


def _kind_of(annotation: object, metadata: Sequence[object]) -> tuple[object, tuple[str, ...]]:
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


def leave_out(given: Iterable[str], problem: str, instead: str = "") -> None:
    """Refuse options that were given where they have no effect.

    Raises
    ------
    OptionError
        For the first one, which says what to do ``instead``.
    """
    for name in sorted(given):
        raise OptionError("", problem, f"Leave {{{name}}} out{instead}")


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
