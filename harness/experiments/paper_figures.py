"""The published synthetic experiments as tables: their settings, metrics and quantities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.experiments.judge_selection import (
    TAUS,
    SelectionRow,
    selection_experiment,
    standard_scenarios,
)
from harness.experiments.rater_effects import (
    RaterEffect,
    error_experiment,
    prevalence_experiment,
    sampling_experiment,
)
from harness.experiments.simulation import Scenario, gamma_for
from harness.stats import METRICS, OptionSpace, find_metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from harness.stats import Metric

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRow:
    """One value of one figure.

    Attributes
    ----------
    figure : int
        Its number in the paper.
    quantity : str
        What is measured.
    scenario : str
        The setting.
    metric : str
        By which judges were selected or ranked; "" where no judge is.
    n_ratings : int or None
        Human ratings per item; None for infinitely many.
    tau : float
        Cut-off.
    value, standard_error : float or None
        Mean over the populations and its error; None where undefined.
    n_populations : int
        Populations in which it is defined.
    """

    figure: int
    quantity: str
    scenario: str
    metric: str
    n_ratings: int | None
    tau: float
    value: float | None
    standard_error: float | None
    n_populations: int


def figure(number: int, *, seed: int, size: Size = FULL) -> list[FigureRow]:
    """Redo one of the experiments.

    Parameters
    ----------
    number : int
        4, 5, 6 or 10 to 15.
    seed : int
        Determines every draw.
    size : Size, optional
        `FULL` as published; `QUICK` ends in seconds.

    Raises
    ------
    ValueError
        If there is no such experiment.

    Notes
    -----
    Guerdan et al. 2025, section 6 and appendix D. Means over populations drawn here: the shape of
    the figures, not their third digit.
    """
    if number not in FIGURES:
        raise ValueError(f"figure is {number}; wanted one of {', '.join(map(str, FIGURES))}")
    return FIGURES[number].rows(number, seed, size)


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


def _selected(
    number: int, rows: Iterable[SelectionRow], quantities: Iterable[str]
) -> list[FigureRow]:
    wanted = tuple(quantities)
    return [
        FigureRow(
            figure=number,
            quantity=quantity,
            scenario=row.scenario,
            metric=row.metric,
            n_ratings=row.n_ratings,
            tau=row.tau,
            value=getattr(row, quantity),
            standard_error=getattr(row, f"{quantity}_se", None),
            n_populations=row.n_populations,
        )
        for quantity in wanted
        for row in rows
    ]


def _effect(
    number: int, effects: Iterable[RaterEffect], *, metrics: bool = False
) -> list[FigureRow]:
    return [
        FigureRow(
            figure=number,
            quantity="spearman" if metrics else row.quantity,
            scenario=row.scenario,
            metric=row.quantity if metrics else "",
            n_ratings=row.n_ratings,
            tau=row.tau,
            value=row.value,
            standard_error=row.standard_error,
            n_populations=row.n_populations,
        )
        for row in effects
    ]


def _selection(metrics: tuple[str, ...]) -> Callable[[int, int, Size], list[FigureRow]]:
    def rows(number: int, seed: int, size: Size) -> list[FigureRow]:
        rows = selection_experiment(
            _standard(size),
            size.ratings,
            seed=seed,
            n_populations=size.n_populations,
            rows=_rows_of(metrics),
        )
        return _selected(number, rows, ("consistency", "absolute_bias"))

    return rows


def _correlation(
    scenarios: Callable[[Size], dict[str, Scenario]], metrics: tuple[str, ...]
) -> Callable[[int, int, Size], list[FigureRow]]:
    def rows(number: int, seed: int, size: Size) -> list[FigureRow]:
        rows = selection_experiment(
            scenarios(size),
            [None],
            seed=seed,
            n_populations=size.n_populations,
            rows=_rows_of(metrics),
        )
        quantities = ("consistency_spearman", "absolute_bias_spearman")
        return _selected(number, rows, quantities)

    return rows


def _raters(number: int, seed: int, size: Size) -> list[FigureRow]:
    scenarios = {
        name: scenario
        for name, scenario in _effects(size).items()
        if scenario.gamma_human == scenario.gamma_judge  # the judges play no part
    }
    named = {name.split(",")[0]: scenario for name, scenario in scenarios.items()}
    n = size.n_populations
    sampled = sampling_experiment(named, size.ratings, seed=seed, n_populations=n)
    biased = prevalence_experiment(named, seed=seed, n_populations=n)
    return [*_effect(number, sampled), *_effect(number, biased)]


def _sampling(number: int, seed: int, size: Size) -> list[FigureRow]:
    rows = sampling_experiment(
        _standard(size), size.ratings, seed=seed, n_populations=size.n_populations
    )
    return _effect(number, rows)


def _hit_rate_under_error(number: int, seed: int, size: Size) -> list[FigureRow]:
    rows = selection_experiment(
        _errors(size, judges=2.0),
        [size.ratings[-1]],
        seed=seed,
        n_populations=size.n_populations,
        rows=_rows_of(["hit_rate(h/h)"]),
    )
    return _selected(number, rows, ("consistency", "absolute_bias"))


def _ranking_under_error(number: int, seed: int, size: Size) -> list[FigureRow]:
    rows = error_experiment(
        _errors(size), seed=seed, n_populations=size.n_populations, rows=_rows_of(RANKINGS)
    )
    return _effect(number, rows, metrics=True)


def _prevalence_under_error(number: int, seed: int, size: Size) -> list[FigureRow]:
    rows = prevalence_experiment(_errors(size), seed=seed, n_populations=size.n_populations)
    return _effect(number, rows)


@dataclass(frozen=True, slots=True)
class Experiment:
    """What a figure shows, and how its rows are made from number, seed and size."""

    title: str
    rows: Callable[[int, int, Size], list[FigureRow]]


FIGURES: dict[int, Experiment] = {
    4: Experiment("How judges selected by each metric do, by ratings per item", _selection(MAIN)),
    5: Experiment(
        "Rank correlation of metrics with downstream performance", _correlation(_standard, WIDE)
    ),
    6: Experiment("What few ratings and forced choices do to decisions and prevalence", _raters),
    10: Experiment("Selecting by hit rate under rater error", _hit_rate_under_error),
    11: Experiment("Ranking of judges with and without rater error", _ranking_under_error),
    12: Experiment("Prevalence by forced choices under rater error", _prevalence_under_error),
    13: Experiment("As figure 4, for more metrics", _selection(WIDE)),
    14: Experiment(
        "As figure 5, for every pair of selection effects", _correlation(_effects, WIDE)
    ),
    15: Experiment("Decisions and prevalence from few ratings", _sampling),
}
__all__ = ["FIGURES", "FULL", "QUICK", "TAUS", "Experiment", "FigureRow", "Size", "figure"]
