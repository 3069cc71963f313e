"""From names to models: what is asked of the user, and what is said when it is missing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from isogloss.errors import ModelError, SettingError, UnknownNameError
from isogloss.models import open_model, parse_name, providers
from isogloss.models.opening import checked_url, proxy_for
from isogloss.models.pace import Throttle
from isogloss.models.retry import RetryPolicy
from isogloss.models.settings import ModelSettings


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("openai/gpt-x", ("openai", "gpt-x", None)),
        ("openai/meta-llama/Llama-3.1-8B@main", ("openai", "meta-llama/Llama-3.1-8B", "main")),
        ("gguf/smollm2", ("gguf", "smollm2", None)),
        ("gguf/smollm2@b179c9523d0e6a0f", ("gguf", "smollm2", "b179c9523d0e6a0f")),
        ("gguf/./a@b/file.gguf", ("gguf", "./a@b/file.gguf", None)),
        ("gguf/./file@x.gguf", ("gguf", "./file@x.gguf", None)),
    ],
)
def test_names_are_taken_apart(name: str, parts: tuple[str, str, str | None]) -> None:
    assert parse_name(name) == parts


def test_a_name_without_provider_says_how_to_write_it() -> None:
    with pytest.raises(SettingError, match="'gpt-x' names no provider; write it as provider/model"):
        open_model("gpt-x", environment={})


@pytest.mark.parametrize(
    "name",
    [
        *("openai/m\n", " openai/m", "openai/ m", "openai/m ", "openai/m@ r1", "openai/m\x1b[31m", "open\tai/m"),
        *("openai/m\u200b", "openai/m\u202e", "openai/m\x00", "hf/./dir\n"),
    ],
)
def test_a_name_with_a_control_character_or_a_space_at_an_end_is_refused_and_not_shown(name: str) -> None:
    with pytest.raises(SettingError, match="a model's name has a control character") as caught:
        parse_name(name)
    assert name not in str(caught.value)


KEYS = (
    *("sk-proj-abcdef123456", "sk-ant-api03-abcdefghijkl", "sk-abcdefghijklmnop", "hf_AbCdEfGhIjKlMnOp"),
    *("AIzaSyA1b2C3d4E5f6G7h8", "9f86d081884c7d659a2feaa0c55a", "gsk_ab12cd34ef56gh78"),
)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("form", ["{}", "openai/{}", "inspect/openai/{}", "openai/m@{}", "{}/m", "nothing/{}"])
def test_a_key_in_place_of_a_name_is_refused_and_not_shown(form: str, key: str) -> None:
    with pytest.raises(SettingError, match="looks like a key") as caught:
        parse_name(form.format(key))
    assert key[:12] not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        *("openai/gpt-4.1-mini", "anthropic/claude-opus-4-5-20251101", "openai/meta-llama/Llama-3.1-8B-Instruct"),
        *("hf/hf-internal-testing/tiny-random-LlamaForCausalLM", "hf/x/wav2vec2-large-xlsr-sk-finetuned-common-voice"),
        *("openai/accounts/fireworks/models/llama-v3p1-8b-instruct", "openai/ft:gpt-4o-mini-2024-07-18:org::AbCdEf12"),
        *(f"hf/owner/name@{'0a1b' * 10}", f"hf/./cache/snapshots/{'0a1b' * 10}", "gguf/./my models/file@x.gguf"),
        *("gguf/smollm2@b179c9523d0e6a0f", "hf/./T5d0a9c8b7e6f5a4b3c2d1", "scripted/refuses-pt"),
    ],
)
def test_ordinary_names_are_no_keys(name: str) -> None:
    assert parse_name(name).model


def test_an_unknown_provider_gets_near_names() -> None:
    with pytest.raises(UnknownNameError, match="no provider named 'opnai'; did you mean 'openai'"):
        open_model("opnai/gpt-x", environment={})


@pytest.mark.parametrize(("provider", "variable"), [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")])
def test_a_missing_key_is_said_before_anything_is_sent(provider: str, variable: str) -> None:
    with pytest.raises(ModelError, match=f"no key for provider '{provider}'; set {variable}"):
        open_model(f"{provider}/m", environment={})
    with pytest.raises(ModelError, match="set MY_KEY"):
        open_model(f"{provider}/m", settings=ModelSettings(key_variable="MY_KEY"), environment={variable: "x"})


def test_a_server_of_ones_own_needs_no_key() -> None:
    for url in ("http://127.0.0.1:8000/v1", "https://models.example/v1"):
        assert not open_model(
            "openai/m", settings=ModelSettings(base_url=url), environment={}
        ).local  # what it costs isn't known


@pytest.mark.parametrize(
    ("settings", "environment", "address"),
    [
        ({}, {}, "https://api.anthropic.com/v1/messages"),
        ({}, {"ANTHROPIC_BASE_URL": "http://127.0.0.1:8000/"}, "http://127.0.0.1:8000/v1/messages"),
        ({"base_url": "http://127.0.0.1:8000/v1"}, {}, "http://127.0.0.1:8000/v1/messages"),
        ({"base_url": "https://x.example/anthropic/v1/messages"}, {}, "https://x.example/anthropic/v1/messages"),
    ],
)
def test_anthropic_is_reached_at_its_own_address_or_another(
    settings: dict[str, str], environment: dict[str, str], address: str
) -> None:
    model: Any = open_model(
        "anthropic/m", settings=ModelSettings(**settings), environment={"ANTHROPIC_API_KEY": "k", **environment}
    )
    assert model._endpoint.base_url + model.wire.path == address
    assert (model.abilities.seeds, model.abilities.batch, model.local, model.template) == (False, True, False, None)


def test_settings_reach_the_model() -> None:
    shared = Throttle(requests_per_minute=1000)
    settings = ModelSettings(
        max_connections=7, requests_per_minute=60, timeout=9, tries=2, retry_seconds=3, first_wait=0.5
    )
    model: Any = open_model("openai/m", settings=settings, throttle=shared, environment={"OPENAI_API_KEY": "k"})
    assert model.pace.most == 7
    assert len(model.pace._throttles) == 2
    assert model.pace._throttles[1] is shared
    assert model._policy == RetryPolicy(tries=2, max_seconds=3, first_wait=0.5)
    plain: Any = open_model("openai/m", environment={"OPENAI_API_KEY": "k"})
    assert plain.pace._throttles == ()


def test_a_key_with_a_line_break_inside_is_an_error_that_does_not_show_it() -> None:
    with pytest.raises(ModelError) as caught:
        open_model("openai/m", environment={"OPENAI_API_KEY": "secret\nkey"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "checked"),
    [
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("https://x.example/v1/chat/completions", "https://x.example/v1"),
    ],
)
def test_base_urls_are_put_in_order(url: str, checked: str) -> None:
    assert checked_url(url) == checked


@pytest.mark.parametrize(
    "url",
    [
        *("localhost:8000", "ftp://x.example", "", "https://u:secret@x.example/v1", "http://x/v1?key=secret"),
        *(
            "http://x:65536/v1",
            "http://x:0",
            "http://x:-1",
            "http://x:secret",
            "http://[::1",
            "http://x..y",
            "http:///v1",
        ),
        *(f"http://{'a' * 64}.example", "http://x y", "http://x/\nv1", "http://x\x00", "sk-secret-abcdef123456"),
    ],
)
def test_what_cannot_be_a_base_url_is_an_error_that_shows_no_secret(url: str) -> None:
    with pytest.raises(SettingError) as caught:
        checked_url(url)
    assert "secret" not in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_port_out_of_range_is_named() -> None:
    with pytest.raises(SettingError, match=r"'http://x:65536/v1' isn't one \(a port is a number from 1 to 65535\)"):
        checked_url("http://x:65536/v1")
    with pytest.raises(SettingError, match="65535"):
        open_model("inspect/mockllm/model", settings=ModelSettings(base_url="http://x:65536"), environment={})


@pytest.mark.parametrize(
    "proxy",
    [
        *(
            "http://u:secret@p:99999",
            "u:secret",
            "http://u:se#secret@p:1",
            "http://u:12#secret@p",
            "http://u:1/secret@p",
        ),
        *("socks5://u:secret@p:1", "ftp://u:secret@p", "http://u:secret@", "://secret", "http://p/secret", "se cret"),
        *("http://[secret", "http://p?secret", "http://p..secret"),
    ],
)
@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "all_proxy"])
def test_what_cannot_be_a_proxy_is_an_error_that_names_the_variable_and_shows_nothing(
    proxy: str, variable: str
) -> None:
    with pytest.raises(SettingError) as caught:
        proxy_for("https://x.example/v1", {variable: proxy})
    assert str(caught.value).startswith(variable)
    assert "secret" not in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("url", "environment", "proxy"),
    [
        ("https://x.example/v1", {}, None),
        ("https://x.example/v1", {"HTTPS_PROXY": "http://p:3128"}, "http://p:3128"),
        ("https://x.example/v1", {"all_proxy": "p:3128"}, "http://p:3128"),
        ("http://x.example/v1", {"http_proxy": "foo"}, "http://foo"),
        ("http://x.example/v1", {"http_proxy": "u:word@foo:1"}, "http://u:word@foo:1"),
        ("https://x.example/v1", {"https_proxy": "lower:1", "HTTPS_PROXY": "upper:1"}, "http://lower:1"),
        ("https://x.example/v1", {"http_proxy": "nonsense at all"}, None),
        ("https://x.example/v1", {"https_proxy": " "}, None),
        ("https://x.example/v1", {"https_proxy": "http://p:3128", "NO_PROXY": "a, .example"}, None),
        ("http://127.0.0.1:8000/v1", {"http_proxy": "http://p:3128"}, None),
        ("http://localhost:8000/v1", {"http_proxy": "http://p:3128"}, None),
    ],
)
def test_a_proxy_is_used_for_others_and_never_for_this_machine(
    url: str, environment: dict[str, str], proxy: str | None
) -> None:
    assert proxy_for(url, environment) == proxy


def test_every_provider_has_a_line() -> None:
    assert [provider.name for provider in providers()] == [
        *("openai", "anthropic", "gguf", "hf", "inspect", "scripted")
    ]
    assert all(provider.meaning and "\n" not in provider.meaning for provider in providers())


def test_importing_the_room_loads_no_client_and_no_runtime() -> None:
    code = (
        "import sys, isogloss.models; print(sorted({'aiohttp', 'xllamacpp', 'tenacity', 'pandas'} & set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
