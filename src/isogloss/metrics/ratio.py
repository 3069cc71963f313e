"""A quotient of counts, cell by cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def ratio(part: ArrayLike, whole: ArrayLike) -> NDArray[np.float64]:
    """Quotient, NaN where `whole` is 0: nothing measured isn't zero.

    Parameters
    ----------
    part, whole : array-like of float
        Of shapes that fit each other.

    Examples
    --------
    >>> ratio([1.0, 2.0], [4.0, 0.0])
    array([0.25,  nan])
    """
    numerator, denominator = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    quotient: NDArray[np.float64] = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator != 0)
    return quotient
