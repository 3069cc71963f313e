"""Which words does a model take for those of a country? Yes–no and multiple choice over concepts, variants, countries.

Data: the user's own table (VARILEX, long or wide layout); a small sample of ours, CC0, see README.md.
Measures: F1 and adjusted Jaccard with their baselines, Youden's J, Matthews correlation.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.records import Condition, Dataset, Estimate
from isogloss.studies.lexicon.check import findings
from isogloss.studies.lexicon.items import load_items
from isogloss.studies.lexicon.prompts import ask, conditions, reference
from isogloss.studies.lexicon.settings import LexiconSettings
from isogloss.studies.lexicon.template import write_template
from isogloss.study import Coder, Study

if TYPE_CHECKING:
    import pandas as pd

    from isogloss.reports import Section

HERE = Path(__file__).parent


def _coders(condition: Condition) -> Sequence[Coder]:
    from isogloss.studies.lexicon.coding import coders

    return coders(condition)


def _estimate(answers: pd.DataFrame, dataset: Dataset, settings: LexiconSettings, seed: int) -> list[Estimate]:
    from isogloss.studies.lexicon.estimate import estimate

    return estimate(answers, dataset, settings, seed)


def _sections(
    estimates: Sequence[Estimate], answers: pd.DataFrame, dataset: Dataset, settings: LexiconSettings
) -> Sequence[Section]:
    from isogloss.studies.lexicon.figures import sections

    return sections(estimates, answers, dataset, settings)


STUDY = Study(
    name="lexicon",
    version="1",
    title="Words of a country: lexical variation",
    settings=LexiconSettings,
    load=load_items,
    conditions=conditions,
    ask=ask,
    coders=_coders,
    estimate=_estimate,
    sections=_sections,
    headline=("f1", "delta_f1", "youden_j", "adjusted_jaccard", "delta_adjusted_jaccard"),
    scoring=("resamples", "confidence"),
    samples={"sample": HERE / "data" / "sample.csv"},
    default_max_tokens=64,
    reference=reference,
    findings=findings,
    template=write_template,
    card=HERE / "README.md",
)

__all__ = ["STUDY", "LexiconSettings"]
