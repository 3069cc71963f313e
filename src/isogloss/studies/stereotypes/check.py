"""What `isogloss check stereotypes FILE` has to say of a data set that could be read, before anything is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from isogloss.records import Dataset
from isogloss.studies.stereotypes import bbq
from isogloss.studies.stereotypes.items import names_group
from isogloss.studies.stereotypes.prompts import conditions
from isogloss.studies.stereotypes.settings import RULES, StereotypeSettings
from isogloss.study import Finding

SHOWN = 5


def findings(dataset: Dataset, settings: StereotypeSettings) -> list[Finding]:
    """Counts, and what is odd; nothing found here hinders a run."""
    items = dataset.items
    parts = [f"{len(items):,} rows of layout {items[0].fields['layout']}"]
    for name, plural in (("split", "splits"), ("category", "categories"), ("country", "countries")):
        counts = Counter(item.fields[name] for item in items if item.fields[name])
        if counts:
            parts.append(f"{plural}: " + ", ".join(f"{value} {n:,}" for value, n in sorted(counts.items())))
    found = [Finding("table", "; ".join(parts))]
    if not bbq.is_bbq(dataset):
        found += _of_terms(dataset)
    n = sum(1 for _ in conditions(dataset, settings, 0))
    found.append(Finding("questions", f"{n:,} with rule={','.join(settings.rule)}; there are {', '.join(RULES)}"))
    return found


def _of_terms(dataset: Dataset) -> Iterator[Finding]:
    items = [item for item in dataset.items if item.text]
    if not items:
        return
    terms = Counter((item.fields["country"], item.fields["target"]) for item in items)
    single = [target for (_, target), n in terms.items() if n == 1]
    text = f"{len(terms):,} target terms, {len(single):,} of them with one example"
    if single:
        text += f" (each weighs as much as any other): {', '.join(map(repr, sorted(single)[:SHOWN]))}"
    yield Finding("terms", text)
    if items[0].fields["layout"] == "own":
        lacking = [item.id for item in items if not names_group(item.text, item.fields["target"])]
        if lacking:
            yield Finding("contexts", f"{len(lacking):,} don't name their group: {', '.join(lacking[:SHOWN])}")
