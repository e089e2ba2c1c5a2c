"""Verdicts as columns. Texts are read again from the log when they are needed."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from harness.errors import VerdictError
from harness.files.regular_files import bounded_lines, reader
from harness.judging.parsing.verdict import Verdict, check_header, decode, newest
from harness.stats.data.arrays import by_occurrence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from harness.judging.parsing.grammar import Outcome
    from harness.judging.parsing.verdict import Value
    from harness.tasks.item import Elicitation

READ_AT_ONCE = 1000  # verdicts reread at once
_PACKED = struct.Struct("<IiIqdddiii")
_ROW = np.dtype(
    [
        ("item", "<u4"),
        ("sample", "<i4"),
        ("kind", "<u4"),
        ("offset", "<i8"),
        ("cost_usd", "<f8"),
        ("latency_s", "<f8"),
        ("received_at", "<f8"),
        ("prompt_tokens", "<i4"),
        ("completion_tokens", "<i4"),
        ("cached_tokens", "<i4"),
    ]
)


class VerdictKind(NamedTuple):
    """Properties that many verdicts share. Verdicts of a kind differ in item, sample and reply.

    Attributes
    ----------
    judge, elicitation, outcome, value, attempt, from_store, reason, swapped
        As in `Verdict`.
    model : str
        Name reported by the provider; "" for none.
    n_replies : int
        Number of replies in the verdict.
    derived : bool
        Whether its reply was derived from a different elicitation.
    is_soft, has_order, has_logprobs, has_object : bool
        Whether it has probabilities, the order in which options were shown, log-probabilities, and
        a reply with a brace, which may contain a JSON object.
    finish_reason : str
        Ending reported by the provider; "" for none.
    is_prompt_cut : bool
        Whether the provider counted far fewer tokens than the prompt contains.
    is_reasked : bool
        Whether the judge was asked again after an unreadable reply.
    """

    judge: str
    elicitation: Elicitation
    outcome: Outcome
    value: Value
    attempt: int
    from_store: bool
    reason: str
    swapped: bool
    model: str
    n_replies: int
    derived: bool
    is_soft: bool
    has_order: bool
    has_logprobs: bool
    has_object: bool
    finish_reason: str
    is_prompt_cut: bool
    is_reasked: bool


def _kind_of(verdict: Verdict) -> tuple[Any, ...]:
    """Return a verdict's `VerdictKind` fields as a plain tuple, which is faster to create."""
    reply, first, is_reasked = verdict.reply, verdict.first, verdict.is_reasked
    return (
        verdict.judge,
        verdict.elicitation,
        verdict.outcome,
        verdict.value,
        verdict.attempt,
        verdict.from_store,
        verdict.reason,
        verdict.swapped,
        (reply.model or "") if reply else "",
        len(verdict.replies) if is_reasked else (reply is not None) + (first is not None),
        reply is not None and reply.derived,
        verdict.probabilities is not None,
        bool(verdict.shown),
        reply is not None and reply.logprobs is not None,
        reply is not None and "{" in reply.text,
        (reply.finish_reason or "") if reply else "",
        bool((reply and reply.prompt_at_least) or (first and first.prompt_at_least)),
        is_reasked,
    )


class VerdictColumns:
    """Arrays that describe N verdicts.

    Attributes
    ----------
    items : tuple of str
        Names of items, including those of all verdicts.
    item : (N,) int array
        Index of each verdict's item in ``items``.
    kinds : tuple of VerdictKind
        Kinds, in the order of first occurrence.
    kind : (N,) int array
        Index of each verdict's kind in ``kinds``.
    sample : (N,) int array
        Sample number among the replies on the item.
    cost_usd, latency_s, received_at : (N,) array
        Properties of the reply; nan if unknown.
    prompt_tokens, completion_tokens, cached_tokens : (N,) int array
        Properties of the reply; 0 if unknown.
    """

    def __init__(
        self,
        rows: NDArray[np.void],
        items: tuple[str, ...],
        kinds: Sequence[VerdictKind],
    ) -> None:
        used, place = by_occurrence(rows["kind"], len(kinds))
        self.items = items
        self.item: NDArray[np.uint32] = rows["item"]
        self.kinds = tuple(kinds[k] for k in used.tolist())
        self.kind: NDArray[np.int32] = place.astype(np.int32)[rows["kind"]]
        self.sample: NDArray[np.int32] = rows["sample"]
        self.cost_usd = rows["cost_usd"]
        self.latency_s = rows["latency_s"]
        self.received_at = rows["received_at"]
        self.prompt_tokens = rows["prompt_tokens"]
        self.completion_tokens = rows["completion_tokens"]
        self.cached_tokens = rows["cached_tokens"]

    def __len__(self) -> int:
        return len(self.kind)

    def __repr__(self) -> str:
        return f"VerdictColumns({len(self)} verdicts of {len(self.kinds)} kinds)"

    def of_kinds(self, is_wanted: Callable[[VerdictKind], bool]) -> NDArray[np.bool_]:
        """Return an (N,) bool array that is True for verdicts of certain kinds."""
        return np.array([is_wanted(kind) for kind in self.kinds], dtype=np.bool_)[self.kind]

    def of_items(self, items: Iterable[str]) -> NDArray[np.bool_]:
        """Return an (N,) bool array that is True for verdicts on certain items."""
        wanted = frozenset(items)
        return np.array([item in wanted for item in self.items], dtype=np.bool_)[self.item]

    def n_by_kind(self, items: Iterable[str] | None = None) -> list[tuple[VerdictKind, int]]:
        """Count the verdicts of each kind, on the given items or on all items."""
        kind = self.kind if items is None else self.kind[self.of_items(items)]
        counts = np.bincount(kind, minlength=len(self.kinds))
        return list(zip(self.kinds, counts.tolist(), strict=True))


