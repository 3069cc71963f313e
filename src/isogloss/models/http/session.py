"""Calls through aiohttp: a proxy that stands between, and files that are sent or come back piece by piece."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, BinaryIO

import aiohttp
from aiohttp.payload import Payload
from yarl import URL

from isogloss.models.http import reply as limits
from isogloss.models.http.reply import HttpError, HttpReply, too_long, too_slow

LONG_TRANSFER = 3600.0
"""Seconds that a large file may take."""


class Session:
    """An aiohttp session with one server; see `HttpClient` for its parameters."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        max_connections: int,
        connect_timeout: float,
        total_timeout: float,
        *,
        proxy: str | None,
    ) -> None:
        self._base_url = base_url
        self._headers = dict(headers)
        self._timeout = aiohttp.ClientTimeout(total=total_timeout, sock_connect=connect_timeout)
        self._options: dict[str, Any] = {}
        """Of each request, where a proxy stands between."""
        self._urls: dict[str, URL] = {}
        way = None
        if proxy is not None:
            way, self._options = self._through(URL(proxy))
            headers = {}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=max_connections),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            timeout=self._timeout,
            proxy=way,
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
        """Close all connections."""
        await self._session.close()

    async def call(self, method: str, path: str, body: bytes | None) -> HttpReply:
        """Send a request, read the whole reply. Raises HttpError."""
        url = self._urls.get(path)
        if url is None:
            url = self._urls[path] = URL(self._base_url + path)
        try:
            async with self._session.request(method, url, data=body, allow_redirects=False, **self._options) as reply:
                content = reply.content
                whole = await content.readany()
                if not content.at_eof() or len(whole) > limits.MOST_BYTES:
                    whole = await _rest(content, whole)
                return HttpReply(reply.status, reply.headers, whole)
        except (aiohttp.ClientError, OSError) as error:
            raise self._fault(error, self._timeout) from None

    async def upload(self, path: str, file: BinaryIO, fields: Mapping[str, str] | None) -> HttpReply:
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
        limit = max(self._timeout.total or 0.0, LONG_TRANSFER)
        timeout = aiohttp.ClientTimeout(total=limit, sock_connect=self._timeout.sock_connect)
        try:
            async with self._session.request(
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
            return too_slow(timeout.total)
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientHttpProxyError):
            return HttpError("connect", _words(error))
        return HttpError("cut", _words(error))


async def _rest(content: aiohttp.StreamReader, first: bytes) -> bytes:
    """All of a reply whose beginning was read. Raises HttpError for one without a sensible end."""
    pieces, n_bytes = [first], len(first)
    while n_bytes <= limits.MOST_BYTES:
        piece = await content.readany()
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        n_bytes += len(piece)
    raise too_long()


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
