"""From messages to the tokens a local model is given: chat template, folded system message, candidates' own tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from isogloss.models.folding import fold_system
from isogloss.models.hf.following import PairRow
from isogloss.records import Prompt

FOLDED = "its chat template has no place for a system message: it is put before the first question"
OWN_SYSTEM = "its chat template puts a system message of its own before the question"
PLAIN = "it has no chat template: the messages are given to it as plain text, each ended by a line break"
STARTED = "a text whose first token is scored is put after {!r}, its {} token"
_MARK = "isogloss-system-mark"

Wire = list[dict[str, str]]


class Rendered(NamedTuple):
    """A prompt as the model sees it."""

    text: str
    is_raw: bool
    """The user's own text, untouched."""
    has_start: bool
    """The template has put the start token, where there is to be one."""


class Joined(NamedTuple):
    """Candidates behind their context."""

    tokens: tuple[tuple[int, ...], ...]
    """Of context and candidate together, for each candidate."""
    start: int
    """Where their own begin: after the longest beginning that the context has alone and before every candidate."""


class Renderer:
    """Puts messages into the form a tokenizer's chat template gives them."""

    def __init__(self, tokenizer: Any, *, has_template: bool) -> None:
        self._tokenizer = tokenizer
        self.template: str | None = tokenizer.get_chat_template() if has_template else None
        self._folds: bool | None = None
        self._remarks: dict[str, None] = {}
        if self.template is not None:
            self._note_own_system()
        self._before, self._after = _specials(tokenizer)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was done to the messages beyond the template."""
        return tuple(self._remarks)

    def render(self, prompt: Prompt) -> Rendered:
        """The text that is tokenised. Raises ValueError where the template refuses the messages."""
        messages = prompt.messages
        if len(messages) == 1 and messages[0].role == "text":
            return Rendered(messages[0].content, is_raw=True, has_start=False)
        if self.template is None:
            self._remarks[PLAIN] = None
            return Rendered("".join(f"{message.content}\n" for message in messages), is_raw=False, has_start=False)
        if any(message.role == "system" for message in messages) and self._must_fold():
            messages = fold_system(messages)
            self._remarks[FOLDED] = None
        wire: Wire = [{"role": message.role, "content": message.content} for message in messages]
        return Rendered(self._apply(wire), is_raw=False, has_start=True)

    def _apply(self, wire: Wire) -> str:
        import jinja2

        goes_on = wire[-1]["role"] == "assistant"
        try:
            text = self._tokenizer.apply_chat_template(
                wire, tokenize=False, add_generation_prompt=not goes_on, continue_final_message=goes_on
            )
        except jinja2.TemplateError as fault:
            raise ValueError(f"its chat template refuses the messages: {fault}") from None
        return str(text)

    def _must_fold(self) -> bool:
        """Whether the template refuses a system message, or leaves it out."""
        if self._folds is None:
            try:
                shown = self._apply([{"role": "system", "content": _MARK}, {"role": "user", "content": "?"}])
            except ValueError:
                self._folds = True
            else:
                self._folds = _MARK not in shown
        return self._folds

    def _note_own_system(self) -> None:
        try:
            shown = self._apply([{"role": "user", "content": ""}])
        except ValueError:
            return
        if "system" in shown.lower():
            self._remarks[OWN_SYSTEM] = None

    # --- tokens -------------------------------------------------------------------------------------------------------

    def tokens(self, text: str) -> tuple[int, ...]:
        """Tokens of a text, without those a tokenizer puts around it."""
        return tuple(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def start(self, rendered: Rendered) -> tuple[int, ...]:
        """What the tokenizer itself puts before a text."""
        return () if rendered.has_start else self._before

    @property
    def around(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What the tokenizer puts before and after a text."""
        return self._before, self._after

    def fallback_start(self) -> tuple[int, ...]:
        """What stands before a text where the tokenizer puts nothing, so that the first token has a probability.

        The start token (BOS); for models without one the end token (EOS), which stands between texts in training.
        """
        for kind, token in (("start", self._tokenizer.bos_token_id), ("end", self._tokenizer.eos_token_id)):
            if token is not None:
                self._remarks[STARTED.format(self._tokenizer.convert_ids_to_tokens(int(token)), kind)] = None
                return (int(token),)
        return ()

    def pair(self, first: str, second: str, *, longest: int | None = None) -> PairRow:
        """Two texts as the tokenizer joins them ([CLS] first [SEP] second [SEP]), cut to `longest` tokens."""
        both = self._tokenizer(
            first, second, return_token_type_ids=True, verbose=False, truncation=longest is not None, max_length=longest
        )
        of = both.sequence_ids(0) if both.is_fast else ()
        return PairRow(
            tuple(both["input_ids"]), tuple(both["token_type_ids"]), tuple(-1 if one is None else one for one in of)
        )

    def joined(self, context: str, candidates: Sequence[str]) -> Joined:
        """Candidates' tokens as they follow the context.

        A tokenizer may join the end of the context and the beginning of a candidate ("wor" + "ld"). The joint token
        then belongs to the candidate, and what it holds of the context to all the others, too, so that all their
        probabilities are of the same stretch of text. Raises ValueError for a candidate that has no token of its own.
        """
        alone = self.tokens(context)
        found = tuple(self.tokens(context + candidate) for candidate in candidates)
        starts = [_n_common(alone, both) for both in found]
        for candidate, both, start in zip(candidates, found, starts, strict=True):
            if start == len(both):
                raise ValueError(f"candidate {candidate!r} has no token of its own after the prompt")
        return Joined(found, min(starts))


def _n_common(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens two sequences begin with in common."""
    return next(
        (k for k, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def _specials(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Tokens put before and after any text, as seen on one."""
    bare = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    full = list(tokenizer("a")["input_ids"])
    for k in range(len(full) - len(bare) + 1):
        if full[k : k + len(bare)] == bare:
            return tuple(full[:k]), tuple(full[k + len(bare) :])
    return (), ()
