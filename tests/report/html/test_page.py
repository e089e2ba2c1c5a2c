"""The page as a file: self-contained, in order, escaped, and complete without its script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader
from support.hostile_run import BAD_NAME, HOSTILE, N_ITEMS

from harness.app.run import validate_verdicts
from harness.report import page
from harness.report.annotator_charts import variant_label
from harness.report.checklist import checklist
from harness.report.formatting import cut, duration, estimate
from harness.report.html.compiled_templates import compiled_templates
from harness.report.html.rendering import block_json
from harness.report.html.summaries import figures
from harness.report.judge_card import latex, markdown, paragraph
from harness.report.judge_charts import OTHER, grouped

PARTS = ("ranking", "sensitivity", "certainty", "replacement", "errors", "provenance")


class Elements(HTMLParser):
    """Every element with its attributes, and the text outside of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def html(folder):
    return (folder.path / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def elements(html):
    return Elements(html)


def test_page_refers_to_nothing_outside_itself(elements):
    """No element has an address but places in the page."""
    for tag, attributes in elements.elements:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form", "source"}
        assert "src" not in attributes
        assert str(attributes.get("href", "#")).startswith("#")


def test_no_element_has_a_handler_or_a_style_of_its_own(elements):
    """Nothing that an item or a judge says became an attribute that runs."""
    for _, attributes in elements.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]


def test_policy_holds_the_hashes_of_style_and_script(html):
    """What the page runs is what was shipped, by its hash; everything else is refused."""
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1])
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for kind, tag in (("style", "style"), ("script", "script")):
        [text] = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_parts_stand_in_their_order(elements):
    """Six folded sections follow the decision; none is open."""
    folded = [a for tag, a in elements.elements if tag == "details" and a.get("class") == "part"]
    assert tuple(attributes["id"] for attributes in folded) == PARTS
    assert not any("open" in attributes for attributes in folded)


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_cannot_end_the_data_block(text):
    """A text in the data is read back as it is, and never looks like markup."""
    block = block_json({"text": text})
    assert json.loads(block) == {"text": text}
    assert not re.search("[<>&\u2028\u2029]", block)


def test_control_characters_of_a_reply_are_shown_as_pictures(validation, details):
    """HTML has none; NUL would make a file of text a binary one."""
    item = details.items.full[0]
    answer = replace(item.judges[0], reply="A\0\x1b[2J\x7f")
    items = replace(details.items, full=(replace(item, judges=(answer,)),))
    html = page(validation, replace(details, items=items))
    assert "A\u2400\u241b[2J\u2421" in html
    assert not re.search("[\0-\x08\x0b\x0c\x0e-\x1f\x7f]", html)


def test_tables_are_there_without_the_script(elements, validation):
    """Ranking, metrics, outcomes and the first items are plain HTML."""
    text = " ".join(elements.texts)
    assert BAD_NAME in text
    for name in ("follows", "lenient", "random", "mse(srs/srs)", "planned", "Comment"):
        assert name in text
    for judge in validation.judges:
        assert estimate(judge.metrics["hit_rate(h/h)"]).partition(" [")[0] in text


def test_each_chart_has_words_and_data(elements):
    """Every drawing is named, described, and followed by a table."""
    drawings = [a for tag, a in elements.elements if tag == "svg" and a.get("role") == "img"]
    ids = {attributes.get("id") for _, attributes in elements.elements}
    assert len(drawings) > 20
    for attributes in drawings:
        assert attributes["aria-label"]
        assert attributes["aria-describedby"] in ids


