"""Words in column names that suggest a role."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ITEMS = _words(
    "item itemid id ids case caseid example exampleid sample uid uuid unit unitid instance "
    "key doc document qid idx index pair pairid commentid sentenceid textid docid record post "
    "beitrag beispiel fall kennung element eintrag exemple identifiant cas ejemplo elemento "
    "identificador caso exemplo amostra esempio campione voorbeeld 编号 项目 样本 "
    "条目 序号 項目 番号 サンプル "
    "номер пример przyklad przypadek"
)
ID_MARKS = _words(
    "id ids uid uuid key idx index no nr num number nummer numero codigo code 编号 番号"
)
GROUPS = _words(
    "group document doc article thread conversation question prompt page source cluster "
    "paragraph story dialogue dialog topic gruppe dokument artikel frage quelle thema groupe "
    "sujet grupo documento articulo pregunta fuente tema pergunta fonte gruppo domanda 问题 文档 "
    "组"
)
CRITERIA = _words(
    "criterion aspect dimension attribute metric trait kriterium merkmal critere criterio "
    "dimensao aspecto criterium kryterium критерий 标准 维度 方面 基準"
)
RATERS = _words(
    "rater raters annotator annotators worker workers workerid coder coders labeler labeller "
    "evaluator assessor reviewer turker crowdworker ann anno grader bewerter bewerterin "
    "bewertende annotierer kodierer gutachter pruefer prufer annotateur annotatrice "
    "evaluateur evaluatrice codeur correcteur anotador anotadora evaluador evaluadora "
    "codificador calificador avaliador avaliadora annotatore valutatore beoordelaar "
    "oceniajacy pruferin beoordelaarster 标注者 标注员 标注人 评估者 评审 评审员 评分者 "
    "評価者 注釈者 разметчик аннотатор оценщик эксперт"
)
WEAK_RATERS = _words(
    "user participant expert author human person respondent student subject judge who name by "
    "rated nutzer teilnehmer experte utilisateur usuario participante experto utente file "
    "sheet 用户 专家"
)
PEOPLE = RATERS | _words(
    "user participant expert author human person respondent student subject nutzer teilnehmer "
    "experte utilisateur usuario participante experto utente"
)
LABELS = _words(
    "label labels rating ratings value answer score annotation choice judgment judgement "
    "verdict vote class category winner decision preference selected grade code response "
    "relation result urteil bewertung note kategorie klasse antwort wahl etiquette jugement "
    "categorie choix avis etiqueta valoracion puntuacion juicio categoria eleccion respuesta "
    "rotulo avaliacao nota escolha etichetta valutazione giudizio voto 标签 评分 "
    "分数 类别 判断 选择 ラベル "
    "評価 評点 点数 метка оценка oordeel beoordeling ocena etykieta"
)
MEASURES = _words(
    "confidence certainty difficulty effort seconds duration time worktime elapsed sicherheit "
    "dauer zeit schwierigkeit confiance duree difficulte confianza duracion tiempo dificultad "
    "confianca duracao tempo dificuldade sicurezza durata 置信度 时间 难度 用时"
)
REMARK_COLUMNS = _words(
    "comment comments remark remarks reason reasons reasoning rationale explanation explain "
    "justification note notes feedback kommentar kommentare bemerkung bemerkungen anmerkung "
    "begrundung grund erklarung commentaire commentaires remarque raison explication "
    "comentario comentarios observacion observaciones razon motivo justificacion explicacion "
    "observacao observacoes razao justificativa explicacao commento commenti osservazione "
    "spiegazione motivazione 备注 评论 理由 说明 コメント комментарий"
)
MODELS = _words(  # product names that are no given names
    "gpt gpt2 gpt3 gpt4 gpt5 chatgpt openai anthropic llama llama2 llama3 mistral mixtral qwen "
    "qwen2 deepseek gemini vicuna davinci smollm smollm2 roberta deberta llm llms vader textblob"
)
MODEL_FAMILIES = _words(  # with a version a model's name, without it perhaps a person's
    "claude sonnet opus haiku gemma bard palm phi cohere command grok falcon "
    "olmo bert o1 o3 o4 yi "
    "nova kimi glm"
)
MODEL_MARKS = MODEL_FAMILIES | _words(  # parts of the names that people give their own models
    "judge judges model models ai bot machine classifier auto automatic lexicon mini nano turbo "
    "instruct finetune finetuned ft lora sft dpo rlhf checkpoint "
    "ckpt baseline system prompt flash "
    "pro"
)
SUMMARIES = _words(
    "gold golden majority consensus final adjudicated aggregate aggregated mean median mode "
    "truth reference agreement confidence std entropy average avg overall mehrheit mittelwert "
    "konsens majorite moyenne consenso mayoria promedio media maioria 多数 平均 共识"
)
TOTAL_ROWS = _words(
    "total totals sum average mean avg median std count gesamt summe durchschnitt mittelwert "
    "anzahl somme moyenne suma promedio media soma totale 合计 总计 平均 平均值 总和"
)
PROMPTS = _words(
    "prompt question source document instruction context query task input frage aufgabe "
    "quelle dokument kontext consigne contexte pregunta instruccion fuente documento contexto "
    "pergunta instrucao comando fonte contesto domanda richiesta istruzione vraag opdracht "
    "bron pytanie polecenie zrodlo вопрос запрос источник 问题 提示 指令 来源 文档 質問 指示"
)
TEXTS = PROMPTS | _words(
    "text body content comment message sentence prompt question answer response reply passage "
    "article document review summary story statement claim post tweet premise hypothesis "
    "conversation dialogue dialog output completion utterance input title headline beitrag "
    "nachricht satz antwort zusammenfassung texte phrase reponse resume texto mensaje frase "
    "respuesta resumen mensagem resposta resumo testo messaggio risposta riassunto 文本 内容 句子 "
    "bericht tekst zin samenvatting wypowiedz zdanie odpowiedz streszczenie aussage enonce "
    "回答 回复 摘要 テキスト 文章 応答 要約 текст ответ высказывание предложение резюме"
)
SOURCES = _words(
    "source quelle fuente fonte bron zrodlo источник 来源"
)  # a text, or where it is from
REPLIES = _words(
    "answer response reply output completion antwort ausgabe reponse sortie respuesta salida "
    "resposta risposta antwoord odpowiedz ответ 回答 回复 応答"
)
METADATA = _words(
    "language lang locale split category topic domain model system type gender age country "
    "region platform channel set batch phase source_type sprache kategorie thema bereich "
    "modell typ langue categorie sujet domaine modele idioma categoria tema dominio modelo "
    "tipo lingua 语言 类别 主题 领域 模型 genre license licence version subset partition status"
)
SYSTEMS = METADATA | _words(  # what gave the texts of an item, which is not a rater
    "variant variante version method methode metodo approach condition setting config "
    "configuration konfiguration arm temperature checkpoint run generator pipeline algorithm agent "
    "systeme sistema variante 系统 方法 版本 система"
)
MARGINS = MEASURES | _words(
    "turn round year month day date time timestamp created updated url link lang language "
    "split length len count n num words chars version batch order position page age gender "
    "country hash seed duration seconds lead status worktime"
)
REMARKS = _words(
    "n/a na n.a. #n/a - -- ? . skip skipped missing"
) | {
    "don't know", "dont know", "do not know", "i don't know", "idk", "dk", "not sure", "unsure",
    "cannot say", "can't say", "cannot tell", "can't tell", "cannot assess", "not applicable",
    "keine angabe", "k.a.", "weiß nicht", "weiss nicht", "unsicher", "ne sait pas",
    "je ne sais pas",
    "sans avis", "no sé", "no sabe", "não sei", "sem resposta", "non so",
    "不确定", "不知道", "无法判断",
    "no answer", "prefer not to say", "unknown", "unclear", "undecided", "no opinion",
}  # fmt: skip
TIES = _words(
    "tie tied draw both equal same neither bothbad gleich unentschieden beide egal egalite empate "
    "igual ambos pareggio uguale gelijk remis поровну ничья 平 平局 一样 相同 引き分け 同じ"
)
YES = _words(
    "ja oui si sim sì da 是 はい yes true positive pos good ok correct acceptable accept pass "
    "relevant consistent helpful safe agree present supported entailment"
)
NO = _words(
    "nein non nao нет 否 いいえ no false negative neg bad wrong incorrect unacceptable reject "
    "fail irrelevant inconsistent harmful unsafe disagree absent unsupported contradiction "
    "neutral"
)
COUNT_MARKS = _words("n num count counts cnt votes vote nb number")
TOTALS = _words("total sum all raters annotators annotations ratings votes workers judgments")
MONTHS = _words(
    "jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july "
    "august september october november december"
)
DATE_WORDS = MONTHS | _words(
    "mon tue tues wed thu thur thurs fri sat sun monday tuesday wednesday thursday friday saturday "
    "sunday am pm utc gmt z est edt cst cdt mst mdt pst pdt cet cest bst ist at of st nd rd th t"
)

SIDES = (
    *({"a", "b"}, {"1", "2"}, {"left", "right"}, {"first", "second"}),
    *({"chosen", "rejected"}, {"links", "rechts"}, {"gauche", "droite"}, {"izquierda", "derecha"}),
)
FIRST_CJK = "\u3040"  # from here on words have no spaces around them
PERSON_ENDS = "者员員人"  # of a word that names the person: 評価 is a rating, 評価者 a rater
_ACCENTS = frozenset(map(chr, range(0x300, 0x370)))
_BREAKS = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[^\W\d_])(?=\d)")


@lru_cache(8192)
def parts(name: str) -> tuple[str, ...]:
    """Split a name into its words and numbers, in lower case.

    Examples
    --------
    >>> parts("annotatorID_2"), parts("gpt-4o-mini")
    (('annotator', 'id', '2'), ('gpt', '4o', 'mini'))
    """
    return tuple(plain(part) for part in _BREAKS.split(name) if part)


def plain(text: str) -> str:
    """Convert a text to lower case without accents.

    Examples
    --------
    >>> plain("Étiquette"), plain("avaliação")
    ('etiquette', 'avaliacao')
    """
    if text.isascii():
        return text.lower()
    decomposed = normalize("NFD", text.casefold())
    return normalize("NFC", "".join(c for c in decomposed if c not in _ACCENTS))


def contains_word(name: str, words: frozenset[str]) -> bool:
    """Return whether a part of the name, or the whole name, is in ``words``."""
    name_parts = parts(name)
    if not words.isdisjoint(name_parts) or "".join(name_parts) in words:
        return True
    return not name.isascii() and any(
        word in name and not any(word + end in name for end in PERSON_ENDS)
        for word in words
        if word[0] >= FIRST_CJK
    )


def are_sides(names: Sequence[str], *, tied: bool) -> bool:
    """Return whether labels are two sides that differ in their last letter, and ties."""
    sides = [name.casefold() for name in names if not contains_word(name, TIES)]
    if len(sides) != 2 or (tied and len(sides) == len(names)):  # noqa: PLR2004 -- sides come in twos
        return False
    first, second = sorted(sides)
    ends = (first[-1:], second[-1:]) in {("a", "b"), ("1", "2")} and first[:-1] == second[:-1]
    words = {("left", "right"), ("first", "second"), ("chosen", "rejected")}
    return (ends and (tied or len(first) > 1)) or (first, second) in words


def are_pair(name: str, other: str) -> bool:
    """Return whether two names differ only in a word for a side: ``left chat``, ``right chat``.

    Examples
    --------
    >>> are_pair("completion_a", "completion_b"), are_pair("left chat", "chat right")
    (True, False)
    """
    first, second = parts(name), parts(other)
    if len(first) != len(second):
        return False
    differing = [{a, b} for a, b in zip(first, second, strict=True) if a != b]
    return len(differing) == 1 and differing[0] in (*SIDES, {"0", "1"})


@lru_cache(8192)
def stem(name: str) -> str:
    """Return a name without its numbers, so that ``r05`` and ``r06`` have one stem."""
    return " ".join(part for part in parts(name) if not part.isdecimal())


def is_remark(label: str) -> bool:
    """Return whether a label may mean that there is no answer."""
    text = label.casefold().replace("_", " ").replace("\u2019", "'")
    return text in REMARKS or text.startswith(("n/a", "#n/a"))
