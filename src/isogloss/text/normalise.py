"""Bringing written forms together before anything is read: scripts' digits, widths, marks, markup.

Three steps, each used alone where a rule needs no more: `normalise` (one written form per character),
`unwrap` (Markdown, LaTeX, HTML and leaked control tokens aside), `fold` (case and accents aside).
"""

from __future__ import annotations

import re
import unicodedata

BOX_OPEN, BOX_CLOSE = "\ue000", "\ue001"
r"""Stand around what a reply put in `\boxed{}` or `<answer>`; `normalise` removes them from input."""

WORD_CHARACTER = (
    r"[\w\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06ed"
    r"\u0900-\u0963\u0970-\u0df3\u0e30-\u0e4e\u1000-\u109f\u1780-\u17d3\u3099\u309a]"
)
r"""What `\w` should be: letters and digits with the vowel signs and other marks that Python leaves out."""

_LATIN = "A-Za-z\u00c0-\u024f"


def _character_table() -> dict[int, str | None]:
    table: dict[int, str | None] = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}  # full width
    for code in range(0x1D400, 0x1D800):  # mathematical letters and digits
        table[code] = unicodedata.normalize("NFKC", chr(code))
    for first, last in ((0x2190, 0x21FF), (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F1E6, 0x1F1FF), (0x1F300, 0x1FAFF)):
        table.update(dict.fromkeys(range(first, last + 1), " "))  # arrows and pictures
    for first, letter, count in (
        (0x24B6, "A", 26), (0x24D0, "a", 26), (0x249C, "a", 26),
        (0x1F110, "A", 26), (0x1F130, "A", 26), (0x1F150, "A", 26), (0x1F170, "A", 26),
    ):  # fmt: skip
        for place in range(count):  # circled, squared and bracketed letters
            table[first + place] = f"({chr(ord(letter) + place)})"
    for first, count in ((0x2460, 20), (0x2474, 20), (0x2776, 10)):  # circled and bracketed numbers
        for place in range(count):
            table[first + place] = f"({place + 1})"
    for characters, written in (
        ("\u2018\u2019\u201a\u201b\u02bc\u2032\u2039\u203a\u00b4", "'"),
        ("\u201c\u201d\u201e\u201f\u00ab\u00bb\u300c\u300d\u300e\u300f\u2033", '"'),
        ("\u2010\u2011\u2212", "-"),
        ("\u3001\u060c\uff64", ","),
        ("\u061b", ";"),
        ("\u061f", "?"),
        ("\u3002\u0964\u0965\u06d4\uff61", "."),
        ("\u2044\u2215", "/"),
        ("\u3010\u3014\u3008\u300a", "["),
        ("\u3011\u3015\u3009\u300b", "]"),
        ("\u2192\u21d2\u27a1\u2794", ":"),
        ("\u2028\u2029\u0085", "\n"),
    ):
        table.update(dict.fromkeys(map(ord, characters), written))
    for first, last in (
        (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0E), (0xE000, 0xF8FF),
        (0x00AD, 0x00AD), (0xFEFF, 0xFEFF), (0x0640, 0x0640), (0x061C, 0x061C),
    ):  # fmt: skip
        table.update(dict.fromkeys(range(first, last + 1)))  # invisible, private or only for looks
    return table


_CHARACTERS = _character_table()
_KEYCAP = re.compile(r"(?<![0-9])([0-9])\ufe0f?\u20e3(?!\s?[0-9]\ufe0f?\u20e3)")
_DIGITS = re.compile(r"[^\D0-9]+")
_FOLDED_MARKS = re.compile(
    r"[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u093c]+"
)


