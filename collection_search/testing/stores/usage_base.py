"""The base class of the contract suites for usage stores."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

from ...ports.usage import SpendEntry, UsageStore
from ..clock import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LIMIT: Final = 100
MONTH: Final = "2026-11"
DAY_S: Final = 86_400


class Usage(UsageStore, Protocol):
    """A store that holds connections."""

    def close(self) -> None:
        """Close the connections that no call uses."""
        ...


class UsageBase:
    """A usage store with its clock, and helpers of the suites."""

    store: Usage
    clock: FakeClock

    def usage(self, folder: Path, *, clock: Callable[[], float]) -> Usage:
        """Open the store in this folder and return it."""
        raise NotImplementedError

    def source(self, folder: Path) -> str:
        """Return Python source that binds `usage` to that store in another process."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _opened(self, tmp_path: Path) -> Iterator[None]:
        self.clock = FakeClock()
        self.store = self.usage(tmp_path, clock=self.clock.time)
        yield
        self.store.close()

    def _reserve(self, *, limit: int, count: int = 1) -> bool:
        return self.store.reserve("tavily", "key", period=MONTH, limit=limit, count=count)

    def _settle(self, *, used: int, reserved: int = 1) -> int:
        return self.store.settle("tavily", "key", period=MONTH, used=used, reserved=reserved)

    def _used(self) -> int:
        return self.store.used("tavily", "key", period=MONTH)

    def _entry(self, **fields: Any) -> SpendEntry:
        known: dict[str, Any] = {
            "tenant_id": "one",
            "run_id": "run",
            "at": 0.0,
            "kind": "search",
            "name": "x",
        }
        return SpendEntry(**(known | fields))

    def _process(self, folder: Path, script: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", f"{self.source(folder)}\n{script}"]
        return subprocess.Popen(  # noqa: S603 - our own source
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
