"""Glossary of the terms on pages and in the docs, with their names in the papers."""

from __future__ import annotations

from dataclasses import dataclass

from harness.stats.data.forms import COMPARED_FORMS, FORMS
from harness.stats.metrics.registry import METRICS

GUERDAN, CALDERON = "Guerdan et al. 2025", "Calderon et al. 2025"
ELANGOVAN, RAO = "Elangovan et al. 2025", "Rao and Callison-Burch 2026"
MSE = (
    "mean squared difference between the share of raters who accept an option and the share of the "
    "judge's replies that do, summed over options. 0 means no difference"
)
KIND_OF = {metric.name: metric.kind for metric in METRICS}
MEANINGS = "; ".join(f"{form}: {FORMS[form].meaning}" for form in COMPARED_FORMS)
PAPER_SYMBOLS = {  # symbols by the kind of a metric or coefficient
    "hit_rate": "HR; Acc in Calderon et al.",
    "cohen_kappa": "kappa",
    "krippendorff_alpha_nominal": "alpha",
    "krippendorff_alpha_ordinal": "alpha",
    "krippendorff_alpha_interval": "alpha",
    "fleiss_kappa": "kappa",
    "kl": "KL",
    "ce": "CE",
    "js_divergence": "JSD",
    "js_distance": "square root of JSD",
    "mse": "MSE",
    "bce": "BCE",
    "coverage": "Coverage",
    "decision_consistency": "C^tau",
    "prevalence_bias": "B^tau",
    "majority_share": "PA, % Agreement",
    "two_rater_agreement": "PA, % Agreement",
    "advantage": "rho",
    "share_agreeing": "omega of one rater, without margin",
}


@dataclass(frozen=True, slots=True)
class Term:
    """Entry in the glossary.

    Attributes
    ----------
    slug : str
        Its id on the page, after "term-".
    name, meaning : str
        Name and meaning, as printed.
    words : tuple of str
        Words on the page that link to it.
    papers : str
        Its symbol and the paper; "" if the papers have none.
    """

    slug: str
    name: str
    meaning: str
    words: tuple[str, ...] = ()
    papers: str = ""


def paper_symbol(name: str) -> str:
    """Return the papers' symbol for a metric such as ``mse(srs/srs)``, or "" without one."""
    kind = KIND_OF.get(name, name)
    symbol = PAPER_SYMBOLS.get(kind, "")
    return f"{symbol} {name.removeprefix(kind)}".rstrip() if symbol else ""


