"""More small tables in the form of published files with individual ratings, in words of our own.

They are made as those of `support.public_shapes` are. A file that publishes no single ratings, only
what was computed from them, has none here: no task is right.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from support.public_shapes import (
    PEOPLE,
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


def _rated(labels: Sequence[str], n: int = 3) -> list[tuple[int, int, str]]:
    """Return item, place of the rater and label of the ratings of each item."""
    return [(i, k, pick(labels, i, k)) for i in range(N) for k in range(n)]


def posts_and_targets() -> PublicShape:
    """A row per post, worker and minority: ``SBIC.v2.trn.csv`` (Social Bias Frames)."""
    head = ["whoTarget", "intentYN", "sexYN", "offensiveYN", "annotatorGender", "WorkerId"]
    rows = [[*head, "HITId", "annotatorAge", "post", "targetMinority", "targetStereotype"]]
    ratings = []
    for i, k, offensive in _rated(("0.0", "0.5", "1.0")):
        w = (i + 2 * k) % 7
        intent = pick(("0.0", "0.33", "0.66", "1.0"), i + 3, k)
        lewd = pick(("0.0", "0.5", "1.0"), i * 2, k)
        targets = ("cyclists", "tenants")[: 2 if offensive == "1.0" and i % 4 == 0 else 1]
        for target in targets:
            is_group = offensive == "1.0"
            row = ["1.0" if is_group else "", intent, lewd, offensive, ("man", "woman")[w % 2]]
            row += [f"A{w}XJ4", f"3H{i:02}KD", f"{30 + w}.0", sentence(i)]
            rows.append([*row, *((target, f"{target} are slow") if is_group else ("", ""))])
        for name, value in (("intent", intent), ("sex", lewd), ("offensive", offensive)):
            ratings.append((f"{i} {name}", f"A{w}XJ4", value))
    return shape_of("sbic.csv", table_text(rows), ratings)


def direct_assessments() -> PublicShape:
    """A score of 0 to 100 per worker, system and segment: ``ad-latest.csv`` of WMT."""
    rows = [["HITId", "WorkerId", "srclang", "trglang", "type", "system", "segment", "score"]]
    ratings = []
    for i in range(N):
        for s in range(2):
            for k in range(2):
                w, score = f"w{(i + s + 3 * k) % 5}", 20 + (i * 17 + s * 31 + k * 7) % 80
                rows.append([f"h{i % 6}", w, "de", "en", "SYSTEM", f"online-{'AB'[s]}", i, score])
                ratings.append((f"{i} {s}", w, str(score)))
    return shape_of("ad_latest.csv", table_text(rows), ratings)


def chosen_and_rejected() -> PublicShape:
    """Two dialogues, the better one always first: ``train.jsonl`` of hh-rlhf (anthropics)."""
    rows = [
        {
            "chosen": f"\n\nHuman: {sentence(i)}?\n\nAssistant: {sentence(i + 30)}",
            "rejected": f"\n\nHuman: {sentence(i)}?\n\nAssistant: {sentence(i + 60)}",
        }
        for i in range(N)
    ]
    return shape_of("hh.jsonl", json_lines(rows))


def aggregated_units() -> PublicShape:
    """The most trusted answer of each unit: the aggregated report of Figure Eight."""
    head = ["_unit_id", "_golden", "_unit_state", "_trusted_judgments", "_last_judgment_at"]
    rows = [[*head, "sentiment", "sentiment:confidence", "sentiment_gold", "tweet"]]
    for i in range(N):
        label = pick(("negative", "neutral", "positive"), i, 0)
        share = ("1.0", "0.6667", "0.3452")[i % 3]
        row = [6811 + i, "FALSE", "finalized", 3 + i % 2, f"2/{1 + i % 28}/15 3:{10 + i}"]
        rows.append([*row, label, share, "", sentence(i)])
    return shape_of("aggregated.csv", table_text(rows))


def argument_quality() -> PublicShape:
    """Grades with a word for each of many aspects: ``dagstuhl-15512-argquality-corpus``."""
    names = ("overall quality", "clarity", "relevance")
    rows = [["annotator", "argumentative", *names, "#id", "issue", "stance", "argument"]]
    ratings = []
    grades = ("1 (Low)", "2 (Average)", "3 (High)")
    for i in range(N):
        for k in range(3):
            is_one = not (i % 6 == 0 and k == 1)
            answers = [pick(grades, i * n + n, k) if is_one else "" for n in (1, 2, 3)]
            place = [f"arg{2190 + i}", f"issue-{i % 4}", ("pro", "con")[i % 2], sentence(i)]
            rows.append([str(k + 1), "y" if is_one else "n", *answers, *place])
            ratings.append((f"{i} argumentative", str(k + 1), "y" if is_one else "n"))
            ratings += [
                (f"{i} {name}", str(k + 1), value[3:-1])
                for name, value in zip(names, answers, strict=True)
                if value
            ]
    return shape_of("argquality.csv", table_text(rows, "\t"), ratings)


def means_of_labels() -> PublicShape:
    """Mean labels of each message and how many gave them: ``oasst1`` (OpenAssistant)."""
    rows = [
        {
            "message_id": f"6ab-{i}",
            "parent_id": f"6ab-{i // 3}",
            "user_id": f"u{i % 7}",
            "created_date": f"2023-02-05T14:23:{10 + i}.484+00:00",
            "text": sentence(i),
            "role": ("prompter", "assistant")[i % 2],
            "lang": "en",
            "review_count": 3,
            "review_result": True,
            "deleted": False,
            "rank": (None, 0, 1)[i % 3],
            "synthetic": False,
            "labels": {
                "name": ["spam", "quality", "toxicity"],
                "value": [0.0, (i % 5) / 4, (i % 3) / 3],
                "count": [3, 3, 3],
            },
        }
        for i in range(N)
    ]
    return shape_of("oasst.jsonl", json_lines(rows))


def named_model_beside_people() -> PublicShape:
    """A column per person and one of a model's whole name, as many papers publish them."""
    rows = [["id", "answer", "annotator_1", "annotator_2", "gpt-4"]]
    ratings = []
    for i in range(N):
        answers = [pick(YES_NO, i, k) for k in range(3)]
        rows.append([f"a{i}", sentence(i), *answers])
        ratings += [(f"a{i}", str(k), value) for k, value in enumerate(answers[:2])]
    return shape_of("checked.csv", table_text(rows), ratings)


