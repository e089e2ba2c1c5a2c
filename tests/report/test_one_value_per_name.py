"""A metric of a judge has one value, whichever view shows it."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from pyarrow import parquet
from support.analysis_inputs import (
    indeterminate_source,
    indeterminate_task,
    source_of,
    task_of,
    verdict_of,
)

from harness.analysis import validate
from harness.analysis.estimates import prepare
from harness.analysis.run_comparison import compare_runs
from harness.analysis.study import study
from harness.app.gates import check_requirements
from harness.errors import HarnessError
from harness.options.concerns import Choices
from harness.report import judge_card, page, render
from harness.report.comparison import value_tables
from harness.report.export import parquet_of, ranking_csv
from harness.report.formatting import basis, compared_on, share
from harness.report.formatting import estimate as shown
from harness.report.judge_card import markdown
from harness.report.ranking_columns import ranking_table
from harness.report.study_page import DECISION_HEADS, decision_rows
from harness.revalidation.history_text import standing_rows
from harness.revalidation.metric_changes import Yardstick, decision_on
from harness.revalidation.reply_categories import stream_of
from harness.testing import assert_judge

N = 40


def asked_once_and_often(*, silent=0):
    """One judge asked ten times that is right in three of four replies, one asked once.

    The second does not answer the first ``silent`` items.
    """
    rng = np.random.default_rng(3)
    truth = [str(rng.choice(["A", "B"])) for _ in range(N)]
    ratings = {f"r{j}": {f"i{i}": truth[i] for i in range(N)} for j in range(4)}
    other = {"A": "B", "B": "A"}
    replies = {
        f"i{i}": [truth[i] if rng.random() < 0.75 else other[truth[i]] for _ in range(10)]
        for i in range(N)
    }
    once = {item: values[:1] for i, (item, values) in enumerate(replies.items()) if i >= silent}
    source = source_of(task_of(ratings), {"often": replies, "once": once})
    return replace(
        source,
        planned={
            "often": {"forced_choice": 10 * N},
            "once": source.planned["once"] | {"forced_choice": N},
        },
    )


RUNS = {
    "different numbers of replies": asked_once_and_often,
    "different items": lambda: asked_once_and_often(silent=3),
    "a judge that is not ranked": lambda: asked_once_and_often(silent=10),
    "response sets": lambda: indeterminate_source(indeterminate_task(n=40, paired=40)),
    "one judge": lambda: indeterminate_source(indeterminate_task(n=40), judges=("lenient",)),
    "two criteria": lambda: indeterminate_source(indeterminate_task(n=40), level="macro"),
    "an assumed beta": lambda: indeterminate_source(indeterminate_task(n=40), beta=0.4),
    "reconstructed sets": lambda: indeterminate_source(
        indeterminate_task(n=60, paired=25), humans="reconstructed"
    ),
    "kappa ranks": lambda: indeterminate_source(
        indeterminate_task(n=40), metric="cohen_kappa(h/h)"
    ),
    "no resamples": lambda: asked_once_and_often().with_settings(n_resamples=0),
}


def _param(name):
    """Return the parameter of a run, slow where a likelihood is searched or an option differs."""
    slow = {"reconstructed sets", "an assumed beta", "kappa ranks"}
    marks = [pytest.mark.slow] if name in slow else []
    return pytest.param(name, id=name.replace(" ", "-"), marks=marks)


@pytest.fixture(scope="module", params=map(_param, RUNS))
def source(request):
    """The source of one of the runs."""
    return RUNS[request.param]()


@pytest.fixture(scope="module")
def validation(source):
    """Its validation."""
    return validate(source)


def of_terminal(v, _):
    """The third column of each row of a judge."""
    rows = (re.split(r" {2,}", line.strip()) for line in render(v).splitlines())
    names = {judge.name for judge in v.judges}
    return {row[1]: row[2] for row in rows if len(row) > 2 and row[1] in names}


def of_card(v, _):
    """The cell below the metric's name, without what the number rests on."""
    card = re.sub(r"\\(.)", r"\1", judge_card(v))
    [heads] = re.findall(r"^\| rank \| (.*) \|$", card, re.MULTILINE)
    place = heads.split(" | ").index(v.evidence.display_name)
    rows = re.findall(r"^\| [-\d]+ \| (.*) \|$", card, re.MULTILINE)
    cells = (row.split(" | ") for row in rows)
    return {row[0]: row[place].partition(" on ")[0].removesuffix(" (not ranked)") for row in cells}


