"""From a model's name to the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, urlsplit

from isogloss.errors import ModelError, SettingError
from isogloss.models.model import Abilities, Able, Foretold, Model
from isogloss.models.scripted import DESCRIPTIONS, scripted
from isogloss.models.secrets import name_holds_key, shown
from isogloss.models.settings import ModelSettings
from isogloss.registry import unknown_name

if TYPE_CHECKING:
    from isogloss.models.pace import Throttle
    from isogloss.models.wire import Wire

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HEX_REVISION = re.compile(r"[0-9a-f]{6,64}")


class Provider(NamedTuple):
    """A way to reach models."""

    name: str
    form: str
    """How its models are named."""
    meaning: str
    example: str


class Name(NamedTuple):
    """A model's name in its parts."""

    provider: str
    model: str
    revision: str | None

    @property
    def full(self) -> str:
        """`provider/model`."""
        return f"{self.provider}/{self.model}"


class Wish(NamedTuple):
    """What `open_model` was asked for."""

    name: Name
    settings: ModelSettings
    environment: Mapping[str, str]
    throttle: Throttle | None
    seed: int
    reference: Callable[[str], str | None] | None


def open_model(
    name: str,
    *,
    environment: Mapping[str, str],
    settings: ModelSettings | None = None,
    throttle: Throttle | None = None,
    seed: int = 0,
    reference: Callable[[str], str | None] | None = None,
) -> Model:
    """Make the model of a name; nothing is started or sent before its `open`.

    Parameters
    ----------
    name : str
        `provider/model[@revision]`, e.g. "openai/gpt-4.1-mini", "gguf/smollm2", "scripted/random".
    environment : mapping
        Where keys, proxies and the cache folder are looked up.
    settings : ModelSettings or None
        Address, limits, price; the defaults otherwise.
    throttle : Throttle or None
        A limit shared with other models of the provider.
    seed : int
        Decides what the random informant chooses.
    reference : callable or None
        Prompt id → right reply, for `scripted/perfect`.

    Raises
    ------
    SettingError, UnknownNameError
        For a name without a provider, an unknown one, or a base URL that can't be one.
    ModelError
        Where a key is needed and missing.
    """
    parsed = parse_name(name)
    wish = Wish(parsed, settings or ModelSettings(), environment, throttle, seed, reference)
    return _MAKERS[parsed.provider](wish)


def foretell(name: str, *, environment: Mapping[str, str], settings: ModelSettings | None = None) -> Able:
    """A model's name and abilities, for which it needs no key and nothing is started; see `open_model`.

    Raises
    ------
    SettingError, UnknownNameError
        For a name without a provider, or an unknown one.
    ModelError
        For a folder of this machine that holds no model.
    """
    parsed = parse_name(name)
    if parsed.provider in _KEYED:
        return Foretold(parsed.full, _KEYED[parsed.provider])
    return open_model(name, environment=environment, settings=settings)


def providers() -> tuple[Provider, ...]:
    """The ways to reach models, with one line on each."""
    return _PROVIDERS


def parse_name(name: str) -> Name:
    """Take `provider/model[@revision]` apart. Raises SettingError, UnknownNameError."""
    check_characters(name)
    provider, slash, rest = name.partition("/")
    if not slash or not rest:
        raise SettingError(
            f"model {name!r} names no provider; write it as provider/model, e.g. "
            + " or ".join(repr(known.example) for known in _PROVIDERS)
        )
    if provider not in _MAKERS:
        raise unknown_name(
            "provider",
            provider,
            _MAKERS,
            hint="any OpenAI-compatible server is reached by 'openai/NAME' with a base URL",
        )
    model, _, revision = rest.rpartition("@")
    if not model or "/" in revision or (provider == "gguf" and not _HEX_REVISION.fullmatch(revision)):
        model, revision = rest, ""
    check_characters(model, revision)
    return Name(provider, model, revision or None)


def check_characters(*parts: str) -> None:
    """Raise SettingError for a name, or a part of one, that can't be; it isn't shown."""
    if any(name_holds_key(part) for part in parts):
        raise SettingError(
            "a model's name looks like a key, which belongs into an environment variable; "
            "write the name as provider/model, e.g. 'openai/gpt-4.1-mini'"
        )
    if not all(part.isprintable() and part == part.strip() for part in parts):
        raise SettingError(
            "a model's name has a control character in it, or a space at one of its ends; "
            "write it as provider/model, e.g. 'openai/gpt-4.1-mini'"
        )


