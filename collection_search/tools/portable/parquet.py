"""Exported documents as a Parquet file, which needs the extra `parquet`."""

from __future__ import annotations

import itertools
import json
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ...contracts.export_row import CHUNK_FIELDS, PLACE_FIELDS, ROW_FIELDS
from ...errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

BATCH: Final = 256
"""Documents that are in memory at once."""


def write_parquet(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write the rows and return their number. Raises MissingExtraError."""
    arrow, parquet = _pyarrow()
    schema, count = _schema(arrow), 0
    rows = iter(rows)
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while batch := list(itertools.islice(rows, BATCH)):
            count += len(batch)
            packed = [
                {**row, "provenance": json.dumps(row["provenance"], sort_keys=True)}
                for row in batch
            ]
            writer.write_table(arrow.Table.from_pylist(packed, schema=schema))
    return count


def read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows. Raises MissingExtraError, InputError for another file."""
    arrow, parquet = _pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            schemas = _schema(arrow), _schema(arrow, with_places=False)
            if not any(map(file.schema_arrow.equals, schemas)):
                raise InputError(f"{path} has other columns than an exported collection.")
            for batch in file.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    chunks = [_without_nulls(chunk) for chunk in row["chunks"]]
                    provenance = json.loads(row["provenance"])
                    yield {**row, "provenance": provenance, "chunks": chunks}
    except (arrow.ArrowException, ValueError, TypeError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read as Parquet: {error}") from error


def _without_nulls(chunk: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in chunk.items()
        if value is not None or name not in PLACE_FIELDS
    }


def _schema(arrow: Any, *, with_places: bool = True) -> Any:
    """Return the columns of an exported row; its provenance is JSON in a string.

    Earlier versions wrote chunks without their places.
    """
    kinds = {str: arrow.string(), int: arrow.int64(), list: arrow.list_(arrow.float32())}
    chunk = [(name, kinds[types[0]]) for name, types in CHUNK_FIELDS.items()]
    if with_places:
        chunk += [("headings", arrow.list_(arrow.string())), ("page", arrow.int64())]
    chunks = arrow.list_(arrow.struct(chunk))
    return arrow.schema(
        [(name, chunks if name == "chunks" else arrow.string()) for name in ROW_FIELDS]
    )


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError(
            "Parquet needs pyarrow: pip install 'collection-search[parquet]',"
            " or use --format jsonl."
        ) from error
