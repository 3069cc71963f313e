"""After the reviews: where a model and people have both written triples, people say blind whose are better.

Accepted triples of one stereotype are paired, a model's with a person's, in an order drawn by the seed, as many pairs
as the smaller side has. A rater sees the two as A and B, in the words that the reviews left, and says which is better.
Who wrote which is shown to nobody: within a stereotype the model's are A and B in turn, the first drawn by the seed.

Nothing is compared, and nobody is asked, where `comparison.raters` names nobody.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from isogloss.annotation import Field, Form
from isogloss.construction import Sheet, Step, Table, Tables, Workshop
from isogloss.construction.pipeline import Row
from isogloss.errors import SettingError
from isogloss.metrics import bootstrap_counts, percentile_interval, ratio, resampled_sums
from isogloss.prompts import seeded_order
from isogloss.records import content_id
from isogloss.studies.stereotypes.build.people import (
    TEXTS,
    Left,
    agreement_of,
    category_words,
    count_left,
    nobody,
    sheet_of,
    waiting,
    wording_files,
    words_for,
)
from isogloss.studies.stereotypes.build.people_writing import MODEL, PERSON

if TYPE_CHECKING:
    from isogloss.studies.stereotypes.build.config import BuildConfig, Country

TASK = "compare"
SIDES = ("A", "B")
SAME = "same"
ANSWERS = (MODEL, PERSON, SAME)
"""Which triple of a pair is better, by who wrote it."""
N_RESAMPLES, CONFIDENCE = 2000, 0.95
Given = dict[str, dict[str, str | None]]
"""Id of a pair → rater → one of `ANSWERS`; None from who can't tell."""


class Pair(NamedTuple):
    """A triple by a model and one by a person, of one stereotype."""

    model: Row
    person: Row
    model_side: str
    """Of `SIDES`, where the model's is shown."""

    @property
    def sides(self) -> dict[str, Row]:
        """The two as they are shown."""
        first, second = (self.model, self.person) if self.model_side == SIDES[0] else (self.person, self.model)
        return dict(zip(SIDES, (first, second), strict=True))

    @property
    def id(self) -> str:
        """Hash of what is shown: an answer holds for just these texts on these sides."""
        texts = [[row[name] for name in TEXTS] for row in self.sides.values()]
        return content_id(["pair", self.model["stereotype_id"], *texts]).removeprefix("b2:")[:16]

    def origin(self, answer: object) -> str | None:
        """Who wrote what a rater holds for better; None from who can't tell."""
        if answer in SIDES:
            return MODEL if answer == self.model_side else PERSON
        return None if answer is None else SAME


def compare(workshop: Workshop) -> Tables:
    """Take what the raters said of each pair, and sum it up by country and category.

    Raises
    ------
    SettingError
        If somebody would compare triples of a country for which they wrote.
    WaitingError
        While a pair has fewer answers than are needed.
    """
    config: BuildConfig = workshop.config
    if workshop.skip_people or not config.comparison.raters:
        return {"compared": [], "comparison": []}
    pairs = pairs_of(workshop)
    check_comparers(config, pairs)
    given = answers(workshop, pairs)
    check_complete(workshop, pairs, given)
    comparison: Table = []
    for country, raters in config.comparison.raters.items():
        mine = [pair for pair in pairs if pair.model["country"] == country]
        categories = dict.fromkeys(str(pair.model["category"]) for pair in mine)
        rows = [
            summed_up(country, category, chosen, raters, given, workshop.seed)
            for category in (*categories, "")
            if (chosen := [pair for pair in mine if category in ("", pair.model["category"])]) or not category
        ]
        tell(workshop, rows[-1])
        comparison += rows
    return {"compared": [compared_row(pair, given[pair.id], config) for pair in pairs], "comparison": comparison}


# --- pairs ------------------------------------------------------------------------------------------------------------


def pairs_of(workshop: Workshop) -> list[Pair]:
    """Accepted triples of the countries that are compared, two and two."""
    config: BuildConfig = workshop.config
    written: dict[str, dict[str, dict[str, Row]]] = defaultdict(lambda: {MODEL: {}, PERSON: {}})
    for row in workshop.tables["reviewed"]:
        if row["accepted"] and row["country"] in config.comparison.raters:
            written[str(row["stereotype_id"])][str(row["origin"])][str(row["id"])] = row
    found = []
    for stereotype, by in written.items():
        purpose = f"compare {stereotype}"
        model, person = (seeded_order(list(by[origin]), seed=workshop.seed, purpose=purpose) for origin in by)
        sides = seeded_order(SIDES, seed=workshop.seed, purpose=purpose)
        found += [
            Pair(by[MODEL][one], by[PERSON][other], sides[k % 2])
            for k, (one, other) in enumerate(zip(model, person, strict=False))
        ]
    return found


