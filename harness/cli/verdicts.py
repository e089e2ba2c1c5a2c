"""`harness curate verdicts`: read judges' verdicts from files of other tools."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo, echo_json
from harness.curation.curation_options import VerdictImport
from harness.errors import VerdictError
from harness.files.plain_text import counted
from harness.options.concerns import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.curation.verdicts import VerdictSummary

N_LISTED = 10


@takes
def verdicts(
    sources: Annotated[
        list[Path],
        typer.Argument(help="Tables, inspect_ai logs, promptfoo results, or OpenAI batch output."),
    ],
    *,
    reading: VerdictImport,
    printing: Json,
) -> None:
    """Convert verdicts from other tools' files into a file that validate reads.

    Items must match by id, and values by an option's key or label, both exactly. Lines without a
    match are listed with the reason in a file next to the output. Values that don't match an option
    are written as invalid.

    \b
    Examples:
      harness curate verdicts wide.csv --task ./mine --map gpt4_label=gpt
      harness curate verdicts logs/rate.eval --task ./mine --map graded=gpt
      harness curate verdicts results.json --task ./mine --id post_id
      harness curate verdicts batch_output.jsonl --task ./mine --id "rate-{item}"
    """
    from harness.curation.verdicts import Selection, import_verdicts
    from harness.tasks import load_task

    selection = Selection(
        judges=_pairs(reading.judge_names, "--map", needs_value=False),
        item_id=reading.item_id,
        rename=_pairs(reading.values, "--rename", needs_value=True),
        elicitation=reading.value_kind,
    )
    most = options.max_rejected(reading.max_unmatched)
    task, file = reading.task, reading.verdict_file
    loaded = load_task(task)
    summary = import_verdicts(sources, loaded, file, selection, most)
    if printing.as_json:
        echo_json(_as_json(summary, file))
    else:
        echo(_summarize(summary, file, task, len(loaded.items)))


def _pairs(texts: Sequence[str], option: str, *, needs_value: bool) -> dict[str, str]:
    """Read texts of the form ``name=value`` into a mapping."""
    pairs = {}
    for text in texts:
        name, sign, value = text.rpartition("=") if "=" in text else (text, "", "")
        if not name or bool(value) != bool(sign) or (needs_value and not sign):
            raise VerdictError(f"{option}: found {text!r}. Write it as name=value.")
        pairs[name] = value
    return pairs


def _summarize(summary: VerdictSummary, output: Path, task: str, n_items: int) -> str:
    lines = [f"Wrote {output}: {counted([summary.n_verdicts], 'verdict')}."]
    for judge, counts in summary.judges.items():
        outcomes = [f"{n} {outcome}" for outcome, n in counts.outcomes.items()]
        if counts.gives_scores:
            outcomes.append("numbers that aren't options, so they are scores")
        if counts.n_empty:
            outcomes.append(f"{counts.n_empty} empty, not written")
        lines.append(f"  {judge}: {len(counts.items)} of {n_items} items: {', '.join(outcomes)}")
    if summary.left_out:
        sources = ", ".join(f"{source} ({n})" for source, n in summary.left_out.items())
        lines.append(f"Left out: {sources}. To choose what is read, pass --map.")
    if summary.rejected:
        lines.append(f"Unmatched: {len(summary.rejected)}, listed in {summary.rejected_file}:")
        lines += [f"  {r.file}: line {r.line}: {r.reason}" for r in summary.rejected[:N_LISTED]]
    return "\n".join(
        [
            *lines,
            "Next:",
            f"  harness validate --task {quote(task)} --verdicts {quote(str(output))}",
        ]
    )


def _as_json(summary: VerdictSummary, output: Path) -> dict[str, object]:
    return {
        "file": str(output),
        "n_verdicts": summary.n_verdicts,
        "judges": {
            judge: {
                "n_items": len(counts.items),
                "outcomes": counts.outcomes,
                "n_empty": counts.n_empty,
                "gives_scores": counts.gives_scores,
            }
            for judge, counts in summary.judges.items()
        },
        "left_out": summary.left_out,
        "n_unmatched": len(summary.rejected),
        "unmatched_file": str(summary.rejected_file) if summary.rejected_file else None,
    }
