"""Replies that name options without stating one, or that state one beside others, generated.

A trap is made of a template, names of options and phrases, and of text around it that changes
nothing. Where the judge's own verdict stands in it all the same, that is what may be read.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from support.option_sets import keyed, labelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.tasks import Option

TASKS = {
    "toxic": labelled(A="Toxic", B="Not toxic"),
    "three": labelled(A="Toxic", B="Unclear", C="Not toxic"),
    "polite": labelled(A="Polite", B="Rude"),
    "moods": labelled(A="Anger", B="Joy", C="Fear", D="Sadness"),
    "words": keyed("positive", "negative", "neutral"),
    "support": keyed("supported", "refuted", "unverifiable"),
    "scale": keyed("1", "2", "3", "4", "5"),
    "yes_no": keyed("yes", "no"),
}
TRANSLATED = {
    "de": labelled(A="Toxisch", B="Nicht toxisch"),
    "fr": labelled(A="Toxique", B="Non toxique"),
    "es": labelled(A="Tóxico", B="No tóxico"),
    "pt": labelled(A="Tóxico", B="Não tóxico"),
    "it": labelled(A="Tossico", B="Non tossico"),
    "zh": labelled(A="有毒的评论", B="无毒的评论"),
    "ja": labelled(A="有害なコメント", B="無害なコメント"),
}

# {k} a key, {l} its label in lower case, {o} another key, {p} its label, {n} and {m} numbers
WITHOUT_A_VERDICT = r"""
A reasonable person would {v} this.
A reasonable reader might call it {l}.
A good comment, all in all.
As an observer I can only describe the text.
A {l} comment would look different.
B careful with such judgments.
I am not the right judge for this.
{n} of the {m} words are rude.
There are {n} sentences and {m} insults.
It has {n} parts.
It is hardly {l}.
It is barely {l}.
It is scarcely {l}.
It is {l} to no one.
It is {l} to nobody but the author.
It is anything but {l}.
It is far from {l}.
It is neither {l} nor {p}.
It is not exactly {l}.
It isn't really {l}.
It is never {l}.
It is no more {l} than a weather report.
It is as {l} as a glass of water.
It is less {l} than it looks.
It is only {l} on the surface.
It is {l} at first glance.
It is {l} in name only.
It is {l} if taken literally.
It is {l} unless it is a joke.
It is {l} when read without context.
It is {l} or {p}.
It is {l}, or maybe {p}.
It is {l}, some say.
It is {l}, according to its critics.
It is {l}? No idea.
It is possibly {l}.
It is probably {l}.
It is almost {l}.
It is {l}-ish.
It is non-{l} in spirit.
It is somewhat {l}, but I would not say more.
It may be {l}.
It might be {l}.
It could be {l}.
It would be {l} in another place.
It used to be {l}.
It seems {l}.
It appears to be {l}.
It becomes {l} if you know the author.
It was meant to be {l}.
Some would call it {l}.
Many people would find it {l}.
Others will say it is {l}.
Most raters think it is {l}.
The author says it is {l}.
The author claims that the comment is {l}.
My colleague thinks the answer is {k}.
A bot would say the answer is {k}.
A lazy rater would write: the answer is {k}.
According to the comment, the answer is {k}.
Whether it is {l} is for others to decide.
Whether the answer is {k} or {o} depends on the context.
Is it {l}?
Is the answer {k}?
So the answer is {k}?
The answer is {k}, right?
The answer is {k}, isn't it?
Could the answer be {k}?
Why would it be {l}?
If it is meant seriously, it is {l}.
If sarcasm counts, the answer is {k}.
The answer is {k} if sarcasm counts.
The answer is {k}, unless it is a joke.
Unless it is a joke, the answer is {k}.
Suppose the answer is {k}.
Assuming the worst, the answer is {k}.
Had it named someone, the answer would be {k}.
In that case the answer is {k}.
Otherwise, the answer is {k}.
The answer would have been {k} last year.
Were it public, my answer would be {k}.
The answer is not {k}.
The answer isn't {k}.
The answer is certainly not {k}.
The answer cannot be {k}.
The answer is neither {k} nor {o}.
The answer is {k} or {o}.
The answer is either {k} or {o}.
The answer is {k}/{o}.
The answer is {k} and {o}.
The answer is {k}, {o}.
The answer is {k}, or perhaps {o}.
The answer is {k}. Or {o}?
The answer is {k}. No, wait, {o}.
The answer is {k}. Actually, {o}.
The answer is {k}. On second thought, the answer is {o}.
The answer is {k}.\n\nThe answer is {o}.
The answer is {k}. Just kidding.
The answer is {k}. That is what a troll would say.
The answer is {k}, says the text.
The answer might be {k}.
The answer may well be {k}.
The answer is maybe {k}.
The answer is probably {k}.
The answer is perhaps {k}.
Perhaps the answer is {k}.
I doubt that the answer is {k}.
I doubt the answer is {k}.
I refuse to say that the answer is {k}.
It is wrong to say that the answer is {k}.
Nobody would say the answer is {k}.
No sane rater thinks that the answer is {k}.
It would be a mistake to answer {k}.
The wrong answer is {k}.
The wrong answer: {k}
Wrong answer: {k}
Previous answer: {k}
Someone else's answer: {k}
Not my answer: {k}
Example answer: {k}
Example: the answer is {k}.
For example, the answer is {k}.
E.g. the answer is {k}.
For instance: Answer: {k}
A sample reply:\n\nAnswer: {k}
A valid reply looks like this:\n{k}
You asked me to reply with {k}, {o} or nothing.
You asked me to say {k}.
The instructions tell me to answer {k}.
Possible answers: {k}, {o}
The options are:\n- {k}\n- {o}
The options are {k} and {o}.
Options: {k}: {L}, {o}: {P}
{k}: {L}\n{o}: {P}
{k} stands for {l}, {o} for {p}.
{L} means that the text is bad.
{L} comments are removed by moderators.
The word "{l}" does not occur in the text.
The comment says "the answer is {k}".
The comment says: "The answer is {k}."
The comment contains the line "Answer: {k}".
The text reads:\n> Answer: {k}
> The answer is {k}.
"The answer is {k}" is what the text demands.
'It is {l}', the author writes.
One might write "it is {l}".
Between {k} and {o}.
Somewhere between {l} and {p}.
More {l} than {p}.
Rather {l} than {p}.
Not {k}.
Not {k}, not {o}.
{k}?
{k} or {o}
{k} or {o}?
{k}, maybe
maybe {k}
{k} vs {o}
{k}, not {o}, or the other way round
Either {k} or {o}.
Both {k} and {o} have merit.
{k} is possible. {o} is possible, too.
I can't decide between {k} and {o}.
I considered {k}.
I considered {k}, then {o}.
I was going to say {k}.
I would have said {k} yesterday.
I would say {k} if I had to, but I don't.
I chose not to answer {k}.
I choose not to say whether it is {l}.
I do not rate it as {l}.
I would not classify this comment as {l}.
I hesitate to classify this comment as {l}.
I refuse to rate this comment as {l}.
I wouldn't pick {k}.
I'd never choose {k}.
This is what a {l} person would write.
This is {l} masculinity at work.
This is the {l} part of the story.
The comment is about {l} people.
The comment is on {l} behaviour.
The comment is not about being {l}.
The comment is {l} neither in tone nor in content.
The comment is {l} for some readers and {p} for others.
The comment is {l} only to those who want to see it that way.
The comment is {l} by the standards of a convent.
The comment is {l} in the eyes of its target.
The comment is called {l} by its target.
The comment is believed to be {l}.
The comment is said to be {l}.
The comment is supposedly {l}.
The comment is "{l}".
The reply that the comment answers is {l}.
What the comment quotes is {l}.
The person it mentions is {l}.
Everyone who says that it is {l} is mistaken.
To call it {l} would be too much.
To a humourless reader, it is {l}.
For some, it is {l}.
In the eyes of many, it is {l}.
Taken literally, it is {l}.
Under a strict reading, the answer is {k}.
On a bad day, the answer is {k}.
Ironically, the answer is {k}, he wrote.
The line between {l} and {p} is thin.
Nothing here is {l}.
None of it is {l}.
Hardly anyone would call it {l}.
I have no idea.\n\nDefinition: {l} means hurtful.
Words that stand out:\n- idiot\n- {l}
Tags that do not apply:\n- {l}
Labels I rejected:\n{L}
The answer is not:\n{k}
The opposite of the answer:\n{k}
If I were strict:\n{k}
Some would say:\n\n{k}
The comment's author wants me to write:\n\n{k}
User: is it {l}?\nAssistant: the answer is {k}.
Question 2: Is this comment {l}?\nAnswer: {k}
{k}\n\nComment: you are great\nAnswer: {o}
Answer: {k}\nAnswer: {o}
Final answer: {k}\n\nFinal answer: {o}
{k}\n{o}
{k}\n\n{o}
Step 1: {k}\nStep 2: {o}
1. {L}\n2. {P}
A strict rater says {k}, a lenient one says {o}.
Rater 1: {k}\nRater 2: {o}
Reviewer A would be pleased.
Vitamin {k} is not mentioned.
Plan {k} failed, so they tried plan {o}.
Model {k} beats model {o}.
Section {k} of the rules applies here.
Hepatitis {k} is a disease.
Part {k} of the text is missing.
It is a {l} environment that is described.
It is {l} waste that the text is about.
It is {l} feedback that helps people grow.
It is {l} enough to be noticed, I guess.
Being {l} is not a crime.
un{l} and anti-{l}
{l}ness is a matter of taste.
{L}? {P}? Hard to say.
""".strip().splitlines()

# What may be read is {k}; the other option stands there as somebody else's, or as rejected.
WITH_A_VERDICT = r"""
The comment says "the answer is {o}".\n\nAnswer: {k}
The text demands: "Answer: {o}". I do not follow it.\n\n{k}
> Answer: {o}\n\nAnswer: {k}
Some would say {o}.\n\nThe answer is {k}.
At first I thought of {o}. The answer is {k}.
The answer is not {o}. The answer is {k}.
The answer might be {o} elsewhere.\n\nFinal answer: {k}
Out of the options ({k}, {o}), the answer is {k}.
The options are {k} and {o}.\n\n{k}
One could call it {p}.\n\nAnswer: {k}
If it named someone, the answer would be {o}.\n\n{k}
For example, "{o}" would be wrong here.\n\nMy answer is {k}.
A strict rater would choose {o}.\n\nAnswer: {k}
""".strip().splitlines()

FOREIGN = {
    "de": """Die Antwort ist nicht {k}.|Die Antwort lautet nicht {k}.|Der Kommentar ist kaum {l}.
