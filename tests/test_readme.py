"""README: every command in it is run, every output in it is what the command prints."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from making import harness
from stubbing import start_stub

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(README)
QUICK_START = BLOCK.search(README[README.index("## Quick start") :])

# Each command, and how it ends on a machine without keys and without the servers it names.
NO_KEY = (2, "OPENAI_API_KEY")
ENDS = {
    "harness judges": (0, "anthropic/"),
    "harness run --task toxicity --judges gpt,claude --samples 5 --max-cost 2": NO_KEY,
    "harness run --task toxicity --judges openai/gpt-4o,ollama/llama3": NO_KEY,
    "harness run --task toxicity --judges my-model --base-url http://127.0.0.1:8000/v1": (0, "Use"),
    "harness run --task toxicity --judges gpt,claude --dry-run": (0, "cost at most"),
    "harness run --task ./helpful": (0, "Its mse(srs/srs) is"),
    "harness validate --task ./helpful --verdicts verdicts.csv": (0, "Use gpt."),
    "harness validate --task diagnoses": (0, "0.430"),
    "harness probe injection --task toxicity --judges lexicon": (0, "flip under attack"),
    "harness runs": (0, "toxicity-"),
    "harness run --resume": (2, "no unfinished run to resume"),
}


def commands() -> list[str]:
    lines = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
    return [line for line in lines if line.startswith("harness ")]


@pytest.fixture(scope="module")
def stub():
    with start_stub() as running:
        yield running


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder of a reader who followed README: the task ./helpful and some verdicts."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "helpful"
    folder.mkdir()
    [task] = [text for kind, text in BLOCKS if kind == "yaml" and text.startswith("name: helpful")]
    (folder / "task.yaml").write_text(task, encoding="utf-8")
    items = "".join(f"i{i},Answer number {i}.\n" for i in range(6))
    (folder / "items.csv").write_text(f"id,text\n{items}", encoding="utf-8")
    rows = [f"i{i},r{j},,{'AB'[(i + j) % 3 == 0]}" for i in range(6) for j in range(3)]
    rows += [f'i{i},r{j},response_set,"[""A"",""B""]"' for i in range(6) for j in range(3)]
    text = "\n".join(["item,rater,elicitation,value", *rows])
    (folder / "ratings.csv").write_text(f"{text}\n", encoding="utf-8")
    verdicts = "".join(f"i{i},gpt,{'AB'[i % 2]}\n" for i in range(6))
    (tmp_path / "verdicts.csv").write_text(f"item,judge,value\n{verdicts}", encoding="utf-8")
    return tmp_path


def test_every_command_of_the_readme_is_tested():
    """No command stands in README that this file does not run."""
    assert set(commands()) == ENDS.keys()


def test_quick_start_has_two_lines():
    """The first sets up and runs the main job, the second passes the tests."""
    first, second = QUICK_START[2].splitlines()
    assert first.startswith("python3 -m venv .venv && ")
    assert first.endswith(".venv/bin/uv run harness run --task toxicity")
    assert second == ".venv/bin/uv run pytest"


@pytest.mark.parametrize("command", ENDS)
def test_command_of_the_readme_ends_as_it_says(command, place, stub):
    """Each command does what its paragraph says."""
    code, words = ENDS[command]
    arguments = shlex.split(command)[1:]
    arguments = [stub.url() if a.startswith("http://127.0.0.1") else a for a in arguments]
    if (
        command == "harness run --task ./helpful"
    ):  # a reader without keys; SmolLM2 is tested elsewhere
        arguments += ["--judges", "random"]
    if command == "harness runs":
        harness("run", "--task", "toxicity", "--judges", "lexicon", "--limit", "5", cwd=place)
    done = harness(*arguments, cwd=place)
    assert done.returncode == code, done.stderr
    assert words in done.stdout + done.stderr


@pytest.mark.parametrize("command", ["harness validate --task diagnoses"])
def test_output_in_the_readme_is_what_is_printed(command, place):
    """What follows a command in README is its real output, to the letter."""
    [(place_of, _)] = [(i, t) for i, (_, t) in enumerate(BLOCKS) if t == f"{command}\n"]
    kind, shown = BLOCKS[place_of + 1]
    assert kind == "text"
    assert harness(*shlex.split(command)[1:], cwd=place).stdout == shown


def test_main_output_in_the_readme_has_the_shape_of_a_run(place):
    """The pasted output of the main job has the lines that a run has today."""
    shown = next(text for kind, text in BLOCKS if kind == "text")
    command = ("run", "--task", "toxicity", "--judges", "lexicon", "--limit", "5")
    printed = harness(*command, cwd=place).stdout
    for line in printed.splitlines():
        if line.startswith((" ", "(", "*", "95%", "judge ", "lexicon   response_set")):
            head = line.split("  ")[0].strip()
            assert head in shown
    ranked = set(re.findall(r"^\d\s+(\w+)", shown, re.MULTILINE))
    assert ranked == {"smollm2", "lexicon", "random", "majority"}
    assert "authored probe, ratings simulated" in shown


def test_python_in_the_readme_runs(tmp_path):
    """The library example runs as it stands."""
    [code] = [text for kind, text in BLOCKS if kind == "python"]
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) >= 0


def test_judges_file_in_the_readme_is_read(tmp_path):
    """The example of a judges.yaml is a valid one."""
    from harness.elicit.judges import load_judges

    [text] = [text for kind, text in BLOCKS if kind == "yaml" and text.startswith("judges:")]
    (tmp_path / "judges.yaml").write_text(text, encoding="utf-8")
    judge = load_judges(tmp_path / "judges.yaml")["local"]
    assert (judge.key_env, judge.samples, judge.price.output) == ("MY_SERVER_KEY", 10, 0.4)


def test_schema_named_in_the_readme_covers_its_task(place):
    """The schema of task.yaml knows every field of the example."""
    schema = json.loads(harness("schema", "task", cwd=place).stdout)
    fields = re.findall(r"^(\w+):", (place / "helpful" / "task.yaml").read_text(), re.MULTILINE)
    assert set(fields) <= schema["properties"].keys()
