"""What looks ask the judges of a run: which of them, which items, and how."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from shlex import join
from typing import TYPE_CHECKING

from harness.app import Plan, make_job
from harness.elicitation_items import items_by_elicitation, items_of
from harness.errors import JudgeUnavailable, RunError
from harness.judging.judges.cost_limit import check_limited
from harness.judging.judges.judge_registry import check, reader_of
from harness.revalidation.baseline_design import draw_anchor
from harness.revalidation.causes import (
    Comparable,
    changed_judges_file,
    compare_content,
    setup_of,
    validate_anew,
)
from harness.revalidation.history import (
    FILE,
    Baseline,
    HistoryFile,
    HistoryReading,
    Look,
    read_history,
)
from harness.revalidation.metric_changes import Yardstick
from harness.revalidation.occasion import (
    Answers,
    ask_occasion,
    occasion_verdicts,
    replies_of_occasions,
    with_ensembles,
)
from harness.revalidation.reply_categories import StreamReplies, stream_of
from harness.revalidation.watched_judges import watched_judges
from harness.tasks import Item

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from pathlib import Path

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.services import Observer
    from harness.judging.strategies.strategy import Fitted
    from harness.revalidation.causes import Setup
    from harness.revalidation.history import JudgeVerdict
    from harness.runs import RunFolder
    from harness.stopping import StopRequests

    LeftOut = dict[str, tuple[JudgeVerdict, str]]  # judges without replies, with the reason


@dataclass(frozen=True, slots=True, kw_only=True)
class LookOptions:
    """Options of a look.

    Attributes
    ----------
    judges : tuple of str
        Judges that are watched, with the members of ensembles; empty for all.
    anchor : int or None
        Items of the anchor of a new baseline; None for all.
    baseline_replies : int or None
        Replies per item of a new baseline; what the run lacks is asked on an occasion of its own.
    samples : int
        Replies per item in the look.
    margin : float
        How much worse a judge may become, as a share of the range of the metric that ranks.
    judges_file : Path or None
        A judges file whose parameters must be those of the baseline.
    base_url, key_env : str or None
        Confirm where the requests of a run that was made elsewhere go, and with which key.
    task : str or None
        Name or path of the task, where it is not what the run was started with.
    seed : int
        Of the anchor of a new baseline.
    max_cost : float or None
        Limit of an occasion in USD.
    max_cost_soft : bool
        Whether judges are asked under it whose replies may cost more than is reserved.
    store : str or None
        Address of a store whose rate limits hold for this look, too, and that keeps its replies.
    """

    judges: tuple[str, ...] = ()
    anchor: int | None = None
    baseline_replies: int | None = None
    samples: int = 1
    margin: float = 0.0
    judges_file: Path | None = None
    base_url: str | None = None
    key_env: str | None = None
    task: str | None = None
    seed: int = 0
    max_cost: float | None = None
    max_cost_soft: bool = False
    store: str | None = None

    def words(self) -> list[str]:
        """Return the options as they are given to ``harness revalidate``, but for its limit."""
        words = []
        for option in fields(self):
            value = getattr(self, option.name)
            if value != option.default and option.name != "max_cost":
                words.append(f"--{option.name.replace('_', '-')}")
                words += [] if value is True else [_word(value)]
        return words


def command_of(run: RunFolder, options: LookOptions, *more: str) -> str:
    """Return the command that goes on with what was stopped."""
    return join(["harness", "revalidate", str(run.path), *options.words(), *more])


def _word(value: object) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True, slots=True)
class Sitting:
    """A re-validation that goes on; ``file`` holds the lock, and is None where nothing is asked."""

    run: RunFolder
    setup: Setup
    options: LookOptions
    file: HistoryFile | None
    history: HistoryReading
    stop: StopRequests | None = None

    @classmethod
    def begin(
        cls,
        run: RunFolder,
        options: LookOptions,
        file: HistoryFile,
        stop: StopRequests | None = None,
    ) -> Sitting:
        """Read the history, and the task and prompts."""
        history = read_history(file.path)
        sitting = cls(run, setup_of(run, options.task), options, file, history, stop)
        if history.baseline is not None:
            sitting.check_fixed(history.baseline)
        return sitting

    @property
    def watched(self) -> tuple[JudgeSpec, ...]:
        """The judges that a look watches."""
        return watched_judges(self.run, self.options.judges)

    @property
    def asked_judges(self) -> tuple[JudgeSpec, ...]:
        """Those of them that are asked."""
        asked = {spec.name for spec in self.run.manifest.asked_judges}
        return tuple(spec for spec in self.watched if spec.name in asked)

    def append(self, *records: Baseline | Look) -> None:
        """Write lines of the history."""
        assert self.file is not None
        self.file.append(*records)
        for record in records:
            self.history.add(record)

    def check_fixed(self, baseline: Baseline) -> None:
        """Refuse an anchor or baseline replies that are not those of the baseline.

        As long as no look was compared with a baseline, it can have more replies.
        """
        options, n_replies = self.options, baseline.n_replies
        wanted = {"--anchor": options.anchor, "--baseline-replies": options.baseline_replies}
        stored = {"--anchor": len(baseline.items), "--baseline-replies": n_replies}
        if not self.history.looks_since_baseline and (options.baseline_replies or 0) > n_replies:
            del wanted["--baseline-replies"]
        for option, number in wanted.items():
            if number not in {None, stored[option]}:
                raise RunError(
                    f"{self.run.path / FILE}: {option} {number}: the baseline is fixed with "
                    f"{stored[option]}; leave {option} out."
                )

    def check_look(self, option: str, number: int) -> Baseline:
        """Return the baseline of a look; refuse one that is not compared with the newest."""
        numbers = [look.number for look in self.history.looks_since_baseline]
        if self.history.baseline is None or number not in numbers:
            raise RunError(
                f"{self.run.path / FILE}: {option} {number}: no such look since the last baseline; "
                f"there are: {', '.join(map(str, numbers)) or 'none'}."
            )
        return self.history.baseline

    def verdicts_on(
        self, replies: Sequence[Verdict], fitted: Mapping[str, Fitted], occasion: int
    ) -> list[Verdict]:
        """Return the verdicts on what was asked on an occasion, 0 for the run, of those watched."""
        specs = self.watched if occasion else self.run.manifest.judges
        return occasion_verdicts(replies, specs, self.setup.task, fitted, look=occasion)

    def asked_streams(
        self, baseline: Baseline, answers: Answers, occasion: int
    ) -> list[StreamReplies]:
        """Return the replies of an occasion to the items of a baseline."""
        verdicts = self.verdicts_on(answers.verdicts, baseline.fitted, occasion)
        task = self.setup.task
        return [
            stream_of(verdicts, s.judge, s.elicitation, baseline.items, task)
            for s in baseline.streams
        ]

    def ask(self, plan: Plan, occasion: int, observer: Observer) -> Answers:
        """Ask what an occasion has not answered yet."""
        return ask_occasion(
            self.run, plan, occasion, observer, store=self.options.store, stop=self.stop
        )

    def comparable(self, baseline: Baseline) -> Comparable:
        """Return the items that can be compared with a baseline, or why none can."""
        run, setup = self.run, self.setup
        verdicts = self.replies_with_texts(baseline)
        specs = run.manifest.asked_judges
        readers = {spec.name: reader_of(spec, setup.task, setup.prompts.orders) for spec in specs}
        return compare_content(baseline, setup, readers, verdicts, anew=validate_anew(run))

    def replies_with_texts(self, baseline: Baseline) -> list[Verdict]:
        """Return the replies of a baseline with their texts; none where some were not kept."""
        looks = [
            look.occasion
            for look in self.history.looks
            if baseline.accepted <= look.number and look.baseline == baseline.number - 1
        ]
        occasions = looks if baseline.accepted else [0]
        if baseline.occasion:
            occasions.append(baseline.occasion)
        return replies_of_occasions(self.run, occasions)

    def judges_left_out(self, baseline: Baseline, content: Comparable) -> LeftOut:
        """Return the judges that are not comparable with a baseline, each with the reason."""
        specs = self.run.manifest.judges
        if content.causes:
            reason = "; ".join(content.causes)
            return dict.fromkeys(baseline.judges, ("not comparable", reason))
        reasons = with_ensembles(specs, changed_judges_file(self.run, self.options.judges_file))
        return {judge: ("not comparable", reason) for judge, reason in reasons.items()}

    def plan(
        self, specs: Sequence[JudgeSpec], samples: int, *, without: Container[str] = ()
    ) -> Plan:
        """Plan the next occasion: asked is what the baseline has, else what the run asked.

        Items ``without`` and judges that cannot run are left out, the latter with the reason.
        """
        baseline, task = self.history.baseline, self.setup.task
        if baseline is not None:
            items = self.items([item for item in baseline.items if item not in without])
            paired = baseline.items_with_replies("paired")
            planned = {stream.elicitation: items for stream in baseline.streams}
            if "paired" in planned:
                planned["paired"] = tuple(item for item in items if item.id in paired)
        else:
            items = self.draw()
            planned = items_by_elicitation(task, self.run.manifest.config)
        config = self.run.manifest.config.model_copy(
            update={
                "samples": samples,
                "max_cost": self.options.max_cost,
                "max_cost_soft": self.options.max_cost_soft,
            }
        )
        make = partial(make_job, task=task, prompts=self.setup.prompts, config=config)
        skipped, jobs = {}, []
        for spec in specs:
            try:
                check(spec, task)
            except JudgeUnavailable as error:
                skipped[spec.name] = str(error)
            else:
                if config.max_cost is not None:
                    check_limited(spec, is_soft=config.max_cost_soft)
                jobs.append(make(spec, items, planned, look=self.history.next_occasion))
        if not jobs:
            raise JudgeUnavailable("; ".join(skipped.values()))
        return Plan(task, config, self.setup.prompts, tuple(jobs), skipped)

    def run_items(self) -> tuple[Item, ...]:
        """Return the items of the run."""
        config = self.run.manifest.config
        return items_of(self.setup.task, config)

    def draw(self) -> tuple[Item, ...]:
        """Draw the anchor of a new baseline."""
        options = self.options
        return draw_anchor(self.setup.task, self.run_items(), options.anchor, seed=options.seed)

    def items(self, ids: Sequence[str]) -> tuple[Item, ...]:
        """Return items by their ids; those that the task no longer has are left out."""
        by_id = self.setup.task.by_id
        return tuple(by_id[item] for item in ids if item in by_id)

    def yardstick(self, ids: Sequence[str]) -> Yardstick:
        """Return what replies to some items are measured with."""
        config = self.run.manifest.config
        by_id = self.setup.task.by_id
        items = tuple(by_id.get(item) or Item(item, {}) for item in ids)  # gone: without ratings
        return Yardstick(self.setup.task, items, config.choices, config.seed)
