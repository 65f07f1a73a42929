"""Whether a file is there, told apart from one that this user may not look for."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Final

from ..errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

OTHER_HOME: Final = "set COLLECTION_SEARCH_HOME to another folder"


def has_file(path: Path, *, instead: str = OTHER_HOME) -> bool:
    """Return whether the path is a file. Raises ConfigError where this user may not look.

    `Path.is_file` raises PermissionError there, or says False, by the version of Python. `instead`
    is what to do where the right cannot be given.
    """
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise no_right_to_read(path, error, instead=instead) from error


def no_right_to_read(path: Path, error: OSError, *, instead: str = OTHER_HOME) -> ConfigError:
    """Return the error of a file or folder that cannot be read."""
    return ConfigError(
        f"{path} cannot be read ({error.strerror}). Give this user the right to read it and its"
        f" folder, or {instead}."
    )
