"""Two hundred tables of ratings with known truth, drawn from fixed seeds.

Twenty shapes of ten tables each: headers in six languages, opaque headers, and a twin whose values
do not imply the roles of its columns, so that it must be asked about. `write_corpus` writes a
folder per case: the table, ``args.txt`` and ``truth.json``.
"""

from __future__ import annotations

import csv
import io
import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

LANGUAGES = ("en", "de", "fr", "es", "pt", "zh")
HEADERS = {  # role: a header in each of the languages
    "item": ("item_id", "Beitrag_Nr", "id_exemple", "id_elemento", "id_item", "编号"),
    "text": ("text", "Text", "texte", "texto", "texto", "文本"),
    "rater": ("annotator", "Bewerter", "annotateur", "anotador", "avaliador", "标注者"),
    "label": ("label", "Urteil", "étiquette", "etiqueta", "rótulo", "标签"),
    "prompt": ("prompt", "Frage", "question", "pregunta", "pergunta", "问题"),
    "response": ("response", "Antwort", "réponse", "respuesta", "resposta", "回答"),
    "comment": ("comment", "Kommentar", "commentaire", "comentario", "comentário", "备注"),
    "time": ("created_at", "Zeitpunkt", "date_heure", "fecha", "data_hora", "时间"),
}
YES_NO = (
    ("yes", "no"),
    ("ja", "nein"),
    ("oui", "non"),
    ("sí", "no"),
    ("sim", "não"),
    ("是", "否"),
)
LIKERT = (
    ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"),
    ("stimme gar nicht zu", "stimme nicht zu", "teils/teils", "stimme zu", "stimme voll zu"),
    ("pas du tout d'accord", "pas d'accord", "neutre", "d'accord", "tout à fait d'accord"),
    (
        "muy en desacuerdo",
        "en desacuerdo",
        "ni de acuerdo ni en desacuerdo",
        "de acuerdo",
        "muy de acuerdo",
    ),
    ("discordo totalmente", "discordo", "neutro", "concordo", "concordo totalmente"),
    ("非常不同意", "不同意", "一般", "同意", "非常同意"),
)
PEOPLE = ("Maria Lopez", "Tom Baker", "Aiko Tanaka", "Paul Weber", "Nina Rossi", "Omar Haddad")
SUBJECTS = (
    "the driver|our neighbour|a small shop|the new phone|this film|the clinic|my cousin|that book"
)
VERBS = (
    "arrived late|made us laugh|lost the parcel|answered at once|broke twice|helped a lot|cost more"
)
ENDS = "on Monday|last summer|near the station|without a word|before lunch|again this year|for no reason"  # noqa: E501 -- a row of a table
OPAQUE = ("c{}", "Q{}_x", "col{}", "V{}")


@dataclass(kw_only=True)
class Case:
    """A table, the options it is imported with, and what a right import yields.

    Attributes
    ----------
    files : dict of str to bytes
        By name; the first is the table, unless ``sources`` names several.
    args : list of str
        Options beside ``--as``.
    truth : dict
        ``items`` (id to the fields that judges are shown), ``raters`` (names; None where they are
        positions), ``options`` in order, ``scale``, ``ratings`` (item, criterion, rater,
        elicitation, value), ``judges`` and ``ask`` (whether nothing but a question is right).
    """

    name: str
    files: dict[str, bytes]
    args: list[str] = field(default_factory=list)
    truth: dict[str, Any]


@dataclass
class Data:
    """Items, people and their ratings."""

    items: list[str]
    texts: dict[str, str]
    raters: list[str]
    options: tuple[str, ...]
    values: dict[tuple[str, str], str]


def sentence(rng: random.Random, number: int) -> str:
    """Return a sentence that no other number has."""
    parts = (rng.choice(part.split("|")) for part in (SUBJECTS, VERBS, ENDS))
    return f"{' '.join(parts).capitalize()}, case {number}."


def draw(
    rng: random.Random,
    *,
    n_items: int = 24,
    raters: Sequence[str] = PEOPLE[:4],
    options: Sequence[str] = ("yes", "no"),
    share: float = 1.0,
) -> Data:
    """Draw ratings: raters mostly agree, and each rates a share of the items."""
    items = [f"d{number:03}" for number in rng.sample(range(1, 900), n_items)]
    texts = {item: sentence(rng, number) for number, item in enumerate(items)}
    values = {}
    for number, item in enumerate(items):
        usual = options[number % len(options)]
        for place, rater in enumerate(raters):
            if rng.random() < share or place == number % len(raters):
                values[item, rater] = usual if rng.random() < 0.7 else rng.choice(list(options))
    return Data(items, texts, list(raters), tuple(options), values)


def csv_bytes(rows: Iterable[Sequence[object]], encoding: str = "utf-8", mark: str = ",") -> bytes:
    """Return rows as CSV."""
    text = io.StringIO()
    csv.writer(text, delimiter=mark, lineterminator="\n").writerows(rows)
    return text.getvalue().encode(encoding)


