"""Files that only their owner may read."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_OWNER_ONLY: Final = 0o600
_creating: Final = threading.Lock()


def create_private(path: Path) -> None:
    """Create the file, empty and for its owner only, unless something is there.

    A file that exists keeps its mode: its operator chose it. Windows has its own rights, which are
    inherited from the folder. Where the file cannot be made, whoever opens it says why.
    """
    with _creating, suppress(OSError):
        # SQLite loses its locks when any descriptor of its file is closed in the same process: a
        # file is never opened here that another thread may have open.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ONLY))
