"""`harness prompt`: print the prompt of an item."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo, echo_json
from harness.command_options import PROMPT, RunOptions, Server

if TYPE_CHECKING:
    from harness.judging.prompts.requests import Message, Request


@takes(PROMPT)
def prompt(
    task: options.TaskName,
    *,
    judge: Annotated[str, typer.Option("--judge", "-j", help="Alias or litellm model.")],
    item: Annotated[str, typer.Option("--item", help="Id of an item.")],
    elicitation: Annotated[
        Literal["forced_choice", "response_set", "paired"], typer.Option(help="How to ask.")
    ] = "forced_choice",
    sample: Annotated[
        int, typer.Option(min=0, help="Number of the sample, which orders shuffled options.")
    ] = 0,
    settings: RunOptions,
    server: Server,
    as_json: options.Json = False,
) -> None:
    """Print what a judge is sent for an item: each message below its role. Nothing is sent.

    It is what a run sends with the same --limit, --criterion, --seed and --shuffle-options. The
    second turn of a pair is not shown, as it follows the reply to the first. With --json, model and
    parameters are printed too, and control characters of the text as escapes.

    \b
    Examples:
      harness prompt toxicity --judge gpt --item t001
      harness prompt toxicity --judge gpt@cot --item t001 --json
      harness prompt toxicity --judge gpt --item t001 --shuffle-options --sample 1
    """
    from harness.run_plans import plan_run, request_for

    settings = settings.model_copy(update={"elicitations": (elicitation,), "pairs": None})
    plan = plan_run(task, [judge], settings, server=server)
    _print(request_for(plan, item, sample), as_json=as_json)


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
