"""Log-probabilities on this machine: `hf/` beside a bare forward pass over full sequences, padded, sorted by length.

python bench/hf_scoring.py [--quick] [--markdown]

Causal: the small model (`isogloss models pull smollm2`), or the folder or GGUF file that BENCH_MODEL names; StereoSet's
triples are read from data/stereoset/dev_en.json in the folder that ISOGLOSS_SHARED names (`shared` beside this
repository otherwise); where it isn't there, sentences of like lengths take their place. Masked: BERT-base's shape with
random weights. Both sides have one thread, the same model and batch size; rounds alternate, and medians are shown. CPU
time is the figure to trust on a shared machine. The bare pass gets its sequences as tokens, and takes out only the
log-probabilities that it needs.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import table

from isogloss.models.hf import HfModel
from isogloss.models.hf.loading import quiet
from isogloss.models.settings import ModelSettings
from isogloss.models.weights import available
from isogloss.records import Message, Prompt, Response, Sampling

BATCH = 16
EXACT = 1e-4
"""Nats; sums of both sides differ by less."""
YES_NO = ("Sí", "No", "No sé")
NAMES = "coche carro auto palta aguacate ordenador computadora guagua bus colectivo pileta piscina alberca"
PLACES = "España México Chile Perú Cuba Uruguay Paraguay Ecuador Bolivia Guatemala Honduras Colombia"
WORDS = "the people of coast are always late and nobody there reads a long book before dinner in old town near sea"


class Triple(NamedTuple):
    """A context and what may follow it."""

    context: str
    sentences: tuple[str, ...]


def triples(n: int) -> list[Triple]:
    """Some of StereoSet's examples between sentences; made-up ones of like lengths where the file isn't here."""
    draw = random.Random(4)
    shared = Path(os.environ.get("ISOGLOSS_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    file = shared / "data" / "stereoset" / "dev_en.json"
    if file.is_file():
        rows = json.loads(file.read_text(encoding="utf-8"))["data"]["intersentence"]
        return [
            Triple(row["context"], tuple(one["sentence"] for one in row["sentences"])) for row in draw.sample(rows, n)
        ]
    words = WORDS.split()

    def sentence(shortest: int, longest: int) -> str:
        return " ".join(draw.choices(words, k=draw.randint(shortest, longest))).capitalize() + "."

    return [Triple(sentence(4, 11), tuple(sentence(5, 12) for _ in range(3))) for _ in range(n)]


def yes_no_prompts(n: int) -> list[Prompt]:
    """Questions of like length, in an order that isn't theirs."""
    words, places, made = NAMES.split(), PLACES.split(), []
    for k in range(n):
        word, place = words[k % len(words)], places[k * 7 % len(places)]
        text = (
            f"Usted es hablante nativo de español y vive en {place}. Piense en cómo habla la gente de su país en la "
            f"vida diaria, en casa, en la calle y en el trabajo. ¿Se usa en {place} la palabra «{word}» con este "
            f"significado: {'cosa que sirve para ' * (1 + k % 3)}todo? Responda solo con una palabra: Sí o No."
        )
        made.append(Prompt.make([Message(role="user", content=text)], candidates=YES_NO))
    return made


# --- both sides -------------------------------------------------------------------------------------------------------


class Bare:
    """A forward pass over full sequences, given as tokens."""

    def __init__(self, model: HfModel) -> None:
        assert model._session is not None
        self.model, self.tokenizer, self.pad = (
            getattr(model._session._loaded, part) for part in ("model", "tokenizer", "pad")
        )

    def sequences(self, before: str, candidates: Sequence[str]) -> list[tuple[list[int], int]]:
        """(tokens, where the candidate's own begin) for each candidate."""
        start = len(self.tokenizer(before, add_special_tokens=False)["input_ids"])
        return [(self.tokenizer(before + more, add_special_tokens=False)["input_ids"], start) for more in candidates]

    def sums(self, rows: Sequence[tuple[list[int], int]]) -> list[float]:
        """Log-probability of each row's own tokens."""
        import torch

        found = [0.0] * len(rows)
        order = sorted(range(len(rows)), key=lambda k: len(rows[k][0]))
        with torch.inference_mode():
            for start in range(0, len(order), BATCH):
                part = order[start : start + BATCH]
                length = max(len(rows[k][0]) for k in part)
                ids = torch.tensor([rows[k][0] + [self.pad] * (length - len(rows[k][0])) for k in part])
                seen = torch.tensor([[1] * len(rows[k][0]) + [0] * (length - len(rows[k][0])) for k in part])
                logits = self.model(input_ids=ids, attention_mask=seen, use_cache=False).logits
                for j, k in enumerate(part):
                    tokens, first = rows[k]
                    own = logits[j, first - 1 : len(tokens) - 1]
                    chosen = own.gather(1, torch.tensor(tokens[first:])[:, None])[:, 0]
                    found[k] = float((chosen - own.logsumexp(-1)).sum())  # log_softmax adds up 1e-4 in float32
        return found

    def masked_sums(self, texts: Sequence[str]) -> list[float]:
        """Pseudo-log-likelihoods of texts, a pass for each token."""
        import torch

        found = []
        with torch.inference_mode():
            for text in texts:
                ids = torch.tensor([self.tokenizer(text)["input_ids"]])
                total = 0.0
                for place in range(1, ids.shape[1] - 1):
                    masked = ids.clone()
                    masked[0, place] = self.tokenizer.mask_token_id
                    total += float(self.model(masked).logits[0, place].log_softmax(-1)[ids[0, place]])
                found.append(total)
        return found


