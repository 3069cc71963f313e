"""How one server wants its requests: what it refuses is renamed, left out or put elsewhere once, and remembered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from isogloss.models.faults import ProviderWords
from isogloss.models.folding import fold_system
from isogloss.records import Message, Prompt, Sampling

_REFUSED_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"})
_REFUSED_WORDS = re.compile(
    r"unsupported|n[o']t support|unrecognized|unknown|unexpected|extra inputs|extra_forbidden|not permitted|not allowed"
    r"|deprecated|not available|isn't available|incompatible|only the default|may (not|only) be (set|used|specified)"
    r"|use '?max_completion|cannot (be )?(set|used|specif\w+|both)",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"(system|developer) (role|messages?|prompts?|instructions?) (is|are)?\s*(not|n't|un)\s*"
    r"(yet )?(supported|allowed|permitted|enabled)"
    r"|(doesn't|does not|not|un)\s*support(ed)?( the| a| any)?( use of)? ['\"`]?system\b"
    r"|(unsupported|invalid|unknown|unexpected) (message )?role:? ['\"`]?system\b|role ['\"`]?system['\"`]? (is|not)\b"
    r"|roles? must alternate|only (support\w* )?user(,| and) (assistant|model)( and tool)? roles",
    re.IGNORECASE,
)
_FOLDED = "a system message was refused; its text stands before the first message of the user"
_encode = msgspec.json.encode


class Dialect:
    """Writes request bodies, and learns from refusals.

    `held` says what was really sent under each name of `Sampling`; None where the provider's default holds.
    `remarks` says in words what was changed.

    Parameters
    ----------
    model_id : str
        What the server knows the model by.
    takes : sequence of str
        The fields of `Sampling` that the wire format has.
    defaults : mapping
        Values of those that every request must hold, for a sampling without them; never left out or renamed.
    other_names : mapping
        What a field may be called instead, where the usual name is refused.
    system_apart : bool
        Whether system messages go into a field of their own.
    """

    def __init__(
        self,
        model_id: str,
        *,
        takes: Sequence[str],
        defaults: Mapping[str, int] | None = None,
        other_names: Mapping[str, str] | None = None,
        system_apart: bool = False,
    ) -> None:
        self._model_id = model_id
        self._names: dict[str, str | None] = {
            name: name if name in takes else None for name in ("temperature", "top_p", "max_tokens", "seed")
        }
        self._defaults = defaults or {}
        self._other_names = other_names or {}
        self._system_apart = system_apart
        self._folds = False
        self._has_folded = False
        self._refused_once: dict[str, str] = {}
        self._sampling: Sampling | None = None
        self._head = b""
        self.version = 0
        self.held: dict[str, float | int | None] = {}
        self.remarks: list[str] = []

    def body(self, prompt: Prompt, sampling: Sampling, grammar: str | None) -> bytes:
        """The request for one prompt; all but the messages is written once for a sampling."""
        if sampling is not self._sampling:
            self._write_head(sampling)
        messages: Sequence[Message] = prompt.messages
        system = ""
        if self._folds:
            messages = fold_system(messages)
            if not self._has_folded and messages != prompt.messages:
                self._has_folded = True
                self.remarks.append(_FOLDED)
        elif self._system_apart:
            system, messages = _without_system(messages)
        head, wire = self._head, _encode([{"role": message.role, "content": message.content} for message in messages])
        if not system and grammar is None:
            return b"".join((head, wire, b"}"))
        extra = {"system": system} if system else {}
        if grammar is not None:
            extra["grammar"] = grammar
        return b"".join((head, wire, b",", _encode(extra)[1:]))

    def _write_head(self, sampling: Sampling) -> None:
        fields: dict[str, str | float | int] = {"model": self._model_id}
        self.held = {}
        for name, sent_as in self._names.items():
            value = getattr(sampling, name)
            if value is None:
                value = self._defaults.get(name)
            self.held[name] = value if sent_as is not None else None
            if value is not None and sent_as is not None:
                fields[sent_as] = value
        self._head = _encode(fields)[:-1] + b',"messages":'
        self._sampling = sampling

    def learn(self, words: ProviderWords, sampling: Sampling, *, sent: int | None, parameters: bool = True) -> bool:
        """Take in the words of a refused request, written by version `sent` of this dialect.

        Returns whether the request is worth sending once more: something was changed now, or since it was written.
        `sent` None: by a version that isn't known, e.g. before a restart. Not `parameters`: only the system role can be
        what is refused.
        """
        if sent is not None and sent != self.version:
            return True
        if _NO_SYSTEM.search(words.message):
            if self._folds:
                return sent is None
            self._folds = True
            self._change()
            return True
        if not parameters:
            return False
        sent_as = {
            old: name
            for name, old in self._names.items()
            if old and name not in self._defaults and getattr(sampling, name) is not None
        }
        refused = _refused(words, sent_as)
        if refused is None:
            return sent is None and _refused(words, self._refused_once) is not None
        old = self._names[refused] or refused
        new = self._other_names.get(refused) if old == refused else None
        self._names[refused] = new
        self._refused_once[old] = refused
        self.remarks.append(f"{old} was refused; " + (f"sent as {new}" if new else "left out"))
        self._change()
        return True

    def _change(self) -> None:
        self._sampling = None
        self.version += 1


def _refused(words: ProviderWords, sent_as: Mapping[str, str]) -> str | None:
    """Name, in `Sampling`, of a parameter that was sent and is refused as such (not only its value)."""
    if not (words.codes & _REFUSED_CODES or _REFUSED_WORDS.search(words.message)):
        return None
    if words.param:
        return sent_as.get(words.param)
    found = [
        (match.start(), name) for old, name in sent_as.items() if (match := re.search(rf"\b{old}\b", words.message))
    ]
    return min(found)[1] if found else None


def _without_system(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """The system messages' text, and the others. A prompt of system messages alone is one of the user's."""
    others = [message for message in messages if message.role != "system"]
    if len(others) == len(messages):
        return "", others
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    return (system, others) if others else ("", [Message(role="user", content=system)])
