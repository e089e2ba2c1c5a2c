"""Secrets and personal data by pattern; matched texts are never kept."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from harness.tasks import Item


def _passes_luhn(text: str) -> bool:
    """Whether the check digit of a card number is right."""
    digits = [int(digit) for digit in text if digit.isdecimal()]
    doubled = [2 * digit - 9 * (digit > 4) for digit in digits[-2::-2]]  # noqa: PLR2004 -- two digits
    return len(set(digits)) > 1 and (sum(digits[::-2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    compact = text.replace(" ", "")
    return int("".join(str(int(char, 36)) for char in compact[4:] + compact[:4])) % 97 == 1


PATTERNS: Mapping[str, re.Pattern[str]] = {
    "e-mail address": re.compile(
        r"(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{2,63}){1,4}"
    ),
    "phone number": re.compile(
        r"(?<![\w+])(?:\+\d{1,3}[ .-]?(?:\(?\d{1,4}\)?[ .-]?){2,5}\d{2,4}"
        r"|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})(?!\w)"
    ),
    "card number": re.compile(r"(?<![\w.])\d(?:[ -]?\d){12,18}(?![\w.])"),
    "IBAN": re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"),
    "social security number": re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])"),
    "API key": re.compile(
        r"\b(?:sk-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}"
        r"|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{35}|hf_[A-Za-z0-9]{30,})"
    ),
    "private key": re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----"),
}
CHECKS: Mapping[str, Callable[[str], bool]] = {"card number": _passes_luhn, "IBAN": _is_iban}


def items_by_pattern(items: Iterable[Item]) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Return, by kind of secret or personal data, the number of matches and the items with any."""
    n_matches: Counter[str] = Counter()
    matching: dict[str, list[str]] = {}
    for item in items:
        text = "\n".join(item.fields.values())
        for kind, pattern in PATTERNS.items():
            check = CHECKS.get(kind)
            n = sum(check is None or check(match[0]) for match in pattern.finditer(text))
            if n:
                n_matches[kind] += n
                matching.setdefault(kind, []).append(item.id)
    return {kind: (n_matches[kind], tuple(matching[kind])) for kind in PATTERNS if kind in matching}
