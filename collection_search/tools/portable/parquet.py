"""Exported documents as a Parquet file, which needs the extra `parquet`."""

from __future__ import annotations

import itertools
import json
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ...errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

BATCH: Final = 256
"""Documents that are in memory at once."""
_TEXTS: Final = ("url", "url_key", "title", "content_hash", "provenance", "embedder")


def write(path: Path, rows: Iterable[dict[str, Any]]) -> int:
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


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows. Raises MissingExtraError, InputError for what is no such file."""
    arrow, parquet = _pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            if not file.schema_arrow.equals(_schema(arrow)):
                raise InputError(f"{path} has other columns than an exported collection.")
            for batch in file.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    yield {**row, "provenance": json.loads(row["provenance"])}
    except (arrow.ArrowException, ValueError, TypeError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read as Parquet: {error}") from error


def _schema(arrow: Any) -> Any:
    chunk = {
        "ordinal": arrow.int64(),
        "start": arrow.int64(),
        "end": arrow.int64(),
        "text": arrow.string(),
        "vector": arrow.list_(arrow.float32()),
    }
    return arrow.schema(
        [
            *((name, arrow.string()) for name in _TEXTS),
            ("chunks", arrow.list_(arrow.struct(list(chunk.items())))),
            ("digest", arrow.string()),
        ]
    )


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError(
            "Parquet needs pyarrow: pip install 'collection-search[parquet]',"
            " or use --format jsonl."
        ) from error
