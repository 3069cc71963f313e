"""Sixth step: each accepted triple gets a sentence that has nothing to do with it, drawn from a pool.

A sentence fits a triple when it shares no content word with any of the three texts or the group's name, and isn't alike
to any of the three. Of those that fit, the one used least so far is taken, so that all are used as evenly as can be;
the triples of a stereotype get different ones. In a script without spaces between words (Chinese, Japanese, Thai)
whole clauses count as words, so that there similarity alone decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.construction import Step, Table, Tables, Workshop
from isogloss.construction.content_words import Vocabulary, function_words
from isogloss.construction.pipeline import Row
from isogloss.construction.similarity import FloatArray, check_encoder, encode, fold
from isogloss.errors import DataError, SettingError
from isogloss.locale import by_language
from isogloss.prompts import seeded_positions
from isogloss.registry import unknown_name
from isogloss.studies.stereotypes.build.people import TEXTS
from isogloss.studies.stereotypes.build.review import EDIT

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig

DATA = Path(__file__).parents[1] / "data"


class Pool(NamedTuple):
    """Sentences of one language to draw from."""

    name: str
    """As the data set names it: no path of this machine."""
    path: Path
    sentences: tuple[str, ...]
    licence: str


def unrelate(workshop: Workshop) -> Tables:
    """Draw the unrelated sentences, and lay the triples out as they are published.

    The texts are those that the reviews left, so that what was corrected there is in the triples.

    Raises
    ------
    DataError
        If a pool can't be read, or for some triple too few of its sentences fit; says how many, and what to do.
    """
    config: BuildConfig = workshop.config
    ratings = {str(row["id"]): row for row in workshop.tables["validated"]}
    accepted = [row for row in workshop.tables["reviewed"] if row["accepted"]]
    if not accepted:
        raise DataError("no triple was accepted by both reviews, so there is none to find an unrelated sentence for")
    by_language: dict[str, Table] = defaultdict(list)
    for row in accepted:
        by_language[str(row["language"])].append(row)
    drawn: dict[str, Row] = {}
    for language, rows in by_language.items():
        pool = pool_of(config, language)
        fits, similarity = fitting(pool, rows, config, language)
        for row, k, alike in zip(rows, *draw(pool, rows, fits, similarity, config, workshop.seed), strict=True):
            drawn[str(row["id"])] = {
                "unrelated": pool.sentences[k], "unrelated_source": pool.name, "unrelated_similarity": alike,
                "licence": licence_of(config, pool),
            }  # fmt: skip
        workshop.tell(f"{language}: {len(rows):,} triples, {len(pool.sentences):,} sentences in {pool.name}")
    return {"triples": [triple_of(row, ratings[str(row["stereotype_id"])], drawn[str(row["id"])]) for row in accepted]}


def triple_of(row: Row, rated: Row, drawn: Row) -> Row:
    """A row of `triples`: the reviewed texts, the drawn sentence, and what people said of the stereotype."""
    return {
        **{name: row[name] for name in ("id", "stereotype_id", "country", "language", "category")},
        "target": row["group"], **{name: row[name] for name in TEXTS},
        **{name: drawn[name] for name in ("unrelated", "unrelated_source", "unrelated_similarity")},
        "origin": row["origin"], "writer": row["writer"], "licence": drawn["licence"],
        "validated": rated["validated"], "reviewed": row["reviewed"], "corrected": is_corrected(row),
        "n_ratings": rated["n_ratings"],
        "median": rated["median"],
    }  # fmt: skip


def is_corrected(row: Row) -> bool:
    """Whether a reviewer has changed a triple, so that it is no longer just the writer's."""
    decisions: Any = row["decisions"]
    return any(one["decision"] == EDIT for one in decisions)


def licence_of(config: BuildConfig, pool: Pool) -> str:
    """Of a triple: the data set's, with the pool's where that is another and isn't CC0."""
    if pool.licence in ("", config.licence):
        return config.licence
    return f"{config.licence}; unrelated sentence: {pool.licence}"


# --- the pool ---------------------------------------------------------------------------------------------------------


def pool_of(config: BuildConfig, language: str) -> Pool:
    """The sentences of a language: the user's file, or the small pool that ships for it.

    Raises
    ------
    SettingError
        For a language that neither has.
    DataError
        For a file that can't be read or is empty.
    """
    given = config.unrelated.pool
    if given is None:
        path = DATA / f"pool_{language.split('-')[0].lower()}.txt"
        if not path.exists():
            known = sorted(one.stem.removeprefix("pool_") for one in DATA.glob("pool_*.txt"))
            raise unknown_name("pool of sentences that ships", language, known, hint='give a file: pool = "FILE.txt"')
        return Pool(f"isogloss {path.stem}", path, read_pool(path), "")
    if isinstance(given, Path):
        return Pool(given.name, given, read_pool(given), config.unrelated.licence)
    own = by_language(given, language)
    if own is None:
        raise SettingError(f"unrelated.pool has no file for {language!r}; it has {', '.join(sorted(given))}")
    return Pool(own.name, own, read_pool(own), config.unrelated.licence)


