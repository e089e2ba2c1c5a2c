"""Free texts compared by the vectors of an embedding model, asked for like replies."""

from __future__ import annotations

import asyncio
import json
import math

import pytest
from support.processes import invoke
from support.stub_server import letter_counts

import harness
from harness.analysis import validate
from harness.app.plan import estimate_costs, plan_run
from harness.errors import BudgetSpent, JudgeError, JudgeUnavailable, RunError
from harness.files.user_folders import cache_folder
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import check
from harness.judging.parsing.text_vectors import decode_vector, encode_vector
from harness.runs.run_folder import RunFolder
from harness.runs.sources import source_of
from harness.tasks import load_task

TASK = "name: shapes\nproperty: what it is\nscale: text\nsimilarity: {embedding: letters}\n"
REPLIES = {"i1": "hut", "i2": "wolf"}
TEXTS = {"house", "home", "dog", "hut", "wolf"}
PRICE = {"input": 1000.0, "output": 0.0}


def cosine(text, other):
    a, b = letter_counts(text), letter_counts(other)
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


@pytest.fixture
def folder(tmp_path, stub, monkeypatch):
    """A task, and judges.yaml with a scripted judge and the server's embeddings."""
    stub.reset()
    task = tmp_path / "task"
    task.mkdir()
    (task / "task.yaml").write_text(TASK)
    (task / "items.csv").write_text("id,text\ni1,one\ni2,two\n")
    (task / "ratings.csv").write_text(
        "item,rater,value\ni1,a,house\ni1,b,home\ni2,a,dog\ni2,b,dog\n"
    )
    write_judges(tmp_path, stub.url())
    monkeypatch.setenv("HARNESS_JUDGES", str(tmp_path / "judges.yaml"))
    monkeypatch.chdir(tmp_path)
    return task


def write_judges(folder, url, **fields):
    letters = {"kind": "embedding", "model": "letters", "base_url": url, "price": PRICE, **fields}
    judge = {"kind": "scripted", "model": "m", "replies": REPLIES}
    judges = {"judges": {"judge": judge, "letters": letters}}
    (folder / "judges.yaml").write_text(json.dumps(judges))


def test_an_embedding_model_need_not_read_the_images_of_a_task(folder):
    """It is asked about texts alone."""
    task = load_task(str(folder)).model_copy(update={"image": "picture"})
    check(load_judges()["letters"], task)


def test_a_run_compares_texts_by_their_cosine(folder, stub):
    """Each text is asked for once and paid for; the run folder alone gives the numbers again."""
    run = harness.run(folder, "judge")
    by_hand = [
        (cosine("hut", "house") + cosine("hut", "home")) / 2,
        cosine("wolf", "dog"),
    ]
    similarity = run.validation.judge("judge").metrics["similarity"]
    assert similarity.value == pytest.approx(sum(by_hand) / 2, rel=1e-6)
    bodies = [json.loads(request["body"]) for request in stub.requests()]
    assert sorted(body["input"] for body in bodies) == sorted(TEXTS)
    assert stub.stats()["by_path"].keys() == {"/v1/embeddings"}
    assert run.cost_usd == pytest.approx(len(TEXTS) * PRICE["input"] / 1e6)
    assert any("cosine of embeddings from letters" in note for note in run.validation.notes)
    assert validate(source_of(RunFolder.open(run.path))) == run.validation
    again = harness.run(folder, "judge")
    assert len(stub.requests()) == len(TEXTS)
    assert again.validation.judge("judge").metrics["similarity"] == similarity


def test_verdicts_of_another_tool_are_embedded_and_cached(folder, stub, tmp_path):
    """The second time nothing is sent, also from inside an event loop."""
    (tmp_path / "verdicts.csv").write_text("item,judge,value\ni1,x,hut\ni2,x,wolf\n")

    async def validated():
        return harness.validate(folder, "verdicts.csv")

    first = harness.validate(folder, "verdicts.csv")
    assert asyncio.run(validated()) == first
    assert len(stub.requests()) == len(TEXTS)
    assert cache_folder().is_dir()


def test_a_resumed_run_requests_the_missing_embeddings(folder, stub, tmp_path):
    """A failure is told in one line; the resumed run sends the missing texts alone."""
    write_judges(tmp_path, stub.url(fault="404"))
    with pytest.raises(RunError, match=r"letters: 5 of 5 texts have no embedding \(not_found: "):
        harness.run(folder, "judge")
    run = next((tmp_path / "runs").iterdir())
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["embedder"]["base_url"] == stub.url(fault="404")
    assert manifest["state"] == "asked"
    stub.reset()
    with pytest.raises(RunError, match="5 of 5 texts have no embedding"):
        harness.run(resume=run)


