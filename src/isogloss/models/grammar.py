"""Grammars (GBNF, the notation of llama.cpp) that allow only replies of a prompt's form."""

from __future__ import annotations

import json
from functools import lru_cache

from isogloss.errors import DataError
from isogloss.records import AnswerForm

MOST_CHARACTERS = 240
"""Of one text in a row; without an end a small model may never close its quotes."""


@lru_cache(maxsize=1024)
def grammar_of(form: AnswerForm) -> str | None:
    """The grammar of a form; None for free text.

    A list of numbers is ascending, so none can come twice and every list ends: `1/3/12`.

    Raises
    ------
    DataError
        For a form without anything to choose, without keys or rows, or with more letters than the alphabet has.
    """
    match form.kind:
        case "one_of":
            if not form.choices:
                raise DataError("a form of kind 'one_of' needs choices, got none")
            return _alternatives(form.choices)
        case "letter":
            if not 1 <= form.n_options <= 26:
                raise DataError(f"a form of kind 'letter' needs 1 to 26 options, got {form.n_options}")
            return _alternatives(tuple(chr(ord("A") + k) for k in range(form.n_options)))
        case "number_list":
            if form.n_options < 1:
                raise DataError(f"a form of kind 'number_list' needs at least 1 option, got {form.n_options}")
            return _ascending(form.n_options, form.max_chosen)
        case "rows":
            if form.n_options < 1 or not form.choices:
                raise DataError("a form of kind 'rows' needs keys and at least 1 row")
            return _rows(form.choices, form.n_options)
        case "text" | "next_sentence" | "shared_tokens":
            return None


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _alternatives(choices: tuple[str, ...]) -> str:
    return "root ::= " + " | ".join(_literal(choice) for choice in choices)


def _rows(keys: tuple[str, ...], n_rows: int) -> str:
    """A JSON list of one to `n_rows` objects with these keys, each a text without escapes."""
    cells = ' ", " '.join(f"{_literal(json.dumps(key, ensure_ascii=False) + ': ')} text" for key in keys)
    more = f' (", " row){{0,{n_rows - 1}}}' if n_rows > 1 else ""
    return "\n".join(
        (
            f'root ::= "[" row{more} "]"',
            f'row ::= "{{" {cells} "}}"',
            rf'text ::= "\"" [^"\\\x00-\x1F\x7F]{{1,{MOST_CHARACTERS}}} "\""',
        )
    )


def _ascending(n_options: int, max_chosen: int | None) -> str:
    """Lists of at most `max_chosen` ascending numbers from 1 to `n_options`.

    Rule `f-i` stands for the lists whose numbers are all at least i: number i with or without more after it, or a list
    from i + 1 on. That is one rule a number; where the length is limited, one a number for each length left.
    """
    if max_chosen is None or max_chosen >= n_options:
        rules = ["root ::= f-1"]
        rules += [f'f-{i} ::= "{i}" ("/" f-{i + 1})? | f-{i + 1}' for i in range(1, n_options)]
        rules.append(f'f-{n_options} ::= "{n_options}"')
        return "\n".join(rules)
    if max_chosen < 1:
        raise DataError(f"a form of kind 'number_list' lets at least 1 be chosen, got max_chosen={max_chosen}")
    rules = [f"root ::= f-1-{max_chosen}"]
    for left in range(max_chosen, 0, -1):
        for i in range(1, n_options):
            more = f' ("/" f-{i + 1}-{left - 1})?' if left > 1 else ""
            rules.append(f'f-{i}-{left} ::= "{i}"{more} | f-{i + 1}-{left}')
        rules.append(f'f-{n_options}-{left} ::= "{n_options}"')
    return "\n".join(rules)