def check_comparers(config: BuildConfig, pairs: Sequence[Pair]) -> None:
    """Nobody judges triples of a country for which they wrote, also not who did so before. Raises SettingError."""
    wrote = {(str(pair.person["country"]), str(pair.person["writer"])) for pair in pairs}
    for country, raters in config.comparison.raters.items():
        for rater in raters:
            if (country, rater) in wrote:
                raise SettingError(
                    f"{rater!r} is named in comparison.raters.{country}, and has written triples of it; name another "
                    "there"
                )


def answers(workshop: Workshop, pairs: Sequence[Pair]) -> Given:
    """What raters of a pair's country said of it; ratings of anybody or anything else don't count."""
    raters = workshop.config.comparison.raters
    known = {pair.id: pair for pair in pairs}
    given: Given = {pair.id: {} for pair in pairs}
    for rating in workshop.ratings(TASK):
        pair = known.get(rating.item_id)
        if pair is not None and rating.rater in raters[str(pair.model["country"])]:
            given[pair.id][rating.rater] = pair.origin(rating.values["better"])
    return given


def check_complete(workshop: Workshop, pairs: Sequence[Pair], given: Given) -> None:
    """Raise WaitingError while there are fewer answers than are needed."""
    needed = workshop.config.comparison.needed
    left: dict[str, Left] = {}
    more = []
    for country, raters in workshop.config.comparison.raters.items():
        said = [given[pair.id] for pair in pairs if pair.model["country"] == country]
        n_short = sum(len(one) < needed for one in said)
        if not n_short:
            continue
        more.append(f"fewer than {needed} answers to {n_short:,} of {len(said):,} pairs of {country}")
        count_left(left, raters, said)
    if more:
        raise waiting(TASK, left, workshop.folder, more=more)


# --- tables -----------------------------------------------------------------------------------------------------------


def compared_row(pair: Pair, said: Mapping[str, str | None], config: BuildConfig) -> Row:
    """A pair with what each rater holds for better, in the raters' order; None from who can't tell."""
    raters = config.comparison.raters[str(pair.model["country"])]
    ordered: dict[str, Any] = {rater: said[rater] for rater in raters if rater in said}
    return {
        "pair": pair.id, **{name: pair.model[name] for name in ("stereotype_id", "country", "category")},
        "model_id": pair.model["id"], "person_id": pair.person["id"], "writer": pair.model["writer"],
        "model_side": pair.model_side, "answers": ordered,
    }  # fmt: skip


def summed_up(
    country: str, category: str, pairs: Sequence[Pair], raters: Sequence[str], given: Given, seed: int
) -> Row:
    """Judgements of some pairs by whose triple is better.

    `model_share`: of those that hold one of the two for better, the share for the model's, with a bootstrap interval
    over stereotypes. `percent`: of pairs of raters of one pair, those who said the same. `alpha`: Krippendorff's,
    nominal; `reason` says why there is none. Who can't tell counts in `n_judgements` only.
    """
    counts = Counter(said for pair in pairs for said in given[pair.id].values())
    n_decided = counts[MODEL] + counts[PERSON]
    low, high = interval(pairs, given, seed)
    percent, alpha, reason = agreement([[given[pair.id].get(rater) for rater in raters] for pair in pairs])
    return {
        "country": country, "category": category, "n_pairs": len(pairs), "n_judgements": counts.total(),
        "n_model": counts[MODEL], "n_person": counts[PERSON], "n_same": counts[SAME], "n_cannot_tell": counts[None],
        "model_share": counts[MODEL] / n_decided if n_decided else None, "low": low, "high": high,
        "percent": percent, "alpha": alpha, "reason": reason,
    }  # fmt: skip


