"""isogloss finds where language models stop knowing a country's words and culture.

The Python interface in a few lines; everything is imported on first use.

>>> import isogloss
>>> run = isogloss.run_study("lexicon", "sample", models=["scripted/random"])  # doctest: +SKIP
>>> run.estimates                                                              # doctest: +SKIP
>>> run.answers                                                                # doctest: +SKIP
>>> run.report("report.html")                                                  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isogloss.version import __version__

if TYPE_CHECKING:
    from isogloss.api import Run, build_dataset, check_data, run_study, score_responses, write_report

__all__ = ["Run", "__version__", "build_dataset", "check_data", "run_study", "score_responses", "write_report"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from isogloss import api

        return getattr(api, name)
    raise AttributeError(f"module 'isogloss' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
