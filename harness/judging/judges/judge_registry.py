"""Judges by name: selection of a run's judges, checks that they can run, and creation."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from harness import loading
from harness.errors import JudgeError, JudgeUnavailable, PluginError, did_you_mean, in_sentences
from harness.judging.judge_spec import BUILT_IN_KINDS, CHAT_KINDS, EMBEDDING, ENSEMBLE, JudgeSpec
from harness.judging.judges.config import (
    bundled_judges,
    first_problem,
    new_judge,
    with_reask,
    with_strategy,
)
from harness.judging.judges.providers import OPENAI, OWN_PROTOCOLS, PROVIDERS
from harness.judging.model_names import provider_of
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import max_judges
from harness.judging.strategies.strategy import TOKEN_LIMITS
from harness.judging.strategies.strategy_registry import split_strategy
from harness.options.concerns import NO_SERVER
from harness.tasks.item import ELICITATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.judges.base import Judge
    from harness.judging.prompts.presentation_orders import OptionOrders
    from harness.judging.prompts.requests import Prompts
    from harness.options.concerns import Server
    from harness.tasks import Task

DEFAULT_KINDS = ("smollm2", "lexicon")  # kinds that run if no judge is named
_CLASSES = {  # by kind: module and name
    "litellm": ("hosted", "HostedJudge"),
    "endpoint": ("endpoint", "EndpointJudge"),
    "embedding": ("embedding", "HostedEmbedding"),
    "smollm2": ("smollm2", "SmolLM2"),
    "lexicon": ("embedded", "LexiconJudge"),
    "scripted": ("embedded", "ScriptedJudge"),
    "random": ("embedded", "RandomJudge"),
}


class Resolved(NamedTuple):
    """Judges of a run, and the skipped judges with the reason for each."""

    specs: list[JudgeSpec]
    skipped: list[tuple[str, str]]


def resolve(
    names: Sequence[str] | None,
    task: Task,
    registry: Mapping[str, JudgeSpec],
    server: Server = NO_SERVER,
) -> Resolved:
    """Look up the judges for the names on the command line.

    Parameters
    ----------
    names : sequence of str or None
        Aliases, kinds from plug-ins and model strings; None selects every embedded judge that
        applies.
    task : Task
        What is rated.
    registry : mapping
        Specifications by alias, see `load_judges`.
    server : Server
        If it has an address, names that are not aliases are models on that server.

    Returns
    -------
    Resolved
        Named judges in order, then unnamed members of ensembles, then ensembles. Keys of hosted
        judges are not checked here, because a plan does not need them (see `check`).

    Raises
    ------
    JudgeError
        If a name is unknown or repeated, or there are too many.
    JudgeUnavailable
        If a named judge cannot run here or does not apply to the task.
    PluginError
        If the plug-in for a named judge's kind cannot be loaded.
    """
    _check_number(len(names or ()), task)
    if repeated := [name for name, n in Counter(names or ()).items() if n > 1]:
        raise JudgeError(
            f"judge {repeated[0]!r} is listed twice. Remove one of the two. For more "
            "replies, raise samples"
        )
    check_server_is_used(names, registry, server)
    named = [look_up(name, registry, server) for name in names or ()]
    specs = _with_members(named, registry)
    skipped: list[tuple[str, str]] = []
    _check_number(len(specs), task)
    for spec in specs:
        _check_named(spec, task)
    candidates = [s for s in registry.values() if s.kind in DEFAULT_KINDS and names is None]
    for spec in candidates:
        try:
            check(spec, task)
        except JudgeUnavailable as reason:
            skipped.append((spec.name, str(reason)))
        else:
            specs.append(spec)
    if not specs:
        reasons = [reason for _, reason in skipped]
        problem = in_sentences("no judge is left to run", *reasons)
        raise JudgeError(problem, "Pass one, e.g. --judges gpt")
    return Resolved(specs, skipped)


def _check_number(n_judges: int, task: Task) -> None:
    if n_judges > (most := max_judges(task)):
        raise JudgeError(f"{n_judges} judges are named, but a run has at most {most}. Drop some")


def _check_named(spec: JudgeSpec, task: Task) -> None:
    """Check that a named judge can run. A hosted judge's key is not checked yet."""
    if spec.kind == ENSEMBLE:
        if task.is_open and spec.asking.needs_options:
            raise JudgeError(
                f"{spec.name}: numbers have no {spec.strategy} majority. Use a different strategy"
            )
        return
    if spec.kind == EMBEDDING:
        raise JudgeError(
            f"{spec.name}: this model returns vectors, not verdicts. Use it in task.yaml, as "
            f"`similarity: {{embedding: {spec.name}}}`"
        )
    judge_type = _judge_type(spec)
    _check_strategy(spec, judge_type, task)
    _check_prompts(spec, judge_type)
    _check_images(spec, judge_type, task)
    if task.is_open and spec.asking.needs_options:
        raise JudgeError(f"{spec.name}: the task lacks options, which {spec.strategy} needs")
    if task.ratings:  # items of an estimate have none
        spec.asking.check(task)
    if not spec.remote:
        judge_type.check(spec, task)


