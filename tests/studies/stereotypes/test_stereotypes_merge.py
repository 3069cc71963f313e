"""Merging by the packaged encoder: what becomes one, what a person decides, and nothing without a trace."""

import csv
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from isogloss.construction import Workshop
from isogloss.construction.review_file import read_decisions, write_review
from isogloss.construction.similarity import encode
from isogloss.errors import DataError
from isogloss.records import content_id
from isogloss.studies.stereotypes.build.config import BuildConfig
from isogloss.studies.stereotypes.build.merge import MERGE, merge, most_often, saturation, unseen


def config(**merging):
    return BuildConfig.model_validate(
        {
            "name": "x", "title": "X", "licence": "CC0-1.0", "creators": ["x"], "categories": ["region"],
            "countries": [{"code": "XA", "name": "Aurelia", "language": "es"},
                          {"code": "XB", "name": "Borealia", "language": "en"}],
            "retrieval": {"models": ["lab/a"]}, "merging": merging,
        }
    )  # fmt: skip


def claim(group, text, *, country="XA", category="region", model="lab/a", view="inside", number=1):
    place = [country, category, view, model, number, group, text]
    return {
        "id": content_id(place).removeprefix("b2:")[:16], "country": country, "category": category, "view": view,
        "language": "es" if country == "XA" else "en", "model": model, "round": number, "group": group, "claim": text,
        "repaired": False, "prompt_id": "",
    }  # fmt: skip


def made(tmp_path, *rows, log=(), **merging):
    said = []
    workshop = Workshop(
        config=config(**merging), tables={"retrieved": list(rows), "retrieval_log": list(log)}, folder=tmp_path,
        ask=None, ratings=lambda task: [], tell=said.append,
    )  # fmt: skip
    return merge(workshop), said


def claims(tables):
    return [(row["group"], row["claim"], len(row["sources"])) for row in tables["stereotypes"]]


def decide(tmp_path, **words):
    """Write decisions behind pairs of the review list: (part of one claim + part of the other) → decision."""
    path = tmp_path / "review" / "borderline.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        rows, names = list(reader), reader.fieldnames
    for row in rows:
        for said, parts in words.items():
            if all(any(part in row[side] for side in ("a", "b")) for part in parts):
                row["decision"] = said
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


COAST = "los de la costa"
LATE, ALWAYS, NEVER = "llegan tarde a todo", "siempre llegan tarde", "no llegan tarde nunca"
"""By the packaged encoder: LATE and ALWAYS 0.87, LATE and NEVER 0.77, ALWAYS and NEVER 0.82."""


# --- exact ------------------------------------------------------------------------------------------------------------


def test_claims_equal_after_folding_are_one_under_their_commonest_words(tmp_path):
    rows = [
        claim("Los de la Costa", "¡Llegan tarde a todo!"),
        claim(COAST, LATE, view="media"),
        claim(COAST, LATE, number=2),
        claim("Los de la Costa", "LLEGAN TARDE a todo.", number=3),
    ]
    tables, said = made(tmp_path, *rows)
    [row] = tables["stereotypes"]
    assert {name: row[name] for name in row if name != "id"} == {
        "country": "XA", "language": "es", "category": "region", "group": "Los de la Costa", "claim": LATE,
        "sources": sorted(row["id"] for row in rows), "models": ["lab/a"], "views": ["inside", "media"],
    }  # fmt: skip
    assert [(one["how"], one["similarity"], one["kept_id"] == row["id"]) for one in tables["merges"]] == [
        ("exact", 1.0, True)
    ] * 3
    traced = {one["merged_id"] for one in tables["merges"]}
    assert len(traced) == 3
    assert traced < set(row["sources"])
    assert tables["borderline"] == []
    assert said == ["4 claims read, 1 stereotypes left"]


