"""Requests with their canonical hash, and a task's prompts.

Everything before the item is byte-identical for all items of a task and elicitation, so that prompt
caches hit. The item's text comes last, between two lines that depend only on the text: they are the
same in every run and cannot be forged from inside the text.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, NamedTuple, Self, cast

import msgspec

from harness.errors import PromptError
from harness.files.regular_files import write_file
from harness.judging.parsing.grammar import render as render_answer
from harness.judging.prompts.demonstrations import FILE as DEMONSTRATIONS
from harness.judging.prompts.demonstrations import Demonstrations
from harness.judging.prompts.presentation_orders import OptionOrders, is_swapped
from harness.judging.prompts.question import NO_FILES, Message, Question, Unit
from harness.judging.prompts.templates import Template, read_template, render
from harness.judging.strategies.strategy import DEFAULT, NO, YES, Strategy
from harness.tasks import CANNOT_ASSESS, TemplateName, bundled
from harness.tasks.item import ELICITATIONS
from harness.tasks.schema import number_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from harness.judging.prompts.demonstrations import DemonstratedAnswer, Demonstration
    from harness.judging.prompts.presentation_orders import Order
    from harness.tasks import Item, Option, Task
    from harness.tasks.item import AnswerKind, Elicitation

FENCE_DIGITS = 16
CACHE_KEY_DIGITS = 16
OPEN_TEMPLATES = {"continuous": "number", "text": "text"}  # templates for scales without options
TWO_TURNS: tuple[TemplateName, ...] = ("paired", "paired_cot")
MAX_FORMS = 1024  # cached prompts, which differ by order of the options and by criterion
RECENT_ITEMS = 64  # cached fenced texts, used for other elicitations and orders
MAX_LISTED_SETS = 7  # number of sets of three options; with more options, examples are shown
REASK_CHOICE = """That reply can't be read as an answer. Reply with the key only.

Options:
{{options}}

The whole reply is one of these:
{{keys}}"""
REASK_SET = """That reply can't be read as an answer. Reply with the keys only, separated by commas.

Options:
{{options}}

The whole reply is like one of these:
{{replies}}"""
REASK_OPTION = """That reply can't be read as an answer. Reply with the key only.

Option:
{{option}}

The whole reply is one of these:
{{keys}}"""
REASK_OPEN = """That reply can't be read as an answer. Reply with the answer only.