def _with_members(specs: Sequence[JudgeSpec], registry: Mapping[str, JudgeSpec]) -> list[JudgeSpec]:
    """Add missing members of ensembles to the judges, and put the ensembles last."""
    asked = {spec.name: spec for spec in specs if spec.kind != ENSEMBLE}
    ensembles = [spec for spec in specs if spec.kind == ENSEMBLE]
    for ensemble in ensembles:
        members = [_member(ensemble, name, registry) for name in ensemble.members]
        asked |= {spec.name: spec for spec in members}
    return [*asked.values(), *ensembles]


def _member(ensemble: JudgeSpec, name: str, registry: Mapping[str, JudgeSpec]) -> JudgeSpec:
    spec = registered(name, registry)
    if spec is None or spec.kind == ENSEMBLE:
        raise JudgeError(
            f"judge {ensemble.name!r}: members must be aliases of judges, but {name!r} is not an "
            f"alias, or is an ensemble. The aliases are {', '.join(registry)}. Define an alias "
            "for any other model in judges.yaml"
        )
    if spec.asking.gives_distribution or spec.asking.asks_each_option:
        raise JudgeError(
            f"judge {ensemble.name!r}: {name} doesn't return the single choices that an ensemble "
            "needs"
        )
    return spec


def check_server_is_used(
    names: Sequence[str] | None,
    registry: Mapping[str, JudgeSpec],
    server: Server,
) -> None:
    """Reject ``--base-url`` or ``--key-env`` if no judge would use it.

    Raises
    ------
    JudgeError
        If all names are aliases, whose specifications set address and key.
    """
    option = "--base-url" if server.base_url else "--key-env" if server.key_env else ""
    if option and all(registered(name, registry) for name in names or ()):
        raise JudgeError(
            f"{option} is only for judges that aren't aliases, but all judges that you passed are "
            "aliases. Pass the "
            "server's name for the model, e.g. --judges my-model, or set an alias's address and "
            "key in judges.yaml"
        )


def registered(name: str, registry: Mapping[str, JudgeSpec]) -> JudgeSpec | None:
    """Return the judge for an alias with or without a strategy. Return None for other names.

    Raises
    ------
    JudgeError
        If the name adds a strategy that the alias's own strategy cannot be joined with.
    """
    if name in registry:
        return registry[name]
    base, strategy = split_strategy(name)
    spec = registered(base, registry) if strategy else None
    return with_strategy(spec, strategy) if spec else None


def address_of(
    specs: Iterable[JudgeSpec], registry: Mapping[str, JudgeSpec]
) -> tuple[str | None, str | None]:
    """Return the server and key variable that all judges without an alias share, if any."""
    named = {
        (s.base_url, s.key_env) for s in specs if s.base_url and not registered(s.name, registry)
    }
    return named.pop() if len(named) == 1 else (None, None)


def _sentence(task: Task) -> str:
    """Return an example of a sentence to complete, for task.yaml."""
    words = ", ".join(f"{option.key}: WORD" for option in task.options)
    return f"{{template: '{{{{text}}}} This text is', words: {{{words}}}}}"