def entailment_of_workers() -> PublicShape:
    """Annotation, worker, item, response and gold: ``rte.standardized.tsv`` (Snow et al.)."""
    rows = [["!amt_annotation_ids", "!amt_worker_ids", "orig_id", "response", "gold"]]
    ratings = []
    for i in range(N):
        for k in range(5):
            w, value = f"A{(i * 3 + k) % 9}TSGD", pick("01", i, k)
            rows.append([f"1{i:02}{k}", w, 25 + i, value, i % 2])
            ratings.append((str(25 + i), w, value))
    return shape_of("rte.tsv", table_text(rows, "\t"), ratings)


def older_of_two() -> PublicShape:
    """Addresses of two pictures, and that of the chosen one: ``crowd_labels.csv`` (Toloka)."""
    rows = [["left", "right", "label", "performer"]]
    for i in range(N):
        sides = [f"https://example.org/{(i * 5 + k) % 23}.jpg" for k in (0, 7)]
        rows += [[*sides, sides[(i + k * i) % 2], f"p{(i + k) % 6}"] for k in range(3)]
    return shape_of("crowd_labels.csv", table_text(rows))


def feelings_by_annotator() -> PublicShape:
    """A row per text and annotator, a column of 0 and 1 per feeling (emotion-analysis-project)."""
    names = ("happy", "sad", "anger", "neutral")
    rows = [["text_id", "text_content", "annotator_id", *names]]
    ratings = []
    for i in range(N):
        for k in range(3):
            chosen = {pick(names, i, k)} | ({"sad"} if (i + k) % 5 == 0 else set())
            rows.append([i + 1, sentence(i), k + 1, *(int(name in chosen) for name in names)])
            ratings.append((str(i + 1), str(k + 1), tuple(n for n in names if n in chosen)))
    return shape_of("feelings.csv", table_text(rows), ratings)


