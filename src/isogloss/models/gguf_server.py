"""The child process of a `gguf/…` model: a llama.cpp server that ends with its parent.

Run as `python -m isogloss.models.gguf_server WEIGHTS`. The first line of standard input is the token that every request
must carry; then the pipe stays open, and its end (the parent closed it, or is gone) ends this process. The address is
written to standard output as one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading


def _end_with_parent() -> None:
    """Wait for the end of standard input, then end at once: the server's own threads may be deep in a model."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(0)


def main() -> None:
    """Serve one model until standard input ends."""
    parser = argparse.ArgumentParser(prog="isogloss.models.gguf_server")
    parser.add_argument("weights")
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--template")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle: it lets running calls end
    token = _first_line()
    threading.Thread(target=_end_with_parent, daemon=True).start()

    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.weights
    params.n_ctx = options.context
    params.n_parallel = 1  # more slots answer no faster on a processor, and each would keep its own cache of the prompt
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    params.cache_ram_mib = 0  # a cache of past prompts would grow with the run
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [token]
    params.cors_origins = "http://127.0.0.1"
    params.ui = False
    params.verbosity = 1
    if options.template is not None:
        params.chat_template = options.template
    server = xllamacpp.Server(params)
    sys.stdout.write(json.dumps({"address": server.listening_address}) + "\n")
    sys.stdout.flush()
    threading.Event().wait()


def _first_line() -> str:
    """Read up to the first newline of standard input, byte by byte, so that nothing is left in a buffer."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(sys.stdin.fileno(), 1)
        if not byte:
            os._exit(0)
        line += byte
    return line.decode().strip()


if __name__ == "__main__":
    main()
