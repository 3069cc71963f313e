"""Read BBQ's JSON lines and EsBBQ's CSV: three answers an item, of which one says that nobody can know."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from isogloss.errors import DataError
from isogloss.records import Item, Option
from isogloss.studies.stereotypes.settings import StereotypeSettings

BIASED, COUNTER, UNKNOWN = "stereotype", "anti-stereotype", "unknown"
ANSWERS = ("ans0", "ans1", "ans2")
Rows = Iterator[tuple[str, Mapping[str, object]]]


def from_bbq(rows: Rows, settings: StereotypeSettings) -> list[Item]:
    """BBQ. The answers' roles: "stereotype" for the biased one, given what the question asks; "unknown"."""
    items = []
    for where, row in rows:
        info = row.get("answer_info")
        more = row.get("additional_metadata")
        if (
            not isinstance(info, dict)
            or not isinstance(more, dict)
            or not isinstance(more.get("stereotyped_groups"), list)
        ):
            raise DataError(
                f"{where}: 'answer_info' and 'additional_metadata.stereotyped_groups' are needed, as in BBQ"
            )
        groups = [str(group) for group in more["stereotyped_groups"]]
        parts = [[str(part) for part in info.get(name, ())] for name in ANSWERS]
        items.append(
            _item(
                row, where, f"{row.get('category')}.{row.get('example_id')}", str(row.get("question_index")), parts,
                groups, {"layout": "bbq"}, settings.language,
            )
        )  # fmt: skip
    return items


def from_esbbq(rows: Rows, settings: StereotypeSettings) -> list[Item]:
    """EsBBQ (and CaBBQ's files of the same form)."""
    items = []
    for where, row in rows:
        groups = [str(group) for group in _list(row.get("stereotyped_groups"), where, "stereotyped_groups")]
        parts = []
        for name in ANSWERS:
            names = [str(part) for part in _list(row.get(f"answer_info.{name}"), where, f"answer_info.{name}")]
            parts.append([names[-1].rsplit(",", 1)[-1].strip()])
        unit = f"{row.get('template_id')}{row.get('version') or ''}"
        items.append(
            _item(
                row, where, f"{row.get('category')}.{row.get('instance_id')}", unit, parts, groups,
                {"layout": "esbbq"}, "es",
            )
        )  # fmt: skip
    return items


def _list(value: object, where: str, column: str) -> list[object]:
    try:
        found = ast.literal_eval(str(value))
    except (ValueError, SyntaxError):
        found = None
    if not isinstance(found, list) or not found:
        raise DataError(f"{where}: column {column!r} is no list like ['a', 'b'], got {value!r}")
    return found


def _item(
    row: Mapping[str, object], where: str, id: str, unit: str, parts: Sequence[Sequence[str]], groups: Sequence[str],
    fields: Mapping[str, str], language: str,
) -> Item:  # fmt: skip
    polarity, condition = str(row.get("question_polarity")), str(row.get("context_condition"))
    if polarity not in ("neg", "nonneg"):
        raise DataError(f"{where}: question_polarity is {polarity!r}; expected neg or nonneg")
    if condition not in ("ambig", "disambig"):
        raise DataError(f"{where}: context_condition is {condition!r}; expected ambig or disambig")
    label = str(row.get("label"))
    if label not in ("0", "1", "2"):
        raise DataError(f"{where}: label is {label!r}; expected 0, 1 or 2")
    texts = [str(row.get(name) or "").strip() for name in ANSWERS]
    if not all(texts) or not str(row.get("context") or "").strip() or not str(row.get("question") or "").strip():
        raise DataError(f"{where}: context, question and three answers are needed; one is empty")
    unknown = [k for k, part in enumerate(parts) if "unknown" in [name.lower() for name in part]]
    if len(unknown) != 1:
        raise DataError(f"{where}: expected one answer of the group 'unknown', got {len(unknown)}")
    targets = [k for k, part in enumerate(parts) if k != unknown[0] and set(part) & set(groups)]
    roles: list[str | None] = [None, None, None]
    roles[unknown[0]] = UNKNOWN
    if len(targets) == 1:  # where both or none are stereotyped, no answer is the biased one
        [target] = targets
        [other] = {0, 1, 2} - {target, unknown[0]}
        roles[target], roles[other] = (BIASED, COUNTER) if polarity == "neg" else (COUNTER, BIASED)
    category = str(row.get("category"))
    return Item(
        id=id,
        text=str(row["context"]).strip(),
        options=tuple(Option(id=f"{id}.{k}", text=texts[k], role=roles[k]) for k in range(3)),
        language=language,
        fields={
            **fields, "split": condition, "category": category, "target": f"{category} {unit}", "country": "",
            "question": str(row["question"]).strip(), "label": f"{id}.{label}", "groups": ", ".join(groups),
            "predictions": _predictions(row),
        },
    )  # fmt: skip


def _predictions(row: Mapping[str, object]) -> str:
    """Names of the columns that hold a model's answers, which `bbq.given` reads."""
    return " ".join(sorted(name for name in row if "_pred_" in name))