def interval(pairs: Sequence[Pair], given: Given, seed: int) -> tuple[float | None, float | None]:
    """Bootstrap interval of the model's share; none where fewer than two stereotypes have a triple held for better.

    Stereotypes are drawn, not judgements: those of one pair, or of one stereotype, aren't independent.
    """
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for pair in pairs:
        said = Counter(given[pair.id].values())
        of = sums[str(pair.model["stereotype_id"])]
        of[0] += said[MODEL]
        of[1] += said[MODEL] + said[PERSON]
    if sum(n > 0 for _, n in sums.values()) < 2:
        return None, None
    totals = resampled_sums(bootstrap_counts(len(sums), N_RESAMPLES, seed), list(sums.values()))  # (1 + n_resamples, 2)
    low, high = map(float, percentile_interval(ratio(totals[1:, 0], totals[1:, 1]), CONFIDENCE))
    return (None, None) if math.isnan(low) else (low, high)


def agreement(said: Sequence[Sequence[str | None]]) -> tuple[float | None, float | None, str]:
    """Percent agreement, alpha, and why one is lacking.

    Parameters
    ----------
    said : sequence of sequences, shape (n_pairs, n_raters)
        One of `ANSWERS`; None from who can't tell or wasn't needed.
    """
    if not said:
        return None, None, "undefined: there is no pair"
    table = [[math.nan if one is None else float(ANSWERS.index(one)) for one in row] for row in said]
    return agreement_of(table, "nominal")


def tell(workshop: Workshop, row: Row) -> None:
    """Say what came of a country, or that it has nothing to compare."""
    if row["n_pairs"]:
        workshop.tell(
            f"{row['country']}: {row['n_judgements']:,} judgements of {row['n_pairs']:,} pairs: the model's better "
            f"{row['n_model']:,}, the person's {row['n_person']:,}, no difference {row['n_same']:,}"
        )
    else:
        workshop.warn(
            f"{row['country']}: no stereotype has both a model's and a person's triple that the reviews accepted, so "
            "none is compared"
        )


# --- what raters see --------------------------------------------------------------------------------------------------


def sheet(workshop: Workshop) -> Sheet:
    """Each rater of a country is asked about all its pairs."""
    config: BuildConfig = workshop.config
    raters_of = config.comparison.raters
    if not raters_of:
        return nobody(TASK)
    claims = {str(row["id"]): row["claim"] for row in workshop.tables["validated"]}
    pairs = pairs_of(workshop)
    check_comparers(config, pairs)
    rows: dict[str, list[Row]] = defaultdict(list)
    for pair in pairs:
        claim = claims.get(str(pair.model["stereotype_id"]))
        rows[str(pair.model["country"])].append(shown_row(pair, claim, config))
    return sheet_of(config, raters_of, rows, form_of)


def shown_row(pair: Pair, claim: Any, config: BuildConfig) -> Row:
    """A row of a sheet: what the triples are about, and their texts by side."""
    country, category = str(pair.model["country"]), str(pair.model["category"])
    texts = {f"{side.lower()}_{name}": row[name] for side, row in pair.sides.items() for name in TEXTS}
    return {
        "item_id": pair.id, "category": category_words(config, category, country), "group": pair.model["group"],
        "claim": claim, **texts,
    }  # fmt: skip


def form_of(config: BuildConfig, country: Country) -> Form:
    """What raters of a country's pairs are asked."""
    held = words_for(config, country, TASK)
    values = {"country": country.name, "people": country.people or country.name}
    texts = held.texts
    shown = ("category", "group", "claim", *(f"{side.lower()}_{name}" for side in SIDES for name in TEXTS))
    return Form(
        task=TASK,
        title=held.filled("title", values)[0],
        instructions=held.filled("instructions", values),
        language=held.language,
        shown=tuple((name, str(texts[name])) for name in shown),
        fields=(
            Field(name="better", title=texts["better"], kind="choice", choices=(*SIDES, SAME), labels=texts["answers"],
                  abstain=texts["abstain"], abstain_label=texts["abstain_label"]),
        ),
    )  # fmt: skip


COMPARE = Step(
    name=TASK,
    title="Compare triples by a model with triples by people, where both write",
    by="rule",  # by people where there are raters; a dry run would say that it waits where there are none
    reads=("validated", "reviewed"),
    writes=("compared", "comparison"),
    make=compare,
    settings=lambda config: [config.comparison.model_dump(mode="json"), config.validation.wording],
    sheet=sheet,
    files=wording_files,
)
