"""Log records of failures: a sentence for errors of this package, else the masked traceback.

A program without a logging set-up prints warnings to stderr; an error that says what happened and
what to do needs no traceback there.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..errors import CollectionSearchError
from ..text.redaction import error_message, redact_error

if TYPE_CHECKING:
    from collections.abc import Mapping


def log_failure(
    logger: logging.Logger,
    message: str,
    error: BaseException,
    *,
    level: int = logging.WARNING,
    extra: Mapping[str, object] | None = None,
) -> None:
    """Log what failed with its cause; secrets are masked.

    An error of this package adds its own sentence, any other one its traceback.
    """
    if isinstance(error, CollectionSearchError):
        cause = error_message(error)
        logger.log(level, "%s: %s", message, cause, extra=extra, stacklevel=2)
    else:
        logger.log(level, message, exc_info=redact_error(error), extra=extra, stacklevel=2)
