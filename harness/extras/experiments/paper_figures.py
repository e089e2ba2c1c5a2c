"""Tables of the published synthetic experiments, by setting, metric and quantity.

They come from Guerdan et al. 2025, section 6 and appendix D. Means are over newly drawn
populations, so they reproduce the shape of the figures, but not their third digit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

from harness.extras.experiments.judge_selection import (
    CORRELATED,
    SELECTED,
    selection_experiment,
    standard_scenarios,
)
from harness.extras.experiments.rater_effects import (
    error_experiment,
    prevalence_experiment,
    sampling_experiment,
)
from harness.extras.experiments.simulation import TAUS, Scenario, gamma_for
from harness.stats import METRICS, OptionSpace, find_metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from harness.extras.experiments.simulation import ExperimentRow
    from harness.stats import Metric


class RepeatSettings(TypedDict):
    """Keyword arguments of `repeat`."""

    seed: int
    n_populations: int
    taus: Sequence[float]


N_OPTIONS = 4  # of the underspecified task, in which raters can accept any set of them
LETTERS = "ABCDEFGHIJ"  # names of options
GAMMAS = (0.5, 1.0, 2.0)
EPSILONS = (0.0, 0.2, 0.4)
ETAS = (-1.0, 0.0, 1.0)
MAIN = (
    "hit_rate(h/h)",
    "kl_dirichlet_0.5(s/s, human->judge)",
    "coverage(h/hrs)",
    "mse(srs/srs)",
)
WIDE = (
    *("hit_rate(h/h)", "cohen_kappa(h/h)", "krippendorff_alpha_nominal(h/h)"),
    *("kl_dirichlet_0.5(s/s, human->judge)", "ce_dirichlet_0.5(s/s, human->judge)"),
    *("js_divergence(s/s)", "mse(s/s)", "coverage(h/hrs)", "mse(srs/srs)"),
)
RANKINGS = ("hit_rate(h/h)", "cohen_kappa(h/h)", "js_divergence(s/s)", "mse(srs/srs)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingModel:
    """Rating model of the experiments. The defaults are the paper's values.

    Attributes
    ----------
    n_options : int
        K in the underspecified task.
    set_size : int or None
        Maximum number of options in a response set, or None for all.
    sets : tuple of str or None
        The response sets, if not all sets of a size. "AC" contains the first and third option.
    Gammas, epsilons, etas : tuple of float
        Selection effects, and sizes and skews of rater error, to compare. The standard
        settings use the smallest and largest Gamma.
    error : (float, float)
        Size and skew of rater error in the standard settings.
    taus : tuple of float
        Cut-offs.
    """

    n_options: int = N_OPTIONS
    set_size: int | None = None
    sets: tuple[str, ...] | None = None
    Gammas: tuple[float, ...] = GAMMAS
    epsilons: tuple[float, ...] = EPSILONS
    etas: tuple[float, ...] = ETAS
    error: tuple[float, float] = (0.3, 1.0)
    taus: tuple[float, ...] = TAUS

    def space(self) -> OptionSpace:
        """Return the options and the possible response sets.

        Raises
        ------
        ValueError
            If a set names an unknown option, or an option is in no set.
        """
        options = tuple(LETTERS[: self.n_options])
        if self.sets is not None:
            return OptionSpace(options, tuple(map(tuple, self.sets)))
        full = OptionSpace.powerset(options)
        most = self.set_size or self.n_options
        return OptionSpace(options, tuple(s for s in full.sets if len(s) <= most))


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Numbers of populations, items and judges to simulate, with the rating model.

    Attributes
    ----------
    n_populations : int
        Per setting.
    n_items, n_judges : int
        Per population.
    ratings : tuple of int
        Numbers of human ratings per item to compare.
    model : RatingModel
        Model of raters and judges.
    """

    n_populations: int = 20
    n_items: int = 100
    n_judges: int = 50
    ratings: tuple[int, ...] = (1, 3, 5, 10, 100)
    model: RatingModel = RatingModel()


FULL = Size()
QUICK = Size(n_populations=3, n_items=40, n_judges=12, ratings=(1, 3, 10))


def _standard(size: Size) -> dict[str, Scenario]:
    model = size.model
    space, (epsilon, eta) = model.space(), model.error
    full = OptionSpace.singletons(space.options)
    Gammas = (min(model.Gammas), max(model.Gammas))
    return _sized(standard_scenarios(space, full, Gammas=Gammas, epsilon=epsilon, eta=eta), size)


def _sized(scenarios: Mapping[str, Scenario], size: Size) -> dict[str, Scenario]:
    return {
        name: replace(scenario, n_items=size.n_items, n_judges=size.n_judges)
        for name, scenario in scenarios.items()
    }


