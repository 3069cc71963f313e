"""Each format's exact text, and estimates read back without loss."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from isogloss.errors import DataError, UnknownNameError
from isogloss.records import Estimate
from isogloss.reports import estimates_frame, read_estimates, read_frame, render, write_estimates
from isogloss.reports.numbers import display_width, format_number, kind_of
from isogloss.reports.tables import latex_escape


def test_the_text_table_shows_signs_dashes_counts_and_methods(estimates):
    assert render(estimates, "text").splitlines() == [
        "measure   model    country  baseline     value    95 % interval  items  answers  scored  refused  unparsed",
        "f1        a/one    NA                    0.300    0.250 … 0.350     60      180     171        6         3",
        "delta_f1  a/one    NO       always_yes  +0.120  −0.030 … +0.210     60    1,180   1,180        0         0",
        "f1        b/two_x  CL                        –                –     60      180       0      180         0",
        "study: toy",
        "bootstrap over items, 2,000 draws, seed 7, 95 % · toy.yes_no@1",
        "f1: no value: nothing was scored",
    ]


def test_the_markdown_table_aligns_numbers_and_escapes(estimates):
    lines = render(estimates, "md").splitlines()
    assert lines[0] == (
        "| measure | model | country | baseline | value | 95 % interval | items | answers | scored | "
        "refused | unparsed |"
    )
    assert lines[1] == "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    assert lines[2] == "| f1 | a/one | NA |  | 0.300 | 0.250 … 0.350 | 60 | 180 | 171 | 6 | 3 |"
    assert lines[4] == "| f1 | b/two_x | CL |  | – | – | 60 | 180 | 0 | 180 | 0 |"
    assert lines[-3:-1] == ["- study: toy", "- bootstrap over items, 2,000 draws, seed 7, 95 % · toy.yes_no@1"]
    bar = [
        Estimate(
            study="t", measure="f1", group={"model": "a|b*<i>"}, value=1, n_items=1, n_answers=1, n_scored=1, method="m"
        )
    ]
    assert r"a\|b\*\<i>" in render(bar, "md")


def test_the_latex_table_can_go_into_a_paper(estimates):
    assert render(estimates[1:], "latex") == (
        "% \\usepackage{booktabs}\n"
        "\\begin{table}\n"
        "\\centering\\small\n"
        "\\caption{Estimates of isogloss (toy).}\\label{tab:isogloss}\n"
        "\\begin{tabular}{llllrrrrrr}\n"
        "\\toprule\n"
        "measure & model & country & baseline & value & 95 \\% interval & items & answers & scored & refused \\\\\n"
        "\\midrule\n"
        "delta\\_f1 & a/one & NO & always\\_yes & +0.120 & $-$0.030 \\dots{} +0.210 & 60 & 1,180 & 1,180 & 0 \\\\\n"
        "f1 & b/two\\_x & CL &  & -- & -- & 60 & 180 & 0 & 180 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\n"
        "\\smallskip\\parbox{0.95\\linewidth}{\\footnotesize study: toy \\\\ "
        "delta\\_f1: bootstrap over items, 2,000 draws, seed 7, 95 \\% \\\\ delta\\_f1: toy.yes\\_no@1 \\\\ "
        "f1: no value: nothing was scored}\n"
        "\\end{table}\n"
    )


def test_a_long_latex_table_may_break_over_pages(estimates):
    text = render(estimates * 20, "latex")
    assert "\\begin{longtable}" in text
    assert "\\endhead" in text


def test_latex_escapes_all_that_has_a_meaning():
    assert latex_escape(r"50% & a_b {x} ~ ^ \ # $ <>") == (
        r"50\% \& a\_b \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \# \$ \textless{}\textgreater{}"
    )


def test_json_has_exactly_the_fields_of_the_design(estimates):
    rows = json.loads(render(estimates, "json"))
    assert [list(row) for row in rows] == [
        ["study", "measure", "group", "value", "low", "high", "n_items", "n_answers", "n_scored", "missing", "method"]
    ] * 3
    assert rows[0]["group"] == {"model": "a/one", "country": "NA"}
    assert rows[0]["missing"] == {"refused": 6, "unparsed": 3}
    assert rows[2]["value"] is None


def test_csv_is_flat_with_one_order_of_columns(estimates):
    lines = render(estimates, "csv").splitlines()
    assert lines[0] == (
        "study,measure,model,country,baseline,value,low,high,n_items,n_answers,n_scored,missing_refused,missing_blocked,"
        "missing_unparsed,missing_truncated,missing_failed,missing_missing,method"
    )
    assert lines[1].startswith("toy,f1,a/one,NA,,0.30000000000000004,0.25,0.35,60,180,171,6,0,3,0,0,0,")
    assert lines[3] == "toy,f1,b/two_x,CL,,,,,60,180,0,180,0,0,0,0,0,no value: nothing was scored"


def test_estimates_come_back_from_the_file_as_they_were(estimates, tmp_path: Path):
    path = tmp_path / "estimates.csv"
    write_estimates(path, estimates)
    assert read_estimates(path) == estimates
    assert [entry.name for entry in tmp_path.iterdir()] == ["estimates.csv"]


def test_no_estimates_are_an_empty_table_and_come_back(tmp_path: Path):
    write_estimates(tmp_path / "estimates.csv", [])
    assert read_estimates(tmp_path / "estimates.csv") == []
    assert render([], "text") == "no estimates\n"


def test_a_data_frame_keeps_na_and_no_as_text_and_floats_exact(estimates, tmp_path: Path):
    path = tmp_path / "estimates.csv"
    write_estimates(path, estimates)
    frame = read_frame(path)
    assert frame["country"].tolist() == ["NA", "NO", "CL"]
    assert frame["value"][0] == 0.1 + 0.2
    assert frame["value"].isna().tolist() == [False, False, True]
    assert frame["n_scored"].tolist() == [171, 1180, 0]
    pd.testing.assert_frame_equal(frame, estimates_frame(estimates))
    plain = pd.read_csv(path, keep_default_na=False, na_values={"value": "", "low": "", "high": ""})
    assert plain["country"].tolist() == ["NA", "NO", "CL"]
    assert plain["value"].tolist()[:2] == pytest.approx([0.3, 0.12])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "has no column 'study'"),
        (None, "can't read"),
        ("VALUE", "row 2: column 'value' holds 'many'"),
        ("SCORED", "row 2: row: Value error, f1: 5 scored"),
    ],
)
def test_a_file_that_is_no_table_of_estimates_is_named_with_its_fault(content, message, estimates, tmp_path: Path):
    path = tmp_path / "estimates.csv"
    good = render(estimates, "csv")
    if content is not None:
        content = content.replace("VALUE", good.replace("0.30000000000000004", "many", 1))
        path.write_text(content.replace("SCORED", good.replace(",171,", ",5,", 1)), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_estimates(path)


def test_an_unknown_format_is_answered_with_a_near_name(estimates):
    with pytest.raises(UnknownNameError, match="did you mean 'latex'"):
        render(estimates, "latexx")


@pytest.mark.parametrize(
    ("measure", "kind"),
    [("f1", "share"), ("delta_f1", "signed"), ("preference_gap", "signed"), ("youden_j_pooled", "signed"),
     ("spearman(f1,share_plus)", "signed"), ("mean_gold_size", "number"), ("icat", "number")],
)  # fmt: skip
def test_a_measure_is_printed_by_what_its_name_says(measure, kind):
    assert kind_of(measure) == kind


def test_numbers_carry_a_typographic_minus_and_no_negative_zero():
    assert format_number(-0.0001, "signed") == "0.000"
    assert format_number(-0.04, "signed") == "−0.040"
    assert format_number(1180, "count") == "1,180"
    assert format_number(0.0004, "p") == "< 0.001"
    assert format_number(None, "share") == "–"


def test_widths_count_what_a_terminal_shows():
    assert display_width("é") == display_width("e\u0301") == 1
    assert display_width("日本") == 4
