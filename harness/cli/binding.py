"""Parameters of commands, made of the options that models declare."""

from __future__ import annotations

import inspect
from functools import wraps
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from harness.cli.first_screen import FullHelp
from harness.errors import OptionError, in_sentences
from harness.options.declaration import Options, check_use, flag_of, options_of, read_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from harness.options.declaration import DeclaredOption

    Command = Callable[..., None]
    Use = Callable[[Mapping[str, Any]], str]

MOST_SHOWN = 25  # options on a help page, with --help and --help-all

FULL_HELP = Parameter("help_all", Parameter.KEYWORD_ONLY, default=False, annotation=FullHelp)


def takes(
    *uses: str,
    use: Use | None = None,
    without: Sequence[str] = (),
    **defaults: object,
) -> Callable[[Command], Command]:
    """Give a command the options of its parameters that are models of options.

    A parameter annotated with such a model becomes the options that go with a use of the command;
    the command gets them checked, as that model. Options that do not go with what is done are
    refused, and so are wrong values.

    Parameters
    ----------
    *uses : str
        What the command does: ``"run"``, ``"validate RUN"``.
    use : callable, optional
        Returns which of them from the values of all parameters; the first by default.
    without : sequence of str
        Options that the command has no flag for, as an argument gives them.
    **defaults
        Of options, where they are not those declared; Ellipsis where the command needs a value.
    """

    def bound(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        models = {p.name: p.annotation for p in signature.parameters.values() if _is_model(p)}
        declared = {
            name: option
            for model in models.values()
            for name, option in options_of(model).items()
            if option.goes_with(*uses) and name not in without
        }
        parameters = [
            Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
            *_parameters(signature, declared, uses, defaults),
        ]
        if len(declared) >= MOST_SHOWN:
            parameters.append(FULL_HELP)

        @wraps(command)
        def called(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 -- of any option
            values.pop(FULL_HELP.name, None)
            try:
                given = _given(context)
                check_use(given, use(values) if use else uses[0], *models.values())
                entered = {
                    name: _entered(option, values.pop(name)) for name, option in declared.items()
                }
                read = {name: read_options(model, entered) for name, model in models.items()}
                if "context" in signature.parameters:
                    values["context"] = context
                command(**values, **read)
            except OptionError as error:
                raise usage_error(error) from None

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by typer
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return bound


def usage_error(error: OptionError) -> typer.BadParameter:
    """Return the error of the command line for one about an option."""
    problem, advice = error.worded(flag_of)
    text, hint = in_sentences(problem, advice), None
    if error.option:
        hint = flag_of(error.option)
        text = text.removeprefix(hint).removeprefix("=").removeprefix(": ")
    return typer.BadParameter(text, param_hint=hint)


def task_names(incomplete: str) -> list[str]:
    """Return the task names that start with a text, for shell completion."""
    from harness.tasks.folders import available_tasks

    return [name for name, _ in available_tasks() if name.startswith(incomplete)]


COMPLETIONS = {"task": task_names}


def _is_model(parameter: Parameter) -> bool:
    kind = parameter.annotation
    return isinstance(kind, type) and issubclass(kind, Options)


def _parameters(
    signature: inspect.Signature,
    declared: Mapping[str, DeclaredOption],
    uses: Sequence[str],
    defaults: Mapping[str, object],
) -> Iterator[Parameter]:
    left = dict(declared)
    for parameter in signature.parameters.values():
        if not _is_model(parameter):
            if parameter.name != "context":
                yield parameter
            continue
        for name in options_of(parameter.annotation):
            if (option := left.pop(name, None)) is not None:
                default = defaults.get(name, option.default)
                kind = _annotation(option, uses[0], required=default is ...)
                default = Parameter.empty if default is ... else _shown(default)
                yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _shown(default: object) -> object:
    """Return a default as the command line has it: several values are separated by commas."""
    if isinstance(default, tuple):
        return ",".join(map(str, default)) or None
    return default


def _annotation(option: DeclaredOption, use: str, *, required: bool = False) -> Any:  # noqa: ANN401 -- a type for typer
    """Return the type of an option on the command line, with its names, bounds and help."""
    several = list[str] if option.repeats else str
    kind = several if option.kind is tuple else option.kind
    if option.values and option.kind is not tuple:
        kind = Literal[option.values]
    if option.default in (None, ()) and not required:
        kind = kind | None
    help_text = option.text(use, flag_of)
    if option.range:
        help_text += f"  [{option.range}]"
    return Annotated[
        kind,
        typer.Option(
            *option.declaration,
            metavar=option.metavar,
            envvar=option.variable,
            help=help_text,
            autocompletion=COMPLETIONS.get(option.name),
        ),
    ]


def _given(context: typer.Context) -> list[str]:
    """Return the names of the options on the command line."""
    names = [parameter.name or "" for parameter in context.command.params]
    sources = {name: context.get_parameter_source(name) for name in names}
    return [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]


def _entered(option: DeclaredOption, value: object) -> object:
    """Split the values of an option that takes several."""
    if option.kind is not tuple or value is None or value == []:
        return value or None if option.repeats else value
    texts = value if isinstance(value, list) else [str(value)]
    if not option.is_split:
        return texts
    parts = [name for text in texts for part in text.split(",") if (name := part.strip())]
    if not parts:
        raise OptionError(option.name, "name at least one")
    return parts
