"""Exports a collection to a file in canonical form, and imports it with every row validated."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from ...contracts.export_row import RowValidator
from ...errors import InputError
from ...runtime.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ...contracts.collection import TenantScope
    from ...ports import CollectionStore

Format = Literal["jsonl", "parquet"]
_PARQUET: Final = b"PAR1"
"""How a Parquet file begins."""

_NO_DOCUMENTS: Final = b"\n"


class Imported(NamedTuple):
    """The result of an import."""

    documents: int
    """Those that were stored."""
    known: int
    """Documents that were already stored exactly so."""


def export_lines(collections: CollectionStore, scope: TenantScope) -> Iterator[str]:
    """Yield the collection in canonical form, one JSON object for each document, sorted.

    A collection without documents is one blank line: an empty file is what a failed copy leaves.
    """
    line = None
    for row in collections.export(scope):
        line = json.dumps(row, sort_keys=True)
        yield line
    if line is None:
        yield ""


def export_file(
    collections: CollectionStore, scope: TenantScope, path: Path, *, form: Format = "jsonl"
) -> int:
    """Write the collection to a file and return how many documents it holds.

    The file appears when it is complete, with the mode of the one that it replaces. A device or a
    pipe is written into. Raises InputError when it cannot be written, MissingExtraError for Parquet
    without pyarrow, StoreError.
    """
    try:
        with write_whole(path) as draft:
            if form == "parquet":
                from .parquet import write_parquet

                return write_parquet(draft, collections.export(scope))
            return _write_lines(draft, export_lines(collections, scope))
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error


def _write_lines(path: Path, lines: Iterable[str]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(f"{line}\n")
            count += bool(line)
    return count


def import_file(
    collections: CollectionStore,
    scope: TenantScope,
    path: Path,
    *,
    on_progress: Callable[[int, int], None] | None = None,
) -> Imported:
    """Store an exported collection's documents, in place of those with the same `url_key`.

    The whole file is validated first: digests, offsets, vectors. Each document is one transaction,
    so that an interrupted import can be repeated. Other documents stay. `on_progress` gets
    documents done and in all.

    Raises InputError for an empty file and for a wrong row, whose line it names; ConfigError when
    the collection has another embedder; MissingExtraError for Parquet without pyarrow, StoreError.
    """
    try:
        total, embedder = _validated(path)
    except InputError as error:
        raise InputError(f"{error} Nothing was imported.") from error
    if total:
        _bind(collections, scope, embedder)
    known = {row["url_key"]: row["digest"] for row in collections.export(scope)}
    stored = 0
    for done, (place, row) in enumerate(_rows(path), start=1):
        if known.get(row["url_key"]) != row["digest"]:
            with _at(path, place):  # the file may have changed meanwhile
                document, chunks = RowValidator().validate(row)
            collections.replace_document(scope, document, chunks)
            stored += 1
        if on_progress is not None:
            on_progress(done, total)
    return Imported(stored, total - stored)


def _validated(path: Path) -> tuple[int, str | None]:
    """Return the number of the file's documents and their embedder. Raises InputError."""
    validator, total = RowValidator(), 0
    for total, (place, row) in enumerate(_rows(path), start=1):  # noqa: B007 - the last number counts
        with _at(path, place):
            validator.validate(row)
    return total, validator.embedder


def _bind(collections: CollectionStore, scope: TenantScope, embedder: str | None) -> None:
    """Bind an empty collection to the file's embedder. Raises for a collection with another."""
    if embedder is not None:
        collections.bind_embedder(scope, embedder)
    bound = collections.embedder(scope)
    if bound != embedder:
        has, comes = bound or "no embedder", embedder or "without vectors"
        raise InputError(
            f"Collection {scope.collection!r} has {has}, the file comes {comes}:"
            " import it into another collection by --collection."
        )


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place of each row, and the row."""
    try:
        with path.open("rb") as file:
            if not file.seekable():
                raise InputError(f"{path} is a pipe: write the export to a file, and import that.")
            if not (head := file.read(len(_PARQUET))):
                raise InputError(f"{path} is empty, and no export is: export the collection again.")
            if head == _PARQUET:
                from .parquet import read_parquet

                for number, row in enumerate(read_parquet(path), start=1):
                    yield f"row {number}", row
                return
            file.seek(0)
            for number, line in enumerate(file, start=1):
                if line == head == _NO_DOCUMENTS:
                    return
                place = f"line {number}"
                with _at(path, place):
                    yield place, _parsed(line)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is no JSON in UTF-8 ({error})") from error
    if not isinstance(row, dict):
        raise InputError("this is no JSON object")
    return row


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


@contextmanager
def _at(path: Path, place: str) -> Iterator[None]:
    """Add file and line to an InputError."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}, {place}: {error}.") from error
