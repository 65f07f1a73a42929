"""The caller's own HTTP client, which may replace the built-in one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator
from pydantic.json_schema import SkipJsonSchema

from ..errors import InputError

if TYPE_CHECKING:
    from httpx import AsyncClient


def validate_http_client(value: Any) -> AsyncClient | None:
    """Return the client or None. Raises InputError for anything else, without importing httpx.

    >>> validate_http_client("https://proxy.example")
    Traceback (most recent call last):
    collection_search.errors.InputError: http_client must be an httpx.AsyncClient, got str.
    """
    httpx = sys.modules.get("httpx")
    if value is None or (httpx is not None and isinstance(value, httpx.AsyncClient)):
        return value
    raise InputError(f"http_client must be an httpx.AsyncClient, got {type(value).__name__}.")


HttpClient = Annotated[SkipJsonSchema[Any], BeforeValidator(validate_http_client)]
"""A field of a pydantic model that holds such a client, or None."""
