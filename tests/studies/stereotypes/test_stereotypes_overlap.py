"""What countries share, and what other sets and the literature have. Countries and their stereotypes are made up."""

import csv
import json
import time

import pytest

from isogloss.construction import Workshop
from isogloss.errors import DataError, SettingError
from isogloss.studies.stereotypes.build.claims import Claim, documented_claims, own_claim, read_set, without_group
from isogloss.studies.stereotypes.build.config import BuildConfig, OverlapSet
from isogloss.studies.stereotypes.build.matching import Bench, is_one_name
from isogloss.studies.stereotypes.build.overlap import OVERLAP, overlap

COUNTRIES = [
    {"code": "XA", "name": "Aurelia", "language": "es", "region": "South"},
    {"code": "XB", "name": "Borealia", "language": "pt", "region": "North"},
    {"code": "XC", "name": "Cumbria", "language": "es", "region": "South"},
]


def config(countries=COUNTRIES, **changes):
    return BuildConfig.model_validate(
        {"name": "x", "title": "X", "licence": "CC-BY-4.0", "creators": ["x"], "categories": ["trade", "region"],
         "countries": countries, "retrieval": {"models": ["lab/a"]}, "overlap": changes}
    )  # fmt: skip


def stereotype(id, country, group, claim, category="trade", kept=True):
    language = {"XA": "es", "XB": "pt", "XC": "es"}.get(country, "es")
    return {"id": id, "country": country, "language": language, "category": category, "group": group, "claim": claim,
            "kept": kept}  # fmt: skip


ROWS = [
    stereotype("a1", "XA", "los sastres", "Los sastres son muy vanidosos."),
    stereotype("a2", "XA", "los relojeros", "son puntuales"),
    stereotype("a3", "XA", "la gente de la costa", "siempre llega tarde", "region"),
    stereotype("a4", "XA", "los panaderos", "madrugan", kept=False),
    stereotype("b1", "XB", "os relojoeiros", "são pontuais"),
    stereotype("b2", "XB", "os alfaiates", "comem muito"),
    stereotype("c1", "XC", "Sastres", "muy vanidosos"),
    stereotype("c2", "XC", "los relojeros", "son impuntuales y lentos"),
    stereotype("c3", "XC", "las sastras", "¡¡Son MUY vanidosos!!", "region"),
    stereotype("c4", "XC", "los panaderos", "madrugan"),
]  # fmt: skip


def made(tmp_path, given=None, rows=ROWS):
    workshop = Workshop(config=given or config(), tables={"validated": rows}, folder=tmp_path,
                        ask=lambda *_, **__: [], ratings=lambda _: ())  # fmt: skip
    return overlap(workshop)


def pair(tables, a, b, category=""):
    [row] = [row for row in tables["overlap_countries"] if (row["a"], row["b"], row["category"]) == (a, b, category)]
    return tuple(row[key] for key in ("n_a", "n_b", "n_shared_a", "n_shared_b", "share_of_a", "share_of_b"))


def decide(tmp_path, **decisions):
    """Fill in the last column as a person would: "a1_c1" → same, different."""
    path = tmp_path / "review" / "matched.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["decision"] = decisions.pop(f"{row['a_id']}_{row['b_id']}", row["decision"])
    rows += [
        dict(zip(("a_id", "b_id"), key.split("_"), strict=True)) | {"decision": decision}
        for key, decision in decisions.items()
    ]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


# --- countries --------------------------------------------------------------------------------------------------------


def test_countries_are_compared_in_both_directions_by_category_and_over_all(tmp_path):
    tables = made(tmp_path)
    assert pair(tables, "XA", "XC") == (3, 4, 1, 1, 1 / 3, 1 / 4)  # the tailors: same name, same claim without it
    assert pair(tables, "XA", "XC", "trade") == (2, 3, 1, 1, 1 / 2, 1 / 3)
    assert pair(tables, "XA", "XC", "region") == (1, 1, 0, 0, 0.0, 0.0)  # same words, but of another category
    assert pair(tables, "XB", "XC", "region") == (0, 1, 0, 0, None, 0.0)
    [row] = [row for row in tables["matched"] if row["a_id"] == "a1" and row["b_id"] == "c1"]
    assert row == {
        "set_or_country_a": "XA", "a_id": "a1", "group_a": "los sastres", "a": "Los sastres son muy vanidosos.",
        "set_or_country_b": "XC", "b_id": "c1", "group_b": "Sastres", "b": "muy vanidosos", "category": "trade",
        "similarity": row["similarity"], "group_similarity": 1.0, "found": True, "decision": "",
    }  # fmt: skip
    assert row["similarity"] > 0.8


