"""Stub and contestants as processes, and what one round of questions took."""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

HERE: Final = Path(__file__).parent
_OTHERS: Final = ("COLLECTION_SEARCH_", "OPENAI_", "LANGFUSE_", "LANGSMITH_", "LANGCHAIN_", "OTEL_")
_OTHERS_ENDS: Final = ("_API_KEY", "_BASE_URL", "_PROXY")


class Spread(NamedTuple):
    """Median and quartiles of one figure."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """Return the spread of at least two values."""
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)

    def __str__(self) -> str:
        return f"{self.median:.1f} ({self.low:.1f}-{self.high:.1f})"


@dataclass(frozen=True)
class Round:
    """Questions that were asked at once, as the contestant and the stub saw them."""

    wall_ms: float
    busy_ms: float
    """Length of the union of the stub's calls: the critical path that the contestant chose."""
    cpu_ms: float
    """User and system time of the contestant's process, all its threads."""
    waited_ms: float
    """Time in which its main thread was ready to run and other processes had the core."""
    stub_cpu_ms: float
    peak_mib: float
    calls: Mapping[str, int]
    new_connections: int
    embedding_items: int
    tokens: Mapping[str, int]
    answers: Sequence[Mapping[str, Any]]
    errors: Sequence[str]
    numbers: Sequence[int] = ()
    """Of the questions."""

    @property
    def overhead_ms(self) -> float:
        """What the contestant added to the time of its calls."""
        return self.wall_ms - self.busy_ms

    @classmethod
    def of(cls, told: Mapping[str, Any], log: Mapping[str, Any]) -> Self:
        """Return the round from the contestant's answer and the stub's log."""
        busy_ns = union((start, end) for _, start, end in log["calls"])
        return cls(
            wall_ms=(told["ended"] - told["started"]) / 1e6,
            busy_ms=busy_ns / 1e6,
            cpu_ms=told["cpu_ns"] / 1e6,
            waited_ms=told["waited_ns"] / 1e6,
            stub_cpu_ms=log["cpu_ns"] / 1e6,
            peak_mib=told["peak_mib"],
            calls=Counter(call[0] for call in log["calls"]),
            new_connections=sum(log["connections"].values()),
            embedding_items=log["embedding_items"],
            tokens=log["tokens"],
            answers=told["answers"],
            errors=told["errors"],
        )


def union(intervals: Iterable[tuple[int, int]]) -> int:
    """Return the length of what the intervals cover together.

    >>> union([(10, 20), (0, 5), (15, 30), (16, 17)])
    25
    """
    covered = reached = 0
    for start, end in sorted(intervals):
        reached = max(reached, start)
        covered += max(0, end - reached)
        reached = max(reached, end)
    return covered


class Process:
    """A program of this folder that reads and writes lines, ended with the `with` block."""

    def __init__(self, program: str, *arguments: str, folder: str | None = None) -> None:
        self.program = " ".join((program, *arguments[:1]))
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, str(HERE / program), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=clean_environment(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.end()

    def end(self) -> None:
        """End the program, in a hurry if it takes more than ten seconds."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def read(self) -> Any:
        """Return the next line's JSON. Raises RuntimeError when the program has ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.program} ended; see its message above")
        return json.loads(line)

    def write(self, value: Any) -> None:
        """Send one line of JSON."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()


class StubProcess(Process):
    """The stub on a core of its own."""

    def __init__(self, latency_ms: Mapping[str, float] | None = None) -> None:
        super().__init__("stub.py", *([json.dumps(latency_ms)] if latency_ms else []))
        self.urls: Mapping[str, str] = self.read()
        self._control = http.client.HTTPConnection(urlsplit(self.urls["control_url"]).netloc)

    def control(self, order: str) -> Any:
        """Return the answer to `reset` or `read`."""
        self._control.request("GET", f"/control/{order}")
        return json.loads(self._control.getresponse().read())

    def end(self) -> None:
        """Let go of the control address as well."""
        self._control.close()
        super().end()


class ContestantProcess(Process):
    """One contestant, asked a round of questions at a time."""

    def __init__(self, name: str, stub: StubProcess, config: Mapping[str, str]) -> None:
        config = {**stub.urls, **config}
        super().__init__("contestants.py", name, json.dumps(config), folder=config["home"])
        self._stub = stub

    def ask(self, questions: Sequence[str]) -> Round:
        """Return what asking all of them at once took."""
        self._stub.control("reset")
        self.write(questions)
        told = self.read()
        return Round.of(told, self._stub.control("read"))


def clean_environment() -> dict[str, str]:
    """Return the environment without settings, keys and proxies of whoever runs the benchmark."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_OTHERS) and not name.upper().endswith(_OTHERS_ENDS)
    }
