"""Simulated designs with a planted truth, estimated from a task or set by options."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from harness.analysis import JudgeFacts, Settings, Source
from harness.analysis.inputs import N_RESAMPLES
from harness.errors import TaskError
from harness.judging.parsing.verdict import Verdict
from harness.stats.modes import AnswerKind  # noqa: TC001 -- a field's type
from harness.stats.planning.planted import EXACT, PlantedJudge, PlantedRaters
from harness.tasks import CANNOT_ASSESS, Item, Option, Rating, Task

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from harness.extras.experiments.selftest_options import SelftestOptions
    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.tasks.item import Rating as HumanRating

PlantedAnswer: TypeAlias = "str | tuple[str, ...]"  # an option, or a response set
AGREEMENT = 0.75  # of the best judge with a rater, if there is no task


@dataclass(frozen=True)
class DesignJudge:
    """Judge in a simulated design."""

    name: str
    planted: PlantedJudge
    n_replies: int
    cost_usd: float | None = None  # of a reply


@dataclass(frozen=True)
class Design:
    """Simulated design with a known truth.

    Attributes
    ----------
    task : Task
        Source of options, metric, margins and raters' names. Its ratings are not used.
    elicitation : {"forced_choice", "response_set"}
        Kind of ratings to draw, which rank the judges.
    raters : PlantedRaters
        Model of the raters' answers.
    abstention : float
        Share of abstentions among the raters' answers.
    of_item, of_rater : (R,) arrays
        Indices of the item and the rater for each rating.
    n_items : int
        Number of items in a data set.
    judges : tuple of DesignJudge
        Judges from the task's verdicts or from options.
    notes : tuple of str
        Parts of the task that the design leaves out.
    """

    task: Task
    raters: PlantedRaters
    abstention: float
    of_item: IntArray
    of_rater: IntArray
    n_items: int
    judges: tuple[DesignJudge, ...]
    elicitation: AnswerKind = "forced_choice"
    notes: tuple[str, ...] = ()

    @property
    def answers(self) -> tuple[PlantedAnswer, ...]:
        """Possible answers of raters and judges, either options or response sets."""
        return answers_of(self.task, self.elicitation)

    @property
    def n_calls(self) -> int:
        """Total number of replies from all judges for one data set."""
        return self.n_items * sum(judge.n_replies for judge in self.judges)

    @property
    def cost_usd(self) -> float | None:
        """Cost in USD of the replies for one data set, or None if a price is unknown."""
        costs = [j.cost_usd for j in self.judges]
        if any(cost is None for cost in costs):
            return None
        return self.n_items * sum(
            judge.n_replies * (judge.cost_usd or 0.0) for judge in self.judges
        )

    def with_judges(self, planted: Sequence[PlantedJudge]) -> Design:
        """Return the design with different judges under the same names."""
        judges = [replace(j, planted=p) for j, p in zip(self.judges, planted, strict=True)]
        return replace(self, judges=tuple(judges))

    def repeated(self, times: int) -> Design:
        """Repeat all items and their rating pattern ``times`` times."""
        shift = np.repeat(np.arange(times) * self.n_items, len(self.of_item))
        return replace(
            self,
            of_item=np.tile(self.of_item, times) + shift,
            of_rater=np.tile(self.of_rater, times),
            n_items=self.n_items * times,
        )

    def choices(self, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Draw probabilities (an (n, K) array) and choices (an (R,) array, -1 for abstentions)."""
        chances = self.raters.chances(self.n_items, rng)
        chosen = self.raters.choose(chances[self.of_item], rng)
        chosen[rng.random(len(chosen)) < self.abstention] = -1
        return chances, chosen

    def draw(self, seed: Sequence[int], *, n_resamples: int = N_RESAMPLES) -> Source:
        """Draw ratings and verdicts, and return them as a source for validation."""
        rng = np.random.default_rng(list(seed))
        chances, chosen = self.choices(rng)
        items = tuple(Item(f"i{i:06}", {"text": f"item {i}"}) for i in range(self.n_items))
        values = self.answers
        ratings = tuple(
            Rating(
                items[i].id,
                f"r{j:04}",
                self.elicitation,
                CANNOT_ASSESS if choice < 0 else values[choice],
            )
            for i, j, choice in zip(
                self.of_item.tolist(), self.of_rater.tolist(), chosen.tolist(), strict=True
            )
        )
        shares = np.array(self.raters.shares)
        verdicts = {
            judge.name: self._verdicts(
                judge, items, judge.planted.replies(chances, shares, judge.n_replies, rng), values
            )
            for judge in self.judges
        }
        return Source(
            task=self.task.model_copy(update={"items": items, "ratings": ratings, "ignored": ()}),
            items=items,
            judges=tuple(JudgeFacts(name=judge.name) for judge in self.judges),
            verdicts=verdicts,
            planned={
                judge.name: {self.elicitation: self.n_items * judge.n_replies}
                for judge in self.judges
            },
            settings=Settings(
                ranks_by=self.elicitation,
                seed=int(rng.integers(2**31)),
                n_resamples=n_resamples,
            ),
        )

    def _verdicts(
        self,
        judge: DesignJudge,
        items: Sequence[Item],
        replies: IntArray,
        values: Sequence[PlantedAnswer],
    ) -> list[Verdict]:
        return [
            Verdict(
                item=item.id,
                judge=judge.name,
                elicitation=self.elicitation,
                sample=sample,
                outcome="abstained" if choice < 0 else "answered",
                value=None if choice < 0 else values[choice],
            )
            for item, row in zip(items, replies.tolist(), strict=True)
            for sample, choice in enumerate(row)
        ]


