"""The HTML report: whole in one file, everything escaped, no number alone."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from isogloss.errors import DataError
from isogloss.records import FREE, Price
from isogloss.reports import Column, Prose, ReportContext, Table, invalid_replies, to_html, write_html
from isogloss.reports.html import json_block
from isogloss.reports.spending import spending_table
from isogloss.store.rows import Spending


@pytest.fixture
def page(context: ReportContext) -> str:
    return to_html(context)


class Elements(HTMLParser):
    """Tags with their attributes, and what scripts hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data


def test_the_page_fetches_nothing(page):
    for tag, attributes in Elements(page).tags:
        for name in ("src", "href", "xlink:href", "action", "srcset", "poster"):
            address = attributes.get(name) or ""
            assert not re.match(r"(https?:)?//", address), f"{tag} {name}={address}"
        assert tag not in ("link", "iframe", "object", "embed") or (attributes.get("href") or "").startswith("data:")
    assert "default-src 'none'" in page
    assert not re.search(r"@import|url\(\s*['\"]?(https?:)?//|\bfetch\(|XMLHttpRequest", page)


def test_a_reply_can_end_no_script_and_start_none(page):
    elements = Elements(page)
    own = [attributes for tag, attributes in elements.tags if tag == "script"]
    assert [script.get("type") for script in own].count(None) == 1
    assert sum(tag == "b" and not attributes for tag, attributes in elements.tags) == page.count("<b>strict</b>")
    assert "document.title='broken'</script>" not in page
    for attributes, text in zip(own, elements.scripts, strict=True):
        if attributes.get("type") == "application/json":
            json.loads(text)
            assert "<" not in text


def test_json_blocks_keep_what_they_hold():
    value = {"a": "</script><!-- & \u2028"}
    block = str(json_block(value))
    assert json.loads(block) == value
    assert not set("<>&\u2028") & set(block)


@pytest.mark.parametrize(
    "words",
    [
        "gguf/smollm2 is for trying the machinery.",
        "scripted/random is a scripted informant.",
        "This survey is incomplete.",
        "held to the asked form by a grammar",
        "39 cells are neither + nor -",
        "What the numbers don’t tell",
        "For the methods section of a paper",
        "isogloss run toy sample",
        "Not drawn: nothing.",
        "more than one answer",
        "&lt;/script&gt;",
        'dir="auto"',
        "60 items, 171 of 180 answers scored, 6 refused, 3 unparsed",
    ],
)
def test_the_page_says_what_it_must(page, words):
    assert words in page


def test_nothing_scored_is_a_dash_in_the_page(page):
    row = re.search(r'<table id="table-wide".*?</tbody>', page, re.DOTALL).group(0)
    assert ">–</td>" in row
    assert "+0.120" in row
    assert "−0.030 … +0.210" in row


def test_ids_of_pictures_do_not_clash(page):
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_a_study_without_sections_shows_its_estimates(context):
    page = to_html(replace(context, sections=()))
    assert 'id="table-estimates"' in page
    assert "delta_f1 (always_yes)" in page


def test_an_empty_run_has_a_page_too(context):
    page = to_html(replace(context, sections=(), estimates=(), examples=(), invalid=()))
    assert "nothing has been answered and scored yet" in page
    assert "Every reply was read" in page


def test_ids_of_sections_must_be_their_own(context):
    twice = (Prose("a", "A", ()), Prose("a", "B", ()))
    with pytest.raises(DataError, match="two sections of the report have the id 'a'"):
        to_html(replace(context, sections=twice))
    with pytest.raises(DataError, match="'numbers' is taken"):
        to_html(replace(context, sections=(Prose("numbers", "A", ()),)))


def test_a_row_that_does_not_fit_its_table_is_named():
    with pytest.raises(DataError, match="table 't' row 2: 1 cells under 2 columns"):
        Table("t", "T", (Column("a"), Column("b")), (("x", 1), ("y",)))


def test_the_file_is_whole_or_not_there(context, tmp_path: Path):
    write_html(tmp_path / "report.html", context)
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(DataError, match="can't write"):
        write_html(tmp_path / "absent" / "report.html", context)


def test_replies_that_failed_alike_are_counted_together():
    answers = pd.DataFrame(
        [("m", "yes_no", "strict", "unparsed", "two answers", f"reply {n % 5}") for n in range(9)]
        + [("m", "yes_no", "strict", "ok", "", "Sí"), ("m", "yes_no", "lenient", "failed", "HTTP 500", None)],
        columns=["model", "format", "reading", "status", "note", "reply"],
    )
    first, second = invalid_replies(answers)
    assert (first.status, first.reason, first.count) == ("unparsed", "two answers", 9)
    assert first.examples == ("reply 0", "reply 1", "reply 2")
    assert (second.status, second.count, second.examples) == ("failed", 1, ())
    assert sum(row.count for row in invalid_replies(answers.drop(columns="reply"))) == 10
    with pytest.raises(DataError, match="no column 'note'"):
        invalid_replies(answers.drop(columns="note"))


MINI = Price(input=0.4, output=1.6, cached=0.1)


