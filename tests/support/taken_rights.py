"""A folder that nobody may enter, and a command that has to obey that."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TAKEN: Final = "-dac_override,-dac_read_search"
_AS_ANY_USER: Final = ("setpriv", f"--bounding-set={_TAKEN}", f"--inh-caps={_TAKEN}")


def as_any_user() -> tuple[str, ...]:
    """Return what stands before a command, so that root may read no more than others."""
    if not hasattr(os, "geteuid"):
        pytest.skip("Rights are others there.")
    if os.geteuid():
        return ()
    can = shutil.which("setpriv") and subprocess.run([*_AS_ANY_USER, "true"], check=False)
    if not can or can.returncode:
        pytest.skip("Root cannot give up its rights here.")
    return _AS_ANY_USER


@contextmanager
def closed(folder: Path) -> Iterator[None]:
    """Take all rights to the folder, until the end of the block."""
    mode = folder.stat().st_mode
    folder.chmod(0)
    try:
        yield
    finally:
        folder.chmod(mode)