def students_by_number() -> PublicShape:
    """A column per student, called after the number of enrolment: comments of a course."""
    who = ("22210036", "22210041", "22210055")
    rows = [["COMMENT_ID", "COMMENT_SCORE", "COMMENT_TEXT_CONTENT", *who]]
    ratings = []
    for i in range(N):
        answers = [pick(("0", "1", "2"), i, k) for k in range(3)]
        rows.append([f"t1_h{i}", (i * 13) % 41, sentence(i), *answers])
        ratings += [(f"t1_h{i}", w, value) for w, value in zip(who, answers, strict=True)]
    return shape_of("human_eval.csv", table_text(rows), ratings)


def preferred_melodies() -> PublicShape:
    """Results of Mechanical Turk with a choice of two: ``judgments.csv`` (julian-urbano)."""
    head = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "WorkTimeInSeconds"]
    rows = [[*head, "Input.query", "Input.docA", "Input.docB", "Answer.comment", "Answer.radio"]]
    ratings = []
    for i in range(N):
        for k in range(3):
            w, value = f"A{(i + k) % 8}Q", pick("abs", i, k)
            done = [f"2X{i}", f"a{i}-{k}", w, "Approved", 30 + i + k]
            rows.append([*done, f"q{i % 6}", f"d{i}", f"d{i + 40}", "", value])
            ratings.append((f"2X{i}", w, value))
    return shape_of("judgments.csv", table_text(rows), ratings)


def units_of_contributors() -> PublicShape:
    """Each contributor's answer to each unit: the full report of Figure Eight."""
    head = ["_unit_id", "_created_at", "_golden", "_id", "_missed", "_started_at", "_tainted"]
    head += ["_channel", "_trust", "_worker_id", "_country", "relevance", "tweet"]
    rows = [[*head, "relevance_gold"]]
    ratings = []
    for i in range(N):
        for k in range(3):
            w, value = str(43880 + (i * 2 + k) % 9), pick(("relevant", "not relevant"), i, k)
            times = [
                f"4/20/2020 2{k}:{10 + i}:18",
                "false",
                5630 + i * 3 + k,
                "",
                "4/20/2020 21:03",
            ]
            row = [2721 + i, *times, "false", ("elite", "neodev")[k % 2], "0.88", w, "VEN"]
            rows.append([*row, value, sentence(i), ""])
            ratings.append((str(2721 + i), w, value))
    return shape_of("full.csv", table_text(rows), ratings)


def ticked_posts() -> PublicShape:
    """Ticks of posts by annotator: ``GabHateCorpus_annotations.tsv``."""
    names = ("Hate", "HD", "CV", "VO")
    rows = [["ID", "Annotator", "Text", *names]]
    ratings = []
    for i in range(N):
        for k in range(3):
            ticks = [int((i * n + k) % (n + 2) == 0) for n in (1, 2, 3, 4)]
            rows.append([27040 + i, (i + k) % 5, sentence(i), *ticks])
            ratings += [
                (f"{i} {name}", str((i + k) % 5), str(tick))
                for name, tick in zip(names, ticks, strict=True)
            ]
    return shape_of("gab.tsv", table_text(rows, "\t"), ratings)


def aspects_of_simplifications() -> PublicShape:
    """A row per aspect and worker: ``human_ratings.csv`` of ASSET (facebookresearch)."""
    aspects = ("meaning", "fluency", "simplicity")
    head = ["original", "simplification", "original_sentence_id", "aspect", "worker_id", "rating"]
    rows: list[list[object]] = [head]
    ratings = []
    for i in range(N):
        for a, aspect in enumerate(aspects):
            for k in range(3):
                w, score = (i + k + a) % 7, (i * 29 + a * 13 + k * 5) % 101
                rows.append([sentence(i), sentence(i + 40), i, aspect, w, score])
                ratings.append((f"{i} {aspect}", str(w), str(score)))
    return shape_of("human_ratings.csv", table_text(rows), ratings)


