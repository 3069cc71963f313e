"""Answers as arrays: what was asked where, what was answered, what is so.

The estimates never see a row of the answers table; they work on whole-number codes made here, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.errors import DataError
from isogloss.metrics import adjusted_jaccard, expected_adjusted_jaccard
from isogloss.records import Dataset, Status

if TYPE_CHECKING:
    import pandas as pd

IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]

YES_NO, MULTIPLE_CHOICE = "yes_no", "multiple_choice"
STATUSES = tuple(Status)
OK = STATUSES.index(Status.OK)

PLUS_CUT = 0.5
"""A label of at least this share is a +."""
BASELINE_SIZE = 3
"""How many of the listed options the multiple-choice baseline takes."""
YES_CUT = 0.5
"""A graded yes above this is a yes."""

YES_NO_SUMS = (
    "true_plus", "false_plus", "false_minus", "true_minus",
    "unique_yes", "unique_asked", "elsewhere_yes", "elsewhere_asked",
)  # fmt: skip
"""What one item brings to a country's yes-no measures; "unique": variants that are + in that country only."""
CHOICE_SUMS = (
    "questions", "adjusted", "adjusted_first_order", "baseline", "baseline_first_order", "gold_size", "answer_size",
    "unique_yes", "unique_asked", "elsewhere_yes", "elsewhere_asked",
)  # fmt: skip
"""The same for multiple choice."""


@dataclass(frozen=True)
class Layout:
    """The data set as arrays: options × countries."""

    items: tuple[str, ...]
    countries: tuple[str, ...]
    areas: tuple[str, ...]
    area_of: IntArray
    """Index of each country's area, (n_countries,); -1 for none."""
    options: Mapping[str, int]
    """Option id → index, in the order of the data set."""
    item_of: IntArray
    """Index of each option's item, (n_options,)."""
    plus: BoolArray
    """Label is +, (n_options, n_countries)."""
    labelled: BoolArray
    """Label is + or -, (n_options, n_countries)."""

    @property
    def unique_to(self) -> IntArray:
        """The one country where an option is +, (n_options,); -1 where it is + in none or in several."""
        return np.where(self.plus.sum(axis=1) == 1, self.plus.argmax(axis=1), -1)


def lay_out(dataset: Dataset) -> Layout:
    """Arrays of a data set; countries come in the order of its places table."""
    places = dataset.tables.get("places", ())
    area_names = {str(row["code"]): row.get("area") for row in places}
    options = [(number, option) for number, item in enumerate(dataset.items) for option in item.options]
    named = dict.fromkeys(area_names)
    for _, option in options:
        named.update(dict.fromkeys(option.labels))
    countries = {code: number for number, code in enumerate(named)}
    areas = {str(area): 0 for area in area_names.values() if area}
    areas = {area: number for number, area in enumerate(areas)}
    labels = np.full((len(options), len(countries)), np.nan)
    for row, (_, option) in enumerate(options):
        for code, label in option.labels.items():
            labels[row, countries[code]] = label
    return Layout(
        items=tuple(item.id for item in dataset.items),
        countries=tuple(countries),
        areas=tuple(areas),
        area_of=np.array([areas.get(str(area_names.get(code)), -1) for code in countries], dtype=np.int64),
        options={option.id: row for row, (_, option) in enumerate(options)},
        item_of=np.array([number for number, _ in options], dtype=np.int64),
        plus=labels >= PLUS_CUT,
        labelled=~np.isnan(labels),
    )


@dataclass(frozen=True)
class Series:
    """All answers of one model to one format, as one reading has them; rows are answers."""

    model: str
    format: str
    reading: str
    coder: str
    item: IntArray
    country: IntArray
    status: IntArray
    """Index in `STATUSES`."""
    option: IntArray
    """Yes–no: the option asked about. Multiple choice: empty."""
    yes: BoolArray
    """Yes–no: answered yes (False where nothing is scored). Multiple choice: empty."""
    shown: Pairs
    """Multiple choice: the options listed in each answer's question, in order."""
    chosen: Pairs
    """Multiple choice: the options chosen, each once."""

    @property
    def scored(self) -> BoolArray:
        """Answers with a value."""
        scored: BoolArray = self.status == OK
        return scored


@dataclass(frozen=True)
class Pairs:
    """Options of rows, flat: `option[k]` belongs to `row[k]`; rows ascend."""

    row: IntArray
    option: IntArray

    def count(self, n_rows: int, mask: BoolArray | None = None) -> IntArray:
        """Number of options of each row (that fulfil `mask`), (n_rows,)."""
        return np.bincount(self.row if mask is None else self.row[mask], minlength=n_rows)

    def sums(self, n_rows: int, values: NDArray[np.bool_]) -> IntArray:
        """Sums over the options of each row of `values` (n_pairs, n_columns): (n_rows, n_columns)."""
        ends = np.searchsorted(self.row, np.arange(n_rows + 1))
        running = np.zeros((len(values) + 1, values.shape[1]), dtype=np.int64)
        np.cumsum(values, axis=0, out=running[1:])
        return running[ends[1:]] - running[ends[:-1]]