def test_a_task_names_a_model_of_the_right_kind(folder, stub, tmp_path):
    """Before anything is asked; and such a model gives no verdicts."""
    with pytest.raises(JudgeError, match=r"letters: this model returns vectors, not verdicts"):
        harness.run(folder, "letters")
    write_judges(tmp_path, stub.url(), kind="endpoint")
    with pytest.raises(
        JudgeError, match=r"'letters' is not a model of kind embedding in judges\.yaml"
    ):
        harness.run(folder, "judge")
    write_judges(tmp_path, stub.url(), key_env="NO_SUCH_KEY")
    with pytest.raises(JudgeUnavailable, match="letters: NO_SUCH_KEY is not set"):
        harness.run(folder, "judge")
    assert stub.requests() == []
    listed = invoke("judges")
    assert "letters" in listed.output


def test_an_unknown_price_is_named(folder, stub, tmp_path):
    """The cost that a run prints does not count its embeddings then."""
    write_judges(tmp_path, stub.url(), price=None)
    ended = invoke("run", "--task", folder, "--judges", "judge")
    assert ended.exit_code == 0, ended.output
    assert "not counting letters (unknown price)" in ended.output


def test_vectors_survive_writing():
    """In single precision, at length 1; what is no vector is refused."""
    assert decode_vector(encode_vector([3.0, 4.0])).tolist() == pytest.approx([0.6, 0.8])
    for wrong in ([], [0.0, 0.0], [float("nan")], ["a"], None, [[1.0]]):
        with pytest.raises((TypeError, ValueError)):
            encode_vector(wrong)


def test_dry_run_left_embedding_calls_out(folder, stub):
    """They have a row of their own: the raters' texts, and one for each planned reply."""
    quotes = {q.judge: q for q in estimate_costs(plan_run(str(folder), ["judge"]))}
    assert list(quotes) == ["judge", "letters"]
    letters = quotes["letters"]
    assert letters.calls == len({"house", "home", "dog"}) + 2
    assert 0 < letters.expected_usd <= letters.cost_usd
    run = harness.run(folder, "judge")
    assert stub.stats()["requests"] <= letters.calls
    assert run.cost_usd <= letters.cost_usd


def test_embeddings_have_no_replies_to_pay_for(folder, stub, tmp_path):
    """A price of output tokens changes nothing."""
    write_judges(tmp_path, stub.url(), price={"input": 0.0, "output": 1000.0})
    quotes = {q.judge: q for q in estimate_costs(plan_run(str(folder), ["judge"]))}
    assert (quotes["letters"].cost_usd, quotes["letters"].expected_usd) == (0.0, 0.0)


def test_embedding_calls_count_in_the_limit_over_resumes(folder, stub, tmp_path):
    """They end a run at its limit with exit code 4; what was embedded counts when it is resumed."""
    price = {"input": 1000, "output": 0}
    write_judges(tmp_path, stub.url(bill="1"), price=price)
    with pytest.raises(BudgetSpent, match=r"2 of 5 texts have no embedding, because max_cost=0.4"):
        harness.run(folder, "judge", max_cost=0.4)
    run = next((tmp_path / "runs").iterdir())
    assert stub.stats()["requests"] == 3
    with pytest.raises(BudgetSpent, match="2 of 5"):
        harness.run(resume=run)
    assert stub.stats()["requests"] == 3, "what was paid before leaves no room"
    [billed] = stub.stats()["billed"].values()
    assert billed["prompt"] * price["input"] / 1e6 <= 0.4
    assert harness.run(resume=run, max_cost=5).exit_code == 0


def test_a_wrong_judges_file_does_not_stop_a_validation_without_embeddings(tmp_path, monkeypatch):
    """It was read before the task was asked whether it embeds anything."""
    (tmp_path / "judges.yaml").write_text("judges: [broken\n", encoding="utf-8")
    monkeypatch.setenv("HARNESS_JUDGES", str(tmp_path / "judges.yaml"))
    items = load_task("toxicity").items
    rows = [f"{item.id},mine,{'AB'[i % 2]}" for i, item in enumerate(items)]
    verdicts = tmp_path / "verdicts.csv"
    verdicts.write_text("\n".join(["item,judge,value", *rows]), encoding="utf-8")
    assert harness.validate("toxicity", str(verdicts)).judges
