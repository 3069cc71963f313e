"""Tables of a construction's report: what was asked, merged, confirmed, turned down, shared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

from isogloss.construction import Table as Rows
from isogloss.construction.pipeline import Row
from isogloss.reports import Column, Table
from isogloss.reports.sections import Cell
from isogloss.studies.stereotypes.build.report_cells import (
    MOST_ROWS,
    cut_words,
    estimate_of,
    folded_if_long,
    listed,
    place_of,
    real,
    text_of,
    whole,
)

Body: TypeAlias = "list[tuple[Cell, ...]]"

MOST_EXAMPLES = 5
"""Triples shown of a country."""
WARNING = (
    "Content warning: these sentences are stereotypes, some of them hurtful. They are shown so that they can be "
    "checked, not because they are true."
)


# --- retrieval and merging --------------------------------------------------------------------------------------------


def counts_table(rows: Rows | None, names: Mapping[str, str]) -> Table | None:
    """Stereotypes, confirmed ones and triples by country, with the sum."""
    if not rows:
        return None
    keys = ("n_stereotypes", "n_validated", "n_triples")
    columns = (
        Column("country"),
        Column("stereotypes", "count"),
        Column("confirmed", "count"),
        Column("triples", "count"),
    )
    body: Body = [(place_of(row, names), *(whole(row.get(key)) for key in keys)) for row in rows]
    if len(rows) > 1:
        body.append(("all", *(sum(whole(row.get(key)) or 0 for row in rows) for key in keys)))
    return Table("overview", "What came of it", columns, tuple(body), note="Confirmed: kept by people of the country.")


def asking_table(rows: Rows | None, names: Mapping[str, str]) -> Table | None:
    """Calls, refusals and yield of each model by country."""
    if not rows:
        return None
    statuses = [
        status for status in dict.fromkeys(str(row["status"]) for row in rows) if status not in ("ok", "refused")
    ]
    keys = ("n_rows", "n_new", "n_repaired", "n_dropped")
    found: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        of = found.setdefault((str(row["model"]), str(row["country"])), Counter())
        of["calls"] += 1
        of[f"status {row['status']}"] += 1
        for key in keys:
            of[key] += whole(row.get(key)) or 0
    columns = (
        Column("model"), Column("country"), Column("calls", "count"), Column("refused", "count"),
        Column("share refused", "share"), *(Column(status, "count") for status in statuses),
        *(Column(title, "count") for title in ("rows", "new", "repaired", "dropped")),
    )  # fmt: skip
    body: Body = [
        (
            model, names.get(code, code), of["calls"], of["status refused"], of["status refused"] / of["calls"],
            *(of[f"status {status}"] for status in statuses), *(of[key] for key in keys),
        )
        for (model, code), of in found.items()
    ]  # fmt: skip
    note = (
        "A refusal counts as no row, and never as “there are none”. New: not seen in an earlier round of the same "
        "model. Repaired: rows read from a reply whose form was broken. Dropped: rows that couldn’t be used."
    )
    return folded_if_long(Table("refusals", "What the models gave and refused", columns, tuple(body), note=note))


def unseen_table(rows: Rows | None, names: Mapping[str, str]) -> Table | None:
    """Chao1 by country and category."""
    if not rows:
        return None
    columns = (
        Column("country"), Column("category"), Column("found", "count"), Column("seen once", "count"),
        Column("seen twice", "count"), Column("Chao1", "estimate"), Column("still unseen", "number"),
    )  # fmt: skip
    body: Body = []
    for row in rows:
        n, value = whole(row["n_observed"]) or 0, real(row.get("chao1"))
        estimate = estimate_of("mean_chao1", value, row, n)
        body.append((place_of(row, names), str(row["category"]), n, whole(row["n_once"]), whole(row["n_twice"]),
                     estimate, None if value is None else max(0.0, value - n)))  # fmt: skip
    note = "Chao1 (1984) is a lower bound of the number of different claims that these models would give."
    return folded_if_long(Table("unseen", "What is still unseen", columns, tuple(body), note=note))


def merges_table(rows: Rows | None, names: Mapping[str, str]) -> Table | None:
    """How many claims were merged, and how."""
    if not rows:
        return None
    counts = Counter((str(row["country"]), str(row["how"])) for row in rows)
    hows = list(dict.fromkeys(str(row["how"]) for row in rows))
    thresholds = sorted(
        {value for row in rows if row["how"] != "exact" and (value := real(row.get("threshold"))) is not None}
    )
    columns = (Column("country"), *(Column(how, "count") for how in hows))
    body: Body = [(names.get(code, code), *(counts[code, how] for how in hows))
            for code in dict.fromkeys(str(row["country"]) for row in rows)]  # fmt: skip
    words = f" Threshold of similarity: {', '.join(f'{value:g}' for value in thresholds)}." if thresholds else ""
    note = f"Claims that went into another. Exact: equal after folding case, accents and punctuation.{words}"
    return Table("merges", "Claims made one", columns, tuple(body), note=note)


def merged_list(rows: Rows | None) -> Table | None:
    """Each merge that isn't exact, the least alike first."""
    alike = [row for row in rows or () if row["how"] != "exact"]
    if not alike:
        return None
    alike.sort(key=lambda row: real(row.get("similarity")) or 0.0)
    columns = (Column("country"), Column("category"), Column("kept"), Column("merged into it"), Column("how"),
               Column("similarity", "number"))  # fmt: skip
    body: Body = [
        (*(text_of(row[key]) for key in ("country", "category", "kept", "merged", "how")), real(row.get("similarity")))
        for row in alike[:MOST_ROWS]
    ]
    return Table("merged", "Each of these merges", columns, tuple(body), caption=WARNING, folded=True,
                 note=f"The least alike first.{cut_words(alike)}")  # fmt: skip


