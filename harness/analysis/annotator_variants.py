"""Raters and judges in the alternative annotator test, and the test's named variants."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

import numpy as np

from harness.analysis.annotator_panel import panel_of, values_of
from harness.analysis.option_scale import OptionScale, drawn_modes, item_hash
from harness.stats import Estimate, Panel, annotator_tests
from harness.stats.alt_test.controls import mean_rater_correlations
from harness.stats.alt_test.outcome import AnnotatorSummary
from harness.stats.alt_test.panel import UNANSWERED
from harness.stats.alt_test.procedure import CombinedTest, combined_annotator_test
from harness.stats.alt_test.scoring import SimilarityTable
from harness.stats.data.arrays import distinct
from harness.stats.data.labels import medians
from harness.stats.selection.replies import drawn_replies, replies_of, samples_per_item

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from harness.analysis.prepared import Prepared
    from harness.stats import AltTest, AltTestDesign
    from harness.stats.alt_test.panel import Coded
    from harness.stats.data.arrays import FloatArray
    from harness.stats.selection.footing import Footing
    from harness.stats.selection.replies import Replies

CHOICES = frozenset({"forced_choice", "paired"})  # elicitations that ask for one option
VariantSetting = Literal["small_n", "unanswered", "weighting", "score", "expert", "gold", "quality"]
VariantKey: TypeAlias = tuple[
    VariantSetting, str
]  # a setting of the test, and the value that it is changed to
NO_EXPERT: Final = "no_expert_ratings"
NO_SET: Final = "no_ratings_of_one_set"


@dataclass(frozen=True, slots=True, repr=False)
class Annotators:
    """Forced choices of the raters, and one verdict per item from each judge.

    Attributes
    ----------
    p : Prepared
        The task's prepared ratings and verdicts.
    scale : Scale
        Numbers on an ordered scale, else option keys.
    panel : Panel
        The raters.
    verdicts : mapping of judge to Coded
        One value per item for each judge that was asked for choices: the median of its samples, or
        their mode with ties drawn. An item without samples is unanswered.
    n_tied : mapping of judge to int
        Number of items on which a mode was drawn.
    n_replies : mapping of judge to int
        Replies per item of ranked judges; empty if all replies were used.
    """

    p: Prepared
    scale: OptionScale
    panel: Panel
    verdicts: Mapping[str, Coded]
    n_tied: Mapping[str, int]
    n_replies: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, p: Prepared, scale: OptionScale) -> Self:
        """Collect the raters' choices and the judges' verdicts, as values on a scale."""
        panel = panel_of(p.task, p.human.items, values_of(scale).__getitem__)
        annotators = cls(p, scale, panel, {}, {})
        asked = [t for t in p.judges if CHOICES & p.source.planned[t.name].keys()]
        return annotators.judged({table.name: scale.counts(table) for table in asked})

    def __repr__(self) -> str:
        return f"Annotators({self.panel!r}, {len(self.verdicts)} judges)"

    @classmethod
    def compared(cls, p: Prepared) -> Self:
        """Collect choices, and verdicts of ranked judges from the same number of replies per item.

        The number is the one that the judge with the fewest replies reached on most items, and at
        most that at which judges are compared. The seed decides which of a judge's replies are
        used.
        """
        annotators = cls.of(p, OptionScale.of(p.task))
        return annotators.at_replies(p.footing) if p.footing else annotators

    def at_replies(self, footing: Footing) -> Self:
        """Return a copy with verdicts from the number of replies that all ranked judges have."""
        tables = [table for table in self.p.judges if table.name in footing.judges]
        replies = {
            table.name: replies_of(table, "s") for table in tables if table.name in self.verdicts
        }
        rated = self.p.human.forced_choice.sum(axis=1) > 0
        r = footing.n_replies
        for of_judge in replies.values():
            r = min(r, samples_per_item(of_judge.n_samples[rated], self.p.settings.min_answered))
        drawn = self.judged({name: self._drawn(name, z, r) for name, z in replies.items()})
        n_replies = {} if r == inf else dict.fromkeys(footing.judges, int(r))
        return replace(drawn, n_replies=n_replies)

    def _drawn(self, judge: str, replies: Replies, r: float) -> FloatArray:
        items, seed = self.p.human.items, self.p.settings.seed

        def rng_of(i: int) -> np.random.Generator:
            return np.random.default_rng(item_hash(seed, judge, items[i]))

        return drawn_replies(replies, r, rng_of)[:, self.scale.order]

    def judged(self, counts: Mapping[str, FloatArray]) -> Self:
        """Return a copy with the given judges' verdicts, from (n, K) arrays of reply counts."""
        verdicts, n_tied = dict(self.verdicts), dict(self.n_tied)
        for judge, of_judge in counts.items():
            numbers, n_tied[judge] = values_of_verdicts(
                self.scale, of_judge, self.panel.items, judge=judge, seed=self.p.settings.seed
            )
            verdicts[judge] = _coded(self.scale, self.panel, numbers)
        return replace(self, verdicts=verdicts, n_tied=n_tied)

    def tests(
        self, design: AltTestDesign, *, among: Collection[str] | None = None
    ) -> dict[str, AltTest]:
        """Run every judge's test on all items, or only on the items in ``among``."""
        if among is None:
            return annotator_tests(self.panel, self.verdicts, design)
        rows = np.flatnonzero([item in among for item in self.panel.items])
        kept = tuple(self.panel.items[i] for i in rows.tolist())
        panel = panel_of(self.p.task, kept, values_of(self.scale).__getitem__)
        judges = {name: verdicts.only(rows) for name, verdicts in self.verdicts.items()}
        return annotator_tests(panel, judges, design)


