"""Paths of settings, in which `~` is the user's home folder as in a shell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator


def _expanded(path: Path) -> Path:
    """Return the path with `~` replaced: no shell has read what stands in a file."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - the other raises for unknown users


LocalPath = Annotated[Path, AfterValidator(_expanded)]
"""A file or folder of this machine."""
LocalFolder = Annotated[LocalPath, AfterValidator(Path.absolute)]
"""One that stays the same when the process changes its working folder."""
