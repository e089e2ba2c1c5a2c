"""`task.yaml` is read safely; each fault names the field, what was found and what to do."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.errors import TaskError
from harness.files.strict_yaml import read_yaml
from harness.tasks import Option, TaskFile, task_schema
from harness.tasks.schema import read_task_file

GOOD = """\
name: demo
property: whether it is toxic
scale: nominal
options: [{key: A, label: Toxic}, {key: B, label: Not toxic}, {key: C, label: Unsure}]
"""


def write(tmp_path, text):
    path = tmp_path / "task.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def fault(tmp_path, text):
    path = write(tmp_path, text)
    with pytest.raises(TaskError) as caught:
        read_task_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}: ")


def test_optional_fields_have_defaults(tmp_path):
    """Four fields make a task."""
    task = read_task_file(write(tmp_path, GOOD))
    assert (task.tau, task.abstain, task.response_sets, task.text) == (0.5, False, "all", ("text",))
    assert (task.raters, task.rater_ids, task.positive, task.lexicon) == ("crowd", "real", (), None)
    assert task.ranks_by == "forced_choice"


@pytest.mark.parametrize(
    ("fields", "sensitivity"),
    [
        ("positive: [A]\n", {"B": ("A",)}),
        ("positive: [B]\n", {"A": ("B",)}),
        ("", {}),
        ("positive: [A]\nsensitivity: {}\n", {}),
        ("positive: [A]\nresponse_sets: [[A], [B]]\n", {}),
        ("positive: [A]\nresponse_sets: [[B, A], [A], [B]]\n", {"B": ("A",)}),
        ("positive: [A]\nresponse_sets: [[B, A], [A]]\n", {}),
    ],
)
def test_a_binary_task_has_its_sensitivity_by_default(tmp_path, fields, sensitivity):
    """Who chose the negative option may accept the positive one, where the sets allow it."""
    text = "name: demo\nproperty: p\nscale: binary\noptions: [A, B]\n"
    assert read_task_file(write(tmp_path, text + fields)).sensitivity == sensitivity


def test_other_scales_have_no_sensitivity_by_default(tmp_path):
    """With more options, which may be accepted together is for the task to say."""
    assert read_task_file(write(tmp_path, f"{GOOD}positive: [A]\n")).sensitivity == {}


def test_contiguous_response_sets_are_those_of_neighbours(tmp_path):
    """On an ordinal scale of K points, K (K + 1) / 2 sets; too many of them are refused."""
    text = "name: demo\nproperty: p\nscale: ordinal\nresponse_sets: contiguous\noptions: "
    sets = read_task_file(write(tmp_path, f"{text}[1, 2, 3, 4]\n")).response_sets
    assert set(sets) == {
        *(("1",), ("2",), ("3",), ("4",), ("1", "2"), ("2", "3"), ("3", "4")),
        *(("1", "2", "3"), ("2", "3", "4"), ("1", "2", "3", "4")),
    }
    with pytest.raises(TaskError, match=r"1081 sets\. List at most 1023"):
        read_task_file(write(tmp_path, f"{text}{list(range(46))}\n"))


def test_options_stay_the_text_that_was_written(tmp_path):
    """`no` is no truth value, `010` no eight, `1:30` no ninety, `1.50` keeps its nought."""
    text = GOOD.replace(
        GOOD.splitlines()[3], "options: [yes, no, on, 010, 1:30, 1.50, null, ~, 2020-01-01]"
    )
    keys = [option.key for option in read_task_file(write(tmp_path, text)).options]
    assert keys == ["yes", "no", "on", "010", "1:30", "1.50", "null", "~", "2020-01-01"]


def test_options_may_be_numbers(tmp_path):
    """An ordinal scale is written as its numbers, and each is its own label."""
    text = GOOD.replace("nominal", "ordinal").replace(
        GOOD.splitlines()[3], "options: [1, 2, 3, 4, 5]"
    )
    options = read_task_file(write(tmp_path, text)).options
    assert [(option.key, option.label) for option in options] == [(k, k) for k in "12345"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &x 1\n", "line 1: found an anchor or alias"),
        ("a: 1\nb: *x\n", "line 2: found an anchor or alias"),
        ("a: !!python/object/apply:os.system [ls]\n", "line 1: found a tag"),
        ("a: !!str 1\n", "line 1: found a tag"),
        ("a: !x 1\n", "line 1: found a tag"),
        ("a: 1\nb: {c: 1,\n c: 2}\n", "line 3: key 'c' appears twice"),
        ("name: a\nname: b\n", "line 2: key 'name' appears twice"),
        ("a: " + "[" * 20 + "]" * 20, "line 1: nested deeper than 16 levels"),
        ("[" * 100_000, "line 1: nested deeper than 16 levels"),
        ("? [a]\n: 1\n", "line 1: found a key that is not text"),
        ("a: 1\n---\nb: 1\n", "line 2: found a second document"),
        ("a: [1\n", "line 2: not valid YAML"),
        ("a: 'x\n", "line 2: not valid YAML"),
        ("a: \x01\n", "not valid YAML"),
        (b"a: \xff\n", "line 1: byte 0xff is not UTF-8"),
        ("\ufeffname: a\n".encode("utf-16"), "line 1: byte 0xff is not UTF-8"),
        (b"x" * 300_000, "larger than 262144 bytes"),
        ("", "found no 'key: value' lines"),
        ("- a\n", "found no 'key: value' lines"),
        ("just text", "found no 'key: value' lines"),
        ('a: "\\ud800"\n', "line 1: found half of a surrogate pair"),
    ],
)
def test_yaml_that_is_more_than_plain_is_refused(tmp_path, text, message):
    """Anchors, aliases, tags, repeated keys, depth, size, encoding: refused with the line."""
    assert fault(tmp_path, text).startswith(message)


def test_a_missing_task_file_is_one_clear_line(tmp_path):
    """No traceback where there is no file."""
    with pytest.raises(TaskError, match="cannot be read \\(No such file"):
        read_task_file(tmp_path / "task.yaml")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("colour: red", "colour: unknown field. Remove this field, or use one of name, property,"),
        ("tau: 0", "tau: found '0'. Input should be greater than 0."),
        ("tau: 1.1", "tau: found '1.1'. Input should be less than or equal to 1."),
        ("tau: half", "tau: found 'half'. Input should be a valid number"),
        ("tau: nan", "tau: found 'nan'. Input should be"),
        ("abstain: perhaps", "abstain: found 'perhaps'. Input should be a valid boolean"),
        ("positive: A", "positive: found 'A'. Input should be a valid tuple."),
        ("positive: [X]", "positive: 'X' is not an option. The option keys are A, B, C."),
        ("positive: [A, A]", "positive: 'A' is listed twice. Remove one of the two"),
        ("positive: [A, B, C]", "positive: every option is positive"),
        (
            "response_sets: contiguous",
            "response_sets: found 'contiguous'. This value needs an ordinal scale. List the",
        ),
        ("response_sets: some", "response_sets: found 'some'. Input should be 'all'."),
        (
            "response_sets: [[A], [B]]",
            "response_sets: option 'C' isn't in any set. Add the option to a set.",
        ),
        ("response_sets: [[A, X], [B, C]]", "response_sets: 'X' is not an option"),
        ("response_sets: [[A, B], [C], [B, A]]", "response_sets: B, A is listed twice"),
        ("response_sets: [[A, A], [B, C]]", "response_sets: 'A' is listed twice"),
        ("response_sets: [[], [A, B, C]]", "response_sets: a set is empty"),
        ("response_sets: []", "response_sets: option 'A' isn't in any set"),
        (
            "pairwise: {answers: [a, b], first: A, second: B}",
            "pairwise: the scale is nominal, but this field is for a pairwise scale. Leave",
        ),
        ("sensitivity: {X: [A]}", "sensitivity: 'X' is not an option"),
        ("sensitivity: {B: [X]}", "sensitivity: 'X' is not an option"),
        ("sensitivity: {B: [B]}", "sensitivity: list the options other than 'B'"),
        ("sensitivity: {B: []}", "sensitivity: list the options other than 'B'"),
        ("positive: [A]\nsensitivity: {A: [B]}", "sensitivity: 'A' is positive"),
        ("lexicon: {positive: B, negative: X}", "lexicon: 'X' is not an option"),
        ("lexicon: {positive: B, negative: B}", "lexicon: 'B' is listed twice"),
        ("lexicon: {positive: B}", "lexicon.negative: this field is missing. Add it."),
        ("lexicon: {positive: B, negative: A, cutoff: 2}", "lexicon.cutoff: found '2'"),
        (
            "raters: robots",
            "raters: found 'robots'. Input should be 'expert', 'skilled' or 'crowd'.",
        ),
        ("rater_ids: fake", "rater_ids: found 'fake'. Input should be 'real' or 'positional'."),
        ("ignore_labels: [A]", "ignore_labels: 'A' is also listed as an option"),
        ("text: []", "text: found []. "),
        ("text: [a, a]", "text: 'a' is listed twice"),
        ("items:", "items: found ''. "),
    ],
)
def test_faults_of_a_field_name_it_and_the_remedy(tmp_path, line, message):
    """Each wrong field is told in one line, in the words of the file."""
    assert fault(tmp_path, f"{GOOD}{line}\n").startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("[A]", "options: found A, but the scale is nominal. List at least two options."),
        (
            "[A, A]",
            "options: 'A' is listed twice. Give each option its own key (case doesn't matter).",
        ),
        ("[a, A]", "options: 'A' is listed twice. Give each option its own key"),
        (
            "[{key: A, label: X}, {key: B, label: x}]",
            "options: 'x' is listed twice. Give each option its own label",
        ),
        (
            "[{key: A, label: b}, {key: B, label: c}]",
            "options: label 'b' of option 'A' is the key of option 'B'",
        ),
        (
            "[{key: A, colour: red}, B]",
            "options.0.colour: unknown field. Remove this field, or use one of key,",
        ),
        ("[{label: A}, B]", "options.0.key: this field is missing. Add it."),
        ("['', B]", "options.0.key: found ''. Write 1 to 64 printable characters"),
        ("[' A', B]", "options.0.key: found ' A'. Write 1 to 64"),
        ('["A\\nB", B]', "options.0.key: found 'A\\nB'. Write 1 to 64"),
        ("['A,B', B]", "options.0.key: found ',' in 'A,B'"),
        ("[CANNOT_ASSESS, B]", "options.0.key: CANNOT_ASSESS can't be an option. Write 'abst"),
        (
            "[{key: A, label: cannot_assess}, B]",
            "options.0.label: CANNOT_ASSESS can't be an option",
        ),
        ("[[A], B]", "options.0: found ['A']. "),
        ("[]", "options: found none, but the scale is nominal. List at least two options."),
        ("all", "options: found 'all'. "),
    ],
)
def test_faults_of_an_option_say_which(tmp_path, options, message):
    """Keys and labels must be tellable apart in a reply."""
    assert fault(tmp_path, GOOD.replace(GOOD.splitlines()[3], f"options: {options}")).startswith(
        message
    )


@pytest.mark.parametrize(
    ("scale", "options", "message"),
    [
        ("binary", "[A, B, C]", "options: found 3 options, but a binary scale has 2."),
        ("ordinal", "[1, 3, 2]", "options: 1, 3, 2 are not in order"),
        ("ordinal", "['1', '1.0']", "options: two keys are the same number"),
        (
            "continuous",
            "[A, B]",
            "options: a continuous scale has no options. Leave out this field.",
        ),
        (
            "rainbow",
            "[A, B]",
            "scale: found 'rainbow'. Input should be 'binary', 'nominal', 'ordinal'",
        ),
    ],
)
def test_faults_of_the_scale_are_explained(tmp_path, scale, options, message):
    """The scale and its options fit each other."""
    text = GOOD.replace("nominal", scale).replace(GOOD.splitlines()[3], f"options: {options}")
    assert fault(tmp_path, text).startswith(message)


@pytest.mark.parametrize("options", ["[5, 4, 3]", "[-1, 0, 1]", "[low, mid, high]", "[0.5, 1]"])
def test_ordinal_scales_rise_fall_or_have_words(tmp_path, options):
    """Any order that is one is accepted."""
    text = GOOD.replace("nominal", "ordinal").replace(GOOD.splitlines()[3], f"options: {options}")
    assert read_task_file(write(tmp_path, text)).scale == "ordinal"


def test_pairwise_is_nominal_with_options(tmp_path):
    """A comparison of two outputs has the options of its task."""
    text = GOOD.replace("nominal", "pairwise").replace(GOOD.splitlines()[3], "options: [a, b, tie]")
    assert len(read_task_file(write(tmp_path, text)).options) == 3


@pytest.mark.parametrize("name", ["", "a/b", "..", "-a", "a b", "x" * 65])
def test_a_name_can_be_part_of_a_path(tmp_path, name):
    """A task's name becomes part of a run folder's."""
    assert fault(tmp_path, GOOD.replace("demo", repr(name))).startswith("name: found ")


def test_several_faults_are_counted(tmp_path):
    """The first is told, the others are not hidden."""
    assert fault(tmp_path, f"{GOOD}tau: 2\ncolour: red\n").endswith("(more problems: 1)")


def test_the_schema_accepts_what_the_reader_accepts():
    """Options may be keys or objects; unknown fields are refused; what must be there is named."""
    schema = task_schema()
    assert set(schema["properties"]) == set(TaskFile.model_fields)
    assert schema["required"] == ["name", "property", "scale"]
    assert schema["additionalProperties"] is False
    kinds = schema["properties"]["options"]["items"]["anyOf"]
    assert {"type": "string"} in kinds
    assert {"$ref": "#/$defs/Option"} in kinds


def test_an_option_cannot_be_changed():
    """A task's parts are values."""
    with pytest.raises(ValidationError):
        Option(key="A").key = "B"


PLAIN = st.recursive(
    st.text(st.characters(categories=("L", "N", "P", "S", "Zs"))),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(categories=("L",))), inner, max_size=3)
    ),
    max_leaves=8,
)  # fmt: skip -- one line per branch


@given(value=PLAIN)
def test_plain_yaml_reads_what_a_dumper_writes(tmp_path_factory, value):
    """Texts, lists and mappings survive, whatever the texts look like."""
    path = tmp_path_factory.mktemp("yaml") / "x.yaml"
    path.write_text(yaml.safe_dump({"a": value}, allow_unicode=True), encoding="utf-8")
    assert read_yaml(path) == {"a": value}


def test_unquoted_scalars_are_typed_on_request(tmp_path):
    """Numbers, booleans and null are read as in JSON; quoted ones, dates and `no` stay text."""
    path = write(
        tmp_path, "{a: 1, b: -0.5, c: 1e-3, d: true, e: null, f: '1', g: no, h: 2020-01-01, i: }"
    )
    assert read_yaml(path, typed=True) == {
        "a": 1,
        "b": -0.5,
        "c": 0.001,
        "d": True,
        "e": None,
        "f": "1",
        "g": "no",
        "h": "2020-01-01",
        "i": None,
    }
