"""OpenAI's batch API: a file of requests is uploaded, a batch made of it, and two files hold what came of them.

Formats: platform.openai.com/docs/guides/batch and the API reference of files and batches. Servers that speak the same
differ in small ways, which are borne: states in capitals, "" for no file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from isogloss.models.batches import BatchLine, BatchState, End, Made, NotThereError, Post

if TYPE_CHECKING:
    from isogloss.models.http import HttpReply

_ENDS: dict[str, End] = {
    "completed": "completed",
    "expired": "expired",
    "cancelled": "cancelled",
    "failed": "failed",
}
_LABEL = "isogloss"
_PAGE = 100
_MOST_PAGES = 100
_CLOCK_SLACK = 3600.0
_ENQUEUED = re.compile(r"enqueued token", re.IGNORECASE)
_NEVER_SENT = frozenset({"batch_expired", "batch_cancelled"})
_encode = msgspec.json.encode


class _Fault(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Faults(msgspec.Struct):
    data: list[_Fault] | None = None


class _Counts(msgspec.Struct):
    total: int = 0
    completed: int = 0
    failed: int = 0


class _Batch(msgspec.Struct):
    id: str
    status: str
    created_at: float = 0.0
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: _Faults | None = None
    request_counts: _Counts | None = None
    metadata: dict[str, Any] | None = None


class _Page(msgspec.Struct):
    data: list[_Batch]
    has_more: bool = False


class _Result(msgspec.Struct):
    status_code: int
    body: msgspec.Raw


class _Line(msgspec.Struct):
    custom_id: str
    response: _Result | None = None
    error: _Fault | None = None


_line_decoder = msgspec.json.Decoder(_Line)


class OpenAIBatches:
    """See `BatchApi`."""

    most_requests = 50_000
    most_bytes = 190_000_000
    frame = (b"", b"\n", b"\n")

    def __init__(self, post: Post) -> None:
        self._post = post

    def request(self, custom_id: str, body: bytes) -> bytes:
        return b'{"custom_id":"%s","method":"POST","url":"/v1/chat/completions","body":%s}' % (custom_id.encode(), body)

    async def submit(self, label: str, file: Path) -> str:
        http = self._post.http

        async def upload() -> HttpReply:
            with file.open("rb") as content:
                return await http.upload("/files", content, fields={"purpose": "batch"})

        try:
            uploaded = self._post.decoded((await self._post.ask(upload)).body, Made)
        except NotThereError:
            raise self._post.no_api() from None
        wish = {
            "input_file_id": uploaded.id,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {_LABEL: label},
        }
        return await self._post.create(lambda: http.post("/batches", _encode(wish)))

    async def look(self, batch_id: str) -> BatchState:
        reply = await self._post.ask(lambda: self._post.http.get(f"/batches/{batch_id}"))
        batch = self._post.decoded(reply.body, _Batch)
        counts = batch.request_counts or _Counts()
        faults = (batch.errors and batch.errors.data) or []
        n_done = counts.completed + counts.failed
        return BatchState(
            _ENDS.get(batch.status.lower(), ""),
            n_done,
            n_done,
            tuple(f"/files/{id_}/content" for id_ in (batch.output_file_id, batch.error_file_id) if id_),
            self._post.clean(_words(faults)),
            any(
                fault.code == "token_limit_exceeded" or _ENQUEUED.search(fault.message or "") is not None
                for fault in faults
            ),
        )

    async def download(self, state: BatchState, target: BinaryIO) -> None:
        for path in state.results:
            await self._post.fetch(path, target)

    def read(self, line: bytes) -> BatchLine | None:
        try:
            found = _line_decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if found.response is not None:
            return BatchLine(found.custom_id, found.response.status_code, bytes(found.response.body))
        fault = found.error or _Fault()
        words = self._post.clean(fault.message or fault.code or "no response")
        if fault.code in _NEVER_SENT:
            return BatchLine(found.custom_id, 0, b"", words)
        return BatchLine(found.custom_id, 504, _encode({"error": {"message": words, "code": fault.code}}))

    async def find(self, label: str, *, since: float, n: int) -> list[str]:
        path = f"/batches?limit={_PAGE}"
        for _ in range(_MOST_PAGES):
            page = await self._listed(path)
            for batch in page.data:
                if (batch.metadata or {}).get(_LABEL) == label:
                    return [batch.id]
            if not page.has_more or not page.data or page.data[-1].created_at < since - _CLOCK_SLACK:
                break
            path = f"/batches?limit={_PAGE}&after={page.data[-1].id}"
        return []

    async def _listed(self, path: str) -> _Page:
        return self._post.decoded((await self._post.ask(lambda: self._post.http.get(path))).body, _Page)

    async def cancel(self, batch_id: str) -> None:
        await self._post.ask(lambda: self._post.http.post(f"/batches/{batch_id}/cancel", b""))


def _words(faults: list[_Fault]) -> str:
    told = (f"{fault.message or 'no words'}" + (f" ({fault.code})" if fault.code else "") for fault in faults[:3])
    return "; ".join(dict.fromkeys(told))
