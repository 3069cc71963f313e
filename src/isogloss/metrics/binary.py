r"""Agreement of yes/no answers with a yes/no reference.

The functions of two boolean arrays raise where a measure has no value; their twins `*_from_counts` work on arrays
of counts, cell by cell, and give NaN there, so that thousands of bootstrap draws need no loop.
"""

from __future__ import annotations

from typing import TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isogloss.errors import DataError, EmptyInputError, UndefinedError
from isogloss.metrics.ratio import ratio

FloatArray: TypeAlias = NDArray[np.float64]


def _counts(name: str, reference: ArrayLike, answered: ArrayLike) -> tuple[float, float, float, float]:
    """True positives, false positives, false negatives, true negatives."""
    truth = np.asarray(reference)
    said = np.asarray(answered)
    if truth.shape != said.shape or truth.ndim != 1:
        raise DataError(f"{name} needs two flat arrays of one length, got shapes {truth.shape} and {said.shape}")
    if truth.size == 0:
        raise EmptyInputError(f"{name} needs at least one answer, got 0")
    for label, values in (("reference", truth), ("answered", said)):
        if values.dtype != np.bool_ and not np.isin(values, (0, 1)).all():
            raise DataError(f"{name} needs true or false in {label!r}, got values of type {values.dtype}")
    truth, said = truth.astype(bool), said.astype(bool)
    both = int(np.sum(truth & said))
    return both, int(said.sum()) - both, int(truth.sum()) - both, int(np.sum(~truth & ~said))


def _floats(*values: ArrayLike) -> tuple[FloatArray, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)


def _defined(value: FloatArray, reason: str) -> float:
    number = float(value)
    if np.isnan(number):
        raise UndefinedError(reason)
    return number


def f1_from_counts(true_positive: ArrayLike, false_positive: ArrayLike, false_negative: ArrayLike) -> FloatArray:
    """F1 of each cell of three arrays of counts; NaN where nothing is positive on either side.

    Parameters
    ----------
    true_positive, false_positive, false_negative : array-like of float, shapes that broadcast
        Counts, or weighted counts, at least 0.

    Returns
    -------
    ndarray of float
        Values in [0, 1] or NaN, in the broadcast shape.

    Examples
    --------
    >>> f1_from_counts([2, 0], [1, 0], [1, 0])
    array([0.66666667,        nan])
    """
    tp, fp, fn = _floats(true_positive, false_positive, false_negative)
    return ratio(2 * tp, 2 * tp + fp + fn)


def youden_j_from_counts(
    true_positive: ArrayLike, false_positive: ArrayLike, false_negative: ArrayLike, true_negative: ArrayLike
) -> FloatArray:
    """Youden's J of each cell of four arrays of counts; NaN where the reference has only one side.

    Parameters
    ----------
    true_positive, false_positive, false_negative, true_negative : array-like of float, shapes that broadcast
        Counts, or weighted counts, at least 0.

    Returns
    -------
    ndarray of float
        Values in [-1, 1] or NaN, in the broadcast shape.

    Examples
    --------
    >>> youden_j_from_counts([3, 1], [1, 0], [1, 1], [3, 0])
    array([0.5, nan])
    """
    tp, fp, fn, tn = _floats(true_positive, false_positive, false_negative, true_negative)
    return ratio(tp, tp + fn) - ratio(fp, fp + tn)


def mcc_from_counts(
    true_positive: ArrayLike, false_positive: ArrayLike, false_negative: ArrayLike, true_negative: ArrayLike
) -> FloatArray:
    """Matthews correlation of each cell of four arrays of counts; NaN where either side is constant.

    Parameters
    ----------
    true_positive, false_positive, false_negative, true_negative : array-like of float, shapes that broadcast
        Counts, or weighted counts, at least 0.

    Returns
    -------
    ndarray of float
        Values in [-1, 1] or NaN, in the broadcast shape.

    Examples
    --------
    >>> mcc_from_counts([3, 2], [1, 2], [1, 0], [3, 0])
    array([0.5, nan])
    """
    tp, fp, fn, tn = _floats(true_positive, false_positive, false_negative, true_negative)
    # Roots are taken one by one: the product of four counts of 10^5 would still fit, of weighted sums it needn't.
    scale = np.sqrt(tp + fp) * np.sqrt(tp + fn) * np.sqrt(tn + fp) * np.sqrt(tn + fn)
    return np.clip(ratio(tp * tn - fp * fn, scale), -1.0, 1.0)


