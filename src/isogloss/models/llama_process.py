"""A llama.cpp server in a child process: started, watched, and ended with us."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from isogloss.errors import ModelError

_START_SECONDS = 300.0
_END_SECONDS = 5.0
_LOG_PREFIX = re.compile(r"^[\d.]+ E +")


class LlamaProcess:
    """One server; `address` and `token` hold from `start` to `stop`.

    Parameters
    ----------
    weights : Path
        A .gguf file.
    context : int
        Most tokens of prompt and reply together.
    threads : int or None
        All cores this process may use, 16 at most, otherwise.
    template : str or None
        A chat template (Jinja) in place of the one that the weights carry.
    """

    def __init__(self, weights: Path, *, context: int, threads: int | None = None, template: str | None = None) -> None:
        self._weights = weights
        self._template = template
        self._context = context
        self._threads = threads if threads is not None else _cores()
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self.address = ""
        self.token = ""

    @property
    def pid(self) -> int | None:
        """Process id of the server while there is one."""
        return self._process.pid if self._process is not None else None

    async def start(self) -> None:
        """Start it and wait until it has an address.

        Raises
        ------
        ModelError
            Where xllamacpp isn't installed, or the weights can't be loaded.
        """
        if importlib.util.find_spec("xllamacpp") is None:
            raise ModelError("models of 'gguf/…' need xllamacpp, which isn't installed; pip install 'isogloss[gguf]'")
        self.token = secrets.token_urlsafe(24)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        command = [sys.executable, "-P", "-m", "isogloss.models.gguf_server", str(self._weights)]
        command += ["--context", str(self._context), "--threads", str(self._threads)]
        if self._template is not None:
            command += ["--template", self._template]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, start_new_session=True
        )
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(self.token.encode() + b"\n")
            process.stdin.flush()
            line = await asyncio.wait_for(asyncio.to_thread(process.stdout.readline), _START_SECONDS)
            self.address = json.loads(line)["address"] if line else ""
        except (TimeoutError, BrokenPipeError):
            self.address = ""
        except BaseException:
            await self.stop()
            raise
        if not self.address:
            words = self._last_words()
            await self.stop()
            raise ModelError(f"llama.cpp can't serve {self._weights}: {words}")

    def ended(self) -> str | None:
        """How the server has ended, in words; None while it runs."""
        if self._process is None:
            return "it isn't running"
        code = self._process.poll()
        if code is None:
            return None
        return f"it ended with {f'signal {-code}' if code < 0 else f'exit code {code}'}; {self._last_words()}"

    async def stop(self) -> None:
        """End it; safe to call twice."""
        process, self._process = self._process, None
        log, self._log = self._log, None
        if process is not None:
            await asyncio.shield(asyncio.to_thread(_end, process))
        if log is not None:
            log.close()

    def _last_words(self) -> str:
        """The first error in the server's log, or else its last line."""
        if self._log is None:
            return "no words"
        self._log.seek(0)
        lines = [line for line in self._log.read().decode("utf-8", "replace").splitlines() if line.strip()]
        errors = [_LOG_PREFIX.sub("", line) for line in lines if _LOG_PREFIX.match(line)]
        return (errors or lines[-1:] or ["it said nothing"])[0].strip()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe that the server watches; kill it if that doesn't end it."""
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _cores() -> int:
    """Cores this process may use, 16 at most."""
    allowed = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(allowed, 16)
