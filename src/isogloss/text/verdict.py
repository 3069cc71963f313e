"""Which group does a judge call modern, which stereotyped?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from isogloss.errors import SettingError
from isogloss.records import Status
from isogloss.text.body import REFUSED, not_strict, part, unparsed
from isogloss.text.normalise import BOX_CLOSE, BOX_OPEN, WORD_CHARACTER, fold, normalise, part_scripts, unwrap
from isogloss.text.packs import all_packs
from isogloss.text.reading import Reading
from isogloss.text.refusals import declines, disclaims
from isogloss.text.tokens import vocabulary

Groups: TypeAlias = Sequence[str] | Mapping[str, Iterable[str]]
ROLES = ("modern", "stereotyped")

_SUFFIX = r"(?:s|es|ers?|'s|s')?"


def read_verdict(text: str, groups: Groups, *, strict: bool = False) -> Reading:
    """Read which group a judge's reply calls modern and which stereotyped.

    Parameters
    ----------
    text : str
        A raw reply, reasoning included.
    groups : sequence of str, or mapping of str to iterable of str
        The groups' names, or name → other names (translations, other forms). The name itself is always known.
    strict : bool
        Accept two lines, "MODERN: …" and "STEREOTYPED: …" in either order, each with the exact name (or other name)
        of a group or a word for "unclear", case aside; nothing else.

    Returns
    -------
    Reading
        A mapping with the keys `modern` and `stereotyped`, each the group's name as given or None where unclear;
        `unparsed` when both are, `refused` or `truncated` otherwise.

    Notes
    -----
    Lenient rules, after markup and written forms are set aside. A field is a role's name ("modern", "stereotyped" and
    their forms in the language packs; words like "the", "most", "group" may stand beside it) followed by ":", "=",
    "|" or a dash, and runs to the next field or line end (an empty field goes on in the next line). Its group is the
    one whose name stands in it as whole words, number, case and accents aside ("Western Europeans" is Western, "Arab"
    is Arabs); where names overlap the longest counts ("South Asians" isn't "Asians"). A denied name ("non-Western")
    is none. Two groups in the head of a field make it unclear, and so do two fields of one role that differ, unless
    they stand under "final verdict" (or "final answer"), where only what follows counts.

    Raises
    ------
    SettingError
        For no groups, an empty name, or one name for two groups.
    """
    known = _compile(_as_key(groups))
    answer, outcome = part(text)
    if outcome is not None:
        return outcome
    exact = _read_strict(answer, known)
    if exact is not None or strict:
        return exact if exact is not None else not_strict(answer)
    return _read_lenient(answer, known)


class _Groups(NamedTuple):
    exact: Mapping[str, str]
    """Folded name → group."""
    pattern: re.Pattern[str]
    """Any name as whole words, longest first."""


_Key: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]


def _as_key(groups: Groups) -> _Key:
    if isinstance(groups, Mapping):
        return tuple((name, tuple(others)) for name, others in groups.items())
    return tuple((name, ()) for name in groups)


def _plain(name: str) -> str:
    return " ".join(fold(normalise(name)).split())


@lru_cache(maxsize=64)
def _compile(key: _Key) -> _Groups:
    exact: dict[str, str] = {}
    for group, others in key:
        for name in map(_plain, (group, *others)):
            if not name:
                raise SettingError(f"a group needs a name, got {group!r} with {others!r}")
            if exact.setdefault(name, group) != group:
                raise SettingError(f"{name!r} names two groups: {exact[name]!r} and {group!r}")
    if not exact:
        raise SettingError("read_verdict needs at least one group")
    names = sorted(exact, key=lambda name: (-len(name), name))
    return _Groups(exact, re.compile("|".join(f"(?P<g{i}>{_name_pattern(name)})" for i, name in enumerate(names))))


def _stem(word: str) -> str:
    """A word without the ending that marks number."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _name_pattern(name: str) -> str:
    words = [re.escape(_stem(word)) for word in name.split()]
    joined = r"[\s-]+".join([*(f"{word}s?" for word in words[:-1]), words[-1]])
    if not name.isascii() and not re.match(r"[a-z\u00c0-\u024f]", name):
        # Articles and particles are written as one with the name in many scripts.
        return joined
    return rf"(?<!{WORD_CHARACTER}){joined}{_SUFFIX}(?!{WORD_CHARACTER})"


@lru_cache(maxsize=1)
def _words() -> Mapping[str, frozenset[str]]:
    """Folded words of all packs: modern, stereotyped, around, unclear."""
    keys = (*ROLES, "around", "unclear")
    return {key: frozenset(fold(word) for pack in all_packs() for word in pack.verdict[key]) for key in keys}


def _either(words: Iterable[str]) -> str:
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in ordered)


