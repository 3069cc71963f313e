"""Codes and names of countries, tags of languages."""

from __future__ import annotations

import subprocess
import sys

import pytest

from isogloss.errors import SettingError, UnknownNameError
from isogloss.locale import COUNTRY_CODES, country_code, country_name, language_tag


@pytest.mark.parametrize(("text", "code"), [("cl", "CL"), (" Mx ", "MX"), ("NA", "NA"), ("no", "NO")])
def test_a_code_is_folded_to_upper_case(text, code):
    assert country_code(text) == code


def test_there_are_249_assigned_codes():
    assert len(COUNTRY_CODES) == 249


def test_an_unknown_code_is_told_with_near_ones_and_the_way_to_add_it():
    with pytest.raises(UnknownNameError, match=r"no country named 'CLL'; did you mean 'CL'.*places file"):
        country_code("CLL")


def test_a_country_given_by_name_is_answered_with_its_code():
    for name in ("Chile", "CHILE", "España", "Brasil"):
        with pytest.raises(UnknownNameError, match=r"did you mean '(CL|ES|BR)'"):
            country_code(name)


def test_names_are_in_the_language_asked_for():
    assert country_name("DO", "es") == "República Dominicana"
    assert country_name("BR", "en") == "Brazil"
    assert country_name("ES", "pt-BR") == "Espanha"


def test_a_language_without_names_gives_the_code():
    assert country_name("CL", "qab") == "CL"


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("es", "es"),
        ("ES-cl", "es-CL"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("es-419", "es-419"),
        ("ca-VALENCIA", "ca-valencia"),
    ],
)
def test_a_language_tag_gets_its_usual_case(text, tag):
    assert language_tag(text) == tag


def test_what_is_no_language_tag_is_an_error():
    with pytest.raises(SettingError, match="did you mean 'es-CL'"):
        language_tag("es_CL")
    for text in ("", "Spanish", "e", "es-"):
        with pytest.raises(SettingError, match="BCP 47"):
            language_tag(text)


def test_importing_locale_loads_no_babel():
    code = "import sys, isogloss.locale; print('babel' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
