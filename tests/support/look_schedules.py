"""Runs of judges whose replies stand in tables of the stub server, and looks at them."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

from support.processes import invoke
from support.task_folders import make_task_folder

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


class Schedule:
    """A run of some judges, and looks at it."""

    def __init__(self, folder, stub, tables, *, samples=2, n=60, ms=0, concurrency=32):
        self.stub, self.folder, self.names = stub, folder, tuple(tables)
        make_task_folder(folder / "task", n, response_sets=False)
        self.write_judges(samples=samples, ms=ms, concurrency=concurrency)
        for name, table in tables.items():
            stub.set_table(name, table)
        result = invoke(
            *("run", "--task", folder / "task", "--judges", ",".join(tables)),
            *("--judges-file", folder / "judges.yaml", "--elicitation", "forced_choice"),
            *("--out", folder / "runs", "--quiet"),
        )
        assert result.exit_code == 0, result.output
        [self.run] = (folder / "runs").iterdir()

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
        if home := os.environ.get("XDG_CONFIG_HOME"):  # a look asks the judges of the user's file
            own = Path(home) / "judge-harness" / file.name
            own.parent.mkdir(parents=True, exist_ok=True)
            own.unlink(missing_ok=True)
            own.symlink_to(file)

    def look(self, *arguments, code=0):
        """Look once; return the result as JSON. ``code`` None is 0, or 1 for what is worse."""
        if not {"--judges-file", "--exclude"} & set(arguments):
            arguments += ("--judges-file", self.folder / "judges.yaml")
        result = invoke("revalidate", self.run, "--json", "--quiet", *arguments)
        assert result.exit_code in ({0, 1} if code is None else {code}), result.stderr
        return json.loads(result.stdout)


def verdicts(look) -> dict[str, str]:
    return {judge["judge"]: judge["verdict"] for judge in look["judges"]}


def figure(look, judge: str, name: str) -> dict:
    """A figure of a judge in a look that was printed as JSON, by its name."""
    [row] = [row for row in look["judges"] if row["judge"] == judge]
    [found] = [f for f in row["figures"] if f["name"] == name]
    return found
