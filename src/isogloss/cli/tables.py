"""The short table that ends a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isogloss.records import Estimate
    from isogloss.study import Study

FINER = ("country", "area", "language", "region", "category", "domain", "element", "group")


def overview(estimates: Sequence[Estimate], study: Study) -> str:
    """The study's main measures over everything, in the strict reading; the report has the rest.

    A table for each word of the study's key `apart`.
    """
    from isogloss.reports import render_apart

    coarse = [e for e in estimates if not any(key in e.group for key in FINER)]
    headline = study.headline or tuple(dict.fromkeys(e.measure for e in coarse))
    strict = [e for e in coarse if e.group.get("reading") != "lenient"] or coarse
    chosen = [e for measure in headline for e in strict if e.measure == measure and "model" in e.group]
    return render_apart(chosen or coarse or estimates, study.apart, "text").rstrip("\n")
