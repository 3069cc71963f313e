"""Calls to one server: straight where nothing stands between, through aiohttp for proxies and for files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO

from isogloss.errors import ModelError
from isogloss.models.http.direct import Connections
from isogloss.models.http.reply import HttpReply

if TYPE_CHECKING:
    from isogloss.models.http.session import Session


class HttpClient:
    """Kept connections to one server, a limit on them, a time limit on each call.

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
        self._timeouts = (connect_timeout, total_timeout)
        self._proxy = proxy
        self._direct: Connections | None = None
        self._session: Session | None = None
        self._is_open = False

    async def open(self) -> None:
        """Make calls possible on the running event loop. Sends nothing."""
        self._is_open = True
        if self._proxy is None and self._direct is None:
            self._direct = Connections(self._base_url, self._headers, self._max_connections, *self._timeouts)

    async def close(self) -> None:
        """Close all connections. Safe to call twice."""
        self._is_open = False
        direct, session = self._direct, self._session
        self._direct = self._session = None
        if direct is not None:
            await direct.close()
        if session is not None:
            await session.close()

    async def post(self, path: str, body: bytes) -> HttpReply:
        """Send a body, read the whole reply. Raises HttpError."""
        if self._direct is not None:
            return await self._direct.call("POST", path, body)
        return await self._general().call("POST", path, body)

    async def get(self, path: str) -> HttpReply:
        """Read the whole reply of a GET. Raises HttpError."""
        if self._direct is not None:
            return await self._direct.call("GET", path, None)
        return await self._general().call("GET", path, None)

    async def upload(self, path: str, file: BinaryIO, *, fields: Mapping[str, str] | None = None) -> HttpReply:
        """Send a file from the disk as the body, or with fields as a form's part `file`. Raises HttpError."""
        return await self._general().upload(path, file, fields)

    async def download(self, path: str, target: BinaryIO) -> HttpReply:
        """Write the body of a reply with 200 to a file as it comes; it isn't in what is returned. Raises HttpError."""
        return await self._general().download(path, target)

    def _general(self) -> Session:
        if not self._is_open:
            raise ModelError(f"the session with {self._base_url} isn't open; call open() first")
        if self._session is None:
            from isogloss.models.http.session import Session

            self._session = Session(
                self._base_url, self._headers, self._max_connections, *self._timeouts, proxy=self._proxy
            )
        return self._session
