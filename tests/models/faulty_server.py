"""A server that speaks the real wire formats of OpenAI and Anthropic on one port, and injects faults.

POST /v1/chat/completions and POST /v1/messages. Faults come

- by plan: `plan` is a list of names of the wire's replies (or of `HANDLED`), or of whole replies (`Canned`), used up
  one a request; "ok" after that;
- by chance: a share `chance` of the requests gets one of `faults`, decided by a hash of (seed, request body, how often
  that body was seen), so a run is repeatable whatever the order of its requests;
- by a limit: `per_minute` requests in any minute and `under_way` at once, 429 beyond;
- by what a request holds: parameters named in `refuses` (and "system") lead to a 400 in the words of a real provider.

As a process of its own: `python faulty_server.py --port 0 --chance 0.05 --hits FILE` prints its base URL; ended by
SIGTERM or SIGINT, it writes how often each body came and was answered well. GET /hits tells the same at any time.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import signal
import sys
from collections import Counter, deque
from collections.abc import Sequence
from email.utils import formatdate
from pathlib import Path
from time import monotonic, time
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
OPENAI: dict[str, Canned] = {
    "ok": Canned(200, choice("Sí")),
    "429": Canned(429, RATE),
    "429 retry-after": Canned(429, RATE, {"Retry-After": "0.2"}),
    "429 ms": Canned(429, RATE, {"retry-after-ms": "200"}),
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
    "null finish": Canned(200, choice("Sí", None)),
    "cached": Canned(
        200,
        {
            **choice("Sí"),
            "usage": {
                "prompt_tokens": 1024,
                "completion_tokens": 1,
                "prompt_tokens_details": {"cached_tokens": 1000, "audio_tokens": 0},
            },
        },
    ),
    "429 in 200": Canned(200, {"error": {"message": "Too many requests upstream", "code": 429}}),
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
    OPENAI[str(code)] = Canned(code, fault(f"server says {code}", "server_error"))


def message(content: object, stop: str | None = "end_turn", **fields: object) -> dict[str, object]:
    """A reply of Anthropic's; a text stands for one block of it."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-2026-01-01",
        "content": [{"type": "text", "text": content}] if isinstance(content, str) else content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 24,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 1,
            "service_tier": "standard",
        },
        **fields,
    }


def problem(kind: str, words: str) -> dict[str, object]:
    """An error of Anthropic's."""
    return {"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_1"}


