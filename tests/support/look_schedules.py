"""Runs of judges whose replies stand in tables of the stub server, and looks at them."""

from __future__ import annotations

import atexit
import json
import os
import random
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.files.checksummed_log import encode
from harness.judging.parsing.verdict import HEADER, decode, log_lines

JUDGE = """\
  {name}:
    kind: endpoint
    model: {name}
    base_url: {url}
    samples: {samples}
    concurrency: {concurrency}
"""


def text_of(i: int) -> str:
    return f"This is comment number {i}."


def majority(i: int) -> str:
    """What most of the three raters of an item of `make_task_folder` say."""
    return "A" if i % 4 >= 2 else "B"


def other(answer: str) -> str:
    return "B" if answer == "A" else "A"


def flawed(i: int) -> str:
    """The majority, but for a quarter of the items, on which all raters agree."""
    return other(majority(i)) if i % 4 == 0 else majority(i)


def replies(
    n: int, answer, *, noise: float = 0.0, invalid: float = 0.0, seed: int = 0, each: int = 8
):
    """Replies to each of n items, eight by default: ``answer(i)``, some noisy, some unreadable."""
    rng = random.Random(seed)

    def reply(i: int) -> str:
        if rng.random() < invalid:
            return "I would rather talk about the weather."
        return other(answer(i)) if rng.random() < noise else answer(i)

    return {text_of(i): [reply(i) for _ in range(each)] for i in range(n)}


_kept_runs = TemporaryDirectory(prefix="runs-of-schedules-")
atexit.register(_kept_runs.cleanup)
_runs: dict[str, tuple[Path, Path]] = {}  # where each was asked, and where it is kept


def _copied(facts: str, folder: Path) -> Path | None:
    """Copy the run of an earlier schedule of the same facts, and its cache of replies."""
    if facts not in _runs:
        return None
    asked_in, kept = _runs[facts]
    shutil.copytree(kept / "cache", os.environ["XDG_CACHE_HOME"], dirs_exist_ok=True)
    shutil.copytree(kept / "runs", folder / "runs")
    [run] = (folder / "runs").iterdir()
    manifest = run / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace(str(asked_in), str(folder)), "utf-8")
    return run


class Schedule:
    """A run of some judges, and looks at it."""

    def __init__(self, folder, stub, tables, *, samples=2, n=60, ms=0, concurrency=32):
        self.stub, self.folder, self.names = stub, folder, tuple(tables)
        make_task_folder(folder / "task", n, response_sets=False)
        self.write_judges(samples=samples, ms=ms, concurrency=concurrency)
        for name, table in tables.items():
            stub.set_table(name, table)
        facts = (stub.origin, tables, samples, n, ms, concurrency)
        self.run = _copied(json.dumps(facts), folder) or self._asked_run(json.dumps(facts))

    def _asked_run(self, facts: str) -> Path:
        """Run the judges; what the run wrote is kept for schedules of the same facts."""
        folder = self.folder
        result = invoke(
            *("run", "--task", folder / "task", "--judges", ",".join(self.names)),
            *("--judges-file", folder / "judges.yaml", "--elicitation", "forced_choice"),
            *("--out", folder / "runs", "--quiet"),
        )
        assert result.exit_code == 0, result.output
        [run] = (folder / "runs").iterdir()
        kept = Path(_kept_runs.name) / str(len(_runs))
        shutil.copytree(run, kept / "runs" / run.name)
        shutil.copytree(os.environ["XDG_CACHE_HOME"], kept / "cache")
        _runs[facts] = folder, kept
        return run

    def write_judges(self, *, samples=2, ms=0, concurrency=32, more=""):
        judges = "".join(
            JUDGE.format(
                name=name,
                url=self.stub.url(table=name, ms=ms),
                samples=samples,
                concurrency=concurrency,
            )
            for name in self.names
        )
        file = self.folder / "judges.yaml"
        file.write_text(f"judges:\n{judges}{more}", "utf-8")
        if home := os.environ.get("XDG_CONFIG_HOME"):  # a round asks the judges of the user's file
            own = Path(home) / "judge-harness" / file.name
            own.parent.mkdir(parents=True, exist_ok=True)
            own.unlink(missing_ok=True)
            own.symlink_to(file)

    def look(self, *arguments, code=0):
        """Look once; return the result as JSON. ``code`` None is 0, or 1 for what is worse."""
        if not {"--judges-file", "exclude"} & set(arguments):
            arguments += ("--judges-file", self.folder / "judges.yaml")
        result = invoke("revalidate", self.run, "--json", "--quiet", *arguments)
        assert result.exit_code in ({0, 1} if code is None else {code}), result.stderr
        return json.loads(result.stdout)


def aged(folder: Path, days: float) -> None:
    """Rewrite a run folder as if it had been made so many days earlier."""
    seconds = timedelta(days=days)
    manifest = folder / "manifest.json"
    fields = json.loads(manifest.read_bytes())
    created = datetime.fromisoformat(fields["created"]) - seconds
    manifest.write_text(json.dumps(fields | {"created": created.isoformat()}), "utf-8")
    log = folder / "verdicts.jsonl"
    lines = []
    for _, line in log_lines(log):
        verdict = decode(line)
        at = verdict.reply.received_at - seconds.total_seconds()
        lines.append(encode(replace(verdict, reply=replace(verdict.reply, received_at=at))))
    log.write_bytes(HEADER + b"".join(lines))


def verdicts(look) -> dict[str, str]:
    return {judge["judge"]: judge["verdict"] for judge in look["judges"]}


def figure(look, judge: str, name: str) -> dict:
    """A figure of a judge in a round that was printed as JSON, by its name."""
    [row] = [row for row in look["judges"] if row["judge"] == judge]
    [found] = [f for f in row["figures"] if f["name"] == name]
    return found
