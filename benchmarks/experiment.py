"""One cell of the synthetic experiments against loops over judges and items.

    python benchmarks/experiment.py

50 judges, 100 items, every metric of the table and 3 cut-offs, from the same finite sample. The
bound is for a loop that calls the same formulas judge by judge and item by item, timed on some of
the judges. The textbook formulas on lists of floats, which share no code with the package and are
quicker than that loop, check all numbers; their ratio has no bound.
"""

from __future__ import annotations

from math import inf, isnan, log, nan, sqrt

import numpy as np
from ratios import Bounds, on_one_thread, same, times_faster

from harness import stats
from harness.extras.experiments import judge_selection, simulation
from harness.extras.experiments.judge_selection import CUT_FORMS, TAUS

N_RATINGS, FEW_JUDGES, TINY, SMOOTHING = 5, 3, 1e-12, 0.5


def hard(shares: list[float]) -> list[float]:
    modal = [float(max(shares) - share <= TINY) for share in shares]
    return [share / sum(modal) for share in modal]


def noisy(shares: list[float], m: float) -> list[float]:
    return [*shares, *(x * (1 - x) / (m - 1) for x in shares)]


FORMS = {
    "h": lambda item, _: hard(item["O"]),
    "s": lambda item, _: item["O"],
    "srs": lambda item, _: item["omega"],
    "hrs": lambda item, tau: [float(x >= tau - TINY) for x in item["omega"]],
    "smoothed": lambda item, _: [
        (x * item["m"] + SMOOTHING) / (item["m"] + SMOOTHING * len(item["O"])) for x in item["O"]
    ],
    "smoothed_srs": lambda item, _: [
        (x * item["m"] + SMOOTHING) / (item["m"] + 2 * SMOOTHING) for x in item["omega"]
    ],
    "noisy_s": lambda item, _: noisy(item["O"], item["m"]),
    "noisy_srs": lambda item, _: noisy(item["omega"], item["m"]),
    "decision": lambda item, tau: [float(item["meets"] >= tau - TINY)],
}


def entropy(p: float, q: float) -> float:
    return 0.0 if p == 0 else inf if q == 0 else -p * log(q)


def finite(costs: list[float]) -> list[float]:
    return [sum(cost for cost in costs if cost < inf), 1.0, float(costs.count(inf))]


def kl(p: list[float], q: list[float]) -> list[float]:
    return finite([entropy(a, b) - entropy(a, a) for a, b in zip(p, q, strict=True)])


def js(p: list[float], q: list[float]) -> float:
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return max((kl(p, middle)[0] + kl(q, middle)[0]) / 2, 0.0)


def product(h: list[float], j: list[float]) -> float:
    return sum(a * b for a, b in zip(h, j, strict=True))


def bce(h: list[float], j: list[float]) -> list[float]:
    pairs = zip(h, j, strict=True)
    return finite([entropy(a, b) + entropy(1 - a, 1 - b) for a, b in pairs])


def bce_of_modes(h: list[float], j: list[float]) -> list[float]:
    fine = (abs(a - b) <= TINY and not TINY < b < 1 - TINY for a, b in zip(h, j, strict=True))
    return finite([0.0 if share else inf for share in fine])


def squares(h: list[float], j: list[float], *, modes: tuple[bool, bool]) -> list[float]:
    sizes = (
        sum(vector) if mode else product(vector, vector)
        for mode, vector in zip(modes, (h, j), strict=True)
    )
    return [max(sum(sizes) - 2 * product(h, j), 0.0), 1.0]


def without_noise(h: list[float], j: list[float]) -> list[float]:
    half = len(h) // 2
    distance = sum((a - b) ** 2 for a, b in zip(h[:half], j[:half], strict=True))
    return [distance - sum(h[half:]) - sum(j[half:]), 1.0]


def share(h: list[float], j: list[float], of: list[float]) -> list[float]:
    return [product(h, j) / sum(of), 1.0, 0.0] if sum(of) > 0 else [0.0, 0.0, 1.0]