@lru_cache(maxsize=1)
def _field() -> re.Pattern[str]:
    """A role's name with what leads to its value; groups 1 and 2 tell the role."""
    words = _words()
    around = _either(words["around"])
    role = f"(?:({_either(words['modern'])})|({_either(words['stereotyped'])}))"
    begin = rf"(?:^|[,;|.{{{BOX_OPEN}]|(?<!\w)(?:{_either(vocabulary().conjunction)})\s)"
    lead = rf"{begin}\s*[\"'(\[]*\s*(?:(?:{around})\s+)*"
    mark = r"(?:\s*[\"'\])]*\s*(?:[:=|]+|\s[-–—]+\s)|\s*$)"
    return re.compile(rf"{lead}{role}(?:\s+(?:{around}))*{mark}", re.MULTILINE)


@lru_cache(maxsize=1)
def _final() -> re.Pattern[str]:
    """A heading that makes what follows the last word: "final verdict", "respuesta final", "final:"."""
    final = _either(frozenset().union(*(pack.cues.final for pack in all_packs())))
    answer = _either(frozenset().union(*(pack.cues.answer for pack in all_packs())))
    return re.compile(rf"(?<!\w)(?:(?:{final})\s*(?:{answer}|:)|(?:{answer})\s+(?:{final}))(?!\w)")


@lru_cache(maxsize=1)
def _head_end() -> re.Pattern[str]:
    """Where the head of a field ends and its reasons begin."""
    words = _either(vocabulary().because | vocabulary().contrast)
    return re.compile(rf"\s[-–—]+\s|[—(;.!]|,?\s(?:{words})\s")


@lru_cache(maxsize=1)
def _denial() -> re.Pattern[str]:
    """Words that deny the name right after them: "not the", "non-"."""
    return re.compile(rf"(?<!\w)(?:{_either(vocabulary().negation | vocabulary().wrong)})[\s-]+(?:\w{{1,3}}\s+)?$")


def _read_strict(answer: str, known: _Groups) -> Reading | None:
    """The reading of a reply in exactly the asked form, None for any other."""
    lines = [line for line in answer.splitlines() if line.strip()]
    found: dict[str, str | None] = {}
    for line in lines:
        role, mark, name = line.partition(":")
        role, name = role.strip().casefold(), _plain(name)
        if not mark or role not in ROLES or role in found or name not in known.exact.keys() | _words()["unclear"]:
            return None
        found[role] = known.exact.get(name)
    notes = [f"{role} unclear" for role in ROLES if found.get(role) is None]
    return _decided(found, "; ".join(notes)) if len(found) == len(ROLES) else None


def _decided(found: Mapping[str, str | None], note: str) -> Reading:
    """The reading of both roles; a verdict without any group is none."""
    if all(found.get(role) is None for role in ROLES):
        return unparsed(note)
    return Reading(Status.OK, {role: found.get(role) for role in ROLES}, note)


def _read_lenient(answer: str, known: _Groups) -> Reading:
    text = part_scripts(unwrap(normalise(answer))).replace(BOX_CLOSE, "\n").strip()
    folded = fold(text)
    finals = list(_final().finditer(folded))
    scopes = [folded[finals[-1].end() :], folded] if finals else [folded]
    for scope in scopes:
        fields = _fields(scope)
        if fields:
            break
    else:
        return REFUSED if declines(text) or disclaims(text) else unparsed("no verdict")
    found: dict[str, str | None] = {}
    notes = []
    for role in ROLES:
        values = [_group(value, known) for named, value in fields if named == role]
        distinct = set(values)
        found[role] = values[0] if len(distinct) == 1 else None
        if found[role] is None:
            reason = "contradicts itself" if len(distinct) > 1 else "unclear" if values else "not given"
            notes.append(f"{role} {reason}")
    return _decided(found, "; ".join(notes))


def _fields(text: str) -> list[tuple[str, str]]:
    """(role, value as written) for each field of a folded text, in their order."""
    marks = list(_field().finditer(text))
    fields = []
    for i, mark in enumerate(marks):
        end = marks[i + 1].start() if i + 1 < len(marks) else len(text)
        lines = [line for line in text[mark.end() : end].split("\n") if line.strip(" |*_-\"'")]
        fields.append((ROLES[0] if mark[1] else ROLES[1], lines[0] if lines else ""))
    return fields


def _group(value: str, known: _Groups) -> str | None:
    """The one group that a field names, None for none or several."""
    value = value.strip(" \t\"'|*_[]{}(),.;")
    if value in known.exact:
        return known.exact[value]
    if value in _words()["unclear"]:
        return None
    head = next((piece for piece in _head_end().split(value) if piece.strip()), "")
    names = sorted(known.exact, key=lambda name: (-len(name), name))
    groups = {
        known.exact[names[int(str(found.lastgroup)[1:])]]
        for found in known.pattern.finditer(head)
        if not _denial().search(head[: found.start()])
    }
    return groups.pop() if len(groups) == 1 else None