class _RowPacker:
    """Encoder of verdicts as table rows, in which numbers stand for items and kinds."""

    def __init__(self, items: Iterable[str] = ()) -> None:
        self.items = {name: i for i, name in enumerate(items)}
        self.kinds: dict[tuple[Any, ...], int] = {}

    def packed(self, verdict: Verdict, offset: int = 0) -> bytes:
        """Encode a verdict as a row."""
        reply = verdict.reply
        cost = latency = received_at = nan
        prompt = completion = cached = 0
        if reply is not None:
            cost = nan if reply.cost_usd is None else reply.cost_usd
            latency = nan if reply.latency_s is None else reply.latency_s
            received_at = nan if reply.received_at is None else reply.received_at
            prompt = reply.prompt_tokens or 0
            completion = reply.completion_tokens or 0
            cached = reply.cached_tokens or 0
        return _PACKED.pack(
            self.items.setdefault(verdict.item, len(self.items)),
            verdict.sample,
            self.kinds.setdefault(_kind_of(verdict), len(self.kinds)),
            offset,
            cost,
            latency,
            received_at,
            prompt,
            completion,
            cached,
        )

    def named_kinds(self) -> tuple[VerdictKind, ...]:
        """Return the kinds in order of first occurrence."""
        return tuple(map(VerdictKind._make, self.kinds))


class LoggedVerdicts(Sequence[Verdict]):
    """Final verdicts of one judge in a log, as columns and, when read again, in full.

    Attributes
    ----------
    columns : VerdictColumns
        The columns, in the same order.
    """

    def __init__(self, path: Path, offsets: NDArray[np.int64], columns: VerdictColumns) -> None:
        self.columns = columns
        self._path = path
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self._offsets)

    @overload
    def __getitem__(self, at: int) -> Verdict: ...

    @overload
    def __getitem__(self, at: slice) -> list[Verdict]: ...

    def __getitem__(self, at: int | slice) -> Verdict | list[Verdict]:
        """Return the verdict at an index, or the verdicts in a slice."""
        if isinstance(at, slice):
            return self.read(np.arange(len(self))[at])
        return self.read(np.array([range(len(self))[at]]))[0]

    def __iter__(self) -> Iterator[Verdict]:
        for start in range(0, len(self), READ_AT_ONCE):
            yield from self[start : start + READ_AT_ONCE]

    def __repr__(self) -> str:
        return f"LoggedVerdicts({len(self)} of {self._path.name})"

    def read(self, rows: NDArray[np.integer]) -> list[Verdict]:
        """Read the full verdicts at the R positions in ``rows``.

        Raises
        ------
        VerdictError
            If the log cannot be read, or was changed since it was first read.
        """
        return _read_at(self._path, self._offsets[rows].tolist())


def _read_at(path: Path, offsets: Iterable[int]) -> list[Verdict]:
    verdicts = []
    try:
        with reader(path) as file:
            for offset in offsets:
                file.seek(offset)
                verdicts.append(decode(file.readline()))
    except OSError as error:
        raise VerdictError(f"{path}: cannot be read ({error.strerror}).") from None
    except VerdictError as error:
        raise VerdictError(f"{path}: was changed while it was read ({error}).") from None
    return verdicts