def _openai(wish: Wish) -> Model:
    from isogloss.models.openai_wire import OPENAI

    variable = wish.settings.key_variable or "OPENAI_API_KEY"
    url = checked_url(wish.settings.base_url or wish.environment.get("OPENAI_BASE_URL") or OPENAI_URL, variable)
    key = _key(wish, variable, needed=url == OPENAI_URL)
    return _chat_model(wish, OPENAI, url=url, key=key, variable=variable, abilities=_KEYED["openai"])


def _anthropic(wish: Wish) -> Model:
    from isogloss.models.anthropic_wire import ANTHROPIC

    variable = wish.settings.key_variable or "ANTHROPIC_API_KEY"
    url = checked_url(wish.settings.base_url or wish.environment.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL, variable)
    url = url.removesuffix("/messages").removesuffix("/v1")
    key = _key(wish, variable, needed=url == ANTHROPIC_URL)
    return _chat_model(wish, ANTHROPIC, url=url, key=key, variable=variable, abilities=_KEYED["anthropic"])


def _key(wish: Wish, variable: str, *, needed: bool) -> str | None:
    key = wish.environment.get(variable, "").strip() or None
    if key is None and needed:
        raise ModelError(
            f"no key for provider {wish.name.provider!r}; set {variable} "
            "(or give the base URL of a server that needs none)"
        )
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ModelError(f"{variable} holds a character that no key has; set it anew")
    return key


def _chat_model(wish: Wish, wire: Wire, *, url: str, key: str | None, variable: str, abilities: Abilities) -> Model:
    from isogloss.models.chat import ChatModel, Endpoint
    from isogloss.models.pace import Pace, Throttle
    from isogloss.models.retry import RetryPolicy

    settings = wish.settings
    throttles = () if wish.throttle is None else (wish.throttle,)
    if settings.requests_per_minute is not None or settings.tokens_per_minute is not None:
        own = Throttle(requests_per_minute=settings.requests_per_minute, tokens_per_minute=settings.tokens_per_minute)
        throttles = (own, *throttles)
    return ChatModel(
        wish.name.full,
        wire=wire,
        model_id=wish.name.model,
        endpoint=Endpoint(url, key, variable, proxy_for(url, wish.environment)),
        revision=wish.name.revision,
        abilities=abilities,
        pace=Pace(most=settings.max_connections, throttles=throttles),
        timeout=settings.timeout,
        policy=RetryPolicy(tries=settings.tries, max_seconds=settings.retry_seconds, first_wait=settings.first_wait),
    )


def _gguf(wish: Wish) -> Model:
    from isogloss.models.gguf import GgufModel
    from isogloss.models.weights import cache_folder

    return GgufModel(
        wish.name.full,
        source=wish.name.model,
        cache_dir=cache_folder(wish.environment),
        revision=wish.name.revision,
        timeout=max(wish.settings.timeout, 600.0),
    )


def _hf(wish: Wish) -> Model:
    from isogloss.models.hf import HfModel

    return HfModel(
        wish.name.full, source=wish.name.model, revision=wish.name.revision, settings=wish.settings,
        environment=wish.environment, seed=wish.seed,
    )  # fmt: skip


def _inspect(wish: Wish) -> Model:
    from isogloss.models.inspect_ai import InspectModel

    if wish.settings.base_url is not None:
        checked_url(wish.settings.base_url)
    return InspectModel(
        wish.name.full, model_id=wish.name.model, revision=wish.name.revision, settings=wish.settings,
        environment=wish.environment, throttle=wish.throttle,
    )  # fmt: skip


def _scripted(wish: Wish) -> Model:
    return scripted(wish.name.model, seed=wish.seed, reference=wish.reference)


