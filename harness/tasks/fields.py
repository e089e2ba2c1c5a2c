"""What a task says of itself, apart from its rows."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from harness.tasks.annotator_settings import AltTestFields  # noqa: TC001 -- pydantic reads it when it runs
from harness.tasks.checks import check_fields
from harness.tasks.options import Frozen, GivenOption, Key, Lexicon

Scale = Literal["binary", "nominal", "ordinal", "pairwise"]


class TaskFields(Frozen):
    """What a task says of itself, apart from its rows.

    Attributes
    ----------
    name : str
        Letters, digits, ``.``, ``_`` and ``-``; it becomes part of a run's name.
    property : str
        What is rated, as a phrase.
    instructions : str
        What else raters and judges are told.
    scale : str
        ``binary``, ``nominal``, ``ordinal`` (options in order) or ``pairwise``.
    options : tuple of Option
        K of them, K >= 2; exactly 2 on a binary scale.
    positive : tuple of str
        Keys of the options that count as positive downstream.
    response_sets : "all" or tuple of tuple of str
        The admissible response sets.
    abstain : bool
        Whether CANNOT_ASSESS is an answer.
    tau : float in (0, 1]
        An item is positive when at least this share of raters would endorse a positive option.
    sensitivity : dict of str to tuple of str
        For a negative option, the options that may be endorsed by people who choose it.
    raters : str
        ``expert``, ``skilled`` or ``crowd``; sets the default cost-benefit margin.
    rater_ids : str
        ``real``: an id is a person. ``positional``: it is only the place within the item.
    ignore_labels : tuple of str
        Foreign labels that are known to occur in the ratings; counted and left out.
    weights : tuple of tuple of float, or None
        What each disagreement costs, for weighted kappa and alpha: a row and a column per option,
        in their order, and one more for CANNOT_ASSESS where abstaining shall have its own cost.
        0 on the diagonal, symmetric.
    alt_test : AltTestFields or None
        How the alternative annotator test is done, where not the usual way: ``eps``, ``expert``,
        ``gold``, ``quality``, ``combine``.
    lexicon : Lexicon or None
        What a word-list judge means for this task, if anything.
    text : tuple of str
        Fields that judges are shown, in this order.
    prompts : dict of str to str
        By elicitation, the name of a template of the task's own: a file in its folder.
    notice : str
        Shown wherever the task's numbers are shown.
    source, licence : str
        Where the data come from, and on what terms.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    property: str = Field(min_length=1)
    instructions: str = ""
    scale: Scale
    options: tuple[GivenOption, ...] = Field(min_length=2, max_length=100)
    positive: tuple[Key, ...] = ()
    response_sets: Literal["all"] | tuple[tuple[Key, ...], ...] = "all"
    abstain: bool = False
    tau: float = Field(0.5, gt=0, le=1)
    sensitivity: dict[Key, tuple[Key, ...]] = Field(default_factory=dict)
    raters: Literal["expert", "skilled", "crowd"] = "crowd"
    rater_ids: Literal["real", "positional"] = "real"
    ignore_labels: tuple[Key, ...] = ()
    weights: tuple[tuple[float, ...], ...] | None = None
    alt_test: AltTestFields | None = None
    lexicon: Lexicon | None = None
    text: tuple[str, ...] = Field(("text",), min_length=1)
    prompts: dict[Literal["forced_choice", "response_set", "paired"], str] = Field(
        default_factory=dict
    )
    notice: str = ""
    source: str = ""
    licence: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_fields(self)
        return self

    def described(self) -> dict[str, Any]:
        """Return the fields that stand in ``task.yaml``, as JSON values."""
        return self.model_dump(mode="json", include=set(TaskFields.model_fields), exclude_none=True)