def of_page(v, _):
    """The cell behind the name in the first table."""
    [table] = re.findall(r'<table class="ranking">.*?</table>', page(v), re.DOTALL)
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', table)
    texts = {re.sub(r" <span.*|<.*?>", "", name): re.sub("<.*?>", "", cell) for name, cell in rows}
    values = {judge.name: unescape(texts[judge.name]).strip() for judge in v.judges}
    return {name: re.sub(r"^NA (.*)$", r"NA (\1)", text) for name, text in values.items()}


def of_notebook(v, _):
    """The third cell of each row of a judge."""
    rows = re.findall(r"<tr>(.*?)</tr>", v._repr_html_())
    cells = [[unescape(cell) for cell in re.findall("<td>(.*?)</td>", row)] for row in rows]
    names = {judge.name for judge in v.judges}
    return {row[1]: row[2] for row in cells if row and row[1] in names}


def of_plugin(v, _):
    """What a failed assertion says of a defined number."""
    said = {}
    for row in v.evidence.judges:
        if row.value is not None:
            with pytest.raises(AssertionError) as failure:
                assert_judge(v, row.judge).metric(v.ranking_metric).at_least(1e9)
            said[row.judge] = str(failure.value).removeprefix(f"{row.judge}: ").partition(" on ")[0]
    return said


def of_study(v, _):
    """The value of the first judge."""
    other = replace(v, task=replace(v.task, name="another"))
    [row, _] = decision_rows(study({"first": v, "second": other}), {})
    return {v.decision.leader: row[DECISION_HEADS.index("value")]} if v.decision.leader else {}


def of_comparison(v, _):
    """The second column of the table of the first run."""
    rows = next(iter(value_tables(("first", "second"), (v, v)).values()))
    return {row[0]: row[1] for row in rows}


def of_history(v, source):
    """The second column of a look on the same replies."""
    items = [item.id for item in source.items]
    streams = [
        stream_of(source.verdicts[judge], judge, elicitation, items, source.task)
        for judge, planned in source.planned.items()
        for elicitation in planned
    ]
    chosen = {name: getattr(source.settings, name) for name in Choices.model_fields}
    yardstick = Yardstick(source.task, source.items, Choices(**chosen), source.settings.seed)
    decision = decision_on(yardstick, streams, int(v.evidence.n_replies))
    return {row[0]: row[1] for row in standing_rows(decision)}


TEXTS = {
    "terminal": of_terminal,
    "card": of_card,
    "page": of_page,
    "notebook": of_notebook,
    "plug-in": of_plugin,
    "study": of_study,
    "comparison of runs": of_comparison,
    "history": of_history,
}


@pytest.mark.slow
@pytest.mark.parametrize("view", TEXTS)
def test_a_judge_had_another_value_in_each_view(validation, source, view):
    """Every view shows one value of what ranks, and one interval, however it was drawn before."""
    values = TEXTS[view](validation, source)
    wanted = {row.judge: shown(row.estimate) for row in validation.evidence.judges}
    if view == "study":
        wanted = {validation.decision.leader: wanted[validation.decision.leader]}
    if view == "plug-in":  # it fails without a number where there is none
        wanted = {
            name: text.removesuffix(" [NA]") for name, text in wanted.items() if text[0] != "N"
        }
    if view == "history":  # a look has resamples of its own
        values, wanted = ({k: x.partition(" [")[0] for k, x in d.items()} for d in (values, wanted))
    assert values == wanted


def rows_of(v):
    """Return judge, metric and estimate of all judges."""
    return [(j.name, name, e) for j in v.judges for name, e in j.metrics.items()]


@pytest.mark.slow
def test_ranking_printed_another_value_than_the_gate_read(validation):
    """Gate, plug-in, parquet, csv and JSON read value, interval, items and replies of one estimate.

    A judge asked ten times stood at 0.711 in the ranking, at one reply on the shared items, and at
    0.313 in the gate, at all its replies on its own items.
    """
    table = parquet.read_table(io.BytesIO(parquet_of(validation))).to_pylist()
    of_parquet = {(row["judge"], row["metric"]): row for row in table}
    of_json = {judge["name"]: judge for judge in json.loads(validation.to_json())["judges"]}
    for judge, name, estimate in rows_of(validation):
        row = of_parquet[judge, name]
        assert (row["value"], row["n_used"], row["n_replies"]) == (
            estimate.value,
            estimate.n_used,
            estimate.n_replies,
        )
        assert of_json[judge]["metrics"][name]["value"] == estimate.value
        [gate] = check_requirements(validation, [f"{judge}: {name}>-1e9"])
        assert (gate.value, gate.n, gate.n_replies) == (
            estimate.value,
            estimate.n_used,
            estimate.n_replies,
        )
        assert gate.interval == estimate.interval
        low = estimate.interval.low if estimate.interval else None
        assert row["low"] == low