def _effects(size: Size) -> dict[str, Scenario]:
    """Return a scenario for every pair of human and judge selection effects."""
    space = size.model.space()
    gammas = {Gamma: gamma_for(space, Gamma) for Gamma in size.model.Gammas}
    scenarios = {
        f"Gamma humans {h:g}, judges {j:g}": Scenario(
            space=space, gamma_human=gammas[h], gamma_judge=gammas[j]
        )
        for h in size.model.Gammas
        for j in size.model.Gammas
    }
    return _sized(scenarios, size)


def _errors(size: Size, *, judges: float = 1.0) -> dict[str, Scenario]:
    """Return a scenario for every combination of rater error and human selection effect."""
    space = size.model.space()
    scenarios = {
        f"Gamma {Gamma:g}, epsilon {epsilon:g}, eta {eta:g}": Scenario(
            space=space,
            epsilon=epsilon,
            eta=eta,
            gamma_human=gamma_for(space, Gamma),
            gamma_judge=gamma_for(space, judges),
        )
        for Gamma in size.model.Gammas
        for epsilon in size.model.epsilons
        for eta in (size.model.etas if epsilon else (0.0,))
    }
    return _sized(scenarios, size)


def _rows_of(names: Iterable[str]) -> list[Metric]:
    return [find_metric(name, METRICS) for name in names]


def _chosen(
    scenarios: dict[str, Scenario],
    ratings: Sequence[int | None],
    metrics: Iterable[str],
    quantities: Sequence[str],
    **settings: Any,  # noqa: ANN401 -- of `repeat`
) -> list[ExperimentRow]:
    """Run the selection experiment for some metrics, and return the rows by quantity."""
    rows = selection_experiment(scenarios, ratings, rows=_rows_of(metrics), **settings)
    return [row for quantity in quantities for row in rows if row.quantity == quantity]


def _by_ratings(
    size: Size, settings: RepeatSettings, metrics: tuple[str, ...]
) -> list[ExperimentRow]:
    return _chosen(_standard(size), size.ratings, metrics, SELECTED, **settings)


def _raters(size: Size, settings: RepeatSettings) -> list[ExperimentRow]:
    named = {
        name.split(",")[0]: scenario
        for name, scenario in _effects(size).items()
        if scenario.gamma_human == scenario.gamma_judge  # the judges do not matter
    }
    sampled = sampling_experiment(named, size.ratings, **settings)
    return [*sampled, *prevalence_experiment(named, **settings)]


@dataclass(frozen=True, slots=True)
class Experiment:
    """Experiment behind a figure: a title, and a function that computes the rows.

    ``has_errors`` is True if rater error matters.
    """

    title: str
    make: Callable[[Size, RepeatSettings], list[ExperimentRow]]
    has_errors: bool = True

    def rows(self, seed: int, size: Size) -> list[ExperimentRow]:
        """Run the experiment. ``seed`` determines every draw."""
        return self.make(
            size, {"seed": seed, "n_populations": size.n_populations, "taus": size.model.taus}
        )


FIGURES: dict[int, Experiment] = {
    4: Experiment(
        "Performance of the judges selected by each metric, by ratings per item",
        lambda size, settings: _by_ratings(size, settings, MAIN),
    ),
    5: Experiment(
        "Rank correlation of metrics with downstream performance",
        lambda size, settings: _chosen(_standard(size), [None], WIDE, CORRELATED, **settings),
    ),
    6: Experiment(
        "Effects of few ratings and forced choices on decisions and prevalence",
        _raters,
        has_errors=False,
    ),
    10: Experiment(
        "Judge selection by hit rate under rater error",
        lambda size, settings: _chosen(
            _errors(size, judges=2.0), size.ratings[-1:], ["hit_rate(h/h)"], SELECTED, **settings
        ),
    ),
    11: Experiment(
        "Ranking of judges with and without rater error",
        lambda size, settings: error_experiment(_errors(size), rows=_rows_of(RANKINGS), **settings),
    ),
    12: Experiment(
        "Prevalence from forced choices under rater error",
        lambda size, settings: prevalence_experiment(_errors(size), **settings),
    ),
    13: Experiment(
        "Figure 4 for more metrics",
        lambda size, settings: _by_ratings(size, settings, WIDE),
    ),
    14: Experiment(
        "Figure 5 for every pair of selection effects",
        lambda size, settings: _chosen(_effects(size), [None], WIDE, CORRELATED, **settings),
        has_errors=False,
    ),
    15: Experiment(
        "Decisions and prevalence from few ratings",
        lambda size, settings: sampling_experiment(_standard(size), size.ratings, **settings),
    ),
}
