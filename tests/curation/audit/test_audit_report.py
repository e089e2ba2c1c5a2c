"""The audit as a page in headless Chromium: readable in both themes and widths, and inert."""

from __future__ import annotations

import pytest
from support.hostile_run import BAD_NAME
from support.html_pages import assert_headings_are_numbered_as_listed
from support.packages import checking
from support.task_folders import TASK, write_jsonl

from harness.curation.audit import audit_task
from harness.curation.audit.audit_report import audit_page
from harness.tasks import load_task

pytestmark = pytest.mark.slow


@pytest.fixture
def page(tmp_path):
    """The page of a task with duplicates, a constant rater and names that are HTML."""
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "task.yaml").write_text(TASK, encoding="utf-8")
    names = [f"{BAD_NAME} {i}" for i in range(40)]
    write_jsonl(folder / "items.jsonl", [{"id": n, "text": f"Text {n[-1]}"} for n in names])
    raters = ["r0", "r1", "<b onclick=alert(1)>r2"]
    rows = [
        {"item": name, "rater": rater, "value": "A" if j == 2 or i % 2 else "B"}
        for i, name in enumerate(names)
        for j, rater in enumerate(raters)
    ]
    write_jsonl(folder / "ratings.jsonl", rows)
    path = tmp_path / "audit.html"
    text = audit_page(audit_task(load_task(folder)))
    assert_headings_are_numbered_as_listed(text)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 400])
def test_nothing_overflows_runs_or_fails_axe(browser, page, theme, width):
    """No name runs as script, nothing is wider than the screen, axe finds nothing serious."""
    axe = checking("axe-playwright-python", "axe_playwright_python.sync_playwright")
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=theme)
    tab, messages = context.new_page(), []
    tab.on("console", lambda message: messages.append(message.text))
    tab.on("dialog", lambda dialog: messages.append(dialog.message))
    tab.goto(page.as_uri())
    for summary in tab.locator("summary").all():
        summary.click()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert "raters with only one answer" in tab.locator("table").first.inner_text()
    assert messages == []
    violations = axe.Axe().run(tab).response["violations"]
    assert [v["id"] for v in violations if v["impact"] in {"serious", "critical"}] == []
    context.close()