def test_countries_of_different_languages_share_what_the_encoder_finds_alike(tmp_path):
    tables = made(tmp_path)
    assert pair(tables, "XA", "XB") == (3, 2, 1, 1, 1 / 3, 1 / 2)  # watchmakers are punctual, in Spanish and Portuguese
    [row] = [row for row in tables["matched"] if (row["a_id"], row["b_id"]) == ("a2", "b1")]
    assert row["group_similarity"] >= 0.8
    assert row["similarity"] >= 0.7


def test_countries_are_pooled_to_regions(tmp_path):
    tables = made(tmp_path)
    # of the South's seven only a2 is found in the North; of the North's two only b1 in the South
    assert pair(tables, "South", "North") == (7, 2, 1, 1, 1 / 7, 1 / 2)
    assert len([row for row in tables["overlap_countries"] if row["category"] == ""]) == 3 + 1


def test_groups_stand_once_with_the_countries_that_name_them(tmp_path):
    found = {(row["category"], row["group"]): row["countries"] for row in made(tmp_path)["overlap_groups"]}
    assert found[("trade", "los relojeros")] == ["XA", "XB", "XC"]
    assert found[("region", "la gente de la costa")] == ["XA"]
    assert found[("region", "las sastras")] == ["XC"]
    assert found[("trade", "los panaderos")] == ["XC"]  # what people dropped doesn't count
    [tailors] = [countries for (_, group), countries in found.items() if group in ("Sastres", "los sastres")]
    assert {"XA", "XC"} <= set(tailors)


def test_a_person_decides_before_any_similarity_and_the_decision_stays(tmp_path):
    made(tmp_path)
    decide(tmp_path, a1_c1="different", a3_c4="same", gone_c1="same")
    tables = made(tmp_path)
    assert pair(tables, "XA", "XC") == (3, 4, 0, 0, 0.0, 0.0)  # "same" of another category isn't taken
    decide(tmp_path, a1_c1="", c2_a2="Same")
    tables = made(tmp_path)
    assert pair(tables, "XA", "XC") == (3, 4, 2, 2, 2 / 3, 2 / 4)
    [row] = [row for row in tables["matched"] if (row["a_id"], row["b_id"]) == ("a2", "c2")]
    assert (row["decision"], row["found"]) == ("same", True)
    text = (tmp_path / "review" / "matched.csv").read_text(encoding="utf-8-sig")
    assert "gone" in text  # what was decided on rows that aren't there now isn't lost
    decide(tmp_path, a1_c1="perhaps")
    with pytest.raises(DataError, match=r"matched\.csv row \d+: decision 'perhaps'; expected same or different"):
        made(tmp_path)


def test_one_country_alone_has_its_groups_and_no_pairs(tmp_path):
    tables = made(tmp_path, config(COUNTRIES[:1]), ROWS[:3])
    assert tables["overlap_countries"] == tables["overlap_sets"] == tables["matched"] == []
    assert [row["n_countries"] for row in tables["overlap_groups"]] == [1, 1, 1]


def test_cells_that_a_spreadsheet_would_run_are_made_safe(tmp_path):
    rows = [stereotype("a1", "XA", "los sastres", "=1+1"), stereotype("c1", "XC", "los sastres", "=1+1")]
    tables = made(tmp_path, rows=rows)
    assert tables["matched"][0]["a"] == "=1+1"
    assert ",'=1+1," in (tmp_path / "review" / "matched.csv").read_text(encoding="utf-8-sig")


# --- other sets and documented claims ---------------------------------------------------------------------------------


def documented(tmp_path, *rows, header="claim,group,category,region,citation"):
    path = tmp_path / "documented.csv"
    path.write_text("\n".join([header, *rows]), encoding="utf-8")
    return path


