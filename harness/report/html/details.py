"""Items, prompts and provenance for the page."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict

from harness.analysis.item_answers import answered_items
from harness.analysis.judge_result import median_latency_s
from harness.analysis.serialize import from_json
from harness.errors import RunError
from harness.files.regular_files import TooLarge, read_file
from harness.judging.prompts.templates import MAX_BYTES
from harness.judging.storage.verdict_columns import columns_of
from harness.loading import edge, has_edge
from harness.report.html.item_table import item_table
from harness.report.improvement_text import SECTION, SearchSection
from harness.report.pseudonyms import pseudonyms
from harness.runs.run_folder import SELFTEST_FILE, TRUST_FILE, RunState
from harness.runs.trusted_runs import kept_trust

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.analysis import Source
    from harness.analysis.human_certainty import Certainty
    from harness.analysis.verdict_trust import VerdictTrust
    from harness.report.html.item_table import ItemTable
    from harness.runs.run_folder import RunFolder


class SelftestSection(TypedDict):
    """A self-test in a run's report, with sentences, tables and charts."""

    lead: list[str]
    parts: list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class JudgeCalls:
    """Details about the calls to one judge.

    Attributes
    ----------
    parameters : dict of str to str
        Parameters of each call, and further settings in the manifest.
    n_retried : int
        Attempts beyond the first.
    latency_s : float or None
        Median duration of a reply in seconds; None if none was measured.
    """

    name: str
    parameters: dict[str, str]
    n_retried: int
    latency_s: float | None


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Details:
    """Contents of a run folder other than its numbers.

    Attributes
    ----------
    run : str
        Name of the folder; "" for verdicts from another tool.
    asking_s : float or None
        Total duration of calls in seconds, over all sessions; None without calls.
    raters : dict of str to str
        Displayed name of each rater, by name.
    prompts : dict of str to str
        Templates by file name.
    trust : tuple of VerdictTrust
        Results of `harness trust` for the run's judges, without single verdicts.
    selftest : dict or None
        Results of `harness lab selftest` on the run's design: lines, tables and charts.
    search : SearchSection or None
        Section on the search for a better way of asking that ended with this run.
    """

    run: str = ""
    created: str = ""
    state: RunState | Literal[""] = ""
    asking_s: float | None = None
    source: str = ""
    licence: str = ""
    items: ItemTable
    raters: dict[str, str]
    prompts: dict[str, str]
    hashes: dict[str, str]
    versions: dict[str, str]
    calls: tuple[JudgeCalls, ...]
    trust: tuple[VerdictTrust, ...] = ()
    selftest: SelftestSection | None = None
    search: SearchSection | None = None

    def __repr__(self) -> str:
        return f"Details({self.run!r}, {self.items!r})"


def details_of(
    source: Source,
    folder: RunFolder | None = None,
    *,
    certainty: Certainty | None = None,
    show_raters: bool = False,
) -> Details:
    """Collect a source's contents, other than its numbers, for the page.

    A run folder adds prompts, versions and details of calls. ``certainty`` adds the strata for
    filtering items. Raters keep their names only with ``show_raters``.
    """
    task = source.task
    raters = pseudonyms(task.rating_columns.raters, show_raters=show_raters)
    manifest = folder.manifest if folder else None
    strata = [row.stratum for row in certainty.strata] if certainty else []
    return Details(
        run=folder.path.name if folder else "",
        created=manifest.created if manifest else "",
        state=manifest.state if manifest else "",
        asking_s=manifest.asking_s if manifest else None,
        source=task.source,
        licence=task.licence,
        items=item_table(answered_items(source, strata), raters, by_key=True),
        raters=raters,
        prompts=_prompts(folder) if folder else {},
        hashes={str(name): sha for name, sha in manifest.hashes.items()}
        if manifest
        else {"task": task.content_hash},
        versions=dict(manifest.versions) if manifest else {},
        calls=tuple(_judge_calls(source, folder)),
        trust=kept_trust(folder) if folder and folder.has(TRUST_FILE) else (),
        selftest=_selftest(folder) if folder else None,
        search=_search(folder) if folder else None,
    )


def _selftest(folder: RunFolder) -> SelftestSection | None:
    """Return a run's self-test, or None if there is none or self-tests are not installed."""
    path = folder.path / SELFTEST_FILE
    if not path.exists() or not has_edge("experiments"):
        return None
    try:
        return edge("experiments", ExperimentEdge).selftest_section(read_file(path, MAX_BYTES))
    except (OSError, ValueError, TooLarge) as error:
        advice = (
            f"Delete this file, or run `harness lab selftest --run {quote(str(folder.path))}` again"
        )
        raise RunError(f"{path}: not the result of a self-test: {error}", advice) from None


def _search(folder: RunFolder) -> SearchSection | None:
    """Return the search that produced a run, or None without one."""
    path = folder.path / SECTION
    if not path.exists():
        return None
    try:
        return from_json(read_file(path, MAX_BYTES), SearchSection)
    except (OSError, ValueError, TooLarge) as error:
        advice = "Delete this file, or repeat the search command"
        raise RunError(f"{path}: not the result of a search: {error}", advice) from None


def _prompts(folder: RunFolder) -> dict[str, str]:
    prompts = {}
    for path in sorted(path for path in folder.prompts.glob("*") if path.is_file()):
        try:
            prompts[path.name] = read_file(path, MAX_BYTES).decode(errors="replace")
        except TooLarge:
            prompts[path.name] = f"(not shown: larger than {MAX_BYTES} bytes)"
    return prompts


def _judge_calls(source: Source, folder: RunFolder | None) -> Iterable[JudgeCalls]:
    specs = {spec.name: spec for spec in folder.manifest.judges} if folder else {}
    for judge in source.judges:
        spec = specs.get(judge.name)
        parameters = {"model": judge.model, "kind": judge.kind}
        if spec:
            n_samples = spec.n_samples(folder.manifest.config.samples if folder else None)
            parameters |= {"samples": str(n_samples), "endpoint": spec.base_url or ""}
            parameters["strategy"] = spec.asking.label
            parameters |= {name: str(value) for name, value in spec.params.items()}
        verdicts = source.verdicts[judge.name]
        yield JudgeCalls(
            name=judge.name,
            parameters={name: value for name, value in parameters.items() if value},
            n_retried=sum((kind.attempt - 1) * n for kind, n in columns_of(verdicts).n_by_kind()),
            latency_s=median_latency_s(verdicts),
        )


class ExperimentEdge(Protocol):
    """Part of the experiments edge that shows a self-test."""

    def selftest_section(self, text: bytes) -> SelftestSection:
        """Return the section of a run's report on its self-test."""
