"""The settings file, read as YAML, with mistakes told by line and column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..errors import ConfigError
from ..runtime.file_presence import has_file

if TYPE_CHECKING:
    from pathlib import Path

    from yaml import MarkedYAMLError

OTHER_FILE: Final = "set COLLECTION_SEARCH_CONFIG to another file"
_ONE_A_LINE: Final = "must hold one setting a line, as in 'tenant: acme'"
_WORDS: Final = (
    ("character '\\t'", "a tab stands where only blanks may; indent with blanks"),
    ("cannot start any token", "put a text that begins with this character into quotes"),
    ("mapping values are not allowed", "check the indentation; a text with a colon needs quotes"),
    ("end of stream", "a quotation mark is not closed"),
    ("constructor for the tag", "put a text that begins with ! into quotes"),
    ("undefined alias", "put a text that begins with * into quotes"),
    ("alphabetic or numeric character", "put a text that begins with * or & into quotes"),
    ("but found another document", "a second document begins; remove the line ---"),
    ("unhashable key", "a list or map stands where a name should"),
    ("expected <block end>", "check the indentation and the quotation marks"),
    ("could not find expected ':'", "a colon is missing after the name"),
    ("expected ',' or", "a bracket is not closed, or a comma is missing"),
    ("while parsing a flow", "a bracket is not closed, or a comma is missing"),
)
"""What to do, by a part of PyYAML's message."""


def read_settings_file(path: Path) -> dict[str, Any]:
    """Return the map in the file, an empty one where there is no file.

    Raises ConfigError, without a value of the file.
    """
    if not has_file(path, instead=OTHER_FILE):
        return {}
    import yaml  # most have no file, and the command starts faster without

    from ..text.yaml_loader import read_yaml

    try:
        with path.open(encoding="utf-8") as file:
            read = read_yaml(file)
    except yaml.MarkedYAMLError as error:
        raise _unreadable(path, f"{_place(error)}: {_describe(error)}.") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise _unreadable(path, "It has bytes that are no text; save it as UTF-8.") from None
    except (ValueError, OverflowError):
        raise _unreadable(path, "A date or number in it does not exist; quote it.") from None
    except OSError as error:
        raise ConfigError(f"The settings file {path} cannot be read ({error.strerror}).") from error
    if read is None:
        return {}
    if not isinstance(read, dict):
        raise ConfigError(f"The settings file {path} {_ONE_A_LINE}.")
    return read


def _unreadable(path: Path, why: str) -> ConfigError:
    return ConfigError(f"The settings file {path} cannot be read as YAML. {why}")


def _place(error: MarkedYAMLError) -> str:
    is_open = "end of stream" in (error.problem or "")  # the text began somewhere before
    mark = (error.context_mark if is_open else None) or error.problem_mark or error.context_mark
    return f"Line {mark.line + 1}, column {mark.column + 1}" if mark else "Somewhere in it"


def _describe(error: MarkedYAMLError) -> str:
    said = f"{error.problem} {error.context or ''}"
    return next((words for part, words in _WORDS if part in said), str(error.problem))
