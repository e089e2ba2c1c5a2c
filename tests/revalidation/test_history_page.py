"""The history of a run as a page, as text and as JSON."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from support.look_schedules import Schedule, majority, replies
from support.processes import invoke

from harness.report.date_axis import date_ticks, days
from harness.revalidation.history import HistoryFile, HistoryReading, Look, read_history
from harness.revalidation.history_page import history_page

FIRST = datetime(2026, 1, 5, 6, tzinfo=UTC)


@pytest.fixture(scope="module")
def history(tmp_path_factory, stub):
    """Two looks at three judges, in the second of which one could not be asked; and the run."""
    tables = {name: replies(20, majority, noise=0.1) for name in ("a", "b", "c")}
    schedule = Schedule(tmp_path_factory.mktemp("looks"), stub, tables, samples=2, n=20)
    schedule.look()
    stub.set_table("c", tables["c"], fault="401")
    schedule.look(code=3)
    return schedule.run, read_history(schedule.run / "history.jsonl")


def weekly(look: Look, number: int, *, week: int | None = None) -> Look:
    at = FIRST + timedelta(weeks=number if week is None else week)
    return replace(look, number=number, at=at.isoformat())


def reading(history: HistoryReading, looks: list[Look]) -> HistoryReading:
    return HistoryReading(history.baselines, looks)


@pytest.mark.slow
def test_charts_have_dates_and_gaps_with_the_reason(history):
    """A judge that was not asked leaves a gap in its charts alone, with the reason in it; a month
    without a round leaves one in all charts."""
    _, recorded = history
    good, bad = recorded.looks
    looks = [weekly(bad if n in {4, 5} else good, n) for n in range(1, 9)]
    page = history_page("run", reading(recorded, looks))
    charts = page.split("<figure")[1:]
    of_c = [chart for chart in charts if '-c" data-name' in chart]
    assert len(of_c) == (len(charts) - 1) / 3  # one more, of the judge in use
    weeks = ["12 Jan", "26 Jan", "9 Feb", "23 Feb"]
    for chart in charts:
        gaps = re.findall(r'<rect[^>]*class="gap"[^>]*><title>([^<]*)', chart)
        assert gaps == ([recorded.looks[1].judge("c").reason] if chart in of_c else [])
        assert re.findall(r'class="tick x">([^<]*)', chart) == weeks
    assert all("0 of " in re.search(r"rotate\(-90[^>]*>([^<]*)", c)[1] for c in of_c)
    looks = [weekly(good, n, week=n if n < 5 else n + 6) for n in range(1, 9)]
    page = history_page("run", reading(recorded, looks))
    assert page.count("<title>no round</title>") == len(charts)
    assert 'class="series j0"' in page


@pytest.mark.slow
def test_a_line_is_broken_where_nothing_was_asked(history):
    """No line leads through the rounds in which a judge was not asked."""
    _, recorded = history
    good, bad = recorded.looks
    looks = [weekly(bad if n == 4 else good, n) for n in range(1, 8)]
    page = history_page("run", reading(recorded, looks))
    [of_a], [of_c] = (
        re.findall(
            rf'<figure[^>]*id="chart-flips-forced-choice-{name}".*?</figure>', page, re.DOTALL
        )
        for name in "ac"
    )
    assert of_a.count('class="series j0"') == 2  # the line, and its key
    assert of_c.count('class="series j0"') == 3


@pytest.mark.slow
def test_strips_show_the_verdicts_and_the_newest_look_is_first(history):
    """Each look has a box in the colour of its verdict, and a row."""
    _, recorded = history
    good, bad = recorded.looks
    page = history_page("run", reading(recorded, [weekly(good, 1), weekly(bad, 2)]))
    assert page.count('class="region not-assessed"') == (page.count("<figure") - 1) / 3
    assert 'class="said not-assessed">not assessed</span>' in page
    rows = re.findall(r'<th scope="row">(\d+) <small', page)
    assert rows == ["2", "1"]


@pytest.mark.slow
def test_at_most_40_looks_are_drawn_unless_all_are_asked_for(history, tmp_path):
    """Text and page say how many are left out; --last N shows fewer, and 200 looks at three judges
    are less than 500 kB of JSON."""
    run, recorded = history
    folder = tmp_path / run.name
    folder.mkdir()
    for path in ("manifest.json", "task/task.yaml", "task/items.jsonl", "task/ratings.jsonl"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes((run / path).read_bytes())
    with HistoryFile.open(folder) as file:
        file.append(recorded.baselines[:1])
        for number in range(1, 201):
            file.append([weekly(recorded.looks[0], number)])

    def drawn(*arguments):
        text = invoke("history", folder, *arguments).stdout
        [part] = [part for part in text.split("\n\n") if part.startswith("a\n")]
        return [int(line.split()[0]) for line in part.splitlines()[2:]], text

    numbers, text = drawn()
    assert numbers == list(range(200, 196, -1))
    assert text.endswith("196 earlier rounds aren't shown. Print them with --all.\n")
    assert drawn("--last", 3)[0] == [200, 199, 198]
    assert drawn("--all")[0] == list(range(200, 0, -1))
    assert invoke("history", folder, "--all", "--last", 3).exit_code == 2
    printed = invoke("history", folder, "--json").stdout
    assert len(printed.encode()) < 500_000
    facts = json.loads(printed)
    assert [look["number"] for look in facts["looks"]] == list(range(1, 201))
    judge = facts["looks"][0]["judges"][0]
    assert (judge["judge"], judge["verdict"]) == ("a", recorded.looks[0].judges[0].verdict)
    answered = {"name": "answered", "elicitation": "forced_choice", "baseline": 1.0, "look": 1.0}
    assert {**answered, "n": 20} in judge["figures"]
    page = tmp_path / "page.html"
    invoke("history", folder, "--page", page)
    html = page.read_text("utf-8")
    assert "160 earlier rounds aren't shown." in html
    assert html.count('<th scope="row">200 <small') == 1
    assert '<th scope="row">160 <small' not in html


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        ("2026-01-05T06:00", "2026-01-05T06:20", ["06:00", "06:05", "06:10", "06:15", "06:20"]),
        ("2026-01-05", "2026-01-09", ["5 Jan", "6 Jan", "7 Jan", "8 Jan", "9 Jan"]),
        ("2026-01-05", "2026-03-01", ["5 Jan", "19 Jan", "2 Feb", "16 Feb"]),
        ("2026-01-05", "2027-01-05", ["Jan 2026", "Apr 2026", "Jul 2026", "Oct 2026", "Jan 2027"]),
        ("2026-01-05", "2026-01-05", ["00:00"]),
    ],
)
def test_ticks_are_round_dates(low, high, labels):
    """About five, named by the time, the day or the month, as their distance needs."""
    assert [text for _, text in date_ticks(days(low), days(high))] == labels