def precision(reference: ArrayLike, answered: ArrayLike) -> float:
    """Share of the yes answers that are right.

    Parameters
    ----------
    reference : array-like of bool, shape (n_answers,)
        What is so.
    answered : array-like of bool, shape (n_answers,)
        What was answered.

    Returns
    -------
    float
        Share in [0, 1].

    Raises
    ------
    EmptyInputError
        If there are no answers.
    UndefinedError
        If no answer is yes.

    Examples
    --------
    >>> precision([True, True, False, False], [True, False, True, False])
    0.5
    """
    tp, fp, _, _ = _counts("precision", reference, answered)
    return _defined(ratio(*_floats(tp, tp + fp)), "precision is undefined: no answer is yes")


def recall(reference: ArrayLike, answered: ArrayLike) -> float:
    """Share of what is so that was answered yes.

    Parameters
    ----------
    reference, answered : array-like of bool, shape (n_answers,)
        What is so, and what was answered.

    Returns
    -------
    float
        Share in [0, 1].

    Raises
    ------
    EmptyInputError
        If there are no answers.
    UndefinedError
        If the reference holds no yes.

    Examples
    --------
    >>> recall([True, True, True, False], [True, False, False, False])
    0.3333333333333333
    """
    tp, _, fn, _ = _counts("recall", reference, answered)
    return _defined(ratio(*_floats(tp, tp + fn)), "recall is undefined: the reference holds no yes")


def f1(reference: ArrayLike, answered: ArrayLike) -> float:
    r"""Harmonic mean of precision and recall of the yes answers.

    It rises with the share of yes in the reference even for answers given at random: see `f1_always_yes` and
    `f1_yes_at_rate` for what chance reaches, and `youden_j` for a measure that doesn't.

    Parameters
    ----------
    reference, answered : array-like of bool, shape (n_answers,)
        What is so, and what was answered. Refusals and unread replies don't belong here: count them beside it.

    Returns
    -------
    float
        Value in [0, 1]; 1 for perfect answers, 0 if no yes is right.

    Raises
    ------
    EmptyInputError
        If there are no answers.
    UndefinedError
        If neither the reference nor the answers hold a yes.

    Notes
    -----
    :math:`F_1 = 2\,TP / (2\,TP + FP + FN)` [1]_.

    References
    ----------
    .. [1] C. J. van Rijsbergen (1979). "Information Retrieval", 2nd ed., ch. 7 (with equal weights).

    Examples
    --------
    >>> f1([True, True, False, False], [True, False, True, False])
    0.5
    """
    tp, fp, fn, _ = _counts("f1", reference, answered)
    return _defined(f1_from_counts(tp, fp, fn), "f1 is undefined: neither reference nor answers hold a yes")


def youden_j(reference: ArrayLike, answered: ArrayLike) -> float:
    r"""Share of yes where it is so minus share of yes where it isn't (informedness).

    Answers given without a look at the question have 0 on average, whatever the share of yes in the reference.

    Parameters
    ----------
    reference, answered : array-like of bool, shape (n_answers,)
        What is so, and what was answered.

    Returns
    -------
    float
        Value in [-1, 1]; 1 for perfect answers, 0 for constant ones, negative if no is said where yes is due.

    Raises
    ------
    EmptyInputError
        If there are no answers.
    UndefinedError
        If the reference holds only yes or only no.

    Notes
    -----
    :math:`J = TP/(TP + FN) - FP/(FP + TN)`: sensitivity + specificity - 1 [1]_.

    References
    ----------
    .. [1] W. J. Youden (1950). "Index for rating diagnostic tests". Cancer 3(1).

    Examples
    --------
    >>> youden_j([True, True, False, False], [True, True, True, False])
    0.5
    """
    value = youden_j_from_counts(*_counts("youden_j", reference, answered))
    return _defined(value, "youden_j is undefined: the reference holds only one of yes and no")


