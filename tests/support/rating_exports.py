"""Small tables in the form of published ones, in words of our own: nested, crossed and counted.

Each function returns a file whose columns, and the form of whose cells, are those of the published
one that its docstring names, and the ratings that a right import yields. Items of a criterion are
called ``item|criterion``.
"""

from __future__ import annotations

import json
from collections import Counter
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
LIKERT = ("Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree")


def reply(i: int, system: str) -> str:
    """Return what a system says about a case."""
    return f"{sentence(i)}. {('We are sorry', 'Please wait', 'Call us')[i % 3]}, says {system}."


def asked(i: int) -> list[dict[str, str]]:
    """Return a conversation of one question."""
    return [{"role": "user", "content": f"Why is it that {sentence(i)}?"}]


def listening_test() -> PublicShape:
    """Scores of stimuli by trial and session: ``mushra.csv`` of webMUSHRA (audiolabs)."""
    names = "session_test_id session_uuid trial_id rating_stimulus rating_score rating_time"
    rows: list[Sequence[object]] = [[*names.split(), "rating_comment"]]
    for s in range(5):
        for t in range(4):
            for k, heard in enumerate(("C1", "C2", "reference")):
                score = 30 * k + (s * 13 + t * 7 + k * 5) % 35
                rows.append(["en", f"3f1c-{s}ab", f"trial{t}", heard, score, 900 * s + t + k, ""])
    ratings = [(f"{row[2]}{row[3]}", str(row[1]), row[4]) for row in rows[1:]]
    return shape_of("mushra.csv", table_text(rows), ratings)


def photo_counts() -> PublicShape:
    """Numbers of raters by grade, and their sum: ``koniq10k_scores_and_distributions.csv``."""
    head = ["image_name", "c1", "c2", "c3", "c4", "c5", "c_total", "MOS", "SD", "MOS_zscore"]
    rows, ratings = [head], []
    for i in range(N):
        counts = [(i * 3 + k * 5) % 7 for k in range(5)]
        counts[2] += 60 + i % 3 - sum(counts)
        mean = sum((k + 1) * n for k, n in enumerate(counts)) / sum(counts)
        rows.append([f"{i + 7}.jpg", *counts, sum(counts), round(mean, 4), 0.5 + i / 99, 20 * mean])
        ratings += [(str(i), "", f"c{k + 1}") for k, n in enumerate(counts) for _ in range(n)]
    return shape_of("koniq.csv", table_text(rows), ratings)


