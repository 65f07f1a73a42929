"""Vectors as bytes in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....errors import StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .connection import Connection


def to_blob(vector: NDArray[np.float32] | None) -> bytes | None:
    """Return the vector as little-endian float32. Raises StoreError when it is not finite."""
    return None if vector is None else require_finite(vector).astype("<f4").tobytes()


def require_finite(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vector as float32. Raises StoreError when it is not finite."""
    with np.errstate(over="ignore"):  # reported below
        one = np.asarray(vector, dtype=np.float32)
    if not np.isfinite(one).all():
        raise StoreError(
            "A vector holds what is no finite number (NaN or infinity): its embedder failed."
            " Embed the text again; if it stays so, use another model."
        )
    return one


def from_blob(blob: bytes | None) -> NDArray[np.float32] | None:
    """Return the vector, read-only."""
    if blob is None:
        return None
    return np.frombuffer(blob, dtype="<f4")


def other_size(connection: Connection, collection: int, asked: int, stored: int) -> str:
    """Return why a question's vector cannot be compared with those of a collection."""
    row = connection.execute("SELECT * FROM collections WHERE id = ?", (collection,)).fetchone()
    return (
        f"The vectors of collection {row['name']!r} have {stored} dimensions, that of the"
        f" question has {asked}: {row['embedder']} has changed. Embed the collection anew:"
        f" collection-search collections reembed {row['name']!r}."
    )