def test_the_commonest_words_and_of_equals_the_first_by_spelling():
    assert most_often(["b", "a", "b", "a", "c"]) == "a"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (claim(COAST, LATE), claim("los de la sierra", LATE)),
        (claim(COAST, LATE), claim(COAST, LATE, category="trade")),
        (claim("cooks", "are loud", country="XB"), claim("cooks", "are loud", country="XA")),
    ],
)
def test_another_group_category_or_country_is_another_stereotype(tmp_path, one, other):
    tables, _ = made(tmp_path, one, other)
    assert len(tables["stereotypes"]) == 2
    assert tables["merges"] == tables["borderline"] == []


# --- nearly alike -----------------------------------------------------------------------------------------------------


def test_alike_claims_are_merged_and_a_negation_keeps_them_apart(tmp_path):
    tables, _ = made(tmp_path, claim(COAST, LATE), claim(COAST, ALWAYS), claim(COAST, ALWAYS, number=2),
                     claim(COAST, NEVER))  # fmt: skip
    assert sorted(claims(tables)) == [(COAST, NEVER, 1), (COAST, ALWAYS, 3)]
    [similar] = [row for row in tables["merges"] if row["how"] == "similar"]
    assert (similar["kept"], similar["merged"]) == (f"{COAST}: {ALWAYS}", f"{COAST}: {LATE}")
    assert (similar["similarity"], similar["threshold"]) == (pytest.approx(0.87, abs=0.005), 0.85)
    assert [(row["a"], row["b"], row["merged"], row["decision"]) for row in tables["borderline"]] == [
        (row["a"], row["b"], False, "") for row in tables["borderline"]
    ]
    near = {frozenset((row["a"], row["b"])): row["similarity"] for row in tables["borderline"]}
    assert near == {
        frozenset((f"{COAST}: {LATE}", f"{COAST}: {NEVER}")): pytest.approx(0.77, abs=0.005),
        frozenset((f"{COAST}: {ALWAYS}", f"{COAST}: {NEVER}")): pytest.approx(0.82, abs=0.005),
    }


@pytest.mark.parametrize(("threshold", "n"), [(0.85, 2), (0.88, 3), (0.75, 2)])
def test_the_threshold_decides_and_stands_in_every_line(tmp_path, threshold, n):
    rows = [claim(COAST, text) for text in (LATE, ALWAYS, NEVER)]
    tables, _ = made(tmp_path, *rows, threshold=threshold, review_from=0.6)
    assert len(tables["stereotypes"]) == n
    assert {row["threshold"] for row in (*tables["merges"], *tables["borderline"])} == {threshold}


def test_no_chain_of_small_steps_joins_claims_that_differ(tmp_path):
    """Complete linkage: every two of a cluster are at least so alike as the threshold."""
    texts = ("llegan tarde a todo", "siempre llegan tarde", "llegan siempre tarde a todas partes")
    vectors = encode(texts, "use", "es")
    alike = vectors @ vectors.T
    assert min(alike[0, 1], alike[1, 2]) > 0.85 > alike[0, 2]
    tables, _ = made(tmp_path, *(claim(COAST, text) for text in texts))
    assert sorted(n for *_, n in claims(tables)) == [1, 2]


def test_the_order_of_rows_changes_nothing(tmp_path):
    rows = [claim(group, text, number=k) for k, text in enumerate((LATE, ALWAYS, NEVER, "cantan", "¡Cantan!"))
            for group in (COAST, "los de la sierra")]  # fmt: skip
    first, _ = made(tmp_path, *rows)
    listed = (tmp_path / "review" / "borderline.csv").read_bytes()
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        again, _ = made(tmp_path, *rows)
        assert (again["stereotypes"], again["borderline"]) == (first["stereotypes"], first["borderline"])
        assert sorted(map(str, again["merges"])) == sorted(map(str, first["merges"]))
        assert (tmp_path / "review" / "borderline.csv").read_bytes() == listed


# --- people's decisions -----------------------------------------------------------------------------------------------