def best_and_worst() -> PublicShape:
    """Best-worst scaling: four words of a row, and the two that were chosen (saifmohammad)."""
    words = "hold office,throw ball,write thing,paint wall,win game,keep peace,sell car,lose hope"
    known = words.split(",")
    rows = [["Item1", "Item2", "Item3", "Item4", "BestItem", "WorstItem"]]
    for i in range(N):
        four = [known[(i + k * 3) % 8] for k in range(4)]
        rows.append([*four, four[i % 4], four[(i + 1 + i // 4 % 3) % 4]])
    return shape_of("bws.csv", table_text(rows), [])


CRITERIA = ("coherence", "consistency", "fluency", "relevance")


def scores_of_experts_and_crowd() -> PublicShape:
    """Two lists of scores by criterion: ``model_annotations.aligned.jsonl`` of SummEval."""
    rows, ratings = [], []
    for i in range(N):
        lists = {
            who: [
                {c: 1 + (i * 7 + k * step + j) % 5 for j, c in enumerate(CRITERIA)}
                for k in range(n)
            ]
            for who, n, step in (("expert_annotations", 3, 3), ("turker_annotations", 5, 2))
        }
        more = {"references": [sentence(i)], "model_id": f"M{i % 2}", "filepath": f"{i // 2}.story"}
        rows.append({"id": f"test-{i // 2:04d}", "decoded": reply(i, "M"), **lists, **more})
        for name, scores in lists.items():
            ratings += [
                (f"{i}|{c}", f"{name}{k}", n) for k, of in enumerate(scores) for c, n in of.items()
            ]
    return shape_of("annotations.jsonl", json_lines(rows), ratings)


def sentences_of_summaries() -> PublicShape:
    """Responses by worker below each sentence: ``mturk_cnndm.jsonl`` of QAGS (W4ngatang/qags)."""
    rows, ratings = [], []
    for i in range(10):
        sentences = []
        for s in range(3):
            scores = [("no" if (i * 3 + s * 2 + k) % 5 == 0 else "yes") for k in range(3)]
            answers = [{"worker_id": (i + k) % 5, "response": v} for k, v in enumerate(scores)]
            sentences.append({"sentence": reply(i * 3 + s, "M"), "responses": answers})
            ratings += [(f"{i}-{s}", str(of["worker_id"]), of["response"]) for of in answers]
        rows.append({"article": f"A report: {sentence(i)}.", "summary_sentences": sentences})
    return shape_of("mturk.jsonl", json_lines(rows), ratings)


def scores_of_dialogues() -> PublicShape:
    """Lists of scores by criterion in an object: ``fed_data.json`` (Shikib/fed)."""
    rows, ratings = [], []
    for i in range(N):
        scores = {
            "Interesting": [(i * 7 + k) % 3 for k in range(5)],
            "Overall": [(i * 3 + k * k) % 5 for k in range(5)],
        }
        system = ("Meena", "Human", "Mitsuku")[i % 3]
        text = {"context": f"User: {sentence(i)}?", "response": reply(i, "bot"), "system": system}
        rows.append(text | {"annotations": scores})
        ratings += [(f"{i}|{c}", str(k), n) for c, of in scores.items() for k, n in enumerate(of)]
    return shape_of("fed.json", json.dumps(rows), ratings)


def classifications() -> PublicShape:
    """Answers to a task in a cell of JSON: the classification export of Zooniverse."""
    names = "classification_id user_name user_id workflow_id created_at annotations subject_data"
    rows, ratings = [[*names.split(), "subject_ids"]], []
    for i in range(12):
        for k, who in enumerate(raters_of(i)):
            value = pick(("Smooth", "Disk", "Artifact"), i, k)
            answer = [{"task": "T0", "task_label": "Is it smooth?", "value": value}]
            subject = {str(700 + i): {"retired": None, "Filename": f"g{i}.png"}}
            number, day = 9000 + 3 * i + k, f"2018-02-{10 + i} 10:{10 + k}:42 UTC"
            cells = [number, who, 20 + ord(who[0]), 6122, day, json.dumps(answer)]
            rows.append([*cells, json.dumps(subject), 700 + i])
            ratings.append((str(i), who, value))
    return shape_of("classifications.csv", table_text(rows), ratings)


def explanations_without_raters() -> PublicShape:
    """Three lines per item and nobody named: ``user_study.csv`` (dig-team/hanna-benchmark-asg)."""
    criteria = [f"Answer.a-{k + 1}-{c}.1" for k, c in enumerate(("guidelines", "syntax", "extra"))]
    rows, ratings = [["Input.story_id", "Input.explanation", *criteria]], []
    for i in range(14):
        for k in range(3):
            scores = [int((i * 3 + k) % 9 != 0), int((i + k) % 7 == 0), int((i * 2 + k) % 5 == 0)]
            rows.append([8 + 3 * i, f"{1 + i % 5} - {reply(i, 'model')}", *scores])
            ratings += [(f"{i}|{c}", str(k), n) for c, n in zip(criteria, scores, strict=True)]
    return shape_of("user_study.csv", table_text(rows), ratings)


def scores_without_header() -> PublicShape:
    """Direct assessments of translations, as Appraise writes them for WMT: no line of names."""
    rows, ratings = [], []
    for i in range(10):
        for k, who in enumerate(("deuengA01", "deuengA02", "deuengA03")):
            score, start = 20 + (i * 17 + k * 9) % 80, 1620000000 + i * 50 + k * 7
            where = ["TGT", "deu", "eng", score, f"doc-{i // 3}", "False"]
            rows.append(
                [who, ("Online-B", "Facebook-AI")[i % 2], 100 + i, *where, start, start + 9]
            )
            ratings.append((str(i), who, score))
    return shape_of("appraise.csv", table_text(rows), ratings)


def preferences_with_reasons() -> PublicShape:
    """Preferences with their reasons in a list: ``preference`` of HelpSteer3 (nvidia)."""
    rows, ratings = [], []
    for i in range(N):
        scores = [(-3, -2, -1, 1, 2, 3)[(i * 7 + (k * 3 + i) % 2) % 6] for k in range(3)]
        listed = [
            {"score": n, "reasoning": f"Better, as {sentence(3 * i + k)}", "feedback1": sentence(k)}
            for k, n in enumerate(scores)
        ]
        texts = {"context": asked(i), "response1": reply(i, "one"), "response2": reply(i, "two")}
        whole = {"overall_preference": scores[1], "individual_preference": listed}
        rows.append({"domain": ("general", "code")[i % 2], **texts, **whole})
        ratings += [(str(i), str(k), n) for k, n in enumerate(scores)]
    return shape_of("preference.jsonl", json_lines(rows), ratings)


def hundred_labels() -> PublicShape:
    """Counts by label beside five older labels: ``chaosNLI_snli.jsonl`` (easonnie/ChaosNLI)."""
    rows, ratings = [], []
    for i in range(N):
        e, n = 10 + (i * 7) % 40, 20 + (i * 3) % 30
        counts = {"e": e, "n": n, "c": 100 - e - n}
        example = {"premise": sentence(i), "hypothesis": reply(i, "h"), "source": "snli"}
        shares = {"label_dist": [x / 100 for x in counts.values()], "entropy": 1.2 + i / 100}
        labels = {"label_count": [*counts.values()], "majority_label": max(counts, key=counts.get)}
        old = ["entailment", "neutral", "neutral", "entailment", "contradiction"]
        uid = {"uid": f"46{i}.jpg#{i % 5}r1e", "label_counter": counts}
        rows.append({**uid, **labels, **shares, "example": example, "old_labels": old})
        ratings += [
            (str(i), "", label) for label, n_raters in counts.items() for _ in range(n_raters)
        ]
    return shape_of("chaos.jsonl", json_lines(rows), ratings)


def opinions_of_voices() -> PublicShape:
    """A row per listener and utterance, beside pages and systems: ``raw_scores.csv`` of SOMOS."""
    names = "utteranceId choice sentenceId systemId testpageId locale listenerId isNative wavPath"
    rows, ratings = [names.split()], []
    for i in range(14):
        for k in range(4):
            score, who = 1 + (i * 7 % 5 + ((i * 5 + k * 3) % 4 == 0)) % 5, (i * 3 + k) % 9
            said = f"booksent_{i // 2:04d}"
            place = [said, f"{i % 7:03d}", f"page{(i + k) % 5}", ("us", "gb")[who % 2]]
            sound = [f"lis_{who:03d}", int(who % 2 == 0), f"audios/{said}_{i % 7:03d}.wav"]
            rows.append([f"{said}_{i % 7:03d}", score, *place, *sound])
            ratings.append((str(i), f"lis_{who:03d}", score))
    return shape_of("raw_scores.csv", table_text(rows), ratings)


def numbers_by_worker() -> PublicShape:
    """Numbers with spaces between them, -1 where nobody rated: ``answers.txt`` of CrowdLayer."""
    lines, ratings = [], []
    for i in range(30):
        row = [-1] * 9
        for k in range(3):
            row[(i * 2 + k * 3) % 9] = (i * 7 % 5 + ((i * 5 + k) % 4 == 0)) % 5
        ratings += [(str(i), str(who), n) for who, n in enumerate(row) if n >= 0]
        lines.append(" ".join(map(str, row)))
    return shape_of("answers.txt", "\n".join(lines) + "\n", ratings)


def people_beside_models() -> PublicShape:
    """A column per person and per model, and a majority: the form of many papers' tables."""
    people = ["annotator_1", "annotator_2", "annotator_3"]
    head = ["id", "question", "answer", *people, "gpt-4o", "claude-3-5-sonnet", "majority"]
    rows, ratings = [head], []
    for i in range(N):
        scores = [pick(("correct", "partly", "wrong"), i, k) for k in range(5)]
        most = Counter(scores[:3]).most_common(1)[0][0]
        rows.append([f"q{i}", f"Why is it that {sentence(i)}?", reply(i, "bot"), *scores, most])
        ratings += [(str(i), who, v) for who, v in zip(people, scores, strict=False)]
    return shape_of("wide.csv", table_text(rows), ratings)


def preferred_pictures() -> PublicShape:
    """Two pictures of a caption, and what each user preferred: Pick-a-Pic (yuvalkirstain)."""
    names = "ranking_id user_id caption image_0_url image_1_url label_0 label_1 created_at"
    rows, ratings = [names.split()], []
    for i in range(14):
        for k, who in enumerate(raters_of(i)):
            first = (1.0, 0.0, 0.5)[(i * 7 + (k + i) % 2) % 3]
            pictures = [f"https://img.example.org/{i}{side}.png" for side in "ab"]
            day = f"2023-02-1{k} 10:0{k}:00"
            rows.append([500 + i, ord(who[0]), sentence(i), *pictures, first, 1 - first, day])
            ratings += [(f"{i}|{k}", who, n) for k, n in enumerate((first, 1 - first))]
    return shape_of("pickapic.csv", table_text(rows), ratings)


def opinions_of_screens() -> PublicShape:
    """A row per participant and screenshot, answers in words: a survey of web pages."""
    criteria = ("pleasant", "clear", "trustworthy")
    rows, ratings = [["participant_id", "age", "stimulus", *criteria, "rt_ms"]], []
    for p in range(8):
        for s in range(6):
            scores = [LIKERT[(s * 7 % 5 + ((s * 5 + p * 3 + j) % 4 == 0)) % 5] for j in range(3)]
            time = 900 + p * 31 + s * 77 % 50
            rows.append([f"P{p:02d}", 20 + p * 3, f"screens/page_{s}.png", *scores, time])
            ratings += [(f"{s}|{c}", f"P{p}", v) for c, v in zip(criteria, scores, strict=True)]
    return shape_of("likert.csv", table_text(rows), ratings)
