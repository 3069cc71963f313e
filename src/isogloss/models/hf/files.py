"""Where the files of an `hf/` model lie, what they say of it before any weight is read, and how they come here."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import mmap
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NamedTuple

from isogloss.errors import ModelError
from isogloss.models.hf.head_files import head_revision, is_head
from isogloss.models.model import Abilities
from isogloss.models.weights import sha256_of

_SMALL_FILES = (
    "config.json", "generation_config.json", "tokenizer*.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "vocab.txt", "merges.txt", "chat_template.*", "*.tiktoken", "tokenizer.model", "spiece.model",
    "sentencepiece*.model", "spm.model",
)  # fmt: skip
_SAFE = ("model*.safetensors", "model.safetensors.index.json")
_PICKLED = ("pytorch_model*.bin", "pytorch_model.bin.index.json")
_HEAD = 64 << 20
_MASKED = frozenset(
    f"{name}ForPreTraining" for name in ("Albert", "Bert", "BigBird", "Ernie", "MegatronBert", "MobileBert", "RoCBert")
)
"""Kinds that were saved with all that they were trained with, a masked language model among it."""
_PAIRED = frozenset({"bert", "ernie", "megatron-bert", "mobilebert"})
"""Model types with a class for next-sentence prediction."""
_HUB_SECONDS = 20.0


class Place(NamedTuple):
    """What the user's name stands for."""

    path: Path | None
    """A folder or a GGUF file on this machine; None for a model of the hub."""
    repo: str
    """`OWNER/NAME` on the hub."""
    revision: str | None

    @property
    def is_gguf(self) -> bool:
        """Whether it is one GGUF file."""
        return self.path is not None and self.path.suffix.lower() == ".gguf"


class Look(NamedTuple):
    """What can be told of a model from its small files."""

    kind: Literal["causal", "masked", "next_sentence", "trained_head"]
    """`next_sentence` where there is a next-sentence head and nothing that tells a token's probability; `trained_head`
    for a folder with such a head that was trained here."""
    has_template: bool
    next_sentence: bool = False
    """Whether the weights hold a next-sentence head."""

    @property
    def abilities(self) -> Abilities:
        """What such a model can do."""
        if self.kind == "trained_head":
            return Abilities(chat=False, nsp_trained=True)
        if self.kind == "next_sentence":
            return Abilities(chat=False, next_sentence=True)
        if self.kind == "masked":
            return Abilities(
                chat=False, logprobs=True, masked=True, shared_tokens=True, next_sentence=self.next_sentence
            )
        return Abilities(chat=self.has_template, logprobs=True, seeds=self.has_template)


def place(source: str, revision: str | None) -> Place:
    """A path where the name begins like one (".", "/", "~") or ends in ".gguf"; a name of the hub otherwise."""
    path = Path(source).expanduser()
    if not (source.startswith((".", "~")) or path.is_absolute() or "\\" in source or source.endswith(".gguf")):
        return Place(None, source, revision)
    if revision is not None and not path.exists() and path.with_name(f"{path.name}@{revision}").exists():
        return Place(path.with_name(f"{path.name}@{revision}"), source, None)
    return Place(path, source, revision)


def cached_folder(found: Place, environment: Mapping[str, str]) -> Path | None:
    """The folder of a hub model in the hub's cache, if its config and weights lie there; asks nobody."""
    folder = _cache_folder(environment) / f"models--{found.repo.replace('/', '--')}"
    revision = found.revision or "main"
    reference = folder / "refs" / revision
    try:
        commit = reference.read_text(encoding="utf-8").strip() if reference.is_file() else revision
    except OSError:
        return None
    snapshot = folder / "snapshots" / commit
    if not (snapshot / "config.json").is_file():
        return None
    return snapshot if any(_matches(file.name, (*_SAFE, *_PICKLED)) for file in snapshot.iterdir()) else None


def look(path: Path) -> Look | None:
    """What the files say without reading weights; None where they can't be read (said when it is opened)."""
    try:
        if path.suffix.lower() == ".gguf":
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
                return Look("causal", view.find(b"tokenizer.chat_template", 0, _HEAD) >= 0)
        if is_head(path):
            return Look("trained_head", False)
        config = _read_json(path / "config.json")
        architectures = [str(name) for name in config.get("architectures") or ()]
        if any(name.endswith("ForMaskedLM") or name in _MASKED for name in architectures):
            return Look("masked", False, _tells_what_follows(path, config, architectures))
        if any(name.endswith("ForNextSentencePrediction") for name in architectures):
            return Look("next_sentence", False, True)
        has_file = any(path.glob("chat_template.*"))
        tokenizer_file = path / "tokenizer_config.json"
        has_entry = tokenizer_file.is_file() and bool(_read_json(tokenizer_file).get("chat_template"))
    except (OSError, ValueError):
        return None
    return Look("causal", has_file or has_entry)


