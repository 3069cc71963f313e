"""Which lettered option does a reply choose?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from isogloss.errors import SettingError
from isogloss.records import Status
from isogloss.text.body import REFUSED, REMEMBERED, SHORT, not_strict, part, ready, unparsed
from isogloss.text.judged import asked, judged, ruled_out, turned_down
from isogloss.text.packs import Cues, all_packs
from isogloss.text.reading import Reading
from isogloss.text.refusals import hedges, says_none, says_unknown, why_not
from isogloss.text.tokens import (
    CLOSERS,
    OPENERS,
    REACH,
    SENTENCE_ENDS,
    Cue,
    Token,
    find_cues,
    leads_on,
    tokenise,
    vocabulary,
)

_STRICT = re.compile(r"([A-Za-z])[).]?")
_LEADS_IN = frozenset(",:;.—–\n)]…!?")
_AROUND = OPENERS | CLOSERS | frozenset(".,!¡")
_LINKS = frozenset(",/&+|")


def read_choice(text: str, n_options: int, *, strict: bool = False) -> Reading:
    """Read the one lettered option that a reply chooses.

    Parameters
    ----------
    text : str
        A raw reply, reasoning included.
    n_options : int
        How many options were listed, 1 to 26; they are A, B, C, …
    strict : bool
        Accept the letter alone: "B", "b", "B)", "B.".

    Returns
    -------
    Reading
        The upper-case letter; `unparsed`, `refused` or `truncated` otherwise.

    Notes
    -----
    Lenient rules. Markup, LaTeX and written forms are set aside first. A letter is one Latin letter alone, never the
    head of a word. Then the first of these that is there decides, and its letters must all be one:

    1. The last word: `\\boxed{B}`, `<answer>B</answer>`, a cue that calls itself final ("Respuesta final: B").
    2. A cue: "Answer: B", "la respuesta correcta, según el texto, es la b", "I choose B", "por lo tanto, B",
       "B is correct". A cue that is denied ("the answer is not B"), conditional ("si la respuesta es B") or asked
       ("is the answer B?") is none. Letters mentioned elsewhere don't count; a letter listed with the cued one
       ("Answer: A or C") does.
    3. An option named ("Opción B: Puebla"), or a sentence that holds only a letter and small words ("Es la B.").
    4. A letter alone on its line.
    5. The reply opens with an option, "B) Puebla", and lists no other so.
    6. One letter set off by marks ("Considering all options, A"), when no other is mentioned and the reply
       doesn't say that none fits, that it doesn't know or that it depends.

    A letter that words before it deny ("Not: A") or words after it judge wrong ("A: falsa") is none.

    When a reply opens as in 5 with one letter and its cue names another, it contradicts itself: `unparsed`.
    A reply that declines is `refused` whatever letters it holds; one that only says what an AI lacks ("as an AI I
    have no…") is `refused` unless rules 1 to 3 find a letter. Lower-case letters count after a cue, in
    brackets or alone, so "a", "e", "o", "y" as words aren't choices. A letter beyond the last option is
    `unparsed`.

    Raises
    ------
    SettingError
        If `n_options` isn't 1 to 26.
    """
    if not 1 <= n_options <= 26:
        raise SettingError(f"letters stand for 1 to 26 options, got {n_options}; use read_numbers for more")
    return _remembered(text, n_options, strict) if len(text) <= SHORT else _read(text, n_options, strict)


def _read(text: str, n_options: int, strict: bool) -> Reading:
    bare = _STRICT.fullmatch(text)
    if bare is not None:
        return _one({bare[1].upper()}, n_options, "")
    answer, outcome = part(text)
    if outcome is not None:
        return outcome
    bare = _STRICT.fullmatch(answer.strip())
    if bare is not None:
        return _one({bare[1].upper()}, n_options, "")
    return not_strict(answer) if strict else _read_lenient(answer, n_options)


_remembered = lru_cache(maxsize=REMEMBERED)(_read)


def _one(letters: set[str], n_options: int, note: str) -> Reading:
    """The reading of the letters that a rule found."""
    if len(letters) > 1:
        return unparsed(f"several letters: {', '.join(sorted(letters))}")
    [letter] = letters
    if ord(letter) - ord("A") >= n_options:
        return unparsed(f"{letter} is not one of the {n_options} options")
    return Reading(Status.OK, letter, note)


def _read_lenient(answer: str, n_options: int) -> Reading:
    body = ready(answer)
    if body.outcome is not None:
        return body.outcome
    tokens = tokenise(body.text)
    listed = _listed(tokens)
    opening = _opening(tokens) if len(listed) <= 1 else ""
    cued = _strongest(tokens)
    if cued:
        return _one(cued | ({opening} if opening else set()), n_options, "read after a cue")
    if body.disclaimed:
        return REFUSED
    alone = _alone(tokens)
    sorted_out = judged(tokens)
    if sorted_out and not alone:
        return unparsed("options judged one by one")
    if alone:
        return _one(alone, n_options, "extra text set aside")
    if len(listed) > 1:
        return _one(listed, n_options, "")
    if opening:
        return _one({opening}, n_options, "extra text set aside")
    mentioned, set_off = _mentioned(tokens, n_options), _set_off(tokens)
    if len(mentioned | set_off) > 1:
        return _one(mentioned | set_off, n_options, "")
    if set_off and not says_none(body.text) and not says_unknown(body.text) and not hedges(body.text):
        return _one(set_off, n_options, "extra text set aside")
    return unparsed(why_not(body.text) or "no letter")


# --- what makes a letter a letter


def _bracketed(tokens: Sequence[Token], i: int) -> bool:
    """Whether the letter at `i` stands like "(b)", "[B]" or "b)", not glued to a word as in "alumno(a)"."""
    if i + 1 >= len(tokens) or tokens[i + 1].text not in (")", "]"):
        return False
    if i and tokens[i - 1].text in ("(", "["):
        return i == 1 or tokens[i - 1].gap or not tokens[i - 2].word
    return tokens[i].gap or tokens[i - 1].text in _LEADS_IN


def _abbreviated(tokens: Sequence[Token], i: int) -> bool:
    """Whether the letter at `i` is part of "J. B. Smith", "a. C." or "U.S.A."."""
    before = i > 1 and tokens[i - 1].text == "." and tokens[i - 2].is_letter
    after = i + 2 < len(tokens) and tokens[i + 1].text == "." and tokens[i + 2].is_letter and not tokens[i + 2].gap
    return before or after


def _is_word(token: Token) -> bool:
    """Whether the letter is a word of some language too: "a", "y"."""
    return token.word in vocabulary().letter_words


def _stands(tokens: Sequence[Token], i: int, *, cued: bool) -> bool:
    """Whether what follows the letter at `i` leaves it a letter, rather than a word, a unit or part of a name."""
    if i + 1 >= len(tokens):
        return True
    letter, after = tokens[i], tokens[i + 1]
    if after.text in CLOSERS:
        return not (i + 2 < len(tokens) and tokens[i + 2].text == "?")
    if after.word:
        if after.word in vocabulary().because:
            return True
        # "D Puebla" names an option, "C major" and "A Puebla" need not.
        return not _is_word(letter) and letter.text.isupper() and not after.text[0].islower() and not after.is_number
    if after.text == ",":
        return cued or not _is_word(letter)
    return after.text in "\n:;!.…|—–" or (after.text in "-(" and after.gap)


def _linked(tokens: Sequence[Token], i: int) -> int | None:
    """Index of the letter that a link at `i` leads to: ", B", "or the letter B", "/ (B)"; None without either."""
    known = vocabulary()
    linking = known.conjunction | known.disjunction
    end = len(tokens)
    j = i
    if j < end and (tokens[j].text in _LINKS or (tokens[j].text == "-" and not tokens[j].gap)):
        j += 1
    if j + 1 < end and tokens[j].word in linking:
        j += 1
        while j + 1 < end and tokens[j].word in known.between and (not tokens[j].is_letter or tokens[j + 1].is_letter):
            j += 1
    if j == i:
        return None
    while j < end and tokens[j].text in OPENERS:
        j += 1
    return j if j < end and tokens[j].is_letter and _stands(tokens, j, cued=True) else None


def _rivals(tokens: Sequence[Token], i: int) -> set[str]:
    """Letters listed with the one at `i`: "B or C", "A, B", "A/C", "la a o la b", "B) Puebla y C) Lima"."""
    known = vocabulary()
    linking = known.conjunction | known.disjunction
    rivals: set[str] = set()
    last: int | None = i
    while last is not None:
        i = last + 1
        while i < len(tokens) and tokens[i].text in CLOSERS:
            i += 1
        last = _linked(tokens, i)
        if last is not None:
            rivals.add(tokens[last].text.upper())
    end = min(len(tokens), i + 3 * REACH)
    while i < end and tokens[i].text not in "\n?" and tokens[i].word not in known.negation:
        further = _linked(tokens, i) if tokens[i].word in linking else None
        if further is not None and _bracketed(tokens, further):
            rivals.add(tokens[further].text.upper())
        i += 1
    return rivals


# --- the rules, strongest first


def _cued(tokens: Sequence[Token], cue: Cue) -> set[str]:
    """The letters that a cue leads to: one, several if they are listed, none."""
    for i in range(cue.after, len(tokens)):
        token = tokens[i]
        if token.is_letter and not _abbreviated(tokens, i):
            if turned_down(tokens, i):
                return set()
            plain = token.text.isupper() or cue.kind in ("answer", "option", "box") or _bracketed(tokens, i)
            rivals = _rivals(tokens, i) if plain else set()
            if rivals or (plain and _stands(tokens, i, cued=True)):
                return {token.text.upper()} | rivals
        if not leads_on(tokens, i, cue):
            break
    return set()


def _calls_right(tokens: Sequence[Token], i: int, cues: Cues) -> bool:
    """Whether the words from `i` on say, in one language, "is (the) correct (one)"."""
    if tokens[i].word not in cues.copula:
        # Scripts without spaces write copula and adjective as one.
        return tokens[i].word in cues.right and tokens[i].word[0] in cues.copula
    words = [token.word for token in tokens[i + 1 : i + 7]]
    said = next((k for k, word in enumerate(words) if word not in cues.glue | cues.answer | cues.right), len(words))
    return bool(set(words[:said]) & (cues.answer | cues.right)) and cues.wrong.isdisjoint(words[said : said + 1])


def _affirmed(tokens: Sequence[Token]) -> Iterator[set[str]]:
    """Letters said to be right afterwards: "B is correct", "la (b) es la respuesta correcta"."""
    for i, token in enumerate(tokens):
        if not token.is_letter or not (token.text.isupper() or _bracketed(tokens, i)):
            continue
        j = i + 1
        while j < len(tokens) and tokens[j].text in CLOSERS:
            j += 1
        before = [earlier.word for earlier in tokens[max(0, i - 3) : i]]
        for cues in (pack.cues for pack in all_packs()) if j < len(tokens) and tokens[j].word else ():
            turned = cues.conjunction | cues.disjunction | cues.condition | cues.negation
            if _calls_right(tokens, j, cues) and turned.isdisjoint(before) and not asked(tokens, j):
                yield {token.text.upper()}


def _strongest(tokens: Sequence[Token]) -> set[str]:
    """Letters of the strongest kind of cue that leads to any: final, then answers and choices, then options named."""
    ranks: tuple[set[str], set[str], set[str]] = (set(), set(), set())
    for cue in find_cues(tokens):
        ranks[0 if cue.final else 2 if cue.kind == "option" else 1].update(_cued(tokens, cue))
    if not ranks[0]:
        ranks[1].update(*_affirmed(tokens))
        ranks[2].update(_said_alone(tokens))
    return ranks[0] or ranks[1] or ranks[2]


def _said_alone(tokens: Sequence[Token]) -> Iterator[str]:
    """Letters of sentences that hold nothing else but small words of one language: "Es la C.", "It is (b)"."""
    begin = 0
    for end in range(len(tokens) + 1):
        if end < len(tokens) and tokens[end].text not in SENTENCE_ENDS:
            continue
        sentence = range(begin, min(end, begin + REACH))
        letters = [i for i in sentence if tokens[i].is_letter and (tokens[i].text.isupper() or not _is_word(tokens[i]))]
        words = {tokens[i].word for i in sentence if tokens[i].word and i not in letters}
        asked = end < len(tokens) and tokens[end].text == "?"
        if len(letters) == 1 and end - begin <= REACH and words and not asked and not _abbreviated(tokens, letters[0]):
            for cues in (pack.cues for pack in all_packs()):
                if words <= cues.glue | cues.copula | cues.option | cues.answer | cues.right:
                    yield tokens[letters[0]].text.upper()
        begin = end + 1


def _lines(tokens: Sequence[Token]) -> Iterator[list[tuple[int, Token]]]:
    """Tokens of each line with their indices."""
    line: list[tuple[int, Token]] = []
    for i, token in enumerate(tokens):
        if token.text == "\n":
            yield line
            line = []
        else:
            line.append((i, token))
    yield line


def _alone(tokens: Sequence[Token]) -> set[str]:
    """Letters that are all there is on their line, marks aside."""
    found = set()
    for line in _lines(tokens):
        core = [token for _, token in line if token.text not in _AROUND]
        if len(core) == 1 and core[0].is_letter and not ruled_out(tokens, line[0][0]):
            found.add(core[0].text.upper())
    return found


def _opens(tokens: Sequence[Token], i: int) -> bool:
    """Whether the letter at `i` heads an option as listed: "B) …", "(b) …", "B. …", "B: …", "B - …"."""
    if _bracketed(tokens, i):
        return True
    if i + 1 >= len(tokens) or _abbreviated(tokens, i):
        return False
    after = tokens[i + 1]
    if after.text in ".:":
        initials = tokens[i + 2 : i + 4]  # "J. B. Smith"
        if after.text == "." and len(initials) == 2 and initials[0].is_letter and initials[1].text == ".":
            return False
        return not initials or initials[0].gap
    return after.text in "-–—" and after.gap and tokens[i].text.isupper()


def _listed(tokens: Sequence[Token]) -> set[str]:
    """Letters that head options: bracketed anywhere, or with another mark at the head of a line."""
    found = {token.text.upper() for i, token in enumerate(tokens) if token.is_letter and _bracketed(tokens, i)}
    for line in _lines(tokens):
        if line and line[0][1].is_letter and _opens(tokens, line[0][0]):
            found.add(line[0][1].text.upper())
    return found


def _denied(tokens: Sequence[Token], i: int) -> bool:
    """Whether the letter at `i` is said to be wrong: "B) is incorrect", "(B) no es"."""
    known = vocabulary()
    words = []
    for token in tokens[i + 2 : i + 8]:
        if token.text in ".!?;\n" or (token.is_letter and token.text.isupper()):
            break
        words.append(token.word)
    head = set(words[:2])
    return not known.wrong.isdisjoint(words) or not (head.isdisjoint(known.negation) or head.isdisjoint(known.copula))


def _opening(tokens: Sequence[Token]) -> str:
    """The letter of the option that the reply opens with, unless what follows denies it; "" for none."""
    i = 0
    while i < len(tokens) - 1 and tokens[i].text in OPENERS:
        i += 1
    if not tokens[i].is_letter or not _opens(tokens, i) or _rivals(tokens, i) or _denied(tokens, i):
        return ""
    return tokens[i].text.upper()


def _mentioned(tokens: Sequence[Token], n_options: int) -> set[str]:
    """Every letter that the reply may be speaking of, for seeing whether there is more than one."""
    known = vocabulary()
    found = set()
    for i, token in enumerate(tokens):
        if not token.is_letter or token.text.islower() or _abbreviated(tokens, i):
            continue
        after = tokens[i + 1].word if i + 1 < len(tokens) else ""
        listed = after in known.conjunction or after in known.disjunction
        if not _is_word(token) or listed or (_stands(tokens, i, cued=False) and ord(token.text) - ord("A") < n_options):
            found.add(token.text)
    return found


def _set_off(tokens: Sequence[Token]) -> set[str]:
    """Letters between marks, or in brackets, that may be the whole answer."""
    found = set()
    for i, token in enumerate(tokens):
        if not token.is_letter or _abbreviated(tokens, i) or _denied(tokens, i):
            continue
        before = i
        while before and tokens[before - 1].text in OPENERS:
            before -= 1
        # A label that leads to an answer is a cue, and these have been looked for: any other leads elsewhere.
        if (before and tokens[before - 1].text == ":") or ruled_out(tokens, i) or asked(tokens, i):
            continue
        led_in = i == 0 or tokens[i - 1].text in _LEADS_IN
        if (token.text.isupper() and led_in and _stands(tokens, i, cued=False)) or (
            _bracketed(tokens, i) and (token.text.isupper() or not _is_word(token))
        ):
            found.add(token.text.upper())
    return found
