"""Small tables in the form of published sheets and of platforms' exports, in words of our own.

They are made as those of `support.crowd_files` are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from support.public_shapes import PublicShape, json_lines, pick, sentence, shape_of, table_text

if TYPE_CHECKING:
    from collections.abc import Sequence

N = 18
STEPS = "12345"


def questions_about_puns() -> PublicShape:
    """Four questions, reasons and words in lists: ``expunations_annotated_full.json`` (Amazon)."""
    rows, ratings = [], []
    for i in range(N):
        joke = [pick("01", i, k + 1) for k in range(5)]
        answers = {
            "Understand the text?": [pick("10", i, k) for k in range(5)],
            "Offensive/Inappropriate?": [pick("010", i, k) if k < 4 else "" for k in range(5)],
            "Is a Joke?": joke,
            "Funniness (1-5)": [pick(STEPS, i, k) if joke[k] == "1" else "0" for k in range(5)],
        }
        reasons = [f"Word {i}{k} has two senses" if joke[k] == "1" else "" for k in range(5)]
        words = [[f"word{i}", f"other{k}"] if joke[k] == "1" else [""] for k in range(5)]
        beside = {"Natural language explanation": reasons, "Joke keywords": words}
        rows.append({"ID": f"hom_{i}", **answers, **beside, "Annotator_IDs": [0, 1, 2, 3, 4]})
        ratings += [
            (f"{i} {name}", str(k), value)
            for name, values in answers.items()
            for k, value in enumerate(values)
            if value
        ]
    return shape_of("annotated.json", json.dumps(rows), ratings)


def answers_inside_strings() -> PublicShape:
    """JSON in a string by worker below each object: worker responses of SageMaker Ground Truth."""
    rows, ratings = [], []
    for i in range(N):
        answers = []
        for k in range(3):
            value, who = pick(("Positive", "Negative"), i, k), f"private.us-east-1.{(i + k) % 5}ab"
            content = json.dumps({"sentiment": {"label": value}})
            answers.append({"workerId": who, "annotationData": {"content": content}})
            ratings.append((str(i), who, value))
        of = {"dataObject": {"content": sentence(i)}, "annotations": answers}
        rows.append({"datasetObjectId": str(i), **of})
    return shape_of("worker-response.json", json.dumps(rows), ratings)


def errors_of_sentences() -> PublicShape:
    """Sentences in one list, annotators' sets of errors in another: FRANK (artidoro/frank)."""
    rows, ratings = [], []
    for a in range(N // 2):
        errors = []
        for i in (2 * a, 2 * a + 1):
            of = {f"annotator_{k}": ["NoErr"] if (i + k) % 3 else ["EntErr"] for k in range(3)}
            of["annotator_1"] += ["LinkErr"] if of["annotator_1"] == ["EntErr"] else []
            errors.append(of)
            ratings += [(str(i), who, "+".join(sorted(value))) for who, value in of.items()]
        about = {"hash": f"3214{a}", "article": f"An article about topic {a}, of a few words."}
        sentences = [sentence(2 * a), sentence(2 * a + 1)]
        lists = {"summary_sentences": sentences, "summary_sentences_annotations": errors}
        rows.append(about | lists)
    return shape_of("human_annotations_sentence.json", json.dumps(rows), ratings)


def people_as_ids() -> PublicShape:
    """``id`` is the annotator, and one of two criteria has a technical word: tweet sensitivity."""
    head = ["id", "version", "batch.tweet", "hate.speech", "offensive.language", "tweet.id"]
    rows: list[Sequence[object]] = [[*head, "tweet_hashed"]]
    ratings = []
    for i in range(N):
        for k in range(3):
            who = str(125 + (i + k) % 7 * 24)
            hate, offense = pick("001", i, k), pick("011", i, k + 2)
            rows.append([who, "AB"[i % 2], f"R{i + 5}", hate, offense, i + 5, sentence(i)])
            ratings += [(f"{i} hate", who, hate), (f"{i} offense", who, offense)]
    return shape_of("full_test_s.csv", table_text(rows), ratings)


def numbered_scores() -> PublicShape:
    """Three scores to 100 and what follows from each, beside systems: ``simpeval_2022.csv``."""
    names = [f"rating_{k}" for k in (1, 2, 3)]
    head = ["original_id", "original", "generation", "system", "sentence_type"]
    rows: list[Sequence[object]] = [[*head, *names, *(f"{name}_zscore" for name in names)]]
    ratings = []
    for i in range(N):
        scores = [30 + (i * 17 + k * 11) % 14 * 5 for k in range(3)]
        system = ("GPT-3-zero-shot", "Human 1 Writing", "Muss")[i % 3]
        about = [i // 3, f"Source {i // 3} was long and hard to read.", sentence(i), system]
        shares = [round((score - 60) / 21.3, 9) for score in scores]
        rows.append([*about, ("Splittings", "Deletions")[i % 2], *scores, *shares])
        ratings += [(str(i), "", str(score)) for score in scores]
    return shape_of("simpeval_2022.csv", table_text(rows), ratings)


def repeated_lines() -> PublicShape:
    """Worker, address and label without a header, some lines twice: Get-Another-Label."""
    rows, ratings = [], []
    for i in range(N):
        for k in range(4):
            who, value = f"A{(i + k) % 8}OT3A29R9N1D", pick("GPRX", i, k)
            rows += [[who, f"http://site{i:02}.example", value]] * (2 if i % 6 == 2 > k else 1)
            ratings.append((str(i), who, value))
    return shape_of("labels.txt", table_text(rows, "\t"), ratings)


def validated_questions() -> PublicShape:
    """Three answers of each validator below questions, and the gold one: QuALITY (nyu-mll)."""
    names = ("untimed_answer", "untimed_eval1_answerability", "untimed_eval2_context")
    rows, ratings = [], []
    for a in range(6):
        questions = []
        for i in range(3 * a, 3 * a + 3):
            answers = []
            for k in range(3):
                who = f"00{10 + (i + k) % 6}"
                values = [pick("1234", i, k), pick("112", i, k), pick("1234", i + 1, k)]
                pairs = [*zip(names, values, strict=True)]
                answers.append({"untimed_annotator_id": who} | {n: int(v) for n, v in pairs})
                ratings += [(f"{i} {name}", who, value) for name, value in pairs]
            label = {"writer_label": i % 4 + 1, "gold_label": i % 4 + 1}
            questions.append({"question": sentence(i), **label, "validation": answers})
        rows.append(
            {"article_id": str(a), "article": f"Article {a} tells it.", "questions": questions}
        )
    return shape_of("QuALITY.v1.0.1.dev", json_lines(rows), ratings)


def lists_of_annotators() -> PublicShape:
    """Annotators, facts about them and labels in lists, by id: the training data of EXIST."""
    rows, ratings = {}, []
    for i in range(N):
        who = [f"Annotator_{i // 6 * 6 + k}" for k in range(6)]
        first = [pick(("YES", "NO"), i, k) for k in range(6)]
        second = [
            pick(("DIRECT", "REPORTED"), i + 1, k) if value == "YES" else "-"
            for k, value in enumerate(first)
        ]
        facts = {
            "gender_annotators": ["F", "M"] * 3,
            "age_annotators": ["18-22", "23-45", "46+"] * 2,
        }
        labels = {"labels_task1": first, "labels_task2": second}
        rows[str(1000 + i)] = {"tweet": sentence(i), "annotators": who, **facts, **labels}
        ratings += [(f"{i} one", who[k], value) for k, value in enumerate(first)]
        ratings += [(f"{i} two", who[k], value) for k, value in enumerate(second) if value != "-"]
    return shape_of("EXIST2023_training.json", json.dumps(rows), ratings)


def people_above_columns() -> PublicShape:
    """A line of people above the columns of each: a shared sheet, saved as csv."""
    people = ("Ada", "Bo", "Cai")
    rows: list[Sequence[object]] = [
        ["", "", *(cell for name in people for cell in (name, ""))],
        ["ID", "Text", *["Score", "Comment"] * 3],
    ]
    ratings = []
    for i in range(N):
        scores = [pick("1234", i, k) for k in range(3)]
        cells = [of for k in range(3) for of in (scores[k], "Fine by me." if i % 4 == k else "")]
        rows.append([f"T{i}", sentence(i), *cells])
        ratings += [(str(i), who, score) for who, score in zip(people, scores, strict=True)]
    return shape_of("shared.csv", table_text(rows), ratings)


def quotes_between_tabs() -> PublicShape:
    """Tabs without quotes, and quotes that belong to texts: the duplicates of Seahorse (Google)."""
    names = [f"question{n}" for n in range(1, 4)]
    lines, ratings = ["\t".join(["gem_id", "worker_lang", "summary", "model", *names])], []
    for i in range(N):
        for k in range(3):
            answers = [pick(("Yes", "No"), i + n, k) for n in range(3)]
            opening = '"It" says' if i % 4 else '"It says'
            about = [f"xlsum-{i // 2}", "en-US", f"{opening}: {sentence(i)}", ("t5", "palm")[i % 2]]
            lines.append("\t".join([*about, *answers]))
            ratings += [(f"{i} {n}", f"p{k}", value) for n, value in enumerate(answers)]
    return shape_of("duplicates_en.tsv", "\n".join(lines) + "\n", ratings)


def checked_boxes() -> PublicShape:
    """A column per check box, one of them for none, and a number of the review: REDCap."""
    head = ["record_id", "redcap_repeat_instance", "message", "reviewer"]
    boxes = (1, 2, 3, 4)
    rows: list[Sequence[object]] = [[*head, *(f"tone___{box}" for box in boxes), "complete"]]
    ratings = []
    for i in range(N):
        for k in range(3):
            ticked = {1 + (i + j) % 3 for j in range((i + k) % 3)} or {4}
            who = ("JS", "KT", "LM", "NO")[(i + k) % 4]
            about = [f"R{i:03}", k + 1, sentence(i), who]
            rows.append([*about, *(int(box in ticked) for box in boxes), 2])
            ratings.append((str(i), who, "+".join(map(str, sorted(ticked)))))
    return shape_of("Review_DATA.csv", table_text(rows), ratings)


def crosses_of_coders() -> PublicShape:
    """Crosses below German categories, none in some rows: the form of many codebooks' sheets."""
    names = ("Beleidigung", "Drohung", "Spott")
    rows: list[Sequence[object]] = [["Nr", "Kommentar", "Codierer", *names]]
    ratings = []
    for i in range(N):
        for k, who in enumerate(("Kim", "Lea", "Max")):
            marked = [n for n in range(3) if (i * 3 + n * 2 + k * (i % 2)) % 4 == 0]
            rows.append([i + 1, sentence(i), who, *("X" if n in marked else "" for n in range(3))])
            value = "+".join(names[n] for n in marked) or "none of these"
            ratings.append((str(i), who, value))
    return shape_of("kodierung.csv", table_text(rows, ";"), ratings)


def numbered_reviewers() -> PublicShape:
    """Numbered Polish reviewers beside a grade of the key, with decimal commas."""
    names = [f"Ocena recenzenta {k}" for k in (1, 2, 3)]
    rows: list[Sequence[object]] = [["Lp.", "Pytanie", "Odpowied\u017a", *names, "Ocena wzorcowa"]]
    ratings = []
    for i in range(N):
        grades = [("2,0", "3,0", "3,5", "4,0", "5,0")[(i * 3 + k * (i % 3)) % 5] for k in range(3)]
        rows.append([i + 1, f"Co wynika z {i}?", f"Odp.: {sentence(i)}", *grades, "4,0"])
        ratings += [
            (str(i), who, of.replace(",", ".")) for who, of in zip(names, grades, strict=True)
        ]
    return shape_of("oceny.csv", table_text(rows, ";"), ratings)


def grades_below_papers() -> PublicShape:
    """Reviews with a grade and a confidence below each paper: submissions of OpenReview."""
    grades = {"3": "Clear rejection", "5": "Marginally below", "6": "Marginally above"}
    rows, ratings = [], []
    for i in range(N):
        reviews = []
        for k in range(3):
            key, who = pick([*grades], i, k), f"AnonReviewer{k + 1}"
            sure = pick(("3: Fairly sure", "4: Sure"), i, k)
            rating = {"reviewer": who, "rating": f"{key}: {grades[key]}", "confidence": sure}
            reviews.append(rating | {"review": f"The work is of interest, remark {i}{k}."})
            ratings.append((str(i), who, grades[key]))
        about = {
            "forum": f"rkx{i}",
            "abstract": sentence(i),
            "decision": ("Accept", "Reject")[i % 2],
        }
        rows.append(about | {"reviews": reviews})
    return shape_of("iclr.jsonl", json_lines(rows), ratings)


def criteria_of_people() -> PublicShape:
    """Criteria by person in one header, remarks and a gold grade beside them."""
    people, names = ("Anna", "Ben", "Chi"), ("Fluency", "Adequacy")
    headers = [f"{name} ({who})" for name in names for who in people]
    rows: list[Sequence[object]] = [["No.", "Source", "Translation", *headers, "Gold fluency"]]
    ratings = []
    for i in range(N):
        pairs = [(n, k) for n in range(2) for k in range(3)]
        grades = [pick(STEPS, i + n * 3, k) for n, k in pairs]
        rows.append([i + 1, f"Quelle {i} ist ein kurzer Satz.", sentence(i), *grades, i % 5 + 1])
        ratings += [
            (f"{i} {names[n]}", people[k], of) for (n, k), of in zip(pairs, grades, strict=True)
        ]
    return shape_of("mt.csv", table_text(rows), ratings)
