"""Which questions are put, in which order, and their prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from isogloss.errors import SettingError
from isogloss.prompts import seeded_positions, shuffled
from isogloss.records import AnswerForm, Condition, Dataset, Item, Message, Prompt
from isogloss.registry import unknown_name
from isogloss.studies.lexicon.places import name_in
from isogloss.studies.lexicon.settings import Format, LexiconSettings
from isogloss.studies.lexicon.wording import Wording, load_wording, of_row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def wording_of(dataset: Dataset, settings: LexiconSettings) -> Wording:
    """The wording of a run: the one kept with the data where it came from a file."""
    kept = dataset.tables.get("wording")
    return of_row(tuple(kept[0].items())) if kept else load_wording(settings.wording)


def conditions(dataset: Dataset, settings: LexiconSettings, seed: int) -> Iterator[tuple[Item, Condition]]:
    """Every question, in the order of asking: format after format, in each the seeded order of its questions.

    A sample is the first N of that order, so a larger sample holds the smaller one. With both readings
    each question is put twice in a row, for a reply and for the probabilities of replies: a server that keeps what
    it has read of a prompt then reads it once.

    Parameters
    ----------
    dataset : Dataset
    settings : LexiconSettings
        `format`, `sample`, `reading`, `wording`, `countries`.
    seed : int
        Orders questions and options, and so draws the sample.

    Raises
    ------
    UnknownNameError
        If a country of the settings isn't in the data.
    """
    codes = [str(place["code"]) for place in dataset.tables["places"]]
    for code in settings.countries:
        if code not in codes:
            raise unknown_name("country of the data", code, codes)
    codes = [code for code in codes if not settings.countries or code in settings.countries]
    readings: tuple[Literal["text", "logprob"], ...] = (
        ("text", "logprob") if settings.reading == "both" else (settings.reading,)
    )
    wording = wording_of(dataset, settings)
    put = {"yes_no": _yes_no, "multiple_choice": _multiple_choice}
    for name in settings.format:
        cells = _cells(dataset, codes, name)
        order = seeded_positions(_keys(dataset, codes, cells, name), seed=seed, purpose=f"questions of {name}")
        for position in order[: settings.sample]:
            at_item, at_option, at_country = cells[position].tolist()
            for reading in readings:
                yield put[name](dataset.items[at_item], at_option, codes[at_country], wording, reading, seed)


def _cells(dataset: Dataset, codes: list[str], name: Format) -> NDArray[np.int32]:
    """What can be asked, as positions: item, option (0 for multiple choice), country. Shape (n_questions, 3)."""
    import numpy as np

    def positions() -> Iterator[int]:
        for at_item, item in enumerate(dataset.items):
            if name == "multiple_choice":
                for at_country in _countries_with_plus(item, codes):
                    yield from (at_item, 0, at_country)
                continue
            for at_option, option in enumerate(item.options):
                labels = option.labels
                for at_country, code in enumerate(codes):
                    if code in labels:
                        yield from (at_item, at_option, at_country)

    return np.fromiter(positions(), dtype=np.int32).reshape(-1, 3)


def _countries_with_plus(item: Item, codes: list[str]) -> list[int]:
    """Countries in which a multiple-choice question has an answer: at least two options, at least one `+`."""
    if len(item.options) < 2:
        return []
    return [at for at, code in enumerate(codes) if any(option.labels.get(code) == 1.0 for option in item.options)]


def _keys(dataset: Dataset, codes: list[str], cells: NDArray[np.int32], name: Format) -> Iterator[str]:
    """What each question is called for its rank, by ids alone: the order doesn't depend on that of the file."""
    for start in range(0, len(cells), 4096):
        for at_item, at_option, at_country in cells[start : start + 4096].tolist():
            item = dataset.items[at_item]
            of = item.options[at_option].id if name == "yes_no" else item.id
            yield f"{codes[at_country]}\x1f{of}"


def _yes_no(
    item: Item, at_option: int, country: str, wording: Wording, reading: Literal["text", "logprob"], seed: int
) -> tuple[Item, Condition]:
    return item, Condition(
        country=country,
        language=wording.language,
        format="yes_no",
        wording=wording.name,
        reading=reading,
        option=item.options[at_option].id,
    )


def _multiple_choice(
    item: Item, at_option: int, country: str, wording: Wording, reading: Literal["text", "logprob"], seed: int
) -> tuple[Item, Condition]:
    return item, Condition(
        country=country,
        language=wording.language,
        format="multiple_choice",
        wording=wording.name,
        reading=reading,
        order=shuffled([option.id for option in item.options], seed=seed, key=f"options\x1f{country}\x1f{item.id}"),
    )


def ask(item: Item, condition: Condition, dataset: Dataset, settings: LexiconSettings) -> Prompt:
    """The prompt of one question: a single message of the user.

    Raises
    ------
    SettingError
        If the condition is of another wording, country or format than the data set and the settings have.
    """
    wording = wording_of(dataset, settings)
    if condition.wording != wording.name:
        raise SettingError(
            f"the question is put in wording {condition.wording!r}, but the settings name {wording.name!r}"
        )
    values = {"country": _country_name(dataset, condition, wording), "description": item.text}
    if condition.format == "yes_no":
        template, form = wording.yes_no, wording.yes_no_form
        values["variant"] = item.options[_position(item, condition.option)].text
        candidates = form.choices
    else:
        template = wording.multiple_choice
        n_options = len(condition.order)
        form = AnswerForm(kind="number_list", n_options=n_options)
        texts = {option.id: option.text for option in item.options}
        values["options"] = "\n".join(
            f"{number}. {texts[option]}" for number, option in enumerate(condition.order, start=1)
        )
        candidates = tuple(str(number) for number in range(1, n_options + 1))
    if "gloss" in template.fields:
        values["gloss"] = item.fields.get("gloss", "")
    return Prompt.make(
        (Message(role="user", content=template.render(values)),),
        candidates=candidates if condition.reading == "logprob" else (),
        form=form,
    )


def _position(item: Item, option_id: str | None) -> int:
    """Position of an option, which is the last part of its id, from 1."""
    position = int(str(option_id).rpartition(".")[2]) - 1
    if item.options[position].id != option_id:
        raise SettingError(f"item {item.id!r} has no option {option_id!r}")
    return position


def _country_name(dataset: Dataset, condition: Condition, wording: Wording) -> str:
    for place in dataset.tables["places"]:
        if place["code"] == condition.country:
            return name_in(place, wording.language)
    raise SettingError(f"the data set has no country {condition.country!r}")


def reference(item: Item, condition: Condition, dataset: Dataset, settings: LexiconSettings) -> str:
    """What a perfect informant replies: the label of the cell, or the numbers of all predominant variants."""
    country = str(condition.country)
    if condition.format == "yes_no":
        wording = wording_of(dataset, settings)
        label = item.options[_position(item, condition.option)].labels[country]
        return wording.yes if label == 1.0 else wording.no
    labels: Mapping[str, Mapping[str, float]] = {option.id: option.labels for option in item.options}
    return "/".join(
        str(number) for number, option in enumerate(condition.order, start=1) if labels[option].get(country) == 1.0
    )
