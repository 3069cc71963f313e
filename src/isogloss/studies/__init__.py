"""The studies that there are: ours, and those of other packages (entry-point group `isogloss.studies`).

None is imported before it is asked for.
"""

from __future__ import annotations

import importlib
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from isogloss.errors import SettingError
from isogloss.registry import unknown_name
from isogloss.study import Study

GROUP = "isogloss.studies"

BUILT_IN = {
    "lexicon": "isogloss.studies.lexicon:STUDY",
    "stereotypes": "isogloss.studies.stereotypes:STUDY",
}
"""Name → where its `Study` is. A further study is one more line."""


def names() -> list[str]:
    """Names of all studies, sorted; quick, since none is imported."""
    return sorted({*BUILT_IN, *(point.name for point in entry_points(group=GROUP))})


def get(name: str) -> Study:
    """The study of a name. One of ours goes before another package's of the same name.

    Raises
    ------
    UnknownNameError
        If there is no such study; near names are offered.
    SettingError
        If another package's study can't be imported, or isn't a `Study`.
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return cast(Study, getattr(importlib.import_module(module), attribute))
    for point in entry_points(group=GROUP):
        if point.name == name:
            return _loaded(point)
    raise unknown_name("study", name, names())


def _loaded(point: EntryPoint) -> Study:
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:
        raise SettingError(f"study {point.name!r} ({point.value}) can't be imported: {error}") from error
    if not isinstance(found, Study):
        raise SettingError(f"study {point.name!r} ({point.value}) is a {type(found).__name__}; expected a Study")
    return found


__all__ = ["BUILT_IN", "GROUP", "get", "names"]