def read_series(answers: pd.DataFrame, layout: Layout) -> list[Series]:
    """Split an answers table (`study.ANSWER_COLUMNS`) by model, format and reading.

    Raises
    ------
    DataError
        For an answer that doesn't fit the data set: unknown item, option or country, an unlabelled cell,
        a position outside the list shown.
    """
    if answers.empty:
        return []
    groups = answers.groupby(["model", "format", "reading"], sort=True, observed=True)
    return [_series(frame, layout, *map(str, key)) for key, frame in groups]


def _series(frame: pd.DataFrame, layout: Layout, model: str, format: str, reading: str) -> Series:
    n, none = len(frame), np.empty(0, dtype=np.int64)
    item = _codes(frame["item_id"], {name: k for k, name in enumerate(layout.items)}, "item")
    country = _codes(frame["country"], {code: k for k, code in enumerate(layout.countries)}, "country")
    status = _codes(frame["status"], {str(status): k for k, status in enumerate(STATUSES)}, "status")
    coder = " + ".join(sorted(map(str, frame["coder"].unique())))
    scored = status == OK
    values = frame["value"].to_numpy()[scored].tolist()
    option, yes, shown, chosen = none, np.zeros(0, dtype=bool), Pairs(none, none), Pairs(none, none)
    if format == YES_NO:
        option = _codes(frame["option"], layout.options, "option")
        yes = np.zeros(n, dtype=bool)
        yes[scored] = _numbers(values) > YES_CUT
        if not layout.labelled[option, country].all():
            raise DataError("an answer is about a cell that is neither + nor - in the data set; score it with its own")
    elif format == MULTIPLE_CHOICE:
        shown = _shown(frame["order"].tolist(), layout)
        chosen = _chosen(values, np.flatnonzero(scored), shown, n)
    else:
        raise DataError(f"answers of format {format!r} can't be scored; there are {YES_NO!r} and {MULTIPLE_CHOICE!r}")
    return Series(model, format, reading, coder, item, country, status, option, yes, shown, chosen)


def _codes(column: pd.Series[str], known: Mapping[str, int], what: str) -> IntArray:
    """Code of each value of a column."""
    places, names = column.factorize()
    if (places < 0).any():
        raise DataError(f"an answer names no {what}")
    unknown = [str(name) for name in names if str(name) not in known]
    if unknown:
        raise DataError(f"an answer names {what} {unknown[0]!r}, which isn't in the data set")
    found: IntArray = np.array([known[str(name)] for name in names], dtype=np.int64)[places]
    return found


def _numbers(values: list[object]) -> FloatArray:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        strange = next(value for value in values if not isinstance(value, bool | float | int))
        raise DataError(f"a yes-no answer is true, false or a share, got {strange!r}") from None


def _flat(lists: Iterable[Iterable[object]], rows: IntArray) -> tuple[IntArray, list[object]]:
    """Row of each member of the lists, and the members in one list."""
    kept = [tuple(members) for members in lists]
    lengths = np.fromiter(map(len, kept), dtype=np.int64, count=len(kept))
    return np.repeat(rows, lengths), list(chain.from_iterable(kept))


def _shown(orders: list[tuple[str, ...]], layout: Layout) -> Pairs:
    row, names = _flat(orders, np.arange(len(orders)))
    try:
        option = np.fromiter(map(layout.options.__getitem__, names), dtype=np.int64, count=len(names))  # type: ignore[arg-type]
    except KeyError as error:
        raise DataError(f"an answer names option {error.args[0]!r}, which isn't in the data set") from None
    return Pairs(row, option)


def _chosen(values: list[object], rows: IntArray, shown: Pairs, n_rows: int) -> Pairs:
    try:
        row, numbers = _flat(values, rows)  # type: ignore[arg-type]
        position = np.array(numbers, dtype=np.int64)
    except (TypeError, ValueError):
        raise DataError("a multiple-choice answer is a list of positions, got another value") from None
    lengths = shown.count(n_rows)
    outside = (position < 1) | (position > lengths[row])
    if outside.any():
        at = int(np.flatnonzero(outside)[0])
        raise DataError(f"an answer chooses number {position[at]} of a list of {lengths[row[at]]}")
    starts = np.cumsum(lengths) - lengths
    place = np.unique(starts[row] + position - 1)  # a number named twice counts once
    return Pairs(shown.row[place], shown.option[place])


@dataclass(frozen=True)
class Questions:
    """Set sizes of scored multiple-choice answers; rows are answers."""

    item: IntArray
    country: IntArray
    n_options: IntArray
    gold_size: IntArray
    answer_size: IntArray
    overlap: IntArray


