"""Any table of ratings and verdicts, constant and empty ones included, for laws of validations."""

from __future__ import annotations

from hypothesis import strategies as st
from support.verdicts import verdict_from

from harness.analysis import JudgeFacts, Settings, Source
from harness.analysis.inputs import metric_definitions
from harness.tasks import CANNOT_ASSESS, Item, Option, Rating, Task

OPTIONS = {"binary": "AB", "nominal": "ABC", "ordinal": "1234"}
NUMBERS = ("0", "1", "2.5", "100000000", "100000001")
N_ITEMS = (1, 2, 3, 6, 12, 30)
HABITS = ("right", "wrong", "constant", "silent", "any")
RATER_HABITS = ("right", "right", "wrong", "constant", "any")


@st.composite
def any_sources(draw):
    """Make a source of any scale, elicitation, number of raters, abstention and metric."""
    scale = draw(st.sampled_from([*OPTIONS, "continuous"]))
    n_numbers = draw(st.integers(1, len(NUMBERS)))
    values = tuple(OPTIONS.get(scale, NUMBERS[:n_numbers]))
    forms = ("forced_choice",)
    if scale in OPTIONS:
        both = ("forced_choice", "response_set")
        forms = draw(st.sampled_from([forms, both, both[1:]]))
    n, rng = draw(st.sampled_from(N_ITEMS)), draw(st.randoms(use_true_random=False))
    truth = [rng.choice(values) for _ in range(n)]
    abstains, n_raters = draw(st.booleans()), draw(st.integers(1, 5))

    def answers(habit, *, may_abstain):
        other = {value: values[i - 1] for i, value in enumerate(values)}
        unsure = (*values, *([CANNOT_ASSESS] if may_abstain else []), None)
        return {
            "right": lambda: list(truth),
            "wrong": lambda: [other[value] for value in truth],
            "constant": lambda: [values[0]] * n,
            "silent": lambda: [None] * n,
            "any": lambda: [rng.choice(unsure) for _ in truth],
        }[habit]()

    def in_form(value, form):
        if form == "forced_choice" or value in {None, CANNOT_ASSESS}:
            return value
        return tuple(option for option in values if option == value or rng.random() < 0.2)

    ratings = [
        Rating(f"i{i}", f"r{r}", form, in_form(value, form))
        for r, habit in enumerate(draw(st.tuples(*[st.sampled_from(RATER_HABITS)] * n_raters)))
        for i, value in enumerate(answers(habit, may_abstain=abstains))
        for form in forms
        if value is not None
    ]
    judges = draw(st.lists(st.sampled_from(HABITS), max_size=3))
    verdicts = {
        f"z{z}": [
            _verdict(f"z{z}", i, sample, form, in_form(value, form))
            for sample in range(draw(st.integers(1, 2)))
            for i, value in enumerate(answers(habit, may_abstain=True))
            for form in forms
        ]
        for z, habit in enumerate(judges)
    }
    described = {"bounds": draw(st.sampled_from([None, (0.0, 2e8)]))}
    if scale in OPTIONS:
        has_positive = scale == "binary" or draw(st.booleans())
        options = [Option(key=key) for key in values]
        described = {"options": options, "positive": values[:1] if has_positive else ()}
    task = Task(
        name="any",
        property="toxic",
        scale=scale,
        abstain=abstains,
        ranks_by="response_set" if "response_set" in forms else "forced_choice",
        items=tuple(Item(f"i{i}", {"text": "words"}) for i in range(n)),
        ratings=tuple(ratings),
        **described,
    )
    metrics = metric_definitions(scale, values if scale in OPTIONS else (), task.positive)
    return Source(
        task=task,
        items=task.items,
        judges=tuple(JudgeFacts(name=name) for name in verdicts),
        verdicts=verdicts,
        planned={name: dict.fromkeys(forms, len(verdicts[name])) for name in verdicts},
        settings=Settings(
            metric=draw(st.sampled_from([None, *metrics])),
            n_resamples=draw(st.sampled_from([0, 40])),
        ),
    )


def _verdict(judge, i, sample, form, value):
    outcome = {None: "invalid", CANNOT_ASSESS: "abstained"}.get(value, "answered")
    return verdict_from(
        item=f"i{i}",
        judge=judge,
        elicitation=form,
        outcome=outcome,
        sample=sample,
        value=value if outcome == "answered" else None,
    )
