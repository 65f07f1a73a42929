"""What libraries log while the command runs."""

from __future__ import annotations

import logging

import pytest

from collection_search.cli.shared.logging_setup import log_verbosely, terminal_logging


def test_our_own_warnings_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    """A warning of this package is printed with its cause and without a traceback."""
    with terminal_logging():
        cause = OSError("disk\nfull")
        logging.getLogger("collection_search.adapters.x").warning("%s off", "A", exc_info=cause)
    assert capsys.readouterr() == ("", "warning: A off: disk full\n")


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("httpx", logging.WARNING),
        ("collection_search.tools.web_search", logging.INFO),
        ("collection_search.tools.web_search", logging.ERROR),
        ("collection_search.nodes.auto_ingest", logging.WARNING),
        ("collection_search.adapters.search.http.adapter", logging.WARNING),
    ],
)
def test_the_rest_is_silent(name: str, level: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Other libraries, details, and what the run's output tells anyway are not printed."""
    with terminal_logging():
        logging.getLogger(name).log(level, "something", exc_info=ValueError("cause"))
    assert capsys.readouterr() == ("", "")


def test_verbose_shows_everything(capsys: pytest.CaptureFixture[str]) -> None:
    """On demand every record from INFO on is printed, tracebacks included."""
    with terminal_logging():
        log_verbosely()
        logging.getLogger("some.library").info("GET /")
        logging.getLogger("collection_search.nodes.x").warning("hm", exc_info=ValueError("why"))
    assert capsys.readouterr().err == "GET /\nhm\nValueError: why\n"


def test_the_set_up_of_the_host_returns() -> None:
    """After the command no handler and no level of ours is left behind."""
    root = logging.getLogger()
    before = list(root.handlers), root.level
    with terminal_logging():
        log_verbosely()
    assert (list(root.handlers), root.level) == before
