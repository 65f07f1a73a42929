"""A call of an embedder, whose answer is what its port says: one unit vector per text."""

from __future__ import annotations

import re
import sys
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

from ...contracts.collection import Embedded
from ...errors import CollectionSearchError, ModelError
from ...runtime.cancellation import failure_of
from ...runtime.concurrency import compute
from ...text.redaction import error_message
from ...text.validation import number_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...contracts.collection import Vectors
    from ...ports import Embedder

_FEW_NUMBERS: Final = 1 << 16
"""Numbers that are looked at in less time than a thread takes to start."""
_ROUNDED: Final = 1e-3
"""Models round differently: vectors this near to length 1 stay as they are."""
_HAS_WORD: Final = re.compile(r"[^\W_]")


async def ask_embedder(
    embedder: Embedder, texts: Sequence[str], *, in_part: bool = False
) -> Embedded:
    """Return the embedder's answer with `(len(texts), d)` float32 of length 1.

    A row of zeros is no direction, so it is accepted for a text without words alone. Raises
    ModelError for every other answer, and for an error that is not of this package, as its cause.
    With `in_part` rows that cannot be used hold NaN, and the others count.
    """
    name = embedder.fingerprint
    try:
        answer: object = await embedder.embed(texts)
    except BaseException as error:
        failure = failure_of(error)
        if isinstance(failure, CollectionSearchError):
            raise
        raise ModelError(
            f"The embedder {name} failed with {type(error).__name__}: {error_message(failure)}. Try"
            " again; if it stays so, mend it or choose another one.",
            may_be_billed=getattr(error, "may_be_billed", True),
        ) from error
    if not isinstance(answer, Embedded):
        raise _unusable(name, f"{type(answer).__name__} in place of Embedded", None)
    if not texts:
        return answer
    tokens = _whole_tokens(answer.input_tokens)
    if tokens is None and answer.input_tokens is not None:
        raise _unusable(name, f"{answer.input_tokens!r} in place of a number of tokens", None)
    size = getattr(answer.vectors, "size", 0)
    is_small = isinstance(size, int) and size <= _FEW_NUMBERS
    read = partial(_unit_rows, answer.vectors, texts, in_part=in_part)
    try:
        vectors = read() if is_small else await compute(read)
    except ValueError as error:
        raise _unusable(name, str(error), tokens) from error
    return Embedded(vectors, tokens)


def _whole_tokens(given: Any) -> int | None:
    """Return the tokens, which may be a number of NumPy's; None for what is no such number."""
    if not isinstance(given, Real) or isinstance(given, bool):
        return None
    tokens = number_within(float(given), 0, sys.float_info.max)
    return None if tokens is None else round(tokens)


def _unit_rows(given: object, texts: Sequence[str], *, in_part: bool) -> Vectors:
    """Return the vectors in unit length. Raises ValueError that says what they are instead."""
    import numpy as np

    if not isinstance(given, np.ndarray) or given.dtype.kind not in "fiu":
        held = getattr(given, "dtype", None)
        what = type(given).__name__ if held is None else f"an array of {held}"
        raise ValueError(f"{what} in place of an array of numbers")
    if given.ndim != 2 or given.shape[1] == 0:  # noqa: PLR2004 - rows and columns
        raise ValueError(f"an array of the shape {given.shape} in place of vectors")
    if len(given) != len(texts):
        raise ValueError(f"{len(given)} vectors for {len(texts)} texts")
    with np.errstate(over="ignore", invalid="ignore"):
        vectors: Vectors = given.astype(np.float32, copy=False)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not in_part and not np.isfinite(lengths).all():
        raise ValueError("vectors that hold NaN or infinite values")
    lengths[~np.isfinite(lengths)] = np.nan
    for place in np.flatnonzero(lengths == 0).tolist():
        has_word = _HAS_WORD.search(texts[place])
        if has_word and not in_part:
            raise ValueError("a vector of zeros for a text with words")
        lengths[place] = np.nan if has_word else 1.0
    if (np.abs(lengths - 1.0) <= _ROUNDED).all():
        return vectors
    with np.errstate(invalid="ignore"):
        scaled: Vectors = vectors / lengths
    return scaled


def _unusable(name: str, what: str, input_tokens: int | None) -> ModelError:
    return ModelError(
        f"The embedder {name} gave {what}. It has to return Embedded with `vectors`: a NumPy array"
        " of float32, one row of length 1 for each text; and `input_tokens`: a number, or None."
        " Mend it or choose another one.",
        input_tokens=input_tokens,
    )
