"""A check whether a Langfuse server can be reached and accepts both keys."""

from __future__ import annotations

import base64
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from ...contracts.health import Health
from ...errors import ConfigError
from ..http import HttpError, HttpRequest, join_url, send

if TYPE_CHECKING:
    from ..http import HttpResponse

_REFUSED: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}


async def check_langfuse_health(
    *, public_key: str, secret_key: str, base_url: str, timeout_s: float
) -> Health:
    """Return the project's name, if the answer shows it. Raises ConfigError with a remedy."""
    request = HttpRequest(
        "GET",
        join_url(base_url, "api/public/projects"),
        headers=basic_login(public_key, secret_key),
    )
    try:
        response = await send(request, timeout_s=timeout_s)
    except HttpError as error:  # its own cause may show the address, and in it a password
        raise ConfigError(f"Langfuse is out of reach: {error}. Check LANGFUSE_BASE_URL.") from None
    if response.status in _REFUSED:
        raise ConfigError(
            f"Langfuse refused the keys (HTTP {response.status}). Check LANGFUSE_PUBLIC_KEY and "
            "LANGFUSE_SECRET_KEY: both belong to one project."
        )
    if response.status != HTTPStatus.OK:
        raise ConfigError(
            f"The server at this address is not Langfuse (HTTP {response.status})."
            " Check LANGFUSE_BASE_URL."
        )
    name = _project(response)
    return Health(f"its project is {name}" if name else "it answers", key_valid=True)


def basic_login(public_key: str, secret_key: str) -> dict[str, str]:
    """Return the header that carries both keys."""
    credentials = base64.b64encode(f"{public_key}:{secret_key}".encode()).decode()
    return {"Authorization": f"Basic {credentials}"}


def _project(response: HttpResponse) -> str:
    try:
        answer: Any = response.json()
        name = answer["data"][0]["name"]
    except (ValueError, LookupError, TypeError):
        return ""
    return name if isinstance(name, str) else ""
