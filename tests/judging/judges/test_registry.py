"""Judges by name: aliases, who runs, who cannot, what they cost."""

from __future__ import annotations

import json
import os

import pytest
from support.task_folders import make_task_folder

from harness.errors import JudgeError, JudgeUnavailable
from harness.files.user_folders import user_file
from harness.judging.judge_spec import JudgeSpec, Price
from harness.judging.judges.base import key_of
from harness.judging.judges.config import explained, load_judges, new_judge
from harness.judging.judges.judge_registry import build, check, notice_of, resolve
from harness.judging.judges.pricing import estimate, price_of
from harness.judging.prompts.question import Message, Unit
from harness.judging.prompts.requests import Prompts, Request
from harness.options.concerns import Server
from harness.tasks import load_task

CANARY = "sk-canary-0123456789"


@pytest.fixture
def task(tmp_path):
    return load_task(str(make_task_folder(tmp_path / "small")))


@pytest.fixture
def own(tmp_path):
    """Write a judges file and return its path."""

    def write(text):
        path = tmp_path / "judges.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


# -- aliases ----------------------------------------------------------------------------------


def test_shipped_aliases_are_those_the_readme_names():
    """gpt, claude, gemini, mistral and llama are hosted; the rest need no key."""
    judges = load_judges()
    hosted = {name: spec for name, spec in judges.items() if spec.kind == "litellm"}
    assert set(hosted) == {"gpt", "claude", "gemini", "mistral", "llama"}
    assert set(judges) - set(hosted) == {"smollm2", "lexicon", "random"}
    assert all(spec.key_env for spec in hosted.values())


def test_shipped_hosted_judges_have_a_listed_price():
    """What a run with a shipped alias costs can be said beforehand."""
    for spec in load_judges().values():
        price = price_of(spec)
        assert price is not None, spec.name
        assert (price.output > 0) == spec.remote, spec.name


def test_defaults_follow_the_kind():
    """Hosted and random judges give 10 samples that differ; the others give one."""
    judges = load_judges()
    assert {name: spec.samples for name, spec in judges.items()} == {
        **dict.fromkeys(("gpt", "claude", "gemini", "mistral", "llama", "random"), 10),
        **dict.fromkeys(("smollm2", "lexicon"), 1),
    }
    assert judges["gpt"].params["temperature"] == 1.0
    assert judges["smollm2"].params["temperature"] == 0.0


def test_own_file_adds_and_overrides(own):
    """An entry of the user's replaces the shipped one of its name; params join the defaults."""
    path = own("""
judges:
  gpt: {model: openai/gpt-4o, key_env: MY_KEY, params: {max_tokens: 64, temperature: null}}
  local: {base_url: "http://127.0.0.1:8000/v1/", model: qwen}
""")
    judges = load_judges(path)
    assert judges["gpt"].model == "openai/gpt-4o"
    assert judges["gpt"].sent_params == {"max_tokens": 64}
    assert judges["local"].kind == "endpoint"
    assert judges["local"].base_url == "http://127.0.0.1:8000/v1"
    assert "claude" in judges


def test_specifications_survive_a_manifest(own):
    """What is written to a run folder reads back the same, defaults taken away included."""
    path = own("judges: {gpt: {model: openai/gpt-4o, params: {temperature: null}, key_env: null}}")
    for spec in load_judges(path).values():
        assert JudgeSpec.model_validate_json(spec.model_dump_json()) == spec
        assert JudgeSpec.model_validate(spec.model_dump(mode="json")) == spec


def test_an_entry_written_from_a_judge_loads_as_the_same_judge(own):
    """One sample became ten, since one is the default of a field and ten that of its kind."""
    entries = {
        "once": {"model": "openai/gpt-4o", "samples": 1, "n_per_request": 1, "concurrency": 8},
        "keyless": {"model": "anthropic/claude", "key_env": None, "params": {"temperature": None}},
        "two": {"model": "m", "base_url": ["http://a/v1", "http://b/v1"], "samples": 1, "reask": 0},
        "strict": {"model": "m", "base_url": "http://a/v1", "strategy": "json", "deadline_s": 30.0},
        "both": {"kind": "ensemble", "members": ["once", "two"]},
        "says": {"kind": "scripted", "replies": {"*": "A", "i": ["A", ["B", "x"]]}},
    }
    judges = load_judges(own(json.dumps({"judges": entries})))
    written = {name: spec.entry() for name, spec in judges.items()}
    assert load_judges(own(json.dumps({"judges": written}))) == judges


