"""Calls straight over asyncio's transports: HTTP/1.1 on kept connections, read by httptools (llhttp, Node's parser).

The way of every single reply, so it is lean: one write and one read a call, no clock of its own for each, no
redirects, no cookies. What needs more than that goes through aiohttp.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import zlib
from collections.abc import Mapping
from typing import cast

import aiohappyeyeballs
import httptools
from yarl import URL

from isogloss.models.http import reply as limits
from isogloss.models.http.reply import HttpError, HttpReply, too_long, too_slow

IDLE_SECONDS = 15.0
"""A connection unused for longer isn't trusted: servers close such ones, and a request may cross with that."""
MOST_HEADER_BYTES = 65_536
_FIRST_ADDRESS_SECONDS = 0.25
"""Before the next address of the same name is tried besides (RFC 8305)."""
_BODILESS = frozenset({204, 304})


class Connections:
    """Kept connections to one server; see `HttpClient` for the parameters."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        max_connections: int,
        connect_timeout: float,
        total_timeout: float,
    ) -> None:
        self._base_url = base_url
        url = URL(base_url)
        self._host, self._port = url.raw_host or "", url.port or 0
        self._tls = _tls() if url.scheme == "https" else None
        self._lines = _lines({"Host": url.host_port_subcomponent or "", "Accept-Encoding": "gzip, deflate", **headers})
        self._heads: dict[tuple[str, str], bytes] = {}
        self._places = asyncio.Semaphore(max_connections)
        self._connect_timeout = connect_timeout
        self._total_timeout = total_timeout
        self._loop = asyncio.get_running_loop()
        self._idle: list[_Connection] = []
        """The one used last is taken first."""
        self._all: set[_Connection] = set()
        self._is_closed = False

    async def call(self, method: str, path: str, body: bytes | None) -> HttpReply:
        """Send a request, read the whole reply. Raises HttpError."""
        deadline = self._loop.time() + self._total_timeout
        places = self._places
        if places.locked():
            await self._wait_for_a_place(deadline)
        else:
            await places.acquire()  # at once
        try:
            connection = self._kept() or await self._connect(deadline)
            try:
                return await connection.exchange(self._request(method, path, body), deadline)
            except asyncio.CancelledError:
                connection.drop()
                raise
            finally:
                if connection.is_usable:
                    self._idle.append(connection)
        finally:
            places.release()

    async def close(self) -> None:
        """Close all connections; calls under way end with HttpError."""
        self._is_closed = True
        for connection in tuple(self._all):
            connection.drop()
        self._idle.clear()
        await asyncio.sleep(0)  # the loop lets go of their sockets

    async def _wait_for_a_place(self, deadline: float) -> None:
        try:
            async with asyncio.timeout_at(deadline):
                await self._places.acquire()
        except TimeoutError:
            raise too_slow(self._total_timeout) from None

    def _kept(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable and self._loop.time() - connection.used_at < IDLE_SECONDS:
                return connection
            connection.drop()
        return None

    async def _connect(self, deadline: float) -> _Connection:
        within = min(self._loop.time() + self._connect_timeout, deadline)
        try:
            async with asyncio.timeout_at(within):
                addresses = await self._loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
                line = await aiohappyeyeballs.start_connection(
                    addresses, happy_eyeballs_delay=_FIRST_ADDRESS_SECONDS, loop=self._loop
                )
                _, connection = await self._loop.create_connection(
                    lambda: _Connection(self._loop, self._all, self._total_timeout),
                    sock=line,
                    ssl=self._tls,
                    server_hostname=self._host if self._tls is not None else None,
                )
        except TimeoutError:
            raise HttpError("connect", "no connection within the time limit") from None
        except (OSError, UnicodeError) as error:
            raise HttpError("connect", _why(error)) from None
        if self._is_closed:
            connection.drop()
        return connection

    def _request(self, method: str, path: str, body: bytes | None) -> bytes:
        head = self._heads.get((method, path))
        if head is None:
            target = URL(self._base_url + path).raw_path_qs
            head = self._heads[method, path] = f"{method} {target} HTTP/1.1\r\n".encode("ascii") + self._lines
        if body is None:
            return head + b"\r\n"
        return b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)


class _Connection(asyncio.Protocol):
    """One connection, with at most one call on it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, among: set[_Connection], total_timeout: float) -> None:
        self._loop = loop
        self._among = among
        self._total_timeout = total_timeout
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._awaited: asyncio.Future[HttpReply] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self.used_at = 0.0
        """Loop time at which the last reply was whole."""
        self._forget()

    def _forget(self) -> None:
        self._status = 0
        self._headers: dict[str, str] = {}
        self._pieces: list[bytes] = []
        self._n_bytes = 0
        self._n_header_bytes = 0
        self._in_body = self._is_whole = self._has_more = False
        self._keep = False

    @property
    def is_usable(self) -> bool:
        """Whether a call may go out on it."""
        return self._transport is not None and self._awaited is None

    async def exchange(self, request: bytes, deadline: float) -> HttpReply:
        """Send a request and wait for its whole reply, until a time of the loop's clock. Raises HttpError."""
        if self._transport is None:
            raise HttpError("cut", "the connection was closed")
        awaited: asyncio.Future[HttpReply] = self._loop.create_future()
        self._awaited = awaited
        self._deadline = deadline
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._look_at_clock)
        self._transport.write(request)
        return await awaited

    def drop(self) -> None:
        """Close it at once."""
        self._end(HttpError("cut", "the connection was closed"))

    def _look_at_clock(self) -> None:
        """End a call that is late. One timer serves many calls: it is set anew only when it has run out."""
        self._timer = None
        if self._awaited is None:
            return
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._look_at_clock)
        else:
            self._end(too_slow(self._total_timeout))

    def _end(self, fault: HttpError) -> None:
        """No further call on this connection; the one under way comes to this fault."""
        transport, self._transport = self._transport, None
        awaited, self._awaited = self._awaited, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._among.discard(self)
        if transport is not None:
            transport.abort()
        if awaited is not None and not awaited.done():
            awaited.set_exception(fault)

    # --- called by the loop -------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._among.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        words = "the server closed the connection before a whole reply" if exc is None else _why(exc)
        self._end(HttpError("cut", words))

    def eof_received(self) -> None:
        if self._in_body and self._awaited is not None and not self._has_end():
            self._is_whole = True
            self._deliver()

    def data_received(self, data: bytes) -> None:
        if self._awaited is None:  # nothing was asked
            self.drop()
            return
        if not self._in_body:
            self._n_header_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._end(HttpError("cut", "the server switched to another protocol"))
        except httptools.HttpParserError as error:
            if not self._is_whole:
                self._end(HttpError("cut", f"not HTTP as it should be: {_why(error)}"))
                return
            self._has_more = True
        if self._n_bytes > limits.MOST_BYTES:
            self._end(too_long())
        elif self._is_whole:
            self._deliver()
        elif not self._in_body and self._n_header_bytes > MOST_HEADER_BYTES:
            self._end(HttpError("cut", f"the header of the reply is longer than {MOST_HEADER_BYTES:,} bytes"))

    # --- called by the parser -----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._has_more = self._is_whole

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_whole:
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        if not self._is_whole:
            self._status = self._parser.get_status_code()
            self._in_body = self._status >= 200

    def on_body(self, body: bytes) -> None:
        if not self._is_whole:
            self._pieces.append(body)
            self._n_bytes += len(body)

    def on_message_complete(self) -> None:
        if self._status < 200:  # "continue" and the like: the reply is still to come
            self._headers.clear()
        elif not self._is_whole:
            self._is_whole = True
            self._keep = self._parser.should_keep_alive()

    # ------------------------------------------------------------------------------------------------------------------

    def _has_end(self) -> bool:
        """Whether the reply says itself where it ends; otherwise it does with the connection."""
        coding = self._headers.get("transfer-encoding")
        if coding is not None:
            return coding.lower().endswith("chunked")
        return "content-length" in self._headers or self._status in _BODILESS

    def _deliver(self) -> None:
        """Hand over a whole reply, and be ready for the next call or closed."""
        awaited = self._awaited
        assert awaited is not None
        status, headers, pieces = self._status, self._headers, self._pieces
        self._awaited = None
        self.used_at = self._loop.time()
        if not self._keep or self._has_more:
            self.drop()
        self._forget()
        if awaited.done():
            return
        try:
            body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            if "content-encoding" in headers:
                body = _unpacked(body, headers["content-encoding"])
        except HttpError as fault:
            awaited.set_exception(fault)
        else:
            awaited.set_result(HttpReply(status, headers, body))


