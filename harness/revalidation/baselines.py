"""Make baselines from a run's replies, from additional replies, or from accepted rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.analysis.inputs import sampling_weights
from harness.analysis.reply_dates import reply_dates
from harness.errors import ExitCode, RunError
from harness.judging.computed_verdicts import fitted_in_run
from harness.judging.parsing.grammar import GRAMMAR_VERSION
from harness.revalidation.baseline_design import power_by_judge
from harness.revalidation.causes import as_in_run, hashes_of, item_hashes, ratings_hash
from harness.revalidation.history import FILE
from harness.revalidation.metric_changes import decision_on
from harness.revalidation.occasion import close_occasion, now, providers_of, replies_by_judge
from harness.revalidation.records import ALARMS, Baseline, Look, ProviderReport
from harness.revalidation.reply_categories import (
    joined,
    no_replies,
    replies_per_item,
    stream_of,
)
from harness.revalidation.watched_judges import judges_in_use
from harness.runs.asked_items import elicitations_of, items_by_elicitation
from harness.stats.drift.changed_judges import ALPHA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.app.plan import Plan
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.recorder import Observer
    from harness.revalidation.asking import Sitting
    from harness.revalidation.reply_categories import StreamReplies


def seeded_judges(sitting: Sitting) -> list[str]:
    """Return a warning for each judge whose replies share a seed and so are not independent."""
    return [
        f"{spec.name}: its parameters contain a seed, so its replies aren't independent. "
        "Later rounds could raise an alarm without a change. Run it without a seed."
        for spec in sitting.run.manifest.asked_judges
        if "seed" in spec.sent_params
    ]


def n_missing(sitting: Sitting) -> int:
    """Return how many replies per item the baseline still needs."""
    baseline, manifest = sitting.history.baseline, sitting.run.manifest
    n_replies = (
        baseline.n_replies
        if baseline
        else min(spec.n_samples(manifest.config.samples) for spec in manifest.asked_judges)
    )
    return max((sitting.options.baseline_replies or 0) - n_replies, 0)


def ensure_baseline(sitting: Sitting, observer: Observer) -> ExitCode | None:
    """Record a baseline with the requested number of replies. Return why requests were stopped."""
    is_new = sitting.history.baseline is None
    if is_new:
        sitting.append(completed(sitting, first_baseline(sitting)))
    baseline, n_asked = sitting.baseline, n_missing(sitting)
    if not n_asked:
        return None
    if not is_new:
        check_comparable(sitting, baseline)
    return fill(sitting, baseline, sitting.plan(sitting.asked_judges, n_asked), observer)


def fill(sitting: Sitting, baseline: Baseline, plan: Plan, observer: Observer) -> ExitCode | None:
    """Record a baseline that includes one more occasion's replies. Return why requests stopped."""
    answers = sitting.ask(plan, observer)
    if not answers.is_over:
        return answers.exit_code
    more = sitting.asked_streams(baseline, answers)
    whole = replace(
        baseline,
        occasion=sitting.occasion.number,
        n_occasions=baseline.n_occasions + 1,
        received=_span([*baseline.received, *_times(answers.verdicts)]),
        providers=baseline.providers | providers_of(answers.verdicts),
        streams=tuple(map(joined, zip(baseline.streams, more, strict=True))),
    )
    sitting.append(completed(sitting, whole))
    close_occasion(sitting.run, whole.occasion)
    return None


def check_comparable(sitting: Sitting, baseline: Baseline) -> None:
    """Raise an error if anything but the judge changed since the baseline's first replies."""
    content = sitting.comparable(baseline)
    left_out = sitting.judges_left_out(baseline, content)
    reasons = [*content.causes] or [f"{item}: {why}" for item, why in content.left_out.items()]
    reasons += [f"{judge}: {reason}" for judge, (_, reason) in left_out.items()]
    if reasons:
        raise RunError(
            f"{sitting.run.path / FILE}: the baseline can't get any more replies, because "
            f"{reasons[0]}."
        )


