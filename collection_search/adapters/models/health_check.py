"""A check by its list of models whether an OpenAI-compatible endpoint accepts the key."""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from ...contracts.health import Health
from ..http import parse_json
from .endpoint import EndpointError

if TYPE_CHECKING:
    from .endpoint import Endpoint

_REFUSED: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_NO_LIST: Final = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}


async def check_endpoint_health(endpoint: Endpoint, model: str, *, timeout_s: float) -> Health:
    """Return what the free list of models shows. Raises HttpError, EndpointError.

    Some endpoints show their list without a key: only where they refuse that is the key valid.
    """
    try:
        names = _names(endpoint, await endpoint.get("models", timeout_s=timeout_s))
    except EndpointError as error:
        if error.status_code in _NO_LIST:
            return Health("it answers, but lists no models: a paid call would tell of the key")
        raise
    listed = f"it serves {model}" if model in names else f"its list of models lacks {model}"
    return Health(
        listed if names else "it answers",
        key_valid=True if endpoint.has_key and await _is_guarded(endpoint, timeout_s) else None,
        is_listed=model in names if names else None,
    )


async def _is_guarded(endpoint: Endpoint, timeout_s: float) -> bool:
    try:
        await endpoint.get("models", timeout_s=timeout_s, with_key=False)
    except EndpointError as error:
        return error.status_code in _REFUSED
    return False


def _names(endpoint: Endpoint, body: bytes) -> set[str]:
    """Return the names of a list, which some endpoints send bare. Raises EndpointError."""
    rows: Any = None
    with suppress(ValueError):
        rows = parse_json(body)
    if not isinstance(rows, list):
        rows = endpoint.read(body).get("data")
    rows = rows if isinstance(rows, list) else []
    names = (row.get("id") for row in rows if isinstance(row, dict))
    return {name.removeprefix("models/") for name in names if isinstance(name, str)}
