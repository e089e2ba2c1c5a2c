"""Result of a validation, as stored in ``metrics.json``."""

from __future__ import annotations

import json
from collections.abc import Callable  # noqa: TC003 -- msgspec reads annotations
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Required, Self, TypedDict, Unpack

import numpy as np

from harness.analysis.abstention_rates import AbstentionRates
from harness.analysis.beta_sensitivity import Sensitivity
from harness.analysis.check_result import JudgeCheck
from harness.analysis.completeness import Completeness, UnreadableReplies, unreadable_replies
from harness.analysis.decision import Decision, decide
from harness.analysis.error_analysis import Errors
from harness.analysis.evidence_rows import Evidence
from harness.analysis.human_certainty import Certainty
from harness.analysis.inputs import Settings, metric_definitions
from harness.analysis.item_slices import Slices
from harness.analysis.judge_result import HumanResult, JudgeResult, Sampling, TaskFacts
from harness.analysis.location import NOWHERE, Location
from harness.analysis.metric_choice import Choosing
from harness.analysis.plugin_metrics import plugin_metric, plugin_metric_names
from harness.analysis.race_result import RaceResult
from harness.analysis.rater_replacement import Replacement
from harness.analysis.reply_dates import NO_DATES, ReplyDates
from harness.analysis.rubric import RubricResult
from harness.analysis.score_measures import Scores
from harness.analysis.second_questions import SecondQuestions
from harness.analysis.serialize import from_json, schema_of, to_short_json
from harness.stats import Estimate
from harness.stats.data.resolved_tables import ITEM_SPACE, MET
from harness.stats.selection.ranking import Ranked, Ranking, ranks_of
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.analysis.evidence_rows import JudgeEvidence
    from harness.analysis.inputs import Source
    from harness.files.json_values import JsonObject
    from harness.stats import Metric


