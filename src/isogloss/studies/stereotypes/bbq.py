"""BBQ and EsBBQ: a chat model answers questions about two people, or says that nobody can know.

Every question is asked in several orders of its answers, each answer in each place equally often.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.errors import DataError, SettingError
from isogloss.prompts import shuffled
from isogloss.records import AnswerForm, Condition, Dataset, Estimate, Item, Message, Prompt
from isogloss.studies.stereotypes.settings import ANY, StereotypeSettings
from isogloss.studies.stereotypes.wording import ChoiceWording, choice_wording
from isogloss.study import Given

if TYPE_CHECKING:
    import pandas as pd

LAYOUTS = ("bbq", "esbbq")


def is_bbq(dataset: Dataset) -> bool:
    """Whether a data set is one of these."""
    return bool(dataset.items) and dataset.items[0].fields.get("layout") in LAYOUTS


def conditions(dataset: Dataset, settings: StereotypeSettings, seed: int) -> Iterator[tuple[Item, Condition]]:
    """Each question in `settings.orders` orders. Raises SettingError for a rule other than forced_choice."""
    if settings.rule == ("given",):
        for item in dataset.items:
            order = tuple(option.id for option in item.options)
            yield item, Condition(language=item.language, format="given", order=order)
        return
    if set(settings.rule) - {"forced_choice", "causal"}:
        raise SettingError(f"{dataset.name} is asked by rule=forced_choice only, got {', '.join(settings.rule)}")
    for item in dataset.items:
        wording = _wording(item, settings)
        for order in _orders(item, settings.orders, seed):
            yield item, Condition(language=wording.language, format="forced_choice", wording=wording.name, order=order)


def _orders(item: Item, n: int, seed: int) -> list[tuple[str, ...]]:
    """The three rotations of a seeded order first, then those of its mirror image."""
    ids = shuffled([option.id for option in item.options], seed=seed, key=f"answers\x1f{item.id}")
    rotations = [ids[k:] + ids[:k] for k in range(3)]
    mirrored = [order[::-1] for order in rotations]
    assert len({*rotations, *mirrored}) == len(list(permutations(ids)))
    return [*rotations, *mirrored][:n]


def _wording(item: Item, settings: StereotypeSettings) -> ChoiceWording:
    return choice_wording(settings.wording if settings.wording != ANY else item.language or settings.language)


def ask(item: Item, condition: Condition, settings: StereotypeSettings) -> Prompt:
    """The question with three lettered answers; EsBBQ's "unknown" in one of several phrasings, equal in all orders."""
    if condition.format == "given":
        return Prompt.make(
            (Message(role="text", content=item.id),), form=AnswerForm(kind="one_of", choices=condition.order)
        )
    wording = _wording(item, settings)
    texts = {option.id: option.text for option in item.options}
    for id, text in texts.items():
        if text == "unknown":
            texts[id] = shuffled(wording.unknown, seed=0, key=f"unknown\x1f{item.id}")[0]
    values = {letter: texts[id] for letter, id in zip("abc", condition.order, strict=True)}
    content = wording.answers.render({"context": item.text, "question": item.fields["question"], **values})
    return Prompt.make((Message(role="user", content=content),), form=AnswerForm(kind="letter", n_options=3))


def estimate(answers: pd.DataFrame, dataset: Dataset, settings: StereotypeSettings, seed: int) -> list[Estimate]:
    """Accuracy and bias in ambiguous and disambiguated contexts; see `bbq_estimate`."""
    from isogloss.studies.stereotypes.bbq_estimate import estimate as of_answers

    return of_answers(answers, dataset, settings, seed)


# --- predictions that stand in the data file itself -------------------------------------------------------------------


def given(path: Path, dataset: Dataset, settings: StereotypeSettings) -> tuple[dict[str, object], list[Given]] | None:
    """Answers in words in columns named `MODEL_pred_…` of a JSON lines file; None where it has no such column.

    Raises
    ------
    DataError
        For rows that are missing, doubled, or of no item of the data.
    """
    from isogloss.studies.stereotypes.items import json_rows, read_text

    items = {item.id: item for item in dataset.items}
    found: list[Given] = []
    seen: set[str] = set()
    is_part = bool(settings.split or settings.categories or settings.sample)
    for where, row in json_rows(path, read_text(path)):
        columns = sorted(name for name in row if "_pred_" in name)
        if not columns:
            return None
        id = f"{row.get('category')}.{row.get('example_id')}"
        if id in seen:
            raise DataError(f"{where}: a second row with the id {id!r}")
        seen.add(id)
        if id not in items:
            if is_part:
                continue
            raise DataError(f"{where}: no item {id!r} in {dataset.name}")
        found += _of_row(row, columns, where, items[id], dataset, settings)
    lacking = [id for id in items if id not in seen]
    if lacking:
        raise DataError(f"{path} has no row for {len(lacking):,} items of {dataset.name}, the first {lacking[0]!r}")
    return {"rule": ["given"]}, found


def _of_row(
    row: Mapping[str, object], columns: list[str], where: str, item: Item, dataset: Dataset,
    settings: StereotypeSettings,
) -> Iterator[Given]:  # fmt: skip
    condition = Condition(language=item.language, format="given", order=tuple(option.id for option in item.options))
    prompt = ask(item, condition, settings)
    for name in columns:
        if row[name] is not None:
            yield Given(where, prompt.id, name, 1, matched(str(row[name]), item) or json.dumps(row[name]))


def matched(prediction: str, item: Item) -> str | None:
    """Id of the answer that a prediction in words means: equal, or the answer's first two words are in it."""
    said = _plain(prediction)
    answers = {option.id: _plain(option.text) for option in item.options}
    for id, answer in answers.items():
        if said == answer:
            return id
    hits = [id for id, answer in answers.items() if " ".join(answer.split()[:2]) in said]
    return hits[0] if len(hits) == 1 else None


def _plain(text: str) -> str:
    return text.lower().strip().rstrip("}").rstrip(".").strip()
