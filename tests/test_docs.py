"""The documentation is complete, its links lead somewhere, and what it shows is what happens."""

from __future__ import annotations

import asyncio
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import isogloss
from isogloss import errors, studies
from isogloss.records import Sampling, Status

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
REFERENCE = DOCS / "reference"


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "tools" / "make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


TOOL = _tool()


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def coded(path: Path) -> set[str]:
    """What stands in backticks on a page."""
    return set(re.findall(r"`([^`\n]+)`", text_of(path)))


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(path), re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    without_code = re.sub(r"^```.*?^```$", "", text_of(path), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.+)$", without_code, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


# --- complete ---------------------------------------------------------------------------------------------------------


def test_the_page_of_commands_is_current():
    assert text_of(TOOL.COMMANDS) == TOOL.commands_page(), "run: python tools/make_reference.py"


def test_every_command_and_option_is_in_the_reference():
    import typer.main

    from isogloss.cli.app import app

    commands = typer.main.get_command(app).commands
    sections = dict(
        re.findall(r"^## isogloss (\w+)\n(.*?)(?=^## |\Z)", text_of(TOOL.COMMANDS), re.DOTALL | re.MULTILINE)
    )
    assert list(sections) == list(commands)
    for name, command in commands.items():
        options = {option for parameter in command.params for option in getattr(parameter, "opts", ())}
        for option in options:
            if option.startswith("--"):
                assert f"`{option}" in sections[name], (name, option)


def test_every_study_has_a_page_of_its_own():
    for name in studies.BUILT_IN:
        assert (DOCS / "tutorial" / f"{name}.md").exists()
        assert name in text_of(DOCS / "index.md")


def test_every_setting_is_listed_with_its_default():
    words = coded(REFERENCE / "settings.md")
    for name in studies.BUILT_IN:
        study = studies.get(name)
        for key, field in {**study.settings.model_fields, **Sampling.model_fields}.items():
            assert key in words, key
            default = study.default_max_tokens if key == "max_tokens" else field.get_default(call_default_factory=True)
            shown = ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
            assert default in (None, ()) or {shown, shown.lower()} & words, (key, default)


def test_every_status_is_explained():
    assert {status.value for status in Status} <= coded(REFERENCE / "statuses.md")


def test_every_coder_is_explained():
    from isogloss.studies.lexicon import coding

    coders = (*coding.YES_NO, *coding.NUMBERS, *coding.YES_NO_LOGPROB, *coding.NUMBERS_LOGPROB)
    assert {coder.name for coder in coders} <= coded(REFERENCE / "statuses.md")


def test_every_error_is_explained():
    faults = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert faults <= coded(REFERENCE / "errors.md")


def test_every_public_name_is_used_in_the_docs():
    everything = "\n".join(map(text_of, PAGES))
    for name in isogloss.__all__:
        assert name == "__version__" or f"isogloss.{name}" in everything, name


def test_every_scripted_informant_is_explained():
    from isogloss.models.scripted import DESCRIPTIONS

    assert {f"scripted/{name}" for name in DESCRIPTIONS} <= coded(DOCS / "howto" / "own-model.md")


@pytest.fixture(scope="module")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> isogloss.Run:
    folder = tmp_path_factory.mktemp("small")
    (folder / "numbers.csv").write_text("code,tokens\nMX,3\nCL,2\nES,1\n", encoding="utf-8")
    settings = {"countries": "MX,CL,ES", "sample": 40, "covariates": folder / "numbers.csv", "resamples": 20}
    return isogloss.run_study("lexicon", "sample", models=["scripted/random"], settings=settings, out=folder / "run")


def test_every_measure_is_explained(small_run):
    words = coded(REFERENCE / "measures.md")
    measures = {estimate.measure for estimate in small_run.records}
    assert {name.partition("(")[0] for name in measures if "(" in name} == {
        "spearman", "spearman_areas", "spearman_questions",
    }  # fmt: skip
    for name in measures:
        head, _, pair = name.rstrip(")").partition("(")
        if pair:
            assert f"{head}(x,y)" in words
            assert set(pair.split(",")) - {"tokens"} <= words, name
        else:
            assert head.removesuffix("_pooled") in words, name
    baselines = {estimate.group["baseline"] for estimate in small_run.records if "baseline" in estimate.group}
    assert baselines <= words


def test_every_column_is_explained(small_run):
    words = coded(REFERENCE / "files.md")
    assert set(small_run.answers.columns) <= words
    assert set(small_run.estimates.columns) <= words


def test_every_table_and_file_of_a_run_is_explained(small_run):
    import sqlite3

    words = coded(REFERENCE / "files.md")
    connection = sqlite3.connect(small_run.folder.ledger_file)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert tables <= words
    assert {path.name for path in small_run.folder.path.iterdir()} <= words


def test_every_column_of_a_table_has_its_names_in_the_docs():
    from isogloss.studies.lexicon.layouts import ALIASES

    words = text_of(REFERENCE / "data-formats.md")
    for role in ALIASES:
        assert f"`{role}`" in words or role == "remark", role


# --- links and words --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    without_code = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code):
        if link.startswith("https://"):
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), link
        assert not anchor or anchor in anchors(path), link


def test_every_page_can_be_reached_from_the_index():
    linked = {
        (DOCS / link.partition("#")[0]).resolve() for link in re.findall(r"\]\(([^)\s]+)\)", text_of(DOCS / "index.md"))
    }
    assert {path for path in DOCS.rglob("*.md") if path.name != "index.md"} <= linked


# --- what is shown is what happens ------------------------------------------------------------------------------------


class _Here:
    """A pool of processes that isn't one."""

    def __init__(self, *args: object, **options: object) -> None: ...

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *fault: object) -> None: ...

    def submit(self, function: Callable[..., object], *args: object) -> _Here:
        function(*args)
        return self

    def result(self) -> None: ...


@pytest.fixture
def _without_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are tested elsewhere; here an empty file stands for them, so that the pages are run quickly."""
    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", _Here)
    monkeypatch.setattr("isogloss.studies.lexicon.figures.sections", lambda *args: [])
    monkeypatch.setattr("isogloss.reports.write_html", lambda path, context: path.write_text("", encoding="utf-8"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_without_drawing")
@pytest.mark.parametrize("page", TOOL.pages(), ids=lambda page: page.stem)
def test_commands_print_what_the_page_shows(page, tmp_path):
    assert text_of(page) == TOOL.filled(text_of(page), tmp_path), "run: python tools/make_reference.py"


@pytest.mark.usefixtures("_without_drawing")
@pytest.mark.parametrize("name", ["README.md", "docs/howto/notebook.md", "docs/howto/add-a-study.md"])
def test_python_blocks_run_inside_a_running_event_loop(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = "\n".join(blocks(ROOT / name, "python"))
    assert source

    async def notebook() -> None:
        exec(compile(source, name, "exec"), {"__name__": "notebook"})

    asyncio.run(notebook())


def test_wordings_and_tables_shown_as_examples_can_be_read(tmp_path):
    import pandas as pd

    for block in blocks(REFERENCE / "data-formats.md", "csv")[:2]:
        path = tmp_path / "example.csv"
        path.write_text(block, encoding="utf-8")
        job, _ = isogloss.check_data("lexicon", path)
        assert len(job.dataset.items) == 1
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        assert len(isogloss.check_data("lexicon", frame)[0].dataset.items) == 1