def test_same_joins_and_different_parts_whatever_the_encoder_says(tmp_path):
    rows = [claim(COAST, text) for text in (LATE, ALWAYS, NEVER)]
    made(tmp_path, *rows)
    decide(tmp_path, different=(f"{COAST}: {LATE}", f"{COAST}: {ALWAYS}"), same=(f"{COAST}: {ALWAYS}", NEVER))
    tables, _ = made(tmp_path, *rows)
    assert sorted((text, n) for _, text, n in claims(tables)) in ([(LATE, 1), (ALWAYS, 2)], [(LATE, 1), (NEVER, 2)])
    [line] = tables["merges"]
    assert line["how"] == "by hand"
    assert Counter(row["decision"] for row in tables["borderline"]) == {"same": 1, "different": 1, "": 1}
    assert made(tmp_path, *rows)[0] == tables  # the list is written anew with the decisions in it


def test_why_pairs_over_the_threshold_stay_two_is_said(tmp_path):
    texts = ("saben conducir", "no saben conducir", "llegan tarde a todo", "siempre llegan tarde",
             "llegan siempre tarde a todas partes")  # fmt: skip
    rows = [*(claim(COAST, text) for text in texts), claim("la gente de la costa", "saben conducir")]
    tables, _ = made(tmp_path, *rows, threshold=0.8)
    why = {frozenset((row["a"].partition(": ")[2], row["b"].partition(": ")[2])): row["why"]
           for row in tables["borderline"]
           if row["similarity"] >= 0.8 and "gente" not in row["a"] + row["b"]}  # fmt: skip
    assert why == {
        frozenset(("saben conducir", "no saben conducir")): "one may deny the other",
    }
    assert {row["why"] for row in tables["borderline"] if "gente" in row["a"] + row["b"]} == {
        "the names may mean two groups"
    }
    with (tmp_path / "review" / "borderline.csv").open(encoding="utf-8-sig", newline="") as file:
        assert set(why.values()) <= {row["why"] for row in csv.DictReader(file)}


def test_names_that_a_person_calls_one_are_one_group(tmp_path):
    rows = [claim("las gentes de la costa", LATE), claim("la gente de la costa", LATE)]
    tables, _ = made(tmp_path, *rows)
    assert len(tables["stereotypes"]) == 2  # listed, since the names may mean two groups
    decide(tmp_path, same=("las gentes", "la gente"))
    tables, _ = made(tmp_path, *rows)
    assert [n for *_, n in claims(tables)] == [2]


def test_contradictory_decisions_are_an_error_and_the_list_stays(tmp_path):
    rows = [claim(COAST, text) for text in (LATE, ALWAYS, NEVER)]
    made(tmp_path, *rows)
    decide(tmp_path, same=(NEVER,), different=(f"{COAST}: {LATE}", f"{COAST}: {ALWAYS}"))
    before = (tmp_path / "review" / "borderline.csv").read_bytes()
    with pytest.raises(DataError, match=r"borderline\.csv: \w+ and \w+ are called different, but same by way of other"):
        made(tmp_path, *rows)
    assert (tmp_path / "review" / "borderline.csv").read_bytes() == before


def test_one_pair_called_both_is_an_error(tmp_path):
    rows = [claim(COAST, LATE), claim(COAST, ALWAYS)]
    a, b = sorted(row["id"] for row in made(tmp_path, *rows, threshold=0.99)[0]["stereotypes"])
    path = tmp_path / "review" / "borderline.csv"
    write_review(path, [{"a_id": a, "b_id": b, "decision": "same"}, {"a_id": b, "b_id": a, "decision": "different"}],
                 ("a_id", "b_id"))  # fmt: skip
    with pytest.raises(DataError, match="called 'different' in one row and 'same' in another; keep one of them"):
        made(tmp_path, *rows)


def test_a_decision_on_a_claim_that_is_gone_is_kept_until_it_is_back(tmp_path):
    rows = [claim(COAST, LATE), claim(COAST, ALWAYS)]
    made(tmp_path, *rows)
    decide(tmp_path, different=(LATE, ALWAYS))
    tables, said = made(tmp_path, rows[0])
    assert said[-1] == "1 decisions in review/borderline.csv are on claims that aren't there, or are never compared"
    assert tables["borderline"] == []
    tables, _ = made(tmp_path, *rows)
    assert len(tables["stereotypes"]) == 2
    assert [row["decision"] for row in tables["borderline"]] == ["different"]


