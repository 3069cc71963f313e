"""A base model opened with a next-sentence head that was trained on it here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from isogloss.errors import ModelError
from isogloss.models.hf import files as hf_files
from isogloss.models.hf.head_files import FACTS_FILE, HeadFacts, read_facts, read_weights
from isogloss.models.hf.loading import Loaded, load_encoder
from isogloss.models.settings import ModelSettings


def load_trained(
    name: str, path: Path, settings: ModelSettings, environment: Mapping[str, str]
) -> tuple[Loaded, tuple[str, ...]]:
    """Load a head and the base model it was trained on.

    Parameters
    ----------
    name : str
        `hf/…` of the head's folder, for messages.
    path : Path
        That folder.

    Returns
    -------
    tuple of (Loaded, tuple of str)
        The second: what readers of its scores should know of the head.

    Raises
    ------
    ModelError
        Where one of the head's files is damaged, or the base model is gone or isn't the same any more.
    """
    facts = read_facts(path)
    weights = read_weights(path, facts)
    base, revision = _base(name, path, facts, environment)
    if revision != facts.base_revision:
        raise ModelError(
            f"{name} was trained on revision {facts.base_revision} of {facts.base}, and {base} is revision {revision}; "
            "bring the old files back, or train the head anew"
        )
    loaded = load_encoder(f"{name}: its base model {facts.base}", base, settings)._replace(trained_head=weights)
    return loaded, tuple(filter(None, (facts.sentence, facts.caution)))


def _base(name: str, path: Path, facts: HeadFacts, environment: Mapping[str, str]) -> tuple[Path, str]:
    source = facts.base.removeprefix("hf/")
    found = hf_files.place(source, None)
    if found.path is None:
        return hf_files.located(facts.base, found._replace(revision=facts.base_revision), environment)
    folder = Path(os.path.normpath(path.resolve() / found.path))
    if not folder.is_dir():
        raise ModelError(
            f"{name}: its base model isn't at {folder} any more; bring it back, or write where it is, seen from the "
            f"head's folder, into 'base' of {path / FACTS_FILE}"
        )
    return hf_files.located(facts.base, found._replace(path=folder), environment)


def base_of(found: hf_files.Place, out: Path) -> str:
    """How the base model is named in the description of a head that lies at `out`: the hub's name, or a way there."""
    if found.path is None:
        return f"hf/{found.repo}"
    try:
        way = os.path.relpath(found.path.resolve(), out.resolve())
    except ValueError:  # another drive of Windows
        return f"hf/{found.path.resolve()}"
    return f"hf/{Path(way).as_posix()}"
