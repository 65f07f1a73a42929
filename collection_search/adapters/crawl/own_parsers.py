"""The operator's own parsers of pages, with limits around what they do."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from ...contracts.document_text import Extracted
from ...errors import CollectionSearchError, FetchError
from ...settings.page_parsers import load_parser

if TYPE_CHECKING:
    from ...contracts.page import FetchedPage, PageKind
    from ...errors import FetchReason
    from ...settings import Settings
    from ...settings.page_parsers import LoadedParser

logger = logging.getLogger(__name__)

MAX_STUCK: Final = 8
"""Calls of a parser that may go on after their time: a thread cannot be ended."""
_Outcome: TypeAlias = "tuple[Any, BaseException | None]"
"""What a parser returned, and what it raised."""


class OwnParser:
    """A parser with a time limit; what it raises becomes a FetchError.

    `slots` bound how many calls run at once. A call's time begins when it has a slot.
    """

    def __init__(self, parser: LoadedParser, *, limit_s: float, slots: asyncio.Semaphore) -> None:
        self._parser = parser
        self._limit_s = limit_s
        self._slots = slots
        self._stuck: list[Future[_Outcome] | asyncio.Future[_Outcome]] = []

    async def __call__(self, page: FetchedPage) -> Extracted | None:
        """Return what the parser returns. Raises FetchError."""
        async with self._slots:
            self._refuse_while_stuck(page)
            call, result = self._start(page)
            try:
                done, _ = await asyncio.wait({result}, timeout=self._limit_s)
            finally:
                result.cancel()
                self._stuck.append(call)
        if done:
            found, error = result.result()
            return self._checked(found, error, page)
        raise FetchError(
            f"The parser {self._parser.name} took longer than {self._limit_s:g} s: its limit is the"
            " setting fetch_timeout_s.",
            reason="extraction_killed",
            status=page.status,
        )

    def _start(
        self, page: FetchedPage
    ) -> tuple[Future[_Outcome] | asyncio.Future[_Outcome], asyncio.Future[_Outcome]]:
        """Return the call, which is done when nothing of it runs, and the future to wait for."""
        if self._parser.is_async:
            task = asyncio.create_task(_awaited(self._parser, page))
            return task, task
        call = _in_thread(self._parser, page)
        return call, asyncio.wrap_future(call)

    def _refuse_while_stuck(self, page: FetchedPage) -> None:
        self._stuck = [one for one in self._stuck if not one.done()]
        if len(self._stuck) >= MAX_STUCK:
            raise FetchError(
                f"The parser {self._parser.name} is not called: {MAX_STUCK} of its calls did not"
                " end in time and go on. Give it a limit of its own, and start this process anew.",
                reason="extraction_failed",
                retryable=True,  # they may end
                status=page.status,
            )

    def _checked(
        self, found: Any, error: BaseException | None, page: FetchedPage
    ) -> Extracted | None:
        if error is not None:
            raise self._failure(error, page)
        if found is None:
            return None
        if isinstance(found, Extracted) and isinstance(found.text, str):
            return found
        if inspect.iscoroutine(found):
            found.close()
        kind = type(found.text if isinstance(found, Extracted) else found).__name__
        raise FetchError(
            f"The parser {self._parser.name} returned a value of type {kind} in place of"
            " Extracted(title, text).",
            reason="extraction_failed",
            status=page.status,
        )

    def _failure(self, error: BaseException, page: FetchedPage) -> FetchError:
        """Return the error for the page's row; what its text may give away is for the log alone."""
        if isinstance(error, FetchError):
            return error
        name = self._parser.name
        if isinstance(error, CollectionSearchError):
            text, reason = str(error), getattr(error, "reason", "extraction_failed")
        else:
            logger.warning("the parser %s failed", name, exc_info=error)
            text, reason = f"It raised {type(error).__name__}.", "extraction_failed"
        failure = FetchError(
            f"The parser {name} failed. {text}",
            reason=cast("FetchReason", reason),
            status=page.status,
        )
        failure.__cause__ = error
        return failure


async def _awaited(parser: LoadedParser, page: FetchedPage) -> _Outcome:
    try:
        return await parser.function(page), None
    except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001 - as below
        return None, error


def _in_thread(parser: LoadedParser, page: FetchedPage) -> Future[_Outcome]:
    """Call the parser in a thread that does not keep the program from ending."""
    call: Future[_Outcome] = Future()
    call.set_running_or_notify_cancel()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome: _Outcome = context.run(parser.function, page), None
        except BaseException as error:  # noqa: BLE001 - the page's row gets it
            outcome = None, error
        call.set_result(outcome)

    threading.Thread(target=work, name="parser", daemon=True).start()
    return call


def own_parsers(settings: Settings, *, at_once: int) -> dict[PageKind, OwnParser]:
    """Return the parsers of the settings, of which so many calls run at once.

    Raises ConfigError naming the wrong one.
    """
    if settings.parsers is None:
        return {}
    slots = asyncio.Semaphore(at_once)
    limit_s = settings.fetch_timeout_s
    return {
        cast("PageKind", kind): OwnParser(load_parser(settings, kind), limit_s=limit_s, slots=slots)
        for kind in settings.parsers.named
    }