The whole reply is one of these:
{{keys}}"""
DELETE = "\x7f"  # the only ASCII character that msgspec and json write differently
_ENCODE = msgspec.json.Encoder().encode
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True, kw_only=True)
class Request:
    """Content of a request: everything that can affect a judge's reply.

    The judge's alias is not part of it, so aliases of the same model share replies. Canonical JSON
    is ASCII without spaces, with members in alphabetical order, so the sample number comes last.
    ``look`` is the number of a later round; for the run itself it is 0 and is left out.
    """

    provider: str
    base_url: str | None = None
    model: str
    params: Mapping[str, JsonValue] = field(default_factory=dict)
    messages: tuple[Message, ...]
    sample: int = 0
    look: int = 0

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON, 64 hex digits."""
        return hashlib.sha256(b"%b%d}" % (self._stem, self.sample)).hexdigest()

    @cached_property
    def cache_key(self) -> str:
        """Key in the response cache for the replies to all samples: 16 hex digits.

        It is the SHA-256 of the canonical JSON up to the sample number.
        """
        return hashlib.sha256(self._stem).hexdigest()[:CACHE_KEY_DIGITS]

    def hashes(self, samples: int) -> Iterator[str]:
        """Yield the request's hash for each sample number from 0, hashing the stem only once."""
        stem = hashlib.sha256(self._stem)
        self.__dict__["cache_key"] = stem.hexdigest()[:CACHE_KEY_DIGITS]
        for sample in range(samples):
            digest = stem.copy()
            digest.update(b"%d}" % sample)
            yield digest.hexdigest()

    def for_sample(self, sample: int, digest: str = "") -> Self:
        """Return the request with a different sample number, and its hash if known."""
        request = self if sample == self.sample else self._copy(sample=sample)
        if digest:
            request.__dict__["hash"] = digest
        return request

    def for_look(self, look: int) -> Self:
        """Return the request as it is sent in a later round."""
        if look == self.look:
            return self
        copied = self._copy(look=look)
        for name in ("_frame", "_stem", "cache_key"):
            copied.__dict__.pop(name, None)
        return copied

    def with_messages(self, messages: tuple[Message, ...]) -> Self:
        """Return the request with different messages."""
        turns = _turns(messages)
        stem = _stem(self._frame, turns)
        return self._copy(messages=messages, turns=turns, _frame=self._frame, _stem=stem)

    @cached_property
    def turns(self) -> str:
        """Messages as canonical JSON, with a reference for each image."""
        return _turns(self.messages)

    def sent_turns(self) -> str:
        """Return `turns` in the form sent, with each image in place of its reference.

        Raises
        ------
        TaskError
            If an image cannot be read or has changed.
        """
        turns = self.turns
        for _, _, image in self.messages:
            if image is not None:
                turns = turns.replace(_url(image.reference), _url(image.data_url()))
        return turns

    @cached_property
    def _stem(self) -> bytes:
        """Canonical JSON that precedes the sample number."""
        return _stem(self._frame, self.turns)

    @cached_property
    def _frame(self) -> tuple[str, str]:
        """Canonical JSON before the messages, and from the messages to the sample number."""
        base_url, model, params, provider = map(
            _CANONICAL, (self.base_url, self.model, self.params, self.provider)
        )
        after = f',"model":{model},"params":{params},"provider":{provider},"sample":'
        look = f'"look":{self.look},' if self.look else ""
        return f'{{"base_url":{base_url},{look}"messages":', after

    def _copy(self, **members: object) -> Self:
        """Copy the request with changed fields, keeping cached values except the hash."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied.__dict__.pop("hash", None)
        if "_stem" in members:
            copied.__dict__.pop("cache_key", None)
        copied.__dict__.update(members)
        return copied


def _turns(messages: Iterable[Message]) -> str:
    parts = []
    for role, text, image in messages:
        content = json_string(text)
        if image is not None:
            shown = f'{{"image_url":{{{_url(image.reference)}}},"type":"image_url"}}'
            content = f'[{{"text":{content},"type":"text"}},{shown}]'
        parts.append(f'{{"content":{content},"role":"{role}"}}')
    return f"[{','.join(parts)}]"


def json_string(text: str) -> str:
    """Encode a string as ASCII JSON exactly as `json` does, using msgspec if possible."""
    if text.isascii() and DELETE not in text:
        return _ENCODE(text).decode()
    return encode_basestring_ascii(text)


def _url(url: str) -> str:
    return f'"url":"{url}"'


def _stem(frame: tuple[str, str], turns: str) -> bytes:
    before, after = frame
    return f"{before}{turns}{after}".encode()


class _Form(NamedTuple):
    """Template with shared values filled in. ``tail`` is a format string for an item."""

    values: dict[str, str]
    opening: tuple[Message, ...]
    head: str
    tail: str


class Prompts:
    """Templates for all elicitations, bound to a task. Shared parts are rendered once.

    Attributes
    ----------
    task : Task
        The task to rate.
    hash : str
        SHA-256 of the templates as read and of the demonstrations, 64 hex digits.
    demonstrations : Demonstrations or None
        The demonstrations for few-shot judges.
    orders : OptionOrders or None
        The order of the options for each sample; None for the task's own.
    option_keys : tuple of str
        Keys of the task's options.
    templates : mapping of str to Template
        Templates by name, from which a different process can make the same prompts.
    """

    def __init__(
        self,
        task: Task,
        templates: Mapping[str, Template],
        demonstrations: Demonstrations | None = None,
        orders: OptionOrders | None = None,
    ) -> None:
        self.task = task
        self.demonstrations = demonstrations
        self.orders = orders
        self._any_order = orders or OptionOrders(tuple(task.options), 0)
        self.templates = templates
        self.option_keys = tuple(option.key for option in task.options)
        self._form = lru_cache(maxsize=MAX_FORMS)(self._rendered)
        texts = json.dumps(
            {name: template.text for name, template in templates.items()}, sort_keys=True
        )
        drawn = b"" if demonstrations is None else demonstrations.to_json(item_text=True)
        self.hash = hashlib.sha256(texts.encode() + drawn).hexdigest()

    def __reduce__(self) -> tuple[type[Prompts], tuple[object, ...]]:
        """Pickle the prompts without their caches, for use in a different process."""
        return type(self), (self.task, self.templates, self.demonstrations, self.orders)

    @classmethod
    def load(
        cls,
        task: Task,
        folder: Path | None = None,
        *,
        strategies: Iterable[Strategy] = (),
        own: Iterable[Mapping[TemplateName, str]] = (),
        own_folder: Path | None = None,
        demonstrations: Demonstrations | None = None,
        orders: OptionOrders | None = None,
        first: Path | None = None,
    ) -> Self:
        """Read the templates of every elicitation and bind them to a task.

        Parameters
        ----------
        task : Task
            The task; ``prompts`` in it can name its own templates, as files in its folder or in
            ``folder``.
        folder : Path, optional
            Folder of the templates; by default that of the bundled ones.
        strategies : iterable of Strategy
            Strategies of the judges; some have their own templates.
        own : iterable of mapping
            The judges' own template files, by the name of the template that each replaces.
        own_folder : Path, optional
            Folder of these files; by default ``folder``.
        demonstrations : Demonstrations, optional
            For few-shot judges; by default those in ``folder``.
        orders : OptionOrders, optional
            Orders of the options, if they are shuffled.
        first : Path, optional
            Folder whose templates replace those of the same name, and whose demonstrations are
            shown if it has any.

        Raises
        ------
        PromptError
            If a template is missing, cannot be read, has an unknown placeholder or part, does not
            show the item's fenced text exactly once, or shares its name with a different one; if
            the task has its own template without reasoning but none with it; or if demonstrations
            are missing or damaged.
        """
        default_folder, strategies = folder or bundled("prompts"), list(strategies)
        templates: dict[str, Template] = {}
        task_files: dict[str, str] = dict(task.prompts.items())
        for name, of_strategy in _template_folders(task, strategies).items():
            is_own = name in task_files
            folders = (task.folder, default_folder) if is_own else (default_folder,)
            folders = folders if folder or of_strategy is None else (of_strategy,)
            file_name = task_files.get(name, f"{_default_name(task, name)}.txt")
            folders = (first, *folders) if first else folders
            templates[name] = _checked_template(name, file_name, folders, orders)
        for name, file_name in chain.from_iterable(files.items() for files in own):
            folders = (own_folder or default_folder,)
            templates[own_name(file_name)] = _checked_template(name, file_name, folders, orders)
        if clash := _clash(template.path for template in templates.values()):
            raise PromptError(f"{clash}: a bundled template has this name too. Rename the file.")
        shown = first if first and (first / DEMONSTRATIONS).exists() else folder
        if demonstrations is None and shown and any(s.n_demonstrations for s in strategies):
            demonstrations = Demonstrations.load(shown, task)
        return cls(task, templates, demonstrations, orders)

    def uses(self, folder: Path) -> bool:
        """Return whether a template or the demonstrations could come from a folder."""
        if self.demonstrations is not None and (folder / DEMONSTRATIONS).exists():
            return True
        return any(template.path.parent == folder for template in self.templates.values())

    def save(self, folder: Path, *, item_text: bool = True) -> None:
        """Write the templates to a folder from which `load` creates the same prompts.

        Demonstrations are written with or without the texts of their items.

        Raises
        ------
        OSError
            If the folder cannot be written.
        """
        folder.mkdir(exist_ok=True)
        for template in self.templates.values():
            write_file(folder / template.path.name, template.text.encode())
        if self.demonstrations is not None:
            self.demonstrations.save(folder, item_text=item_text)

    def messages(
        self,
        item: Item,
        elicitation: Elicitation,
        strategy: Strategy = DEFAULT,
        sample: int = 0,
        *,
        own: Mapping[TemplateName, str] = NO_FILES,
        both_orders: bool = False,
    ) -> tuple[Message, ...]:
        """Return a question's messages, or the first turn's messages for a set-then-choice pair.

        The sample sets the order of shuffled options, the option that an endorsement is about, and,
        if ``both_orders``, the order of a pairwise item's answers. ``own`` contains the judge's own
        template files.

        Raises
        ------
        TaskError
            If the item has no text.
        """
        shown = item
        if both_orders and is_swapped(item.id, strategy.turn(len(self.option_keys), sample)):
            shown = self.task.with_swapped_answers(item)
        return strategy.messages(self, Question(shown, elicitation, sample, item, own))

    def from_template(self, question: Question, strategy: Strategy) -> tuple[Message, ...]:
        """Build messages from a strategy's template and from demonstrations."""
        item, elicitation, sample, rated, own = question
        name = template_name(elicitation, strategy, own)
        task = self.task
        order = self._order(strategy, item.id, sample)
        own_parts = task.shown_parts.get(item.id) if task.by_id.get(item.id) is item else None
        parts = own_parts or task.parts_of(item)
        described = strategy.shows_descriptions
        form = self._form(name, order, item.criterion or "", len(parts) == 1, described)
        text = form.tail.format_map(_fenced(parts))
        demonstrations = self._shown(rated, elicitation, strategy)
        image = task.images.get(item.id) if task.image else None
        if not demonstrations:
            return (*form.opening, Message("user", form.head + text, image))
        turns = [t for d in demonstrations for t in self._demonstration(name, order, d, strategy)]
        turns[0] = Message("user", form.head + turns[0].content)
        return (*form.opening, *turns, Message("user", text, image))

    def _order(self, strategy: Strategy, item: str, sample: int) -> Order:
        """Return the order in which a strategy shows the options for a sample of an item."""
        orders = strategy.option_orders(self.task, self.orders)
        return strategy.order(self.option_keys, orders, item, sample)

    def _rendered(
        self,
        name: str,
        order: Order,
        criterion: str,
        is_whole: bool,  # noqa: FBT001 -- a part of the cache's key
        described: bool = True,  # noqa: FBT001, FBT002 -- as above
    ) -> _Form:
        """Fill in the values that items share, such as the options' order and the criterion."""
        template = self.templates[name]
        if len(order) == 1:
            values = _endorsement_values(self.task, template, order[0])
        else:
            orders = self._any_order if order else None
            values = _task_values(self.task, template, orders, order, described=described)
        shown = self.task.criterion_text(criterion)
        if shown:
            shown = template.render("criterion", {"criterion": shown})
        of_item = {"criterion": shown, "fence": "", "text": ""}
        slots = frozenset(("fence", "text") if is_whole else ("text",))
        head, tail = template.question(values | of_item, slots)
        system = template.render("system", values)
        return _Form(values, (Message("system", system),) if system else (), head, tail)

    def _demonstration(
        self,
        name: str,
        order: Order,
        demonstration: Demonstration,
        strategy: Strategy,
    ) -> tuple[Message, Message]:
        """Return a demonstration's user turn and reply, with reasons if the strategy needs them."""
        parts, described = demonstration.parts, strategy.shows_descriptions
        form = self._form(name, order, demonstration.criterion, len(parts) == 1, described)
        shown = form.tail.format_map(_fenced(parts))
        answer = self._answer(demonstration.answer, order)
        if strategy.gives_reasons and demonstration.reasons:
            answer = f"{demonstration.reasons}\n{answer}"
        return Message("user", shown), Message("assistant", answer)

    def _answer(self, answer: DemonstratedAnswer, order: Order) -> str:
        """Return an answer in the form of a judge's reply."""
        if answer == CANNOT_ASSESS:
            return CANNOT_ASSESS
        if self.task.is_open:
            return str(answer)
        if not order:
            return render_answer(answer, self.task.options)
        named = (answer,) if isinstance(answer, str) else answer
        members = self._any_order.members_shown(order, named)
        return render_answer(members, self._any_order.shown(order))

    def _shown(
        self, item: Item, elicitation: Elicitation, strategy: Strategy
    ) -> Sequence[Demonstration]:
        """Return an item's demonstrations, with response sets for a set-then-choice pair."""
        if self.demonstrations is None or not (n := strategy.n_demonstrations):
            return ()
        kind = answer_kind(elicitation)
        return self.demonstrations.shown_with(item, self.task.text_of(item), kind, n)

    def follow_up(
        self,
        messages: tuple[Message, ...],
        reply: str,
        strategy: Strategy = DEFAULT,
        *,
        own: Mapping[TemplateName, str] = NO_FILES,
    ) -> tuple[Message, ...]:
        """Return the messages of a set-then-choice pair's second turn, which asks for a choice."""
        name = template_name("paired", strategy, own)
        values = self._form(name, (), "", True, strategy.shows_descriptions).values
        question = self.templates[name].render("follow_up", values)
        return (
            *messages,
            Message(role="assistant", content=reply),
            Message(role="user", content=question),
        )

    def reask(
        self,
        unit: Unit,
        kind: AnswerKind,
        strategy: Strategy = DEFAULT,
        *,
        own: Mapping[TemplateName, str] = NO_FILES,
    ) -> str:
        """Return the second question after an unreadable reply, with options in the same order.

        Parameters
        ----------
        unit : Unit
            The unit that the conversation is about.
        kind : str
            The kind of answer to ask for; for a pair, the set or the choice.
        """
        order = self._order(strategy, unit.item, unit.sample)
        name = template_name(unit.elicitation, strategy, own)
        if self.task.is_open:
            text = REASK_OPEN
        elif strategy.asks_each_option:
            text = REASK_OPTION
        else:
            text = REASK_SET if kind == "response_set" else REASK_CHOICE
        form = self._form(name, order, "", True, strategy.shows_descriptions)
        return render(text.split("\n"), form.values)

    def __repr__(self) -> str:
        return f"Prompts({self.task.name!r}, {', '.join(self.templates)}, {self.hash[:12]})"