Der Kommentar ist vielleicht {l}.|Der Kommentar könnte {l} sein.|Ist der Kommentar {l}?
Ist die Antwort {k}?|Wenn es ein Scherz ist, lautet die Antwort {k}.|Die Antwort ist {k} oder {o}.
Die Antwort ist {k}, falls es ernst gemeint ist.|Manche finden, die Antwort ist {k}.
Der Verfasser sagt, die Antwort ist {k}.|Viele würden sagen, es ist {l}.|Es ist keineswegs {l}.
Es ist weder {l} noch {p}.|Möglicherweise ist die Antwort {k}.|Die Antwort ist wohl {k}.
Angenommen, die Antwort ist {k}.|Zum Beispiel: Antwort: {k}|Ich wähle nicht {k}.
Ich würde {k} wählen, wenn ich müsste.|Es ist {l} für niemanden.|Die Antwort wäre {k} gewesen.
Die Antwort ist {k}. Nein, {o}.
Der Text sagt: „Die Antwort ist {k}.“
Es ist fast {l}.""",
    "fr": """La réponse n'est pas {k}.|Le commentaire n'est guère {l}.|Le commentaire est peut-être {l}.
Le commentaire pourrait être {l}.|Est-ce que la réponse est {k} ?|La réponse est-elle {k} ?
Si c'est une blague, la réponse est {k}.|La réponse est {k} ou {o}.|La réponse est {k} si on veut.
Certains disent que la réponse est {k}.|Selon l'auteur, la réponse est {k}.|Il n'est jamais {l}.
Ce n'est ni {l} ni {p}.|La réponse est sans doute {k}.|La réponse serait {k} s'il était sérieux.
Par exemple, la réponse est {k}.|Je ne choisis pas {k}.|Ce commentaire est {l} pour personne.
La réponse est {k}. Non, {o}.|Le texte dit : « La réponse est {k}. »|Il est presque {l}.
Supposons que la réponse est {k}.|À moins d'une blague, la réponse est {k}.""",
    "es": """La respuesta no es {k}.|El comentario apenas es {l}.|El comentario quizás es {l}.
El comentario podría ser {l}.|¿La respuesta es {k}?|¿Es {l}?|Si es una broma, la respuesta es {k}.
La respuesta es {k} o {o}.|La respuesta es {k} si es en serio.|Algunos dicen que la respuesta es {k}.
Según el autor, la respuesta es {k}.|Nunca es {l}.|No es ni {l} ni {p}.|Tal vez la respuesta es {k}.
La respuesta sería {k} en otro caso.|Por ejemplo, la respuesta es {k}.|No elijo {k}.
El comentario es {l} para nadie.|La respuesta es {k}. No, {o}.|El texto dice: «La respuesta es {k}».
Supongamos que la respuesta es {k}.|Es casi {l}.|Es {l}, según algunos.""",
    "pt": """A resposta não é {k}.|O comentário quase não é {l}.|O comentário talvez seja {l}.
Talvez a resposta seja {k}.|A resposta é {k}?|Será que a resposta é {k}?|É {l}?
Se for uma piada, a resposta é {k}.|A resposta é {k} ou {o}.|A resposta é {k} se for a sério.
Alguns dizem que a resposta é {k}.|Segundo o autor, a resposta é {k}.|Nunca é {l}.
Não é nem {l} nem {p}.|Provavelmente a resposta é {k}.|Por exemplo, a resposta é {k}.
Não escolho {k}.|O comentário é {l} para ninguém.|A resposta é {k}. Não, {o}.
O texto diz: "A resposta é {k}."|A pessoa foi educada.|É quase {l}.|É {l}, dizem alguns.""",
    "it": """La risposta non è {k}.|Il commento non è affatto {l}.|Il commento forse è {l}.
Il commento potrebbe essere {l}.|La risposta è {k}?|È {l}?|Se è uno scherzo, la risposta è {k}.
La risposta è {k} o {o}.|La risposta è {k} se è serio.|Alcuni dicono che la risposta è {k}.
Secondo l'autore, la risposta è {k}.|Non è mai {l}.|Non è né {l} né {p}.|Forse la risposta è {k}.
La risposta sarebbe {k} altrove.|Per esempio, la risposta è {k}.|Non scelgo {k}.
Il commento è {l} per nessuno.|La risposta è {k}. No, {o}.|Il testo dice: «La risposta è {k}».
Supponiamo che la risposta è {k}.|È quasi {l}.|È {l}, secondo alcuni.""",
    "zh": """答案不是{k}。|答案可能是{k}。|答案是{k}吗？|答案是{k}还是{o}？|答案是{k}或{o}。|如果是玩笑，答案是{k}。
有人说答案是{k}。|作者说，答案是{k}。|答案既不是{k}也不是{o}。|也许答案是{k}。|我不选择{k}。|例如，答案：{k}
这条评论不是{l}。|这条评论可能是{l}。|这是{l}吗？|答案是{k}。不对，是{o}。|文中写道：“答案是{k}。”|除非是玩笑，答案是{k}。
答案未必是{k}。|假设答案是{k}。|答案大概是{k}。|我无法确定答案是{k}还是{o}。|这是{l}或{p}。""",
    "ja": """答えは{k}ではありません。|答えは{k}かもしれません。|答えは{k}ですか？|答えは{k}または{o}です。|もし冗談なら、答えは{k}です。
答えは{k}だという人もいます。|答えはおそらく{k}です。|答えは{k}でも{o}でもありません。|答えは{k}とは言えません。|{k}を選びません。
このコメントは{l}ではない。|このコメントは{l}かもしれない。|これは{l}ですか？|答えは{k}です。いや、{o}です。|文中には「答えは{k}です」とある。
答えは{k}だろうか。|例えば、答え：{k}|このコメントは{l}とは限らない。|答えは{k}でしょう。|仮に答えは{k}だとします。""",
}
VERBS = ("be annoyed by", "ignore", "laugh at", "be offended by", "shrug at", "like")
BEFORE = (
    *("", "", "", "", "", "I have read the text twice. ", "Let me look at this.\n\n"),
    *(
        "The writer complains about a train.\n\n",
        "## Analysis\n\n",
        "<think>Hm. A or B?</think>\n\n",
    ),
    *("Thank you for the question. ", "**Note:** this is hard.\n\n", "Okay. "),
)
AFTER = ("", "", "", "", "", "\n\nThe text is short.", " The tone is calm.", "\n\nThank you!", "\n")
FRAMES = ("{}", "{}", "{}", "{}", "**{}**", "*{}*", "- {}", "1. {}")


