"""Send the requests of a round, based on the run's judges, items and settings."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from harness.analysis.completeness import completeness_of
from harness.app.plan import Plan, make_job
from harness.errors import JudgeUnavailable, RunError, in_sentences
from harness.judging.judge_spec import control_judges
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import check, kept_answers, own_judges, reader_of
from harness.judging.judges.pricing import check_limited
from harness.revalidation.baseline_design import draw_anchor
from harness.revalidation.causes import (
    Comparable,
    changed_judges_file,
    compare_content,
    setup_of,
    validate_anew,
)
from harness.revalidation.history import FILE, HistoryFile, HistoryReading, read_history
from harness.revalidation.metric_changes import Yardstick
from harness.revalidation.next_occasion import NextOccasion, next_occasion
from harness.revalidation.occasion import (
    OccasionAnswers,
    answers_of_occasion,
    ask_occasion,
    occasion_verdicts,
    replies_of_occasions,
    with_ensembles,
)
from harness.revalidation.reply_categories import StreamReplies, stream_of
from harness.revalidation.watched_judges import watched_judges
from harness.runs.asked_items import elicitations_of, items_by_elicitation, items_of
from harness.runs.sources import samples_of
from harness.tasks import Item

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from harness.analysis.completeness import Completeness
    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.recorder import Observer
    from harness.judging.running.stopping import StopRequests
    from harness.judging.strategies.strategy import Fitted
    from harness.revalidation.causes import Setup
    from harness.revalidation.look_options import LookOptions
    from harness.revalidation.records import Baseline, JudgeVerdict, Look
    from harness.runs.run_folder import RunFolder
    from harness.tasks.item import Elicitation

    LeftOutJudges = dict[str, tuple[JudgeVerdict, str]]  # judges without replies, with the reason


@dataclass(slots=True)
class Sitting:
    """State of a re-validation. Nothing is written without a ``file``.

    Attributes
    ----------
    occasion : NextOccasion
        The current occasion, which stays until its replies are recorded.
    assumed_usd : float
        Part of the cost limit that may have been spent.
    """

    run: RunFolder
    setup: Setup
    options: LookOptions
    file: HistoryFile | None
    history: HistoryReading
    stop: StopRequests | None = None
    occasion: NextOccasion = field(init=False)
    assumed_usd: float = 0.0

    def __post_init__(self) -> None:
        self.occasion = next_occasion(self.run, self.history.first_unused_occasion)

    @classmethod
    @contextmanager
    def at(
        cls, run: RunFolder, options: LookOptions, stop: StopRequests | None = None
    ) -> Iterator[Sitting]:
        """Read history, task and prompts, and lock the history except in a dry run."""
        setup = setup_of(run, options.task)
        if options.dry_run:
            sitting = cls(run, setup, options, None, read_history(run.path / FILE), stop)
            sitting.check_own()
            yield sitting
            return
        with HistoryFile.open(run.path) as file:
            sitting = cls(run, setup, options, file, read_history(file.path), stop)
            sitting.check_own()
            sitting.check_fixed()
            yield sitting

    @property
    def watched(self) -> tuple[JudgeSpec, ...]:
        """The judges that the round watches."""
        return watched_judges(self.run, self.options.judges or ())

    @property
    def asked_judges(self) -> tuple[JudgeSpec, ...]:
        """The watched judges that receive requests."""
        asked = {spec.name for spec in self.run.manifest.asked_judges}
        return tuple(spec for spec in self.watched if spec.name in asked)

    @property
    def baseline(self) -> Baseline:
        """The newest baseline. Raises an assertion error without a baseline."""
        baseline = self.history.baseline
        assert baseline is not None, "the baseline is made first"
        return baseline

    def append(self, *records: Baseline | Look) -> None:
        """Append records to the history."""
        if self.file is not None:
            self.file.append(records)
        for record in records:
            self.history.add(record)
        if self.history.first_unused_occasion > self.occasion.number:
            self.occasion = next_occasion(self.run, self.history.first_unused_occasion)

    def check_own(self) -> None:
        """Reject the history of a run with other judges."""
        baseline, own = self.history.baseline, {spec.name for spec in self.run.manifest.judges}
        if baseline is not None and own != set(baseline.judges):
            raise RunError(
                f"{self.run.path / FILE}: the history belongs to a run with different judges "
                f"({', '.join(baseline.judges)})",
                "Restore this run's own history, or remove the file to start a new one.",
            )

    def check_fixed(self) -> None:
        """Reject values of --anchor and --baseline-replies that differ from the baseline's.

        As long as no round was compared with a baseline, more replies can be added to it.
        """
        baseline, options = self.history.baseline, self.options
        if baseline is None:
            return
        wanted = {"--anchor": options.anchor, "--baseline-replies": options.baseline_replies}
        stored = {"--anchor": len(baseline.items), "--baseline-replies": baseline.n_replies}
        if not self.history.looks_since_baseline and (
            (options.baseline_replies or 0) > baseline.n_replies
        ):
            del wanted["--baseline-replies"]
        for option, number in wanted.items():
            if number not in {None, stored[option]}:
                raise RunError(
                    f"{self.run.path / FILE}: {option} {number}: the baseline already has a "
                    f"fixed value, {stored[option]}. Leave out {option}."
                )

    def check_look(self, option: str, number: int) -> None:
        """Reject a round that is not compared with the newest baseline."""
        numbers = [look.number for look in self.history.looks_since_baseline]
        if number not in numbers:
            raise RunError(
                f"{self.run.path / FILE}: {option} {number}: there's no round with this number "
                "since the last baseline. The rounds are: "
                f"{', '.join(map(str, numbers)) or 'none'}."
            )

    def verdicts_on(
        self, replies: Sequence[Verdict], fitted: Mapping[str, Fitted], occasion: int
    ) -> list[Verdict]:
        """Return the watched judges' verdicts from an occasion. Occasion 0 is the run itself."""
        specs = self.watched if occasion else self.run.manifest.judges
        return occasion_verdicts(replies, specs, self.setup.task, fitted, look=occasion)

    def asked_streams(self, baseline: Baseline, answers: OccasionAnswers) -> list[StreamReplies]:
        """Return the next occasion's replies to a baseline's items, by judge and elicitation."""
        verdicts = self.verdicts_on(answers.verdicts, baseline.fitted, self.occasion.number)
        return [
            stream_of(verdicts, s.judge, s.elicitation, baseline.items, self.setup.task)
            for s in baseline.streams
        ]

    def completeness(
        self, answers: OccasionAnswers, without: Container[str]
    ) -> dict[str, Completeness]:
        """Return how complete each watched judge's replies are on the next occasion.

        Items in ``without`` were not requested.
        """
        items, planned = self._items_to_ask(without)
        config, ids = self.run.manifest.config, {item.id for item in items}
        settings = {"samples": self.options.replies_per_item}
        samples = samples_of(self.run.manifest, config.model_copy(update=settings))
        occasion, fitted = self.occasion.number, self.baseline.fitted
        verdicts: dict[str, list[Verdict]] = {spec.name: [] for spec in self.watched}
        for verdict in self.verdicts_on(answers.verdicts, fitted, occasion):
            verdicts[verdict.judge].append(verdict)
        return {
            spec.name: completeness_of(
                verdicts[spec.name],
                {
                    name: len(planned[name]) * samples[spec.name]
                    for name in elicitations_of(spec, planned)
                },
                ids,
                config.choices.min_answered,
            )
            for spec in self.watched
        }

    def ask(self, plan: Plan, observer: Observer) -> OccasionAnswers:
        """Request the replies that are still missing on the next occasion."""
        if self.occasion.is_complete:
            return answers_of_occasion(self.run, self.occasion.number)
        for line in kept_answers(self.watched, load_judges(self.options.judges_file)):
            observer.say(line)
        store, number = self.options.store, self.occasion.number
        is_late = self.occasion.is_late
        answers = ask_occasion(
            self.run, plan, number, observer, store=store, stop=self.stop, is_late=is_late
        )
        self.assumed_usd = answers.assumed_usd
        return answers

    def comparable(self, baseline: Baseline) -> Comparable:
        """Return the items that can be compared with a baseline, or why no item can be."""
        run, setup = self.run, self.setup
        looks = [
            look.occasion
            for look in self.history.looks
            if baseline.accepted <= look.number and look.baseline == baseline.number - 1
        ]
        occasions = looks if baseline.accepted else [0]
        occasions += [baseline.occasion] if baseline.occasion else []
        specs = run.manifest.asked_judges
        readers = {spec.name: reader_of(spec, setup.task, setup.prompts.orders) for spec in specs}
        verdicts = replies_of_occasions(run, occasions)
        return compare_content(baseline, setup, readers, verdicts, anew=validate_anew(run))

    def judges_left_out(self, baseline: Baseline, content: Comparable) -> LeftOutJudges:
        """Return the judges that cannot be compared with a baseline, and the reason for each."""
        if content.causes:
            return dict.fromkeys(baseline.judges, ("not comparable", "; ".join(content.causes)))
        changed = changed_judges_file(self.run, self.options.judges_file)
        reasons = with_ensembles(self.run.manifest.judges, changed)
        return {judge: ("not comparable", reason) for judge, reason in reasons.items()}

    def plan(
        self, specs: Sequence[JudgeSpec], samples: int, *, without: Container[str] = ()
    ) -> Plan:
        """Plan the next occasion for the baseline's items, or for a new anchor without a baseline.

        Items in ``without`` and judges that can't run are left out, the latter with the reason. The
        user's own definitions of judges apply.
        """
        options, run = self.options, self.run
        specs = own_judges(specs, load_judges(options.judges_file), options)
        items, planned = self._items_to_ask(without)
        settings = {
            "race": False,
            "samples": samples,
            "max_cost": options.max_cost,
            "max_cost_soft": options.max_cost_soft,
            "keep_going": options.keep_going,
        }
        config = run.manifest.config.model_copy(update=settings)
        make = partial(make_job, task=self.setup.task, prompts=self.setup.prompts, config=config)
        skipped, jobs = {}, []
        for spec in specs:
            try:
                check(spec, self.setup.task)
            except JudgeUnavailable as error:
                skipped[spec.name] = str(error)
            else:
                if config.max_cost is not None:
                    check_limited(spec, is_soft=config.max_cost_soft)
                jobs.append(make(spec, items, planned, look=self.occasion.number))
        if skipped and not jobs:
            raise JudgeUnavailable(in_sentences(*skipped.values()))
        return Plan(self.setup.task, config, self.setup.prompts, tuple(jobs), skipped)

    def _items_to_ask(
        self, without: Container[str]
    ) -> tuple[tuple[Item, ...], dict[Elicitation, tuple[Item, ...]]]:
        """Return the items of the next occasion, both in total and by elicitation."""
        baseline, task = self.history.baseline, self.setup.task
        if baseline is None:
            return self.draw(), items_by_elicitation(task, self.run.manifest.config)
        by_id = task.by_id
        items = tuple(by_id[i] for i in baseline.items if i in by_id and i not in without)
        planned = {stream.elicitation: items for stream in baseline.streams}
        if "paired" in planned:
            pairs = [
                stream.replies for stream in baseline.streams if stream.elicitation == "paired"
            ]
            asked = {
                item
                for rows in pairs
                for item, own in zip(baseline.items, rows, strict=True)
                if own
            }
            planned["paired"] = tuple(item for item in items if item.id in asked)
        return items, planned

    def run_items(self) -> tuple[Item, ...]:
        """Return the run's items."""
        return items_of(self.setup.task, self.run.manifest.config)

    def draw(self) -> tuple[Item, ...]:
        """Draw the anchor for a new baseline."""
        options = self.options
        return draw_anchor(self.setup.task, self.run_items(), options.anchor, seed=options.seed)

    def yardstick(self, ids: Sequence[str]) -> Yardstick:
        """Return the metrics and settings for evaluating replies to some items."""
        config = self.run.manifest.config
        by_id = self.setup.task.by_id
        items = tuple(by_id.get(item) or Item(item, {}) for item in ids)  # without ratings if gone
        controls = control_judges(self.run.manifest.judges)
        return Yardstick(self.setup.task, items, config.choices, config.seed, controls)
