"""A methods paragraph for a paper, made from what was really run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isogloss.reports.context import ModelFacts, ReportContext, RunFacts
from isogloss.reports.sections import Prose
from isogloss.reports.tables import MOST_NOTES
from isogloss.reports.tables import methods as estimate_methods


def methods_paragraph(context: ReportContext) -> str:
    """What was done, in the past tense, with versions, seeds and counts; ends with the study's own sentences."""
    version = next((f" {run.versions['isogloss']}" for run in context.runs if "isogloss" in run.versions), "")
    data = context.dataset
    size = [count(data.n_items, "item")]
    size += [count(data.n_options, "option")] if data.n_options else []
    size += [count(len(data.places), "place")] if data.places else []
    sentences = [
        f"We ran the study “{context.study_title}” ({context.study}@{context.study_version}) with isogloss{version} "
        f"on the data set {data.name} ({', '.join(size)}; content hash {data.digest}).",
        f"The informants were {listing(model_words(model) for model in context.models)}.",
        *(sentence for run in context.runs for sentence in _run_sentences(run)),
        *(sentence for section in context.sections if isinstance(section, Prose) and section.id == "methods"
          for sentence in section.paragraphs),
    ]  # fmt: skip
    sentences.append("A reply that no rule could read, a refusal and a failed call count as missing, never as wrong.")
    intervals = interval_words(context)
    return " ".join([*sentences, *([intervals] if intervals else [])])


def _run_sentences(run: RunFacts) -> list[str]:
    spec = run.spec
    settings = ", ".join(
        f"{name} = {_plain(value)}" for name, value in spec.settings.items() if value not in (None, "", (), [])
    )
    said = f"Run {run.id} put {count(run.n_prompts, 'prompt')}, each on its own, with seed {spec.seed}"
    said += f" and {spec.repeats} repeats" if spec.repeats > 1 else ""
    said += f", the first {spec.limit} of each format only" if spec.limit else ""
    said += f" ({settings})" if settings else ""
    dates = [date[:10] for date in (run.started, run.finished) if date]
    said += f", {' to '.join(dict.fromkeys(dates))}" if dates else ""
    return [said + "."]


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return "/".join(str(part) for part in value)
    return str(value)


def model_words(model: ModelFacts) -> str:
    """A model with its revision and how it was asked."""
    facts = [
        *([f"revision {model.revision}"] if model.revision else []),
        *(f"{name} {value}" for name, value in model.sampling.items()),
        *(["replies held to the asked form by a grammar"] if model.constrained else []),
    ]
    return model.name + (f" ({', '.join(facts)})" if facts else "")


def interval_words(context: ReportContext) -> str:
    """What all estimates share of their methods; a study says the rest in its own sentences."""
    notes = estimate_methods(context.estimates)
    return f"Estimates: {notes[0]}." if notes and " · " in notes[0] and len(notes) <= MOST_NOTES else ""


def listing(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    parts: Sequence[str] = list(words)
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else "none"


def count(number: int, noun: str) -> str:
    """`1 item`, `1,240 items`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
