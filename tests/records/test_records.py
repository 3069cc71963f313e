"""Records can't lie about themselves, and ids are the same everywhere."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import pytest
from pydantic import ValidationError

from isogloss.records import (
    Answer,
    AnswerForm,
    Condition,
    Dataset,
    Estimate,
    Item,
    Message,
    Option,
    Prompt,
    Response,
    Sampling,
    Status,
    content_id,
)

HARD = {"b": 'ñandú «»  \u0301\t\x01"\\/', "a": [1, 2.5, None, True, "𝔘"], "Z": {}}


def test_content_ids_are_blake2b_over_canonical_json():
    text = json.dumps(HARD, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert content_id(HARD) == "b2:" + hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def test_a_prompts_id_is_pinned_and_equal_in_every_process():
    code = (
        "from isogloss.records import *;"
        "form = AnswerForm(kind='one_of', choices=('Sí', 'No'));"
        "print(Prompt.make([Message(role='user', content='¿Sí?')], form=form).id)"
    )
    ids = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert ids == {"b2:3ae6cde970807fbcbb1f1487860c010b"}


def test_anything_that_differs_makes_another_prompt():
    user, system = Message(role="user", content="a"), Message(role="system", content="a")
    prompts = [
        Prompt.make([user]),
        Prompt.make([system]),
        Prompt.make([user, user]),
        Prompt.make([user], candidates=["x"]),
        Prompt.make([user], form=AnswerForm(kind="letter", n_options=4)),
        Prompt.make([user], form=AnswerForm(kind="letter", n_options=5)),
    ]
    assert len({prompt.id for prompt in prompts}) == len(prompts)


def test_a_data_sets_digest_goes_by_items_and_tables_not_by_name():
    item = Item(id="a", text="t", options=(Option(id="a.1", text="x", labels={"CL": 1.0}),))
    digest = Dataset(name="one", items=(item,)).digest
    assert Dataset(name="two", items=(item,), notes=("n",)).digest == digest
    assert Dataset(name="one", items=(item,), tables={"places": ({"code": "CL"},)}).digest != digest
    other = item.model_copy(update={"text": "u"})
    assert Dataset(name="one", items=(other,)).digest != digest


def answer(**fields: object) -> Answer:
    known = {"item_id": "i", "prompt_id": "p", "model": "m/x", "repeat": 1, "coder": "c@1", "reading": "strict"}
    return Answer(**{**known, **fields})


def test_an_answer_has_a_value_exactly_when_it_is_ok():
    assert answer(status=Status.OK, value=False).value is False
    with pytest.raises(ValidationError, match="exactly when its status is 'ok'"):
        answer(status=Status.OK)
    with pytest.raises(ValidationError, match="exactly when its status is 'ok'"):
        answer(status=Status.REFUSED, value="A")


def test_an_ok_response_holds_something():
    with pytest.raises(ValidationError, match="has a text or candidate"):
        Response(prompt_id="p", model="m/x", status=Status.OK)
    assert Response(prompt_id="p", model="m/x", status=Status.OK, text="").text == ""


def test_an_estimates_counts_add_up():
    known = {"study": "s", "measure": "f1", "method": "m", "n_items": 2}
    with pytest.raises(ValidationError, match="don't add up"):
        Estimate(**known, value=0.5, n_answers=5, n_scored=3, missing={Status.REFUSED: 1})
    with pytest.raises(ValidationError, match="a value over no scored answer"):
        Estimate(**known, value=0.5, n_answers=1, n_scored=0, missing={Status.REFUSED: 1})


@pytest.mark.parametrize("broken", [{"temperature": float("nan")}, {"temperature": -1}, {"max_tokens": 0}, {"temp": 0}])
def test_sampling_refuses_what_cannot_be(broken):
    with pytest.raises(ValidationError):
        Sampling(**broken)


def test_records_are_frozen():
    with pytest.raises(ValidationError):
        Condition(country="CL").country = "PE"
