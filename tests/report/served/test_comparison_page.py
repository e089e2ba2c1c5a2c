"""The page of two runs begins with what a reader asks first."""

from __future__ import annotations

import shutil
from html import escape

from support.viewed_runs import JUDGE, N_CHANGED

from harness.report.rebuild import report_comparison
from harness.runs.run_folder import RunFolder


def test_comparison_began_with_tables_of_paired_differences(viewed, tmp_path):
    """First both recommendations, then the answers that changed, then everything else."""
    place, (first, second, _) = viewed
    for name in (first, second):
        shutil.copytree(place / "runs" / name, tmp_path / name)
    folders = [RunFolder.open(tmp_path / name) for name in (first, second)]
    [file] = report_comparison(*folders).files
    html = file.read_text(encoding="utf-8")
    sections = [
        html.index(f'aria-labelledby="{name}"') for name in ("decisions", "changed", "paired")
    ]
    assert sections == sorted(sections)
    assert html[sections[0] : sections[1]].count('class="verdict"') == 2
    changed = html[sections[1] : sections[2]]
    assert changed.count(f'<tr data-judge="{escape(JUDGE)}">') == N_CHANGED
    assert f"{N_CHANGED} answers differ" in changed