def borderline_table(rows: Rows | None) -> Table | None:
    """Pairs that are nearly alike, which a person may decide."""
    if not rows:
        return None
    columns = (Column("country"), Column("category"), Column("one"), Column("other"), Column("similarity", "number"),
               Column("why they are two"), Column("decision"))  # fmt: skip
    body: Body = [
        (*(text_of(row[key]) for key in ("country", "category", "a", "b")), real(row.get("similarity")),
         text_of(row.get("why")) or None, text_of(row.get("decision")) or None)
        for row in rows[:MOST_ROWS]
    ]  # fmt: skip
    open_ones = sum(not row.get("decision") for row in rows)
    note = (
        f"{open_ones:,} of {len(rows):,} are undecided, and count as different. To decide: fill in the column decision "
        f"(same or different) of review/borderline.csv and build again.{cut_words(rows)}"
    )
    return Table("borderline", "Nearly alike", columns, tuple(body), caption=WARNING, folded=True, note=note)


# --- people -----------------------------------------------------------------------------------------------------------


def rates_table(rows: Rows | None, names: Mapping[str, str], rule: str) -> Table | None:
    """Stereotypes rated and kept, by country and category."""
    if not rows:
        return None
    columns = (Column("country"), Column("category"), Column("rated", "count"), Column("kept", "count"),
               Column("share", "estimate"))  # fmt: skip
    body: Body = [
        (place_of(row, names), str(row.get("category") or "all"), whole(row["n"]), whole(row["n_kept"]),
         estimate_of("validation_rate", real(row.get("rate")), row, whole(row["n"]) or 0))
        for row in rows
    ]  # fmt: skip
    note = f"A stereotype is {rule}. Small figures are intervals of the share."
    return folded_if_long(
        Table("validation-rates", "Confirmed, by country and category", columns, tuple(body), note=note)
    )


