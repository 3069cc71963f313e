"""`scripted/NAME`: informants whose behaviour is known, to see what chance and habit look like, and for tests.

What they do depends on nothing but the prompt, the seed and the repeat; hashes are the same on every machine.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from isogloss.errors import AbilityError, SettingError
from isogloss.models.model import Abilities
from isogloss.records import AnswerForm, Prompt, Response, Sampling, Status
from isogloss.registry import unknown_name

REFUSALS = {
    "es": "Lo siento, pero no puedo responder a esa pregunta.",
    "pt": "Desculpe, mas não posso responder a essa pergunta.",
    "en": "I'm sorry, but I can't answer that question.",
}
RAMBLE = (
    "Es una pregunta muy interesante. Las palabras cambian con el lugar, la edad y la ocasión, y cada familia tiene "
    "sus costumbres. Mi abuela contaba que en su pueblo la gente hablaba de otra manera, y con los años todo se mezcla."
)
CUT_OFF = "Para responder hay que pensar primero en cómo habla la gente del lugar, y en"
FREE_TEXT = "Es así como se dice por aquí."
_SLOW_SECONDS = 0.05


class Play(NamedTuple):
    """What an informant does with a prompt."""

    status: Status
    text: str | None = None
    error: str | None = None
    finish_reason: str | None = "stop"


Behaviour = Callable[[Prompt, int], Play]
"""(prompt, repeat) → what is done."""


class ScriptedModel:
    """A model whose replies are a function of the prompt.

    Parameters
    ----------
    name : str
        Its name; "scripted/" is put before it where it names no provider.
    reply : callable
        Prompt → text of the reply.
    delay : float
        Seconds that each reply takes.
    """

    def __init__(self, name: str, reply: Callable[[Prompt], str], *, delay: float = 0.0) -> None:
        self.name = name if "/" in name else f"scripted/{name}"
        self.revision: str | None = "1"
        self.abilities = Abilities(grammar=True)
        self.local = True
        self._behaviour: Behaviour = lambda prompt, repeat: Play(Status.OK, reply(prompt))
        self._delay = delay

    @classmethod
    def behaving(cls, name: str, behaviour: Behaviour, *, delay: float = 0.0) -> ScriptedModel:
        """A model that may also fail, be cut off, or answer each repeat in another way."""
        model = cls(name, lambda prompt: "", delay=delay)
        model._behaviour = behaviour
        return model

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def template(self) -> str | None:
        """Needs none."""
        return None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Nothing to remark."""
        return ()

    async def open(self) -> None:
        """Nothing to make ready."""

    async def close(self) -> None:
        """Nothing to let go of."""

    def call_off(self) -> None:
        """Nothing waits."""

    async def ask(self, prompt: Prompt, sampling: Sampling, repeat: int) -> Response:
        """Put one prompt; see `Model.ask`."""
        if prompt.candidates:
            raise AbilityError(f"{self.name} gives no log-probabilities of given answers; ask for reading=text")
        started = time.perf_counter()
        if self._delay:
            await asyncio.sleep(self._delay)
        play = self._behaviour(prompt, repeat)
        return Response(
            prompt_id=prompt.id,
            model=self.name,
            revision=self.revision,
            repeat=repeat,
            status=play.status,
            text=play.text,
            error=play.error,
            finish_reason=play.finish_reason,
            seconds=time.perf_counter() - started,
            received_at=time.time(),
        )


# --- choosing within a form -------------------------------------------------------------------------------------------


def _letters(n_options: int) -> list[str]:
    return [chr(ord("A") + k) for k in range(n_options)]


def _numbers(form: AnswerForm, chosen: list[int]) -> str:
    most = len(chosen) if form.max_chosen is None else form.max_chosen
    return "/".join(str(number) for number in chosen[:most])


def _first(form: AnswerForm | None) -> str:
    match form:
        case AnswerForm(kind="one_of"):
            return form.choices[0]
        case AnswerForm(kind="letter"):
            return "A"
        case AnswerForm(kind="number_list"):
            return "1"
        case _:
            return FREE_TEXT


def _last(form: AnswerForm | None) -> str:
    match form:
        case AnswerForm(kind="one_of"):
            return form.choices[-1]
        case AnswerForm(kind="letter"):
            return _letters(form.n_options)[-1]
        case AnswerForm(kind="number_list"):
            return str(form.n_options)
        case _:
            return FREE_TEXT


def _affirmative(form: AnswerForm | None) -> str:
    """The first choice; of a list of numbers the first three (the baseline of that format)."""
    if form is not None and form.kind == "number_list":
        return _numbers(form, list(range(1, min(3, form.n_options) + 1)))
    return _first(form)


