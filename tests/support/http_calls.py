"""A call with a key in every place where one may stand, and what must not show it."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from collection_search.adapters.http import HttpRequest
from collection_search.testing.providers.wire import KEY

if TYPE_CHECKING:
    from collection_search.testing import ProviderServer

PATIENCE_S = 30.0


def request_to(server: ProviderServer, **changes: Any) -> HttpRequest:
    """Return a call with the key in the address and in a header."""
    fields: dict[str, Any] = {
        "method": "GET",
        "url": f"{server.base_url}/search",
        "params": {"q": "a & b", "key": KEY},
        "headers": {"Authorization": f"Bearer {KEY}"},
    }
    return HttpRequest(**fields | changes)


def assert_no_key(error: Any, *told: str) -> None:
    """Fail if the key, as it is or quoted, is in the texts or in what the error shows."""
    texts = [*told, str(error), repr(error)]
    if isinstance(error, BaseException):
        texts += traceback.format_exception(error)
    for form in (KEY, quote(KEY), quote(KEY, safe="")):
        assert form not in " ".join(texts)
