"""Loading a tokenizer and a language model through transformers; every fault of it is one line."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from isogloss.errors import ModelError, SettingError
from isogloss.models.hf.batching import FAULTS, is_memory, words_of
from isogloss.models.hf.files import Look
from isogloss.models.settings import DTYPES, ModelSettings
from isogloss.registry import unknown_name

if TYPE_CHECKING:
    import torch

_NEEDED = ("torch", "transformers")
_NEEDED_FOR_GGUF = ("accelerate", "gguf")
_WRITERS = ("ForCausalLM", "LMHeadModel")
_TRIAL = "El perro duerme en el jardín."
ONE_WAY = (
    "{} reads from left to right only; a next-sentence head needs a model that reads both ways, such as BERT, RoBERTa "
    "or XLM-R"
)


class Loaded(NamedTuple):
    """A model that can be run."""

    model: Any
    tokenizer: Any
    device: torch.device
    pad: int
    """Token that fills short rows."""
    ends: tuple[int, ...]
    """Tokens that end a reply."""
    n_positions: int | None
    """Most tokens of a sequence; None where the config tells none."""
    temperature: float
    """What the model's makers sample with; 0 for greedy."""
    pair_head: Any = None
    """The same model with its next-sentence head in place of the output layer, where it has one."""
    trained_head: Mapping[str, torch.Tensor] | None = None
    """Weights of a next-sentence head that was trained here; `model` is then its base, without an output layer."""


def check_installed(name: str, *, gguf: bool) -> None:
    """Raise ModelError where a package that loading needs is missing."""
    for package in _NEEDED + (_NEEDED_FOR_GGUF if gguf else ()):
        if importlib.util.find_spec(package) is None:
            raise ModelError(f"{name} needs {package}, which isn't installed; pip install 'isogloss[hf]'")


def check_settings(settings: ModelSettings) -> None:
    """Raise SettingError for a dtype or device that there isn't."""
    if settings.dtype not in DTYPES:
        raise unknown_name("dtype", settings.dtype, DTYPES)
    if settings.device is not None:
        import torch

        try:
            torch.empty(0, device=settings.device)
        except (RuntimeError, AssertionError) as fault:
            raise SettingError(
                f"device {settings.device!r} can't be used ({words_of(fault)[:120]}); e.g. 'cpu', 'cuda', 'cuda:1'"
            ) from None


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the libraries' notes and progress bars off stderr; our commands have their own."""
    hub: Any = importlib.import_module("huggingface_hub.utils")
    logging: Any = importlib.import_module("transformers.utils.logging")
    verbosity, bars, hub_bars = (
        logging.get_verbosity(),
        logging.is_progress_bar_enabled(),
        hub.are_progress_bars_disabled(),
    )
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    hub.disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
        if not hub_bars:
            hub.enable_progress_bars()


def load(name: str, path: Path, seen: Look, settings: ModelSettings) -> Loaded:
    """Load from a folder or a GGUF file.

    Raises
    ------
    ModelError
        Not enough memory, an architecture that isn't a language model, no tokenizer, weights that lack a part.
    """
    transformers: Any = importlib.import_module("transformers")
    faults = _faults()
    is_gguf = path.suffix.lower() == ".gguf"
    folder = path.parent if is_gguf else path
    options: dict[str, Any] = {"gguf_file": path.name} if is_gguf else {}
    device = _device(settings)
    tokenizer = _tokenizer(name, folder, options)
    if is_gguf:
        quantization = importlib.import_module("transformers.utils.quantization_config")
        # Packed weights are slower to use, and not every format has a kernel.
        options["quantization_config"] = quantization.GgufConfig(dequantize=True)
    makers = {
        "causal": transformers.AutoModelForCausalLM,
        "masked": transformers.AutoModelForMaskedLM,
        "next_sentence": transformers.AutoModelForNextSentencePrediction,
    }
    options |= {"pretrained_model_name_or_path": str(folder), "dtype": settings.dtype, "local_files_only": True}
    try:
        model = _whole(name, makers[seen.kind], options).to(device).eval()
        pair_head = model if seen.kind == "next_sentence" else None
        if seen.kind == "masked" and seen.next_sentence:
            pair_head = _whole(name, makers["next_sentence"], options)
            body, own = model.base_model, pair_head.base_model
            own.embeddings, own.encoder = body.embeddings, body.encoder  # held once
            pair_head = pair_head.to(device).eval()
    except faults as fault:
        raise ModelError(_why(name, fault, settings, device)) from None
    return _with_tokens(model, tokenizer, device)._replace(pair_head=pair_head)


