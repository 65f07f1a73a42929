"""One worker process that reads untrusted documents within limits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from ....errors import FetchError
from .extracted import Extracted
from .extraction_worker import PIPE_BYTES, read_frame, write_frame

if TYPE_CHECKING:
    from .deadline_watch import DeadlineWatch

_START_S: Final = 120.0
"""A process that is not ready by then is killed."""
_EXIT_S: Final = 5.0
"""For a process that has closed its pipes. A late or stopped one was killed before."""
_ENV_VARS: Final = (
    "PATH",
    "SYSTEMROOT",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "LD_LIBRARY_PATH",
)
"""Variables that a worker gets: no key, no proxy, no setting."""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits for one document. Some systems cannot limit memory and CPU."""

    cpu_s: float = 10.0
    wall_s: float = 15.0
    memory_mib: int = 512


class ExtractionProcess:
    """One process, started on demand. One thread uses it, any thread may stop it."""

    def __init__(self, limits: ProcessLimits, watch: DeadlineWatch) -> None:
        self._limits = limits
        self._watch = watch
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._late = False
        self._lock = threading.Lock()

    def read(self, body: bytes, name: str, charset: str | None) -> Extracted:
        """Return the title and the text that the process extracts. Raises FetchError."""
        limits = self._limits
        process = self._running()
        wall_s = limits.wall_s + 1.0  # used only if this program has ended
        head = {"name": name, "charset": charset, "cpu_s": limits.cpu_s, "wall_s": wall_s}
        answer = self._exchange(process, head, body, limits.wall_s)
        if answer is None:
            raise self._died(process)
        facts, text = answer
        if facts["tired"]:
            self._end(process)
        if reason := facts.get("reason"):
            raise FetchError(facts["message"], reason=reason, retryable=False)
        return Extracted(text=text.decode(), **facts["found"])

    def stop(self) -> None:
        """End the process now. No other one is started."""
        with self._lock:
            self._stopped = True
            process = self._process
        if process is not None:
            self._end(process)

    def _running(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise stopped_error()
            process = self._process
            if process is not None:
                if process.poll() is None:
                    return process
                _close_pipes(process)  # it was killed from outside, between two documents
            try:
                process = self._process = _start(self._limits)
            except OSError as error:
                raise _not_started(str(error)) from error
        if self._exchange(process, None, b"", _START_S) is None:
            self._end(process)
            if self._stopped:
                raise stopped_error()
            raise _not_started(f"exit code {process.returncode}")
        return process

    def _exchange(
        self,
        process: subprocess.Popen[bytes],
        head: dict[str, Any] | None,
        body: bytes,
        limit_s: float,
    ) -> tuple[dict[str, Any], bytes] | None:
        """Return the answer, or None when the process died or was killed after `limit_s`."""
        self._late = False
        with self._watch.over(self._kill_late, limit_s):
            try:
                if head is not None:
                    write_frame(_pipe(process.stdin), head, body)
                return read_frame(_pipe(process.stdout))
            except (OSError, ValueError):  # the process died, or the pipe was closed
                return None

    def _kill_late(self) -> None:
        self._late = True
        if self._process is not None:
            self._process.kill()

    def _died(self, process: subprocess.Popen[bytes]) -> FetchError:
        with suppress(subprocess.TimeoutExpired):  # its own exit code shows the cause
            process.wait(_EXIT_S)
        self._end(process)
        if self._stopped:
            return stopped_error()
        code, limits = process.returncode, self._limits
        if self._late or code == -getattr(signal, "SIGXCPU", 0):
            why = f"took longer than {limits.cpu_s:g} s of CPU or {limits.wall_s:g} s in all"
        else:
            why = f"ended its process (exit code {code}), likely over {limits.memory_mib} MiB"
        from_outside = not self._late and code in {-signal.SIGTERM, -9}
        return _killed(f"Reading the document {why}.", retryable=from_outside)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the process, wait for it and close the pipes. It may be called again."""
        process.kill()
        process.wait()
        with self._lock:
            if self._process is process:
                self._process = None
        _close_pipes(process)


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError, ValueError):  # unsent data
            _pipe(pipe).close()


def _start(limits: ProcessLimits) -> subprocess.Popen[bytes]:
    environment = {name: os.environ[name] for name in _ENV_VARS if name in os.environ}
    root = Path(__file__).parents[len(__name__.split(".")) - 1]
    paths = [str(root), *(path for path in sys.path if path)]
    return subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-P", "-m", f"{__package__}.extraction_worker", str(limits.memory_mib)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=PIPE_BYTES,
        env={**environment, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUTF8": "1"},
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("the process has no such pipe")
    return pipe


def stopped_error() -> FetchError:
    """Return the error of a document whose reading this program stopped."""
    return _killed("Reading the document was stopped; read it again.")


def _not_started(why: str) -> FetchError:
    return _killed(
        f"No process could be started to read documents: {why}. Free memory or processes."
    )


def _killed(message: str, *, retryable: bool = True) -> FetchError:
    return FetchError(message, reason="extraction_killed", retryable=retryable)