def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(("http/1.1",))
    return context


def _lines(headers: Mapping[str, str]) -> bytes:
    """Header lines. Raises ValueError for a value that would end its line; it isn't shown, it may be a key."""
    for name, value in headers.items():
        if any(character in value for character in "\r\n\0"):
            raise ValueError(f"the header {name} has a line break or a zero in it")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("utf-8")


def _unpacked(body: bytes, encodings: str) -> bytes:
    """A body as it was before it was packed. Raises HttpError."""
    for encoding in reversed([name.strip().lower() for name in encodings.split(",")]):
        if encoding in ("gzip", "x-gzip", "deflate"):
            body = _inflated(body)
        elif encoding not in ("", "identity"):
            raise HttpError("cut", f"the reply is packed as {encoding!r}, which wasn't asked for")
    return body


def _inflated(body: bytes) -> bytes:
    pieces, left = [], limits.MOST_BYTES + 1
    while body and left > 0:
        raw = body[0] & 0x0F != 8 and body[:2] != b"\x1f\x8b"  # "deflate" comes with and without its wrapping
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS if raw else zlib.MAX_WBITS | 32)
        try:
            pieces.append(unpacker.decompress(body, left))
        except zlib.error as error:
            raise HttpError("cut", f"the reply can't be unpacked: {' '.join(str(error).split())}") from None
        left -= len(pieces[-1])
        if left <= 0:
            raise too_long()
        if not unpacker.eof:
            raise HttpError("cut", "the packed reply ends too early")
        body = unpacker.unused_data
    return b"".join(pieces)


def _why(error: Exception) -> str:
    """What an error of the system's or the parser's says in one line, without the bytes it points at."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__
