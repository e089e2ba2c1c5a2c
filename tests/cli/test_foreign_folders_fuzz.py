"""Whatever lies in a run folder: six commands end, write in it alone, and contact nobody."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import stat
import sys
import traceback
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from signal import SIGALRM, SIGPROF
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.processes import invoke
from support.task_folders import make_task_folder

from harness import cli
from harness.errors import HarnessError
from harness.files.checksummed_log import encode
from harness.judging.parsing.verdict import HEADER, PairValue, Reply, Verdict

LIMIT_S = 10  # of CPU, as other tests run at the same time
HANGS_S = 60
CONTACTS = {"socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"}
NAMES = (
    *("manifest.json", "verdicts.jsonl", "verdicts.damaged", "metrics.json", "metrics.parquet"),
    *("ranking.csv", "report.html", "judge-card.md", "rate.jsonl", "batches.json"),
    *("history.jsonl", "looks", "looks/0002/manifest.json", "looks/0002/verdicts.jsonl"),
    *(".ranking.csv.part", "task", "task/task.yaml", "task/items.jsonl", "task/ratings.jsonl"),
    *("task/groups.csv", "prompts", "prompts/forced_choice.txt", "prompts/own.txt", "a/b/c"),
)
SPECIAL = ("link", "dangling", "device", "parent", "fifo", "folder", "sparse", "absent")
NASTY = (
    *(None, True, -1, 0, 10**30, 1e308, float("nan"), "", "\ud800", "\x1b[2J\x9b", "a\nb", "\0"),
    *(
        "../../secret",
        "/dev/zero",
        "http://127.0.0.1:9/v1",
        "AWS_SECRET_ACCESS_KEY",
        "h/x",
    ),
    *(
        [],
        {},
        [[[]]],
        {"a": {"b": [1]}},
        "A",
        "x" * 1000,
        "litellm",
        "endpoint",
        "asked",
        "stopped",
    ),
)
nasty = st.sampled_from(NASTY)
garbage = st.one_of(
    st.binary(max_size=200),
    st.sampled_from((b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe", HEADER, b"a: &x [*x]\n")),
)
replies = st.builds(
    Reply,
    request=st.just("0" * 64),
    text=st.sampled_from(("A", "\ud800", "\x1b]0;x\x07")),
    model=st.sampled_from((None, "\ud800\x9b")),
    cost_usd=st.sampled_from((None, -1.0, 1e308)),
    latency_s=st.sampled_from((None, -1.0, 1e308)),
)
verdicts = st.builds(
    Verdict,
    item=st.sampled_from(("i0", "i1", "\ud800", "nowhere")),
    judge=st.sampled_from(("random", "nobody")),
    elicitation=st.sampled_from(("forced_choice", "response_set", "paired")),
    sample=st.sampled_from((0, 1, -1, 10**18)),
    outcome=st.sampled_from(("answered", "invalid", "failed", "abstained")),
    value=st.sampled_from(("A", "Z", ("A", "B"), (), None, PairValue(set=("A",), choice="B"))),
    attempt=st.sampled_from((1, -(10**6))),
    reply=st.none() | replies,
    reason=st.sampled_from(("", "\x1b[2J")),
)
changes = st.one_of(
    st.tuples(st.just("special"), st.sampled_from(NAMES), st.sampled_from(SPECIAL)),
    st.tuples(st.just("bytes"), st.sampled_from(NAMES), garbage),
    st.tuples(st.just("json"), st.sampled_from(("manifest.json", "metrics.json")), nasty),
    st.tuples(st.just("json"), st.just("manifest.json"), nasty),
    st.tuples(st.just("line"), st.sampled_from(("task/task.yaml", "task/ratings.jsonl")), nasty),
    st.tuples(st.just("verdict"), st.just("verdicts.jsonl"), verdicts),
)


@cache
def shared_run() -> Path:
    """A finished run of one judge that needs no network; made once per process."""
    place = Path(mkdtemp())
    task = make_task_folder(place / "task", 3)
    words = ("--judges", "random", "--samples", 1, "--no-store", "--out", place / "runs")
    assert invoke("run", "--task", task, *words).exit_code == 0
    [run] = (place / "runs").iterdir()
    return run


def apply(run: Path, change: tuple, numbers: st.DataObject) -> None:
    """Change a run folder as somebody might before sending it."""
    kind, name, content = change
    path = run / name
    if not path.parent.is_dir():
        path.parent.unlink(missing_ok=True)
        path.parent.mkdir(parents=True)
    if kind in {"json", "line", "verdict"} and not (path.is_file() and not path.is_symlink()):
        return
    if kind == "special":
        put_special(path, content, run.parent.parent / "secret")
    elif kind == "bytes":
        remove(path)
        path.write_bytes(content)
    elif kind == "verdict":
        path.write_bytes(path.read_bytes() + encode(content))
    elif kind == "line":
        lines = path.read_text("utf-8", errors="replace").splitlines() or [""]
        text = json.dumps(content)
        lines[numbers.draw(st.integers(0, len(lines) - 1))] = text
        path.write_text("\n".join(lines), "utf-8")
    else:
        change_json(path, content, numbers)


def change_json(path: Path, content: object, numbers: st.DataObject) -> None:
    """Replace a value anywhere in a JSON file, or remove it."""
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return
    node, key = {"": document}, ""
    while isinstance(node[key], dict | list) and node[key] and numbers.draw(st.booleans()):
        node = node[key]
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = numbers.draw(st.sampled_from(keys))
    node[key] = content
    path.write_text(json.dumps(node.get("", document) if isinstance(node, dict) else document))


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def put_special(path: Path, kind: str, secret: Path) -> None:
    """Put something that is no ordinary file at a path, or nothing."""
    remove(path)
    links = {
        "link": secret,
        "dangling": f"{secret}-x",
        "device": "/dev/zero",
        "parent": "..",
    }
    if kind in links:
        path.symlink_to(links[kind])
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "sparse":
        with path.open("wb") as file:
            file.truncate(64 << 20)


class Watch:
    """Records what is opened that is no regular file, and who is contacted, while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.faults: list[str] = []
        self.place = Path()

    def __call__(self, event: str, arguments: tuple) -> None:
        if not self.on:
            return
        if event in CONTACTS:
            self.faults.append(f"{event} {arguments[1:]}")
        elif event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            self.check(Path(os.fsdecode(arguments[0])), arguments[2])

    def check(self, path: Path, flags: int) -> None:
        if not path.absolute().is_relative_to(self.place) or flags & os.O_NOFOLLOW:
            return
        try:
            status = os.lstat(path)
        except OSError:
            return
        plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
        if not plain or path.name == "secret":
            self.faults.append(f"opened {path}")