def test_notebook_printed_the_uncorrected_interval_of_the_winner(validation):
    """Terminal, page, card, csv and notebook show one value and one interval of what ranks."""
    evidence = validation.evidence
    html, card, notebook = page(validation), judge_card(validation), validation._repr_html_()
    terminal, csv_rows = render(validation), csv.DictReader(io.StringIO(ranking_csv(validation)))
    of_csv = {row["judge"]: row for row in csv_rows}
    for row in evidence.judges:
        estimate = validation.judge(row.judge).metrics[evidence.metric]
        assert row.estimate == estimate
        text = re.escape(shown(estimate))
        assert re.search(rf"^ *[-\d]* +{row.judge} +{text}", terminal, re.MULTILINE)
        assert re.search(rf"\| {row.judge} \|.*{re.escape(markdown(shown(estimate)))}", card)
        assert shown(estimate) in notebook
        for part in shown(estimate).split(" ", 1):
            assert part in html
        assert of_csv[row.judge]["value"] == ("" if estimate.value is None else str(estimate.value))
        low = "" if estimate.interval is None else str(estimate.interval.low)
        assert of_csv[row.judge]["low"] == low


def test_notebook_drew_a_table_of_its_own(validation):
    """It shows the rows of the terminal, a rater and the baselines among them, in their order."""
    table = ranking_table(validation, "notebook")
    heads, rows = table.heads, table.cells
    notebook = validation._repr_html_()
    assert re.findall(r"<th>(.*?)</th>", notebook) == heads
    cells = re.findall(r"<td>(.*?)</td>", notebook)
    assert [unescape(cell) for cell in cells] == [cell for row in rows for cell in row]
    assert compared_on(validation) in unescape(notebook)


@pytest.mark.parametrize("usd", [0.0, 0.5])
def test_table_has_costs_where_a_judge_costs_something(usd):
    """A column of zeros would make the table wider than a terminal."""
    source = RUNS["no resamples"]()
    first = source.judges[0].name
    dear = [verdict_of(first, v.item, v.sample, v.value, cost_usd=usd)
            for v in source.verdicts[first]]  # fmt: skip
    v = validate(replace(source, verdicts={**source.verdicts, first: dear}))
    table = ranking_table(v, "terminal")
    heads, rows = table.heads, table.cells
    assert ("$/1,000" in heads) is bool(usd)
    if usd:
        assert "500.00" in {row[-1] for row in rows}


def test_every_view_says_items_and_replies(validation):
    """Card, csv, gate and plug-in name the items and the replies that a number rests on."""
    card = judge_card(validation)
    of_csv = {row["judge"]: row for row in csv.DictReader(io.StringIO(ranking_csv(validation)))}
    for row in validation.evidence.judges:
        estimate = row.estimate
        assert of_csv[row.judge]["n_used"] == str(estimate.n_used)
        if estimate.value is not None:
            assert f"on {estimate.n_used} item" in card
            with pytest.raises(AssertionError, match=rf"on n = {estimate.n_used}(,|;)"):
                assert_judge(validation, row.judge).metric(validation.ranking_metric).at_least(1e9)


def test_card_and_csv_gave_a_place_where_the_ranking_gave_a_range(validation):
    """A rank is the ranks that cannot be excluded: 2 in the card was 1-3 in the terminal."""
    table = ranking_table(validation, "terminal")
    heads, rows = table.heads, table.cells
    names = {judge.name for judge in validation.judges}
    ranks = {row[heads.index("judge")]: row[heads.index("rank")] for row in rows}
    ranks = {name: text for name, text in ranks.items() if name in names}
    in_card = re.findall(r"^\| ([-\d]+) \| ([^|]*) \|", judge_card(validation), re.MULTILINE)
    assert {name: text for text, name in in_card} == ranks
    of_csv = {
        row["judge"]: "-".join(dict.fromkeys((row["rank_low"], row["rank_high"]))) or "-"
        for row in csv.DictReader(io.StringIO(ranking_csv(validation)))
    }
    assert of_csv == ranks


