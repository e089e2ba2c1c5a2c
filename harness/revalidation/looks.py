"""Looks: ask the judges, assess their replies, and drop those of a look that is excluded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import ExitCode
from harness.judging.judges.response_errors import explain
from harness.revalidation.causes import Comparable, ratings_hash
from harness.revalidation.drift_verdicts import assess_look
from harness.revalidation.history import Baseline, Look
from harness.revalidation.incidents import without_look
from harness.revalidation.occasion import (
    STOPPED,
    Answers,
    close_occasion,
    now,
    providers_of,
    with_ensembles,
)

if TYPE_CHECKING:
    from harness.judging.running.services import Observer
    from harness.revalidation.asking import LeftOut, Sitting


def ask_look(sitting: Sitting, observer: Observer) -> ExitCode | None:
    """Ask a look and record it; return why asking was stopped."""
    baseline = sitting.history.baseline
    assert baseline is not None, "it is fixed first"
    occasion = sitting.history.next_occasion
    content = sitting.comparable(baseline)
    left_out = sitting.judges_left_out(baseline, content)
    specs = tuple(spec for spec in sitting.asked_judges if spec.name not in left_out)
    answers = Answers([], {}, ExitCode.DONE)
    if specs:
        plan = sitting.plan(specs, sitting.options.samples, without=content.left_out)
        answers = sitting.ask(plan, occasion, observer)
        if answers.exit_code in STOPPED:
            return answers.exit_code
    look, silent = replies_of(sitting, baseline, answers, content)
    kept = [item for item in baseline.items if item not in content.left_out]
    sitting.append(
        assess_look(
            baseline,
            sitting.history.looks_since_baseline,
            look,
            sitting.yardstick(kept),
            providers=providers_of(answers.verdicts),
            watched=[spec.name for spec in sitting.watched],
            left_out=silent | left_out,
            margin=sitting.options.margin,
        )
    )
    close_occasion(sitting.run, occasion)
    return None


def replies_of(
    sitting: Sitting, baseline: Baseline, answers: Answers, content: Comparable
) -> tuple[Look, LeftOut]:
    """Return a look that is not assessed, and the judges that did not reply."""
    occasion = sitting.history.next_occasion
    streams = sitting.asked_streams(baseline, answers, occasion)
    replied = {stream.judge for stream in streams if stream.n_replies}
    ended = {judge: explain(reason) for judge, reason in answers.ended.items()}
    silent: LeftOut = {
        judge: ("not asked", reason)
        for judge, reason in with_ensembles(sitting.run.manifest.judges, ended).items()
        if judge not in replied
    }
    earlier = sitting.history.looks_since_baseline
    look = Look(
        number=1 + max((look.number for look in sitting.history.looks), default=0),
        occasion=occasion,
        baseline=baseline.number,
        at=now(),
        causes=content.causes,
        left_out=content.left_out,
        excluded=earlier[-1].excluded if earlier else {},
        other_ratings=baseline.ratings_hash != ratings_hash(sitting.setup, baseline.items),
        judges=(),
        ended=answers.ended,
        streams=tuple(stream for stream in streams if stream.judge in replied),
    )
    return look, silent


def without(sitting: Sitting, number: int, because: str) -> list[Look]:
    """Return a look and all after it without the replies of the first."""
    baseline = sitting.check_look("--exclude", number)
    looks = sitting.history.looks_since_baseline
    return without_look(baseline, looks, number, because, sitting.yardstick)