def errors_of_translations() -> PublicShape:
    """A row per error that a rater marked, several or none per segment: MQM of WMT (google)."""
    head = ["system", "doc", "globalSegId", "rater", "source", "target", "category", "severity"]
    rows: list[list[object]] = [head]
    for i in range(N):
        for k in range(3):
            place = ["ref.A", f"doc{i // 5}", i, f"rater{1 + (i + k) % 4}"]
            texts = [sentence(i), sentence(i + 40)]
            for e in range(1 + (i + k) % 3):
                is_none = (i + k) % 3 == 0
                category = "No-error" if is_none else ("Fluency", "Accuracy")[e % 2]
                severity = "no-error" if is_none else ("Minor", "Major")[(i + e) % 2]
                rows.append([*place, *texts, category, severity])
    return shape_of("mqm.tsv", table_text(rows, "\t"))


def anecdotes() -> PublicShape:
    """Numbers of votes in an object, and a majority: ``dev.scruples-anecdotes.jsonl`` (allenai)."""
    names = ("AUTHOR", "OTHER", "EVERYBODY", "NOBODY")
    rows, ratings = [], []
    for i in range(N):
        answers = [pick(names, i, k) for k in range(5)]
        n = {name: answers.count(name) for name in names}
        rows.append(
            {
                "id": f"Rd{i}",
                "post_id": f"a{i}q",
                "title": f"AITA if {sentence(i)}",
                "text": sentence(i + 50),
                "post_type": ("HISTORICAL", "HYPOTHETICAL")[i % 2],
                "label_scores": n,
                "label": max(n, key=lambda name: n[name]),
                "binarized_label_scores": {
                    "RIGHT": n["OTHER"] + n["NOBODY"],
                    "WRONG": n["AUTHOR"] + n["EVERYBODY"],
                },
            }
        )
        ratings += [(f"Rd{i}", "", value) for value in answers]
    return shape_of("anecdotes.jsonl", json_lines(rows), ratings)


def moral_tweets() -> PublicShape:
    """Annotations by annotator below tweets below corpora: ``MFTC_V4_text.json``."""
    names = ("care", "harm", "fairness", "non-moral")
    tweets, ratings = [], []
    for i in range(N):
        who = [f"annotator{(i + k) % 5:02}" for k in range(3)]
        sets = [
            tuple(dict.fromkeys([pick(names, i, k), *(["harm"] if (i + k) % 4 == 0 else [])]))
            for k in range(3)
        ]
        answers = [
            {"annotator": w, "annotation": ",".join(chosen)}
            for w, chosen in zip(who, sets, strict=True)
        ]
        tweets.append({"tweet_id": f"5217{i}", "tweet_text": sentence(i), "annotations": answers})
        ratings += [
            (f"5217{i}", w, tuple(sorted(chosen))) for w, chosen in zip(who, sets, strict=True)
        ]
    corpora = [{"Corpus": "A", "Tweets": tweets[:9]}, {"Corpus": "B", "Tweets": tweets[9:]}]
    return shape_of("mftc.json", json.dumps(corpora), ratings)


