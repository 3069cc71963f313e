"""A run set out but not begun: data read, settings checked, everything that decides what is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from isogloss import studies
from isogloss.errors import SettingError
from isogloss.records import Dataset, RunSpec, Sampling
from isogloss.registry import unknown_name
from isogloss.run.analyse import current_arms
from isogloss.run.folder import GROWING, RunFolder, with_scoring_of
from isogloss.run.plan import Forecast, Held, forecast, plan_digest, planned
from isogloss.store import Ledger
from isogloss.study import Question, Settings, Source, Study, setting_error


def find_study(study: str | Study) -> Study:
    """A study by name; a Study value is passed through."""
    return studies.get(study) if isinstance(study, str) else study


def split_settings(study: Study, given: Mapping[str, object]) -> tuple[Settings, Sampling]:
    """Settings given by name → those of the study and those of sampling.

    Raises
    ------
    UnknownNameError, SettingError
        For a name that neither has, or a value that can't be.
    """
    given = {name: None if value in ("", "none") else value for name, value in given.items()}
    of_sampling = {name: value for name, value in given.items() if name in Sampling.model_fields}
    settings = study.parse_settings({name: value for name, value in given.items() if name not in of_sampling})
    try:
        sampling = Sampling.model_validate({"max_tokens": study.default_max_tokens, **of_sampling})
    except ValidationError as error:
        raise setting_error(error) from error
    return settings, sampling


def scoring_settings(study: Study, spec: RunSpec, given: Mapping[str, object]) -> dict[str, object]:
    """Settings to score a run with, as JSON values.

    Raises
    ------
    UnknownNameError, SettingError
        For a setting that would change what is asked, or a value that can't be.
    """
    given = {name: None if value in ("", "none") else value for name, value in given.items()}
    for name in given:
        if name in (*study.settings.model_fields, *Sampling.model_fields) and name not in study.scoring:
            raise SettingError(
                f"setting {name!r} decides what is asked, and this run has been asked; scoring can change "
                f"{', '.join(study.scoring) or 'none of its settings'}"
            )
    parsed = study.parse_settings({**spec.settings, **given}).model_dump(mode="json")
    return {name: parsed[name] for name in given}


def load(study: Study, data: Source, settings: Settings) -> Dataset:
    """Read a data set: a sample's name, a path, or a data frame."""
    if isinstance(data, str) and data in study.samples:
        dataset = study.load(study.samples[data], settings)
        return dataset.model_copy(update={"name": data})
    if isinstance(data, str) and not Path(data).exists() and not Path(data).suffix:
        raise unknown_name("file or sample", data, study.samples)
    return study.load(data, settings)


@dataclass(frozen=True)
class Job:
    """A run that is set out but not begun."""

    study: Study
    dataset: Dataset
    settings: Settings
    spec: RunSpec

    def questions(self) -> Iterable[Question]:
        return planned(self.study, self.dataset, self.settings, self.spec)

    def forecast(self) -> dict[str, Forecast]:
        """Calls and tokens for one model and one repeat, by stage."""
        return self._forecast({"": Held((frozenset(),))})[""]

    def outlook(self, out: str | Path | None = None) -> dict[str, dict[str, Forecast]]:
        """Calls and tokens over all repeats, by model and stage; "" stands for a model that nobody has named yet.

        Parameters
        ----------
        out : path, optional
            Run folder. What it holds already is left out, and counted as held. It is only read, and need not be there.

        Raises
        ------
        SettingError
            If the folder holds a run that asks something else.
        """
        models = self.spec.models or ("",)
        folder = None if out is None else RunFolder(out)
        if folder is None or not folder.exists or not folder.ledger_file.exists():
            return self._forecast({model: _fresh(model, self.spec.repeats) for model in models})
        before = folder.spec()
        spec = with_scoring_of(before, self.spec, self.study.scoring)
        _check_same(before, spec, folder)
        with folder.ledger() as ledger:
            return self._forecast({model: _held(ledger, spec, before, model) for model in models})

    def _forecast(self, held: Mapping[str, Held]) -> dict[str, dict[str, Forecast]]:
        max_tokens = self.spec.sampling.max_tokens or self.study.default_max_tokens
        return forecast(self.questions(), max_tokens=max_tokens, held=held)


CHAT_ONLY = ("openai/", "anthropic/")
"""Models that are never asked for the probability of given answers."""


def _fresh(model: str, repeats: int) -> Held:
    return Held((frozenset(),) * repeats, scores=not model.startswith(CHAT_ONLY))


def _check_same(before: RunSpec, spec: RunSpec, folder: RunFolder) -> None:
    """What may not differ when a run is taken up again."""
    for name in RunSpec.model_fields:
        if name not in GROWING and getattr(before, name) != getattr(spec, name):
            raise SettingError(
                f"{folder.path} holds a run that differs in its {name.replace('_', ' ')}; "
                "choose another --out, or give the same"
            )


def _held(ledger: Ledger, spec: RunSpec, before: RunSpec, model: str) -> Held:
    """What a run holds of one model: all repeats that it has, or is to have."""
    repeats = max(spec.repeats, before.repeats)
    arms = current_arms(ledger, spec.model_copy(update={"models": (model,)}))
    if not arms:
        return _fresh(model, repeats)
    arm = arms[0]
    settled: list[set[str]] = [set() for _ in range(repeats)]
    for plan in filter(None, map(ledger.plan, dict.fromkeys(map(plan_digest, (before, spec))))):
        ids = ledger.prompt_seqs(plan).keys()
        for repeat, found in enumerate(settled, start=1):
            found |= ids - {due.prompt.id for due in ledger.due(plan, arm, repeat)}
    return Held(settled, chats=arm.chats, scores=arm.scores)


def prepare(
    study: str | Study,
    data: Source,
    *,
    models: Sequence[str] = (),
    settings: Mapping[str, object] | None = None,
    seed: int = 0,
    limit: int | None = None,
    repeats: int = 1,
) -> Job:
    """Read the data and settle everything that decides what is asked."""
    study = find_study(study)
    given = settings or {}
    dataset = load(study, data, split_settings(study, given)[0])
    return settle(study, dataset, given, models=models, seed=seed, limit=limit, repeats=repeats)


def settle(
    study: Study, dataset: Dataset, given: Mapping[str, object], *, models: Sequence[str], seed: int,
    limit: int | None, repeats: int,
) -> Job:  # fmt: skip
    """Settle everything that decides what is asked of data that were read."""
    parsed, sampling = split_settings(study, given)
    try:
        spec = RunSpec(
            study=study.name,
            study_version=study.version,
            data=dataset.name,
            data_digest=dataset.digest,
            settings=parsed.model_dump(mode="json"),
            sampling=sampling,
            seed=seed,
            limit=limit,
            repeats=repeats,
            models=tuple(dict.fromkeys(models)),
        )
    except ValidationError as error:
        raise setting_error(error) from error
    return Job(study, dataset, parsed, spec)


def default_out(spec: RunSpec) -> Path:
    """Where a run goes when nobody says: the same command finds the same folder again."""
    same = spec.model_copy(update={"models": (), "repeats": 1, "limit": None})
    name = "".join(c if c.isalnum() else "-" for c in Path(spec.data).stem.lower()).strip("-")[:40] or "data"
    return Path("runs") / f"{spec.study}-{name}-{plan_digest(same)[3:9]}{spec.sampling.id[3:5]}"
