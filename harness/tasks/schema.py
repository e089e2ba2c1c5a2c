"""The file `task.yaml`: fields, constraints between fields, and reading."""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeAlias

from pydantic import (
    BaseModel,
    Field,
    FiniteFloat,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from harness.errors import TaskError, capitalised, fault_of
from harness.files.strict_yaml import read_yaml
from harness.files.tables.checks import SHOWN_CHARS
from harness.options import concerns
from harness.stats import modes
from harness.tasks.dataset_fields import COUNTED, DatasetFields
from harness.tasks.item import OPEN_SCALES, Scale
from harness.tasks.options import (
    FIELD_NAME,
    Frozen,
    Key,
    Lexicon,
    Option,
    OptionField,
    Wording,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from harness.errors import Fault
    from harness.files.json_values import JsonObject
    from harness.tasks.item import Item, Rating

MAX_POWERSET_OPTIONS = 10
MAX_OPTIONS = 100
MAX_RESPONSE_SETS = 2**MAX_POWERSET_OPTIONS - 1  # listed or not
MAX_ANSWER_CHARS = 2000  # of a free text
MAX_PHRASE_CHARS = 2000  # what stands on the judge card
CONTIGUOUS = "contiguous"
OF_OPTIONS: dict[str, object] = {  # fields that need options, as they are without any
    "options": (),
    "positive": (),
    "response_sets": "all",
    "tau": 0.5,
    "ranks_by": "forced_choice",
    "sensitivity": {},
    "weights": None,
    "pairwise": None,
    "rubric": None,
    "lexicon": None,
}
N_COMBINED_SETS = 2

RaterKind = Literal["expert", "skilled", "crowd"]
RaterIds: TypeAlias = modes.RaterIds
RanksBy: TypeAlias = concerns.RanksBy
MIN_OPTIONS = 2
TemplateName = Literal[
    "forced_choice",
    "response_set",
    "paired",
    "forced_choice_cot",
    "response_set_cot",
    "paired_cot",
    "endorsement",
    "score",
]
PositiveNumber = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class AltTestFields(Frozen):
    """Settings of the alternative annotator test. Missing fields keep their defaults.

    Attributes
    ----------
    eps : float in [0, 1), or None
        Margin, instead of the default for the kind of raters.
    expert : str or None
        A rater to compare the judge and the other raters with in addition.
    gold : str or None
        Field of the items with the key of the correct answer, compared at margin 0. Judges don't
        see this field unless ``text`` lists it.
    quality : dict of str to float
        Weight of each rater: a number above 0 for every rater.
    combine : tuple of tuple of str
        Two sets of raters who rated different items. Each pair with one rater from each set becomes
        a combined rater.
    """

    eps: float | None = Field(None, ge=0, lt=1)
    expert: str | None = None
    gold: str | None = None
    quality: dict[str, PositiveNumber] = Field(default_factory=dict)
    combine: tuple[tuple[str, ...], ...] = ()


class PairwiseFields(Frozen):
    """Fields and options of a pairwise task that belong together.

    Attributes
    ----------
    answers : (str, str)
        Fields of the items with the first and the second answer, both among ``text``.
    first, second : str
        Options that prefer the first and the second answer. Any other option is a tie.
    systems : (str, str) or None
        Fields that name the systems which gave the answers, for ``harness estimate --by``. Judges
        don't see these fields unless ``text`` lists them.
    """

    answers: tuple[str, str]
    first: Key
    second: Key
    systems: tuple[str, str] | None = None

    def swapped_key(self, key: str) -> str:
        """Return the option with the same meaning after swapping the answers."""
        return {self.first: self.second, self.second: self.first}.get(key, key)

    def swapped_fields(self, fields: Mapping[str, str]) -> dict[str, str]:
        """Return an item's fields after swapping its answers and their systems."""
        swapped = {
            name: fields.get(other, "")
            for pair in (self.answers, self.systems or ())
            for name, other in zip(pair, reversed(pair), strict=True)
        }
        return {**fields, **swapped}


class CriterionFields(Frozen):
    """A criterion of a rubric.

    Attributes
    ----------
    description : str
        When the criterion is met. Judges see this text next to the name.
    weight : float
        Weight in the score of an item.
    """

    description: str = Field("", max_length=MAX_PHRASE_CHARS)
    weight: PositiveNumber = 1.0


class RubricFields(Frozen):
    """Rule that combines the verdicts on an output's criteria into a verdict on the output.

    Attributes
    ----------
    criteria : dict of str to CriterionFields
        Criteria by their name in the items' ``criterion``.
    threshold : float in (0, 1]
        An output passes if the criteria it meets have at least this share of the total weight. 1
        requires all criteria.
    """

    criteria: dict[Key, CriterionFields] = Field(min_length=2)
    threshold: float = Field(1.0, gt=0, le=1)

    @field_validator("criteria", mode="before")
    @classmethod
    def _plain_criteria(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {name: {} if fields in (None, "") else fields for name, fields in value.items()}


class EmbeddingSimilarity(Frozen):
    """Text similarity by the cosine between embedding vectors.

    Attributes
    ----------
    embedding : str
        Alias of a model of kind ``embedding`` in judges.yaml.
    """

    embedding: str = Field(min_length=1)


def _admit_contiguous(schema: JsonObject) -> None:
    schema["anyOf"].append({"const": CONTIGUOUS, "type": "string"})


def _binary_sensitivity(fields: JsonObject) -> dict[str, tuple[str, ...]]:
    """Return the default for a binary scale: the negative option's raters can accept the other."""
    keys = [option.key for option in fields.get("options", ())]
    positive, admissible = fields.get("positive", ()), fields.get("response_sets", ())
    negative = [key for key in keys if key not in positive]
    if fields.get("scale") != "binary" or (len(keys), len(negative)) != (2, 1):
        return {}
    needed = {frozenset(keys), *(frozenset((key,)) for key in keys)}
    if admissible != "all" and not needed <= {frozenset(members) for members in admissible}:
        return {}
    return {negative[0]: tuple(positive)}


class TaskFields(Frozen):
    """A task's fields, without items and ratings.

    Attributes
    ----------
    name : str
        Name with letters, digits, ``.``, ``_`` and ``-``; it becomes part of a run's name.
    property : str
        Property rated, as a phrase.
    instructions : str
        Additional instructions to raters and judges.
    scale : str
        ``binary``, ``nominal``, ``ordinal`` (options in order), ``pairwise``, ``continuous``
        (any number) or ``text`` (any text).
    options : tuple of Option
        K of them, K >= 2; exactly 2 on a binary scale. None on a continuous or text scale.
    bounds : (float, float) or None
        On a continuous scale, the least and the greatest number; None without bounds.
    similarity : str or EmbeddingSimilarity or None
        On a text scale, the similarity of two texts: a table in the task's folder with the columns
        ``text``, ``other`` and ``similarity``, or ``{embedding: NAME}`` for the cosine of vectors
        from a model in judges.yaml. None for the share of words that two texts have in common.
    positive : tuple of str
        Keys of the options that count as positive downstream.
    response_sets : "all" or tuple of tuple of str
        The admissible response sets; ``contiguous`` lists those of neighbours on an ordinal scale.
    abstain : bool
        Whether CANNOT_ASSESS is an answer.
    tau : float in (0, 1]
        An item is positive if at least this share of raters would accept a positive option.
    ranks_by : str
        Which ratings to rank judges by, however many of the others there are: ``forced_choice`` or
        ``response_set``.
    sensitivity : dict of str to tuple of str
        For a negative option, the options that people who choose it may also accept. By default, on
        a binary scale, the positive option for the other one; ``{}`` for none.
    raters : str
        ``expert``, ``skilled`` or ``crowd``; sets the default cost-benefit margin.
    rater_ids : str
        ``real``: an id is a person. ``positional``: it is only a position within the item.
    independent : bool or None
        Whether raters worked without seeing the judges' answers, and judges without the raters'.
        Your statement matters if the harness can't test whether a judge copies a rater: with fewer
        than three raters, or with raters without names.
    ignore_labels : tuple of str
        Foreign labels that are known to occur in the ratings; they are counted and left out.
    weights : tuple of tuple of float, or None
        Cost of each disagreement, for weighted kappa and alpha: a row and a column per option, in
        their order, and one more for CANNOT_ASSESS if abstaining has its own cost. 0 on the
        diagonal, symmetric.
    alt_test : AltTestFields or None
        Settings of the alternative annotator test that differ from the default: ``eps``,
        ``expert``, ``gold``, ``quality``, ``combine``.
    pairwise : PairwiseFields or None
        On a pairwise scale, which answer each option prefers. Judges then see both orders of the
        answers.
    rubric : RubricFields or None
        Criteria that every item is rated on, one unit each: an item is an output and a criterion,
        its group the output. On a binary scale with a positive option.
    lexicon : Lexicon or None
        Meaning of the word-list judge for this task, if it has one.
    verbalised : Wording or None
        The sentence that judges with ``@verbalised`` complete, with a word for each option.
    text : tuple of str
        Fields that judges see, in this order. A run leaves out items in which all of them are
        blank, unless they have an image; judges see a single blank field as empty.
    image : str or None
        Field of the items that names an image: a file in the task's folder, which judges receive
        after the text.
    reasons : str or None
        Field of the items with reasons for the raters' most common answer. Items that have it are
        the demonstrations of few-shot judges. Judges that give reasons themselves see it.
    prompts : dict of str to str
        By elicitation, the name of the task's own template: a file in its folder. Those for chain
        of thought end in ``_cot``.
    notice : str
        Text to print with results for the task.
    source, licence : str
        Origin and terms of use of the data.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    property: str = Field(min_length=1, max_length=MAX_PHRASE_CHARS)
    instructions: str = ""
    scale: Scale
    options: tuple[OptionField, ...] = Field((), max_length=MAX_OPTIONS)
    bounds: tuple[FiniteFloat, FiniteFloat] | None = None
    similarity: Annotated[str, Field(min_length=1)] | EmbeddingSimilarity | None = None
    positive: tuple[Key, ...] = ()
    response_sets: Literal["all"] | tuple[tuple[Key, ...], ...] = Field(
        "all", json_schema_extra=_admit_contiguous
    )
    abstain: bool = False
    tau: float = Field(0.5, gt=0, le=1)
    ranks_by: RanksBy = "forced_choice"
    sensitivity: dict[Key, tuple[Key, ...]] = Field(default_factory=_binary_sensitivity)
    raters: RaterKind = "crowd"
    rater_ids: RaterIds = "real"
    independent: bool | None = None
    ignore_labels: tuple[Key, ...] = ()
    weights: tuple[tuple[float, ...], ...] | None = None
    alt_test: AltTestFields | None = None
    pairwise: PairwiseFields | None = None
    rubric: RubricFields | None = None
    lexicon: Lexicon | None = None
    verbalised: Wording | None = None
    text: tuple[str, ...] = Field(("text",), min_length=1)
    image: str | None = Field(None, min_length=1)
    reasons: str | None = Field(None, min_length=1)
    prompts: dict[TemplateName, str] = Field(default_factory=dict)
    notice: str = Field("", max_length=MAX_PHRASE_CHARS)
    source: str = Field("", max_length=MAX_PHRASE_CHARS)
    licence: str = Field("", max_length=MAX_PHRASE_CHARS)

    @field_validator("response_sets", mode="before")
    @classmethod
    def _list_contiguous(cls, value: object, info: ValidationInfo) -> object:
        if value != CONTIGUOUS or "options" not in info.data:
            return value
        if info.data.get("scale") != "ordinal":
            raise PydanticCustomError(
                "scale", "this value needs an ordinal scale. List the sets instead"
            )
        return contiguous_sets([option.key for option in info.data["options"]])

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_fields(self)
        return self

    @cached_property
    def similarity_file(self) -> str | None:
        """Name of the file with text similarities, if the task has one."""
        return self.similarity if isinstance(self.similarity, str) else None

    @cached_property
    def embedding(self) -> str | None:
        """Alias of the embedding model, if the task compares texts by their vectors."""
        by = self.similarity
        return by.embedding if isinstance(by, EmbeddingSimilarity) else None

    @cached_property
    def is_open(self) -> bool:
        """Whether the scale is open: answers are numbers or texts instead of options."""
        return self.scale in OPEN_SCALES

    def require_options(self, what: str) -> None:
        """Raise `TaskError` if the task has no options. ``what`` is what needs options."""
        if self.is_open:
            raise TaskError(
                f"task {self.name}: {what} needs options to choose from, but a {self.scale} "
                "scale has no options."
            )

    def described(self) -> JsonObject:
        """Return the fields set in ``task.yaml``, as JSON values."""
        return self.model_dump(mode="json", include=set(TaskFields.model_fields), exclude_none=True)


class TaskFile(TaskFields):
    """`task.yaml`: the fields of a task, and the names of its tables.

    Attributes
    ----------
    items, groups, ratings : str or None
        Files inside the task's folder, by default ``items``, ``groups`` and ``ratings`` with
        one of the endings .jsonl, .csv and .parquet. Items and groups may be absent.
    datasets : DatasetFields or None
        A data set on the hub or a table with a different layout, and the roles of its columns, in
        place of these files. Judges then see its ``text`` columns, and raters of ``counts`` or
        ``votes`` are ``positional``, unless the task says otherwise.
    """

    items: str | None = Field(None, min_length=1)
    groups: str | None = Field(None, min_length=1)
    ratings: str | None = Field(None, min_length=1)
    datasets: DatasetFields | None = None

    @model_validator(mode="before")
    @classmethod
    def _set_defaults(cls, fields: object) -> object:
        if not isinstance(fields, dict):
            return fields
        source = fields.get("datasets")
        columns = source.get("columns") if isinstance(source, dict) else None
        if not isinstance(columns, dict):
            return fields
        text = columns.get("text")
        defaults = {"text": [text] if isinstance(text, str) else text} if text else {}
        if not columns.keys().isdisjoint(COUNTED):
            defaults["rater_ids"] = "positional"
        return defaults | fields

    @model_validator(mode="after")
    def _check_raters(self) -> Self:
        if self.datasets and self.datasets.is_counted and self.rater_ids == "real":
            raise ValueError(
                "rater_ids: the data set doesn't say who gave a rating. Leave out rater_ids"
            )
        return self


NESTED_FIELDS: dict[str, type[BaseModel]] = {
    "lexicon": Lexicon,
    "verbalised": Wording,
    "alt_test": AltTestFields,
    "pairwise": PairwiseFields,
    "rubric": RubricFields,
    "datasets": DatasetFields,
}


def task_schema() -> JsonObject:
    """Return the JSON schema of ``task.yaml``."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, **TaskFile.model_json_schema(), "title": "task.yaml"}


def read_task_file(path: Path) -> TaskFile:
    """Read and check ``task.yaml``.

    Every plain value is read as text. It becomes a number or a Boolean if the field requires that.
    An option called ``no`` stays ``no``.

    Raises
    ------
    TaskError
        If the file isn't strict YAML (see `read_yaml`) or doesn't describe a task.
    """
    if path.exists() and not path.is_file():
        raise TaskError(f"{path}: this isn't a regular file. Replace it with one.")
    content = read_yaml(path)
    try:
        return TaskFile.model_validate(content)
    except ValidationError as error:
        fault = fault_of(error)
        more = f" (more problems: {fault.n_more})" if fault.n_more else ""
        raise TaskError(f"{path}: {_one_line(fault)}{more}") from None


def _one_line(fault: Fault) -> str:
    where, message, kind = fault.place, fault.problem, fault.kind
    if kind == "value_error":
        return f"{where}.{message}." if where else f"{message}."
    if kind == "missing":
        return f"{where}: this field is missing. Add it."
    if kind == "extra_forbidden":
        first, _, rest = where.partition(".")
        model = NESTED_FIELDS.get(first, Option) if rest else TaskFile
        return (
            f"{where}: unknown field. Remove this field, or use one of "
            f"{', '.join(model.model_fields)}."
        )
    value = repr(fault.found)
    shown = value if len(value) <= SHOWN_CHARS else f"{value[:SHOWN_CHARS]}..."
    return f"{where}: found {shown}. {capitalised(message)}."


def _check_fields(task: TaskFields) -> None:
    """Check the constraints between fields. Each message begins with the field's name."""
    if task.reasons in task.text:
        raise ValueError(
            f"reasons: judges would see the field {task.reasons!r}. Remove this field from 'text'"
        )
    _check_bounds(task)
    if task.is_open:
        _check_open(task)
        return
    if len(task.options) < MIN_OPTIONS:
        found = task.options[0].key if task.options else "none"
        raise ValueError(
            f"options: found {found}, but the scale is {task.scale}. List at least two options"
        )
    keys = [option.key for option in task.options]
    _check_options(task.options)
    _check_scale(task.scale, keys)
    _check_keys("positive", task.positive, keys)
    if len(task.positive) == len(keys):
        raise ValueError(
            "positive: every option is positive. Remove the options that aren't positive"
        )
    _check_response_sets(task, keys)
    _check_sensitivity(task, keys)
    _check_rubric_scale(task)
    if task.weights is not None:
        _check_weights(task.weights, len(keys), abstain=task.abstain)
    if task.alt_test and task.rater_ids == "positional":
        raise ValueError(
            "alt_test: raters are positional, so raters can't be compared. Leave out alt_test"
        )
    if task.pairwise:
        _check_pairwise(task, task.pairwise, keys)
    _check_words(task, keys)
    if listed := [label for label in task.ignore_labels if label in keys]:
        raise ValueError(
            f"ignore_labels: {listed[0]!r} is also listed as an option. Remove the label "
            "from one of the two lists"
        )
    _check_repeats("text", task.text)


def _check_bounds(task: TaskFields) -> None:
    if task.similarity is not None and task.scale != "text":
        raise ValueError(
            f"similarity: the scale is {task.scale}, but similarity is for a text scale. "
            "Leave out similarity"
        )
    if task.bounds is None:
        return
    if task.scale != "continuous":
        raise ValueError(
            f"bounds: the scale is {task.scale}, but bounds are for a continuous scale. Leave "
            "out bounds"
        )
    low, high = task.bounds
    if low >= high:
        raise ValueError(f"bounds: found {low:g} to {high:g}. Write the lower number first")


def _check_open(task: TaskFields) -> None:
    """Reject fields that only make sense with options."""
    for name, without_options in OF_OPTIONS.items():
        if getattr(task, name) != without_options:
            raise ValueError(f"{name}: a {task.scale} scale has no options. Leave out this field")
    settings = task.alt_test
    if settings is not None and settings != AltTestFields(eps=settings.eps):
        raise ValueError(
            f"alt_test: on a {task.scale} scale, alt_test only accepts eps. Remove the other fields"
        )
    _check_repeats("text", task.text)


def _check_words(task: TaskFields, keys: Sequence[str]) -> None:
    if task.lexicon:
        _check_keys("lexicon", (task.lexicon.positive, task.lexicon.negative), keys)
    if task.verbalised:
        _check_wording(task.verbalised, task.text, keys)


def _check_wording(wording: Wording, text: Sequence[str], keys: Sequence[str]) -> None:
    names = FIELD_NAME.findall(wording.template)
    if sorted(names) != sorted(text):
        wanted = ", ".join(f"{{{{{name}}}}}" for name in text)
        raise ValueError(
            f"verbalised: the template must contain {wanted}, each exactly once, and no other field"
        )
    if set(wording.words) != set(keys):
        raise ValueError(f"verbalised: words: write a word for each option: {', '.join(keys)}")
    words = [word.casefold() for word in wording.words.values()]
    _check_repeats("verbalised: words", words, "Give each option its own word")
    if wrong := [word for word in words if not word.isalpha()]:
        raise ValueError(
            f"verbalised: words: found {wrong[0]!r}. Write a word that consists of letters"
        )
    _check_keys("verbalised: weights", tuple(wording.weights), keys)


def _check_options(options: Sequence[Option]) -> None:
    _check_repeats("options", [option.key for option in options], "Give each option its own key")
    _check_repeats(
        "options", [option.label for option in options], "Give each option its own label"
    )
    owner = {option.key.casefold(): option.key for option in options}
    for option in options:
        other = owner.get(option.label.casefold(), option.key)
        if other != option.key:
            raise ValueError(
                f"options: label {option.label!r} of option {option.key!r} is the key of option "
                f"{other!r}. Use a different label"
            )


def _check_rubric_scale(task: TaskFields) -> None:
    if task.rubric and (task.scale != "binary" or len(task.positive) != 1):
        raise ValueError(
            "rubric: a rubric needs a binary scale with one positive option, such as MET"
        )


def _check_scale(scale: Scale, keys: Sequence[str]) -> None:
    if scale == "binary" and len(keys) != 2:  # noqa: PLR2004 -- binary means two
        raise ValueError(f"options: found {len(keys)} options, but a binary scale has 2")
    numbers = numeric_keys(keys) if scale == "ordinal" else {}
    if numbers and len(numbers) < len(keys):
        raise ValueError("options: two keys are the same number. Give each option its own number")
    steps = list(numbers)
    if steps not in (sorted(steps), sorted(steps, reverse=True)):
        raise ValueError(f"options: {', '.join(keys)} are not in order. List them in order")


def numeric_keys(keys: Iterable[str]) -> dict[float, str]:
    """Map the number in each option key to the key. Empty if a key isn't a decimal number."""
    by_number: dict[float, str] = {}
    for key in keys:
        number = as_number(key)
        if number is None:
            return {}
        by_number[number] = key
    return by_number


def number_text(number: float) -> str:
    """Return the shortest text for a number that `as_number` reads back exactly.

    Examples
    --------
    >>> number_text(70.0), number_text(-0.5), number_text(1e-7)
    ('70', '-0.5', '0.0000001')
    """
    text = f"{Decimal(repr(float(number) + 0.0)):f}"
    return text.removesuffix(".0")


def as_number(text: str) -> float | None:
    """Read a plain decimal number such as ``4``, ``-1`` or ``2.50``.

    Return None for other texts.
    """
    digits = text.removeprefix("-").replace(".", "", 1)
    return float(text) if digits.isascii() and digits.isdecimal() else None


def _check_keys(field: str, names: Sequence[str], keys: Sequence[str]) -> None:
    if unknown := [name for name in names if name not in keys]:
        raise ValueError(
            f"{field}: {unknown[0]!r} is not an option. The option keys are {', '.join(keys)}"
        )
    _check_repeats(field, names)


def _check_repeats(field: str, names: Iterable[str], remedy: str = "Remove one of the two") -> None:
    folded: set[str] = set()
    for name in names:
        if name.casefold() in folded:
            raise ValueError(f"{field}: {name!r} is listed twice. {remedy} (case doesn't matter)")
        folded.add(name.casefold())


def _check_response_sets(task: TaskFields, keys: Sequence[str]) -> None:
    if task.response_sets != "all":
        _check_sets(task.response_sets, keys)
    elif task.ranks_by == "response_set" and len(keys) > MAX_POWERSET_OPTIONS:
        raise ValueError(
            f"ranks_by: with more than {MAX_POWERSET_OPTIONS} options, list the response_sets too"
        )


def _check_sets(response_sets: Sequence[Sequence[str]], keys: Sequence[str]) -> None:
    if len(response_sets) > MAX_RESPONSE_SETS:
        n_sets = len(response_sets)
        raise ValueError(
            f"response_sets: found {n_sets} sets. List at most {MAX_RESPONSE_SETS} sets"
        )
    unique: set[frozenset[str]] = set()
    for members in response_sets:
        if not members:
            raise ValueError("response_sets: a set is empty. List its options, or remove the set")
        _check_keys("response_sets", members, keys)
        if frozenset(members) in unique:
            raise ValueError(
                f"response_sets: {', '.join(members)} is listed twice. Remove one of the two"
            )
        unique.add(frozenset(members))
    if absent := [key for key in keys if not any(key in members for members in response_sets)]:
        raise ValueError(
            f"response_sets: option {absent[0]!r} isn't in any set. Add the option to a set"
        )


def contiguous_sets(keys: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return all sets of neighbouring options, ordered by size and then by option.

    Examples
    --------
    >>> contiguous_sets(["1", "2", "3"])
    (('1',), ('2',), ('3',), ('1', '2'), ('2', '3'), ('1', '2', '3'))
    """
    n = len(keys)
    return tuple(
        tuple(keys[start : start + size])
        for size in range(1, n + 1)
        for start in range(n - size + 1)
    )


def _check_pairwise(task: TaskFields, pairwise: PairwiseFields, keys: Sequence[str]) -> None:
    if task.scale != "pairwise":
        raise ValueError(
            f"pairwise: the scale is {task.scale}, but this field is for a pairwise scale. Leave "
            "out pairwise"
        )
    _check_keys("pairwise", (pairwise.first, pairwise.second), keys)
    _check_repeats("pairwise", pairwise.answers)
    if hidden := [name for name in pairwise.answers if name not in task.text]:
        raise ValueError(
            f"pairwise: {hidden[0]!r} is not among the fields under 'text'. Add this field"
        )
    listed = [] if task.response_sets == "all" else [set(members) for members in task.response_sets]
    for members in listed:
        if (swapped := set(map(pairwise.swapped_key, members))) not in listed:
            raise ValueError(
                f"response_sets: {', '.join(sorted(swapped))} is missing. "
                f"{', '.join(sorted(members))} becomes this set if the answers are swapped. Add "
                "the set"
            )


def _check_sensitivity(task: TaskFields, keys: Sequence[str]) -> None:
    for key, endorsed in task.sensitivity.items():
        _check_keys("sensitivity", (key,), keys)
        _check_keys("sensitivity", endorsed, keys)
        if key in task.positive:
            raise ValueError(f"sensitivity: {key!r} is positive. List only negative options")
        if not endorsed or key in endorsed:
            raise ValueError(
                f"sensitivity: list the options other than {key!r} that raters can accept "
                "along with it"
            )


def _check_weights(weights: Sequence[Sequence[float]], n: int, *, abstain: bool) -> None:
    sizes = (n, n + 1) if abstain else (n,)
    if len(weights) not in sizes or any(len(row) != len(weights) for row in weights):
        expected = " or ".join(f"{size} x {size}" for size in sizes)
        shape = f"{len(weights)} rows of {sorted({len(row) for row in weights})} numbers"
        raise ValueError(f"weights: found {shape}. Write {expected}, in the order of the options")
    cells = [(i, j) for i in range(len(weights)) for j in range(len(weights))]
    if not all(isfinite(weights[i][j]) and weights[i][j] >= 0 for i, j in cells):
        raise ValueError("weights: a cost is negative or not finite. Write numbers of 0 or more")
    if any(weights[i][i] for i in range(len(weights))):
        raise ValueError(
            "weights: the cost of an option against itself isn't 0. Write 0 on the diagonal"
        )
    if any(weights[i][j] != weights[j][i] for i, j in cells):
        raise ValueError(
            "weights: the matrix is not symmetric. Use the same cost for both orders of two options"
        )
    if not any(weights[i][j] for i, j in cells):
        raise ValueError(
            "weights: every cost is 0. Leave out weights, or set a cost for disagreements"
        )


def check_rubric(rubric: RubricFields, items: Sequence[Item]) -> None:
    """Check that every group of items contains each of a rubric's criteria once."""
    wanted = ", ".join(rubric.criteria)
    by_group: dict[str, list[str]] = {}
    for item in items:
        if item.group is None or item.criterion not in rubric.criteria:
            found = f"criterion {item.criterion!r}" if item.group else "no group"
            raise ValueError(
                f"rubric: item {item.id!r} has {found}. Add a group (the rated output) and one of "
                f"the criteria {wanted}"
            )
        by_group.setdefault(item.group, []).append(item.criterion)
    for group, criteria in by_group.items():
        if sorted(criteria) != sorted(rubric.criteria):
            raise ValueError(
                f"rubric: group {group!r} has the criteria {', '.join(criteria)}. A group needs "
                f"each of {wanted} exactly once"
            )


def check_alt_test(
    settings: AltTestFields, keys: Sequence[str], items: Sequence[Item], ratings: Sequence[Rating]
) -> None:
    """Check the settings of the alternative annotator test against items and ratings."""
    raters = dict.fromkeys(rating.rater for rating in ratings)
    combined = tuple(rater for members in settings.combine for rater in members)
    named = {
        "expert": () if settings.expert is None else (settings.expert,),
        "quality": tuple(settings.quality),
        "combine": combined,
    }
    for field, names in named.items():
        if unknown := [rater for rater in names if rater not in raters]:
            raise ValueError(
                f"alt_test.{field}: {unknown[0]!r} didn't rate any item. Write a rater's name"
            )
    if settings.quality and (missing := [r for r in raters if r not in settings.quality]):
        raise ValueError(
            f"alt_test.quality: {missing[0]!r} has no number. Write a number for every rater"
        )
    _check_combine(settings.combine, combined, ratings)
    if settings.gold is not None:
        _check_gold(settings.gold, keys, items)


def _check_combine(
    rater_sets: Sequence[Sequence[str]], combined: Sequence[str], ratings: Sequence[Rating]
) -> None:
    if not rater_sets:
        return
    repeated = len(set(combined)) < len(combined)
    if len(rater_sets) != N_COMBINED_SETS or not all(rater_sets) or repeated:
        raise ValueError(
            "alt_test.combine: write two sets of raters, with each rater in only one set"
        )
    rated = [{r.item for r in ratings if r.rater in members} for members in rater_sets]
    if overlap := set.intersection(*rated):
        raise ValueError(
            f"alt_test.combine: item {min(overlap)!r} was rated by both sets. Raters can only be "
            "combined if they rated different items"
        )


def _check_gold(field: str, keys: Sequence[str], items: Sequence[Item]) -> None:
    answers = {item.id: item.fields[field] for item in items if item.fields.get(field)}
    if not answers:
        raise ValueError(
            f"alt_test.gold: no item has a field {field!r}. Write the name of the field with the "
            "answers"
        )
    for item, answer in answers.items():
        if answer not in keys:
            raise ValueError(
                f"alt_test.gold: item {item!r} has {answer!r}, which is not an option. "
                f"The option keys are {', '.join(keys)}"
            )
