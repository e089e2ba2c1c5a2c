"""Further small tables in the form of published files and of tools' exports, in words of our own.

They are made as those of `support.crowd_files` are.
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

N = 18
YES_NO = ("yes", "no")
TONES = ("polite", "neutral", "rude")


def radio_buttons() -> PublicShape:
    """Batch results of Mechanical Turk: a column of true and false for each radio button."""
    head = [
        "HITId",
        "HITTypeId",
        "AssignmentId",
        "WorkerId",
        "AssignmentStatus",
        "WorkTimeInSeconds",
    ]
    rows: list[Sequence[object]] = [
        [*head, "Input.message", *(f"Answer.tone.{tone}" for tone in TONES), "Approve", "Reject"]
    ]
    ratings = []
    for i in range(N):
        for k in range(3):
            tone = pick(TONES, i, k)
            about = [f"3HIT{i:03}", "3TYPE", f"3AS{i:03}{k}", f"A{(i + k) % 7}XW", "Submitted"]
            ticks = [str(tone == name).lower() for name in TONES]
            rows.append([*about, 20 + (i * 7 + k) % 31, sentence(i), *ticks, "", ""])
            ratings.append((str(i), f"A{(i + k) % 7}XW", tone))
    return shape_of("Batch_4123_batch_results.csv", table_text(rows), ratings)


def several_items_of_a_hit() -> PublicShape:
    """Batch results of Mechanical Turk with four texts and four answers in each assignment."""
    places = range(1, 5)
    head = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "WorkTimeInSeconds"]
    head += [f"Input.sentence{n}" for n in places] + [f"Answer.funny{n}" for n in places]
    rows: list[Sequence[object]] = [head]
    ratings = []
    for i in range(N):
        for k in range(3):
            answers = [pick("12345", i * 4 + n, k) for n in places]
            about = [
                f"3HIT{i:03}",
                f"3AS{i:03}{k}",
                f"A{(i + k) % 7}XW",
                "Approved",
                60 + i + 7 * k,
            ]
            rows.append([*about, *(sentence(i * 4 + n) for n in places), *answers])
            ratings += [
                (f"{i} {n}", f"A{(i + k) % 7}XW", v) for n, v in zip(places, answers, strict=True)
            ]
    return shape_of("Batch_812_results.csv", table_text(rows), ratings)


def workers_by_label() -> PublicShape:
    """Who chose each label: ``dynasent-v1.1-round01-yelp-test.jsonl`` (cgpotts)."""
    labels = ("positive", "negative", "neutral", "mixed")
    rows, ratings = [], []
    for i in range(N):
        who = [f"w{(i * 3 + k) % 11}" for k in range(5)]
        answers = [pick(labels, i, k) for k in range(5)]
        by_label = {of: [w for w, v in zip(who, answers, strict=True) if v == of] for of in labels}
        top, n = Counter(answers).most_common(1)[0]
        rows.append(
            {
                "hit_ids": [f"y{5000 + i}"],
                "sentence": sentence(i),
                "indices_into_review_text": [i, i + 30],
                "model_0_label": labels[i % 3],
                "model_0_probs": {"negative": 0.1, "positive": 0.2, "neutral": 0.7},
                "text_id": f"r1-{i:07}",
                "review_id": f"rev{i // 2}",
                "review_rating": 1 + i % 5,
                "label_distribution": by_label,
                "gold_label": top if n > 2 else None,
                "metadata": {"split": "test", "round": 1},
            }
        )
        ratings += [(str(i), w, v) for w, v in zip(who, answers, strict=True)]
    return shape_of("dynasent-round01.jsonl", json_lines(rows), ratings)


def digits_of_grades() -> PublicShape:
    """Five graders' digits in one word: ``train.csv`` of Humicroedit (SemEval-2020 task 7)."""
    rows: list[Sequence[object]] = [["id", "original", "edit", "grades", "meanGrade"]]
    ratings = []
    for i in range(N):
        grades = sorted((pick("0123", i, k) for k in range(5)), reverse=True)
        mean = sum(map(int, grades)) / 5
        rows.append(
            [14530 + i, sentence(i), ("hair", "soup", "moon")[i % 3], "".join(grades), mean]
        )
        ratings += [(str(i), "", grade) for grade in grades]
    return shape_of("train.csv", table_text(rows), ratings)


