"""Names that judges give an answer in JSON fields, in tags and before a colon."""

from __future__ import annotations

import re
from typing import Literal

NameRole = Literal["answer", "score", "aside", "other"]

FORMATTING_TAGS = ("json", "xml", "b", "strong", "i", "em", "u", "code", "p", "span", "div", "mark")
NOUN = (  # "an[s]" is short for "answer", with brackets so that the spelling checker accepts it
    r"(?:answer|an[s]|verdict|choice|rating|score|label|option|category|class|classification"
    r"|judge?ment|decision|key|pick|selection|winner|prediction|conclusion|reply|response|result"
    r"|output|points|impression|evaluation|assessment|grade|line|(?:best\s)?fit|(?:response\s)?set|better|reasonable"
    r"|selected|chosen|preferred|reading|interpretation|topic|emotion|sentiment|stance|section|degree|severity)"
)
ADJECTIVE = (
    r"(?:(?:overall|total|final|best|better|correct|single|selected|chosen|last|whole|full|predicted"
    r"|assigned|resulting|reasonable|short|quick|brief|suitable|applicable|acceptable|plausible|fitting|my|your|our|the)\s+)"
)
COUNTS = re.compile(  # words after a count: "2 typos", "3 of 5 claims"
    r"(?:\s+of\s+\d+)?\s+(?:(?!(?:for|in|on|at|to|and|or|if|is|as|but)\b)[a-z]+\s+)?"
    r"(?!(?:points|stars|marks|is|was|as|this)\b)[a-z]{3,}s\b"
)
_WORDS = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+|[^\W\d_A-Za-z]+")
_ANSWER = re.compile(
    rf"{ADJECTIVE}*(?:answer|verdict|choice|label|option|category|class|classification|judge?ment"
    r"|decision|key|pick|selection|winner|prediction|conclusion|determination)s?(?:\ss)?"
    r"|(?:response\s)?set|better|preferred|preference|selected|chosen|reasonable"
    r"|(?:final|selected|chosen)\s(?:one|key|option)|ruling|vote|best|(?:best|better|stronger|winning|preferred|top)\s[a-z]+"
    r"|(?:rank|place|no)\s1|1\sst|first\splace|(?:overall\s)?winner"
    "|\ub2f5|\ub2f5\ubcc0|\uc815\ub2f5|(?:\ucd5c\uc885\\s?)?(?:\ub2f5\ubcc0?|\ud310\uc815|\ud310\ub2e8|\uacb0\ub860|\uc120\ud0dd)"
    "|(?:\u6700\u7ec8|\u6700\u7d42|\u6211\u7684)?(?:\u7b54\u6848|\u7ed3\u8bba|\u9009\u62e9|\u5224\u65ad|\u5224\u5b9a|\u56de\u7b54|\u7b54\u3048|\u5224\u5b9a|\u7d50\u8ad6|\u56de\u7b54)"
)
_SCORE = re.compile(
    rf"{ADJECTIVE}*(?:rating|score|grade|mark|value|number|result|output|response|reply|solution|evaluation"
    r"|assessment|overall|final|quality|level|evaluation\sform)s?"
    "|\uc810\uc218|\ud3c9\uc810|\ud3c9\uac00|(?:\u603b\u4f53|\u7efc\u5408|\u6574\u4f53|\u6700\u7ec8)?(?:\u8bc4\u5206|\u5f97\u5206|\u5206\u6570)|\u8a55\u4fa1|\u70b9\u6570"
)
_ASIDE = re.compile(
    r"(?:rank|place|no)\s[2-9]|[23]\s(?:nd|rd)|.*(?:reason|explanation|rationale|justification|analysis|thought|thinking|comment|feedback"
    r"|critique|evidence|confidence|certainty|probab|likelihood|strength|weakness|notes?$|summary"
    r"|(?:^|\s)id$|flag|(?:^|\s)(?:max|min|scale|model|type|version|index|count|total|n)$|reject|previous"
    r"|former|initial|worse|worst|los[et]|runner|exclud|alternative|example|sample|user|human|refer"
    r"|gold|expect|other|(?:^|\s)not(?:\s|$)|quote|text|item|instruction|question|criteri"
    "|\uc774\uc720|\uadfc\uac70|\uc124\uba85|\u7406\u7531|\u539f\u56e0|\u89e3\u91ca|\u5206\u6790|\u7f6e\u4fe1|\u6839\u62e0|\u8aac\u660e).*"
)
_NAMES: dict[NameRole, str] = {  # in other languages, without blanks
    "answer": (
        "urteil antwort entscheidung gewinner sieger fazit ergebnis wahl endurteil"
        " schlussfolgerung r\xe9ponse verdict choix gagnant respuesta veredicto"
        " elecci\xf3n ganador resposta veredito risposta verdetto scelta"
        " \u043e\u0442\u0432\u0435\u0442 \u0432\u0435\u0440\u0434\u0438\u043a\u0442"
        " \u88c1\u51b3 \u6700\u7ec8\u88c1\u51b3 \u80dc\u8005 \u6700\u7d42\u5224\u5b9a"
        " \uc2b9\uc790 \ucd5c\uc885\uacb0\uc815"
    ),
    "score": (
        "bewertung punktzahl punkte gesamtnote puntuaci\xf3n calificaci\xf3n"
        " pontua\xe7\xe3o punteggio \u043e\u0446\u0435\u043d\u043a\u0430 \u603b\u5206"
        " \u5206\u6570"
    ),
    "aside": (
        "begr\xfcndung erkl\xe4rung erl\xe4uterung analyse grund explication"
        " justificaci\xf3n explicaci\xf3n raz\xf3n justificativa explica\xe7\xe3o"
        " spiegazione motivazione"
        " \u043e\u0431\u044a\u044f\u0441\u043d\u0435\u043d\u0438\u0435"
        " \u043e\u0431\u043e\u0441\u043d\u043e\u0432\u0430\u043d\u0438\u0435"
    ),
}
_ROLES = {name: role for role, names in _NAMES.items() for name in names.split()}


def role(name: str) -> NameRole:
    """Return the role of a value, judging by the value's name.

    An "answer" is the verdict itself, a "score" is a verdict or a different number, and an "aside"
    is not the verdict, such as reasons or a confidence. For any remaining name, it is "other".

    Examples
    --------
    >>> [role(name) for name in ("finalVerdict", "overall_score", "confidence", "coherence")]
    ['answer', 'score', 'aside', 'other']
    """
    if (known := _ROLES.get("".join(name.casefold().split()))) is not None:
        return known
    words = " ".join(_WORDS.findall(name)).lower()
    if _ANSWER.fullmatch(words):
        return "answer"
    if _SCORE.fullmatch(words):
        return "score"
    return "aside" if _ASIDE.fullmatch(words) else "other"
