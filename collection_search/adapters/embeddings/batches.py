"""The steps that all embedders share: clean texts before, unit vectors after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import ModelError
from ...text.clean import to_unicode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...contracts.collection import Vectors

MAX_CHARS: Final = 8_000
"""A longer text is cut: models ignore the rest, or refuse it."""


def clean_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts cut, never empty, and in valid Unicode, as all models accept them.

    >>> clean_texts(["a task", "", "x" * 9_000])[:2], len(clean_texts(["x" * 9_000])[0])
    (['a task', ' '], 8000)
    """
    return [to_unicode(text[:MAX_CHARS]) or " " for text in texts]


def unit_vectors(rows: Any, *, count: int, subject: str, dimension: int | None = None) -> Vectors:
    """Return `(count, d)` float32 of unit length. Raises `ModelError` where the rows are not that.

    `subject` is for example "The embedding model minilm".

    >>> unit_vectors([[3.0, 4.0]], count=1, subject="The model").tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    try:
        vectors: Vectors = np.array(rows, dtype=np.float32)  # a copy, scaled in place
    except (TypeError, ValueError, OverflowError) as error:  # of different lengths, or no numbers
        raise unusable_error(subject, "vectors of different lengths or without numbers") from error
    if vectors.ndim != 2 or vectors.shape[1] == 0:  # noqa: PLR2004 - rows and columns
        raise unusable_error(subject, f"an array of the shape {vectors.shape} in place of vectors")
    if len(vectors) != count:
        raise unusable_error(subject, f"{len(vectors)} vectors for {count} texts")
    if dimension is not None and vectors.shape[1] != dimension:
        raise unusable_error(
            subject, f"vectors of {vectors.shape[1]} dimensions where {dimension} are expected"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise unusable_error(subject, "vectors that hold NaN or infinite values")
    if not lengths.all():
        raise unusable_error(subject, "a vector of zeros")
    vectors /= lengths
    return vectors


def empty_vectors(dimension: int | None) -> Vectors:
    """Return the vectors of no texts."""
    return np.zeros((0, dimension or 0), dtype=np.float32)


def unusable_error(subject: str, what: str) -> ModelError:
    """Return the error of an unusable answer; `what` describes its content."""
    return ModelError(
        f"{subject} gave {what}. Check COLLECTION_SEARCH_EMBEDDINGS: "
        "it must name an embedding model. Take another one if this repeats."
    )
