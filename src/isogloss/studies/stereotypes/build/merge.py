"""Second step: claims that say the same become one stereotype. Exact after folding, then by sentence similarity.

Within one country and category and about one group, since the same claim about two groups is two stereotypes. Claims
are compared without the group's name: what both sides share would lift every similarity ("arrive late" and "arrive
early" in Spanish go from 0.82 to 0.91 by it). Clusters are made by complete linkage: every two claims of one are at
least so alike as the threshold says, so that no chain of small steps joins claims that differ. Of two that are alike
but for a negation ("can cook", "can't cook") neither goes into the other unless a person says so. The order of rows
doesn't matter, and every merge has its line.

Names of a group are one when they are equal after folding. Names that differ only in small words may mean one group
("the people of the coast", "those of the coast") or two ("los artistas", "las artistas"): their like claims are listed
for a person, and "same" there makes the two names one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isogloss.construction import Step, Table, Tables, Workshop
from isogloss.construction.content_words import name_words
from isogloss.construction.opposites import may_be_opposed
from isogloss.construction.pipeline import Row
from isogloss.construction.review_file import of_absent, read_pairs, write_review
from isogloss.construction.similarity import FloatArray, check_encoder, encode, fold, linked
from isogloss.errors import DataError
from isogloss.metrics import chao1
from isogloss.records import content_id

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig, Merging

SAME, DIFFERENT = "same", "different"
REVIEW_COLUMNS = ("country", "category", "a_id", "b_id", "a", "b", "similarity", "threshold", "merged", "why")
REVIEW = "review/borderline.csv"
ALMOST = 0.999999
"""Most that an encoder's word counts: what a person calls the same is joined before all else."""

Decisions = Mapping[tuple[str, str], str]
"""Ids of two claims in order → same or different."""


class _Claim(NamedTuple):
    """Rows whose folded group and claim are equal."""

    id: str
    name: str
    """The group's, folded."""
    claim: str
    """As it was worded most often."""
    rows: list[Row]

    @property
    def language(self) -> str:
        return str(self.rows[0]["language"])

    @property
    def words(self) -> str:
        return f"{most_often(str(row['group']) for row in self.rows)}: {self.claim}"


class _Pair(NamedTuple):
    """Two claims that are nearly alike, or that a person decided on."""

    a: _Claim
    b: _Claim
    similarity: float
    merged: bool
    why: str
    """Why they are two, though alike to the threshold."""
    decision: str


class _Found(NamedTuple):
    clusters: list[list[int]]
    """Positions of claims, the one that is kept first."""
    by_hand: list[int]
    """Claim → number of the set that people's decisions put it in."""
    alike: FloatArray
    pairs: list[_Pair]


def merge(workshop: Workshop) -> Tables:
    """Merge what was retrieved, write pairs to look at to review/borderline.csv, and say how much is still unseen.

    A pair that a person decided there goes before any similarity, in both directions; decisions on claims that aren't
    there at present stay in the file.

    Raises
    ------
    DataError
        Where nothing was retrieved, and for decisions that contradict each other.
    """
    config: BuildConfig = workshop.config
    rule = config.merging
    if not workshop.tables["retrieved"]:
        raise DataError(_why_nothing(workshop.tables["retrieval_log"]))
    review = workshop.folder / REVIEW
    decided = read_pairs(review, (SAME, DIFFERENT))
    retrieved = workshop.tables["retrieved"]
    stereotypes: Table = []
    merges: Table = []
    listed: Table = []
    where: dict[str, str] = {}
    blocks = [
        claims
        for rows in _grouped(retrieved, ("country", "category")).values()
        for claims in _by_name(_exact(rows, merges))
    ]
    vectors = _vectors(blocks, rule)
    for claims in blocks:
        found = _cluster(claims, vectors, rule, decided, str(review))
        for members in found.clusters:
            stereotypes.append(_stereotype([claims[k] for k in members], where))
            merges += _lines(claims, members, found, rule)
        listed += [_listed(pair, rule) for pair in found.pairs]
    workshop.tell(f"{len(retrieved):,} claims read, {len(stereotypes):,} stereotypes left")
    stereotypes.sort(
        key=lambda row: (str(row["country"]), str(row["category"]), fold(str(row["group"])), str(row["id"]))
    )
    listed.sort(key=lambda row: (row["merged"], -float(str(row["similarity"])), str(row["a_id"]), str(row["b_id"])))
    shown = [{**row, "merged": "yes" if row["merged"] else "no"} for row in listed]
    if absent := of_absent(decided, listed):
        workshop.tell(f"{len(absent):,} decisions in {REVIEW} are on claims that aren't there, or are never compared")
    write_review(review, [*shown, *absent], REVIEW_COLUMNS)
    return {
        "stereotypes": stereotypes,
        "merges": merges,
        "borderline": [row for row in listed if row["decision"] or not row["merged"]],
        "saturation": saturation(retrieved, workshop.tables["retrieval_log"], where),
        "unseen": unseen(retrieved, where),
    }


