"""What a process learnt of a provider's rate, for the next one."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from collection_search.resilience.known_rate import KnownRate
from collection_search.settings.rate_file import MAX_RATES, RATE_FILE, RateFile

if TYPE_CHECKING:
    from pathlib import Path

SLOW = KnownRate("learnt", 0.5, 1, 1_700_000_000.0)


def test_it_keeps_the_rate_of_each(tmp_path: Path) -> None:
    """By provider and key, in a folder that need not exist before."""
    home = tmp_path / "new"
    one, two = RateFile(home, "brave 1"), RateFile(home, "brave 2")
    one.save(SLOW)
    two.save(KnownRate("free", at=5.0))
    assert RateFile(home, "brave 1").load() == SLOW
    assert two.load() == KnownRate("free", at=5.0)
    assert RateFile(home, "other").load() is None
    assert [path.name for path in home.iterdir()] == [RATE_FILE]
    if os.name == "posix":
        assert stat.S_IMODE((home / RATE_FILE).stat().st_mode) == 0o600


def test_threads_that_save_at_once_lose_nothing(tmp_path: Path) -> None:
    """Neither the rates of each other nor those of before."""
    names = [f"provider {number}" for number in range(24)]
    for name in names:
        RateFile(tmp_path, name).save(SLOW)

    def save_often(name: str) -> None:
        for _ in range(20):
            RateFile(tmp_path, name).save(SLOW)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(save_often, names))
    assert [name for name in names if RateFile(tmp_path, name).load() != SLOW] == []
    assert [path.name for path in tmp_path.iterdir()] == [RATE_FILE]


@pytest.mark.parametrize(
    "change",
    [{"source": "told"}, {"interval_s": -1}, {"interval_s": 1e9}, {"burst": 0}, {"at": None}],
)
def test_a_damaged_entry_is_none(tmp_path: Path, change: dict[str, Any]) -> None:
    """The rate is then learnt anew."""
    kept = RateFile(tmp_path, "p")
    kept.save(SLOW)
    path = tmp_path / RATE_FILE
    entry = json.loads(path.read_text("utf-8"))["p"]
    path.write_text(json.dumps({"p": entry | change}), "utf-8")
    assert kept.load() is None


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"p": 3}', "\udcff"])
def test_a_damaged_file_is_empty(tmp_path: Path, text: str) -> None:
    """It is replaced by the next rate."""
    (tmp_path / RATE_FILE).write_bytes(text.encode("utf-8", "surrogateescape"))
    kept = RateFile(tmp_path, "p")
    assert kept.load() is None
    kept.save(SLOW)
    assert kept.load() == SLOW


def test_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    """It is a hint: a search goes on without it."""
    (tmp_path / "file").write_text("", "utf-8")
    kept = RateFile(tmp_path / "file" / "home", "p")
    kept.save(SLOW)
    assert kept.load() is None


def test_it_does_not_grow_without_end(tmp_path: Path) -> None:
    """A server whose users bring their keys: the oldest is dropped."""
    kept = {str(number): {} for number in range(MAX_RATES)}
    (tmp_path / RATE_FILE).write_text(json.dumps(kept), "utf-8")
    RateFile(tmp_path, "p").save(SLOW)
    left = json.loads((tmp_path / RATE_FILE).read_text("utf-8"))
    assert (len(left), "0" in left, "p" in left) == (MAX_RATES, False, True)
