"""Items with their ratings and replies, prompts, and provenance, as the page shows them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from harness.analysis.judge_costs import median_latency_s
from harness.analysis.rater_agreement import Dispute
from harness.files import reader
from harness.judging.parsing.verdict import PairValue
from harness.judging.prompts.templates import MAX_BYTES
from harness.ratings import human_table, judge_table
from harness.report.formatting import cut
from harness.stats.data.rating_table import ELICITATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.analysis import Source
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
        Start of its text; "" if there is none.
    raters : str
        Number of raters per answer, most frequent first, one line per elicitation.
    disagreement : float or None
        Share of the pairs of the raters' forced choices that differ; None below two choices.
    judges : tuple of str
        Answers of each judge, in the table's order of judges.
    n_judges_apart : int
        Judges whose most frequent choice is none of the raters' most frequent.
    """

    id: str
    text: str
    raters: str
    disagreement: float | None
    judges: tuple[str, ...]
    n_judges_apart: int


@dataclass(frozen=True, slots=True, repr=False)
class ItemTable:
    """All items with the answers of raters and judges, the most disputed first."""

    judges: tuple[str, ...]
    rows: tuple[ItemRow, ...]

    def __repr__(self) -> str:
        return f"ItemTable({len(self.rows)} items, {len(self.judges)} judges)"


@dataclass(frozen=True, slots=True)
class Answer:
    """One rating or reply; ``name`` is that of the rater or judge."""

    name: str
    elicitation: str
    text: str
    reply: str = ""


@dataclass(frozen=True, slots=True)
class DisputedItem:
    """One item with all its ratings and the first reply of each judge."""

    id: str
    text: str
    raters: tuple[Answer, ...]
    judges: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class JudgeCalls:
    """How one judge was called.

    Attributes
    ----------
    parameters : dict of str to str
        Parameters of each call, and further settings in the manifest.
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
    """Contents of a run folder besides its numbers.

    Attributes
    ----------
    run : str
        Name of the folder; "" for verdicts made elsewhere.
    asking_s : float or None
        Seconds of calls, over all sessions; None without calls.
    disputed : tuple of DisputedItem
        The items with most disagreement.
    sets : tuple of str
        The admissible response sets, in the order of F's columns.
    prompts : dict of str to str
        Templates by file name.
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
    disputed: tuple[DisputedItem, ...]
    prompts: dict[str, str]
    hashes: dict[str, str]
    versions: dict[str, str]
    calls: tuple[JudgeCalls, ...]

    def __repr__(self) -> str:
        return f"Details({self.run!r}, {self.items!r})"


def details_of(
    source: Source, folder: RunFolder | None = None, *, disputed: Sequence[str] = ()
) -> Details:
    """Collect what the page shows besides the numbers.

    Parameters
    ----------
    source : Source
        What was validated.
    folder : RunFolder, optional
        Where it was read from; adds prompts, versions and how the judges were called.
    disputed : sequence of str
        Ids of the items to show in full; by default the first of the table.
    """
    task, labels = source.task, _labels(source)
    ratings: dict[str, list[Answer]] = {item.id: [] for item in source.items}
    for rating in task.ratings:
        if rating.item in ratings:
            answer = Answer(rating.rater, rating.elicitation, answer_text(rating.value, labels))
            ratings[rating.item].append(answer)
    manifest = folder.manifest if folder else None
    table = _item_table(source, ratings)
    ids = list(disputed) or [row.id for row in table.rows if row.disagreement or row.n_judges_apart]
    return Details(
        run=folder.path.name if folder else "",
        created=manifest.created if manifest else "",
        state=manifest.state if manifest else "",
        asking_s=manifest.asking_s if manifest else None,
        scale=task.scale,
        sets=tuple(answer_text(response_set, labels) for response_set in task.space.sets),
        raters=task.raters,
        source=task.source,
        licence=task.licence,
        items=table,
        disputed=_disputed_items(source, ratings, ids[:N_DISPUTED]),
        prompts=_prompts(folder) if folder else {},
        hashes=dict(manifest.hashes) if manifest else {"task": task.content_hash},
        versions=dict(manifest.versions) if manifest else {},
        calls=tuple(_judge_calls(source, folder)),
    )


def answer_text(value: object, labels: Mapping[str, str]) -> str:
    """Return a value as text: an option, a set in braces, or a set and the choice from it.

    Parameters
    ----------
    labels : mapping of str to str
        The label of each option key.
    """
    match value:
        case None:
            return ""
        case PairValue():
            return f"{answer_text(value.set, labels)} > {answer_text(value.choice, labels)}"
        case tuple() | list():
            return "{" + ", ".join(answer_text(key, labels) for key in value) + "}"
        case _:
            return labels.get(str(value), str(value))