def spent(context, **by_model):
    """The table of tokens and cost, were these the models' calls: name → cells."""
    [run] = context.runs
    models = tuple(
        replace(run.models[0], name=name.replace("__", "/"), spending=tuple(parts)) for name, parts in by_model.items()
    )
    context = replace(context, runs=(replace(run, models=models),))
    table = spending_table(context)
    return {} if table is None else {row[0]: row[1:] for row in table.rows}


def test_tokens_and_cost_are_told_by_model_and_in_total(context):
    rows = spent(
        context,
        openai__mini=[Spending(1, MINI, 1000, 0, 2_000_000, 500_000, 100_000)],
        gguf__smollm2=[Spending(2, FREE, 300, 0, 4000, 0, 600)],
    )
    # 1.5 million at 0.40, 0.5 million at 0.10, 0.1 million at 1.60
    price = "at 0.40/1.60 (0.10 cached) US$ per million tokens"
    assert rows["openai/mini"] == ("0.81", 1000, 2_000_000, 500_000, 100_000, price)
    assert rows["gguf/smollm2"] == ("0 (this machine)", 300, 4000, 0, 600, None)
    assert rows["all"] == ("0.81", 1300, 2_004_000, 500_000, 100_600, None)


def test_what_is_not_known_of_cost_is_never_nothing(context):
    rows = spent(
        context,
        openai__new=[Spending(1, None, 10, 0, 2000, 0, 100)],
        openai__mini=[Spending(2, MINI, 24, 12, 1_000_000, 0, 0)],
        openai__silent=[Spending(3, MINI, 3, 3, 0, 0, 0)],
        gguf__old=[Spending(4, None, 5, 0, 50, 0, 5)],
    )
    assert rows["openai/new"] == ("unknown", 10, 2000, 0, 100, "price unknown")
    assert rows["openai/mini"][0] == "at least 0.40"
    assert rows["openai/mini"][-1].endswith("US$ per million tokens; 12 calls without token counts")
    assert rows["openai/silent"][:-1] == ("unknown", 3, None, None, None)
    assert rows["gguf/old"] == ("0 (this machine)", 5, 50, 0, 5, None)
    assert rows["all"] == ("at least 0.40", 42, 1_002_050, 0, 105, None)


def test_prices_that_changed_are_told_with_their_calls(context):
    half = Price(input=0.2, output=0.075)
    rows = spent(
        context,
        openai__mini=[Spending(1, MINI, 5, 0, 0, 0, 10_000), Spending(1, half, 1, 0, 10, 0, 0),
                      Spending(1, None, 2, 0, 10, 0, 10)],
    )  # fmt: skip
    assert list(rows) == ["openai/mini"]
    assert rows["openai/mini"][0] == "at least 0.02"
    assert rows["openai/mini"][-1] == (
        "5 calls at 0.40/1.60 (0.10 cached), 1 call at 0.20/0.075 US$ per million tokens; 2 calls at an unknown price"
    )


def test_a_server_of_ones_own_costs_nothing_without_being_this_machine(context):
    rows = spent(context, openai__local=[Spending(1, FREE, 5, 2, 10, 0, 10)])
    assert rows["openai/local"] == (
        "0", 5, 10, 0, 10, "at 0.00/0.00 US$ per million tokens; 2 calls without token counts"
    )  # fmt: skip


def test_calls_that_no_number_stands_on_are_in_the_total(context):
    [run] = context.runs
    mine = replace(run.models[0], name="openai/mini", spending=(Spending(2, MINI, 1, 0, 0, 0, 1_000_000),))
    older = {"openai/mini, v1 (not in this report)": (Spending(1, MINI, 1, 0, 0, 0, 500_000),)}
    table = spending_table(replace(context, runs=(replace(run, models=(mine,), unreported=older),)))
    assert [row[:2] for row in table.rows] == [
        ("openai/mini", "1.60"), ("openai/mini, v1 (not in this report)", "0.80"), ("all", "2.40")
    ]  # fmt: skip


def test_a_report_without_calls_has_no_table_of_cost(context, page):
    assert spent(context, openai__mini=[Spending(1, MINI, 0, 0, 0, 0, 0)]) == {}
    assert "Tokens and cost" not in page
    assert "chat template" not in page


def test_the_prompt_as_the_model_saw_it_is_folded_beside_the_messages(context):
    [run] = context.runs
    first = replace(run.models[0], template="b2:0123456789abcdef")
    rendered = "<|im_start|>user\n¿Palta?<script>"
    page = to_html(
        replace(
            context,
            runs=(replace(run, models=(first, *run.models[1:]), reasoning_tags=("cavil", "<a> … </a>")),),
            examples=(replace(context.examples[0], rendered=rendered),),
        )
    )
    assert page.count("As the model saw it") == 1
    assert "&lt;|im_start|&gt;user\n¿Palta?&lt;script&gt;</pre></details>" in page
    assert ">b2:01234567<" in page
    assert "the usual ones and cavil, &lt;a&gt; … &lt;/a&gt;" in page
