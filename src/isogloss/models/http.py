"""The one file that knows the HTTP client. A faster one that can be trusted as much may take its place here.

Everything above asks for `post(path, body) -> HttpReply` and gets `HttpError` where no whole reply came.
The good path is lean: no per-call timeout object, no cookie jar, no redirects, no look at the process environment.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, BinaryIO, Literal, NamedTuple

import aiohttp
from aiohttp.payload import Payload
from yarl import URL

from isogloss.errors import ModelError

FaultKind = Literal["connect", "timeout", "cut", "long"]

MOST_BYTES = 64_000_000
"""Of one reply, unpacked; a file that goes to the disk may be longer."""

LONG_TRANSFER = 3600.0
"""Seconds that a large file may take."""


class HttpReply(NamedTuple):
    """A whole reply, whatever its status code."""

    status: int
    headers: Mapping[str, str]
    """Names are found in any case."""
    body: bytes


class HttpError(Exception):
    """No whole reply came.

    `kind` is "connect" (nothing was sent), "timeout" (no end within the time), "cut" (the connection broke,
    or what came isn't HTTP) or "long" (more came than is read). The text is one line and never holds a header.
    """

    def __init__(self, kind: FaultKind, words: str) -> None:
        super().__init__(words)
        self.kind = kind


class HttpClient:
    """One session to one server: kept connections, a limit on them, a time limit on each call.

    Parameters
    ----------
    base_url : str
        Joined with the path of each call, as text.
    headers : mapping
        Sent with every call (the key among them; they are shown nowhere).
    max_connections : int
        How many calls may be under way; further ones wait in line.
    connect_timeout, total_timeout : float
        Seconds to open a connection, and for a whole call with its waiting in line.
    proxy : str or None
        URL of a proxy, with user and password in it where it asks for them.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str],
        max_connections: int,
        connect_timeout: float,
        total_timeout: float,
        proxy: str | None = None,
    ) -> None:
        self._base_url = base_url
        self._headers = dict(headers)
        self._max_connections = max_connections
        self._timeout = aiohttp.ClientTimeout(total=total_timeout, sock_connect=connect_timeout)
        self._proxy = proxy
        self._options: dict[str, Any] = {}
        """Of each request, where a proxy stands between."""
        self._urls: dict[str, URL] = {}
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Make the session on the running event loop."""
        proxy, headers = None, self._headers
        if self._proxy is not None:
            proxy, self._options = self._through(URL(self._proxy))
            headers = {}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._max_connections),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            timeout=self._timeout,
            proxy=proxy,
        )

    def _through(self, proxy: URL) -> tuple[URL, dict[str, Any]]:
        """A proxy without its user, and what each request says then.

        aiohttp shows a session's own headers to the proxy too, the key among them; a request's it keeps for the server.
        """
        asked = {}
        if proxy.user is not None:
            given = base64.b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
            asked = {"Proxy-Authorization": f"Basic {given}"}
            proxy = proxy.with_user(None)
        if self._base_url.startswith("https:"):
            return proxy, {"headers": self._headers, "proxy_headers": asked}
        return proxy, {"headers": {**self._headers, **asked}}

    async def close(self) -> None:
        """Close all connections. Safe to call twice."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def post(self, path: str, body: bytes) -> HttpReply:
        """Send a body, read the whole reply. Raises HttpError."""
        return await self._call("POST", path, body)

    async def get(self, path: str) -> HttpReply:
        """Read the whole reply of a GET. Raises HttpError."""
        return await self._call("GET", path, None)

    async def _call(self, method: str, path: str, body: bytes | None) -> HttpReply:
        session = self._session
        if session is None:
            raise ModelError(f"the session with {self._base_url} isn't open; call open() first")
        url = self._urls.get(path)
        if url is None:
            url = self._urls[path] = URL(self._base_url + path)
        try:
            async with session.request(method, url, data=body, allow_redirects=False, **self._options) as reply:
                content = reply.content
                whole = await content.readany()
                if not content.at_eof() or len(whole) > MOST_BYTES:
                    whole = await _rest(content, whole)
                return HttpReply(reply.status, reply.headers, whole)
        except (aiohttp.ClientError, OSError) as error:
            raise self._fault(error, self._timeout) from None

    async def upload(self, path: str, file: BinaryIO, *, fields: Mapping[str, str] | None = None) -> HttpReply:
        """Send a file from the disk as the body, or with fields as a form's part `file`. Raises HttpError."""
        if fields is None:
            return await self._transfer("POST", path, file, {}, None)
        form = aiohttp.FormData(fields)
        form.add_field("file", file, filename="requests.jsonl", content_type="application/jsonl")
        parts = form()
        return await self._transfer("POST", path, parts, {"Content-Type": parts.headers["Content-Type"]}, None)

    async def download(self, path: str, target: BinaryIO) -> HttpReply:
        """Write the body of a reply with 200 to a file as it comes; it isn't in what is returned. Raises HttpError."""
        return await self._transfer("GET", path, None, {}, target)

    async def _transfer(
        self,
        method: str,
        path: str,
        data: Payload | BinaryIO | None,
        headers: Mapping[str, str],
        target: BinaryIO | None,
    ) -> HttpReply:
        """A call that may take long since much is sent or comes back."""
        session = self._session
        if session is None:
            raise ModelError(f"the session with {self._base_url} isn't open; call open() first")
        limit = max(self._timeout.total or 0.0, LONG_TRANSFER)
        timeout = aiohttp.ClientTimeout(total=limit, sock_connect=self._timeout.sock_connect)
        try:
            async with session.request(
                method,
                URL(self._base_url + path),
                data=data,
                timeout=timeout,
                allow_redirects=False,
                **{**self._options, "headers": {**self._options.get("headers", {}), **headers}},
            ) as reply:
                if target is None or reply.status != 200:
                    return HttpReply(reply.status, reply.headers, await _rest(reply.content, b""))
                async for piece in reply.content.iter_any():
                    target.write(piece)
                return HttpReply(reply.status, reply.headers, b"")
        except (aiohttp.ClientError, OSError) as error:
            raise self._fault(error, timeout) from None

    def _fault(self, error: Exception, timeout: aiohttp.ClientTimeout) -> HttpError:
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return HttpError("connect", "no connection within the time limit")
        if isinstance(error, TimeoutError):
            return HttpError("timeout", f"no reply within {timeout.total:g} s")
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientHttpProxyError):
            return HttpError("connect", _words(error))
        return HttpError("cut", _words(error))


async def _rest(content: aiohttp.StreamReader, first: bytes) -> bytes:
    """All of a reply whose beginning was read. Raises HttpError for one without a sensible end."""
    pieces, n_bytes = [first], len(first)
    while n_bytes <= MOST_BYTES:
        piece = await content.readany()
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        n_bytes += len(piece)
    raise HttpError("long", f"the reply is longer than {MOST_BYTES // 1_000_000} MB")


def _words(error: Exception) -> str:
    """What a client's error says in one line, without the request it quotes and the bytes it points at."""
    if isinstance(error, aiohttp.ClientResponseError):
        text = error.message
    elif isinstance(error, OSError) and error.strerror:
        text = error.strerror
    else:
        text = re.sub(r"<\w+: \d+, message=(['\"])(.*?)\.?\1>", r"\2", str(error)).removeprefix("400, message:")
    text = re.sub(r":?\s*\bb(['\"])(?:\\.|(?!\1).)*\1[.^\s]*", " ", text, flags=re.DOTALL)
    return " ".join(text.split()) or type(error).__name__
