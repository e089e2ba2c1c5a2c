"""Baselines of a run: of its own replies, with more replies, and of looks that are accepted."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from harness.analysis.inputs import sampling_weights
from harness.elicitation_items import elicitations_of, items_by_elicitation
from harness.errors import ExitCode, RunError
from harness.judging.computed_verdicts import fitted_in_run
from harness.judging.parsing.grammar import GRAMMAR_VERSION
from harness.revalidation.baseline_design import power_by_judge
from harness.revalidation.causes import as_in_run, hashes_of, item_hashes, ratings_hash
from harness.revalidation.history import FILE, Baseline, Look, Provider
from harness.revalidation.incidents import looks_to_accept
from harness.revalidation.metric_changes import decision_on
from harness.revalidation.occasion import (
    Answers,
    close_occasion,
    now,
    providers_of,
    replies_by_judge,
)
from harness.revalidation.reply_categories import StreamReplies, joined, replies_per_item, stream_of
from harness.revalidation.watched_judges import judges_in_use
from harness.stats.drift.changed_judges import ALPHA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.services import Observer
    from harness.revalidation.asking import Sitting


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


def seeded_judges(sitting: Sitting) -> list[str]:
    """Return a line for each judge whose replies share a seed, and so are not independent."""
    return [
        f"{spec.name}: its parameters hold a seed, so that its replies are not independent; "
        "later looks may alarm without a change. Run it without a seed."
        for spec in sitting.run.manifest.asked_judges
        if "seed" in spec.sent_params
    ]


def n_missing(sitting: Sitting) -> int:
    """Replies per item that the baseline still needs."""
    baseline, manifest = sitting.history.baseline, sitting.run.manifest
    n_replies = (
        baseline.n_replies
        if baseline
        else min(spec.n_samples(manifest.config.samples) for spec in manifest.asked_judges)
    )
    return max((sitting.options.baseline_replies or 0) - n_replies, 0)


def ensure_baseline(sitting: Sitting, observer: Observer) -> ExitCode | None:
    """Record a baseline where one is wanted; return why asking for its replies was stopped."""
    baseline, n_asked = sitting.history.baseline, n_missing(sitting)
    if not n_asked:
        if baseline is None:
            sitting.append(first_baseline(sitting))
        return None
    if baseline is not None:
        check_comparable(sitting, baseline)
    occasion = sitting.history.next_occasion
    plan = sitting.plan(sitting.asked_judges, n_asked)
    answers = sitting.ask(plan, occasion, observer)
    if not answers.is_over:
        return answers.exit_code
    more = first_baseline(sitting, answers) if baseline is None else topped_up(sitting, answers)
    sitting.append(more)
    close_occasion(sitting.run, occasion)
    return None


def check_comparable(sitting: Sitting, baseline: Baseline) -> None:
    """Refuse to ask for replies of a baseline where something else differs than the judge."""
    content = sitting.comparable(baseline)
    left_out = sitting.judges_left_out(baseline, content)
    reasons = [*content.causes] or [f"{item}: {why}" for item, why in content.left_out.items()]
    reasons += [f"{judge}: {reason}" for judge, (_, reason) in left_out.items()]
    if reasons:
        raise RunError(
            f"{sitting.run.path / FILE}: no replies can be added to the baseline: {reasons[0]}."
        )


def topped_up(sitting: Sitting, answers: Answers) -> Baseline:
    """Return the newest baseline with the replies of one more occasion."""
    baseline, occasion = sitting.history.baseline, sitting.history.next_occasion
    assert baseline is not None, "there is one to add to"
    more = sitting.asked_streams(baseline, answers, occasion)
    streams = tuple(map(joined, zip(baseline.streams, more, strict=True)))
    return replace(
        baseline,
        occasion=occasion,
        n_occasions=baseline.n_occasions + 1,
        **facts_of(sitting, streams, baseline.items),
    )


def first_baseline(sitting: Sitting, more: Answers | None = None) -> Baseline:
    """Make the baseline of a run's own replies, and of those of another occasion."""
    manifest, ids = sitting.run.manifest, tuple(item.id for item in sitting.draw())
    if manifest.exit_code not in {ExitCode.DONE, ExitCode.INCOMPLETE}:
        raise RunError(
            f"{sitting.run.path}: the run is not finished; first: harness run --resume "
            f"{quote(str(sitting.run.path))}"
        )
    setup = as_in_run(sitting.setup, sitting.run)
    logged = list(sitting.run.read_verdicts().final.values())
    judges = manifest.judges
    fitted = fitted_in_run(judges, replies_by_judge(logged, judges), sitting.setup.task)
    occasions = [sitting.verdicts_on(logged, fitted, 0)]
    if more:
        occasion = sitting.history.next_occasion
        occasions.append(sitting.verdicts_on(more.verdicts, fitted, occasion))
    streams = streams_of(sitting, occasions, ids)
    return Baseline(
        number=1,
        occasion=1 if more else 0,
        n_occasions=len(occasions),
        items=ids,
        n_items_in_run=len(sitting.run_items()),
        sampled=sampling_weights(sitting.run_items()) is not None,
        hashes=hashes_of(setup),
        item_hashes=item_hashes(setup, ids),
        ratings_hash=ratings_hash(setup, ids),
        grammar_version=GRAMMAR_VERSION,
        providers=providers_of(logged),
        alpha=ALPHA,
        fitted={
            judge: {place: dict(numbers) for place, numbers in of_judge.items()}
            for judge, of_judge in fitted.items()
        },
        in_use=judges_in_use(sitting.run),
        **facts_of(sitting, streams, ids),
    )


