"""The report's own sentences and small tables: what was asked of whom, its head, what the numbers don't tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from isogloss.records import Estimate, Message
from isogloss.reports.context import CodedReply, Example, InvalidRow, ModelFacts, ReportContext
from isogloss.reports.estimates import group_keys
from isogloss.reports.methods import count, listing
from isogloss.reports.numbers import format_interval, format_value
from isogloss.reports.sections import Cell, Column, Prose, Table
from isogloss.reports.tables import estimate_table
from isogloss.reports.tables import methods as estimate_methods

FORMAT_WORDS = {"yes_no": "Yes–no question", "multiple_choice": "Multiple choice"}
OVERALL_KEYS = {"model", "format", "reading", "baseline"}
LONGEST_QUOTE = 400
SHORT_HASH = 11
CARRIED = ("ok", "refused", "blocked", "truncated", "failed", "missing")


class Banner(NamedTuple):
    """A warning above everything else."""

    head: str
    text: str


def format_words(format: str) -> str:
    """`yes_no` → `Yes–no question`."""
    return FORMAT_WORDS.get(format, format.replace("_", " "))


def lead(context: ReportContext) -> str:
    """One sentence under the title."""
    models = context.models
    who = listing(model.name for model in models) if len(models) <= 4 else count(len(models), "informant")
    dates = sorted(date[:10] for run in context.runs for date in (run.started, run.finished) if date)
    when = "" if not dates else f", {dates[0]}" if dates[0] == dates[-1] else f", {dates[0]} to {dates[-1]}"
    places = f" in {count(len(context.dataset.places), 'place')}" if context.dataset.places else ""
    return f"{count(context.dataset.n_items, 'item')}{places}, asked of {who}{when}."


def banners(context: ReportContext) -> list[Banner]:
    """Warnings: models that only try the machinery, runs that aren't finished."""
    found = []
    embedded = [model.name for model in context.models if model.is_trial and not model.is_scripted]
    scripted = [model.name for model in context.models if model.is_scripted]
    if embedded:
        found.append(
            Banner(
                f"{listing(embedded)} is for trying the machinery.",
                "It is a very small model, made mostly for English, that ships so that everything can be tried without "
                "a key. Its numbers say nothing about language, about the places named here, or about language models.",
            )
        )
    if scripted:
        verb = "is a scripted informant" if len(scripted) == 1 else "are scripted informants"
        found.append(
            Banner(
                f"{listing(scripted)} {verb}.",
                "No model stands behind a scripted informant: its behaviour is known, which shows what chance and "
                "habit look like. Its numbers say nothing about language.",
            )
        )
    open_calls = sum(model.statuses.get(status, 0) for run in context.runs for model in run.models
                     for status in ("failed", "missing"))  # fmt: skip
    if open_calls:
        found.append(
            Banner(
                "This survey is incomplete.",
                f"{count(open_calls, 'question')} got no reply or were not asked yet; the command at the end of this "
                "page goes on with them.",
            )
        )
    return found


def _overall(context: ReportContext) -> list[Estimate]:
    return [
        estimate
        for estimate in context.estimates
        if set(estimate.group) <= OVERALL_KEYS and "(" not in estimate.measure
    ]


def summary(context: ReportContext) -> Prose:
    """What a study without a summary of its own opens with."""
    overall = _overall(context)
    if not context.estimates:
        return Prose("summary", "In short", ("There are no estimates: nothing has been answered and scored yet.",))
    if not overall:
        return Prose("summary", "In short", (f"{count(len(context.estimates), 'estimate')}; see the tables below.",))
    lines = []
    for estimate in overall[:8]:
        who = ", ".join(estimate.group.values()) or "all"
        interval = format_interval(estimate)
        lines.append(
            f"{who}: {estimate.measure} {format_value(estimate)}"
            + (f" ({interval})" if estimate.low is not None else "")
            + f", {estimate.n_scored:,} of {count(estimate.n_answers, 'answer')} scored."
        )
    return Prose("summary", "In short", tuple(lines))


def overview(context: ReportContext) -> Table | None:
    """The study's table with the id `overview`, or one of all overall estimates."""
    own = next((part for part in context.sections if isinstance(part, Table) and part.id == "overview"), None)
    if own is not None:
        return own
    overall = _overall(context)
    if not overall or any(part.id == "summary" for part in context.sections):
        return None
    pairs = dict.fromkeys((estimate.measure, estimate.group.get("baseline")) for estimate in overall)
    measures = {f"{measure}{f' ({baseline})' if baseline else ''}": (measure, baseline) for measure, baseline in pairs}
    by = {key: key for key in ("model", "format", "reading") if any(key in estimate.group for estimate in overall)}
    return estimate_table("overview", "Overall", overall, measures, by)


def plain_table(context: ReportContext) -> Table:
    """All estimates, one column per measure: what a study without sections of its own shows."""
    pairs = dict.fromkeys((estimate.measure, estimate.group.get("baseline")) for estimate in context.estimates)
    measures = {f"{measure}{f' ({baseline})' if baseline else ''}": (measure, baseline) for measure, baseline in pairs}
    by = {key: key for key in group_keys(context.estimates) if key != "baseline"}
    note = " · ".join(estimate_methods(context.estimates)[:12])
    return estimate_table("estimates", "Estimates", context.estimates, measures, by, note=note, folded=False)