CONTRIBUTIONS = {
    "hit_rate": lambda h, j: [product(h, j), 1.0],
    "hit_rate_ties_lost": lambda h, j: [float(product(h, j) >= 1 - TINY), 1.0],
    "hit_rate_ties_won": lambda h, j: [float(product(h, j) > 0), 1.0],
    "confusion": lambda h, j: [a * b for a in h for b in j],
    "kl_human_to_judge": kl,
    "kl_judge_to_human": lambda h, j: kl(j, h),
    "ce_human_to_judge": lambda h, j: finite([entropy(a, b) for a, b in zip(h, j, strict=True)]),
    "ce_judge_to_human": lambda h, j: finite([entropy(b, a) for a, b in zip(h, j, strict=True)]),
    "js_divergence": lambda h, j: [js(h, j) / log(2), 1.0],
    "js_distance": lambda h, j: [sqrt(js(h, j)), 1.0],
    "mse": lambda h, j: [sum((a - b) ** 2 for a, b in zip(h, j, strict=True)), 1.0],
    "mse_of_modes": lambda h, j: squares(h, j, modes=(True, True)),
    "mse_of_judge_modes": lambda h, j: squares(h, j, modes=(False, True)),
    "mse_of_human_modes": lambda h, j: squares(h, j, modes=(True, False)),
    "mse_without_rater_noise": without_noise,
    "coverage": lambda h, j: [min(product(h, j), 1.0), 1.0],
    "recall": lambda h, j: share(h, j, h),
    "precision": lambda h, j: share(h, j, j),
    "predictive_efficiency": lambda h, j: [sum(j), 1.0],
    "binary_cross_entropy": bce,
    "binary_cross_entropy_of_modes": bce_of_modes,
    "decision_consistency": lambda h, j: [float(h == j), 1.0],
    "prevalence_bias": lambda h, j: [j[0] - h[0], 1.0],
}


def corrected(cells: list[float], name: str) -> float:
    """Correct the observed agreement in (K * K) cells for chance."""
    n, width = sum(cells), round(len(cells) ** 0.5)
    table = [cells[width * k : width * (k + 1)] for k in range(width)]
    rows = [sum(row) / n for row in table]
    columns = [sum(column) / n for column in zip(*table, strict=True)]
    observed = sum(table[k][k] for k in range(width)) / n
    by_chance = {
        "cohen_kappa(h/h)": product(rows, columns),
        "randolph_kappa(h/h)": 1 / width,
    }.get(name, sum(((a + b) / 2) ** 2 for a, b in zip(rows, columns, strict=True)))
    if by_chance >= 1 - TINY:
        return nan
    kappa = (observed - by_chance) / (1 - by_chance)
    return kappa + (1 - kappa) / (2 * n) if "alpha" in name else kappa


def value(row: stats.Metric, sums: list[float]) -> float:
    """Read the metric off its sums."""
    name = row.contributions.__name__
    if name == "confusion":
        return corrected(sums, row.name)
    infinite = len(sums) > 2 and name not in {"recall", "precision"} and sums[2] > 0
    return nan if infinite or sums[1] == 0 else sums[0] / sums[1]


def described(dist: stats.Distributions, option: int) -> list[dict]:
    """Spell each item out."""
    positive = dist.space.membership[option].astype(float)
    columns = zip(dist.O, dist.omega, dist.theta @ positive, dist.n_forced, strict=True)
    return [
        {"O": shares.tolist(), "omega": omega.tolist(), "meets": float(meets), "m": float(m)}
        for shares, omega, meets, m in columns
    ]


def one_value(row: stats.Metric, humans: list[dict], judged: list[dict]) -> float:
    """Add up what each item contributes."""
    added, sums = CONTRIBUTIONS[row.contributions.__name__], None
    for human, judge in zip(humans, judged, strict=True):
        h, j = human[row.human_form], judge[row.judge_form]
        if any(isnan(x) for x in (*h, *j)):
            continue
        sums_of_item = added(h, j)
        sums = (
            sums_of_item
            if sums is None
            else [a + b for a, b in zip(sums, sums_of_item, strict=True)]
        )
    return nan if sums is None else value(row, sums)


