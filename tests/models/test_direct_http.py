"""The client every reply comes through: kept connections, every way a reply can end, time limits, TLS."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import ssl
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import trustme

from isogloss.errors import ModelError
from isogloss.models.http import HttpClient, HttpError, direct, reply

OK = b"HTTP/1.1 200 OK\r\n"


class Server:
    """Answers each request with what `answer` gives for its number; None: says nothing more."""

    def __init__(self) -> None:
        self.answer: Callable[[int], bytes | None] = lambda n: OK + b"Content-Length: 2\r\n\r\nok"
        self.closes = False
        self.seconds = 0.0
        self.n_connections = 0
        self.requests: list[bytes] = []
        self.n_gone = 0
        self.url = ""
        self._server: asyncio.Server | None = None

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0, ssl=tls)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"https://localhost:{port}" if tls is not None else f"http://127.0.0.1:{port}"

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.n_connections += 1
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next((line for line in head.lower().split(b"\r\n") if b"content-length" in line), b": 0")
                self.requests.append(head + await reader.readexactly(int(length.split(b":")[1])))
                await asyncio.sleep(self.seconds)
                answer = self.answer(len(self.requests))
                if answer is not None:
                    writer.write(answer)
                    await writer.drain()
                if self.closes:
                    break
        writer.close()
        self.n_gone += 1

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        while self.n_gone < self.n_connections:
            await asyncio.sleep(0.01)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    await made.start()
    yield made
    await made.stop()


@contextlib.asynccontextmanager
async def client_of(url: str, **options: Any) -> AsyncIterator[HttpClient]:
    given: dict[str, Any] = {"max_connections": 2, "connect_timeout": 5, "total_timeout": 5, **options}
    client = HttpClient(url, headers={"Authorization": "Bearer key"}, **given)
    await client.open()
    try:
        yield client
    finally:
        await client.close()


async def test_a_request_says_what_it_must_and_the_connection_is_kept(server: Server) -> None:
    async with client_of(server.url + "/v1") as client:
        for text in (b"{}", b'{"a":"\xc3\xb1"}'):
            got = await client.post("/chat", text)
            assert (got.status, got.body, got.headers["content-length"]) == (200, b"ok", "2")
        assert (await client.get("/models?all=1")).body == b"ok"
    host = server.url.removeprefix("http://").encode()
    assert server.requests[1] == (
        b"POST /v1/chat HTTP/1.1\r\nHost: %b\r\nAccept-Encoding: gzip, deflate\r\n"
        b'Authorization: Bearer key\r\nContent-Length: 10\r\n\r\n{"a":"\xc3\xb1"}' % host
    )
    assert server.requests[2].startswith(b"GET /v1/models?all=1 HTTP/1.1\r\n")
    assert b"Content-Length" not in server.requests[2]
    assert server.n_connections == 1


DEFLATED = zlib.compressobj(wbits=-15)
RAW = DEFLATED.compress(b"Cantuta" * 50) + DEFLATED.flush()


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"Content-Length: 0\r\n\r\n", b""),
        (b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nTrailer: t\r\n\r\n", b"abcdefg"),
        (b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b", gzip.compress(b"a" * 999)),
        (b"Content-Encoding: GZIP\r\nContent-Length: %d\r\n\r\n%b", gzip.compress(b"a" * 99) + gzip.compress(b"b")),
        (b"Content-Encoding: deflate\r\nContent-Length: %d\r\n\r\n%b", zlib.compress(b"Cantuta" * 50)),
        (b"Content-Encoding: deflate\r\nContent-Length: %d\r\n\r\n%b", RAW),
        (b"Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", b""),
        (b"content-encoding: identity\r\ncontent-length: 2\r\n\r\nok", b"ok"),
    ],
    ids=["empty", "chunked", "gzip", "two gzips", "zlib", "raw deflate", "empty gzip", "identity"],
)
async def test_every_form_of_body_is_read_and_the_connection_goes_on(
    server: Server, answer: bytes, body: bytes
) -> None:
    packed = b"%b" in answer
    sent = OK + (answer % (len(body), body) if packed else answer)
    expected = body
    if packed:
        expected = {b"C": b"Cantuta" * 50}.get(b"C" if b"deflate" in answer else b"", b"a" * 999)
        if b"GZIP" in answer:
            expected = b"a" * 99 + b"b"
    server.answer = lambda n: sent
    async with client_of(server.url) as client:
        for _ in range(3):
            assert (await client.post("/", b"{}")).body == expected
    assert server.n_connections == 1


async def test_bytes_that_come_one_by_one_are_one_reply(server: Server) -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\n"
    whole = early + b"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nX: a\r\nX: b\r\nContent-Length: 3\r\n\r\nabc"

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        for k in range(len(whole)):
            writer.write(whole[k : k + 1])
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    slow = await asyncio.start_server(drip, "127.0.0.1", 0)
    async with client_of(f"http://127.0.0.1:{slow.sockets[0].getsockname()[1]}") as client:
        got = await client.post("/", b"{}")
    slow.close()
    assert (got.status, got.body, got.headers["retry-after"], got.headers["x"]) == (429, b"abc", "7", "a, b")


async def test_a_reply_without_a_length_ends_with_the_connection(server: Server) -> None:
    server.answer = lambda n: OK + b"Content-Type: text/html\r\n\r\n<html>"
    server.closes = True
    async with client_of(server.url) as client:
        assert [(await client.post("/", b"{}")).body for _ in range(2)] == [b"<html>"] * 2
    assert server.n_connections == 2


@pytest.mark.parametrize(
    "sent", [b"Connection: close\r\nContent-Length: 2\r\n\r\nok", b"Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
             b"Content-Length: 2\r\n\r\nok and more"],
    ids=["close", "a second reply", "more bytes"],
)  # fmt: skip
async def test_a_connection_is_left_where_it_cannot_be_trusted(server: Server, sent: bytes) -> None:
    server.answer = lambda n: OK + sent
    async with client_of(server.url) as client:
        assert [(await client.post("/", b"{}")).body for _ in range(3)] == [b"ok"] * 3
    assert server.n_connections == 3


async def test_bodiless_replies_and_http_1_0(server: Server) -> None:
    server.answer = lambda n: b"HTTP/1.1 204 No Content\r\n\r\n" if n < 3 else b"HTTP/1.0 200 OK\r\n\r\nold"
    async with client_of(server.url) as client:
        assert [(await client.post("/", b"{}")).status for _ in range(2)] == [204, 204]
        assert server.n_connections == 1
        server.closes = True
        assert (await client.post("/", b"{}")).body == b"old"


@pytest.mark.parametrize(
    ("sent", "kind", "words"),
    [
        (OK + b"Content-Length: 9\r\n\r\n{}", "cut", "closed the connection before a whole reply"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", "cut", "closed the connection before a whole reply"),
        (OK + b"Content-Ty", "cut", "closed the connection before a whole reply"),
        (b"", "cut", "closed the connection before a whole reply"),
        (b"HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "cut", "switched to another protocol"),
        (OK + b"Content-Encoding: br\r\nContent-Length: 2\r\n\r\nok", "cut", "packed as 'br', which wasn't asked for"),
        (OK + b"Content-Encoding: gzip\r\nContent-Length: 9\r\n\r\n" + gzip.compress(b"a")[:9], "cut", "too early"),
    ],
    ids=["short", "chunks cut", "header cut", "nothing", "another protocol", "br", "packed cut"],
)
async def test_a_broken_reply_is_named(server: Server, sent: bytes, kind: str, words: str) -> None:
    server.answer, server.closes = lambda n: sent, True
    async with client_of(server.url) as client:
        with pytest.raises(HttpError, match=words) as caught:
            await client.post("/", b"{}")
        assert caught.value.kind == kind
        server.answer, server.closes = lambda n: OK + b"Content-Length: 2\r\n\r\nok", False
        await asyncio.sleep(0.05)  # the server's goodbye arrives
        assert (await client.post("/", b"{}")).body == b"ok"


async def test_a_late_reply_ends_in_time_and_the_next_call_is_served(server: Server) -> None:
    async with client_of(server.url, total_timeout=0.4) as client:
        for _ in range(3):  # within the limit together longer than it
            server.seconds = 0.2
            assert (await client.post("/", b"{}")).body == b"ok"
        server.seconds = 1.5
        began = asyncio.get_running_loop().time()
        with pytest.raises(HttpError, match=r"no reply within 0\.4 s") as caught:
            await client.post("/", b"{}")
        assert caught.value.kind == "timeout"
        assert 0.35 < asyncio.get_running_loop().time() - began < 2
        server.seconds = 0
        assert (await client.post("/", b"{}")).body == b"ok"


async def test_no_more_connections_than_allowed_and_the_wait_counts(server: Server) -> None:
    server.seconds = 0.15
    async with client_of(server.url, max_connections=2, total_timeout=0.4) as client:
        came = await asyncio.gather(*(client.post("/", b"{}") for _ in range(8)), return_exceptions=True)
    late = [fault for fault in came if isinstance(fault, HttpError)]
    assert 4 <= len(came) - len(late) <= 6
    assert {fault.kind for fault in late} == {"timeout"}
    assert server.n_connections <= 4  # two at once; a late one is closed and made anew


async def test_a_cancelled_call_closes_its_connection_and_frees_its_place(server: Server) -> None:
    server.answer = lambda n: None
    async with client_of(server.url, max_connections=1) as client:
        call = asyncio.create_task(client.post("/", b"{}"))
        await asyncio.sleep(0.1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        server.answer = lambda n: OK + b"Content-Length: 2\r\n\r\nok"
        assert (await client.post("/", b"{}")).body == b"ok"
        assert (server.n_connections, server.n_gone) == (2, 1)


async def test_connections_that_idled_or_were_closed_are_not_used(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with client_of(server.url) as client:
        await client.post("/", b"{}")
        monkeypatch.setattr(direct, "IDLE_SECONDS", 0.0)
        await client.post("/", b"{}")
        assert server.n_connections == 2
        monkeypatch.setattr(direct, "IDLE_SECONDS", 15.0)
        server.closes = True
        await client.post("/", b"{}")
        await asyncio.sleep(0.05)  # the server's goodbye arrives
        await client.post("/", b"{}")
        assert server.n_connections == 3


async def test_closing_ends_what_is_under_way(server: Server) -> None:
    server.answer = lambda n: None
    async with client_of(server.url) as client:
        call = asyncio.create_task(client.post("/", b"{}"))
        await asyncio.sleep(0.1)
    with pytest.raises(HttpError, match="closed"):
        await call
    with pytest.raises(ModelError, match=r"isn't open; call open\(\) first"):
        await client.post("/", b"{}")


async def test_nobody_there(unused_tcp_port: int) -> None:
    for host in ("127.0.0.1", "localhost", "nowhere.invalid"):
        async with client_of(f"http://{host}:{unused_tcp_port}") as client:
            with pytest.raises(HttpError) as caught:
                await client.post("/", b"{}")
            assert caught.value.kind == "connect"
            assert str(caught.value)


async def test_a_megabyte_each_way(server: Server) -> None:
    text = b"x" * 3_000_000
    server.answer = lambda n: OK + b"Content-Length: %d\r\n\r\n%b" % (len(text), text)
    async with client_of(server.url) as client:
        assert (await client.post("/", text)).body == text
    assert server.requests[0].endswith(text)


async def test_a_header_never_ends_its_line() -> None:
    client = HttpClient(
        "http://127.0.0.1:1", headers={"X": "sk-1\r\nY: 2"}, max_connections=1, connect_timeout=1, total_timeout=1
    )
    with pytest.raises(ValueError, match=r"^the header X has a line break or a zero in it$"):
        await client.open()


# --- TLS --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loop_kind", ["asyncio", "uvloop"])
def test_tls_is_spoken_and_certificates_are_checked(
    loop_kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    authority = trustme.CA()
    trusted = tmp_path / "trusted.pem"
    authority.cert_pem.write_to_path(str(trusted))
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(ours)

    async def both() -> None:
        server = Server()
        await server.start(ours)
        async with client_of(server.url) as client:
            with pytest.raises(HttpError, match="certificate verify failed") as caught:
                await client.post("/", b"{}")
            assert caught.value.kind == "connect"
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        async with client_of(server.url) as client:
            assert [(await client.post("/", b"{}")).body for _ in range(3)] == [b"ok"] * 3
        async with client_of(server.url.replace("localhost", "127.0.0.1")) as client:
            with pytest.raises(HttpError, match="certificate"):
                await client.post("/", b"{}")
        assert server.requests[0].startswith(b"POST / HTTP/1.1\r\nHost: localhost:")
        await server.stop()

    if loop_kind == "uvloop":
        uvloop = pytest.importorskip("uvloop")
        uvloop.run(both())
    else:
        asyncio.run(both())


def test_limits_are_what_the_page_says() -> None:
    assert (reply.MOST_BYTES, direct.IDLE_SECONDS, direct.MOST_HEADER_BYTES) == (64_000_000, 15.0, 65_536)
