"""docs: every block is run, every output is real, every link leads somewhere, nothing is stale."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.doc_pages import Page, blocks, matches_output
from support.each_case import for_each

from benchmarks.decision import read_rows

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"
BUILT = {  # with the site
    DOCS / "reference" / name for name in ("cli.md", "schemas.md", "coverage-rows.md")
}
PAGES = sorted(page for page in {*DOCS.rglob("*.md")} - BUILT if page.parent.name != "fragments")
WRITTEN = [page for page in PAGES if page.parent != DOCS / "reference"]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def name(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


@pytest.mark.docs
@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_commands_on_a_page_print_the_output_shown(page, tmp_path, monkeypatch, stub, request):
    """Files are made, commands run and outputs compared in the order in which they are read."""
    monkeypatch.chdir(tmp_path)
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MY_SERVER_KEY"):
        monkeypatch.delenv(key, raising=False)
    shown_page = Page(page, tmp_path, stub.url())
    shown_page.run()
    if request.config.getoption("--update-golden"):
        page.write_text(shown_page.updated(), encoding="utf-8")
    assert shown_page.faults == [], "\n\n".join(shown_page.faults)


def test_pages_leave_no_command_unmarked():
    """Commands stand in sh (run) or console (not run here); no other fence hides one."""
    for page in WRITTEN:
        for block in blocks(page.read_text(encoding="utf-8")):
            assert block.kind in {
                *("sh", "console", "text", "python", "yaml", "csv", "json", "jsonl", "bibtex"),
                *("ini", "latex", "markdown", "toml"),
            }, f"{name(page)}: {block.kind}"
            if block.kind in {"yaml", "csv", "json", "jsonl"}:
                assert block.title, f"{name(page)}: a file without a name is never tried"


def test_outputs_are_compared_to_the_letter():
    """A line of dots stands for any lines, and nothing else does."""
    assert matches_output("a\n...\nc\n", "a\nb\nb\nc\n")
    assert matches_output("...\nc\n", "c\n")
    assert not matches_output("a\n...\nc\n", "a\nb\nd\n")
    assert not matches_output("a.c\n", "abc\n")


def anchors(page: Path) -> set[str]:
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    plain = (re.sub(r"[^\w\- ]", "", title.replace("`", "")) for title in HEADING.findall(text))
    return {title.strip().lower().replace(" ", "-") for title in plain}


@for_each([*PAGES, CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md"], name)
def test_links_lead_somewhere(page):
    """Every internal link names a file that is there and a heading that it has."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            assert link.startswith(("https://", "mailto:")), link
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists() or target in BUILT, f"{name(page)} -> {link}"
        if anchor and target not in BUILT:
            assert anchor in anchors(target), f"{name(page)} -> {link}"


def test_every_page_is_in_the_site():
    """A page that nobody can reach is no page."""
    listed = re.findall(r"[\w/.-]+\.md", (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8"))
    pages = (str(page.relative_to(DOCS)) for page in {*PAGES, *BUILT})
    assert sorted(listed) == sorted(pages)


@pytest.mark.docs
def test_reference_is_fresh(tmp_path):
    """The generated pages are those that the code generates now."""
    command = [sys.executable, "-W", "error", str(DOCS / "generate.py"), str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    generated = {page.name: page.read_text(encoding="utf-8") for page in tmp_path.iterdir()}
    built = {page.name: generated.pop(page.name) for page in BUILT}
    assert "## harness revalidate" in built["cli.md"]
    assert "## verdicts" in built["schemas.md"]
    assert built["coverage-rows.md"].count("\n| ") > len(read_rows())
    reference = {*(DOCS / "reference").iterdir()} - BUILT
    committed = {page.name: page.read_text(encoding="utf-8") for page in reference}
    stale = sorted(
        n for n in generated.keys() | committed.keys() if generated.get(n) != committed.get(n)
    )
    assert not stale, f"stale: {', '.join(stale)}; run: python docs/generate.py"


@pytest.mark.docs
def test_site_builds(tmp_path):
    """`mkdocs build --strict` finds nothing to complain about."""
    pytest.importorskip("material", reason="the docs group is not installed")
    process = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path / "site")],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert (tmp_path / "site" / "index.html").exists()
