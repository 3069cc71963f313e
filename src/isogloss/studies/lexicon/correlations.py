"""Rank correlations of the lexicon study: over countries, over areas, over questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.errors import EmptyInputError, UndefinedError
from isogloss.metrics import correlation_rows, midranks, percentile_interval, spearman, weighted_spearman
from isogloss.studies.lexicon.tally import Questions, choice_scores

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
CountArray: TypeAlias = NDArray[np.uint16]

_BLOCK_CELLS = 1_000_000
MAX_QUESTION_DRAWS = 500
"""Most draws of a correlation over single answers: ranking 18,000 answers 2,000 times takes longer than all else."""

YES_NO_SIDE = ("f1", "delta_f1", "youden_j", "mcc")
CHOICE_SIDE = (
    "adjusted_jaccard", "adjusted_jaccard_first_order", "delta_adjusted_jaccard", "delta_adjusted_jaccard_first_order",
)  # fmt: skip
BASELINE_OF = {"adjusted_jaccard": "baseline", "adjusted_jaccard_first_order": "baseline_first_order"}


class Variable(NamedTuple):
    """A series of numbers by country and by area, as they are (row 0) and in each draw (further rows, or none)."""

    name: str
    baseline: str | None
    by_country: FloatArray
    by_area: FloatArray


class Correlation(NamedTuple):
    """A rank correlation with what is needed to report it."""

    measure: str
    baseline: str | None
    value: float | None
    low: float | None
    high: float | None
    remark: str
    """Number of pairs and p-value, or why there is no value."""
    n_draws: int
    """Draws behind the interval."""


def country_pairs(
    yes_no: Sequence[Variable],
    choice: Sequence[Variable],
    covariates: Sequence[Variable],
) -> list[tuple[str, Variable, Variable]]:
    """Which variables are correlated: format (empty for both), x, y.

    Measures of quality with what might carry them (share of +, gold and answer sizes, share of yes, the baseline, the
    user's covariates), and those of one format with those of the other.
    """
    pairs = []
    for x in (variable for variable in yes_no if variable.name in YES_NO_SIDE):
        carriers = [v for v in yes_no if v.name in ("share_plus", "yes_share")]
        carriers += [v for v in yes_no if v.name == "baseline" and x.name == "f1"]  # the same for its differences
        pairs += [("yes_no", x, y) for y in (*carriers, *covariates)]
        crossed = (*CHOICE_SIDE[:2], "mean_gold_size", "mean_answer_size")
        pairs += [("", x, y) for y in choice if y.name in crossed]
    for x in (variable for variable in choice if variable.name in CHOICE_SIDE):
        carriers = [v for v in choice if v.name in ("share_plus", "mean_gold_size", "mean_answer_size")]
        carriers += [v for v in choice if v.name == BASELINE_OF.get(x.name)]
        pairs += [("multiple_choice", x, y) for y in (*carriers, *covariates)]
        pairs += [("", x, y) for y in yes_no if y.name == "yes_share"]
    return pairs


@dataclass
class RankCorrelations:
    """Correlates variables over countries or areas; ranks of a variable are computed once."""

    confidence: float
    ranks: dict[tuple[int, bytes], tuple[FloatArray, FloatArray]] = field(default_factory=dict)

    def correlate(self, x: Variable, y: Variable, *, over: str) -> Correlation:
        """Spearman's rho of x and y over "countries" or "areas"."""
        a, b = (x.by_country, y.by_country) if over == "countries" else (x.by_area, y.by_area)
        measure = f"{'spearman' if over == 'countries' else 'spearman_areas'}({x.name},{y.name})"
        baseline = x.baseline or y.baseline
        both = ~np.isnan(a[0]) & ~np.isnan(b[0])
        try:
            value, p = spearman(a[0][both], b[0][both])
        except UndefinedError as error:
            return Correlation(measure, baseline, None, None, None, f"{error} (over {over})", 0)
        except EmptyInputError:
            return Correlation(measure, baseline, None, None, None, f"undefined: none of the {over} has both values", 0)
        draws = correlation_rows(self._ranks(a, both), self._ranks(b, both))[1:]
        remark = f"over {int(both.sum())} {over}, {p_text(p)}"
        return Correlation(measure, baseline, value, *interval(draws, self.confidence), remark, len(draws))

    def _ranks(self, values: FloatArray, mask: BoolArray) -> FloatArray:
        key = (id(values), mask.tobytes())
        if key not in self.ranks:
            self.ranks[key] = (midranks(values[:, mask]), values)  # holds on to `values`, so that its id stays its own
        return self.ranks[key][0]


def question_correlations(
    asked: Questions, place: IntArray, counts: CountArray, confidence: float
) -> list[Correlation]:
    """Over single answers: adjusted Jaccard with number of options, gold and answer size; gold with answer size.

    Parameters
    ----------
    asked : Questions
        The scored answers of one series.
    place : ndarray of int, shape (n_items,)
        Column of each item in `counts`.
    counts : ndarray of int, shape (n_resamples, n_drawn_items)
        How often each item is in each draw; no more than the first `MAX_QUESTION_DRAWS` are used.
    confidence : float
        Of the intervals, e.g. 0.95.
    """
    exact, first_order = choice_scores(asked)
    columns = {
        "adjusted_jaccard": exact,
        "adjusted_jaccard_first_order": first_order,
        "n_options": asked.n_options,
        "gold_size": asked.gold_size,
        "answer_size": asked.answer_size,
    }
    names = list(columns)
    pairs = [(x, y) for x in names[:2] for y in names[2:]] + [("gold_size", "answer_size")]
    draws = _question_draws(asked, np.stack(list(columns.values())), place, counts[:MAX_QUESTION_DRAWS])
    found = []
    for x, y in pairs:
        measure = f"spearman_questions({x},{y})"
        try:
            value, p = spearman(columns[x], columns[y])
        except UndefinedError as error:
            found.append(Correlation(measure, None, None, None, None, f"{error} (over answers)", 0))
        except EmptyInputError:
            found.append(Correlation(measure, None, None, None, None, "undefined: nothing scored", 0))
        else:
            ends = interval(draws[:, names.index(x), names.index(y)], confidence)
            remark = f"over {exact.size:,} answers, {p_text(p)}"
            found.append(Correlation(measure, None, value, *ends, remark, len(draws)))
    return found


def _question_draws(asked: Questions, columns: FloatArray, place: IntArray, counts: CountArray) -> FloatArray:
    """Correlations of all pairs of columns in each draw: (n_resamples, n_columns, n_columns)."""
    if asked.item.size == 0:
        return np.empty((0, len(columns), len(columns)))
    # Answers with the same four set sizes share all columns; they are ranked as one, with their weights added up.
    base = int(asked.n_options.max()) + 1
    kind = ((asked.n_options * base + asked.gold_size) * base + asked.answer_size) * base + asked.overlap
    order = np.argsort(kind, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(kind[order]) > 0]))
    values, drawn = columns[:, order[starts]], place[asked.item[order]]
    of_item = counts.T.astype(np.int32)  # (n_drawn_items, n_resamples)
    size = max(1, _BLOCK_CELLS // drawn.size)
    blocks = [
        weighted_spearman(values, np.add.reduceat(of_item[:, start : start + size][drawn], starts, axis=0).T)
        for start in range(0, len(counts), size)
    ]
    return np.concatenate(blocks)


def interval(draws: FloatArray, confidence: float) -> tuple[float | None, float | None]:
    """Percentile interval of the draws of one number; None where too few are defined."""
    if draws.size == 0:
        return None, None
    low, high = percentile_interval(draws, confidence)
    return (None, None) if np.isnan(low) else (float(low), float(high))


def p_text(p: float) -> str:
    """P-value in words, e.g. "p = 0.012" or "p < 0.0001"."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"