def answer_kind(elicitation: Elicitation) -> AnswerKind:
    """Return the kind of answer that the first turn of an elicitation asks for."""
    return "forced_choice" if elicitation == "forced_choice" else "response_set"


def template_name(
    elicitation: Elicitation, strategy: Strategy, own: Mapping[TemplateName, str] = NO_FILES
) -> str:
    """Return the name of a strategy's template for an elicitation."""
    name = strategy.template(elicitation)
    replacement = own.get(cast("TemplateName", name))
    return own_name(replacement) if replacement else name


def own_name(file_name: str) -> str:
    """Return the internal name of a judge's own template, which no bundled template has."""
    return f"own/{file_name}"


def _checked_template(
    name: str, file_name: str, folders: Sequence[Path], orders: OptionOrders | None
) -> Template:
    """Read a template, and check that a template about a single option shows the option.

    A second turn must not show the options if each sample has its own order.
    """
    needed = ("user", "follow_up") if name in TWO_TURNS else ("user",)
    template = read_template(file_name, folders, needed)
    if name == "endorsement" and "{{option}}" not in template.parts["user"]:
        raise PromptError(f"{template.path}: part [user] must show {{{{option}}}}.")
    if orders and "{{options}}" in template.parts.get("follow_up", ""):
        raise PromptError(
            f"{template.path}: part [follow_up] shows {{{{options}}}}, but the first turn sets "
            "the order of the options. Leave out {{options}} or --shuffle-options."
        )
    return template


