"""README: every command in it is run, every output in it is what the command prints."""

from __future__ import annotations

import re
from pathlib import Path

from support.doc_pages import Page, blocks, commands, run_command

from harness.report.words import BASELINE_NAMES

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCKS = blocks(README.read_text(encoding="utf-8"))
QUICK_START = next(block for block in BLOCKS if block.note == "setup")
QUICK_START_RUN = "harness run --task toxicity --judges smollm2,smollm2@verbalised,lexicon"


def test_quick_start_has_two_lines():
    """The first sets up and runs the main job, the second passes the tests."""
    first, second = QUICK_START.text.splitlines()
    assert first.startswith("python3 -m venv .venv && ")
    assert f".venv/bin/uv run {QUICK_START_RUN}" in first
    assert second == ".venv/bin/uv run --group test pytest"


def test_commands_in_the_readme_print_the_output_shown(tmp_path, monkeypatch, stub, request):
    """Its files are made, its commands run and its outputs compared, in the order of reading."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    shown_page = Page(README, tmp_path, stub.url())
    shown_page.run()
    if request.config.getoption("--update-golden"):
        README.write_text(shown_page.updated(), encoding="utf-8")
    assert shown_page.faults == [], "\n\n".join(shown_page.faults)


def test_main_output_in_the_readme_has_the_shape_of_a_run(tmp_path, monkeypatch):
    """The pasted output of the main job has the lines that a run has today."""
    shown = BLOCKS[BLOCKS.index(QUICK_START) + 1].text
    monkeypatch.chdir(tmp_path)
    _, printed, _ = run_command(
        "harness run --task toxicity --judges lexicon --limit 5",
        tmp_path,
    )
    for line in printed.splitlines():
        if line.startswith((" ", "rank ")):
            head = line.strip().split("  ")[0].strip()
            assert head in shown or head in BASELINE_NAMES.values()
    ranked = set(re.findall(r"^\d(?:-\d)?\s+(\S+)", shown, re.MULTILINE))
    assert ranked == set(QUICK_START_RUN.rpartition(" ")[2].split(","))


def test_readme_is_short():
    """Promise, picture, quick start, what it prints, your own data, what others don't do, links."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120


def test_readme_names_what_takes_long():
    """Each line of the quick start has its time, and each of the other commands."""
    text = README.read_text(encoding="utf-8")
    quick, own = text.split("## Quick start")[1].split("## ")[:2]
    assert re.search(r"Line 1 .*?\d+ minutes", quick, re.DOTALL)
    assert re.search(r"Line 2 .*?\d+ to \d+ minutes", quick, re.DOTALL)
    assert "Each line takes a few seconds" in own
    assert len(commands(BLOCKS[BLOCKS.index(QUICK_START) + 3].text)) == 3


def test_story_of_the_readme_is_that_of_its_output():
    """What the text says of the judges is what the output above it shows.

    That the output is what the command prints, and how often a judge said what, is checked where
    the model runs: tests/real/test_quick_start.py.
    """
    shown = BLOCKS[BLOCKS.index(QUICK_START) + 1].text
    values = dict(re.findall(r"^(?:\d +| +)(\S.*?)  +([\d.]+) \[", shown, re.MULTILINE))
    text = " ".join(page_of_docs("how-to/strategies.md").split())
    assert "is worse than always giving the most common answer" in text
    assert float(values["smollm2"]) > float(values["most common answer"])
    text = " ".join(page_of_docs("how-to/estimate.md").partition("known truth")[2].split())
    low, high = map(
        float, re.search(r"reasonable: [\d.]+% \[([\d.]+)%, ([\d.]+)%\]", text).groups()
    )
    assert low <= float(re.search(r"The truth, .*? is ([\d.]+)%\.", text)[1]) <= high
    assert "Don't use any of these." in shown
    assert "The best, smollm2@verbalised, is not significantly better than always" in shown


def page_of_docs(name: str) -> str:
    """Return a page of docs."""
    return (README.parent / "docs" / name).read_text(encoding="utf-8")


def rows_of(page: str, heads: str) -> list[list[str]]:
    """Return the cells of a table of a page in docs, by the beginning of its head."""
    text = page_of_docs(page)
    table = text[text.index(heads) :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table[2:]]


def test_readme_tells_what_races_and_estimates_saved():
    """The figures are those of the tables that the named benchmarks write."""
    text = " ".join(README.read_text(encoding="utf-8").split())
    share, wrong = re.search(r"with ([\d.]+)% of .*? at most ([\d.]+)% of", text).groups()
    *data, median = rows_of("racing.md", "| data | items | within 0.05 |")
    real = [row for row in data if "by group" not in row[0]]
    assert len(real) == 6
    assert median[0].startswith("median")
    assert float(share) == float(median[2].rstrip("%"))
    assert float(wrong) == max(float(row[-1].rstrip("%")) for row in real)
    said = r"were (\d+) to (\d+)% narrower than from labels only, or up to (\d+)% wider"
    rows = rows_of("estimation.md", "| data | items | labels |")
    named, chosen = ([float(row[column]) for row in rows] for column in (5, 6))
    gains = [round(100 * (1 - width)) for width in (max(named), min(named), max(chosen))]
    assert gains == [*map(int, re.search(said, text).groups()[:2]), -int(re.search(said, text)[3])]
    for name in ("racing", "estimation"):
        assert f"[table](docs/{name}.md)" in text
        assert (README.parent / "benchmarks" / f"{name}.py").is_file()
