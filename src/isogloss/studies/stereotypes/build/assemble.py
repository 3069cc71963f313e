"""Last step: the data set as others will read it. StereoSet's JSON, Parquet and JSONL, the ratings apart, a card."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isogloss.construction import Step, Table, Tables, Workshop
from isogloss.construction.pipeline import Row
from isogloss.errors import DataError
from isogloss.files import whole_file
from isogloss.records import content_id
from isogloss.studies.stereotypes.build.card import card_text

if TYPE_CHECKING:
    import pyarrow as pa

    from isogloss.studies.stereotypes.build.config import BuildConfig

COLUMNS = (
    ("id", "string"), ("stereotype_id", "string"), ("country", "string"), ("language", "string"),
    ("category", "string"), ("target", "string"), ("context", "string"), ("stereotype", "string"),
    ("anti_stereotype", "string"), ("unrelated", "string"), ("unrelated_source", "string"),
    ("unrelated_similarity", "double"), ("origin", "string"), ("writer", "string"), ("licence", "string"),
    ("validated", "bool"), ("reviewed", "bool"), ("corrected", "bool"), ("n_ratings", "int32"), ("median", "double"),
    ("canary", "string"),
)  # fmt: skip
"""Of a row of the data set, with its Arrow type."""
RATING_COLUMNS = (
    ("country", "string"), ("language", "string"), ("category", "string"), ("task", "string"), ("item_id", "string"),
    ("rater", "string"), ("value", "int32"), ("decision", "string"),
)  # fmt: skip
"""Of a person's rating: how common a stereotype is (`value`), or what a review decided or whose triple of two is better
(`decision`). No free text."""
NEEDED = (
    "id",
    "stereotype_id",
    "country",
    "language",
    "category",
    "target",
    "context",
    "stereotype",
    "anti_stereotype",
)
ROLES = (("stereotype", "stereotype"), ("anti_stereotype", "anti-stereotype"), ("unrelated", "unrelated"))
SPLIT_FILE = "test-00000-of-00001.parquet"
SALT_FILE = "rater-salt"
CARD, OWN_CARD = "README.md", "README.new.md"


def assemble(workshop: Workshop) -> Tables:
    """Write `dataset/` and count what is in it.

    Raises
    ------
    DataError
        If a file can't be written, or a triple lacks a text.
    """
    config, tables = workshop.config, workshop.tables
    folder = workshop.folder / "dataset"
    own = workshop.folder / "assemble"
    counts = count_rows(tables, [country.code for country in config.countries])
    try:
        own.mkdir(parents=True, exist_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        code_of = coder(own)
        triples = [public_triple(row, canary(config), code_of) for row in tables["triples"]]
        ratings = public_ratings(workshop, code_of)
        written = write_data(folder, triples, ratings)
        remove_stale(folder, written)
        text = card_text(config, tables, triples, ratings, canary(config), skip_people=workshop.skip_people)
        write_card(folder, own, text, workshop.warn)
    except OSError as error:
        raise DataError(f"can't write {error.filename or folder}: {error.strerror}") from error
    for row in counts:
        if not row["n_triples"]:
            workshop.warn(f"{row['country']} has no triple, so the data set has no part for it; its card says so")
    workshop.tell(f"{len(triples):,} triples in {folder}")
    return {"counts": counts}


def count_rows(tables: Mapping[str, Table], countries: Sequence[str]) -> Table:
    """How many stereotypes each country has, how many people confirmed, and how many triples were made of them.

    Without people none is confirmed: `n_validated` counts rows that raters kept.
    """

    def of(table: str, country: str, keep: Callable[[Row], bool] = lambda row: True) -> int:
        return sum(row["country"] == country and keep(row) for row in tables.get(table, ()))

    return [
        {
            "country": country,
            "n_stereotypes": of("stereotypes", country),
            "n_validated": of("validated", country, lambda row: bool(row["kept"] and row["validated"])),
            "n_triples": of("triples", country),
        }
        for country in countries
    ]


# --- rows as they are published ---------------------------------------------------------------------------------------


def canary(config: BuildConfig) -> str:
    """A string that is found nowhere else, so that those who gather training texts can leave these out.

    It is made of the data set's name, title and creators, and stays the same from version to version.
    """
    return f"isogloss-canary-{content_id([config.name, config.title, list(config.creators)]).removeprefix('b2:')}"


def coder(own: Path) -> Callable[[str], str]:
    """The function that gives a person another code, the same for the same person, for publication.

    It is a keyed hash. The key is drawn once, lies in the construction's folder beside the data set (never in it), and
    without it nobody can find the code by trying out names or the raters' codes of the sheets.
    """
    path = own / SALT_FILE
    if not path.exists():
        with whole_file(path) as partial:
            partial.write_text(secrets.token_hex(32), encoding="ascii")
    salt = bytes.fromhex(path.read_text(encoding="ascii").strip())

    def code_of(rater: str) -> str:
        return f"r-{hashlib.blake2b(rater.encode(), key=salt, digest_size=6).hexdigest()}"

    return code_of


def public_triple(row: Row, canary: str, code_of: Callable[[str], str]) -> Row:
    """A row of `triples` with all columns of the data set; a person who wrote it has another code."""
    for column in NEEDED:
        if not row.get(column):
            raise DataError(f"triple {row.get('id')!r} has no {column!r}; each triple needs one")
    row = {**{name: row.get(name) for name, _ in COLUMNS}, "canary": canary}
    if row["origin"] == "person" and row["writer"]:
        row["writer"] = code_of(str(row["writer"]))
    return row


def public_ratings(workshop: Workshop, code_of: Callable[[str], str]) -> Table:
    """What each rater and reviewer said of each row, without words of their own; sorted, so order tells nothing."""
    places = {str(row["id"]): row for name in ("stereotypes", "instances") for row in workshop.tables.get(name, ())}
    raters_of = {} if workshop.skip_people else workshop.config.validation.raters
    found: Table = []
    for rating in workshop.ratings("validate"):
        word = str(rating.values.get("value"))
        value = int(word) if word.isdecimal() else None  # a rater who can't tell gives no number
        place = places.get(rating.item_id)
        if place is not None and rating.rater in raters_of.get(str(place["country"]), ()):
            found.append({"task": "validate", "item_id": rating.item_id, "rater": rating.rater, "value": value})
    for row in workshop.tables.get("reviewed", ()):
        decisions: Any = row.get("decisions") or ()
        found += [
            {"task": f"review {one['stage']}", "item_id": row["id"], "rater": one["rater"],
             "decision": one["decision"]}
            for one in decisions if str(row["id"]) in places
        ]  # fmt: skip
    found += compared_ratings(workshop.tables.get("compared", ()))
    rows: Table = []
    for one in found:
        place = places[str(one["item_id"]).partition(" ")[0]]
        rows.append(
            {
                **{name: place.get(name) for name in ("country", "language", "category")},
                **{name: one.get(name) for name in ("task", "item_id", "value", "decision")},
                "rater": code_of(str(one["rater"])),
            }
        )
    return sorted(rows, key=lambda row: [str(row[name]) for name in ("country", "task", "item_id", "rater")])


def compared_ratings(compared: Sequence[Row]) -> list[Row]:
    """Whose triple each rater holds for better; `item_id` has the ids of both, the model's first."""
    found: list[Row] = []
    for row in compared:
        said: Any = row["answers"]
        item_id = f"{row['model_id']} {row['person_id']}"
        found += [
            {"task": "compare", "item_id": item_id, "rater": rater, "decision": decision}
            for rater, decision in said.items()
        ]
    return found