def _template_folders(task: Task, strategies: Iterable[Strategy]) -> dict[str, Path | None]:
    """Map needed template names to a strategy's own folder, or None for the usual folders."""
    elicitations = task.elicitations if task.is_open else ELICITATIONS
    folders: dict[str, Path | None] = dict.fromkeys(elicitations)
    for strategy in strategies:
        for elicitation in elicitations:
            name = strategy.template(elicitation)
            folders.setdefault(name, strategy.templates)
            is_lacking = elicitation in task.prompts and name not in task.prompts
            if is_lacking and strategy.gives_reasons:
                raise PromptError(
                    f"{task.folder}: 'prompts' in task.yaml names a template for {elicitation} "
                    f"but not for {name}, which judges with @{strategy.name} need. Add this "
                    "template."
                )
    return folders


def _default_name(task: Task, name: str) -> str:
    """Return the name of the bundled template that the given template replaces."""
    return name.replace("forced_choice", OPEN_TEMPLATES.get(task.scale, "forced_choice"))


@lru_cache(maxsize=RECENT_ITEMS)
def _fenced(parts: tuple[str, ...]) -> Mapping[str, str]:
    """Enclose each part of an item's text in a separate pair of fences.

    If items share a first part (such as an article for several sentences), that part is then
    byte-identical, including its fence, so that prompt caches hit there too.
    """
    if len(parts) == 1:
        return {"fence": fence(parts[0]), "text": parts[0]}
    fences = [fence(part, *parts) for part in parts]
    blocks = (f"{line}\n{part}\n{line}" for line, part in zip(fences, parts, strict=True))
    return {"fence": "", "text": "\n".join(blocks)}