def _coded(scale: OptionScale, panel: Panel, numbers: FloatArray) -> Coded:
    """Convert an (n,) array of values to the panel's codes. A nan becomes an unanswered item."""
    places = np.full(len(numbers), UNANSWERED)
    answered = ~np.isnan(numbers)
    if scale.numbers is None:
        places[answered] = numbers[answered]
        return panel.coded_places(places, scale.options)
    values, places[answered] = distinct(numbers[answered])
    return panel.coded_places(places, values.tolist())


def values_of_verdicts(
    scale: OptionScale, counts: FloatArray, items: Sequence[str], *, judge: str, seed: int
) -> tuple[FloatArray, int]:
    """Return a judge's value for each item, and the number of items on which a tied mode was drawn.

    The values have the shape (n,). On an ordered scale, a value is the median of the replies, else
    the place of their mode. Seed, judge and item determine the mode if several are tied. The value
    is nan if there is no reply.
    """
    if scale.numbers is not None:
        return medians(counts, scale.numbers), 0
    return drawn_modes(counts, items, judge=judge, seed=seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """An annotator test with one setting changed.

    Attributes
    ----------
    setting : str
        The changed setting: ``small_n`` (raters with few items), ``unanswered``, ``weighting`` or
        ``score``. If task.yaml says so, also ``expert`` (compared with one rater), ``gold`` (with
        the right answers, at margin 0), ``quality`` (raters weighted), or ``score`` by its weights.
    value : str
        Its new value: ``t`` (the t-test) or ``skip``; ``exclude``, as published; ``ipw`` (items
        weighted by the inverse share of their label); ``rank_neg_rmse`` (ranks, on ordered scales)
        or ``weights`` (a lower cost of disagreement means more similarity); the rater; the field;
        "" for the quality.
    """

    setting: VariantSetting
    value: str
    result: AnnotatorSummary

    @property
    def name(self) -> str:
        """The setting and its value on one line."""
        return f"{self.setting}={self.value}" if self.value else self.setting


def variants(annotators: Annotators, design: AltTestDesign) -> dict[str, tuple[Variant, ...]]:
    """Return each judge's results for all variants that the data and task allow.

    A task may add an expert, a field with right answers, the raters' quality, and weights. The
    negative of a weight is a similarity.
    """
    by_variant = _summaries(annotators, design)
    return {
        name: tuple(
            Variant(setting=setting, value=value, result=tests[name])
            for (setting, value), tests in by_variant.items()
        )
        for name in annotators.verdicts
    }


def _summaries(
    annotators: Annotators, design: AltTestDesign
) -> dict[VariantKey, dict[str, AnnotatorSummary]]:
    task = annotators.p.task
    designs = _usual_designs(annotators.scale, design) | _task_designs(annotators, design)
    summaries: dict[VariantKey, dict[str, AnnotatorSummary]] = {
        variant: _summarised(annotators.tests(changed)) for variant, changed in designs.items()
    }
    if task.alt_test and task.alt_test.expert is not None:
        expert = task.alt_test.expert
        summaries["expert", expert] = _expert(annotators, design, expert)
    if task.weights is not None:
        keys = task.space.options
        labels = OptionScale("nominal", keys, None, np.arange(len(keys)))
        costs = np.array(task.weights)[: len(keys), : len(keys)]
        weighted = replace(design, score=SimilarityTable(keys, -costs))
        tests = Annotators.of(annotators.p, labels).tests(weighted)
        summaries["score", "weights"] = _summarised(tests)
    return summaries


def _summarised(tests: Mapping[str, AltTest]) -> dict[str, AnnotatorSummary]:
    return {name: AnnotatorSummary.of(test) for name, test in tests.items()}


def _usual_designs(scale: OptionScale, design: AltTestDesign) -> dict[VariantKey, AltTestDesign]:
    designs: dict[VariantKey, AltTestDesign] = {
        ("small_n", "t"): replace(design, small_n="t"),
        ("small_n", "skip"): replace(design, small_n="skip"),
        ("unanswered", "exclude"): replace(design, unanswered="exclude"),
        ("weighting", "ipw"): replace(design, weighting="ipw"),
    }
    if scale.numbers is not None:
        designs["score", "rank_neg_rmse"] = replace(design, score="rank_neg_rmse")
    return designs


def _task_designs(annotators: Annotators, design: AltTestDesign) -> dict[VariantKey, AltTestDesign]:
    settings = annotators.p.task.alt_test
    designs: dict[VariantKey, AltTestDesign] = {}
    if settings and settings.quality:
        designs["quality", ""] = replace(design, quality=settings.quality)
    if settings and settings.gold is not None:
        value_of = values_of(annotators.scale)
        answers = {item.id: item.fields.get(settings.gold) for item in annotators.p.source.items}
        gold = {item: value_of[answer] for item, answer in answers.items() if answer}
        designs["gold", settings.gold] = replace(design, gold=gold, eps=0.0)
    return designs


def _expert(
    annotators: Annotators, design: AltTestDesign, expert: str
) -> dict[str, AnnotatorSummary]:
    if expert in annotators.panel.raters:
        return _summarised(annotators.tests(replace(design, expert=expert)))
    undefined = AnnotatorSummary.undefined(NO_EXPERT, len(annotators.panel.items))
    return dict.fromkeys(annotators.verdicts, undefined)


def combined(annotators: Annotators, design: AltTestDesign) -> dict[str, CombinedTest]:
    """Test judges against combined raters, if the task defines combined raters."""
    settings = annotators.p.task.alt_test
    if settings is None or not settings.combine:
        return {}
    present = set(annotators.panel.raters)
    first, second = ([rater for rater in team if rater in present] for team in settings.combine)
    if not (first and second):  # if only other raters rated these items
        nothing = CombinedTest(
            winning_rate=None, advantage=None, passes_share=None, n_pairings=0, reason=NO_SET
        )
        return dict.fromkeys(annotators.verdicts, nothing)
    sets, rng = (first, second), annotators.p.rng
    return {
        name: combined_annotator_test(annotators.panel, verdicts, design, sets, rng=rng())
        for name, verdicts in annotators.verdicts.items()
    }


def rater_correlations(annotators: Annotators) -> dict[str, Estimate]:
    """Return each judge's mean correlation with the raters, or an empty dict on unordered scales.

    The mean over raters is "Pears" in Calderon et al. 2025, table 2. Their "Acc" is the hit rate.
    """
    if annotators.scale.numbers is None:
        return {}
    return mean_rater_correlations(annotators.panel, annotators.verdicts)


def by_criterion(
    annotators: Annotators, design: AltTestDesign
) -> dict[str, dict[str, AnnotatorSummary]]:
    """Test each judge on each criterion. Return an empty dict for fewer than two criteria."""
    items = _items_by_criterion(annotators.p)
    if len(items) < 2:  # noqa: PLR2004 -- one domain is the test itself
        return {}
    tests = {
        criterion: _summarised(annotators.tests(design, among=ids))
        for criterion, ids in items.items()
    }
    return {
        name: {criterion: by_judge[name] for criterion, by_judge in tests.items()}
        for name in annotators.verdicts
    }


def _items_by_criterion(p: Prepared) -> dict[str, set[str]]:
    items: dict[str, set[str]] = {}
    for item in p.source.items:
        if item.criterion is not None:
            items.setdefault(item.criterion, set()).add(item.id)
    return items
