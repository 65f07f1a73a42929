"""The folder of a browser goes with it, and those of killed processes with the next one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.scripted_pages import short_folder

from collection_search.adapters.crawl.browser.browser_folder import BrowserFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(os.name != "posix", reason="no locks")


@pytest.fixture
def parent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with short_folder() as folder:
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        yield folder


def test_it_is_removed_with_the_drivers_folder(parent: Path) -> None:
    """Which is known by its link to the browser's socket; no other is."""
    mine, other = (parent / f"playwright_chromiumdev_profile-{one}" for one in "ab")
    folder = BrowserFolder()
    for profiles, target in ((mine, folder.path), (other, parent / "elsewhere")):
        (profiles / "Default").mkdir(parents=True)
        (profiles / "SingletonSocket").symlink_to(target / "org.chromium.a" / "SingletonSocket")
    (folder.path / "file").write_text("a")
    assert f"-{os.getpid()}-" in folder.path.name
    folder.remove()
    assert list(parent.iterdir()) == [other]
    folder = BrowserFolder()
    folder.note(f"--user-data-dir={other}")
    folder.remove()
    assert list(parent.iterdir()) == []


def test_those_of_killed_processes_are_removed(parent: Path) -> None:
    """Not those that are in use, and nothing else."""
    left = parent / "collection-search-1-abc"
    foreign = parent / "collection-search-notes"
    for one in (left, foreign):
        one.mkdir()
        (one / "in-use").touch()
    used = BrowserFolder()
    second = BrowserFolder()
    assert not left.exists()
    assert foreign.exists()
    assert used.path.exists()
    used.remove()
    second.remove()


def test_a_long_path_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chromium does not start when the path of its socket is too long."""
    long = tmp_path / "a folder with quite a long name"
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    folder = BrowserFolder()
    assert folder.path.parent == Path("/tmp")
    folder.remove()
    assert not folder.path.exists()
