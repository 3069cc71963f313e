"""How one server wants its parameters: a refused one is renamed or left out once, and that is remembered."""

from __future__ import annotations

import re

import msgspec

from isogloss.models.faults import ProviderWords
from isogloss.records import Prompt, Sampling

_OTHER_NAME = {"max_tokens": "max_completion_tokens"}
_REFUSED_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"})
_REFUSED_WORDS = re.compile(
    r"unsupported|n[o']t support|unrecognized|unknown|unexpected|extra inputs|extra_forbidden|not permitted|not allowed"
    r"|deprecated|not available|isn't available|incompatible|only the default|may not be (set|used|specified)"
    r"|use '?max_completion|cannot (be )?(set|used|specif\w+|both)",
    re.IGNORECASE,
)
_encode = msgspec.json.encode


class Dialect:
    """Writes request bodies, and learns from refusals.

    `held` says what was really sent under each name of `Sampling`; None where the provider's default holds.
    `changes` says in words what was renamed or left out.
    """

    def __init__(self, model_id: str) -> None:
        self._model_id = model_id
        self._names: dict[str, str | None] = {name: name for name in ("temperature", "top_p", "max_tokens", "seed")}
        self._sampling: Sampling | None = None
        self._head = b""
        self.version = 0
        self.held: dict[str, float | int | None] = {}
        self.remarks: list[str] = []

    def body(self, prompt: Prompt, sampling: Sampling, grammar: str | None) -> bytes:
        """The request for one prompt; all but the messages is written once for a sampling."""
        if sampling is not self._sampling:
            self._write_head(sampling)
        messages = _encode([{"role": message.role, "content": message.content} for message in prompt.messages])
        if grammar is None:
            return b"".join((self._head, messages, b"}"))
        return b"".join((self._head, messages, b',"grammar":', _encode(grammar), b"}"))

    def _write_head(self, sampling: Sampling) -> None:
        fields: dict[str, str | float | int] = {"model": self._model_id}
        self.held = {}
        for name, sent_as in self._names.items():
            value = getattr(sampling, name)
            self.held[name] = value if sent_as is not None else None
            if value is not None and sent_as is not None:
                fields[sent_as] = value
        self._head = _encode(fields)[:-1] + b',"messages":'
        self._sampling = sampling

    def learn(self, words: ProviderWords, sampling: Sampling, *, sent: int) -> bool:
        """Take in the words of a refused request (HTTP 400 or 422), written by version `sent` of this dialect.

        Returns whether the request is worth sending once more: something was changed now, or since it was written.
        """
        if sent != self.version:
            return True
        refused = self._refused(words, sampling)
        if refused is None:
            return False
        old = self._names[refused]
        new = _OTHER_NAME.get(refused) if old == refused else None
        self._names[refused] = new
        self._sampling = None
        self.version += 1
        self.remarks.append(f"{old} was refused; " + (f"sent as {new}" if new else "left out"))
        return True

    def _refused(self, words: ProviderWords, sampling: Sampling) -> str | None:
        """Name, in `Sampling`, of a parameter that was sent and is refused as such (not only its value)."""
        if not (words.codes & _REFUSED_CODES or _REFUSED_WORDS.search(words.message)):
            return None
        sent = {old: name for name, old in self._names.items() if old and getattr(sampling, name) is not None}
        if words.param:
            return sent.get(words.param)
        found = [
            (match.start(), name) for old, name in sent.items() if (match := re.search(rf"\b{old}\b", words.message))
        ]
        return min(found)[1] if found else None