def truth_of(data: Data, shown: Sequence[str], **changes: Any) -> dict[str, Any]:
    """Return what a right import yields: the first shown field is the text of the item."""
    fields = {item: dict(zip(shown, [data.texts[item]], strict=False)) for item in data.items}
    ratings = [[i, "", r, "forced_choice", v] for (i, r), v in data.values.items()]
    used = {r for _, r in data.values}
    raters = [r for r in data.raters if r in used]
    truth = {"items": fields, "raters": raters, "options": list(data.options), "ratings": ratings}
    return truth | {"scale": None, "judges": [], "ask": False} | changes


class Names:
    """Headers of a variant: in a language, or opaque."""

    def __init__(self, variant: int, rng: random.Random) -> None:
        self.variant = variant
        self._form = OPAQUE[variant % len(OPAQUE)]
        self._opaque = variant >= len(LANGUAGES)
        self._numbers = iter(rng.sample(range(1, 40), 30))

    def __call__(self, role: str) -> str:
        if self._opaque:
            return self._form.format(next(self._numbers))
        return HEADERS[role][self.variant]

    def __getattr__(self, role: str) -> str:
        return self(role)

    @property
    def language(self) -> int:
        return self.variant % len(LANGUAGES)


def shuffled(rng: random.Random, rows: list[Any]) -> list[Any]:
    rng.shuffle(rows)
    return rows


