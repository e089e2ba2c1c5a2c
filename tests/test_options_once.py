"""An option is declared once, and a command takes all options of the models that it names."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

import harness
from harness.errors import HarnessError, OptionError
from harness.options.concerns import Choices, ResumeOptions, RunOptions
from harness.options.declaration import Options, declared_options, leave_out, options_of
from harness.options.keyword_arguments import in_python
from harness.options.result_options import VerdictFile
from harness.revalidation.look_options import LookOptions

HARNESS = Path(harness.__file__).resolve().parent
SUBJECTS = {  # arguments of the API, and fields that hold options
    *("task", "run", "judge", "judges", "verdicts", "resume", "observer", "mapping", "options"),
    "limit",
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


def make_verdicts(path):
    rows = "".join(f"i{k},random,A\n" for k in range(8))
    path.write_text(f"item,judge,value\n{rows}", encoding="utf-8")


def functions_of(*parts):
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return [node for node in ast.walk(source(*parts)) if isinstance(node, kinds)]


def declares(model, name):
    return name in inspect.get_annotations(model) and name in options_of(model)


def test_each_option_is_a_field_of_one_model():
    """A subclass may declare it again with other words or another default, and all else alike."""
    declaring = {}
    for model in models_of_options():
        for name in inspect.get_annotations(model):
            if declares(model, name):
                declaring.setdefault(name, []).append(model)
    assert len(declaring) > 50
    for name, models in declaring.items():
        (first,) = (
            model
            for model in models
            if not any(declares(parent, name) for parent in model.__mro__[1:-2])
        )
        kept = {"flag", "kind", "values", "panel", "is_rare", "range", "metavar", "repeats"}
        for model in models:
            ours, theirs = options_of(model)[name], options_of(first)[name]
            unlike = {field for field in kept if getattr(ours, field) != getattr(theirs, field)}
            assert not unlike, (model, name)


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


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A run, which no test changes."""
    folder = tmp_path_factory.mktemp("once")
    make_task_folder(folder / "task", 8)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert invoke("run", "--task", "task", "--judges", "random").exit_code == 0
    return next((folder / "runs").iterdir())


@pytest.fixture
def place(run_folder, monkeypatch):
    monkeypatch.chdir(run_folder.parent.parent)
    return run_folder


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
    reason = "a run has its own verdicts, items and seed. Leave out"
    assert f"{reason} {flag[0]}" in " ".join(refused.output.split())
    with pytest.raises(HarnessError, match=f"{reason} {next(iter(argument))}"):
        harness.validate(harness.load_run(place), **argument)


UNKNOWN = {  # what belongs to another command
    "annotate merge task --port 5": "--port",
    "annotate export task r.csv --queue q.csv": "--queue",
    "annotate task --rater ann --without bea": "--without",
    "annotate merge task --elicitation paired": "--elicitation",
    "confirm --judge random --seed 3": "--seed",
    "confirm verdicts --task task --verdicts v.csv --judge random --dry-run": "--dry-run",
    "curate next task --budget 5 --out runs": "--out",
    "curate draw task --budget 5 --judge j --items v.csv --as new --tau 0.5": "--tau",
    "history --every week": "--every",
    "resume --samples 3": "--samples",
    "revalidate rebase 2 --fail-on worse": "--fail-on",
}
REFUSED = {  # what has no effect beside another option or argument
    "curate drop task --as less --items i0 --seed 3": "--seed",
    "curate drop task --as less --items i0 --verdicts v.csv": "--verdicts",
    "curate export task t.csv --seed 3": "--seed",
    "curate export task t.csv --elicitation paired": "--elicitation",
    "curate import t.csv --as new --rater-name 1=ann": "--rater-name",
    "curate import t.csv --into task --raters a,b": "--raters",
    "curate import t.csv --into task --dry-run": "--dry-run",
    "curate import t.csv --into task --recipe r": "--recipe",
    "curate next task --budget 5 --verdicts v.csv": "--verdicts",
    "curate next task --budget 5 --finding x --tau 0.5": "--tau",
    "curate sample task --as some --items 2 --levels 10": "--levels",
    "history --all --last 3": "--last",
    "plan difference 0.1 --agreement 0.8 --rater-agreement 0.8 --judges a,b": "--judges",
    "plan difference 0.1 --task task --verdicts v.csv --agreement 0.8": "--agreement",
    "plan annotators --task task --verdicts v.csv --eps 0.1": "--eps",
    "report --page p.html": "--page",
    "report a b --charts charts": "--charts",
    "report --task task --out runs": "--out",
    "report --list --charts charts": "--charts",
    "report --list --task task": "--task",
    "lab selftest task --items 20": "--items",
    "lab selftest task --verdicts v.csv --gap 0.1": "--gap",
    "lab selftest --run RUN --verdicts v.csv": "--verdicts",
    "validate RUN --limit 5": "--limit",
    "validate RUN --seed 99": "--seed",
    "validate RUN --criterion x": "--criterion",
    "validate RUN --holdout 0.3": "--holdout",
    "validate RUN --verdicts v.csv": "--verdicts",
}


def refused(line, place):
    done = invoke(*(str(place) if word == "RUN" else word for word in line.split()))
    assert done.exit_code == 2, (line, done.output)
    return " ".join(done.output.split())


def test_an_option_of_another_command_is_unknown(place):
    """A command takes the options of its models, and the command line refuses others itself."""
    for line, flag in UNKNOWN.items():
        assert f"No such option: {flag}" in refused(line, place), line


def test_an_option_without_effect_is_refused(place):
    """Exit code 2, the option is named, and nothing is written."""
    make_verdicts(Path("v.csv"))
    before = sorted(path for path in place.parent.parent.rglob("*"))
    for line, flag in REFUSED.items():
        assert f"Leave out {flag}" in refused(line, place), line
    assert sorted(path for path in place.parent.parent.rglob("*")) == before


def test_options_that_a_resumed_run_may_change_are_declared_once(place):
    """The command line and the API had a list each, and these differed."""
    allowed = {"max_cost", "max_cost_soft", "keep_going", "complete_winner"}
    assert set(options_of(ResumeOptions)) == allowed
    with pytest.raises(
        HarnessError, match=r"keeps its options\. Leave out samples, or start a new"
    ):
        harness.run(resume=place, samples=3)


def test_an_option_without_effect_is_refused_by_name():
    """The error knows the option by its name in Python, and words it for its reader."""
    with pytest.raises(OptionError) as wrong:
        leave_out({"limit"}, "a resumed run keeps its options", ", or start a new run")
    assert wrong.value.advice == "Leave out limit, or start a new run"
    assert wrong.value.worded(lambda name: f"--{name}")[1].startswith("Leave out --limit")
    leave_out(VerdictFile().model_fields_set, "nothing is given")


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
        HarnessError,
        match=r"limt=3: harness.run has no option with this name. Did you mean .*limit",
    ):
        harness.run("toxicity", limt=3)
    with pytest.raises(HarnessError, match="pass it as a key of mapping"):
        harness.run([], property="how polite it is")
