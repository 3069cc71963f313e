"""What the reports of a construction and of a run show, from small made-up tables."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from isogloss.records import Dataset, Estimate, Item, Option, Status
from isogloss.reports import Chart, Prose, Section, Table
from isogloss.reports.pictures import to_svg
from isogloss.reports.sections import check_sections
from isogloss.studies.stereotypes import StereotypeSettings, figures
from isogloss.studies.stereotypes.build.config import BuildConfig
from isogloss.studies.stereotypes.build.figures import both_directions
from isogloss.studies.stereotypes.build.figures import sections as build_sections
from isogloss.studies.stereotypes.build.report_tables import patterns_of
from isogloss.studies.stereotypes.estimate import estimate
from isogloss.study import ANSWER_COLUMNS

CONFIG = BuildConfig.model_validate(
    {
        "name": "islands",
        "title": "Two islands",
        "licence": "CC0",
        "creators": ["A. Author"],
        "categories": ["region", "trade"],
        "countries": [
            {"code": "XA", "name": "Aurelia", "language": "es"},
            {"code": "XB", "name": "Borealia", "language": "pt"},
        ],
        "retrieval": {"models": ["lab/a"]},
    }
)


def tables() -> dict[str, list[dict[str, Any]]]:
    """Of two countries that share one stereotype of two and three."""
    log = [
        {"country": code, "category": "region", "view": "elders", "model": "lab/a", "round": number, "status": status,
         "n_rows": rows, "n_new": new, "n_repaired": 1, "n_dropped": 0}
        for code, number, status, rows, new in (
            ("XA", 1, "ok", 6, 6), ("XA", 2, "refused", 0, 0), ("XB", 1, "ok", 4, 4), ("XB", 2, "unparsed", 0, 0),
        )
    ]  # fmt: skip
    people = [
        {"country": code, "category": category, "n": n, "n_kept": kept, "rate": kept / n, "low": 0.1, "high": 0.9}
        for code, category, n, kept in (("XA", "region", 4, 2), ("XA", "trade", 5, 5), ("XB", "region", 3, 0))
    ]
    triples = [
        {"country": code, "category": "region", "target": "the coast", "context": f"Somebody of the coast {k} came.",
         "stereotype": "It was late.", "anti_stereotype": "It was early.", "unrelated": "Salt is white."}
        for code in ("XA", "XB") for k in range(12)
    ]  # fmt: skip
    return {
        "retrieval_log": log,
        "retrieved": [{"id": k} for k in range(10)],
        "stereotypes": [{"id": k} for k in range(8)],
        "saturation": [
            {"country": code, "category": category, "model": "lab/a", "round": k, "n_rows": 6, "n_new": 6 // k,
             "n_total": total}
            for code in ("XA", "XB") for category, totals in (("region", (6, 9, 9)), ("trade", (3, 3, 3)))
            for k, total in enumerate(totals, start=1)
        ],
        "unseen": [{"country": "XA", "category": "region", "n_observed": 9, "n_once": 4, "n_twice": 2, "chao1": 13.0,
                    "low": 10.0, "high": 30.0}],
        "merges": [
            {"country": "XA", "category": "region", "kept": "late", "merged": "Late", "how": "exact",
             "similarity": 1.0, "threshold": 1.0},
            {"country": "XA", "category": "region", "kept": "late", "merged": "never on time", "how": "similar",
             "similarity": 0.9, "threshold": 0.85},
        ],
        "borderline": [{"country": "XA", "category": "region", "a": "late", "b": "slow", "similarity": 0.8,
                        "decision": ""}],
        "validated": [{"validated": True, "kept": k < 5} for k in range(8)],
        "validation_rates": people,
        "model_rates": [
            {"country": "XA", "model": "lab/a", "n": 5, "n_alone": 4, "n_rated": 4, "n_kept": 2, "rate": 0.5,
             "low": 0.1, "high": 0.9},
            {"country": "XA", "model": "file", "n": 1, "n_alone": 0, "n_rated": 0, "n_kept": 0, "rate": None,
             "low": None, "high": None},
        ],
        "model_overlap": [{"country": "XA", "a": "lab/a", "b": "file", "n_a": 5, "n_b": 1, "n_both": 1,
                           "share_of_a": 0.2, "share_of_b": 1.0}],
        "agreement": [
            {"country": "XA", "n_items": 5, "n_raters": 5, "percent": 72.0, "alpha": 0.41, "reason": "",
             "counts": {"5/5": 2, "4/5": 2, "3/5": 1}},
            {"country": "XB", "n_items": 3, "n_raters": 4, "percent": 100.0, "alpha": None,
             "reason": "all ratings are equal", "counts": {"4/4": 3}},
        ],
        "rejects": [{"rule": "group not named", "writer": "lab/a", "words": "'the coast' isn't in the context"}] * 3,
        "reviewed": [{"country": "XA", "decisions": [{"stage": "coordinator", "decision": "accept"},
                                                     {"stage": "owner", "decision": "reject"}]}],
        "triples": triples,
        "overlap_countries": [
            {"a": "XA", "b": "XB", "category": category, "n_a": 5, "n_b": 4, "n_shared_a": 2, "n_shared_b": 1,
             "share_of_a": 0.4, "share_of_b": 0.25}
            for category in ("", "region")
        ],
        "overlap_groups": [
            {"category": "region", "group": "the coast", "countries": ["XA", "XB"], "n_countries": 2},
            {"category": "trade", "group": "potters", "countries": ["XA"], "n_countries": 1},
        ],
        "overlap_sets": [{"set": "SeeGULL", "country": "XA", "category": "", "n": 5, "n_found": 1, "share_found": 0.2,
                          "example": "the coast: is late ↔ never on time", "not_found": "the hills: are slow"}],
        "counts": [{"country": "XA", "n_stereotypes": 5, "n_validated": 4, "n_triples": 12},
                   {"country": "XB", "n_stereotypes": 3, "n_validated": 1, "n_triples": 12}],
    }  # fmt: skip


def by_id(found: list[Section]) -> dict[str, Section]:
    check_sections(found)
    return {section.id: section for section in found}


def drawn(found: dict[str, Section]) -> list[str]:
    """Ids of charts, each of whose panels becomes a picture with a description."""
    charts = [section for section in found.values() if isinstance(section, Chart)]
    for chart in charts:
        for panel in chart.panels:
            assert to_svg(panel.vega_lite(), prefix="p").startswith("<svg")
            assert panel.alt.endswith(".")
            assert "None" not in panel.alt
    return [chart.id for chart in charts]


# --- a construction ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built() -> dict[str, Section]:
    return by_id(build_sections(tables(), CONFIG))


def test_a_whole_construction_shows_every_part(built):
    assert list(built) == [
        "summary", "overview", "refusals", "saturation", "unseen", "merges", "merged", "borderline", "validation",
        "validation-rates", "models", "model-overlap", "agreement", "agreement-counts", "rejects", "reviews", "overlap",
        "overlap-table", "groups", "other-sets", "examples-shown",
    ]  # fmt: skip
    assert drawn(built) == ["saturation", "validation", "overlap"]


@pytest.mark.parametrize("absent", sorted(tables()))
def test_a_table_that_is_absent_only_leaves_its_part_out(absent):
    rest = {name: rows for name, rows in tables().items() if name != absent}
    assert len(by_id(build_sections(rest, CONFIG))) >= len(by_id(build_sections(tables(), CONFIG))) - 2


def test_a_construction_that_has_not_begun_says_so():
    [summary] = build_sections({}, CONFIG)
    assert isinstance(summary, Prose)
    assert summary.paragraphs == ("Nothing has been made yet.",)


def test_the_summary_tells_refusals_and_people(built):
    text = " ".join(built["summary"].paragraphs)
    assert "4 calls to 1 model, 1 of them refused, gave 10 claims, 8 stereotypes after merging." in text
    assert "People rated 8 of 8 stereotypes and kept 5." in text
    assert "24 triples: Aurelia 12, Borealia 12." in text
    rest = {**tables(), "validated": [{"validated": False, "kept": True}]}
    assert "No people took part" in " ".join(build_sections(rest, CONFIG)[0].paragraphs)


def test_counts_are_summed_over_countries(built):
    assert built["overview"].rows[-1] == ("all", 8, 5, 24)


def test_refusals_are_counted_by_model_and_country(built):
    table = built["refusals"]
    assert [column.title for column in table.columns][2:6] == ["calls", "refused", "share refused", "unparsed"]
    assert table.rows[0] == ("lab/a", "Aurelia", 2, 1, 0.5, 0, 6, 6, 2, 0)
    assert table.rows[1] == ("lab/a", "Borealia", 2, 0, 0.0, 1, 4, 4, 2, 0)


def test_rates_stand_with_their_interval(built):
    row = built["validation-rates"].rows[0]
    assert row[:4] == ("Aurelia", "region", 4, 2)
    assert (row[4].value, row[4].low, row[4].high) == (0.5, 0.1, 0.9)
    assert "a median between whole numbers" in built["validation-rates"].note


def test_models_stand_side_by_side_and_without_ratings_there_is_no_rate(built):
    first, second = built["models"].rows
    assert first[:6] == ("Aurelia", "lab/a", 5, 4, 4, 2)
    assert (first[6].value, first[6].low, first[6].high) == (0.5, 0.1, 0.9)
    assert second[:6] == ("Aurelia", "file", 1, 0, 0, None)
    assert second[6].value is None
    assert built["model-overlap"].rows == (
        ("Aurelia", "lab/a", "file", 5, 1, 0.2), ("Aurelia", "file", "lab/a", 1, 1, 1.0),
    )  # fmt: skip


def test_a_single_model_has_no_table_of_models():
    rest = {**tables(), "model_rates": tables()["model_rates"][:1], "model_overlap": []}
    assert {"models", "model-overlap"}.isdisjoint(by_id(build_sections(rest, CONFIG)))


def test_what_other_sets_have_and_what_they_lack_stands_with_an_example_of_each(built):
    table = built["other-sets"]
    assert table.rows == (
        ("SeeGULL", "Aurelia", "all", 5, 1, 0.2, 4, 0.8, "the coast: is late ↔ never on time", "the hills: are slow"),
    )
    assert [column.title for column in table.columns][-2:] == ["found, for example", "not found, for example"]
    assert "Content warning" in table.caption


def test_agreement_says_why_there_is_no_alpha_and_counts_patterns(built):
    assert [row[-2:] for row in built["agreement"].rows] == [(0.41, None), (None, "all ratings are equal")]
    table = built["agreement-counts"]
    assert [column.title for column in table.columns] == ["country", "5/5", "4/5", "3/5", "4/4"]
    assert [row[1:] for row in table.rows] == [(2, 2, 1, 0), (0, 0, 0, 3)]
    assert patterns_of({"country": "XA"}) == {}


def test_merges_that_are_not_exact_are_listed_closed_with_a_warning(built):
    assert built["merged"].folded
    assert built["merged"].rows == (("XA", "region", "late", "never on time", "similar", 0.9),)
    for name in ("merged", "borderline", "examples-shown"):
        assert built[name].folded
        assert "Content warning" in built[name].caption
    assert built["merges"].note.endswith("Threshold of similarity: 0.85.")
    assert "1 of 1 are undecided" in built["borderline"].note


def test_overlap_has_a_square_for_each_direction(built):
    cells = both_directions(tables()["overlap_countries"][0], {"XA": "Aurelia"})
    assert [(cell["row"], cell["column"], cell["value"]) for cell in cells] == [("XA", "XB", 0.4), ("XB", "XA", 0.25)]
    assert cells[1]["words"] == "XB: 1 of 4 also in Aurelia"
    assert [panel.title for panel in built["overlap"].panels] == ["all categories", "region"]
    assert "A row is the country whose stereotypes are counted" in built["overlap"].caption
    same = both_directions({**tables()["overlap_countries"][0], "b": "XA"}, {})
    assert len(same) == 1


def test_groups_show_where_they_are_named(built):
    assert built["groups"].rows == (("region", "the coast", "✓", "✓", 2), ("trade", "potters", "✓", None, 1))
    assert built["groups"].note.endswith("one country only: Aurelia 1, Borealia 0.")


def test_of_one_country_there_is_no_table_of_groups_and_of_ready_claims_no_estimate():
    rest = {**tables(), "retrieval_log": [], "overlap_groups": tables()["overlap_groups"][1:]}
    assert {"groups", "unseen", "refusals"}.isdisjoint(by_id(build_sections(rest, CONFIG)))


def test_a_few_triples_of_each_country_are_shown(built):
    assert [row[0] for row in built["examples-shown"].rows] == ["Aurelia"] * 5 + ["Borealia"] * 5


def test_several_models_of_a_country_have_a_panel_each_and_no_estimate_of_either():
    more = tables()
    more["saturation"] += [{**row, "model": "lab/b"} for row in more["saturation"]]
    chart = by_id(build_sections(more, CONFIG))["saturation"]
    assert [panel.title for panel in chart.panels] == [
        "Aurelia, lab/a", "Borealia, lab/a", "Aurelia, lab/b", "Borealia, lab/b"
    ]  # fmt: skip
    assert "beyond it" not in str(chart.panels[0].spec)


# --- a run ------------------------------------------------------------------------------------------------------------

SETTINGS = StereotypeSettings(resamples=200)
TERMS = {"coast": 4, "hills": 3, "potters": 1}


def dataset() -> Dataset:
    items = []
    for country in ("XA", "XB"):
        for term, n in TERMS.items():
            for k in range(n):
                id = f"{country}-{term}-{k}"
                roles = ("stereotype", "anti-stereotype", "unrelated")
                options = tuple(Option(id=f"{id}.{role}", text=f"{role} {id}", role=role) for role in roles)
                fields = {"country": country, "category": "trade" if term == "potters" else "region",
                          "split": "intersentence", "target": term, "layout": "own"}  # fmt: skip
                items.append(Item(id=id, text=f"of {term}", options=options, language="en", fields=fields))
    return Dataset(name="made", items=tuple(items))


def answers(models: dict[str, tuple[float, float, float] | None], rules: tuple[str, ...] = ("causal",)) -> pd.DataFrame:
    """Scores of stereotype, anti-stereotype and unrelated sentence; None: nothing can be read."""
    rows = [
        (item.id, item.fields["country"], "en", rule, None, "logprob", None, tuple(o.id for o in item.options), {},
         "b2:0", model, 1, "stereotypes.scores@1", "logprob", (Status.UNPARSED if scores is None else Status.OK).value,
         scores if k % 4 or scores is None else (scores[1], scores[0], scores[2]), "")
        for rule in rules for model, scores in models.items() for k, item in enumerate(dataset().items)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(ANSWER_COLUMNS))


def report(models: dict[str, Any], rules: tuple[str, ...] = ("causal",)) -> dict[str, Section]:
    given = answers(models, rules)
    return by_id(figures.sections(estimate(given, dataset(), SETTINGS, 0), given, dataset(), SETTINGS))


PRO, ANTI = (-1.0, -2.0, -3.0), (-2.0, -1.0, -3.0)


def test_a_run_under_one_rule_has_its_table_on_top_and_a_plane():
    found = report({"lab/pro": PRO, "lab/anti": ANTI})
    assert list(found) == [
        "summary", "overview", "plane-causal", "country-causal", "country-causal-table", "category-causal",
        "category-causal-table", "targets-causal", "differences-causal", "terms-causal", "single-terms-causal",
        "methods", "limits",
    ]  # fmt: skip
    assert drawn(found) == ["plane-causal", "country-causal", "category-causal"]
    [pro, anti] = found["overview"].rows
    assert pro[:2] == ("lab/pro", "logprob")
    assert [cell.measure for cell in pro[2:5]] == ["ss", "lms", "icat"]
    assert pro[5:] == (16, 16, 16)
    assert anti[2].value == pytest.approx(100 - pro[2].value)


def test_two_rules_never_stand_in_one_table_or_picture():
    found = report({"lab/pro": PRO, "lab/anti": ANTI}, ("causal", "masked"))
    assert "overview" not in found
    for rule, other in (("causal", "masked"), ("masked", "causal")):
        for name in ("scores", "plane", "country", "differences", "terms"):
            section = found[f"{name}-{rule}"]
            content = str(section.rows if isinstance(section, Table) else section.data)
            assert f"'{other}'" not in content, section.id


def test_the_summary_says_what_can_be_told_apart_from_no_preference():
    found = report({"lab/pro": PRO, "lab/mute": None})
    [text] = found["summary"].paragraphs
    assert text.startswith("Rule causal: log p(sentence | context). lab/pro: ss ")
    assert "lms 100.00" in text
    assert "lab/mute" not in text
    assert report({"lab/mute": None})["summary"].paragraphs == (
        "Rule causal: log p(sentence | context): nothing could be scored, so there is no number.",
    )


def test_nothing_scored_gives_dashes_and_no_picture():
    found = report({"lab/mute": None})
    assert drawn(found) == []
    [row] = found["overview"].rows
    assert row[2].value is None
    assert row[-4:] == (16, 16, 0, 16)


def test_a_term_with_one_example_is_shown_with_its_weight():
    found = report({"lab/pro": PRO})
    [row] = found["terms-causal"].rows
    assert row[:3] == ("lab/pro", 6, 2)
    assert row[-1] == pytest.approx(100 / 6)
    assert [single[1:3] for single in found["single-terms-causal"].rows] == [("XA", "potters"), ("XB", "potters")]


def test_differences_are_the_first_minus_the_second():
    found = report({"lab/pro": PRO, "lab/anti": ANTI})
    [row] = found["differences-causal"].rows
    assert row[:3] == ("lab/anti", "lab/pro", "logprob")
    assert row[3].value < 0
    assert row[-1] == 16


def test_bbq_has_a_table_for_each_kind_of_context():
    measures = (
        "accuracy_ambiguous",
        "s_amb",
        "bias_ambiguous",
        "accuracy_disambiguated",
        "s_dis",
        "bias_disambiguated",
    )
    found = [
        Estimate(
            study="stereotypes", measure=measure, group={"model": "lab/a", "format": "forced_choice",
            "reading": "strict", **group}, value=0.5, n_items=n, n_answers=n, n_scored=n, method="m",
        )
        for measure in measures for group in ({}, {"category": "Age"}, {"group": "old"})
        for n in (3 if "amb" in measure.removeprefix("dis") else 2,)
    ]  # fmt: skip
    shown = by_id(figures.sections(found, answers({}), dataset(), SETTINGS))
    assert list(shown) == [
        "summary",
        "bbq-ambiguous-forced-choice",
        "bbq-disambiguated-forced-choice",
        "methods",
        "limits",
    ]
    first = shown["bbq-ambiguous-forced-choice"]
    assert [column.title for column in first.columns] == [
        "category", "group", "informant", "reading", "accuracy", "s_amb", "bias", "items", "answers", "scored",
    ]  # fmt: skip
    assert [row[:2] for row in first.rows] == [("all", "all"), ("Age", "all"), ("all", "old")]
    [words] = shown["summary"].paragraphs
    assert words == (
        "lab/a: where the text doesn’t tell, accuracy 0.500, s_amb 0.50; where it tells, accuracy 0.500, s_dis 0.50."
    )
    assert "templates" in shown["methods"].paragraphs[0]


def test_pairs_have_one_score():
    group = {"model": "lab/a", "format": "crows_pairs", "reading": "logprob"}
    found = [
        Estimate(study="stereotypes", measure="crows_pairs_score", group={**group, **more}, value=60.0, low=55.0,
                 high=65.0, n_items=9, n_answers=9, n_scored=9, method="m")
        for more in ({}, {"category": "age"}, {"category": "gender"})
    ]  # fmt: skip
    shown = by_id(figures.sections(found, answers({}), dataset(), SETTINGS))
    assert list(shown) == [
        "summary", "overview", "category-crows-pairs", "category-crows-pairs-table", "methods", "limits"
    ]  # fmt: skip
    assert drawn(shown) == ["category-crows-pairs"]
    assert "lab/a: score 60.00 (55.00 … 65.00), so it prefers these stereotypes" in shown["summary"].paragraphs[0]


def test_an_empty_run_has_a_report_too():
    found = figures.sections([], answers({}), dataset(), SETTINGS)
    assert [section.id for section in found] == ["summary", "methods", "limits"]
