"""The sentences that end a run: which judge to use, what it hangs on, what to collect next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from harness.report.formatting import (
    READING,
    counted,
    estimate,
    in_unit,
    number,
    percent,
    reason,
    resting,
    share,
    span,
)

if TYPE_CHECKING:
    from harness.analysis import JudgeResult, Ranking, Validation
    from harness.analysis.metric_choice import Choosing
    from harness.analysis.result import RankedJudge
    from harness.stats.indeterminacy.break_even import BreakEven
    from harness.stats.selection.regret import Regret

CONSISTENCY = "decision_consistency"
NAMES = {"hit_rate(h/h)": "Hit rate", "cohen_kappa(h/h)": "kappa"}
UNANSWERED = ("abstained", "refused", "invalid", "failed", "not_asked")
SHOWN_CHANGES = 3
HOPELESS = 50  # times the items at hand that nobody will collect
ENOUGH_ANSWERED = 0.9
HALF = 0.5


def sentences(v: Validation) -> list[str]:
    """Return the decision and its evidence, one thought each; the first says what to do."""
    ranking = v.ranking
    if ranking is None:
        return ["No verdicts were given, so only the human ratings are described."]
    best = next((row.judge for row in ranking.rows if row.rank is not None), None)
    if best is None:
        first = v.judge(ranking.rows[0].judge)
        why = _why(first, ranking)
        none = f"No judge can be recommended: {ranking.metric} is NA for all of them ({why})."
        return [none, *_notice(v)]
    winner = v.judge(best)
    told = [
        _choice(v, winner),
        _evidence(winner, ranking),
        _others(v, ranking, best),
        _beta(v),
        _usual(v, ranking, best),
        _replacing(v, winner),
        *_next(v, winner, ranking),
        *_notice(v),
    ]
    return [one for one in told if one]


def _choice(v: Validation, winner: JudgeResult) -> str:
    at = f" at tau {v.settings.tau:g}" if v.task.positive else ""
    assumed = "" if v.settings.beta is None else f" if beta is {v.settings.beta:g}"
    job = f"to judge {v.task.property}{at}{assumed}"
    if winner.baseline:
        return f"Use none {job}: none of these judges does better than the baseline {winner.name}."
    return f"Use {winner.name} {job}."


def _evidence(winner: JudgeResult, ranking: Ranking) -> str:
    metric = winner.metrics[ranking.metric]
    told = f"Its {ranking.metric} is {in_unit(estimate(metric), ranking.unit)} on "
    told += f"{counted([metric.n_used])} ({READING[ranking.better]})"
    decided = winner.metrics[CONSISTENCY]
    if ranking.metric != CONSISTENCY and decided.value is not None:
        told += f"; it decides as the raters do on {percent(decided.value)} of {decided.n_used}"
    return f"{told}; it answered {share(winner.answered_fraction, winner.n_planned)} planned."


def _others(v: Validation, ranking: Ranking, best: str) -> str:
    """Name the judges that one comparison, or that of all at once, cannot tell from the best."""
    if len(ranking.rows) < 2:  # noqa: PLR2004 -- a comparison needs two
        return ""
    places = v.choosing.orders[ranking.metric].places if v.choosing else ()
    inside = {place.judge for place in places if place.in_best_set}
    rivals = [row for row in ranking.rows if row.difference]
    close = [row for row in rivals if row.difference and not row.difference.separated]
    held = [row.judge for row in rivals if row not in close and row.judge in inside]
    told = []
    if close:
        named = _listed([_worse(row) for row in close])
        told.append(f"{named} cannot be told apart from it.")
    if held:
        verb = "is" if len(held) == 1 else "are"
        told.append(
            f"{_listed(held)} {verb} worse one by one, yet among all at once may still be the best "
            "(model confidence set)."
        )
    unranked = [row.judge for row in ranking.rows if row.rank is None]
    if not told and rivals:
        others = "ranked judge" if unranked else "judge"
        told.append(f"Every other {others} is worse beyond what chance explains.")
    first = next((place.p_best for place in places if place.judge == best), None)
    if first is not None and rivals:
        told.append(f"It comes first in {percent(first)} of {v.settings.n_resamples} resamples.")
    told += [_unranked(v, ranking, unranked)] if unranked else []
    return " ".join(told)


def _unranked(v: Validation, ranking: Ranking, judges: list[str]) -> str:
    verb, its = ("has", "its") if len(judges) == 1 else ("have", "their")
    why = ", ".join(dict.fromkeys(_why(v.judge(judge), ranking) for judge in judges))
    return f"{_listed(judges)} {verb} no rank: {its} {ranking.metric} is NA ({why})."


def _why(judge: JudgeResult, ranking: Ranking) -> str:
    """Say why a judge has no rank, and if it answered nothing, what its replies came to."""
    why = reason(judge.metrics[ranking.metric])
    if any(one.answered for one in judge.outcomes):
        return why
    came_to = {name: sum(getattr(one, name) for one in judge.outcomes) for name in UNANSWERED}
    told = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in came_to.items() if n)
    return f"{why}: {told} of {sum(one.planned for one in judge.outcomes)}" if told else why


def _worse(row: RankedJudge) -> str:
    assert row.difference is not None
    by = f"{number(row.difference.value)} {span(row.difference.interval)}".strip()
    return f"{row.judge} (worse by {by})"


def _beta(v: Validation) -> str:
    """Say at which beta of the raters another judge decides best."""
    even = v.sensitivity.break_evens.get(CONSISTENCY) if v.sensitivity else None
    if even is None or not even.pieces or not even.pieces[0].winners:
        return ""
    own = v.humans.beta
    measured = f" (the raters' own: {resting(own, 2)})" if own.value is not None else ""
    if len(even.pieces) == 1:
        winners = even.pieces[0].winners
        verb = "decides" if len(winners) == 1 else "decide"
        return f"Whatever beta is{measured}, {_listed(winners)} {verb} best."
    return f"Who decides best hangs on beta{measured}: {_pieces(even)}."


def _pieces(even: BreakEven) -> str:
    told = [f"{_listed(even.pieces[0].winners)} below {even.pieces[1].low:.2f}"]
    told += [f"{_listed(p.winners)} from {p.low:.2f}" for p in even.pieces[1 : 1 + SHOWN_CHANGES]]
    more = len(even.pieces) - 1 - SHOWN_CHANGES
    rest = f", and {more} more change{'s' if more > 1 else ''}" if more > 0 else ""
    return ", ".join(told) + rest


def _usual(v: Validation, ranking: Ranking, best: str) -> str:
    """Say what selecting by hit rate or kappa would have cost."""
    chosen = v.choosing
    if chosen is None or len(chosen.candidates) < 2:  # noqa: PLR2004 -- nothing to choose
        return ""
    same = chosen.regret[ranking.metric][CONSISTENCY].selected
    ours = () if v.judge(best).baseline else same
    found: dict[str, list[str]] = {}
    for metric in chosen.usual:
        if metric == ranking.metric:
            continue
        told = _picked(v, chosen.regret[metric][CONSISTENCY], ours, chosen)
        if told:
            found.setdefault(told, []).append(NAMES.get(metric, metric))
    return " ".join(
        f"{_capital(_listed(names))} would have picked {t}." for t, names in found.items()
    )


def _picked(v: Validation, cell: Regret, ours: tuple[str, ...], chosen: Choosing) -> str:
    if not cell.selected:
        return ""
    if set(cell.selected) == set(ours):
        what = "the same judge" if len(ours) == 1 else "the same judges"
        return what if cell.value is None else f"{what}, with regret {_regret(v, cell)}"
    names = _listed(cell.selected) if len(cell.selected) < len(chosen.candidates) else "any of them"
    return names if cell.value is None else f"{names}, with regret {_regret(v, cell)}"


def _regret(v: Validation, cell: Regret) -> str:
    shown = number(0.0 if cell.value is None else cell.value)
    used = {v.judge(name).metrics[CONSISTENCY].n_used for name in (*cell.selected, *cell.best)}
    told = f"{shown} {span(cell.interval)} in consistency on {counted(used)}"
    return told.replace("  ", " ")


def _replacing(v: Validation, winner: JudgeResult) -> str:
    """Say whether the alternative annotator test allows a judge to replace a rater."""
    test = v.replacement
    if test is None or test.reason:
        positional = test is not None and test.reason == "positional_raters"
        return "No test of replacing a rater: who gave a rating is not known." if positional else ""
    name, eps = "The alternative annotator test", f"eps {test.eps:g}"
    random = test.controls.random.passes_share if test.controls else None
    warned = f"; but {percent(random)} of random judges pass too" if (random or 0) > HALF else ""
    if winner.baseline:
        passing = [one.judge for one in test.judges if one.passes and not one.baseline]
        who = _listed(passing) if passing else "none of these judges"
        return f"{name} lets {who} replace a rater ({eps}{warned if passing else ''})."
    mine = next((one for one in test.judges if one.judge == winner.name), None)
    if mine is None or mine.passes is None:
        why = f" ({reason(mine.winning_rate)})" if mine else ""
        return f"{name} cannot say whether it may replace a rater{why}."
    raters = counted([mine.n_tested], "rater")
    rate = f"winning rate {estimate(mine.winning_rate, 2)} over {raters}, {eps}"
    verb = "allows" if mine.passes else "does not allow"
    return f"{name} {verb} replacing a rater ({rate}{warned if mine.passes else ''})."


def _next(v: Validation, winner: JudgeResult, ranking: Ranking) -> list[str]:
    """Say what to collect where the answer is not firm."""
    told = [_more_items(ranking, winner)]
    if v.sensitivity and not v.humans.n_response_sets:
        told.append(v.sensitivity.identifiability.advice)
    told += [_missing(winner), _unusable(winner)]
    return [one for one in told if one]


def _missing(winner: JudgeResult) -> str:
    planned = sum(counts.planned for counts in winner.outcomes)
    missing = sum(counts.not_asked for counts in winner.outcomes)
    if not missing:
        return ""
    return f"{missing} of its {planned} replies are still missing: get them before relying on it."


def _unusable(winner: JudgeResult) -> str:
    """Warn of replies that came, and could not be used."""
    few = winner.answered_fraction is not None and winner.answered_fraction < ENOUGH_ANSWERED
    came = [(one.answered, one.planned - one.not_asked) for one in winner.outcomes]
    if few and any(answered < ENOUGH_ANSWERED * n for answered, n in came):
        return "Find out why so many replies could not be used before relying on it."
    return ""


def _more_items(ranking: Ranking, winner: JudgeResult) -> str:
    """How many items would tell the judges apart, should the differences stay as they are."""
    n, wanted = winner.metrics[ranking.metric].n_used, 0
    for row in ranking.rows:
        worse = row.difference
        if worse is None or worse.separated or worse.interval is None or worse.value is None:
            continue
        half = (worse.interval.high - worse.interval.low) / 2.0
        times = (half / worse.value) ** 2 if worse.value > 0.0 else math.inf
        if times > HOPELESS:
            return f"More items will hardly tell {row.judge} apart from it."
        wanted = max(wanted, math.ceil(n * times / 10) * 10)
    if wanted <= n:
        return ""
    return f"About {wanted} items, in place of {n}, would tell them apart if differences stay."


def _notice(v: Validation) -> list[str]:
    return [f"Note: {v.task.notice}."] if v.task.notice else []


def _listed(parts: list[str] | tuple[str, ...]) -> str:
    names = list(parts)
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
