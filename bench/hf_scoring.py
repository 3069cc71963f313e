"""Scoring yes–no prompts with three candidates through `hf/`, beside a bare batched forward pass over full sequences.

`python bench/hf_scoring.py MODEL [--prompts 48] [--batch 16] [--rounds 3] [--threads 1]`, MODEL a folder or GGUF file.
Both sort by length and use the same model, batch size and threads; CPU time is the figure to trust on a shared machine.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from isogloss.models.hf import HfModel
from isogloss.models.settings import ModelSettings
from isogloss.records import Message, Prompt, Response, Sampling

CANDIDATES = ("Sí", "No", "No sé")
WORDS = "coche carro auto palta aguacate ordenador computadora guagua bus colectivo pileta piscina alberca"
PLACES = "España México Chile Perú Cuba Uruguay Paraguay Ecuador Bolivia Guatemala Honduras Colombia"


def prompts(n_prompts: int) -> list[Prompt]:
    """Questions of like length, in an order that isn't theirs."""
    words, places, made = WORDS.split(), PLACES.split(), []
    for k in range(n_prompts):
        word, place = words[k % len(words)], places[k * 7 % len(places)]
        text = (
            f"Usted es hablante nativo de español y vive en {place}. Piense en cómo habla la gente de su país en la "
            f"vida diaria, en casa, en la calle y en el trabajo. ¿Se usa en {place} la palabra «{word}» con este "
            f"significado: {'cosa que sirve para ' * (1 + k % 3)}todo? Responda solo con una palabra: Sí o No."
        )
        made.append(Prompt.make([Message(role="user", content=text)], candidates=CANDIDATES))
    return made


def bare(model: HfModel, responses: list[Response], batch: int) -> list[float]:
    """Sums for every candidate of every prompt, one full sequence each, padded, all logits computed."""
    import torch

    assert model._session is not None
    loaded = model._session._loaded
    rows = []
    for response in responses:
        before = loaded.tokenizer(response.rendered, add_special_tokens=False)["input_ids"]
        for candidate in CANDIDATES:
            both = loaded.tokenizer((response.rendered or "") + candidate, add_special_tokens=False)["input_ids"]
            rows.append((both, len(before)))
    found = [0.0] * len(rows)
    order = sorted(range(len(rows)), key=lambda k: len(rows[k][0]))
    with torch.inference_mode():
        for start in range(0, len(order), batch):
            part = order[start : start + batch]
            length = max(len(rows[k][0]) for k in part)
            ids = torch.tensor([rows[k][0] + [loaded.pad] * (length - len(rows[k][0])) for k in part])
            seen = torch.tensor([[1] * len(rows[k][0]) + [0] * (length - len(rows[k][0])) for k in part])
            logprobs = loaded.model(input_ids=ids, attention_mask=seen, use_cache=False).logits.log_softmax(-1)
            for j, k in enumerate(part):
                tokens, first = rows[k]
                found[k] = sum(float(logprobs[j, p - 1, tokens[p]]) for p in range(first, len(tokens)))
    return found


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Result, CPU seconds, wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    """Rounds alternate; the medians are printed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    for name, default in (("prompts", 48), ("batch", 16), ("rounds", 3), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(options.threads)
    settings = ModelSettings(device="cpu", batch_size=options.batch)
    model = HfModel(f"hf/{options.model}", source=options.model, settings=settings)
    asked = prompts(options.prompts)

    async def ask() -> list[Response]:
        return list(await asyncio.gather(*(model.ask(prompt, Sampling(), 1) for prompt in asked)))

    with asyncio.Runner() as runner:
        runner.run(model.open())
        responses = runner.run(ask())
        bare(model, responses[:4], options.batch)
        ours: list[tuple[float, float]] = []
        theirs: list[tuple[float, float]] = []
        for _ in range(options.rounds):
            responses, cpu, wall = timed(lambda: runner.run(ask()))
            ours.append((cpu, wall))
            expected, cpu, wall = timed(partial(bare, model, responses, options.batch))
            theirs.append((cpu, wall))
        runner.run(model.close())
    found = [value for response in responses for value in response.candidate_logprobs or ()]
    n_tokens = statistics.mean(response.input_tokens or 0 for response in responses)
    print(f"{len(asked)} prompts of {n_tokens:.0f} tokens, {len(CANDIDATES)} candidates, {options.threads} thread(s)")
    for name, times in (("isogloss hf/", ours), ("bare forward", theirs)):
        cpu, wall = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"{name:13} {len(asked) / cpu:7.2f} prompts a CPU-second, {len(asked) / wall:7.2f} prompts/s")
    ratio = statistics.median(a[0] / b[0] for a, b in zip(ours, theirs, strict=True))
    print(f"CPU time {ratio:.2f} of bare ({1 / ratio:.1f} times faster)")
    print(f"largest difference {max(abs(a - b) for a, b in zip(found, expected, strict=True)):.1e} nats")


if __name__ == "__main__":
    main()