def long(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """A row per rating, with texts; the twin has no texts and opaque headers."""
    data = draw(rng, options=YES_NO[n.language], share=0.8)
    item, text, rater, label = n.item, n.text, n.rater, n.label
    head = [item, rater, label] if twin else [item, text, rater, label]
    if twin:  # names that do not say whose they are
        data = draw(
            rng, n_items=12, raters=[f"k{i}" for i in range(10)], options=YES_NO[n.language]
        )
    cells = [[i, r, v] if twin else [i, data.texts[i], r, v] for (i, r), v in data.values.items()]
    files = {"long.csv": csv_bytes([head, *shuffled(rng, cells)])}
    truth = truth_of(data, [] if twin else [text], scale="binary", ask=twin)
    return Case(name="long", files=files, truth=truth)


def prompt_response(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """Short prompts that several responses share; the twin hides who rated in numbers."""
    data = draw(rng, n_items=24, raters=PEOPLE[:3], options=tuple("12345"), share=0.9)
    prompts = {
        i: f"{('Plan', 'Name', 'Sell', 'Draw')[k // 6]} a cat" for k, i in enumerate(data.items)
    }
    item, prompt, response, rater, label = n.item, n.prompt, n.response, n.rater, n.label
    if twin:  # two columns of numbers, both of which may be the rating
        rows = [
            [i, prompts[i], data.texts[i], r, v, rng.choice("12345")]
            for (i, r), v in data.values.items()
        ]
        head = [item, prompt, response, rater, label, n.time]
    else:
        rows = [[i, prompts[i], data.texts[i], r, v] for (i, r), v in data.values.items()]
        head = [item, prompt, response, rater, label]
    fields = {i: {prompt: prompts[i], response: data.texts[i]} for i in data.items}
    truth = truth_of(data, [], items=fields, scale="ordinal", ask=twin)
    return Case(
        name="prompt_response",
        files={"t.csv": csv_bytes([head, *shuffled(rng, rows)])},
        truth=truth,
    )


def text_is_item(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """A row per rating without an id; the twin has two texts that differ within each other."""
    data = draw(rng, options=("positive", "negative", "mixed"), share=0.9)
    text, rater, label = n.text, n.rater, n.label
    head, rows = [text, rater, label], [[data.texts[i], r, v] for (i, r), v in data.values.items()]
    if twin:
        head = [text, n.response, label]
        rows = [[data.texts[i], sentence(rng, hash_of(r)), v] for (i, r), v in data.values.items()]
    truth = truth_of(data, [text], scale="nominal", ask=twin)
    return Case(
        name="text_is_item", files={"t.csv": csv_bytes([head, *shuffled(rng, rows)])}, truth=truth
    )


def hash_of(name: str) -> int:
    """Return a number for a name that is the same in every process."""
    return sum(map(ord, name))


def wide(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """A column per numbered rater; opaque or bare names may be criteria, and are asked about."""
    rater = n("rater")
    ask = twin or n.variant >= len(LANGUAGES)
    names = [f"{rater}_{i}" for i in range(1, 5)]
    if ask:
        names = ["tone", "style", "depth", "focus"] if twin else [n("rater") for _ in range(4)]
    data = draw(rng, raters=names, options=YES_NO[n.language], share=0.9)
    item, text = n.item, n.text
    rows = [[i, data.texts[i], *(data.values.get((i, r), "") for r in names)] for i in data.items]
    truth = truth_of(data, [text], scale="binary", ask=ask)
    return Case(name="wide", files={"t.csv": csv_bytes([[item, text, *names], *rows])}, truth=truth)


def wide_with_remarks(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """A column of remarks beside each rater's; the twin has one that may be part of the item."""
    names = [f"{HEADERS['rater'][n.language]}_{i}" for i in range(1, 4)]
    data = draw(rng, raters=names, options=tuple("1234"), share=0.95)
    remark = HEADERS["comment"][n.language]
    item, text = HEADERS["item"][n.language], HEADERS["text"][n.language]
    if twin:
        head = [item, text, *names, "notes on it"]
        rows = [
            [
                i,
                data.texts[i],
                *(data.values.get((i, r), "") for r in names),
                f"Seen {k} times, {sentence(rng, k)}",
            ]
            for k, i in enumerate(data.items)
        ]
    else:
        forms = ("{}{}", "{}_{}", "{} ({})")
        form = forms[n.variant % 3]
        whose = names if n.variant % 3 == 2 else ["1", "2", "3"]
        head = [item, text]
        for name, who in zip(names, whose, strict=True):
            head += [name, form.format(remark, who)]
        rows = []
        for k, i in enumerate(data.items):
            row = [i, data.texts[i]]
            for j, r in enumerate(names):
                said = f"Not sure about this, {sentence(rng, k)}" if (k + j) % 3 else ""
                row += [data.values.get((i, r), ""), said]
            rows.append(row)
    truth = truth_of(data, [text], scale="ordinal", ask=twin)
    return Case(name="wide_with_remarks", files={"t.csv": csv_bytes([head, *rows])}, truth=truth)


def wide_with_models(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """Columns of models beside those of raters; the twin's may be people or models."""
    names = [f"{HEADERS['rater'][n.language]} {i}" for i in range(1, 4)]
    if twin:
        names = ["Robin", "Sage", "Ellis"]
    data = draw(rng, raters=names, options=YES_NO[n.language])
    models = [] if twin else ["gpt-4o", "claude-3-opus"]
    item, text = HEADERS["item"][n.language], HEADERS["text"][n.language]
    rows = [
        [
            i,
            data.texts[i],
            *(data.values[i, r] for r in names),
            *(rng.choice(data.options) for _ in models),
        ]
        for i in data.items
    ]
    truth = truth_of(data, [text], scale="binary", judges=models, ask=twin)
    return Case(
        name="wide_with_models",
        files={"t.csv": csv_bytes([[item, text, *names, *models], *rows])},
        truth=truth,
    )


def criteria(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """A row per item and rater, a column per criterion; opaque criteria are asked about."""
    names = ["fluency", "coherence", "relevance"]
    item, text, rater = (HEADERS[k][n.language] for k in ("item", "text", "rater"))
    ask = twin or n.variant >= len(LANGUAGES)
    if ask:
        names = ["rating", "certainty", "effort"] if twin else [n("label") for _ in names]
    parts = {
        name: draw(random.Random(f"{n.variant}{name}"), options=tuple("12345")) for name in names
    }
    data = draw(rng, options=tuple("12345"), n_items=24)
    rows = []
    ratings = []
    for k, i in enumerate(data.items):
        for r in data.raters:
            of = [part.values[part.items[k], r] for part in parts.values()]
            rows.append([i, data.texts[i], r, *of])
            ratings += [[i, c, r, "forced_choice", v] for c, v in zip(names, of, strict=True)]
    truth = truth_of(data, [text], scale="ordinal", ratings=ratings, ask=ask)
    return Case(
        name="criteria",
        files={"t.csv": csv_bytes([[item, text, rater, *names], *rows])},
        truth=truth,
    )


def criterion_by_rater(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """Columns called after criterion and rater; the twin has numbers for both."""
    forms = ("{c}_{r}", "{c} ({r})", "{r}: {c}", "{c}-{r}")
    form = "{c}{r}" if twin else forms[n.variant % len(forms)]
    names = ["1", "2"] if twin else [f"{HEADERS['rater'][n.language]} {i}" for i in (1, 2, 3)]
    aspects = ["fl", "to"] if twin else ["fluency", "tone"]
    item, text = HEADERS["item"][n.language], HEADERS["text"][n.language]
    data = draw(rng, raters=names, options=tuple("1234"))
    head = [item, text]
    cells: dict[str, list[str]] = {i: [i, data.texts[i]] for i in data.items}
    ratings = []
    for c in aspects:
        for r in names:
            head.append(form.format(c=c, r=r))
            for i in data.items:
                value = rng.choice("1234") if rng.random() < 0.3 else data.values[i, r]
                cells[i].append(value)
                ratings.append([i, c, r, "forced_choice", value])
    truth = truth_of(data, [text], scale="ordinal", ratings=ratings, ask=twin)
    return Case(
        name="criterion_by_rater", files={"t.csv": csv_bytes([head, *cells.values()])}, truth=truth
    )


def counts(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """Raters per option, with or without their number; the twin's numbers do not add up."""
    options = ("toxic", "fine", "unclear case")
    data = draw(rng, raters=[f"p{i}" for i in range(1, 6)], options=options)
    item, text = n.item, n.text
    columns = [f"n_{option}" for option in options]
    if twin:
        columns = [n.label for _ in options]
    rows = []
    for i in data.items:
        numbers = [sum(data.values[i, r] == o for r in data.raters) for o in options]
        if twin:
            numbers = [rng.randrange(9) for _ in options]
        total = [] if n.variant % 2 or twin else [sum(numbers)]
        rows.append([i, data.texts[i], *numbers, *total])
    head = [item, text, *columns, *([] if n.variant % 2 or twin else ["n_raters"])]
    truth = truth_of(data, [text], scale="nominal", raters=None, ask=twin)
    return Case(name="counts", files={"t.csv": csv_bytes([head, *rows])}, truth=truth)


def listed_ratings(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """All ratings of an item in a cell, with or without their raters; the twin's may be sets."""
    options = ("calm", "angry", "sad")
    data = draw(rng, options=options, raters=["ann-1", "ann-2", "ann-3", "ann-4"])
    item, text = n.item, n.text
    form = n.variant % 4
    rows, head = [], [item, text, n.label]
    for i in data.items:
        labels = [data.values[i, r] for r in data.raters]
        if twin:
            labels = rng.sample(options, rng.choice((1, 2)))
        if form == 0 or twin:
            rows.append([i, data.texts[i], json.dumps(labels)])
        elif form == 1:
            rows.append([i, data.texts[i], json.dumps(dict(zip(data.raters, labels, strict=True)))])
        elif form == 2:
            entries = [
                {"annotator": r, "label": v} for r, v in zip(data.raters, labels, strict=True)
            ]
            rows.append([i, data.texts[i], json.dumps(entries)])
        else:
            rows.append([i, data.texts[i], str(labels), str(data.raters)])
    if form == 3 and not twin:
        head.append(n.rater)
    raters = None if form == 0 else data.raters
    truth = truth_of(data, [text], scale="nominal", raters=raters, ask=twin)
    return Case(name="listed_ratings", files={"t.csv": csv_bytes([head, *rows])}, truth=truth)


def as_set(members: Sequence[str], form: str) -> str:
    """Write a response set as a cell."""
    if form == "json":
        return json.dumps(list(members))
    if form == "python":
        return str(list(members))
    if form == "studio":
        return json.dumps({"choices": list(members)})
    return form.join(members)


def draw_sets(rng: random.Random, data: Data) -> dict[tuple[str, str], list[str]]:
    """Draw a set for each rating, which holds the choice."""
    return {
        key: [o for o in data.options if o == value or rng.random() < 0.3]
        for key, value in data.values.items()
    }


def sets(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """Response sets, a column or a row per rater; joins of labels want a separator (the twin)."""
    data = draw(
        rng, options=("insult", "threat", "neither"), raters=[f"rater_{i}" for i in (1, 2, 3)]
    )
    chosen = draw_sets(rng, data)
    forms = ("json", "python", "studio", ";", "|", ", ", "\n", "json", "python", ";")
    form = forms[n.variant] if not twin else ";"
    item, text = n.item, n.text
    is_joined = form in {";", "|", ", ", "\n"}
    if n.variant % 2 or n.variant >= len(LANGUAGES):
        head = [item, text, n.rater, n.label]
        rows = [[i, data.texts[i], r, as_set(v, form)] for (i, r), v in chosen.items()]
    else:
        head = [item, text, *data.raters]
        rows = [
            [i, data.texts[i], *(as_set(chosen[i, r], form) for r in data.raters)]
            for i in data.items
        ]
    args = (
        ["--separator", form.strip(" ") if form != "\n" else "\\n"]
        if is_joined and not twin
        else []
    )
    ratings = [[i, "", r, "response_set", sorted(v)] for (i, r), v in chosen.items()]
    truth = truth_of(data, [text], scale="nominal", ratings=ratings, ask=twin)
    return Case(name="sets", files={"t.csv": csv_bytes([head, *rows])}, args=args, truth=truth)


def set_columns(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """A column per option with 0 and 1, a row per rater; the twin's may be criteria."""
    options = ("insult", "threat", "neither")
    data = draw(rng, options=options)
    chosen = draw_sets(rng, data)
    item, text, rater = n.item, n.text, n.rater
    columns = [n.label for _ in options] if twin else [f"label_{o}" for o in options]
    if twin:
        columns = ["fluent", "polite", "complete"]
    head = [item, text, rater, *columns]
    rows = [[i, data.texts[i], r, *(int(o in v) for o in options)] for (i, r), v in chosen.items()]
    args = [] if twin else ["--sets", ",".join(columns)]
    ratings = [[i, "", r, "response_set", sorted(v)] for (i, r), v in chosen.items()]
    truth = truth_of(data, [text], scale="nominal", ratings=ratings, ask=twin)
    if twin:
        named = dict(zip(options, columns, strict=True))
        truth["options"] = ["0", "1"]
        truth["ratings"] = [
            [i, named[o], r, "forced_choice", str(int(o in v))]
            for (i, r), v in chosen.items()
            for o in options
        ]
        truth["scale"] = "binary"
    return Case(
        name="set_columns", files={"t.csv": csv_bytes([head, *rows])}, args=args, truth=truth
    )


def choice_and_set(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """A choice and a set of one rater side by side; the twin has two choices."""
    data = draw(rng, options=("insult", "threat", "neither"))
    chosen = draw_sets(rng, data)
    item, text, rater = n.item, n.text, n.rater
    head = [item, text, rater, n.label, n.response]
    rows = [
        [i, data.texts[i], r, v, rng.choice(data.options) if twin else as_set(chosen[i, r], "json")]
        for (i, r), v in data.values.items()
    ]
    ratings = [[i, "", r, "forced_choice", v] for (i, r), v in data.values.items()]
    ratings += [[i, "", r, "response_set", sorted(v)] for (i, r), v in chosen.items()]
    if twin:
        ratings = [
            [i, head[k], r, "forced_choice", row[k]]
            for row in rows
            for i, r in [(row[0], row[2])]
            for k in (3, 4)
        ]
    truth = truth_of(data, [text], scale="nominal", ratings=ratings, ask=twin)
    return Case(name="choice_and_set", files={"t.csv": csv_bytes([head, *rows])}, truth=truth)


def pairs(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """Two completions and a preference; the twin draws the sides anew for every rater."""
    marks = (
        ("A", "B"),
        ("a", "b"),
        ("1", "2"),
        ("left", "right"),
        ("A", "B"),
        ("model_a", "model_b"),
    )
    first, second = marks[n.language] if not twin else ("left", "right")
    data = draw(rng, options=(first, second, "tie"), share=0.9)
    others = {i: sentence(rng, 100 + k) for k, i in enumerate(data.items)}
    prompts = {i: f"Write about case {k // 3}" for k, i in enumerate(data.items)}
    names = ["completion_a", "completion_b"]
    if n.variant % 2:
        names = [f"{HEADERS['response'][n.language]}_1", f"{HEADERS['response'][n.language]}_2"]
    if twin:
        names = ["left", "right"]
    item, prompt = n.item, n.prompt
    head = [item, prompt, *names, n.rater, n.label]
    rows = []
    for k, ((i, r), v) in enumerate(data.values.items()):
        texts = [data.texts[i], others[i]]
        rows.append([i, prompts[i], *(texts[::-1] if twin and k % 2 else texts), r, v])
    fields = {
        i: dict(zip([prompt, *names], [prompts[i], data.texts[i], others[i]], strict=True))
        for i in data.items
    }
    truth = truth_of(data, [], items=fields, scale="pairwise", ask=twin)
    return Case(name="pairs", files={"t.csv": csv_bytes([head, *rows])}, truth=truth)


def likert(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """Words of an ordered scale; the twin's are unknown words on a scale called ordinal."""
    options = ("dim", "pale", "warm", "bright") if twin else LIKERT[n.language]
    data = draw(rng, options=options)
    item, text, rater, label = n.item, n.text, n.rater, n.label
    rows = [[i, data.texts[i], r, v] for (i, r), v in data.values.items()]
    args = ["--scale", "ordinal"] if twin or n.variant % 2 else []
    truth = truth_of(data, [text], scale="ordinal", ask=twin)
    return Case(
        name="likert",
        files={"t.csv": csv_bytes([[item, text, rater, label], *shuffled(rng, rows)])},
        args=args,
        truth=truth,
    )


def codes(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """Numbers, also as n/5; the twin has a code for a missing rating among them."""
    form = "{}/5" if n.variant % 3 == 1 and not twin else "{}"
    options = tuple(form.format(k) for k in range(1, 6))
    data = draw(rng, options=options)
    item, text, rater, label = n.item, n.text, n.rater, n.label
    rows = [[i, data.texts[i], r, v] for (i, r), v in data.values.items()]
    if twin:
        for row in rng.sample(rows, 4):
            row[-1] = rng.choice(("99", "-1"))
    truth = truth_of(data, [text], scale="ordinal", ask=twin)
    truth["ratings"] = [
        [i, "", r, "forced_choice", v] for i, _, r, v in rows if v not in {"99", "-1"}
    ]
    return Case(
        name="codes", files={"t.csv": csv_bytes([[item, text, rater, label], *rows])}, truth=truth
    )


def same_people(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """People and labels that differ by case or blanks; the twin's labels are y, yes and no."""
    data = draw(rng, options=("yes", "no"), raters=("Maria Lopez", "Tom Baker", "Aiko Tanaka"))
    item, text, rater, label = n.item, n.text, n.rater, n.label
    rows = []
    for k, ((i, r), v) in enumerate(data.values.items()):
        name = (r.upper(), r, r.replace(" ", "  "), r, r)[k % 5]
        value = ("y" if v == "yes" and k % 2 else v) if twin else (v.upper() if k % 4 == 0 else v)
        rows.append([i, data.texts[i], name, value])
    truth = truth_of(data, [text], scale="binary", ask=twin)
    return Case(
        name="same_people",
        files={"t.csv": csv_bytes([[item, text, rater, label], *rows])},
        truth=truth,
    )


def odd_files(rng: random.Random, n: Names, *, twin: bool) -> Case:  # noqa: C901 -- a branch per kind of file
    """Title rows, an index of pandas, encodings, several files, corrections, totals, a dropped column."""  # noqa: E501 -- a row of a table
    data = draw(rng, options=YES_NO[n.language], share=0.9)
    item, text, rater, label = (HEADERS[k][n.language] for k in ("item", "text", "rater", "label"))
    head = [item, text, rater, label]
    rows: list[list[Any]] = [[i, data.texts[i], r, v] for (i, r), v in data.values.items()]
    truth = truth_of(data, [text], scale="binary", ask=twin)
    kind = n.variant
    args: list[str] = []
    files = {"t.csv": csv_bytes([head, *rows])}
    if twin:  # a file per rater, of which nothing says that it is one
        files = {"t.csv": csv_bytes([head[:2] + head[3:], *(row[:2] + row[3:] for row in rows)])}
    elif kind == 0:
        files = {
            "t.csv": csv_bytes([["Export of project 7", "", "", ""], ["", "", "", ""], head, *rows])
        }
    elif kind == 1:
        files = {"t.csv": csv_bytes([["", *head], *([k, *row] for k, row in enumerate(rows))])}
    elif kind == 2:
        files, args = {"t.csv": csv_bytes([head, *rows], "utf-16")}, ["--encoding", "utf-16"]
    elif kind == 3:
        files, args = {"t.csv": csv_bytes([head, *rows], "cp1252", ";")}, ["--encoding", "cp1252"]
    elif kind == 4:
        people = {r: r.split()[0].casefold() for r in data.raters}
        files = {
            f"{people[r]}.csv": csv_bytes(
                [[item, text, label], *(row[:2] + row[3:] for row in rows if row[2] == r)]
            )
            for r in data.raters
        }
        truth["raters"] = list(people.values())
        truth["ratings"] = [[i, "", people[r], e, v] for i, _, r, e, v in truth["ratings"]]
    elif kind == 5:
        later = data.options[::-1]
        early = [[*row, f"2024-05-01T10:{k % 60:02}:{k // 60:02}"] for k, row in enumerate(rows)]
        for row in early[:6]:
            wrong = later[data.options.index(row[3])]
            early.append([*row[:3], wrong, "2024-04-01T09:00:00"])
        files = {"t.csv": csv_bytes([[*head, HEADERS["time"][5]], *shuffled(rng, early)])}
        args = ["--on-duplicate", "last"]
    elif kind == 6:
        wide_rows = [
            [i, data.texts[i], *(data.values.get((i, r), "") for r in data.raters)]
            for i in data.items
        ]
        number = {data.options[0]: "1", data.options[1]: "0", "": ""}
        wide_rows = [[*row[:2], *(number[v] for v in row[2:])] for row in wide_rows]
        people = [f"rater_{k}" for k in range(1, 5)]
        names = dict(zip(data.raters, people, strict=True))
        files = {
            "t.csv": csv_bytes(
                [
                    ["item_id", "text", *people],
                    *wide_rows,
                    ["AVERAGE", "", "0.5", "0.4", "0.6", "0.5"],
                ]
            )
        }
        truth = truth_of(data, ["text"], scale="binary", options=["0", "1"])
        truth["raters"] = people
        truth["ratings"] = [[i, "", names[r], e, number[v]] for i, _, r, e, v in truth["ratings"]]
    elif kind == 7:
        files = {
            "t.csv": csv_bytes(
                [[*head, "draft"], *([*row, rng.choice(data.options)] for row in rows)]
            )
        }
        args = ["--drop", "draft"]
    else:  # blank cells
        blank = [[i, data.texts[i], "Extra Person", ""] for i in data.items]
        files = {"t.csv": csv_bytes([head, *rows, *blank])}
    return Case(name="odd_files", files=files, args=args, truth=truth)


def metadata(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """Facts about the item that judges are not shown; the twin's words may be part of it."""
    data = draw(rng, options=YES_NO[n.language], share=0.9)
    item, text, rater, label = n.item, n.text, n.rater, n.label
    languages = ("Sprache", "langue", "idioma", "language", "idioma", "语言")
    head = [
        item,
        "brand" if twin else languages[n.language],
        text,
        "n_words",
        rater,
        label,
        "seconds",
    ]
    facts = {
        i: (
            rng.choice(("Acme", "Globex", "Initech")),
            rng.choice(("de", "fr")),
            rng.randrange(5, 99),
        )
        for i in data.items
    }
    rows = [
        [i, facts[i][0 if twin else 1], data.texts[i], facts[i][2], r, v, rng.randrange(10, 400)]
        for (i, r), v in data.values.items()
    ]
    truth = truth_of(data, [text], scale="binary", ask=twin)
    return Case(name="metadata", files={"t.csv": csv_bytes([head, *rows])}, truth=truth)


def exports(rng: random.Random, n: Names, *, twin: bool) -> Case:
    """Exports of named tools, recognised by their own marks."""
    data = draw(rng, options=("ham", "spam"), raters=["w1", "w2", "w3"])
    truth = truth_of(data, ["text"], scale="binary", ask=twin)
    rated = [(k, i, r, data.values[i, r]) for k, i in enumerate(data.items, 1) for r in data.raters]
    kind = 9 if twin else n.variant
    makers = (
        _label_studio, _argilla, _prodigy, _toloka, _mturk, _qualtrics, _doccano, _helpsteer, _arena,  # noqa: E501 -- a row of a table
    )  # fmt: skip
    if kind < len(makers):
        return makers[kind](data, rated, truth)
    rows = [{"text": data.texts[i], "label": [v]} for _, i, _, v in rated]  # who rated is lost
    files = {"t.jsonl": lines(rows)}
    return Case(name="exports", files=files, truth=truth)


def lines(rows: Iterable[dict[str, Any]]) -> bytes:
    """Return rows as jsonl."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _label_studio(data: Data, rated: Any, truth: dict[str, Any]) -> Case:
    tasks = [
        {
            "id": k,
            "data": {"text": data.texts[i]},
            "annotations": [
                {
                    "completed_by": {"email": f"{r}@example.org"},
                    "created_at": "2024-05-01T10:00:00Z",
                    "result": [
                        {
                            "from_name": "s",
                            "type": "choices",
                            "value": {"choices": [data.values[i, r]]},
                        }
                    ],
                }
                for r in data.raters
            ],
        }
        for k, i in enumerate(data.items, 1)
    ]
    del rated
    truth["raters"] = [f"{r}@example.org" for r in data.raters]
    truth["ratings"] = [[i, c, f"{r}@example.org", e, v] for i, c, r, e, v in truth["ratings"]]
    return Case(name="label_studio", files={"t.json": json.dumps(tasks).encode()}, truth=truth)


def _argilla(data: Data, rated: Any, truth: dict[str, Any]) -> Case:
    del rated
    records = [
        {
            "id": i,
            "fields": {"text": data.texts[i]},
            "responses": {
                "q": [
                    {"value": data.values[i, r], "user_id": r, "status": "submitted"}
                    for r in data.raters
                ]
            },
        }
        for i in data.items
    ]
    return Case(name="argilla", files={"t.json": json.dumps(records).encode()}, truth=truth)


def _prodigy(data: Data, rated: Any, truth: dict[str, Any]) -> Case:
    rows = [
        {
            "text": data.texts[i],
            "_input_hash": 1000 + k,
            "_task_hash": 5000 + k,
            "options": [{"id": o, "text": o} for o in data.options],
            "accept": [v],
            "answer": "accept",
            "_annotator_id": r,
            "_session_id": r,
            "_timestamp": 1714550000 + k,
        }
        for k, i, r, v in rated
    ]
    ignored = rows[-1] | {
        "_annotator_id": "w4",
        "_session_id": "w4",
        "answer": "ignore",
        "accept": [],
    }
    return Case(name="prodigy", files={"t.jsonl": lines([*rows, ignored])}, truth=truth)


def _toloka(data: Data, rated: Any, truth: dict[str, Any]) -> Case:
    head = [
        "INPUT:text", "OUTPUT:result", "GOLDEN:result", "HINT:text", "ASSIGNMENT:link",
        "ASSIGNMENT:task_id", "ASSIGNMENT:assignment_id", "ASSIGNMENT:worker_id",
        "ASSIGNMENT:status", "ASSIGNMENT:started", "ASSIGNMENT:submitted",
    ]  # fmt: skip
    rows = [
        [data.texts[i], v, "", "", f"https://x.example/{k}{r}", f"t{k}", f"a{k}{r}", r, "APPROVED",
         "2024-05-01T10:00:00", "2024-05-01T10:01:00"]
        for k, i, r, v in rated
    ]  # fmt: skip
    rows.append([*rows[0][:7], "w9", "REJECTED", *rows[0][9:]])
    truth["items"] = {i: {"INPUT:text": data.texts[i]} for i in data.items}
    return Case(name="toloka", files={"t.tsv": csv_bytes([head, *rows], mark="\t")}, truth=truth)


def _mturk(data: Data, rated: Any, truth: dict[str, Any]) -> Case:
    head = ["HITId", "HITTypeId", "Title", "Reward", "AssignmentId", "WorkerId", "AssignmentStatus",
            "AcceptTime", "SubmitTime", "WorkTimeInSeconds", "Input.text", "Answer.category.label"]  # fmt: skip  # noqa: E501 -- a row of a table
    rows = [
        [f"H{k}", "T1", "Rate a text", "$0.10", f"A{k}{r}", r, "Approved", "Wed May 01 10:00:00 PDT 2024",  # noqa: E501 -- a row of a table
         "Wed May 01 10:01:00 PDT 2024", "31", data.texts[i], v]
        for k, i, r, v in rated
    ]  # fmt: skip
    rows.append([*rows[0][:5], "w9", "Rejected", *rows[0][7:]])
    truth["items"] = {i: {"Input.text": data.texts[i]} for i in data.items}
    return Case(name="mturk", files={"t.csv": csv_bytes([head, *rows])}, truth=truth)


def _qualtrics(data: Data, rated: Any, truth: dict[str, Any]) -> Case:
    """A row per person, a column per question whose text is in the second header row."""
    del rated
    items = data.items[:12]
    opening = [
        "StartDate",
        "EndDate",
        "Status",
        "Progress",
        "Duration (in seconds)",
        "Finished",
        "RecordedDate",
        "ResponseId",
    ]
    head = [*opening, *(f"Q{k}" for k in range(1, len(items) + 1))]
    texts = [*opening, *(data.texts[i] for i in items)]
    ids = [
        *(json.dumps({"ImportId": name}) for name in opening),
        *(json.dumps({"ImportId": f"QID{k}"}) for k in range(1, len(items) + 1)),
    ]
    rows = [
        ["2024-05-01 10:00:00", "2024-05-01 10:05:00", "0", "100", "300", "1", "2024-05-01 10:05:01", f"R_{r}",  # noqa: E501 -- a row of a table
         *(data.values[i, r] for i in items)]
        for r in data.raters
    ]  # fmt: skip
    truth["items"] = {i: {"question": data.texts[i]} for i in items}
    truth["raters"] = [f"R_{r}" for r in data.raters]
    truth["ratings"] = [[i, c, f"R_{r}", e, v] for i, c, r, e, v in truth["ratings"] if i in items]
    return Case(
        name="qualtrics", files={"t.csv": csv_bytes([head, texts, ids, *rows])}, truth=truth
    )


def _doccano(data: Data, rated: Any, truth: dict[str, Any]) -> Case:
    """An export of a project whose annotators' files are one per person."""
    del rated
    files = {
        f"{r}.jsonl": lines(
            {"id": k, "text": data.texts[i], "label": [data.values[i, r]], "Comments": []}
            for k, i in enumerate(data.items, 1)
        )
        for r in data.raters
    }
    return Case(name="doccano", files=files, truth=truth)


def _helpsteer(data: Data, rated: Any, truth: dict[str, Any]) -> Case:
    """Lists of ratings by attribute, as in the disagreements of HelpSteer2."""
    del rated
    names = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")
    rng = random.Random(7)
    rows, ratings, fields = [], [], {}
    for k, i in enumerate(data.items):
        scores = {name: [rng.randrange(5) for _ in range(3)] for name in names}
        texts = {"prompt": f"Tell me about case {k // 2}", "response": data.texts[i]}
        rows.append(texts | scores)
        fields[i] = texts
        ratings += [[i, c, "", "forced_choice", str(v)] for c, vs in scores.items() for v in vs]
    truth |= {
        "items": fields,
        "raters": None,
        "options": list("01234"),
        "scale": "ordinal",
        "ratings": ratings,
    }
    return Case(name="helpsteer", files={"t.jsonl": lines(rows)}, truth=truth)


def _arena(data: Data, rated: Any, truth: dict[str, Any]) -> Case:
    del rated
    rows, ratings, fields = [], [], {}
    rng = random.Random(5)
    for k, i in enumerate(data.items):
        asked = f"Explain case {k // 2}"
        texts = [data.texts[i], sentence(rng, 300 + k)]
        conversations = [
            [{"role": "user", "content": asked}, {"role": "assistant", "content": text}]
            for text in texts
        ]
        for r in data.raters:
            winner = rng.choice(("model_a", "model_b", "tie", "tie (bothbad)"))
            rows.append(
                {"question_id": f"q{k // 2}", "model_a": "alpha-7b", "model_b": ("beta-9b", "gamma-2b")[k % 2],  # noqa: E501 -- a row of a table
                 "winner": winner, "judge": f"arena_user_{r}", "conversation_a": conversations[0],
                 "conversation_b": conversations[1], "turn": 1, "tstamp": 1.68e9 + k}
            )  # fmt: skip
            ratings.append([i, "", f"arena_user_{r}", "forced_choice", winner])
        shown = [f"user: {asked}\n\nassistant: {text}" for text in texts]
        fields[i] = dict(zip(("conversation_a", "conversation_b"), shown, strict=True))
    truth |= {
        "items": fields,
        "raters": [f"arena_user_{r}" for r in data.raters],
        "options": ["model_a", "model_b", "tie", "tie (bothbad)"],
        "scale": "pairwise",
        "ratings": ratings,
    }
    return Case(name="arena", files={"t.jsonl": lines(rows)}, truth=truth)


SHAPES: tuple[Callable[..., Case], ...] = (
    long, prompt_response, text_is_item, wide, wide_with_remarks, wide_with_models, criteria,
    criterion_by_rater, counts, listed_ratings, sets, set_columns, choice_and_set, pairs, likert,
    codes, same_people, odd_files, exports, metadata,
)  # fmt: skip
N_VARIANTS = 9  # six languages and three sets of opaque headers, before the twin


def corpus() -> list[Case]:
    """Return the cases, the same in every process."""
    cases = []
    for number, shape in enumerate(SHAPES):
        for variant in range(N_VARIANTS + 1):
            rng = random.Random(1000 * number + variant)
            case = shape(rng, Names(variant, rng), twin=variant == N_VARIANTS)
            case.name = f"{number:02}-{case.name}-{variant}"
            cases.append(case)
    return cases


def write_corpus(folder: Path) -> None:
    """Write a folder per case."""
    for case in corpus():
        path = folder / case.name
        path.mkdir(parents=True)
        for name, content in case.files.items():
            (path / name).write_bytes(content)
        (path / "args.txt").write_text("\n".join(case.args), encoding="utf-8")
        text = json.dumps(case.truth, ensure_ascii=False, indent=1)
        (path / "truth.json").write_text(text, encoding="utf-8")
