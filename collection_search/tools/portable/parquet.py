"""Exported documents as a Parquet file, which needs the extra `parquet`."""

from __future__ import annotations

import itertools
import json
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ...contracts.export_row import ADDRESS_FIELDS, CHUNK_FIELDS, PLACE_FIELDS, ROW_FIELDS
from ...errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

_PLACES: Final = len(PLACE_FIELDS)
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
            if not any(map(file.schema_arrow.equals, _schemas(arrow))):
                raise InputError(f"{path} has other columns than an exported collection.")
            for batch in file.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    chunks = [_without_nulls(chunk, PLACE_FIELDS) for chunk in row["chunks"]]
                    provenance = json.loads(row["provenance"])
                    known = _without_nulls(row, ADDRESS_FIELDS)
                    yield {**known, "provenance": provenance, "chunks": chunks}
    except (arrow.ArrowException, ValueError, TypeError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read as Parquet: {error}") from error


def _without_nulls(values: dict[str, Any], optional: Collection[str]) -> dict[str, Any]:
    return {
        name: value for name, value in values.items() if value is not None or name not in optional
    }


def _schemas(arrow: Any) -> list[Any]:
    """Return the columns of this version and of earlier ones, which had fewer."""
    earlier = [_schema(arrow, places, with_addresses=False) for places in range(_PLACES + 1)]
    return [_schema(arrow), *earlier]


def _schema(arrow: Any, places: int = _PLACES, *, with_addresses: bool = True) -> Any:
    """Return the columns of an exported row; its provenance is JSON in a string.

    Earlier versions wrote chunks with fewer `places`, or with none.
    """
    kinds = {str: arrow.string(), int: arrow.int64(), list: arrow.list_(arrow.float32())}
    chunk = [(name, kinds[types[0]]) for name, types in CHUNK_FIELDS.items()]
    kinds[list] = arrow.list_(arrow.string())
    chunk += [(name, kinds[types[0]]) for name, types in [*PLACE_FIELDS.items()][:places]]
    chunks = arrow.list_(arrow.struct(chunk))
    columns = [(name, chunks if name == "chunks" else arrow.string()) for name in ROW_FIELDS]
    if with_addresses:
        columns += [(name, arrow.list_(arrow.string())) for name in ADDRESS_FIELDS]
    return arrow.schema(columns)


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError(
            "Parquet needs pyarrow: pip install 'collection-search[parquet]',"
            " or use --format jsonl."
        ) from error
