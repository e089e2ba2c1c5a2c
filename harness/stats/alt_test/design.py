"""Design of an alternative annotator test: test, weights, margin and minimum sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from harness.stats.inference.multiple_testing import check_rate

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from harness.stats.alt_test.scoring import Score


SmallN: TypeAlias = Literal["wilcoxon", "t", "skip"]


Weighting: TypeAlias = Literal["none", "ipw"]


MIN_VOICES = 2  # a rating and something to compare it with


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class AltTestDesign:
    """Options of the alternative annotator test (Calderon et al. 2025).

    Attributes
    ----------
    score : "accuracy", "neg_rmse", "rank_neg_rmse", a function or a SimilarityTable
        Score for how well a value agrees with the other raters' values; see `aligner`.
    eps : float in [0, 1)
        Cost-benefit margin by which the judge may fall behind. The paper uses 0.2 for experts, 0.15
        for skilled raters, 0.1 for crowd workers, and 0 against gold labels.
    q : float in (0, 1)
        False discovery rate over the raters.
    small_n : {"wilcoxon", "t", "skip"}
        Treatment of raters with fewer than ``min_items_per_rater`` items: the signed-rank test,
        exact given the ranks (the paper's text); the t-test anyway (its table by criterion); or
        exclusion (its code).
    unanswered : {"loss", "exclude"}
        Whether items without a verdict count as losses against every rater, or are left out (as
        published).
    weighting : {"none", "ipw"}
        "ipw" weights each item by the inverse share of its label, which is the other raters'
        majority or the reference. A tied majority is split evenly.
    expert : str, optional
        Rater that the judge and the other raters are compared with, instead of with each other.
    gold : mapping of item to value, optional
        Correct answers, used instead of an expert.
    quality : mapping of rater to positive number, optional
        Weights of the other raters in the score and of the raters in the winning rate. Affects
        nothing else.
    min_raters_per_item : int
        Items with fewer ratings (including expert and gold) do not count.
    min_items_per_rater : int
        Raters with fewer items are treated by ``small_n``.
    threshold : float in (0, 1]
        The judge passes when its winning rate reaches it.

    Raises
    ------
    ValueError
        If a field is out of range: "eps_out_of_range" for the margin.
    """

    score: Score
    eps: float
    q: float = 0.05
    small_n: SmallN = "wilcoxon"
    unanswered: Unanswered = "loss"
    weighting: Weighting = "none"
    expert: str | None = None
    gold: Mapping[str, Hashable] | None = None
    quality: Mapping[str, float] | None = None
    min_raters_per_item: int = MIN_VOICES
    min_items_per_rater: int = 30
    threshold: float = 0.5

    def __post_init__(self) -> None:
        check_eps(self.eps)
        check_rate(self.q)
        _check_choice("small_n", self.small_n, ("wilcoxon", "t", "skip"))
        _check_choice("unanswered", self.unanswered, ("loss", "exclude"))
        _check_choice("weighting", self.weighting, ("none", "ipw"))
        if self.expert is not None and self.gold is not None:
            raise ValueError("expert and gold are both set; set only one of them")
        if self.min_raters_per_item < MIN_VOICES:
            raise ValueError(f"min_raters_per_item is {self.min_raters_per_item}; wanted 2 or more")
        if not 0.0 < self.threshold <= 1.0:
            raise ValueError(
                f"threshold is {self.threshold!r}; wanted a winning rate above 0 and at most 1"
            )
        if self.weighting == "ipw" and callable(self.score):
            raise ValueError(
                "weighting is 'ipw', which needs a fixed set of labels, but the score compares any "
                "texts"
            )

    def __repr__(self) -> str:
        return f"AltTestDesign({self.score!r}, eps {self.eps}, q {self.q})"


def check_eps(eps: float) -> None:
    """Reject a margin outside [0, 1)."""
    if not 0.0 <= eps < 1.0:
        raise ValueError(
            f"eps_out_of_range: eps is {eps!r}; wanted a number at least 0 and below 1"
        )


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; wanted one of {choices}")


MIN_VOICES = 2  # raters, including gold labels if there are any


Unanswered: TypeAlias = Literal["loss", "exclude"]