def look_up(name: str, registry: Mapping[str, JudgeSpec], server: Server = NO_SERVER) -> JudgeSpec:
    """Return the judge for an alias, a plug-in's kind or a model string. See `resolve`.

    ``@`` adds a strategy. ``+`` joins the members of an ensemble.

    Raises
    ------
    JudgeError
        If the name is not any of these, or its judge already has a different strategy.
    """
    if spec := registered(name, registry):
        return spec
    if "+" in name:
        return _spec(name, kind=ENSEMBLE, members=name.split("+"))
    base, strategy = split_strategy(name)
    if strategy:
        return with_strategy(look_up(base, registry, server), strategy)
    return _model(name, registry, server)


def _model(name: str, registry: Mapping[str, JudgeSpec], server: Server) -> JudgeSpec:
    """Return the judge for a plug-in's kind or for a model string. See `resolve`."""
    if (Path(name) / "task.yaml").is_file():
        raise JudgeError(f"{name} is a task folder, not a judge. Pass it as the task.")
    if "/" not in name and server.base_url is None:
        if name in BUILT_IN_KINDS or name not in loading.names(loading.JUDGES):
            raise JudgeError(
                in_sentences(
                    f"unknown judge {name!r}",
                    did_you_mean(name, registry),
                    f"The aliases are {', '.join(registry)}. Or pass a model string such as "
                    "openai/gpt-4o",
                )
            )
        return new_judge(name=name, kind=name, model=name)
    return _spec(name, model=name, base_url=server.base_url, key_env=server.key_env)


def _spec(name: str, **fields: object) -> JudgeSpec:
    """Build a judge from a name and from the fields that are not None."""
    values = {field: value for field, value in fields.items() if value is not None}
    try:
        return with_reask(new_judge(name=name, **values))
    except ValidationError as error:
        raise JudgeError(f"judge {name!r}: {first_problem(error)}") from None


KEPT = ("answer", "reask")  # kept until a new run
AS_IN_RUN = ("samples", "n_per_request", "both_orders", "prompts", *KEPT)


def own_judges(
    specs: Iterable[JudgeSpec],
    registry: Mapping[str, JudgeSpec],
    server: Server,
) -> tuple[JudgeSpec, ...]:
    """Return a resumed run's judges as the user's own files and options define them.

    A run folder is data. It only names its judges and their number of samples. The user's own
    definitions decide where requests go, with which key and which parameters.

    Parameters
    ----------
    specs : iterable of JudgeSpec
        The judges of the run.
    registry : mapping
        The user's own and the built-in ones, see `load_judges`.
    server : Server
        The user's server, see `resolve`.

    Raises
    ------
    JudgeError
        If the user has no judge with that name, or one that differs.
    """
    return tuple(_own_judge(spec, registry, server) for spec in specs)


def _own_judge(spec: JudgeSpec, registry: Mapping[str, JudgeSpec], server: Server) -> JudgeSpec:
    if not spec.remote:
        return spec
    try:
        own = look_up(spec.name, registry, server)
    except JudgeError:
        own = None
    differing = "name" if own is None else _first_difference(spec, own)
    if own is None or differing:
        raise JudgeError(
            f"{spec.name}: you have no judge with this {differing}, and a resumed run uses your "
            "definitions. Nothing was sent",
            "Pass the options that the run was started with: --judges-file FILE, or --base-url "
            "and --key-env.",
        )
    limits = {name: spec.params[name] for name in TOKEN_LIMITS if name in spec.params}
    as_in_run = {name: getattr(spec, name) for name in AS_IN_RUN}
    redirects = own.allow_redirects or server.allow_redirects
    return own.model_copy(
        update={**as_in_run, "params": own.params | limits, "allow_redirects": redirects}
    )


def with_answer_of(own: JudgeSpec, spec: JudgeSpec) -> JudgeSpec:
    """Copy the answer form and token limits of a run's judge to the user's own judge."""
    limits = {name: spec.params[name] for name in TOKEN_LIMITS if name in spec.params}
    return own.model_copy(update={"answer": spec.answer, "params": own.params | limits})


