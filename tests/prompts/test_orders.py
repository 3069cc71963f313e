"""Orders by hash: equal everywhere, independent of the order of the keys."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from itertools import permutations

import numpy as np

from isogloss.prompts import ranks, seeded_order, seeded_positions, shuffled


def test_the_order_is_the_same_whatever_order_the_keys_come_in():
    orders = {tuple(seeded_order(keys, seed=3)) for keys in permutations("abcd")}
    assert len(orders) == 1


def test_the_rank_is_blake2b_of_seed_purpose_and_key():
    by_hand = hashlib.blake2b(b"7\x1f1\x1fp\x1fkey", digest_size=8).digest()
    assert ranks(["key"], seed=7, purpose="p").tolist() == [int.from_bytes(by_hand, "big")]


def test_the_array_form_gives_the_same_order():
    keys = [f"key {n}" for n in range(1000)]
    positions = seeded_positions(iter(keys), seed=0)
    assert [keys[position] for position in positions] == seeded_order(keys, seed=0)


def test_seed_and_purpose_change_the_order():
    keys = [str(n) for n in range(20)]
    orders = {tuple(seeded_order(keys, seed=seed, purpose=purpose)) for seed in (0, 1) for purpose in ("", "a")}
    assert len(orders) == 4


def test_seed_and_purpose_do_not_run_into_each_other():
    assert ranks(["x"], seed=1, purpose="1") != ranks(["x"], seed=11, purpose="")


def test_every_place_is_equally_likely_over_keys():
    first = Counter(shuffled(("a", "b", "c"), seed=0, key=str(n))[0] for n in range(3000))
    assert all(abs(first[option] - 1000) < 100 for option in "abc")


def test_orders_are_equal_in_every_process():
    code = "from isogloss.prompts import shuffled; print(shuffled([str(n) for n in range(9)], seed=5, key='k'))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": salt},
        ).stdout
        for salt in ("0", "1", "random")
    }  # fmt: skip
    assert outputs == {f"{shuffled([str(n) for n in range(9)], seed=5, key='k')}\n"}


def test_no_key_gives_an_empty_order():
    assert seeded_order([], seed=0) == []
    assert seeded_positions([], seed=0).dtype == np.intp
