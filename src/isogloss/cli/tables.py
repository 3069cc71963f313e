"""The short table that ends a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isogloss.records import Estimate

FINER = ("country", "area", "language", "region", "category", "domain", "element", "group")


def overview(estimates: Sequence[Estimate]) -> str:
    """Numbers over everything, without those by place; the report has the rest."""
    from isogloss.reports import to_text

    coarse = [e for e in estimates if not any(key in e.group for key in FINER) and "(" not in e.measure]
    return to_text(coarse or estimates)
