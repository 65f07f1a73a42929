"""The program of a worker process: it reads one document after the other.

Documents come on the standard input and texts leave on the standard output, in frames. The process
limits itself where the system allows it. It ends with its input, and so with its parent. On Linux
it ends with its parent in the middle of a document, too; elsewhere at the document's time limit.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIZES: Final = struct.Struct("!II")
PIPE_BYTES: Final = 1 << 17
"""The buffer on both sides; a usual page fits in it."""
_TIRED_MIB: Final = 256
"""A process that used more memory at once is replaced by a new one."""
_BIG_BYTES: Final = 200_000
_OFTEN: Final = 50
"""Memory is measured after each big document, and after every 50th document."""
_PR_SET_PDEATHSIG: Final = 1
_WARMING: Final = b"<!doctype html><html><body><p>Some words.</p></body></html>"


def write_frame(stream: IO[bytes], head: Mapping[str, Any], body: bytes) -> None:
    """Send JSON-plain values and bytes. Raises OSError when the pipe is closed."""
    packed = json.dumps(head).encode()
    stream.write(_SIZES.pack(len(packed), len(body)) + packed)
    stream.write(body)
    stream.flush()


def read_frame(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Return the next frame, or None when the pipe is closed."""
    sizes = stream.read(_SIZES.size)
    if len(sizes) < _SIZES.size:
        return None
    head_size, body_size = _SIZES.unpack(sizes)
    head, body = stream.read(head_size), stream.read(body_size)
    return (json.loads(head), body) if len(body) == body_size else None


def serve_frames() -> None:
    """Answer frames until the input ends. The program's argument is the memory limit in MiB."""
    _leave_signals_to_parent()
    source = os.fdopen(os.dup(0), "rb", PIPE_BYTES)
    sink = os.fdopen(os.dup(1), "wb", PIPE_BYTES)
    os.dup2(2, 1)  # what a library prints must not get between the frames
    limits = _Limits(int(sys.argv[1]))
    _answer({"name": "warming.html", "charset": None}, _WARMING)
    write_frame(sink, {"ready": True}, b"")
    frames = iter(lambda: read_frame(source), None)
    for served, (head, body) in enumerate(frames, start=1):
        limits.arm(head["cpu_s"], head["wall_s"])
        answer, text = _answer(head, body)
        limits.disarm()
        is_measured = len(body) > _BIG_BYTES or served % _OFTEN == 0
        tired = is_measured and limits.peak_mib() > _TIRED_MIB
        write_frame(sink, {**answer, "tired": tired}, text)


def _leave_signals_to_parent() -> None:
    """Ignore what stops a whole process group, and end when the parent ends."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        with suppress(AttributeError, ValueError, OSError):  # not on this system
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _answer(head: Mapping[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    from ....errors import ExtractionError
    from .extracted import EmptyDocumentError
    from .formats import extract

    try:
        found = asdict(extract(body, head["name"], head["charset"]))
    except EmptyDocumentError as error:
        return {"reason": error.reason, "message": str(error)}, b""
    except ExtractionError as error:
        return {"reason": "extraction_failed", "message": str(error)}, b""
    except MemoryError:
        raise  # a new process is safer than this one
    except Exception as error:  # noqa: BLE001 - parsers raise errors of many kinds
        message = f"The document's parser failed ({type(error).__name__})."
        return {"reason": "extraction_failed", "message": message}, b""
    return {"found": found}, found.pop("text").encode(errors="replace")


class _Limits:
    """The limits of this process; they do nothing on systems without such limits."""

    def __init__(self, memory_mib: int) -> None:
        try:
            import resource
        except ImportError:  # Windows
            self._resource: Any = None
            return
        self._resource = resource
        for name, limit in (
            ("RLIMIT_AS", memory_mib << 20),
            ("RLIMIT_CORE", 0),
            ("RLIMIT_FSIZE", 0),  # no file is written
        ):
            with suppress(AttributeError, ValueError, OSError):  # not on this system
                resource.setrlimit(getattr(resource, name), (limit, limit))

    def arm(self, cpu_s: float, wall_s: float) -> None:
        """Let the system kill this process if the next document takes longer."""
        if self._resource is None:
            return
        used = sum(os.times()[:2])
        hard = self._resource.getrlimit(self._resource.RLIMIT_CPU)[1]
        with suppress(ValueError, OSError):
            self._resource.setrlimit(self._resource.RLIMIT_CPU, (int(used + cpu_s) + 1, hard))
        signal.setitimer(signal.ITIMER_REAL, wall_s)  # if the parent has ended

    def disarm(self) -> None:
        """Remove the limit of time while waiting for the next document."""
        if self._resource is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def peak_mib(self) -> int:
        """Return the most memory that was in use at once; 0 where the system does not report it.

        The value of getrusage would include the parent's memory at the start.
        """
        with suppress(OSError), Path("/proc/self/status").open("rb") as status:
            for line in status:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) >> 10
        return 0


if __name__ == "__main__":
    serve_frames()
