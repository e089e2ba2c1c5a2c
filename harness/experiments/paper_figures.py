"""The published synthetic experiments as tables: their settings, metrics and quantities.

Guerdan et al. 2025, section 6 and appendix D. Means over populations drawn here: the shape of the
figures, not their third digit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from harness.experiments.judge_selection import (
    CORRELATED,
    SELECTED,
    selection_experiment,
    standard_scenarios,
)
from harness.experiments.rater_effects import (
    error_experiment,
    prevalence_experiment,
    sampling_experiment,
)
from harness.experiments.simulation import Scenario, gamma_for
from harness.stats import METRICS, OptionSpace, find_metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from harness.experiments.simulation import ExperimentRow
    from harness.stats import Metric

Settings: TypeAlias = "dict[str, int]"  # seed and number of populations
N_OPTIONS = 4  # of the underspecified task: every set of them may be endorsed
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
class Size:
    """How much is simulated.

    Attributes
    ----------
    n_populations : int
        Per setting.
    n_items, n_judges : int
        Per population.
    ratings : tuple of int
        Human ratings per item that are compared.
    """

    n_populations: int = 20
    n_items: int = 100
    n_judges: int = 50
    ratings: tuple[int, ...] = (1, 3, 5, 10, 100)


FULL = Size()
QUICK = Size(n_populations=3, n_items=40, n_judges=12, ratings=(1, 3, 10))


def _space() -> OptionSpace:
    return OptionSpace.powerset(f"option {k}" for k in range(N_OPTIONS))


def _standard(size: Size) -> dict[str, Scenario]:
    space = _space()
    full = OptionSpace.singletons(space.options)
    return _sized(standard_scenarios(space, full), size)


def _sized(scenarios: Mapping[str, Scenario], size: Size) -> dict[str, Scenario]:
    return {
        name: replace(scenario, n_items=size.n_items, n_judges=size.n_judges)
        for name, scenario in scenarios.items()
    }


def _effects(size: Size) -> dict[str, Scenario]:
    """Every pair of selection effects of humans and judges."""
    space = _space()
    gammas = {Gamma: gamma_for(space, Gamma) for Gamma in GAMMAS}
    scenarios = {
        f"Gamma humans {h:g}, judges {j:g}": Scenario(
            space=space, gamma_human=gammas[h], gamma_judge=gammas[j]
        )
        for h in GAMMAS
        for j in GAMMAS
    }
    return _sized(scenarios, size)


def _errors(size: Size, *, judges: float = 1.0) -> dict[str, Scenario]:
    """Rater error of every size and skew on top of every selection effect of the humans."""
    space = _space()
    scenarios = {
        f"Gamma {Gamma:g}, epsilon {epsilon:g}, eta {eta:g}": Scenario(
            space=space,
            epsilon=epsilon,
            eta=eta,
            gamma_human=gamma_for(space, Gamma),
            gamma_judge=gamma_for(space, judges),
        )
        for Gamma in GAMMAS
        for epsilon in EPSILONS
        for eta in (ETAS if epsilon else (0.0,))
    }
    return _sized(scenarios, size)


def _rows_of(names: Iterable[str]) -> list[Metric]:
    return [find_metric(name, METRICS) for name in names]


def _chosen(
    scenarios: dict[str, Scenario],
    ratings: Sequence[int | None],
    metrics: Iterable[str],
    quantities: Sequence[str],
    **settings: int,
) -> list[ExperimentRow]:
    """Return some quantities of judges that are chosen by metrics, one after the other."""
    rows = selection_experiment(scenarios, ratings, rows=_rows_of(metrics), **settings)
    return [row for quantity in quantities for row in rows if row.quantity == quantity]


def _by_ratings(size: Size, settings: Settings, metrics: tuple[str, ...]) -> list[ExperimentRow]:
    return _chosen(_standard(size), size.ratings, metrics, SELECTED, **settings)


def _raters(size: Size, settings: Settings) -> list[ExperimentRow]:
    named = {
        name.split(",")[0]: scenario
        for name, scenario in _effects(size).items()
        if scenario.gamma_human == scenario.gamma_judge  # the judges play no part
    }
    sampled = sampling_experiment(named, size.ratings, **settings)
    return [*sampled, *prevalence_experiment(named, **settings)]


@dataclass(frozen=True, slots=True)
class Experiment:
    """What a figure shows, and how its rows are made of sizes, and of seed and populations."""

    title: str
    make: Callable[[Size, Settings], list[ExperimentRow]]

    def rows(self, seed: int, size: Size) -> list[ExperimentRow]:
        """Redo the experiment; ``seed`` determines every draw."""
        return self.make(size, {"seed": seed, "n_populations": size.n_populations})


FIGURES: dict[int, Experiment] = {
    4: Experiment(
        "How judges selected by each metric do, by ratings per item",
        lambda size, settings: _by_ratings(size, settings, MAIN),
    ),
    5: Experiment(
        "Rank correlation of metrics with downstream performance",
        lambda size, settings: _chosen(_standard(size), [None], WIDE, CORRELATED, **settings),
    ),
    6: Experiment("What few ratings and forced choices do to decisions and prevalence", _raters),
    10: Experiment(
        "Selecting by hit rate under rater error",
        lambda size, settings: _chosen(
            _errors(size, judges=2.0), size.ratings[-1:], ["hit_rate(h/h)"], SELECTED, **settings
        ),
    ),
    11: Experiment(
        "Ranking of judges with and without rater error",
        lambda size, settings: error_experiment(_errors(size), rows=_rows_of(RANKINGS), **settings),
    ),
    12: Experiment(
        "Prevalence by forced choices under rater error",
        lambda size, settings: prevalence_experiment(_errors(size), **settings),
    ),
    13: Experiment(
        "As figure 4, for more metrics",
        lambda size, settings: _by_ratings(size, settings, WIDE),
    ),
    14: Experiment(
        "As figure 5, for every pair of selection effects",
        lambda size, settings: _chosen(_effects(size), [None], WIDE, CORRELATED, **settings),
    ),
    15: Experiment(
        "Decisions and prevalence from few ratings",
        lambda size, settings: sampling_experiment(_standard(size), size.ratings, **settings),
    ),
}
