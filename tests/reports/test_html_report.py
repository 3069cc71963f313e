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
from isogloss.reports import Column, Prose, ReportContext, Table, invalid_replies, to_html, write_html
from isogloss.reports.html import json_block


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
