"""Options of `harness lab simulate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from harness.errors import HarnessError
from harness.extras.experiments.paper_figures import FIGURES, RatingModel
from harness.options.concerns import Quick
from harness.options.declaration import option

if TYPE_CHECKING:
    from collections.abc import Sequence

Probability = Annotated[float, Field(ge=0, le=1)]
Skew = Annotated[float, Field(ge=-50, le=50)]
SelectionEffect = Annotated[float, Field(gt=0)]
LISTS = ("sets", "gammas", "epsilons", "etas", "taus")


class SimulationOptions(Quick):
    """Options for the simulated rating model. The defaults are the paper's values."""

    populations: int | None = option(
        None, "Populations per setting. Default: 20, or 3 with --quick.", ge=2
    )
    n_options: int = option(4, "Number of the task's options, K.", flag="--options", ge=2, le=10)
    set_size: int | None = option(
        None, "Maximum number of options in a response set. Default: all.", ge=1
    )
    sets: tuple[str, ...] | None = option(
        None, "Response sets, such as A,B,C,AB: A is the first option.", metavar="LIST"
    )
    gammas: tuple[SelectionEffect, ...] | None = option(
        None, "Selection effects Gamma. Default: 0.5,1,2.", metavar="LIST"
    )
    epsilons: tuple[Probability, ...] | None = option(
        None, "Rates of rater error. Default: 0,0.2,0.4.", metavar="LIST"
    )
    etas: tuple[Skew, ...] | None = option(
        None, "Skews of rater error. Default: -1,0,1.", metavar="LIST"
    )
    taus: tuple[Probability, ...] | None = option(
        None, "Cut-offs. Default: 0.3,0.5,0.7.", metavar="LIST"
    )

    def rating_model(self, figures: Sequence[int]) -> RatingModel:
        """Build the rating model from the options, and check that the figures can use it.

        Raises
        ------
        HarnessError
            If options conflict, or have no effect on these figures.
        """
        self._check(figures)
        paper = RatingModel()
        model = RatingModel(
            n_options=self.n_options,
            set_size=self.set_size,
            sets=self.sets,
            Gammas=self.gammas or paper.Gammas,
            epsilons=self.epsilons or paper.epsilons,
            etas=self.etas or paper.etas,
            error=(
                max(self.epsilons) if self.epsilons else paper.error[0],
                max(self.etas) if self.etas else paper.error[1],
            ),
            taus=self.taus or paper.taus,
        )
        try:
            model.space()
        except ValueError as error:
            raise HarnessError(f"{error}. Change --sets or --options.") from None
        return model

    def _check(self, figures: Sequence[int]) -> None:
        for name in LISTS:
            values = getattr(self, name) or ()
            if repeated := [value for value in values if values.count(value) > 1]:
                raise HarnessError(
                    f"--{name}: {repeated[0]} is listed twice. Remove one of the two."
                )
        if self.set_size is not None and self.sets is not None:
            raise HarnessError("--sets already sets the sizes. Leave out --set-size.")
        if self.set_size is not None and self.set_size > self.n_options:
            raise HarnessError(
                f"--set-size {self.set_size} is more than {self.n_options} options. "
                "Raise --options."
            )
        if self.etas and self.epsilons is not None and not max(self.epsilons):
            raise HarnessError("--etas has no effect without rater error. Raise --epsilons.")
        if not any(FIGURES[figure].has_errors for figure in figures):
            for name in ("epsilons", "etas"):
                if getattr(self, name) is not None:
                    numbers = ", ".join(map(str, figures))
                    raise HarnessError(
                        f"--{name} has no effect on figure {numbers}. Leave out this option."
                    )
