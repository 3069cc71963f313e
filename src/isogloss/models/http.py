"""The one file that knows the HTTP client. A faster one that can be trusted as much may take its place here.

Everything above asks for `post(path, body) -> HttpReply` and gets `HttpError` where no whole reply came.
The good path is lean: no per-call timeout object, no cookie jar, no redirects, no look at the process environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import aiohttp
from yarl import URL

from isogloss.errors import ModelError

FaultKind = Literal["connect", "timeout", "cut"]


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
        except aiohttp.ConnectionTimeoutError:
            raise HttpError("connect", "no connection within the time limit") from None
        except TimeoutError:
            raise HttpError("timeout", f"no reply within {self._timeout.total:g} s") from None
        except (aiohttp.ClientConnectorError, aiohttp.ClientHttpProxyError) as error:
            raise HttpError("connect", _words(error)) from None
        except (aiohttp.ClientError, OSError) as error:
            raise HttpError("cut", _words(error)) from None


def _words(error: Exception) -> str:
    """What a client's error says, without the request it quotes."""
    if isinstance(error, aiohttp.ClientResponseError):
        return error.message or type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__
