"""What `isogloss check lexicon FILE` has to say of a table that could be read, before anything is asked."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from isogloss.records import Dataset, Item, Option
from isogloss.studies.lexicon.prompts import conditions
from isogloss.studies.lexicon.settings import LexiconSettings
from isogloss.study import Finding

SHOWN = 8
"""Examples that a finding names."""

_BRACKETS = re.compile(r"[\[\]()]")
_GLOSS_NOTE = re.compile(r"\(US\b", re.IGNORECASE)


def findings(dataset: Dataset, settings: LexiconSettings) -> list[Finding]:
    """Counts, and what is odd.

    Nothing found here hinders a run; what does is an error when the table is loaded.
    """
    return [
        Finding("table", _counts(dataset)),
        *_of_items(dataset),
        *_of_variants(dataset),
        *_of_countries(dataset),
        *_of_questions(dataset, settings),
    ]


def _counts(dataset: Dataset) -> str:
    labels = [label for _, option in _options(dataset) for label in option.labels.values()]
    n_plus = sum(label == 1.0 for label in labels)
    n_options = sum(len(item.options) for item in dataset.items)
    n_countries = len(dataset.tables["places"])
    return (
        f"{len(dataset.items)} items, {n_options} variants, {n_countries} countries; {len(labels)} labelled cells, "
        f"{n_plus} of them + ({n_plus / len(labels):.3f})"
    )


def _of_items(dataset: Dataset) -> Iterator[Finding]:
    plain = [
        item.id for item in dataset.items if not any(label == 1.0 for o in item.options for label in o.labels.values())
    ]
    if plain:
        yield Finding("items", f"without + in any country (asked by yes or no only): {_some(plain)}")
    single = [item.id for item in dataset.items if len(item.options) == 1]
    if single:
        yield Finding("items", f"with one variant (asked by yes or no only): {_some(single)}")
    telling = [
        f"{item.id} {option.text!r}"
        for item, option in _options(dataset)
        if re.search(rf"\b{re.escape(_folded(option.text))}\b", _folded(item.text))
    ]
    if telling:
        yield Finding("items", f"description names a variant: {_some(telling)}")
    glosses = [item.id for item in dataset.items if _GLOSS_NOTE.search(item.fields.get("gloss", ""))]
    if glosses:
        yield Finding("items", f"gloss with a remark such as (US: …), kept as it is: {_some(glosses)}")


def _of_variants(dataset: Dataset) -> Iterator[Finding]:
    bracketed = [f"{item.id} {option.text!r}" for item, option in _options(dataset) if _BRACKETS.search(option.text)]
    if bracketed:
        yield Finding(
            "variants",
            f"with brackets (a sound, an optional part), shown to the model as written: {_some(bracketed)}",
        )
    alike = []
    for item in dataset.items:
        texts = defaultdict(set)
        for option in item.options:
            texts[_folded(option.text)].add(option.text)
        alike += [f"{item.id} {' = '.join(map(repr, sorted(same)))}" for same in texts.values() if len(same) > 1]
    if alike:
        yield Finding("variants", f"the same but for case, accents or punctuation: {_some(alike)}")


def _of_countries(dataset: Dataset) -> Iterator[Finding]:
    n_labels: Counter[str] = Counter()
    n_plus: Counter[str] = Counter()
    for _, option in _options(dataset):
        n_labels.update(option.labels.keys())
        n_plus.update(code for code, label in option.labels.items() if label == 1.0)
    codes = [str(place["code"]) for place in dataset.tables["places"]]
    empty = [code for code in codes if not n_labels[code]]
    if empty:
        yield Finding("countries", f"without any label (never asked): {_some(empty)}")
    without = [code for code in codes if n_labels[code] and not n_plus[code]]
    if without:
        yield Finding("countries", f"without any + (asked by yes or no only): {_some(without)}")
    off_map = [str(p["code"]) for p in dataset.tables["places"] if p["latitude"] is None or p["longitude"] is None]
    if off_map:
        yield Finding("countries", f"without coordinates, so not on the map (give a places file): {_some(off_map)}")


def _of_questions(dataset: Dataset, settings: LexiconSettings) -> Iterator[Finding]:
    """Questions per format and country."""
    n_questions: dict[str, Counter[str]] = {}
    for _, condition in conditions(dataset, settings, 0):
        name = str(condition.format) + (" logprob" if condition.reading == "logprob" else "")
        n_questions.setdefault(name, Counter())[str(condition.country)] += 1
    codes = [str(place["code"]) for place in dataset.tables["places"]]
    for name, counts in n_questions.items():
        each = ", ".join(f"{code} {counts[code]}" for code in codes if counts[code])
        yield Finding(name, f"{counts.total()} questions: {each}")
    for name in settings.format:
        if not any(kind.partition(" ")[0] == name for kind in n_questions):
            yield Finding(name, "no question: no item has two variants and a + in a country that is asked about")


def _options(dataset: Dataset) -> Iterator[tuple[Item, Option]]:
    for item in dataset.items:
        for option in item.options:
            yield item, option


def _folded(text: str) -> str:
    """Without case, accents, punctuation and repeated space. Tilde and cedilla stay: `año` isn't `ano`."""
    parts = unicodedata.normalize("NFD", text.casefold())
    kept = "".join(part for part in parts if part in "\u0303\u0327" or not unicodedata.combining(part))
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFC", kept)))


def _some(names: Iterable[str]) -> str:
    """How many there are, and the first few: `12 (a, b, …)`."""
    names = list(names)
    return f"{len(names)} ({', '.join(names[:SHOWN])}{', …' if len(names) > SHOWN else ''})"
