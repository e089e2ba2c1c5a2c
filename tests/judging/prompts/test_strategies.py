"""Strategies in names of judges, in judges.yaml, and in prompts."""

from __future__ import annotations

import pytest
from support.judge_runs import scripted
from support.task_folders import make_task_folder

from harness.errors import JudgeError, JudgeUnavailable, PromptError
from harness.judging.judges.config import load_judges, new_judge
from harness.judging.judges.judge_registry import build, look_up, own_judges, resolve
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts
from harness.judging.strategies.chain_of_thought import COT_MAX_TOKENS
from harness.judging.strategies.strategy_registry import named, split_strategy
from harness.options.concerns import NO_SERVER
from harness.tasks import load_task
from harness.tasks.item import ELICITATIONS

URL = "http://127.0.0.1:1/v1"


@pytest.fixture
def task(tmp_path):
    return load_task(str(make_task_folder(tmp_path / "small")))


def test_only_a_registered_strategy_after_the_last_at_sign_counts():
    """Model strings may hold the sign; the part before it is never empty."""
    assert split_strategy("gpt@cot") == ("gpt", "cot")
    assert split_strategy("vertex_ai/claude@20250101@cot") == ("vertex_ai/claude@20250101", "cot")
    for name in ("gpt", "vertex_ai/claude@20250101", "m@cot@1", "gpt@CoT", "@cot", "gpt@"):
        assert split_strategy(name) == (name, "")


def test_a_strategy_is_part_of_the_name_and_raises_the_token_limit(task):
    """One alias runs under two strategies at once; larger limits and absent ones stay."""
    registry = load_judges()
    plain, cot = resolve(["llama", "llama@cot"], task, registry).specs
    assert (plain.name, plain.strategy, plain.params["max_tokens"]) == ("llama", "zero-shot", 32)
    assert (cot.name, cot.strategy) == ("llama@cot", "cot")
    assert cot.params == plain.params | {"max_tokens": COT_MAX_TOKENS}
    limits = {"max_tokens": None, "max_completion_tokens": 5000}
    roomy = new_judge(name="m", model="m", base_url=URL, params=limits)
    assert look_up("m@cot", {"m": roomy}).params == roomy.params


def test_an_alias_with_the_whole_name_comes_first(task):
    """An alias may hold a strategy's name, and a model string its sign, through judges.yaml."""
    alias = new_judge(name="m@cot", model="m", base_url=URL)
    assert resolve(["m@cot"], task, {"m@cot": alias}).specs == [alias]


def test_judges_yaml_has_a_field_for_the_strategy(tmp_path):
    """Its limit is that of chain of thought unless the entry sets another."""
    path = tmp_path / "judges.yaml"
    entry = f'{{base_url: "{URL}", model: m, strategy: cot}}'
    path.write_text(f"judges:\n  a: {entry}\n  b: {entry[:-1]}, params: {{max_tokens: 99}}}}\n")
    judges = load_judges(path)
    assert [judges[name].strategy for name in "ab"] == ["cot", "cot"]
    assert [judges[name].params["max_tokens"] for name in "ab"] == [COT_MAX_TOKENS, 99]
    path.write_text(f"judges:\n  a: {entry.replace('cot', 'guess')}\n")
    with pytest.raises(JudgeError, match=r"judges\.a\.strategy: no such strategy. Use one of"):
        load_judges(path)


def test_a_judge_has_one_strategy():
    """A second one is an error that names both."""
    judge = new_judge(name="m", model="m", base_url=URL, strategy="cot")
    with pytest.raises(JudgeError, match=r"'m' already has the strategy cot"):
        look_up("m@cot", {"m": judge})


def test_judges_that_read_no_prompts_take_no_strategy(task):
    """They are refused before anything is asked."""
    with pytest.raises(JudgeUnavailable, match=r"random@cot: strategy cot needs a judge that"):
        resolve(["random@cot"], task, load_judges())


def test_a_judge_of_a_resumed_run_under_a_strategy_is_found_by_its_name():
    """It keeps the run's token limit; another model or strategy than its name says is refused."""
    registry = load_judges()
    own = look_up("gpt@cot", registry)
    limited = own.model_copy(update={"params": own.params | {"max_tokens": 900}})
    assert own_judges([limited], registry, NO_SERVER) == (limited,)
    for changes in ({"model": "openai/other"}, {"strategy": "zero-shot"}):
        other = own.model_copy(update=changes)
        with pytest.raises(JudgeError, match="uses your definitions"):
            own_judges([other], registry, NO_SERVER)


def test_chain_of_thought_has_its_own_messages_and_keys(task):
    """No request is that of the zero-shot judge; a pair's first turn is that of the set."""
    prompts = Prompts.load(task, strategies=[named("cot")])
    spec = scripted({"*": "A"})
    plain = build(spec, task, prompts)
    cot = build(spec.model_copy(update={"strategy": "cot"}), task, prompts)
    item = task.items[0].id
    for elicitation in ELICITATIONS:
        requests = [judge.request(Unit(item, elicitation)) for judge in (plain, cot)]
        assert requests[0].cache_key != requests[1].cache_key
        assert "First give your reasons" in requests[1].messages[-1].content
        assert "First give your reasons" not in requests[0].messages[-1].content
    first, endorsed = (
        prompts.messages(task.items[0], name, named("cot")) for name in ("paired", "response_set")
    )
    assert first == endorsed


def test_templates_of_a_strategy_are_hashed_and_saved_where_it_is_used(task, tmp_path):
    """Without the strategy, hash and folder are as before; with it, both can be restored."""
    assert Prompts.load(task).hash == Prompts.load(task, strategies=[named("zero-shot")]).hash
    prompts = Prompts.load(task, strategies=[named("cot")])
    assert prompts.hash != Prompts.load(task).hash
    prompts.save(tmp_path / "saved")
    assert Prompts.load(task, tmp_path / "saved", strategies=[named("cot")]).hash == prompts.hash


def test_a_task_with_its_own_template_needs_one_for_reasons_too(tmp_path):
    """The bundled template never silently replaces the task's own."""
    folder = make_task_folder(tmp_path / "small")
    template = "[user]\nRate.\n{{fence}}\n{{text}}\n{{fence}}\n"
    for name in ("own.txt", "reasons.txt"):
        (folder / name).write_text(template)
    fields = folder / "task.yaml"
    content = fields.read_text()
    fields.write_text(content + "prompts: {forced_choice: own.txt}\n")
    Prompts.load(load_task(str(folder)))
    with pytest.raises(PromptError, match=r"forced_choice but not for forced_choice_cot"):
        Prompts.load(load_task(str(folder)), strategies=[named("cot")])
    fields.write_text(
        content + "prompts: {forced_choice: own.txt, forced_choice_cot: reasons.txt}\n"
    )
    Prompts.load(load_task(str(folder)), strategies=[named("cot")])