def test_documented_claims_are_found_with_citation_and_kept_to_their_category_and_region(tmp_path):
    path = documented(
        tmp_path,
        "los sastres son vanidosos,sastres,trade,South,Pérez 1999",
        "los relojeros son puntuales,relojeros,trade,Borealia,Silva 2001",
        "madrugan,panaderos,region,,Nobody",
    )
    tables = made(tmp_path, config(claims=str(path), threshold=0.65))
    rows = {(row["country"], row["category"]): row for row in tables["overlap_sets"]}
    assert {key: (row["n"], row["n_found"]) for key, row in rows.items() if key[1] == ""} == {
        ("", ""): (9, 3), ("XA", ""): (3, 1), ("XB", ""): (2, 1), ("XC", ""): (4, 1),
        ("South", ""): (7, 2), ("North", ""): (2, 1),
    }  # fmt: skip
    trade = rows[("XA", "trade")]
    assert (trade["set"], trade["share_found"]) == ("documented", 0.5)
    assert trade["example"] == ("los sastres: Los sastres son muy vanidosos. ↔ los sastres son vanidosos (Pérez 1999)")
    assert trade["not_found"] == "los relojeros: son puntuales"  # documented, but of Borealia


def test_the_share_not_documented_of_a_published_set_comes_out(tmp_path, shared):
    """414 of 538 are documented nowhere."""
    expected = json.loads((shared / "data/published_tables/espanstereo_counts.json").read_text(encoding="utf-8"))
    counts = expected["validated_stereotypes"]
    total, missing = expected["total"], expected["not_documented_in_literature"]
    ids = [f"{code}{k}" for code, n in counts.items() for k in range(n)]
    codes = [code for code, n in counts.items() for _ in range(n)]
    rows = [stereotype(id, code, "los sastres", f"hábito {id}") for id, code in zip(ids, codes, strict=True)]
    path = documented(tmp_path, *(f"hábito {id},los sastres,trade,,x" for id in ids[: total - missing]))
    countries = [{"code": code, "name": code, "language": "es"} for code in counts]
    tables = made(tmp_path, config(countries, claims=str(path), threshold=1.0), rows)
    [row] = [row for row in tables["overlap_sets"] if (row["country"], row["category"]) == ("", "")]
    assert row["n"] == sum(counts.values()) == total == 538
    assert row["n"] - row["n_found"] == missing == 414
    assert row["share_found"] == pytest.approx(124 / 538)


def test_public_sets_give_a_group_and_a_claim_a_row(tmp_path, shared):
    data = shared / "data"
    seegull = read_set(OverlapSet(name="SeeGULL", file=data / "seegull/stereotypes_global_v2.csv"))
    assert len(seegull) == 4225
    assert seegull[0][1:4] == ("Yemeni", "Yemeni: terrorist", "are terrorist")
    stereoset = read_set(OverlapSet(name="StereoSet", file=data / "stereoset/dev_en.json"))
    assert len(stereoset) == 2106 + 2123
    ethiopian = next(claim for claim in stereoset if claim.text == "Ethiopian men are skinny")
    assert (ethiopian.group, ethiopian.said, ethiopian.category) == ("Ethiopian", "men are skinny", "race")
    crows = read_set(OverlapSet(name="CrowS", file=data / "crows_pairs/crows_pairs.csv"))
    assert len(crows) == 1508
    assert [claim.group for claim in crows[:3]] == ["black", "poor", "he"]
    ids = [claim.id for claims in (seegull, stereoset, crows) for claim in claims]
    assert len(set(ids)) == len(ids)


