"""Text with named fields."""

from __future__ import annotations

import pytest

from isogloss.errors import SettingError
from isogloss.prompts import Template


def test_fields_are_filled_in_and_braces_in_values_mean_nothing():
    template = Template("{a} and {b}, {a} {{not a field}}", name="t")
    assert template.fields == {"a", "b"}
    assert template.render({"a": "{b}", "b": "2"}) == "{b} and 2, {b} {not a field}"


def test_a_text_without_fields_is_itself():
    assert Template("plain", name="t").render({}) == "plain"


def test_a_missing_field_is_an_error():
    with pytest.raises(SettingError, match="template 't': no value for field 'b'"):
        Template("{a} {b}", name="t").render({"a": "1"})


def test_an_unused_value_is_an_error():
    with pytest.raises(SettingError, match="template 't': no field for value 'c'"):
        Template("{a}", name="t").render({"a": "1", "c": "2"})


@pytest.mark.parametrize("text", ["{", "}", "{a", "{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a:>8}"])
def test_anything_but_a_plain_name_in_braces_is_an_error(text):
    with pytest.raises(SettingError, match="template 't'"):
        Template(text, name="t")