# --- files ------------------------------------------------------------------------------------------------------------


def write_data(folder: Path, triples: Table, ratings: Table) -> set[Path]:
    """Everything but the card; returns the paths written."""
    written: set[Path] = set()
    for country in dict.fromkeys(str(row["country"]) for row in triples):
        rows = [row for row in triples if row["country"] == country]
        place = folder / "data" / country
        written.add(write_parquet(place / SPLIT_FILE, rows, COLUMNS))
        written.add(write_text(place / "test.jsonl", "".join(f"{json_text(row)}\n" for row in rows)))
        written.add(write_text(folder / "stereoset" / f"{country}.json", json_text(stereoset(rows), indent=1) + "\n"))
    if ratings:
        written.add(write_parquet(folder / "ratings" / "ratings.parquet", ratings, RATING_COLUMNS))
    return written


def stereoset(rows: Sequence[Row]) -> dict[str, object]:
    """Rows in StereoSet's layout, all between sentences; rows without an unrelated sentence have no place in it.

    Ids of sentences are hashes of what they are, and order the three of an example, so that place tells nothing.
    """
    examples = []
    for row in rows:
        if not row["unrelated"]:
            continue
        sentences = [
            {"id": content_id([row["id"], role, row[column]]), "sentence": row[column], "gold_label": role,
             "labels": []}
            for column, role in ROLES
        ]  # fmt: skip
        examples.append(
            {
                "id": row["id"], "target": row["target"], "bias_type": row["category"], "context": row["context"],
                "country": row["country"], "language": row["language"],
                "sentences": sorted(sentences, key=lambda sentence: str(sentence["id"])),
            }
        )  # fmt: skip
    # StereoSet's own reader wants both lists, and each sentence's labels.
    return {
        "version": "1.0",
        "canary": rows[0]["canary"] if rows else "",
        "data": {"intersentence": examples, "intrasentence": []},
    }


