"""`--where` picks estimates, and says what it can't find."""

from __future__ import annotations

import pytest

from isogloss.errors import SettingError, UnknownNameError
from isogloss.records import Estimate
from isogloss.reports import where
from isogloss.reports.selection import parse_where


@pytest.mark.parametrize(
    ("expression", "rows"),
    [
        ("", [0, 1, 2]),
        ("measure=f1", [0, 2]),
        ("measure=f1,country=CL", [2]),
        ("country=CL|NO", [1, 2]),
        ("country!=CL", [0, 1]),
        ("baseline=", [0, 2]),
        ("writer=", [0, 1, 2]),
        (" study = toy , model = a/one ", [0, 1]),
    ],
)
def test_conditions_are_joined(expression, rows, estimates):
    assert where(estimates, expression) == [estimates[row] for row in rows]


def test_a_comma_inside_a_measure_does_not_part():
    assert parse_where("measure=spearman(f1,share_plus),country=CL") == [
        ("measure", frozenset({"spearman(f1,share_plus)"}), True),
        ("country", frozenset({"CL"}), True),
    ]


@pytest.mark.parametrize(
    ("expression", "error", "message"),
    [
        ("country:CL", SettingError, "can't read 'country:CL'"),
        ("contry=CL", UnknownNameError, "no column named 'contry'; did you mean 'country'"),
        ("country=CX", UnknownNameError, "no country named 'CX'"),
        ("measure=f2", UnknownNameError, "no measure named 'f2'; there are delta_f1, f1"),
    ],
)
def test_what_cannot_be_found_is_named(expression, error, message, estimates: list[Estimate]):
    with pytest.raises(error, match=message):
        where(estimates, expression)
