"""What all tests share: loopback only, nothing of the user's, the truth folder."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import tempfile
from itertools import chain, count
from pathlib import Path

import pytest
from hypothesis import settings
from support.cores import cores, keep_to_one
from support.stubbing import start_stub

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does

CHECKOUT = Path(__file__).resolve().parent.parent
GUARD = Path(__file__).with_name("guard")

# The tests start dozens of processes, and each would compile all that it imports.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(CHECKOUT / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

settings.register_profile("untimed", deadline=None)  # machines are busy
settings.register_profile("thorough", parent=settings.get_profile("untimed"), max_examples=1000)
settings.load_profile("untimed")  # or pytest --hypothesis-profile=thorough

# All Python processes that the tests start find the guard through PYTHONPATH, as its
# `sitecustomize`; this one calls it.
sys.path.insert(0, str(GUARD))
os.environ["HARNESS_TEST_REACHED"] = str(Path(tempfile.gettempdir()) / f"reached-{os.getpid()}")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(GUARD), os.environ.get("PYTHONPATH")]))
importlib.import_module("loopback_only").watch()


def pytest_configure():
    """Keep each worker to a core of its own."""
    if worker := os.environ.get("PYTEST_XDIST_WORKER", ""):
        keep_to_one(worker)


def pytest_xdist_auto_num_workers():
    """One worker per core."""
    return cores()


def pytest_collection_modifyitems(items):
    """Let each worker begin with what takes long, or takes long to prepare, and must not be twice.

    Workers get their shares of the list in its order; those that are done take from others' ends.
    """
    n_workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    size = len(items) // n_workers
    kinds = (_is_real, _wants_litellm, _is_report)
    others = [item for item in items if not any(is_one(item) for is_one in kinds)]
    shares = [[] for _ in range(n_workers)]
    for i, is_one in enumerate(kinds):
        shares[min(i, n_workers - 1)] += filter(is_one, items)
    for share in shares:
        n_more = max(0, size - len(share))
        share.extend(others[:n_more])
        del others[:n_more]
    items[:] = [*chain(*shares), *others]


def _is_real(item):
    return item.get_closest_marker("real") is not None


def _wants_litellm(item):
    return item.get_closest_marker("litellm") is not None


def _is_report(item):
    return "report" in item.path.parts


def pytest_collection_finish():
    """Collect cycles less often: what pytest has made by now is there to stay."""
    gc.freeze()
    gc.set_threshold(50_000)


def pytest_addoption(parser):
    """`--update-golden` rewrites the golden files from what the code does now."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


def truth_folders() -> list[Path]:
    """Folders with known answers: $HARNESS_TRUTH, else ../shared/truth beside the checkout."""
    listed = os.environ.get("HARNESS_TRUTH")
    folders = (
        [Path(p) for p in listed.split(os.pathsep)]
        if listed
        else [CHECKOUT.parent / "shared" / "truth"]
    )
    return [folder for folder in folders if folder.is_dir()]


@pytest.fixture(scope="session")
def truth() -> Path:
    """The first truth folder; tests that need it are skipped, visibly, where it is absent."""
    folders = truth_folders()
    if not folders:
        pytest.skip("no truth folder: set HARNESS_TRUTH")
    return folders[0]


@pytest.fixture(autouse=True)
def _loopback_only():
    """A test that reaches for the network fails, whoever swallows the error: see guard/."""
    before = len(reached())
    yield
    assert reached()[before:] == []


def reached() -> list[str]:
    """Addresses beyond loopback that this process or one it started has reached for."""
    path = Path(os.environ["HARNESS_TEST_REACHED"])
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.fixture(scope="session")
def _stub():
    """A server that plays judges, started once for all tests of this process."""
    with start_stub() as running:
        yield running


@pytest.fixture(scope="session")
def _elsewhere():
    """Another one."""
    with start_stub() as running:
        yield running


@pytest.fixture(scope="module")
def stub(_stub):
    """A judge on loopback that has seen nothing yet; see `stub.py`."""
    _stub.reset()
    return _stub


@pytest.fixture(scope="module")
def elsewhere(_elsewhere):
    """A server that nothing should be sent to."""
    _elsewhere.reset()
    return _elsewhere


HOMES = count()


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory, monkeypatch):
    """Nothing of the user's is read or written: a home that is only made if a test needs it."""
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(HOMES))
    for name in ("HARNESS_CACHE", "HARNESS_JUDGES", "HARNESS_TASKS", "HARNESS_RUNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    return home
