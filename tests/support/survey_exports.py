"""Small tables in the form of published ones, in words of our own: surveys, and what tools export.

Each function returns a file whose columns, and the form of whose cells, are those of the published
one that its docstring names, and the ratings that a right import yields. Items of a criterion are
called ``item|criterion``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from support.public_shapes import (
    PublicShape,
    json_lines,
    pick,
    raters_of,
    sentence,
    shape_of,
    table_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

N = 20


def _rated(labels: Sequence[str]) -> list[tuple[int, str, str]]:
    """Return item, rater and label of three ratings of each item."""
    return [(i, who, pick(labels, i, k)) for i in range(N) for k, who in enumerate(raters_of(i))]


def axes_of_summaries() -> PublicShape:
    """Grades below two levels of objects: ``axis_evals`` of summarize-from-feedback (OpenAI)."""
    rows, ratings = [], []
    for i, who, _ in _rated("1234567"):
        axes = {name: pick("1234567", i + n, ord(who[0]) % 7) for n, name in enumerate(AXES)}
        about = {"id": f"post{i}", "article": f"{sentence(i)}, and {sentence(i + 7)}"}
        shown = {"text": sentence(i + 60), "policy": "lead", "note": "", "axes": axes}
        rows.append({"info": about, "split": "valid", "summary": shown, "worker": who})
        ratings += [(f"{i}|{name}", who, grade) for name, grade in axes.items()]
    return shape_of("axes.jsonl", json_lines(rows), ratings)


AXES = ("overall", "accuracy", "coverage")


def choices_by_annotator() -> PublicShape:
    """A row per annotation whose choices are a word or a list: JSON-MIN of Label Studio."""
    rows, ratings = [], []
    for n, (i, who, first) in enumerate(_rated(("Funny", "Rude", "Sad")), 1):
        both = n % 5 == 0 and first != "Sad"
        mood = {"choices": [first, "Sad"]} if both else first
        label = f"{first}+Sad" if both else first
        about = {"id": 400 + i, "annotator": who, "annotation_id": n, "lead_time": 4.5 + n / 7}
        rows.append({"text": sentence(i), "mood": mood, **about})
        ratings.append((str(i), who, label))
    return shape_of("project-3.json", json.dumps(rows), ratings)


def single_labels() -> PublicShape:
    """One annotator's labels in lists: ``all.jsonl`` of Doccano, whose name is no model's."""
    labels = [pick(("spam", "ham"), i, 1) for i in range(N)]
    rows = [
        {"id": i + 1, "text": sentence(i), "label": [label], "Comments": []}
        for i, label in enumerate(labels)
    ]
    return shape_of("all.jsonl", json_lines(rows), [(str(i), "", x) for i, x in enumerate(labels)])


def grid_of_google() -> PublicShape:
    """A grid of Google Forms, whose times end in a zone: ``GMT+1``."""
    shown = [f"How polite is each message? [{sentence(i)}]" for i in range(9)]
    rows: list[Sequence[object]] = [["Timestamp", "Email Address", *shown, "Any comments?"]]
    ratings = []
    for k in range(5):
        labels = [pick(("Polite", "Neutral", "Rude"), i, k) for i in range(9)]
        rows.append([f"2023/11/0{k + 1} 3:1{k}:22 PM GMT+1", f"p{k}@mail.example", *labels, ""])
        ratings += [(str(i), f"p{k}", label) for i, label in enumerate(labels)]
    return shape_of("Responses.csv", table_text(rows), ratings)


def survey_of_two_headers() -> PublicShape:
    """A question above its first row, and the rows' texts below: SurveyMonkey."""
    about = ["Respondent ID", "Collector ID", "Start Date", "IP Address"]
    rows: list[Sequence[object]] = [[*about, "How friendly are these answers?", *[""] * 8]]
    rows.append([*[""] * 4, *(sentence(i) for i in range(9))])
    ratings = []
    for k in range(6):
        labels = [pick(("Friendly", "Neutral", "Unfriendly"), i, k) for i in range(9)]
        rows.append([11480 + k, 43, f"2/{k + 1}/2020 10:00", f"10.1.1.{k}", *labels])
        ratings += [(str(i), f"p{k}", label) for i, label in enumerate(labels)]
    return shape_of("Survey.csv", table_text(rows), ratings)


