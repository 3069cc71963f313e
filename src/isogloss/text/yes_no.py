"""Does a reply say yes or no?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from isogloss.records import Status
from isogloss.text.body import REFUSED, REMEMBERED, SHORT, not_strict, part, ready, unparsed
from isogloss.text.normalise import BOX_CLOSE, BOX_OPEN, fold
from isogloss.text.packs import LanguagePack, all_packs, find_pack
from isogloss.text.reading import Reading
from isogloss.text.tokens import find_cues, leads_on, tokenise

_QUOTES = "\"'“”„‟«»‹›‘’‚‛「」『』"
_STOPS = ".。।۔"
_SENTENCE = re.compile(r"(¿?[^.!?\n…¿]*)([.!?\n…]+|(?=¿)|$)")
_CLAUSE = re.compile(rf"[,;:()\[\]—–|{BOX_OPEN}{BOX_CLOSE}]|\s-\s")
_EDGE = " \t\"'¡¿*-#>"


def read_yes_no(text: str, language: str, *, strict: bool = False) -> Reading:
    """Read whether a reply says yes or no.

    Parameters
    ----------
    text : str
        A raw reply, reasoning included.
    language : str
        BCP 47 tag of the language that was asked in; a regional tag falls back to its language ("es-CL" → "es").
    strict : bool
        Accept the language's one word alone; Unicode form, case, accent, quotes and a final full stop set aside.

    Returns
    -------
    Reading
        True or False; `unparsed` (its note says "unknown", "hedge", "both", …), `refused` or `truncated` otherwise.

    Notes
    -----
    Lenient rules, after markup and written forms are set aside. Words and phrases are those of the language's pack.

    1. A whole reply that is a yes or no word or phrase ("claro que sí") is that.
    2. A reply that declines is `refused`; one that only says what an AI lacks is so unless a cue gives an answer.
    3. An answer after a cue ("Respuesta: no", "the answer is yes, because…") decides. Cues that call themselves final
       go before others; all must agree, also with a reply that opens with the bare word.
    4. Otherwise the signals are: a phrase that opens the reply ("Claro, …"); clauses of the first sentence that are
       nothing but the word ("En Chile, sí"), that open with a word that affirms or denies whatever follows ("Sí se
       usa", "Yes it is"), or that are a statement known to the pack ("no se usa"); and the bare word as a clause of
       later sentences. All must agree, else "both". Questions are passed over. "Si" without accent before other
       words counts only where no comma follows: it may be "if".
    5. In the sentence that is read, not knowing ("no sé") and hedging ("depende") leave nothing to read; so do a
       hedge that opens another sentence, and yes and no in one breath ("sí y no") anywhere.

    A "no" inside a word is none, and a reply in another language is `unparsed` with a note.

    Raises
    ------
    UnknownNameError
        For a language without a pack.
    """
    pack = find_pack(language)
    return _remembered(text, pack, strict) if len(text) <= SHORT else _read(text, pack, strict)


def _read(text: str, pack: LanguagePack, strict: bool) -> Reading:
    value = pack.quick.get(text)
    if value is not None:
        return _YES if value else _NO
    answer, outcome = part(text)
    if outcome is not None:
        return outcome
    word = fold(_bare(answer))
    if word in pack.yes:
        return _YES
    if word in pack.no:
        return _NO
    return not_strict(answer) if strict else _read_lenient(answer, pack)


_remembered = lru_cache(maxsize=REMEMBERED)(_read)
_YES = Reading(Status.OK, True)
_NO = Reading(Status.OK, False)
_NOTE = "extra text set aside"


def _bare(answer: str) -> str:
    """The reply without outer quotes and final full stop."""
    bare = answer.strip().strip(_QUOTES).strip()
    if bare and bare[-1] in _STOPS:
        bare = bare[:-1]
    return bare.strip().strip(_QUOTES).strip()


class _Sentence(NamedTuple):
    text: str
    clauses: tuple[str, ...]
    asks: bool


def _sentences(text: str, pack: LanguagePack) -> list[_Sentence]:
    """Sentences and their clauses, parted at marks and at words like "but"; empty ones left out."""
    sentences = []
    for found in _SENTENCE.finditer(text):
        if not found[1].strip(_EDGE):
            continue
        clauses = [clause for piece in _CLAUSE.split(found[1]) for clause in _contrasted(piece, pack)]
        sentences.append(_Sentence(found[1], tuple(filter(None, clauses)), "?" in found[2]))
    return sentences


def _contrasted(clause: str, pack: LanguagePack) -> Iterator[str]:
    """A clause parted at words like "but"."""
    words: list[str] = []
    for word in clause.split():
        if pack.contrast.fullmatch(fold(word)):
            yield " ".join(words)
            words = []
        else:
            words.append(word)
    yield " ".join(words)


def _read_lenient(answer: str, pack: LanguagePack) -> Reading:
    body = ready(answer)
    if body.outcome is not None:
        return body.outcome
    whole = fold(body.text.strip(_EDGE + ".!,;:" + _QUOTES + BOX_OPEN + BOX_CLOSE))
    value = pack.plain.get(" ".join(whole.replace(",", " ").split()))
    if value is not None:
        return Reading(Status.OK, value, _NOTE)
    sentences = [sentence for sentence in _sentences(body.text, pack) if not sentence.asks]
    if any(pack.both.search(fold(sentence.text)) for sentence in sentences):
        return unparsed("both")
    cued = _cued(body.text, pack)
    if cued:
        opening = pack.plain.get(fold(sentences[0].clauses[0])) if sentences and sentences[0].clauses else None
        return _decided(cued | ({opening} if opening is not None else set()))
    if body.disclaimed:
        return REFUSED
    return _from_sentences(sentences, pack) if sentences else unparsed("only a question")


def _decided(values: set[bool]) -> Reading:
    return Reading(Status.OK, values.pop(), _NOTE) if len(values) == 1 else unparsed("both")


def _doubt(text: str, pack: LanguagePack) -> str:
    """What in a piece of text leaves nothing to read: "unknown", "hedge", or "" for nothing."""
    if pack.unknown.search(text):
        return "unknown"
    return "hedge" if pack.hedge.search(text) else ""


def _from_sentences(sentences: list[_Sentence], pack: LanguagePack) -> Reading:
    """The reading of a reply without a cue."""
    first, *later = sentences
    doubt = _doubt(first.text, pack)
    if doubt:
        return unparsed(doubt)
    if first.clauses and pack.partly.match(first.clauses[0]):
        return unparsed("hedge")
    signals = set()
    for clause in first.clauses:
        alone = len(sentences) == len(first.clauses) == 1 or clause == first.clauses[-1]
        value = _signal(_unfilled(clause, pack), pack, last=alone, opens=clause is first.clauses[0])
        if value is not None:
            signals.add(value)
        elif signals and pack.partly.match(clause) and _after_contrast(first.text, clause, pack):
            return unparsed("hedge")
    for sentence in later:
        if sentence.clauses and pack.hedge.match(sentence.clauses[0]):
            return unparsed("hedge")
        for clause in sentence.clauses:
            value = _word(fold(_unfilled(clause, pack)), pack)
            if value is not None and not _doubt(sentence.text, pack):
                signals.add(value)
    return _decided(signals) if signals else unparsed(_why(sentences, pack))


def _why(sentences: list[_Sentence], pack: LanguagePack) -> str:
    """Why no sentence gave a signal."""
    whole = "\n".join(sentence.text for sentence in sentences)
    bare = fold(_bare(whole))
    for other in all_packs():
        if bare in other.yes or bare in other.no:
            return f"answered in another language ({other.tag})"
    return _doubt(whole, pack) or "neither yes nor no"


def _after_contrast(sentence: str, clause: str, pack: LanguagePack) -> bool:
    """Whether a clause follows a word like "but"."""
    before = sentence[: sentence.find(clause)].split()
    return bool(before) and pack.contrast.fullmatch(fold(before[-1])) is not None


def _unfilled(clause: str, pack: LanguagePack) -> str:
    """A clause without "well", "I think that" and the like at its head."""
    for _ in range(3):
        filler = pack.fillers.match(clause)
        if filler is None or filler.end() == len(clause):
            break
        clause = clause[filler.end() :].strip(_EDGE)
    return clause


def _word(folded: str, pack: LanguagePack) -> bool | None:
    """Yes or no for the language's one word, None for any other."""
    return True if folded in pack.yes else False if folded in pack.no else None


def _signal(clause: str, pack: LanguagePack, *, last: bool, opens: bool) -> bool | None:
    """What a clause says by itself.

    `last` when no further clause follows in its sentence. Words like "claro" or "of course" say yes only where they
    open the reply (`opens`): "no se usa, claro".
    """
    folded = fold(clause)
    value = pack.plain.get(folded) if opens else _word(folded, pack)
    if value is not None:
        return value
    reason = pack.because.match(folded)
    if reason is not None:
        return pack.plain[reason[1]]
    if pack.no_statement.match(clause) or pack.deny.match(clause):
        return False
    if pack.affirm.match(clause):
        return True
    head = clause.casefold().split(maxsplit=1)[0] if clause else ""
    if head in pack.if_words and not last:
        return None
    return True if pack.yes_statement.match(clause) else None


def _cued(text: str, pack: LanguagePack) -> set[bool]:
    """Yes and no after the strongest cues."""
    tokens = tokenise(text)
    ranks: tuple[set[bool], set[bool]] = (set(), set())
    for cue in find_cues(tokens):
        if cue.kind not in ("box", "answer"):
            continue
        for i in range(cue.after, min(cue.after + 8, len(tokens))):
            value = _word_at([token.text for token in tokens[i : i + 24]], pack)
            if value is not None:
                ranks[0 if cue.final else 1].add(value)
                break
            if not leads_on(tokens, i, cue):
                break
    return ranks[0] or ranks[1]


def _word_at(pieces: list[str], pack: LanguagePack) -> bool | None:
    """The yes or no that pieces of text begin with, when the rest of its sentence doesn't take it back."""
    end = next((i for i, piece in enumerate(pieces) if piece in ".!?\n…" + BOX_CLOSE), len(pieces))
    if end < len(pieces) and pieces[end] == "?":
        return None
    rest = " ".join(pieces[:end])
    clause = _CLAUSE.split(rest)[0].strip(_EDGE)
    if not clause or _doubt(rest, pack):
        return None
    return _signal(clause, pack, last=clause == rest.strip(_EDGE), opens=True)
