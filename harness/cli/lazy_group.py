"""A group of commands, each of which is imported when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer._click import Command, HelpFormatter

PASSES_ON = {"ignore_unknown_options": True, "allow_extra_args": True}


class CommandSource(NamedTuple):
    """Where a command is defined.

    Attributes
    ----------
    place : str
        Module in `harness.cli` and the name of a function or `typer.Typer` in it: ``run:run``.
    summary : str
        Its line in the help of the group.
    settings : dict or None
        Of its context, where they are not the default ones.
    """

    place: str
    summary: str
    settings: dict[str, Any] | None = None


class LazyCommands(Mapping[str, "Command"]):
    """Commands by name, imported on access."""

    def __init__(self, sources: Mapping[str, CommandSource]) -> None:
        self.sources = sources
        self._imported: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._imported:
            self._imported[name] = _import_command(name, self.sources[name])
        return self._imported[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)


def lazy_group(sources: Mapping[str, CommandSource]) -> type[TyperGroup]:
    """Return a class of groups with these commands, whose help imports none of them."""

    class LazyGroup(TyperGroup):
        def __init__(self, **settings: Any) -> None:  # noqa: ANN401 -- those of a group
            super().__init__(**settings)
            self.commands = LazyCommands(sources)  # type: ignore[assignment]  # nothing adds to it

        def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # of the same class
            del ctx
            return list(sources)

        def format_commands(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]  # of the same class
            del ctx
            with formatter.section("Commands"):
                formatter.write_dl([(name, source.summary) for name, source in sources.items()])

    return LazyGroup


def _import_command(name: str, source: CommandSource) -> Command:
    module, attribute = source.place.split(":")
    command = getattr(import_module(f"harness.cli.{module}"), attribute)
    parent = typer.Typer(rich_markup_mode=None)
    if isinstance(command, typer.Typer):
        parent.add_typer(command, name=name, short_help=source.summary)
    else:
        parent.command(name, short_help=source.summary, context_settings=source.settings)(command)
    return typer.main.get_group(parent).commands[name]
