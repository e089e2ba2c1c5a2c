"""Small tables in the form of published files with individual ratings, in words of our own.

Each function returns the content of a file whose columns, and the form of whose cells, are those of
the published one that its docstring names, and the ratings that a right import yields.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

N = 30
SUBJECTS = ("the bus", "a small shop", "our clinic", "the new phone", "that film", "my cousin")
ENDS = ("was late again", "made us laugh", "lost the parcel", "answered at once", "cost more")
PEOPLE = ("Ava", "Bo", "Cleo", "Dev", "Eli", "Fay", "Gus")
Value = str | tuple[str, ...]


@dataclass(frozen=True)
class PublicShape:
    """A file, and the ratings it holds.

    Attributes
    ----------
    name : str
        Of the file, whose ending says how it is read.
    content : str
        Of the file.
    ratings : Counter of (str, str, value)
        Item, rater, and the label or the labels of a set; "" for a rater where none is named.
    criteria : dict of str to Counter
        Ratings by criterion where there are several.
    """

    name: str
    content: str
    ratings: Counter[tuple[str, str, Value]]
    criteria: tuple[str, ...] = ()


def shape_of(
    name: str, content: str, ratings: Iterable[tuple[str, str, object]] = ()
) -> PublicShape:
    """Return a file with the ratings it holds, whose values are texts or tuples of texts."""
    texts = ((i, who, v if isinstance(v, tuple) else str(v)) for i, who, v in ratings)
    return PublicShape(name, content, Counter(texts))


def sentence(i: int) -> str:
    """Return a text that no other number has."""
    return f"{SUBJECTS[i % 6]} {ENDS[i % 5]}, as case {i} shows"


def raters_of(i: int, n: int = 3) -> list[str]:
    """Return the raters of an item."""
    return [PEOPLE[(i * 2 + k) % len(PEOPLE)] for k in range(n)]


def pick(labels: Sequence[str], i: int, k: int) -> str:
    """Return the label that a rater gives an item: raters often agree."""
    base = (i * 7) % 11 % len(labels)
    return labels[(base + ((i * 5 + k * 3) % 4 == 0)) % len(labels)]


def table_text(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    """Return rows as the text of a table."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return file.getvalue()