def _labels(source: Source) -> dict[str, str]:
    return {option.key: option.label or option.key for option in source.task.options}


def _verdict_text(verdict: Verdict, labels: Mapping[str, str]) -> str:
    is_answered = verdict.outcome == "answered"
    return answer_text(verdict.value, labels) if is_answered else verdict.outcome


def _tally(answers: Iterable[tuple[str, str]]) -> str:
    """Count answers, given as elicitation and text, on one line per elicitation."""
    by_elicitation: dict[str, Counter[str]] = {}
    for elicitation, text in answers:
        by_elicitation.setdefault(elicitation, Counter())[text] += 1
    lines = [
        " · ".join(
            f"{text} {n}" if n > 1 else text
            for text, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        )
        for _, counts in sorted(
            by_elicitation.items(), key=lambda pair: ELICITATIONS.index(pair[0])
        )
    ]
    return "\n".join(lines)


def _text(item: Item, fields: Sequence[str]) -> str:
    return "\n\n".join(item.fields[name] for name in fields if item.fields.get(name))


def _item_table(source: Source, ratings: dict[str, list[Answer]]) -> ItemTable:
    task, items, labels = source.task, source.items, _labels(source)
    judges = tuple(judge.name for judge in source.judges)
    verdicts: dict[tuple[str, str], list[Verdict]] = {}
    for name in judges:
        for verdict in source.verdicts[name]:
            verdicts.setdefault((name, verdict.item), []).append(verdict)
    tables = [judge_table(task, items, name, source.verdicts[name]) for name in judges]
    dispute = Dispute.of(human_table(task, items), tables)
    rows = [
        ItemRow(
            id=item.id,
            text=cut(_text(item, task.text), MAX_TEXT),
            raters=_tally((rating.elicitation, rating.text) for rating in ratings[item.id]),
            disagreement=None if isnan(share) else share,
            judges=tuple(
                _tally(
                    (v.elicitation, _verdict_text(v, labels))
                    for v in verdicts.get((name, item.id), ())
                )
                for name in judges
            ),
            n_judges_apart=n_apart,
        )
        for item, share, n_apart in zip(
            items, dispute.share.tolist(), dispute.n_apart.tolist(), strict=True
        )
    ]
    return ItemTable(judges, tuple(rows[i] for i in dispute.order))


def _disputed_items(
    source: Source, ratings: dict[str, list[Answer]], ids: Sequence[str]
) -> tuple[DisputedItem, ...]:
    replies: dict[str, list[Answer]] = {item_id: [] for item_id in ids}
    labels = _labels(source)
    for judge in source.judges:
        for verdict in source.verdicts[judge.name]:
            if verdict.item in replies and verdict.sample == 0:
                reply = cut(verdict.reply or "", MAX_REPLY)
                answer = Answer(
                    judge.name, verdict.elicitation, _verdict_text(verdict, labels), reply
                )
                replies[verdict.item].append(answer)
    items = {item.id: item for item in source.items if item.id in replies}
    return tuple(
        DisputedItem(
            id=item_id,
            text=cut(_text(items[item_id], source.task.text), MAX_FULL_TEXT),
            raters=tuple(ratings[item_id]),
            judges=tuple(replies[item_id]),
        )
        for item_id in ids
        if item_id in items
    )


def _prompts(folder: RunFolder) -> dict[str, str]:
    prompts = {}
    for path in sorted(path for path in folder.prompts.glob("*") if path.is_file()):
        with reader(path) as file:
            prompts[path.name] = file.read(MAX_BYTES).decode(errors="replace")
    return prompts


def _judge_calls(source: Source, folder: RunFolder | None) -> Iterable[JudgeCalls]:
    specs = {spec.name: spec for spec in folder.manifest.judges} if folder else {}
    for judge in source.judges:
        spec = specs.get(judge.name)
        parameters = {"model": judge.model, "kind": judge.kind}
        if spec:
            n_samples = (folder and folder.manifest.config.samples) or spec.samples
            parameters |= {"samples": str(n_samples), "endpoint": spec.base_url or ""}
            parameters |= {name: str(value) for name, value in spec.params.items()}
        verdicts = source.verdicts[judge.name]
        yield JudgeCalls(
            name=judge.name,
            parameters={name: value for name, value in parameters.items() if value},
            n_retried=sum(verdict.attempt - 1 for verdict in verdicts),
            latency_s=median_latency_s(verdicts),
        )
