"""Sources of a validation: run folders, or tasks with another tool's verdicts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain
from shlex import join
from typing import TYPE_CHECKING, Protocol

from harness.analysis import JudgeFacts, Settings, Source
from harness.analysis.completeness import UNREADABLE, Completeness
from harness.analysis.inputs import JudgeScores, shared_items
from harness.analysis.location import location_of
from harness.analysis.race_result import RACED
from harness.analysis.ratings import count_outcomes, is_held_out, select_items
from harness.analysis.reply_dates import reply_dates
from harness.errors import RunError
from harness.judging.computed_verdicts import (
    computed_verdicts,
    fitted_in_run,
    is_computed,
    notes_on,
)
from harness.judging.fingerprints import fingerprint_of_verdicts
from harness.judging.judge_spec import control_judges, easier_strategies
from harness.judging.judges.config import explained
from harness.judging.parsing.external_verdicts import NO_VERDICTS, read_verdicts
from harness.judging.parsing.reply_endings import ending_of
from harness.judging.parsing.text_vectors import decode_vector, text_id
from harness.judging.storage.verdict_columns import columns_of
from harness.judging.storage.verdict_log import read_log
from harness.judging.strategies.scores import BY_DIRECTION
from harness.judging.strategies.strategy import TOKEN_LIMITS, Combining
from harness.loading import edge
from harness.options.concerns import ALL_ITEMS, NO_CHOICES, Validating
from harness.runs.asked_items import blank_note, elicitations_of, items_by_elicitation, items_of
from harness.runs.kept_checks import kept_checks
from harness.runs.ledger import holdout_of, recorded_holdout, tried_in_run
from harness.runs.run_folder import CHECKS_FILE, RunFolder
from harness.stats.selection.replies import MIN_ANSWERED
from harness.tasks import CANNOT_ASSESS, Task, load_task

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.storage.verdict_columns import CountedLog
    from harness.judging.strategies.strategy import Fitted
    from harness.options.concerns import Choices
    from harness.runs.run_folder import Manifest, RunConfig
    from harness.stats.data.arrays import FloatArray
    from harness.tasks.item import Elicitation


def source_of(folder: RunFolder, task: Task | None = None) -> Source:
    """Read a validation's source from a run folder only.

    Parameters
    ----------
    folder : RunFolder
        The run.
    task : Task, optional
        The folder's copy of the task, if it is loaded already.

    Raises
    ------
    HarnessError
        If the folder's task or verdicts cannot be read, or its items were changed by a probe.
    """
    manifest = folder.manifest
    config = manifest.config
    if config.changed_by:
        raise RunError(
            f"{folder.path}: a probe changed its items, so judges aren't ranked on them. "
            f"To see the flip rates, run: {folder.location.command_to_resume()}"
        )
    task = task or load_task(str(folder.path / "task"))
    folder.check_judges(task)
    verdicts_hash = folder.verdicts_hash()  # before reading: what is appended now is not missed
    log = folder.count_verdicts(item.id for item in task.items)
    replies = _by_judge(folder, log.by_judge)
    dates = reply_dates(replies.values())
    verdicts = computed_verdicts(manifest.judges, replies, task)
    controls = control_judges(manifest.judges)
    planned = planned_units(manifest, task)
    source = Source(
        task=task,
        items=items_of(task, config),
        judges=tuple(
            _facts(spec, task, replies.get(spec.name, ()), is_control=spec.name in controls)
            for spec in manifest.judges
        ),
        verdicts=verdicts,
        replies_voted_on=_voting_replies(manifest, replies),
        planned=planned,
        settings=Settings(seed=config.seed, **config.choices.explicit()),
        notes=(
            *_on_holdout(folder, task),
            *blank_note(task, config),
            *filter(None, [dates.sentence]),
            *_shortfalls(manifest, verdicts, planned),
            *_notes(manifest, replies),
            *notes_on(manifest.judges, replies, task),
            *_damaged(log),
        ),
        verdicts_hash=verdicts_hash,
        reply_dates=dates.by_day(),
        location=folder.location,
        tried=tried_in_run(folder),
        checks=kept_checks(folder) if folder.has(CHECKS_FILE) else {},
        scores={
            spec.name: JudgeScores(better, replies[spec.name])
            for spec in manifest.judges
            if (better := spec.asking.better)
        },
    )
    if config.race:
        return edge("racing", RacedSources).raced_source(folder, source, replies)
    if config.compared_with:
        source = edge("racing", RacedSources).compared_source(folder, source)
    if task.embedding is None or not folder.embeddings.exists():
        return source
    return replace(source, vectors=read_vectors(folder.embeddings, texts_of(source)))


def only(source: Source, names: Container[str]) -> Source:
    """Return a source restricted to some of its judges."""
    return replace(
        source,
        judges=tuple(facts for facts in source.judges if facts.name in names),
        verdicts={n: verdicts for n, verdicts in source.verdicts.items() if n in names},
        planned={n: planned for n, planned in source.planned.items() if n in names},
        replies_voted_on={n: row for n, row in source.replies_voted_on.items() if n in names},
        scores={n: scores for n, scores in source.scores.items() if n in names},
    )


def planned_units(manifest: Manifest, task: Task) -> dict[str, dict[Elicitation, int]]:
    """Return the planned number of verdicts in a run, by judge and elicitation."""
    items, samples = items_by_elicitation(task, manifest.config), samples_of(manifest)
    return {
        spec.name: {
            elicitation: len(items[elicitation]) * samples[spec.name]
            for elicitation in elicitations_of(spec, items)
        }
        for spec in manifest.judges
    }


def compared_source(folder: RunFolder) -> Source:
    """Return a run's source, for judges that can be compared with raters and each other.

    Raises
    ------
    RunError
        If they raced, and none ran on all items.
    HarnessError
        As for `source_of`.
    """
    source = source_of(folder)
    if source.race is not None and not source.judges:
        command = source.location.command_to_resume()
        raise RunError(
            f"{folder.path}: {RACED}",
            f"Run the winner on the remaining items with: {command} --complete-winner"
            if source.race.judge
            else f"End the race first: {command}",
        )
    return source


def _on_holdout(folder: RunFolder, task: Task) -> Iterator[str]:
    """Report how many items are held out or, in a confirmation, that they were held out."""
    config = folder.manifest.config
    if config.confirms:
        yield f"these items were held out of {config.confirms}"
    elif config.holdout is not None:
        judge = next(iter(folder.manifest.judges)).name
        words = ["harness", "confirm", str(folder.path), "--judge", judge, *folder.location.server]
        which = "the judge you select" if folder.manifest.judges[1:] else "the judge"
        yield (f"{_n_held_out(task, config.holdout)} until you confirm {which}: `{join(words)}`")


def _n_held_out(task: Task, share: float) -> str:
    n = sum(is_held_out(item, share) for item in task.items)
    return f"{n} of {len(task.items)} items are held out"


def _facts(
    spec: JudgeSpec, task: Task, replies: Sequence[Verdict], *, is_control: bool
) -> JudgeFacts:
    """Return facts about a judge that a validation needs besides the verdicts."""
    is_unreadable = any(kind.outcome in UNREADABLE for kind in columns_of(replies).kinds)
    limits = [spec.params.get(name) for name in TOKEN_LIMITS]
    return JudgeFacts(
        name=spec.name,
        kind=spec.kind,
        is_control=is_control,
        model=spec.model,
        max_tokens=min((limit for limit in limits if isinstance(limit, int)), default=None),
        other_strategies=easier_strategies(spec, task) if is_unreadable else (),
    )


def texts_of(source: Source) -> list[str]:
    """Return the distinct texts of raters and judges on a source's items."""
    selected = {item.id for item in source.items}
    ratings = (rating.value for rating in source.task.ratings if rating.item in selected)
    verdicts = (verdict.value for row in source.verdicts.values() for verdict in row)
    texts = dict.fromkeys(v for v in chain(ratings, verdicts) if isinstance(v, str))
    return [text for text in texts if text != CANNOT_ASSESS]