def _why_nothing(log: Table) -> str:
    """What became of the replies, where none brought a claim."""
    counts = Counter(str(row["status"]) for row in log)
    words = ", ".join(f"{n:,} {'without rows' if status == 'ok' else status}" for status, n in counts.most_common())
    return (
        f"no claim was retrieved; replies: {words}; see tables/retrieval_log.jsonl. Take another model or wording, a "
        "larger retrieval.max_tokens where they were truncated, or retrieval.constrained = true where the model has a "
        "grammar"
    )


def _grouped(rows: Iterable[Row], names: Sequence[str]) -> dict[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(str(row[name]) for name in names)].append(row)
    return dict(sorted(found.items()))


def most_often(words: Iterable[str]) -> str:
    """The commonest of some texts; of equally common ones the first by spelling."""
    return min(Counter(words).items(), key=lambda item: (-item[1], item[0]))[0]


# --- exact ------------------------------------------------------------------------------------------------------------


def _exact(rows: Sequence[Row], merges: Table) -> list[_Claim]:
    """Claims that differ after folding, in the order of their folded words; equal ones are merged with a line each."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        found[fold(str(row["group"])), fold(str(row["claim"]))].append(row)
    claims = []
    for (name, folded), same in sorted(found.items()):
        same.sort(key=lambda row: str(row["id"]))
        country, category = same[0]["country"], same[0]["category"]
        id = content_id(["stereotype", country, category, name, folded]).removeprefix("b2:")[:16]
        claim = _Claim(id, name, most_often(str(row["claim"]) for row in same), same)
        claims.append(claim)
        kept = next(row for row in same if row["claim"] == claim.claim)
        merges += [
            {
                "country": country, "category": category, "kept_id": id, "merged_id": row["id"], "kept": claim.words,
                "merged": f"{row['group']}: {row['claim']}", "how": "exact", "similarity": 1.0, "threshold": 1.0,
            }
            for row in same if row is not kept
        ]  # fmt: skip
    return claims


def _by_name(claims: Sequence[_Claim]) -> list[list[_Claim]]:
    """Claims about one group, or about groups whose names differ only in small words."""
    found: dict[tuple[str, ...], list[_Claim]] = defaultdict(list)
    for claim in claims:
        found[tuple(sorted(name_words(claim.name, claim.language)))].append(claim)
    return [found[words] for words in sorted(found)]


# --- nearly alike -----------------------------------------------------------------------------------------------------


def _vectors(blocks: Sequence[Sequence[_Claim]], rule: Merging) -> dict[tuple[str, str], FloatArray]:
    """Language and claim → its vector; each is encoded once, however many groups it is said of."""
    texts: dict[str, dict[str, None]] = defaultdict(dict)
    for claims in blocks:
        if len(claims) > 1:
            texts[claims[0].language].update(dict.fromkeys(claim.claim for claim in claims))
    return {
        (language, text): vector
        for language, of_it in sorted(texts.items())
        for text, vector in zip(of_it, encode(list(of_it), rule.encoder, language), strict=True)
    }


def _cluster(
    claims: Sequence[_Claim], vectors: Mapping[tuple[str, str], FloatArray], rule: Merging, decided: Decisions,
    path: str,
) -> _Found:  # fmt: skip
    """Complete linkage over claims about one group; a person's decision goes before any similarity."""
    if len(claims) == 1:
        return _Found([[0]], [0], np.ones((1, 1), dtype=np.float32), [])
    mine = np.stack([vectors[claim.language, claim.claim] for claim in claims])
    alike: FloatArray = np.clip(mine @ mine.T, -1.0, 1.0)
    place = {claim.id: k for k, claim in enumerate(claims)}
    said = {(place[a], place[b]): word for (a, b), word in decided.items() if a in place and b in place}
    same = [pair for pair, word in said.items() if word == SAME]
    by_hand = _joined(len(claims), same)
    names = _one_name([claim.name for claim in claims], same)
    held = np.where(np.equal.outer(names, names), np.minimum(alike, ALMOST), -1.0)
    for i, j in _near(alike, rule.threshold):
        if may_be_opposed(claims[i].claim, claims[j].claim, claims[i].language):
            held[i, j] = held[j, i] = -1.0
    held[np.equal.outer(by_hand, by_hand)] = 1.0
    for (i, j), word in said.items():
        if word == DIFFERENT:
            if by_hand[i] == by_hand[j]:
                raise DataError(
                    f"{path}: {claims[i].id} and {claims[j].id} are called different, but same by way of other rows; "
                    "change one of these decisions"
                )
            held[i, j] = held[j, i] = -1.0
    clusters = []
    for members in linked(held, rule.threshold):
        kept = min(members, key=lambda k: (-len(claims[k].rows), len(claims[k].claim), claims[k].id))
        clusters.append([kept, *(k for k in members if k != kept)])
    return _Found(clusters, by_hand, alike, _pairs(claims, clusters, alike, rule, said, names))


