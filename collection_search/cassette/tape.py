"""The file of a cassette: JSON lines that many tasks, threads and processes may add to at once."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FORMAT: Final = "collection-search cassette"
VERSION: Final = 1
_BLOCK: Final = 65_536


class Line(NamedTuple):
    """One line of the file, with its number from 1."""

    number: int
    value: dict[str, Any]


def key_of(kind: str, by: str, request: Mapping[str, Any]) -> str:
    """Return the key that equal requests to the same part share.

    >>> key_of("search", "tavily", {"query": "a"}) == key_of("search", "brave", {"query": "a"})
    False
    """
    text = json.dumps([kind, by, request], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def check_tape(path: Path) -> None:
    """Raise InputError when the file exists and is no cassette."""
    try:
        with path.open("rb") as file:
            first = file.readline(_BLOCK)
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise InputError(f"There is no folder {path.parent} for the cassette.") from None
        return
    except OSError as error:
        raise InputError(f"The cassette {path} cannot be read: {error.strerror}.") from error
    if first.endswith(b"\n"):  # else the first run was killed while it wrote its first line
        _check_header(_parsed(path, 1, first), path)
    elif first and not _header().startswith(first[:20]):
        raise InputError(f"{path} is no cassette. Record into another file.")


def append_lines(path: Path, *values: Mapping[str, Any]) -> None:
    """Add one line per value, all or none, and remove the unfinished line of a killed run.

    Raises InputError where the file cannot be written.
    """
    lines = b"".join(_line(value) for value in values)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
    try:
        file = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
        try:
            with _alone(file):
                _write(file, lines)
        finally:
            os.close(file)
    except OSError as error:
        raise InputError(f"The cassette {path} cannot be written: {error.strerror}.") from error


def read_tape(path: Path) -> list[Line]:
    """Return the lines, header first. Raises InputError naming the one that cannot be read.

    A killed run may leave a last line without an end: it is read only if it is complete.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"The cassette {path} cannot be read: {error.strerror}.") from error
    *whole, rest = enumerate(content.split(b"\n"), start=1)
    lines = [Line(number, _parsed(path, number, text)) for number, text in whole if text.strip()]
    with suppress(InputError):
        lines.append(Line(rest[0], _parsed(path, *rest)))
    if not lines:
        raise InputError(f"{path} holds no recording.")
    _check_header(lines[0].value, path)
    return lines


def damaged_error(path: Path, number: int, problem: object) -> InputError:
    """Return the error for a line that cannot be used."""
    return InputError(
        f"{path}, line {number}: {str(problem).rstrip('.')}. The cassette is damaged or was"
        " changed by hand: record it anew."
    )


def _write(file: int, lines: bytes) -> None:
    end = _cut_unfinished_line(file)
    content = lines if end else _header() + lines
    try:
        while content:
            content = content[os.write(file, content) :]
    except OSError:
        os.ftruncate(file, end)
        raise


def _cut_unfinished_line(file: int) -> int:
    """Remove an unfinished last line and return the size of the file."""
    size = position = os.fstat(file).st_size
    end = 0
    while position and not end:
        start = max(0, position - _BLOCK)
        os.lseek(file, start, os.SEEK_SET)
        end = start + os.read(file, position - start).rfind(b"\n") + 1
        end = end if end > start else 0
        position = start
    if end < size:
        os.ftruncate(file, end)
    if hasattr(os, "fchmod"):
        os.fchmod(file, 0o600)
    return end


@contextmanager
def _alone(file: int) -> Iterator[None]:
    """Lock the file against other writers, in other processes too where the system supports it."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    yield  # closing the file releases the lock


def _header() -> bytes:
    try:
        product = metadata.version("collection-search")
    except metadata.PackageNotFoundError:  # it is embedded in another one
        product = None
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return _line({"format": FORMAT, "version": VERSION, "product": product, "recorded": now})


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, allow_nan=False).encode("ascii") + b"\n"


def _parsed(path: Path, number: int, text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_constant=int)  # which refuses NaN and infinities
    except (ValueError, RecursionError) as error:
        raise damaged_error(path, number, "it is no JSON") from error
    if not isinstance(value, dict):
        raise damaged_error(path, number, "it is no JSON object")
    return value


def _check_header(value: Mapping[str, Any], path: Path) -> None:
    if value.get("format") != FORMAT:
        raise InputError(f"{path} is no cassette: its first line is not the header of one.")
    if value.get("version") != VERSION:
        raise InputError(
            f"{path} is of version {value.get('version')!r}, this program reads version {VERSION}:"
            " update it, or record anew."
        )
