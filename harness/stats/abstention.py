"""CANNOT_ASSESS resolved in three ways that estimate three different things.

Cells are those of `confusion` over the K options and, last, abstention: (K + 1, K + 1), human by
judge. Each mode is a sum of cells: *exclude* drops the pairs in which either side abstained,
*recode* makes abstention one of the options, *third_class* keeps it as an option of its own
(Rao and Callison-Burch 2026, section 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.agreement import confusion
from harness.stats.arrays import FloatArray, ratio
from harness.stats.binary import BINARY, one_vs_rest
from harness.stats.distributions import ELICITATIONS, OUTCOMES, hard
from harness.stats.intervals import Estimate, Exclusion
from harness.stats.krippendorff import square
from harness.stats.measures import Batch, Measure, estimate_batches
from harness.stats.weighted import weighted_kappa, weighted_kappa_measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from harness.stats.distributions import RatingTable

Mode: TypeAlias = Literal["exclude", "recode", "third_class"]
_PAPER = "Rao and Callison-Burch 2026, section 6"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class AbstentionModes:
    """The same verdicts under the three resolutions of CANNOT_ASSESS, on one bootstrap.

    Attributes
    ----------
    primary : {"exclude", "recode", "third_class"}
        The mode that a single number would come from.
    rates : mapping of str to Estimate
        ``answered_fraction`` (of the judge), ``answered_by_both``, ``human_abstention_rate`` and
        ``judge_abstention_rate``, over all items with a label or an abstention on both sides.
    exclude, recode, third_class : mapping of str to Estimate
        Each mode's measures, each with the items that it used and why it left out the others.
        ``exclude["accuracy"]`` is the selective accuracy, to be read beside the answered fraction.
    """

    primary: Mode
    rates: Mapping[str, Estimate]
    exclude: Mapping[str, Estimate]
    recode: Mapping[str, Estimate]
    third_class: Mapping[str, Estimate]

    def __repr__(self) -> str:
        answered = self.rates["answered_fraction"].value
        return f"AbstentionModes(primary {self.primary!r}, answered_fraction {answered})"


def with_abstention(table: RatingTable) -> FloatArray:
    """Return (n, K + 1): how often each option was chosen and, last, how often none could be."""
    asked = [ELICITATIONS.index("forced_choice"), ELICITATIONS.index("paired")]
    abstained = table.outcomes[:, asked, OUTCOMES.index("abstained")].sum(axis=1)
    return np.column_stack([table.forced_choice, abstained]).astype(np.float64)


def abstention_cells(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, (K + 1)^2): cells of the modes of two (n, K + 1) tables of counts.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    modes = [hard(ratio(c, c.sum(axis=1, keepdims=True))) for c in (human, judge)]
    return confusion(*modes)


def excluding(cells: FloatArray) -> FloatArray:
    """Keep the pairs in which both sides answered: (..., (K + 1)^2) to (..., K^2)."""
    kept = square(cells)[..., :-1, :-1]
    return kept.reshape(*kept.shape[:-2], kept.shape[-1] ** 2)


def recoding(cells: FloatArray, to: int) -> FloatArray:
    """Count abstention as option ``to`` on both sides: (..., (K + 1)^2) to (..., K^2)."""
    table = square(cells).copy()
    table[..., to, :] += table[..., -1, :]
    table[..., :, to] += table[..., :, -1]
    return excluding(table.reshape(cells.shape))


def abstention_modes(
    cells: FloatArray,
    options: Sequence[str],
    *,
    positive: str,
    recode_to: str,
    rng: np.random.Generator,
    primary: Mode = "exclude",
    weights: ArrayLike | None = None,
    groups: Sequence[str | None] | None = None,
    n_resamples: int = 2000,
    level: float = 0.95,
) -> AbstentionModes:
    """Evaluate the three modes side by side.

    Parameters
    ----------
    cells : (n, (K + 1)^2) array
        From `abstention_cells`.
    options : K names
        Without the abstention.
    positive : str
        The positive option of f1 and phi.
    recode_to : str
        The option that abstention becomes in mode recode.
    rng, groups, n_resamples, level
        As in `evaluate`.
    primary : {"exclude", "recode", "third_class"}, optional
        The mode that a single number would come from.
    weights : (K + 1, K + 1) array, optional
        Disagreements for a weighted kappa of the third-class mode; which one is a choice that
        no default can make.

    Raises
    ------
    ValueError
        If an option is unknown, or a shape does not fit.
    """
    names, width = tuple(options), (len(options) + 1) ** 2
    sums = np.asarray(cells, dtype=np.float64)
    if sums.ndim != 2 or sums.shape[1] != width:  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(f"cells has shape {sums.shape}; wanted (n, {width}) for {names} and none")
    for name in (positive, recode_to):
        if name not in names:
            raise ValueError(f"option {name!r} is not one of {', '.join(map(repr, names))}")
    k, kept = names.index(positive), excluding(sums)
    answered = _mode_measures(k)
    batches = {
        "rates": Batch(contributions=sums, measures=RATES),
        "exclude": Batch(
            contributions=kept,
            measures=answered,
            excluded=_abstainers(sums),
            nothing="all_abstained" if sums.any() else "no_items",
        ),
        "recode": Batch(contributions=recoding(sums, names.index(recode_to)), measures=answered),
        "third_class": Batch(contributions=sums, measures=_class_measures(names, weights)),
    }
    found = estimate_batches(batches, rng=rng, groups=groups, n_resamples=n_resamples, level=level)
    return AbstentionModes(primary=primary, **found)


def _abstainers(cells: FloatArray) -> tuple[Exclusion, ...]:
    table = square(cells)
    kept = table[..., :-1, :-1].any(axis=(-2, -1))
    human, judge = table[..., -1, :].any(axis=-1), table[..., :, -1].any(axis=-1)
    counted = (
        ("both_abstained", human & judge & ~kept),
        ("human_abstained", human & ~judge & ~kept),
        ("judge_abstained", judge & ~human & ~kept),
    )
    return tuple(Exclusion(name, int(which.sum())) for name, which in counted if which.any())


def _measure(name: str, value: Callable[[FloatArray], FloatArray], reason: str) -> Measure:
    return Measure(
        name=name,
        value=value,
        why=lambda totals: reason if totals.sum() > 0 else "no_items",
        paper=_PAPER,
    )


def _accuracy(totals: FloatArray) -> FloatArray:
    return ratio(np.trace(square(totals), axis1=-2, axis2=-1), totals.sum(axis=-1))


def _kappa(totals: FloatArray) -> FloatArray:
    return weighted_kappa(totals, 1.0 - np.eye(round(totals.shape[-1] ** 0.5)))


def _f1(k: int) -> Callable[[FloatArray], FloatArray]:
    [f1] = [one for one in BINARY if one.name == "f1"]
    return lambda totals: f1.value(one_vs_rest(totals, k))


def _phi(k: int) -> Callable[[FloatArray], FloatArray]:
    [phi] = [one for one in BINARY if one.name == "phi"]
    return lambda totals: phi.value(one_vs_rest(totals, k))


def _mode_measures(k: int) -> tuple[Measure, ...]:
    return (
        _measure("accuracy", _accuracy, ""),
        _measure("f1", _f1(k), "no_positives"),
        _measure("kappa", _kappa, "constant_labels"),
        _measure("phi", _phi(k), "constant_labels"),
    )


def _class_measures(names: tuple[str, ...], weights: ArrayLike | None) -> tuple[Measure, ...]:
    of_classes = (*names, "CANNOT_ASSESS")
    given = () if weights is None else (weighted_kappa_measure(weights),)
    return (
        _measure("accuracy", _accuracy, ""),
        _measure("kappa", _kappa, "constant_labels"),
        *(_measure(f"f1[{name}]", _f1(k), "no_positives") for k, name in enumerate(of_classes)),
        *given,
    )


def _rate(name: str, part: Callable[[FloatArray], FloatArray]) -> Measure:
    return Measure(
        name=name,
        value=lambda totals: ratio(part(square(totals)), totals.sum(axis=-1)),
        why=lambda _: "no_items",
        paper=_PAPER,
        bounds=(0.0, 1.0),
    )


RATES: tuple[Measure, ...] = (
    _rate("answered_fraction", lambda table: table[..., :, :-1].sum(axis=(-2, -1))),
    _rate("answered_by_both", lambda table: table[..., :-1, :-1].sum(axis=(-2, -1))),
    _rate("human_abstention_rate", lambda table: table[..., -1, :].sum(axis=-1)),
    _rate("judge_abstention_rate", lambda table: table[..., :, -1].sum(axis=-1)),
)
