"""What crosses a port, as JSON-plain values and back: answers and errors of search, plan and embed.

Encoding accepts whatever an adapter returns and includes what callers of a port use. Decoding
validates everything: each `read_...` raises InputError for a wrong form. Defaults are left out,
unknown names are ignored.
"""

from __future__ import annotations

import base64
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import is_dataclass, replace
from typing import Any, Final, get_args

from pydantic import BaseModel

from .. import errors
from ..contracts.collection import Embedded
from ..contracts.search import ProviderSearchResult, SearchAdapterResponse
from ..errors import CollectionSearchError, ErrorCode, InputError, SearchProviderError
from ..ports import QueryPlan
from ..text.validation import whole_number
from .forms import given_fields, read_fields, usual_values

_MAX_DEPTH: Final = 40
"""Deeper values are dropped, as in a row that contains itself."""
_MAX_BITS: Final = 1_000
"""Of a whole number that any JSON reader takes."""
_FLOAT32: Final = "<f4"
_FLOAT32_BYTES: Final = 4

_BUILTIN: Final = (
    AttributeError,
    ConnectionError,
    ImportError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    TimeoutError,
    TypeError,
    ValueError,
)
_KINDS: Final[dict[str, type[Exception]]] = {
    kind.__name__: kind
    for kind in (*vars(errors).values(), *_BUILTIN)
    if isinstance(kind, type) and issubclass(kind, (CollectionSearchError, *_BUILTIN))
}
"""Errors that can be read back, by name; any other one is kept as the nearest of its ancestors."""


