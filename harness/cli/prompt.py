"""`harness prompt`: print the prompt for an item."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo, echo_json
from harness.options.concerns import (
    BaseUrl,
    Elicitation,
    Items,
    Json,
    JudgesFile,
    PromptFiles,
    RunOptions,
    Seed,
    Server,
    Shuffling,
)
from harness.options.declaration import option
from harness.options.result_options import JudgeName

if TYPE_CHECKING:
    from harness.judging.prompts.question import Message
    from harness.judging.prompts.requests import Request


class PromptOptions(JudgeName):
    """Options for the prompt to print."""

    judge: str = option(..., "Alias or litellm model.", flag="--judge -j")
    item: str = option(..., "Id of an item.")
    prompt_form: Elicitation = option("forced_choice", "How to ask.", flag="--elicitation")
    sample: int = option(0, "Number of the sample, which sets the order of shuffled options.", ge=0)


class PromptSettings(PromptFiles, Seed, Items, Shuffling):
    """Options of a run that affect a prompt."""


class PromptServer(JudgesFile, BaseUrl):
    """Options for the server of judges without an alias."""


@takes
def prompt(
    task: options.TaskName,
    *,
    wanted: PromptOptions,
    settings: PromptSettings,
    server: PromptServer,
    printing: Json,
) -> None:
    """Print the messages a judge gets for an item, each below its role. Nothing is sent.

    A run with the same --limit, --criterion, --seed and --shuffle-options sends the same messages.
    The second turn of a pair isn't shown, because it depends on the reply to the first. With
    --json, the output includes model and parameters, and control characters appear as escapes.

    \b
    Examples:
      harness prompt toxicity --judge gpt --item t001
      harness prompt toxicity --judge gpt@cot --item t001 --json
      harness prompt toxicity --judge gpt --item t001 --shuffle-options --sample 1
    """
    from harness.app.plan import plan_run, request_for

    asked = RunOptions.of(settings).model_copy(
        update={"elicitations": (wanted.prompt_form,), "pairs": None}
    )
    plan = plan_run(task, [wanted.judge], asked, server=Server.of(server))
    _print(request_for(plan, wanted.item, wanted.sample), as_json=printing.as_json)


def _shown(message: Message) -> str:
    text = f"[{message.role}]\n{message.content}"
    if (image := message.image) is None:
        return text
    return f"{text}\n[{image.media_type}, {image.n_bytes} bytes: {image.path.name}]"


def _print(request: Request, *, as_json: bool) -> None:
    if not as_json:
        echo("\n\n".join(map(_shown, request.messages)))
        return
    messages = json.loads(request.sent_turns())
    sent = {"model": request.model, "params": dict(request.params), "messages": messages}
    echo_json(sent)
