"""Stored vectors, read in bulk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ....contracts.collection import Vectors
    from .opening import SQLiteConnection


def load_vectors(connection: SQLiteConnection, ids: NDArray[np.int64], size: int) -> Vectors:
    """Return the vectors of these chunks, given by rising id."""
    rows = connection.cursor()
    rows.row_factory = None  # plain tuples
    rows.execute(
        "SELECT vector FROM chunks WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
        (json.dumps(ids.tolist()),),
    )
    joined = b"".join([blob for (blob,) in rows])
    return np.frombuffer(joined, dtype="<f4").reshape(len(ids), size)
