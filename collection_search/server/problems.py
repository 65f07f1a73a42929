"""Errors as the API answers them: one JSON form, no traceback, no secret."""

from __future__ import annotations

import logging
import re
import uuid
from typing import TYPE_CHECKING, Any, Final

from fastapi.exception_handlers import (
    http_exception_handler,
    request_validation_exception_handler,
)
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from ..errors import (
    CollectionSearchError,
    ConfigError,
    CostLimitReached,
    ExtractionError,
    FetchError,
    IngestError,
    InputError,
    ModelError,
    QualityThresholdError,
    SearchProviderError,
    StoreError,
    UnknownCollectionError,
    WebSearchError,
)
from ..text.problems import list_problems, reword_problems
from ..text.redaction import error_message, redact, redact_error
from .asgi import API, is_below, path_of
from .places import Places, hidden_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fastapi import FastAPI, Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from .access import Caller

_STATUS: Final[dict[type[CollectionSearchError], int]] = {
    UnknownCollectionError: 404,
    InputError: 422,
    ConfigError: 400,
    SearchProviderError: 502,
    WebSearchError: 502,
    ModelError: 502,
    FetchError: 502,
    StoreError: 503,
    IngestError: 503,
    CostLimitReached: 402,
    QualityThresholdError: 422,
    ExtractionError: 422,
}
_KINDS: Final = {
    400: "BadRequest",
    401: "NotAuthenticated",
    403: "NotAllowed",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    413: "TooLarge",
    415: "WrongContentType",
    429: "TooManyRequests",
}
"""Types of errors that are no error of the package."""
MAX_CHARS: Final = 2000
_JSON: Final = re.compile(r"application/(?:[^/\s]+\+)?json")

logger = logging.getLogger(__name__)


def answer_problems(app: FastAPI) -> None:
    """Make the app answer errors below the API's path in the API's form.

    Other paths keep their own form: the app of a LangGraph server has further ones.
    """
    app.add_exception_handler(CollectionSearchError, _own_error)
    app.add_exception_handler(RequestValidationError, _wrong_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(UnexpectedErrors)


def status_of(error: CollectionSearchError) -> int:
    """Return the HTTP status of an error of the package.

    >>> status_of(InputError("no question")), status_of(CollectionSearchError())
    (422, 500)
    """
    found = (status for kind, status in _STATUS.items() if isinstance(error, kind))
    return next(found, 500)


def problem(
    status: int,
    kind: str,
    message: str,
    *,
    fields: Iterable[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return an error in the API's form; the message is redacted."""
    body = _body(kind, message, fields)
    return JSONResponse(body, status, headers=None if headers is None else {**headers})


def describe_late_error(error: Exception, place: str, hidden: Places) -> dict[str, Any]:
    """Return an error in the API's form, for an answer that has begun.

    An unexpected one is logged under an id with the `place` where it was raised.
    """
    if isinstance(error, CollectionSearchError):
        return _body(type(error).__name__, hidden.hide(str(error)))
    if isinstance(error, HTTPException):
        return _body(_KINDS.get(error.status_code, "HTTPError"), str(error.detail))
    return _body("InternalError", _fault(_log_unexpected(error, place)))


def _body(kind: str, message: str, fields: Iterable[Mapping[str, str]] = ()) -> dict[str, Any]:
    error: dict[str, Any] = {"type": kind, "message": redact(message, most=MAX_CHARS)}
    if listed := list(fields):
        error["fields"] = listed
    return {"error": error}


def _log_unexpected(error: Exception, place: str) -> str:
    """Return the id under which the error was logged."""
    error_id = uuid.uuid4().hex[:12]
    logger.error("Error %s at %s", error_id, redact(place), exc_info=redact_error(error))
    return error_id


def _fault(error_id: str) -> str:
    return f"Internal error. The log of the server has its cause under {error_id}."


async def _own_error(request: Request, error: Exception) -> Response:
    """Answer an error of the package, with the fields of the input that caused it."""
    cause = error.__cause__
    status = status_of(error) if isinstance(error, CollectionSearchError) else 500
    fields = list_problems(cause) if isinstance(cause, ValidationError) else ()
    said = _hidden_places(request).hide(str(error))
    return problem(status, type(error).__name__, said, fields=_fields(fields))


def _hidden_places(request: Request) -> Places:
    caller: Caller | None = getattr(request.state, "caller", None)
    return hidden_from(caller, request.app.state.context)


async def _wrong_request(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    if not _is_ours(request):
        return await request_validation_exception_handler(request, error)
    problems = error.errors()
    if any(one["loc"][0] == "body" for one in problems) and not _is_json(request):
        return problem(
            415, _KINDS[415], "Send JSON, with the header Content-Type: application/json."
        )
    if broken := next((one for one in problems if one["type"] == "json_invalid"), None):
        said = f"{broken['ctx']['error']}, at character {broken['loc'][1]}"
        return problem(400, _KINDS[400], f"The body is not valid JSON: {said}.")
    found = [{**one, "loc": _place(one["loc"])} for one in problems]
    fields = _fields(reword_problems(found))  # type: ignore[arg-type]
    said = "; ".join(f"{one['field']}: {one['message']}" for one in fields)
    return problem(422, "InputError", f"The request is not valid. {said}", fields=fields)


def _place(loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Return the place in the body or the query; the whole body has a name."""
    return loc[1:] or ("body",)


def _is_json(request: Request) -> bool:
    """Return whether the body is called JSON, by the types that FastAPI reads as such."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return _JSON.fullmatch(kind) is not None


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    if not _is_ours(request):
        return await http_exception_handler(request, error)
    status = error.status_code
    kind = _KINDS.get(status, "HTTPError")
    return problem(status, kind, str(error.detail), headers=error.headers)


def _fields(problems: Iterable[Any]) -> list[dict[str, str]]:
    return [
        {
            "field": redact(".".join(map(str, one["loc"]))) or "input",
            "message": redact(str(one["msg"])),
        }
        for one in problems
    ]


def _is_ours(request: Request) -> bool:
    return is_below(path_of(request.scope), API)


class UnexpectedErrors:
    """A middleware that logs an unexpected error of the API under an id, and tells the id alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http" or not is_below(path_of(scope), API):
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = has_begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:  # noqa: BLE001 - it is logged
            error_id = _log_unexpected(error, scope["path"])
            if has_begun:
                raise RuntimeError(f"Error {error_id}: {error_message(error)}") from None
            await problem(500, "InternalError", _fault(error_id))(scope, receive, send)