def normalise(text: str) -> str:
    """One written form per character; what is said stays the same.

    NFC; full-width, circled and mathematical letters and digits become plain ones (circled ones in brackets); decimal
    digits of every script become 0-9; typographic quotes, apostrophes, hyphens, slashes, list commas and full stops
    become ASCII; pictures become spaces; invisible characters, byte-order marks and tatweel go. Superscripts and
    fractions stay as they are: "1²" is not 12.
    """
    if text.isascii():
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    text = _KEYCAP.sub(r"\1", unicodedata.normalize("NFC", text))
    text = text.translate(_CHARACTERS).replace("\ufe0f", "").replace("\r\n", "\n").replace("\r", "\n")
    return _DIGITS.sub(lambda run: "".join(str(unicodedata.decimal(digit)) for digit in run[0]), text)


def fold(text: str) -> str:
    """Case and accents aside, for comparing words: "Sí" → "si", "ÇA" → "ca", "أنا" → "انا".

    Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic (hamza on a carrier too) and the Indic nukta
    are dropped; vowel signs and all else that makes another word stay.
    """
    text = text.casefold()
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _FOLDED_MARKS.sub("", unicodedata.normalize("NFD", text)))


_TEX_STYLE = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|bf|rm|emph)\s*\{([^{}]*)\}")
_TEX_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{([^{}]*)\}")
_ANSWER_TAG = re.compile(r"<(answer|final_answer|response|output)>(.{0,500}?)</\1>", re.IGNORECASE | re.DOTALL)
_TEX_MATH = re.compile(
    r"\$\$\s*([^$]{1,300}?)\s*\$\$|\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\d)|\\\(([^\\]{1,200})\\\)|\\\[([^\\]{1,200})\\\]"
)
_STRUCK = re.compile(r"~~[^~\n]{1,300}~~|<(s|del|strike)>[^<]{0,300}</\1>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_CONTROL = re.compile(r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:eos|bos|pad|end_of_turn|start_of_turn)>|\[/?INST\]")
_BREAK_TAG = re.compile(r"</?(?:br|p|div|li|ul|ol|tr|h[1-6])\b[^<>]*>", re.IGNORECASE)
_STYLE_TAG = re.compile(r"</?(?:b|strong|i|em|u|span|code|mark|td|font|answer|final_answer)\b[^<>]*>", re.IGNORECASE)
_LINE_START = re.compile(r"^[ \t]*(?:(?:#{1,6}|>|[-+•‣·*–—])[ \t]+)+", re.MULTILINE)
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")
_MARKED = re.compile(r"[\\$<~`*_#>•‣·–—+\-\[]")


def unwrap(text: str) -> str:
    r"""Set markup aside: Markdown, LaTeX, HTML, code fences, list bullets, leaked control tokens.

    What stood in `\boxed{}` or `<answer>` is marked by `BOX_OPEN` and `BOX_CLOSE`; struck-out text is dropped.
    Expects normalised text.
    """
    if not _MARKED.search(text):
        return text
    text = _STRUCK.sub(" ", _FENCE.sub("", text))
    for _ in range(3):
        if "\\" not in text:
            break
        text = _TEX_BOX.sub(f" {BOX_OPEN} \\1 {BOX_CLOSE} ", _TEX_STYLE.sub(r"\1", text))
    if "\\" in text or "$" in text:
        text = _TEX_MATH.sub(lambda found: next(inner for inner in found.groups() if inner is not None), text)
    if "<" in text or "[" in text:
        text = _ANSWER_TAG.sub(f" {BOX_OPEN} \\2 {BOX_CLOSE} ", text)
        text = _STYLE_TAG.sub("", _BREAK_TAG.sub("\n", _CONTROL.sub(" ", text)))
    return _LINE_START.sub("", _EMPHASIS.sub("", _LINE_START.sub("", text)))


_SCRIPT_CHANGE = re.compile(rf"(?<=[^\W\d_{_LATIN}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[^\W\d_{_LATIN}ªºµ])")


def part_scripts(text: str) -> str:
    """Put a space where a script without spaces touches Latin letters or digits: "答案是B" → "答案是 B"."""
    return text if text.isascii() else _SCRIPT_CHANGE.sub(" ", text)