def fence(text: str, *others: str) -> str:
    """Return 16 hex digits derived from a text that occur neither in it nor in ``others``.

    They are the first digits of the SHA-256 of the text. As long as the digits occur in a text, a
    counter is appended to the text before hashing.
    """
    data = text.encode("utf-8", "surrogatepass")
    digits = hashlib.sha256(data).hexdigest()[:FENCE_DIGITS]
    counter = 0
    while digits in text or (others and any(digits in other for other in others)):
        counter += 1
        digits = hashlib.sha256(data + b"\0%d" % counter).hexdigest()[:FENCE_DIGITS]
    return digits


def _clash(paths: Iterable[Path]) -> Path | None:
    """Return a file that cannot be saved because another file has the same name, or None."""
    by_name: dict[str, Path] = {}
    return next((path for path in paths if by_name.setdefault(path.name, path) != path), None)


def _endorsement_values(task: Task, template: Template, key: str) -> dict[str, str]:
    """Return the placeholder values for a prompt about one option."""
    [option] = (_option_line(option) for option in task.options if option.key == key)
    replies = "\n".join([YES.key, NO.key, *([CANNOT_ASSESS] if task.abstain else [])])
    values = _task_values(task, template, None, ())
    return values | {"option": option, "keys": replies, "replies": replies}


