"""Opening a local model: what is told before, what is checked, and what is said when it can't be."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from isogloss.errors import DataError, ModelError, SettingError
from isogloss.models import open_model
from isogloss.models.hf import HfModel
from isogloss.models.settings import ModelSettings
from isogloss.records import Message, Prompt, Sampling

Tiny = Callable[..., Path]
Opened = Callable[..., Awaitable[HfModel]]
CHAT = "{% for m in messages %}{{ m['content'] }}\n{% endfor %}"


def made(name: str, **settings: Any) -> HfModel:
    model = open_model(name, environment={}, settings=ModelSettings(**settings))
    assert isinstance(model, HfModel)
    return model


@pytest.mark.parametrize(
    ("shape", "template", "chat", "masked"),
    [("gpt2", CHAT, True, False), ("gpt2", None, False, False), ("bert", None, False, True)],
)
async def test_abilities_are_told_before_any_weight_is_read(
    shape: str, template: str | None, chat: bool, masked: bool, tiny: Tiny, opened: Opened
) -> None:
    folder = tiny(shape, template)
    told = made(f"hf/{folder}").abilities
    assert (told.chat, told.masked, told.logprobs, told.grammar) == (chat, masked, True, False)
    model = await opened(folder)
    assert model.abilities == told
    assert model.local
    assert model.template == template


def test_telling_them_loads_nothing_heavy(tiny: Tiny) -> None:
    code = (
        "import sys; from isogloss.models import open_model;"
        f"open_model('hf/{tiny('gpt2', CHAT)}', environment={{}}).abilities;"
        "print(sorted({'torch', 'transformers', 'huggingface_hub', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_but_ours_is_written_while_it_loads_and_computes(tiny: Tiny) -> None:
    code = (
        "import asyncio, warnings; warnings.simplefilter('error')\n"
        "from isogloss.models import open_model\n"
        "from isogloss.records import Message, Prompt, Sampling\n"
        "async def main():\n"
        f"    model = open_model('hf/{tiny('gpt2', CHAT)}', environment={{}})\n"
        "    await model.open()\n"
        "    message = [Message(role='user', content='El perro duerme en el jardín. ' * 3)]\n"
        "    for candidates in ((), ('Sí', 'No')):\n"
        "        prompt = Prompt.make(message, candidates=candidates)\n"
        "        print((await model.ask(prompt, Sampling(max_tokens=3), 1)).status)\n"
        "    await model.close()\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["truncated", "ok"]


async def test_the_revision_follows_config_tokenizer_and_weights_only(
    tiny: Tiny, tmp_path: Path, opened: Opened
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny("gpt2", CHAT), folder)
    first = (await opened(folder)).revision
    assert first is not None
    assert len(first) == 16
    (folder / "notes.md").write_text("a note")
    assert (await opened(folder)).revision == first
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-40_000, 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
    second = (await opened(folder)).revision
    (folder / "chat_template.jinja").write_text(CHAT + " ")
    assert len({first, second, (await opened(folder)).revision}) == 3


async def test_a_revision_that_is_asked_for_is_checked(tiny: Tiny) -> None:
    model = made(f"hf/{tiny('gpt2')}")
    await model.open()
    revision = model.revision
    await model.close()
    assert revision is not None
    again = open_model(f"hf/{tiny('gpt2')}@{revision[:8]}", environment={})
    await again.open()
    await again.close()
    with pytest.raises(ModelError, match=rf"is revision {revision}, not abcdef12"):
        await open_model(f"hf/{tiny('gpt2')}@abcdef12", environment={}).open()


async def test_without_the_extra_the_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "torch" else find_spec(name))
    model = made(f"hf/{tmp_path}")
    with pytest.raises(ModelError, match=r"needs torch, which isn't installed; pip install 'isogloss\[hf\]'"):
        await model.open()
    await model.close()


async def test_a_folder_that_is_not_there_or_holds_no_model_is_one_line(tmp_path: Path, transformers: Any) -> None:
    with pytest.raises(ModelError, match=r"nothing at .*none; expected a folder with a saved transformers model"):
        await made(f"hf/{tmp_path}/none").open()
    with pytest.raises(ModelError, match=r"nothing at .*x.gguf; expected a .gguf file"):
        await made(f"hf/{tmp_path}/x.gguf").open()
    with pytest.raises(ModelError, match=r"no readable config\.json"):
        await made(f"hf/{tmp_path}").open()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model_type": "nonesuch"}, "is no language model that this version of transformers can ask|can't be loaded"),
        ({"model_type": "vit", "architectures": ["ViTModel"]}, "is no language model|can't be loaded"),
        ({"n_embd": 64}, "is no language model: its weights lack|can't be loaded"),
    ],
)
async def test_a_wrong_architecture_is_one_line(change: dict[str, Any], words: str, tiny: Tiny, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny("gpt2"), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(ModelError, match=words) as caught:
        await made(f"hf/{folder}").open()
    assert "\n" not in str(caught.value)


async def test_an_encoder_without_an_output_layer_is_no_language_model(
    transformers: Any, tiny: Tiny, tmp_path: Path
) -> None:
    """transformers would fill the missing layer with random numbers."""
    folder = tmp_path / "model"
    shutil.copytree(tiny("bert"), folder)
    transformers.AutoModel.from_pretrained(folder).save_pretrained(folder)
    with pytest.raises(ModelError, match=r"is no language model: its weights lack 'cls\.predictions"):
        await made(f"hf/{folder}").open()


async def test_garbage_in_place_of_weights_or_tokenizer_is_one_line(tiny: Tiny, tmp_path: Path) -> None:
    for file, words in (("model.safetensors", "can't be loaded"), ("tokenizer.json", "its tokenizer can't be loaded")):
        folder = tmp_path / file
        shutil.copytree(tiny("gpt2"), folder)
        (folder / file).write_bytes(b"garbage")
        with pytest.raises(ModelError, match=words) as caught:
            await made(f"hf/{folder}").open()
        assert "\n" not in str(caught.value)


async def test_a_dtype_or_device_that_there_is_not(tiny: Tiny) -> None:
    with pytest.raises(SettingError, match="no dtype named 'float23'; did you mean 'float32'"):
        await made(f"hf/{tiny('gpt2')}", dtype="float23").open()
    with pytest.raises(SettingError, match="device 'cuda:99' can't be used"):
        await made(f"hf/{tiny('gpt2')}", device="cuda:99").open()


@pytest.mark.parametrize(
    ("dtype", "is_remarked"), [("bfloat16", True), ("float16", True), ("float32", False), ("float64", False)]
)
async def test_half_precision_is_remarked(tiny: Tiny, opened: Opened, dtype: str, is_remarked: bool) -> None:
    model = await opened(tiny("llama"), dtype=dtype)
    assert any(f"computed in {dtype}" in remark for remark in model.remarks) == is_remarked


async def test_all_dtypes_give_the_same_but_for_their_precision(tiny: Tiny, opened: Opened) -> None:
    prompt = Prompt.make([Message(role="text", content="a b")], candidates=(" c", " a"))
    exact, *others = [
        (await (await opened(tiny("llama"), dtype=dtype)).ask(prompt, Sampling(), 1)).candidate_logprobs
        for dtype in ("float64", "float32", "auto")
    ]
    for found in others:
        assert found == pytest.approx(exact, abs=1e-3)


async def test_an_empty_candidate_is_an_error_and_a_closed_model_asks_nothing(tiny: Tiny, opened: Opened) -> None:
    model = await opened(tiny("gpt2"))
    with pytest.raises(DataError, match="an empty candidate"):
        await model.ask(Prompt.make([Message(role="text", content="x")], candidates=("",)), Sampling(), 1)
    await model.close()
    await model.close()
    with pytest.raises(ModelError, match="isn't open"):
        await model.ask(Prompt.make([Message(role="text", content="x")], candidates=("a",)), Sampling(), 1)
