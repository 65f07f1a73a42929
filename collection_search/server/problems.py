"""Errors as the API answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from ..errors import (
    CollectionSearchError,
    ConfigError,
    CostLimitReached,
    InputError,
    ModelError,
    SearchProviderError,
    StoreError,
    UnknownCollectionError,
)
from ..text.redaction import error_message

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

_STATUSES: Final[tuple[tuple[type[CollectionSearchError], int], ...]] = (
    (UnknownCollectionError, 404),
    (InputError, 422),
    (ConfigError, 400),
    (CostLimitReached, 402),
    (ModelError, 502),
    (SearchProviderError, 502),
    (StoreError, 503),
)


def answer_problems(app: FastAPI) -> None:
    """Make the app answer every error in the API's form."""

    async def typed(_: Request, error: Exception) -> JSONResponse:
        status = next((each for kind, each in _STATUSES if isinstance(error, kind)), 500)
        return _problem(status, type(error).__name__, error_message(error))

    async def refused(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # noqa: S101
        return _problem(error.status_code, "HTTPException", str(error.detail))

    async def invalid(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        fields = [
            {"field": ".".join(map(str, one["loc"][1:])), "message": one["msg"]}
            for one in error.errors()
        ]
        return _problem(422, "InputError", "The request is not valid.", fields=fields)

    app.add_exception_handler(CollectionSearchError, typed)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(RequestValidationError, invalid)


def _problem(status: int, kind: str, message: str, **more: Any) -> JSONResponse:
    return JSONResponse({"error": {"type": kind, "message": message, **more}}, status)