WATCH = Watch()
sys.addaudithook(WATCH)


@contextmanager
def watched(place: Path):
    """Check that nothing forbidden happens, and that it ends in time."""
    WATCH.on, WATCH.faults, WATCH.place = True, [], place
    limits = {signal.ITIMER_PROF: LIMIT_S, signal.ITIMER_REAL: HANGS_S}
    previous = {number: signal.signal(number, expire) for number in (SIGPROF, SIGALRM)}
    for timer, limit_s in limits.items():
        signal.setitimer(timer, limit_s)
    try:
        yield
    finally:
        for timer in limits:
            signal.setitimer(timer, 0)
        for number, handler in previous.items():
            signal.signal(number, handler)
        WATCH.on = False
    assert WATCH.faults == []


def expire(*_):
    raise RuntimeError(f"did not end within {LIMIT_S} s")


def outside(place: Path, run: Path) -> dict[str, str]:
    """Return the digests of all files beside a run folder."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in place.rglob("*")
        if not path.is_relative_to(run) and path.is_file()
    }


def check_commands(run: Path, place: Path) -> None:
    """Run the six commands on a folder; each ends with a result or one line."""
    commands = (
        ("report", "--list", "--out", run.parent),
        ("validate", run),
        ("report", run),
        ("resume", "--no-store", "--quiet", run),
        ("revalidate", "--quiet", run),
        ("history", run),
    )
    before = outside(place, run)
    for words in commands:
        with watched(place):
            done = invoke(*words)
        error = done.exception
        usual = (HarnessError, SystemExit, cli.USAGE_ERROR, type(None))
        assert isinstance(error, usual), "".join(traceback.format_exception(error))
        assert "Traceback" not in done.output
        assert not {*"\x1b\x9b\x07"} & {*done.output}
    assert outside(place, run) == before


def check_folder(data: st.DataObject, largest: int) -> None:
    place = Path(mkdtemp())
    try:
        (place / "secret").write_text("a file that nobody shared")
        run = shutil.copytree(shared_run(), place / "runs" / "foreign")
        for change in data.draw(st.lists(changes, min_size=1, max_size=largest)):
            apply(run, change, data)
        check_commands(run, place)
    finally:
        shutil.rmtree(place)


@pytest.mark.slow
@settings(
    max_examples=16,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(data=st.data())
def test_foreign_folders_hurt_nobody(data):
    """`validate`, `report`, `report --list`, `resume`, `revalidate` and `history` end within 10 s,
    write in the folder alone, open no link, FIFO or device, contact nobody and print no
    traceback."""
    check_folder(data, 2)


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(
    max_examples=240,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)
@given(data=st.data())
def test_many_foreign_folders_hurt_nobody(data):
    """The same for more folders, and more changes in each of them."""
    check_folder(data, 4)


def test_the_watch_sees_what_it_forbids(tmp_path):
    """Otherwise the claims above would be empty."""
    import socket

    (tmp_path / "secret").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(AssertionError, match="opened"), watched(tmp_path):
        (tmp_path / "link").read_text()
    with (
        pytest.raises(AssertionError, match="connect"),
        watched(tmp_path),
        pytest.raises(OSError, match="refused"),
        socket.socket() as connection,
    ):
        connection.connect(("127.0.0.1", 9))