def model_rates_table(rows: Rows | None, names: Mapping[str, str]) -> Table | None:
    """What each model brought, alone or with others, and how much of it people confirmed; None for a single one."""
    if not rows or len({row["model"] for row in rows}) < 2:
        return None
    columns = (
        Column("country"), Column("brought by"), Column("stereotypes", "count"), Column("by no other", "count"),
        Column("rated", "count"), Column("kept", "count"), Column("share", "estimate"),
    )  # fmt: skip
    body: Body = [
        (place_of(row, names), text_of(row["model"]), whole(row["n"]), whole(row["n_alone"]), whole(row["n_rated"]),
         whole(row["n_kept"]) if row["n_rated"] else None,
         estimate_of("validation_rate", real(row.get("rate")), row, whole(row["n_rated"]) or 0))
        for row in rows
    ]  # fmt: skip
    note = (
        "After merging. A stereotype that several brought counts for each of them; “file” is the file of ready claims. "
        "Share: kept of those rated, with its interval."
    )
    return folded_if_long(Table("models", "What each model brought", columns, tuple(body), note=note))


def model_overlap_table(rows: Rows | None, names: Mapping[str, str]) -> Table | None:
    """For each two models, the share of one's stereotypes that the other brought too, in both directions."""
    if not rows:
        return None
    columns = (Column("country"), Column("brought by"), Column("also by"), Column("of", "count"),
               Column("both", "count"), Column("share", "share"))  # fmt: skip
    body: Body = [
        (place_of(row, names), text_of(row[one]), text_of(row[other]), whole(row[f"n_{one}"]), whole(row["n_both"]),
         real(row.get(f"share_of_{one}")))
        for row in rows for one, other in (("a", "b"), ("b", "a"))
    ]  # fmt: skip
    note = "Share: of the stereotypes of the first, those that the second brought, too."
    return folded_if_long(Table("model-overlap", "What models have in common", columns, tuple(body), note=note))


def agreement_table(rows: Rows | None, names: Mapping[str, str]) -> Table | None:
    """Percent agreement and alpha by country, with the reason where there is none."""
    if not rows:
        return None
    columns = (Column("country"), Column("stereotypes rated", "count"), Column("raters", "count"),
               Column("percent", "number"), Column("Krippendorff’s α", "signed"), Column("why no α"))  # fmt: skip
    body: Body = [(place_of(row, names), whole(row["n_items"]), whole(row["n_raters"]), real(row.get("percent")),
             real(row.get("alpha")), text_of(row.get("reason")) or None) for row in rows]  # fmt: skip
    note = (
        "Percent: pairs of raters of one stereotype that agree. α is 1 for full agreement and 0 for what chance "
        "gives. Where nearly all ratings are alike it is low or undefined, although raters agree; read it beside "
        "the percent."
    )
    return Table("agreement", "How far raters agree", columns, tuple(body), note=note)


def agreement_counts(rows: Rows | None, names: Mapping[str, str]) -> Table | None:
    """How many stereotypes have 5 of 5, 4 of 5, … for keeping."""
    counted = [(row, patterns_of(row)) for row in rows or ()]
    patterns = sorted({name for _, found in counted for name in found}, key=_pattern_order)
    if not patterns:
        return None
    columns = (Column("country"), *(Column(name, "count") for name in patterns))
    body: Body = [(place_of(row, names), *(found.get(name, 0) for name in patterns)) for row, found in counted]
    note = "4/5: four of the five ratings of a stereotype are for keeping it, that is, over the number that drops it."
    return Table("agreement-counts", "How many agree", columns, tuple(body), note=note)


def patterns_of(row: Row) -> dict[str, int]:
    """Of an agreement row: "4/5" → stereotypes, from the mapping among its cells."""
    found = next((cell for cell in row.values() if isinstance(cell, dict)), {})
    return {str(name): int(n) for name, n in found.items()}


def _pattern_order(pattern: str) -> tuple[float, float]:
    first, _, second = pattern.partition("/")
    return (-float(second), -float(first)) if first.isdigit() and second.isdigit() else (1.0, 0.0)


