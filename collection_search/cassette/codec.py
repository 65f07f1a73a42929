"""What crosses a port, as JSON-plain values and back: answers and errors of search, plan and embed.

The way there takes whatever an adapter gives and keeps what the callers of a port would look at.
The way back trusts nothing: every `read_...` raises InputError for what has not the right form.
Values that nobody needs are left out, names that are not known are ignored.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

from pydantic import BaseModel

from .. import errors
from ..contracts.collection import Embedded
from ..contracts.search import ProviderSearchResult, SearchAdapterResponse
from ..errors import CollectionSearchError, ErrorCode, InputError, SearchProviderError
from ..ports import QueryPlan

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    T = TypeVar("T", bound=DataclassInstance)

_MAX_DEPTH: Final = 40
"""Values that lie deeper are dropped, as in a row that holds itself."""
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


def plain(value: Any, depth: int = 0) -> Any:
    """Return the value as JSON has it; None for what JSON has not, which no port would use either.

    >>> plain({"n": (1, float("nan")), 2: b"bytes"})
    {'n': [1, None], '2': None}
    """
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, str | int | float):
        return _scalar(value)
    if isinstance(value, Mapping):
        return {str(name): plain(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, Sequence | AbstractSet) and not isinstance(value, bytes | bytearray):
        return [plain(inner, depth + 1) for inner in value]
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="json", exclude_defaults=True), depth + 1)
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
    if isinstance(response, SearchAdapterResponse) and _is_whole(response.status_code):
        rows: Any = response.results
        if isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
            told = _fields_of(replace(response, results=()))
            return told | {"results": [_row(row) for row in rows]}
    raise InputError(
        f"{type(response).__name__} came instead of a SearchAdapterResponse with a list of"
        " results and a numeric status_code."
    )


def read_search_answer(given: Any) -> SearchAdapterResponse:
    """Return the response that `search_answer` has told."""
    response = _made(SearchAdapterResponse, given, "the answer")
    if not _is_whole(response.status_code):
        raise InputError("status_code of the answer is no whole number.")
    response.results = [_made(ProviderSearchResult, row, "a result") for row in response.results]
    return response


def plan_answer(plan: Any) -> dict[str, Any]:
    """Return a query model's plan. Raises InputError for anything else."""
    if not isinstance(plan, QueryPlan) or isinstance(plan.queries, str | bytes):
        raise InputError(f"{type(plan).__name__} came instead of a QueryPlan.")
    given: Sequence[Any] = plan.queries
    queries = [query for query in given if isinstance(query, str)]
    return _fields_of(plan) | {"queries": queries, "model": str(plan.model)}


def read_plan_answer(given: Any) -> QueryPlan:
    """Return the plan that `plan_answer` has told."""
    plan = _made(QueryPlan, given, "the plan")
    if not isinstance(plan.queries, list) or not all(isinstance(q, str) for q in plan.queries):
        raise InputError("queries of the plan are no list of texts.")
    if not isinstance(plan.model, str):
        raise InputError("model of the plan is no text.")
    _check_counts(plan, "input_tokens", "output_tokens")
    return plan


def embedded_answer(embedded: Any) -> dict[str, Any]:
    """Return an embedder's vectors and tokens. Raises InputError for anything else."""
    import numpy as np

    try:
        vectors = np.ascontiguousarray(embedded.vectors, dtype=_FLOAT32)
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{type(embedded).__name__} came instead of vectors.") from error
    content = base64.b64encode(vectors.tobytes()).decode()
    told = {"shape": list(vectors.shape), "float32": content}
    return {"vectors": told, "input_tokens": plain(embedded.input_tokens)}


