"""Options of `harness estimate`, without the options that it shares with `harness run`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

from pydantic import field_validator, model_validator

from harness.errors import OptionError
from harness.options.concerns import Cache, Out, StoredReplies, StoreOption
from harness.options.declaration import Options, option


class EstimatePlace(Out, StoredReplies, StoreOption, Cache):
    """Options for the output folder, stored replies, shared store and cache."""


SYSTEM = "system"  # default field with an output's system


class EstimateOptions(Options):
    """Options for an estimate over items without ratings."""

    panel: ClassVar[str] = "Statistics"
    beta_range: tuple[float, float] | None = option(
        None,
        "Lowest and highest share of raters with a negative choice who would accept a positive "
        "option, e.g. 0.1,0.3. The estimate is then the share of raters whose set contains a "
        "positive option.",
        metavar="LOW,HIGH",
    )
    paired_beta: bool = option(
        False,
        "Estimate the share of raters whose set contains a positive option, from forced choices "
        "and with beta from raters who gave both a choice and a set.",
    )
    strata: str | None = option(
        None,
        "Field of the items, e.g. language. Each of its values gets its own interval, and is "
        "weighted by its share of the unlabelled items.",
        metavar="FIELD",
    )
    by: str | None = option(
        None,
        "Field of the items, e.g. language. Also prints an estimate for each of its values. "
        "Numbers, and 'length in words', are divided into thirds.",
        metavar="FIELD",
    )
    against: Path | None = option(
        None,
        "Outputs of a second system: a file like {items}, with the same ids for the same "
        "prompts. Shows the difference between the systems. The files' names are the systems' "
        "names, unless the field {by} has them (default: system).",
        metavar="FILE",
    )
    n_labels: float | None = option(
        None,
        "Also print the number of rated items at which the interval has this width with a chance "
        f"of 80%. With {by}, the width is of each difference's interval.",
        metavar="WIDTH",
        gt=0,
    )

    until_width: float | None = option(
        None,
        "Print an interval that stays valid however often you check it while rating, and whether "
        "it is this narrow. Items must be rated in random order.",
        metavar="WIDTH",
        gt=0,
    )
    ratings_per_item: int | None = option(
        None,
        "With {until_width}: an item counts once it has this many ratings. Later ones are left "
        "out. Default: 1.",
        ge=1,
    )

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.until_width is None and self.ratings_per_item is not None:
            raise OptionError(
                "ratings_per_item", "this option works only with {until_width}", "Add that option"
            )
        if self.paired_beta and self.beta_range is not None:
            raise OptionError(
                "paired_beta", "beta can be either estimated or assumed", "Leave out {beta_range}"
            )
        if self.strata is not None:
            for name, what in (("until_width", "sequence"), ("paired_beta", "interval of beta")):
                if getattr(self, name):
                    problem = f"there's no valid {what} for items weighted by strata"
                    raise OptionError(name, problem, f"Leave out {{{name}}} or {{strata}}")
        for name in ("paired_beta", "beta_range"):
            for other, what in (("until_width", "sequence"), ("n_labels", "plan")):
                if getattr(self, other) is not None and getattr(self, name):
                    problem = f"there's no {what} for a share that depends on beta"
                    raise OptionError(other, problem, f"Leave out {{{name}}}")
        return self

    @model_validator(mode="after")
    def _by_slice(self) -> Self:
        for name in ("strata", "until_width"):
            if (self.by or self.against) is not None and getattr(self, name) is not None:
                problem = "there's no valid interval by slice with this option"
                raise OptionError(name, problem, f"Leave out {{{name}}} or {{by}}")
        return self

    @property
    def field(self) -> str | None:
        """The field that groups items for estimates, or None if no field is set."""
        return self.by or (SYSTEM if self.against else None)

    @field_validator("beta_range")
    @classmethod
    def _is_ordered(cls, ends: tuple[float, float] | None) -> tuple[float, float] | None:
        if ends is not None and not 0.0 <= ends[0] <= ends[1] <= 1.0:
            raise ValueError("pass two ordered values between 0 and 1, such as 0.1,0.3")
        return ends
