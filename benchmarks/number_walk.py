"""Files that one number enters, from a judge's replies in verdicts.jsonl to its cell on the page.

    python benchmarks/number_walk.py

A run of a word list is validated again, and its page written. Of four things the first that is made
of the judge is followed: a verdict, the counts of its replies, the estimate that ranks it, and the
text of the cell. The walk is every file of the package on the call stack where one of them is made.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import harness
from harness.app.run import validate_run
from harness.judging.parsing.verdict import Verdict
from harness.options.concerns import NO_CHOICES
from harness.report.formatting import estimate as cell_of
from harness.runs.run_folder import RunFolder
from harness.stats import Estimate, RatingTable

if TYPE_CHECKING:
    from types import FrameType

PACKAGE = Path(harness.__file__).parent
JUDGE = "lexicon"
PAGE, COLUMNS = "report/html/page.py", "report/ranking_columns.py"


@dataclass
class NumberWalk:
    """The call stacks where a number is made.

    Attributes
    ----------
    estimate : Estimate
        The number.
    stacks : dict of str to tuple of str
        By what was made: the files of the package on the stack, innermost last.
    """

    estimate: Estimate
    stacks: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def follow(self, frame: FrameType, event: str, made: object) -> None:
        """Note where something is returned for the first time, as `sys.setprofile` wants it."""
        if event != "return" or not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return
        kind = self._kind(made)
        if not kind or kind in self.stacks:
            return
        files = tuple(_files(frame))
        if kind != "cell" or {PAGE, COLUMNS} <= set(files):  # the verdict and the card say it, too
            self.stacks[kind] = files

    def _kind(self, made: object) -> str:
        if isinstance(made, Verdict):
            return "verdict" if made.judge == JUDGE else ""
        if isinstance(made, RatingTable):
            return "counts" if made.name == JUDGE else ""
        if isinstance(made, Estimate):
            return "estimate" if made.value == self.estimate.value else ""
        is_cell = isinstance(made, str) and "estimate" in self.stacks
        return "cell" if is_cell and made == cell_of(self.estimate) else ""


def _files(frame: FrameType | None) -> list[str]:
    files: list[str] = []
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            files.append(str(path.relative_to(PACKAGE)))
        frame = frame.f_back
    return list(dict.fromkeys(reversed(files)))


def walk_of(place: Path) -> NumberWalk:
    """Run the word list in a folder, and follow its number while its page is written again."""
    run = harness.run("toxicity", judges=[JUDGE], out=place, new_ledger=True)
    validation = run.validation
    walk = NumberWalk(validation.judge(JUDGE).metrics[validation.ranking_metric])
    sys.setprofile(walk.follow)
    try:
        validate_run(RunFolder.open(run.path), NO_CHOICES)
    finally:
        sys.setprofile(None)
    return walk


def main() -> None:
    """Print the files of each stack, and how many they are together."""
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_DATA_HOME"] = name  # its ledger is none of the user's
        walk = walk_of(Path(name))
    for kind, files in walk.stacks.items():
        print(f"{kind}: {' > '.join(files)}")
    after = [files for kind, files in walk.stacks.items() if kind != "verdict"]
    n, n_after = (len(set().union(*stacks)) for stacks in (walk.stacks.values(), after))
    print(f"{n} files, {n_after} of them from the verdicts on")


if __name__ == "__main__":
    main()