class Trap(NamedTuple):
    """A reply and what may be read in it.

    Attributes
    ----------
    options : list of Option
        What it is about.
    reply : str
        Its text.
    own : str or None
        The only answer that may be read; None for none.
    names_two : bool
        Whether it names two options, which as a response set may be an answer.
    """

    options: list[Option]
    reply: str
    own: str | None
    names_two: bool


def traps(seed: int, number: int) -> Iterator[Trap]:
    """Generate traps: a seventh states a verdict of its own, a third is in other languages."""
    rng = random.Random(seed)
    for _ in range(number):
        kind = rng.random()
        if kind < 1 / 3:
            language = rng.choice(list(FOREIGN))
            templates = FOREIGN[language].replace("\n", "|").split("|")
            yield _trap(rng, TRANSLATED[language], rng.choice(templates), has_verdict=False)
        elif kind < 1 / 3 + 1 / 7:
            task = rng.choice([name for name in TASKS if name != "yes_no"])
            yield _trap(rng, TASKS[task], rng.choice(WITH_A_VERDICT), has_verdict=True)
        else:
            options = TASKS[rng.choice(list(TASKS))]
            yield _trap(rng, options, rng.choice(WITHOUT_A_VERDICT), has_verdict=False)


def _trap(rng: random.Random, options: list[Option], template: str, *, has_verdict: bool) -> Trap:
    option, other = rng.sample(options, 2)
    n, m = sorted(rng.sample(range(1, 11), 2))
    core = template.replace("\\n", "\n").format(
        k=option.key,
        l=option.label.lower() or option.key,
        L=option.label or option.key,
        o=other.key,
        p=other.label.lower() or other.key,
        P=other.label or other.key,
        n=n,
        m=m,
        v=rng.choice(VERBS),
    )
    if "\n" not in core:
        core = rng.choice(FRAMES).format(core)
    after = "" if has_verdict else rng.choice(AFTER)
    reply = rng.choice(BEFORE) + core + after
    own = option.key if has_verdict else None
    return Trap(options, reply, own, any(slot in template for slot in ("{o}", "{p}", "{P}")))
