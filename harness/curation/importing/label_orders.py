"""Words of ordered scales, from low to high, in several languages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.tasks.columns.column_words import plain
from harness.tasks.options import key_ranks, keyed_labels

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

MAX_STEPS = 20
STEP = re.compile(r"(?P<step>\d+)\s*(?:[-\u2013:.=)]|\()\s*\D.*", re.DOTALL)
OF_STEPS = re.compile(r"(?P<step>\d+)(?:\s*(?:/|of|out of|von|sur|de)\s*\d+|\s+\D+).*", re.DOTALL)
SIGNS = re.compile("(?P<signs>\\*+|\u2605+|\u2b50+)\u2606*")


def plain_label(name: str) -> str:
    """Return a label in lower case, without accents and with plain spaces.

    Examples
    --------
    >>> plain_label("Très_bon"), plain_label("Neither agree nor  disagree")
    ('tres bon', 'neither agree nor disagree')
    """
    return " ".join(plain(name).replace("_", " ").replace("-", " ").replace("\u2019", "'").split())


def known_order(names: Collection[str]) -> Sequence[str] | None:
    """Return the list of ordered words that has all of some labels; None if there is none."""
    plain_labels = {plain_label(name) for name in names} if len(names) <= MAX_STEPS else {""}
    return next((order for order in ORDERS if plain_labels <= set(order)), None)


def step_numbers_of(names: Collection[str]) -> dict[str, int]:
    """Return the number of each label such as ``1 - poor``, ``3/5``, ``2 stars`` or ``**``.

    Nothing where a label has none, or two have the same.

    Examples
    --------
    >>> step_numbers_of(["★★☆", "★☆☆"]), step_numbers_of(["1/5", "poor"])
    ({'★★☆': 2, '★☆☆': 1}, {})
    """
    if keyed := keyed_labels(names):
        ranks = key_ranks(keyed)
        return ranks if all(part.key.lstrip("-").isdecimal() for part in keyed.values()) else {}
    for form in (STEP, OF_STEPS, SIGNS):
        matches = {name: form.fullmatch(name) for name in names}
        numbers = {
            name: len(match["signs"]) if form is SIGNS else int(match["step"])
            for name, match in matches.items()
            if match
        }
        if len(set(numbers.values())) == len(names):
            return numbers
    return {}


def _order(words: str) -> tuple[str, ...]:
    return tuple(plain_label(word) for word in words.split("|"))


WORDS = """
very low|low|medium|moderate|high|very high

none|low|moderate|high

none|mild|moderate|severe

none|minor|moderate|major|critical

no|maybe|yes

no|partially|yes

no|partly|yes

not relevant|somewhat relevant|relevant|highly relevant

never|rarely|sometimes|often|usually|always

strongly disagree|disagree|somewhat disagree|slightly disagree|
neither agree nor disagree|neutral|undecided|slightly agree|somewhat agree|agree|
strongly agree

very dissatisfied|dissatisfied|somewhat dissatisfied|neutral|somewhat satisfied|
satisfied|very satisfied

very unlikely|unlikely|neutral|likely|very likely

terrible|very poor|poor|fair|average|acceptable|good|very good|great|excellent

very bad|bad|average|okay|ok|good|very good

not at all|slightly|a little|somewhat|moderately|very|very much|extremely

very negative|negative|neutral|positive|very positive

much worse|worse|slightly worse|about the same|same|slightly better|better|much better

small|medium|large

stimme überhaupt nicht zu|stimme gar nicht zu|stimme nicht zu|stimme eher nicht zu|
lehne ab|neutral|teils/teils|teils teils|weder noch|unentschieden|stimme eher zu|
stimme zu|stimme voll zu|stimme voll und ganz zu|stimme völlig zu

trifft gar nicht zu|trifft überhaupt nicht zu|trifft nicht zu|trifft eher nicht zu|
teils/teils|teils teils|trifft teilweise zu|neutral|trifft eher zu|trifft zu|trifft voll zu|
trifft voll und ganz zu

