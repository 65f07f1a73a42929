"""Questions over Python's documentation, each with its page and a sentence that answers it.

They were written from the documentation before any output of `ask` was seen. The sentences are the
same on Python 3.11 to 3.13. Where two functions say the same, the sentence is what both share.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Answer(NamedTuple):
    """Where a question is answered."""

    page: str
    """Below `library/`."""
    sentence: str
    """As in the documentation, with one space between words."""


ANSWERS: Final[dict[str, Answer]] = {
    "How do I cancel an asyncio task after a timeout?": Answer(
        "asyncio-task",
        "When a timeout occurs, it cancels the task and raises TimeoutError.",
    ),
    "What is the difference between a shallow copy and a deep copy?": Answer(
        "copy",
        "A deep copy constructs a new compound object and then, recursively, inserts *copies* into"
        " it of the objects found in the original.",
    ),
    "How do I generate a random token for a URL?": Answer(
        "secrets",
        "Return a random URL-safe text string, in Base64 encoding.",
    ),
    "How do I copy a directory tree?": Answer(
        "shutil",
        "Recursively copy a directory tree and return the destination directory.",
    ),
    "How do I ignore an exception with a context manager?": Answer(
        "contextlib",
        "Context manager to suppress specified exceptions",
    ),
    "How can I run a blocking function in a thread from asyncio?": Answer(
        "asyncio-task",
        "Asynchronously run function *func* in a separate thread.",
    ),
    "How do I write JSON with non-ASCII characters?": Answer(
        "json",
        "can contain non-ASCII characters if they appear in strings contained in ``obj``.",
    ),
    "How large can an lru_cache grow without a maxsize?": Answer(
        "functools",
        "If *maxsize* is set to None, the LRU features are disabled and the cache can grow without"
        " bound.",
    ),
    "What is the median of an even number of values?": Answer(
        "statistics",
        "When the number of data points is even, the median is interpolated by taking the average"
        " of the two middle values:",
    ),
    "How do I rotate log files when they get too big?": Answer(
        "logging.handlers",
        "Handler for logging to a set of files, which switches from one file to the next when the"
        " current file reaches a certain size.",
    ),
}
