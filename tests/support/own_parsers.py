"""Parsers of pages as an operator writes them, named `support.own_parsers:NAME` in settings."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Final

from collection_search.contracts import Extracted
from collection_search.errors import ConfigError, ExtractionError, FetchError

if TYPE_CHECKING:
    from collection_search.contracts import FetchedPage

SAID: Final = "Invoice 4711 is for twelve chairs of beech."
NO_PARSER: Final = "a text"


def read(page: FetchedPage) -> Extracted:
    """Read any page as an invoice."""
    return Extracted(f"Scan in {threading.current_thread().name}", SAID)


async def read_on_loop(page: FetchedPage) -> Extracted:
    """Do the same with another result."""
    return Extracted("Scan", f"{SAID} It was read on the loop.")


def leave(page: FetchedPage) -> None:
    """Leave the page to the built-in reader."""


def fail(page: FetchedPage) -> Extracted:
    """Fail as a library does."""
    raise ValueError("a path of the machine")


def refuse(page: FetchedPage) -> Extracted:
    """Fail with words for the page's row."""
    raise ExtractionError("The scan is upside down.")


async def ask_again(page: FetchedPage) -> Extracted:
    """Fail with a reason of one's own."""
    raise FetchError("The engine is busy.", reason="host_busy", retry_in_s=60)


def lack_key(page: FetchedPage) -> Extracted:
    """Fail for want of a setting."""
    raise ConfigError("Set OCR_KEY.")


def leave_program(page: FetchedPage) -> Extracted:
    """End as a command's main function does."""
    sys.exit(3)


async def leave_loop(page: FetchedPage) -> Extracted:
    """Do the same on the loop."""
    sys.exit(3)


def stop_iteration(page: FetchedPage) -> Extracted:
    """Raise what no future may have as its error."""
    return next(iter([]))


def give_text(page: FetchedPage) -> str:
    """Return the text alone."""
    return SAID


def give_numbers(page: FetchedPage) -> Extracted:
    """Return a text that is none."""
    return Extracted("Scan", 3)  # type: ignore[arg-type]


def forget_await(page: FetchedPage) -> object:
    """Return a coroutine without waiting for it."""
    return read_on_loop(page)


def take_two(page: FetchedPage, language: str) -> Extracted:
    """Need more than the page."""
    return Extracted(language, SAID)


class Reader:
    """A class, and its objects are parsers on the loop."""

    async def __call__(self, page: FetchedPage) -> Extracted:
        """Read the page."""
        return await read_on_loop(page)


an_object = Reader()
