"""What `isogloss check stereotypes FILE` has to say of a data set that could be read, before anything is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from isogloss.records import Dataset
from isogloss.studies.stereotypes import bbq
from isogloss.studies.stereotypes.items import context_names_group
from isogloss.studies.stereotypes.prompts import conditions, rules_of
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
    there_are = "no other rule suits such data" if bbq.is_bbq(dataset) else f"there are {', '.join(RULES)}"
    found.append(Finding("questions", f"{n:,} with rule={','.join(rules_of(dataset, settings))}; {there_are}"))
    return found


def _of_terms(dataset: Dataset) -> Iterator[Finding]:
    items = [item for item in dataset.items if item.text]
    if not items:
        return
    terms = Counter((item.fields["country"], item.fields["target"]) for item in items)
    single = sorted(term for term, n in terms.items() if n == 1)
    text = f"{len(terms):,} target terms, {len(single):,} of them with one example"
    if single:
        names = [f"{target!r} ({country})" if country else repr(target) for country, target in single]
        text += f" (each weighs as much as any other): {_listed(names)}"
    yield Finding("terms", text)
    if items[0].fields["layout"] == "own":
        lacking = [item.id for item in items if not context_names_group(item)]
        if lacking:
            yield Finding("contexts", f"{len(lacking):,} don't name their group: {_listed(lacking)}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