def _task_values(
    task: Task,
    template: Template,
    orders: OptionOrders | None,
    order: Order,
    *,
    described: bool = True,
) -> dict[str, str]:
    """Return the placeholder values that are the same for all items of a task."""
    options = orders.shown(order) if orders else task.options
    sets = () if task.is_open else _shown_sets(task)
    if orders:
        sets = [orders.members_shown(order, members) for members in sets]
    others = [CANNOT_ASSESS] if task.abstain else []
    return {
        "property": task.property,
        "instructions": task.instructions,
        "options": "\n".join(_option_line(option, described=described) for option in options),
        "option": "",
        "keys": "\n".join([*_answers(task, options), *others]),
        "replies": "\n".join([", ".join(members) for members in sets] + others),
        "abstain": template.render("abstain", {}) if task.abstain else "",
        "sets": template.render("sets", {}) if task.response_sets != "all" else "",
    }


def _answers(task: Task, options: Sequence[Option]) -> list[str]:
    """Return the allowed answers, one per line."""
    if not task.is_open:
        return [option.key for option in options]
    if task.scale == "text":
        return ["a text"]
    if task.bounds is None:
        return ["a number"]
    low, high = map(number_text, task.bounds)
    return [f"a number from {low} to {high}"]


def _option_line(option: Option, *, described: bool = True) -> str:
    """Return an option's line in a prompt, in a form that `option_matching` can parse."""
    name = option.key if option.label == option.key else f"{option.key}: {option.label}"
    return f"{name} - {option.description}" if described and option.description else name


def _shown_sets(task: Task) -> Sequence[Sequence[str]]:
    """Return all admissible response sets if there are few, or else three examples."""
    keys = [option.key for option in task.options]
    if task.response_sets != "all":
        return task.space.sets
    if 2 ** len(keys) - 1 <= MAX_LISTED_SETS:
        return task.space.sets
    return [keys[:1], keys[:2], keys[:3]]
