"""Models of the hub: brought once, found again without a network, and each fault in one line."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from isogloss.errors import ModelError
from isogloss.models import open_model
from isogloss.models.hf import HfModel
from isogloss.models.settings import ModelSettings
from isogloss.records import Message, Prompt, Sampling, Status

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "hf_secret"
Tiny = Callable[..., Path]


class Hub(ThreadingHTTPServer):
    """As much of the hub's address space as loading a model needs."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.folder = folder
        self.gated = False
        self.sent: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answers(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *words: object) -> None: ...

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        path = unquote(self.path.partition("?")[0]).strip("/").split("/")
        hub, files = self.server, {p.name: p for p in self.server.folder.iterdir()}
        if "own/tiny" not in self.path:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"}, with_body)
        elif hub.gated and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._send(403, b"{}", {"X-Error-Code": "GatedRepo"}, with_body)
        elif path[:2] == ["api", "models"] and path[4:5] in ([], ["revision"]):
            if path[5:] not in ([], ["main"], [COMMIT]):
                self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"}, with_body)
            else:
                info = {"id": "own/tiny", "sha": COMMIT, "siblings": [{"rfilename": name} for name in sorted(files)]}
                self._send(200, json.dumps(info).encode(), {}, with_body)
        elif path[:2] == ["api", "models"] and path[4:5] == ["tree"]:
            entries = [
                {"type": "file", "path": name, "size": file.stat().st_size, "oid": _oid(file)}
                for name, file in sorted(files.items())
            ]
            self._send(200, json.dumps(entries).encode(), {}, with_body)
        elif path[2:3] == ["resolve"] and path[-1] in files:
            file = files[path[-1]]
            if with_body:
                hub.sent.append(file.name)
            self._send(200, file.read_bytes(), {"ETag": f'"{_oid(file)}"', "X-Repo-Commit": COMMIT}, with_body)
        else:
            self._send(404, b"{}", {"X-Error-Code": "EntryNotFound"}, with_body)

    def _send(self, status: int, body: bytes, headers: dict[str, str], with_body: bool) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)


def _oid(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()


@pytest.fixture
def hub(tiny: Tiny, tmp_path: Path) -> Iterator[Hub]:
    folder = tmp_path / "served"
    folder.mkdir()
    for file in tiny("gpt2", "{{ messages[0]['content'] }}:").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "README.md").write_text("not needed")
    (folder / "pytorch_model.bin").write_bytes(b"the same weights in another format")
    server = Hub(folder)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def environment(hub: Hub, tmp_path: Path) -> dict[str, str]:
    return {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home")}


def made(name: str, environment: dict[str, str]) -> HfModel:
    model = open_model(name, environment=environment, settings=ModelSettings(device="cpu"))
    assert isinstance(model, HfModel)
    return model


async def test_a_model_is_brought_once_and_its_commit_is_the_revision(hub: Hub, environment: dict[str, str]) -> None:
    for name in ("hf/own/tiny", "hf/own/tiny@main", f"hf/own/tiny@{COMMIT}"):
        model = made(name, environment)
        await model.open()
        assert model.revision == COMMIT
        prompt = Prompt.make([Message(role="user", content="Sí")], candidates=("Sí", "No"))
        assert (await model.ask(prompt, Sampling(), 1)).status is Status.OK
        await model.close()
    assert sorted(hub.sent) == [
        "chat_template.jinja", "config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
        "tokenizer_config.json",
    ]  # fmt: skip


async def test_without_a_network_the_cache_is_enough(hub: Hub, environment: dict[str, str]) -> None:
    first = made("hf/own/tiny", environment)
    await first.open()
    await first.close()
    away = {**environment, "HF_ENDPOINT": "http://127.0.0.1:9"}
    for name in ("hf/own/tiny", f"hf/own/tiny@{COMMIT}"):
        model = made(name, away)
        await model.open()
        assert model.revision == COMMIT
        await model.close()


async def test_what_the_cache_says_of_a_model_is_known_before_it_is_opened(
    hub: Hub, environment: dict[str, str], tiny: Tiny
) -> None:
    (hub.folder / "chat_template.jinja").unlink()
    first = made("hf/own/tiny", environment)
    await first.open()
    await first.close()
    assert not first.abilities.chat
    assert not made("hf/own/tiny", environment).abilities.chat


@pytest.mark.parametrize(
    ("shape", "architectures", "told"),
    [
        ("bert", None, (True, False)),
        ("bert-pretraining", ["BertForMaskedLM"], (True, True)),  # known from the names of the weights only
        ("bert-next", None, (False, True)),
        ("gpt2", None, (False, False)),
    ],
)
async def test_what_a_model_can_do_is_asked_of_the_hub_before_its_weights_are_brought(
    shape: str, architectures: list[str] | None, told: tuple[bool, bool], hub: Hub, environment: dict[str, str],
    tiny: Tiny,
) -> None:  # fmt: skip
    for file in (*hub.folder.iterdir(), *tiny(shape).iterdir()):
        (hub.folder / file.name).unlink(missing_ok=True)
    for file in tiny(shape).iterdir():
        (hub.folder / file.name).write_bytes(file.read_bytes())
    if architectures is not None:
        config = json.loads((hub.folder / "config.json").read_text())
        (hub.folder / "config.json").write_text(json.dumps({**config, "architectures": architectures}))
    for _ in range(2):  # a second time its small files are here, and the weights still aren't
        model = made("hf/own/tiny", environment)
        assert (model.abilities.masked, model.abilities.next_sentence) == told
    before = model.abilities
    cached = [path.name for path in Path(environment["HF_HOME"]).rglob("*")]
    assert "config.json" in cached
    assert "model.safetensors" not in cached
    await model.open()
    assert model.abilities == before
    await model.close()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hf/own/none", "the hub has no model 'own/none', or it is private .*hf/./DIR"),
        ("hf/own/tiny@v9", "hf/own/tiny@v9 has no revision 'v9'|hf/own/tiny has no revision 'v9'"),
        ("hf/not a name", "the hub has no model 'not a name'"),
    ],
)
async def test_what_the_hub_lacks_is_one_line(name: str, words: str, environment: dict[str, str]) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        await made(name, environment).open()
    assert "\n" not in str(caught.value)


async def test_a_gated_model_says_how_to_get_it_and_opens_with_a_token(hub: Hub, environment: dict[str, str]) -> None:
    hub.gated = True
    with pytest.raises(ModelError, match=r"hf/own/tiny is gated: accept its terms .* set HF_TOKEN"):
        await made("hf/own/tiny", environment).open()
    model = made("hf/own/tiny", {**environment, "HF_TOKEN": TOKEN})
    await model.open()
    await model.close()
    assert TOKEN not in repr(model)


async def test_without_network_and_cache_it_is_one_line(tmp_path: Path, transformers: Any) -> None:
    away = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    with pytest.raises(ModelError, match="isn't on this machine and the hub can't be reached") as caught:
        await made("hf/own/tiny", away).open()
    assert "\n" not in str(caught.value)


async def test_a_repository_without_weights_for_transformers_says_so(hub: Hub, environment: dict[str, str]) -> None:
    for file in hub.folder.iterdir():
        if file.suffix in (".safetensors", ".bin"):
            file.unlink()
    (hub.folder / "model.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"holds no weights that transformers reads .*gguf/\./FILE.gguf"):
        await made("hf/own/tiny", environment).open()
