"""An option is declared once: its default, bounds, help, and what it goes with."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from pathlib import Path

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

import harness
from harness.errors import HarnessError, OptionError
from harness.options.concerns import BudgetOptions, Choices, RunOptions
from harness.options.declaration import RESUME, Options, check_use, declared_options, options_of
from harness.options.keyword_arguments import in_python
from harness.revalidation.look_options import LookOptions

HARNESS = Path(harness.__file__).resolve().parent
SUBJECTS = {  # arguments of the API, and a field that holds options
    *("task", "run", "judge", "judges", "verdicts", "resume", "observer", "mapping", "options"),
}


def source(*parts):
    return ast.parse(HARNESS.joinpath(*parts).read_text(encoding="utf-8"))


def fields_of_classes(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                    yield node.name, member.target.id


def models_of_options():
    models, new = set(), {Options}
    while new := {child for model in new for child in model.__subclasses__()} - models:
        models |= new
    return models


def functions_of(*parts):
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return [node for node in ast.walk(source(*parts)) if isinstance(node, kinds)]


def test_each_option_is_a_field_of_one_model():
    """Inherited fields aside, no two models of options declare the same name."""
    counts = Counter(
        name
        for model in models_of_options()
        for name in inspect.get_annotations(model)
        if name in options_of(model)
    )
    assert len(counts) > 50
    assert [name for name, n in counts.items() if n > 1] == []


def test_no_command_declares_an_option_by_hand():
    """Parameters of commands are derived from models; callbacks print version and help."""
    by_hand = [
        path.name
        for path in sorted((HARNESS / "cli").glob("*.py"))
        for node in ast.walk(source("cli", path.name))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("typer.Option")
    ]
    assert by_hand == ["__init__.py", "binding.py", "first_screen.py"]


def test_no_layer_below_declares_an_option_again():
    """No keyword of the API, no bundle of keywords of a plan, no field of the manifest."""
    declared = set(declared_options()) - SUBJECTS
    again = []
    mapping = "table_tasks.py"  # its keywords say what columns are, as a recipe does
    api = [f"api/{path.name}" for path in (HARNESS / "api").glob("*.py") if path.name != mapping]
    for name in (*api, "app/run.py", "app/plan.py"):
        for function in functions_of(name):
            taken = {parameter.arg for parameter in function.args.kwonlyargs} & declared
            if len(taken) > (name not in api or function.name == "load_run"):
                again.append(f"{name}:{function.name}:{taken}")
    for name in (*api, "app/run.py", "runs/run_folder.py", "revalidation/asking.py"):
        fields = fields_of_classes(source(name))
        again += [f"{name}:{owner}.{field}" for owner, field in fields if field in declared]
    assert again == []


def test_signatures_of_the_api_are_derived():
    """`help(harness.run)` shows every option with its default, and the manifest holds them."""
    parameters = inspect.signature(harness.run).parameters
    for name in (*options_of(RunOptions), *options_of(Choices)):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert f"    {name} : " in harness.run.__doc__
    assert parameters["seed"].default == 0
    assert "fail_unless" not in parameters
    looks = inspect.signature(harness.revalidate).parameters
    assert set(options_of(LookOptions)) - {"dry_run"} <= set(looks)


def test_help_of_the_command_line_is_derived():
    """Flag, bounds and text come from the declaration; other options are named by their flags."""
    shown = " ".join(invoke("run", "--help-all").stdout.split())
    for option in options_of(RunOptions).values():
        assert option.flag in shown
    assert "[0<=x<=1]" in shown
    assert "4096 under --max-cost. [1<=x<1e+12]" in shown


@pytest.fixture
def place(tmp_path, monkeypatch):
    make_task_folder(tmp_path / "task", 8)
    monkeypatch.chdir(tmp_path)
    assert invoke("run", "--task", "task", "--judges", "random").exit_code == 0
    return next((tmp_path / "runs").iterdir())


@pytest.mark.parametrize(
    ("flag", "argument"),
    [
        (("--limit", "5"), {"limit": 5}),
        (("--seed", "99"), {"seed": 99}),
        (("--criterion", "x"), {"criterion": "x"}),
    ],
)
def test_options_were_ignored_where_a_run_is_validated(place, flag, argument):
    """`validate RUN --limit 5` ended with 0 and all items, where the API refused it."""
    refused = invoke("validate", place, *flag)
    assert refused.exit_code == 2
    reason = "a run is validated with its own verdicts, items and seed. Leave"
    assert f"{reason} {flag[0]} out" in " ".join(refused.output.split())
    with pytest.raises(HarnessError, match=f"{reason} {next(iter(argument))} out"):
        harness.validate(harness.load_run(place), **argument)


REFUSED = {  # what goes with another use of a command, and was ignored or had a rule of its own
    "annotate task --merge --port 5": "--port",
    "annotate task --export r.csv --queue q.csv": "--queue",
    "annotate task --rater ann --without bea": "--without",
    "annotate task --merge --elicitation paired": "--elicitation",
    "confirm --judge random --seed 3": "--seed",
    "curate drop task --as less --items i0 --seed 3": "--seed",
    "curate drop task --as less --items i0 --verdicts v.csv": "--verdicts",
    "curate export task t.csv --seed 3": "--seed",
    "curate export task t.csv --elicitation paired": "--elicitation",
    "curate import t.csv --as new --rater-name 1=ann": "--rater-name",
    "curate import t.csv --into task --raters a,b": "--raters",
    "curate import t.csv --into task --dry-run": "--dry-run",
    "curate next task --budget 5 --verdicts v.csv": "--verdicts",
    "curate next task --budget 5 --finding x --tau 0.5": "--tau",
    "curate next task --budget 5 --for estimate --tau 0.5": "--tau",
    "curate next task --budget 5 --out runs": "--out",
    "curate sample task --as some --items 2 --levels 10": "--levels",
    "plan difference 0.1 --agreement 0.8 --rater-agreement 0.8 --judges a,b": "--judges",
    "plan difference 0.1 --task task --verdicts v.csv --agreement 0.8": "--agreement",
    "plan annotators --task task --verdicts v.csv --eps 0.1": "--eps",
    "report --page p.html": "--page",
    "report a b --charts charts": "--charts",
    "report --task task --out runs": "--out",
    "lab selftest task --items 20": "--items",
    "lab selftest task --verdicts v.csv --gap 0.1": "--gap",
    "validate RUN --limit 5": "--limit",
    "validate RUN --seed 99": "--seed",
    "validate RUN --criterion x": "--criterion",
    "validate RUN --holdout 0.3": "--holdout",
    "validate RUN --verdicts v.csv": "--verdicts",
}


def test_an_option_of_another_use_is_refused_by_every_command(place):
    """One rule: exit code 2, the option is named, and nothing is written."""
    before = sorted(path for path in place.parent.parent.rglob("*"))
    for line, flag in REFUSED.items():
        done = invoke(*(str(place) if word == "RUN" else word for word in line.split()))
        assert done.exit_code == 2, (line, done.output)
        assert f"Leave {flag} out" in " ".join(done.output.split()), (line, done.output)
    assert sorted(path for path in place.parent.parent.rglob("*")) == before


def test_one_rule_says_what_goes_with_resume(place):
    """The command line and the API had a list each, and these differed."""
    allowed = {name for name, o in options_of(RunOptions).items() if RESUME in o.uses}
    assert allowed == {"max_cost", "max_cost_soft", "keep_going", "complete_winner"}
    assert "No such option: --samples" in invoke("resume", "--samples", "3").output
    with pytest.raises(
        HarnessError, match=r"keeps its options\. Leave samples out, or start a new"
    ):
        harness.run(resume=place, samples=3)


def test_an_option_of_another_use_is_refused_by_name():
    """The error knows the option by its name in Python, and words it for its reader."""
    with pytest.raises(OptionError) as refused:
        check_use(["limit"], RESUME, RunOptions)
    assert refused.value.advice == "Leave limit out, or start a new run"
    assert refused.value.worded(lambda name: f"--{name}")[1].startswith("Leave --limit out")
    check_use(["max_cost"], RESUME, BudgetOptions)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "--replies 5 needs 5 samples. Ask for more with --samples 5.",
            "replies=5 needs 5 samples. Ask for more with samples=5.",
        ),
        ("use --elicitation forced_choice.", "use elicitations='forced_choice'."),
        ("first: harness resume x", "first: harness resume x"),
        ("`harness validate --task t` describes", "`harness validate --task t` describes"),
        ("drop --shuffle-options", "drop shuffle_options"),
        ("sslmode --what is it", "sslmode --what is it"),
    ],
)
def test_errors_of_the_api_name_arguments(message, shown):
    """Flags become arguments; commands that are to be typed stay as they are."""
    assert str(in_python(HarnessError(message))) == shown


def test_a_misspelt_argument_is_named_with_the_one_that_was_meant():
    """Nothing runs with an option that does nothing."""
    with pytest.raises(
        HarnessError, match=r"limt=3: harness.run has no such option. Did you mean .*limit"
    ):
        harness.run("toxicity", limt=3)