def streams_of(
    sitting: Sitting, occasions: Sequence[Sequence[Verdict]], ids: Sequence[str]
) -> tuple[StreamReplies, ...]:
    """Collect the replies of every judge and elicitation on some occasions."""
    task = sitting.setup.task
    planned = items_by_elicitation(task, sitting.run.manifest.config)
    streams = tuple(
        joined([stream_of(verdicts, spec.name, e, ids, task) for verdicts in occasions])
        for spec in sitting.run.manifest.judges
        for e in elicitations_of(spec, planned)
    )
    silent = [stream.judge for stream in streams if not stream.n_replies]
    if silent:
        raise RunError(
            f"{sitting.run.path}: {silent[0]} has no replies to start from; start a run without it."
        )
    return streams


def accept(
    sitting: Sitting, number: int, observer: Observer | None, *, confirmed: bool
) -> Accepted:
    """Make a baseline of looks from a number on; without an observer nothing is asked."""
    before = sitting.check_look("--accept", number)
    since = sitting.history.looks_since_baseline
    looks, had_alarm = looks_to_accept(since, number)
    worse = [
        judge.judge
        for judge in since[-1].judges
        if judge.verdict == "worse" and not judge.recovered_at
    ]
    if worse and not confirmed:
        raise RunError(
            f"{sitting.run.path}: {', '.join(worse)} agrees less with the raters than at the "
            "baseline. To accept that: harness revalidate "
            f"{quote(str(sitting.run.path))} --accept {number} --yes"
        )
    pooled = tuple(look.number for look in looks if look.streams)
    n_pooled = sum(replies_per_item(look.streams) for look in looks)
    n_asked = max(before.n_replies - n_pooled, 0) if had_alarm else 0
    answers = None
    if n_asked:
        check_comparable(sitting, before)
        specs = [spec for spec in sitting.asked_judges if since[-1].judge(spec.name)]
        plan = sitting.plan(specs, n_asked)
        if observer is None:
            return Accepted(None, pooled, n_asked, n_planned=plan.n_planned)
        answers = sitting.ask(plan, sitting.history.next_occasion, observer)
        if not answers.is_over:
            return Accepted(None, pooled, n_asked, answers.exit_code)
    return Accepted(accepted_baseline(sitting, number, looks, answers), pooled, n_asked)


def accepted_baseline(
    sitting: Sitting, number: int, looks: Sequence[Look], answers: Answers | None
) -> Baseline:
    """Make a baseline of the replies in some looks, and of those that were asked besides."""
    before, occasion = sitting.history.baseline, sitting.history.next_occasion
    assert before is not None, "its looks are accepted"
    more: list[StreamReplies] = []
    if answers is not None:
        more = sitting.asked_streams(before, answers, occasion)
    watched = {judge.judge for judge in sitting.history.looks[-1].judges}
    streams = tuple(
        _joined_looks(stream, looks, more, sitting.run.path, number)
        if stream.judge in watched
        else stream
        for stream in before.streams
    )
    first = looks[0].number if looks else 1 + sitting.history.looks[-1].number
    providers = before.providers | {judge: _last_provider(judge, looks) for judge in watched}
    return replace(
        before,
        number=before.number + 1,
        occasion=occasion if answers else 0,
        accepted=first,
        n_occasions=len(looks) + bool(answers),
        providers=providers | (providers_of(answers.verdicts) if answers else {}),
        **facts_of(sitting, streams, before.items),
    )


def facts_of(
    sitting: Sitting, streams: tuple[StreamReplies, ...], ids: Sequence[str]
) -> dict[str, Any]:
    """Return the fields of a baseline that rest on its replies: decision, power and replies."""
    power = power_by_judge(
        streams,
        n_items=len(sitting.run_items()),
        samples=sitting.options.samples,
        alpha=ALPHA,
        seed=sitting.run.manifest.config.seed,
    )
    decision = decision_on(sitting.yardstick(ids), streams, sitting.options.samples)
    return {"at": now(), "decision": decision, "power": power, "streams": streams}


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