def _tells_what_follows(path: Path, config: Mapping[str, Any], architectures: list[str]) -> bool:
    """Whether there is a next-sentence head: by the weights' names (the first BERT models are saved with one, under an
    architecture without), or by the architecture where those can't be read."""
    if config.get("model_type") not in _PAIRED:
        return False
    names = _tensor_names(path)
    if names:
        return _has_pair_head(names)
    return any(name in _MASKED for name in architectures)


def _has_pair_head(names: Iterable[str]) -> bool:
    return any(name.startswith("cls.seq_relationship.") for name in names)


def _tensor_names(path: Path) -> list[str]:
    """Names of the weights, from the head of safetensors files; none where there are no such files."""
    try:
        index = path / "model.safetensors.index.json"
        if index.is_file():
            return list(_read_json(index)["weight_map"])
        with (path / "model.safetensors").open("rb") as file:
            n_bytes = int.from_bytes(file.read(8), "little")
            return list(json.loads(file.read(min(n_bytes, _HEAD))))
    except (OSError, ValueError, LookupError, TypeError):
        return []


def _read_json(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds no JSON object")
    return content


def local_revision(path: Path) -> str:
    """The first 16 hex digits of sha256: of a GGUF file, or of the names and sha256 of a folder's files.

    Config, tokenizer, template and weights are read whole: a merged adapter may change a few layers only, so sizes
    and ends of the files wouldn't tell two models apart. Other files of the folder don't count. For a head that was
    trained here see `head_revision`.
    """
    if is_head(path):
        return head_revision(path)
    if path.suffix.lower() == ".gguf":
        return sha256_of(path)[:16]
    digest = hashlib.sha256()
    for file in sorted(path.iterdir()):
        if file.is_file() and any(fnmatchcase(file.name, form) for form in (*_SMALL_FILES, *_SAFE, *_PICKLED)):
            digest.update(f"{file.name} {sha256_of(file)}\n".encode())
    return digest.hexdigest()[:16]


def located(name: str, found: Place, environment: Mapping[str, str]) -> tuple[Path, str]:
    """The folder or file to load from, brought here where it is the hub's, and its revision.

    Raises
    ------
    ModelError
        Nothing is there, it is another revision than the one asked for, or the hub doesn't give it (see `fetch`).
    """
    path, asked = found.path, found.revision
    if path is None:
        return fetch(name, found, environment)
    check_there(name, found)
    revision = local_revision(path)
    if asked is not None and not revision.startswith(asked):
        raise ModelError(f"{name}: {path} is revision {revision}, not {asked}")
    return path, revision


def check_there(name: str, found: Place) -> None:
    """Raise ModelError for a place on this machine where nothing is."""
    if found.path is not None and not (found.path.is_file() if found.is_gguf else found.path.is_dir()):
        what = "a .gguf file" if found.is_gguf else "a folder with a saved transformers model"
        raise ModelError(f"{name}: nothing at {found.path}; expected {what}")


# --- the hub ----------------------------------------------------------------------------------------------------------


def look_ahead(found: Place, environment: Mapping[str, str]) -> Look | None:
    """What a hub model's small files say, which are brought here for that; None where they can't be had now."""
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    hub: Any = importlib.import_module("huggingface_hub")
    errors: Any = importlib.import_module("huggingface_hub.errors")
    faults = (errors.HfHubHTTPError.__bases__[0], errors.HFValidationError, errors.SafetensorsParsingError, OSError)
    reach = _reach(environment)
    seen: Look | None = None
    was_quiet = hub.utils.are_progress_bars_disabled()
    hub.utils.disable_progress_bars()
    try:
        folder = hub.snapshot_download(
            found.repo, revision=found.revision, allow_patterns=[*_SMALL_FILES, _SAFE[1]],
            cache_dir=_cache_folder(environment), etag_timeout=_HUB_SECONDS, **reach,
        )  # fmt: skip
        seen = look(Path(folder))
        if seen is None or seen.kind != "masked" or seen.next_sentence:
            return seen
        head = hub.HfApi(**reach).parse_safetensors_file_metadata(
            found.repo, "model.safetensors", revision=found.revision, timeout=_HUB_SECONDS
        )
        return seen._replace(next_sentence=_has_pair_head(head.tensors))
    except faults:
        return seen
    finally:
        if not was_quiet:
            hub.utils.enable_progress_bars()


def _reach(environment: Mapping[str, str]) -> dict[str, str | None]:
    return {"token": environment.get("HF_TOKEN") or None, "endpoint": environment.get("HF_ENDPOINT") or None}


def fetch(name: str, found: Place, environment: Mapping[str, str]) -> tuple[Path, str]:
    """Bring a hub model's files to the hub's cache, where they aren't there; the folder and the commit.

    Parameters
    ----------
    name : str
        `hf/…`, for messages.
    environment : mapping
        `HF_TOKEN` for gated models, `HF_ENDPOINT` for another hub, `HF_HOME` or `HF_HUB_CACHE` for another cache.

    Raises
    ------
    ModelError
        No such model or revision, gated, no network, or no weights that transformers reads.
    """
    hub: Any = importlib.import_module("huggingface_hub")
    errors: Any = importlib.import_module("huggingface_hub.errors")
    transport = errors.HfHubHTTPError.__bases__[0]  # the HTTP library's own base, whichever it is in this version
    reach = _reach(environment)
    try:
        info = hub.HfApi(**reach).model_info(found.repo, revision=found.revision, timeout=_HUB_SECONDS)
        wanted = list(_wanted(name, [sibling.rfilename for sibling in info.siblings or ()]))
        folder = hub.snapshot_download(
            found.repo, revision=found.revision, allow_patterns=wanted, cache_dir=_cache_folder(environment),
            etag_timeout=_HUB_SECONDS, **reach,
        )  # fmt: skip
    except errors.GatedRepoError:
        raise ModelError(
            f"{name} is gated: accept its terms on its page of the hub, and set HF_TOKEN to a token that may read it"
        ) from None
    except errors.RevisionNotFoundError:
        raise ModelError(f"{name} has no revision {found.revision!r}; give a branch, tag or commit of it") from None
    except (errors.RepositoryNotFoundError, errors.HFValidationError):
        raise ModelError(_not_found(name, found)) from None
    except errors.HfHubHTTPError as fault:
        raise ModelError(f"{name}: the hub answers {_first_line(fault)}; try again later") from None
    except (transport, OSError) as fault:
        here = cached_folder(found, environment)
        if here is None:
            raise ModelError(
                f"{name} isn't on this machine and the hub can't be reached ({_first_line(fault)}); "
                f"a folder on this machine is written as hf/./DIR"
            ) from None
        return here, here.name
    return Path(folder), Path(folder).name


def _cache_folder(environment: Mapping[str, str]) -> Path:
    """The hub's cache, where the hub's own library has it, too."""
    if environment.get("HF_HUB_CACHE"):
        return Path(environment["HF_HUB_CACHE"]).expanduser()
    if environment.get("HF_HOME"):
        return Path(environment["HF_HOME"]).expanduser() / "hub"
    return Path(environment.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface" / "hub"


def _wanted(name: str, files: list[str]) -> Iterator[str]:
    """The files that loading needs: the small ones, and weights in one format."""
    weights = next((forms for forms in (_SAFE, _PICKLED) if any(_matches(file, forms) for file in files)), None)
    if weights is None:
        advice = "; for a GGUF file, download it and name it gguf/./FILE.gguf" if _matches_any_gguf(files) else ""
        raise ModelError(f"{name} holds no weights that transformers reads (safetensors or pytorch_model.bin){advice}")
    for file in files:
        if _matches(file, (*_SMALL_FILES, *weights)):
            yield file


def _matches(file: str, forms: tuple[str, ...]) -> bool:
    return "/" not in file and any(fnmatchcase(file, form) for form in forms)


def _matches_any_gguf(files: list[str]) -> bool:
    return any(file.endswith(".gguf") for file in files)


def _not_found(name: str, found: Place) -> str:
    if Path(found.repo).exists():
        return f"the hub has no model {found.repo!r}; the folder of that name is hf/./{found.repo}"
    return (
        f"the hub has no model {found.repo!r}, or it is private (set HF_TOKEN); "
        f"a folder on this machine is written as hf/./DIR"
    )


def _first_line(fault: BaseException) -> str:
    lines = str(fault).strip().splitlines()
    return lines[0][:200] if lines else type(fault).__name__