def read_vectors(log: Path, texts: Iterable[str]) -> dict[str, FloatArray]:
    """Return the vectors of texts from a log of embeddings.

    Raises
    ------
    VerdictError
        If the log cannot be read.
    """
    logged = {verdict.item: verdict.text for verdict in read_log(log).final.values()}
    replies = {text: logged.get(text_id(text)) for text in texts}
    return {text: decode_vector(reply) for text, reply in replies.items() if reply}


def verdicts_of(
    folder: RunFolder, fitted: Mapping[str, Fitted] | None = None, task: Task | None = None
) -> Iterable[Verdict]:
    """Return all verdicts of a run, including computed verdicts.

    Parameters
    ----------
    folder : RunFolder
        The run.
    fitted : mapping, optional
        Values fitted on another run, see `fitted_of`; by default on this one.
    task : Task, optional
        The folder's task, if it is loaded already or cannot be loaded because it lacks ratings.

    Raises
    ------
    HarnessError
        If they cannot be read, or their judge is not in the run.
    """
    judges = folder.manifest.judges
    if not any(map(is_computed, judges)):
        return folder.read_verdicts().final.values()
    task = task or load_task(str(folder.path / "task"))
    log = folder.count_verdicts(item.id for item in task.items)
    replies = _by_judge(folder, log.by_judge)
    return chain.from_iterable(computed_verdicts(judges, replies, task, fitted=fitted).values())