def questions(series: Series, layout: Layout) -> Questions:
    """The set sizes of a series' scored answers, the reference being the informant's own country."""
    n = len(series.item)
    shown, chosen = series.shown, series.chosen
    gold = shown.count(n, layout.plus[shown.option, series.country[shown.row]])
    overlap = chosen.count(n, layout.plus[chosen.option, series.country[chosen.row]])
    if not gold.all():
        at = int(np.flatnonzero(gold == 0)[0])
        where = f"item {layout.items[series.item[at]]!r} in {layout.countries[series.country[at]]!r}"
        raise DataError(f"an answer is about {where}, where no variant is +; score it with its own data set")
    k = series.scored
    return Questions(series.item[k], series.country[k], shown.count(n)[k], gold[k], chosen.count(n)[k], overlap[k])


def baseline_scores(n_options: IntArray, gold_size: IntArray) -> tuple[FloatArray, FloatArray]:
    """Adjusted Jaccard to expect of the first three of a shuffled list: exact, first-order; both (n_questions,)."""
    taken = np.minimum(BASELINE_SIZE, n_options)
    if n_options.size == 0:
        return np.empty(0), np.empty(0)
    exact = expected_adjusted_jaccard(n_options, gold_size, taken)
    return exact, expected_adjusted_jaccard(n_options, gold_size, taken, expectation="first_order")


def choice_scores(asked: Questions) -> tuple[FloatArray, FloatArray]:
    """Adjusted Jaccard of each answer: exact, first-order; both (n_questions,)."""
    if asked.item.size == 0:
        return np.empty(0), np.empty(0)
    sizes = (asked.n_options, asked.gold_size, asked.answer_size, asked.overlap)
    return adjusted_jaccard(*sizes), adjusted_jaccard(*sizes, expectation="first_order")


def sum_by_cell(item: IntArray, country: IntArray, layout: Layout, weights: FloatArray | None = None) -> FloatArray:
    """Number of rows, or sum of their weights, by item and country: (n_items, n_countries)."""
    shape = (len(layout.items), len(layout.countries))
    return np.bincount(item * shape[1] + country, weights, minlength=shape[0] * shape[1]).reshape(shape).astype(float)


@dataclass(frozen=True)
class UniqueRows:
    """Answers about variants that are + in one country only; rows may be fewer or more than answers.

    `row` points to the answer, `owner` is that one country, `home` whether the answer was given there, `yes` how
    many of `asked` such variants were answered yes or chosen.
    """

    row: IntArray
    owner: IntArray
    home: BoolArray
    yes: FloatArray
    asked: FloatArray


def unique_rows(series: Series, layout: Layout) -> UniqueRows:
    """What a series' answers say about variants that are + in one country only."""
    owner_of, n_countries = layout.unique_to, len(layout.countries)
    if series.format == YES_NO:
        owner = owner_of[series.option]
        row = np.flatnonzero(owner >= 0)
        owner = owner[row]
        yes, asked = series.yes[row].astype(float), np.ones(row.size)
    else:
        keys = []
        for pairs in (series.shown, series.chosen):
            owned = owner_of[pairs.option]
            keys.append(pairs.row[owned >= 0] * n_countries + owned[owned >= 0])
        key, counts = np.unique(keys[0], return_counts=True)
        chosen, chosen_counts = np.unique(keys[1], return_counts=True)
        yes, asked = np.zeros(key.size), counts.astype(float)
        yes[np.searchsorted(key, chosen)] = chosen_counts
        row, owner = key // n_countries, key % n_countries
    return UniqueRows(row, owner, series.country[row] == owner, yes, asked)


def _unique_sums(series: Series, layout: Layout) -> list[FloatArray]:
    rows = unique_rows(series, layout)
    scored = series.scored[rows.row]
    sums = []
    for side in (rows.home, ~rows.home):
        mask = scored & side
        item, owner = series.item[rows.row[mask]], rows.owner[mask]
        sums += [sum_by_cell(item, owner, layout, weights[mask]) for weights in (rows.yes, rows.asked)]
    return sums


def yes_no_sums(series: Series, layout: Layout) -> FloatArray:
    """`YES_NO_SUMS` by item and country: (n_items, n_countries, 8)."""
    k = series.scored
    item, country, yes = series.item[k], series.country[k], series.yes[k]
    plus = layout.plus[series.option[k], country]
    outcomes = (plus & yes, ~plus & yes, plus & ~yes, ~plus & ~yes)
    sums = [sum_by_cell(item[mask], country[mask], layout) for mask in outcomes]
    return np.stack(sums + _unique_sums(series, layout), axis=-1)


def choice_sums(series: Series, layout: Layout) -> FloatArray:
    """`CHOICE_SUMS` by item and country: (n_items, n_countries, 11)."""
    asked = questions(series, layout)
    columns = [
        np.ones(asked.item.size), *choice_scores(asked), *baseline_scores(asked.n_options, asked.gold_size),
        asked.gold_size.astype(float), asked.answer_size.astype(float),
    ]  # fmt: skip
    sums = [sum_by_cell(asked.item, asked.country, layout, column) for column in columns]
    return np.stack(sums + _unique_sums(series, layout), axis=-1)
