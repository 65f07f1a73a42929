"""The memory of a browser's processes, as Linux tells it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_KB: Final = 1_024
_OWN: Final = frozenset({"RssAnon", "RssShmem", "VmSwap"})
"""What a process has for itself; the program's file, which all of them share, is not among it."""


def memory_below(root: int) -> int:
    """Return the bytes that a process and its descendants have, 0 on systems without /proc."""
    return sum(map(_memory, _tree(root)))


def kill_below(root: int) -> None:
    """Kill a process and its descendants."""
    for process in _tree(root):
        with suppress(OSError):  # it ended with another, or is the sandbox
            os.kill(process, signal.SIGKILL)


def arguments_of(process: int) -> list[str]:
    """Return the command line of a process, empty if that cannot be read."""
    try:
        line = (_PROC / str(process) / "cmdline").read_bytes()
    except OSError:
        return []
    # A process that has changed its title has spaces there instead of zeros.
    return [part.decode("utf-8", "replace") for part in line.split(b"\0") if part]


def _tree(root: int) -> list[int]:
    """Return the process and its descendants, the eldest first."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found = [root]
    for process in found:  # grows while it is walked through
        found += children.get(process, ())
    return found


def _memory(process: int) -> int:
    total = 0
    with suppress(OSError, ValueError, IndexError):
        for line in (_PROC / str(process) / "status").read_text("utf-8", "replace").splitlines():
            name, _, value = line.partition(":")
            if name in _OWN:
                total += int(value.split()[0]) * _KB
    return total