def fitted_of(folder: RunFolder) -> dict[str, Fitted] | None:
    """Return each judge's values fitted on a run, or None if no judge has fitted values."""
    judges = folder.manifest.judges
    if not any(spec.asking.is_fitted for spec in judges):
        return None
    task = load_task(str(folder.path / "task"))
    log = folder.count_verdicts(item.id for item in task.items)
    return fitted_in_run(judges, _by_judge(folder, log.by_judge), task)


def samples_of(manifest: Manifest, config: RunConfig | None = None) -> dict[str, int]:
    """Return each judge's number of verdicts per item and elicitation.

    Uses the run's options, or those of ``config``.
    """
    wanted = (config or manifest.config).samples
    samples = {spec.name: spec.n_samples(wanted) for spec in manifest.asked_judges}
    ensembles = [spec for spec in manifest.judges if spec.members]
    return samples | {
        spec.name: min(samples[member] for member in spec.members) for spec in ensembles
    }


def _by_judge(
    folder: RunFolder, logged: Mapping[str, Sequence[Verdict]]
) -> dict[str, Sequence[Verdict]]:
    """Return the verdicts on single replies by judge, including judges without replies."""
    asked = dict.fromkeys(spec.name for spec in folder.manifest.asked_judges)
    for spec in folder.manifest.judges:
        if not asked.keys() >= set(spec.members):
            raise RunError(
                f"{folder.path}: {spec.name} has a member that isn't one of this run's judges. "
                "Restore manifest.json."
            )
    for judge in logged:
        if judge not in asked:
            raise RunError(
                f"{folder.verdicts}: judge {judge!r} isn't one of this run's judges. Restore the "
                "run's own verdicts."
            )
    return {name: logged.get(name, ()) for name in asked}


def _voting_replies(
    manifest: Manifest, replies: Mapping[str, Sequence[Verdict]]
) -> dict[str, Sequence[Verdict]]:
    """Return the replies that vote on computed verdicts, by judge."""
    return {
        spec.name: [reply for judge in spec.members or [spec.name] for reply in replies[judge]]
        for spec in manifest.judges
        if is_computed(spec) and not spec.asking.better
    }


def _shortfalls(
    manifest: Manifest,
    verdicts: Mapping[str, Sequence[Verdict]],
    planned: Mapping[str, Mapping[Elicitation, int]],
) -> Iterator[str]:
    """Report judges with too few replies, and the reason if it is known."""
    least = manifest.config.choices.min_answered
    for spec in manifest.judges:
        asked = planned[spec.name]
        if manifest.config.race:  # a race plans no fixed number of items
            asked = dict.fromkeys(asked, len(verdicts[spec.name]))
        counts = count_outcomes(verdicts[spec.name], asked)
        judge = Completeness(counts, MIN_ANSWERED if least is None else least)
        reason = manifest.ended.get(spec.name, "")
        if not judge.is_complete:
            why = f". {explained(spec, reason)}" if reason else ""
            yield f"{spec.name} is {judge.standing}: {judge}{why}"
        elif reason:
            yield f"{spec.name} is incomplete ({explained(spec, reason)})"


def _notes(manifest: Manifest, replies: Mapping[str, Sequence[Verdict]]) -> tuple[str, ...]:
    notes = list(manifest.notices.values())
    notes += [f"{judge} skipped: {reason}" for judge, reason in manifest.skipped.items()]
    specs = {spec.name: spec for spec in manifest.judges}
    for (judge, reason), n_failed in _failures(replies).items():
        if manifest.ended.get(judge) != reason:
            noun = "reply" if n_failed == 1 else "replies"
            notes.append(f"{judge}: {n_failed} {noun} failed ({explained(specs[judge], reason)})")
    for judge, verdicts in replies.items():
        notes += _several_models(judge, verdicts)
        notes += [*_cut_prompts(judge, verdicts), *_unknown_endings(judge, verdicts)]
    return tuple(notes)


