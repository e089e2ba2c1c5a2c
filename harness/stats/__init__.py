"""Statistics for judges: pure functions over arrays that need only numpy and scipy.

    from harness import stats

    space = stats.OptionSpace.powerset(("toxic", "fine"))
    human = stats.RatingTable.count(space, "human", items, forced_choice=..., response_set=...)
    resampling = stats.Resampling(rng=np.random.default_rng(0))
    result = stats.evaluate(human, judges, tau=0.5, positive=("toxic",), resampling=resampling)
    result.estimates["gpt"]["mse(srs/srs)"]     # value or NA with reason, interval, n

`__init__.pyi` lists the public names. They are imported when first used. Import everything else
from its module, such as ``harness.stats.alt_test.procedure``.
"""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path


def __getattr__(name: str) -> object:
    if name == "__all__":
        return sorted(_modules())
    if name not in _modules():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_modules()[name]), name)


def __dir__() -> list[str]:
    return sorted(_modules())


@cache
def _modules() -> dict[str, str]:
    """Map each public name to the module that the stub file imports it from."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
