"""First step: ask models which stereotypes are documented, again and again until a round adds nothing."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.construction import Requests, Step, Table, Tables, Workshop
from isogloss.construction.pipeline import Row
from isogloss.construction.rows_in_text import EMPTY_LIST, RowsRead, read_rows
from isogloss.construction.similarity import fold
from isogloss.errors import DataError, SettingError
from isogloss.files import separator_of
from isogloss.records import AnswerForm, Message, Prompt, Response, Sampling, Status, content_id
from isogloss.registry import unknown_name
from isogloss.studies.stereotypes.build.wording import Wording, own_files, wanted_for, wording
from isogloss.text import is_refusal, part

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig, Country, Named

FIELDS = frozenset({"country", "people", "category", "view", "rows"})
COLUMNS = ("group", "claim")
CLAIM_COLUMNS = ("country", "category", "group", "claim")


@dataclass(eq=False)
class _Search:
    """What is asked until it is exhausted."""

    country: Country
    category: Named
    model: str
    seen: set[tuple[str, str]] = field(default_factory=set)
    """Group and claim, folded."""


def retrieve(workshop: Workshop) -> Tables:
    """Ask each model about each country and category from each point of view; a round asks all of them once.

    A country, category and model are left when a round of theirs brings no claim that was not there before, or when
    `max_rounds` is reached. Refusals and replies without rows are kept in the log; that nothing was found is no fault
    here, so that the log is kept then, too.
    """
    config: BuildConfig = workshop.config
    retrieved: Table = ready_claims(config)
    log: Table = []
    searches = [
        _Search(country, category, model)
        for country in config.countries
        for category in config.categories
        for model in config.retrieval.models
    ]
    active = searches
    for number in range(1, config.retrieval.max_rounds + 1):
        if not active:
            break
        still = []
        for model in config.retrieval.models:
            mine = [search for search in active if search.model == model]
            n_before = [len(search.seen) for search in mine]
            for search, view, response in _ask(workshop, config, mine, number):
                rows, entry = _take(search, view, response, number)
                retrieved += rows
                log.append(entry)
            still += [search for search, n in zip(mine, n_before, strict=True) if len(search.seen) > n]
        active = still
        workshop.tell(
            f"round {number}: {len(retrieved):,} rows, {len(active)} of {len(searches)} searches still find more"
        )
    if active:
        workshop.warn(
            f"{len(active)} searches still found something in round {config.retrieval.max_rounds}; "
            "raise retrieval.max_rounds to go on"
        )
    _warn(workshop, config, retrieved, log)
    return {"retrieved": retrieved, "retrieval_log": log}


def _warn(workshop: Workshop, config: BuildConfig, retrieved: Table, log: Table) -> None:
    """Say who refused, and where nothing was found."""
    for model in config.retrieval.models:
        statuses = [row["status"] for row in log if row["model"] == model]
        n_refused = statuses.count(Status.REFUSED)
        if n_refused:
            workshop.warn(f"{model} refused {n_refused:,} of {len(statuses):,} times")
    found = {(row["country"], row["category"]) for row in retrieved}
    for country in config.countries:
        for category in config.categories:
            if (country.code, category.name) not in found:
                workshop.warn(f"nothing was found for {country.code}, category {category.name!r}")


def _ask(
    workshop: Workshop, config: BuildConfig, searches: Sequence[_Search], number: int
) -> list[tuple[_Search, str, Response]]:
    """The replies of one model to one round, all views of all its searches at once."""
    if not searches:
        return []
    asked = [
        (search, view.name, prompt_of(config, search.country, search.category, view))
        for search in searches
        for view in config.views
    ]
    wanted = config.retrieval
    sampling = Sampling(temperature=wanted.temperature, max_tokens=wanted.max_tokens, constrained=wanted.constrained)
    prompts = [prompt for _, _, prompt in asked]
    replies = workshop.ask(prompts, searches[0].model, repeat=number, sampling=sampling)
    return [(search, view, response) for (search, view, _), response in zip(asked, replies, strict=True)]


def prompt_of(config: BuildConfig, country: Country, category: Named, view: Named) -> Prompt:
    """What a model is asked about one country, category and point of view."""
    held = wording_for(config, country)
    text = held.prompt.render(
        {
            "country": country.name,
            "people": country.people or country.name,
            "category": category.words_in(country.language) or category.name,
            "view": view.words_in(country.language) or _view_words(held, view.name),
            "rows": str(config.retrieval.rows),
        }
    )
    form = AnswerForm(kind="rows", choices=COLUMNS, n_options=config.retrieval.rows)
    return Prompt.make((Message(role="user", content=text),), form=form if config.retrieval.constrained else None)


def wording_for(config: BuildConfig, country: Country) -> Wording:
    """The words that models are asked in about a country."""
    return wording("retrieve", wanted_for(config.retrieval.wording, country.language), FIELDS)


def _view_words(held: Wording, name: str) -> str:
    views = held.table.get("views", {})
    if name not in views:
        raise SettingError(
            f"wording {held.name} has no point of view {name!r} (it has {', '.join(sorted(views))}); "
            f'give its words: views = [{{name = "{name}", words = "…"}}]'
        )
    return str(views[name])


def _take(search: _Search, view: str, response: Response, number: int) -> tuple[Table, Row]:
    """Rows of one reply, and its line of the log."""
    status, read = _claims_only(*read_reply(response, COLUMNS))
    rows: Table = []
    n_new = 0
    for row in read.rows:
        key = (fold(row["group"]), fold(row["claim"]))
        n_new += key not in search.seen
        search.seen.add(key)
        place = (search.country.code, search.category.name, view, search.model, number, len(rows), response.prompt_id)
        rows.append(
            {
                "id": content_id([*place, row["group"], row["claim"]]).removeprefix("b2:")[:16],
                "country": search.country.code, "language": search.country.language, "category": search.category.name,
                "view": view, "model": search.model, "round": number, "group": row["group"], "claim": row["claim"],
                "repaired": read.repaired, "prompt_id": response.prompt_id,
            }
        )  # fmt: skip
    entry: Row = {
        "country": search.country.code, "category": search.category.name, "view": view, "model": search.model,
        "round": number, "status": status.value, "n_rows": len(rows), "n_new": n_new,
        "n_repaired": len(rows) if read.repaired else 0, "n_dropped": read.n_dropped, "note": read.note,
        "prompt_id": response.prompt_id,
    }  # fmt: skip
    return rows, entry


def _claims_only(status: Status, read: RowsRead) -> tuple[Status, RowsRead]:
    """Rows that say nothing of the group but its name, or decline in the form that was asked for, are no claims."""
    named = [row for row in read.rows if fold(row["claim"]) != fold(row["group"])]
    rows = tuple(row for row in named if not is_refusal(row["claim"]))
    counts = {"only name the group": len(read.rows) - len(named), "decline in words": len(named) - len(rows)}
    if not any(counts.values()):
        return status, read
    note = "; ".join(filter(None, (read.note, *(f"{n} rows {words}" for words, n in counts.items() if n))))
    left = RowsRead(rows, read.repaired and bool(rows), read.n_dropped + sum(counts.values()), note)
    return (status if rows else Status.REFUSED if counts["decline in words"] else Status.UNPARSED), left


def read_reply(response: Response, columns: Sequence[str]) -> tuple[Status, RowsRead]:
    """What a reply comes to: rows, a refusal, or a status that says why there is none.

    A reply that stops at the token limit is `truncated`, and its whole rows are kept. An empty list is `ok`: the model
    says that it has nothing (more) to give.
    """
    nothing = RowsRead((), False, 0, response.error or "")
    if response.status not in (Status.OK, Status.TRUNCATED):
        return response.status, nothing
    text, outcome = part(response.text or "")
    if outcome is not None:
        return outcome.status, RowsRead((), False, 0, outcome.note)
    read = read_rows(text, columns)
    if read.rows or read.note == EMPTY_LIST:
        return response.status, read
    if response.status is Status.OK and is_refusal(text):
        return Status.REFUSED, read._replace(note="declined in words")
    return (Status.UNPARSED if response.status is Status.OK else response.status), read


def ready_claims(config: BuildConfig) -> Table:
    """Rows of the file of ready claims. Raises DataError naming file, row and column."""
    path = config.retrieval.claims
    if path is None:
        return []
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: byte {error.start}") from error
    reader = csv.DictReader(StringIO(text, newline=""), delimiter=separator_of(text))
    try:
        given = list(reader)
    except csv.Error as error:
        raise DataError(f"{path} can't be read after row {reader.line_num}: {error}") from error
    for column in CLAIM_COLUMNS:
        if column not in (reader.fieldnames or ()):
            raise DataError(f"{path} has no column {column!r}; expected {', '.join(CLAIM_COLUMNS)}")
    languages = {country.code: country.language for country in config.countries}
    categories = {category.name for category in config.categories}
    rows: Table = []
    for number, row in enumerate(given, start=2):
        cells = {column: " ".join((row[column] or "").split()) for column in CLAIM_COLUMNS}
        for column, cell in cells.items():
            if not any(map(str.isalnum, cell)):
                raise DataError(f"{path} row {number}: column {column!r} {'has no word' if cell else 'is empty'}")
        for column, known in (("country", set(languages)), ("category", categories)):
            if cells[column] not in known:
                advice = unknown_name(column, cells[column], known, hint="it must be one of the configuration's")
                raise DataError(f"{path} row {number}: {advice}")
        rows.append(
            {
                "id": content_id(["claims", number, *cells.values()]).removeprefix("b2:")[:16], **cells,
                "language": languages[cells["country"]], "view": "", "model": "", "round": 0, "repaired": False,
                "prompt_id": "",
            }
        )  # fmt: skip
    return rows


def _forecast(workshop: Workshop) -> list[Requests]:
    """Every model in every round; a wording that lacks something is said now."""
    config: BuildConfig = workshop.config
    wanted = config.retrieval
    if not wanted.models:
        return []
    prompts = [
        prompt_of(config, country, category, view)
        for country in config.countries
        for category in config.categories
        for view in config.views
    ]
    distinct = list({prompt.id: prompt for prompt in prompts}.values())
    return [Requests(model, distinct, wanted.max_rounds, wanted.max_tokens) for model in wanted.models]


def _files(config: BuildConfig) -> list[Path]:
    claims = config.retrieval.claims
    return [*own_files(config.retrieval.wording), *([claims] if claims is not None else [])]


def _settings(config: BuildConfig) -> object:
    held = config.model_dump(mode="json", include={"categories", "views", "countries", "retrieval"})
    held["retrieval"].pop("claims")  # its content counts, not where it lies
    return held


RETRIEVE = Step(
    name="retrieve", title="Retrieve stereotypes from models", by="model", reads=(),
    writes=("retrieved", "retrieval_log"), make=retrieve, settings=_settings, files=_files, forecast=_forecast,
    models=lambda config: dict.fromkeys(config.retrieval.models, config.retrieval.constrained),
)  # fmt: skip
