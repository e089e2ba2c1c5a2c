"""Build the parameters of commands from the options that models declare."""

from __future__ import annotations

import inspect
from functools import wraps
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Literal, Optional

import typer

from harness.cli.first_screen import FullHelp
from harness.errors import OptionError, in_sentences
from harness.options.declaration import Options, flag_of, options_of, read_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from harness.options.declaration import DeclaredOption

    Command = Callable[..., None]

MOST_SHOWN = 25  # options on a help page, with --help and --help-all

FULL_HELP = Parameter("help_all", Parameter.KEYWORD_ONLY, default=False, annotation=FullHelp)


def takes(command: Command) -> Command:
    """Replace a command's option models with the options that they declare.

    A parameter annotated with such a model becomes the model's options on the command line. The
    command receives the model with the checked values, and wrong values are refused.
    """
    signature = inspect.signature(command, eval_str=True)
    models = {p.name: p.annotation for p in signature.parameters.values() if _is_model(p)}
    declared = {
        name: option for model in models.values() for name, option in options_of(model).items()
    }
    parameters = [
        Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        *_parameters(signature),
    ]
    if len(declared) >= MOST_SHOWN:
        parameters.append(FULL_HELP)

    @wraps(command)
    def called(context: typer.Context, **values: object) -> None:
        values.pop(FULL_HELP.name, None)
        try:
            entered = {name: values.pop(name) for name in declared}
            given = {
                name: _entered(declared[name], value)
                for name, value in entered.items()
                if _is_given(context, name)
            }
            read = {name: read_options(model, given) for name, model in models.items()}
            if "context" in signature.parameters:
                values["context"] = context
            command(**values, **read)
        except OptionError as error:
            raise usage_error(error) from None

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by typer
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called


def usage_error(error: OptionError) -> typer.BadParameter:
    """Convert an option error into a command-line usage error."""
    problem, advice = error.worded(flag_of)
    text, hint = in_sentences(problem, advice), None
    if error.option:
        hint = flag_of(error.option)
        text = text.removeprefix(hint).removeprefix("=").removeprefix(": ")
    return typer.BadParameter(text, param_hint=hint)


def task_names(incomplete: str) -> list[str]:
    """Return the tasks whose names start with a text, for shell completion."""
    from harness.tasks.folders import available_tasks

    return [name for name, _ in available_tasks() if name.startswith(incomplete)]


COMPLETIONS = {"task": task_names}


def _is_model(parameter: Parameter) -> bool:
    kind = parameter.annotation
    return isinstance(kind, type) and issubclass(kind, Options)


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _parameters(signature: inspect.Signature) -> Iterator[Parameter]:
    for parameter in signature.parameters.values():
        if not _is_model(parameter):
            if parameter.name != "context":
                yield parameter
            continue
        for name, option in options_of(parameter.annotation).items():
            default = Parameter.empty if option.default is ... else _shown(option.default)
            kind = _annotation(option)
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _shown(default: object) -> object:
    """Return a default in command-line format, with commas between several values."""
    if isinstance(default, tuple):
        return ",".join(map(str, default)) or None
    return default


def _annotation(option: DeclaredOption) -> object:
    """Return the command-line type of an option, including its names, bounds and help."""
    several = list[str] if option.repeats else str
    kind = several if option.kind is tuple else option.kind
    if option.values and option.kind is not tuple:
        kind = Literal[option.values]
    if option.default in (None, ()):
        kind = Optional[kind]  # noqa: UP045 -- a type of which mypy knows nothing
    help_text = option.text(flag_of)
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


def _entered(option: DeclaredOption, value: object) -> object:
    """Split a comma-separated value if the option takes several values."""
    if option.kind is not tuple or value is None or value == []:
        return value or None if option.repeats else value
    texts = value if isinstance(value, list) else [str(value)]
    if not option.is_split:
        return texts
    parts = [name for text in texts for part in text.split(",") if (name := part.strip())]
    if not parts:
        raise OptionError(option.name, "pass at least one")
    return parts