def test_ids_are_unique(elements):
    """No two elements share an id."""
    ids = [attributes["id"] for _, attributes in elements.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_page_of_human_ratings_alone_had_sections_without_data():
    """A section that needs verdicts is absent, in the navigation as well."""
    html = page(validate_verdicts("diagnoses", None))
    for name in ("sensitivity", "replacement", "errors"):
        assert f'id="{name}"' not in html
        assert f'href="#{name}"' not in html
    assert 'id="ranking"' in html
    assert "We had 30 items" in html
    assert "0 judges" not in html
    assert not re.search(r"</h3>\s*(<h3|</section)", html)
    assert not re.search(r"<tbody>\s*</tbody>", html)


def test_page_of_metrics_alone_has_neither_items_nor_prompts(validation):
    """They are not numbers: without the run's folder their headings are absent, too."""
    html = page(validation)
    assert 'id="item-list"' not in html
    assert "<h3>Prompts</h3>" not in html
    assert "Judges with their call parameters" in html


def test_page_is_the_same_for_the_same_run(validation, details):
    """The page is a function of what it shows."""
    assert page(validation, details) == page(validation, details)


def test_options_are_named_before_anything_is_counted_by_them(elements):
    """Keys with their labels, and which of them count as positive."""
    text = " ".join("".join(elements.texts).split())
    label = "<b onclick=window.hit=1>Toxic</b>"
    assert f"Options: A ({label}), B (Not toxic). Positive: A." in text


def test_every_variant_of_the_annotator_test_has_a_label(validation):
    """Those of this run, and those that a task may ask for."""
    variants = [variant for test in validation.replacement.judges for variant in test.variants]
    assert "small_n=skip" in {variant.name for variant in variants}
    asked_for = (("expert", "ann"), ("gold", "answer"), ("quality", ""), ("score", "weights"))
    variants += [replace(variants[0], setting=setting, value=value) for setting, value in asked_for]
    assert all(" " in variant_label(variant) for variant in variants)


def test_provenance_tells_how_long_asking_took(elements, folder):
    """The run's seconds of asking are in its manifest and on its page."""
    assert folder.manifest.asking_s > 0
    texts = [text.strip() for text in elements.texts]
    assert texts[texts.index("time spent on calls") + 1] == duration(folder.manifest.asking_s)


def test_prompts_stand_in_full(elements, folder):
    """Provenance holds each template to the letter."""
    text = "".join(elements.texts)
    for path in folder.prompts.glob("*.txt"):
        assert path.read_text(encoding="utf-8").strip() in text


def test_long_texts_end_with_an_ellipsis():
    """A reader sees that there is more; a text that fits is whole."""
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abcde…"


def test_every_metric_is_in_a_group_of_the_papers_table(validation):
    """No metric of a run is left over, and each stands in one group alone."""
    names = list(validation.judges[0].metrics)
    groups = grouped(validation, names)
    assert OTHER not in groups
    assert sorted(name for members in groups.values() for name in members) == sorted(names)


def test_three_numbers_stand_beside_the_chart(validation):
    """How often the judge agrees with a rater, how close it is to one, and the cost."""
    agreement, closeness, cost = figures(validation)
    first, agreeing = validation.evidence.judges[0], validation.evidence.share_agreeing
    assert agreement.value == f"{100 * agreeing.judge:.0f} of 100"
    assert f"a rater's: {100 * agreeing.human:.0f} of 100" in agreement.meaning
    assert first.human.difference < 0
    assert closeness.value == f"{-first.human.difference:.3f}"
    assert f"[{-first.human.high:.3f}, {-first.human.low:.3f}]" in closeness.meaning
    assert closeness.meaning.startswith("closer to the raters")
    assert "100.0% of 60 items answered" in cost.meaning


def test_ranking_marks_the_judges_that_are_not_significantly_different(validation, html):
    """A tag marks each of them once."""
    n_marked = html.count('<span class="tag">not significantly different</span>')
    assert n_marked == len(validation.decision.not_distinguishable)


def test_checklist_answers_eleven_practices(validation, details):
    """Each practice has a value of this run, or says what is missing."""
    practices = checklist(validation)
    assert len(practices) == 11
    assert all(p.text and p.state in {"given", "missing", "not needed"} for p in practices)
    assert checklist(validate_verdicts("diagnoses", None))[2].state == "missing"


def test_checklist_does_not_write_out_a_large_confusion_matrix(validation):
    """Of many options it names what is most often confused; a label is not said twice."""
    options = {f"o{i}": f"o{i}" for i in range(8)}
    cells = tuple(tuple(float(10 * (i == j) + (i < j)) for j in range(9)) for i in range(9))
    names = (*options, "CANNOT_ASSESS")
    first = validation.errors.judges[0]
    large = replace(first.confusion, human=names, judge=names, cells=cells, n_items=126)
    errors = replace(validation.errors, judges=(replace(first, confusion=large),))
    task = replace(validation.task, options=options, positive=())
    practices = checklist(replace(validation, errors=errors, task=task))
    assert "o0, o1" in practices[0].text
    assert "90 of 126 items match the raters" in practices[3].text
    assert practices[3].text.count(" as ") == 4


def test_cost_of_verdicts_made_elsewhere_is_not_called_nothing(tmp_path):
    """Nobody knows what they cost, how many were cached, or how often they were tried."""
    (tmp_path / "v.csv").write_text("item,judge,value\np01,mine,neurosis\n", encoding="utf-8")
    html = page(validate_verdicts("diagnoses", tmp_path / "v.csv"))
    assert "unknown: verdicts from another tool" in html
    assert "$0.0000" not in html


@pytest.mark.parametrize("text", [*HOSTILE, r"50% of $x_1$ & \input{secret} #1 ~ ^ {a}"])
def test_latex_prints_what_it_is_given(text):
    """No character of a name or a property is a command to LaTeX."""
    escaped = latex(text)
    assert "\n" not in escaped
    bare = re.sub(r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar)"
                  r"\{\}|\\[{}$&#%_]", "", escaped)  # fmt: skip
    assert not set(bare) & set("\\{}$&#%_~^<>|")


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_prints_what_it_is_given(text):
    """No character of a name is markup to Markdown, and none opens an HTML element."""
    assert not re.search(r"(?<!\\)[<>&`*_\[\]|]", markdown(text))


def test_paragraph_names_what_a_reader_needs(validation, details):
    """Judges, raters, items, metric, cut-off, interval and abstentions are all in it."""
    text = paragraph(validation)
    for words in ("3 judges", "5 human raters", f"{N_ITEMS} items", "cut-off 0.5", "seed 0"):
        assert words in text
    assert validation.evidence.display_name in text
    assert validation.ranking_metric not in text
    assert r"5 human raters on 60 items" in latex(paragraph(validation))


def test_compiled_templates_are_written_once(tmp_path):
    """A compiled template is read again; where none can be written, pages are rendered too."""
    (tmp_path / "sum.jinja").write_text("{{ 1 + 1 }}", encoding="utf-8")
    compiled = compiled_templates(tmp_path)

    def render():
        loader = FileSystemLoader(tmp_path)
        environment = Environment(loader=loader, bytecode_cache=compiled, autoescape=True)
        return environment.get_template("sum.jinja").render()

    assert render() == "2"
    [file] = Path(compiled.directory).iterdir()
    written_ns = file.stat().st_mtime_ns
    assert render() == "2"
    assert file.stat().st_mtime_ns == written_ns
    file.unlink()
    Path(compiled.directory).rmdir()
    Path(compiled.directory).touch()  # a folder that cannot be written to
    assert render() == "2"
