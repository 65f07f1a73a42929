"""The middlewares of the app, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .authentication import Authentication
from .body_limit import BodyLimit
from .collection_paths import CollectionPaths
from .deleted_threads import DeletedThreads
from .headers import SecurityHeaders
from .origins import OriginCheck
from .request_limits import RequestLimits

if TYPE_CHECKING:
    from fastapi import FastAPI

    from ..settings import Settings


def protect(app: FastAPI, settings: Settings) -> None:
    """Put the middlewares around the app; what is added last comes first.

    A LangGraph server that mounts the app puts them around its own paths as well.
    """
    app.add_middleware(DeletedThreads)
    app.add_middleware(CollectionPaths)
    app.add_middleware(RequestLimits, settings=settings)
    app.add_middleware(Authentication, settings=settings)
    app.add_middleware(BodyLimit)
    app.add_middleware(OriginCheck, settings=settings)
    app.add_middleware(SecurityHeaders)