def first_baseline(sitting: Sitting) -> Baseline:
    """Make a baseline from a run's own replies."""
    run, items = sitting.run, sitting.run_items()
    manifest, ids = run.manifest, tuple(item.id for item in sitting.draw())
    if manifest.exit_code not in {ExitCode.DONE, ExitCode.INCOMPLETE}:
        command = run.location.command_to_resume()
        raise RunError(f"{run.path}: the run isn't finished. First: {command}")
    setup = as_in_run(sitting.setup, run)
    logged = list(run.read_verdicts().final.values())
    judges = manifest.judges
    fitted = fitted_in_run(judges, replies_by_judge(logged, judges), setup.task)
    verdicts = sitting.verdicts_on(logged, fitted, 0)
    planned = items_by_elicitation(setup.task, manifest.config)
    streams = tuple(
        stream_of(verdicts, spec.name, e, ids, setup.task)
        for spec in judges
        for e in elicitations_of(spec, planned)
    )
    return Baseline(
        number=1,
        at=now(),
        received=_times(logged),
        items=ids,
        n_items_in_run=len(items),
        sampled=sampling_weights(items) is not None,
        hashes=hashes_of(setup),
        item_hashes=item_hashes(setup.task, ids),
        ratings_hash=ratings_hash(setup.task, ids),
        grammar_version=GRAMMAR_VERSION,
        providers=providers_of(logged),
        alpha=ALPHA,
        decision=None,
        fitted={
            judge: {place: dict(numbers) for place, numbers in of_judge.items()}
            for judge, of_judge in fitted.items()
        },
        in_use=judges_in_use(run),
        streams=streams,
    )


def _times(verdicts: Sequence[Verdict]) -> tuple[str, str]:
    dates = reply_dates([verdicts])
    return dates.oldest, dates.newest


def _span(times: Sequence[str]) -> tuple[str, str]:
    known = sorted(filter(None, times))
    return (known[0], known[-1]) if known else ("", "")


def completed(sitting: Sitting, baseline: Baseline) -> Baseline:
    """Return a baseline with its recommendation and the smallest change that rounds can detect."""
    streams, samples = baseline.streams, sitting.options.replies_per_item
    silent = [stream.judge for stream in streams if not stream.n_replies]
    if silent:
        since = f" since round {baseline.accepted}" if baseline.accepted else ""
        raise RunError(
            f"{sitting.run.path}: {silent[0]} has no replies{since} to start from. "
            + ("Run a round with it first." if since else "Start a run without it.")
        )
    power = power_by_judge(
        streams,
        n_items=baseline.n_items_in_run,
        samples=samples,
        alpha=ALPHA,
        seed=sitting.run.manifest.config.seed,
    )
    decision = decision_on(sitting.yardstick(baseline.items), streams, samples)
    return replace(baseline, at=now(), power=power, decision=decision)


def looks_to_accept(looks: Sequence[Look], number: int) -> tuple[list[Look], bool]:
    """Return the rounds from ``number`` on that can form a baseline, and whether any had an alarm.

    A round that raised an alarm is selected for its replies, so only later rounds are used.
    """
    alarms = {
        judge.judge: look.number
        for look in reversed(looks)
        for judge in look.judges
        if judge.verdict in ALARMS
    }
    alarm = max(alarms.values(), default=0)
    return [look for look in looks if look.number >= number and look.number > alarm], alarm > 0


def check_acceptable(sitting: Sitting, number: int) -> None:
    """Reject an unknown round. Reject a judge that is worse, unless the user confirmed it."""
    sitting.check_look("rebase", number)
    last, path = sitting.history.looks_since_baseline[-1], sitting.run.path
    worse = [j.judge for j in last.judges if j.verdict == "worse"]
    if worse and not sitting.options.yes and not sitting.options.dry_run:
        confirmed = sitting.options.model_copy(update={"yes": True})
        command = confirmed.look_command(sitting.run, with_limit=True)
        raise RunError(
            f"{path}: {', '.join(worse)} agrees less with the raters than at the baseline. "
            f"To accept that: {command}"
        )


def accepted_baseline(sitting: Sitting, looks: Sequence[Look]) -> Baseline:
    """Make a baseline from the replies of some rounds. Unwatched judges keep their old replies."""
    before, last = sitting.baseline, sitting.history.looks_since_baseline[-1]
    watched = [judge.judge for judge in last.judges]

    def since(stream: StreamReplies) -> StreamReplies:
        if stream.judge not in watched:
            return stream
        later = [look.stream(stream.judge, stream.elicitation) for look in looks]
        return joined([no_replies(stream), *(row for row in later if row is not None)])

    providers = {
        judge.judge: judge.provider
        for look in looks
        for judge in look.judges
        if judge.provider.models
    }
    return replace(
        before,
        number=before.number + 1,
        occasion=0,
        accepted=looks[0].number if looks else 1 + last.number,
        n_occasions=len(looks),
        received=_span([look.at for look in looks]),
        providers=before.providers | dict.fromkeys(watched, ProviderReport()) | providers,
        streams=tuple(map(since, before.streams)),
    )


def n_to_ask(sitting: Sitting, looks: Sequence[Look], *, had_alarm: bool) -> int:
    """Return how many replies per item an accepted baseline still needs."""
    n_pooled = sum(replies_per_item(look.streams) for look in looks)
    return max(sitting.baseline.n_replies - n_pooled, 0) if had_alarm else 0
