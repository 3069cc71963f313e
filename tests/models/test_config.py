"""isogloss.toml: what it sets, what beats what, and one clear line for each mistake, never with a key in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from isogloss.errors import SettingError, UnknownNameError
from isogloss.models.config import KEYS, PRICES, RATES, RUN_KEYS, Config, read_config
from isogloss.models.secrets import looks_like_key, names_a_key
from isogloss.models.settings import ModelSettings
from isogloss.records import Price

KEY = "sk-proj-Ab3dEf6hIj9kLm2nOp5q"


def config(folder: Path, text: str, **environment: str) -> Config:
    (folder / "isogloss.toml").write_text(text, encoding="utf-8")
    return read_config(None, environment=environment, folder=folder)


def complaint(folder: Path, text: str) -> str:
    """The one line that a mistake is answered with; names the file and never holds a key."""
    with pytest.raises(SettingError) as caught:
        config(folder, text)
    line = str(caught.value)
    assert "\n" not in line
    assert "isogloss.toml" in line
    assert KEY not in line
    return line


# --- what is read -----------------------------------------------------------------------------------------------------


def test_without_a_file_all_defaults_hold(tmp_path):
    empty = read_config(None, environment={}, folder=tmp_path)
    assert empty == Config()
    assert empty.settings("openai/x") == ModelSettings()
    assert empty.throttle("openai") is None


def test_every_setting_reaches_the_model(tmp_path):
    given = """
    [models."openai/x"]
    base_url = "http://127.0.0.1:8000/v1/"
    key_variable = "MY_KEY"
    max_connections = 64
    requests_per_minute = 500
    tokens_per_minute = 20_000
    timeout = 30
    tries = 2
    retry_seconds = 60
    first_wait = 0
    input_price = 0.4
    output_price = 1.6
    cached_price = 0.1
    batch_price_share = 0.25
    batch_requests = 100
    batch_megabytes = 10.5
    [models."hf/x/y"]
    device = "cpu"
    dtype = "bfloat16"
    batch_size = 8
    """
    assert config(tmp_path, given).settings("openai/x@r1") == ModelSettings(
        base_url="http://127.0.0.1:8000/v1",
        key_variable="MY_KEY",
        max_connections=64,
        requests_per_minute=500,
        tokens_per_minute=20_000,
        timeout=30,
        tries=2,
        retry_seconds=60,
        first_wait=0,
        price=Price(input=0.4, output=1.6, cached=0.1, batch=0.25),
        batch_requests=100,
        batch_megabytes=10.5,
    )
    local = config(tmp_path, given).settings("hf/x/y")
    assert local == ModelSettings(device="cpu", dtype="bfloat16", batch_size=8)


def test_keys_are_the_fields_of_model_settings():
    assert set(KEYS) - set(PRICES) == set(ModelSettings.model_fields) - {"price"}
    assert set(PRICES.values()) == set(Price.model_fields)


def test_every_key_is_in_the_reference_with_its_default():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "isogloss-toml.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    for key in (*KEYS, *RUN_KEYS):
        [row] = [row for row in rows if f"`{key}`" in row.split(" | ")[0]]
        default = getattr(ModelSettings(), key, None)
        shown = f"{default:g}" if isinstance(default, float) else str(default)
        assert default is None or f"`{shown}`" in row, key


def test_what_the_pages_show_can_be_read(tmp_path):
    docs = Path(__file__).parents[2] / "docs"
    for page in ("howto/configuration.md", "howto/costs.md", "reference/isogloss-toml.md"):
        blocks = re.findall(
            r"^```toml\n(.*?)^```$", (docs / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        )
        assert blocks
        for block in blocks:
            assert config(tmp_path, block).path is not None


def test_command_line_beats_model_beats_provider_beats_default(tmp_path):
    held = config(tmp_path, '[providers.openai]\ntries = 3\ntimeout = 50\n[models."openai/x"]\ntries = 2\n')
    own = held.settings("openai/x")
    assert (own.tries, own.timeout, own.max_connections) == (2, 50, 16)
    assert held.settings("openai/y").tries == 3
    assert held.settings("gguf/smollm2").tries == 4
    given = held.settings("openai/x", base_url="http://127.0.0.1:1/v1", max_connections=5)
    assert (given.base_url, given.max_connections) == ("http://127.0.0.1:1/v1", 5)


async def test_models_of_a_provider_share_one_throttle_and_keep_their_own_rates(tmp_path):
    held = config(
        tmp_path, '[providers.openai]\nrequests_per_minute = 60\n[models."openai/x"]\ntokens_per_minute = 99\n'
    )
    assert held.throttle("openai") is held.throttle("openai") is not None
    assert held.throttle("anthropic") is None
    assert [getattr(held.settings("openai/x"), rate) for rate in RATES] == [None, 99]


def test_the_section_on_runs(tmp_path):
    held = config(tmp_path, '[run]\npause_minutes = 5\nreasoning_tags = ["cavil", ["<a>", "</a>"]]\n')
    assert (held.pause_minutes, held.reasoning_tags) == (5.0, ("cavil", ("<a>", "</a>")))


def test_a_byte_order_mark_and_windows_lines_are_no_fault(tmp_path):
    (tmp_path / "isogloss.toml").write_bytes(b"\xef\xbb\xbf[run]\r\npause_minutes = 1\r\n")
    assert read_config(None, environment={}, folder=tmp_path).pause_minutes == 1


def test_a_file_given_beats_the_variable_beats_the_folder(tmp_path):
    for name, minutes in (("isogloss.toml", 1), ("named.toml", 2), ("given.toml", 3)):
        (tmp_path / name).write_text(f"[run]\npause_minutes = {minutes}\n", encoding="utf-8")
    variable = {"ISOGLOSS_CONFIG": str(tmp_path / "named.toml")}
    assert read_config(None, environment={}, folder=tmp_path).pause_minutes == 1
    assert read_config(None, environment=variable, folder=tmp_path).pause_minutes == 2
    assert read_config(tmp_path / "given.toml", environment=variable, folder=tmp_path).pause_minutes == 3
    with pytest.raises(SettingError, match=r"no file .*gone\.toml \(named by ISOGLOSS_CONFIG\)"):
        read_config(None, environment={"ISOGLOSS_CONFIG": str(tmp_path / "gone.toml")}, folder=tmp_path)


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[model.x]\n", "no section named 'model'; did you mean 'models'?"),
        ("[providers.openia]\n", "[providers.openia]: no provider named 'openia'; did you mean 'openai'?"),
        ('[providers."openai/x"]\n', "'openai/x' names a model; its section is [models.\"openai/x\"]"),
        ('[models."openia/x"]\n', "no provider named 'openia'; did you mean 'openai'?"),
        ("[models.gpt-4]\n", 'in quotes, e.g. [models."openai/gpt-4.1-mini"]'),
        ('[models."hf/a/b@main"]\n', "leave out the revision"),
        (
            '[models."openai/x"]\nmax_conections = 3\n',
            "[models.\"openai/x\"]: no setting named 'max_conections'; did you mean 'max_connections'?",
        ),
        (
            "[providers.openai]\ntries = 2.5\n",
            "[providers.openai]: tries: expected a whole number from 1 to 100, got 2.5",
        ),
        ("[providers.openai]\ntries = true\n", "tries: expected a whole number from 1 to 100, got true"),
        ("[providers.openai]\ntries = 0\n", "tries: expected a whole number from 1 to 100, got 0"),
        ("[providers.openai]\ntimeout = -3\n", "timeout: expected a number above 0 and up to 86_400, got -3"),
        ("[providers.openai]\ntimeout = inf\n", "timeout: expected a number above 0 and up to 86_400, got inf"),
        ('[providers.openai]\ntimeout = "fast"\n', "timeout: expected a number above 0 and up to 86_400, got 'fast'"),
        ("[providers.openai]\ntimeout = [1]\n", "timeout: expected a number above 0 and up to 86_400, got a list"),
        ("[providers.openai]\nbase_url = 8000\n", "base_url: expected some text, got 8000"),
        ('[providers.openai]\nbase_url = "localhost"\n', "base_url: base URL 'localhost' isn't one"),
        ('[providers.openai]\nkey_variable = "MY KEY"\n', "key_variable: expected the name of an environment variable"),
        ('[models."openai/x"]\ninput_price = 1\n', "input_price without output_price"),
        ('[models."openai/x"]\ncached_price = 1\n', "cached_price without input_price"),
        ("[providers.openai]\nbatch_price_share = 50\n", "batch_price_share: expected a number from 0 to 1, got 50"),
        ("[providers]\nopenai = 3\n", "[providers.openai]: expected a section, got 3"),
        ("run = 3\n", "run: expected a section [run], got 3"),
        ("[run]\npause_minutes = -1\n", "[run]: pause_minutes: expected a number from 0 to 525_600, got -1"),
        ("[run]\npause_minute = 1\n", "[run]: no setting named 'pause_minute'; did you mean 'pause_minutes'?"),
        ('[run]\nreasoning_tags = "think"\n', "reasoning_tags: expected a list of names or pairs"),
        ('[run]\nreasoning_tags = [["a"]]\n', "reasoning_tags: expected a list of names or pairs"),
        (f"[providers.openai]\ntries = 1{'0' * 400}\n", "tries: expected a whole number from 1 to 100, got 1000"),
        ("[providers.openai]\ntries = 101\n", "tries: expected a whole number from 1 to 100, got 101"),
        ("[providers.openai]\nmax_connections = 10_001\n", "expected a whole number from 1 to 10_000, got 10001"),
        ("[providers.openai]\nrequests_per_minute = 1e-300\n", "expected a number from 0.01 to 1_000_000_000, got"),
        ("[providers.openai]\nretry_seconds = nan\n", "retry_seconds: expected a number from 0 to 604_800, got nan"),
        ("[providers.openai]\ninput_price = inf\n", "input_price: expected a number from 0 to 1_000_000, got inf"),
        ('[providers.openai]\ndevice = "cpu"\n', "device: means nothing for models of openai; only for those of hf"),
        ('[models."hf/x/y"]\nbase_url = "http://x"\n', "only for those of openai, anthropic, inspect"),
        ("[providers.gguf]\nrequests_per_minute = 3\n", "[providers.gguf]: requests_per_minute: means nothing"),
        ("[providers.gguf]\ntimeout = 0\n", "timeout: expected a number above 0"),
        ("[providers.scripted]\ninput_price = 3\n", "[providers.scripted]: input_price: means nothing"),
        ("[providers.inspect]\nbatch_requests = 3\n", "batch_requests: means nothing for models of inspect"),
        ('[models."hf/x/y"]\ndtype = "float33"\n', "dtype: expected one of float32, bfloat16, float16, float64, auto"),
        ('[providers.openai]\nbase_url = "http://x:99999/v1"\n', "isn't one (a port is a number from 1 to 65535)"),
        ('[models."openai/x\\n"]\ntries = 1\n', "[models]: a model's name has a control character"),
        ("[run]\npause_minutes = \n", "isn't TOML: invalid value (at line 2, column 17)"),
        ("[run]\npause_minutes = soon\n", "(at line 2, column 17); text stands in quotes"),
        ("[models.openai/x]\n", '; a name with "/" stands in quotes: [models."openai/gpt-4.1-mini"]'),
        ("[run]\npause_minutes = 1\npause_minutes = 2\n", "isn't TOML: cannot overwrite a value (at line 3"),
    ],
)
def test_a_mistake_gets_one_line_with_file_section_and_key(tmp_path, text, words):
    assert words in complaint(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        f'api_key = "{KEY}"',
        f'[providers.openai]\napi_key = "{KEY}"',
        '[providers.openai]\nOPENAI_API_KEY = "short"',
        '[providers.openai]\ntoken = "a"',
        f'[providers.openai]\nkey_variable = "{KEY}"',
        f'[providers.openai]\nmax_connections = "{KEY}"',
        f'[providers.openai]\nanything = "{KEY}"',
        f'[models."openai/x"]\nbase_url = "http://127.0.0.1/v1?key={KEY}"',
        f'[run]\nkey = "{KEY}"',
        f'[providers]\napi_key = "{KEY}"',
        f'[models."{KEY}"]\ntries = 1',
    ],
)
def test_a_key_in_the_file_is_refused_and_not_shown(tmp_path, text):
    assert "keys come only from the environment or .env; name the variable by key_variable" in complaint(tmp_path, text)


def test_arguments_out_of_range_are_one_line():
    with pytest.raises(
        SettingError, match=r"^max_connections: input should be less than or equal to 10000, got 20000$"
    ):
        Config().settings("openai/x", max_connections=20_000)


def test_bounds_of_the_file_are_those_of_the_settings():
    for key, values in {
        "max_connections": (1, 10_000), "requests_per_minute": (0.01, 1e9), "tokens_per_minute": (0.01, 1e12),
        "timeout": (0.001, 86_400), "tries": (1, 100), "retry_seconds": (0, 604_800), "first_wait": (0, 3600),
        "batch_requests": (1, 1_000_000), "batch_megabytes": (0.001, 10_000), "batch_size": (1, 10_000),
    }.items():  # fmt: skip
        for value in values:
            assert KEYS[key].holds(value)
            assert getattr(ModelSettings(**{key: value}), key) == value
        for value in (-1, values[1] + 1):
            assert not KEYS[key].holds(value)
            with pytest.raises(ValidationError):
                ModelSettings(**{key: value})


def test_a_key_is_not_shown_in_a_syntax_error_or_a_wrong_section(tmp_path):
    complaint(tmp_path, f"[providers.openai]\napi_key = {KEY}\n")
    complaint(tmp_path, f'[providers."{KEY}"]\ntries = 1\n')


@pytest.mark.parametrize(
    "key", [KEY, "sk-ant-api03-abcdefghijkl", "hf_AbCdEfGhIjKlMnOp", "9f86d081884c7d659a2feaa0c55a"]
)
def test_keys_are_told_by_their_look(key):
    assert looks_like_key(key)


@pytest.mark.parametrize(
    "text",
    [
        "OPENAI_API_KEY",
        "KEY_OF_MY_UNIVERSITY_2",
        "float32",
        "cuda:1",
        "http://localhost:8000/v1",
        "claude-opus-4-5-20251101",
        "https://my-api-gateway-prod.example/v1",
        "hf-internal-testing",
    ],
)
def test_ordinary_settings_are_no_keys(text):
    assert not looks_like_key(text)


def test_names_that_ask_for_a_key():
    assert all(map(names_a_key, ("key", "api_key", "apiKey", "auth-token", "OPENAI_API_KEY", "password")))
    assert not any(map(names_a_key, KEYS))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "isogloss.toml").write_bytes("[run]\n".encode("utf-16"))
    with pytest.raises(SettingError, match=r"isn't UTF-8 \(byte 1\); save it as UTF-8"):
        read_config(None, environment={}, folder=tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(SettingError, match=r"folder can't be read: "):
        read_config(tmp_path / "folder", environment={})


def test_unknown_names_are_errors_of_their_kind(tmp_path):
    with pytest.raises(UnknownNameError):
        config(tmp_path, "[nothing]\n")
