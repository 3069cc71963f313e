"""What each row of the data comes to under one model and one scoring rule: preferences, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.metrics import ratio
from isogloss.records import Dataset, Status
from isogloss.studies.stereotypes.items import ANTI, STEREOTYPE, UNRELATED
from isogloss.studies.stereotypes.prompts import NEITHER

if TYPE_CHECKING:
    import pandas as pd

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
STATUSES = tuple(Status)
_OK = STATUSES.index(Status.OK)
_MISSING = STATUSES.index(Status.MISSING)


class Layout(NamedTuple):
    """The data set as arrays; shape (n_items,) each."""

    ids: tuple[str, ...]
    terms: IntArray
    """Number of each item's target term: the unit that is averaged and resampled."""
    names: tuple[tuple[str, str], ...]
    """(country, target) of each term."""
    fields: Mapping[str, NDArray[np.str_]]
    has_unrelated: BoolArray

    @property
    def is_pairs(self) -> bool:
        """Two sentences a row, none unrelated: CrowS-Pairs."""
        return not self.has_unrelated.any()


class Series(NamedTuple):
    """One model under one rule and reading."""

    model: str
    rule: str
    reading: str
    pro: FloatArray
    """Share of an item's comparisons that prefer the stereotype, 0 to 1; NaN where it has none. Shape (n_items,)."""
    related: FloatArray
    """Share of its two comparisons with the unrelated sentence that prefer the related one; NaN where it has none."""
    rows: IntArray
    """Item of each answer. Shape (n_answers,)."""
    statuses: IntArray
    """Position in `STATUSES` of each answer; an answer whose other order is missing counts as missing."""
    with_unrelated: IntArray
    """Of each answer: 0 about stereotype and anti-stereotype, 1 about an unrelated sentence, 2 about both."""
    ties: BoolArray
    """Of each answer, whether stereotype and anti-stereotype have equal scores."""
    neither: BoolArray
    """Of each scored answer about stereotype and anti-stereotype, whether it takes neither."""
    unpaired: BoolArray
    """Of each answer, whether it was read but the one in the other order wasn't."""


def lay_out(dataset: Dataset) -> Layout:
    """The items that sentences are scored of."""
    items = dataset.items
    keys = [(item.fields["country"], item.fields["target"]) for item in items]
    place = {key: k for k, key in enumerate(dict.fromkeys(keys))}
    return Layout(
        tuple(item.id for item in items),
        np.array([place[key] for key in keys], dtype=np.int64),
        tuple(place),
        {name: np.array([item.fields[name] for item in items]) for name in ("country", "category", "split")},
        np.array([any(option.role == UNRELATED for option in item.options) for item in items]),
    )


def series_of(answers: pd.DataFrame, dataset: Dataset, layout: Layout, rounding: int | None) -> list[Series]:
    """One series for each model, rule and reading, in the order of their first answer."""
    position = {id: k for k, id in enumerate(layout.ids)}
    found = []
    for (model, rule, reading), rows in answers.groupby(["model", "format", "reading"], sort=False, dropna=False):
        at: IntArray = np.array([position[id] for id in rows["item_id"]], dtype=np.int64)
        statuses: IntArray = np.array([STATUSES.index(Status(status)) for status in rows["status"]], dtype=np.int64)
        if rule == "forced_choice":
            found.append(_from_choices(str(model), str(reading), rows, at, statuses, dataset))
        else:
            found.append(_from_scores(str(model), str(rule), str(reading), rows, at, statuses, layout, rounding))
    return found