def load_encoder(name: str, path: Path, settings: ModelSettings) -> Loaded:
    """Load a model without any output layer, for a head of its own, from a folder.

    Raises
    ------
    ModelError
        As `load`, and for a model that reads one way only, or whose tokenizer doesn't tell two sentences apart.
    """
    transformers: Any = importlib.import_module("transformers")
    device = _device(settings)
    tokenizer = _tokenizer(name, path, {})
    if not tokenizer.is_fast:
        raise ModelError(f"{name}: its tokenizer doesn't tell of which sentence a token is; take another model")
    options = {"pretrained_model_name_or_path": str(path), "dtype": settings.dtype, "local_files_only": True}
    try:
        config = transformers.AutoConfig.from_pretrained(str(path), local_files_only=True)
        names = tuple(map(str, config.architectures or ()))
        if config.is_encoder_decoder or any(name.endswith(_WRITERS) for name in names):
            raise ModelError(ONE_WAY.format(name))
        model = _whole(name, transformers.AutoModel, options, but=("pooler",)).to(device).eval()
        loaded = _with_tokens(model, tokenizer, device)
        if not _reads_both_ways(loaded):
            raise ModelError(ONE_WAY.format(name))
    except _faults() as fault:
        raise ModelError(_why(name, fault, settings, device)) from None
    return loaded


def _reads_both_ways(loaded: Loaded) -> bool:
    """Whether what comes last changes the state of the first token."""
    import torch

    ids = loaded.tokenizer(_TRIAL)["input_ids"]
    rows = torch.tensor([ids, [*ids[:-1], ids[1]]], device=loaded.device)
    with torch.inference_mode():
        first, second = loaded.model(input_ids=rows).last_hidden_state[:, 0].float()
    return not torch.equal(first, second)


def _tokenizer(name: str, folder: Path, options: Mapping[str, Any]) -> Any:
    transformers: Any = importlib.import_module("transformers")
    try:
        return transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True, **options)
    except _faults() as fault:
        raise ModelError(f"{name}: its tokenizer can't be loaded ({words_of(fault)})") from None


def _faults() -> tuple[type[BaseException], ...]:
    return (*FAULTS, ImportError, importlib.import_module("safetensors").SafetensorError)


def _whole(name: str, maker: Any, options: Mapping[str, Any], *, but: Collection[str] = ()) -> Any:
    """A model with all its weights, some parts aside; transformers would fill missing ones with random numbers."""
    model, found = maker.from_pretrained(output_loading_info=True, **options)
    lacking = sorted(key for key in map(str, found["missing_keys"]) if key.partition(".")[0] not in but)
    lacking = lacking or sorted(map(str, found["mismatched_keys"]))
    if lacking:
        raise ModelError(
            f"{name} is no language model: its weights lack {lacking[0]!r}"
            + (f" and {len(lacking) - 1} more" if len(lacking) > 1 else "")
        )
    return model


def _with_tokens(model: Any, tokenizer: Any, device: torch.device) -> Loaded:
    """Note the special tokens, and take the makers' habits of sampling away."""
    transformers: Any = importlib.import_module("transformers")
    habits = getattr(model, "generation_config", None) or transformers.GenerationConfig()
    config = model.config.get_text_config()
    ends: list[int] = []
    for source in (habits.eos_token_id, tokenizer.eos_token_id):
        ends += source if isinstance(source, list) else [] if source is None else [source]
    pads = (tokenizer.pad_token_id, getattr(config, "pad_token_id", None), *ends, 0)
    pad = next(token for token in pads if token is not None)
    temperature = (habits.temperature if habits.temperature is not None else 1.0) if habits.do_sample else 0.0
    # Anything that these leave out would be filled in from there by `generate`: penalties, top_k, forced tokens.
    model.generation_config = transformers.GenerationConfig(
        bos_token_id=tokenizer.bos_token_id, eos_token_id=sorted(set(ends)) or None, pad_token_id=pad
    )
    return Loaded(
        model,
        tokenizer,
        device,
        pad,
        tuple(sorted(set(ends))),
        getattr(config, "max_position_embeddings", None),
        float(temperature),
    )


def _device(settings: ModelSettings) -> torch.device:
    """The one asked for, or the best there is."""
    import torch

    if settings.device is not None:
        return torch.device(settings.device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def _why(name: str, fault: BaseException, settings: ModelSettings, device: torch.device) -> str:
    words = words_of(fault)
    if is_memory(fault):
        return f"{name}: {words} to hold it as {settings.dtype} on {device}; take a smaller model, or dtype 'bfloat16'"
    if "trust_remote_code" in words or "custom code" in words:
        return f"{name} needs program code of its own, which isogloss doesn't run; serve it and ask it as openai/NAME"
    if "Unrecognized configuration class" in words or "does not recognize this architecture" in words:
        return f"{name} is no language model that this version of transformers can ask ({words[:160]})"
    return f"{name} can't be loaded ({words})"