def scored_essays() -> PublicShape:
    """Two raters and their sum: ``training_set_rel3.tsv`` of the essay prize (ASAP)."""
    rows = [["essay_id", "essay_set", "essay", "rater1_domain1", "rater2_domain1", "domain1_score"]]
    ratings = []
    for i in range(N):
        answers = [1 + (i * 7) % 5, 1 + (i * 7 + (i % 3 == 0)) % 5]
        rows.append([i + 1, 1 + i // 9, sentence(i), *answers, sum(answers)])
        ratings += [(str(i + 1), f"rater{k}", str(v)) for k, v in enumerate(answers, 1)]
    return shape_of("essays.tsv", table_text(rows, "\t"), ratings)


def ticked_degrees() -> PublicShape:
    """Ticks of degrees by annotator, most of them blank: ``ConvAbuseEMNLPtest.csv``."""
    degrees = ("1", "0", "-1")
    names = [f"Annotator{a}_is_abuse.{d}" for a in (1, 2, 3, 4) for d in degrees]
    rows = [["example_id", "prev_agent", "user", "bot", *names]]
    ratings = []
    for i in range(N):
        cells = []
        for a in range(4):
            value = pick(degrees, i, a)
            is_filled = (i + a) % 4 != 0
            cells += [int(d == value) if is_filled else "" for d in degrees]
            ratings += [(f"{i}.0", f"Annotator{a + 1}", value)] if is_filled else []
        rows.append([f"{i}.0", sentence(i + 30), sentence(i), ("Eve", "Max")[i % 2], *cells])
    return shape_of("convabuse.csv", table_text(rows), ratings)


def certainty_of_speakers() -> PublicShape:
    """Answers from -3 to 3 in a list, and their mean: ``CommitmentBank-All.csv``."""
    rows = [["uID", "Verb", "Context", "Prompt", "Target", "Responses", "mean"]]
    ratings = []
    for i in range(N):
        answers = [(i * 5 + k * (i % 3)) % 7 - 3 for k in range(5)]
        texts = [sentence(i), sentence(i + 30), sentence(i + 60)]
        rows.append([f"BNC-{i}", ("know", "say")[i % 2], *texts, str(answers), sum(answers) / 5])
        ratings += [(f"BNC-{i}", "", str(v)) for v in answers]
    return shape_of("certainty.csv", table_text(rows), ratings)


def safety_with_reasons() -> PublicShape:
    """Three labels and three reasons in lists, and a vote: ``prosocial-dialog`` (allenai)."""
    labels = ("casual", "needs caution", "needs intervention")
    rows, ratings = [], []
    for i in range(N):
        answers = [pick(labels, i, k) for k in range(3)]
        rows.append(
            {
                "context": sentence(i),
                "response": sentence(i + 30),
                "rots": [f"It's good to say {sentence(i)}"],
                "safety_label": f"__{Counter(answers).most_common(1)[0][0].replace(' ', '_')}__",
                "safety_annotations": answers,
                "safety_annotation_reasons": [f"because {sentence(i + k)}" for k in range(3)],
                "source": ("socialchemistry", "sbic")[i % 2],
                "dialogue_id": i // 3,
                "response_id": i % 3,
            }
        )
        ratings += [(str(i), "", value) for value in answers]
    return shape_of("prosocial.json", json_lines(rows), ratings)


def scores_of_sides() -> PublicShape:
    """Two answers and a score of each, whose sum is 0: ``webgpt_comparisons`` (openai)."""
    rows = []
    for i in range(N):
        score = ((i * 3) % 5 - 2) / 2
        rows.append(
            {
                "question": f"{sentence(i)}?",
                "answer_0": sentence(i + 30),
                "answer_1": sentence(i + 60),
                "score_0": score,
                "score_1": -score,
            }
        )
    return shape_of("webgpt.jsonl", json_lines(rows))


def compared_summaries() -> PublicShape:
    """Two summaries in a list, the place of the better one, and the worker (OpenAI)."""
    rows, ratings = [], []
    for i in range(N):
        for k in range(3):
            w, choice = PEOPLE[(i + k) % 7], int(pick("01", i, k))
            rows.append(
                {
                    "info": {"id": f"t3_{i}", "post": sentence(i), "title": f"Title {i}"},
                    "split": "valid1",
                    "summaries": [
                        {"text": sentence(i + 30), "policy": "sup1", "note": "ok"},
                        {"text": sentence(i + 60), "policy": "ref", "note": "ok"},
                    ],
                    "choice": choice,
                    "worker": w,
                    "batch": f"batch{i % 2}",
                    "extra": {"confidence": 1 + (i + k) % 9},
                }
            )
            ratings.append((f"t3_{i}", w, str(choice)))
    return shape_of("batch3.json", json_lines(rows), ratings)


def keyed_answers() -> PublicShape:
    """A row per participant and vignette, with key and label: a survey of an online panel."""
    grades = ("1 - not at all", "2 - a little", "3 - somewhat", "4 - very")
    question = "How polite is this reply?"
    rows = [["ParticipantId", "Age", "Vignette", "Reply", question, "Duration"]]
    ratings = []
    for i in range(N):
        for k in range(3):
            w, value = f"P{(i * 2 + k) % 8:02}", pick(grades, i, k)
            rows.append([w, 20 + (i * 2 + k) % 8, f"v{i}", sentence(i), value, 11.5 + i + k])
            ratings.append((f"v{i}", w, value[4:]))
    return shape_of("panel.csv", table_text(rows), ratings)


def letters_of_choices() -> PublicShape:
    """A record per annotation with a letter and notes: the output of a script."""
    records, ratings = [], []
    for i in range(N):
        for k, who in enumerate(raters_of(i, 2)):
            value = pick("cbsu", i, k)
            notes = "" if (i + k) % 3 else f"I looked at {i} twice"
            record = {"record_index": i, "id": f"place-{i}", "choice": value, "notes": notes}
            records.append(record | {"annotator": who})
            ratings.append((f"place-{i}", who, value))
    return shape_of("annotations.json", json.dumps(records), ratings)


def outputs_and_metrics() -> PublicShape:
    """Outputs of systems, people's verdicts and scores of metrics beside them: a paper's table."""
    rows = [
        ["question_id", "model", "question", "output", "annotator", "correct", "bleu", "gpt4_score"]
    ]
    ratings = []
    for i in range(N // 2):
        for s, system in enumerate(("llama-7b", "our-model")):
            text = sentence(i * 2 + s + 30)
            scores = [round(((i * 7 + s * 3) % 11) / 11, 3), 1 + (i + s) % 5]
            for k, who in enumerate(("ann", "bea", "cem")):
                value = pick(YES_NO, i * 2 + s, k)
                rows.append([f"q{i}", system, f"{sentence(i)}?", text, who, value, *scores])
                ratings.append((f"q{i} {s}", who, value))
    return shape_of("outputs.csv", table_text(rows), ratings)


def listed_and_counted() -> PublicShape:
    """Labels in a list, a vote and counts of each: ``test_suite_annotations.csv`` (HateCheck)."""
    labels = ("hateful", "non-hateful")
    head = ["case_id", "functionality", "test_case", "label_gold", "label_annotated"]
    rows = [["", *head, "label_annotated_maj", "count_label_h", "count_label_nh"]]
    ratings = []
    for i in range(N):
        answers = [pick(labels, i, k) for k in range(5)]
        n = [answers.count(name) for name in labels]
        top = labels[n[1] > n[0]]
        rows.append([i, i + 1, f"f{i % 4}", sentence(i), labels[i % 2], str(answers), top, *n])
        ratings += [(str(i + 1), "", value) for value in answers]
    return shape_of("suite.csv", table_text(rows), ratings)


def measured_hate() -> PublicShape:
    """Questions, a fitted score and who answered: ``measuring-hate-speech`` (ucberkeley)."""
    names = ("sentiment", "respect", "insult")
    head = ["comment_id", "annotator_id", "platform", *names, "hate_speech_score", "text"]
    rows = [[*head, "infitms", "annotator_severity", "annotator_gender", "annotator_gender_men"]]
    ratings = []
    for i in range(N):
        for k in range(4):
            w = (i * 3 + k) % 7
            answers = [pick("01234", i + n * 5, k + n) for n in range(3)]
            fitted = round(((i * 37) % 71) / 10 - 3, 2)
            own = [round(0.5 + w / 9, 2), round(w / 7 - 0.4, 2), ("men", "women")[w % 2]]
            row = [47777 + i, 10873 + w, i % 3, *(f"{v}.0" for v in answers), fitted, sentence(i)]
            rows.append([*row, *own, w % 2 == 0])
            ratings += [
                (f"{i} {name}", str(w), value) for name, value in zip(names, answers, strict=True)
            ]
    return shape_of("measured.csv", table_text(rows), ratings)


def coders_with_notes() -> PublicShape:
    """A codebook sheet: two coders with notes, a third for disputes, and the final code."""
    codes = ("1", "2", "3")
    rows = [["URL", "Title", "Coder1", "Coder1 notes", "Coder2", "Coder2 notes", "Coder3", "Final"]]
    ratings = []
    for i in range(N):
        answers = [pick(codes, i, k) for k in range(2)]
        third = pick(codes, i, 2) if answers[0] != answers[1] else ""
        notes = ["" if (i + k) % 4 else f"see page {i} of the codebook" for k in range(2)]
        final = third or answers[0]
        row = [f"https://example.org/{i}", sentence(i), answers[0], notes[0], answers[1], notes[1]]
        rows.append([*row, third, final])
        ratings += [(str(i), f"Coder{k}", v) for k, v in enumerate([*answers, third], 1) if v]
    return shape_of("coding.csv", table_text(rows), ratings)
