"""What a re-validation says of each kind of change, on a judge that the stub server plays.

    python benchmarks/changes.py [--only WORD] [--write]

Prints a row per change: the round that notices it, the first sentence and the exit code.
``--write`` puts the table into docs/how-to/revalidate.md. This takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.look_schedules import Schedule, majority, other, replies, text_of
from support.processes import invoke, start_server

from harness.files.checksummed_log import with_checksum, without_checksum
from harness.files.user_folders import user_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.processes import Server

PAGE = Path(__file__).resolve().parents[1] / "docs" / "how-to" / "revalidate.md"
START = "<!-- benchmarks/changes.py writes what follows -->"
N_ITEMS = 150
N_REPLIES = 5  # per item in the baseline
N_LOOKS = 8  # after the change
NOISE = 0.1
SINCE = re.compile(r"since \d+ \w+(?: \d{4})?")
DAY = "since 12 Nov"  # in place of the day on which the table was made
BEYOND = re.compile("harness: (.* at the baseline .*|.* in use, .*)")
NOTE = re.compile("left out|ratings have changed|model version")
UNREADABLE = "I would rather talk about the weather."
REFUSAL = "I'm sorry, but I can't help with that request."
REASONS = "The comment was read twice, and every word of it was weighed. " * 8
HEADS = ("change", "round of detection", "sentence", "exit code")


class Row(NamedTuple):
    """A line of the table; ``look`` counts from the change and is "" where nothing is noticed."""

    change: str
    look: str
    sentence: str
    exit_code: int


class PricedSchedule(Schedule):
    """A schedule of one judge with a price."""

    def write_judges(self, **settings):
        super().write_judges(**settings, more="    price: {input: 1, output: 4}\n")


class Watch:
    """One look after the baseline, before each of several changes."""

    def __init__(self, folder: Path, stub: Server) -> None:
        self.folder, self.stub = folder / "watch", stub
        self.kept = folder / "kept"
        self.schedule = PricedSchedule(
            self.folder, stub, {"prod": steady(1)}, samples=N_REPLIES, n=N_ITEMS
        )
        assert self.look()[0] == 0
        shutil.copytree(self.folder, self.kept)

    def look(self, run: Path | None = None, *more: object) -> tuple[int, str]:
        """Look once; return the exit code, and the first sentence with what is noted of it."""
        done = invoke("revalidate", run or self.schedule.run, *more)
        first, *others = done.stdout.split("\n\n")
        beyond = BEYOND.findall(done.stderr)
        said = " ".join(" ".join([first, *filter(NOTE.search, others), *beyond]).split())
        own = user_file()
        for folder in (self.folder, own.parent if own else self.folder):
            said = said.replace(f"{folder}/", "")
        return done.exit_code, SINCE.sub(DAY, said)

    def after(self, name: str, change: Callable[[Watch], object]) -> Row:
        """Make a change, and round until it is noticed, at most `N_LOOKS` times."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.kept, self.folder)
        self.reply(steady(2))
        run = change(self)
        arguments = run if isinstance(run, tuple) else ()
        for number in range(1, N_LOOKS + 1):
            code, sentence = self.look(*arguments)
            if code:
                return Row(name, str(number), sentence, code)
        return Row(name, "", sentence, 0)

    def reply(self, table: dict[str, list[str]], **fields: object) -> None:
        """Let the judge reply from another table."""
        self.stub.set_table("prod", table, **fields)

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text in a file of the watch, once."""
        path = self.folder / file
        content = path.read_text("utf-8")
        assert old in content
        path.write_text(content.replace(old, new, 1), "utf-8")


def steady(seed: int) -> dict[str, list[str]]:
    """Replies of the judge as it was, a fifth of its usual answers wrong."""
    return replies(N_ITEMS, usual, noise=NOISE, seed=seed)


def usual(i: int) -> str:
    return other(majority(i)) if i % 5 == 1 else majority(i)


def answers(is_changed: Callable[[int], bool]) -> Callable[[Watch], None]:
    """Change the usual answers to some items."""
    table = replies(
        N_ITEMS, lambda i: other(usual(i)) if is_changed(i) else usual(i), noise=NOISE, seed=3
    )
    return lambda watch: watch.reply(table)


def some_say(text: str) -> Callable[[Watch], None]:
    """Let 5 % of the replies be some text, to other items in each round."""
    table = steady(4)
    for i in range(N_ITEMS):
        own = table[text_of(i)]
        table[text_of(i)] = [text if (7 * i + k) % 20 == 0 else r for k, r in enumerate(own)]
    return lambda watch: watch.reply(table)


def all_say(form: str) -> Callable[[Watch], None]:
    """Let all replies have another form, with the same answers."""
    table = {line: [form.format(r) for r in own] for line, own in steady(5).items()}
    return lambda watch: watch.reply(table)


def fails(fault: str) -> Callable[[Watch], None]:
    """Let all requests fail, one after another: how many fail before the stop is then fixed."""

    def change(watch: Watch) -> None:
        watch.edit("judges.yaml", "concurrency: 32", "concurrency: 1")
        watch.reply(steady(6), fault=fault)

    return change


def add_rating(watch: Watch) -> None:
    row = {"item": "i0", "rater": "another", "value": "A"}
    with (watch.folder / "task" / "ratings.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def slower(watch: Watch) -> tuple[object, ...]:
    """Let each reply take 0.2 s, and set a limit."""
    watch.reply(steady(9), ms=200)
    return watch.schedule.run, "--fail-on", "changed,latency>3x"


def dearer(watch: Watch) -> tuple[object, ...]:
    """Let each reply have long reasons, and set a limit."""
    all_say(REASONS + "\n\nAnswer: {}")(watch)
    return watch.schedule.run, "--fail-on", "changed,cost>1.5x"


def all_wrong(watch: Watch) -> tuple[object, ...]:
    """Let every usual answer be wrong, and ask for the judge in use alone."""
    answers(lambda _: True)(watch)
    return watch.schedule.run, "--fail-on", "decision"


def upgrade(watch: Watch) -> None:
    """Let the baseline be of a version that read replies by another grammar."""
    grammar_of(watch.schedule.run / "history.jsonl", 0)


def upgrade_export(watch: Watch) -> tuple[object, ...]:
    """Do the same with an exported baseline, which has no replies to read again."""
    small = watch.folder / "small"
    invoke("revalidate", "export", watch.schedule.run, small)
    grammar_of(small / "history.jsonl", 0)
    return small, "--task", watch.folder / "task"


def grammar_of(history: Path, version: int) -> None:
    lines = []
    for line in history.read_bytes().splitlines(keepends=True):
        record = json.loads(without_checksum(line))
        if record["kind"] == "baseline":
            record["grammar_version"] = version
        lines.append(with_checksum(json.dumps(record, separators=(",", ":")).encode()))
    history.write_bytes(b"".join(lines))


CHANGES: dict[str, Callable[[Watch], object]] = {
    "none": lambda _watch: None,
    "20 % of answers": answers(lambda i: i % 5 == 0),
    "5 % of answers": answers(lambda i: i % 20 == 0),
    "2 % of answers": answers(lambda i: i % 50 == 0),
    "a better judge": lambda watch: watch.reply(replies(N_ITEMS, majority, noise=NOISE, seed=7)),
    "a prefix before each answer": all_say("Answer: {}"),
    "5 % malformed, readable if asked again": some_say(UNREADABLE),
    "5 % abstained, from none": some_say("CANNOT_ASSESS"),
    "5 % refused, from none": some_say(REFUSAL),
    "another model name": lambda watch: watch.reply(steady(8), model="prod-2"),
    "slow: 0.2 s a reply, latency>3x": slower,
    "dearer: long reasons, cost>1.5x": dearer,
    "all answers flip, decision": all_wrong,
    "429 (rate limit)": fails("429"),
    "401 (key)": fails("401"),
    "404 (model gone)": fails("404"),
    "down (no reply)": fails("reset"),
    "a typo corrected in a text": lambda watch: watch.edit(
        "task/items.jsonl", "number 7.", "number seven."
    ),
    "one more rating": add_rating,
    "the question worded anew": lambda watch: watch.edit(
        "task/task.yaml", "the comment", "this comment"
    ),
    "harness upgraded": upgrade,
    "harness upgraded, baseline exported without replies": upgrade_export,
    "another model in the judges file": lambda watch: watch.edit(
        "judges.yaml", "model: prod", "model: other"
    ),
}


def rows(names: list[str]) -> Iterator[Row]:
    """Yield the rows of some changes."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stub = stack.enter_context(start_server())
        watch = Watch(home, stub)
        for name in names:
            yield watch.after(name, CHANGES[name])


def table(lines: list[Row]) -> str:
    """Write rows as a table in Markdown."""
    cells = [HEADS, ("---",) * len(HEADS), *((*row[:1], row[1] or "-", *row[2:]) for row in lines)]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in cells)


def main() -> None:
    """Print the table, and write it into the docs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="changes whose name has this word")
    parser.add_argument("--write", action="store_true", help="renew the table in the docs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HOME": home, "XDG_STATE_HOME": home, "XDG_CACHE_HOME": home}
        os.environ |= {"XDG_CONFIG_HOME": home, "COLUMNS": "80"}
        lines = []
        for row in rows([name for name in CHANGES if options.only in name]):
            print(*row, sep=" | ", flush=True)
            lines.append(row)
    if options.write:
        kept = PAGE.read_text("utf-8").split(START)[0].rstrip()
        PAGE.write_text(f"{kept}\n\n{START}\n{table(lines)}\n", "utf-8")


if __name__ == "__main__":
    main()
