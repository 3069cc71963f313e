"""All benchmarks in one table.

python bench/all.py [--quick] [--markdown]

PEERS_INSPECT and PEERS_LMEVAL name Python executables that have Inspect AI (with openai) and lm-eval; see README.md.
"""

from __future__ import annotations

import engine
import latency
import peers
import storage
import table

if __name__ == "__main__":
    table.main(__doc__, engine.rows, latency.rows, peers.rows, storage.rows)
