"""A toy study that builds a data set: sayings are collected by models, folded, rated by people and counted.

Tests register it as another package would, by an entry point: see `registered`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from isogloss.annotation import Field, Form
from isogloss.construction import Construction, Requests, Sheet, Step, Table, Tables, WaitingError, Workshop
from isogloss.construction.review_file import read_decisions, write_review
from isogloss.errors import SettingError
from isogloss.records import AnswerForm, Dataset, Message, Prompt, Record, Sampling, Status
from isogloss.reports import Column, Prose
from isogloss.reports import Table as Printed
from isogloss.study import Settings, Study

SAYINGS = ("Late is late", "late is late", "Rain makes friends", "A full net is heavy", "The coast waits")
EXAMPLE = """name = "sayings"
models = ["scripted/random"]
prompts = 4
raters = ["a1", "a2"]
"""


class Config(Record):
    name: str
    models: tuple[str, ...]
    prompts: int = 4
    rounds: int = 1
    raters: tuple[str, ...] = ()
    shortest: int = 1
    least: float = 2.0
    stop: Path | None = None


def read_config(path: Path) -> Config:
    try:
        config = Config.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise SettingError(f"{path}: {error}") from error
    return config if config.stop is None else config.model_copy(update={"stop": path.parent / config.stop})


def prompts_of(config: Config) -> list[Prompt]:
    form = AnswerForm(kind="one_of", choices=SAYINGS)
    return [Prompt.make([Message(role="user", content=f"saying {k}?")], form=form) for k in range(config.prompts)]


def collect(workshop: Workshop) -> Tables:
    config: Config = workshop.config
    rows: Table = []
    for model in config.models:
        for number in range(1, config.rounds + 1):
            sampling = Sampling(temperature=1.0, max_tokens=50)
            replies = workshop.ask(prompts_of(config), model, repeat=number, sampling=sampling)
            rows += [
                {"model": model, "round": number, "text": reply.text}
                for reply in replies
                if reply.status is Status.OK and reply.text
            ]
        workshop.tell(f"{model}: {len(rows):,} rows")
    return {"collected": rows}


def fold(workshop: Workshop) -> Tables:
    config: Config = workshop.config
    review = workshop.folder / "review" / "pairs.csv"
    out = {key[0] for key, decision in read_decisions(review, ["row_id"], ["out"]).items() if decision}
    stopped = set() if config.stop is None else set(config.stop.read_text(encoding="utf-8").split("\n"))
    found = {str(row["text"]).casefold(): str(row["text"]) for row in reversed(workshop.tables["collected"])}
    rows: Table = [
        {"id": key.replace(" ", "-"), "text": text}
        for key, text in sorted(found.items())
        if len(text) >= config.shortest and text not in stopped and key.replace(" ", "-") not in out
    ]
    write_review(review, [{"row_id": row["id"], "text": row["text"]} for row in rows], ["row_id", "text"])
    return {"sayings": rows, "folds": [{"n": len(workshop.tables["collected"]), "n_kept": len(rows)}]}


def sheet(workshop: Workshop) -> Sheet:
    config: Config = workshop.config
    form = Form(
        task="judge", title="Sayings", instructions=("How common is it here?",), language="en",
        shown=(("text", "saying"),),
        fields=(Field(name="value", title="how common", kind="scale", choices=("1", "2", "3", "4", "5")),),
    )  # fmt: skip
    rows = [{"item_id": row["id"], "text": row["text"]} for row in workshop.tables["sayings"]]
    return Sheet(form, dict.fromkeys(config.raters, rows))


def judge(workshop: Workshop) -> Tables:
    config: Config = workshop.config
    values: dict[str, list[float]] = {}
    for rating in workshop.ratings("judge"):
        values.setdefault(rating.item_id, []).append(float(str(rating.values["value"])))
    rows: Table = []
    for row in workshop.tables["sayings"]:
        of = values.get(str(row["id"]), [])
        if not workshop.skip_people and len(of) < len(config.raters):
            raise WaitingError(f"'judge' waits for {', '.join(config.raters)}; see 'isogloss annotate status'")
        mean = sum(of) / len(of) if of else None
        rows.append({**row, "mean": mean, "kept": workshop.skip_people or (mean or 0) > config.least})
    return {"judged": rows}


def count(workshop: Workshop) -> Tables:
    kept = [row for row in workshop.tables["judged"] if row["kept"]]
    folder = workshop.folder / "dataset"
    folder.mkdir(exist_ok=True)
    words = "" if not workshop.skip_people else "# nobody was asked\n"
    (folder / "sayings.txt").write_text(words + "".join(f"{row['text']}\n" for row in kept), encoding="utf-8")
    return {"counts": [{"n": len(kept)}]}


def sections(tables: Mapping[str, Table], config: Config) -> list[Prose | Printed]:
    rows = tuple((str(row["text"]),) for row in tables.get("sayings", ()))
    return [
        Prose("summary", "In short", (f"{len(rows)} sayings of {config.name}.",)),
        Printed("sayings", "Sayings", (Column("saying"),), rows),
    ]


STEPS = (
    Step(
        name="collect", title="Collect sayings", by="model", reads=(), writes=("collected",), make=collect,
        settings=lambda config: [config.models, config.prompts, config.rounds],
        forecast=lambda workshop: [
            Requests(model, prompts_of(workshop.config), workshop.config.rounds, 50) for model in workshop.config.models
        ],
    ),
    Step(
        name="fold", title="Fold equal ones", by="rule", reads=("collected",), writes=("sayings", "folds"), make=fold,
        settings=lambda config: config.shortest, reviews=("review/pairs.csv",),
        files=lambda config: () if config.stop is None else (config.stop,),
    ),
    Step(
        name="judge", title="Let people judge", by="people", reads=("sayings",), writes=("judged",), make=judge,
        settings=lambda config: [config.raters, config.least], sheet=sheet,
    ),
    Step(
        name="count", title="Count what is kept", by="rule", reads=("judged",), writes=("counts",), make=count,
        outputs=("dataset/sayings.txt",),
    ),
)  # fmt: skip

CONSTRUCTION = Construction(
    study="sayings", title="Sayings of Aurelia", read_config=read_config, steps=STEPS,
    example=lambda path: path.write_text(EXAMPLE, encoding="utf-8") and None, sections=sections,
)  # fmt: skip

STUDY = Study(
    name="sayings",
    version="1",
    title="Sayings",
    settings=Settings,
    load=lambda source, settings: Dataset(name="none", items=()),
    conditions=lambda dataset, settings, seed: iter(()),
    ask=lambda item, condition, dataset, settings: Prompt.make([Message(role="user", content=item.text)]),
    coders=lambda condition: (),
    estimate=lambda answers, dataset, settings, seed: [],
    construction=lambda: CONSTRUCTION,
)


def registered(folder: Path) -> dict[str, str]:
    """Environment in which isogloss finds the study, as it finds those of other packages."""
    package = folder / "sayings-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: sayings\nVersion: 1\n", encoding="utf-8")
    (package / "entry_points.txt").write_text("[isogloss.studies]\nsayings = sayings:STUDY\n", encoding="utf-8")
    paths = [str(folder), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
