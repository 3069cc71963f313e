"""Written forms, reasoning and language packs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from isogloss.errors import DataError
from isogloss.text import fold, is_refusal, normalise, packs, read_yes_no, split_reasoning, unwrap


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("１／３", "1/3"),
        ("Ｂ", "B"),
        ("٣/١٢", "3/12"),
        ("३", "3"),
        ("①、③", "(1),(3)"),
        ("Ⓑ", "(B)"),
        ("🅱️", "(B)"),
        ("𝐁𝟏", "B1"),
        ("1️⃣", "1"),
        ("1²", "1²"),
        ("½", "½"),
        ("«Sí» ’ “a”", '"Sí" \' "a"'),
        ("a\u200bb\ufeff", "ab"),
        ("\ue000x\ue001", "x"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("é\r\n", "é\n"),
        ("好。", "好."),
        ("Sí ✅", "Sí  "),
    ],
)
def test_one_written_form_per_character(written: str, normal: str) -> None:
    assert normalise(written) == normal
    assert normalise(normal) == normal


def test_keycaps_side_by_side_are_not_joined_to_a_number() -> None:
    assert normalise("1️⃣2️⃣") != "12"


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("Sí", "si"),
        ("Não", "nao"),
        ("ÇA", "ca"),
        ("أنا", "انا"),
        ("नहीं", "नहीं"),
        ("माफ़", "माफ"),
        ("한국", "한국"),
        ("Straße", "strasse"),
    ],
)
def test_folding_drops_case_and_accents_but_no_vowel_signs(written: str, folded: str) -> None:
    assert fold(written) == folded


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("**B**", "B"),
        ("$B$", "B"),
        (r"\(B\)", "B"),
        (r"\textbf{B}", "B"),
        ("it costs $5 and $6", "it costs $5 and $6"),
        ("~~A~~B", " B"),
        ("<b>B</b>", "B"),
        ("```json\n1/3\n```", "\n1/3\n"),
        ("# B", "B"),
        ("> - B", "B"),
        ("snake_case _B_", "snake_case B"),
        ("B<|im_end|>", "B "),
        ("plain", "plain"),
    ],
)
def test_markup_is_set_aside(marked: str, plain: str) -> None:
    assert unwrap(marked) == plain


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("B", ("", "B", True)),
        ("a < b", ("", "a < b", True)),
        ("<think>x</think>\n\nB", ("x", "B", True)),
        ("x</think>B", ("x", "B", True)),
        ("<think>x", ("x", "", False)),
        ("B <think>x", ("x", "B", False)),
        ("<think>a <think> b</think>B", ("a <think> b", "B", True)),
        ("<think>a <analysis> b </analysis> c</think>B", ("a <analysis> b </analysis> c", "B", True)),
        ("<think>a</think>b</think>B", ("a\nb", "B", True)),
        ("<THINK time='3'>x</THINK>B", ("x", "B", True)),
        ("[THINK]x[/THINK]B", ("x", "B", True)),
        ("see [analysis] B", ("", "see [analysis] B", True)),
        ("◁think▷x◁/think▷B", ("x", "B", True)),
        (
            "<|channel|>analysis<|message|>x<|end|><|channel|>final<|message|>B",
            ("x<|end|>", "B", True),
        ),
        ("<|START_THINKING|>x", ("x", "", False)),
    ],
)
def test_reasoning_is_parted_from_the_answer(text: str, split: tuple[str, str, bool]) -> None:
    assert split_reasoning(text) == split


def test_reasoning_tags_can_be_named() -> None:
    assert split_reasoning("<mull>x</mull>B", tags=["mull"]) == ("x", "B", True)
    assert split_reasoning("{{x}}B", tags=[("{{", "}}")]) == ("x", "B", True)
    assert split_reasoning("<think>x</think>B", tags=[]) == ("", "<think>x</think>B", True)


def test_a_refusal_told_far_into_a_text_is_none() -> None:
    assert not is_refusal("They met and talked. " * 30 + "I can't help with that.")
    assert is_refusal("<think>hm</think>I can't help with that.")


# --- language packs

PACK = """
name = "Lomarian"
checked_by = "nobody"
[yes_no]
yes = ["lum"]
no = ["tren"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packs that a test may add to."""
    for path in packs.DATA.glob("*.toml"):
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(packs, "DATA", tmp_path)
    packs.find_pack.cache_clear()
    yield tmp_path
    packs.find_pack.cache_clear()


def test_a_language_is_added_with_a_file_only(folder: Path) -> None:
    (folder / "qlo.toml").write_text(PACK, encoding="utf-8")
    assert "qlo" in packs.languages()
    assert read_yes_no("Lum.", "qlo", strict=True).value is True
    assert read_yes_no("Tren, tren", "qlo-XX").value is False


def test_a_regional_file_goes_before_the_language(folder: Path) -> None:
    (folder / "es-ZZ.toml").write_text(PACK, encoding="utf-8")
    assert read_yes_no("lum", "es-zz").value is True
    assert read_yes_no("sí", "es").value is True


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("name = 'x'", "'checked_by' is missing"),
        (PACK.replace('["lum"]', '"lum"'), "'yes' must be a list of words"),
        (PACK + "unknown = ['(']", "unterminated"),
        (PACK + "[cues]\nanswr = ['x']", "no key of .cues. named 'answr'; did you mean 'answer'"),
        (PACK.replace("[yes_no]", "yes_no = 3\n[x]"), "must be a table"),
        ("name =", "Invalid"),
    ],
)
def test_a_bad_pack_names_its_file_and_fault(tmp_path: Path, content: str, fault: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=rf"bad\.toml: .*{fault}"):
        packs.load_pack(path)


def test_every_pack_says_who_checked_it_and_has_what_readers_need() -> None:
    for pack in packs.all_packs():
        assert pack.name
        assert pack.checked_by
        assert pack.decline, pack.tag
        assert pack.disclaimer, pack.tag
        assert not pack.yes & pack.no
        assert set(pack.quick) >= pack.yes | pack.no