def mcc(reference: ArrayLike, answered: ArrayLike) -> float:
    r"""Matthews correlation: Pearson's correlation of two yes/no arrays.

    Parameters
    ----------
    reference, answered : array-like of bool, shape (n_answers,)
        What is so, and what was answered.

    Returns
    -------
    float
        Value in [-1, 1]; 1 for perfect answers, near 0 for answers given at random.

    Raises
    ------
    EmptyInputError
        If there are no answers.
    UndefinedError
        If either array holds only one of yes and no: a constant has no correlation (some libraries say 0).

    Notes
    -----
    :math:`(TP\cdot TN - FP\cdot FN) / \sqrt{(TP+FP)(TP+FN)(TN+FP)(TN+FN)}` [1]_.

    References
    ----------
    .. [1] B. W. Matthews (1975). "Comparison of the predicted and observed secondary structure of T4 phage
       lysozyme". Biochimica et Biophysica Acta 405(2).

    Examples
    --------
    >>> round(mcc([True, True, False, False], [True, False, False, False]), 4)
    0.5774
    """
    value = mcc_from_counts(*_counts("mcc", reference, answered))
    return _defined(value, "mcc is undefined: reference or answers hold only one of yes and no")


def _shares(name: str, share: ArrayLike) -> FloatArray:
    shares = np.asarray(share, dtype=np.float64)
    if shares.size == 0:
        raise EmptyInputError(f"{name} needs at least one share, got 0")
    if np.any((shares < 0) | (shares > 1)):
        raise DataError(f"{name} needs shares from 0 to 1, got {float(shares[(shares < 0) | (shares > 1)].flat[0])}")
    return shares


@overload
def f1_always_yes(share: float) -> float: ...
@overload
def f1_always_yes(share: list[float] | FloatArray) -> FloatArray: ...
def f1_always_yes(share: float | list[float] | FloatArray) -> float | FloatArray:
    r"""F1 of answering yes to everything.

    Parameters
    ----------
    share : float or array of float
        Share p of yes in the reference, in [0, 1]. NaN stays NaN.

    Returns
    -------
    float or ndarray of float
        :math:`2p/(1+p)`, in [0, 1]: all that is so is found (recall 1), and p of the answers are right (precision p).

    Raises
    ------
    DataError
        For a share outside [0, 1].

    Examples
    --------
    >>> f1_always_yes(0.25)
    0.4
    """
    shares = _shares("f1_always_yes", share)
    values: FloatArray = 2 * shares / (1 + shares)
    return values if values.ndim else float(values)


@overload
def f1_yes_at_rate(share: float) -> float: ...
@overload
def f1_yes_at_rate(share: list[float] | FloatArray) -> FloatArray: ...
def f1_yes_at_rate(share: float | list[float] | FloatArray) -> float | FloatArray:
    r"""F1 of guessing yes at the rate at which it is so: p itself.

    Parameters
    ----------
    share : float or array of float
        Share p of yes in the reference, in [0, 1]. NaN stays NaN.

    Returns
    -------
    float or ndarray of float
        p, in [0, 1].

    Raises
    ------
    DataError
        For a share outside [0, 1].

    Notes
    -----
    With yes said at rate q whatever the question, precision is p and recall is q, so
    :math:`F_1 = 2pq/(p+q)` (of the expected counts), which is p for q = p. The baselines printed in [1]_ as
    "always yes" fit this one; always yes gives more (`f1_always_yes`).

    References
    ----------
    .. [1] Kawasaki (2026). "Digital Linguistic Bias in Spanish", Tables 5 and 6.

    Examples
    --------
    >>> f1_yes_at_rate(0.25)
    0.25
    """
    shares = _shares("f1_yes_at_rate", share)
    return shares.copy() if shares.ndim else float(shares)