sehr schlecht|schlecht|mittelmäßig|mittel|okay|in ordnung|gut|sehr gut|ausgezeichnet

ungenügend|mangelhaft|ausreichend|befriedigend|gut|sehr gut

nie|selten|manchmal|gelegentlich|oft|häufig|meistens|immer

sehr niedrig|niedrig|gering|mittel|hoch|sehr hoch

sehr unzufrieden|unzufrieden|eher unzufrieden|neutral|eher zufrieden|zufrieden|
sehr zufrieden

sehr negativ|negativ|neutral|positiv|sehr positiv

pas du tout d'accord|pas d'accord|plutôt pas d'accord|ni d'accord ni pas d'accord|
neutre|sans opinion|plutôt d'accord|d'accord|tout à fait d'accord

très mauvais|mauvais|médiocre|passable|moyen|correct|bon|assez bon|très bon|excellent

jamais|rarement|parfois|quelquefois|souvent|toujours

très faible|faible|moyen|moyenne|élevé|fort|très élevé|très fort

très insatisfait|insatisfait|plutôt insatisfait|neutre|plutôt satisfait|satisfait|
très satisfait

très négatif|négatif|neutre|positif|très positif

totalmente en desacuerdo|muy en desacuerdo|en desacuerdo|algo en desacuerdo|
ni de acuerdo ni en desacuerdo|neutral|indiferente|algo de acuerdo|de acuerdo|
muy de acuerdo|totalmente de acuerdo

muy malo|malo|regular|aceptable|bueno|muy bueno|excelente

nunca|rara vez|raramente|a veces|algunas veces|a menudo|frecuentemente|siempre

muy bajo|bajo|medio|alto|muy alto

muy insatisfecho|insatisfecho|neutral|satisfecho|muy satisfecho

muy negativo|negativo|neutral|neutro|positivo|muy positivo

discordo totalmente|discordo muito|discordo|discordo parcialmente|neutro|
não concordo nem discordo|nem concordo nem discordo|indiferente|concordo parcialmente|
concordo|concordo muito|concordo totalmente

péssimo|muito ruim|ruim|regular|razoável|bom|muito bom|ótimo|excelente

nunca|raramente|às vezes|frequentemente|sempre

muito baixo|baixo|médio|alto|muito alto

muito insatisfeito|insatisfeito|neutro|satisfeito|muito satisfeito

per niente d'accordo|fortemente in disaccordo|totalmente in disaccordo|
poco d'accordo|in disaccordo|neutrale|
né d'accordo né in disaccordo|indifferente|abbastanza d'accordo|d'accordo|
molto d'accordo|totalmente d'accordo|fortemente d'accordo

pessimo|molto scarso|scarso|sufficiente|discreto|buono|molto buono|ottimo|eccellente

mai|raramente|a volte|qualche volta|spesso|sempre

molto basso|basso|medio|alto|molto alto

helemaal mee oneens|zeer mee oneens|oneens|mee oneens|neutraal|eens|mee eens|
zeer mee eens|helemaal mee eens

zeer slecht|slecht|matig|redelijk|voldoende|goed|zeer goed|uitstekend

nooit|zelden|soms|vaak|altijd

非常不同意|强烈不同意|完全不同意|不同意|不太同意|有点不同意|一般|中立|不确定|有点同意|比较同意|同意|非常同意|强烈同意|完全同意

非常差|很差|差|较差|一般|中等|较好|好|很好|非常好|优秀

非常不满意|很不满意|不满意|一般|满意|很满意|非常满意

从不|很少|偶尔|有时|经常|总是

非常低|很低|低|中|中等|高|很高|非常高

全くそう思わない|まったくそう思わない|そう思わない|あまりそう思わない|どちらともいえない|ややそう思う|そう思う|強くそう思う|とてもそう思う

非常に悪い|悪い|普通|良い|非常に良い
"""  # an order per paragraph
ORDERS = tuple(_order(block.replace("\n", "")) for block in WORDS.strip().split("\n\n"))
