"""Second step: claims that say the same become one stereotype. Exact after folding, then by sentence similarity.

Within one country and category and about one group, since the same claim about two groups is two stereotypes.
Clusters are made by complete linkage: every two claims of one are at least so alike as the threshold says, so that no
chain of small steps joins claims that differ. Their order doesn't matter, and every merge has its line.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isogloss.construction import Step, Table, Tables, Workshop
from isogloss.construction.pipeline import Row
from isogloss.construction.review_file import read_decisions, write_review
from isogloss.construction.similarity import FloatArray, check_encoder, encode, fold
from isogloss.metrics import chao1
from isogloss.records import content_id

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig

SAME, DIFFERENT = "same", "different"
REVIEW_COLUMNS = ("country", "category", "a_id", "b_id", "group", "a", "b", "similarity", "threshold")


class _Claim(NamedTuple):
    """Rows whose folded group and claim are equal."""

    id: str
    rows: list[Row]

    @property
    def claim(self) -> str:
        return str(self.rows[0]["claim"])


class _Cluster(NamedTuple):
    members: list[int]
    """Positions of claims, the one whose words are kept first."""
    similarity: dict[int, float]
    """Of each other member to the kept one."""


def merge(workshop: Workshop) -> Tables:
    """Merge what was retrieved, write pairs to look at to review/borderline.csv, and say how much is still unseen."""
    config: BuildConfig = workshop.config
    review = workshop.folder / "review" / "borderline.csv"
    decided = read_decisions(review, ("a_id", "b_id"), (SAME, DIFFERENT))
    stereotypes: Table = []
    merges: Table = []
    borderline: Table = []
    where: dict[str, str] = {}
    for (country, category), rows in _grouped(workshop.tables["retrieved"], ("country", "category")).items():
        for group_rows in _by_group(rows):
            claims = _exact(group_rows, merges, where)
            found = _cluster(claims, config, decided)
            for cluster in found.clusters:
                stereotypes.append(_stereotype(claims, cluster, where))
                merges += _lines(claims, cluster, config, found.by_hand)
            borderline += [
                {"country": country, "category": category, **pair, "threshold": config.merging.threshold}
                for pair in found.borderline
            ]
        workshop.tell(f"{country}, {category}: {len(rows):,} rows read, {len(stereotypes):,} stereotypes so far")
    stereotypes.sort(
        key=lambda row: (str(row["country"]), str(row["category"]), fold(str(row["group"])), str(row["id"]))
    )
    borderline.sort(key=lambda row: (-float(row["similarity"]), str(row["a_id"]), str(row["b_id"])))  # type: ignore[arg-type]
    write_review(review, borderline, REVIEW_COLUMNS)
    return {
        "stereotypes": stereotypes,
        "merges": merges,
        "borderline": borderline,
        "saturation": saturation(workshop.tables["retrieved"], where),
        "unseen": unseen(workshop.tables["retrieved"], where),
    }


def _grouped(rows: Iterable[Row], names: Sequence[str]) -> dict[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(str(row[name]) for name in names)].append(row)
    return dict(sorted(found.items()))


def _by_group(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows about one group; its name may be written otherwise, and a plural or article more or less doesn't matter."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[fold(str(row["group"]))].append(row)
    return [found[name] for name in sorted(found)]


def _exact(rows: Sequence[Row], merges: Table, where: dict[str, str]) -> list[_Claim]:
    """Claims that differ after folding, in the order of their ids; equal ones are merged with a line each."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[fold(str(row["claim"]))].append(row)
    claims = []
    for folded, same in sorted(found.items()):
        kept = same[0]
        id = content_id(["stereotype", kept["country"], kept["category"], fold(str(kept["group"])), folded])
        id = id.removeprefix("b2:")[:16]
        claims.append(_Claim(id, same))
        for row in same:
            where[str(row["id"])] = id
        merges += [
            {
                "country": kept["country"], "category": kept["category"], "kept_id": kept["id"],
                "merged_id": row["id"], "kept": kept["claim"], "merged": row["claim"], "how": "exact",
                "similarity": 1.0, "threshold": 1.0,
            }
            for row in same[1:]
        ]  # fmt: skip
    return claims


class _Found(NamedTuple):
    clusters: list[_Cluster]
    borderline: Table
    by_hand: set[tuple[str, str]]