def _from_scores(
    model: str, rule: str, reading: str, rows: pd.DataFrame, at: IntArray, statuses: IntArray,
    layout: Layout, rounding: int | None,
) -> Series:  # fmt: skip
    is_ok = statuses == _OK
    scores = np.full((len(rows), 3), np.nan)
    for at_row, value in zip(np.flatnonzero(is_ok), rows["value"].to_numpy()[is_ok], strict=True):
        scores[at_row, : len(value)] = value
    if rounding is not None:
        scores = np.round(scores, rounding)
    stereotype, anti, unrelated = scores.T
    pro = np.where(is_ok, stereotype > anti, np.nan)
    has = ~np.isnan(unrelated)
    related = np.where(has, ((stereotype > unrelated).astype(float) + (anti > unrelated)) / 2, np.nan)
    n = len(layout.ids)
    none = np.zeros(len(rows), dtype=bool)
    about = np.where(layout.has_unrelated[at], 2, 0)
    return Series(
        model, rule, reading, _mean_by(at, pro, n), _mean_by(at, related, n), at, statuses, about,
        ties=is_ok & (stereotype == anti), neither=none, unpaired=none,
    )  # fmt: skip


def _from_choices(
    model: str, reading: str, rows: pd.DataFrame, at: IntArray, statuses: IntArray, dataset: Dataset
) -> Series:
    """Preferences from choices: each pair counts where both of its orders were answered.

    "Neither" is half a choice between stereotype and anti-stereotype, and no preference for a related sentence.
    """
    import pandas as pd

    roles = {option.id: option.role for item in dataset.items for option in item.options}
    pairs: list[int] = []
    values: list[float] = []
    for order, value in zip(rows["order"], rows["value"], strict=True):
        shown = {roles[id] for id in order}
        kind = 0 if UNRELATED not in shown else 1 if STEREOTYPE in shown else 2
        wanted = ANTI if kind == 2 else STEREOTYPE
        pairs.append(kind)
        if value is None:
            values.append(np.nan)
        elif value == NEITHER:
            values.append(0.5 if kind == 0 else 0.0)
        else:
            values.append(float(roles[str(value)] == wanted))
    kinds: IntArray = np.array(pairs, dtype=np.int64)
    chosen: FloatArray = np.array(values, dtype=np.float64)
    frame = pd.DataFrame({"item": at, "pair": kinds, "repeat": rows["repeat"].to_numpy(), "value": chosen})
    both = frame.groupby(["item", "pair", "repeat"])["value"].transform("count").to_numpy() == 2
    is_ok = statuses == _OK
    unpaired = is_ok & ~both
    statuses = np.where(unpaired, _MISSING, statuses)
    used = np.where(both, chosen, np.nan)
    n = len(dataset.items)
    pro = _mean_by(at[kinds == 0], used[kinds == 0], n)
    related = (_mean_by(at[kinds == 1], used[kinds == 1], n) + _mean_by(at[kinds == 2], used[kinds == 2], n)) / 2
    neither = both & (kinds == 0) & np.array([v == NEITHER for v in rows["value"]], dtype=bool)
    return Series(
        model, "forced_choice", reading, pro, related, at, statuses, np.where(kinds == 0, 0, 1),
        ties=np.zeros(len(rows), dtype=bool), neither=neither, unpaired=unpaired,
    )  # fmt: skip


def _mean_by(at: IntArray, values: FloatArray, n: int) -> FloatArray:
    """Mean of the values of each item, NaN left out; NaN where none is left."""
    use = ~np.isnan(values)
    counts = np.bincount(at[use], minlength=n).astype(np.float64)
    sums = np.bincount(at[use], weights=values[use], minlength=n)
    return ratio(sums, counts)


def coverage(series: Series, items: BoolArray, *, about: tuple[int, ...]) -> tuple[int, int, int, dict[Status, int]]:
    """Items asked about, answers, scored ones, and the others by status, over some items and kinds of comparison."""
    rows = items[series.rows] & np.isin(series.with_unrelated, about)
    n_items = len(np.unique(series.rows[rows]))
    counts = Counter(series.statuses[rows].tolist())
    n_scored = counts.pop(_OK, 0)
    return n_items, int(rows.sum()), n_scored, {STATUSES[k]: n for k, n in sorted(counts.items())}
