"""Checks of items' texts: duplicates (MinHash with banding), secrets and personal data."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from harness.tasks import Item, Task


SIMILAR = 0.8  # Jaccard similarity of the sets of shingles, in every field
LAST_SINGLE = 4  # the last digit whose double has one digit
SHINGLE = 5  # characters per shingle
BANDS, ROWS = 8, 4  # 98 % of the pairs at similarity 0.8 meet in a band
MIN_EQUAL = 16  # of 32 numbers of a signature; at similarity 0.8 fewer in 3 of 100,000 pairs
CHUNK = 200_000  # characters hashed at once
N_PAIRS = 100_000  # pairs whose signatures are compared at once
SEPARATORS = re.compile(r"[\W_]+")
PRIMES = np.array([0x100000001B3**i % 2**64 for i in range(SHINGLE)], dtype=np.uint64)
Cluster = tuple[str, ...]


def duplicates(task: Task, items: Sequence[Item]) -> tuple[list[Cluster], list[Cluster]]:
    """Return clusters of items with duplicate texts, and clusters of near-duplicates.

    A cluster contains ids in file order. Its items share a criterion. Case, punctuation and spaces
    are ignored. Texts are near-duplicates if, in every field that judges see, their sets of
    5-character shingles have a Jaccard similarity of at least 0.8.
    """
    by_text: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for item in items:
        by_text[_normal(item, task)].append(item.id)
    exact = [tuple(ids) for ids in by_text.values() if len(ids) > 1]
    texts = list(by_text)
    near = [
        tuple(by_text[texts[i]][0] for i in members)
        for members in _components(len(texts), _similar_pairs(texts))
    ]
    return exact, near


def _normal(item: Item, task: Task) -> tuple[str, ...]:
    fields = (SEPARATORS.sub(" ", item.fields[name].casefold()).strip() for name in task.text)
    return (item.criterion or "", *fields)


def _similar_pairs(texts: Sequence[tuple[str, ...]]) -> Iterator[tuple[int, int]]:
    """Yield pairs of texts that match in a MinHash band and are similar in every field."""
    if not texts:
        return
    columns = list(zip(*texts, strict=True))
    varied = max(columns[1:], key=lambda column: len(set(column)))  # not a shared context
    rows = [i for i, text in enumerate(varied) if len(text) >= SHINGLE]
    signatures = _signatures([varied[i] for i in rows])
    for i, j in _candidates(signatures):
        if _similar(texts[rows[i]], texts[rows[j]]):
            yield rows[i], rows[j]


def _signatures(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return the texts' MinHash signatures, an array of shape (n, BANDS * ROWS)."""
    rng = np.random.default_rng(0)
    factors = rng.integers(1, 2**63, BANDS * ROWS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    signatures = np.empty((len(texts), len(factors)), dtype=np.uint64)
    start = 0
    for stop in _chunks(texts):
        hashes, starts = _shingles(texts[start:stop])
        for j, factor in enumerate(factors):
            mixed = hashes * factor
            signatures[start:stop, j] = np.minimum.reduceat(
                mixed ^ (mixed >> np.uint64(29)), starts
            )
        start = stop
    return signatures


def _chunks(texts: Sequence[str]) -> Iterator[int]:
    """Divide texts into chunks of about 200,000 characters, and yield each chunk's end index."""
    n_characters = 0
    for i, text in enumerate(texts, 1):
        n_characters += len(text)
        if n_characters >= CHUNK or i == len(texts):
            yield i
            n_characters = 0


def _shingles(texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the hashes of all texts' shingles, and the index of each text's first hash."""
    joined = "".join(texts)
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    windows = np.lib.stride_tricks.sliding_window_view(codes.astype(np.uint64), SHINGLE)
    hashes = (windows * PRIMES).sum(axis=1, dtype=np.uint64)
    hashes ^= hashes >> np.uint64(31)
    lengths = np.array([len(text) for text in texts])
    ends = lengths.cumsum()
    inside = np.ones(len(hashes), dtype=np.bool_)
    for back in range(1, SHINGLE):  # shingles that reach into the next text
        inside[ends[:-1] - back] = False
    starts = np.concatenate([[0], (lengths - SHINGLE + 1).cumsum()[:-1]])
    return hashes[inside], starts


def _candidates(signatures: NDArray[np.uint64]) -> Iterator[list[int]]:
    """Yield pairs of texts that match in a band and in enough signature values."""
    met = []
    for band in range(BANDS):
        bucket = signatures[:, band * ROWS : (band + 1) * ROWS] @ PRIMES[1 : ROWS + 1]
        order = np.argsort(bucket, kind="stable")
        is_first = np.diff(bucket[order], prepend=np.uint64(0)) != 0
        is_first[:1] = True
        firsts = order[np.flatnonzero(is_first)[is_first.cumsum() - 1]]  # of each text's bucket
        later = np.flatnonzero(~is_first)
        met += [(order[later - 1], order[later]), (firsts[later], order[later])]
    pairs = np.unique(np.hstack(met), axis=1).T  # (p, 2)
    for some in np.array_split(pairs, len(pairs) // N_PAIRS + 1):
        n_equal = (signatures[some[:, 0]] == signatures[some[:, 1]]).sum(axis=1)
        yield from some[n_equal >= MIN_EQUAL].tolist()


def _similar(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    return all(
        a == b or _jaccard(a, b) >= SIMILAR for a, b in zip(first[1:], second[1:], strict=True)
    ) and (first[0] == second[0])


def _jaccard(first: str, second: str) -> float:
    a, b = (
        {text[i : i + SHINGLE] for i in range(len(text) - SHINGLE + 1)} for text in (first, second)
    )
    return len(a & b) / len(a | b) if a and b else 0.0


def _components(n: int, pairs: Iterator[tuple[int, int]]) -> list[list[int]]:
    """Return the connected components that have several members, in order."""
    edges = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    graph = coo_array((np.ones(len(edges)), edges.T), shape=(n, n))
    component = connected_components(graph, directed=False)[1]
    members: dict[int, list[int]] = defaultdict(list)
    for i in np.unique(edges).tolist():
        members[component[i]].append(i)
    return list(members.values())


def _passes_luhn(text: str) -> bool:
    """Return whether a card number has a correct check digit."""
    digits = [int(digit) for digit in text if digit.isdecimal()]
    doubled = [2 * digit - 9 * (digit > LAST_SINGLE) for digit in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(digits[::-2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    compact = text.replace(" ", "")
    return int("".join(str(int(char, 36)) for char in compact[4:] + compact[:4])) % 97 == 1


@dataclass(frozen=True, slots=True)
class Pattern:
    """Search pattern for one kind of secret or personal data.

    Attributes
    ----------
    regex : re.Pattern
        Regular expression for candidates. If its first character is rare, a lookbehind follows that
        character, because `re` then searches only for that character, which is faster.
    is_valid : callable
        Returns whether a candidate is a real match.
    literal : str
        Text that every match contains. Texts without it aren't searched, which is faster.
    """

    regex: re.Pattern[str]
    is_valid: Callable[[str], bool] = bool
    literal: str = ""


PATTERNS: Mapping[str, Pattern] = {
    "e-mail address": Pattern(
        re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{2,63}){1,4}"),
        literal="@",
    ),
    "phone number": Pattern(
        re.compile(
            r"(?<![\w+])(?:\+\d{1,3}[ .-]?(?:\(?\d{1,4}\)?[ .-]?){2,5}\d{2,4}"
            r"|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})(?!\w)"
        )
    ),
    "card number": Pattern(
        re.compile(r"(?<![\w.])\d(?:[ -]?\d){12,18}(?![\w.])"), is_valid=_passes_luhn
    ),
    "IBAN": Pattern(
        re.compile(r"[A-Z](?<!\w.)[A-Z]\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"),
        is_valid=_is_iban,
    ),
    "social security number": Pattern(re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])")),
    "API key": Pattern(
        re.compile(
            r"[sAgxh](?<!\w.)(?:(?<=s)k-[A-Za-z0-9_-]{20,}|(?<=A)KIA[0-9A-Z]{16}|(?<=g)h[pousr]_[A-Za-z0-9]{36}"
            r"|(?<=x)ox[abprs]-[A-Za-z0-9-]{10,}|(?<=A)Iza[A-Za-z0-9_-]{35}|(?<=h)f_[A-Za-z0-9]{30,})"
        )
    ),
    "private key": Pattern(
        re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----"), literal="PRIVATE KEY"
    ),
}


def items_by_pattern(items: Iterable[Item]) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Return the number of matches and the ids of matching items, by kind of secret or data."""
    n_matches: Counter[str] = Counter()
    matching: dict[str, list[str]] = {}
    for item in items:
        text = "\n".join(item.fields.values())
        for kind, pattern in PATTERNS.items():
            if pattern.literal not in text:
                continue
            n = sum(pattern.is_valid(match[0]) for match in pattern.regex.finditer(text))
            if n:
                n_matches[kind] += n
                matching.setdefault(kind, []).append(item.id)
    return {kind: (n_matches[kind], tuple(matching[kind])) for kind in PATTERNS if kind in matching}
