"""Results made elsewhere, in the formats that people have: StereoSet's predictions, scores of CrowS-Pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from isogloss.errors import DataError
from isogloss.records import Condition, Dataset
from isogloss.studies.stereotypes import bbq
from isogloss.studies.stereotypes.items import Ids, csv_rows, read_text, said, whole_json
from isogloss.studies.stereotypes.prompts import ask
from isogloss.studies.stereotypes.settings import StereotypeSettings
from isogloss.study import Given

PAIR_COLUMNS = ("id", "sent_more_score", "sent_less_score")
REPLIES = "replies to our prompts with columns prompt_id, model, repeat, response (JSON lines or CSV)"
EXPECTED = (
    "expected StereoSet's predictions (JSON: for each split a list of objects with id and score), CrowS-Pairs' scores "
    f"(CSV with columns {', '.join(PAIR_COLUMNS)}), or {REPLIES}"
)
EXPECTED_OF_BBQ = f"expected BBQ's JSON lines with a column MODEL_pred_…, or {REPLIES}"
Score: TypeAlias = tuple[str, str, float]
"""(where, id of a sentence, score)."""


def given(path: Path, dataset: Dataset, settings: StereotypeSettings) -> tuple[dict[str, object], list[Given]] | None:
    """Results in one of the study's own formats, and the settings that go with them; None for replies to our prompts.

    Raises
    ------
    DataError
        For a file that is neither; for ids that are missing, doubled, or of no sentence of the data; for a score that
        is no number.
    """
    text = read_text(path)
    found, expected = None, EXPECTED
    if bbq.is_bbq(dataset):
        found, expected = bbq.given(path, dataset, settings), EXPECTED_OF_BBQ
    elif (scores := _scores(text, path)) is not None:
        found = {"rule": ["given"]}, _matched(_by_id(scores), path, dataset, settings)
    if found is None and "prompt_id" not in text.casefold():
        raise DataError(f"{path} {'is empty' if not text.strip() else 'holds no results that can be read'}; {expected}")
    return found


def _scores(text: str, path: Path) -> Iterator[Score] | None:
    """What a file of scores holds; None for another file."""
    whole = whole_json(text)
    if isinstance(whole, dict) and whole and all(isinstance(part, list) for part in whole.values()):
        return _predictions(whole, path)
    header = text.partition("\n")[0]
    if any(name in header for name in PAIR_COLUMNS[1:]):
        return _pairs(text, path)
    return None


def _predictions(whole: Mapping[str, object], path: Path) -> Iterator[Score]:
    for split, part in whole.items():
        assert isinstance(part, list)
        for number, row in enumerate(part, start=1):
            where = f"{path}: {split} row {number}"
            if not isinstance(row, dict) or not {"id", "score"} <= set(row):
                raise DataError(f"{where} isn't a mapping with 'id' and 'score'")
            yield where, str(row["id"]), _number(row["score"], where)


def _pairs(text: str, path: Path) -> Iterator[Score]:
    """Two scores a row, of the sentences `ID.more` and `ID.less`."""
    ids = Ids()
    for where, row in csv_rows(path, text):
        for name in PAIR_COLUMNS:
            if not said(row, name):
                lack = "is empty" if name in row else f"is missing; expected {', '.join(PAIR_COLUMNS)}"
                raise DataError(f"{where}: column {name!r} {lack}")
        ids.take(said(row, "id"), where)
        for kind in ("more", "less"):
            name = f"sent_{kind}_score"
            yield where, f"{said(row, 'id')}.{kind}", _number(row[name], f"{where}, column {name!r}")


def _number(value: object, where: str) -> float:
    try:
        number = float(str(value)) if not isinstance(value, bool) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        advice = "; write decimals with a point" if "," in str(value) else ""
        raise DataError(f"{where}: score {value!r} is no finite number{advice}")
    return number


def _by_id(scores: Iterable[Score]) -> dict[str, float]:
    """Sentence id → score. Raises DataError naming both places of an id that has two."""
    ids = Ids()
    found = {}
    for where, id, score in scores:
        ids.take(id, where)
        found[id] = score
    return found


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