def judged_uses() -> PublicShape:
    """Pairs of uses named in two columns: ``judgments.csv`` of DWUG (with tabs)."""
    head = ["identifier1", "identifier2", "annotator", "judgment", "comment", "lemma"]
    rows: list[Sequence[object]] = [head]
    ratings = []
    for i in range(N):
        for k in range(3):
            value = pick("1234", i, k)
            names = [f"fic_1835_{i % 6}.txt-1{i % 6}", f"mag_1973_{(i * 5) % 7}.txt-8{(i * 5) % 7}"]
            who = f"annotator{(i + k) % 5}"
            rows.append(
                [*names, who, value, "" if (i + k) % 7 else "hard", ("plane", "graft")[i % 2]]
            )
            ratings.append((str(i), who, value))
    return shape_of("judgments.csv", table_text(rows, "\t"), ratings)


def summaries_of_systems() -> PublicShape:
    """Three rows of each article and system without a rater: ``newsroom-human-eval.csv``."""
    names = ("Coherence", "Fluency", "Informativeness", "Relevance")
    head = ["ArticleID", "System", "ArticleText", "SystemSummary", "ArticleTitle"]
    rows: list[Sequence[object]] = [[*head, *(f"{name}Rating" for name in names)]]
    ratings = []
    for i in range(8):
        for s, system in enumerate(("abstractive", "fragments", "lede3")):
            for k in range(3):
                answers = [pick("12345", i * 3 + s + 5 * n, k + n) for n in range(4)]
                texts = [sentence(i) + " in full", sentence(i * 3 + s), f"About {sentence(i)}"]
                rows.append([i, system, *texts, *answers])
                ratings += [
                    (f"{i} {s} {name}", "", v) for name, v in zip(names, answers, strict=True)
                ]
    return shape_of("newsroom-human-eval.csv", table_text(rows), ratings)


def factual_summaries() -> PublicShape:
    """An article's number and a system: ``factuality_annotations_xsum_summaries.csv``."""
    rows: list[Sequence[object]] = [["bbcid", "system", "summary", "is_factual", "worker_id"]]
    ratings = []
    for i in range(9):
        for s, system in enumerate(("BERTS2S", "Gold", "TConvS2S")):
            for k in range(3):
                value = pick(YES_NO, i * 3 + s, k)
                rows.append([33687720 + i * 17, system, sentence(i * 3 + s), value, f"wid_{k}"])
                ratings.append((f"{i} {s}", f"wid_{k}", value))
    return shape_of("factuality_annotations.csv", table_text(rows), ratings)


def kinds_of_toxicity() -> PublicShape:
    """Five questions of each worker: ``toxicity_individual_annotations.csv`` (Civil Comments)."""
    names = ("identity_attack", "insult", "obscene", "threat", "toxic")
    rows: list[Sequence[object]] = [["id", "worker", *names]]
    ratings = []
    for i in range(N):
        for k in range(4):
            w = (i * 3 + k) % 7
            answers = [pick("01", i + 2 * n, k + n) for n in range(5)]
            rows.append([59859 + i, w, *answers])
            ratings += [(f"{i} {n}", str(w), v) for n, v in zip(names, answers, strict=True)]
    return shape_of("toxicity_individual_annotations.csv", table_text(rows), ratings)


