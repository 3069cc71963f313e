"""A tiny report of made-up numbers, with everything in it that could break a page."""

from __future__ import annotations

import pytest

from isogloss.records import Estimate, Message, RunSpec, Status
from isogloss.reports import (
    Chart,
    CodedReply,
    Column,
    DatasetFacts,
    Example,
    InvalidRow,
    ModelFacts,
    Pages,
    Panel,
    Prose,
    ReportContext,
    RunFacts,
    Table,
)
from isogloss.reports.charts import Dot, interval_plot, scatter_plot
from isogloss.reports.maps import map_picture

NASTY = "</script><script>document.title='broken'</script><b>Sí</b> & \u2028"


@pytest.fixture
def estimates() -> list[Estimate]:
    """One number, one difference, one of which nothing was scored; a country whose code is `NA`."""
    method = "bootstrap over items, 2,000 draws, seed 7, 95 %; toy.yes_no@1"
    return [
        Estimate(
            study="toy", measure="f1", group={"model": "a/one", "country": "NA"}, value=0.1 + 0.2, low=0.25, high=0.35,
            n_items=60, n_answers=180, n_scored=171, missing={Status.REFUSED: 6, Status.UNPARSED: 3}, method=method,
        ),
        Estimate(
            study="toy", measure="delta_f1", group={"model": "a/one", "country": "NO", "baseline": "always_yes"},
            value=0.12, low=-0.03, high=0.21, n_items=60, n_answers=1180, n_scored=1180, method=method,
        ),
        Estimate(
            study="toy", measure="f1", group={"model": "b/two_x", "country": "CL"}, value=None, n_items=60,
            n_answers=180, n_scored=0, missing={Status.REFUSED: 180}, method="no value: nothing was scored",
        ),
    ]  # fmt: skip


@pytest.fixture
def context(estimates: list[Estimate]) -> ReportContext:
    """A report with one section of each kind and a reply that tries to end the page's script."""
    dots = [Dot("Chile", "South", 0.4, 0.3, 0.5, x=1.0), Dot("Spain", "North", None), Dot("Peru", "South", 0.2, x=2.0)]
    areas = ["South", "North"]
    picture = map_picture({"CL": 0.4, "ES": None, "PR": 0.2}, title="F1")
    sections = (
        Prose("about", "About", (f"A paragraph. {NASTY}",)),
        Table(
            "wide", "A wide table", tuple(Column(f"column {n}", "estimate" if n else "text") for n in range(20)),
            ((NASTY, *(estimates[n % 3] for n in range(19))),), note="How it was made.",
        ),
        Chart(
            "dots", "Dots",
            (
                Panel("model", interval_plot(dots, title="F1", domain=(0, 1), category_names=areas), "Dots."),
                Panel("model", scatter_plot(dots, x_title="x", y_title="F1", category_names=areas), "Points."),
            ),
            data=({"country": "CL", "value": 0.4}, {"country": "ES", "value": None}), below=("Not drawn: nothing.",),
        ),
        Chart.of("map", "A map", picture.spec, alt="A map."),
        Pages(
            "items", "Items",
            tuple(
                {
                    "id": f"Z{n:03}", "title": f"thing {n} {NASTY}", "text": "الشيء", "facts": {"gloss": "thing"},
                    "rows": ["palta", NASTY], "columns": ["CL", "ES"], "reference": ["+-", "?+"],
                    "layers": [{"title": "a/one", "cells": ["10", ""]}, {"title": "b/two_x", "cells": ["0x", "1."]}],
                }
                for n in range(80)
            ),
            column_names={"CL": "Chile"},
        ),
    )  # fmt: skip
    spec = RunSpec(
        study="toy", study_version="1", data="sample", data_digest="b2:00", seed=7,
        settings={"sample": None, "format": ["yes_no"]}, models=("gguf/smollm2", "scripted/random"),
    )  # fmt: skip
    run = RunFacts(
        id="run-1", spec=spec,
        models=(
            ModelFacts("gguf/smollm2", revision="sha256:ab", constrained=True, sampling={"temperature": "0"},
                       statuses={"ok": 170, "failed": 2}),
            ModelFacts("scripted/random", statuses={"ok": 172}),
        ),
        versions={"isogloss": "0.1.0"}, started="2026-11-29T10:00:00Z", n_prompts=344,
        command="isogloss run toy sample",
    )  # fmt: skip
    return ReportContext(
        title="Toy: sample",
        study="toy",
        study_version="1",
        study_title="Toy",
        runs=(run,),
        dataset=DatasetFacts("sample", "b2:00", 60, places={"CL": "Chile"}, notes=("39 cells are neither + nor -",)),
        estimates=tuple(estimates),
        sections=sections,
        examples=(
            Example("yes_no", "gguf/smollm2", (Message(role="user", content="¿Palta?"),), NASTY,
                    (CodedReply("strict", "unparsed", "", "more than one answer"),)),
        ),
        invalid=(InvalidRow("gguf/smollm2", "yes_no", "strict", "unparsed", "more than one answer", 3, (NASTY,)),),
        made="2026-11-29T11:00:00Z",
    )  # fmt: skip