def _near(alike: FloatArray, least: float) -> list[tuple[int, int]]:
    """Pairs at least so alike."""
    return [(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(alike >= least, 1)), strict=True)]


def _joined(n: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """A number for each of n things, equal for those that pairs join, directly or by way of others."""
    numbers = list(range(n))
    for i, j in pairs:
        old, new = numbers[j], numbers[i]
        numbers = [new if number == old else number for number in numbers]
    return numbers


def _one_name(names: Sequence[str], same: Iterable[tuple[int, int]]) -> list[int]:
    """A number for the group of each claim: one for names that a person called the same."""
    distinct = {name: k for k, name in enumerate(dict.fromkeys(names))}
    joined = _joined(len(distinct), ((distinct[names[i]], distinct[names[j]]) for i, j in same))
    return [joined[distinct[name]] for name in names]


def _pairs(
    claims: Sequence[_Claim], clusters: Sequence[Sequence[int]], alike: FloatArray, rule: Merging,
    said: Mapping[tuple[int, int], str], names: Sequence[int],
) -> list[_Pair]:  # fmt: skip
    """What a person may look at: pairs from `review_from` on, merged or not, and those decided before."""
    cluster_of = {k: number for number, members in enumerate(clusters) for k in members}
    decided = {(min(pair), max(pair)): word for pair, word in said.items()}
    found = []
    for i, j in sorted({*_near(alike, rule.review_from), *decided}):
        a, b = sorted((claims[i], claims[j]), key=lambda claim: claim.id)
        merged = cluster_of[i] == cluster_of[j]
        decision = decided.get((i, j), "")
        is_odd = not merged and not decision and alike[i, j] >= rule.threshold
        why = _why_two(a, b, one_name=names[i] == names[j]) if is_odd else ""
        found.append(_Pair(a, b, float(alike[i, j]), merged, why, decision))
    return found


def _why_two(a: _Claim, b: _Claim, *, one_name: bool) -> str:
    if not one_name:
        return "the names may mean two groups"
    if may_be_opposed(a.claim, b.claim, a.language):
        return "one may deny the other"
    return "others merged with one of them are less alike"


def _listed(pair: _Pair, rule: Merging) -> Row:
    first = pair.a.rows[0]
    return {
        "country": first["country"], "category": first["category"], "a_id": pair.a.id, "b_id": pair.b.id,
        "a": pair.a.words, "b": pair.b.words, "similarity": round(pair.similarity, 4), "threshold": rule.threshold,
        "merged": pair.merged, "why": pair.why, "decision": pair.decision,
    }  # fmt: skip


def _stereotype(cluster: Sequence[_Claim], where: dict[str, str]) -> Row:
    """One row for a cluster, under the words of its first claim."""
    rows = [row for claim in cluster for row in claim.rows]
    kept, first = cluster[0], cluster[0].rows[0]
    where.update((str(row["id"]), kept.id) for row in rows)
    return {
        "id": kept.id, "country": first["country"], "language": first["language"], "category": first["category"],
        "group": most_often(str(row["group"]) for row in rows), "claim": kept.claim,
        "sources": sorted(str(row["id"]) for row in rows),
        "models": sorted({str(row["model"]) for row in rows} - {""}),
        "views": sorted({str(row["view"]) for row in rows} - {""}),
    }  # fmt: skip


def _lines(claims: Sequence[_Claim], members: Sequence[int], found: _Found, rule: Merging) -> Iterator[Row]:
    """A line for each claim that went into the one kept."""
    kept = claims[members[0]]
    for k in members[1:]:
        by_hand = found.by_hand[k] == found.by_hand[members[0]]
        yield {
            "country": kept.rows[0]["country"], "category": kept.rows[0]["category"], "kept_id": kept.id,
            "merged_id": claims[k].id, "kept": kept.words, "merged": claims[k].words,
            "how": "by hand" if by_hand else "similar", "similarity": round(float(found.alike[members[0], k]), 4),
            "threshold": rule.threshold,
        }  # fmt: skip


# --- how much is still unseen -----------------------------------------------------------------------------------------


def saturation(retrieved: Sequence[Row], log: Sequence[Row], where: Mapping[str, str]) -> Table:
    """For each country, category and model, how many stereotypes its rounds brought, and how many of them new.

    A round that brought no row at all is there, too; ready claims, which no round brought, aren't.
    """
    brought = _grouped(retrieved, ("country", "category", "model", "round"))
    rounds = {(str(row["country"]), str(row["category"]), str(row["model"]), int(str(row["round"]))) for row in log}
    found: Table = []
    seen: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for country, category, model, number in sorted(rounds):
        rows = brought.get((country, category, model, str(number)), [])
        ids = {where[str(row["id"])] for row in rows}
        before = seen[country, category, model]
        n_new = len(ids - before)
        before |= ids
        found.append(
            {
                "country": country, "category": category, "model": model, "round": number,
                "n_rows": len(rows), "n_new": n_new, "n_total": len(before),
            }
        )  # fmt: skip
    return found


def unseen(retrieved: Sequence[Row], where: Mapping[str, str]) -> Table:
    """Chao1 for each country and category: a stereotype is seen once for each reply (model, view, round) that has it.

    Ready claims don't count: a file isn't a sample, and says nothing of what it lacks.
    """
    found: Table = []
    asked = [row for row in retrieved if row["model"]]
    for (country, category), rows in _grouped(asked, ("country", "category")).items():
        replies = {(where[str(row["id"])], row["model"], row["view"], row["round"]) for row in rows}
        estimate = chao1(Counter(id for id, *_ in replies).values())
        found.append(
            {
                "country": country, "category": category, "n_observed": estimate.n_observed,
                "n_once": estimate.n_once, "n_twice": estimate.n_twice, "chao1": round(estimate.chao1, 2),
                "low": round(estimate.low, 2), "high": round(estimate.high, 2),
            }
        )  # fmt: skip
    return found


def _settings(config: BuildConfig) -> object:
    for country in config.countries:
        check_encoder(config.merging.encoder, country.language)
    return config.merging.model_dump(mode="json")


MERGE = Step(
    name="merge", title="Merge claims that say the same", by="rule", reads=("retrieved", "retrieval_log"),
    writes=("stereotypes", "merges", "borderline", "saturation", "unseen"), make=merge, settings=_settings,
    reviews=(REVIEW,), version=2,
)  # fmt: skip