def comparison_table(rows: Rows | None, names: Mapping[str, str]) -> Table | None:
    """Whose triples people hold for better, blind, by country and category, and how far they agree."""
    if not rows:
        return None
    counts = ("n_pairs", "n_judgements", "n_model", "n_person", "n_same", "n_cannot_tell")
    titles = ("pairs", "judgements", "model’s better", "person’s better", "no difference", "can’t tell")
    columns = (
        Column("country"), Column("category"), *(Column(title, "count") for title in titles),
        Column("share for the model’s", "estimate"), Column("percent", "number"),
        Column("Krippendorff’s α", "signed"), Column("why no α"),
    )  # fmt: skip
    body = []
    for row in rows:
        n_decided = (whole(row["n_model"]) or 0) + (whole(row["n_person"]) or 0)
        share = estimate_of("model_share", real(row["model_share"]), row, n_decided)
        body.append(
            (place_of(row, names), str(row["category"] or "all"), *(whole(row[key]) for key in counts), share,
             real(row["percent"]), real(row["alpha"]), str(row["reason"]) or None)
        )  # fmt: skip
    note = (
        "Each pair is a triple by a model and one by a person, of one stereotype, shown as A and B without a word on "
        "who wrote which. Share for the model’s: of the judgements that hold one of the two for better. 0.5 (50 %) "
        "says that neither is preferred, more that the model’s are. Small figures are a 95 % interval: bootstrap over "
        "stereotypes, 2,000 draws; with few stereotypes it is too narrow, and with one there is none. Percent: pairs "
        "of raters of one pair of triples that said the same. α is nominal."
    )
    title = "Written by models, written by people"
    return folded_if_long(Table("comparison", title, columns, tuple(body), note=note))


# --- triples ----------------------------------------------------------------------------------------------------------


def rejects_table(rows: Rows | None) -> Table | None:
    """Triples turned down by each rule, by writer."""
    if not rows:
        return None
    writers = list(dict.fromkeys(str(row["writer"]) for row in rows))
    counts = Counter((str(row["rule"]), str(row["writer"])) for row in rows)
    example = {str(row["rule"]): text_of(row.get("words")) for row in reversed(rows)}
    columns = (Column("rule"), *(Column(writer, "count") for writer in writers), Column("for example"))
    body: Body = [(rule, *(counts[rule, writer] for writer in writers), example[rule] or None)
            for rule in dict.fromkeys(str(row["rule"]) for row in rows)]  # fmt: skip
    note = "None of them is in the data set; tables/rejects.jsonl holds each with the reason."
    return Table("rejects", "Triples turned down by rule", columns, tuple(body), note=note)


def corrections_table(rejects: Rows | None, stereotypes: Rows | None, writers: Collection[str]) -> Table | None:
    """What people wrote that a rule turned down, row by row, so that the writers can correct it."""
    rows = sorted((row for row in rejects or () if row["writer"] in writers), key=lambda row: str(row["writer"]))
    if not rows:
        return None
    about = {str(row["id"]): f"{row['group']}: {row['claim']}" for row in stereotypes or ()}
    columns = (Column("writer"), Column("stereotype"), Column("rule"), Column("what is wrong"), Column("context"))
    body: Body = [
        (str(row["writer"]), about.get(str(row["stereotype_id"])), str(row["rule"]), text_of(row["words"]),
         text_of(row["context"]))
        for row in rows[:MOST_ROWS]
    ]  # fmt: skip
    note = (
        "To correct them: isogloss annotate export DIR --task write, change these rows, import the sheet, build again."
        f"{cut_words(rows)}"
    )
    title = "What people wrote and a rule turned down"
    return folded_if_long(Table("corrections", title, columns, tuple(body), note=note, caption=WARNING))