def write_parquet(path: Path, rows: Sequence[Row], columns: Iterable[tuple[str, str]]) -> Path:
    """Rows as Parquet under typed columns; what a row lacks is null."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(name, arrow_type(pa, kind)) for name, kind in columns])
    table = pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as partial:
        parquet.write_table(table, partial)
    return path


def arrow_type(arrow: Any, kind: str) -> pa.DataType:
    """The Arrow type of a name in `COLUMNS`."""
    types: dict[str, Callable[[], pa.DataType]] = {
        "string": arrow.string, "double": arrow.float64, "bool": arrow.bool_, "int32": arrow.int32,
    }  # fmt: skip
    return types[kind]()


def write_text(path: Path, text: str) -> Path:
    """A text file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="")
    return path


def json_text(content: object, *, indent: int | None = None) -> str:
    """JSON with characters as they are, without NaN."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=indent)


def remove_stale(folder: Path, written: set[Path]) -> None:
    """Take away parts of countries that are no longer in the data set; files that aren't ours stay."""
    ours = (f"data/*/{SPLIT_FILE}", "data/*/test.jsonl", "stereoset/*.json", "ratings/ratings.parquet")
    for path in [path for pattern in ours for path in folder.glob(pattern)]:
        if path not in written:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()


def write_card(folder: Path, own: Path, text: str, warn: Callable[[str], None]) -> None:
    """The card; one that somebody has changed by hand stays, and the new one is laid beside it."""
    card, last = folder / CARD, own / CARD
    changed = card.exists() and (not last.exists() or card.read_bytes() != last.read_bytes())
    if changed and card.read_text(encoding="utf-8") != text:
        write_text(folder / OWN_CARD, text)
        warn(f"{card} was changed by hand and is kept; what it would be now is in {OWN_CARD} beside it")
        return
    write_text(card, text)
    write_text(last, text)
    (folder / OWN_CARD).unlink(missing_ok=True)


def settings(config: BuildConfig) -> object:
    """All that the card says: everything but where files lie."""
    places: dict[str, Any] = {name: {"wording"} for name in ("retrieval", "validation", "instances")}
    places["retrieval"] |= {"claims"}
    if not config.instances.both:  # what was made before there was such a key still holds
        places["instances"] |= {"both"}
    claims = config.retrieval.claims
    unsaid = {**places, "unrelated": {"pool"}, "overlap": True, "comparison": True}
    said = config.model_dump(mode="json", exclude=unsaid)
    return [said, claims and claims.name]


ASSEMBLE = Step(
    name="assemble",
    title="Write the data set and its card",
    by="rule",
    reads=("stereotypes", "retrieval_log", "validated", "validation_rates", "agreement", "instances", "rejects",
           "reviewed", "triples", "compared", "comparison"),
    writes=("counts",),
    make=assemble,
    settings=settings,
    outputs=(f"dataset/{CARD}", f"assemble/{SALT_FILE}"),
)  # fmt: skip
