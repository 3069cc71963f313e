"""Files are there whole or not at all."""

from __future__ import annotations

import pytest

from isogloss.files import whole_file


def test_a_file_takes_its_name_only_when_all_went_well(tmp_path):
    path = tmp_path / "a.txt"
    with whole_file(path) as partial:
        partial.write_text("one")
        assert not path.exists()
    assert path.read_text() == "one"
    with pytest.raises(OSError, match="full"):
        _fill_the_disk(path)
    assert path.read_text() == "one"
    assert list(tmp_path.iterdir()) == [path]


def _fill_the_disk(path):
    with whole_file(path) as partial:
        partial.write_text("half")
        raise OSError("full")
