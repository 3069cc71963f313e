"""What will be asked: the questions of a run, and what they may take, before anything is sent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple

from isogloss.errors import DataError
from isogloss.files import whole_file
from isogloss.records import AnswerForm, Condition, Dataset, Price, Prompt, RunSpec, content_id
from isogloss.run.tokens import NOTHING, Range, text_tokens
from isogloss.study import Question, Settings, Study

TOKENS_PER_MESSAGE = 5
"""What a chat template puts around a message, about."""


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


class Forecast(NamedTuple):
    """What a model would be asked in one stage: questions of one format."""

    n_questions: int
    n_prompts: int
    """Calls to be made; questions with the same words share one."""
    input_tokens: Range
    output_tokens: Range
    n_held: int = 0
    """Calls answered already; not among `n_prompts`, and their tokens in no sum."""


class Cost(NamedTuple):
    """US dollars, not yet known."""

    low: float
    expected: float
    high: float

    def __add__(self, other: Cost) -> Cost:  # type: ignore[override]  # sums, where a tuple would join
        return Cost(self.low + other.low, self.expected + other.expected, self.high + other.high)


def cost_of(part: Forecast, price: Price | None) -> Cost | None:
    """What a stage may cost; None where the price isn't known and there is anything to pay."""
    if not part.n_prompts:
        return Cost(0.0, 0.0, 0.0)
    if price is None:
        return None
    return Cost(*map(price.cost, part.input_tokens, part.output_tokens))


class Held(NamedTuple):
    """What has been asked of a model before."""

    settled: Sequence[AbstractSet[str]]
    """For each repeat the ids of the prompts that aren't asked again."""
    chats: bool = True
    scores: bool = True
    """Whether it can be asked for replies, and for the probability of candidates."""


SCORED = " logprob"
"""Ends the name of a stage whose prompts have candidates to score."""


def forecast(
    questions: Iterable[Question], *, max_tokens: int, held: Mapping[str, Held]
) -> dict[str, dict[str, Forecast]]:
    """Calls and tokens, by model and stage: a format, with "… logprob" where candidates are scored.

    Parameters
    ----------
    questions : iterable of Question
        All that the run asks; gone through once.
    max_tokens : int
        Most tokens of a reply.
    held : mapping
        Model → what it was asked before; as many empty sets as there are repeats for a new one.

    Returns
    -------
    dict
        The models of `held`, each with its stages, sorted. Tokens are estimated from characters; see
        `isogloss.run.tokens`.
    """
    n_questions: Counter[str] = Counter()
    stages: dict[str, dict[str, Forecast]] = {model: {} for model in held}
    seen: set[bytes] = set()
    for _, condition, prompt in questions:
        kind = condition.format or "all"
        if condition.reading == "logprob":
            kind += SCORED
        n_questions[kind] += 1
        key = bytes.fromhex(prompt.id.rpartition(":")[2])
        if key in seen:
            continue
        seen.add(key)
        tokens_in, tokens_out = prompt_tokens(prompt), reply_tokens(prompt, max_tokens=max_tokens)
        for model, before in held.items():
            sums = stages[model].get(kind) or Forecast(0, 0, NOTHING, NOTHING)
            # What it can't be asked at all is neither left nor held.
            settled = before.settled if (before.scores if prompt.candidates else before.chats) else ()
            n_settled = sum(prompt.id in ids for ids in settled)
            n_left = len(settled) - n_settled
            stages[model][kind] = Forecast(
                0,
                sums.n_prompts + n_left,
                sums.input_tokens + tokens_in.times(n_left),
                sums.output_tokens + tokens_out.times(n_left),
                sums.n_held + n_settled,
            )
    return {
        model: {kind: parts[kind]._replace(n_questions=n_questions[kind]) for kind in sorted(n_questions)}
        for model, parts in stages.items()
    }


def prompt_tokens(prompt: Prompt) -> Range:
    """Tokens of a prompt, with what a chat template puts around its messages."""
    tokens = NOTHING
    for message in prompt.messages:
        around = 0 if message.role == "text" else TOKENS_PER_MESSAGE
        tokens += text_tokens(message.content) + Range(around, around, around)
    return tokens


def reply_tokens(prompt: Prompt, *, max_tokens: int) -> Range:
    """Tokens of a reply: as short as the form allows, as expected, up to the limit."""
    if prompt.candidates:
        return Range(1, 1, len(prompt.candidates) * 2)
    form = prompt.form or AnswerForm(kind="text")
    if form.kind == "number_list":
        n_chosen = min(form.max_chosen or form.n_options, form.n_options)
        return Range(1, min(2 * max(1, n_chosen // 3), max_tokens), max_tokens)
    if form.kind in ("text", "rows"):
        return Range(1, max(1, max_tokens // 2), max_tokens)
    return Range(1, min(2, max_tokens), max_tokens)