def test_judges_were_read_at_their_own_replies():
    """Beside a judge asked once, one asked ten times is read at one reply in every metric."""
    v = validate(asked_once_and_often(silent=3))
    for _, name, estimate in rows_of(v):
        assert estimate.n_replies in {1.0, None}, name
        assert estimate.n_used <= N - 3
    often = v.judge("often")
    metric = v.ranking_metric
    assert often.metrics[metric].n_replies == 1
    assert often.own.n_used == N
    assert often.own.value < often.metrics[metric].value


def test_a_judge_that_answered_too_little_has_no_number_to_pass_a_gate():
    """It is not compared, so each of its metrics is NA with that reason."""
    v = validate(asked_once_and_often(silent=10))
    assert {e.reason for e in v.judge("once").metrics.values()} >= {"too_few_answered"}
    assert {e.value for e in v.judge("once").metrics.values()} == {None}
    [gate] = check_requirements(v, ["once: hit_rate(h/h)>0"])
    assert (gate.passed, gate.reason) == (False, "too few answers")


@pytest.mark.parametrize("metric", [None, "hit_rate(h/h)"])
def test_ranking_pooled_criteria_beside_metrics_that_averaged_them(metric):
    """At level macro the ranking averages over criteria of unequal size, as all metrics do."""
    task = indeterminate_task(n=40)
    items = [replace(item, criterion="ab"[i >= 30]) for i, item in enumerate(task.items)]
    task = task.model_copy(update={"items": tuple(items)})
    choices = {"judges": ("lenient", "random"), "metric": metric}
    p = prepare(indeterminate_source(task, level="macro", **choices))
    averages = [p.evaluation.estimates[name][p.metric].value for name in p.footing.judges]
    assert p.footing.values == pytest.approx(averages)
    pooled = prepare(indeterminate_source(task, **choices))
    assert pooled.footing.values != pytest.approx(averages, abs=1e-4)


def test_a_study_showed_a_value_without_its_interval_items_and_replies(validation):
    """It shows the first judge's estimate, and the two figures of completeness, as its run does."""
    task = replace(validation.task, name="another")
    result = study({"first": validation, "second": replace(validation, task=task)})
    leader = validation.decision.leader
    for row, cells in zip(result.tasks, decision_rows(result, {}), strict=True):
        assert row.leader == validation.evidence_of(leader)
        assert row.leader.estimate == validation.judge(leader).metrics[row.metric]
        assert row.n_rated == validation.evidence.n_rated
        shows = dict(zip(DECISION_HEADS, cells, strict=True))
        assert shows["value"] == shown(row.leader.estimate)
        assert basis(row.leader.estimate) in cells
        usable = share(row.leader.usable_replies, row.leader.n_planned)
        assert shows["answer rate"] == usable
        assert shows["items answered"] == share(row.leader.answered_fraction, row.n_rated)


def test_comparison_of_runs_showed_only_paired_values(validation):
    """Beside them stands each run's own estimate, the one that its report shows."""
    tables = value_tables(("march", "november"), (validation, validation))
    assert len(tables) == 2
    for title, rows in tables.items():
        assert title.endswith(compared_on(validation))
        for cells, row in zip(rows, validation.evidence.judges, strict=True):
            assert row.estimate == validation.judge(row.judge).metrics[validation.ranking_metric]
            assert cells == (
                row.judge,
                shown(row.estimate),
                share(row.usable_replies, row.n_planned),
                share(row.answered_fraction, validation.evidence.n_rated),
            )


def test_paired_values_of_a_comparison_are_those_of_both_runs_where_these_are_complete():
    """On all items, at one number of replies, the paired value is the estimate of the run."""
    source = asked_once_and_often()
    v = validate(source)
    metric = v.ranking_metric
    rows = compare_runs(source, source, [metric]).metrics
    [paired] = [row.result for row in rows if (row.judge, row.metric) == ("once", metric)]
    estimate = v.judge("once").metrics[metric]
    assert paired.first == paired.second == pytest.approx(estimate.value)
    assert (paired.n_items, paired.n_replies) == (estimate.n_used, estimate.n_replies)


def test_names_of_metrics_are_those_of_the_run():
    """A gate on the value of a judge's own items is refused: it has no name of its own."""
    v = validate(asked_once_and_often())
    with pytest.raises(HarnessError, match="no metric 'own'"):
        check_requirements(v, ["often: own>0"])