def facts(context: ReportContext) -> list[tuple[str, str | Sequence[str]]]:
    """Terms and what they are in this report."""
    data = context.dataset
    size = [count(data.n_items, "item"), *([count(data.n_options, "option")] if data.n_options else [])]
    found: list[tuple[str, str | Sequence[str]]] = [
        ("Study", f"{context.study_title} ({context.study}@{context.study_version})"),
        ("Data", f"{data.name}: {', '.join(size)}"),
    ]
    if data.about:
        found.append(("About the data", data.about))
    if data.notes:
        found.append(("How it was read", data.notes))
    if data.places:
        found.append(
            ("Places", ", ".join(f"{name} ({code})" if name != code else code for code, name in data.places.items()))
        )
    if data.languages:
        found.append(("Language of the data", ", ".join(data.languages)))
    found.append(("Content hash of the data", data.digest))
    for run in context.runs:
        prefix = f"{run.id}: " if len(context.runs) > 1 else ""
        spec = run.spec
        given = {name: value for name, value in spec.settings.items() if value not in (None, "", (), [])}
        settings = [f"{name} = {_words(value)}" for name, value in given.items()]
        found += [
            (f"{prefix}Prompts", f"{run.n_prompts:,}" + (f", {spec.repeats} replicates" if spec.repeats > 1 else "")
             + (f"; the first {spec.limit:,} of each format" if spec.limit else "")),
            (f"{prefix}Seed", str(spec.seed)),
        ]  # fmt: skip
        if settings:
            found.append((f"{prefix}Settings", "; ".join(settings)))
        if run.reasoning_tags:
            found.append((f"{prefix}Marks of reasoning", f"the usual ones and {', '.join(run.reasoning_tags)}"))
        dates = [date.replace("T", " ") for date in (run.started, run.finished) if date]
        if dates:
            found.append((f"{prefix}When", " to ".join(dates)))
        if run.versions:
            found.append(
                (f"{prefix}Software", ", ".join(f"{name} {version}" for name, version in run.versions.items()))
            )
    return found


def _words(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def informants(context: ReportContext) -> Table:
    """Who answered, exactly, and how they were asked."""
    has_templates = any(model.template for model in context.models)
    columns = ("informant", "revision", *["chat template"] * has_templates, "asked with", "replies", "can do", "remark")
    rows = tuple(
        (
            model.name,
            model.revision,
            *[model.template[:SHORT_HASH] or None] * has_templates,
            ", ".join(f"{name} {value}" for name, value in model.sampling.items()) or None,
            _how(model),
            ", ".join(model.abilities) or None,
            "; ".join(filter(None, ["for trying the machinery" if model.is_trial else "", model.note])) or None,
        )
        for model in context.models
    )
    return Table("informants", "The informants", tuple(Column(title) for title in columns), rows)


def _how(model: ModelFacts) -> str:
    return "held to the asked form by a grammar" if model.constrained else "free text"


def statuses(context: ReportContext) -> Table:
    """What became of the calls."""
    rows: list[tuple[Cell, ...]] = []
    seen = {status for run in context.runs for model in run.models for status, n in model.statuses.items() if n}
    names = [*(status for status in CARRIED if status == "ok" or status in seen), *sorted(seen - set(CARRIED))]
    for run in context.runs:
        for model in run.models:
            is_told = len(context.runs) == 1 or model.name.endswith(f" ({run.id})")
            label = model.name if is_told else f"{model.name} ({run.id})"
            numbers = [model.statuses.get(name, 0) for name in names]
            rows.append((label, sum(model.statuses.values()), *numbers))
    columns = (Column("informant"), Column("questions", "count"), *(Column(name, "count") for name in names))
    return Table("statuses", "Replies by status", columns, tuple(rows))


class PrintedExample(NamedTuple):
    """An example as the page shows it."""

    format: str
    model: str
    messages: tuple[Message, ...]
    reply: str
    coded: tuple[CodedReply, ...]
    candidates: tuple[tuple[str, str], ...]
    scored_by: str
    rendered: str


def printed_example(example: Example) -> PrintedExample:
    """With its format in words, and scores with two decimals, or two digits where they are smaller."""
    candidates = tuple(
        (text, f"{value:.2f}" if value == 0 or abs(value) >= 0.1 else f"{value:.2g}")
        for text, value in example.candidates
    )
    candidates = tuple((text, value.replace("-", "−")) for text, value in candidates)
    words = format_words(example.format) + (f", by {example.scored_by}" if candidates else "")
    return PrintedExample(
        words, example.model, example.messages, example.reply, example.coded, candidates, example.scored_by,
        example.rendered,
    )  # fmt: skip


def shortened(row: InvalidRow) -> InvalidRow:
    """A row whose quotes are cut to a length that a table bears."""
    cut = tuple(text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + " […]" for text in row.examples)
    return InvalidRow(row.model, row.format, row.reading, row.status, row.reason, row.count, cut)


def limits(context: ReportContext) -> list[str]:
    """What no number of any study tells."""
    lines = [
        "An interval says how far a number would move with other items of the same kind. It knows nothing of other "
        "wordings, orders, samplings or later versions of a model.",
        "A model is asked to answer as a person from somewhere. Its reply shows what it puts forward when so asked, "
        "not what people there say, and not what it would write unasked.",
        "Missing replies are counted beside each number. Where many are missing, the number speaks for the rest only, "
        "and the rest may be the easier part.",
    ]
    if any(model.constrained for model in context.models):
        lines.append(
            "Where a grammar allowed only replies of the asked form, every reply can be read, but the reply is neither "
            "what the model would have said freely nor always the answer it holds most probable."
        )
    if any(estimate.group.get("reading") == "logprob" for estimate in context.estimates):
        lines.append(
            "A log-probability reading compares the probabilities of the possible replies. It gives an answer even "
            "where the model would have said something else, so it isn't compared with readings of text as if they "
            "were one measure."
        )
    if any(model.is_trial for model in context.models):
        lines.append("Informants marked “for trying the machinery” are here to show that the instrument works.")
    return lines
