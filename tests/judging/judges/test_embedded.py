"""Judges without a network: random choice, word list, script."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from support.judge_runs import scripted
from support.task_folders import make_task_folder

from harness.errors import CallFailed, JudgeUnavailable
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import build
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts
from harness.tasks import load_task

LEXICON = "lexicon: {positive: B, negative: A}\n"


@pytest.fixture
def make(tmp_path):
    """Make a task whose task.yaml ends with some lines of ours."""

    def write(extra="", **arguments):
        folder = make_task_folder(tmp_path / f"task{len(list(tmp_path.iterdir()))}", **arguments)
        path = folder / "task.yaml"
        path.write_text(path.read_text() + extra)
        return load_task(str(folder))

    return write


def judge_of(task, kind, *, seed=0):
    spec = kind if not isinstance(kind, str) else load_judges()[kind]
    return build(spec, task, Prompts.load(task), seed=seed)


def ask(judge, item, elicitation="forced_choice", sample=0):
    """Ask as the runner does: once, or twice for a pair."""

    async def turns():
        unit = Unit(item=item, elicitation=elicitation, sample=sample)
        request = judge.request(unit)
        first = await judge.ask(request)
        if elicitation != "paired":
            return first, None
        return await judge.ask(judge.follow_up(request, first)), first

    reply, first = asyncio.run(turns())
    return (reply, first) if first else reply


def verdict_of(task, judge, item, elicitation="forced_choice", sample=0):
    unit = Unit(item=item, elicitation=elicitation, sample=sample)
    text = ask(judge, item, elicitation, sample)
    reply, first = text if elicitation == "paired" else (text, None)
    return ReplyReader(task).verdict(reply, unit, judge.spec.name, first=first)


@pytest.mark.parametrize("kind", ["random", "lexicon"])
@pytest.mark.parametrize("elicitation", ["forced_choice", "response_set", "paired"])
def test_every_embedded_judge_answers_every_elicitation(make, kind, elicitation):
    """Their replies are text that the one parser reads; they cost nothing."""
    task = make(LEXICON)
    verdict = verdict_of(task, judge_of(task, kind), "i3", elicitation)
    assert verdict.outcome == "answered"
    assert verdict.reply.cost_usd == 0.0
    if elicitation == "paired":
        assert verdict.value.choice in verdict.value.set


# -- random -----------------------------------------------------------------------------------


def test_random_is_a_function_of_seed_and_request(make):
    """The same seed gives the same run; another seed, sample or item another draw."""
    task = make(n=40)
    first, same, other = (judge_of(task, "random", seed=s) for s in (1, 1, 2))
    draws = [ask(first, f"i{i}", sample=s).text for i in range(40) for s in range(3)]
    assert draws == [ask(same, f"i{i}", sample=s).text for i in range(40) for s in range(3)]
    assert draws != [ask(other, f"i{i}", sample=s).text for i in range(40) for s in range(3)]
    assert draws[0::3] != draws[1::3]


def test_random_is_uniform_over_options_and_over_sets(make):
    """1,200 draws over 2 options and 3 sets stay within four standard errors of uniform."""
    task = make()
    judge = judge_of(task, "random")
    options = Counter(ask(judge, "i1", sample=s).text for s in range(1200))
    assert set(options) == {"A", "B"}
    assert abs(options["A"] - 600) < 4 * (1200 * 0.5 * 0.5) ** 0.5
    sets = Counter(ask(judge, "i1", "response_set", s).text for s in range(1200))
    assert set(sets) == {"A", "B", "A, B"}
    assert all(abs(n - 400) < 4 * (1200 / 3 * 2 / 3) ** 0.5 for n in sets.values())


def test_random_chooses_within_the_set_it_just_gave(make):
    """A pair is one conversation."""
    task = make()
    judge = judge_of(task, "random")
    values = [verdict_of(task, judge, "i2", "paired", s).value for s in range(60)]
    assert all(value.choice in value.set for value in values)
    assert {value.choice for value in values if len(value.set) == 2} == {"A", "B"}


# -- word list --------------------------------------------------------------------------------


def test_lexicon_means_what_the_task_says(make, tmp_path):
    """Kind words are the positive key, unkind ones the negative; no word known is not toxic."""
    folder = make_task_folder(tmp_path / "words", n=3)
    rows = ["You are wonderful, thank you!", "I hate you, you horrible liar.", "The table is here."]
    lines = [f'{{"id": "i{i}", "text": "{text}"}}\n' for i, text in enumerate(rows)]
    (folder / "items.jsonl").write_text("".join(lines))
    with (folder / "task.yaml").open("a") as file:
        file.write(LEXICON)
    task = load_task(str(folder))
    judge = judge_of(task, "lexicon")
    assert [ask(judge, f"i{i}").text for i in range(3)] == ["B", "A", "B"]
    sets = [ask(judge, f"i{i}", "response_set") for i in range(3)]
    assert [reply.text for reply in sets] == ["B", "A", "A, B"]
    assert all(reply.derived for reply in sets)


def test_lexicon_sends_the_text_alone(make):
    """The word list scores the item, not the instructions around it."""
    task = make(LEXICON)
    request = judge_of(task, "lexicon").request(Unit(item="i1", elicitation="response_set"))
    assert [m.content for m in request.messages] == ["This is comment number 1."]


def test_lexicon_without_a_meaning_is_unavailable(make):
    """A task that does not say what sentiment means has no word-list judge."""
    task = make()
    with pytest.raises(JudgeUnavailable, match="lexicon"):
        judge_of(task, "lexicon")


# -- script -----------------------------------------------------------------------------------


def test_scripted_replays_by_item_sample_and_elicitation(make):
    """One text for all samples, a text per sample, a text per elicitation, and a fallback."""
    task = make()
    judge = judge_of(
        task,
        scripted(
            {
                "i0": "A",
                "i1": ("A", "B"),
                "i2": {"forced_choice": "B", "response_set": ("A, B",)},
                "*": "CANNOT_ASSESS",
            },
            samples=2,
        ),
    )
    assert [ask(judge, "i0", sample=s).text for s in (0, 1)] == ["A", "A"]
    assert [ask(judge, "i1", sample=s).text for s in (0, 1)] == ["A", "B"]
    assert ask(judge, "i2").text == "B"
    assert ask(judge, "i2", "response_set").text == "A, B"
    assert verdict_of(task, judge, "i5").outcome == "abstained"


def test_scripted_pairs_have_two_lines(make):
    """The first turn gives the set, the second the choice."""
    task = make()
    judge = judge_of(task, scripted({"*": {"paired": (("A, B", "A"), ("B", "B"))}}, samples=2))
    first, second = (verdict_of(task, judge, "i0", "paired", s).value for s in (0, 1))
    assert (first.set, first.choice) == (("A", "B"), "A")
    assert (second.set, second.choice) == (("B",), "B")


def test_scripted_has_nothing_to_say_beyond_its_script(make):
    """What is not in the script fails, and is not to be asked again."""
    task = make()
    judge = judge_of(task, scripted({"i1": ("A",)}))
    for item, sample in (("i0", 0), ("i1", 1)):
        with pytest.raises(CallFailed, match="not_in_script") as caught:
            ask(judge, item, sample=sample)
        assert not caught.value.retry


def test_scripted_has_its_script_in_the_key(make):
    """Another script is another judge."""
    task = make()
    unit = Unit(item="i0", elicitation="forced_choice")
    requests = [judge_of(task, scripted({"*": text})).request(unit) for text in "AB"]
    assert requests[0].hash != requests[1].hash
