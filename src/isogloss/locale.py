"""Countries (ISO 3166-1 alpha-2) and languages (BCP 47): checks and names.

A country is never a stand-in for a language. Names come from CLDR by way of Babel, which is imported only when
a name is asked for.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import TypeVar

from isogloss.errors import SettingError, UnknownNameError

# Officially assigned ISO 3166-1 alpha-2 codes. Made-up or user-assigned codes (XK) go through a places file.
_CODES = """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
    CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR
    GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO
    JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR
    MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO
    RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV
    TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
"""
T = TypeVar("T")
COUNTRY_CODES = frozenset(_CODES.split())

HINT = "a code that isn't in ISO 3166-1 needs a places file (columns 'code' and 'name')"

_TAG = re.compile(
    r"(?P<language>[A-Za-z]{2,3})"
    r"(?:-(?P<script>[A-Za-z]{4}))?"
    r"(?:-(?P<region>[A-Za-z]{2}|[0-9]{3}))?"
    r"(?P<variants>(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*)"
    r"(?P<private>(?:-[xX](?:-[A-Za-z0-9]{1,8})+)?)"
)


def country_code(text: str) -> str:
    """Bring a country code to its usual form: `cl` → `CL`.

    Parameters
    ----------
    text : str
        ISO 3166-1 alpha-2 code in any case, white space around it set aside.

    Raises
    ------
    UnknownNameError
        For a code that ISO 3166-1 doesn't assign; near codes are offered, and the code of a country given by name.
    """
    code = text.strip().upper()
    if code in COUNTRY_CODES:
        return code
    raise UnknownNameError(f"no country named {text.strip()!r}; {advice(code)}{HINT}")


def advice(text: str) -> str:
    """Which code was perhaps meant: `did you mean 'CL'?; `, or nothing."""
    near = sorted(_codes_of_name(text)) if len(text) > 3 else difflib.get_close_matches(text, COUNTRY_CODES, n=2)
    return "did you mean " + " or ".join(repr(code) for code in near) + "?; " if near else ""


def country_name(code: str, language: str) -> str:
    """Name of a country in a language.

    Parameters
    ----------
    code : str
        ISO 3166-1 alpha-2, upper case.
    language : str
        BCP 47 tag. The name of the tag's language is taken where CLDR has none for the whole tag.

    Returns
    -------
    str
        The name; the code itself where CLDR has no name in that language.

    Raises
    ------
    UnknownNameError
        If `code` isn't an assigned code.
    """
    from babel import Locale, UnknownLocaleError

    code = country_code(code)
    tag = language_tag(language)
    for name in (tag, tag.partition("-")[0]):
        try:
            names = Locale.parse(name, sep="-").territories
        except (UnknownLocaleError, ValueError):
            continue
        if code in names:
            return str(names[code])
    return code


def language_tag(text: str) -> str:
    """Check a BCP 47 tag and bring it to its usual case: `ES-cl` → `es-CL`.

    The form is checked (language, script, region, variants, private use), not whether such a language exists.

    Raises
    ------
    SettingError
        If the text isn't such a tag; `es_CL` is answered with `es-CL`.
    """
    found = _TAG.fullmatch(text.strip())
    if found is None:
        mended = text.strip().replace("_", "-")
        near = f"; did you mean {language_tag(mended)!r}?" if _TAG.fullmatch(mended) else ""
        raise SettingError(f"{text!r} is not a language tag (BCP 47, such as 'es' or 'es-CL'){near}")
    parts = [found["language"].lower()]
    if found["script"]:
        parts.append(found["script"].title())
    if found["region"]:
        parts.append(found["region"].upper())
    return "-".join(parts) + found["variants"].lower() + found["private"].lower()


def by_language(table: Mapping[str, T], tag: str) -> T | None:
    """What a table has for a BCP 47 tag or its main part; None where it has nothing (or something empty) for either."""
    return table.get(tag) or table.get(tag.split("-")[0]) or None


def _codes_of_name(name: str) -> set[str]:
    """Codes of the countries that are called `name` in English, Spanish or Portuguese, in any case."""
    from babel import Locale

    folded = name.casefold()
    found = set()
    for language in ("en", "es", "pt"):
        for code, known in Locale(language).territories.items():
            if code in COUNTRY_CODES and known.casefold() == folded:
                found.add(code)
    return found