def workers_beside_scores() -> PublicShape:
    """Numbered scores beside the ids of who gave them: the politeness corpus of Stanford."""
    places = range(1, 4)
    head = [*(f"Score{k}" for k in places), *(f"TurkId{k}" for k in places)]
    rows: list[Sequence[object]] = [["Community", "Id", "Request", *head, "Normalized Score"]]
    ratings = []
    for i in range(N):
        grades = [int(pick("12345", i, k)) for k in range(3)]
        workers = raters_of(i)
        mean = round(sum(grades) / 3 - 2.9, 4)
        rows.append(["wiki", 600 + i * 3, sentence(i), *grades, *workers, mean])
        ratings += [(str(i), who, grade) for who, grade in zip(workers, grades, strict=True)]
    return shape_of("wikipedia.annotated.csv", table_text(rows), ratings)


def nested_criteria() -> PublicShape:
    """Lists of scores by criterion below each response, and the raters' names: USR (Shikib)."""
    rows, ratings = [], []
    for i in range(8):
        responses = []
        for m, model in enumerate(("Original", "Nucleus", "Memory")):
            number = 3 * i + m
            scores = {
                name: [int(pick("123", number + n, k)) for k in range(3)]
                for n, name in enumerate(("Natural", "Engaging"))
            }
            responses.append({"response": sentence(number + 40), "model": model, **scores})
            ratings += [
                (f"{number}|{name}", who, score)
                for name, of in scores.items()
                for who, score in zip(("ana", "bo", "cy"), of, strict=True)
            ]
        rows.append({
            "context": sentence(i), "fact": sentence(i + 90), "annotators": ["ana", "bo", "cy"],
            "responses": responses,
        })  # fmt: skip
    return shape_of("usr.json", json.dumps(rows), ratings)


def lists_of_one() -> PublicShape:
    """Each rater's label in a list of its own: ``crows_pairs_anonymized.csv`` (nyu-mll)."""
    head = ("sent_more", "sent_less", "bias_type", "annotations", "anon_writer", "anon_annotators")
    rows: list[Sequence[object]] = [["", *head]]
    ratings = []
    for i in range(N):
        labels = [pick(("age", "gender", "religion"), i, k) for k in range(3)]
        cells = [str([[label] for label in labels]), f"a{i % 7}", str(raters_of(i))]
        rows.append([i, sentence(i), sentence(i + 50), labels[0], *cells])
        ratings += zip([str(i)] * 3, raters_of(i), labels, strict=True)
    return shape_of("pairs.csv", table_text(rows), ratings)


def attributes_by_worker() -> PublicShape:
    """Attributes by comment and worker, whose texts are elsewhere: Jigsaw's individual ratings."""
    names = ("toxic", "severe_toxic", "obscene", "threat")
    rows: list[Sequence[object]] = [["id", "worker", *names]]
    ratings = []
    for i, who, _ in _rated("01"):
        number = ord(who[0])
        marks = [int((i * (n + 2) + number * (n + 1)) % (3 + n) == 0) for n in range(4)]
        rows.append([239571 + 11 * i, 2500 + 13 * number, *marks])
        ratings += [(f"{i}|{name}", who, x) for name, x in zip(names, marks, strict=True)]
    return shape_of("toxicity_individual.csv", table_text(rows), ratings)


def safer_and_better() -> PublicShape:
    """The better and the safer of two answers, and facts about each: PKU-SafeRLHF."""
    rows, ratings = [], []
    for i in range(N):
        better, safer = int(pick("01", i, 1)), int(pick("01", i, 2))
        answers = {f"response_{k}": sentence(i + 40 * (k + 1)) for k in range(2)}
        safe = {f"is_response_{k}_safe": bool((i + k) % 3) for k in range(2)}
        chosen = {"better_response_id": better, "safer_response_id": safer}
        rows.append({"prompt": f"{sentence(i)}?", **answers, **safe, **chosen})
        ratings += [(f"{i}|better", "", better), (f"{i}|safer", "", safer)]
    return shape_of("train.jsonl", json_lines(rows), ratings)