def columns_of(verdicts: Sequence[Verdict]) -> VerdictColumns:
    """Convert verdicts to columns in the same order."""
    if isinstance(verdicts, LoggedVerdicts):
        return verdicts.columns
    packer = _RowPacker()
    rows = b"".join(map(packer.packed, verdicts))
    return VerdictColumns(np.frombuffer(rows, _ROW), tuple(packer.items), packer.named_kinds())


def verdicts_at(verdicts: Sequence[Verdict], rows: NDArray[np.bool_]) -> list[Verdict]:
    """Return the verdicts that are True in an (N,) bool array."""
    return list(each_verdict_at(verdicts, rows))


def each_verdict_at(verdicts: Sequence[Verdict], rows: NDArray[np.bool_]) -> Iterator[Verdict]:
    """Yield the verdicts that are True in an (N,) bool array, using little memory."""
    places = np.flatnonzero(rows)
    if isinstance(verdicts, LoggedVerdicts):
        for start in range(0, len(places), READ_AT_ONCE):
            yield from verdicts.read(places[start : start + READ_AT_ONCE])
    else:
        yield from (verdicts[i] for i in places.tolist())


class CountedLog(NamedTuple):
    """Contents of a verdict log, except for texts."""

    by_judge: dict[str, LoggedVerdicts]  # the newest success of each unit, else its newest failure
    n_damaged: int  # lines set aside


def count_log(path: Path, items: Iterable[str] = ()) -> CountedLog:
    """Read a log as columns, which take about 60 bytes per verdict. See `read_log`.

    Parameters
    ----------
    path : Path
        The log.
    items : iterable of str, optional
        Its items, whose names are then stored only once.

    Raises
    ------
    VerdictError
        If it cannot be read or has a different version.
    """
    packer, n_damaged = _RowPacker(items), 0
    packed = bytearray()  # rows of all judges: growing one after the other leaves gaps in memory
    try:
        with reader(path) as file:
            lines = bounded_lines(file)
            header = next(lines, b"")
            check_header(header, path)
            offset = len(header)
            for line in lines:
                try:
                    verdict = decode(line)
                    packed += packer.packed(verdict, offset)
                except VerdictError:
                    n_damaged += 1
                offset += len(line)
    except OSError as error:
        where = error.filename or path
        raise VerdictError(f"{where}: cannot be read ({error.strerror}).") from None
    names, kinds = tuple(packer.items), packer.named_kinds()
    by_judge = {}
    for judge, of_judge in _split(np.frombuffer(packed, _ROW), kinds):
        rows = _final(path, of_judge, kinds)
        columns = VerdictColumns(rows, names, kinds)
        by_judge[judge] = LoggedVerdicts(path, rows["offset"], columns)
    return CountedLog(by_judge, n_damaged)


def _split(
    rows: NDArray[np.void], kinds: Sequence[VerdictKind]
) -> Iterator[tuple[str, NDArray[np.void]]]:
    """Yield each judge with its rows, in order of first occurrence."""
    judges = tuple(dict.fromkeys(kind.judge for kind in kinds))
    of_kind = np.array([judges.index(kind.judge) for kind in kinds], dtype=np.int32)
    of_row = of_kind[rows["kind"]]
    for number, judge in enumerate(judges):
        yield judge, rows[of_row == number]


def _final(path: Path, rows: NDArray[np.void], kinds: Sequence[VerdictKind]) -> NDArray[np.void]:
    """Select the row that counts for each unit of a judge, in order of first occurrence."""
    numbers: dict[str, int] = {}
    asked = [numbers.setdefault(kind.elicitation, len(numbers)) for kind in kinds]
    unit = np.array(asked)[rows["kind"]] << 32 | rows["item"]
    order = np.lexsort((rows["sample"], unit))  # a stable sort
    unit, sample = unit[order], rows["sample"][order]
    is_first = np.append(True, (unit[1:] != unit[:-1]) | (sample[1:] != sample[:-1]))
    if is_first.all():
        return rows
    starts = np.flatnonzero(is_first)
    first, final = order[starts], order[starts]
    ends = np.append(starts[1:], len(order))
    for i in np.flatnonzero(ends - starts > 1).tolist():
        places = order[starts[i] : ends[i]]
        best: Verdict | None = None
        for place, verdict in zip(
            places.tolist(), _read_at(path, rows["offset"][places].tolist()), strict=True
        ):
            chosen = newest(verdict, best)
            if chosen is verdict:
                final[i] = place
            best = chosen
    return rows[final[np.argsort(first)]]
