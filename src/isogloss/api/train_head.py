"""A next-sentence head for a model that has none, trained on a user's corpus."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from isogloss.errors import DataError, SettingError
from isogloss.locale import language_tag
from isogloss.metrics import wilson_interval
from isogloss.models import parse_name
from isogloss.models.config import read_config
from isogloss.models.hf import files as hf_files
from isogloss.models.hf.corpus_pairs import Corpus, Parts, make_pairs, read_corpus
from isogloss.models.hf.head_files import (
    FACTS_FILE,
    WEIGHTS_FILE,
    HeadFacts,
    is_head,
    read_facts,
    weights_bytes,
    write_head,
)
from isogloss.models.hf.loading import ONE_WAY, check_installed, check_settings, load_encoder, quiet
from isogloss.models.hf.train_head import Trained, train
from isogloss.models.hf.trained_head import base_of
from isogloss.models.settings import ModelSettings
from isogloss.version import __version__

N_PAIRS = 10_000
LEAST_PAIRS = 400
Say = Callable[[str], None]


class _Wish(NamedTuple):
    """What is to be trained; a head of the same wish isn't trained again."""

    base: str
    base_revision: str
    corpus_sha256: str
    wished_pairs: int
    seed: int
    language: str | None


def train_head(
    model: str,
    corpus: str | Path,
    out: str | Path,
    *,
    language: str | None = None,
    n_pairs: int = N_PAIRS,
    seed: int = 0,
    config: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    progress: Say = lambda line: None,
) -> HeadFacts:
    """Train a next-sentence head, and write it into a folder that is then a model of its own: `hf/./DIR`.

    Parameters
    ----------
    model : str
        `hf/OWNER/NAME` or `hf/./DIR`; it must read both ways, and isn't changed.
    corpus : path
        Text in UTF-8: a sentence a line, a blank line between documents.
    out : path
        The folder. Where it holds this very head already, nothing is done.
    language : str, optional
        Of the corpus, a BCP 47 tag; noted with the head.
    n_pairs : int
        Pairs in all, at most: half of them consecutive, a fifth kept apart to tell how good the head is.
    config : path, optional
        As for `run_study`: device, dtype and batch size of the model.
    progress : callable
        Given a line now and then.

    Returns
    -------
    HeadFacts
        Also written into the folder. `caution` is what must be said of a head that isn't good.

    Raises
    ------
    DataError
        A corpus that can't be used, or a folder with other contents.
    SettingError, ModelError
        A model that can't have such a head, or can't be loaded.
    """
    corpus, out = Path(corpus), Path(out)
    variables = os.environ if environment is None else environment
    parsed = parse_name(model)
    if parsed.provider != "hf":
        raise SettingError(f"a head is trained on a model of hf/…, got {model!r}")
    if n_pairs < LEAST_PAIRS:
        raise SettingError(f"a head needs at least {LEAST_PAIRS} pairs, got {n_pairs}")
    tag = language_tag(language) if language is not None else None
    settings = read_config(config, environment=variables).settings(parsed.full)
    text = read_corpus(corpus)
    progress(f"{text.name}: {text.n_sentences:,} sentences in {len(text.documents):,} documents")
    check_installed(model, gguf=False)
    check_settings(settings)
    with quiet():
        found = hf_files.place(parsed.model, parsed.revision)
        if found.is_gguf:
            raise SettingError(ONE_WAY.format(model))
        path, revision = hf_files.located(model, found, variables)
        if is_head(path):
            raise SettingError(f"{model} is a head that was trained on {read_facts(path).base}; name a base model")
        wish = _Wish(base_of(found, out), revision, text.sha256, n_pairs, seed, tag)
        held = _held(out, wish)
        if held is not None:
            progress(f"this head is in {out} already")
            return held
        return _train(model, path, settings, text, out, wish, progress)


def _held(out: Path, wish: _Wish) -> HeadFacts | None:
    """The head that is there already. Raises DataError where the folder holds anything else."""
    if not out.exists():
        return None
    others = (
        [file.name for file in out.iterdir() if file.name not in (FACTS_FILE, WEIGHTS_FILE)] if out.is_dir() else [""]
    )
    if others:
        raise DataError(f"{out} exists and holds other things; give --out a folder that is new or empty")
    if not is_head(out):
        return None
    facts = read_facts(out)
    if any(getattr(facts, name) != value for name, value in wish._asdict().items()):
        raise DataError(
            f"{out} holds a head trained on {facts.corpus} over {facts.base} with other settings, model or corpus; "
            "give --out another folder"
        )
    return facts if (out / WEIGHTS_FILE).is_file() else None


def _train(
    model: str, path: Path, settings: ModelSettings, corpus: Corpus, out: Path, wish: _Wish, progress: Say
) -> HeadFacts:
    parts = make_pairs(corpus, n_pairs=wish.wished_pairs, seed=wish.seed)
    n_training = len(parts.training) + len(parts.stopping)
    progress(f"{n_training:,} pairs to train on, {len(parts.held_out):,} held out; half of each are consecutive")
    loaded = load_encoder(model, path, settings)
    trained = train(model, loaded, parts, seed=wish.seed, at_once=settings.batch_size, progress=progress)
    packed = weights_bytes(trained.weights)
    facts = _facts(corpus, wish, parts, trained, hashlib.sha256(packed).hexdigest())
    try:
        write_head(out, facts, packed)
    except OSError as fault:
        raise DataError(f"the head can't be written to {out}: {fault.strerror or fault}") from None
    return facts


def _facts(corpus: Corpus, wish: _Wish, parts: Parts, trained: Trained, weights_sha256: str) -> HeadFacts:
    low, high = wilson_interval(trained.n_right, trained.n_held_out)
    return HeadFacts(
        **wish._asdict(),
        weights_sha256=weights_sha256,
        corpus=corpus.name,
        sentences=corpus.n_sentences,
        documents=len(corpus.documents),
        training_pairs=len(parts.training) + len(parts.stopping),
        held_out_pairs=trained.n_held_out,
        accuracy=trained.n_right / trained.n_held_out,
        low=low,
        high=high,
        epochs=trained.n_epochs,
        isogloss=__version__,
        trained_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