THINKING = {"type": "thinking", "thinking": "Pienso en A, C y D", "signature": "EqQB"}
HIDDEN = {"type": "redacted_thinking", "data": "EmwK"}
LIMIT = problem("rate_limit_error", "This request would exceed the rate limit of 50 requests per minute.")
BROKE = "Your credit balance is too low to access the API. Go to Plans & Billing to upgrade or purchase credits."
ANTHROPIC: dict[str, Canned] = {
    "ok": Canned(200, message("Sí")),
    "429": Canned(429, LIMIT),
    "429 retry-after": Canned(429, LIMIT, {"retry-after": "0.2"}),
    "429 ms": Canned(429, LIMIT, {"retry-after-ms": "200"}),
    "429 long wait": Canned(429, LIMIT, {"retry-after": "3600"}),
    "408": Canned(408, problem("timeout_error", "server says 408")),
    "500": Canned(500, problem("api_error", "server says 500")),
    "502": Canned(502, problem("api_error", "server says 502")),
    "503": Canned(503, problem("api_error", "server says 503")),
    "504": Canned(504, problem("timeout_error", "server says 504")),
    "529": Canned(529, problem("overloaded_error", "server says 529")),
    "quota": Canned(400, problem("invalid_request_error", BROKE)),
    "no credits": Canned(402, problem("billing_error", "Insufficient credits")),
    "usage limit": Canned(
        400, problem("invalid_request_error", "You have reached your specified API usage limits until 2026-02-01.")
    ),
    "bad key": Canned(401, problem("authentication_error", "invalid x-api-key")),
    "forbidden": Canned(403, problem("permission_error", "Project has no access to model m")),
    "no model": Canned(404, problem("not_found_error", "model: m")),
    "moved": Canned(301, "", {"Location": "https://elsewhere.example/v1"}),
    "too long": Canned(400, problem("invalid_request_error", "prompt is too long: 12 tokens > 10 maximum")),
    "too large": Canned(413, problem("request_too_large", "Request exceeds the maximum size")),
    "prompt filtered": Canned(400, problem("invalid_request_error", "Output blocked by content filtering policy")),
    "html": Canned(200, "<html><body>Bad gateway</body></html>", {"Content-Type": "text/html"}),
    "cut json": Canned(200, '{"id":"msg_1","type":"message","content":[{"type":"te'),
    "other json": Canned(200, {"content": "none"}),
    "empty body": Canned(200, ""),
    "error in 200": Canned(200, problem("api_error", "Provider returned error")),
    "overloaded in 200": Canned(200, problem("overloaded_error", "Overloaded")),
    "bare message in 200": Canned(200, {"message": "upstream is tired"}),
    "quota in 200": Canned(200, problem("billing_error", "Out of credits")),
    "no content": Canned(200, {"type": "message", "stop_reason": "end_turn"}),
    "null content": Canned(200, message(None)),
    "empty content": Canned(200, message([])),
    "broke off": Canned(200, message("S", None)),
    "pause": Canned(200, message([{"type": "text", "text": "S"}], "pause_turn")),
    "refusal stop": Canned(200, message([], "refusal", stop_details={"type": "refusal", "category": None})),
    "refusal half-way": Canned(200, message("Se", "refusal")),
    "length": Canned(200, message("Sí, en", "max_tokens")),
    "length whole": Canned(200, message("Sí", "max_tokens")),
    "window full": Canned(200, message("Sí, en", "model_context_window_exceeded")),
    "stop sequence": Canned(200, message("Sí", "stop_sequence", stop_sequence=".")),
    "hidden reasoning": Canned(200, message([THINKING], "max_tokens")),
    "reasoning only": Canned(200, message([THINKING])),
    "redacted only": Canned(200, message([HIDDEN])),
    "reasoning and answer": Canned(200, message([THINKING, HIDDEN, {"type": "text", "text": "Sí"}])),
    "parts": Canned(200, message([{"type": "text", "text": "S"}, {"type": "text", "text": "í", "citations": []}])),
    "tool call": Canned(200, message([{"type": "tool_use", "id": "t", "name": "n", "input": {}}], "tool_use")),
    "cached": Canned(
        200,
        message(
            "Sí",
            usage={
                "input_tokens": 4,
                "cache_creation_input_tokens": 20,
                "cache_read_input_tokens": 1000,
                "output_tokens": 1,
            },
        ),
    ),
    "echo key": Canned(400, problem("invalid_request_error", "bad header x-api-key: secret-key-123456")),
}
REPLIES = {"openai": OPENAI, "anthropic": ANTHROPIC}
HANDLED = ("hang", "cut", "cut body", "429 date")
"""Faults that are more than a reply."""
BY_CHANCE = (
    *("429", "429 retry-after", "500", "502", "503", "529", "cut", "cut body", "html", "cut json", "empty body"),
    *("error in 200", "null content", "broke off"),
)
"""Faults that another try mends."""

WORDS = {
    "openai": {
        "max_tokens": (
            "Unsupported parameter: 'max_tokens' isn't supported with this model. Use 'max_completion_tokens' instead.",
            "unsupported_parameter",
        ),
        "max_completion_tokens": ("Unrecognized request argument supplied: max_completion_tokens", None),
        "temperature": (
            "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default is supported.",
            "unsupported_value",
        ),
        "top_p": ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.", None),
        "seed": ("seed: Extra inputs are not permitted", "extra_forbidden"),
        "system": ("System role not supported", None),
    },
    "anthropic": {
        "temperature": ("`temperature` is deprecated for this model.", None),
        "top_p": ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.", None),
        "system": ("System messages are not supported by this model", None),
    },
}