def answers_of(task: Task, elicitation: AnswerKind) -> tuple[PlantedAnswer, ...]:
    """Return the possible answers on a task: its options or its response sets."""
    if elicitation == "response_set":
        return task.space.sets
    return tuple(option.key for option in task.options)


def given_design(options: SelftestOptions) -> Design:
    """Build a design with two answer options, in which every rater rates every item.

    Raises
    ------
    TaskError
        If raters or judges cannot agree this often.
    """
    raters = _raters((options.prevalence, 1.0 - options.prevalence), options.rater_agreement)
    task = Task(
        name="options",
        property="whether it is so",
        scale="binary",
        options=[Option(key="yes", label="Yes"), Option(key="no", label="No")],
        positive=("yes",),
        abstain=options.abstention > 0,
        items=(),
        ratings=(),
    )
    n, m = options.n_items, options.n_raters
    return Design(
        task=task,
        raters=raters,
        abstention=options.abstention,
        of_item=np.repeat(np.arange(n), m),
        of_rater=np.tile(np.arange(m), n),
        n_items=n,
        judges=given_judges(raters, options, AGREEMENT),
    )


def given_judges(
    raters: PlantedRaters, options: SelftestOptions, agreement: float
) -> tuple[DesignJudge, ...]:
    """Build judges from options, best first. ``agreement`` is the default for the best judge."""
    best = agreement if options.agreement is None else options.agreement
    return tuple(
        DesignJudge(
            f"judge {k + 1}",
            _judge(
                raters,
                best - k * options.gap,
                self_consistency=options.self_consistency,
                abstention=options.abstention,
            ),
            options.samples or 1,
            options.reply_cost,
        )
        for k in range(options.n_judges)
    )


def design_of(source: Source, options: SelftestOptions) -> Design:
    """Estimate a design from a task's ratings and its judges' verdicts.

    Raises
    ------
    OptionError
        If an option repeats something that the task or its verdicts specify.
    TaskError
        If the task has no options, or too few ratings to estimate how often raters agree.
    """
    options.check(has_verdicts=bool(source.verdicts))
    task = source.task
    task.require_options("a self-test")
    places = {item.id: place for place, item in enumerate(source.items)}
    form = source.ranking_elicitation
    ratings = [r for r in task.ratings if r.elicitation == form and r.item in places]
    codes = {_key(answer): k for k, answer in enumerate(answers_of(task, form))}
    counts, n_abstained = _counts(ratings, places, codes)
    raters = PlantedRaters.of_counts(counts)
    if raters is None:
        raise TaskError(
            f"task {task.name}: no item has two ratings ({form}), so how often raters agree can't "
            "be estimated. Describe a design with --items and --rater-agreement."
        )
    names = {name: j for j, name in enumerate(dict.fromkeys(r.rater for r in ratings))}
    judges = tuple(
        _estimated_judge(
            name, _of_form(source.verdicts[name], form), counts, (places, codes), raters
        )
        for name in source.verdicts
    )
    if options.reply_cost is not None:
        judges = tuple(
            replace(j, cost_usd=options.reply_cost) if j.cost_usd is None else j for j in judges
        )
    return Design(
        task=task,
        raters=raters,
        abstention=n_abstained / len(ratings),
        of_item=np.array([places[r.item] for r in ratings]),
        of_rater=np.array([names[r.rater] for r in ratings]),
        n_items=len(source.items),
        judges=judges or given_judges(raters, options, raters.agreement),
        elicitation=form,
        notes=tuple(_left_out(source)),
    )


