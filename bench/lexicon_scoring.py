"""How long coding and scoring a survey of VARILEX's size takes: 934 items, 9,057 variants, 21 countries.

Makes invented data of that shape and prints times: `python bench/lexicon_scoring.py [--resamples 2000]`.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sized
from types import SimpleNamespace

import numpy as np
import pandas as pd

from isogloss.records import Condition, Dataset, Item, Option, Response, Status
from isogloss.studies.lexicon import STUDY, borrowing
from isogloss.studies.lexicon.estimate import estimate
from isogloss.study import ANSWER_COLUMNS

AREAS = {
    "Spain": "ES", "Equatorial Guinea": "GQ", "Antilles": "CU DO PR", "Mexico & Central America": "MX GT HN SV NI",
    "Continental Caribbean": "CR PA VE", "Andes": "CO EC PE BO", "Chile": "CL", "La Plata": "PY UY AR",
}  # fmt: skip
COUNTRIES = {code: area for area, codes in AREAS.items() for code in codes.split()}
N_ITEMS, N_VARIANTS, N_LABELS, N_SETS = 934, 9057, 190_158, 17_911


def make_dataset(generator: np.random.Generator) -> Dataset:
    """Items with 2 to 114 variants, about a quarter of the cells +."""
    spread = np.minimum(2 + generator.exponential(8.2, N_ITEMS).astype(int), 114)
    spread[0] = 114
    while (gap := N_VARIANTS - spread.sum()) != 0:
        at = generator.integers(1, N_ITEMS, abs(gap))
        moved = spread.copy()
        np.add.at(moved, at, np.sign(gap))
        spread = np.clip(moved, 2, 114)
    shares = dict(zip(COUNTRIES, generator.uniform(0.09, 0.43, len(COUNTRIES)), strict=True))
    items = []
    for number, size in enumerate(spread.tolist()):
        labels = {code: generator.random(size) < 0.8 * share for code, share in shares.items()}
        for said in labels.values():
            said[generator.integers(size)] |= generator.random() < 0.95  # nearly every thing has a name everywhere
        options = tuple(
            Option(id=f"Z{number:03}.{k + 1}", text=f"w{number}-{k}", labels={c: float(labels[c][k]) for c in labels})
            for k in range(size)
        )
        items.append(Item(id=f"Z{number:03}", text=f"thing {number}", language="es", options=options))
    places = tuple({"code": code, "name": code, "area": area} for code, area in COUNTRIES.items())
    covariates = tuple({"code": code, "tokens": float(k)} for k, code in enumerate(COUNTRIES))
    return Dataset(name="invented", items=tuple(items), tables={"places": places, "covariates": covariates})


def yes_no_answers(dataset: Dataset, generator: np.random.Generator) -> pd.DataFrame:
    """Every labelled cell, strict and lenient."""
    cells = [(i.id, c, o.id, label) for i in dataset.items for o in i.options for c, label in o.labels.items()]
    cells = cells[:N_LABELS]
    truth = np.array([cell[3] for cell in cells])
    frames = []
    for reading in ("strict", "lenient"):
        said = generator.random(len(cells)) < 0.2 + 0.5 * truth
        ok = generator.random(len(cells)) < 0.95
        frame = pd.DataFrame(
            {
                "item_id": [cell[0] for cell in cells],
                "country": [cell[1] for cell in cells],
                "option": [cell[2] for cell in cells],
                "order": pd.Series([()] * len(cells), dtype=object),
                "status": np.where(ok, "ok", "refused"),
                "value": pd.Series([bool(v) if k else None for v, k in zip(said, ok, strict=True)], dtype=object),
            }
        )
        frames.append(frame.assign(format="yes_no", reading=reading, coder=f"lexicon.yes_no.{reading}@1"))
    return finished(pd.concat(frames, ignore_index=True))


def set_replies(dataset: Dataset, generator: np.random.Generator) -> list[tuple[Item, Condition, Response]]:
    """Every question with two variants and a +, and a reply to it."""
    asked = []
    for item in dataset.items:
        ids = [option.id for option in item.options]
        for code in COUNTRIES:
            if len(ids) > 1 and any(option.labels[code] for option in item.options):
                order = tuple(ids[k] for k in generator.permutation(len(ids)))
                size = 1 + generator.integers(min(len(ids), 6))
                text = "/".join(str(k + 1) for k in np.sort(generator.permutation(len(ids))[:size]))
                condition = Condition(country=code, language="es", format="multiple_choice", order=order)
                response = Response(prompt_id=f"{item.id}{code}", model="m", status=Status.OK, text=text)
                asked.append((item, condition, response))
    return asked[:N_SETS]


def coded(asked: list[tuple[Item, Condition, Response]], readings: tuple[str, ...]) -> pd.DataFrame:
    """Read the replies with the study's own coders."""
    rows = [
        (item.id, condition.country, condition.order, a.status.value, a.value, a.reading, a.coder)
        for item, condition, response in asked
        for a in STUDY.code(item, condition, response)
        if a.reading in readings
    ]
    frame = pd.DataFrame(rows, columns=["item_id", "country", "order", "status", "value", "reading", "coder"])
    return finished(frame.assign(format="multiple_choice", option=None))


def finished(frame: pd.DataFrame) -> pd.DataFrame:
    rest = {"language": "es", "wording": "es", "asked_by": "text", "factors": None, "prompt_id": "", "note": ""}
    return frame.assign(model="m", repeat=1, **rest)[list(ANSWER_COLUMNS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resamples", type=int, default=2000)
    settings = SimpleNamespace(resamples=parser.parse_args().resamples, confidence=0.95)
    generator = np.random.default_rng(0)
    dataset = make_dataset(generator)
    asked = set_replies(dataset, generator)
    yes_no = yes_no_answers(dataset, generator)
    sets: dict[str, pd.DataFrame] = {}

    def timed(what: str, work: Callable[[], Sized]) -> None:
        begin, cpu = time.perf_counter(), time.process_time()
        result = work()
        took, used = time.perf_counter() - begin, time.process_time() - cpu
        print(f"{what:<60} {took:7.2f} s {used:7.2f} s of CPU {len(result):>8,} rows")

    timed(f"code {len(asked):,} set replies, strict", lambda: sets.setdefault("one", coded(asked, ("strict",))))
    timed(f"score them, {settings.resamples:,} draws", lambda: estimate(sets["one"], dataset, settings, 0))
    timed("code them, strict and lenient", lambda: sets.setdefault("two", coded(asked, ("strict", "lenient"))))
    timed("score both readings", lambda: estimate(sets["two"], dataset, settings, 0))
    timed(f"score {len(yes_no):,} yes-no answers (two readings)", lambda: estimate(yes_no, dataset, settings, 0))
    both = pd.concat([yes_no, sets["two"]], ignore_index=True)
    timed("score all of it together", lambda: estimate(both, dataset, settings, 0))
    timed("cross table of all of it", lambda: borrowing.cross_table(both, dataset, settings, 0))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
