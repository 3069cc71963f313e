"""Tiny models of random weights with small real tokenizers, saved as a user would have them; and the real small one."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from isogloss.models import open_model
from isogloss.models.hf import HfModel
from isogloss.models.settings import ModelSettings
from isogloss.models.weights import available

TEXT = (
    "El perro duerme en el jardín y la niña lee un libro. ¿Se usa la palabra coche en España? Sí, se usa. "
    "No, no se usa. "
    "En Chile se dice palta y en México aguacate. user: assistant: system: Responda solo Sí o No, por favor. "
    "The dog sleeps in the garden and the world turns; the girl works, walks and talks with her friends. "
)


def _needed(*packages: str) -> None:
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        words = f"{', '.join(missing)} isn't installed (pip install 'isogloss[hf]')"
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)


@pytest.fixture(scope="session")
def transformers() -> Any:
    """The library, or a skip with a word."""
    _needed("torch", "transformers")
    import transformers

    return transformers


# --- tokenizers -------------------------------------------------------------------------------------------------------


def _byte_level(transformers: Any, **specials: str) -> Any:
    """As GPT-2's: a space belongs to the word after it; nothing is put before a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|end|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    made.train_from_iterator([TEXT] * 3, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>", **specials)


def _metaspace(transformers: Any) -> Any:
    """As Llama's: words begin with a mark, and a start token is put before a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False)
    made.train_from_iterator([TEXT] * 3, trainer)
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


def _word_piece(transformers: Any, names: Sequence[str]) -> Any:
    """As BERT's: words in pieces, spaces count for nothing, a token before and one after a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    pad, unknown, first, last, mask = names
    made = Tokenizer(models.WordPiece(unk_token=unknown))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=list(names), show_progress=False)
    made.train_from_iterator([TEXT] * 3, trainer)
    made.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", pair=f"{first}:0 $A:0 {last}:0 $B:1 {last}:1",
        special_tokens=[(first, 2), (last, 3)],
    )  # fmt: skip
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token=pad, unk_token=unknown, cls_token=first, sep_token=last, mask_token=mask
    )


def _unigram(transformers: Any) -> Any:
    """As XLM-R's: SentencePiece with a unigram model, a start token before a text and an end token after it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=180, special_tokens=names, unk_token="<unk>", show_progress=False)
    made.train_from_iterator([TEXT] * 3, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        cls_token="<s>", sep_token="</s>", mask_token="<mask>",
    )  # fmt: skip


# --- models -----------------------------------------------------------------------------------------------------------

_SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


def _made(transformers: Any, shape: str) -> tuple[Any, Any]:
    """Config and tokenizer of a shape."""
    t = transformers
    wide = {"initializer_range": 0.4, "max_position_embeddings": 128}
    if shape in ("bert", "bert-pretraining", "bert-next"):
        tokenizer = _word_piece(t, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
        return t.BertConfig(vocab_size=len(tokenizer), **_SMALL, **wide), tokenizer
    if shape == "roberta":
        tokenizer = _word_piece(t, ["<unk>", "<pad>", "<s>", "</s>", "<mask>"])
        tokenizer.unk_token, tokenizer.pad_token = "<unk>", "<pad>"
        return t.RobertaConfig(vocab_size=len(tokenizer), pad_token_id=1, **_SMALL, **wide), tokenizer
    if shape in ("xlm-r", "unigram"):
        tokenizer = _unigram(t)
        ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
        kind = t.XLMRobertaConfig if shape == "xlm-r" else t.LlamaConfig
        return kind(vocab_size=len(tokenizer), **_SMALL, **wide, **ids), tokenizer
    if shape in ("llama", "mistral"):
        tokenizer = _metaspace(t)
        ids = {"bos_token_id": 1, "eos_token_id": 2}
        if shape == "llama":
            return t.LlamaConfig(vocab_size=len(tokenizer), num_key_value_heads=2, **_SMALL, **wide, **ids), tokenizer
        return t.MistralConfig(
            vocab_size=len(tokenizer), num_key_value_heads=2, sliding_window=16, **_SMALL, **wide, **ids
        ), tokenizer
    tokenizer = _byte_level(t, **({} if shape == "no-start" else {"bos_token": "<|end|>"}))
    ids = {"bos_token_id": 0, "eos_token_id": 0}
    if shape == "bloom":
        return t.BloomConfig(
            vocab_size=len(tokenizer), hidden_size=32, n_layer=2, n_head=4, initializer_range=0.4, **ids
        ), tokenizer
    return t.GPT2Config(
        vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=4, n_positions=128, initializer_range=0.4, **ids
    ), tokenizer


_MAKERS = {
    "bert": "AutoModelForMaskedLM",
    "roberta": "AutoModelForMaskedLM",
    "xlm-r": "AutoModelForMaskedLM",
    "bert-pretraining": "AutoModelForPreTraining",
    "bert-next": "AutoModelForNextSentencePrediction",
}


@pytest.fixture(scope="session")
def tiny(transformers: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """tiny(shape, template=None) → folder of a saved model of that shape."""
    import torch

    made: dict[tuple[str, str | None], Path] = {}

    def make(shape: str, template: str | None = None) -> Path:
        if (shape, template) not in made:
            folder = tmp_path_factory.mktemp(shape)
            config, tokenizer = _made(transformers, shape)
            tokenizer.chat_template = template
            torch.manual_seed(1)
            maker = getattr(transformers, _MAKERS.get(shape, "AutoModelForCausalLM"))
            maker.from_config(config).save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            made[shape, template] = folder
        return made[shape, template]

    return make


@pytest.fixture
async def opened() -> AsyncIterator[Callable[..., Awaitable[HfModel]]]:
    """opened(folder, **settings) → an open HfModel, closed after the test."""
    models: list[HfModel] = []

    async def make(folder: Path, **settings: Any) -> HfModel:
        model = open_model(f"hf/{folder}", environment={}, settings=ModelSettings(device="cpu", **settings))
        assert isinstance(model, HfModel)
        models.append(model)
        await model.open()
        return model

    yield make
    for model in models:
        await model.close()


@pytest.fixture(scope="session")
def smollm() -> Path:
    """The GGUF file of the real small model."""
    _needed("torch", "transformers", "accelerate", "gguf")
    shelf = available(os.environ)[0]
    if shelf.path is None:
        words = "the weights aren't here (isogloss models pull smollm2)"
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)
    return Path(shelf.path)