def _bits(*key: object) -> int:
    """256 bits drawn by hash from a key."""
    text = "\x1f".join(str(part) for part in key)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=32).digest(), "big")


def _by_chance(form: AnswerForm | None, key: tuple[object, ...]) -> str:
    """Uniform over the choices; of a list of numbers each with probability 1/2, drawn anew while none is in."""
    match form:
        case AnswerForm(kind="one_of"):
            return form.choices[_bits("one_of", *key) % len(form.choices)]
        case AnswerForm(kind="letter"):
            return _letters(form.n_options)[_bits("letter", *key) % form.n_options]
        case AnswerForm(kind="number_list"):
            chosen: list[int] = []
            draw = 0
            while not chosen:
                blocks = [_bits("number_list", *key, draw, block) for block in range(1 + form.n_options // 256)]
                chosen = [k for k in range(1, form.n_options + 1) if blocks[k // 256] >> (k % 256) & 1]
                draw += 1
            if form.max_chosen is not None and len(chosen) > form.max_chosen:
                ranked = sorted(chosen, key=lambda k: _bits("kept", *key, k))
                chosen = sorted(ranked[: form.max_chosen])
            return _numbers(form, chosen)
        case _:
            return FREE_TEXT


# --- the informants ---------------------------------------------------------------------------------------------------


def _says(reply: Callable[[AnswerForm | None], str]) -> Behaviour:
    return lambda prompt, repeat: Play(Status.OK, reply(prompt.form))


def _always(play: Play) -> Behaviour:
    return lambda prompt, repeat: play


def _random(seed: int) -> Behaviour:
    return lambda prompt, repeat: Play(Status.OK, _by_chance(prompt.form, (prompt.id, seed, repeat)))


def _perfect(reference: Callable[[str], str | None] | None) -> Behaviour:
    if reference is None:
        raise SettingError("'scripted/perfect' needs the right replies, and there are none; take another informant")

    def play(prompt: Prompt, repeat: int) -> Play:
        text = reference(prompt.id)
        if text is None:
            return Play(Status.FAILED, error="no right reply is known for this prompt", finish_reason=None)
        return Play(Status.OK, text)

    return play


DESCRIPTIONS: Mapping[str, str] = {
    "perfect": "gives the reference reply",
    "random": "chooses uniformly among the allowed replies",
    "always-yes": "says yes; of a numbered list it names the first three",
    "always-no": "says no; of a numbered list it names the last",
    "always-first": "takes the first option",
    "refuses": "declines politely, in Spanish (also refuses-es, refuses-pt, refuses-en)",
    "empty": "replies with nothing",
    "rambles": "talks without choosing",
    "crashes": "every call fails",
    "slow": "like random, 0.05 s a reply",
    "truncated": "stops at the token limit before it chooses",
}


def scripted(name: str, *, seed: int, reference: Callable[[str], str | None] | None) -> ScriptedModel:
    """The informant `scripted/NAME`.

    Parameters
    ----------
    name : str
        One of `DESCRIPTIONS`, or "refuses-" and a language of `REFUSALS`.
    seed : int
        Decides what *random* and *slow* choose.
    reference : callable or None
        Prompt id → right reply, for *perfect*.

    Raises
    ------
    UnknownNameError
        For another name.
    SettingError
        For *perfect* without a reference.
    """
    kind, _, language = name.partition("-") if name.startswith("refuses") else (name, "", "es")
    delay = _SLOW_SECONDS if name == "slow" else 0.0
    behaviour: Behaviour
    match kind:
        case "perfect":
            behaviour = _perfect(reference)
        case "random" | "slow":
            behaviour = _random(seed)
        case "always-yes":
            behaviour = _says(_affirmative)
        case "always-no":
            behaviour = _says(_last)
        case "always-first":
            behaviour = _says(_first)
        case "refuses" if (language or "es") in REFUSALS:
            behaviour = _always(Play(Status.OK, REFUSALS[language or "es"]))
        case "empty":
            behaviour = _always(Play(Status.OK, ""))
        case "rambles":
            behaviour = _always(Play(Status.OK, RAMBLE))
        case "crashes":
            behaviour = _always(Play(Status.FAILED, error="scripted/crashes fails every call", finish_reason=None))
        case "truncated":
            behaviour = _always(Play(Status.TRUNCATED, CUT_OFF, finish_reason="length"))
        case _:
            known = [*DESCRIPTIONS, *(f"refuses-{code}" for code in REFUSALS)]
            raise unknown_name("scripted informant", name, known)
    return ScriptedModel.behaving(f"scripted/{name}", behaviour, delay=delay)
