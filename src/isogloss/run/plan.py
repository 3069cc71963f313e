"""What will be asked: the questions of a run, and what they may take, before anything is sent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from isogloss.errors import DataError
from isogloss.files import whole_file
from isogloss.records import AnswerForm, Condition, Dataset, Prompt, RunSpec, content_id
from isogloss.study import Question, Settings, Study

CHARACTERS_PER_TOKEN = (5.0, 4.0, 2.0)
"""For a low, expected and high count of tokens: Latin script runs from 2 (small vocabularies) to 5."""
TOKENS_PER_MESSAGE = 5


def plan_digest(spec: RunSpec) -> str:
    """Hash of all that decides the questions; the same plan is never written twice."""
    return content_id(
        spec.model_dump(mode="json", include={"study", "study_version", "data_digest", "settings", "seed", "limit"})
    )


def planned(study: Study, dataset: Dataset, settings: Settings, spec: RunSpec) -> Iterator[Question]:
    """The questions of a run, in the order of asking; with a limit, the first N of each format and reading."""
    if spec.limit is None:
        yield from study.questions(dataset, settings, spec.seed)
        return
    n_taken: Counter[tuple[str | None, str]] = Counter()
    for item, condition in study.conditions(dataset, settings, spec.seed):
        kind = (condition.format, condition.reading)
        if n_taken[kind] < spec.limit:
            n_taken[kind] += 1
            yield Question(item, condition, study.ask(item, condition, dataset, settings))


def rows(questions: Iterable[Question]) -> Iterator[tuple[str, Condition, Prompt]]:
    """Questions as the ledger keeps them."""
    for item, condition, prompt in questions:
        yield item.id, condition, prompt


def write_prompts(questions: Iterable[Question], path: Path) -> int:
    """Write prompts as JSON lines for models that can't be reached from here; returns how many.

    Each line has `prompt_id`, `messages`, and the item and condition it was made of; questions with the same words
    share one line. A file of replies names the same `prompt_id`.
    """
    seen = set()
    try:
        with whole_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
            for item, condition, prompt in questions:
                if prompt.id in seen:
                    continue
                seen.add(prompt.id)
                row: dict[str, object] = {
                    "prompt_id": prompt.id,
                    "messages": [{"role": message.role, "content": message.content} for message in prompt.messages],
                    "item_id": item.id,
                    "condition": condition.model_dump(mode="json", exclude_defaults=True),
                }
                if prompt.candidates:
                    row["candidates"] = list(prompt.candidates)
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise DataError(f"{path} can't be written: {error.strerror}") from error
    return len(seen)


class Range(NamedTuple):
    """A quantity not yet known."""

    low: int
    expected: int
    high: int

    def __add__(self, other: Range) -> Range:  # type: ignore[override]
        return Range(self.low + other.low, self.expected + other.expected, self.high + other.high)

    def times(self, factor: int) -> Range:
        return Range(self.low * factor, self.expected * factor, self.high * factor)


class Forecast(NamedTuple):
    """What one model would be asked, by a run over one plan."""

    n_questions: int
    n_prompts: int
    """Calls; questions with the same words share one."""
    input_tokens: Range
    output_tokens: Range


def forecast(questions: Iterable[Question], *, max_tokens: int) -> dict[str, Forecast]:
    """Calls and tokens for one model and one repeat, by format (and "… logprob" where candidates are scored).

    Tokens are estimated from characters; a real count needs the model's own tokeniser.
    """
    n_questions: Counter[str] = Counter()
    n_prompts: Counter[str] = Counter()
    n_in: dict[str, Range] = {}
    n_out: dict[str, Range] = {}
    seen: set[bytes] = set()
    for _, condition, prompt in questions:
        kind = condition.format or "all"
        if condition.reading == "logprob":
            kind += " logprob"
        n_questions[kind] += 1
        key = bytes.fromhex(prompt.id.rpartition(":")[2])
        if key in seen:
            continue
        seen.add(key)
        n_prompts[kind] += 1
        n_characters = sum(len(message.content) for message in prompt.messages)
        overhead = TOKENS_PER_MESSAGE * len(prompt.messages)
        tokens = Range(*(int(n_characters / rate) + overhead for rate in CHARACTERS_PER_TOKEN))
        n_in[kind] = n_in.get(kind, Range(0, 0, 0)) + tokens
        n_out[kind] = n_out.get(kind, Range(0, 0, 0)) + reply_tokens(prompt, max_tokens=max_tokens)
    return {kind: Forecast(n_questions[kind], n_prompts[kind], n_in[kind], n_out[kind]) for kind in sorted(n_questions)}


def reply_tokens(prompt: Prompt, *, max_tokens: int) -> Range:
    """Tokens of a reply: as short as the form allows, as expected, up to the limit."""
    if prompt.candidates:
        return Range(1, 1, len(prompt.candidates) * 2)
    form = prompt.form or AnswerForm(kind="text")
    if form.kind == "number_list":
        n_chosen = min(form.max_chosen or form.n_options, form.n_options)
        return Range(1, min(2 * max(1, n_chosen // 3), max_tokens), max_tokens)
    if form.kind == "text":
        return Range(1, max(1, max_tokens // 2), max_tokens)
    return Range(1, min(2, max_tokens), max_tokens)
