"""Candidates in a search: a judge's other strategies, and few-shot examples."""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import sha256
from typing import TYPE_CHECKING

from harness.analysis.ratings import select_items
from harness.errors import JudgeError, JudgeUnavailable
from harness.judging.judge_spec import CHAT_KINDS, easier_strategies
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import look_up, resolve
from harness.judging.prompts.demonstrations import answers_of, group_of
from harness.judging.strategies.strategy_registry import joined, named, split_strategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.options.concerns import Server
    from harness.tasks import Item, Task

ALONE = ("verbalised", "logprob-calibrated", "cot", "json", "logprob")
VOTED = ("self-consistency:3",)
SHOWN = ("few-shot:4", "few-shot:8", "few-shot:2", "few-shot:6")
ADDED = ("few-shot:4", "few-shot:8", "self-consistency:5", "cot")  # added to the best so far
PLAIN = "no-descriptions"
MOST_ORDERS = 6  # of the options, with each option once in every place
N_EXAMPLES = 12  # per criterion; a prompt shows up to 8, never the item itself


def names_to_try(
    judge: str,
    best: str,
    tried: Iterable[str],
    task: Task,
    server: Server,
    *,
    shows_examples: bool,
) -> list[str]:
    """Return names of a judge with other strategies, in the order to try them.

    Parameters
    ----------
    judge : str
        Name of the original judge.
    best : str
        Name of the judge with its best strategy so far.
    tried : iterable of str
        Names that already raced.
    task : Task
        Task with the rated items.
    server : Server
        Server for judges that are not aliases.
    shows_examples : bool
        Whether prompts may show development items with their answers.

    Raises
    ------
    JudgeError
        If the judge is unknown.
    """
    registry = load_judges(server.judges_file)
    base = base_of(judge, registry)
    plain = look_up(base, registry, server)
    shown = list(_as_shown(task))
    alone = (*ALONE, *shown, *VOTED)
    wanted = [f"{base}@{name}" for name in alone if is_likely(name, plain, task)]
    if shows_examples:
        stem, own = (best, "") if best in registry else split_strategy(best)
        added = (*ADDED, *shown)
        joint = [_joined(stem, own, name) for name in added if is_likely(name, plain, task)]
        examples = [f"{base}@{name}" for name in SHOWN]
        wanted = [*examples, *filter(None, joint), base, *wanted]
    raced = {best, *tried}
    return [
        name
        for name in dict.fromkeys(wanted)
        if name not in raced and _applies(name, task, registry, server)
    ]


def _as_shown(task: Task) -> Iterator[str]:
    """Yield strategies that show the options without descriptions or in several orders."""
    if any(option.description for option in task.options):
        yield PLAIN
    if len(task.options) <= MOST_ORDERS:
        yield f"option-orders:{len(task.options)}"
        yield f"logprob@option-orders:{len(task.options)}"


def is_likely(way: str, plain: JudgeSpec, task: Task) -> bool:
    """Return whether a strategy is likely to help a judge, which `resolve` does not check.

    This package's own judges always give the same reply, and a small model in this process takes
    minutes to write reasons for a few items.
    """
    asking = named(way)
    is_voted = asking.replies_per_verdict(1) > 1 and not asking.gives_distribution
    if asking.gives_reasons or is_voted:
        return plain.remote
    if asking.answer == "schema":
        return plain.answer != "schema"
    if asking.needs_logprobs and not asking.completes_text and plain.kind in CHAT_KINDS:
        return "logprob" in easier_strategies(plain, task)
    return True


def base_of(judge: str, registry: Mapping[str, JudgeSpec]) -> str:
    """Return the name of a judge without its strategy."""
    return judge if judge in registry else split_strategy(judge)[0]


def shows_examples(name: str) -> bool:
    """Return whether a judge's strategy, according to its name, uses few-shot examples."""
    own = split_strategy(name)[1]
    return bool(own) and named(own).n_demonstrations > 0


def _joined(stem: str, own: str, added: str) -> str | None:
    """Return a judge with an additional strategy, or None if the strategies conflict."""
    if not own:
        return f"{stem}@{added}"
    try:
        whole = joined(named(own), named(added))
    except ValueError:
        return None
    return None if whole is None else f"{stem}@{whole.name}"


def with_strategy_of(
    best: str, names: Sequence[str], registry: Mapping[str, JudgeSpec]
) -> list[str]:
    """Append the best judge's strategy to the names of other judges, if it uses a template."""
    own = "" if best in registry else split_strategy(best)[1]
    if not own or named(own).completes_text:
        return list(names)
    return [f"{name}@{own}" for name in names]


def _applies(name: str, task: Task, registry: Mapping[str, JudgeSpec], server: Server) -> bool:
    try:
        resolve([name], task, registry, server)
    except (JudgeError, JudgeUnavailable):
        return False
    return True


def example_items(
    task: Task, criterion: str | None, holdout: float | None, verdicts: Sequence[Verdict]
) -> Task:
    """Return a task with the development items that can serve as few-shot examples.

    Items alternate between answers. For each answer, items that the judge got wrong come first,
    then items on which more raters agree. A group has at most one item.

    Parameters
    ----------
    task : Task
        The rated items.
    criterion, holdout
        As for the run. No held-out item is shown.
    verdicts : sequence of Verdict
        Verdicts of the judge as first asked.
    """
    items = select_items(task, criterion=criterion, limit=None, holdout=holdout)
    answers = answers_of(task, "forced_choice")
    replied = {v.item: v.value for v in verdicts if v.outcome == "answered"}
    asked = {v.item for v in verdicts}
    agreeing = _agreement(task, answers)

    def place(item: Item) -> tuple[bool, float, str]:
        is_wrong = item.id in asked and replied.get(item.id) != answers[item.id]
        return not is_wrong, -agreeing[item.id], sha256(item.id.encode()).hexdigest()

    by_cell: defaultdict[str, defaultdict[str, list[Item]]] = defaultdict(lambda: defaultdict(list))
    for item in sorted((item for item in items if item.id in answers), key=place):
        by_cell[item.criterion or ""][str(answers[item.id])].append(item)
    ids: set[str] = set()
    for of_criterion in by_cell.values():
        of_groups: dict[str, str] = {}
        for item in _in_turns(list(of_criterion.values())):
            of_groups.setdefault(group_of(item), item.id)
        ids.update(list(of_groups.values())[:N_EXAMPLES])
    return task.model_copy(
        update={
            "items": tuple(item for item in task.items if item.id in ids),
            "ratings": tuple(rating for rating in task.ratings if rating.item in ids),
            "ignored": tuple(rating for rating in task.ignored if rating.item in ids),
        }
    )


def _agreement(task: Task, answers: Mapping[str, object]) -> dict[str, float]:
    """Return the share of an item's raters who gave the most common answer."""
    n, n_alike = Counter[str](), Counter[str]()
    for rating in task.ratings:
        if rating.elicitation == "forced_choice" and rating.item in answers:
            n[rating.item] += 1
            n_alike[rating.item] += rating.value == answers[rating.item]
    return {item: n_alike[item] / n[item] for item in n}


def _in_turns(rows: Sequence[Sequence[Item]]) -> Iterator[Item]:
    """Yield the first item of every row, then the second of every row, and so on."""
    for i in range(max(map(len, rows), default=0)):
        yield from (row[i] for row in rows if i < len(row))