def numbers_as_headers() -> PublicShape:
    """Thirteen subjects in columns named 1 to 13: ``set1.csv`` of WordSim-353."""
    subjects = range(1, 14)
    rows: list[Sequence[object]] = [["Word 1", "Word 2", "Human (mean)", *subjects]]
    words = ("tiger", "cat", "bread", "butter", "king", "cabbage", "train", "car", "stock")
    ratings = []
    for i in range(N):
        answers = [pick("02468", i, k) for k in subjects]
        mean = round(sum(map(int, answers)) / 13, 2)
        rows.append([words[i % 9], words[(i * 2 + 3 + i // 9) % 9], mean, *answers])
        ratings += [(str(i), str(k), v) for k, v in zip(subjects, answers, strict=True)]
    return shape_of("set1.csv", table_text(rows), ratings)


def trials_of_an_experiment() -> PublicShape:
    """Trials of each participant in an experiment of jsPsych, with instructions between."""
    head = ["rt", "stimulus", "response", "trial_type", "trial_index", "time_elapsed"]
    rows: list[Sequence[object]] = [[*head, "internal_node_id", "subject", "item", "condition"]]
    ratings = []
    for k in range(6):
        elapsed = 900
        order = [(i * 5 + k * 7) % N for i in range(N)]
        for place, i in enumerate(order):
            value = pick("01234", i, k)
            rt = 800 + (i * 131 + k * 57) % 900
            elapsed += rt
            cells = [rt, sentence(i), value, "html-slider-response", place, elapsed]
            rows.append([*cells, f"0.0-{place}.0", f"s{k}xq", i, ("a", "b")[i % 2]])
            ratings.append((str(i), f"s{k}xq", value))
    return shape_of("jspsych_data.csv", table_text(rows), ratings)


def winners_in_three_columns() -> PublicShape:
    """A 1 for the side that won, or for a tie: ``train.csv`` of the arena's contest (LMSYS)."""
    sides = ("winner_model_a", "winner_model_b", "winner_tie")
    head = ["id", "model_a", "model_b", "prompt", "response_a", "response_b", *sides]
    rows: list[Sequence[object]] = [head]
    ratings = []
    for i in range(N):
        won = pick(sides, i, 1)
        systems = [("gpt-4-1106-preview", "vicuna-13b", "koala-13b")[(i + n) % 3] for n in (0, 1)]
        texts = [json.dumps([sentence(i + 40 * n)]) for n in range(3)]
        rows.append([30192 + i * 11, *systems, *texts, *(int(won == side) for side in sides)])
        ratings.append((str(i), "", won.removeprefix("winner_")))
    return shape_of("train.csv", table_text(rows), ratings)


def _disagreements(
    name: str, texts: Sequence[str], label: Sequence[str], n_labels: int
) -> PublicShape:
    entries, ratings = {}, []
    for i in range(N):
        who = [f"Ann{(i * 3 + k) % 7}" for k in range(4)]
        answers = {}
        for k, w in enumerate(who):
            chosen = [pick(label, i, k)]
            if n_labels > 1 and (i + k) % 5 == 0:
                chosen += [of for of in label if of not in chosen][:1]
            answers[w] = ",".join(chosen)
            ratings.append((str(i), w, tuple(chosen) if n_labels > 1 else chosen[0]))
        share = round(sum(v.startswith(label[0]) for v in answers.values()) / 4, 2)
        entries[str(i)] = {
            "annotation task": f"{name} detection",
            "text": {t: sentence(i + 40 * n) for n, t in enumerate(texts)},
            "number of annotations": 4,
            "number of annotators": 4,
            "annotators": ",".join(who),
            "annotations": answers,
            "soft_label": {label[0]: share, "other": round(1 - share, 2)},
            "lang": "en",
            "split": "train",
            "other_info": {"context+speaker": f"c{i}", "source": "x"},
        }
    return shape_of(f"{name}_train.json", json.dumps(entries), ratings)


def sarcasm_scores() -> PublicShape:
    """Scores by annotator in an object: ``CSC_train.json`` (LeWiDi 2025)."""
    return _disagreements("CSC", ("context", "response"), "123456", 1)


def several_inferences() -> PublicShape:
    """Joined labels by annotator in an object: ``VariErrNLI_train.json`` (LeWiDi 2025)."""
    labels = ("entailment", "neutral", "contradiction")
    return _disagreements("VariErrNLI", ("context", "statement"), labels, 2)


def labels_of_a_project() -> PublicShape:
    """A row per annotation: the export as csv of Label Studio."""
    head = ["text", "id", "tone", "annotator", "annotation_id", "created_at", "updated_at"]
    rows: list[Sequence[object]] = [[*head, "lead_time"]]
    ratings = []
    for i in range(N):
        for k in range(3):
            tone, who = pick(TONES, i, k), (i + k) % 5 + 1
            at = [f"2026-02-{1 + i:02}T1{k}:0{k}:0{d}.123456Z" for d in (1, 5)]
            rows.append([sentence(i), 400 + i, tone, who, 900 + i * 3 + k, *at, 3.1 + (i * k) % 7])
            ratings.append((str(i), str(who), tone))
    return shape_of("project-7-at-2026-02-20.csv", table_text(rows), ratings)


def responses_of_users() -> PublicShape:
    """Lists of responses, users and statuses: records of Argilla 2 as a data set."""
    rows, ratings = [], []
    for i in range(N):
        who = [f"1f{(i + k) % 5}0c1c8-9d55-4c1f-8b0e-33aa" for k in range(3)]
        answers = [pick(TONES, i, k) for k in range(3)]
        rows.append(
            {
                "id": f"rec-{i}",
                "status": "completed",
                "_server_id": f"4e95{i:03}",
                "message": sentence(i),
                "tone.responses": answers,
                "tone.responses.users": who,
                "tone.responses.status": ["submitted"] * 3,
                "tone.suggestion": TONES[i % 3],
                "tone.suggestion.score": 0.5 + (i % 5) / 10,
                "tone.suggestion.agent": "distil-tones",
            }
        )
        ratings += [(str(i), w, v) for w, v in zip(who, answers, strict=True)]
    return shape_of("records.jsonl", json_lines(rows), ratings)


def annotations_of_spans() -> PublicShape:
    """Annotations by people and models: the annotations of spans that Phoenix returns."""
    rows, ratings = [], []
    for i in range(N):
        for k in range(3):
            human = k < 2
            label = pick(("correct", "incorrect"), i, k)
            who = f"VXNlcjo{(i + k) % 3}" if human else None
            rows.append(
                {
                    "id": f"U3Bhbk{i:03}{k}",
                    "created_at": f"2026-03-01T10:{i:02}:0{k}+00:00",
                    "updated_at": f"2026-03-01T10:{i:02}:0{k}+00:00",
                    "source": "APP" if human else "API",
                    "user_id": who,
                    "name": "correctness",
                    "annotator_kind": "HUMAN" if human else "LLM",
                    "result": {
                        "label": label,
                        "score": int(label == "correct"),
                        "explanation": None,
                    },
                    "metadata": {},
                    "identifier": "",
                    "span_id": f"67f6740bbe1ddc{i:02}",
                }
            )
            if human:
                ratings.append((str(i), who, label))
    return shape_of("annotations.jsonl", json_lines(rows), ratings)


def labels_of_projects() -> PublicShape:
    """Labels of a row below its projects: the export as NDJSON of Labelbox."""
    rows, ratings = [], []
    for i in range(N):
        labels = []
        for k in range(2):
            answer, who = pick(TONES, i, k), f"p{(i + k) % 4}@mail.example"
            chosen = {"feature_id": f"f{i}{k}", "name": "Tone", "value": "tone"}
            chosen["radio_answer"] = {
                "name": answer.title(),
                "value": answer,
                "classifications": [],
            }
            labels.append(
                {
                    "label_kind": "Default",
                    "id": f"lb{i}{k}",
                    "label_details": {
                        "created_at": f"2026-01-0{k + 1}T10:00:{i:02}.000+00:00",
                        "created_by": who,
                    },
                    "annotations": {"objects": [], "classifications": [chosen]},
                }
            )
            ratings.append((str(i), who, answer))
        rows.append(
            {
                "data_row": {"id": f"cl{i:04}", "row_data": sentence(i)},
                "projects": {"cl0project": {"name": "Tones", "labels": labels}},
            }
        )
    return shape_of("export.ndjson", json_lines(rows), ratings)


def trees_of_messages() -> PublicShape:
    """Labels of messages in trees, each a mean and a count: ``trees.jsonl`` (OpenAssistant)."""

    def message(i: int, role: str, replies: list[object]) -> dict[str, object]:
        labels = {
            name: {"value": round((i * n) % 5 / 4, 2), "count": 3}
            for n, name in enumerate(("spam", "quality", "humor"), 1)
        }
        return {
            "message_id": f"m{i}",
            "user_id": f"u{i % 7}",
            "text": sentence(i),
            "role": role,
            "lang": "en",
            "review_count": 3,
            "labels": labels,
            "rank": i % 2,
            "replies": replies,
        }

    rows = []
    for i in range(N):
        replies: list[object] = [message(i * 3 + n, "assistant", []) for n in (1, 2)]
        prompt = message(i * 3, "prompter", replies)
        rows.append(
            {"message_tree_id": f"m{i * 3}", "tree_state": "ready_for_export", "prompt": prompt}
        )
    return shape_of("trees.jsonl", json_lines(rows))


def scores_of_one_user() -> PublicShape:
    """Answers of several models, scored by the user who asked: ``utterances.jsonl`` (PRISM)."""
    rows, ratings = [], []
    for i in range(N):
        for n in range(4):
            score = 1 + (i * 37 + n * 53) % 100
            rows.append(
                {
                    "utterance_id": f"ut{i * 4 + n}",
                    "interaction_id": f"int{i}",
                    "conversation_id": f"c{i // 2}",
                    "user_id": f"user{i // 4}",
                    "turn": i % 2,
                    "within_turn_id": n,
                    "conversation_type": ("unguided", "values guided")[i % 2],
                    "user_prompt": sentence(i),
                    "model_response": sentence(i * 4 + n + 50),
                    "model_name": ("aleph", "flan", "pythia", "zephyr")[n],
                    "score": score,
                    "if_chosen": n == i % 4,
                }
            )
            ratings.append((f"{i} {n}", f"user{i // 4}", str(score)))
    return shape_of("utterances.jsonl", json_lines(rows), ratings)


def german_sheet() -> PublicShape:
    """A row per rating below German headers."""
    rows: list[Sequence[object]] = [["Satznummer", "Satz", "Gutachter", "Urteil", "Bemerkung"]]
    ratings = []
    for i in range(N):
        for k, who in enumerate(raters_of(i)):
            value = pick(("höflich", "neutral", "grob"), i, k)
            rows.append(
                [100 + i, sentence(i), who, value, "" if (i + k) % 5 else f"Siehe Satz {i}"]
            )
            ratings.append((str(i), who, value))
    return shape_of("urteile.csv", table_text(rows, ";"), ratings)


def chinese_sheet() -> PublicShape:
    """A column per rater below Chinese headers."""
    rows: list[Sequence[object]] = [["编号", "文本", "标注员1", "标注员2", "标注员3"]]
    ratings = []
    for i in range(N):
        answers = [pick(("礼貌", "粗鲁"), i, k) for k in range(3)]
        rows.append([i + 1, f"第{i}个句子说快递又迟到了没有人接电话", *answers])
        ratings += [(str(i), f"标注员{k}", v) for k, v in enumerate(answers, 1)]
    return shape_of("标注.csv", table_text(rows), ratings)


def french_sheet() -> PublicShape:
    """A row per rating, two criteria and a time below French headers."""
    head = ["horodatage", "évaluateur", "phrase", "clarté", "politesse"]
    rows: list[Sequence[object]] = [head]
    ratings = []
    for i in range(N):
        for k, who in enumerate(raters_of(i)):
            answers = [pick("12345", i + 3 * n, k + n) for n in range(2)]
            rows.append([f"2026-02-{1 + i:02} 1{k}:30:00", who, sentence(i), *answers])
            ratings += [(f"{i} {n}", who, v) for n, v in enumerate(answers)]
    return shape_of("notes.csv", table_text(rows, ";"), ratings)


def scores_by_attribute() -> PublicShape:
    """Lists of scores for each attribute: ``disagreements.jsonl`` (HelpSteer2)."""
    names = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")
    rows, ratings = [], []
    for i in range(N):
        row: dict[str, object] = {"prompt": sentence(i), "response": sentence(i + 40)}
        for n, name in enumerate(names):
            answers = [pick("01234", i + n * 3, k + n) for k in range(3)]
            row[name] = [*map(int, answers)]
            ratings += [(f"{i} {name}", "", v) for v in answers]
        rows.append(row)
    return shape_of("disagreements.jsonl", json_lines(rows), ratings)


def responses_below_contexts() -> PublicShape:
    """Responses of models below a context, lists of scores by criterion: ``pc_usr_data.json``."""
    names = ("Understandable", "Natural", "Overall")
    rows, ratings = [], []
    for i in range(8):
        responses = []
        for s, model in enumerate(("Original", "KV-MemNN", "Seq2Seq")):
            of: dict[str, object] = {"response": sentence(i * 3 + s + 40), "model": model}
            for n, name in enumerate(names):
                answers = [pick("123", i * 3 + s + 2 * n, k + n) for k in range(3)]
                of[name] = [*map(int, answers)]
                ratings += [(f"{i} {s} {name}", "", v) for v in answers]
            responses.append(of)
        rows.append({"context": sentence(i), "fact": f"A fact of {i} .", "responses": responses})
    return shape_of("pc_usr_data.json", json.dumps(rows), ratings)


def judged_safety() -> PublicShape:
    """The same answer in several rows, a verdict in each: ``train.jsonl`` of BeaverTails."""
    kinds = ("animal_abuse", "privacy_violation", "violence")
    rows, ratings = [], []
    for i in range(N):
        for k in range(3):
            safe = pick(YES_NO, i, k) == "yes"
            marked = {kind: not safe and (i + n + k) % 3 == 0 for n, kind in enumerate(kinds)}
            rows.append(
                {
                    "prompt": sentence(i // 2),
                    "response": sentence(i + 40),
                    "category": marked,
                    "is_safe": safe,
                }
            )
            ratings.append((str(i), "", str(safe)))
    return shape_of("beaver.jsonl", json_lines(rows), ratings)


def coded_survey() -> PublicShape:
    """A row per response, a code of question and row in the header: LimeSurvey's export."""
    shown = range(1, 10)
    about = ["id", "submitdate", "lastpage", "startlanguage", "seed", "token"]
    rows: list[Sequence[object]] = [[*about, *(f"G01Q02[SQ{n:03}]" for n in shown)]]
    ratings = []
    for k in range(6):
        answers = [pick(("A1", "A2", "A3"), n, k) for n in shown]
        rows.append(
            [k + 1, f"2026-01-0{k + 1} 10:0{k}:11", 3, "en", 19283 + k * 71, f"t{k}q", *answers]
        )
        ratings += [(str(n), str(k + 1), v) for n, v in zip(shown, answers, strict=True)]
    return shape_of("results-survey.csv", table_text(rows), ratings)


def people_of_annotations() -> PublicShape:
    """A list of annotations of each text, each with an object about its annotator."""
    rows, ratings = [], []
    for i in range(N):
        answers = []
        for k in range(3):
            w = (i + k) % 6
            label = pick(TONES, i, k)
            about = {"gender": ("f", "m")[w % 2], "age": 20 + w * 7, "native": w % 3 > 0}
            answers.append({"annotator": f"a{w}", "label": label, "meta": about})
            ratings.append((str(i), f"a{w}", label))
        rows.append({"id": f"t{i}", "text": sentence(i), "annotations": answers})
    return shape_of("annotated.jsonl", json_lines(rows), ratings)


def seen_by_annotators() -> PublicShape:
    """Classifications of each example by annotator: the export as JSON of LightTag."""
    examples, ratings = [], []
    for i in range(N):
        answers = []
        for k in range(3):
            tone, w = pick(TONES, i, k), (i + k) % 5 + 1
            answers.append(
                {
                    "classname": tone,
                    "classification_id": f"c{TONES.index(tone)}",
                    "annotator": f"person{w}",
                    "annotator_id": w,
                    "correct": None,
                }
            )
            ratings.append((str(i), f"person{w}", tone))
        examples.append(
            {
                "example_id": f"ex{i}",
                "content": sentence(i),
                "metadata": {"source": ("web", "mail")[i % 2]},
                "classifications": answers,
                "annotations": [],
                "seen_by": [{"annotator_id": (i + k) % 5 + 1} for k in range(3)],
            }
        )
    content = {"examples": examples, "relations": [], "schema": {"name": "Tones"}}
    return shape_of("lighttag.json", json.dumps(content), ratings)


def feedback_of_traces() -> PublicShape:
    """Feedback scores in a list of each trace, from people and programs: traces of Opik."""
    rows, ratings = [], []
    for i in range(N):
        scores = []
        for k in range(2):
            value, who = pick("01", i, k), f"p{(i + k) % 4}@mail.example"
            scores.append(
                {"name": "useful", "value": int(value), "source": "ui", "created_by": who}
            )
            ratings.append((str(i), who, value))
        scores.append(
            {"name": "useful", "value": i % 2, "source": "sdk", "created_by": "evaluator"}
        )
        rows.append(
            {
                "id": f"0192-{i:04}",
                "project_id": "0191-7",
                "name": "chat",
                "start_time": f"2026-03-01T10:{i:02}:00Z",
                "input": {"question": f"{sentence(i)}?"},
                "output": {"answer": sentence(i + 40)},
                "tags": [],
                "feedback_scores": scores,
            }
        )
    return shape_of("traces.jsonl", json_lines(rows), ratings)


def ratings_of_two_in_columns() -> PublicShape:
    """A label and a reason of each annotator in neighboring columns, as a paper's appendix."""
    head = ["ex_id", "question", "answer"]
    head += [f"annotator_{k}_{what}" for k in (1, 2, 3) for what in ("label", "explanation")]
    rows: list[Sequence[object]] = [[*head, "majority_label"]]
    ratings = []
    for i in range(N):
        answers = [pick(("supported", "refuted", "unclear"), i, k) for k in range(3)]
        cells = [c for k, v in enumerate(answers) for c in (v, f"For {sentence(i + k + 3)}.")]
        top = Counter(answers).most_common(1)[0][0]
        rows.append([f"q{i}", f"{sentence(i)}?", sentence(i + 40), *cells, top])
        ratings += [(str(i), f"annotator_{k}", v) for k, v in enumerate(answers, 1)]
    return shape_of("appendix.csv", table_text(rows), ratings)


def relevance_of_documents() -> PublicShape:
    """Judgments of topic and document by assessor, without a header: relevance of TREC."""
    rows, ratings = [], []
    for i in range(6):
        for d in range(5):
            for k in range(3):
                value, who = pick("012", i * 5 + d, k), f"as{(i + k) % 5}"
                rows.append([300 + i, f"FT911-{100 + d * 3 + i}", who, value])
                ratings.append((f"{i} {d}", who, value))
    return shape_of("qrels.tsv", table_text(rows, "\t"), ratings)


def preferences_and_turns() -> PublicShape:
    """Two chats as lists of messages, a choice and its strength by annotator."""
    rows, ratings = [], []
    for i in range(N):
        for k in range(3):
            choice, who = pick(("model_a", "model_b", "tie"), i, k), f"u{(i + k) % 5}"
            chats = [
                [
                    {"role": "user", "content": f"{sentence(i)}?"},
                    {"role": "assistant", "content": sentence(i + 40 + 30 * n)},
                ]
                for n in range(2)
            ]
            rows.append(
                {
                    "question_id": f"q{i}",
                    "conversation_a": chats[0],
                    "conversation_b": chats[1],
                    "winner": choice,
                    "rater": who,
                    "strength": 1 + (i + k) % 3,
                }
            )
            ratings.append((str(i), who, choice))
    return shape_of("preferences.jsonl", json_lines(rows), ratings)


def form_of_microsoft() -> PublicShape:
    """A row per respondent with start and end: an export of Microsoft Forms as csv."""
    shown = [f"{n + 1}. {sentence(n)}" for n in range(9)]
    rows: list[Sequence[object]] = [
        ["ID", "Start time", "Completion time", "Email", "Name", *shown]
    ]
    ratings = []
    for k in range(6):
        answers = [pick(("Agree", "Neutral", "Disagree"), n, k) for n in range(9)]
        at = [f"2/{k + 1}/26 10:0{k}:12", f"2/{k + 1}/26 10:1{k}:40"]
        rows.append([k + 1, *at, "anonymous", "", *answers])
        ratings += [(str(n), str(k + 1), v) for n, v in enumerate(answers)]
    return shape_of("Survey(1-6).csv", table_text(rows), ratings)
