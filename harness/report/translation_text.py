"""F-hat of a judge as text, with how it was estimated."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from harness.analysis.serialize import rows_of
from harness.report.formatting import counted, number, reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis import JudgeResult, Validation
    from harness.analysis.serialize import Matrix

READING = (
    "F-hat is the chance of each choice, given the response set endorsed; "
    "sets of one option leave no choice and are not listed."
)


def translation_text(v: Validation, judge: JudgeResult) -> str:
    """Return F-hat from pairs, else by maximum likelihood from independent calls, or NA."""
    if judge.F is not None:
        n_endorsed = judge.translated.n_endorsed if judge.translated else ()
        reasons = ("never_endorsed",) * len(v.task.response_sets)
        columns = _columns(v, judge.F, reasons, n_endorsed)
        return f"from pairs ({counted([sum(n_endorsed)], 'pair')}): {'; '.join(columns)}"
    fit = v.sensitivity.judge_translations.get(judge.name) if v.sensitivity else None
    if fit is None:
        return f"NA ({reason(judge.beta)}, and no item with independent calls of both kinds)"
    calls = f"{counted([fit.n_items])}, {fit.n_forced} choices and {fit.n_sets} sets"
    columns = _columns(v, rows_of(fit.F), fit.reasons)
    return f"by maximum likelihood ({calls}): {'; '.join(columns)}"


def _columns(
    v: Validation, matrix: Matrix, reasons: tuple[str, ...], n_endorsed: tuple[int, ...] = ()
) -> Iterator[str]:
    """Yield each set of several options with its choices, then how many are NA and why."""
    undefined: Counter[str] = Counter()
    for i, (keys, shares) in enumerate(
        zip(v.task.response_sets, zip(*matrix, strict=True), strict=True)
    ):
        if len(keys) == 1:
            continue
        if None in shares:
            undefined[reasons[i].replace("_", " ")] += 1
            continue
        chances = dict(zip(v.task.options, shares, strict=True))
        n = f" ({counted([n_endorsed[i]], 'pair')})" if n_endorsed else ""
        choices = ", ".join(f"{v.task.options[key]} {number(chances[key], 2)}" for key in keys)
        yield f"{{{', '.join(v.task.options[key] for key in keys)}}}{n} {choices}"
    if undefined:
        yield ", ".join(f"{counted([n], 'set')} NA ({why})" for why, n in undefined.items())