class FaultyServer:
    """Started by the fixture `server`, or as a process of its own."""

    def __init__(
        self,
        *,
        chance: float = 0.0,
        seed: int = 0,
        faults: Sequence[str] = BY_CHANCE,
        replies: Sequence[str] = ("Sí",),
        latency: float = 0.0,
        per_minute: int | None = None,
        under_way: int | None = None,
        keeps: bool = True,
    ) -> None:
        self.plan: list[str | Canned] = []
        self.refuses: set[str] = set()
        self.names_param = True
        self.chance = chance
        self.seed = seed
        self.faults = faults
        self.replies = replies
        """Texts of good replies; which one is decided by the request's body."""
        self.latency = latency
        self.per_minute = per_minute
        self.under_way = under_way
        self.keeps = keeps
        """Whether bodies, headers and times are kept (not for 100,000 calls)."""
        self.bodies: list[dict[str, object]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.hits = 0
        self.n_over = 0
        """Requests turned away for a limit of the server's own."""
        self.most_seen = 0
        """Most requests under way at once."""
        self.seen: Counter[bytes] = Counter()
        """Digest of a body → how often it came."""
        self.answered: Counter[bytes] = Counter()
        """Digest of a body → how often a good reply to it was sent."""
        self.url = ""
        self._n_under_way = 0
        self._let_in: deque[float] = deque()
        self._good: dict[tuple[str, str], bytes] = {}
        self._runner: web.ServerRunner | None = None
        self._let_go = asyncio.Event()

    @property
    def root(self) -> str:
        """Base URL as Anthropic's clients have it, without "/v1"."""
        return self.url.removesuffix("/v1")

    async def start(self, port: int = 0) -> None:
        self._runner = web.ServerRunner(web.Server(self._answer, access_log=None), shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, backlog=1024)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def stop(self) -> None:
        self._let_go.set()
        if self._runner is not None:
            await self._runner.cleanup()

    def counts(self) -> dict[str, object]:
        """Hits, and by digest of the body: how often it came, and how often a good reply to it was sent."""
        return {
            "hits": self.hits,
            "n_over": self.n_over,
            "most_under_way": self.most_seen,
            "seen": {digest.hex(): n for digest, n in self.seen.items()},
            "answered": {digest.hex(): n for digest, n in self.answered.items()},
        }

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        wire = {"/v1/chat/completions": "openai", "/v1/messages": "anthropic"}.get(request.path)
        if wire is None or request.method != "POST":
            if request.path == "/hits":
                return web.json_response(self.counts())
            return web.Response(status=404, text="no such path")
        body = await request.read()
        digest = hashlib.blake2b(body, digest_size=16).digest()
        self.hits += 1
        self.seen[digest] += 1
        if self.keeps:
            self.bodies.append(json.loads(body))
            self.headers.append(dict(request.headers))
            self.times.append(time())
        if self._is_over():
            self.n_over += 1
            return _respond(REPLIES[wire]["429"])
        self._n_under_way += 1
        self.most_seen = max(self.most_seen, self._n_under_way)
        try:
            if self.latency:
                await asyncio.sleep(self.latency)
            return await self._reply(request, wire, body, digest)
        finally:
            self._n_under_way -= 1

    def _is_over(self) -> bool:
        """Whether a limit of the server's own is met."""
        if self.under_way is not None and self._n_under_way >= self.under_way:
            return True
        if self.per_minute is not None:
            now = monotonic()
            while self._let_in and self._let_in[0] <= now - 60:
                self._let_in.popleft()
            if len(self._let_in) >= self.per_minute:
                return True
            self._let_in.append(now)
        return False

    async def _reply(self, request: web.BaseRequest, wire: str, body: bytes, digest: bytes) -> web.StreamResponse:
        if self.refuses and (refused := self._refused(wire, json.loads(body))) is not None:
            return _respond(refused)
        planned = self.plan.pop(0) if self.plan else self._by_chance(digest)
        if isinstance(planned, Canned):
            return _respond(planned)
        if planned in HANDLED:
            return await self._handle(request, wire, planned)
        if planned == "ok":
            self.answered[digest] += 1
            return self._ok(wire, digest)
        return _respond(REPLIES[wire][planned])

    def _by_chance(self, digest: bytes) -> str:
        if not self.chance:
            return "ok"
        drawn = hashlib.blake2b(b"%d %d %b" % (self.seed, self.seen[digest], digest), digest_size=16).digest()
        if int.from_bytes(drawn[:8], "big") >= self.chance * 2**64:
            return "ok"
        return self.faults[int.from_bytes(drawn[8:], "big") % len(self.faults)]

    def _ok(self, wire: str, digest: bytes) -> web.Response:
        text = self.replies[digest[0] % len(self.replies)]
        sent = self._good.get((wire, text))
        if sent is None:
            reply = choice(text) if wire == "openai" else message(text)
            sent = self._good[wire, text] = json.dumps(reply, ensure_ascii=False).encode()
        return web.Response(body=sent, content_type="application/json")

    def _refused(self, wire: str, body: dict[str, object]) -> Canned | None:
        """The error of a request that holds what this server refuses."""
        messages = body.get("messages")
        has_system = "system" in body or (isinstance(messages, list) and any(m["role"] == "system" for m in messages))
        for name in ("max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "system"):
            if name in self.refuses and (has_system if name == "system" else name in body):
                words, code = WORDS[wire][name]
                if wire == "anthropic":
                    return Canned(400, problem("invalid_request_error", words))
                param = name if self.names_param and name != "system" else None
                return Canned(400, fault(words, "invalid_request_error", code, param))
        return None

    async def _handle(self, request: web.BaseRequest, wire: str, planned: str) -> web.StreamResponse:
        assert request.transport is not None
        match planned:
            case "hang":
                await self._let_go.wait()
            case "cut":
                request.transport.close()
            case "cut body":
                response = web.StreamResponse(headers={"Content-Length": "5000", "Content-Type": "application/json"})
                await response.prepare(request)
                await response.write(b'{"id":')
                request.transport.close()
                return response
            case "429 date":
                late = formatdate(time() + 1.5, usegmt=True)
                return _respond(REPLIES[wire]["429"]._replace(headers={"Retry-After": late}))
        return web.Response()


def _respond(canned: Canned) -> web.Response:
    text = canned.body if isinstance(canned.body, str) else json.dumps(canned.body, ensure_ascii=False)
    return web.Response(
        status=canned.status, body=text.encode(), headers={"Content-Type": "application/json", **canned.headers}
    )


async def _serve(options: argparse.Namespace) -> None:
    server = FaultyServer(
        chance=options.chance,
        seed=options.seed,
        faults=options.faults.split(",") if options.faults else BY_CHANCE,
        replies=options.replies.split(","),
        latency=options.latency,
        per_minute=options.per_minute,
        under_way=options.under_way,
        keeps=False,
    )
    ended = asyncio.Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sign, ended.set)
    await server.start(options.port)
    print(server.url, flush=True)
    await ended.wait()
    if options.hits is not None:
        options.hits.write_text(json.dumps(server.counts()), encoding="utf-8")
    await server.stop()


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="A faulty server for kill tests and soaks; prints its base URL.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--chance", type=float, default=0.0, help="share of requests that get a fault")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--faults", default="", help="names, with commas between; those that another try mends otherwise"
    )
    parser.add_argument("--replies", default="Sí", help="texts of good replies, with commas between")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds each reply takes")
    parser.add_argument("--per-minute", type=int, help="requests let in in any minute")
    parser.add_argument("--under-way", type=int, help="requests let in at once")
    parser.add_argument("--hits", type=Path, help="file for the counts, written at the end")
    asyncio.run(_serve(parser.parse_args(arguments)))


if __name__ == "__main__":
    main(sys.argv[1:])
