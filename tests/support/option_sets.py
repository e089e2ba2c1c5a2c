"""Option sets for tests of the parser, by name."""

from __future__ import annotations

from harness.tasks import Option

# Labels of the WAX data set of word associations: keys that are words, with dashes inside.
WAX = [
    *("HasProperty", "PartOf", "Material-MadeOf", "Emotion-Evaluation", "Time", "Location"),
    *("Function", "Has-Prerequisite", "Result-In", "Action", "Thematic"),
    *("Category-Exemplar-Pairs", "Members-of-the-same-Category", "Synonym", "Antonym"),
    *("Common-Phrase", "None-of-the-above"),
]


def labelled(**labels: str) -> list[Option]:
    return [Option(key=key, label=label) for key, label in labels.items()]


def keyed(*keys: str) -> list[Option]:
    return [Option(key=key) for key in keys]


OPTIONS = {
    "binary": [
        Option(key="A", label="Toxic", description="rude, hurtful or insulting"),
        Option(key="B", label="Not toxic", description="nobody is insulted by it"),
    ],
    "three": labelled(A="Toxic", B="Unclear", C="Not toxic"),
    "scale": keyed("1", "2", "3", "4", "5"),
    "ten": keyed(*(str(number) for number in range(1, 11))),
    "yes_no": keyed("yes", "no"),
    "pairwise": keyed("model_a", "model_b", "tie"),
    "wax": keyed(*WAX),
    "grades": keyed("A+", "A", "B+", "B"),
    "nested": labelled(A="Toxic", B="Toxic and rude", C="Rude, but not toxic"),
    "joined": labelled(A="Toxic", B="Rude", C="Toxic and rude"),
    "polite": labelled(A="Polite", B="Rude"),
    "quality": labelled(A="Acceptable", B="Not good enough"),
    "signed": keyed("-1", "0", "1"),
    "swapped": labelled(A="Yes", B="No", C="As expected"),
}
