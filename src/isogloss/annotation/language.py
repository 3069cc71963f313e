"""What a sheet needs to know of its language, from CLDR by way of Babel."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from babel import Locale


@cache
def cldr(tag: str) -> Locale | None:
    """What CLDR has of a language tag or, failing that, of its language; None where it has neither."""
    from babel import Locale, UnknownLocaleError

    for name in (tag, tag.partition("-")[0]):
        try:
            return Locale.parse(name, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return None


def is_right_to_left(tag: str, sample: str = "") -> bool:
    """Whether a language is written from right to left; of one that CLDR doesn't know, as its `sample` begins."""
    known = cldr(tag)
    if known is not None:
        return known.character_order == "right-to-left"
    strong = (kind for sign in sample if (kind := unicodedata.bidirectional(sign)) in ("L", "R", "AL"))
    return next(strong, "L") != "L"


def list_separator(tag: str) -> str:
    """What a spreadsheet set to a language takes for the border of cells: ";" where the decimal sign is a comma."""
    known = cldr(tag)
    if known is None:
        return ","
    symbols = known.number_symbols
    return ";" if symbols.get("latn", symbols).get("decimal") == "," else ","


@cache
def months(tag: str) -> frozenset[str]:
    """Names of months, whole and short, in a language and in English; case, accents and final periods aside."""
    names: set[str] = set()
    for known in (cldr(tag), cldr("en")):
        for context in known.months.values() if known is not None else ():
            for width in ("wide", "abbreviated"):
                names.update(folded(str(name)).rstrip(".") for name in context.get(width, {}).values())
    return frozenset(names | {name[:3] for name in names} | {name[:4] for name in names})


def folded(text: str) -> str:
    """A short text without case, accents and outer white space, for comparison."""
    bare = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    return " ".join(bare.casefold().split())