def read_embedded_answer(given: Any) -> Embedded:
    """Return the vectors that `embedded_answer` has told, `(n, d)` float32, free to be changed."""
    import numpy as np

    embedded = _made(Embedded, given, "the answer")
    vectors: Any = embedded.vectors
    told = vectors if isinstance(vectors, dict) else {}
    shape, text = told.get("shape"), told.get("float32", "")
    if not isinstance(shape, list) or not all(_is_whole(size) and size >= 0 for size in shape):
        raise InputError("shape of the vectors is no list of whole numbers.")
    try:
        content = base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise InputError("float32 of the vectors is no base64.") from error
    if math.prod(shape) * _FLOAT32_BYTES != len(content):
        raise InputError(f"{len(content)} bytes are no vectors of the shape {shape}.")
    _check_counts(embedded, "input_tokens")
    vectors = np.frombuffer(content, dtype=_FLOAT32).astype(np.float32).reshape(shape)
    return Embedded(vectors, embedded.input_tokens)


def failure(error: BaseException) -> dict[str, Any]:
    """Return an error: its class or the nearest that can be read back, its message, its details.

    >>> failure(KeyError("url"))
    {'kind': 'LookupError', 'message': "'url'"}
    """
    kind = next((k.__name__ for k in type(error).__mro__ if k in _KINDS.values()), "RuntimeError")
    told = {"kind": kind, "message": str(error) or type(error).__name__}
    if not isinstance(error, SearchProviderError):
        return told
    return told | {
        "code": error.code if error.code in get_args(ErrorCode) else "unknown",
        "retryable": bool(error.retryable),
        "retry_in_ms": _count(error.retry_in_ms),
        "http_status": _count(error.http_status),
    }


def read_failure(given: Any) -> Exception:
    """Return the error that `failure` has told."""
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
    if not all(value is None or _is_whole(value) for value in (retry_in_ms, http_status)):
        raise InputError("retry_in_ms or http_status of the error is no whole number.")
    error = kind(
        message, code=code, retryable=retryable, retry_in_ms=retry_in_ms, http_status=http_status
    )
    error.http_status = http_status  # also where the class has one of its own
    return error


def _fields_of(value: Any, depth: int = 0) -> dict[str, Any]:
    """Return the fields of a dataclass by name, without those that say nothing new."""
    told = {field.name: plain(getattr(value, field.name), depth) for field in fields(value)}
    return {
        field.name: told[field.name]
        for field in fields(value)
        if told[field.name] != plain(_default(field)) or _is_required(field)
    }


def _row(row: Any) -> dict[str, Any]:
    """Return a result; adapters give mappings and objects of their own too."""
    names = [field.name for field in fields(ProviderSearchResult)]
    if isinstance(row, Mapping):
        said = {name: row.get(name) for name in names}
    else:
        said = {name: getattr(row, name, None) for name in names}
    return _fields_of(ProviderSearchResult(**{name: plain(value) for name, value in said.items()}))


def _made(kind: type[T], given: Any, what: str) -> T:
    """Return the dataclass with the known fields of `given`."""
    if not isinstance(given, dict):
        raise InputError(f"{what} is no JSON object.")
    known = {field.name: field for field in fields(kind)}
    if missing := [n for n, field in known.items() if _is_required(field) and n not in given]:
        raise InputError(f"{what} has no {missing[0]}.")
    for name, field in known.items():
        if name in given and not _fits(given[name], field):
            raise InputError(f"{name} of {what} has not the form that it should have.")
    return kind(**{name: given[name] for name in known if name in given})


def _fits(value: Any, field: Field[Any]) -> bool:
    """Return whether a value is a list or an object just where its field has one."""
    usual = [] if field.name == "results" else plain(_default(field))
    if isinstance(usual, list | dict):
        return isinstance(value, type(usual))
    return _is_required(field) or usual is None or not isinstance(value, list | dict)


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if field.default is MISSING else field.default


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _check_counts(value: Any, *names: str) -> None:
    for name in names:
        count = getattr(value, name)
        if count is not None and not _is_whole(count):
            raise InputError(f"{name} of the answer is no whole number.")


def _count(value: Any) -> int | None:
    return int(value) if _is_whole(value) else None


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