def kept_answers(specs: Iterable[JudgeSpec], registry: Mapping[str, JudgeSpec]) -> list[str]:
    """Return a line for each judge whose answer settings would differ in a new run."""
    lines = []
    for spec in specs:
        own = registered(spec.name, registry)
        fields = [] if own is None else [f for f in KEPT if getattr(own, f) != getattr(spec, f)]
        if fields:
            then, now = (
                " and ".join(f"`{field}: {getattr(judge, field)}`" for field in fields)
                for judge in (spec, own)
            )
            lines.append(f"{spec.name}: runs with {then}, as before. A new run would use {now}.")
    return lines


def _first_difference(spec: JudgeSpec, own: JudgeSpec) -> str:
    """Name the first difference between two judges that affects replies, or return ""."""
    for name in ("kind", "model", "base_url", "strategy"):
        if getattr(spec, name) != getattr(own, name):
            return f"name and {name}"
    ours, theirs = (
        {name: value for name, value in judge.params.items() if name not in TOKEN_LIMITS}
        for judge in (own, spec)
    )
    return "" if ours == theirs else "name and params"


def check(spec: JudgeSpec, task: Task | None = None) -> None:
    """Check that a judge can run, before anything is paid for.

    Parameters
    ----------
    spec : JudgeSpec
        The judge.
    task : Task, optional
        A task that the judge must be able to rate.

    Raises
    ------
    JudgeUnavailable
        If a key, a wheel or a field of the task is missing. A missing key is named by its
        variable; a key is never shown.
    PluginError
        If the plug-in for the judge's kind cannot be loaded.
    """
    if spec.kind == ENSEMBLE:
        return
    judge_type = _judge_type(spec)
    if spec.kind == EMBEDDING:  # embeds only texts
        judge_type.check(spec)
        return
    _check_strategy(spec, judge_type, task)
    _check_images(spec, judge_type, task)
    judge_type.check(spec, task)


def _check_images(spec: JudgeSpec, judge_type: type[Judge], task: Task | None) -> None:
    if task is None or task.image is None:
        return
    if spec.images is False or not judge_type.reads_images:
        raise JudgeUnavailable(
            f"{spec.name} doesn't read images, but items of task {task.name} have images"
        )
    if spec.asking.n_demonstrations:
        raise JudgeError(
            f"{spec.name}: demonstrations don't support images. Drop the few-shot strategy"
        )


def _check_prompts(spec: JudgeSpec, judge_type: type[Judge]) -> None:
    """Reject a judge's own templates if the judge would never send them."""
    if spec.prompts and not judge_type.reads_prompts:
        raise JudgeError(
            f"{spec.name}: a judge of kind {spec.kind} doesn't read prompts. Remove 'prompts'"
        )
    for elicitation in ELICITATIONS:
        needed = spec.asking.template(elicitation)
        if elicitation in spec.prompts and needed not in spec.prompts:
            raise JudgeError(
                f"{spec.name}: 'prompts' in judges.yaml names a template for {elicitation} but "
                f"not for {needed}, which {spec.strategy} needs. Add this template"
            )


def _check_strategy(spec: JudgeSpec, judge_type: type[Judge], task: Task | None) -> None:
    asking = spec.asking
    if asking.needs_prompts and not judge_type.reads_prompts:
        raise JudgeUnavailable(
            f"{spec.name}: strategy {spec.strategy} needs a judge that reads prompts, but a judge "
            f"of kind {spec.kind} doesn't",
            "Drop the strategy",
        )
    if asking.needs_logprobs and not judge_type.gives_logprobs:
        raise JudgeUnavailable(
            f"{spec.name}: a judge of kind {spec.kind} doesn't return log-probabilities",
            f"Drop @{spec.strategy}",
        )
    if spec.answer == "schema" and not judge_type.follows_schemas:
        raise JudgeUnavailable(
            f"{spec.name}: a judge of kind {spec.kind} doesn't follow JSON schemas",
            "Drop @json and `answer: schema`",
        )
    if spec.reask and not judge_type.reads_prompts:
        raise JudgeUnavailable(
            f"{spec.name}: a judge of kind {spec.kind} can't be asked again, because it doesn't "
            "read prompts",
            "Drop `reask: 1`",
        )
    if asking.completes_text and not judge_type.completes_text:
        raise JudgeUnavailable(
            f"{spec.name}: a judge of kind {spec.kind} can't complete a text",
            f"Use @{spec.strategy} with smollm2 or a server with /completions (--base-url)",
        )
    if asking.completes_text and task is not None and task.verbalised is None:
        raise JudgeUnavailable(
            f"{spec.name}: task {task.name!r} has no sentence to complete",
            "Add `verbalised:` to its task.yaml, with a template that ends before a word, and that "
            f"word for each option, such as `verbalised: {_sentence(task)}`",
        )