def aggregated(items: list[dict], tau: float) -> list[dict]:
    """Make every form of every item; no answer, no form."""
    return [
        {
            form: [nan] if isnan(item["meets"]) and form in NEEDS_SETS else vectors_of(item, tau)
            for form, vectors_of in FORMS.items()
        }
        for item in items
    ]


NEEDS_SETS = {"srs", "hrs", "smoothed_srs", "noisy_srs", "decision"}


def loops(population: simulation.Population) -> np.ndarray:
    """Work out the whole cell: (T, M, J)."""
    sample = simulation.draw_sample(population, N_RATINGS, np.random.default_rng(1))
    n, n_judges = population.scenario.n_items, population.scenario.n_judges
    humans, judges = described(sample.human, 0), described(sample.judges, 0)
    result = np.full((len(TAUS), len(stats.METRICS), n_judges), nan)
    for t, tau in enumerate(TAUS):
        raters = aggregated(humans, tau)
        for z in range(n_judges):
            judged = aggregated(judges[n * z : n * (z + 1)], tau)
            for m, row in enumerate(stats.METRICS):
                if t and not {row.human_form, row.judge_form} & CUT_FORMS:
                    result[t, m, z] = result[0, m, z]
                else:
                    result[t, m, z] = one_value(row, raters, judged)
    return result


def per_item(population: simulation.Population, n_judges: int) -> np.ndarray:
    """Work out the cell for some judges with the package's formulas, one item at a time."""
    sample = simulation.draw_sample(population, N_RATINGS, np.random.default_rng(1))
    n, positive = population.scenario.n_items, (population.scenario.option,)
    result = np.full((len(TAUS), len(stats.METRICS), n_judges), nan)
    for t, tau in enumerate(TAUS):
        of_human, of_judges = (
            {
                form: stats.aggregate(distributions, form, tau=tau, positive=positive)
                for form in FORMS
            }
            for distributions in (sample.human, sample.judges)
        )
        for z in range(n_judges):
            for m, row in enumerate(stats.METRICS):
                if t and not {row.human_form, row.judge_form} & CUT_FORMS:
                    result[t, m, z] = result[0, m, z]
                    continue
                h, j = of_human[row.human_form], of_judges[row.judge_form][n * z : n * (z + 1)]
                items = [row.contributions(h[i : i + 1], j[i : i + 1])[0] for i in range(n)]
                result[t, m, z] = row.value(sum(items))
    return result


def main() -> None:
    """Print the bound and leave."""
    names = "abcd"
    larger = ("ab", "ad", "bcd", "cd", "abcd")
    space = stats.OptionSpace(tuple(names), (*((name,) for name in names), *map(tuple, larger)))
    scenario = simulation.Scenario(space=space, gamma_human=0.5, gamma_judge=-0.5)
    population = simulation.draw_population(scenario, np.random.default_rng(0))

    def ours() -> np.ndarray:
        return judge_selection.run_cell(population, N_RATINGS, np.random.default_rng(1)).values

    bounds = Bounds()
    result = times_faster(
        lambda: per_item(population, FEW_JUDGES),
        ours,
        agree=lambda wanted, result: same(wanted, result[..., :FEW_JUDGES]),
        share=FEW_JUDGES / scenario.n_judges,
        calls=3,
    )
    what = f"one cell, {len(stats.METRICS)} metrics x {len(TAUS)} cut-offs: item by item"
    bounds.at_least(what, result, 100)
    result = times_faster(lambda: loops(population), ours, calls=3, rounds=1)
    print(f"against lists of floats {result:.0f} times")
    bounds.leave()


if __name__ == "__main__":
    on_one_thread()
    main()
