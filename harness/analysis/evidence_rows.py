"""Evidence on each judge and baseline for the decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from harness.stats.alt_test.copied_answers import CopyTest
from harness.stats.alt_test.deciding_test import DecidingAnnotatorTest
from harness.stats.inference.estimate import Estimate, Exclusion
from harness.stats.inference.metric import Better
from harness.stats.modes import InvertedEnd, MadeBy
from harness.stats.reasons import Reason
from harness.stats.selection.ranking import Difference
from harness.stats.selection.references import HumanReference
from harness.tasks.schema import RanksBy

NOT_ASKED = frozenset({"forced_choice_not_asked", "response_set_not_asked"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeEvidence:
    """Evidence on one judge.

    Attributes
    ----------
    judge : str
        Its name.
    usable_replies : float or None
        Share of planned replies that are answers, in the elicitation that the metric reads, or in
        all elicitations if the judge was not asked for that one. None if none was planned.
    n_planned : int
        Number of those planned replies.
    answered_fraction : float or None
        Share of the rated items that it answered with enough replies. None without items, or if it
        was not asked for what the metric reads.
    ranked : bool
        Whether it answered enough to be compared.
    estimate : Estimate
        The metric on the shared items. The first judge's interval accounts for its selection. NA if
        the judge is not ranked.
    ranks : (int, int) or None
        Best and worst possible rank.
    better_than : dict of str to bool
        Whether the judge is better than each baseline, by a simultaneous one-sided bound.
    human : HumanReference or None
        Comparison with a human rater in its place.
    annotator_test : DecidingAnnotatorTest or None
        Annotator test of valid size; None if the test does not apply.
    value_with_losses : float or None
        The metric with unanswered items counted as losses.
    difference : Difference or None
        How much worse it is than the first judge; None for the first judge.
    close_to_first : bool
        Whether it is not significantly different from the first judge, so that its rank set
        includes rank 1.
    level : float or None
        Error probability of its tests. 0 if it can't be recommended because it is a control or a
        screen shows that it isn't the best judge. None if it isn't ranked.
    """

    judge: str
    usable_replies: float | None
    n_planned: int
    answered_fraction: float | None
    ranked: bool
    estimate: Estimate
    ranks: tuple[int, int] | None = None
    better_than: dict[str, bool]
    human: HumanReference | None = None
    annotator_test: DecidingAnnotatorTest | None = None
    value_with_losses: float | None = None
    difference: Difference | None = None
    close_to_first: bool = False
    level: float | None = None

    @property
    def value(self) -> float | None:
        """The judge's metric on the shared items, or None if NA."""
        return self.estimate.value


@dataclass(frozen=True, slots=True)
class WithoutRater:
    """Evidence on the top judge without one rater's ratings.

    Attributes
    ----------
    rater : str
        Rater left out.
    unbeaten : str
        A baseline whose value is no worse than the judge's; "" if there is none.
    passes : bool or None
        Whether the annotator test passes, at the error probability of a single judge. If the test
        is undefined with all raters, whether the difference from a rater is within the margin. None
        if that is undefined without the rater.
    effect : float
        The p-value of that test, or that difference. A larger value means that more depends on the
        rater.
    """

    rater: str
    unbeaten: str
    passes: bool | None
    effect: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the evidence is sufficient without this rater's ratings."""
        return not self.unbeaten and self.passes is not False


