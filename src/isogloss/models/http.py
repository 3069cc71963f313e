"""The one file that knows the HTTP client. A faster one that can be trusted as much may take its place here.

Everything above asks for `post(path, body) -> HttpReply` and gets `HttpError` where no whole reply came.
The good path is lean: no per-call timeout object, no cookie jar, no redirects, no look at the process environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO, Literal, NamedTuple

import aiohttp
from aiohttp.payload import Payload
from yarl import URL

from isogloss.errors import ModelError

FaultKind = Literal["connect", "timeout", "cut"]

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

    `kind` is "connect" (nothing was sent), "timeout" (no end within the time) or "cut" (the connection broke,
    or what came isn't HTTP). The text never holds a header.
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
        self._urls: dict[str, URL] = {}
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Make the session on the running event loop."""
        proxy, auth = None, None
        if self._proxy is not None:
            proxy = URL(self._proxy)
            if proxy.user is not None:
                auth = aiohttp.BasicAuth(proxy.user, proxy.password or "")
                proxy = proxy.with_user(None)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._max_connections),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            timeout=self._timeout,
            proxy=proxy,
            proxy_auth=auth,
        )

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
            async with session.request(method, url, data=body, allow_redirects=False) as reply:
                return HttpReply(reply.status, reply.headers, await reply.read())
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
                method, URL(self._base_url + path), data=data, headers=headers, timeout=timeout, allow_redirects=False
            ) as reply:
                if target is None or reply.status != 200:
                    return HttpReply(reply.status, reply.headers, await reply.read())
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


def _words(error: Exception) -> str:
    """What a client's error says, without the request it quotes."""
    if isinstance(error, aiohttp.ClientResponseError):
        return error.message or type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__