def _cut_prompts(judge: str, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Warn about a server that counted far fewer tokens than the prompts contain."""
    is_cut = columns_of(verdicts).of_kinds(lambda kind: kind.is_prompt_cut)
    if n_cut := int(is_cut.sum()):
        first = verdicts[int(is_cut.argmax())]
        reply = next(reply for reply in first.replies if reply.prompt_at_least)
        yield (
            f"Warning: {judge}'s server cut {n_cut} of {len(verdicts)} prompts, so the judge did "
            f"not read the whole text. For example, it counted {reply.prompt_tokens} tokens of a "
            f"prompt that has at least {reply.prompt_at_least}. Raise the server's context length "
            "(num_ctx for Ollama) and run the judge again with --refresh"
        )


def _several_models(judge: str, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Warn about replies from several models, as from a gateway's fallback."""
    counts: Counter[str] = Counter()
    for kind, n in columns_of(verdicts).n_by_kind():
        if kind.model:
            counts[kind.model] += n
    if len(counts) > 1:
        (first, n_first), (second, n_second) = counts.most_common(2)
        yield (
            f"Warning: {judge}'s replies come from {len(counts)} models, such as {first} "
            f"({n_first}) and {second} ({n_second}), but count as replies of one judge. Request "
            "one version of one model, without a fallback, and run the judge again with --refresh"
        )


def _unknown_endings(judge: str, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Report finish reasons whose meaning is unknown."""
    counts: Counter[str] = Counter()
    for kind, n in columns_of(verdicts).n_by_kind():
        if ending_of(kind.finish_reason) == "unknown":
            counts[kind.finish_reason] += n
    for word, n in counts.items():
        yield (
            f"{judge}: {n} replies ended with finish_reason {word!r}, whose meaning is unknown. "
            "These replies were read as complete"
        )


def _damaged(log: CountedLog) -> Iterator[str]:
    if log.n_damaged:
        yield f"{log.n_damaged} damaged lines of verdicts.jsonl were set aside"


def _failures(replies: Mapping[str, Sequence[Verdict]]) -> Counter[tuple[str, str]]:
    """Count units without a reply, by judge and reason."""
    failures: Counter[tuple[str, str]] = Counter()
    for verdicts in replies.values():
        for kind, n in columns_of(verdicts).n_by_kind():
            if kind.outcome == "failed":
                failures[kind.judge, kind.reason] += n
    return failures


def source_of_verdicts(
    task: str | Task,
    verdicts: Path | None,
    options: Validating = ALL_ITEMS,
    choices: Choices = NO_CHOICES,
    *,
    confirmed: str | None = None,
) -> Source:
    """Read a task and a file with another tool's verdicts.

    Held-out items, by the ledger of these ratings or from now on, are left out.

    Parameters
    ----------
    task : str or Task
        Name or path of a task, or a loaded task.
    verdicts : Path or None
        A csv, jsonl or parquet file; None for only the human ratings.
    options : Validating
        Items to use, and the seed of the resampling.
    choices : Choices
        How the verdicts are validated.
    confirmed : str, optional
        The only judge to read, on only the held-out items.

    Raises
    ------
    TaskError, VerdictError
        If the task or the file is wrong.
    RunError
        If the ledger cannot be read, or the holdout or the judge conflicts with it.
    """
    if verdicts is not None and verdicts.with_name("manifest.json").exists():
        compared_source(RunFolder.open(verdicts.parent))  # rejects the log of an unfinished race
    loaded = load_task(task) if isinstance(task, str) else task
    criterion = options.criterion
    holdout = _holdout(loaded, options, confirmed) if verdicts else None
    items = select_items(
        loaded,
        criterion=criterion,
        limit=options.limit,
        holdout=holdout,
        held_out=confirmed is not None,
    )
    selected = {item.id for item in items}
    of_file: dict[str, list[Verdict]] = {}
    by_judge: dict[str, list[Verdict]] = {}
    n_left_out: Counter[str] = Counter()
    external = read_verdicts(verdicts, loaded) if verdicts else NO_VERDICTS
    for verdict in external.verdicts:
        of_file.setdefault(verdict.judge, []).append(verdict)
        if verdict.item in selected:
            by_judge.setdefault(verdict.judge, []).append(verdict)
        else:
            n_left_out[verdict.judge] += 1
    if confirmed is not None:
        if confirmed not in by_judge:
            raise RunError(
                f"{verdicts}: judge {confirmed!r} has no verdicts on the held-out items. Pass "
                f"one of {', '.join(by_judge) or 'the judges that have some'}."
            )
        by_judge = {confirmed: by_judge[confirmed]}
        n_left_out.clear()
    scores = {
        judge: JudgeScores(external.scores[judge], rows)
        for judge, rows in by_judge.items()
        if judge in external.scores
    }
    return Source(
        task=loaded,
        items=items,
        judges=tuple(
            JudgeFacts(name=judge, fingerprint=fingerprint_of_verdicts(of_file[judge]))
            for judge in by_judge
        ),
        verdicts=by_judge | _of_scores(scores, loaded),
        scores=scores,
        planned={judge: n_planned_at_least(rows, len(items)) for judge, rows in by_judge.items()},
        settings=Settings(seed=options.seed, **choices.explicit()),
        notes=(
            *_on_items(loaded, holdout, confirmed),
            *_note_left_out(n_left_out, by_judge),
            *_on_scores(scores, loaded, external.by_value),
        ),
        location=location_of(task if isinstance(task, str) else str(task.folder)),
    )


def _of_scores(scores: Mapping[str, JudgeScores], task: Task) -> dict[str, Sequence[Verdict]]:
    """Return each judge's verdicts that were computed from scores."""
    return {
        judge: BY_DIRECTION[of_judge.better].combine(of_judge.verdicts, Combining(judge, task))
        for judge, of_judge in scores.items()
    }


def _on_scores(
    scores: Mapping[str, JudgeScores], task: Task, by_value: Container[str]
) -> Iterator[str]:
    """Report judges whose numbers are read as scores, and which direction was found."""
    for judge, of_judge in scores.items():
        if judge in by_value:
            yield (
                f"{judge}: its values are numbers that mostly aren't options, so they're read as "
                "scores"
            )
        yield from BY_DIRECTION[of_judge.better].notes(of_judge.verdicts, Combining(judge, task))


def _holdout(task: Task, options: Validating, confirmed: str | None) -> float | None:
    """Return the share of items to hold out, from the options or from the ledger."""
    criterion = options.criterion
    if confirmed is None:
        return holdout_of(task, criterion, options.holdout, new_ledger=options.new_ledger)
    recorded = recorded_holdout(task, criterion)
    if recorded is None:
        raise RunError(
            f"task {task.name}: no rated items are held out. Hold some out before you try the "
            "first judge, with --holdout 0.3."
        )
    return recorded


def _on_items(task: Task, holdout: float | None, confirmed: str | None) -> Iterator[str]:
    """Report how many items are held out or, in a confirmation, that they were held out."""
    if confirmed is not None:
        yield "these items were held out of the validation of other verdicts"
    elif holdout is not None:
        yield _n_held_out(task, holdout)


def source_on_task(task: Task, verdicts: Path, *, seed: int = 0) -> Source:
    """Read another tool's verdicts on a task, or the verdicts in a run of the same items.

    Parameters
    ----------
    task : Task
        Task whose ratings are used, instead of the run's copy.
    verdicts : Path
        A file, as for `source_of_verdicts`, or a run folder.
    seed : int
        Seed of the resampling.

    Raises
    ------
    RunError
        If the run's items or options differ from the task's.
    HarnessError
        If the file or the run cannot be read.
    """
    if not verdicts.is_dir():
        return source_of_verdicts(task, verdicts, Validating(seed=seed))
    source = compared_source(RunFolder.open(verdicts))
    items = shared_items(source.items, task.items)
    if len(items) < len(source.items) or source.task.options != task.options:
        what = "options" if len(items) == len(source.items) else "items"
        raise RunError(
            f"{verdicts}: the {what} of this run of task {source.task.name} differ from task "
            f"{task.name}. Pass verdicts on the same items."
        )
    return replace(source.with_settings(seed=seed), task=task, items=items)


def _note_left_out(n_left_out: Mapping[str, int], judges: Container[str]) -> tuple[str, ...]:
    """Return a note that counts each judge's verdicts on items that were not selected."""
    if not n_left_out:
        return ()
    counts = ", ".join(
        f"{judge} {n}" + ("" if judge in judges else " (all its verdicts)")
        for judge, n in n_left_out.items()
    )
    total = sum(n_left_out.values())
    return (f"{total} verdicts on items that were not selected are left out: {counts}",)


def n_planned_at_least(verdicts: Sequence[Verdict], n_items: int) -> dict[Elicitation, int]:
    """Return a lower bound on a judge's planned number of units, by elicitation.

    Every item is assumed to have as many samples as any item has.
    """
    samples: dict[Elicitation, set[int]] = {}
    for verdict in verdicts:
        samples.setdefault(verdict.elicitation, set()).add(verdict.sample)
    return {elicitation: len(numbers) * n_items for elicitation, numbers in samples.items()}


class RacedSources(Protocol):
    """Interface to races, which add their outcome to a run's source."""

    def raced_source(
        self, folder: RunFolder, source: Source, replies: Mapping[str, Sequence[Verdict]]
    ) -> Source:
        """Return the source with information about the race."""

    def compared_source(self, folder: RunFolder, source: Source) -> Source:
        """Return the source for a confirmed judge whose gain over another is tested first."""