def helpful_replies() -> PublicShape:
    """Which of two replies is preferred, and the votes on each: Stanford Human Preferences."""
    rows, ratings = [], []
    for i in range(N):
        label = int(pick("01", i, 1))
        scores = {"score_A": 2 + i % 5 + 3 * label, "score_B": 3 + i % 4}
        texts = {"human_ref_A": sentence(i + 100), "human_ref_B": sentence(i + 200)}
        about = {"post_id": f"q{i:03}", "domain": "askbaking", "history": f"Why is {sentence(i)}?"}
        rows.append({**about, **scores, **texts, "labels": label, "seconds_difference": 17.0 * i})
        ratings.append((str(i), "", label))
    return shape_of("shp.jsonl", json_lines(rows), ratings)


def severity_of_errors() -> PublicShape:
    """Several errors per segment and rater: the MQM ratings of WMT, which no column tells apart."""
    head = ("system", "doc", "seg_id", "rater", "source", "target", "category", "severity")
    rows: list[Sequence[object]] = [head]
    for i, who, severity in _rated(("Major", "Minor", "Neutral")):
        for n in range(1 + (i + ord(who[0])) % 2):
            kind = ("Omission", "Grammar", "Style")[(i + n) % 3]
            text = [sentence(i // 2), sentence(i + 100)]
            rows.append([("Anna", "Otto")[i % 2], f"d{i // 8}", i // 2, who, *text, kind, severity])
    return shape_of("mqm.tsv", table_text(rows, "\t"), ())


def sets_by_worker() -> PublicShape:
    """A list of labels per worker, all in one cell: multi-label crowds, as in LeWiDi's releases."""
    rows: list[Sequence[object]] = [["id", "text", "workers", "labels"]]
    ratings = []
    for i in range(N):
        firsts = [pick(("kind", "loud", "rude"), i, k) for k in range(3)]
        sets = [[x, "sad"] if (i + k) % 3 == 0 else [x] for k, x in enumerate(firsts)]
        rows.append([f"i{i}", sentence(i), json.dumps(raters_of(i)), json.dumps(sets)])
        ratings += zip([str(i)] * 3, raters_of(i), map("+".join, sets), strict=True)
    return shape_of("sets.csv", table_text(rows), ratings)


def objects_by_annotator() -> PublicShape:
    """An object per annotator below their name, as annotation scripts often write."""
    rows: dict[int, dict[str, object]] = {}
    ratings = []
    for i, who, label in _rated(("sarcastic", "literal")):
        row = rows.setdefault(i, {"id": i, "text": sentence(i), "annotations": {}})
        row["annotations"][who] = {"label": label, "time": 12.5 + i}  # type: ignore[index]  # made so
        ratings.append((str(i), who, label))
    return shape_of("annotated.json", json.dumps([*rows.values()]), ratings)


def better_and_how_sure() -> PublicShape:
    """Which of two outputs is better, and how sure the worker is, of three grades."""
    head = ["HIT", "worker_id", "output_A", "output_B", "which_is_better", "how_sure"]
    rows: list[Sequence[object]] = [head]
    ratings = []
    for i, who, label in _rated(("A", "B", "tie")):
        sure = 1 + (i + ord(who[0])) % 3
        rows.append([f"H{i}", who, sentence(i + 40), sentence(i + 80), label, sure])
        ratings += [(f"{i}|better", who, label), (f"{i}|sure", who, sure)]
    return shape_of("ab.csv", table_text(rows), ratings)


def authors_of_tweets() -> PublicShape:
    """The author of each tweet beside three annotators, who share no label with the author."""
    head = ["tweet_id", "user", "tweet", "annotator1", "annotator2", "annotator3"]
    rows: list[Sequence[object]] = [head]
    ratings = []
    for i in range(N):
        labels = [pick(("hate", "offensive", "neither"), i, k) for k in range(3)]
        rows.append([10000 + 3 * i, f"@u{i % 6}", sentence(i), *labels])
        ratings += [(str(i), f"a{k}", label) for k, label in enumerate(labels)]
    return shape_of("tweets.csv", table_text(rows), ratings)