def shuffles(spec: JudgeSpec) -> bool:
    """Return whether a judge's prompts can show the options in shuffled order."""
    return _judge_type(spec).reads_prompts and not spec.asking.asks_each_option


def orders_for(spec: JudgeSpec, task: Task, orders: OptionOrders | None) -> OptionOrders | None:
    """Return the orders in which a judge sees the options, or None for a fixed order."""
    return spec.asking.option_orders(task, orders) if shuffles(spec) else None


def caps_replies(spec: JudgeSpec) -> bool:
    """Return whether a judge sends the token limit in its parameters."""
    return _judge_type(spec).caps_replies


def asks_in_both_orders(spec: JudgeSpec, task: Task) -> bool:
    """Return whether a judge sees pairwise items in both orders of their answers."""
    if task.pairwise is None or spec.kind == ENSEMBLE or not spec.asking.both_orders:
        return False
    return _judge_type(spec).reads_prompts and spec.both_orders is not False


def reader_of(spec: JudgeSpec, task: Task, orders: OptionOrders | None) -> ReplyReader:
    """Return the parser for a judge's replies. ``orders`` is for judges that can shuffle."""
    orders = orders_for(spec, task, orders)
    return ReplyReader(task, spec.asking, orders, both_orders=bool(spec.both_orders))


def announcement_of(spec: JudgeSpec) -> str:
    """Describe in one line how a judge's first call changes this machine, or return ""."""
    return "" if spec.kind == ENSEMBLE else _judge_type(spec).announcement(spec)


def notice_of(spec: JudgeSpec) -> str:
    """Return a one-line caveat about a judge's results, or "" if there is none."""
    if spec.kind == "litellm" and provider_of(spec.model) not in PROVIDERS:
        return (
            f"{spec.name}: redirects can send your key and texts to other servers "
            "(--allow-redirects)"
        )
    return _gateway_notice(spec) if spec.base_url and spec.kind in CHAT_KINDS else ""


def _gateway_notice(spec: JudgeSpec) -> str:
    """Describe the protocol for a gateway that serves another provider's model, or return ""."""
    prefix, slash, bare = spec.model.partition("/")
    is_prefixed = bool(slash) and prefix in PROVIDERS
    if not (is_prefixed or spec.name.partition("@")[0] in bundled_judges()):
        return ""
    is_translated = spec.kind == "litellm"
    protocol = OWN_PROTOCOLS.get(provider_of(spec.model)) if is_translated else None
    model = bare if is_translated and is_prefixed else spec.model
    return (
        f"{spec.name}: requests to {spec.base_url} use {protocol or OPENAI} protocol and model "
        f"{model!r}"
    )


def build(spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> Judge:
    """Build a judge for a task. ``seed`` is for judges that use random numbers."""
    return _judge_type(spec)(spec, task, prompts, seed=seed)


def _judge_type(spec: JudgeSpec) -> type[Judge]:
    """Import and return a judge's class."""
    if spec.kind not in _CLASSES:
        return _plugin_type(spec.kind)
    module, name = _CLASSES[spec.kind]
    if spec.kind == EMBEDDING and spec.base_url:
        name = "EmbeddingEndpoint"
    judge_type: type[Judge] = getattr(import_module(f"harness.judging.judges.{module}"), name)
    return judge_type


def _plugin_type(kind: str) -> type[Judge]:
    from harness.judging.judges.base import Judge  # noqa: PLC0415 -- with a judge, as above

    judge_type = loading.load(loading.JUDGES, kind)
    if not (isinstance(judge_type, type) and issubclass(judge_type, Judge)):
        raise PluginError(
            f"plug-in {kind!r}: {judge_type!r} must be a subclass of "
            "harness.judging.judges.base.Judge."
        )
    return judge_type