def _left_out(source: Source) -> Iterable[str]:
    if not source.verdicts:
        yield "there are no verdicts, so the judges' agreement is assumed"
    if any(item.group for item in source.items):
        yield "items belong to groups, but the design draws them independently"
    if any(item.criterion for item in source.items):
        yield "items have criteria, but the design draws them without criteria"
    names: dict[AnswerKind, str] = {
        "forced_choice": "forced choices",
        "response_set": "response sets",
    }
    ranking = source.ranking_elicitation
    for form in names.keys() & {r.elicitation for r in source.task.ratings} - {ranking}:
        yield f"{names[form]} are not drawn, because judges are ranked by {names[ranking]}"


def _key(answer: PlantedAnswer) -> Hashable:
    """Return an option unchanged, or a set as a key that does not depend on its order."""
    return answer if isinstance(answer, str) else frozenset(answer)


def _of_form(verdicts: Iterable[Verdict], form: AnswerKind) -> list[Verdict]:
    return [verdict for verdict in verdicts if verdict.elicitation == form]


def _counts(
    ratings: Iterable[HumanRating], places: Mapping[str, int], codes: Mapping[Hashable, int]
) -> tuple[IntArray, int]:
    """Count each answer per item as an (n, K) array, and the abstentions as a total."""
    counts, n_abstained = np.zeros((len(places), len(codes)), dtype=np.int64), 0
    for rating in ratings:
        if _key(rating.value) in codes:
            counts[places[rating.item], codes[_key(rating.value)]] += 1
        else:
            n_abstained += 1
    return counts, n_abstained


def _answer_of(value: object) -> Hashable:
    """Return a hashable key for a verdict's value, or None if it is not an answer."""
    if isinstance(value, str):
        return value
    return frozenset(value) if isinstance(value, list | tuple | frozenset) else None


def _estimated_judge(
    name: str,
    verdicts: Sequence[Verdict],
    ratings: IntArray,
    index: tuple[Mapping[str, int], Mapping[Hashable, int]],
    raters: PlantedRaters,
) -> DesignJudge:
    places, codes = index
    replies = np.zeros_like(ratings)
    asked, costs = Counter[str](), defaultdict[str, list[float]](list)
    n_asked = 0
    for verdict in verdicts:
        n_asked += 1
        asked[verdict.item] += 1
        if verdict.reply is not None and verdict.reply.cost_usd is not None:
            costs[name].append(float(verdict.reply.cost_usd))
        answer = _answer_of(verdict.value)
        if answer in codes:
            replies[places[verdict.item], codes[answer]] += 1
    answered = int(replies.sum())
    if not answered:
        raise TaskError(
            f"judge {name} has no answer of the kind that ranks judges. Leave out its verdicts."
        )
    each = replies.sum(axis=1)
    compared = float((each * ratings.sum(axis=1)).sum())
    agreement = float((replies * ratings).sum()) / compared if compared else raters.by_chance
    pairs = float((each * (each - 1)).sum())
    consistency = float((replies * (replies - 1)).sum()) / pairs if pairs else 1.0
    planted = _judge(
        raters,
        agreement,
        self_consistency=max(consistency, raters.by_chance),
        abstention=1.0 - answered / n_asked,
        to_reach=True,
    )
    mean_cost = sum(costs[name]) / len(costs[name]) if costs[name] else None
    return DesignJudge(name, planted, max(asked.values()), mean_cost)


def _raters(shares: tuple[float, ...], agreement: float) -> PlantedRaters:
    try:
        return PlantedRaters(shares, agreement)
    except ValueError as error:
        raise TaskError(f"{error}. Change --rater-agreement or --prevalence.") from None


def _judge(
    raters: PlantedRaters,
    agreement: float,
    *,
    self_consistency: float,
    abstention: float,
    to_reach: bool = False,
) -> PlantedJudge:
    """Return a judge with this agreement or, if ``to_reach``, the nearest possible agreement."""
    if to_reach:
        room = 1.0 - raters.by_chance
        fidelity = ((self_consistency - raters.by_chance) / room) ** 0.5 if room > EXACT else 1.0
        most = raters.by_chance + fidelity * (raters.certainty - raters.by_chance)
        agreement = min(max(agreement, raters.by_chance), most)
    try:
        return PlantedJudge.that_agrees(
            raters, agreement, self_consistency=self_consistency, abstention=abstention
        )
    except ValueError as error:
        raise TaskError(f"{error}. Change --agreement, --gap or --n-judges.") from None
