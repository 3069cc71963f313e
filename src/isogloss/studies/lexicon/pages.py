"""A page per item: what is said where, and what each informant chose, missed and added."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from isogloss.records import Dataset
from isogloss.reports import Pages
from isogloss.studies.lexicon.tally import MULTIPLE_CHOICE, Layout, Series, lay_out, read_series
from isogloss.studies.lexicon.view import FORMAT_TITLES, View, Voice

if TYPE_CHECKING:
    import pandas as pd

NOT_ASKED, NOT_CHOSEN, CHOSEN, NO_VALUE = b".01x"
PLUS, MINUS, UNLABELLED = b"+-?"
MOST_LAYERS = 24


def item_pages(answers: pd.DataFrame, dataset: Dataset, view: View) -> Pages | None:
    """Pages of all items that anyone was asked about; None where nobody was asked.

    The strict reading of each informant, and the log-probability reading where there is one.
    """
    layout = lay_out(dataset)
    asked = [one for one in read_series(answers, layout) if one.reading in ("strict", "logprob")]
    asked.sort(key=lambda one: (Voice(one.model, one.reading).is_scripted, one.format != MULTIPLE_CHOICE, one.model))
    if not asked:
        return None
    layers = [(_title(one), marks(one, layout)) for one in asked[:MOST_LAYERS]]
    reference = np.where(layout.plus, PLUS, np.where(layout.labelled, MINUS, UNLABELLED)).astype(np.uint8)
    items = np.unique(np.concatenate([one.item for one in asked]))
    pages = []
    first = np.searchsorted(layout.item_of, np.arange(len(dataset.items) + 1))
    for number in items.tolist():
        item, rows = dataset.items[number], slice(first[number], first[number + 1])
        pages.append(
            {
                "id": item.id,
                "title": item.fields.get("gloss") or item.text or item.id,
                "text": item.text,
                "facts": {name: words for name, words in item.fields.items() if name != "gloss" and words},
                "rows": [option.text for option in item.options],
                "columns": list(layout.countries),
                "reference": _strings(reference[rows]),
                "layers": [{"title": title, "cells": _strings(cells[rows])} for title, cells in layers
                           if (cells[rows] != NOT_ASKED).any()],
            }
        )  # fmt: skip
    note = (
        "Readings: strict, and by log-probability where asked. Where a question was put more than once, a variant "
        "counts as chosen when it was chosen at least half of the times."
    )
    return Pages(
        "items",
        "Item by item",
        tuple(pages),
        caption="What is said where, and what each informant chose, missed and added.",
        note=note,
        column_names=view.names(),
    )


def _title(series: Series) -> str:
    return f"{Voice(series.model, series.reading).title}, {FORMAT_TITLES[series.format]}"


def marks(series: Series, layout: Layout) -> NDArray[np.uint8]:
    """One character per option and country, (n_options, n_countries): not asked, not chosen, chosen, no value."""
    n_options, n = len(layout.item_of), len(layout.countries)
    if series.format == MULTIPLE_CHOICE:
        shown, country = series.shown.option, series.country[series.shown.row]
        scored = series.scored[series.shown.row]
        chosen = series.chosen.option * n + series.country[series.chosen.row]
    else:
        shown, country, scored = series.option, series.country, series.scored
        chosen = (series.option * n + series.country)[series.yes & series.scored]
    cell = shown * n + country
    size = n_options * n
    times, times_asked = np.bincount(cell[scored], minlength=size), np.bincount(cell, minlength=size)
    times_chosen = np.bincount(chosen, minlength=size)
    found = np.full(size, NOT_ASKED, dtype=np.uint8)
    found[times_asked > 0] = NO_VALUE
    found[times > 0] = NOT_CHOSEN
    found[(times > 0) & (2 * times_chosen >= times)] = CHOSEN
    return found.reshape(n_options, n)


def _strings(cells: NDArray[np.uint8]) -> list[str]:
    """One string per column; empty where nothing was asked."""
    columns = [column.tobytes().decode("ascii") for column in np.ascontiguousarray(cells.T)]
    return ["" if set(column) == {"."} else column for column in columns]
