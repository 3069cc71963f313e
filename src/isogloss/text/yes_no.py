"""Does a reply say yes or no?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
_QUOTED = frozenset(_QUOTES)
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

    6. A yes or no is taken back, and nothing read, where its sentence or one that opens with "but" also holds the other
       word at a clause's head or end ("no en México"), "never" or "nobody" after a yes, a limit after "but" ("pero solo
       en…"), or a condition ("si…", "unless").

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


class _Clause(NamedTuple):
    text: str
    turns: bool
    """Comes after a word like "but"."""


class _Sentence(NamedTuple):
    text: str
    clauses: tuple[_Clause, ...]
    asks: bool


def _sentences(text: str, pack: LanguagePack) -> list[_Sentence]:
    """Sentences and their clauses, parted at marks and at words like "but"; empty ones left out."""
    sentences = []
    for found in _SENTENCE.finditer(text):
        if not found[1].strip(_EDGE):
            continue
        sentences.append(_Sentence(found[1], tuple(_clauses(found[1], pack)), "?" in found[2]))
    return sentences


def _clauses(sentence: str, pack: LanguagePack) -> Iterator[_Clause]:
    """Clauses of a sentence, parted at marks and at words like "but"; empty ones left out."""
    turns = False
    for piece in _CLAUSE.split(sentence):
        words: list[str] = []
        written = piece.split()
        i = 0
        while i < len(written):
            length = next((n for n in (2, 1) if " ".join(written[i : i + n]).casefold() in pack.contrast), 0)
            if not length:
                words.append(written[i])
                i += 1
                continue
            if words:
                yield _Clause(" ".join(words), turns)
            turns = fold(written[i]) not in pack.cues.rather
            words = []
            i += length
        if words:
            yield _Clause(" ".join(words), turns)
            turns = False


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
        opening = pack.plain.get(fold(sentences[0].clauses[0].text)) if sentences and sentences[0].clauses else None
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
    if first.clauses and pack.partly.match(first.clauses[0].text):
        return unparsed("hedge")
    signals = set()
    for clause in first.clauses:
        alone = len(sentences) == len(first.clauses) == 1 or clause == first.clauses[-1]
        value = _signal(_unfilled(clause.text, pack), pack, last=alone, opens=clause is first.clauses[0])
        if value is not None:
            signals.add(value)
    checked = [first]
    for sentence in later:
        if sentence.clauses and pack.hedge.match(sentence.clauses[0].text):
            return unparsed("hedge")
        found = _later(sentence, pack)
        signals |= found
        if found or (sentence.clauses and sentence.clauses[0].turns):
            checked.append(sentence)
    if len(signals) == 1:
        [value] = signals
        reason = next(filter(None, (_taken_back(sentence.clauses, pack, value=value) for sentence in checked)), "")
        if reason:
            return unparsed(reason)
    return _decided(signals) if signals else unparsed(_why(sentences, pack))


def _later(sentence: _Sentence, pack: LanguagePack) -> set[bool]:
    """What a sentence after the first says: the bare word in it, or a denial that is all there is of it."""
    if _doubt(sentence.text, pack):
        return set()
    values = {_word(fold(_unfilled(clause.text, pack)), pack) for clause in sentence.clauses}
    if len(sentence.clauses) == 1:
        clause = sentence.clauses[0].text
        denies = pack.no_statement.match(clause)
        whole = denies is not None and denies.end() == len(denies.string)
        nobody = not pack.never.isdisjoint(fold(clause).split()[:1]) and pack.uses.search(clause)
        if pack.plain.get(fold(clause)) is False or whole or nobody:
            values.add(False)
    return {value for value in values if value is not None}


def _taken_back(clauses: Iterable[_Clause], pack: LanguagePack, *, value: bool) -> str:
    """What in the clauses of a sentence that says `value` takes it back: "both", "hedge", or "" for nothing."""
    for clause in clauses:
        folded = fold(clause.text).strip(_EDGE)
        words = folded.split()
        idiom = pack.idioms.match(folded)
        if idiom is not None and idiom.end() == len(folded):
            continue
        limited = clause.turns and (pack.limits.match(folded) or pack.partly.match(folded))
        if limited or _conditional(clause.text, pack):
            return "hedge"
        if (not value) in _marks(clause.text, pack) or (value and not pack.never.isdisjoint(words)):
            return "both"
        if clause.turns:
            uses = not value and _QUOTED.isdisjoint(clause.text) and pack.uses.search(folded)
            if uses or (value and not pack.denial.isdisjoint(words)):
                return "both"
    return ""


def _marks(clause: str, pack: LanguagePack) -> set[bool]:
    """Yes and no words at the head or end of a clause, or right after an "and" in it: "no en Chile", "en México sí"."""
    written = clause.casefold().strip(_EDGE).split()
    words = [fold(word).strip(_EDGE) for word in written]
    plain = pack.plain.get(" ".join(words))
    if not words or plain is not None:
        # "No, claro" agrees with itself; "sí, nunca" and "no, claro que sí" don't.
        return {False} if plain is False else {True for word in words if word in pack.yes}
    links = pack.cues.conjunction
    heads = [0, *(i + 1 for i, word in enumerate(words[:-1]) if word in links)]
    found = {False for i in heads if words[i] in pack.no or words[i] in pack.denial}
    found |= {True for i in heads if words[i] in pack.yes and written[i] not in pack.if_words}
    last = _word(words[-1], pack)
    return found | ({last} if last is not None else set())


def _conditional(clause: str, pack: LanguagePack) -> bool:
    """Whether a clause begins with an "if" that is written like a yes ("si es de Chile"), and is no plain statement."""
    head, _, rest = clause.casefold().partition(" ")
    if head not in pack.if_words or not rest:
        return False
    said = pack.yes_statement.match(fold(clause))
    return said is None or said.end() != len(said.string)


def _why(sentences: list[_Sentence], pack: LanguagePack) -> str:
    """Why no sentence gave a signal."""
    whole = "\n".join(sentence.text for sentence in sentences)
    bare = fold(_bare(whole))
    for other in all_packs():
        if bare in other.yes or bare in other.no:
            return f"answered in another language ({other.tag})"
    return _doubt(whole, pack) or "neither yes nor no"


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
    if head in pack.if_words and (not last or _conditional(clause, pack)):
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
            values = _word_at([token.text for token in tokens[i : i + 24]], pack)
            if values:
                ranks[0 if cue.final else 1].update(values)
                break
            if not leads_on(tokens, i, cue):
                break
    return ranks[0] or ranks[1]


def _word_at(pieces: list[str], pack: LanguagePack) -> set[bool]:
    """The yes or no that pieces of text begin with; both when the rest of its sentence takes it back."""
    end = next((i for i, piece in enumerate(pieces) if piece in ".!?\n…" + BOX_CLOSE), len(pieces))
    if end < len(pieces) and pieces[end] == "?":
        return set()
    rest = " ".join(pieces[:end])
    clause = _CLAUSE.split(rest)[0].strip(_EDGE)
    if not clause or _doubt(rest, pack):
        return set()
    value = _signal(clause, pack, last=clause == rest.strip(_EDGE), opens=True)
    if value is None:
        return set()
    return {value, not value} if _taken_back(_clauses(rest, pack), pack, value=value) else {value}
