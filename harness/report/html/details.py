"""What the page shows beside the numbers: items with their ratings, prompts, and how it was run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from harness.analysis.rater_agreement import Dispute
from harness.judging.parsing.verdict import PairValue
from harness.ratings import human_table, judge_table
from harness.report.formatting import cut
from harness.stats.data.rating_table import ELICITATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.analysis import Source, Validation
    from harness.judging.parsing.verdict import Verdict
    from harness.runs import RunFolder
    from harness.tasks import Item

MAX_TEXT = 240
MAX_FULL_TEXT = 6000
MAX_REPLY = 600
N_DISPUTED = 12


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item of the table.

    Attributes
    ----------
    text : str
        Its beginning; "" where there is none.
    raters : str
        How often the raters gave each answer: choices, then sets, most frequent first.
    split : float or None
        Share of the pairs of the raters' forced choices that differ; None below two choices.
    judges : tuple of str
        Likewise for each judge's answers, in the table's order of judges.
    n_apart : int
        Judges whose most frequent choice is none of the raters' most frequent.
    """

    id: str
    text: str
    raters: str
    split: float | None
    judges: tuple[str, ...]
    n_apart: int


@dataclass(frozen=True, slots=True, repr=False)
class ItemTable:
    """All items with what raters and judges said of them, the most disputed first."""

    judges: tuple[str, ...]
    rows: tuple[ItemRow, ...]

    def __repr__(self) -> str:
        return f"ItemTable({len(self.rows)} items, {len(self.judges)} judges)"


@dataclass(frozen=True, slots=True)
class Said:
    """One rating or reply: by whom, to what, what it was read as, and the words if any."""

    who: str
    elicitation: str
    answer: str
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Disputed:
    """One item with everything that was said of it; of each judge the first sample."""

    id: str
    text: str
    raters: tuple[Said, ...]
    judges: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """How one judge was asked, and what that took.

    Attributes
    ----------
    parameters : dict of str to str
        What was sent with each call, and what else the manifest says of the judge.
    n_retried : int
        Attempts beyond the first.
    latency_s : float or None
        Median seconds of a reply; None where none was measured.
    """

    name: str
    parameters: dict[str, str]
    n_retried: int
    latency_s: float | None


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Details:
    """What a run folder holds besides its numbers.

    Attributes
    ----------
    run : str
        The folder's name; "" for verdicts made elsewhere.
    asking_s : float or None
        Seconds of asking, over all sittings; None where nobody was asked here.
    disputed : tuple of Disputed
        The items on which raters, or raters and judges, differ most.
    sets : tuple of str
        The admissible response sets, in the order of F's columns.
    prompts : dict of str to str
        Templates in full, by file.
    """

    run: str = ""
    created: str = ""
    state: str = ""
    asking_s: float | None = None
    scale: str = ""
    sets: tuple[str, ...] = ()
    raters: str = ""
    source: str = ""
    licence: str = ""
    items: ItemTable
    disputed: tuple[Disputed, ...]
    prompts: dict[str, str]
    hashes: dict[str, str]
    versions: dict[str, str]
    asked: tuple[Asked, ...]

    def __repr__(self) -> str:
        return f"Details({self.run!r}, {self.items!r})"


def details_of(
    source: Source, folder: RunFolder | None = None, *, disputed: Sequence[str] = ()
) -> Details:
    """Collect what the page shows beside the numbers.

    Parameters
    ----------
    source : Source
        What was validated.
    folder : RunFolder, optional
        Where it was read from; adds prompts, versions and how the judges were asked.
    disputed : sequence of str
        Ids of the items to show in full; by default those at the top of the table.
    """
    task = source.task
    ratings: dict[str, list[Said]] = {item.id: [] for item in source.items}
    for rating in task.ratings:
        if rating.item in ratings:
            said = Said(rating.rater, rating.elicitation, answer(rating.value))
            ratings[rating.item].append(said)
    manifest = folder.manifest if folder else None
    table = _item_table(source, ratings)
    shown = list(disputed) or [row.id for row in table.rows if row.split or row.n_apart]
    return Details(
        run=folder.path.name if folder else "",
        created=manifest.created if manifest else "",
        state=manifest.state if manifest else "",
        asking_s=manifest.asking_s if manifest else None,
        scale=task.scale,
        sets=tuple(answer(one) for one in task.space.sets),
        raters=task.raters,
        source=task.source,
        licence=task.licence,
        items=table,
        disputed=_disputed(source, ratings, shown[:N_DISPUTED]),
        prompts=_prompts(folder) if folder else {},
        hashes=dict(manifest.hashes) if manifest else {"task": task.content_hash},
        versions=dict(manifest.versions) if manifest else {},
        asked=tuple(_asked(source, folder)),
    )


