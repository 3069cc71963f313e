"""Results made elsewhere, in the formats that people have: StereoSet's predictions, scores of CrowS-Pairs."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

from isogloss.errors import DataError
from isogloss.records import Condition, Dataset
from isogloss.studies.stereotypes import bbq
from isogloss.studies.stereotypes.items import first_repeated, read_text, whole_json
from isogloss.studies.stereotypes.prompts import ask
from isogloss.studies.stereotypes.settings import StereotypeSettings
from isogloss.study import Given

PAIR_COLUMNS = ("id", "sent_more_score", "sent_less_score")


def given(path: Path, dataset: Dataset, settings: StereotypeSettings) -> tuple[dict[str, object], list[Given]] | None:
    """Results in one of the study's own formats, and the settings that go with them; None for another format.

    Raises
    ------
    DataError
        For ids that are missing, doubled, or of no sentence of the data; for a score that is no number.
    """
    if bbq.is_bbq(dataset):
        return bbq.given(path, dataset, settings)
    text = read_text(path)
    whole = whole_json(text)
    if isinstance(whole, dict) and whole and all(isinstance(part, list) for part in whole.values()):
        scores = _predictions(whole, path)
    elif set(PAIR_COLUMNS) <= {name.strip() for name in text.partition("\n")[0].split(",")}:
        scores = _pairs(text, path)
    else:
        return None
    return {"rule": ["given"]}, _matched(scores, path, dataset, settings)


def _predictions(whole: Mapping[str, object], path: Path) -> dict[str, float]:
    """Sentence id → score."""
    rows = []
    for split, part in whole.items():
        assert isinstance(part, list)
        for number, row in enumerate(part, start=1):
            where = f"{path}: {split} row {number}"
            if not isinstance(row, dict) or not {"id", "score"} <= set(row):
                raise DataError(f"{where} isn't a mapping with 'id' and 'score'")
            rows.append((str(row["id"]), _number(row["score"], where)))
    _check_once([id for id, _ in rows], path)
    return dict(rows)


def _pairs(text: str, path: Path) -> dict[str, float]:
    """Option id (`ID.more`, `ID.less`) → score."""
    rows: list[tuple[str, float]] = []
    for number, row in enumerate(csv.DictReader(StringIO(text, newline="")), start=2):
        where = f"{path} row {number}"
        id = str(row["id"]).strip()
        rows += [(f"{id}.{kind}", _number(row[f"sent_{kind}_score"], where)) for kind in ("more", "less")]
    _check_once([id for id, _ in rows], path)
    return dict(rows)


def _number(value: object, where: str) -> float:
    try:
        number = float(str(value)) if not isinstance(value, bool) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{where}: score {value!r} is no finite number")
    return number


def _check_once(ids: Sequence[str], path: Path) -> None:
    twice = first_repeated(ids)
    if twice is not None:
        raise DataError(f"{path}: two scores for the id {twice!r}; each sentence has one")


def _matched(scores: Mapping[str, float], path: Path, dataset: Dataset, settings: StereotypeSettings) -> list[Given]:
    known = {option.id for item in dataset.items for option in item.options}
    lacking = [option.id for item in dataset.items for option in item.options if option.id not in scores]
    if lacking:
        raise DataError(
            f"{path} has no score for {len(lacking):,} of {len(known):,} sentences of {dataset.name}, "
            f"the first of them {lacking[0]!r}; is it of the same data, or is split=… needed?"
        )
    is_part = settings.split or settings.countries or settings.categories or settings.sample
    extra = [id for id in scores if id not in known]
    if extra and not is_part:
        raise DataError(
            f"{path} has scores for {len(extra):,} sentences that {dataset.name} hasn't, "
            f"the first of them {extra[0]!r}; is it of the same data?"
        )
    model = settings.model or path.stem
    rows = []
    for item in dataset.items:
        condition = Condition(format="given", order=tuple(option.id for option in item.options))
        prompt = ask(item, condition, dataset, settings)
        values = tuple(scores[option.id] for option in item.options)
        rows.append(Given(f"{path} id {item.id!r}", prompt.id, model, 1, None, values))
    return rows
