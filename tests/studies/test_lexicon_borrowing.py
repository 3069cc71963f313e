"""Answers as one country, scored on the labels of another; item pages."""

from types import SimpleNamespace

import pandas as pd
import pytest

from isogloss.metrics import adjusted_jaccard
from isogloss.records import Dataset, Item, Option
from isogloss.studies.lexicon.borrowing import closest, cross_table
from isogloss.study import ANSWER_COLUMNS

SETTINGS = SimpleNamespace(resamples=100, confidence=0.95)
CODES = ("AA", "BB")
LABELS = {"one": ["+-", "-+", "--", "+?"], "two": ["++", "-+", "+-"]}  # one line per variant: AA, BB


def made():
    items = tuple(
        Item(
            id=name,
            text=f"thing {name}",
            fields={"gloss": name.upper()},
            options=tuple(
                Option(
                    id=f"{name}.{k}",
                    text=f"{name}-{k}",
                    labels={code: float(mark == "+") for code, mark in zip(CODES, row, strict=True) if mark != "?"},
                )
                for k, row in enumerate(rows, start=1)
            ),
        )
        for name, rows in LABELS.items()
    )
    places = tuple(
        {"code": code, "name": code, "area": area} for code, area in zip(CODES, ("North", None), strict=True)
    )
    return Dataset(name="made", items=items, tables={"places": places})


def answers(dataset, says):
    """Answers to every question; the informant of `code` says what is + in `says[code]`."""
    rows = []
    for item in dataset.items:
        order = tuple(option.id for option in item.options)
        for code in CODES:
            chosen = tuple(k for k, o in enumerate(item.options, start=1) if o.labels.get(says[code]) == 1)
            rows.append((item.id, code, "multiple_choice", None, order, chosen))
            rows += [
                (item.id, code, "yes_no", option.id, (), option.labels.get(says[code]) == 1)
                for option in item.options
                if code in option.labels
            ]
    frame = pd.DataFrame(rows, columns=["item_id", "country", "format", "option", "order", "value"], dtype=object)
    return frame.assign(
        model="m", reading="strict", status="ok", repeat=1, coder="c@1", language="es", wording="es", asked_by="text",
        factors=None, prompt_id="", note="",
    )[list(ANSWER_COLUMNS)]  # fmt: skip


DATA = made()
BORROWED = answers(DATA, {"AA": "AA", "BB": "AA"})  # whoever is asked, the words are AA's


def cell(table, format, informant, labels):
    [row] = [row for row in table if (row["format"], row["informant"], row["labels"]) == (format, informant, labels)]
    return row


def test_borrowed_words_fit_the_country_they_come_from():
    table = cross_table(BORROWED, DATA, SETTINGS, 0)
    assert len(table) == 2 * 2 * 2
    assert cell(table, "yes_no", "BB", "AA")["value"] == 1
    assert cell(table, "multiple_choice", "BB", "AA")["value"] == pytest.approx(1)
    # BB on its own labels: yes to one.1 (-), two.1 (+), two.3 (-); + are one.2, two.1, two.2
    own = cell(table, "yes_no", "BB", "BB")
    assert own["value"] == pytest.approx(2 / (2 + 2 + 2))
    assert own["youden_j"] == pytest.approx(1 / 3 - 2 / 3)
    assert (own["n_scored"], own["n_items"], own["measure"]) == (6, 2, "f1")
    choice = cell(table, "multiple_choice", "BB", "BB")
    assert choice["value"] == pytest.approx((adjusted_jaccard(4, 1, 2, 0) + adjusted_jaccard(3, 2, 2, 1)) / 2)
    assert (choice["n_scored"], choice["youden_j"], choice["measure"]) == (2, None, "adjusted_jaccard")
    fits = {(fit["format"], fit["informant"]): fit for fit in closest(table)}
    assert fits["yes_no", "BB"]["closest"] == ["AA"]
    assert fits["yes_no", "BB"]["own_rank"] == 2
    assert fits["multiple_choice", "AA"] == {
        "model": "m", "format": "multiple_choice", "reading": "strict", "measure": "adjusted_jaccard",
        "informant": "AA", "closest": ["AA"], "value": pytest.approx(1), "own": pytest.approx(1), "own_rank": 1,
        "n_compared": 2,
    }  # fmt: skip


def test_cells_unlabelled_in_the_other_country_are_left_out():
    table = cross_table(BORROWED, DATA, SETTINGS, 0)
    assert cell(table, "yes_no", "AA", "AA")["n_scored"] == 7
    assert cell(table, "yes_no", "AA", "BB")["n_scored"] == 6


def test_silence_has_no_value_anywhere():
    silent = BORROWED.assign(status="refused", value=None)
    table = cross_table(silent, DATA, SETTINGS, 0)
    assert len(table) == 8
    assert all(row["value"] is None and row["low"] is None and row["n_scored"] == 0 for row in table)
    assert closest(table) == []
    assert cross_table(silent.iloc[:0], DATA, SETTINGS, 0) == []


def test_the_diagonal_is_what_the_estimates_say():
    from isogloss.studies.lexicon.estimate import estimate

    table = cross_table(BORROWED, DATA, SETTINGS, 0)
    for one in estimate(BORROWED, DATA, SETTINGS, 0):
        if one.measure in ("f1", "adjusted_jaccard") and {"model", "country"} <= set(one.group):
            row = cell(table, one.group["format"], one.group["country"], one.group["country"])
            assert row["value"] == pytest.approx(one.value)
            assert row["low"] == (None if one.low is None else pytest.approx(one.low))
            assert (row["n_items"], row["n_scored"]) == (one.n_items, one.n_scored)