def test_own_file_is_looked_for_where_the_help_says(tmp_path, monkeypatch):
    """$HARNESS_JUDGES goes before the configuration folder's file."""
    assert user_file() is None
    home = tmp_path / "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    (home / "judge-harness").mkdir(parents=True)
    (home / "judge-harness" / "judges.yaml").write_text("judges: {a: {model: openai/a}}")
    assert "a" in load_judges()
    other = tmp_path / "other.yaml"
    other.write_text("judges: {b: {model: openai/b}}")
    monkeypatch.setenv("HARNESS_JUDGES", str(other))
    assert "b" in load_judges()
    assert "a" not in load_judges()


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("judges: {a: {model: openai/a, smaples: 3}}", ["judges.a.smaples", "unknown field"]),
        ("judges: {a: {model: openai/a, samples: 0}}", ["judges.a.samples", "greater than"]),
        ("judges: {a: {kind: magic, model: m}}", ["judges.a.kind", "must be built in"]),
        ("judges: {a: {kind: endpoint, model: m}}", ["judges.a", "base_url is missing"]),
        ("judges: {a: {kind: lexicon, base_url: 'http://h'}}", ["judges.a", "don't use base_url"]),
        ("judges: {a: {model: m, base_url: 'ftp://h/v1'}}", ["judges.a.base_url", "http://"]),
        ("judges: {a: {model: m, base_url: 'http://u:p@h/v1'}}", ["base_url", "a user name"]),
        ("judges: {a: {model: m, base_url: 'http://h:99999/v1'}}", ["base_url", "0-65535"]),
        ('judges: {a: {model: m, base_url: "http://h/\\r\\nX: y"}}', ["base_url", "control char"]),
        ('judges: {a: {model: "m\\0"}}', ["judges.a.model"]),
        ('judges: {a: {model: "m\\ud800"}}', ["line 1", "surrogate"]),
        ("judges: {a: {model: openai/a, params: {top_p: 1e999}}}", ["a.params", "JSON"]),
        (
            "judges: {a: {model: openai/a, params: {api_key: x}}}",
            ["a.params", "api_key", "key_env"],
        ),
        ("judges: {a: {model: openai/a, params: {stream: true}}}", ["a.params", "stream"]),
        ("judges: {a: just text}", ["judges.a", "must contain fields"]),
        ("judges: {a: {name: b, model: m}}", ["judges.a", "no `name:`"]),
        ("judges:\n  a: {model: m}\n  a: {model: n}", ["line 3", "'a' appears twice"]),
        ("judges:\n  a: &x {model: m}\n  b: *x", ["line 2", "anchor"]),
        ("judges: {a: {model: m}", ["line 1", "not valid YAML"]),
        (f"judges: {{a: {{model: m, samples: {'9' * 5000}}}}}", ["a.samples", "as an integer"]),
        ("other: {}", ["`judges:`"]),
        ("[]", ["'key: value'"]),
        ("", ["'key: value'"]),
        (b"judges: {a: {model: \xff}}", ["line 1", "not UTF-8"]),
        ("judges: {a: {model: m}}" + " " * (1 << 20), ["larger than"]),
        ("judges: " + "[" * 600 + "]" * 600, ["nested deeper than 16 levels"]),
        ("judges: {a: !!python/object/apply:os.system [x]}", ["line 1", "found a tag"]),
    ],
)
def test_faults_in_a_judges_file_name_file_and_field(own, text, mentions):
    """Every fault says where it is and what was wanted."""
    with pytest.raises(JudgeError) as caught:
        load_judges(own(text))
    for words in ["judges.yaml", *mentions]:
        assert words in str(caught.value)


def test_a_missing_judges_file_is_named(tmp_path):
    """A path that was given must be there."""
    with pytest.raises(JudgeError, match=r"gone\.yaml.*cannot be read"):
        load_judges(tmp_path / "gone.yaml")


def test_a_key_written_in_the_wrong_place_is_not_repeated(own):
    """A message about a bad field never quotes it: it may be the key itself."""
    for text in (
        f"judges: {{a: {{model: openai/a, key_env: {CANARY}}}}}",
        f"judges: {{a: {{model: openai/a, params: {{api_key: {CANARY}}}}}}}",
        f"judges: {{a: {{model: openai/a, samples: {CANARY}}}}}",
        f"judges: {{a: {{model: m, base_url: 'http://h/v1?key={CANARY}'}}}}",
    ):
        with pytest.raises(JudgeError) as caught:
            load_judges(own(text))
        assert CANARY not in str(caught.value)
        assert "judges.a" in str(caught.value)


# -- who runs ---------------------------------------------------------------------------------


