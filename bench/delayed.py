"""A server on this machine that answers every chat request with the same word after a fixed time.

It stands on bare sockets and uvloop, so that it takes a small part of what a client does for each request.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import uvloop
from nginx import REPLY
from process import pinned

ANSWER = (f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(REPLY)}\r\n\r\n{REPLY}").encode()


class Delayed(asyncio.Protocol):
    """One connection; a request is answered some seconds after its last byte came in."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._held = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        self._held += data
        while (end := self._held.find(b"\r\n\r\n")) >= 0:
            head = self._held[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._held) < end + 4 + length:
                return
            self._held = self._held[end + 4 + length :]
            self._loop.call_later(self._seconds, self._answer)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(ANSWER)


async def serve(port: int, seconds: float) -> None:
    """Serve until the process ends."""
    server = await asyncio.get_running_loop().create_server(lambda: Delayed(seconds), "127.0.0.1", port, backlog=4096)
    async with server:
        await server.serve_forever()


@contextmanager
def delayed_server(port: int, seconds: float) -> Iterator[str]:
    """Yield the base URL of the server, which runs on core 0; it ends with the block."""
    server = subprocess.Popen([*pinned(0), sys.executable, str(Path(__file__)), str(port), str(seconds)])
    try:
        base = f"http://127.0.0.1:{port}/v1"
        for _ in range(100):
            try:
                urlopen(f"{base}/models", timeout=seconds + 1).close()
                break
            except HTTPError:
                break
            except (URLError, OSError):
                time.sleep(0.05)
        yield base
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), float(sys.argv[2])))
