"""A server that speaks the wire of both batch APIs, OpenAI's and Anthropic's, and goes wrong by plan.

`fates` says what becomes of each batch that is created, one after another; a batch without one is done at the first
look. `faults` holds, by operation ("live", "upload", "create", "look", "list", "results"), what goes wrong with its
next requests. All state is in memory: it is the client that restarts. What would have been billed is in `paid`.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

KEY = "sk-secret-key-of-the-tests-0123456789"
CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MOST = {"openai": 50_000, "anthropic": 100_000}
EXPIRED = "This request could not be executed before the completion window expired."
ENQUEUED = "Enqueued token limit reached for m in organization org-1. Limit: 2,000,000 enqueued tokens."


@dataclass
class Fate:
    """What becomes of one batch."""

    n_looks: int = 1
    """It is under way until looked at so often."""
    end: str = "completed"
    """OpenAI's word; "failed" means that it doesn't pass validation."""
    n_done: int | None = None
    """So many of its requests are answered (all by default)."""
    refused: str | None = None
    """Words with which the others fail; by default they aren't done when the batch ends."""
    code: int = 400
    """HTTP code of those failures."""
    errors: tuple[tuple[str, str], ...] = ()
    """(code, message) of a batch that fails validation."""
    lines: tuple[str, ...] = ()
    """What is wrong with the lines of its results: "cut", "cut once", "lacks", "lacks once", "foreign", "doubled"."""
    enqueued: int | None = None
    """It fails for too many enqueued tokens where it holds more requests than this."""


@dataclass
class Batch:
    id: str
    wire: str
    requests: list[dict[str, Any]]
    metadata: dict[str, str]
    fate: Fate
    created: float = field(default_factory=time.time)
    n_looks: int = 0
    n_reads: int = 0
    cancelled: bool = False

    @property
    def is_over(self) -> bool:
        return self.cancelled or self.n_looks >= self.fate.n_looks

    @property
    def done(self) -> list[dict[str, Any]]:
        """Its answered requests; not the first ones, so that order is of no help."""
        return self.requests[::-1][: self.fate.n_done]

    @property
    def rest(self) -> list[dict[str, Any]]:
        return [] if self.fate.n_done is None else self.requests[::-1][self.fate.n_done :]


