"""The files of the page, with the types that browsers insist on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from fastapi.responses import RedirectResponse
from starlette.routing import Match, Mount
from starlette.staticfiles import StaticFiles

from .asgi import API, PAGE, is_below, path_of

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.responses import Response
    from starlette.types import Scope

FOLDER: Final = Path(__file__).with_name("page")
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
"""Not those of the system: a module of the wrong type is not run."""


class PageFiles(StaticFiles):
    """The folder's files; a folder is its `index.html`."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file."""
        response = await super().get_response(path, scope)
        suffix = Path(path).suffix or ".html"
        if "content-type" in response.headers and suffix in _TYPES:
            response.headers["content-type"] = _TYPES[suffix]
        response.headers["cache-control"] = "no-cache"  # asked for again, and mostly not sent again
        return response


class PageMount(Mount):
    """The path of the page, without that of the API within it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether a file is asked for."""
        if is_below(path_of(scope), API):
            return Match.NONE, {}
        return super().matches(scope)


def mount_page(app: FastAPI) -> None:
    """Offer the page's files below its path."""

    async def to_page() -> RedirectResponse:
        return RedirectResponse(f"{PAGE}/")

    app.add_api_route(PAGE, to_page, include_in_schema=False)
    files = PageFiles(directory=FOLDER, html=True, check_dir=False)
    app.router.routes.append(PageMount(PAGE, files, name="page"))