def read_pool(path: Path) -> tuple[str, ...]:
    """The sentences of a file, one a line; a sentence that comes again counts once. Raises DataError."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: byte {error.start}") from error
    sentences = {fold(line): " ".join(line.split()) for line in reversed(lines) if fold(line)}
    if not sentences:
        raise DataError(f"{path} has no sentence; it needs one a line")
    return tuple(reversed(sentences.values()))


# --- drawing ----------------------------------------------------------------------------------------------------------


def fitting(
    pool: Pool, rows: Sequence[Row], config: BuildConfig, language: str
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Which sentences fit which triples, and how alike they are to what is most alike of a triple.

    Returns
    -------
    fits : ndarray of bool, shape (n_triples, n_sentences)
    similarity : ndarray of float, shape (n_triples, n_sentences)
    """
    encoder = config.merging.encoder
    sentences = encode(pool.sentences, encoder, language)
    similarity = np.full((len(rows), len(pool.sentences)), -1.0, dtype=np.float32)
    for name in TEXTS:
        texts = [str(row[name]) for row in rows]
        np.maximum(similarity, encode(texts, encoder, language) @ sentences.T, out=similarity)
    fits = similarity <= config.unrelated.most_similarity
    corpus = [*pool.sentences, *(str(row[name]) for row in rows for name in TEXTS)]
    vocabulary = Vocabulary(pool.sentences, function_words(language, corpus))
    for at, row in enumerate(rows):
        fits[at, sorted(vocabulary.sharing(" ".join(str(row[name]) for name in (*TEXTS, "group"))))] = False
    return fits, similarity


def draw(
    pool: Pool, rows: Sequence[Row], fits: NDArray[np.bool_], similarity: FloatArray, config: BuildConfig, seed: int
) -> tuple[list[int], list[float]]:
    """A sentence for each triple, and how alike it is; those for which the fewest fit choose first.

    Raises
    ------
    DataError
        If for some triple no sentence is left that no other of its stereotype has.
    """
    order = seeded_positions((str(row["id"]) for row in rows), seed=seed, purpose="unrelated")
    order = order[np.argsort(fits[order].sum(axis=1), kind="stable")]
    rank = np.empty(len(pool.sentences), dtype=np.int64)
    rank[seeded_positions(pool.sentences, seed=seed, purpose="pool")] = np.arange(len(pool.sentences))
    n_used = np.zeros(len(pool.sentences), dtype=np.int64)
    taken: dict[str, set[int]] = defaultdict(set)
    chosen = [-1] * len(rows)
    for at in order.tolist():
        stereotype = str(rows[at]["stereotype_id"])
        free = [int(k) for k in np.flatnonzero(fits[at]) if k not in taken[stereotype]]
        if not free:
            raise DataError(_too_few(pool, rows, fits, at, config))
        chosen[at] = min(free, key=lambda k: (n_used[k], rank[k]))
        n_used[chosen[at]] += 1
        taken[stereotype].add(chosen[at])
    return chosen, [round(float(similarity[at, k]), 4) for at, k in enumerate(chosen)]


def _too_few(pool: Pool, rows: Sequence[Row], fits: NDArray[np.bool_], at: int, config: BuildConfig) -> str:
    same = sum(row["stereotype_id"] == rows[at]["stereotype_id"] for row in rows)
    none = int((fits.sum(axis=1) == 0).sum())
    return (
        f"pool {pool.path} is too small: of its {len(pool.sentences):,} sentences {int(fits[at].sum()):,} fit triple "
        f"{rows[at]['id']} ({rows[at]['context']!r}), whose stereotype needs {same} different ones; none fits "
        f"{none:,} of {len(rows):,} triples. Give a larger one (unrelated.pool), or raise unrelated.most_similarity "
        f"({config.unrelated.most_similarity:g})"
    )


def _settings(config: BuildConfig) -> object:
    for country in config.countries:
        check_encoder(config.merging.encoder, country.language)
    return [
        config.model_dump(mode="json", include={"unrelated", "licence"}), config.merging.encoder,
        [country.language for country in config.countries],
    ]  # fmt: skip


def _files(config: BuildConfig) -> list[Path]:
    given = config.unrelated.pool
    return [] if given is None else [given] if isinstance(given, Path) else list(given.values())


UNRELATE = Step(
    name="unrelate", title="Find an unrelated sentence for each triple", by="rule", reads=("validated", "reviewed"),
    writes=("triples",), make=unrelate, settings=_settings, files=_files, version=2,
)  # fmt: skip