_KEYED: Mapping[str, Abilities] = {
    "openai": Abilities(seeds=True, batch=True),
    "anthropic": Abilities(batch=True),
}
"""Providers whose models need a key, and what those can do."""
_MAKERS: Mapping[str, Callable[[Wish], Model]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gguf": _gguf,
    "hf": _hf,
    "inspect": _inspect,
    "scripted": _scripted,
}
_PROVIDERS = (
    Provider(
        "openai",
        "openai/NAME",
        "OpenAI, and with a base URL any server that speaks its format (vLLM, llama.cpp, Ollama, …)",
        "openai/gpt-4.1-mini",
    ),
    Provider("anthropic", "anthropic/NAME", "Anthropic's models, over its own API", "anthropic/claude-haiku-4-5"),
    Provider(
        "gguf",
        "gguf/NAME or gguf/./FILE.gguf",
        "a model on this machine, served by llama.cpp; 'smollm2' is known by name",
        "gguf/smollm2",
    ),
    Provider(
        "hf",
        "hf/OWNER/NAME or hf/./DIR",
        "a model on this machine through transformers: chat, log-probabilities, masked models (extra 'hf')",
        "hf/./my-model",
    ),
    Provider(
        "inspect",
        "inspect/PROVIDER/NAME",
        "anything that Inspect AI reaches (extra 'inspect')",
        "inspect/mockllm/model",
    ),
    Provider(
        "scripted",
        "scripted/NAME",
        "informants of known behaviour: " + ", ".join(DESCRIPTIONS),
        "scripted/random",
    ),
)


def checked_url(url: str, variable: str = "OPENAI_API_KEY") -> str:
    """A base URL without a slash at its end. Raises SettingError for what can't be one.

    `variable` is where a key belongs, for the error of a URL that holds one.
    """
    url = url.strip()
    try:
        parts = _address(url)
    except ValueError as error:
        raise SettingError(
            f"base URL {shown(_without_user(url))} isn't one{error}; expected e.g. 'http://127.0.0.1:8000/v1'"
        ) from None
    if parts.username or parts.password:
        raise SettingError(f"a base URL holds no user or password; put the key of {parts.hostname} into {variable}")
    if parts.query or parts.fragment:
        raise SettingError(f"a base URL ends before '?' and '#'; give that of {parts.hostname} without them")
    return url.rstrip("/").removesuffix("/chat/completions").rstrip("/")


def _address(url: str) -> SplitResult:
    """An http address in its parts. Raises ValueError with what is wrong where it isn't plain, and shows nothing."""
    if not url.isprintable() or " " in url:
        raise ValueError(" (a space or control character in it)")
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removesuffix(".")
        host.encode("idna")  # so does the resolver, which has no error of its own for what can't be a host
    except ValueError:
        raise ValueError(" (nothing can have such a host)") from None
    try:
        is_port = parts.port != 0
    except ValueError:
        is_port = False
    if not is_port:
        raise ValueError(" (a port is a number from 1 to 65535)")
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError
    return parts


def _without_user(url: str) -> str:
    """An address for a message: no user, and no port that isn't a number (both may be a password)."""
    return re.sub(r"(//[^/]*):[^/\d][^/]*", r"\1", re.sub(r"[^/@\s]*@", "", url))


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """The proxy that the environment names for an address; none for this machine's own.

    Raises
    ------
    SettingError
        For what can't be a proxy's address; it isn't shown, since a password may be in it.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in _LOOPBACK or host.startswith("127."):
        return None
    named = {
        scheme: variable
        for scheme in (parts.scheme, "all", "no")
        for variable in (f"{scheme.upper()}_PROXY", f"{scheme}_proxy")
        if environment.get(variable, "").strip()
    }
    direct = [entry.strip().lstrip(".").lower() for entry in environment.get(named.get("no", ""), "").split(",")]
    if any(entry == "*" or host == entry or host.endswith("." + entry) for entry in direct if entry):
        return None
    variable = named.get(parts.scheme) or named.get("all")
    return None if variable is None else _checked_proxy(environment[variable].strip(), variable)


def _checked_proxy(proxy: str, variable: str) -> str:
    url = proxy if "://" in proxy else f"http://{proxy}"
    expected = "expected e.g. http://proxy.example:3128, other characters of a password written as %23"
    if url.lower().startswith("socks"):
        raise SettingError(f"{variable} names a SOCKS proxy, and only those of http can be used; {expected}")
    try:
        parts = _address(url)
    except ValueError as error:
        raise SettingError(f"{variable} isn't the address of a proxy{error}; {expected}") from None
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise SettingError(f"{variable} isn't the address of a proxy (something follows its host and port); {expected}")
    return url
