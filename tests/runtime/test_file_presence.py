"""A file that is there, is not, or is nobody's business."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search.errors import ConfigError
from collection_search.runtime.file_presence import has_file

if TYPE_CHECKING:
    from pathlib import Path


def test_only_a_file_is_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert has_file(file)
    assert not has_file(tmp_path)
    assert not has_file(tmp_path / "missing")
    assert not has_file(tmp_path / "missing" / "file")
    assert not has_file(file / "below")


def test_what_cannot_be_looked_at_is_not_taken_for_missing(tmp_path: Path) -> None:
    """A loop of links stands for rights, which root has all of."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(ConfigError, match=r"loop/file cannot be read .* set ROOM to another one"):
        has_file(loop / "file", instead="set ROOM to another one")
