"""Options of `harness estimate`, beside those of a run."""

from __future__ import annotations

from pydantic import field_validator

from harness.command_options import ESTIMATE, Options, option


class EstimateOptions(Options):
    """What is estimated about items without ratings."""

    beta_range: tuple[float, float] | None = option(
        None,
        "Least and greatest share of the raters who chose a negative option that would endorse a "
        "positive one, e.g. 0.1,0.3: estimates the share whose set holds a positive option.",
        (ESTIMATE,),
        metavar="LOW,HIGH",
    )
    n_labels: float | None = option(
        None,
        "Print how many labels would give an interval of this width, too.",
        (ESTIMATE,),
        metavar="WIDTH",
        gt=0,
    )

    @field_validator("beta_range")
    @classmethod
    def _is_ordered(cls, ends: tuple[float, float] | None) -> tuple[float, float] | None:
        if ends is not None and not 0.0 <= ends[0] <= ends[1] <= 1.0:
            raise ValueError("give two ordered values between 0 and 1, such as 0.1,0.3")
        return ends
