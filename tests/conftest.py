"""Fixtures of all tests: no network but loopback, no files of the user, servers, a browser."""

from __future__ import annotations

import gc
import importlib
import os
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

# The tests start dozens of processes; without a bytecode cache each would compile all its imports,
# as this one would what pytest rewrites.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).resolve().parent.parent / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

gc.set_threshold(50_000)  # with the default of 700, a fifth of the CPU goes into collecting

# A shell that starts pytest in the background lets it, and all that the tests start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# As the command line does; too late once numpy is loaded, which the support does.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
pytest.register_assert_rewrite("support")

from hypothesis import settings  # noqa: E402 -- once bytecode is written
from support.known_answers import truth_folders  # noqa: E402 -- after its asserts are rewritten
from support.packages import checking  # noqa: E402 -- the same
from support.processes import start_server  # noqa: E402 -- the same

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

GUARD = Path(__file__).with_name("guard")

settings.register_profile("all", deadline=None, derandomize=True)  # the same hundred in every run
settings.register_profile("few", settings.get_profile("all"), max_examples=20)  # the first of them
settings.register_profile("thorough", deadline=None, max_examples=1000)  # new ones
settings.load_profile("few")  # or pytest --hypothesis-profile=all

# Python processes that the tests start load the guard through PYTHONPATH, as `sitecustomize`.
sys.path.insert(0, str(GUARD))
os.environ["HARNESS_TEST_BLOCKED"] = str(Path(tempfile.gettempdir()) / f"blocked-{os.getpid()}")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(GUARD), os.environ.get("PYTHONPATH")]))
importlib.import_module("loopback_only").watch()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Let each worker begin with another folder: in a new clone, each rewrites other asserts."""
    report = yield
    worker = getattr(collector.config, "workerinput", None)
    if worker and collector.path == Path(__file__).parent:
        start = len(report.result) * int(worker["workerid"][2:]) // worker["workercount"]
        report.result = [*report.result[start:], *report.result[:start]]
    return report


def pytest_collection_modifyitems(config, items):
    """Let all workers have one order, whatever they began with."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.path)


def pytest_collection_finish():
    """Leave what pytest has made by now out of later collections: it stays until the end."""
    gc.freeze()


def pytest_xdist_auto_num_workers():
    """One more than processors: a fifth of a worker's time goes into waiting for processes."""
    return (os.cpu_count() or 1) + 1


def pytest_addoption(parser):
    """`--update-golden` rewrites the golden files from the present output."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


@pytest.fixture(scope="session")
def truth() -> Path:
    """The first folder with known answers; tests that need it are skipped where it is absent."""
    folders = truth_folders()
    if not folders:
        pytest.skip("no truth folder: set HARNESS_TRUTH")
    return folders[0]


@pytest.fixture(autouse=True)
def _loopback_only():
    """A test that uses the network fails, even if the error was caught: see guard/."""
    n_before = len(blocked_addresses())
    yield
    assert blocked_addresses()[n_before:] == []


def blocked_addresses() -> list[str]:
    """Return the addresses beyond loopback that this process or its children tried to reach."""
    path = Path(os.environ["HARNESS_TEST_BLOCKED"])
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.fixture(scope="session")
def _next_stub():
    """Return the server that runs, cleared; another one where requests are left in it."""
    with ExitStack() as running:
        servers = []

        def next_stub():
            if not (servers and servers[-1].is_cleared()):
                servers.append(running.enter_context(start_server()))
            return servers[-1]

        yield next_stub


@pytest.fixture(scope="module")
def stub(_next_stub):
    """A server on loopback that plays judges; see `support/stub_server.py`."""
    return _next_stub()


@pytest.fixture(scope="module")
def elsewhere():
    """A second server, to which nothing should be sent."""
    with start_server() as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    """Chromium, driven by playwright; the tests that need it are skipped where it is absent.

    Not for longer than a module: while it is driven, no other event loop runs in this process.
    """
    driver = checking("playwright", "playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no chromium on PATH")
    arguments = ["--disable-gpu", "--disable-software-rasterizer"]  # it draws on no screen
    arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
    playwright = driver.sync_playwright().start()
    chromium = playwright.chromium.launch(executable_path=program, args=arguments)
    yield chromium
    chromium.close()
    playwright.stop()


@pytest.fixture(scope="session", autouse=True)
def _shared_home(tmp_path_factory):
    """One state folder for all tests, which is not the user's own.

    Fixtures that several tests share have a home as well; each test has its own.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    os.environ["XDG_STATE_HOME"] = str(shared / "state")
    with pytest.MonkeyPatch.context() as patch:
        set_home(patch, base / "homes" / "shared")
        yield


def set_home(patch, home) -> None:
    """Let a folder be the user's home, in which nothing has been written yet."""
    for name in ("HARNESS_CACHE", "HARNESS_JUDGES", "HARNESS_TASKS", "HARNESS_RUNS"):
        patch.delenv(name, raising=False)
    patch.setenv("HOME", str(home))
    patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    patch.setenv("XDG_DATA_HOME", str(home / "data"))


_home_numbers = count()


@pytest.fixture(scope="module", autouse=True)
def _own_files(_shared_home, tmp_path_factory):
    """Let fixtures of a module share ledgers and a judges file, and those of two modules none."""
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_home_numbers))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
        patch.setenv("XDG_DATA_HOME", str(home / "data"))
        yield


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory, monkeypatch):
    """A home folder per test, so that no file of the user is read or written."""
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_home_numbers))
    set_home(monkeypatch, home)
    return home


@pytest.fixture
def shared_weights(own_home, tmp_path_factory, worker_id):
    """The home of the test links to one folder of unpacked weights of the language model."""
    base = tmp_path_factory.getbasetemp()
    weights = (base if worker_id == "master" else base.parent) / "weights"
    weights.mkdir(exist_ok=True)
    cache = own_home / "cache" / "judge-harness"
    cache.mkdir(parents=True)
    (cache / "weights").symlink_to(weights)
