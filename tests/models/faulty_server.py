"""A server that speaks the real wire format of chat completions and injects faults by plan.

`plan` is a list of names of `REPLIES` (or of the special ones below), used up one a request; "ok" after that.
Parameters named in `refuses` lead to a 400 in the words of a real provider as long as a request holds them.
"""

from __future__ import annotations

import asyncio
import json
from email.utils import formatdate
from time import time
from typing import NamedTuple

from aiohttp import web


class Canned(NamedTuple):
    status: int
    body: object
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed


def choice(content: object, finish: str | None = "stop", **message: object) -> dict[str, object]:
    """A reply with one choice."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "m-2026-01-01",
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "logprobs": None,
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 24, "completion_tokens": 1, "total_tokens": 25},
    }


def fault(message: str, kind: str, code: object = None, param: str | None = None) -> dict[str, object]:
    """An error in the usual shape."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


RATE = fault("Rate limit reached for requests", "requests", "rate_limit_exceeded")
REPLIES: dict[str, Canned] = {
    "ok": Canned(200, choice("Sí")),
    "429": Canned(429, RATE),
    "429 retry-after": Canned(429, RATE, {"Retry-After": "0.2"}),
    "429 long wait": Canned(429, RATE, {"Retry-After": "3600"}),
    "429 gemini minute": Canned(
        429,
        [
            {
                "error": {
                    "code": 429,
                    "message": "You exceeded your current quota, please check your plan and billing details.",
                    "status": "RESOURCE_EXHAUSTED",
                    "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.1s"}],
                }
            }
        ],
    ),
    "429 that speaks of billing": Canned(
        429,
        fault(
            "Rate limit reached: 3 / min. To raise it, add a payment method at account/billing.",
            "requests",
            "rate_limit_exceeded",
        ),
    ),
    "quota": Canned(429, fault("You exceeded your current quota.", "insufficient_quota", "insufficient_quota")),
    "quota in words": Canned(429, {"error": "quota exhausted, check billing"}),
    "no credits": Canned(402, fault("Insufficient credits", "payment", 402)),
    "bad key": Canned(
        401, fault("Incorrect API key provided: sk-se***word.", "invalid_request_error", "invalid_api_key")
    ),
    "forbidden": Canned(403, fault("Project has no access to model m", "invalid_request_error", "model_not_allowed")),
    "flagged": Canned(
        403,
        {
            "error": {
                "code": 403,
                "message": "Input was flagged",
                "metadata": {"reasons": ["violence"], "flagged_input": "…"},
            }
        },
    ),
    "no model": Canned(404, fault("The model `m` does not exist", "invalid_request_error", "model_not_found")),
    "moved": Canned(301, "", {"Location": "https://elsewhere.example/v1"}),
    "too long": Canned(
        400,
        fault("This model's maximum context length is 10 tokens.", "invalid_request_error", "context_length_exceeded"),
    ),
    "prompt filtered": Canned(400, fault("The prompt triggered the content policy.", "", "content_filter")),
    "html": Canned(200, "<html><body>Bad gateway</body></html>", {"Content-Type": "text/html"}),
    "cut json": Canned(200, '{"id":"chatcmpl-1","choices":[{"index":0,"message":{"role":"assist'),
    "other json": Canned(200, {"choices": "none"}),
    "empty body": Canned(200, ""),
    "error in 200": Canned(200, {"error": {"message": "Provider returned error", "code": 502}}),
    "bare message in 200": Canned(200, {"message": "upstream is tired"}),
    "quota in 200": Canned(200, fault("Out of credits", "insufficient_quota", "insufficient_quota")),
    "no choices": Canned(200, {**choice("x"), "choices": []}),
    "null choices": Canned(200, {**choice("x"), "choices": None}),
    "null content": Canned(200, choice(None)),
    "empty content": Canned(200, choice("")),
    "content filter": Canned(200, choice(None, "content_filter")),
    "half filtered": Canned(200, choice("Se dice", "content_filter")),
    "safety": Canned(200, {**choice(None, "SAFETY"), "choices": [{"index": 0, "finish_reason": "SAFETY"}]}),
    "prompt blocked": Canned(200, {"candidates": [], "choices": [], "promptFeedback": {"blockReason": "OTHER"}}),
    "refusal stop": Canned(200, {**choice([], "refusal"), "detail": {"category": None}}),
    "refusal field": Canned(200, choice(None, "stop", refusal="I can't help with that.")),
    "length": Canned(200, choice("Sí, en", "length")),
    "length whole": Canned(200, choice("Sí", "length")),
    "hidden reasoning": Canned(200, choice(None, "length", reasoning_content="Pienso en A, C y D")),
    "reasoning only": Canned(200, choice("", "stop", reasoning="Pienso")),
    "reasoning and answer": Canned(200, choice("Sí", "stop", reasoning_content="Pienso")),
    "parts": Canned(200, choice([{"type": "thinking", "thinking": "Pienso"}, {"type": "text", "text": "Sí"}])),
    "tool call": Canned(200, choice(None, "tool_calls", tool_calls=[{"id": "1"}])),
    "broke off": Canned(200, choice("S", "error")),
    "echo key": Canned(400, fault("bad header Bearer secret-key-123456", "invalid_request_error")),
}
for code in (408, 500, 502, 503, 504, 529):
    REPLIES[str(code)] = Canned(code, fault(f"server says {code}", "server_error"))

WORDS = {
    "max_tokens": (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "unsupported_parameter",
    ),
    "max_completion_tokens": ("Unrecognized request argument supplied: max_completion_tokens", None),
    "temperature": (
        "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) is supported.",
        "unsupported_value",
    ),
    "top_p": ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.", None),
    "seed": ("seed: Extra inputs are not permitted", "extra_forbidden"),
}


class FaultyServer:
    """Started by the fixture `server`."""

    def __init__(self) -> None:
        self.plan: list[str] = []
        self.refuses: set[str] = set()
        self.names_param = True
        self.bodies: list[dict[str, object]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.url = ""
        self._runner: web.AppRunner | None = None
        self._let_go = asyncio.Event()

    @property
    def hits(self) -> int:
        return len(self.bodies)

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def stop(self) -> None:
        self._let_go.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self.times.append(time())
        for name in ("max_tokens", "max_completion_tokens", "temperature", "top_p", "seed"):
            if name in body and name in self.refuses:
                message, code = WORDS[name]
                param = name if self.names_param else None
                return _respond(Canned(400, fault(message, "invalid_request_error", code, param)))
        planned = self.plan.pop(0) if self.plan else "ok"
        if planned == "hang":
            await self._let_go.wait()
        if planned == "cut":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if planned == "cut body":
            response = web.StreamResponse(headers={"Content-Length": "5000", "Content-Type": "application/json"})
            await response.prepare(request)
            await response.write(b'{"id":')
            assert request.transport is not None
            request.transport.close()
            return response
        if planned == "429 date":
            return _respond(Canned(429, RATE, {"Retry-After": formatdate(time() + 1.5, usegmt=True)}))
        return _respond(REPLIES.get(planned, REPLIES["ok"]))


def _respond(canned: Canned) -> web.Response:
    text = canned.body if isinstance(canned.body, str) else json.dumps(canned.body, ensure_ascii=False)
    return web.Response(
        status=canned.status, body=text.encode(), headers={"Content-Type": "application/json", **canned.headers}
    )
