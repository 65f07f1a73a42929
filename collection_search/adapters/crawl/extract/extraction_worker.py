"""The program that reads one document after the other, in a process that may die of it.

Documents come on the standard input and texts leave on the standard output, in frames. The process
limits itself where the system lets it, and ends when its input does: with its parent.
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
"""Buffered on both sides, so that a usual page crosses in one piece."""
_TIRED_MIB: Final = 256
"""Of memory in use at once: a process that needed more is replaced by a fresh one."""
_BIG_BYTES: Final = 200_000
_OFTEN: Final = 50
"""The memory is looked at after a document of this size, and each time after so many others."""
_WARMING: Final = b"<!doctype html><html><body><p>Some words.</p></body></html>"


def write_frame(stream: IO[bytes], head: Mapping[str, Any], body: bytes) -> None:
    """Send JSON-plain values and bytes. Raises OSError when the other side has gone."""
    packed = json.dumps(head).encode()
    stream.write(_SIZES.pack(len(packed), len(body)) + packed)
    stream.write(body)
    stream.flush()


def read_frame(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Return the next frame, or None when the other side has gone."""
    sizes = stream.read(_SIZES.size)
    if len(sizes) < _SIZES.size:
        return None
    head_size, body_size = _SIZES.unpack(sizes)
    head, body = stream.read(head_size), stream.read(body_size)
    return (json.loads(head), body) if len(body) == body_size else None


def serve_frames() -> None:
    """Answer frames until the input ends; argument: the memory limit in MiB."""
    with suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    source = os.fdopen(os.dup(0), "rb", PIPE_BYTES)
    sink = os.fdopen(os.dup(1), "wb", PIPE_BYTES)
    os.dup2(2, 1)  # nothing that a library prints gets between the frames
    limits = _Limits(int(sys.argv[1]))
    _answer({"name": "warming.html", "charset": None}, _WARMING)
    write_frame(sink, {"ready": True}, b"")
    served = 0
    while (frame := read_frame(source)) is not None:
        head, body = frame
        limits.arm(head["cpu_s"], head["wall_s"])
        answer, text = _answer(head, body)
        limits.disarm()
        served += 1
        swollen = len(body) > _BIG_BYTES or served % _OFTEN == 0
        tired = swollen and limits.peak_mib() > _TIRED_MIB
        write_frame(sink, {**answer, "tired": tired}, text)


def _answer(head: Mapping[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    from ....errors import ExtractionError
    from .formats import EmptyDocumentError, extract

    try:
        found = asdict(extract(body, head["name"], head["charset"]))
    except EmptyDocumentError as error:
        return {"reason": "empty", "message": str(error)}, b""
    except ExtractionError as error:
        return {"reason": "extraction_failed", "message": str(error)}, b""
    except MemoryError:
        raise  # a fresh process is safer than what is left of this one
    except Exception as error:  # noqa: BLE001 - parsers fail in ways of their own
        message = f"The document's parser failed ({type(error).__name__})."
        return {"reason": "extraction_failed", "message": message}, b""
    return {"found": found}, found.pop("text").encode(errors="replace")


class _Limits:
    """What this process may use; nothing on systems without such limits."""

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
            ("RLIMIT_FSIZE", 0),  # nothing is written to any file
        ):
            with suppress(AttributeError, ValueError, OSError):  # not on this system
                resource.setrlimit(getattr(resource, name), (limit, limit))

    def arm(self, cpu_s: float, wall_s: float) -> None:
        """Let the system kill this process when it takes longer from now on."""
        if self._resource is None:
            return
        used = sum(os.times()[:2])
        hard = self._resource.getrlimit(self._resource.RLIMIT_CPU)[1]
        with suppress(ValueError, OSError):
            self._resource.setrlimit(self._resource.RLIMIT_CPU, (int(used + cpu_s) + 1, hard))
        signal.setitimer(signal.ITIMER_REAL, wall_s)  # if the parent is no more

    def disarm(self) -> None:
        """Lift the limit of time while waiting for the next document."""
        if self._resource is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def peak_mib(self) -> int:
        """Return the most memory that was in use at once; 0 where the system does not tell.

        What getrusage says would include the parent's memory at the start.
        """
        with suppress(OSError), Path("/proc/self/status").open("rb") as status:
            for line in status:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) >> 10
        return 0


if __name__ == "__main__":
    serve_frames()