def test_thousands_of_claims_are_compared_in_seconds(shared):
    claims = read_set(OverlapSet(name="SeeGULL", file=shared / "data/seegull/stereotypes_global_v2.csv"))
    bench = Bench("use", 0.7, 0.8, {})
    own = [
        Claim(f"o{k}", claim.group, f"They are {claim.text.partition(': ')[2]}", claim.said, "trade", "en", "XA")
        for k, claim in enumerate(claims[:: len(claims) // 500])
    ]
    theirs, mine = bench.encode(claims), bench.encode(own)
    began = time.perf_counter()
    matches = bench.matches(mine, theirs, lambda one, other: True)
    assert time.perf_counter() - began < 10
    assert {one.a.id for one in matches if one.is_same} == {claim.id for claim in own}
    assert all(one.a.group == one.b.group for one in matches if one.similarity == one.group_similarity == 1.0)


def test_data_sets_of_the_users_go_in_and_what_cannot_be_read_is_said(tmp_path, shared):
    own = shared / ".." / "none.csv"
    with pytest.raises(DataError, match="can't be read"):
        made(tmp_path, config(claims=str(own)))
    with pytest.raises(DataError, match=r"documented\.csv has no column 'citation'; expected a CSV with the columns"):
        documented_claims(documented(tmp_path, header="claim,group,category,region"), "es")
    with pytest.raises(DataError, match=r"documented\.csv row 3: column 'claim' is empty"):
        documented_claims(documented(tmp_path, "x,y,z,,", ",y,z,,"), "es")
    path = documented(tmp_path, "are vain,tailors,trade,,x", "are vain,tailors,trade,,x")
    assert [claim.text for claim in read_set(OverlapSet(name="mine", file=path))] == ["are vain"]
    path.write_text("identity,attribute\nTailor,\n", encoding="utf-8")
    with pytest.raises(DataError, match="row 2: column 'attribute' is empty"):
        read_set(OverlapSet(name="SeeGULL", file=path))
    path.write_text("this,that\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="has no column 'id'; expected StereoSet's JSON"):
        read_set(OverlapSet(name="x", file=path))
    bbq = shared / "data/esbbq/SpanishRegion.es.csv"
    with pytest.raises(DataError, match="holds no stereotypes; expected SeeGULL, StereoSet, CrowS-Pairs"):
        read_set(OverlapSet(name="x", file=bbq))
    with pytest.raises(SettingError, match="the name 'XA' is taken"):
        made(tmp_path, config(sets=[{"name": "XA", "file": str(path)}]))
    with pytest.raises(SettingError, match="doesn't know the language 'qu'"):
        OVERLAP.settings(config([{"code": "XQ", "name": "X", "language": "qu"}]))


def test_a_set_of_our_own_is_compared_too(tmp_path):
    row = {
        "id": "1",
        "country": "XB",
        "language": "es",
        "category": "trade",
        "target": "los panaderos",
        "context": "Un panadero vino.",
        "stereotype": "Los panaderos madrugan.",
        "anti_stereotype": "Duerme.",
    }
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    given = config(sets=[{"name": "before", "file": str(path)}])
    tables = made(tmp_path, given)
    found = {row["country"]: row["n_found"] for row in tables["overlap_sets"] if row["category"] == "trade"}
    assert found == {"": 1, "XA": 0, "XB": 0, "XC": 1, "South": 1, "North": 0}
    [row] = [row for row in tables["matched"] if row["set_or_country_b"] == "before"]
    assert (row["set_or_country_a"], row["a_id"], row["b_id"], row["similarity"]) == ("XC", "c4", "before:1", 1.0)
    assert OVERLAP.files(given) == [path]


# --- what is compared -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "group", "said"),
    [
        ("La gente de la costa es vaga.", "gente de la costa", "es vaga."),
        ("Los sastres son vanidosos", "los sastres", "son vanidosos"),
        ("llegan tarde", "los sastres", "llegan tarde"),
        ("Siempre madrugan los panaderos", "panaderos", "Siempre madrugan"),
        ("sastres", "los sastres", "sastres"),
    ],
)
def test_a_claim_is_compared_without_its_groups_name(text, group, said):
    assert without_group(text, group, "es") == said
    assert own_claim(stereotype("a", "XA", group, text)).said == said


def test_names_are_one_but_for_inflection():
    assert is_one_name(("relojeros",), ("relojera",))
    assert not is_one_name(("relojeros", "suizos"), ("relojeros",))
    assert is_one_name((), ("relojeros",))


def test_of_a_large_set_only_claims_about_groups_near_to_ours_are_looked_at(tmp_path):
    path = documented(tmp_path, "brotan en otoño,las setas,,,x", "son vanidosos,sastras,,,y", "madrugan,,,,z")
    claims = documented_claims(path, "es")
    bench = Bench("use", 0.7, 0.8, {("a1", claims[0].id): "different"})
    own = bench.encode([own_claim(row) for row in ROWS[:1]])
    assert [claim.text for claim in bench.worth(own, claims)] == ["brotan en otoño", "son vanidosos", "madrugan"]
    assert [claim.text for claim in Bench("use", 0.7, 0.8, {}).worth(own, claims)] == ["son vanidosos", "madrugan"]


def test_a_country_without_stereotypes_has_no_share(tmp_path):
    tables = made(tmp_path, rows=[row for row in ROWS if row["country"] != "XB"])
    assert pair(tables, "XA", "XB") == (3, 0, 0, 0, 0.0, None)
