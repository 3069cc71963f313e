"""Does a model prefer the stereotype? Sentences scored by likelihood, or chosen, after a context that names a group.

Data: StereoSet, CrowS-Pairs, BBQ, EsBBQ, and sets that `isogloss build stereotypes` makes; a small sample of ours, CC0.
Measures: ss, lms and iCAT over target terms; CrowS-Pairs' score; BBQ's and EsBBQ's accuracy and bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.records import Condition, Dataset, Estimate
from isogloss.studies.stereotypes.check import findings
from isogloss.studies.stereotypes.given import given
from isogloss.studies.stereotypes.items import load_items
from isogloss.studies.stereotypes.prompts import ask, conditions, needs
from isogloss.studies.stereotypes.settings import StereotypeSettings
from isogloss.study import Coder, Study

if TYPE_CHECKING:
    import pandas as pd

    from isogloss.construction import Construction
    from isogloss.reports import Section

HERE = Path(__file__).parent


def _coders(condition: Condition) -> Sequence[Coder]:
    from isogloss.studies.stereotypes.coding import coders

    return coders(condition)


def _estimate(answers: pd.DataFrame, dataset: Dataset, settings: StereotypeSettings, seed: int) -> list[Estimate]:
    from isogloss.studies.stereotypes.estimate import estimate

    return estimate(answers, dataset, settings, seed)


def _sections(
    estimates: Sequence[Estimate], answers: pd.DataFrame, dataset: Dataset, settings: StereotypeSettings
) -> Sequence[Section]:
    from isogloss.studies.stereotypes.figures import sections

    return sections(estimates, answers, dataset, settings)


def _construction() -> Construction:
    from isogloss.studies.stereotypes.build import construction

    return construction()


STUDY = Study(
    name="stereotypes",
    version="1",
    title="Stereotypes about people and places",
    settings=StereotypeSettings,
    load=load_items,
    conditions=conditions,
    ask=ask,
    coders=_coders,
    estimate=_estimate,
    sections=_sections,
    headline=(
        "ss",
        "lms",
        "icat",
        "crows_pairs_score",
        "neither",
        "s_amb",
        "s_dis",
        "accuracy_ambiguous",
        "accuracy_disambiguated",
        "bias_ambiguous",
        "bias_disambiguated",
    ),
    apart="format",
    scoring=("rounding", "lms", "resamples", "confidence"),
    samples={"sample": HERE / "data" / "sample.jsonl"},
    default_max_tokens=16,
    findings=findings,
    needs=needs,
    given=given,
    construction=_construction,
    card=HERE / "README.md",
)

__all__ = ["STUDY", "StereotypeSettings"]