class Times(NamedTuple):
    """Seconds of one round."""

    cpu: float
    wall: float


def timed(work: Callable[[], Any]) -> tuple[Any, Times]:
    """Result and times."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, Times(time.process_time() - cpu, time.perf_counter() - wall)


async def _ask(model: HfModel, prompts: Sequence[Prompt]) -> list[Response]:
    return list(await asyncio.gather(*(model.ask(prompt, Sampling(), 1) for prompt in prompts)))


def compared(
    runner: asyncio.Runner, model: HfModel, prompts: Sequence[Prompt], bare: Callable[[], list[float]], rounds: int
) -> tuple[list[Times], list[Times], float]:
    """Times of ours and of the other, and the largest difference between their sums in nats."""
    ours, theirs, largest = [], [], 0.0
    for _ in range(rounds):
        responses, times = timed(lambda: runner.run(_ask(model, prompts)))
        ours.append(times)
        expected, times = timed(bare)
        theirs.append(times)
        found = [value for response in responses for value in response.candidate_logprobs]
        largest = max(largest, *(abs(a - b) for a, b in zip(found, expected, strict=True)))
    return ours, theirs, largest


def figures(
    what: str, n: int, unit: str, result: tuple[list[Times], list[Times], float], limit: float | None
) -> Iterator[table.Row]:
    """Rows of one comparison."""
    ours, theirs, largest = result
    for kind, a_second in (("cpu", "a CPU-second"), ("wall", "a second")):
        mine, other = (n / statistics.median(getattr(times, kind) for times in column) for column in (ours, theirs))
        yield table.Row(f"{what}: {unit} {a_second}", mine, other, ratio_from=limit)
    yield table.Row(f"{what}: largest difference of a sum, nats", largest, spec=".1e", ours_to=EXACT)


# --- parts ------------------------------------------------------------------------------------------------------------


def causal(quick: bool) -> Iterator[table.Row]:
    """The small real model: StereoSet's triples, and yes–no prompts with three candidates."""
    source = os.environ.get("BENCH_MODEL") or available(os.environ)[0].path
    if source is None:
        raise SystemExit("no model: isogloss models pull smollm2, or name a folder or GGUF file by BENCH_MODEL")
    n, rounds = (4, 1) if quick else (48, 3)
    model = HfModel(f"hf/{source}", source=source, settings=ModelSettings(device="cpu", batch_size=BATCH))
    with asyncio.Runner() as runner:
        runner.run(model.open())
        bare = Bare(model)
        examples = triples(n)
        prompts = [
            Prompt.make([Message(role="text", content=one.context)], candidates=[f" {text}" for text in one.sentences])
            for one in examples
        ]
        rows = [row for p in prompts for row in bare.sequences(p.messages[0].content, p.candidates)]
        runner.run(_ask(model, prompts[:4]))
        result = compared(runner, model, prompts, partial(bare.sums, rows), rounds)
        yield from figures("StereoSet, 3 sentences after a context", n, "examples", result, 1.2)
        n = max(n // 2, 4)
        questions = runner.run(_ask(model, yes_no_prompts(n)))  # again as text, so that "No" keeps what "No sé" has
        rendered = [Message(role="text", content=response.rendered or "") for response in questions]
        prompts = [Prompt.make([text], candidates=YES_NO) for text in rendered]
        rows = [row for text in rendered for row in bare.sequences(text.content, YES_NO)]
        result = compared(runner, model, prompts, partial(bare.sums, rows), rounds)
        yield from figures("yes–no prompt, 3 candidates", n, "prompts", result, 2.5)
        runner.run(model.close())


def masked(quick: bool) -> Iterator[table.Row]:
    """BERT's shape, random weights: every token of a sentence masked in turn, beside a pass for each."""
    n, rounds = (2, 1) if quick else (24, 3)
    sentences = [text for one in triples(n) for text in one.sentences][:n]
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        save_bert(Path(folder), sentences, quick=quick)
        model = HfModel("hf/bert", source=folder, settings=ModelSettings(device="cpu", batch_size=BATCH))
        runner.run(model.open())
        prompts = [Prompt.make([Message(role="text", content="")], candidates=(text,)) for text in sentences]
        result = compared(runner, model, prompts, partial(Bare(model).masked_sums, sentences), rounds)
        yield from figures("masked model of BERT-base's shape", n, "sentences", result, None)
        runner.run(model.close())


def save_bert(folder: Path, sentences: Sequence[str], *, quick: bool) -> None:
    """A model of BERT-base's shape with random weights, and a tokenizer of its kind."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(sentences, trainers.WordPieceTrainer(special_tokens=names, show_progress=False))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(folder)  # fmt: skip
    torch.manual_seed(4)
    config = transformers.BertConfig(num_hidden_layers=2 if quick else 12)
    with quiet():
        transformers.BertForMaskedLM(config).save_pretrained(folder)


def rows(quick: bool) -> Iterator[table.Row]:
    """All figures."""
    import torch

    torch.set_num_threads(1)
    yield from causal(quick)
    yield from masked(quick)


if __name__ == "__main__":
    table.main(__doc__, rows)