class BatchServer:
    """Started by `start`; both APIs under `url`."""

    def __init__(self) -> None:
        self.fates: list[Fate] = []
        self.faults: dict[str, list[str]] = {}
        self.refuses: set[str] = set()
        """Parameters that a live call is refused for."""
        self.batches: dict[str, Batch] = {}
        self.files: dict[str, list[dict[str, Any]] | bytes] = {}
        self.paid: Counter[str] = Counter()
        """Last message of a prompt → how often it was answered for money."""
        self.n_live = 0
        self.n_hits: Counter[str] = Counter()
        """Requests by operation."""
        self.reached = asyncio.Event()
        """Set when a fault "hold" or "made, hold" is met; such a request gets no reply."""
        self.forgotten: set[str] = set()
        """Ids of batches that aren't known any more."""
        self.url = ""
        self._runner: web.AppRunner | None = None
        self._let_go = asyncio.Event()

    async def start(self) -> None:
        app = web.Application(client_max_size=300_000_000)
        app.add_routes([
            web.post("/v1/chat/completions", self._live),
            web.post("/v1/messages", self._live),
            web.post("/v1/files", self._upload),
            web.get("/v1/files/{id}/content", self._content),
            web.post("/v1/batches", self._create),
            web.get("/v1/batches", self._list),
            web.get("/v1/batches/{id}", self._look),
            web.post("/v1/batches/{id}/cancel", self._cancel),
            web.post("/v1/messages/batches", self._create),
            web.get("/v1/messages/batches", self._list),
            web.get("/v1/messages/batches/{id}", self._look),
            web.post("/v1/messages/batches/{id}/cancel", self._cancel),
            web.get("/v1/messages/batches/{id}/results", self._content),
        ])  # fmt: skip
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def stop(self) -> None:
        self._let_go.set()
        if self._runner is not None:
            await self._runner.cleanup()

    # --- requests -----------------------------------------------------------------------------------------------------

    async def _live(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        if (refusal := _unauthorised(request)) or (refusal := await self._fault("live", request)):
            return refusal
        if refused := self.refuses & set(body):
            return _error(request, 400, f"Unsupported parameter: '{min(refused)}' is not supported with this model.",
                          "unsupported_parameter", min(refused))  # fmt: skip
        self.n_live += 1
        self.paid[_asked(body)] += 1
        return web.json_response(_reply(_wire(request), body))

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        if (refusal := _unauthorised(request)) or (refusal := await self._fault("upload", request)):
            return refusal
        form = await request.post()
        assert form["purpose"] == "batch"
        upload = form["file"]
        assert isinstance(upload, web.FileField)
        assert upload.filename.endswith(".jsonl")
        id_ = f"file-{len(self.files)}"
        self.files[id_] = [json.loads(line) for line in upload.file.read().splitlines()]
        return web.json_response({"id": id_, "object": "file", "purpose": "batch", "filename": upload.filename})

    async def _create(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        if (refusal := _unauthorised(request)) or (refusal := await self._fault("create", request)):
            return refusal
        wire = _wire(request)
        requests = body["requests"] if wire == "anthropic" else self.files[body["input_file_id"]]
        if wrong := _malformed(wire, requests, body):
            return _error(request, 400, wrong)
        assert isinstance(requests, list)
        fate = self.fates.pop(0) if self.fates else Fate()
        if fate.enqueued is not None and len(requests) <= fate.enqueued:
            fate = Fate()
        elif fate.enqueued is not None:
            fate = Fate(end="failed", errors=(("token_limit_exceeded", ENQUEUED),))
            if wire == "anthropic":
                return _error(request, 429, "Too many requests in the processing queue", "rate_limit_error")
        batch = Batch(f"{'msg' if wire == 'anthropic' else ''}batch_{len(self.batches)}", wire, requests,
                      body.get("metadata", {}), fate)  # fmt: skip
        self.batches[batch.id] = batch
        if fate.end != "failed":
            self.paid.update(_asked(asked.get("body") or asked["params"]) for asked in batch.done)
        lost = await self._fault("created", request)
        return lost or web.json_response(self._shown(batch))

    async def _look(self, request: web.Request) -> web.StreamResponse:
        batch = self.batches[request.match_info["id"]]
        if (refusal := _unauthorised(request)) or (refusal := await self._fault("look", request)):
            return refusal
        if batch.id in self.forgotten:
            return _error(request, 404, "No batch found")
        batch.n_looks += 1
        return web.json_response(self._shown(batch))

    async def _list(self, request: web.Request) -> web.StreamResponse:
        if (refusal := _unauthorised(request)) or (refusal := await self._fault("list", request)):
            return refusal
        newest = [batch for batch in reversed(self.batches.values()) if batch.wire == _wire(request)]
        after = request.query.get("after") or request.query.get("after_id")
        ids = [batch.id for batch in newest]
        first = ids.index(after) + 1 if after else 0
        page = newest[first : first + min(int(request.query["limit"]), 2)]  # short pages, so that more than one is read
        return web.json_response({
            "data": [self._shown(batch) for batch in page],
            "has_more": first + len(page) < len(newest),
            "first_id": page[0].id if page else None,
            "last_id": page[-1].id if page else None,
        })  # fmt: skip

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        batch = self.batches[request.match_info["id"]]
        batch.cancelled = True
        batch.fate.end = "cancelled"
        return web.json_response(self._shown(batch))

    async def _content(self, request: web.Request) -> web.StreamResponse:
        if (refusal := _unauthorised(request)) or (refusal := await self._fault("results", request)):
            return refusal
        id_ = request.match_info["id"]
        batch = self.batches[id_.removesuffix("-output").removesuffix("-errors")]
        batch.n_reads += not id_.endswith("-errors")
        content = b"".join(line + b"\n" for line in self._lines(batch, id_))
        if not await self._planned("results half"):
            return web.Response(body=content, content_type="application/octet-stream")
        response = web.StreamResponse(headers={"Content-Length": str(len(content))})
        await response.prepare(request)
        await response.write(content[: len(content) // 2])
        self.reached.set()
        await self._let_go.wait()
        return response

    # --- what is wrong ------------------------------------------------------------------------------------------------

    async def _planned(self, operation: str) -> str:
        self.n_hits[operation] += 1
        planned = self.faults.get(operation)
        return planned.pop(0) if planned else ""

    async def _fault(self, operation: str, request: web.Request) -> web.StreamResponse | None:
        """The reply of a planned fault, if there is one."""
        match await self._planned(operation):
            case "hold":
                self.reached.set()
                await self._let_go.wait()
                return web.Response(status=503)
            case "cut":
                assert request.transport is not None
                request.transport.close()
                return web.Response()
            case code if code.isdecimal():
                return _error(request, int(code), f"server says {code}")
            case "unknown model":
                return _error(request, 404, "The model `m` does not exist", "model_not_found")
            case "quota":
                return _error(request, 429, "You exceeded your current quota.", "insufficient_quota")
        return None

    # --- what is said -------------------------------------------------------------------------------------------------

    def _shown(self, batch: Batch) -> dict[str, Any]:
        return _openai_batch(batch) if batch.wire == "openai" else _anthropic_batch(batch, self.url)

    def _lines(self, batch: Batch, id_: str) -> list[bytes]:
        fate = batch.fate
        good = [] if id_.endswith("-errors") else [_line(batch.wire, asked) for asked in batch.done]
        bad = [] if id_.endswith("-output") else [_bad_line(batch, asked) for asked in batch.rest]
        if "lacks" in fate.lines or ("lacks once" in fate.lines and batch.n_reads == 1):
            good = good[1:]
        if good and ("cut" in fate.lines or ("cut once" in fate.lines and batch.n_reads == 1)):
            good[0] = good[0][: len(good[0]) // 2]
        if good and "doubled" in fate.lines:
            good.append(good[-1])
        if good and "foreign" in fate.lines:
            good.insert(0, _line(batch.wire, {**batch.requests[0], "custom_id": "never-sent"}))
        return good + bad


def _wire(request: web.Request) -> str:
    return "anthropic" if request.path.startswith("/v1/messages") else "openai"


def _unauthorised(request: web.Request) -> web.Response | None:
    if _wire(request) == "openai":
        right = request.headers.get("Authorization") == f"Bearer {KEY}"
    else:
        right = request.headers.get("x-api-key") == KEY and "anthropic-version" in request.headers
    return None if right else _error(request, 401, "Incorrect API key provided", "invalid_api_key")


def _error(request: web.Request, status: int, message: str, code: str | None = None, param: str | None = None) -> Any:
    if _wire(request) == "anthropic":
        kind = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}.get(status, code)
        error = {"type": "error", "error": {"type": kind or "invalid_request_error", "message": message}}
        return web.json_response(error, status=status)
    kind = "invalid_request_error"
    error = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return web.json_response(error, status=status)


def _malformed(wire: str, requests: Any, body: dict[str, Any]) -> str:
    ids = [asked["custom_id"] for asked in requests]
    if not ids or len(ids) > MOST[wire]:
        return f"{len(ids)} requests"
    if len(set(ids)) != len(ids):
        return "custom_id is not unique"
    if any(not CUSTOM_ID.fullmatch(id_) for id_ in ids):
        return "requests.0.custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"
    if wire == "openai":
        assert (body["endpoint"], body["completion_window"]) == ("/v1/chat/completions", "24h")
        assert all(asked["url"] == body["endpoint"] and asked["method"] == "POST" for asked in requests)
        assert all(len(key) <= 64 and len(value) <= 512 for key, value in body.get("metadata", {}).items())
        return ""
    return "" if all(asked["params"]["max_tokens"] >= 1 for asked in requests) else "max_tokens: Field required"


def _asked(body: dict[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    return str(content if isinstance(content, str) else content[0]["text"])


def _reply(wire: str, body: dict[str, Any]) -> dict[str, Any]:
    """A reply that says which prompt it is for."""
    text = f"re: {_asked(body)}"
    if wire == "anthropic":
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m-20260101",
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 24, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                      "output_tokens": 2},
        }  # fmt: skip
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "m-2026-01-01",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text, "refusal": None},
                     "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 24, "completion_tokens": 2, "total_tokens": 26},
        "system_fingerprint": "fp_1",
    }  # fmt: skip


def _line(wire: str, asked: dict[str, Any]) -> bytes:
    if wire == "anthropic":
        result = {"type": "succeeded", "message": _reply(wire, asked["params"])}
        return json.dumps({"custom_id": asked["custom_id"], "result": result}, ensure_ascii=False).encode()
    response = {"status_code": 200, "request_id": "req_1", "body": _reply(wire, asked["body"])}
    line = {"id": "batch_req_1", "custom_id": asked["custom_id"], "response": response, "error": None}
    return json.dumps(line, ensure_ascii=False).encode()


def _bad_line(batch: Batch, asked: dict[str, Any]) -> bytes:
    fate, id_ = batch.fate, asked["custom_id"]
    if batch.wire == "anthropic":
        kind = {"expired": "expired", "cancelled": "canceled"}.get(fate.end, "errored")
        result: dict[str, Any] = {"type": kind}
        if fate.refused is not None:
            name = "invalid_request_error" if fate.code == 400 else "api_error"
            error = {"type": "error", "error": {"type": name, "message": fate.refused}, "request_id": None}
            result = {"type": "errored", "error": error}
        return json.dumps({"custom_id": id_, "result": result}).encode()
    line: dict[str, Any] = {"id": "batch_req_2", "custom_id": id_, "response": None, "error": None}
    if fate.refused is not None:
        error = {"message": fate.refused, "type": "invalid_request_error", "param": None, "code": None}
        line["response"] = {"status_code": fate.code, "request_id": "req_2", "body": {"error": error}}
    else:
        line["error"] = {"code": f"batch_{fate.end}", "message": EXPIRED}
    return json.dumps(line).encode()


def _openai_batch(batch: Batch) -> dict[str, Any]:
    fate, over = batch.fate, batch.is_over
    failed = over and fate.end == "failed"
    n_failed = len(batch.rest) if fate.refused is not None else 0
    output = over and not failed and bool(batch.done)
    return {
        "id": batch.id, "object": "batch", "endpoint": "/v1/chat/completions", "input_file_id": "file-0",
        "completion_window": "24h", "status": fate.end if over else ("validating", "in_progress")[batch.n_looks > 1],
        "created_at": int(batch.created), "expires_at": int(batch.created) + 86_400,
        "output_file_id": f"{batch.id}-output" if output else None,
        "error_file_id": f"{batch.id}-errors" if over and not failed and batch.rest else "",
        "errors": {"object": "list", "data": [{"code": code, "message": message, "param": None, "line": None}
                                              for code, message in fate.errors]} if failed else None,
        "request_counts": {"total": 0 if failed else len(batch.requests), "failed": n_failed * over,
                           "completed": len(batch.done) * (over and not failed)},
        "metadata": batch.metadata or None,
    }  # fmt: skip


def _anthropic_batch(batch: Batch, url: str) -> dict[str, Any]:
    over, fate = batch.is_over, batch.fate
    kind = "errored" if fate.refused is not None else {"expired": "expired", "cancelled": "canceled"}.get(fate.end)
    counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
    if over:
        counts |= {"succeeded": len(batch.done), **({kind: len(batch.rest)} if kind else {})}
    else:
        counts["processing"] = len(batch.requests)
    created = datetime.fromtimestamp(batch.created, UTC).isoformat().replace("+00:00", "Z")
    return {
        "id": batch.id, "type": "message_batch", "processing_status": "ended" if over else "in_progress",
        "request_counts": counts, "created_at": created, "expires_at": created, "ended_at": created if over else None,
        "archived_at": None, "cancel_initiated_at": None,
        "results_url": f"{url}/messages/batches/{batch.id}/results" if over else None,
    }  # fmt: skip
