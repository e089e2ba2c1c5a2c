"""The bootstrap of many judges and metrics against a loop over scikit-learn.

    python benchmarks/bootstrap.py

Needs the dependency group ``benchmarks``. The loop is given its resamples and timed on some of
them; both sides see the same ones wherever they are drawn unit by unit.
"""

from __future__ import annotations

import numpy as np
from ratios import Bounds, cpu_s, in_child, on_one_thread, same, times_faster
from sklearn.metrics import cohen_kappa_score

from harness import stats
from harness.stats.inference.bootstrap import Resamples, Units

N, B, PER_GROUP = 10_000, 2_000, 10
KAPPA = "cohen_kappa(h/h)"
SPACE = stats.OptionSpace.powerset(("no", "yes"))
ITEMS = tuple(map(str, range(N)))
EVERYTHING = """
import json, time
import numpy as np
from harness import stats

space = stats.OptionSpace.powerset(("toxic", "fine"))
rng = np.random.default_rng(0)
n, F = 10_000, np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.7]])
theta = rng.dirichlet((1, 1, 1), n)

def table(name, theta, m):
    return stats.RatingTable(
        space=space, name=name, items=tuple(map(str, range(n))), joint=None,
        forced_choice=rng.multinomial(m, theta @ F.T), response_set=rng.multinomial(m, theta),
        outcomes=np.zeros((n, 3, 5), int),
    )

human = table("human", theta, 7)
mixed = [(1 - s) * theta + s * rng.dirichlet((1, 1, 1), n) for s in np.linspace(0, 1, 20)]
judges = [table(f"judge {j}", one, 10) for j, one in enumerate(mixed)]
resampling = stats.Resampling(rng=rng, n_resamples=2_000)
start = time.process_time()
found = stats.evaluate(human, judges, tau=0.5, positive=("toxic",), resampling=resampling)
spent = time.process_time() - start
print(json.dumps({"cpu_s": spent, "metrics": len(found.metrics)}))
"""


def table(name: str, labels: np.ndarray) -> stats.RatingTable:
    """Make a table of one forced choice per item."""
    return stats.RatingTable(
        space=SPACE,
        name=name,
        items=ITEMS,
        forced_choice=np.eye(2, dtype=int)[labels],
        response_set=np.zeros((N, 3), int),
        joint=None,
        outcomes=np.zeros((N, 3, 5), int),
    )


def drawn_items(n_drawn: int, seed: int, groups: list[str] | None = None) -> list[np.ndarray]:
    """Spell out the items of the first resamples that `evaluate` draws from this seed."""
    units = Units.of(N, groups)
    weights = next(Resamples.draw(units, n_drawn, np.random.default_rng(seed)).weights())
    return [np.repeat(np.arange(N), w[units.of_item].astype(int)) for w in weights]


def loop(human: np.ndarray, judges: list[np.ndarray], drawn: list[np.ndarray]) -> np.ndarray:
    """Return kappa of each judge in each resample, (J, S)."""
    return np.array([[cohen_kappa_score(human[d], judge[d]) for d in drawn] for judge in judges])


def one_judge(human: np.ndarray, judge: np.ndarray) -> tuple[float, float]:
    """Return the ends of the interval of kappa from labels alone."""
    row, one_hot = stats.find_metric(KAPPA, stats.METRICS), np.eye(2)
    cells = row.contributions(one_hot[human], one_hot[judge])
    sums = stats.ItemSums(contributions=cells, metrics=(row,), options=SPACE.options)
    resampling = stats.Resampling(rng=np.random.default_rng(7), n_resamples=B)
    result = stats.estimate_sums({"": sums}, resampling=resampling)[""][KAPPA]
    return result.interval.low, result.interval.high


def first_replicates(wanted: np.ndarray, actual: stats.Evaluation) -> None:
    """Compare replicate by replicate."""
    same(wanted, actual.replicates[KAPPA][:, : wanted.shape[1]])


def alike_spread(wanted: np.ndarray, actual: tuple[float, float]) -> None:
    """Compare the width of an interval with draws that were made otherwise, within sampling error.

    The standard error of the deviation of S normal draws is that deviation / sqrt(2 S).
    """
    low, high = actual
    error = 5 * wanted.std() / (2 * wanted.size) ** 0.5
    np.testing.assert_allclose((high - low) / 2 / 1.96, wanted.std(), atol=error)


def main() -> None:
    """Print every bound and leave."""
    bounds, rng = Bounds(), np.random.default_rng(0)
    human = rng.integers(0, 2, N)
    judges = [np.where(rng.random(N) < q, human, 1 - human) for q in np.linspace(0.6, 0.95, 50)]
    raters, tables = (
        table("human", human),
        [table(f"{j}", shares) for j, shares in enumerate(judges)],
    )
    groups = [f"g{i // PER_GROUP}" for i in range(N)]

    def ours(n_judges: int, groups: list[str] | None = None) -> stats.Evaluation:
        return stats.evaluate(
            raters,
            tables[:n_judges],
            tau=0.5,
            positive=("yes",),
            metrics=[KAPPA],
            resampling=stats.Resampling(rng=np.random.default_rng(7), groups=groups, n_resamples=B),
        )

    items = drawn_items(2, 7)
    ratio = times_faster(
        lambda: loop(human, judges, items), lambda: ours(50), agree=first_replicates, share=2 / B
    )
    bounds.at_least(f"kappa, K = 2, 50 judges x {N} items x {B}", ratio, 300)
    spent = sorted(cpu_s(lambda: ours(50))[0] for _ in range(3))[1]
    bounds.at_most("the same", spent, 1, "s CPU")
    items = drawn_items(200, 7)
    ratio = times_faster(
        lambda: loop(human, judges[:1], items),
        lambda: one_judge(human, judges[0]),
        agree=alike_spread,
        share=200 / B,
        calls=5,
    )
    bounds.at_least("kappa, one judge", ratio, 1000)
    items = drawn_items(2, 7, groups)
    ratio = times_faster(
        lambda: loop(human, judges, items),
        lambda: ours(50, groups),
        agree=first_replicates,
        share=2 / B,
    )
    bounds.at_least(f"kappa, 50 judges, {N // PER_GROUP} groups", ratio, 100)
    every = in_child(EVERYTHING)
    what = f"20 judges x {every['metrics']:.0f} metrics x {N} items x {B}"
    bounds.at_most(what, every["cpu_s"], 20, "s CPU")
    bounds.at_most("the same: peak memory of the process", every["peak_mib"], 2048, "MiB")
    bounds.leave()


if __name__ == "__main__":
    on_one_thread()
    main()
