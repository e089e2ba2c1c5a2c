"""Keyword arguments of the Python API, derived from the declared options."""

from __future__ import annotations

import inspect
import re
from functools import wraps
from inspect import Parameter
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from harness.errors import HarnessError, OptionError, did_you_mean, in_sentences
from harness.options.concerns import Choices, Handling, RunOptions, RunPlace, Server, Subject
from harness.options.declaration import DeclaredOption, Options, options_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
SHARED = (RunOptions, Server, RunPlace, Choices, Subject, Handling)  # flags that errors name

TABLE = "If this name describes a table of ratings, pass it as a key of mapping"


def keywords(
    *models: type[Options], without: Sequence[str] = ()
) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Replace a function's ``**options`` with the keyword arguments of some models.

    The options appear in its signature and docstring, except those in ``without``, which are only
    for the command line. Errors name arguments, not flags.
    """

    def derived(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        taken = {
            name: declared
            for model in models
            for name, declared in options_of(model).items()
            if name not in without
        }
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind != Parameter.VAR_KEYWORD]
        added = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=o.default, annotation=o.annotation)
            for name, o in taken.items()
        ]

        def check_names(values: Mapping[str, object]) -> None:
            for name in values:
                if name not in signature.parameters and name not in taken:
                    near = did_you_mean(name, [p.name for p in (*own, *added)])
                    table = TABLE if "mapping" in signature.parameters else ""
                    advice = in_sentences(near, table)
                    problem = f"harness.{function.__name__} has no option with this name"
                    raise OptionError(name, problem, advice, found=values[name])

        @wraps(function)
        def called(*args: Parameters.args, **values: Parameters.kwargs) -> Returned:
            check_names(values)
            try:
                return function(*args, **values)
            except HarnessError as error:
                raise in_python(error, *models) from None

        called.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]  # read by inspect
        called.__doc__ = (function.__doc__ or "").replace(
            "    **options\n", "".join(map(_described, taken.values()))
        )
        return called

    return derived


def _described(declared: DeclaredOption) -> str:
    """Return the paragraph that describes an option in a docstring."""
    kind = getattr(declared.kind, "__name__", str(declared.kind))
    if declared.values:
        kind = f"{{{', '.join(map(repr, declared.values))}}}"
        kind = f"sequence of {kind}" if declared.kind is tuple else kind
    default = "optional" if declared.default is None else f"default {declared.default!r}"
    text = declared.text(lambda name: f"``{name}``")
    return f"    {declared.name} : {kind}, {default}\n        {text}\n"


def in_python(error: HarnessError, *models: type[Options]) -> HarnessError:
    """Replace flags with argument names in an error message, except within commands.

    The flags are those of ``models`` and of all options for running or validating judges.
    """
    by_flag = {o.flag: o for model in (*SHARED, *models) for o in options_of(model).values()}

    def renamed(found: re.Match[str]) -> str:
        declared, value = by_flag.get(found[1]), found[2] or ""
        if declared is None:
            return found[0]
        if value and re.fullmatch(r"[\d.]+(?<!\.)", value) and declared.kind in {int, float, str}:
            return f"{declared.name}={value}"
        if value in declared.values:
            return f"{declared.name}={value!r}"
        return f"{declared.name} {value}".rstrip() if value else declared.name

    def outside_commands(text: str) -> str:
        parts = re.split(r"(`[^`]*`|\bharness [a-z][^.;]*)", text)
        return "".join(
            part if k % 2 else re.sub(r"(--[a-z][a-z-]+)(?: ([\w.]*[\w]))?", renamed, part)
            for k, part in enumerate(parts)
        )

    error.reword(outside_commands)
    return error