def disputed(v: Validation) -> tuple[str, ...]:
    """Return the items that the raters disagree on most, as the decision names them."""
    return v.decision.disputed


def answer(value: object) -> str:
    """Return a value as people read it: a key, a set in braces, or a set and the choice from it."""
    match value:
        case None:
            return ""
        case PairValue():
            return f"{answer(value.set)} > {value.choice}"
        case tuple() | list():
            return "{" + ", ".join(map(str, value)) + "}"
        case _:
            return str(value)


def _tally(answers: Iterable[tuple[str, str]]) -> str:
    """Count answers, given as way of asking and text: a line for each way of asking."""
    by_asking: dict[str, Counter[str]] = {}
    for asked, text in answers:
        by_asking.setdefault(asked, Counter())[text] += 1
    lines = [
        " · ".join(
            f"{name} {n}" if n > 1 else name
            for name, n in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
        )
        for _, counted in sorted(by_asking.items(), key=lambda one: ELICITATIONS.index(one[0]))
    ]
    return "\n".join(lines)


def _text(item: Item, shown: Sequence[str]) -> str:
    return "\n\n".join(item.fields[name] for name in shown if item.fields.get(name))


def _item_table(source: Source, ratings: dict[str, list[Said]]) -> ItemTable:
    judges = tuple(judge.name for judge in source.judges)
    said: dict[str, dict[str, list[Verdict]]] = {name: {} for name in judges}
    for name in judges:
        for verdict in source.verdicts[name]:
            said[name].setdefault(verdict.item, []).append(verdict)
    task, items = source.task, source.items
    tables = [judge_table(task, items, name, source.verdicts[name]) for name in judges]
    dispute = Dispute.of(human_table(task, items), tables)
    rows = [
        ItemRow(
            id=item.id,
            text=cut(_text(item, task.text), MAX_TEXT),
            raters=_tally((rating.elicitation, rating.answer) for rating in ratings[item.id]),
            split=None if isnan(share) else share,
            judges=tuple(
                _tally(
                    (v.elicitation, answer(v.value) if v.outcome == "answered" else v.outcome)
                    for v in said[name].get(item.id, [])
                )
                for name in judges
            ),
            n_apart=n_apart,
        )
        for item, share, n_apart in zip(
            items, dispute.share.tolist(), dispute.n_apart.tolist(), strict=True
        )
    ]
    return ItemTable(judges, tuple(rows[i] for i in dispute.order))


def _disputed(
    source: Source, ratings: dict[str, list[Said]], ids: Sequence[str]
) -> tuple[Disputed, ...]:
    wanted = set(ids)
    said: dict[str, list[Said]] = {ident: [] for ident in ids}
    for judge in source.judges:
        for v in source.verdicts[judge.name]:
            if v.item in wanted and v.sample == 0:
                told = answer(v.value) if v.outcome == "answered" else v.outcome
                reply = cut(v.reply or "", MAX_REPLY)
                said[v.item].append(Said(judge.name, v.elicitation, told, reply))
    by_id = {item.id: item for item in source.items if item.id in wanted}
    return tuple(
        Disputed(
            id=ident,
            text=cut(_text(by_id[ident], source.task.text), MAX_FULL_TEXT),
            raters=tuple(ratings[ident]),
            judges=tuple(said[ident]),
        )
        for ident in ids
        if ident in by_id
    )


def _prompts(folder: RunFolder) -> dict[str, str]:
    files = sorted(path for path in folder.prompts.glob("*") if path.is_file())
    return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in files}


def _asked(source: Source, folder: RunFolder | None) -> Iterable[Asked]:
    specs = {spec.name: spec for spec in folder.manifest.judges} if folder else {}
    for judge in source.judges:
        spec = specs.get(judge.name)
        told = {"model": judge.model, "kind": judge.kind}
        if spec:
            told |= {"samples": str((folder and folder.manifest.config.samples) or spec.samples)}
            told |= {"endpoint": spec.base_url} if spec.base_url else {}
            told |= {name: str(value) for name, value in spec.params.items()}
        verdicts = source.verdicts[judge.name]
        latencies = sorted(v.latency_s for v in verdicts if v.latency_s is not None)
        yield Asked(
            name=judge.name,
            parameters={name: value for name, value in told.items() if value},
            n_retried=sum(v.attempt - 1 for v in verdicts),
            latency_s=latencies[len(latencies) // 2] if latencies else None,
        )
