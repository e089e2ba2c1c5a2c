"""Re-validation of judges that need no server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.processes import invoke
from vaderSentiment import vaderSentiment

import harness

LINE = re.compile(r"^([^\t]+)\t(-?[0-9.]+)\t", re.MULTILINE)


@pytest.fixture
def run(tmp_path):
    """A run of the word list with two samples per item."""
    arguments = ("--judges", "lexicon", "--samples", 2, "--out", tmp_path, "--quiet")
    assert invoke("run", "--task", "toxicity", *arguments).exit_code == 0
    [folder] = tmp_path.iterdir()
    return folder


def look(run, *arguments, code=0):
    result = invoke("revalidate", run, "--quiet", "--json", *arguments)
    assert result.exit_code == code, result.output
    [judge] = json.loads(result.stdout)["judges"]
    return judge


@pytest.mark.slow
def test_an_edited_word_list_is_another_judge(run, tmp_path, monkeypatch):
    """Two looks find the same judge; with the opposite of every word's sentiment it changed."""
    assert look(run)["verdict"] == look(run)["verdict"] == "stable"
    words = Path(vaderSentiment.__file__).with_name("vader_lexicon.txt").read_text("utf-8")
    edited = tmp_path / "words.txt"
    edited.write_text(LINE.sub(lambda m: f"{m[1]}\t{-float(m[2])}\t", words), "utf-8")
    analyzer = vaderSentiment.SentimentIntensityAnalyzer
    monkeypatch.setattr(analyzer.__init__, "__defaults__", (str(edited), "emoji_utf8_lexicon.txt"))
    judge = look(run, "--fail-on", "changed,worse", code=1)
    assert judge["verdict"] in {"changed", "worse"}
    assert judge["since"] == 3


@pytest.mark.slow
def test_grammars_that_read_replies_differently_are_not_comparable(run, tmp_path):
    """Other code of the same version is no other grammar, nor is a version that reads as before."""
    assert look(run)["verdict"] == "stable"
    copy = tmp_path / "edited" / "harness"
    shutil.copytree(Path(harness.__file__).parent, copy)
    grammar = copy / "judging" / "parsing" / "grammar.py"
    code = grammar.read_text("utf-8")

    def verdict_with(addition: str) -> str:
        grammar.write_text(code + addition, "utf-8")
        process = subprocess.run(
            [sys.executable, "-m", "harness", "revalidate", str(run), "--quiet", "--json"],
            cwd=copy.parent,
            env={**_environment(), "PYTHONPATH": str(copy.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode in {0, 1}, process.stderr
        [judge] = json.loads(process.stdout)["judges"]
        return judge["verdict"]

    assert verdict_with("\n# a comment\n") == "stable"
    assert verdict_with("\nGRAMMAR_VERSION = 0\n") == "stable"
    stricter = """
GRAMMAR_VERSION = 0
_parse = parse


def parse(text, *arguments, **named):
    return _parse(text + " or not", *arguments, **named)
"""
    assert verdict_with(stricter) == "not comparable"


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)
