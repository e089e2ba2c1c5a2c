"""Calling the library leaves the process as it was: variables, warnings, loggers, csv's limit."""

from __future__ import annotations

import csv
import logging
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path

import pytest

import harness
from harness.files.tables.checks import Limits, PlaceError
from harness.files.tables.reader import csv_rows
from harness.loading import SharedBlock, silenced, variables_set
from harness.tasks import load_task

HARNESS = Path(harness.__file__).resolve().parent
STATE = """
import asyncio, csv, decimal, locale, logging, os, pkgutil, random, signal, socket, sys, threading
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import litellm, datasets, psycopg, scipy.sparse, scipy.stats  # what they change is theirs

def state():
    loggers = {None: logging.getLogger()} | dict(logging.root.manager.loggerDict)
    real = {n: x for n, x in loggers.items() if isinstance(x, logging.Logger)}
    yield "variables", dict(os.environ)
    yield "warnings", list(warnings.filters)
    yield "warnings", (warnings.showwarning, warnings.formatwarning)
    yield "csv", csv.field_size_limit()
    yield "levels", {name: (x.level, x.disabled, x.propagate)
                     for name, x in real.items() if x.level}
    yield "handlers", {name: list(x.handlers) for name, x in real.items() if x.handlers}
    yield "disabled levels", (logging.root.manager.disable, logging.getLoggerClass())
    yield "progress bars", not datasets.are_progress_bars_disabled()
    yield "locale", [locale.setlocale(getattr(locale, name)) for name in dir(locale)
                     if name.startswith("LC_") and name != "LC_ALL"]
    yield "random", random.getstate()
    yield "numpy.random", repr(np.random.get_state())
    yield "numpy", (np.geterr(), np.get_printoptions())
    yield "signals", {s: signal.getsignal(s) for s in signal.valid_signals()}
    yield "wake-up", signal.set_wakeup_fd(-1)
    yield "asyncio", asyncio.get_event_loop_policy()
    yield "hooks", (sys.excepthook, threading.excepthook, sys.unraisablehook, sys.displayhook)
    yield "tracing", (sys.gettrace(), sys.getprofile(), threading.gettrace())
    yield "limits", (sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits())
    yield "decimals", repr(decimal.getcontext())
    yield "sockets", socket.getdefaulttimeout()
    yield "streams", (sys.stdin, sys.stdout, sys.stderr)
    yield "umask", os.umask(mask := os.umask(0o77)) and mask
    yield "folder", os.getcwd()

def check(when):
    for (name, was), (_, now) in zip(before, state()):
        assert was == now, (when, name, was, now)

asyncio.get_event_loop_policy()
before = list(state())
path = list(sys.path)

import harness
import harness.api, harness.app.run, harness.stats
check("import")
for module in pkgutil.walk_packages(harness.__path__, "harness."):
    if not module.name.endswith(".__main__"):
        import_module(module.name)
        check(module.name)
assert sys.path == path
from harness.errors import TaskError
from harness.tasks.dataset_fields import Split
from harness.tasks.hub_download import download_split
from harness.files.tables.checks import Limits
from harness.files.tables.reader import csv_rows

run = harness.run("toxicity", "gpt", judges_file="judges.yaml", limit=4)
assert run.exit_code == 0
Path("long.csv").write_text("item,rater,label,text\\n" + "".join(
    f"i{i},{rater},{'ny'[i % 2]},{i} {'long ' * 40_000}\\n" for i in range(4) for rater in "ab"
))
rows = list(csv_rows(Path("long.csv"), (), Limits()))
assert len(rows) == 8
try:
    download_split("nobody/nothing", Split(split="train", revision="0" * 40), Path("x.parquet"))
except TaskError:
    pass
check("run")
validation = harness.validate("toxicity", "verdicts.csv")
assert validation.judges
check("validate")
"""
JUDGE = "judges: {{gpt: {{kind: litellm, model: openai/stub, base_url: '{url}', samples: 1}}}}\n"


CHANGES_OF_STATE = re.compile(
    r"os\.environ(\[[^]]+\] =|\.(update|setdefault|pop)\()|os\.(putenv|chdir|umask)\("
    r"|(filterwarnings|simplefilter|basicConfig|setLevel|addHandler|setlocale|seterr)\("
    r"|field_size_limit\(\w|random\.seed\(|setrecursionlimit\(|set_event_loop_policy\("
    r"|signal\.signal\(|add_signal_handler\(|setrlimit\(|gc\.(set_threshold|disable|freeze)\("
)
MAY_CHANGE_STATE = {
    "report/served/loopback.py",  # signals of the commands that serve pages
    "cli/__init__.py",
    "judging/running/session.py",  # the soft limit of open files, which a run says
    "loading.py",  # puts back what it changes
    "judging/running/stopping.py",  # signals while a run asks; puts them back
    "files/tables/reader.py",  # the limit of csv while a table is read; puts it back
    "files/tables/native_readers.py",  # a process of its own
}


