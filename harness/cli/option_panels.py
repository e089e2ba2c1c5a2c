"""Print help for commands with many options: panels by topic, and rare options on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.core import TyperCommand

from harness.cli.first_screen import IS_FULL
from harness.options.declaration import PANELS, declared_options

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter, Parameter

    from harness.options.declaration import DeclaredOption

MOST_UNSORTED = 20  # most options in one list without panels


class PanelCommand(TyperCommand):
    """Command whose help groups its options in panels, and hides rare ones until --help-all."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the arguments, followed by the options in the panels of their topics."""
        if len(self.params) <= MOST_UNSORTED:
            super().format_options(ctx, formatter)
            return
        is_short = any(parameter.name == "help_all" for parameter in self.params)
        shows_rare = ctx.meta.get(IS_FULL, False) or not is_short
        declared = declared_options()
        panels: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            option = declared.get(parameter.name or "")
            row = parameter.get_help_record(ctx)
            if row and (shows_rare or option is None or not option.is_rare):
                panels.setdefault(_panel(parameter, option), []).append(row)
        for title in ("Arguments", *PANELS, "Help"):
            if rows := panels.get(title):
                with formatter.section(title):
                    formatter.write_dl(rows)


def _panel(parameter: Parameter, option: DeclaredOption | None) -> str:
    if parameter.param_type_name == "argument":
        return "Arguments"
    return "Help" if option is None else option.panel