def test_without_names_the_embedded_judges_that_apply_run(task):
    """What applies runs; what does not is skipped with a reason; ``random`` must be named."""
    lexicon = task.model_copy(update={"lexicon": {"positive": "B", "negative": "A"}})
    specs, skipped = resolve(None, lexicon, load_judges())
    assert {spec.name for spec in specs} | {name for name, _ in skipped} == {"smollm2", "lexicon"}
    assert "lexicon" in {spec.name for spec in specs}
    bare = {name: spec for name, spec in load_judges().items() if name != "smollm2"}
    with pytest.raises(JudgeError, match=r"no judge is left.*lexicon: task 'small' does not"):
        resolve(None, task, bare)


def test_no_judge_joins_a_run_that_was_not_named(task):
    """Baselines are computed from the ratings; they were asked, and took rows of calls."""
    judges = load_judges()
    assert [spec.name for spec in resolve(["gpt"], task, judges).specs] == ["gpt"]
    named = resolve(["random", "gpt"], task, judges).specs
    assert [spec.name for spec in named] == ["random", "gpt"]


def test_a_named_judge_that_does_not_apply_is_an_error(task):
    """Asking for it by name means wanting it."""
    with pytest.raises(JudgeUnavailable, match=r"lexicon.*'small'.*lexicon:"):
        resolve(["lexicon"], task, load_judges())


def test_any_model_string_works_as_it_is(task):
    """A name with a slash needs no alias; its provider's key variable is known."""
    (spec, other) = resolve(["openai/gpt-4o", "ollama/llama3"], task, load_judges()).specs
    assert (spec.name, spec.kind, spec.model) == ("openai/gpt-4o", "litellm", "openai/gpt-4o")
    assert spec.key_env == "OPENAI_API_KEY"
    assert other.key_env is None


def test_a_base_url_makes_model_names_endpoints(task):
    """With an address on the command line a name that is no alias is that server's model."""
    (spec,) = resolve(
        ["qwen"], task, load_judges(), Server(base_url="http://127.0.0.1:1/v1", key_env="MY_KEY")
    ).specs
    assert (spec.kind, spec.model, spec.key_env) == ("endpoint", "qwen", "MY_KEY")


def test_a_key_is_not_sent_to_an_address_of_ones_own():
    """A provider's key goes to that provider; elsewhere a key must be named."""
    spec = new_judge(name="a", kind="litellm", model="openai/a", base_url="http://127.0.0.1:1/v1")
    assert spec.key_env is None


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["gpt", "gpt"], "'gpt' is listed twice"),
        (
            ["gtp"],
            r"unknown judge 'gtp'\. Did you mean gpt\? The aliases are gpt, claude.*openai/gpt-4o",
        ),
        (
            ["smolm2@verbalised"],
            r"unknown judge 'smolm2'\. Did you mean smollm2\? The aliases are gpt",
        ),
        (["absent"], r"unknown judge 'absent'\. The aliases are gpt"),
        (["openai/\x00"], "name"),
    ],
)
def test_names_that_cannot_be_meant_are_errors(task, names, message):
    """Duplicates and unknown aliases stop before anything is asked."""
    with pytest.raises(JudgeError, match=message):
        resolve(names, task, load_judges())


# -- who cannot -------------------------------------------------------------------------------


