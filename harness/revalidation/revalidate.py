"""Re-validate a run: fix its baseline, ask its judges again, and compare."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from shlex import join, quote
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from harness.analysis.inputs import sampling_weights
from harness.app import Plan, how_to_resume, make_job
from harness.elicitation_items import elicitations_of, items_by_elicitation, items_of
from harness.errors import ExitCode, JudgeUnavailable, RunError
from harness.files import read_file, write_file, writing_to
from harness.judging.calibration import PREFIX
from harness.judging.judges.config import load_judges
from harness.judging.judges.cost_limit import check_limited
from harness.judging.judges.judge_registry import check, check_destinations, reader_of
from harness.judging.judges.response_errors import explain
from harness.judging.parsing.grammar import GRAMMAR_VERSION
from harness.judging.storage.verdict_log import VerdictLog
from harness.revalidation.baseline_design import draw_anchor, power_by_judge
from harness.revalidation.causes import (
    Comparable,
    as_in_run,
    changed_judges_file,
    compare_content,
    hashes_of,
    item_hashes,
    ratings_hash,
    setup_of,
    validate_anew,
)
from harness.revalidation.drift_verdicts import assess_look
from harness.revalidation.history import (
    FILE,
    Baseline,
    HistoryFile,
    HistoryReading,
    Look,
    Provider,
    read_history,
)
from harness.revalidation.incidents import looks_to_accept, without_look
from harness.revalidation.metric_changes import Yardstick, decision_on
from harness.revalidation.occasion import (
    FOLDER,
    STOPPED,
    Answers,
    FixedInRun,
    ask_occasion,
    close_occasion,
    now,
    occasion_verdicts,
    provider_of,
    replies_of_occasions,
    with_ensembles,
)
from harness.revalidation.reply_categories import (
    StreamReplies,
    joined,
    replies_per_item,
    stream_of,
)
from harness.revalidation.watched_judges import judges_in_use, watched_judges
from harness.runs import RunFolder
from harness.stats.drift.changed_judges import ALPHA
from harness.tasks import Item, write_task

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from pathlib import Path

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.services import Observer
    from harness.revalidation.causes import Setup
    from harness.revalidation.history import JudgeVerdict
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


class Revalidation(NamedTuple):
    """How a re-validation ended.

    Attributes
    ----------
    look : Look or None
        None where it was stopped and can be resumed.
    exit_code : ExitCode
        Without what ``--fail-on`` demands.
    """

    history: HistoryReading
    look: Look | None
    exit_code: ExitCode


def revalidate(
    run: RunFolder,
    options: LookOptions,
    observer: Observer,
    *,
    command: str,
    stop: StopRequests | None = None,
) -> Revalidation:
    """Ask the judges of a finished run again and compare with the baseline.

    Parameters
    ----------
    run : RunFolder
        The run, or an exported baseline.
    options : LookOptions
        Options.
    observer : Observer
        Is informed of progress.
    command : str
        Resumes a look that was stopped.
    stop : StopRequests, optional
        Of other threads; signals stop the look, too.

    Raises
    ------
    HarnessError
        If another process re-validates the run, or it cannot be read, asked or written.
    """
    _check_destinations(run, options)
    with HistoryFile.open(run.path) as file:
        sitting = Sitting.begin(run, options, file, stop)
        if sitting.history.n_damaged:
            observer.say(f"{sitting.history.n_damaged} damaged lines of {file.path} are left out")
        for line in sitting.seeded_judges() if sitting.history.baseline is None else ():
            observer.say(line)
        stopped = sitting.ensure_baseline(observer) or sitting.ask_look(observer)
    if stopped:
        if stopped != ExitCode.COST_LIMIT and options.max_cost is not None:
            command += f" --max-cost {options.max_cost:g}"
        observer.say(how_to_resume(command, stopped, options.max_cost))
        return Revalidation(sitting.history, None, stopped)
    look = sitting.history.looks[-1]
    code = ExitCode.INCOMPLETE if look.ended else ExitCode.DONE
    return Revalidation(sitting.history, look, code)


def export_baseline(
    run: RunFolder,
    target: Path,
    options: LookOptions,
    *,
    item_text: bool = False,
    keep_replies: bool = False,
) -> None:
    """Write manifest, prompts, history, and the anchor's items and ratings into a new folder.

    A run without a baseline gets that of ``options`` first. Without the items' texts, a look reads
    them from the task. With ``keep_replies`` the folder gets the texts of the run's replies, and
    looks keep theirs. Raises `HarnessError` if the run cannot be read, or the folder exists or
    cannot be written.
    """
    if target.exists():
        raise RunError(f"{target}: it exists already; choose another folder, or remove it.")
    with HistoryFile.open(run.path) as file:
        sitting = Sitting.begin(run, options, file)
        if sitting.history.baseline is None:
            sitting.append(sitting.first_baseline())
        history = read_file(file.path)
    task, anchor = sitting.setup.task, set(sitting.history.baselines[-1].items)
    small = task.model_copy(
        update={
            "items": tuple(item for item in task.items if item.id in anchor),
            "ratings": tuple(rating for rating in task.ratings if rating.item in anchor),
            "ignored": tuple(rating for rating in task.ignored if rating.item in anchor),
        }
    )
    config = run.manifest.config.model_copy(update={"item_text": item_text, "judges_from": None})
    with writing_to(target, RunError):
        target.mkdir(parents=True)
        write_task(small, target / "task", item_text=item_text)
        sitting.setup.prompts.save(target / "prompts", item_text=item_text)
        write_file(target / FILE, history)
        write_file(target / ".gitignore", f"{FOLDER}/\n".encode())
        if keep_replies:
            with VerdictLog.open(target / run.verdicts.name) as log:
                final = run.read_verdicts().final.values()
                log.append(v for v in final if v.item in anchor or v.item.startswith(PREFIX))
        RunFolder(target, run.manifest, sealed=run.sealed).update(config=config)


class Accepted(NamedTuple):
    """A baseline that is made of looks that were accepted.

    Attributes
    ----------
    baseline : Baseline or None
        None where more replies would be or are still to be asked for.
    pooled : tuple of int
        The looks whose replies it holds.
    n_asked : int
        Replies per item that it has besides, from an occasion of its own.
    exit_code : ExitCode
        Why asking was stopped, if it was.
    n_planned : mapping of str to int
        Replies of each judge that would be asked.
    """

    baseline: Baseline | None
    pooled: tuple[int, ...]
    n_asked: int
    exit_code: ExitCode = ExitCode.DONE
    n_planned: Mapping[str, int] = {}


def accept_look(
    run: RunFolder,
    number: int,
    options: LookOptions,
    observer: Observer,
    *,
    command: str,
    confirmed: bool = False,
) -> Accepted:
    """Start a new baseline with the replies of a look and of all looks after it.

    Those up to the look that raised an alarm are left out, and the baseline is then completed to as
    many replies per item as the old one has. Judges that the last look did not watch keep theirs.

    Raises
    ------
    HarnessError
        If there is no such look since the last baseline, a judge has not replied since then or
        cannot be asked, or is worse and that is not ``confirmed``.
    """
    _check_destinations(run, options)
    with HistoryFile.open(run.path) as file:
        sitting = Sitting.begin(run, options, file)
        accepted = sitting.accept(number, observer, confirmed=confirmed)
        if accepted.baseline is not None:
            sitting.append(accepted.baseline)
            if accepted.n_asked:
                close_occasion(run, accepted.baseline.occasion)
    if accepted.exit_code:
        observer.say(how_to_resume(command, accepted.exit_code, options.max_cost))
    return accepted


def plan_acceptance(run: RunFolder, number: int, options: LookOptions) -> Accepted:
    """Return what accepting a look would do; nothing is asked or written.

    Raises
    ------
    HarnessError
        As `accept_look`, but for a judge that is worse.
    """
    _check_destinations(run, options)
    return _without_writing(run, options).accept(number, None, confirmed=True)


def exclude_look(
    run: RunFolder, number: int, because: str, options: LookOptions, *, dry_run: bool = False
) -> Look:
    """Drop the replies of a look, and return the last look as it is without them.

    Its weight stays spent. With ``dry_run`` nothing is written.

    Raises
    ------
    HarnessError
        If there is no such look since the last baseline, the task cannot be read, or the history
        cannot be written.
    """
    if dry_run:
        return _without_writing(run, options).without(number, because)[-1]
    with HistoryFile.open(run.path) as file:
        sitting = Sitting.begin(run, options, file)
        looks = sitting.without(number, because)
        sitting.append(*looks)
    return looks[-1]


def _check_look(run: RunFolder, history: HistoryReading, option: str, number: int) -> Baseline:
    """Return the baseline of a look; refuse one that is not compared with the newest."""
    numbers = [look.number for look in history.looks_since_baseline]
    if history.baseline is None or number not in numbers:
        raise RunError(
            f"{run.path / FILE}: {option} {number}: no such look since the last baseline; there "
            f"are: {', '.join(map(str, numbers)) or 'none'}."
        )
    return history.baseline


def _without_writing(run: RunFolder, options: LookOptions) -> Sitting:
    """Return a re-validation that asks and writes nothing."""
    return Sitting(run, setup_of(run, options.task), options, None, read_history(run.path / FILE))


def plan_look(run: RunFolder, options: LookOptions) -> Plan:
    """Plan the next look, and replies that the baseline still needs, without asking.

    Raises
    ------
    HarnessError
        If the run cannot be read, or was made elsewhere and its judges are not confirmed.
    """
    _check_destinations(run, options)
    sitting = _without_writing(run, options)
    baseline = sitting.history.baseline
    without = sitting.comparable(baseline).left_out if baseline else {}
    n_samples = options.samples + sitting.n_missing
    return sitting.plan(sitting.asked_judges, n_samples, without=without)


def _check_destinations(run: RunFolder, options: LookOptions) -> None:
    """Refuse judges of a run that was made elsewhere, unless the user has or confirms them."""
    if not run.sealed:
        check_destinations(
            run.manifest.judges,
            load_judges(options.judges_file),
            base_url=options.base_url,
            key_env=options.key_env,
        )


def history_of(run: RunFolder) -> HistoryReading:
    """Read the history of a run.

    Raises
    ------
    RunError
        If the run was never re-validated.
    """
    history = read_history(run.path / FILE)
    if not history.baselines:
        raise RunError(
            f"{run.path}: it was never re-validated; start with: harness revalidate "
            f"{quote(str(run.path))}"
        )
    return history


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

    def seeded_judges(self) -> list[str]:
        """Return a line for each judge whose replies share a seed, and so are not independent."""
        return [
            f"{spec.name}: its parameters hold a seed, so that its replies are not independent; "
            "later looks may alarm without a change. Run it without a seed."
            for spec in self.run.manifest.asked_judges
            if "seed" in spec.sent_params
        ]

    @property
    def n_missing(self) -> int:
        """Replies per item that the baseline still needs."""
        baseline, manifest = self.history.baseline, self.run.manifest
        n_replies = (
            baseline.n_replies
            if baseline
            else min(spec.n_samples(manifest.config.samples) for spec in manifest.asked_judges)
        )
        return max((self.options.baseline_replies or 0) - n_replies, 0)

    def ensure_baseline(self, observer: Observer) -> ExitCode | None:
        """Record a baseline where one is wanted; return why asking for its replies was stopped."""
        baseline, n_missing = self.history.baseline, self.n_missing
        if not n_missing:
            if baseline is None:
                self.append(self.first_baseline())
            return None
        if baseline is not None:
            self.check_comparable(baseline)
        occasion = self.history.next_occasion
        plan = self.plan(self.asked_judges, n_missing)
        answers = self.ask(plan, occasion, observer)
        if not answers.is_over:
            return answers.exit_code
        more = self.first_baseline(answers) if baseline is None else self.topped_up(answers)
        self.append(more)
        close_occasion(self.run, occasion)
        return None

    def check_comparable(self, baseline: Baseline) -> None:
        """Refuse to ask for replies of a baseline where something else differs than the judge."""
        content = self.comparable(baseline)
        left_out = self.judges_left_out(baseline, content)
        reasons = [*content.causes] or [f"{item}: {why}" for item, why in content.left_out.items()]
        reasons += [f"{judge}: {reason}" for judge, (_, reason) in left_out.items()]
        if reasons:
            raise RunError(
                f"{self.run.path / FILE}: no replies can be added to the baseline: {reasons[0]}."
            )

    def topped_up(self, answers: Answers) -> Baseline:
        """Return the newest baseline with the replies of one more occasion."""
        baseline, occasion = self.history.baseline, self.history.next_occasion
        assert baseline is not None, "there is one to add to"
        more = self.asked_streams(baseline, answers, occasion)
        streams = tuple(map(joined, zip(baseline.streams, more, strict=True)))
        return replace(
            baseline,
            occasion=occasion,
            n_occasions=baseline.n_occasions + 1,
            **self.facts_of(streams, baseline.items),
        )

    def first_baseline(self, more: Answers | None = None) -> Baseline:
        """Make the baseline of a run's own replies, and of those of another occasion."""
        manifest, ids = self.run.manifest, tuple(item.id for item in self.draw())
        if manifest.exit_code not in {ExitCode.DONE, ExitCode.INCOMPLETE}:
            raise RunError(
                f"{self.run.path}: the run is not finished; first: harness run --resume "
                f"{quote(str(self.run.path))}"
            )
        setup = as_in_run(self.setup, self.run)
        logged = list(self.run.read_verdicts().final.values())
        fixed = FixedInRun.of(logged, manifest.judges, self.setup.task)
        occasions = [self.verdicts_on(logged, fixed, 0)]
        if more:
            occasion = self.history.next_occasion
            occasions.append(self.verdicts_on(more.verdicts, fixed, occasion))
        streams = self.streams_of(occasions, ids)
        return Baseline(
            number=1,
            occasion=1 if more else 0,
            n_occasions=len(occasions),
            items=ids,
            n_items_in_run=len(self.run_items()),
            sampled=sampling_weights(self.run_items()) is not None,
            hashes=hashes_of(setup),
            item_hashes=item_hashes(setup, ids),
            ratings_hash=ratings_hash(setup, ids),
            grammar_version=GRAMMAR_VERSION,
            providers=_providers(logged),
            alpha=ALPHA,
            content_free=fixed.content_free,
            in_use=judges_in_use(self.run),
            vote_weights=fixed.vote_weights,
            **self.facts_of(streams, ids),
        )

    def verdicts_on(
        self, replies: Sequence[Verdict], fixed: FixedInRun, occasion: int
    ) -> list[Verdict]:
        """Return the verdicts of all judges on what was asked on an occasion."""
        specs, task = self.run.manifest.judges, self.setup.task
        return occasion_verdicts(replies, specs, task, fixed, look=occasion)

    def streams_of(
        self, occasions: Sequence[Sequence[Verdict]], ids: Sequence[str]
    ) -> tuple[StreamReplies, ...]:
        """Collect the replies of every judge and elicitation on some occasions."""
        task = self.setup.task
        planned = items_by_elicitation(task, self.run.manifest.config)
        streams = tuple(
            joined([stream_of(verdicts, spec.name, e, ids, task) for verdicts in occasions])
            for spec in self.run.manifest.judges
            for e in elicitations_of(spec, planned)
        )
        silent = [stream.judge for stream in streams if not stream.n_replies]
        if silent:
            raise RunError(
                f"{self.run.path}: {silent[0]} has no replies to start from; start a run "
                "without it."
            )
        return streams

    def without(self, number: int, because: str) -> list[Look]:
        """Return a look and all after it without the replies of the first."""
        baseline = _check_look(self.run, self.history, "--exclude", number)
        looks = self.history.looks_since_baseline
        return without_look(baseline, looks, number, because, self.yardstick)

    def accept(self, number: int, observer: Observer | None, *, confirmed: bool) -> Accepted:
        """Make a baseline of looks from a number on; without an observer nothing is asked."""
        before = _check_look(self.run, self.history, "--accept", number)
        since = self.history.looks_since_baseline
        looks, had_alarm = looks_to_accept(since, number)
        worse = [judge.judge for judge in since[-1].judges if judge.verdict == "worse"]
        if worse and not confirmed:
            raise RunError(
                f"{self.run.path}: {', '.join(worse)} agrees less with the raters than at the "
                "baseline. To accept that: harness revalidate "
                f"{quote(str(self.run.path))} --accept {number} --yes"
            )
        pooled = tuple(look.number for look in looks if look.streams)
        n_pooled = sum(replies_per_item(look.streams) for look in looks)
        n_asked = max(before.n_replies - n_pooled, 0) if had_alarm else 0
        answers = None
        if n_asked:
            self.check_comparable(before)
            specs = [spec for spec in self.asked_judges if since[-1].judge(spec.name)]
            plan = self.plan(specs, n_asked)
            if observer is None:
                return Accepted(None, pooled, n_asked, n_planned=plan.n_planned)
            answers = self.ask(plan, self.history.next_occasion, observer)
            if not answers.is_over:
                return Accepted(None, pooled, n_asked, answers.exit_code)
        return Accepted(self.accepted_baseline(number, looks, answers), pooled, n_asked)

    def accepted_baseline(
        self, number: int, looks: Sequence[Look], answers: Answers | None
    ) -> Baseline:
        """Make a baseline of the replies in some looks, and of those that were asked besides."""
        before, occasion = self.history.baseline, self.history.next_occasion
        assert before is not None, "its looks are accepted"
        more: list[StreamReplies] = []
        if answers is not None:
            more = self.asked_streams(before, answers, occasion)
        watched = {judge.judge for judge in self.history.looks[-1].judges}
        streams = tuple(
            _joined_looks(stream, looks, more, self.run.path, number)
            if stream.judge in watched
            else stream
            for stream in before.streams
        )
        first = looks[0].number if looks else 1 + self.history.looks[-1].number
        providers = before.providers | {judge: _last_provider(judge, looks) for judge in watched}
        return replace(
            before,
            number=before.number + 1,
            occasion=occasion if answers else 0,
            accepted=first,
            n_occasions=len(looks) + bool(answers),
            providers=providers | (_providers(answers.verdicts) if answers else {}),
            **self.facts_of(streams, before.items),
        )

    def asked_streams(
        self, baseline: Baseline, answers: Answers, occasion: int
    ) -> list[StreamReplies]:
        """Return the replies of an occasion to the items of a baseline."""
        fixed = FixedInRun(baseline.content_free, baseline.vote_weights)
        verdicts, task = self.verdicts_on(answers.verdicts, fixed, occasion), self.setup.task
        return [
            stream_of(verdicts, s.judge, s.elicitation, baseline.items, task)
            for s in baseline.streams
        ]

    def facts_of(self, streams: tuple[StreamReplies, ...], ids: Sequence[str]) -> dict[str, Any]:
        """Return the fields of a baseline that rest on its replies: decision, power and replies."""
        power = power_by_judge(
            streams,
            n_items=len(self.run_items()),
            samples=self.options.samples,
            alpha=ALPHA,
            seed=self.run.manifest.config.seed,
        )
        decision = decision_on(self.yardstick(ids), streams, self.options.samples)
        return {"at": now(), "decision": decision, "power": power, "streams": streams}

    def ask_look(self, observer: Observer) -> ExitCode | None:
        """Ask a look and record it; return why asking was stopped."""
        baseline = self.history.baseline
        assert baseline is not None, "it is fixed first"
        occasion = self.history.next_occasion
        content = self.comparable(baseline)
        left_out = self.judges_left_out(baseline, content)
        specs = tuple(spec for spec in self.asked_judges if spec.name not in left_out)
        answers = Answers([], {}, ExitCode.DONE)
        if specs:
            plan = self.plan(specs, self.options.samples, without=content.left_out)
            answers = self.ask(plan, occasion, observer)
            if answers.exit_code in STOPPED:
                return answers.exit_code
        look, silent = self.replies_of(baseline, answers, content)
        kept = [item for item in baseline.items if item not in content.left_out]
        self.append(
            assess_look(
                baseline,
                self.history.looks_since_baseline,
                look,
                self.yardstick(kept),
                providers=_providers(answers.verdicts),
                watched=[spec.name for spec in self.watched],
                left_out=silent | left_out,
                margin=self.options.margin,
            )
        )
        close_occasion(self.run, occasion)
        return None

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

    def replies_of(
        self, baseline: Baseline, answers: Answers, content: Comparable
    ) -> tuple[Look, LeftOut]:
        """Return a look that is not assessed, and the judges that did not reply."""
        occasion = self.history.next_occasion
        streams = self.asked_streams(baseline, answers, occasion)
        replied = {stream.judge for stream in streams if stream.n_replies}
        ended = {judge: explain(reason) for judge, reason in answers.ended.items()}
        silent: LeftOut = {
            judge: ("not asked", reason)
            for judge, reason in with_ensembles(self.run.manifest.judges, ended).items()
            if judge not in replied
        }
        earlier = self.history.looks_since_baseline
        look = Look(
            number=1 + max((look.number for look in self.history.looks), default=0),
            occasion=occasion,
            baseline=baseline.number,
            at=now(),
            causes=content.causes,
            left_out=content.left_out,
            excluded=earlier[-1].excluded if earlier else {},
            other_ratings=baseline.ratings_hash != ratings_hash(self.setup, baseline.items),
            judges=(),
            ended=answers.ended,
            streams=tuple(stream for stream in streams if stream.judge in replied),
        )
        return look, silent

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


def _providers(verdicts: Sequence[Verdict]) -> dict[str, Provider]:
    by_judge: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_judge.setdefault(verdict.judge, []).append(verdict)
    return {judge: provider_of(own) for judge, own in by_judge.items()}


def _joined_looks(
    stream: StreamReplies,
    looks: Sequence[Look],
    more: Sequence[StreamReplies],
    run: Path,
    number: int,
) -> StreamReplies:
    """Join the replies of a stream in some looks, and in what was asked besides."""
    replies = [look.stream(stream.judge, stream.elicitation) for look in looks]
    replies += [s for s in more if (s.judge, s.elicitation) == (stream.judge, stream.elicitation)]
    occasions = [row for row in replies if row is not None and row.n_replies]
    if not occasions:
        raise RunError(
            f"{run / FILE}: --accept {number}: {stream.judge} has not replied since then; "
            f"first: harness revalidate {quote(str(run))}"
        )
    return joined(occasions)


def _last_provider(judge: str, looks: Sequence[Look]) -> Provider:
    """Return what was reported in the last of some looks in which a judge replied."""
    results = [result for look in looks if (result := look.judge(judge)) is not None]
    return next((r.provider for r in reversed(results) if r.provider.models), Provider())