def json_lines(rows: Iterable[object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


EMOTIONS = ("anger", "curiosity", "joy", "sadness", "neutral")


def comments_one_hot() -> PublicShape:
    """GoEmotions, ``goemotions_1.csv`` (google-research)."""
    head = ["text", "id", "author", "subreddit", "link_id", "parent_id", "created_utc", "rater_id"]
    rows: list[list[object]] = [[*head, "example_very_unclear", *EMOTIONS]]
    ratings: Counter[tuple[str, str, Value]] = Counter()
    for i in range(N):
        for k, who in enumerate((3, 7, 11, 20, 41)[i % 3 : i % 3 + 3]):
            unclear = (i * 3 + k) % 17 == 0
            chosen = {pick(EMOTIONS, i, k)} | ({"joy"} if (i + k) % 6 == 0 else set())
            chosen = set() if unclear else chosen
            cells = [int(name in chosen) for name in EMOTIONS]
            place = [f"u{i % 9}", f"r{i % 4}", f"t3_{i % 8}", f"t1_{i % 13}", 1548381039.0 + 60 * i]
            rows.append([sentence(i), f"eew{i}", *place, who, unclear, *cells])
            ticked = tuple(n for n in EMOTIONS if n in chosen) or ("example_very_unclear",)
            ratings[f"eew{i}", str(who), ticked] += 1
    return PublicShape("goemotions.csv", table_text(rows), ratings)


def posts_by_id() -> PublicShape:
    """HateXplain, ``dataset.json`` (hate-alert)."""
    labels = ("normal", "offensive", "hatespeech")
    posts, ratings = {}, Counter()
    for i in range(N):
        who = [1 + (i + k) % 5 for k in range(3)]
        given = [pick(labels, i, k) for k in range(3)]
        posts[f"{1000 + i}_gab"] = {
            "post_id": f"{1000 + i}_gab",
            "annotators": [
                {"label": label, "annotator_id": w, "target": ["None"] if w % 2 else ["Women"]}
                for w, label in zip(who, given, strict=True)
            ],
            "rationales": [[0, 1, 1, 0]] * (i % 2),
            "post_tokens": sentence(i).split(),
        }
        ratings.update((f"{1000 + i}_gab", str(w), v) for w, v in zip(who, given, strict=True))
    return PublicShape("dataset.json", json.dumps(posts), ratings)


def joined_annotators() -> PublicShape:
    """Learning with disagreements, ``MD-Agreement_train.json`` (LeWiDi)."""
    entries, ratings = {}, Counter()
    for i in range(N):
        who = [f"Ann{(i * 4 + k) % 11}" for k in range(5)]
        given = [pick("01", i, k) for k in range(5)]
        share = given.count("1") / 5
        entries[str(i + 1)] = {
            "text": sentence(i),
            "annotation task": "offensiveness detection",
            "number of annotations": 5,
            "annotations": ",".join(given),
            "annotators": ",".join(who),
            "lang": "en",
            "hard_label": str(int(share > 0.5)),
            "soft_label": {"0": round(1 - share, 2), "1": share},
            "split": "train",
            "other_info": {"domain": ("blm", "elections")[i % 2]},
        }
        ratings.update((str(i + 1), w, v) for w, v in zip(who, given, strict=True))
    return PublicShape("md_train.json", json.dumps(entries), ratings)


def listed_labels() -> PublicShape:
    """Stanford natural language inference, ``snli_1.0_dev.jsonl``."""
    labels = ("neutral", "entailment", "contradiction")
    rows, ratings = [], Counter()
    for i in range(N):
        given = [pick(labels, i, k) for k in range(5)]
        top, n = Counter(given).most_common(1)[0]
        rows.append(
            {
                "annotator_labels": given,
                "captionID": f"{4705 + i // 3}.jpg#2",
                "gold_label": top if n > 2 else "-",
                "pairID": f"{4705 + i}.jpg#2r1n",
                "sentence1": sentence(i // 3),
                "sentence1_binary_parse": f"( {sentence(i // 3)} )",
                "sentence2": sentence(i + 40),
            }
        )
        ratings.update((f"{4705 + i}.jpg#2r1n", "", v) for v in given)
    return PublicShape("snli_dev.jsonl", json_lines(rows), ratings)


def stance_columns() -> PublicShape:
    """VacStance, ``full_annotations.tsv`` (ThoughtfulMind)."""
    labels = ("disagree", "neutral", "agree")
    head = ["sentence", *(f"annotator_{k}" for k in range(4)), "round", "batch", "sent_id"]
    rows: list[list[object]] = [[*head, "av_rating", *labels, "MACE_pred"]]
    ratings: Counter[tuple[str, str, Value]] = Counter()
    for i in range(N):
        given = [pick(labels, i, k) for k in range(4)]
        mean = sum(labels.index(v) - 1 for v in given) / 4
        best = Counter(given).most_common(1)[0][0]
        shares = [round(0.9 if v == best else 0.05 + i / 1e4, 4) for v in labels]
        rows.append([sentence(i), *given, 1, 0, f"t{i}", mean, *shares, best])
        ratings.update((f"t{i}", "", v) for v in given)
    return PublicShape("full_annotations.tsv", table_text(rows, "\t"), ratings)


def acceptable_explanations() -> PublicShape:
    """Few-shot explanations, ``ecqa_absolute.csv`` (allenai): no worker ids, sets may be empty."""
    head = ["HITId", "Input.question", *(f"Input.explanation_{k}" for k in range(1, 4))]
    rows: list[list[object]] = [[*head, "Answer.acceptable"]]
    ratings: Counter[tuple[str, str, Value]] = Counter()
    for i in range(N):
        for k in range(3):
            chosen = [str(n) for n in range(1, 4) if (i * n + k * (n + i)) % 3 == 0]
            texts = [sentence(i + 40 * n) for n in range(1, 4)]
            rows.append([f"3A{i:03}XQ", sentence(i) + "?", *texts, "|".join(chosen)])
            if chosen:
                ratings[f"3A{i:03}XQ", "", tuple(chosen)] += 1
    return PublicShape("acceptable.csv", table_text(rows), ratings)


def people_beside_ratings() -> PublicShape:
    """POPQUORN, ``offensiveness/raw_data.csv`` (Jiaxin-Pei)."""
    head = ["instance_id", "user_id", "offensiveness", "text", "gender", "race", "age"]
    rows: list[list[object]] = [[*head, "occupation", "education"]]
    ratings: Counter[tuple[str, str, Value]] = Counter()
    for i in range(N):
        for k in range(4):
            w = (i * 3 + k) % 13
            value = pick("12345", i, k)
            own = [
                ("Man", "Woman")[w % 2],
                ("White", "Asian", "Black")[w % 3],
                f"{25 + w}-{29 + w}",
            ]
            more = [("Employed", "Student")[w % 2], ("Secondary", "College degree")[w % 2]]
            rows.append([i, w, f"{value}.0", sentence(i), *own, *more])
            ratings[str(i), str(w), value] += 1
    return PublicShape("raw_data.csv", table_text(rows), ratings)


def counted_crowd() -> PublicShape:
    """Hate speech and offensive language, ``labeled_data.csv`` (t-davidson)."""
    names = ("hate_speech", "offensive_language", "neither")
    rows: list[list[object]] = [["", "count", *names, "class", "tweet"]]
    ratings: Counter[tuple[str, str, Value]] = Counter()
    for i in range(N):
        given = [pick(names, i, k) for k in range(3 + 3 * (i % 5 == 0))]
        n = [given.count(name) for name in names]
        rows.append([i, len(given), *n, n.index(max(n)), sentence(i)])
        ratings.update((str(i), "", v) for v in given)
    return PublicShape("labeled_data.csv", table_text(rows), ratings)


def numbered_preferences() -> PublicShape:
    """AlpacaFarm, ``alpaca_human_preference.json`` and its cross-annotations (tatsu-lab)."""
    rows, ratings = [], Counter()
    for i in range(N):
        for k in range(4):
            value = pick("12", i, k)
            rows.append(
                {
                    "instruction": sentence(i),
                    "output_1": sentence(i + 60),
                    "output_2": sentence(i + 120),
                    "preference": int(value),
                    "annotator_index": (i + k) % 9,
                    "dataset": ("helpful_base", "koala")[i % 2],
                    "datasplit": "eval",
                }
            )
            ratings[sentence(i), str((i + k) % 9), value] += 1
    return PublicShape("cross_annotations.json", json.dumps(rows), ratings)


def listed_words_and_remarks() -> PublicShape:
    """FeedbackQA, ``feedback_train.json`` (McGill-NLP): two ratings and two remarks in lists."""
    labels = ("Bad", "Could be Improved", "Acceptable", "Excellent")
    rows, ratings = [], Counter()
    for i in range(N):
        given = [pick(labels, i, k) for k in range(2)]
        rows.append(
            {
                "question": sentence(i) + "?",
                "passage": {
                    "reference": {"page_title": f"Page {i}", "section_content": sentence(i + 50)}
                },
                "rating": given,
                "feedback": [f"it says little about {sentence(i + 70 + k)}" for k in range(2)],
                "domain": ("UK", "WHO")[i % 2],
            }
        )
        ratings.update((str(i + 1), "", v) for v in given)
    return PublicShape("feedback.json", json.dumps(rows), ratings)


def schemes_of_labels() -> PublicShape:
    """Potato's output, ``annotated_instances.csv`` (davidjurgens/potato): a column per label."""
    labels = ("polite", "neutral", "rude")
    head = ["user", "instance_id", "displayed_text", *(f"tone:::{v}" for v in labels), "time"]
    rows: list[list[object]] = [head]
    ratings: Counter[tuple[str, str, Value]] = Counter()
    for i in range(N):
        for k, who in enumerate(raters_of(i)):
            value = pick(labels, i, k)
            ticks = [v if v == value else "" for v in labels]
            rows.append([who, f"p{i}", sentence(i), *ticks, f"Time spent: 0d 0h 0m {5 + k}s"])
            ratings[f"p{i}", who, value] += 1
    return PublicShape("annotated_instances.csv", table_text(rows), ratings)


def irony_of_replies() -> PublicShape:
    """EPIC, ``EPICorpus.csv`` (Multilingual-Perspectivist-NLU)."""
    head = ["user", "label", "id_original", "parent_text", "text", "lang", "Age", "Sex", "source"]
    rows: list[list[object]] = [head]
    ratings: Counter[tuple[str, str, Value]] = Counter()
    for i in range(N):
        for k in range(5):
            w = (i * 2 + k) % 12
            value = pick(("iro", "not"), i, k)
            own = [20 + w, ("Male", "Female")[w % 2]]
            place = ("en", ("twitter", "reddit")[i % 2])
            texts = [sentence(i + 90), sentence(i)]
            rows.append([f"5cf{w:02}", value, f"c{i}", *texts, place[0], *own, place[1]])
            ratings[f"c{i}", f"5cf{w:02}", value] += 1
    return PublicShape("epic.csv", table_text(rows), ratings)


def labels_with_confidence() -> PublicShape:
    """Sheets of two or three raters with a confidence each, as many repositories publish them."""
    labels = ("supported", "refuted", "unclear to me")
    head = ["claim_id", "claim"]
    head += [f"Annotator{k}_{what}" for k in (1, 2, 3) for what in ("label", "confidence")]
    rows: list[list[object]] = [head]
    ratings: Counter[tuple[str, str, Value]] = Counter()
    for i in range(N):
        given = [pick(labels[:2], i, k) for k in range(3)]
        cells = [c for k, v in enumerate(given) for c in (v, 1 + (i + k) % 5)]
        rows.append([f"cl-{i}", sentence(i), *cells])
        ratings.update((f"cl-{i}", f"Annotator{k}", v) for k, v in enumerate(given, 1))
    return PublicShape("claims.csv", table_text(rows), ratings)


def toxicity_and_its_score() -> PublicShape:
    """Wikipedia Detox, ``toxicity_annotations.tsv`` (ewulczyn): texts are in another file."""
    rows: list[list[object]] = [["rev_id", "worker_id", "toxicity", "toxicity_score"]]
    ratings: Counter[tuple[str, str, Value]] = Counter()
    for i in range(N):
        for k in range(4):
            score = int(pick(("-2", "-1", "0", "1", "2"), i, k))
            rows.append([f"{2232 + i}.0", 700 + (i * 3 + k) % 17, int(score < 0), f"{score}.0"])
            ratings[f"{2232 + i}.0", str(700 + (i * 3 + k) % 17), str(int(score < 0))] += 1
    return PublicShape("toxicity_annotations.tsv", table_text(rows, "\t"), ratings)


def nested_reviews() -> PublicShape:
    """SQuALITY, ``all-responses.jsonl`` (nyu-mll): reviews by worker below each response."""
    rows, ratings = [], Counter()
    for i in range(N // 3):
        questions = []
        for q in range(2):
            systems = {}
            for s, system in enumerate(("bart", "human")):
                given = [pick("12345", i * 4 + q * 2 + s, k) for k in range(3)]
                systems[system] = {
                    "response": sentence(i * 4 + q * 2 + s),
                    "reviews": [
                        {
                            "annotations": [],
                            "worker_id": f"w{(i + k) % 5}",
                            "overall-rating": int(v),
                        }
                        for k, v in enumerate(given)
                    ],
                }
                ratings.update(
                    (f"{i} {q} {system}", f"w{(i + k) % 5}", v) for k, v in enumerate(given)
                )
            questions.append(systems)
        rows.append({"passage-id": f"{51000 + i}", "questions": questions})
    return PublicShape("all-responses.jsonl", json_lines(rows), ratings)


SHAPES: tuple[Callable[[], PublicShape], ...] = (
    comments_one_hot,
    posts_by_id,
    joined_annotators,
    listed_labels,
    stance_columns,
    acceptable_explanations,
    people_beside_ratings,
    counted_crowd,
    numbered_preferences,
    listed_words_and_remarks,
    schemes_of_labels,
    irony_of_replies,
    labels_with_confidence,
    toxicity_and_its_score,
    nested_reviews,
)
