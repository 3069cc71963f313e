"""A server on this machine that answers every chat request at once with the same word (nginx, one worker)."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

REPLY = (
    '{"id":"c","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,"message":'
    '{"role":"assistant","content":"No"},"logprobs":null,"finish_reason":"stop"}],'
    '"usage":{"prompt_tokens":60,"completion_tokens":1,"total_tokens":61}}'
)


@contextmanager
def instant_server(port: int, core: int | None = 0) -> Iterator[str]:
    """Yield the base URL of the server; it ends with the block. `core` pins it, None leaves it free."""
    if shutil.which("nginx") is None:
        raise SystemExit("this benchmark needs nginx: apt-get install nginx-light")
    with tempfile.TemporaryDirectory() as folder:
        paths = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("proxy", "fastcgi", "uwsgi", "scgi"))
        Path(folder, "nginx.conf").write_text(
            f"daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;\n"
            "events { worker_connections 4096; }\n"
            f"http {{ access_log off; keepalive_timeout 600; keepalive_requests 100000000;\n"
            f"client_body_buffer_size 64k; client_body_temp_path {folder}/body; {paths}\n"
            f"server {{ listen 127.0.0.1:{port}; default_type application/json;\n"
            f"location / {{ return 200 '{REPLY}'; }} }} }}\n"
        )
        pin = ["taskset", "-c", str(core)] if core is not None and shutil.which("taskset") else []
        server = subprocess.Popen([*pin, "nginx", "-p", folder, "-c", f"{folder}/nginx.conf"])
        try:
            base = f"http://127.0.0.1:{port}/v1"
            for _ in range(100):
                try:
                    urlopen(f"{base}/models", timeout=1).close()
                    break
                except (URLError, OSError):
                    time.sleep(0.05)
            yield base
        finally:
            server.terminate()
            server.wait()