def to_plain(value: Any, depth: int = 0) -> Any:
    """Return the value as JSON represents it; None for what JSON cannot represent.

    >>> to_plain({"n": (1, float("nan")), 2: b"bytes"})
    {'n': [1, None], '2': None}
    """
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, str | int | float):
        return _scalar(value)
    if isinstance(value, Mapping):
        return {str(name): to_plain(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, Sequence | AbstractSet) and not isinstance(value, bytes | bytearray):
        return [to_plain(inner, depth + 1) for inner in value]
    if isinstance(value, BaseModel):
        return to_plain(value.model_dump(mode="json", exclude_defaults=True), depth + 1)
    return _fields_of(value, depth + 1) if is_dataclass(value) else None


def _scalar(value: str | float) -> str | float | None:
    """Return the value without its own type, None for a number that JSON readers refuse."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _MAX_BITS else None
    return float(value) if math.isfinite(value) else None


def search_answer(response: Any) -> dict[str, Any]:
    """Return a search adapter's response. Raises InputError for anything else."""
    if (
        isinstance(response, SearchAdapterResponse)
        and whole_number(response.status_code) is not None
    ):
        rows: Any = response.results
        if isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
            plain = _fields_of(replace(response, results=()))
            return plain | {"results": [_row(row) for row in rows]}
    raise InputError(
        f"{type(response).__name__} came instead of a SearchAdapterResponse with a list of"
        " results and a numeric status_code."
    )


def read_search_answer(given: Any) -> SearchAdapterResponse:
    """Return the response that `search_answer` encoded."""
    response = read_fields(SearchAdapterResponse, given, "the answer")
    rows: Any = response.results
    response.results = [given_fields(ProviderSearchResult, row) for row in rows]
    return response


def plan_answer(plan: Any) -> dict[str, Any]:
    """Return a query model's plan. Raises InputError for anything else."""
    if not isinstance(plan, QueryPlan) or isinstance(plan.queries, str | bytes):
        raise InputError(f"{type(plan).__name__} came instead of a QueryPlan.")
    given: Sequence[Any] = plan.queries
    queries = [query for query in given if isinstance(query, str)]
    return _fields_of(plan) | {"queries": queries, "model": str(plan.model)}


def read_plan_answer(given: Any) -> QueryPlan:
    """Return the plan that `plan_answer` encoded."""
    return read_fields(QueryPlan, given, "the plan")


def embedded_answer(embedded: Any) -> dict[str, Any]:
    """Return an embedder's vectors and tokens. Raises InputError for anything else."""
    import numpy as np

    try:
        vectors = np.ascontiguousarray(embedded.vectors, dtype=_FLOAT32)
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{type(embedded).__name__} came instead of vectors.") from error
    content = base64.b64encode(vectors.tobytes()).decode()
    plain = {"shape": list(vectors.shape), "float32": content}
    return {"vectors": plain, "input_tokens": to_plain(embedded.input_tokens)}


def read_embedded_answer(given: Any) -> Embedded:
    """Return the vectors that `embedded_answer` encoded, `(n, d)` float32, writable."""
    import numpy as np

    embedded = read_fields(Embedded, given, "the answer")
    plain: Any = embedded.vectors
    shape = plain.shape
    try:
        content = base64.b64decode(plain.float32, validate=True)
    except ValueError as error:
        raise InputError("float32 of the vectors is no base64.") from error
    if math.prod(shape) * _FLOAT32_BYTES != len(content):
        raise InputError(f"{len(content)} bytes are no vectors of the shape {shape}.")
    vectors = np.frombuffer(content, dtype=_FLOAT32).astype(np.float32).reshape(shape)
    return Embedded(vectors, embedded.input_tokens)


def failure(error: BaseException) -> dict[str, Any]:
    """Return an error: its class or the nearest that can be read back, its message, its details.

    >>> failure(KeyError("url"))
    {'kind': 'LookupError', 'message': "'url'"}
    """
    kind = next((k.__name__ for k in type(error).__mro__ if k in _KINDS.values()), "RuntimeError")
    plain = {"kind": kind, "message": str(error) or type(error).__name__}
    if not isinstance(error, SearchProviderError):
        return plain
    return plain | {
        "code": error.code if error.code in get_args(ErrorCode) else "unknown",
        "retryable": bool(error.retryable),
        "retry_in_ms": whole_number(error.retry_in_ms),
        "http_status": whole_number(error.http_status),
    }


def read_failure(given: Any) -> Exception:
    """Return the error that `failure` encoded."""
    if not isinstance(given, dict):
        raise InputError("the error is no JSON object.")
    name, message = given.get("kind"), given.get("message")
    if not isinstance(name, str) or name not in _KINDS:
        raise InputError(f"there is no error called {name!r}.")
    if not isinstance(message, str):
        raise InputError("message of the error is no text.")
    kind = _KINDS[name]
    if not issubclass(kind, SearchProviderError):
        return kind(message)
    code, retryable = given.get("code"), given.get("retryable")
    retry_in_ms, http_status = given.get("retry_in_ms"), given.get("http_status")
    if code not in get_args(ErrorCode) or not isinstance(retryable, bool):
        raise InputError("the error has no known code, or does not say whether it is retryable.")
    if any(n is not None and whole_number(n) is None for n in (retry_in_ms, http_status)):
        raise InputError("retry_in_ms or http_status of the error is no whole number.")
    error = kind(
        message, code=code, retryable=retryable, retry_in_ms=retry_in_ms, http_status=http_status
    )
    error.http_status = http_status  # also where the class has one of its own
    return error


def _fields_of(value: Any, depth: int = 0) -> dict[str, Any]:
    """Return the fields of a dataclass by name, without those that have their default."""
    kind: Any = type(value)
    return _unusual(functools.partial(getattr, value), kind, depth)


def _row(row: Any) -> dict[str, Any]:
    """Return a result; adapters may give mappings and their own objects too."""
    read = row.get if isinstance(row, Mapping) else lambda name: getattr(row, name, None)
    return _unusual(read, ProviderSearchResult)


def _unusual(read: Callable[[str], Any], kind: Any, depth: int = 0) -> dict[str, Any]:
    usual = usual_values(kind)
    plain = {name: to_plain(read(name), depth) for name in usual}
    return {name: value for name, value in plain.items() if value != usual[name]}
