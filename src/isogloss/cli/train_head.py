"""`isogloss models train-head`: a next-sentence head for a model that has none."""

from __future__ import annotations

from pathlib import Path

from isogloss.cli.console import environment, note, say, say_json


def train_head(
    model: str | None, corpus: Path | None, out: Path | None, *, language: str | None, pairs: int | None, seed: int,
    config: Path | None, json: bool,
) -> None:  # fmt: skip
    """Train it, say how good it is, and how it is used."""
    from isogloss.errors import SettingError

    if model is None or corpus is None or out is None:
        raise SettingError(
            "'isogloss models train-head' needs a model, a corpus and a folder, e.g. "
            "'isogloss models train-head hf/FacebookAI/xlm-roberta-base --corpus sentences.txt --out head'"
        )
    from isogloss.api.train_head import N_PAIRS
    from isogloss.api.train_head import train_head as train

    facts = train(
        model, corpus, out, language=language, n_pairs=N_PAIRS if pairs is None else pairs, seed=seed, config=config,
        environment=environment(), progress=note,
    )  # fmt: skip
    if facts.caution is not None:
        note(f"careful: {facts.caution}")
    name = f"hf/{out}" if out.is_absolute() or str(out).startswith(("~", "..")) else f"hf/./{out}"
    if json:
        say_json({"model": name, **facts.model_dump(), "caution": facts.caution})
        return
    say(f"{name}: {facts.sentence}")
    note(f"isogloss run stereotypes DATA --model {name} --set rule=nsp_trained")
