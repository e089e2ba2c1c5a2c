"""The interface of judges, and base classes for judges that read prompts."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from harness.errors import CallFailed, JudgeUnavailable
from harness.judging.prompts.question import Message
from harness.judging.prompts.requests import Request, answer_kind
from harness.tasks.item import ANSWER_KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Reply
    from harness.judging.prompts.question import Unit
    from harness.judging.prompts.requests import Prompts
    from harness.tasks import Task
    from harness.tasks.item import AnswerKind


MASK = "[key]"
MIN_KEY_CHARS = 8  # of what is masked: shorter ones are placeholders such as "none" or "EMPTY"
REPORTED = ("text", "model", "fingerprint", "finish_reason", "reasoning")  # by a server


class Judge(ABC):
    """A system that rates in place of humans.

    A kind of judge is a subclass; `PromptedJudge` leaves only `ask` to be written.

    Parameters
    ----------
    spec : JudgeSpec
        Configuration: model, parameters, samples, limits.
    task : Task
        What is rated.
    prompts : Prompts
        Templates bound to the task.
    seed : int
        Seed of judges that draw at random.

    Attributes
    ----------
    reads_prompts : bool
        Whether its requests are made from the templates, so that strategies apply.
    gives_logprobs : bool
        Whether its replies may hold log-probabilities.
    completes_text : bool
        Whether it can go on with a text, and not only answer in a conversation.
    reads_images : bool
        Whether it may rate items with images.
    follows_schemas : bool
        Whether it can be sent the JSON schema of a reply (``answer: schema``).
    caps_replies : bool
        Whether it sends the token limit of its parameters, so that the most that a reply may cost
        is known before it is asked for.
    tried_first : bool
        Whether, under a limit of cost, its first calls are sent one at a time, to see whether its
        server keeps to the token limit.
    """

    reads_prompts: ClassVar[bool] = False
    gives_logprobs: ClassVar[bool] = False
    completes_text: ClassVar[bool] = False
    reads_images: ClassVar[bool] = False
    follows_schemas: ClassVar[bool] = False
    caps_replies: ClassVar[bool] = False
    tried_first: ClassVar[bool] = True

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        del task, prompts, seed
        self.spec = spec

    @classmethod
    def check(cls, spec: JudgeSpec, task: Task | None = None) -> None:
        """Raise `JudgeUnavailable` if the judge cannot run here, or does not apply to the task.

        By default a judge only needs the key that its specification names.
        """
        del task
        key_of(spec.name, spec.key_env)

    @abstractmethod
    def request(self, unit: Unit) -> Request:
        """Return the request for a unit; of a pair, the first turn."""

    @abstractmethod
    def follow_up(self, request: Request, reply: Reply) -> Request:
        """Return the request for the second turn of a pair, given the first reply."""

    def ask_again(self, request: Request, reply: Reply, unit: Unit, kind: AnswerKind) -> Request:
        """Return the request that asks once more for an answer, after a reply that can't be read.

        Only judges that read prompts are asked again.

        Parameters
        ----------
        request : Request
            Got the reply.
        unit : Unit
            What the conversation is about.
        kind : str
            What the reply should have been.
        """
        raise NotImplementedError

    @classmethod
    def announcement(cls, spec: JudgeSpec) -> str:
        """Return what asking will first do to this machine, in one line; mostly empty."""
        del spec
        return ""

    async def prepare(self) -> None:  # noqa: B027 -- most kinds need nothing
        """Load what `ask` needs; awaited before every call, outside its deadline."""

    @abstractmethod
    async def ask(self, request: Request) -> Reply:
        """Send a request once, without retrying.

        Raises
        ------
        CallFailed
            If there is no usable reply.
        """

    async def ask_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Send requests that differ in the sample alone; the replies may be fewer, in order.

        By default only the first is sent, and the others are then sent on their own.
        """
        return [await self.ask(requests[0])]

    @property
    def n_connections(self) -> int:
        """Number of connections that it may need at once; 0 if it is asked in this process."""
        return self.spec.concurrency if self.spec.remote else 0

    def recorded(self, replies: Sequence[Reply]) -> None:  # noqa: B027 -- most kinds need nothing
        """Note that replies are written and stored, so that they need no other keeping."""

    def leave(self) -> None:  # noqa: B027 -- most calls end soon
        """End calls that would not end soon with `NotAsked`: nothing more is to be sent."""

    async def aclose(self) -> None:  # noqa: B027 -- most kinds hold nothing
        """Release connections and models."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.name!r}, {self.spec.model!r})"


class PromptedJudge(Judge):
    """A judge whose requests are made from prompt templates."""

    reads_prompts = True

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        super().__init__(spec, task, prompts, seed=seed)
        self._prompts = prompts
        self._asking = spec.asking
        extra = {item.id: item for item in self._asking.extra_items(task, task.items)}
        self._items = task.by_id | extra if extra else task.by_id
        self._params = self._request_params(task)
        self._formats: dict[AnswerKind, dict[str, JsonValue]] = {}
        is_left_out = "response_format" in spec.params and spec.params["response_format"] is None
        if spec.answer == "schema" and not is_left_out:
            formats = {kind: self._asking.response_format(task, kind) for kind in ANSWER_KINDS}
            self._formats = {kind: fields for kind, fields in formats.items() if fields}
        self._empty_requests = {
            kind: Request(
                provider=spec.kind,
                base_url=spec.base_url,
                model=spec.model,
                params={**self._params, **self._formats.get(kind, {})},
                messages=(),
            )
            for kind in ANSWER_KINDS
        }

    def _request_params(self, task: Task) -> Mapping[str, JsonValue]:
        """Return the parameters that are part of each request."""
        del task
        return self.spec.sent_params

    def request(self, unit: Unit) -> Request:
        """Return the request for a unit; of a pair, the first turn."""
        messages = self._prompts.messages(
            self._items[unit.item],
            unit.elicitation,
            self._asking,
            unit.sample,
            own=self.spec.prompts,
            both_orders=bool(self.spec.both_orders),
        )
        empty = self._empty_requests[answer_kind(unit.elicitation)]
        return empty.with_messages(messages).for_sample(unit.sample)

    def follow_up(self, request: Request, reply: Reply) -> Request:
        """Return the request for the second turn of a pair, given the first reply."""
        messages = self._prompts.follow_up(
            request.messages, reply.text, self._asking, own=self.spec.prompts
        )
        if not self._formats:
            return request.with_messages(messages)
        empty = self._empty_requests["forced_choice"].for_look(request.look)
        return empty.with_messages(messages).for_sample(request.sample)

    def ask_again(self, request: Request, reply: Reply, unit: Unit, kind: AnswerKind) -> Request:
        """Return the request that asks once more, after a reply that can't be read."""
        question = self._prompts.reask(unit, kind, self._asking, own=self.spec.prompts)
        turns = (Message("assistant", reply.text), Message("user", question))
        return request.with_messages((*request.messages, *turns))