def test_few_modules_change_the_state_of_the_process():
    """Each with its reason; what the test below does not call is found here."""
    found = {
        path.relative_to(HARNESS).as_posix()
        for path in HARNESS.rglob("*.py")
        if CHANGES_OF_STATE.search(path.read_text(encoding="utf-8"))
    }
    assert found == MAY_CHANGE_STATE


def test_environment_is_put_back(monkeypatch):
    """Also what was not set, and after an error."""
    monkeypatch.setenv("HARNESS_KEPT", "own")
    monkeypatch.delenv("HARNESS_NEW", raising=False)

    def fail():
        with variables_set(HARNESS_KEPT="other", HARNESS_NEW="yes"):
            assert os.environ["HARNESS_KEPT"] == "other"
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 -- the one raised above
        fail()
    assert os.environ["HARNESS_KEPT"] == "own"
    assert "HARNESS_NEW" not in os.environ


def test_overlapping_blocks_put_a_level_back_in_the_end():
    """In whichever order they end."""
    logger = logging.getLogger("test_scoped_state")
    logger.setLevel(logging.INFO)
    block = SharedBlock(lambda: silenced([logger.name]))
    first, second = block.entered(), block.entered()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not logger.isEnabledFor(logging.CRITICAL)
    second.__exit__(None, None, None)
    assert logger.level == logging.INFO


OWN_LIMIT = 131_071  # that nothing sets by chance


@pytest.fixture
def own_limit():
    """A limit of csv that the program has set itself."""
    before = csv.field_size_limit(OWN_LIMIT)
    yield OWN_LIMIT
    csv.field_size_limit(before)


def long_table(path, n_rows=40, last="c,3\n"):
    """Write a table whose fields are longer than the limit of csv."""
    rows = [f"{i},{'long ' * 40_000}\n" for i in range(4)] + ["b,2\n"] * n_rows
    path.write_text("id,text\n" + "".join(rows) + last)
    return path


def test_the_limit_of_csv_is_put_back(tmp_path, own_limit):
    """Between the rows, at the end, after an error, and where a table is read in part."""
    rows = csv_rows(long_table(tmp_path / "t.csv"), (), Limits())
    assert {csv.field_size_limit() for _ in rows} == {own_limit}
    assert csv.field_size_limit() == own_limit
    rows = csv_rows(tmp_path / "t.csv", (), Limits())
    next(rows)
    rows.close()
    assert csv.field_size_limit() == own_limit
    with pytest.raises(PlaceError, match="Check for a quote"):
        list(csv_rows(long_table(tmp_path / "open.csv", last='c,"3\n'), (), Limits()))
    assert csv.field_size_limit() == own_limit


def test_threads_that_read_tables_put_the_limit_of_csv_back(tmp_path, own_limit):
    """One took the limit of another for that of the program, and left it behind."""
    paths = [long_table(tmp_path / f"{i}.csv", n_rows=20_000) for i in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(paths)) as pool:
            counts = pool.map(lambda path: sum(1 for _ in csv_rows(path, (), Limits())), paths)
            assert {*counts} == {20_005}
    finally:
        sys.setswitchinterval(interval)
    assert csv.field_size_limit() == own_limit


def test_imports_leave_the_limit_of_csv():
    """Also of the module that reads tables, and of all that import it."""
    code = (
        f"import csv; csv.field_size_limit({OWN_LIMIT})\n"
        "import harness.files.tables.reader, harness.curation, harness.api.table_tasks\n"
        f"assert csv.field_size_limit() == {OWN_LIMIT}, csv.field_size_limit()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_library_leaves_the_process_as_it_was(tmp_path, stub):
    """After a run with a hosted model, a table with long fields and a download that failed."""
    (tmp_path / "judges.yaml").write_text(JUDGE.format(url=stub.url()))
    own = {"HOME": str(tmp_path), "OPENAI_API_KEY": "sk-none", "HF_HUB_OFFLINE": "1"}
    ids = [item.id for item in load_task("toxicity").items]
    rows = [f"{item},mine,{key}" for item, key in zip(ids, cycle("AB"), strict=False)]
    (tmp_path / "verdicts.csv").write_text("\n".join(["item,judge,value", *rows]))
    command = [sys.executable, "-W", "error::UserWarning", "-c", STATE]
    ended = subprocess.run(
        command, env=os.environ | own, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "Warning" not in ended.stderr