def _cluster(claims: Sequence[_Claim], config: BuildConfig, decided: Mapping[tuple[str, ...], str]) -> _Found:
    """Complete linkage over the claims about one group; a person's decision goes before any similarity."""
    if len(claims) == 1:
        return _Found([_Cluster([0], {})], [], set())
    language = str(claims[0].rows[0]["language"])
    vectors = encode([claim.claim for claim in claims], config.merging.encoder, language)
    alike: FloatArray = np.asarray(vectors @ vectors.T, dtype=np.float32)
    by_hand: set[tuple[str, str]] = set()
    borderline: Table = []
    place = {claim.id: k for k, claim in enumerate(claims)}
    true = alike.copy()
    for pair, decision in decided.items():
        if pair[0] in place and pair[1] in place:
            i, j = place[pair[0]], place[pair[1]]
            alike[i, j] = alike[j, i] = 1.0 if decision == SAME else -1.0
            by_hand.add((min(pair), max(pair)))
    near = {(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(true >= config.merging.review_from, 1)), strict=True)}
    near |= {tuple(sorted((place[a], place[b]))) for a, b in decided if a in place and b in place}  # type: ignore[misc]
    for i, j in sorted(near):
        a, b = sorted((claims[i], claims[j]), key=lambda claim: claim.id)
        decision = decided.get((a.id, b.id), decided.get((b.id, a.id), ""))
        if true[i, j] < config.merging.threshold or decision:
            borderline.append(
                {
                    "a_id": a.id, "b_id": b.id, "group": a.rows[0]["group"], "a": a.claim, "b": b.claim,
                    "similarity": round(float(true[i, j]), 4), "decision": decision,
                }
            )  # fmt: skip
    clusters = []
    for members in _linked(alike, config.merging.threshold):
        best = max(members, key=lambda k: (len(claims[k].rows), -len(claims[k].claim), claims[k].id))
        rest = [k for k in members if k != best]
        clusters.append(_Cluster([best, *rest], {k: float(true[best, k]) for k in rest}))
    return _Found(clusters, borderline, by_hand)


def _linked(alike: FloatArray, threshold: float) -> list[list[int]]:
    """Groups in which every two are at least so alike."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    distance = np.clip(1.0 - alike.astype(np.float64), 0.0, 2.0)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform((distance + distance.T) / 2, checks=False), method="complete")
    labels = fcluster(tree, t=1.0 - threshold + 1e-9, criterion="distance")
    found: dict[int, list[int]] = defaultdict(list)
    for k, label in enumerate(labels.tolist()):
        found[label].append(k)
    return sorted(found.values())


def _stereotype(claims: Sequence[_Claim], cluster: _Cluster, where: dict[str, str]) -> Row:
    rows = [row for k in cluster.members for row in claims[k].rows]
    kept = claims[cluster.members[0]]
    for row in rows:
        where[str(row["id"])] = kept.id
    first = kept.rows[0]
    return {
        "id": kept.id, "country": first["country"], "language": first["language"], "category": first["category"],
        "group": Counter(str(row["group"]) for row in rows).most_common(1)[0][0], "claim": kept.claim,
        "sources": sorted(str(row["id"]) for row in rows),
        "models": sorted({str(row["model"]) for row in rows} - {""}),
        "views": sorted({str(row["view"]) for row in rows} - {""}),
    }  # fmt: skip


def _lines(
    claims: Sequence[_Claim], cluster: _Cluster, config: BuildConfig, by_hand: set[tuple[str, str]]
) -> Iterator[Row]:
    kept = claims[cluster.members[0]]
    for k, similarity in cluster.similarity.items():
        merged = claims[k]
        pair = (min(kept.id, merged.id), max(kept.id, merged.id))
        yield {
            "country": kept.rows[0]["country"], "category": kept.rows[0]["category"], "kept_id": kept.id,
            "merged_id": merged.id, "kept": kept.claim, "merged": merged.claim,
            "how": "by hand" if pair in by_hand else "similar", "similarity": round(similarity, 4),
            "threshold": config.merging.threshold,
        }  # fmt: skip


# --- how much is still unseen -----------------------------------------------------------------------------------------


def saturation(retrieved: Sequence[Row], where: Mapping[str, str]) -> Table:
    """For each country, category and model, how many stereotypes its rounds brought, and how many of them new."""
    found: Table = []
    for (country, category, model), rows in _grouped(retrieved, ("country", "category", "model")).items():
        seen: set[str] = set()
        for number, of_round in sorted(_grouped(rows, ("round",)).items(), key=lambda part: int(part[0][0])):
            ids = {where[str(row["id"])] for row in of_round}
            n_new = len(ids - seen)
            seen |= ids
            found.append(
                {
                    "country": country, "category": category, "model": model, "round": int(number[0]),
                    "n_rows": len(of_round), "n_new": n_new, "n_total": len(seen),
                }
            )  # fmt: skip
    return found


def unseen(retrieved: Sequence[Row], where: Mapping[str, str]) -> Table:
    """Chao1 for each country and category: a stereotype is seen once for each reply that has it."""
    found: Table = []
    for (country, category), rows in _grouped(retrieved, ("country", "category")).items():
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
    name="merge", title="Merge claims that say the same", by="rule", reads=("retrieved",),
    writes=("stereotypes", "merges", "borderline", "saturation", "unseen"), make=merge, settings=_settings,
    reviews=("review/borderline.csv",),
)  # fmt: skip
