"""BBQ and EsBBQ: a chat model answers questions about two people, or says that nobody can know.

Every question is asked in several orders of its answers, each answer in each place equally often.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.errors import DataError, SettingError
from isogloss.prompts import shuffled
from isogloss.records import AnswerForm, Condition, Dataset, Estimate, Item, Message, Prompt
from isogloss.studies.stereotypes.bbq_items import UNKNOWN
from isogloss.studies.stereotypes.items import json_rows, read_text
from isogloss.studies.stereotypes.settings import ANY, Rule, StereotypeSettings
from isogloss.studies.stereotypes.wording import ChoiceWording, choice_wording
from isogloss.study import Given

if TYPE_CHECKING:
    import pandas as pd

LAYOUTS = ("bbq", "esbbq")


def is_bbq(dataset: Dataset) -> bool:
    """Whether a data set is one of these."""
    return bool(dataset.items) and dataset.items[0].fields.get("layout") in LAYOUTS


def rules_of(settings: StereotypeSettings) -> tuple[Rule, ...]:
    """The rules that are set; forced_choice where none is."""
    return tuple(dict.fromkeys("forced_choice" if rule == ANY else rule for rule in settings.rule))


def conditions(dataset: Dataset, settings: StereotypeSettings, seed: int) -> Iterator[tuple[Item, Condition]]:
    """Each question in `settings.orders` orders, with the words that stand for "unknown" where the data have none.

    Raises
    ------
    SettingError
        For a rule other than forced_choice (or given, which is for results made elsewhere), and for neither=true.
    """
    rules = rules_of(settings)
    if rules == ("given",):
        for item in dataset.items:
            yield item, _given_condition(item)
        return
    if rules != ("forced_choice",):
        raise SettingError(
            f"{dataset.name} has questions with three answers: set rule=forced_choice, got rule={','.join(rules)}"
        )
    if settings.neither:
        raise SettingError(
            f"{dataset.name} has an answer 'unknown' of its own in each question; neither=true is for other data, "
            "leave it out"
        )
    for item in dataset.items:
        wording = _wording(item, settings)
        factors = {}
        if any(option.text == UNKNOWN for option in item.options):
            factors["unknown"] = shuffled(wording.unknown, seed=seed, key=f"unknown\x1f{item.id}")[0]
        for order in _orders(item, settings.orders, seed):
            yield item, Condition(
                language=wording.language, format="forced_choice", wording=wording.name, order=order, factors=factors
            )  # fmt: skip


def _given_condition(item: Item) -> Condition:
    return Condition(language=item.language, format="given", order=tuple(option.id for option in item.options))


def _orders(item: Item, n: int, seed: int) -> list[tuple[str, ...]]:
    """The three rotations of a seeded order, or all six: those of its mirror image, too."""
    ids = shuffled([option.id for option in item.options], seed=seed, key=f"answers\x1f{item.id}")
    rotations = [ids[k:] + ids[:k] for k in range(3)]
    return [*rotations, *(order[::-1] for order in rotations)][:n]


def _wording(item: Item, settings: StereotypeSettings) -> ChoiceWording:
    return choice_wording(settings.wording if settings.wording != ANY else item.language or settings.language)


def ask(item: Item, condition: Condition, settings: StereotypeSettings) -> Prompt:
    """The question with three lettered answers."""
    if condition.format == "given":  # never sent: its id stands for the item
        return Prompt.make(
            (Message(role="text", content=item.id),), form=AnswerForm(kind="one_of", choices=condition.order)
        )
    unknown = condition.factors.get("unknown", "")
    texts = {option.id: unknown if option.text == UNKNOWN else option.text for option in item.options}
    values = {letter: texts[id] for letter, id in zip("abc", condition.order, strict=True)}
    content = _wording(item, settings).answers.render(
        {"context": item.text, "question": item.fields["question"], **values}
    )
    return Prompt.make((Message(role="user", content=content),), form=AnswerForm(kind="letter", n_options=3))


def estimate(answers: pd.DataFrame, dataset: Dataset, settings: StereotypeSettings, seed: int) -> list[Estimate]:
    """Accuracy and bias in ambiguous and disambiguated contexts; see `bbq_estimate`."""
    from isogloss.studies.stereotypes.bbq_estimate import estimate as of_answers

    return of_answers(answers, dataset, settings, seed)


# --- predictions that stand in the data file itself -------------------------------------------------------------------


def given(path: Path, dataset: Dataset, settings: StereotypeSettings) -> tuple[dict[str, object], list[Given]] | None:
    """Answers in words in columns named `MODEL_pred_…` of JSON lines of BBQ; None for a file without such a column.

    Raises
    ------
    DataError
        For rows that are missing, doubled, of no item of the data, or without one of the first row's columns.
    """
    text = read_text(path)
    if not text.lstrip().startswith("{"):
        return None
    items = {item.id: item for item in dataset.items}
    is_part = bool(settings.split or settings.categories or settings.sample)
    found: list[Given] = []
    seen: set[str] = set()
    columns: list[str] = []
    for where, row in json_rows(path, text):
        columns = columns or sorted(name for name in row if "_pred_" in name)
        if not columns:
            return None
        id = f"{row.get('category')}.{row.get('example_id')}"
        if id in seen:
            raise DataError(f"{where}: a second row of the item {id!r}")
        seen.add(id)
        if id in items:
            found += _of_row(row, columns, where, items[id], settings)
        elif not is_part:
            raise DataError(f"{where}: no item {id!r} (category and example_id) in {dataset.name}")
    lacking = [id for id in items if id not in seen]
    if lacking:
        raise DataError(f"{path} has no row for {len(lacking):,} items of {dataset.name}, the first {lacking[0]!r}")
    return {"rule": ["given"]}, found


def _of_row(
    row: Mapping[str, object], columns: list[str], where: str, item: Item, settings: StereotypeSettings
) -> Iterator[Given]:
    prompt = ask(item, _given_condition(item), settings)
    for name in columns:
        if name not in row:
            raise DataError(f"{where} has no column {name!r}, which the first row has")
        if row[name] is not None:
            yield Given(where, prompt.id, name, 1, matched(str(row[name]), item) or json.dumps(row[name]))


def matched(prediction: str, item: Item) -> str | None:
    """Id of the answer that a prediction in words means: equal, or the answer's first two words are in it.

    None where no answer's are, or those of two.
    """
    said = _plain(prediction)
    answers = {option.id: _plain(option.text) for option in item.options}
    hits = [id for id, answer in answers.items() if said == answer] or [
        id for id, answer in answers.items() if " ".join(answer.split()[:2]) in said
    ]
    return hits[0] if len(hits) == 1 else None


def _plain(text: str) -> str:
    """In small letters, without a final period or closing brace."""
    return text.lower().strip().rstrip(".} ")