SCHEMA_VERSION = 3
OPTIONAL = ("slices", "abstention", "scores")  # sections that ``metrics.json`` can lack


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Results of a run. The fields correspond to the contents of ``metrics.json``.

    Attributes
    ----------
    settings : Settings
        The source's settings, with the cut-off, metric and beta that were used.
    ranking : Ranking or None
        Ranking by the metric that ranks; None without judges.
    decision : Decision
        The judge to use, the evidence for it, and what to collect next.
    evidence : Evidence or None
        Judges, baselines and a human rater, compared on the same items and number of replies.
    choosing : Choosing or None
        Cost of choosing by each metric.
    sensitivity : Sensitivity or None
        Dependence of the comparison on beta, and bounds.
    certainty, replacement, errors : or None
        Results by human certainty, the alternative annotator test, and the error analysis.
    slices : Slices or None
        Judges by the fields of the items; None, and not in ``metrics.json``, if items have none.
    abstention : AbstentionRates or None
        Rates at which judges abstain or can't be read; None, and not in ``metrics.json``, if no
        judge does.
    rubric : RubricResult or None
        The criteria of a rubric and their aggregates; None without one.
    scores : Scores or None
        Measures of how judges that give numbers order items; None, and not in ``metrics.json``,
        without such judges.
    second_questions : SecondQuestions or None
        Frequency of second questions, and the ranking without them; None without second questions.
    unreadable : tuple of UnreadableReplies
        Judges with more than a few replies without a verdict.
    verdicts_hash : str
        SHA-256 of the run's verdict log, from which all results were computed; "" without a run.
    race : RaceResult or None
        Result of the race between the judges; None if all were run on all items.
    reply_dates : ReplyDates
        Days on which the run's replies were received, and the number of new ones.
    checks : dict of str to JudgeCheck
        The last check without labels for each of a run's judges that was checked.
    location : Location
        Names of the task and the run for commands. Files don't contain it because both can be
        moved.
    """

    schema_version: int = SCHEMA_VERSION
    task: TaskFacts
    settings: Settings
    sampling: Sampling
    humans: HumanResult
    judges: tuple[JudgeResult, ...]
    ranking: Ranking | None
    decision: Decision
    evidence: Evidence | None = None
    choosing: Choosing | None = None
    sensitivity: Sensitivity | None = None
    certainty: Certainty | None = None
    replacement: Replacement | None = None
    errors: Errors | None = None
    slices: Slices | None = None
    abstention: AbstentionRates | None = None
    rubric: RubricResult | None = None
    scores: Scores | None = None
    second_questions: SecondQuestions | None = None
    unreadable: tuple[UnreadableReplies, ...] = ()
    notes: tuple[str, ...]
    verdicts_hash: str = ""
    race: RaceResult | None = None
    reply_dates: ReplyDates = NO_DATES
    checks: dict[str, JudgeCheck] = field(default_factory=dict)
    location: Location = NOWHERE
    as_html: ClassVar[Callable[[Validation], str] | None] = None  # set by harness.report

    def __repr__(self) -> str:
        n_judges = f"{len(self.judges)} judge{'' if len(self.judges) == 1 else 's'}"
        about = f"{self.task.name!r}, {self.task.n_items} items, {n_judges}"
        judge = f", judge {self.decision.judge!r}" if self.decision.judge else ""
        return f"Validation({about}, verdict {self.decision.verdict!r}{judge})"

    def __eq__(self, other: object) -> bool:
        """Return whether two validations have equal ``metrics.json`` contents."""
        if not isinstance(other, Validation):
            return NotImplemented
        return bool(json.loads(self.to_json()) == json.loads(other.to_json()))

    __hash__ = None  # type: ignore[assignment]

    def judge(self, name: str) -> JudgeResult:
        """Return one judge's results."""
        return next(judge for judge in self.judges if judge.name == name)

    @property
    def tau(self) -> float:
        """The cut-off tau."""
        assert self.settings.tau is not None, "a validation has a cut-off"
        return self.settings.tau

    @property
    def ranking_metric(self) -> str:
        """Name of the ranking metric."""
        assert self.settings.metric is not None, "a validation has a metric that ranks"
        return self.settings.metric

    @property
    def ranked_judges(self) -> tuple[JudgeResult, ...]:
        """Names of the judges from best to worst, or in the given order without a ranking."""
        if self.ranking is None:
            return self.judges
        return tuple(self.judge(row.judge) for row in self.ranking.rows)

    def metric(self, name: str) -> Metric | None:
        """Return a metric's definition, or None if it is unknown (such as without its plug-in)."""
        options, positive = tuple(self.task.options), self.task.positive
        if self.settings.level == "item":
            options, positive = ITEM_SPACE.options, (MET,)
        elif self.settings.mode == "third_class":
            options = (*options, CANNOT_ASSESS)
        metric = metric_definitions(self.task.scale, options, positive).get(name)
        if metric is None and name in plugin_metric_names():
            return plugin_metric(name)
        return metric

    def evidence_of(self, name: str) -> JudgeEvidence:
        """Return the evidence on a judge, including how complete its replies are."""
        assert self.evidence is not None, "a validation with judges has evidence"
        return next(row for row in self.evidence.judges if row.judge == name)

    def completeness(self) -> dict[str, Completeness]:
        """Return how complete each judge's replies are."""
        least = self.settings.min_answered
        return {
            judge.name: Completeness(judge.outcomes, least, is_planned=judge.kind != "external")
            for judge in self.judges
        }

    def beta_hat(self, name: str) -> tuple[Estimate, bool]:
        """Return a judge's beta, and whether it is a maximum likelihood estimate without pairs."""
        beta = self.judge(name).beta
        fitted = self.sensitivity.judge_betas.get(name) if self.sensitivity else None
        if beta.value is None and fitted is not None and fitted.value is not None:
            return fitted, True
        return beta, False

    def to_json(self) -> str:
        """Return the contents of ``metrics.json``, without the texts of replies and items.

        Estimates omit members with default values.
        """
        without_texts = tuple(replace(replies, examples=()) for replies in self.unreadable)
        errors = self.errors and self.errors.without_texts()
        return to_short_json(
            replace(self, unreadable=without_texts, errors=errors, location=NOWHERE),
            without=[name for name in OPTIONAL if getattr(self, name) is None],
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a validation from the output of `to_json`.

        Raises
        ------
        ValueError
            If the text comes from a different version, or isn't a validation.
        """
        return from_json(text, cls)

    @classmethod
    def json_schema(cls) -> JsonObject:
        """Return the JSON schema of ``metrics.json``."""
        return schema_of(cls)

    def _repr_html_(self) -> str | None:
        """Show the ranking in a notebook, if the report module is loaded."""
        return None if Validation.as_html is None else Validation.as_html(self)


class Sections(TypedDict, total=False):
    """Sections of `Validation` other than its metrics."""

    evidence: Required[Evidence | None]
    choosing: Choosing | None
    sensitivity: Sensitivity | None
    certainty: Certainty | None
    replacement: Replacement | None
    errors: Errors | None
    slices: Slices | None
    abstention: AbstentionRates | None
    rubric: RubricResult | None
    scores: Scores | None
    second_questions: SecondQuestions | None


def make_validation(
    source: Source,
    metric: Metric,
    humans: HumanResult,
    judges: tuple[JudgeResult, ...],
    *,
    task: TaskFacts,
    sampling: Sampling,
    notes: Iterable[str],
    **sections: Unpack[Sections],
) -> Validation:
    """Return a validation, including the ranking by a metric and the decision that follows.

    ``notes`` come after the notes on the source and on the ratings.
    """
    evidence = sections["evidence"]
    choosing, sensitivity = sections.get("choosing"), sections.get("sensitivity")
    advice = sensitivity.identifiability.advice if sensitivity else ""
    decision = decide(
        humans, judges, evidence, choosing=choosing, sensitivity=sensitivity, advice=advice
    )
    return Validation(
        task=task,
        settings=replace(
            source.settings,
            tau=source.cutoff,
            metric=metric.name,
            beta=source.settings.beta if humans.sets.origin == "assumed" else None,
        ),
        sampling=sampling,
        humans=humans,
        judges=judges,
        ranking=_ranking_of(evidence, metric) if evidence else None,
        decision=replace(decision, reason="raced") if source.race and not judges else decision,
        unreadable=unreadable_replies(source),
        notes=(
            *source.notes,
            *_notes_on_ratings(humans),
            *notes,
        ),
        verdicts_hash=source.verdicts_hash,
        race=source.race,
        checks=dict(source.checks),
        reply_dates=source.reply_dates,
        location=source.location,
        **sections,
    )


def _ranking_of(evidence: Evidence, metric: Metric) -> Ranking:
    """Return the judges' ranks on the same items and number of replies."""
    values = [np.nan if row.value is None else row.value for row in evidence.judges]
    ranks = ranks_of(metric.losses(np.array(values, dtype=np.float64)))
    return Ranking(
        metric=metric.name,
        better=metric.better,
        unit=metric.unit,
        rows=tuple(
            Ranked(row.judge, rank) for row, rank in zip(evidence.judges, ranks, strict=True)
        ),
    )


def _notes_on_ratings(humans: HumanResult) -> list[str]:
    """Return notes on ratings that are not choices."""
    notes = []
    if humans.n_abstained:
        notes.append(f"ratings that are {CANNOT_ASSESS}: {humans.n_abstained}")
    if humans.ignored_labels:
        labels = ", ".join(f"{label!r} {n}" for label, n in humans.ignored_labels.items())
        total = sum(humans.ignored_labels.values())
        notes.append(f"ratings with labels that the task ignores: {total} ({labels})")
    return notes