def review_table(rows: Rows | None, names: Mapping[str, str]) -> Table | None:
    """What both reviews decided, by country and stage."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in rows or ():
        decisions: Any = row.get("decisions") or ()
        for one in decisions:
            counts[str(row["country"]), str(one["stage"]), str(one["decision"])] += 1
    if not counts:
        return None
    kinds = [kind for kind in ("accept", "edit", "reject") if any(key[2] == kind for key in counts)]
    kinds += sorted({key[2] for key in counts}.difference(kinds))
    columns = (Column("country"), Column("stage"), *(Column(kind, "count") for kind in kinds))
    body: Body = [(names.get(code, code), stage, *(counts[code, stage, kind] for kind in kinds))
            for code, stage in dict.fromkeys((code, stage) for code, stage, _ in counts)]  # fmt: skip
    return Table("reviews", "What the reviews decided", columns, tuple(body))


def examples_table(rows: Rows | None, names: Mapping[str, str]) -> Table | None:
    """A few triples of each country, closed."""
    if not rows:
        return None
    shown: Body = []
    for code in dict.fromkeys(str(row["country"]) for row in rows):
        mine = [row for row in rows if row["country"] == code]
        step = max(1, len(mine) // MOST_EXAMPLES)
        shown += [
            (names.get(code, code), str(row["category"]), *(text_of(row.get(key)) or None for key in
             ("target", "context", "stereotype", "anti_stereotype", "unrelated")))
            for row in mine[::step][:MOST_EXAMPLES]
        ]  # fmt: skip
    titles = ("country", "category", "group", "context", "stereotype", "anti-stereotype", "unrelated")
    return Table("examples-shown", "What triples look like", tuple(map(Column, titles)), tuple(shown), caption=WARNING,
                 folded=True, note=f"{len(shown):,} of {len(rows):,}, taken at even steps.")  # fmt: skip


# --- overlap ----------------------------------------------------------------------------------------------------------


def overlap_table(rows: Rows | None) -> Table | None:
    """The numbers behind the heat maps."""
    if not rows:
        return None
    columns = (Column("stereotypes of"), Column("found in"), Column("category"), Column("of", "count"),
               Column("found", "count"), Column("share", "share"))  # fmt: skip
    body: Body = [
        (str(row[one]), str(row[other]), str(row.get("category") or "all"), whole(row.get(f"n_{one}")),
         whole(row.get(f"n_shared_{one}")), real(row.get(f"share_of_{one}")))
        for row in rows for one, other in (("a", "b"), ("b", "a")) if one == "a" or row["a"] != row["b"]
    ]  # fmt: skip
    return folded_if_long(Table("overlap-table", "Shared stereotypes in numbers", columns, tuple(body)))


def groups_table(rows: Rows | None, names: Mapping[str, str]) -> Table | None:
    """Which groups are named in which countries."""
    if not rows:
        return None
    places: list[set[str]] = [{str(code) for code in listed(row.get("countries"))} for row in rows]
    codes = [code for code in names if any(code in found for found in places)]
    if len(codes) < 2:
        return None
    columns = (Column("category"), Column("group"), *(Column(code) for code in codes), Column("countries", "count"))
    body: Body = [
        (text_of(row["category"]), text_of(row["group"]), *("✓" if code in at else None for code in codes), len(at))
        for row, at in zip(rows, places, strict=True)
    ]
    own = Counter(next(iter(found)) for found in places if len(found) == 1)
    words = ", ".join(f"{names.get(code, code)} {own[code]:,}" for code in codes)
    note = f"Groups that are named in one country only: {words}."
    return folded_if_long(Table("groups", "Groups and countries", columns, tuple(body), note=note))


def sets_table(rows: Rows | None, names: Mapping[str, str]) -> Table | None:
    """Share found in other data sets and in documented claims."""
    if not rows:
        return None
    columns = (
        Column("data set"), Column("country"), Column("category"), Column("stereotypes", "count"),
        Column("found there", "count"), Column("share", "share"), Column("not found", "count"),
        Column("share not found", "share"), Column("found, for example"), Column("not found, for example"),
    )  # fmt: skip
    body: Body = []
    for row in rows:
        n, n_found = whole(row["n"]) or 0, whole(row["n_found"]) or 0
        body.append(
            (text_of(row["set"]), place_of(row, names), str(row.get("category") or "all"), n, n_found,
             _part(n_found, n), n - n_found, _part(n - n_found, n), text_of(row.get("example")) or None,
             text_of(row.get("not_found")) or None)
        )  # fmt: skip
    note = (
        "Found by similarity, so paraphrases can be missed and near misses taken; review/matched.csv lists each "
        "pair, and what a person decides there is kept. What isn’t found isn’t therefore undocumented. “documented” "
        "is your table of documented claims."
    )
    title = "What other data sets have of it"
    return folded_if_long(Table("other-sets", title, columns, tuple(body), caption=WARNING, note=note))


def _part(n: int, of: int) -> float | None:
    return n / of if of else None
