"""Vectors as whole numbers of one byte, compared with a question's vector of two.

A sum of their products is computed modulo 2**16, in which it always fits: so numpy compares many
of them in one instruction, and reads a quarter of the bytes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from ....contracts.collection import Vectors

    Codes: TypeAlias = NDArray[np.int8]
    Lengths: TypeAlias = NDArray[np.float32]

MAX_SIZE: Final = 1 << 14
"""Most dimensions: of more, the rounding alone could leave no room in two bytes."""
_LENGTH: Final = 127.0
"""Length of a coded vector: none of its numbers is larger."""
_LARGEST: Final = 32767.0
_SHORT: Final = 1e-20
"""A square below which float32 loses digits, or all of them."""
_NOTHING: Final = 1e-37
"""What a number is worth that is taken for zero: float32 may not hold its inverse."""
_ROUNDING: Final = 1 / math.sqrt(12)
"""Standard deviation of a rounding by at most a half."""
_DEVIATIONS: Final = 4.0
"""Standard deviations of the error that is told: one of 16,000 is larger."""


def encode(vectors: Vectors) -> tuple[Codes, Lengths]:
    """Return the vectors in columns, one row per dimension, and what one of them is worth.

    >>> import numpy as np
    >>> codes, lengths = encode(np.array([[3.0, -4.0], [0.0, 0.0]], dtype=np.float32))
    >>> codes.tolist(), (lengths * 127).round(3).tolist()
    ([[76, 0], [-102, 0]], [5.0, 0.0])
    """
    squares = np.einsum("ij,ij->i", vectors, vectors)
    if not ((squares > _SHORT) & (squares < np.inf)).all():
        squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    lengths = np.sqrt(squares) / _LENGTH
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > _NOTHING)
    scaled = vectors * scale.astype(np.float32)[:, np.newaxis]
    codes = np.ascontiguousarray(np.rint(scaled, out=scaled).astype(np.int8).T)
    return codes, lengths.astype(np.float32)


class CodedQuestion(NamedTuple):
    """A question's vector, to be compared with codes."""

    numbers: NDArray[np.int16]
    unit: float
    """What one of its numbers is worth."""
    error: float
    """The most that a product is wrong by, in units of the coded vector's."""

    @classmethod
    def of(cls, vector: NDArray[np.float32]) -> CodedQuestion:
        """Return the vector as numbers so small that no product with a coded one leaves 16 bits."""
        rounding = 0.5 * math.sqrt(vector.size)
        most = _LARGEST / (_LENGTH + rounding) - rounding
        length = math.sqrt(math.fsum(float(one) ** 2 for one in vector))
        unit = length / most
        numbers = np.rint(vector / (unit or 1.0)).astype(np.int16)
        error = length * _LENGTH * _DEVIATIONS * _ROUNDING * math.hypot(1 / _LENGTH, 1 / most)
        return cls(numbers, unit, error)

    def compare(self, codes: Codes, out: NDArray[np.int16]) -> None:
        """Write the product with every column; `unit` and the column's length make it a cosine."""
        np.einsum("ij,i->j", codes, self.numbers, out=out)