@dataclass(frozen=True, slots=True)
class BaselineEvidence:
    """A baseline's value on the shared items.

    Attributes
    ----------
    name : str
        "uniform", "prior", "most_frequent" or "best_constant". On open scales, see ``answers``.
    value, low, high : float or None
        The metric and its interval over resamples, with the baseline refitted in each.
    answers : tuple of tuple of str
        Option keys of its constant answer, a response set or one option. Several if tied, none if
        its answers vary.
    """

    name: str
    value: float | None
    low: Annotated[float | None, MadeBy("score", "crossed")]
    high: Annotated[float | None, MadeBy("score", "crossed")]
    answers: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Comparison of judges, baselines and a human rater on the same items and number of replies.

    Attributes
    ----------
    metric, display_name, better : str
        The metric used for the comparison.
    n_replies : float or None
        Replies per item; None if reply noise was removed.
    n_items, n_rated : int
        Shared items, and items that raters rated as the metric needs.
    ranks_by : str
        The kind of ratings compared, "forced_choice" or "response_set"; "" on open scales.
    left_out : tuple of Exclusion
        Reasons that other rated items are not shared. At the level item, items are groups.
    min_answered : float
        Least share of the rated items that a ranked judge answered.
    margin : float or None
        Margin of non-inferiority to a human rater, in the metric's unit; None if the metric has no
        range.
    annotator_reason : str
        Why the annotator test does not apply: "positional_raters", "too_few_raters", or
        "too_few_choices" (enough raters are named, but fewer than three made single choices); else
        "".
    n_items_for_human : int
        Items from which a judge can be shown to be no worse than a human rater; see `least_items`.
    alpha : float
        Error probability of each test of the first judge: this validation's share, divided by
        ``n_contenders``; see `Source.level_of`.
    n_contenders : int
        Judges that can be the best: those that a simultaneous screen doesn't show to be worse than
        the first, except controls, plus judges that can't be compared and judges from earlier
        validations among which the first may have been selected.
    number : int
        Number of this validation among all validations on its items.
    copying : CopyTest or None
        Whether the first judge copies one or two raters; None if the ratings are not options that
        at least three named raters chose, or if it isn't recommended anyway.
    without_raters : tuple of WithoutRater
        One entry per rater who gave at least 1 in 20 of the ratings, if copies can't be tested for.
    without_raters_reason : str
        Why no rater was left out: "positional_raters" (raters are not named), "too_few_raters"
        (fewer than three), "not_needed" (the judge is not recommended anyway, or copies are tested
        for), or "not_computed" (too many ratings, or too few without any rater); "" if raters were
        left out.
    untested_copies : str
        Why copies of a rater can't be tested for: "positional_raters", "too_few_raters" or
        "no_shared_errors" (raters and judge make too few errors to recognise a copy); "" if they
        can.
    states_independence : bool
        Whether task.yaml states that raters worked without the judges' answers, and judges without
        theirs.
    n_tried : int
        Judges that were tried on some of these items so far.
    n_tried_before : int
        Judges tried earlier that are not compared here.
    n_contending : int
        Judges in ``n_tried_before`` that are among ``n_contenders``.
    n_forgotten : int
        Judges that were tried before a new ledger was started, and not since.
    forgets : bool
        Whether the new ledger dropped any validation.
    limited : bool
        Whether items were left out by --limit.
    held_out : bool
        Whether the items were held out of all other runs.
    judges : tuple of JudgeEvidence
        Ranked judges first, from best to worst.
    baselines : tuple of BaselineEvidence
        Computed baselines, which need no requests.
    share_agreeing : HumanReference or None
        How often a forced choice of the first judge agrees with a different rater's, next to how
        often a rater's does; see `harness.stats.selection.share_agreeing`. None if it was not asked
        for choices, or no item has two.
    human_value, human_low, human_high : float or None
        A human rater on the judges' scale: the first judge's metric at one reply, minus its
        difference from a human rater who was scored on the same remaining ratings. None if judges
        are compared at several replies. The first judge's ``human`` then has the comparison at one
        reply each.
    n_items_for_margin : int or None
        Items needed to detect a difference of the margin between the first two judges, at the
        critical value of their comparison; None if they never differ, or no number is enough.
    needs_raters : bool
        Whether no number of items would detect this difference because the raters vary too much.
    """

    metric: str
    display_name: str
    better: Better
    n_replies: float | None
    n_items: int
    n_rated: int
    min_answered: float
    margin: float | None
    annotator_reason: Reason
    n_items_for_human: int
    alpha: float
    n_tried: int
    judges: tuple[JudgeEvidence, ...]
    baselines: tuple[BaselineEvidence, ...]
    share_agreeing: HumanReference | None = None
    human_value: float | None = None
    human_low: InvertedEnd = None
    human_high: InvertedEnd = None
    n_items_for_margin: int | None = None
    needs_raters: bool = False
    copying: CopyTest | None = None
    without_raters: tuple[WithoutRater, ...] = ()
    without_raters_reason: Reason = "not_computed"
    ranks_by: RanksBy | Literal[""] = ""
    left_out: tuple[Exclusion, ...] = ()
    untested_copies: Reason = ""
    states_independence: bool = False
    n_contenders: int = 1
    number: int = 1
    n_tried_before: int = 0
    n_contending: int = 0
    n_forgotten: int = 0
    forgets: bool = False
    limited: bool = False
    held_out: bool = False

    @property
    def human_is_apart(self) -> bool:
        """Whether a human rater is compared at one reply per item, and the judges at several."""
        human = self.judges[0].human if self.judges else None
        return self.n_replies != 1 and human is not None and human.difference is not None

    @property
    def candidates(self) -> tuple[str, ...]:
        """The ranked judges, from best to worst."""
        return tuple(row.judge for row in self.judges if row.ranked)

    @property
    def distinguishable(self) -> tuple[str, ...]:
        """The top judge and the significantly worse judges. Empty if no judge is worse."""
        ranked = [row for row in self.judges if row.value is not None]
        worse = tuple(row.judge for row in ranked[1:] if not row.close_to_first)
        return (ranked[0].judge, *worse) if worse else ()
