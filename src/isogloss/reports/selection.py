"""`--where`: which estimates to show, e.g. `country=CL|AR,measure=f1`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from isogloss.errors import SettingError
from isogloss.records import Estimate
from isogloss.registry import unknown_name
from isogloss.reports.estimates import GROUP_KEYS, group_keys

FIELDS = ("study", "measure")


def where(estimates: Sequence[Estimate], expression: str) -> list[Estimate]:
    """Estimates that fulfil all conditions of an expression.

    Parameters
    ----------
    estimates : sequence of Estimate
    expression : str
        Conditions joined by commas: `key=word`, `key!=word`; `|` stands between words of which any may hold. A key is
        `study`, `measure` or a group key. Nothing after `=` means "without this key": `country=` gives the estimates
        over all countries. Empty: everything.

    Raises
    ------
    SettingError
        For a condition without `=`.
    UnknownNameError
        For a key or a word that no estimate has.
    """
    chosen = list(estimates)
    for key, words, wanted in parse_where(expression):
        known = (*FIELDS, *group_keys(estimates))
        if key not in known:
            if key in GROUP_KEYS and words == {""}:
                continue
            raise unknown_name("column", key, known, hint=f"in --where {expression!r}")
        present = {_word(estimate, key) for estimate in estimates}
        for word in sorted(words - present - {""}):
            raise unknown_name(key, word, present - {""}, hint=f"in --where {expression!r}")
        chosen = [estimate for estimate in chosen if (_word(estimate, key) in words) is wanted]
    return chosen


def parse_where(expression: str) -> list[tuple[str, frozenset[str], bool]]:
    """Conditions as (key, words, whether one of them must hold). A comma inside `spearman(x,y)` doesn't part."""
    conditions = []
    for part in re.split(r",(?=\s*\w+\s*!?=)", expression):
        if not part.strip():
            continue
        match = re.fullmatch(r"\s*(\w+)\s*(!?)=(.*)", part, re.DOTALL)
        if match is None:
            raise SettingError(
                f"can't read {part.strip()!r} in --where; expected key=word, e.g. 'country=CL,measure=f1'"
            )
        key, negated, words = match.groups()
        conditions.append((key, frozenset(word.strip() for word in words.split("|")), not negated))
    return conditions


def _word(estimate: Estimate, key: str) -> str:
    if key == "study":
        return estimate.study
    if key == "measure":
        return estimate.measure
    return estimate.group.get(key, "")
