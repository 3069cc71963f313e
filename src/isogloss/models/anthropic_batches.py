"""Anthropic's batch API: requests go into the body that makes the batch, one file holds what came of them.

Formats: the Message Batches pages of Anthropic's API reference. A batch carries no label, so one whose creation was
cut off is found by its time and size, and known by the ids in its results.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from isogloss.models.anthropic_wire import STATUS_OF
from isogloss.models.batches import BatchLine, BatchState, End, Post

if TYPE_CHECKING:
    from isogloss.models.http import HttpReply

_PAGE = 100
_MOST_PAGES = 100
_EARLIER, _LATER = 900.0, 7200.0
"""Seconds by which a batch may have been made before (by another clock) and after it was recorded here."""
_UNDONE = {
    "expired": "the batch expired before this request was carried out",
    "canceled": "the batch was cancelled before this request was carried out",
}


class _Counts(msgspec.Struct):
    processing: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0

    @property
    def n(self) -> int:
        return self.processing + self.succeeded + self.errored + self.canceled + self.expired


class _Batch(msgspec.Struct):
    id: str
    processing_status: str
    request_counts: _Counts
    created_at: str
    results_url: str | None = None


class _Page(msgspec.Struct):
    data: list[_Batch]
    has_more: bool = False
    last_id: str | None = None


class _Result(msgspec.Struct):
    type: str
    message: msgspec.Raw = msgspec.Raw(b"")
    error: Any = None


class _Line(msgspec.Struct):
    custom_id: str
    result: _Result


_line_decoder = msgspec.json.Decoder(_Line)


class AnthropicBatches:
    """See `BatchApi`."""

    most_requests = 100_000
    most_bytes = 240_000_000
    frame = (b'{"requests":[', b",", b"]}")

    def __init__(self, post: Post) -> None:
        self._post = post
        self._path = f"{post.chat_path}/batches"

    def request(self, custom_id: str, body: bytes) -> bytes:
        return b'{"custom_id":"%s","params":%s}' % (custom_id.encode(), body)

    async def submit(self, label: str, file: Path) -> str:
        async def create() -> HttpReply:
            with file.open("rb") as content:
                return await self._post.http.upload(self._path, content)

        return await self._post.create(create)

    async def look(self, batch_id: str) -> BatchState:
        reply = await self._post.ask(lambda: self._post.http.get(f"{self._path}/{batch_id}"))
        batch = self._post.decoded(reply.body, _Batch)
        counts = batch.request_counts
        if batch.processing_status != "ended":
            return BatchState("", counts.n - counts.processing, 0)
        end: End = "expired" if counts.expired else "cancelled" if counts.canceled else "completed"
        # Only ever from the address the key belongs to, whatever `results_url` says.
        return BatchState(end, counts.n, counts.n, (f"{self._path}/{batch_id}/results",))

    async def download(self, state: BatchState, target: BinaryIO) -> None:
        for path in state.results:
            await self._post.fetch(path, target)

    def read(self, line: bytes) -> BatchLine | None:
        try:
            custom_id, result = (found := _line_decoder.decode(line)).custom_id, found.result
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if result.type == "succeeded" and bytes(result.message):
            return BatchLine(custom_id, 200, bytes(result.message))
        if result.type in _UNDONE:
            return BatchLine(custom_id, 0, b"", _UNDONE[result.type])
        error = result.error if isinstance(result.error, dict) else {}
        inner = error.get("error")
        kind = inner.get("type") if isinstance(inner, dict) else error.get("type")
        return BatchLine(custom_id, STATUS_OF.get(str(kind), 500), msgspec.json.encode(error or {"error": result.type}))

    async def find(self, label: str, *, since: float, n: int) -> list[str]:
        found = []
        path = f"{self._path}?limit={_PAGE}"
        for _ in range(_MOST_PAGES):
            page = await self._listed(path)
            times = [datetime.fromisoformat(batch.created_at).timestamp() for batch in page.data]
            found += [
                batch.id
                for batch, made in zip(page.data, times, strict=True)
                if batch.request_counts.n == n and since - _EARLIER <= made <= since + _LATER
            ]
            if not page.has_more or not times or times[-1] < since - _EARLIER:
                break
            path = f"{self._path}?limit={_PAGE}&after_id={page.last_id or page.data[-1].id}"
        return found

    async def _listed(self, path: str) -> _Page:
        return self._post.decoded((await self._post.ask(lambda: self._post.http.get(path))).body, _Page)

    async def cancel(self, batch_id: str) -> None:
        await self._post.ask(lambda: self._post.http.post(f"{self._path}/{batch_id}/cancel", b""))