def key_of(judge: str, variable: str | None) -> str | None:
    """Return the key in a judge's environment variable; None where the judge names none.

    Raises
    ------
    JudgeUnavailable
        If the variable is unset, empty or not printable ASCII; only its name is shown.
    """
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise JudgeUnavailable(
            f"{judge}: {variable} is not set", "Set this environment variable to your API key."
        )
    if not (key.isascii() and key.isprintable()):
        raise JudgeUnavailable(f"{judge}: {variable} holds characters that no key has")
    return key


def current_key(judge: str, variable: str | None) -> str | None:
    """Return the key at the time of a call, where a missing key stops the judge."""
    try:
        return key_of(judge, variable)
    except JudgeUnavailable:
        raise CallFailed("no_key", stops_judge=True, hint=f"set {variable}") from None


def without_key(reply: Reply, variable: str | None) -> Reply:
    """Return a reply in which the key in a variable is masked, where the server repeated it."""
    key = os.environ.get(variable or "", "").strip()
    if len(key) < MIN_KEY_CHARS:
        return reply
    if (
        key in reply.text
        or key in (reply.model or "")
        or key in (reply.fingerprint or "")
        or key in (reply.finish_reason or "")
        or key in reply.reasoning
    ):
        fields = {name: getattr(reply, name) for name in REPORTED}
        masked = {name: text.replace(key, MASK) for name, text in fields.items() if text}
        return replace(reply, logprobs=None, **masked)  # whose tokens are parts of the key
    if reply.logprobs is not None and key in json.dumps(reply.logprobs):
        return replace(reply, logprobs=None)
    return reply
