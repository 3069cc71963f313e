"""Replies as no server should send them: what was paid counts, no key gets through, nothing breaks the asking."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.errors import ModelError
from isogloss.models.anthropic_wire import ANTHROPIC
from isogloss.models.chat import ChatModel, Endpoint
from isogloss.models.faults import PassingError, clean, read_words
from isogloss.models.http import HttpClient, HttpError
from isogloss.models.http import reply as http_reply
from isogloss.models.model import CalledOffError
from isogloss.models.openai_wire import OPENAI
from isogloss.models.outcome import InnerError, usage_in
from isogloss.models.retry import RetryPolicy
from isogloss.models.usage import MOST_TOKENS, Usage
from isogloss.records import Message, Prompt, Response, Sampling, Status

GREEDY = Sampling(max_tokens=5)
KEY = "secret-key-123456"
PROMPT = Prompt.make([Message(role="user", content="¿Usa usted «coche»?")])


def canned(server: Any, body: object, status: int = 200, **headers: str) -> Any:
    """A reply to be planned."""
    return type(server)._reply.__globals__["Canned"](status, body, headers)


def reply(speaks: str, text: str | None = "Sí", usage: object = None, finish: str | None = "stop", **more: Any) -> Any:
    """The body of a reply; a usage of three numbers is input, output and those read from a cache."""
    if isinstance(usage, tuple):
        n_input, n_output, n_cached = usage
        if speaks == "openai":
            usage = {"prompt_tokens": n_input, "completion_tokens": n_output}
            usage["prompt_tokens_details"] = {"cached_tokens": n_cached}
        else:
            usage = {"input_tokens": n_input - n_cached, "output_tokens": n_output, "cache_read_input_tokens": n_cached}
    if speaks == "openai":
        return {
            "choices": [{"message": {"content": text}, "finish_reason": finish}], "model": "m", "usage": usage, **more
        }  # fmt: skip
    content = None if text is None else [{"type": "text", "text": text}]
    stop = "end_turn" if finish == "stop" else None if finish == "error" else finish
    return {"content": content, "stop_reason": stop, "model": "m", "usage": usage, **more}


def tokens(response: Response) -> tuple[int | None, ...]:
    return response.input_tokens, response.cached_tokens, response.output_tokens


# --- what was paid ----------------------------------------------------------------------------------------------------

PAID = (1000, 100, 30)


@pytest.mark.parametrize(
    "broken",
    [
        lambda speaks: (200, reply(speaks, None, PAID)),
        lambda speaks: (200, reply(speaks, "S", PAID, "error")),
        lambda speaks: (200, reply(speaks, None, PAID, "error")),
        lambda speaks: (200, reply(speaks, "S", PAID, error={"message": "upstream is tired", "code": 502})),
        lambda speaks: (200, {**reply(speaks, "S", PAID), "choices": "none", "content": "none"}),
        lambda speaks: (200, {"message": "upstream is tired", "usage": reply(speaks, "S", PAID)["usage"]}),
        lambda speaks: (500, {"error": {"message": "tired"}, "usage": reply(speaks, "S", PAID)["usage"]}),
    ],
    ids=["null content", "broke off", "nothing at all", "error beside", "other shape", "bare message", "500"],
)
async def test_tokens_of_tries_that_came_to_nothing_are_in_the_calls(
    server: Any, connect: Any, wire: str, broken: Callable[[str], tuple[int, Any]]
) -> None:
    status, body = broken(wire)
    server.plan = [canned(server, body, status)] * 2 + [canned(server, reply(wire, "Sí", (24, 1, 8)))]
    response = await (await connect(wire)).ask(PROMPT, GREEDY, 1)
    assert (response.status, response.text, response.n_tries) == (Status.OK, "Sí", 3)
    assert tokens(response) == (2024, 68, 201)

    server.plan = [canned(server, body, status)] * 4
    failed = await (await connect(wire)).ask(PROMPT, GREEDY, 1)
    assert (failed.status, failed.passing, failed.n_tries) == (Status.FAILED, True, 4)
    assert tokens(failed) == (4000, 120, 400)


async def test_tries_without_counts_add_nothing(server: Any, connect: Any, wire: str) -> None:
    server.plan = ["500", "cut", canned(server, reply(wire, None, PAID)), "500"]
    response = await (await connect(wire)).ask(PROMPT, GREEDY, 1)
    assert (response.status, tokens(response)) == (Status.FAILED, (1000, 30, 100))


async def test_a_reply_without_counts_leaves_unknown_what_the_call_took(server: Any, connect: Any, wire: str) -> None:
    server.plan = [canned(server, reply(wire, None, PAID)), canned(server, reply(wire))]
    response = await (await connect(wire)).ask(PROMPT, GREEDY, 1)
    assert (response.status, tokens(response)) == (Status.OK, (1000, 30, None))


async def test_a_lasting_fault_after_a_paid_try_keeps_its_tokens(server: Any, connect: Any, wire: str) -> None:
    server.plan = [canned(server, reply(wire, None, PAID)), "too long"]
    response = await (await connect(wire)).ask(PROMPT, GREEDY, 1)
    assert (response.status, response.passing, tokens(response)) == (Status.FAILED, False, (1000, 30, 100))


@pytest.mark.parametrize(
    ("speaks", "usage", "told"),
    [
        ("openai", {"prompt_tokens": 24}, (24, None, None)),
        ("openai", {"completion_tokens": 1}, (None, None, 1)),
        ("anthropic", {"input_tokens": 24}, (24, None, None)),
        ("anthropic", {"output_tokens": 1, "cache_read_input_tokens": 3}, (None, None, 1)),
    ],
)
async def test_half_a_usage_leaves_the_other_half_unknown(
    server: Any, connect: Any, speaks: str, usage: dict[str, int], told: tuple[int | None, ...]
) -> None:
    server.plan = [canned(server, reply(speaks, "Sí", usage))]
    assert tokens(await (await connect(speaks)).ask(PROMPT, GREEDY, 1)) == told
    server.plan = [canned(server, reply(speaks, None, usage))] * 2 + [canned(server, reply(speaks, "Sí", (24, 1, 0)))]
    doubled = await (await connect(speaks)).ask(PROMPT, GREEDY, 1)
    assert (doubled.input_tokens is None, doubled.output_tokens is None) == (told[0] is None, told[2] is None)


@pytest.mark.parametrize("count", [-1, 2**40 + 1, 2**53 + 1, 2**63, 10**30, 1.5, 24.0, "24", True, None, [], 1e300])
async def test_a_count_that_cannot_be_is_none(server: Any, connect: Any, wire: str, count: object) -> None:
    names = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "cache_read_input_tokens")
    server.plan = [canned(server, reply(wire, "Sí", dict.fromkeys(names, count)))]
    response = await (await connect(wire)).ask(PROMPT, GREEDY, 1)
    assert (response.status, tokens(response)) == (Status.OK, (None, None, None))


def test_the_largest_counts_of_the_most_tries_can_be_stored() -> None:
    total = Usage(3 * MOST_TOKENS, MOST_TOKENS, MOST_TOKENS)
    for _ in range(99):
        total = total.plus(Usage(3 * MOST_TOKENS, MOST_TOKENS, MOST_TOKENS))
    assert max(total.input_tokens or 0, total.output_tokens or 0) < 2**53


async def test_a_paid_call_that_is_called_off_between_tries_is_kept(server: Any, connect: Any, wire: str) -> None:
    for planned, is_kept in ((canned(server, reply(wire, None, PAID)), True), ("500", False)):
        server.plan, server.hits = [planned] * 9, 0
        model = await connect(wire, first_wait=60.0)
        call = asyncio.create_task(model.ask(PROMPT, GREEDY, 1))
        while not server.hits:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        model.call_off()
        if is_kept:
            response = await call
            assert (response.status, response.passing, tokens(response)) == (Status.FAILED, True, (1000, 30, 100))
            assert response.error == "called off between two tries"
        else:
            with pytest.raises(CalledOffError):
                await call


# --- faults that may pass, and waits ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("planned", "passing"), [("500", True), ("cut", True), ("too long", False), ("tool call", False)]
)
async def test_a_failed_call_says_whether_another_may_do(
    server: Any, connect: Any, wire: str, planned: str, passing: bool
) -> None:
    server.plan = [planned]
    response = await (await connect(wire, tries=1)).ask(PROMPT, GREEDY, 1)
    assert (response.status, response.n_tries, response.passing) == (Status.FAILED, 1, passing)
    assert "passing" not in response.model_dump()


async def test_a_wait_that_is_too_long_is_in_the_words(server: Any, connect: Any, wire: str) -> None:
    server.plan = [canned(server, {"error": {"message": "x" * 999}}, 429, **{"Retry-After": "3600"})]
    response = await (await connect(wire)).ask(PROMPT, GREEDY, 1)
    assert (response.status, response.n_tries, response.passing) == (Status.FAILED, 1, True)
    assert (response.error or "").startswith("HTTP 429: xxx")
    assert (response.error or "").endswith("x…; asks to wait 3600 s")


@pytest.mark.parametrize(
    ("wait", "words"),
    [
        ("9" * 400, "asks to wait 31536000 s"),
        ("Fri, 31 Dec 9999 23:59:59 GMT", "asks to wait 31536000 s"),
        ("Mon, 32 Foo 99999 25:61:61 +9999", "tired"),
        ("Tue, 14 Nov 2023 22:13:20 +99999999999", "tired"),
        *(
            (wait, "tired")
            for wait in ("nan", "inf", "-5", "1e400", "", ",", "0001", "Mon", "Sat, 00 Jan 0000 00:00:00")
        ),
    ],
)
async def test_no_retry_after_breaks_a_call(server: Any, connect: Any, wire: str, wait: str, words: str) -> None:
    server.plan = [canned(server, {"error": {"message": "tired"}}, 503, **{"Retry-After": wait})] * 4
    response = await (await connect(wire, tries=1)).ask(PROMPT, GREEDY, 1)
    assert (response.status, response.passing) == (Status.FAILED, True)
    assert words in (response.error or "")


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_before", range(270, 305))
async def test_no_part_of_a_key_is_left_where_the_words_are_cut(connect: Any, wire: str, n_before: int) -> None:
    model = await connect(wire)
    for words in (f"{'x' * n_before}{KEY} and more", f"{'x ' * (n_before // 2)}\n{KEY}", "x" * n_before + KEY * 200):
        for body in (msgspec.json.encode({"error": {"message": words}}), words.encode()):
            with pytest.raises(PassingError) as caught:
                model.read_result(500, {}, body)
            outcome = model.read_result(400, {}, body)
            for shown in (caught.value.words, outcome.error or ""):
                assert "secret" not in shown
                assert "123" not in shown
                assert len(shown) <= 310


@pytest.mark.parametrize(
    "key", [KEY, "se/cret+key=1234/56", 'quo"ted\\key-123456', "k" * 200, "abc def ghi 12345"], ids=range(5)
)
def test_a_key_is_found_however_it_is_written(key: str) -> None:
    half = len(key) // 2
    for text in (key, json.dumps(key)[1:-1], key.replace("/", r"\/"), f"{key[:half]}\n  {key[half:]}", key + key):
        assert key[:half] not in clean(f"word {text} word", (key,))
    from urllib.parse import quote

    assert clean(f"at ?key={quote(key, safe='')}&x", (key,)) == "at ?key=[key]&x"
    assert clean(f"the key {key[: max(9, half)]}", (key,)) == "the key [key]"


@pytest.mark.parametrize("escaped", [False, True])
async def test_a_key_that_comes_back_in_a_reply_is_hidden(server: Any, connect: Any, wire: str, escaped: bool) -> None:
    said = f"Sí {KEY} no"
    if wire == "openai":
        body = reply(wire, said, (24, 1, 0), system_fingerprint=KEY)
        body["choices"][0]["message"]["reasoning_content"] = said
    else:
        body = reply(wire, said, (24, 1, 0))
        body["content"].insert(0, {"type": "thinking", "thinking": said})
    text = json.dumps({**body, "model": f"m-{KEY}"})
    server.plan = [canned(server, text.replace("secret", r"\u0073ecret") if escaped else text)]
    response = await (await connect(wire)).ask(PROMPT, GREEDY, 1)
    assert (response.status, response.text, response.reasoning) == (Status.OK, "Sí [key] no", "Sí [key] no")
    assert response.revision == ("m-[key] [key]" if wire == "openai" else "m-[key]")
    assert KEY not in response.model_dump_json()


@pytest.mark.parametrize("escaped", [False, True])
async def test_a_key_in_a_reason_or_a_refusal_is_hidden(server: Any, connect: Any, wire: str, escaped: bool) -> None:
    bodies = [reply(wire, "Sí", None, f"because {KEY}")]
    if wire == "openai":
        bodies.append(reply(wire, None))
        bodies[-1]["choices"][0]["message"]["refusal"] = f"No with {KEY}"
        bodies.append({"choices": [], "promptFeedback": {"why": KEY}})
    for body in bodies:
        text = json.dumps(body)
        server.plan = [canned(server, text.replace("secret", r"\u0073ecret") if escaped else text)]
        response = await (await connect(wire)).ask(PROMPT, GREEDY, 1)
        assert "[key]" in response.model_dump_json()
        assert KEY not in response.model_dump_json()


async def test_what_only_looks_like_a_key_stays_in_a_reply(server: Any, connect: Any, wire: str) -> None:
    said = "El ejemplo sk-abcdefghijkl es ***falso***.\n"
    server.plan = [canned(server, reply(wire, said))]
    assert (await (await connect(wire)).ask(PROMPT, GREEDY, 1)).text == said


@pytest.mark.parametrize("key", ["k", "S", "EMPTY"])
async def test_what_a_server_without_keys_is_given_may_be_a_word_of_the_reply(
    server: Any, connect: Any, wire: str, key: str
) -> None:
    said = f"kilo S EMPTY {key}\n"
    server.plan = [canned(server, reply(wire, said))]
    assert (await (await connect(wire, key=key)).ask(PROMPT, GREEDY, 1)).text == said


@pytest.mark.parametrize("key", ["finish_reason", "completion_tokens", "assistant", "end_turn"])
async def test_a_key_that_is_a_word_of_the_format_breaks_nothing(
    server: Any, connect: Any, wire: str, key: str
) -> None:
    server.plan = [canned(server, reply(wire, "Sí", (24, 1, 0)))]
    response = await (await connect(wire, key=key)).ask(PROMPT, GREEDY, 1)
    assert (response.status, response.text, tokens(response)) == (Status.OK, "Sí", (24, 0, 1))


# --- what isn't HTTP, has no end, or is no JSON -----------------------------------------------------------------------

Raw = Callable[..., Awaitable[str]]


@pytest.fixture
async def raw() -> AsyncIterator[Raw]:
    """raw(head, piece) → address of a server that sends some bytes to everybody, and then a piece without end."""
    servers: list[asyncio.Server] = []

    async def make(head: bytes, piece: bytes = b"") -> str:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                await reader.read(100_000)
                writer.write(head)
                await writer.drain()
                while piece:
                    writer.write(piece)
                    await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        servers.append(server)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    yield make
    for server in servers:
        server.close()


async def model_at(url: str, **options: Any) -> ChatModel:
    model = ChatModel(
        "openai/m", wire=OPENAI, model_id="m", endpoint=Endpoint(url, KEY, **options),
        timeout=20, policy=RetryPolicy(tries=2, first_wait=0.001),
    )  # fmt: skip
    await model.open()
    return model


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"hello", "not HTTP as it should be: Expected HTTP/"),
        (b"\x16\x03\x01\x00'\"", "not HTTP as it should be: Expected HTTP/"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nfoo\r\n0\r\n\r\n",
            "Invalid character in chunk size",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}", "Invalid character in Content-Length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}", "closed the connection before a whole reply"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 90_000, "longer than 65,536 bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 7\r\n\r\nnotgzip", "can't be unpacked"),
        (b"HTTP/1.1 200 OK\r\nA: " + KEY.encode() + b"\x00\r\n\r\n", ""),
        (b"", "closed the connection before a whole reply"),
    ],
    ids=["hello", "tls", "chunk", "negative", "short", "long header", "gzip", "key", "nothing"],
)
async def test_what_is_no_http_is_one_plain_line(raw: Raw, sent: bytes, words: str) -> None:
    model = await model_at(await raw(sent))
    response = await model.ask(PROMPT, GREEDY, 1)
    await model.close()
    error = response.error or ""
    assert (response.status, response.passing) == (Status.FAILED, True)
    assert words in error
    assert error
    assert error.isprintable()
    assert not {"b'", 'b"', "^", "secret"} & {part for part in ("b'", 'b"', "^", "secret") if part in error}


@pytest.mark.parametrize("status", [200, 500])
async def test_a_body_without_end_is_left_at_a_limit(raw: Raw, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setattr(http_reply, "MOST_BYTES", 2_000_000)
    url = await raw(b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\n\r\n" % status, b"a" * 65_536)
    model = await model_at(url)
    response = await model.ask(PROMPT, GREEDY, 1)
    await model.close()
    assert (response.status, response.n_tries, response.passing) == (Status.FAILED, 1, False)
    assert response.error == "the reply is longer than 2 MB"


def test_the_limit_is_64_megabytes() -> None:
    assert http_reply.MOST_BYTES == 64_000_000


async def test_a_small_packed_body_is_not_unpacked_beyond_the_limit(raw: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    monkeypatch.setattr(http_reply, "MOST_BYTES", 2_000_000)
    packed = gzip.compress(b" " * 8_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    model = await model_at(await raw(head + packed))
    assert (await model.ask(PROMPT, GREEDY, 1)).error == "the reply is longer than 2 MB"
    await model.close()


async def test_a_file_may_be_longer_than_a_reply(raw: Raw, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(http_reply, "MOST_BYTES", 1000)
    body = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + b"a" * 5000
    client = HttpClient(await raw(body), headers={}, max_connections=1, connect_timeout=5, total_timeout=5)
    await client.open()
    with (tmp_path / "file").open("wb") as file:
        await client.download("/x", file)
    with pytest.raises(HttpError, match="longer than"):
        await client.get("/x")
    await client.close()
    assert (tmp_path / "file").stat().st_size == 5000


DEEP = b"[" * 100_000


@pytest.mark.parametrize("wire_format", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
@pytest.mark.parametrize(
    "body",
    [
        b'{"usage":' + DEEP, b'{"error":' + DEEP, b'{"message":' + DEEP, b'{"message":"S\xed"}',
        b'{"detail":"\\ud800"}',
        b'{"choices":[],"promptFeedback":{"a":NaN,"b":"\xed"}}', b'{"usage":' + b"9" * 5000 + b"}",
        b'{"error":{"message":"x","code":' + b"9" * 40 + b"}}", b'{"content":null,"usage":' + b"9" * 40 + b"}",
    ],
)  # fmt: skip
def test_no_body_breaks_the_reading(wire_format: Any, body: bytes) -> None:
    with contextlib.suppress(PassingError, InnerError):
        wire_format.read(body)
    assert read_words(body).message is not None
    assert wire_format.usage(usage_in(body)) == Usage()


@given(st.binary(max_size=60), st.sampled_from([b'{"choices":[],"usage":%b}', b'{"message":"%b"}', b"%b"]))
def test_no_bytes_break_the_reading(inside: bytes, frame: bytes) -> None:
    body = frame % inside
    for wire_format in (OPENAI, ANTHROPIC):
        with contextlib.suppress(PassingError, InnerError):
            wire_format.read(body)
        wire_format.usage(usage_in(body))


# --- proxies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["http://models.example/v1", "https://models.example/v1"])
async def test_a_proxy_that_cannot_be_reached_is_named_without_its_password(url: str, unused_tcp_port: int) -> None:
    model = await model_at(url, proxy=f"http://me:pa%2Fss-word@127.0.0.1:{unused_tcp_port}")
    with pytest.raises(ModelError) as caught:
        await model.ask(PROMPT, GREEDY, 1)
    await model.close()
    line = str(caught.value)
    assert f"no connection to {url} through the proxy http://127.0.0.1:{unused_tcp_port} (" in line
    assert "is the proxy right" in line
    assert "server running" not in line
    assert not {word for word in ("pa/ss", "pa%2Fss", "me:") if word in line}


class Proxy:
    """A proxy that keeps the heads it is sent, answers plain requests itself, and lets nothing through."""

    def __init__(self) -> None:
        self.heads: list[str] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        body = json.dumps(reply("openai", "Sí")).encode()
        status = b"502 Bad" if head.startswith("CONNECT") else b"200 OK"
        writer.write(b"HTTP/1.1 %b\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body))
        await writer.drain()
        writer.close()


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("user", ["", "me:pa%2Fss@"])
async def test_a_proxy_gets_its_own_password_and_never_the_key_of_a_tunnel(scheme: str, user: str) -> None:
    proxy = Proxy()
    server = await asyncio.start_server(proxy.answer, "127.0.0.1", 0)
    address = f"http://{user}127.0.0.1:{server.sockets[0].getsockname()[1]}"
    model = await model_at(f"{scheme}://models.example/v1", proxy=address)
    if scheme == "http":
        assert (await model.ask(PROMPT, GREEDY, 1)).status is Status.OK
    else:
        with pytest.raises(ModelError, match="through the proxy"):
            await model.ask(PROMPT, GREEDY, 1)
    await model.close()
    server.close()
    head = proxy.heads[0]
    assert (f"Proxy-Authorization: Basic {base64.b64encode(b'me:pa/ss').decode()}" in head) == bool(user)
    assert (KEY in head) == (scheme == "http")
    assert head.startswith("POST http://models.example/v1/" if scheme == "http" else "CONNECT models.example:443")


async def test_a_proxy_that_wants_a_password_says_so(raw: Raw) -> None:
    refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    proxy = await raw(refusal)
    for url, words in (
        ("http://models.example/v1", "the proxy wants a user and password"),
        ("https://models.example/v1", "through the proxy"),
    ):
        model = await model_at(url, proxy=proxy)
        with pytest.raises(ModelError, match=words):
            await model.ask(PROMPT, GREEDY, 1)
        await model.close()
