"""Batch APIs: many requests handed over in one file, answered within a day at a lower price.

What they have in common. How each provider writes it is in `openai_batches` and `anthropic_batches`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from isogloss.errors import AbilityError, ModelError
from isogloss.models.faults import PassingError, clean, read_words
from isogloss.models.retry import RetryPolicy, try_again

if TYPE_CHECKING:
    from isogloss.models.chat import ChatModel
    from isogloss.models.http import HttpReply

T = TypeVar("T")

KEPT_SECONDS = 29 * 86_400.0
"""Results of a batch can be fetched for about so long after its creation."""

End = Literal["", "completed", "expired", "cancelled", "failed"]


class BatchState(NamedTuple):
    """Where a batch stands at its provider."""

    end: End
    """How it ended; "" while it is under way."""
    n_done: int
    """Requests that were answered or refused so far."""
    n_lines: int
    """Lines that its results have at least, once it has ended."""
    results: tuple[str, ...] = ()
    """Paths of its results, those of answered requests first."""
    words: str = ""
    """What the provider says of a batch that failed as a whole."""
    is_crowded: bool = False
    """It failed since too much is waiting there; a smaller one, or a later one, may do."""


class BatchLine(NamedTuple):
    """What became of one request."""

    custom_id: str
    status: int
    """HTTP status that a live call would have had."""
    body: bytes
    undone: str = ""
    """Why the request was never carried out; empty where it was."""


class NotThereError(Exception):
    """The provider doesn't know this batch, or doesn't yet."""


class CrowdedError(Exception):
    """Too large, or too much is waiting already: fewer requests at a time may do."""


class UncertainError(Exception):
    """No whole reply came to a creation: the batch may be there or not."""


class BatchApi(Protocol):
    """One provider's batch API. Faults that may pass have been tried again before they are raised.

    Each method may raise ModelError (bad key, no quota, no such API) and PassingError.
    """

    most_requests: int
    most_bytes: int
    frame: tuple[bytes, bytes, bytes]
    """What stands before, between and after the requests in a file."""

    def request(self, custom_id: str, body: bytes) -> bytes:
        """One request as it stands in the file."""

    async def submit(self, label: str, file: Path) -> str:
        """Create a batch of a file's requests; its id at the provider. Raises CrowdedError, UncertainError."""

    async def look(self, batch_id: str) -> BatchState:
        """Where a batch stands. Raises NotThereError."""

    async def download(self, state: BatchState, target: BinaryIO) -> None:
        """Write all result lines of an ended batch to a file. Raises NotThereError."""

    def read(self, line: bytes) -> BatchLine | None:
        """What a result line says; None for one that is cut or nothing of the kind."""

    async def find(self, label: str, *, since: float, n: int) -> list[str]:
        """Ids of batches that may be the one of `n` requests submitted under a label at about that Unix time."""

    async def cancel(self, batch_id: str) -> None:
        """Let no further request of a batch be carried out."""


def batch_api(model: ChatModel, *, policy: RetryPolicy | None = None) -> BatchApi:
    """The batch API of a model's provider. Raises AbilityError where it has none."""
    if not model.abilities.batch:
        raise AbilityError(f"model {model.name!r} has no batch API; leave out --batch, or ask it in a run of its own")
    post = Post(model, policy or RetryPolicy())
    if model.wire.name == "anthropic":
        from isogloss.models.anthropic_batches import AnthropicBatches

        return AnthropicBatches(post)
    from isogloss.models.openai_batches import OpenAIBatches

    return OpenAIBatches(post)


class Made(msgspec.Struct):
    """What the reply to a creation says, whatever is created."""

    id: str


class Post:
    """Sends what both APIs send, and reads errors as a live call does."""

    def __init__(self, model: ChatModel, policy: RetryPolicy) -> None:
        self.http = model.http
        self.chat_path = model.wire.path
        self._model = model
        self._policy = policy
        self._secrets = model.secrets

    def clean(self, text: str) -> str:
        """What may be shown of a text of the provider's."""
        return clean(text, self._secrets)

    def decoded(self, body: bytes, kind: type[T]) -> T:
        """A body as what it should be. Raises PassingError for another."""
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            words = self.clean(read_words(body).message) or "empty body"
            raise PassingError(f"the reply says nothing of a batch: {words}") from None

    async def ask(self, send: Callable[[], Awaitable[HttpReply]]) -> HttpReply:
        """A reply with 200 to something that may be sent more than once.

        Raises
        ------
        NotThereError, ModelError
            At once.
        PassingError
            After several tries.
        """

        async def once() -> HttpReply:
            reply = await self._sent(send)
            if reply.status == 404:
                raise NotThereError
            if reply.status != 200:
                raise self.refusal(reply.status, reply.headers, reply.body)
            return reply

        try:
            return await once()
        except PassingError as fault:
            return await try_again(once, fault, self._policy, elapsed=0.0)

    async def fetch(self, path: str, target: BinaryIO) -> None:
        """Add a file of the provider's to `target`, followed by a line's end. Raises as `ask` does."""
        start = target.tell()

        async def fetch() -> HttpReply:
            target.seek(start)
            target.truncate()
            return await self.http.download(path, target)

        await self.ask(fetch)
        target.write(b"\n")

    async def create(self, send: Callable[[], Awaitable[HttpReply]]) -> str:
        """The id of what is created by a request that must not arrive twice: sent anew only if it can't have arrived.

        Raises
        ------
        CrowdedError, UncertainError, ModelError
            At once.
        PassingError
            After several tries without a connection.
        """

        async def once() -> str:
            try:
                reply = await self._sent(send)
            except PassingError as fault:
                if fault.unreachable:
                    raise
                raise UncertainError(fault.words) from None
            if reply.status == 404:
                raise self.no_api()
            if reply.status == 200:
                try:
                    return self.decoded(reply.body, Made).id
                except PassingError as fault:
                    raise UncertainError(fault.words) from None
            refusal = self.refusal(reply.status, reply.headers, reply.body)
            if reply.status == 413 or (reply.status == 429 and isinstance(refusal, PassingError)):
                raise CrowdedError(str(refusal))
            raise UncertainError(refusal.words) if isinstance(refusal, PassingError) else refusal

        try:
            return await once()
        except PassingError as fault:
            return await try_again(once, fault, self._policy, elapsed=0.0)

    async def _sent(self, send: Callable[[], Awaitable[HttpReply]]) -> HttpReply:
        from isogloss.models.http import HttpError

        try:
            return await send()
        except HttpError as fault:
            raise PassingError(self.clean(str(fault)), unreachable=fault.kind == "connect") from None

    def refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> PassingError | ModelError:
        """The fault that an error comes to."""
        try:
            outcome = self._model.read_result(status, headers, body)
        except (PassingError, ModelError) as fault:
            return fault
        return ModelError(f"{self._model.name}: the batch API refuses: {outcome.error}")

    def no_api(self) -> ModelError:
        """Where the server has nothing under the path of a batch API."""
        return ModelError(f"{self._model.name}: there is no batch API at this address; leave out --batch")
