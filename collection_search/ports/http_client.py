"""The caller's own HTTP client, which may stand in the place of the product's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator
from pydantic.json_schema import SkipJsonSchema

from ..errors import InputError

if TYPE_CHECKING:
    from httpx import AsyncClient


def validate_http_client(value: Any) -> AsyncClient | None:
    """Return the client, or None for none. Raises InputError for anything else.

    httpx is not imported for that: whoever has a client has imported it.

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
