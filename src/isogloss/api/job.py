"""A run set out but not begun: data read, settings checked, everything that decides what is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from isogloss import studies
from isogloss.records import Dataset, RunSpec, Sampling
from isogloss.registry import unknown_name
from isogloss.run.plan import Forecast, forecast, plan_digest, planned
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
        """Calls and tokens for one model and one repeat."""
        return forecast(self.questions(), max_tokens=self.spec.sampling.max_tokens or self.study.default_max_tokens)


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
    parsed, sampling = split_settings(study, settings or {})
    dataset = load(study, data, parsed)
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