def test_a_missing_key_names_its_variable(monkeypatch):
    """One line, before anything is spent."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(JudgeUnavailable, match=r"^gpt: OPENAI_API_KEY is not set. Set "):
        check(load_judges()["gpt"])


def test_an_address_in_the_environment_was_ignored(monkeypatch):
    """With OPENAI_BASE_URL set, texts went to the provider that the user meant to avoid."""
    spec = load_judges()["gpt"]
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://user:{CANARY}@gateway:1/v1")
    with pytest.raises(
        JudgeUnavailable, match=r"^gpt: OPENAI_BASE_URL names a different"
    ) as caught:
        check(spec)
    assert CANARY not in str(caught.value)
    check(spec.model_copy(update={"base_url": "http://gateway:1/v1"}))
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.openai.com/v1/")
    check(spec)


def test_a_key_that_is_there_is_never_shown(monkeypatch):
    """Neither the specification nor the judge tells it; a broken one is not quoted."""
    spec = load_judges()["gpt"]
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    check(spec)
    assert key_of(spec.name, spec.key_env) == CANARY
    assert CANARY not in f"{spec!r} {spec} {spec.model_dump_json()}"
    monkeypatch.setenv("OPENAI_API_KEY", CANARY + "\nX-Evil: 1")
    with pytest.raises(JudgeUnavailable) as caught:
        check(spec)
    assert CANARY not in str(caught.value)


def test_checking_a_guarded_judge_does_not_import_litellm(monkeypatch):
    """Listing judges stays quick."""
    import subprocess
    import sys

    code = (
        "import sys; from harness.judging.judges.config import load_judges;"
        "from harness.judging.judges.pricing import price_of;"
        "from harness.judging.judges.judge_registry import check; s = load_judges()['gpt'];"
        "check(s); price_of(s); assert 'litellm' not in sys.modules, 'imported'"
    )
    env = {**os.environ, "OPENAI_API_KEY": CANARY}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)


def test_a_provider_that_cannot_be_guarded_needs_permission():
    """One line says so; with permission it runs."""
    spec = new_judge(name="b", model="bedrock/anthropic.claude")
    with pytest.raises(JudgeUnavailable, match=r"bedrock.*--allow-redirects"):
        check(spec)
    check(spec.model_copy(update={"allow_redirects": True}))
    assert "redirects can send your key" in notice_of(spec)


def test_shipped_judges_need_no_remark():
    """A caveat is for judges of providers that are not known."""
    assert {notice_of(spec) for spec in load_judges().values()} == {""}


def test_reprs_fit_a_line(task):
    """A judge tells what it is at a glance."""
    prompts = Prompts.load(task)
    for name in ("random", "gpt"):
        spec = load_judges()[name]
        for shown in (repr(spec), repr(build(spec, task, prompts))):
            assert "\n" not in shown
            assert len(shown) < 100


# -- what is asked, and what it costs -------------------------------------------------------------


def test_requests_hold_all_that_can_change_the_reply(task):
    """Address, model, parameters, item, elicitation and sample change the hash; the alias not."""
    prompts = Prompts.load(task)
    base = {"kind": "endpoint", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
    unit = Unit(item="i1", elicitation="forced_choice")

    def hash_of(unit=unit, **changed):
        spec = new_judge(**({"name": "a"} | base | changed))
        return build(spec, task, prompts).request(unit).hash

    same = hash_of()
    assert hash_of(name="another") == same
    others = [
        hash_of(model="n"),
        hash_of(base_url="http://127.0.0.1:2/v1"),
        hash_of(params={"temperature": 0.5}),
        hash_of(unit=unit._replace(item="i2")),
        hash_of(unit=unit._replace(elicitation="response_set")),
        hash_of(unit=unit._replace(sample=1)),
    ]
    assert len({same, *others}) == 1 + len(others)


def test_cost_by_hand():
    """(900 fresh x 2 + 100 cached x 0.5 + 10 x 8) / 1e6 = 0.00193 USD."""
    price = Price(input=2, output=8, cached=0.5)
    assert price.cost_usd(1000, 10, 100) == pytest.approx(0.00193)
    assert Price(input=2, output=8).cost_usd(1000, 10, 100) == pytest.approx(0.00208)


def test_prices_are_looked_up_or_unknown():
    """The judge's own price first, then litellm's list; an endpoint's is unknown, ours are free."""
    own = Price(input=1, output=2)
    assert price_of(new_judge(name="a", model="openai/gpt-4o", price=own)) == own
    listed = price_of(new_judge(name="a", model="openai/gpt-4o"))
    assert listed is not None
    assert listed.input == pytest.approx(2.5)
    assert price_of(new_judge(name="a", model="openai/no-such-model")) is None
    assert price_of(new_judge(name="a", model="m", base_url="http://127.0.0.1:1/v1")) is None
    assert price_of(load_judges()["random"]) == Price(input=0, output=0)


def test_estimates_are_near_what_servers_count():
    """400 bytes are about 100 tokens; the reply's limit is the judge's own."""
    spec = new_judge(name="a", model="openai/a", params={"max_tokens": 20})
    request = Request(
        provider="litellm", model="a", messages=(Message(role="user", content="x" * 400),)
    )
    assert estimate(spec, request) == (104, 20)


def test_more_judges_than_are_compared_make_no_run(task):
    """They are refused before any is looked up."""
    with pytest.raises(JudgeError, match=r"51 judges are named, but a run has at most 50"):
        resolve([f"j{j}" for j in range(51)], task, {})


def test_a_failure_names_the_server_and_the_variable_of_the_key():
    """Of an alias the provider's, of a judge of one's own those that it was given."""
    gpt = new_judge(name="gpt", model="gpt-4o")
    assert explained(gpt, "unreachable").startswith(
        "unreachable: no server answers at https://api.openai.com"
    )
    assert explained(gpt, "unauthorized").endswith("rejects the key in OPENAI_API_KEY")
    mine = new_judge(name="mine", model="m", base_url="http://127.0.0.1:9/v1")
    assert "no server answers at http://127.0.0.1:9/v1." in explained(mine, "unreachable")
    assert "`key_env` in judges.yaml" in explained(mine, "unauthorized")
