"""The faulty server, and models to put to it."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from isogloss.models.anthropic_wire import ANTHROPIC
from isogloss.models.chat import ChatModel, Endpoint
from isogloss.models.openai_wire import OPENAI
from isogloss.models.pace import Pace
from isogloss.models.retry import RetryPolicy
from isogloss.models.weights import available
from isogloss.records import AnswerForm, Message, Prompt

YES_NO = AnswerForm(kind="one_of", choices=("Sí", "No"))


def _load(name: str) -> ModuleType:
    """Test folders are no packages, so a module beside the tests is loaded by its path."""
    spec = importlib.util.spec_from_file_location(f"isogloss_tests_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
async def server() -> AsyncIterator[Any]:
    """A running FaultyServer."""
    faulty = _load("faulty_server").FaultyServer()
    await faulty.start()
    yield faulty
    await faulty.stop()


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest) -> str:
    """Both wire formats, one after the other."""
    return str(request.param)


@pytest.fixture
async def connect(server: Any) -> AsyncIterator[Callable[..., Awaitable[ChatModel]]]:
    """connect(wire, **changes) → an open ChatModel on the faulty server, with quick retries."""
    opened: list[ChatModel] = []

    async def make(
        wire: str = "openai",
        *,
        key: str | None = "secret-key-123456",
        timeout: float = 5.0,
        pace: Pace | None = None,
        **policy: float,
    ) -> ChatModel:
        speaks = OPENAI if wire == "openai" else ANTHROPIC
        model = ChatModel(
            f"{wire}/m",
            wire=speaks,
            model_id="m",
            endpoint=Endpoint(server.url if wire == "openai" else server.root, key, f"{wire.upper()}_API_KEY"),
            pace=pace,
            timeout=timeout,
            policy=RetryPolicy(**{"first_wait": 0.001, **policy}),
        )
        await model.open()
        opened.append(model)
        return model

    yield make
    for model in opened:
        await model.close()


@pytest.fixture
def prompt() -> Prompt:
    """One yes–no prompt."""
    return make_prompt("¿Usa usted «coche»?", form=YES_NO)


def make_prompt(text: str, **fields: Any) -> Prompt:
    return Prompt.make([Message(role="user", content=text)], **fields)


@pytest.fixture(scope="session")
def embedded() -> str:
    """Name of the embedded model; skips where it can't run, fails in CI."""
    missing = []
    if importlib.util.find_spec("xllamacpp") is None:
        missing.append("xllamacpp isn't installed (pip install 'isogloss[gguf]')")
    if not available(os.environ)[0].present:
        missing.append("the weights aren't here (isogloss models pull smollm2)")
    if missing:
        words = "the embedded model can't run: " + "; ".join(missing)
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)
    return "gguf/smollm2"
