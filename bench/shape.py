"""Made-up tables in the size of the reference survey: 934 items, 9,057 variants, 21 countries, about 190,000 cells."""

from __future__ import annotations

import csv
import math
import random
from pathlib import Path

COUNTRIES = [
    "ES",
    "GQ",
    "CU",
    "DO",
    "PR",
    "MX",
    "GT",
    "HN",
    "SV",
    "NI",
    "CR",
    "PA",
    "CO",
    "VE",
    "EC",
    "PE",
    "BO",
    "CL",
    "PY",
    "UY",
    "AR",
]
N_ITEMS = 934
N_VARIANTS = 9057
MOST_VARIANTS = 114


def write_table(path: Path, *, n_items: int = N_ITEMS, n_variants: int = N_VARIANTS, seed: int = 1) -> None:
    """A wide table with invented words; a quarter of the cells are +."""
    rng = random.Random(seed)
    sizes = [1] * n_items
    while sum(sizes) < n_variants:
        number = int(rng.random() ** 1.5 * n_items)
        sizes[number] += sizes[number] < MOST_VARIANTS
    syllables = [a + b for a in "bcdfglmnprst" for b in "aeiou"]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "description", "gloss", "variant", *COUNTRIES])
        for number, size in enumerate(sizes, start=1):
            words: set[str] = set()
            while len(words) < size:
                words.add("".join(rng.choice(syllables) for _ in range(rng.randint(2, 5))))
            for word in sorted(words):
                cells = ["+" if rng.random() < 0.25 else "-" for _ in COUNTRIES]
                writer.writerow(
                    [f"Z{number:03}", f"Cosa inventada número {number}, sin nombre propio", "", word, *cells]
                )


def table_for(n_prompts: int, folder: Path) -> Path:
    """A table with just enough variants for so many yes-no prompts."""
    path = folder / f"table-{n_prompts}.csv"
    n_variants = math.ceil(n_prompts / len(COUNTRIES))
    write_table(path, n_items=max(1, n_variants // 10), n_variants=n_variants)
    return path