def test_ids_that_look_like_numbers_and_texts_like_formulas_come_back_as_they_were(tmp_path):
    path = tmp_path / "list.csv"
    ids = ("12345678901234e5", "8123456789012345", "=1+1", "3-5", "b2", "'quoted")
    write_review(path, [{"a": one, "alike": 0.5, "decision": "same"} for one in ids], ("a", "alike"))
    text = path.read_text(encoding="utf-8-sig")
    assert text.splitlines()[1:4] == ["'12345678901234e5,0.5,same", "'8123456789012345,0.5,same", "'=1+1,0.5,same"]
    assert [key for (key,) in read_decisions(path, ("a",), ("same",))] == list(ids)


# --- how much is unseen -----------------------------------------------------------------------------------------------


def test_saturation_counts_what_each_round_brings(tmp_path):
    rows = [
        claim(COAST, LATE),
        claim(COAST, "cantan"),
        claim(COAST, "¡Cantan!", number=2),
        claim(COAST, "ríen", number=2),
    ]
    log = [{"country": "XA", "category": "region", "model": "lab/a", "round": k} for k in (1, 2, 3)]
    tables, _ = made(tmp_path, *rows, log=log)
    assert [(row["round"], row["n_rows"], row["n_new"], row["n_total"]) for row in tables["saturation"]] == [
        (1, 2, 2, 2), (2, 2, 1, 3), (3, 0, 0, 3),
    ]  # fmt: skip


def test_chao1_by_hand(tmp_path):
    """Five seen once, two twice: 7 + 5·4/(2·3) = 10.33. A reply that says a thing twice counts once; a file never."""
    once = [claim(COAST, f"cosa {word}") for word in ("roja", "verde", "azul", "negra", "gris")]
    twice = [claim(COAST, text, view=view) for text in ("cantan", "callan") for view in ("inside", "media")]
    doubled = claim(COAST, "¡Cosa roja!")
    where = {row["id"]: row["claim"].strip("¡!").lower() for row in (*once, *twice, doubled)}
    from_file = claim(COAST, "cosa blanca", model="") | {"round": 0}
    where[from_file["id"]] = "cosa blanca"
    [row] = unseen([*once, *twice, doubled, from_file], where)
    assert (row["n_observed"], row["n_once"], row["n_twice"], row["chao1"]) == (7, 5, 2, 10.33)
    assert 7 <= row["low"] < 10.33 < row["high"]
    assert saturation([from_file], [], where) == []


# --- size -------------------------------------------------------------------------------------------------------------


def test_seegull_is_merged_in_under_a_minute(tmp_path, shared: Path):
    """SeeGULL's 4,225 rows, and each in other words: 8,450 ready claims."""
    with (shared / "data" / "seegull" / "stereotypes_global_v2.csv").open(encoding="utf-8", newline="") as file:
        pairs = [(row["identity"], row["attribute"]) for row in csv.DictReader(file)]
    rows = [claim(group, f"are {text}", country="XB", model="", number=k) for k, (group, text) in enumerate(pairs)]
    rows += [claim(group, f"they are {text}", country="XB", model="", number=k)
             for k, (group, text) in enumerate(pairs)]  # fmt: skip
    assert len(rows) == 8450
    started = time.monotonic()
    tables, said = made(tmp_path, *rows)
    seconds = time.monotonic() - started
    assert seconds < 60
    kept = [id for row in tables["stereotypes"] for id in row["sources"]]
    assert sorted(kept) == sorted(row["id"] for row in rows)
    assert 3_900 < len(tables["stereotypes"]) < 4_226  # nearly all found their other form
    assert said[-1].endswith("stereotypes left")


def test_the_step_depends_on_its_settings():
    assert MERGE.settings(config(threshold=0.9)) != MERGE.settings(config())
