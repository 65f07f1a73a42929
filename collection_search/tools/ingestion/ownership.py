"""The owner of a row of the ledger: a process of a host, and whether it has ended."""

from __future__ import annotations

import os
import socket
import time
import uuid
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK_S: Final = 0.5
"""How often the claims of a process look for rows of owners that have ended."""
LEFT_S: Final = 2.0
"""How long such rows are left to those claims before a sweep returns them to their turn."""
_REMEMBERED_S: Final = 60.0

_PROCESS: Final = uuid.uuid4().hex[:12]
_FOR: Final = "/"


def this_process() -> str:
    """Return the owner that this process writes into the rows that it claims."""
    return f"{this_host()}:{os.getpid()}:{_PROCESS}"


@cache
def this_host() -> str:
    """Return what names the processes whose ids can be looked up here.

    Containers may have one host name and yet process ids of their own. So the boot and the
    namespace of the process ids belong to the name on Linux.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")[:8]
        namespace = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()}@{boot}.{namespace}"


def for_message(message_id: str) -> str:
    """Return this process as the owner of rows that it claims for a message of a queue."""
    return f"{this_process()}{_FOR}{message_id}"


def holds(message_id: str) -> Callable[[str], bool]:
    """Return a test for the owners that claimed a row for this message, in any process.

    >>> holds("m1")(for_message("m1")), holds("m2")(for_message("m1"))
    (True, False)
    """
    return lambda owner: owner.endswith(f"{_FOR}{message_id}")


def is_gone(owner: str) -> bool:
    """Return whether the owner is a process of this host that has certainly ended.

    >>> is_gone("another-host:1:abc"), is_gone(f"{this_host()}:{os.getpid()}:earlier")
    (False, True)
    >>> is_gone(for_message("m1"))
    False
    """
    host, _, process = owner.partition(":")
    pid, _, token = process.partition(":")
    if host != this_host() or not pid.isdigit():
        return False
    if int(pid) == os.getpid():  # a container's processes often get the same id again
        return token.partition(_FOR)[0] != _PROCESS
    if os.name == "posix":
        try:
            os.kill(int(pid), 0)
        except OSError as error:
            return isinstance(error, ProcessLookupError)
    return False


class EndedOwners:
    """When owners of this host were seen to have ended; safe for threads."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._next_look = 0.0
        self._seen: dict[str, float] = {}

    def look(self) -> Callable[[str], bool] | None:
        """Return a test for owners that have ended; None when the last look was just now.

        A look that finds one is followed by another at once: an ended owner often leaves several
        rows.
        """
        now = self._monotonic()
        if now < self._next_look:
            return None
        self._next_look = now + LOOK_S
        return self._has_ended

    def has_left(self, owner: str) -> bool:
        """Return whether the owner has ended, and was seen so for the first time `LEFT_S` ago."""
        if not is_gone(owner):
            return False
        now = self._monotonic()
        recent = {one: at for one, at in self._seen.items() if now - at < _REMEMBERED_S}
        self._seen = {owner: now} | recent
        return now - self._seen[owner] >= LEFT_S

    def _has_ended(self, owner: str) -> bool:
        has_ended = is_gone(owner)
        if has_ended:
            self._next_look = 0.0
        return has_ended