GLOSSARY = (
    Term("item", "item, rater, judge",
         "item: what is rated. Rater: a person who rates. Judge: a model that rates instead of a "
         "person", papers=f"T, H, J or z ({GUERDAN}); x, h, f ({CALDERON})"),
    Term("choice", "forced choice, choice shares",
         "forced choice: the one option that a rater had to choose. Choice shares: how often "
         "each option is chosen on an item", ("forced choices",), f"O ({GUERDAN})"),
    Term("set", "response set", "all options that a rater finds reasonable, not only the one "
         "chosen", ("response sets", "response set"),
         f"S; theta is how often each set is given on an item ({GUERDAN})"),
    Term("shares", "response set shares", "share of the raters whose response set contains an "
        "option. An item's shares don't have to add up to 1",
         papers=f"Omega, multi-label vector ({GUERDAN})"),
    Term("translation", "F-hat, translation matrix",
         "the probability of each choice, given the response set. The reverse matrix has the "
         "probability of each set, given the choice", papers=f"F and F' ({GUERDAN})"),
    Term("beta", "beta", "share of the raters who chose a negative option and would accept a "
         "positive one", ("beta-hat", "beta"), f"beta, sensitivity ({GUERDAN})"),
    Term("error", "rater error", "how often a rater's response set differs from the one they'd "
        "give on reflection",
         papers=f"E, error matrix ({GUERDAN})"),
    Term("selection", "forced-choice selection",
         "how strongly raters who find several options reasonable prefer one of them. 1 means "
         "that they choose at random", papers=f"Gamma ({GUERDAN}, section 6)"),
    Term("cut-off", "tau, cut-off", "an item is positive if at least this share of raters "
        "accepts a positive option", ("cut-off",), f"tau ({GUERDAN})"),
    Term("mse", "disagreement with raters (mse)", MSE, ("disagreement",), f"MSE ({GUERDAN})"),
    Term("js", "difference in answer shares (JS divergence)", "how far apart the judge's and the "
        "raters' shares are, in bits, from 0 (the same) to 1 (disjoint). Its square root is the "
        "distance",
         papers=f"JSD ({GUERDAN}, {ELANGOVAN})"),
    Term("kl", "information lost (KL)",
         "information lost, in nats, if one side's answers are used instead of the other's. The "
         "name shows the direction", papers=f"KL ({GUERDAN})"),
    Term("forms", "forms in brackets, judge/human", f"{MEANINGS}; as in mse(srs/srs)",
         papers=f"h, s, hrs, srs, human first ({GUERDAN}, table 1)"),
    Term("alike", "same decision, same answer",
         "share of the items on which judge and raters make the same decision at the cut-off. If "
         "decisions are undefined, the share on which the judge gives the raters' most common "
         "answer", ("same decision", "same answer"), f"C^tau, decision consistency ({GUERDAN})"),
    Term("regret", "regret",
         "how much worse the judge selected by a metric is than the best judge, as measured by the "
         "goal", ("regret",), f"regret ({GUERDAN})"),
    Term("annotator-test", "alternative annotator test", "whether the judge is as close to the "
         "other raters as each single rater is, up to the margin eps", ("annotator test",),
         f"alt-test ({CALDERON})"),
    Term("winning", "winning rate", "share of the raters whom the judge beats in the published "
         "test", papers=f"omega ({CALDERON})"),
    Term("advantage", "advantage probability",
         "how often the judge is at least as close to the other raters as the rater it replaces, "
         "averaged over raters", papers=f"rho ({CALDERON}, section 3.4: it compares judges)"),
    Term("margin", "margin", "the smallest difference that matters. A judge within it counts as "
        "not worse than a human", ("margin",), f"epsilon ({CALDERON})"),
    Term("among", "among raters, among the judge's samples", "agreement among the "
         "raters, among the judge's samples, and between the raters and the judge",
         papers=f"HH, MM, HM ({ELANGOVAN})"),
    Term("change", "change (table of strata)",
         "agreement between raters and the judge, minus agreement among raters, on the items that "
         "the judge answered", papers=f"Delta ({ELANGOVAN})"),
    Term("one-human", "human rater", "each rater, left out in turn and scored against the others "
        "on the same ratings as the judge", ("human rater", "another rater")),
    Term("baseline", "baseline", "a fixed rule without a judge. A random guess picks each option "
        "equally often, and a proportional guess as often as the raters. The others always give "
        "the raters' most common answer, the answer that scores best, or the mean or median "
         "rating", ("baselines", "baseline")),
    Term("answered", "items answered", "share of the items with enough usable replies for the "
        "comparison. It decides which judges are ranked", ("items answered",),
         f"coverage of abstention ({RAO})"),
    Term("usable", "answer rate", "answers per planned reply. Abstained, refused, invalid, "
        "failed and unsent replies aren't answers", ("answer rate",)),
    Term("flips", "flip rate", "share of a judge's verdicts that change if the text of an item "
        "contains instructions, as a judge's check counts them", ("flip rate",)),
    Term("alpha", "alpha, kappa", "agreement beyond chance: 1 is perfect, 0 is chance",
         ("alpha", "kappa"), f"alpha, kappa ({RAO})"),
    Term("interval", "interval in brackets",
         "95 % of intervals computed this way contain the value that you would get with any number "
         "of such items (or items and raters)", ("interval", "intervals")),
    Term("rank", "rank 1 to 2",
         "the ranks that can't be ruled out for this judge at 95 % confidence", ("rank",)),
    Term("na", "NA", "not defined on these data. The reason is shown next to the NA", ("NA",)),
)  # fmt: skip
