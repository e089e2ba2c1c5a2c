"""Reader for survey forms, with a row per respondent and a column per question about an item.

In Google Forms, the columns of a grid are named ``Question [Row]``. They follow ``Timestamp`` and,
if collected, ``Email Address``. In other forms, the whole header is the item's text, and these
columns follow the response's times.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from harness.tasks.columns.cell_values import is_date, text_of
from harness.tasks.columns.column_words import RATERS, WEAK_RATERS, contains_word, parts
from harness.tasks.columns.formats import Format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from harness.files.tables import Row
    from harness.tasks.columns.formats import Reading

MIN_ITEMS = 3
TEXT_WORDS = 3  # mean words from which a grid's rows are texts
MAX_LABEL_CHARS = 60
ANSWERS_PER_LABEL = 3  # fewest, if questions are answered by the same few labels
OF_RESPONSE = frozenset({"id", "response", "respondent", "submission", "no", "number"})
ANSWER = "answer"  # name for the question if headers hold only the items
NAMES = RATERS | WEAK_RATERS | frozenset({"email", "mail", "username", "e-mail"})


def _questions(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return each grid column's question and item.

    The question is the opening text that most columns share. If several are as common, it is the
    longest. Items and questions can contain brackets too.
    """
    openings = {name: _openings(name) for name in names}
    sizes = Counter(opening for of in openings.values() for opening in of)
    pairs = {}
    for name, of in openings.items():
        question = max(of, key=lambda opening: (sizes[opening], len(opening)), default="")
        if sizes[question] >= MIN_ITEMS:
            item = name.strip().removeprefix(question).strip()
            pairs[name] = (question, item.removeprefix("[").removesuffix("]").strip())
    return pairs


def _grid(rows: Sequence[Mapping[str, object]], names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return each column's question and item, taken from brackets or from headers that are texts.

    Headers count as texts if they are phrases, not questions, and their columns contain the same
    few labels.
    """
    if grid := _questions(names):
        return grid
    phrases = [n for n in names if len(n.split()) >= TEXT_WORDS and not n.rstrip().endswith("?")]
    labels = {name: {text_of(row.get(name)) for row in rows} - {""} for name in phrases}
    uses = Counter(label for of in labels.values() for label in of)
    usual = {label for label, n in uses.items() if n > 1}
    items = [name for name in phrases if labels[name] and labels[name] <= usual]
    is_few = len(usual) * ANSWERS_PER_LABEL <= len(items) * len(rows)
    is_grid = len(items) >= MIN_ITEMS and is_few and len(rows) > 1
    return {name: (ANSWER, name) for name in items} if is_grid else {}


def _openings(name: str) -> list[str]:
    """Return the text before each opening bracket in a name that ends with a closing bracket."""
    text = name.strip()
    places = [place for place, char in enumerate(text) if char == "["]
    return [text[:place].strip() for place in places if text.endswith("]") and text[:place].strip()]


def _is_form(content: object) -> bool:
    """Return whether rows are respondents, with times of response and grids of several items.

    Short names in a grid could be raters or criteria for the row's item. The table is therefore a
    form only if no other column contains texts.
    """
    if not isinstance(content, list) or not content or not isinstance(content[0], dict):
        return False
    grid = _grid(content, list(content[0]))
    if not grid:
        return False
    are_headers = {question for question, _ in grid.values()} == {ANSWER}
    others = [name for name in content[0] if name not in grid]
    cells = [text_of(row.get(name)) for row in content for name in grid]
    if any(len(cell) > MAX_LABEL_CHARS and "," not in cell for cell in cells):
        return False
    is_timed = any(_all_cells(content, name, is_date) for name in others)
    has_text = any(_mean_words([row.get(name) for row in content]) >= TEXT_WORDS for name in others)
    items = {item for _, item in grid.values()}
    if are_headers and not all(_is_of_response(content, name) for name in others):
        return False
    are_texts = _mean_words(items) >= TEXT_WORDS and not are_headers
    return (is_timed or are_texts) and not has_text


def _is_of_response(rows: Sequence[Mapping[str, object]], name: str) -> bool:
    """Return whether a column describes the response: a time, a person, an id or a constant."""
    is_person = contains_word(name, NAMES) or {*parts(name)} <= OF_RESPONSE
    is_same = len({text_of(row.get(name)) for row in rows}) == 1
    return is_person or is_same or _all_cells(rows, name, is_date)


def _all_cells(
    rows: Sequence[Mapping[str, object]], name: str, test: Callable[[str], object]
) -> bool:
    cells = [text_of(row.get(name)) for row in rows]
    return all(cells) and all(map(test, cells))


def _mean_words(texts: Iterable[object]) -> float:
    """Return the mean number of words per text. Dates are excluded."""
    words = [len(text_of(text).split()) for text in texts if not is_date(text_of(text))]
    return sum(words) / max(len(words), 1)


def _form_rows(content: Sequence[Row], reading: Reading) -> Iterator[Row]:
    """Yield a row per respondent and item, with a column per question."""
    names = list(dict.fromkeys(name for row in content for name in row))
    grid = _grid(content, names)
    others = [name for name in names if name not in grid]
    questions = list(dict.fromkeys(question for question, _ in grid.values()))
    columns = _columns_by_item(grid)
    items = [item for item, _ in columns]
    is_text = _mean_words(items) >= TEXT_WORDS
    people = [n for n in others if contains_word(n, NAMES) and _all_cells(content, n, str)]
    who = next((n for n in people if len({text_of(row.get(n)) for row in content}) > 1), "")
    reading.columns |= {"id": ["item"], "rater": [who or "respondent"]}
    reading.columns |= {"text": ["text"]} if is_text else {}
    if len(questions) == 1:
        reading.columns["label"] = questions
    for number, row in enumerate(content, 1):
        about = {name: row.get(name) for name in others}
        about |= {} if who else {"respondent": f"respondent {number}"}
        for place, ((item, before), by_question) in enumerate(columns.items(), 1):
            name = f"{item} {before + 1}" if before else item
            named = {"item": f"item {place}", "text": item} if is_text else {"item": name}
            answers = {question: row.get(name) for question, name in by_question.items()}
            yield named | about | dict.fromkeys(questions) | answers


def _columns_by_item(
    grid: Mapping[str, tuple[str, str]],
) -> dict[tuple[str, int], dict[str, str]]:
    """Map each item to its columns by question. Items with the same text are numbered."""
    columns: dict[tuple[str, int], dict[str, str]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for name, pair in grid.items():
        question, item = pair
        columns.setdefault((item, seen[pair]), {})[question] = name
        seen[pair] += 1
    return columns


FORM = Format("form answers with a row per respondent", _is_form, _form_rows)
